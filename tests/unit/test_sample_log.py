"""The conversation log that ships with the package, and the gold questions about it."""

import json
from collections import Counter
from datetime import datetime, timedelta
from itertools import groupby, pairwise
from pathlib import Path

import pytest

import memsense

ROOT = Path(__file__).parents[2]
LOG = Path(memsense.__path__[0]) / "data" / "sample_conversation.jsonl"
QUESTIONS = ROOT / "tests" / "data" / "sample_questions.jsonl"


def read_rows(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    return read_rows(LOG)


def test_every_row_has_the_five_generic_fields_and_some_text(rows: list[dict[str, str]]) -> None:
    for row in rows:
        assert set(row) == {"session_id", "id", "role", "content", "timestamp"}
        assert row["content"].strip() == row["content"] != ""


def test_message_ids_are_unique(rows: list[dict[str, str]]) -> None:
    assert max(Counter(row["id"] for row in rows).values()) == 1


def test_sessions_are_contiguous_and_alternate_between_user_and_assistant(
    rows: list[dict[str, str]],
) -> None:
    sessions = [(name, list(group)) for name, group in groupby(rows, lambda row: row["session_id"])]
    assert len({name for name, _ in sessions}) == len(sessions)
    assert 25 <= len(sessions) <= 30
    for _, messages in sessions:
        assert [row["role"] for row in messages] == ["user", "assistant"] * (len(messages) // 2)
    assert 140 <= sum(len(messages) // 2 for _, messages in sessions) <= 180


def test_timestamps_are_aware_strictly_rising_and_span_about_ten_weeks(
    rows: list[dict[str, str]],
) -> None:
    stamps = [datetime.fromisoformat(row["timestamp"]) for row in rows]
    assert all(stamp.tzinfo is not None for stamp in stamps)
    assert all(earlier < later for earlier, later in pairwise(stamps))
    assert timedelta(weeks=9) < stamps[-1] - stamps[0] < timedelta(weeks=11)


def test_each_of_the_thirty_gold_questions_points_at_existing_messages(
    rows: list[dict[str, str]],
) -> None:
    known = {row["id"] for row in rows}
    questions = read_rows(QUESTIONS)
    assert len({question["question"] for question in questions}) == 30
    for question in questions:
        assert set(question) == {"question", "gold_message_ids"}
        assert question["gold_message_ids"]
        assert set(question["gold_message_ids"]) <= known
