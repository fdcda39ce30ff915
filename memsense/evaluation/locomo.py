"""Reads the questions of a LoCoMo file (Maharana et al. 2024); its conversations are ingested."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from memsense.errors import EvaluationError
from memsense.evaluation.gold import GoldQuestion, GoldSet

TUNING = range(5)
"""The conversations that constants may be tuned on; the others are for reporting."""

_SESSION = re.compile(r"session_\d+")
_EVIDENCE = re.compile(r"D:?(\d+):0*(\d+)")


def read_locomo(path: Path) -> GoldSet:
    """The questions of the file, split into conversations 0-4 and 5-9.

    Raises EvaluationError when the file is not LoCoMo. Evidence is dirty: what can be read as a
    message id that exists is used, questions left without any are counted as skipped.
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
        messages = _message_ids(sample["conversation"])
        for number, item in enumerate(sample["qa"]):
            gold = parse_evidence(item.get("evidence") or ()) & messages
            if not gold:
                skipped[split] += 1
                continue
            questions.append(_question(sample["sample_id"], number, item, gold, split))
    return GoldSet(name="locomo", questions=questions, skipped=dict(skipped))


def _question(
    user_id: str, number: int, item: dict[str, Any], gold: frozenset[str], split: str
) -> GoldQuestion:
    return GoldQuestion(
        question_id=f"{user_id}/{number}",
        user_id=user_id,
        question=str(item["question"]),
        gold_messages=gold,
        gold_sessions=frozenset(message.split(":")[0] for message in gold),
        category=str(item["category"]),
        split=split,
    )


def _message_ids(conversation: dict[str, Any]) -> frozenset[str]:
    return frozenset(
        turn["dia_id"]
        for name, turns in conversation.items()
        if _SESSION.fullmatch(name)
        for turn in turns
    )


def parse_evidence(evidence: Iterable[object]) -> frozenset[str]:
    """The message ids named in evidence strings such as `D8:6; D9:17`, `D:11:26` or `D30:05`."""
    return frozenset(
        f"D{session}:{turn}" for text in evidence for session, turn in _EVIDENCE.findall(str(text))
    )
