"""Reads of stored chunks, their neighbours, history and counts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from psycopg.sql import SQL

from memsense.db.connection import Connection
from memsense.db.queries import Numbered, as_sql, fill, number_parameters
from memsense.db.rows import fetch_all, fetch_numbered, find_value
from memsense.db.wire import as_number_array, as_text_array
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
    """Memories as they stood at a moment."""

    as_of: datetime
    scope_ids: Sequence[int]


NO_PARAMETERS: Mapping[str, Any] = MappingProxyType({})


def _key(namespace: Namespace) -> dict[str, Any]:
    return {"tenant_id": namespace.tenant_id, "namespace": namespace.name}


def fetch_chunks(
    connection: Connection, namespace: Namespace, chunk_ids: Sequence[int]
) -> list[Chunk]:
    """The chunks of those ids that are in the namespace, of any status, in the order of ids.

    Expired ones too; but nothing else tells what those beside it said.
    """
    return fetch_named_chunks(connection, namespace.tenant_id, namespace.name, chunk_ids)


def fetch_named_chunks(
    connection: Connection,
    tenant_id: int,
    namespace: str,
    chunk_ids: Sequence[int],
    past: Past | None = None,
) -> list[Chunk]:
    """As `fetch_chunks`, for a namespace given by name; or those active then, as they were."""
    found = _fetch_chunks(connection, tenant_id, namespace, chunk_ids, past)
    return [chunk for _, chunk in found]


def fetch_shown(
    connection: Connection, namespace: Namespace, chunk_ids: Sequence[int]
) -> list[Chunk]:
    """As `fetch_chunks`, of what is forgotten or has expired without anything that it says."""
    found = _fetch_chunks(connection, namespace.tenant_id, namespace.name, chunk_ids)
    return [
        withhold(chunk) if has_expired else withhold_forgotten(chunk)
        for has_expired, chunk in found
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
    rows = fetch_all(connection, _shown("fetch_chunks", past is not None), values)
    return [(has_expired, read_chunk(columns)) for has_expired, *columns in rows]


@cache
def _shown(name: str, is_past: bool = False) -> SQL:
    """A statement that shows chunks c, of the scopes that its CTE `scope` names."""
    text = fill(
        name,
        FILE,
        steps=join_expiry(SCOPES),
        columns=shown_columns(),
        is_shown=is_shown("c.chunk_id"),
    )
    return as_sql(chunks_as_past(text) if is_past else text)


def shown_columns(namespace: str = "n.name") -> str:
    """The columns of a chunk c of a scope s, in the order of Chunk's fields: see `read_chunk`."""
    return fill("columns", FILE, is_bereft=is_bereft("c.chunk_id"), namespace=namespace)


def fetch_texts(
    connection: Connection,
    tenant_id: int,
    scope_ids: Sequence[int],
    chunk_ids: Sequence[int],
    *,
    as_of: datetime | None = None,
) -> dict[int, str]:
    """What each of these chunks says (or said), without the opening that parts of an exchange
    repeat."""
    values = {
        "tenant_id": tenant_id,
        "scope_ids": list(scope_ids),
        "chunk_ids": list(chunk_ids),
    }
    if as_of is None:
        return dict(fetch_all(connection, "fetch_texts", values, FILE))
    return dict(fetch_all(connection, _past_texts(), {**values, "as_of": as_of}))


@cache
def _past_texts() -> SQL:
    return as_sql(chunks_as_past(fill("fetch_texts", FILE)))


def withhold_forgotten(chunk: Chunk) -> Chunk:
    """The chunk, without anything that it says if it is forgotten."""
    return withhold(chunk) if chunk.status == "deleted" else chunk


def withhold(chunk: Chunk) -> Chunk:
    """The chunk without anything that it says."""
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
    """A chosen candidate, and whether it is to be shown as a turn or stands for its session.

    `best_ids` are the exchanges that brought it in, and `best_ordinals` where in it they are.
    """

    scope_id: int
    chunk_id: int
    session_id: str
    ordinal: int
    part: int
    wanted: Granularity
    best_ids: Sequence[int] = ()
    best_ordinals: Sequence[int] = ()


class FoundExchange(NamedTuple):
    """An exchange of a session with its number, from 1, among all that pass the filters."""

    number: int
    chunk: Chunk


@dataclass(frozen=True, slots=True)
class FoundHit:
    """The chunk of a wanted hit, and its neighbours (`previous`, `next`).

    For a session: those of its exchanges that are nearest to the best, in its order, of `total`.
    Its chunk is the session chunk, or, where none is stored, the wanted one.
    """

    chunk: Chunk
    neighbors: tuple[tuple[Literal["previous", "next"], Chunk], ...]
    exchanges: Sequence[FoundExchange] = ()
    total: int = 0


