"""Readings of questions, written as in the tables of the tests of each language."""

from datetime import UTC, datetime

from memsense.search.question.time.calendar import Calendar
from memsense.search.question.time.engine import find_intervals
from memsense.search.question.time.interval import Interval

NOW = datetime(2026, 11, 27, 10, tzinfo=UTC)
"""A Friday."""


BY_UTC = Calendar()


def find(text: str, now: datetime = NOW, calendar: Calendar = BY_UTC) -> list[Interval]:
    """Return the intervals in which memories may lie."""
    return [item for item in find_intervals(text, now=now, calendar=calendar) if item.confidence]


def read(text: str) -> str:
    """Return the days that a question names: "2024-05-03", "2024-05-03 to 2024-05-07".

    Several are joined by " or "; days of a time to come, and ones that only help to name others,
    are left out.
    """
    return " or ".join(
        dict.fromkeys(
            str(item.first) if item.first == item.last else f"{item.first} to {item.last}"
            for item in find(text)
        )
    )
