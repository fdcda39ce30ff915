"""Joins the conditions of `sql/filters.sql` that a search uses."""

from collections.abc import Iterable

from memsense.db.queries import fill

FILE = "filters.sql"

ALIKE = frozenset({"session_ids", "project", "quoted"})
"""What all exchanges of a session pass alike, and `quoted`, which asks nothing of what is shown."""


def select_strict(filters: Iterable[str]) -> tuple[str, ...]:
    """Of the filters in use, those that one exchange of a session may pass and another fail."""
    return tuple(name for name in filters if name not in ALIKE)


def join_conditions(filters: Iterable[str]) -> str:
    """The conditions of these filters on a chunk c, joined by AND."""
    return "\nAND ".join(fill(name, FILE) for name in filters) or "true"


def exchanges_condition(filters: Iterable[str]) -> str:
    """What these filters ask of the exchanges that a chunk c holds."""
    return fill("exchanges", "recall.sql", conditions=join_conditions(select_strict(filters)))
