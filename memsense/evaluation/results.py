"""Files of question results: JSON Lines, one question in each line."""

from collections.abc import Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from memsense.errors import EvaluationError
from memsense.evaluation.run import QuestionResult

_LINE = TypeAdapter(QuestionResult)


def write_results(path: Path, results: Sequence[QuestionResult]) -> None:
    """Write a line for each question.

    Args:
        path: The file to write.
        results: The results of one run.

    Raises:
        EvaluationError: If the file can't be written.
    """
    try:
        with path.open("wb") as lines:
            lines.writelines(_LINE.dump_json(result) + b"\n" for result in results)
    except OSError as error:
        raise EvaluationError(f"{path} can't be written: {error}") from error


def read_results(path: Path) -> list[QuestionResult]:
    """Read a file that `write_results` wrote.

    Args:
        path: The file to read.

    Raises:
        EvaluationError: If the file can't be read, or a line is no result; names the line.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise EvaluationError(f"{path} can't be read: {error}") from error
    # Line by line, so that an error names the place.
    results: list[QuestionResult] = []
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            results.append(_LINE.validate_json(line))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            raise EvaluationError(
                f"{path}, line {number} is no question's result: {place} {first['msg']};"
                " write such a file with 'memsense eval ... --questions-out FILE'"
            ) from error
    if not results:
        raise EvaluationError(f"{path} holds no results")
    return results
