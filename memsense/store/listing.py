"""Pages of what is stored; each page begins behind the last item of the one before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from memsense.db.connection import Connection
from memsense.db.queries import as_sql, fill
from memsense.db.rows import fetch_all
from memsense.store.conditions import SCOPES, is_shown, join_conditions, join_expiry
from memsense.store.past import chunks_as_past
from memsense.store.reads import read_chunk, shown_columns, withhold_forgotten
from memsense.store.scopes import Namespace, find_every_scope
from memsense.text.lexemes import list_lexemes
from memsense.types import Chunk, DayCount, Granularity, SessionSummary, Status

FILE = "listing.sql"

Order = Literal["newest", "oldest"]

FIRST_ID = 0
LAST_ID = 2**63 - 1


class AfterChunk(NamedTuple):
    """The start of a page of chunks: behind this event time (None if unknown) and id."""

    at: datetime | None
    chunk_id: int


class AfterSession(NamedTuple):
    """The start of a page of sessions: behind this last event time, user and session."""

    at: datetime | None
    user_id: str
    session_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """A selection of chunks: whose they are, and conditions of `sql/filters.sql` with values."""

    namespace: Namespace
    user_id: str | None
    filters: tuple[str, ...]
    values: Mapping[str, Any]

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that every statement of this module takes."""
        return {**self.values, **self.namespace.key, "user_id": self.user_id}


def list_chunks(
    connection: Connection,
    selected: Selected,
    *,
    granularity: Granularity,
    statuses: tuple[Status, ...],
    order: Order,
    behind: AfterChunk | None,
    limit: int,
    contains: str | None = None,
    as_of: datetime | None = None,
    only_rules: bool = False,
    chunk_ids: Sequence[int] | None = None,
) -> list[Chunk]:
    """Return at most `limit` chunks by event time; those without one count as the oldest.

    With `contains`, only those whose text has these characters, in any case of letters.
    With `only_rules`, those in which the user states a standing rule; with `chunk_ids`, those.
    Forgotten chunks come without their text, and expired ones are left out. With `as_of`, the
    chunks are those that were active at that moment, as they were.
    """
    # Dated and undated chunks are two statements: then the index gives each in order.
    parts = ("dated", "undated") if order == "newest" else ("undated", "dated")
    if behind is not None and (behind.at is None) == (parts[1] == "undated"):
        parts = parts[1:]
    chunks: list[Chunk] = []
    for part in parts:
        if len(chunks) == limit:
            break
        begins = behind if behind and (behind.at is None) == (part == "undated") else None
        values = {
            **selected.parameters(),
            "granularity": granularity,
            "statuses": list(statuses),
            "at": begins.at if begins else ("infinity" if order == "newest" else "-infinity"),
            "chunk_id": begins.chunk_id if begins else (LAST_ID if order == "newest" else FIRST_ID),
            "limit": limit - len(chunks),
            "contains": contains,
            "as_of": as_of,
            "chunk_ids": chunk_ids and list(chunk_ids),
        }
        whose = "everybody" if selected.user_id is None else "one_user"
        statement = _chunks(
            selected.filters,
            whose,
            f"{order}_{part}",
            order,
            is_past=as_of is not None,
            holds="rules" if only_rules else "everybody" if chunk_ids is None else "named",
        )
        rows = fetch_all(connection, as_sql(statement), values)
        chunks += [withhold_forgotten(read_chunk(columns)) for columns in rows]
    return chunks


# A statement for each combination of filters in use: few of the possible ones ever are.
@lru_cache(maxsize=64)
def _chunks(
    filters: tuple[str, ...],
    whose: str,
    behind: str,
    order: Order,
    *,
    is_past: bool,
    holds: str,
) -> str:
    """Return the statement of `list_chunks` for one order and one kind of page start."""
    scope = fill("listed_scope", FILE)
    direction = "DESC NULLS LAST" if order == "newest" else "ASC NULLS FIRST"
    by_id = "DESC" if order == "newest" else "ASC"
    text = fill(
        "list_chunks",
        FILE,
        scope=scope,
        steps=join_expiry(SCOPES),
        columns=shown_columns("s.namespace"),
        is_shown=is_shown("c.chunk_id"),
        whose=fill(whose, FILE),
        behind=fill(behind, FILE),
        passes=join_conditions(filters),
        holds=fill(holds, FILE),
        order=f"c.occurred_at {direction}, c.chunk_id {by_id}",
    )
    return chunks_as_past(text, scope) if is_past else text


def list_sessions(
    connection: Connection, selected: Selected, *, behind: AfterSession | None, limit: int
) -> list[SessionSummary]:
    """Return at most `limit` sessions, the most recently used first.

    Each page reads all chunks of the selected users once.
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
    """Return the statement of `list_sessions` with these filters."""
    return fill(
        "list_sessions",
        FILE,
        scope=fill("listed_scope", FILE),
        steps=join_expiry(SCOPES),
        is_shown=is_shown("c.chunk_id"),
        passes=join_conditions(filters),
    )


def after_chunk(chunk: Chunk) -> AfterChunk:
    """Return the start of the page behind this chunk."""
    return AfterChunk(chunk.occurred_at and chunk.occurred_at.astimezone(UTC), chunk.chunk_id)


def after_session(session: SessionSummary) -> AfterSession:
    """Return the start of the page behind this session."""
    return AfterSession(
        session.last_at and session.last_at.astimezone(UTC), session.user_id, session.session_id
    )


def count_by_day(connection: Connection, namespace: Namespace, since: datetime) -> list[DayCount]:
    """Return how many exchanges were stored on each day since then, latest first."""
    values = {**namespace.key, "since": since}
    return fetch_all(connection, "count_by_day", values, FILE, of=DayCount)


def list_matching_words(
    connection: Connection, namespace: Namespace, words: Sequence[str], lexemes: Sequence[str]
) -> set[str]:
    """Return the words that have one of the lexemes in a language of the namespace's memories."""
    languages = find_every_scope(connection, namespace.tenant_id, namespace.name).languages
    terms = set(lexemes)
    return {
        word
        for word in words
        if any(not terms.isdisjoint(list_lexemes(word, language)) for language in languages)
    }
