"""Result files: written, read again, and refused with the number of a wrong line."""

from pathlib import Path
from typing import Any

import pytest

from memsense.errors import EvaluationError
from memsense.evaluation import QuestionResult, read_results, write_results


def result(**changes: Any) -> QuestionResult:
    given: dict[str, Any] = {
        "question_id": "q",
        "user_id": "ada",
        "question": "Where\u2028now? 河",
        "category": "1",
        "split": "dev",
        "session": {"mrr": 0.5, "recall@1": 0.0},
        "turn": {"recall@5": 1 / 3},
        "sessions": ["s1", "s2"],
        "messages": [["m1", "m2"], ["m3"]],
        "gold": ["m3"],
        "gold_sessions": ["s2"],
        "search_ms": [1.25, 2.5],
    }
    return QuestionResult(**{**given, **changes})


def test_written_results_are_read_again(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    write_results(path, [result(), result(question_id="p")])
    found = read_results(path)
    assert [item.as_dict() for item in found] == [
        result().as_dict(),
        result(question_id="p").as_dict(),
    ]
    assert len(path.read_bytes().split(b"\n")) == 3


@pytest.mark.parametrize("line", [b"{}", b"[", b'"text"', b"\xff"])
def test_a_line_that_is_no_result_is_named(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "run.jsonl"
    write_results(path, [result()])
    path.write_bytes(path.read_bytes() + line + b"\n")
    with pytest.raises(EvaluationError, match="line 2 is no question's result"):
        read_results(path)


def test_a_file_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match="can't be read"):
        read_results(tmp_path / "missing.jsonl")
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(EvaluationError, match="holds no results"):
        read_results(tmp_path / "empty.jsonl")


def test_a_path_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match="can't be written"):
        write_results(tmp_path / "missing" / "run.jsonl", [result()])
