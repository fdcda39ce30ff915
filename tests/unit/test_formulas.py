"""The pages of formulas have the code's constants: defaults, and the weights of each regression."""

import re
from pathlib import Path
from typing import Any

import pytest

from memsense.draft import supersession
from memsense.search import passages, silence
from memsense.search.profiles import BALANCED, ROUTES
from memsense.search.question.proximity import DEFAULT_SCORES

HOW = Path(__file__).parents[2] / "docs" / "how"
PAGES = ("retrieval", "question", "words", "time", "terms", "changes", "prompts")
PAGE = "".join((HOW / f"{name}.md").read_text(encoding="utf-8") for name in PAGES)
DEFAULT = re.compile(r'`(\w+)`\s=\s(true|false|"\w+"|-?\d+(?:\.\d+)?)')


def table(heading: str) -> dict[str, list[str]]:
    """Return the last table of a section: the cells of each row behind the first, by the first."""
    [section] = re.findall(rf"^##+ {heading}\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    rows = [line for line in section.rpartition("| --- ")[2].splitlines()[1:] if line[:1] == "|"]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return {name: rest for name, *rest in cells}


def weights_of(heading: str, column: int = -1) -> dict[str, float]:
    """Return the weights of one column of a section's table, without empty cells."""
    return {name: float(rest[column]) for name, rest in table(heading).items() if rest[column]}


def test_each_constant_of_the_default_profile_is_on_the_page_with_its_value() -> None:
    written: dict[str, set[str]] = {}
    for name, value in DEFAULT.findall(PAGE):
        written.setdefault(name, set()).add(value.strip('"'))

    def as_text(value: Any) -> str:
        return str(value).lower() if isinstance(value, bool) else f"{value:g}"

    constants = {name: value for name, value in BALANCED.constants().items() if name not in ROUTES}
    assert written == {
        name: {value if isinstance(value, str) else as_text(value)}
        for name, value in constants.items()
    }


def test_the_weights_of_routes_are_those_of_the_default_profile() -> None:
    section = PAGE.partition("## Routes\n")[2]
    rows = re.findall(r"^\| `(\w+)` \| ([\d.]+) \|", section, re.MULTILINE)
    assert {name: float(weight) for name, weight in rows} == BALANCED.weights


@pytest.mark.parametrize(
    ("heading", "column", "weights"),
    [
        ("Current", -2, supersession.WEIGHTS),
        ("Current", -1, supersession.UNASKED),
        ("Context", -1, passages.WEIGHTS),
    ],
)
def test_a_regression_is_on_the_page_with_its_weights(
    heading: str, column: int, weights: Any
) -> None:
    assert weights_of(heading, column) == weights._asdict()


def test_the_decision_to_be_silent_is_on_the_page_with_all_sets_of_weights() -> None:
    columns = (
        silence.KIND_WEIGHTS["question"],
        silence.KIND_WEIGHTS["request"],
        silence.FOREIGN_WEIGHTS,
        silence.WORD_WEIGHTS,
        silence.UNKNOWN_WEIGHTS,
        silence.MODEL_WEIGHTS["use-multilingual-3"],
    )
    for column, weights in enumerate(columns, -len(columns)):
        assert weights_of("Silence", column) == weights


def test_the_nearness_to_a_date_is_on_the_page() -> None:
    scores = DEFAULT_SCORES
    assert scores.soon_days == scores.ahead_days == 2
    assert (scores.later_days, scores.week_days) == (10, 7)
    assert (scores.month_days, scores.season_days) == (31, 92)
    assert list(table("Date").values()) == [
        [
            f"{scores.same_day:g}",
            f"{scores.soon_after} for 2 days, then {scores.later} until the 10th day",
            f"{scores.ahead} for 2 days",
        ],
        [f"{scores.inside_week}", f"{scores.after_week} for 10 days", "0"],
        [f"{scores.inside_month}", f"{scores.after_month} for 10 days", "0"],
        [f"{scores.inside_season}", f"{scores.after_season} for 10 days", "0"],
        [f"{scores.inside_year}", f"{scores.after_year:g}", "0"],
    ]
