"""SQL conditions on chunks: the filters of a search, and what has expired."""

from collections.abc import Iterable

from memsense.db.queries import fill

FILE = "filters.sql"

ALIKE = frozenset({"session_ids", "quoted"})
"""Filters that all exchanges of a session pass or fail together, and `quoted`, which is no
condition on what is shown.
"""


def select_strict(filters: Iterable[str]) -> tuple[str, ...]:
    """Return the filters that one exchange of a session may pass while another one fails."""
    return tuple(name for name in filters if name not in ALIKE)


def join_conditions(filters: Iterable[str]) -> str:
    """Return the conditions of these filters on a chunk c, joined by AND."""
    return "\nAND ".join(fill(name, FILE) for name in filters) or "true"


def exchanges_condition(filters: Iterable[str]) -> str:
    """Return the condition of these filters on the exchanges that a chunk c holds."""
    return fill("exchanges", "recall.sql", conditions=join_conditions(select_strict(filters)))


EXPIRY = "expiry.sql"

SCOPES = "ARRAY(SELECT scope_id FROM scope)"
"""The memories of the CTE `scope`, as an array."""


def expiry_steps(scopes: str) -> tuple[str, ...]:
    """Return the CTEs that find what has expired in these memories, an array in SQL."""
    return (
        fill("lapsed", EXPIRY, scopes=scopes),
        fill("hidden", EXPIRY),
        fill("bereft", EXPIRY),
        fill("spared", EXPIRY),
    )


def join_expiry(scopes: str) -> str:
    """Return the CTEs of `expiry_steps` as one text."""
    return ",\n".join(expiry_steps(scopes))


def is_shown(chunk: str) -> str:
    """Return the condition that a chunk has not expired and holds nothing that has."""
    return fill("is_shown", EXPIRY, chunk=chunk)


def is_bereft(chunk: str) -> str:
    """Return the condition that a neighbour of the chunk has expired."""
    return fill("is_bereft", EXPIRY, chunk=chunk)
