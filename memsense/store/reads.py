"""Reads of stored chunks, their neighbours, history and counts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from psycopg.sql import SQL
from psycopg.types.json import Jsonb

from memsense.db.connection import Connection
from memsense.db.queries import Numbered, as_sql, fill, number_parameters
from memsense.db.rows import fetch_all, fetch_numbered, find_value
from memsense.db.wire import as_number_array, as_text_array, as_texts_of_arrays
from memsense.metadata_filters import ExpectedTypes
from memsense.store.conditions import (
    SCOPES,
    is_bereft,
    is_shown,
    join_conditions,
    join_expiry,
    select_strict,
)
from memsense.store.past import chunks_as_past
from memsense.store.scopes import Namespace
from memsense.types import Chunk, Event, Granularity, ScopeStatistics

FILE = "hits.sql"


class Past(NamedTuple):
    """A moment, and the memories to read as they stood at it."""

    as_of: datetime
    scope_ids: Sequence[int]


NO_PARAMETERS: Mapping[str, Any] = MappingProxyType({})


def fetch_chunks(
    connection: Connection, namespace: Namespace, chunk_ids: Sequence[int]
) -> list[Chunk]:
    """Return the chunks of these ids in the namespace, of any status, in the order of ids.

    Expired ones are included; what other chunks repeat of expired neighbours is not.
    """
    return fetch_named_chunks(connection, namespace.tenant_id, namespace.name, chunk_ids)


def fetch_named_chunks(
    connection: Connection,
    tenant_id: int,
    namespace: str,
    chunk_ids: Sequence[int],
    past: Past | None = None,
) -> list[Chunk]:
    """Return chunks as `fetch_chunks` does, for a namespace given by its name.

    With a `past`, those that were active at that moment, as they were.
    """
    return [chunk for _, chunk in _fetch_chunks(connection, tenant_id, namespace, chunk_ids, past)]


def fetch_shown(
    connection: Connection, namespace: Namespace, chunk_ids: Sequence[int]
) -> list[Chunk]:
    """Return chunks as `fetch_chunks` does; forgotten and expired ones come without their text."""
    chunks = _fetch_chunks(connection, namespace.tenant_id, namespace.name, chunk_ids)
    return [
        withhold(chunk) if has_expired else withhold_forgotten(chunk)
        for has_expired, chunk in chunks
    ]


def _fetch_chunks(
    connection: Connection,
    tenant_id: int,
    namespace: str,
    chunk_ids: Sequence[int],
    past: Past | None = None,
) -> list[tuple[bool, Chunk]]:
    values = {"tenant_id": tenant_id, "namespace": namespace, "chunk_ids": list(chunk_ids)}
    if past is not None:
        values |= {"as_of": past.as_of, "scope_ids": list(past.scope_ids)}
    rows = fetch_all(connection, _select_chunks(is_past=past is not None), values)
    return [(has_expired, read_chunk(columns)) for has_expired, *columns in rows]


@cache
def _select_chunks(*, is_past: bool) -> SQL:
    """Return the statement that reads chunks by their ids."""
    text = fill(
        "fetch_chunks",
        FILE,
        steps=join_expiry(SCOPES),
        columns=shown_columns(),
        is_shown=is_shown("c.chunk_id"),
    )
    return as_sql(chunks_as_past(text) if is_past else text)


def shown_columns(namespace: str = "n.name") -> str:
    """Return the columns of a chunk c of a scope s, in the order that `read_chunk` needs."""
    return fill("columns", FILE, is_bereft=is_bereft("c.chunk_id"), namespace=namespace)


def fetch_texts(
    connection: Connection,
    tenant_id: int,
    scope_ids: Sequence[int],
    chunk_ids: Sequence[int],
    *,
    as_of: datetime | None = None,
) -> dict[int, str]:
    """Return the text of each of these chunks, as of a moment if one is given.

    Parts of an exchange come without the opening that they repeat.
    """
    values = {"tenant_id": tenant_id, "scope_ids": list(scope_ids), "chunk_ids": list(chunk_ids)}
    if as_of is None:
        return dict(fetch_all(connection, "fetch_texts", values, FILE))
    statement = as_sql(chunks_as_past(fill("fetch_texts", FILE)))
    return dict(fetch_all(connection, statement, {**values, "as_of": as_of}))


def withhold_forgotten(chunk: Chunk) -> Chunk:
    """Return the chunk, without its text if it is forgotten."""
    return withhold(chunk) if chunk.status == "deleted" else chunk


def withhold(chunk: Chunk) -> Chunk:
    """Return the chunk without its text."""
    return replace(
        chunk,
        user_text="",
        assistant_text="",
        session_text="",
        next_user_text=None,
        context="",
        task_tag=None,
        tags=(),
        personal_info=None,
        preferences=None,
        events=None,
        facet_spans=(),
    )


class WantedHit(NamedTuple):
    """A chosen candidate, to be shown as a turn or as its whole session.

    `best_ids` are the exchanges that brought it in, and `best_ordinals` their places in the
    session.
    """

    scope_id: int
    chunk_id: int
    session_id: str
    ordinal: int
    part: int
    granularity: Granularity
    best_ids: Sequence[int] = ()
    best_ordinals: Sequence[int] = ()


class FoundExchange(NamedTuple):
    """An exchange of a session with its number, from 1, among all that pass the filters."""

    number: int
    chunk: Chunk


@dataclass(frozen=True, slots=True)
class FoundHit:
    """The chunk of a hit, its neighbours (`previous`, `next`), and the parts of its exchange.

    `parts` are the other parts of a long exchange. For a session: those of its exchanges that are
    nearest to the best ones, in its order, of `total`. Its chunk is the session chunk, or, if none
    is stored, the chosen one.
    """

    chunk: Chunk
    neighbors: tuple[tuple[Literal["previous", "next"], Chunk], ...]
    exchanges: Sequence[FoundExchange] = ()
    total: int = 0
    parts: Sequence[Chunk] = ()


def fetch_hits(
    connection: Connection,
    tenant_id: int,
    hits: Sequence[WantedHit],
    *,
    content_budget: int,
    filters: Sequence[str] = (),
    parameters: Mapping[str, Any] = NO_PARAMETERS,
    as_of: datetime | None = None,
) -> list[FoundHit | None]:
    """Return the chunks of all hits, in order, with what is shown next to them.

    The result has None for a chunk that was deleted between recall and this read. `filters` are the
    names of the filters in use, `parameters` their values: neighbours and exchanges pass them all,
    and what a chunk repeats of the exchanges around it is left out. With `as_of`, all is as it
    stood then.
    """
    strict = select_strict(filters)
    values: dict[str, Any] = {
        **parameters,
        "tenant_id": tenant_id,
        "scope_ids": as_number_array([hit.scope_id for hit in hits]),
        "chunk_ids": as_number_array([hit.chunk_id for hit in hits]),
        "session_ids": as_text_array([hit.session_id for hit in hits]),
        "ordinals": as_number_array([hit.ordinal for hit in hits]),
        "parts": as_number_array([hit.part for hit in hits]),
        "wanted": as_text_array([hit.granularity for hit in hits]),
        "best_ids": as_texts_of_arrays([hit.best_ids for hit in hits]),
        "best_ordinals": as_texts_of_arrays([hit.best_ordinals for hit in hits]),
        "content_budget": content_budget,
        "as_of": as_of,
    }
    chunks: dict[int, Chunk] = {}
    exchanges: dict[int, list[FoundExchange]] = {}
    totals: dict[int, int] = {}
    around: dict[int, list[tuple[Literal["previous", "next"], Chunk]]] = {}
    parts: dict[int, list[Chunk]] = {}
    sessions = any(hit.granularity == "session" for hit in hits)
    statement = _hits(strict, sessions, as_of is not None)
    for position, relation, number, total, *columns in fetch_numbered(
        connection, statement, values
    ):
        chunk = read_chunk(columns)
        if strict:
            # A neighbour that the filters leave out must not be seen through what the chunk
            # repeats of it.
            chunk = replace(chunk, next_user_text=None, context="")
        if relation == "hit":
            chunks[position] = chunk
        elif relation == "exchange":
            exchanges.setdefault(position, []).append(FoundExchange(number, chunk))
            totals[position] = total
        elif relation == "part":
            parts.setdefault(position, []).append(chunk)
        else:
            # Each part of an exchange repeats how it begins: side by side, once is enough.
            if chunk.opening_length and chunk.ordinal == hits[int(position) - 1].ordinal:
                chunk = chunk.without_opening()
            around.setdefault(position, []).append((relation, chunk))
    return [
        FoundHit(
            chunks[position],
            tuple(
                sorted(around.get(position, ()), key=lambda item: (item[1].ordinal, item[1].part))
            ),
            sorted(exchanges.get(position, ()), key=lambda item: item.number),
            totals.get(position, 0),
            parts.get(position, ()),
        )
        if position in chunks
        else None
        for position in range(1, len(hits) + 1)
    ]


_SET_FIELDS: Sequence[Callable[[Chunk, Any], None]] = [
    getattr(Chunk, field.name).__set__ for field in fields(Chunk)
]


def read_chunk(columns: Sequence[Any]) -> Chunk:
    """Return the chunk of these columns, which are in the order of its fields."""
    # Without calling the class: a call with so many keywords takes three times as long, and would
    # be most of the time that a search spends on decoding.
    chunk = object.__new__(Chunk)
    for set_field, value in zip(_SET_FIELDS, columns, strict=True):
        set_field(chunk, value)
    return chunk


@lru_cache(maxsize=64)
def _hits(filters: tuple[str, ...], sessions: bool, is_past: bool) -> Numbered:
    """Return the statement of `fetch_hits`, with the parts that filters and sessions need."""
    condition = is_shown("c.chunk_id")
    passes = f"{condition}\nAND {join_conditions(filters)}"
    scope = [fill("scope_of_hits", FILE)] if filters else []
    exchanges = fill("exchanges_of_hits", FILE, passes=passes) if sessions else ""
    text = fill(
        "fetch_hits",
        FILE,
        steps=",\n".join([*scope, join_expiry("%(scope_ids)s::integer[]")]),
        columns=shown_columns(),
        is_shown=condition,
        session_chunk=fill("session_chunk", FILE, is_shown=is_shown("h.chunk_id")),
        passes=passes,
        exchanges=exchanges,
    )
    return number_parameters(chunks_as_past(text) if is_past else text)


def fetch_history(
    connection: Connection, namespace: Namespace, chunk_id: int
) -> list[Event] | None:
    """Return the events of a chunk, oldest first; None for a chunk outside this namespace."""
    key = {**namespace.key, "chunk_id": chunk_id}
    scope_id = find_value(connection, "find_scope_of_chunk", key)
    if scope_id is None:
        return None
    return fetch_all(connection, "fetch_history", {**key, "scope_id": scope_id}, of=Event)


def fetch_known_names(
    connection: Connection, namespace: Namespace, user_id: str | None, kinds: Sequence[str]
) -> dict[str, list[str]]:
    """Return the namespace's users, and sessions, agents and tags of the user's active chunks.

    `kinds` are the kinds to return: "user", "session", "agent", "tag".
    """
    values = {**namespace.key, "user_id": user_id, "wanted": list(kinds)}
    rows: list[tuple[list[str], ...]] = fetch_all(connection, "fetch_known_names", values)
    return dict(zip(("user", "session", "agent", "tag"), rows[0], strict=True))


def count_other_types(
    connection: Connection,
    namespace: Namespace,
    user_id: str | None,
    expected: Sequence[ExpectedTypes],
) -> list[tuple[list[str], str, list[str], int]]:
    """Return paths whose values have another type than a filter of metadata asks for.

    Each has the type, the types asked for, and the number of memories, the largest first.
    """
    values = {
        **namespace.key,
        "user_id": user_id,
        "expected": Jsonb([it._asdict() for it in expected]),
    }
    return fetch_all(connection, "count_other_types", values)


def fetch_statistics(
    connection: Connection,
    namespace: Namespace,
    user_id: str | None,
    *,
    after: str | None = None,
    limit: int | None = None,
) -> list[ScopeStatistics]:
    """Return what each user's memory holds, by user; a page of `limit` users behind `after`."""
    values = {**namespace.key, "user_id": user_id, "after_user": after, "limit": limit}
    return fetch_all(connection, "fetch_statistics", values, of=ScopeStatistics)
