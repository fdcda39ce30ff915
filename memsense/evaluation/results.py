"""Writes and reads what each question found: a file of JSONL, one question a line."""

from collections.abc import Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from memsense.errors import EvaluationError
from memsense.evaluation.run import QuestionResult

_LINE = TypeAdapter(QuestionResult)


def write_results(path: Path, results: Sequence[QuestionResult]) -> None:
    """One line a question; raises EvaluationError when the file can't be written."""
    try:
        with path.open("wb") as lines:
            lines.writelines(_LINE.dump_json(result) + b"\n" for result in results)
    except OSError as error:
        raise EvaluationError(f"{path} can't be written: {error}") from error


def read_results(path: Path) -> list[QuestionResult]:
    """What `write_results` wrote; raises EvaluationError naming the line that is something else."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise EvaluationError(f"{path} can't be read: {error}") from error
    results = [_read_line(path, number, line) for number, line in enumerate(lines, 1) if line]
    if not results:
        raise EvaluationError(f"{path} holds no results")
    return results


def _read_line(path: Path, number: int, line: bytes) -> QuestionResult:
    try:
        return _LINE.validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise EvaluationError(
            f"{path}, line {number} is no question's result: {place} {first['msg']};"
            " write such a file with 'memsense eval ... --questions-out FILE'"
        ) from error