def fetch_hits(
    connection: Connection,
    tenant_id: int,
    wanted: Sequence[WantedHit],
    *,
    content_budget: int,
    filters: Sequence[str] = (),
    parameters: Mapping[str, Any] = NO_PARAMETERS,
    as_of: datetime | None = None,
) -> list[FoundHit | None]:
    """The chunks of all hits with what is shown beside them, by one statement, in the order wanted.

    None where a chunk went away between recall and this read. `filters` are the names of those in
    use, `parameters` theirs: neighbours and exchanges pass them all, and what a chunk knows of the
    exchanges around it is left out. All is as it is, or as it stood at `as_of`.
    """
    strict = select_strict(filters)
    values: dict[str, Any] = {
        **parameters,
        "tenant_id": tenant_id,
        "scope_ids": as_number_array([hit.scope_id for hit in wanted]),
        "chunk_ids": as_number_array([hit.chunk_id for hit in wanted]),
        "session_ids": as_text_array([hit.session_id for hit in wanted]),
        "ordinals": as_number_array([hit.ordinal for hit in wanted]),
        "parts": as_number_array([hit.part for hit in wanted]),
        "wanted": as_text_array([hit.wanted for hit in wanted]),
        # PostgreSQL's arrays of arrays are rectangular.
        "best_ids": as_text_array([as_number_array(hit.best_ids) for hit in wanted]),
        "best_ordinals": as_text_array([as_number_array(hit.best_ordinals) for hit in wanted]),
        "content_budget": content_budget,
        "as_of": as_of,
    }
    shown: dict[int, Chunk] = {}
    exchanges: dict[int, list[FoundExchange]] = {}
    totals: dict[int, int] = {}
    around: dict[int, list[tuple[Literal["previous", "next"], Chunk]]] = {}
    sessions = any(hit.wanted == "session" for hit in wanted)
    statement = _hits(strict, sessions, as_of is not None)
    for position, relation, number, total, *columns in fetch_numbered(
        connection, statement, values
    ):
        chunk = read_chunk(columns)
        if strict:
            chunk = replace(chunk, next_user_text=None, context="")
        if relation == "hit":
            shown[position] = chunk
        elif relation == "exchange":
            exchanges.setdefault(position, []).append(FoundExchange(number, chunk))
            totals[position] = total
        else:
            if chunk.opening_length and chunk.ordinal == wanted[int(position) - 1].ordinal:
                chunk = chunk.without_opening()
            around.setdefault(position, []).append((relation, chunk))
    return [
        FoundHit(
            shown[position],
            tuple(sorted(around.get(position, ()), key=_by_neighbor)),
            sorted(exchanges.get(position, ()), key=_by_number),
            totals.get(position, 0),
        )
        if position in shown
        else None
        for position in range(1, len(wanted) + 1)
    ]


def _by_number(exchange: FoundExchange) -> int:
    return exchange.number


_SET_FIELDS: Sequence[Callable[[Chunk, Any], None]] = [
    getattr(Chunk, field.name).__set__ for field in fields(Chunk)
]


def read_chunk(columns: Sequence[Any]) -> Chunk:
    """The chunk of these columns, which are in the order of its fields.

    A call with so many keywords would take three times as long, most of a search's decoding.
    """
    chunk = object.__new__(Chunk)
    for set_field, value in zip(_SET_FIELDS, columns, strict=True):
        set_field(chunk, value)
    return chunk


def _by_place(chunk: Chunk) -> tuple[int, int]:
    return chunk.ordinal, chunk.part


def _by_neighbor(neighbor: tuple[str, Chunk]) -> tuple[int, int]:
    return _by_place(neighbor[1])


@lru_cache(maxsize=64)
def _hits(filters: tuple[str, ...], sessions: bool, is_past: bool) -> Numbered:
    """The statement of `fetch_hits`; without filters, or without sessions, it asks nothing more."""
    shown = is_shown("c.chunk_id")
    passes = f"{shown}\nAND {join_conditions(filters)}"
    scope = [fill("scope_of_hits", FILE)] if filters else []
    exchanges = fill("exchanges_of_hits", FILE, passes=passes) if sessions else ""
    text = fill(
        "fetch_hits",
        FILE,
        steps=",\n".join([*scope, join_expiry("%(scope_ids)s::integer[]")]),
        columns=shown_columns(),
        is_shown=shown,
        session_chunk=fill("session_chunk", FILE, is_shown=is_shown("h.chunk_id")),
        passes=passes,
        exchanges=exchanges,
    )
    return number_parameters(chunks_as_past(text) if is_past else text)


def fetch_history(
    connection: Connection, namespace: Namespace, chunk_id: int
) -> list[Event] | None:
    """Everything that happened to a chunk, oldest first; None outside this namespace."""
    key = {"tenant_id": namespace.tenant_id, "namespace": namespace.name, "chunk_id": chunk_id}
    scope_id = find_value(connection, "find_scope_of_chunk", key)
    if scope_id is None:
        return None
    return fetch_all(connection, "fetch_history", {**key, "scope_id": scope_id}, of=Event)


def fetch_known_names(
    connection: Connection, namespace: Namespace, user_id: str | None, wanted: Sequence[str]
) -> dict[str, list[str]]:
    """The users of the namespace, and the sessions, agents and tags of the user's active chunks.

    `wanted` holds the kinds that are asked for: "user", "session", "agent", "tag".
    """
    values = {**_key(namespace), "user_id": user_id, "wanted": list(wanted)}
    rows: list[tuple[list[str], ...]] = fetch_all(connection, "fetch_known_names", values)
    return dict(zip(("user", "session", "agent", "tag"), rows[0], strict=True))


def fetch_statistics(
    connection: Connection,
    namespace: Namespace,
    user_id: str | None,
    *,
    after: str | None = None,
    limit: int | None = None,
) -> list[ScopeStatistics]:
    """What each user's memory of the namespace holds, by user; of `limit` users behind `after`."""
    values = {**_key(namespace), "user_id": user_id, "after_user": after, "limit": limit}
    return fetch_all(connection, "fetch_statistics", values, of=ScopeStatistics)
