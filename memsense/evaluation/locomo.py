"""Reader of the questions of LoCoMo (Maharana et al. 2024); its conversations are ingested."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from memsense.errors import EvaluationError
from memsense.evaluation.gold import GoldQuestion, GoldSet, GoldText
from memsense.ingest.timestamps import parse_timestamp

TUNING = range(5)
"""Conversations for tuning; the others are for reporting alone."""

_SESSION = re.compile(r"session_\d+")
# The file has "D8:6; D9:17", "D:11:26", "D30:05", a bare "D", and ids of turns that don't exist.
_EVIDENCE = re.compile(r"D:?(\d+):0*(\d+)")


def read_locomo(path: Path) -> GoldSet:
    """Read the questions, in the splits of conversations 0-4 and 5-9.

    Relative dates count from the last session of a conversation. The file's evidence is dirty:
    strings that name an existing message are used, and questions without any are counted as
    skipped.

    Args:
        path: The file `locomo10.json`.

    Raises:
        EvaluationError: If the file can't be read, or is not LoCoMo.
    """
    try:
        samples = json.loads(path.read_text(encoding="utf-8"))
        gold = _read_samples(samples)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise EvaluationError(f"{path} can't be read as LoCoMo: {error!r}") from error
    if not gold.questions:
        raise EvaluationError(f"{path} holds no LoCoMo question with evidence")
    return gold


def _read_samples(samples: list[dict[str, Any]]) -> GoldSet:
    questions: list[GoldQuestion] = []
    skipped: Counter[str] = Counter()
    for index, sample in enumerate(samples):
        split = "0-4" if index in TUNING else "5-9"
        conversation = sample["conversation"]
        names = [name for name in conversation if _SESSION.fullmatch(name)]
        # Two people talk to each other, without an assistant.
        messages = {
            turn["dia_id"]: GoldText(text=str(turn.get("text") or ""))
            for name in names
            for turn in conversation[name]
        }
        # The file has no times of its questions: they are asked when the last session takes place.
        times = [parse_timestamp(conversation.get(f"{name}_date_time")).at for name in names]
        asked_at = max(filter(None, times), default=None)
        # 1,982 of the file's 1,986 questions name a message that exists.
        for number, item in enumerate(sample["qa"]):
            gold = parse_evidence(item.get("evidence") or ()) & messages.keys()
            if not gold:
                skipped[split] += 1
                continue
            question = GoldQuestion(
                question_id=f"{sample['sample_id']}/{number}",
                user_id=sample["sample_id"],
                question=str(item["question"]),
                gold_messages=gold,
                # A message "D8:6" is the sixth of session 8, which is ingested as "D8".
                gold_sessions=frozenset(message.split(":")[0] for message in gold),
                category=str(item["category"]),
                split=split,
                gold_texts={message: messages[message] for message in gold},
                asked_at=asked_at,
            )
            questions.append(question)
    return GoldSet(name="locomo", questions=questions, skipped=dict(skipped))


def parse_evidence(evidence: Iterable[object]) -> frozenset[str]:
    """Return the message ids in evidence such as `D8:6; D9:17`, `D:11:26` or `D30:05`."""
    return frozenset(
        f"D{session}:{turn}" for text in evidence for session, turn in _EVIDENCE.findall(str(text))
    )
