"""Lists what is stored by pages; each begins behind the last item of the one before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from memsense.db.connection import Connection
from memsense.db.queries import as_sql, fill
from memsense.db.rows import fetch_all, fetch_values
from memsense.store.conditions import SCOPES, is_shown, join_conditions, join_expiry
from memsense.store.reads import read_chunk, shown_columns, withhold_forgotten
from memsense.store.scopes import Namespace
from memsense.types import Chunk, DayCount, Granularity, SessionSummary, Status

FILE = "listing.sql"

Order = Literal["newest", "oldest"]

FIRST_ID = 0
LAST_ID = 2**63 - 1


class AfterChunk(NamedTuple):
    """Where a page of chunks begins: behind this event time and id; unknown times have none."""

    at: datetime | None
    chunk_id: int


class AfterSession(NamedTuple):
    """Where a page of sessions begins: behind this last event time, user and session."""

    at: datetime | None
    user_id: str
    session_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """Whose chunks are listed, and which: the conditions of `sql/filters.sql` with their values."""

    namespace: Namespace
    user_id: str | None
    filters: tuple[str, ...]
    values: Mapping[str, Any]

    def parameters(self) -> dict[str, Any]:
        """What every statement of this module takes."""
        return {
            **self.values,
            "tenant_id": self.namespace.tenant_id,
            "namespace": self.namespace.name,
            "user_id": self.user_id,
        }


def list_chunks(
    connection: Connection,
    selected: Selected,
    *,
    granularity: Granularity,
    statuses: tuple[Status, ...],
    order: Order,
    behind: AfterChunk | None,
    limit: int,
) -> list[Chunk]:
    """At most `limit` chunks by event time; those without one are the oldest. Forgotten ones say
    nothing, and what has expired is none of them.

    Dated and undated ones are two statements, so that the index gives each in order.
    """
    parts = ("dated", "undated") if order == "newest" else ("undated", "dated")
    if behind is not None and (behind.at is None) == (parts[1] == "undated"):
        parts = parts[1:]
    found: list[Chunk] = []
    for part in parts:
        if len(found) == limit:
            break
        begins = behind if behind and (behind.at is None) == (part == "undated") else None
        values = {
            **selected.parameters(),
            "granularity": granularity,
            "statuses": list(statuses),
            "at": begins.at if begins else ("infinity" if order == "newest" else "-infinity"),
            "chunk_id": begins.chunk_id if begins else (LAST_ID if order == "newest" else FIRST_ID),
            "limit": limit - len(found),
        }
        whose = "everybody" if selected.user_id is None else "one_user"
        statement = _chunks(selected.filters, whose, f"{order}_{part}", order)
        rows = fetch_all(connection, as_sql(statement), values)
        found += [withhold_forgotten(read_chunk(columns)) for columns in rows]
    return found


@lru_cache(maxsize=64)
def _chunks(filters: tuple[str, ...], whose: str, behind: str, order: Order) -> str:
    direction = "DESC NULLS LAST" if order == "newest" else "ASC NULLS FIRST"
    by_id = "DESC" if order == "newest" else "ASC"
    return fill(
        "list_chunks",
        FILE,
        scope=fill("listed_scope", FILE),
        steps=join_expiry(SCOPES),
        columns=shown_columns("s.namespace"),
        is_shown=is_shown("c.chunk_id"),
        whose=fill(whose, FILE),
        behind=fill(behind, FILE),
        passes=join_conditions(filters),
        order=f"c.occurred_at {direction}, c.chunk_id {by_id}",
    )


def list_sessions(
    connection: Connection, selected: Selected, *, behind: AfterSession | None, limit: int
) -> list[SessionSummary]:
    """At most `limit` sessions, the one that was last talked in first.

    Reads the chosen users' chunks once, whatever the page.
    """
    place = behind or AfterSession(None, "", "")
    unknown = "infinity" if behind is None else "-infinity"
    values = {
        **selected.parameters(),
        "at": place.at or unknown,
        "after_user": place.user_id,
        "after_session": place.session_id,
        "limit": limit,
    }
    statement = _sessions(selected.filters)
    return fetch_all(connection, as_sql(statement), values, of=SessionSummary)


@lru_cache(maxsize=64)
def _sessions(filters: tuple[str, ...]) -> str:
    return fill(
        "list_sessions",
        FILE,
        scope=fill("listed_scope", FILE),
        steps=join_expiry(SCOPES),
        is_shown=is_shown("c.chunk_id"),
        passes=join_conditions(filters),
    )


def after_chunk(chunk: Chunk) -> AfterChunk:
    """Where the page behind this chunk begins."""
    return AfterChunk(chunk.occurred_at and chunk.occurred_at.astimezone(UTC), chunk.chunk_id)


def after_session(session: SessionSummary) -> AfterSession:
    """Where the page behind this session begins."""
    return AfterSession(
        session.last_at and session.last_at.astimezone(UTC), session.user_id, session.session_id
    )


def count_by_day(connection: Connection, namespace: Namespace, since: datetime) -> list[DayCount]:
    """How many exchanges were stored on each day since then, the latest first."""
    values = {
        "tenant_id": namespace.tenant_id,
        "namespace": namespace.name,
        "since": since,
    }
    return fetch_all(connection, "count_by_day", values, FILE, of=DayCount)


def list_matching_words(
    connection: Connection, namespace: Namespace, words: Sequence[str], lexemes: Sequence[str]
) -> set[str]:
    """Those of the words that have one of the lexemes in the namespace's language."""
    values = {"words": list(words), "lexemes": list(lexemes), "language": namespace.language}
    return set(fetch_values(connection, "list_matching_words", values, FILE))
