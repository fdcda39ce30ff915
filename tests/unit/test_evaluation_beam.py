"""BEAM's conversations and which of its questions count."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from memsense.errors import EvaluationError
from memsense.evaluation import GoldSet, GoldText, gold_set, read_beam

ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("MEMSENSE_SHARED_DIR", ROOT.parent / "shared"))
BEAM = SHARED / "eval" / "beam100k.jsonl"


def question(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "id": f"q{number}",
        "text": f"Question {number}?",
        "category": "knowledge_update",
        "answerable": True,
        "gold_ok": True,
        "gold_turn_ids": ["1"],
        **changes,
    }


def write_beam(path: Path, questions: list[dict[str, Any]], conversations: int = 1) -> Path:
    turns = [
        {"id": "0", "role": "user", "speaker": "user", "text": "How do hives winter?"},
        {"id": "1", "role": "assistant", "speaker": "assistant", "text": "In a cluster."},
    ]
    session = {"id": "b0", "timestamp": "2024-03-15T00:00:00", "turns": turns}
    rows = [
        {
            "conversation_id": f"100K/{number}",
            "sessions": [session],
            "questions": [{**item, "id": f"{number}/{item['id']}"} for item in questions],
        }
        for number in range(1, conversations + 1)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def read(path: Path, *categories: str) -> GoldSet:
    conversations = read_beam(path, categories) if categories else read_beam(path)
    return gold_set(conversations, "beam")


RETRIEVED = [
    question(number, category=category)
    for number, category in enumerate(
        (
            "information_extraction",
            "contradiction_resolution",
            "temporal_reasoning",
            "multi_session_reasoning",
        ),
        start=10,
    )
]


def test_a_question_without_usable_gold_is_counted_not_asked(tmp_path: Path) -> None:
    questions = [
        question(1),
        question(2, gold_ok=False),
        question(3, answerable=False),
        question(4, gold_turn_ids=[]),
        *RETRIEVED,
    ]
    gold = read(write_beam(tmp_path / "beam.jsonl", questions))
    assert [item.question_id for item in gold.questions] == [
        "1/q1", "1/q10", "1/q11", "1/q12", "1/q13"
    ]  # fmt: skip
    assert gold.questions[0].gold_sessions == {"b0"}
    assert gold.questions[0].gold_texts == {"1": GoldText(text="In a cluster.", by_user=False)}
    assert gold.skipped == {"1-10": 3}


def test_questions_of_other_categories_are_left_out_unless_named(tmp_path: Path) -> None:
    questions = [question(1), question(2, category="summarization"), *RETRIEVED]
    path = write_beam(tmp_path / "beam.jsonl", questions)
    assert "1/q2" not in {item.question_id for item in read(path).questions}
    assert [item.question_id for item in read(path, "summarization").questions] == ["1/q2"]
    with pytest.raises(EvaluationError, match=r"no question of poetry; there are contradiction"):
        read(path, "poetry")


def test_conversations_from_the_eleventh_on_are_the_split_for_reporting(tmp_path: Path) -> None:
    path = write_beam(tmp_path / "beam.jsonl", [question(1)], conversations=12)
    gold = read(path, "knowledge_update")
    assert [item.split for item in gold.questions] == ["1-10"] * 10 + ["11-12"] * 2
    later = gold.only("11-12")
    assert {item.user_id for item in later.questions} == {"100K/11", "100K/12"}
    with pytest.raises(EvaluationError, match="no split '5-9'; there are 1-10, 11-12"):
        gold.only("5-9")


def test_another_file_is_refused_by_line_and_field(tmp_path: Path) -> None:
    path = write_beam(tmp_path / "beam.jsonl", [question(1, answerable="perhaps")])
    with pytest.raises(EvaluationError, match=r"beam\.jsonl, line 1: questions\.0\.answerable"):
        read(path)
    path = write_beam(tmp_path / "gold.jsonl", [question(1, gold_turn_ids=["7"])])
    with pytest.raises(EvaluationError, match=r"line 1: .*gold that is no turn"):
        read(path)


@pytest.mark.skipif(not BEAM.exists(), reason="needs beam100k.jsonl in the shared directory")
def test_199_of_its_200_retrieval_questions_are_usable() -> None:
    gold = read(BEAM)
    assert len(gold.questions) == 199
    assert gold.splits == ("1-10", "11-20")
    assert gold.skipped == {"11-20": 1}
