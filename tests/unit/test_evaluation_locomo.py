"""LoCoMo's questions, whose evidence is written in many ways."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memsense.errors import EvaluationError
from memsense.evaluation import GoldText, read_locomo
from memsense.evaluation.locomo import parse_evidence

ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("MEMSENSE_SHARED_DIR", ROOT.parent / "shared"))
LOCOMO = SHARED / "eval" / "locomo10.json"


EVIDENCE: list[tuple[list[object], set[str]]] = [
    (["D1:3"], {"D1:3"}),
    (["D8:6; D9:17"], {"D8:6", "D9:17"}),
    (["D9:1 D4:4 D4:6"], {"D9:1", "D4:4", "D4:6"}),
    (["D:11:26"], {"D11:26"}),
    (["D30:05"], {"D30:5"}),
    (["D"], set()),
    ([], set()),
    (["D1:2", "D1:2"], {"D1:2"}),
    ([None, 7], set()),
]


@pytest.mark.parametrize(("evidence", "messages"), EVIDENCE)
def test_evidence_is_read_however_it_is_written(evidence: list[object], messages: set[str]) -> None:
    assert parse_evidence(evidence) == messages


def write_locomo(path: Path, questions: list[dict[str, Any]], samples: int = 1) -> Path:
    turns = [{"dia_id": "D1:1", "speaker": "Ann", "text": "Hello"}]
    conversation = {"speaker_a": "Ann", "session_1_date_time": "noon", "session_1": turns}
    content = [
        {"sample_id": f"conv-{number}", "conversation": conversation, "qa": questions}
        for number in range(samples)
    ]
    path.write_text(json.dumps(content))
    return path


def test_a_question_without_existing_evidence_is_counted_not_asked(tmp_path: Path) -> None:
    questions = [
        {"question": "Who?", "evidence": ["D1:1"], "category": 4},
        {"question": "Which?", "evidence": ["D1:1; D7:7"], "category": 4},
        {"question": "What?", "evidence": ["D9:9"], "category": 1},
        {"question": "When?", "category": 1},
    ]
    gold = read_locomo(write_locomo(tmp_path / "locomo.json", questions))
    assert [item.question for item in gold.questions] == ["Who?", "Which?"]
    assert gold.questions[1].gold_messages == {"D1:1"}
    assert gold.questions[1].gold_sessions == {"D1"}
    assert gold.questions[1].gold_texts == {"D1:1": GoldText(text="Hello")}
    assert gold.skipped == {"0-4": 2}


def test_conversations_from_the_sixth_on_are_the_split_for_reporting(tmp_path: Path) -> None:
    questions = [{"question": "Who?", "evidence": ["D1:1"], "category": 4}]
    gold = read_locomo(write_locomo(tmp_path / "locomo.json", questions, samples=6))
    assert [item.split for item in gold.questions] == ["0-4"] * 5 + ["5-9"]
    assert gold.splits == ("0-4", "5-9")


@pytest.mark.parametrize("content", ["", "{}", "[1]", '[{"qa": []}]', '{"a": 1'])
def test_another_file_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(content)
    with pytest.raises(EvaluationError, match=r"other\.json"):
        read_locomo(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match="missing"):
        read_locomo(tmp_path / "missing.json")


@pytest.mark.skipif(not LOCOMO.exists(), reason="needs locomo10.json in the shared directory")
def test_all_but_four_of_its_1986_questions_are_usable() -> None:
    gold = read_locomo(LOCOMO)
    assert len(gold.questions) == 1982
    assert gold.skipped == {"0-4": 2, "5-9": 2}


def test_a_question_is_asked_when_the_last_session_takes_place(tmp_path: Path) -> None:
    path = write_locomo(
        tmp_path / "locomo.json", [{"question": "Who?", "evidence": ["D1:1"], "category": 4}]
    )
    assert read_locomo(path).questions[0].asked_at is None
    [sample] = json.loads(path.read_text())
    sample["conversation"] |= {
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_10": [],
        "session_10_date_time": "9:05 am on 3 July, 2023",
        "session_2": [],
        "session_2_date_time": "8:00 am on 25 May, 2023",
        "session_11_date_time": "8:00 am on 25 August, 2023",  # a date without a session
    }
    path.write_text(json.dumps([sample]))
    asked_at = read_locomo(path).questions[0].asked_at
    assert asked_at == datetime(2023, 7, 3, 9, 5, tzinfo=UTC)
