"""Joins the conditions of `sql/filters.sql` that a search uses, and those of `sql/expiry.sql`."""

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


EXPIRY = "expiry.sql"

SCOPES = "ARRAY(SELECT scope_id FROM scope)"
"""The memories of the CTE scope, as an array."""


def expiry_steps(scopes: str) -> tuple[str, ...]:
    """The CTEs that say what of these memories, an array in SQL, has expired."""
    return (
        fill("lapsed", EXPIRY, scopes=scopes),
        fill("hidden", EXPIRY),
        fill("bereft", EXPIRY),
        fill("spared", EXPIRY),
    )


def join_expiry(scopes: str) -> str:
    """The CTEs of `expiry_steps` as one text."""
    return ",\n".join(expiry_steps(scopes))


def is_shown(chunk: str) -> str:
    """The condition that a chunk has not expired, nor holds anything that has."""
    return fill("is_shown", EXPIRY, chunk=chunk)


def is_bereft(chunk: str) -> str:
    """The condition that something beside a chunk has expired."""
    return fill("is_bereft", EXPIRY, chunk=chunk)
