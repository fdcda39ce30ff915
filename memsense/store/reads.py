"""Reads of stored chunks, their neighbours, history and counts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from memsense.db.connection import Connection
from memsense.db.queries import Numbered, fill, number_parameters
from memsense.db.rows import fetch_all, fetch_numbered
from memsense.store.conditions import join_conditions, select_strict
from memsense.store.scopes import Namespace
from memsense.types import Chunk, Event, Granularity, ScopeStatistics

FILE = "hits.sql"

NO_PARAMETERS: Mapping[str, Any] = MappingProxyType({})


def _key(namespace: Namespace) -> dict[str, Any]:
    return {"tenant_id": namespace.tenant_id, "namespace": namespace.name}


def fetch_chunks(
    connection: Connection, namespace: Namespace, chunk_ids: Sequence[int]
) -> list[Chunk]:
    """The chunks of those ids that are in the namespace, of any status, in the order of ids."""
    return fetch_named_chunks(connection, namespace.tenant_id, namespace.name, chunk_ids)


def fetch_named_chunks(
    connection: Connection, tenant_id: int, namespace: str, chunk_ids: Sequence[int]
) -> list[Chunk]:
    """As `fetch_chunks`, for a namespace given by name."""
    values = {"tenant_id": tenant_id, "namespace": namespace, "chunk_ids": list(chunk_ids)}
    return fetch_all(connection, "fetch_chunks", values, of=Chunk)


def fetch_texts(
    connection: Connection, tenant_id: int, scope_ids: Sequence[int], chunk_ids: Sequence[int]
) -> dict[int, str]:
    """What each of these chunks says, without the opening that parts of an exchange repeat."""
    values = {
        "tenant_id": tenant_id,
        "scope_ids": list(scope_ids),
        "chunk_ids": list(chunk_ids),
    }
    return dict(fetch_all(connection, "fetch_texts", values, FILE))


def withhold_forgotten(chunk: Chunk) -> Chunk:
    """The chunk, without anything that it says if it is forgotten."""
    if chunk.status != "deleted":
        return chunk
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


def fetch_recent(
    connection: Connection,
    namespace: Namespace,
    *,
    limit: int,
    user_id: str | None,
    agent_id: str | None,
    session_id: str | None,
    granularity: Granularity,
) -> list[Chunk]:
    """The latest active chunks by event time, newest first; unknown times come last."""
    values = {
        **_key(namespace),
        "limit": limit,
        "user_id": user_id,
        "agent_id": agent_id,
        "session_id": session_id,
        "granularity": granularity,
    }
    return fetch_all(connection, "fetch_recent", values, of=Chunk)


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
) -> list[FoundHit | None]:
    """The chunks of all hits with what is shown beside them, by one statement, in the order wanted.

    None where a chunk went away between recall and this read. `filters` are the names of those in
    use, `parameters` theirs: neighbours and exchanges pass them all, and what a chunk knows of the
    exchanges around it is left out.
    """
    strict = select_strict(filters)
    values: dict[str, Any] = {
        **parameters,
        "tenant_id": tenant_id,
        "scope_ids": [hit.scope_id for hit in wanted],
        "chunk_ids": [hit.chunk_id for hit in wanted],
        "session_ids": [hit.session_id for hit in wanted],
        "ordinals": [hit.ordinal for hit in wanted],
        "parts": [hit.part for hit in wanted],
        "wanted": [hit.wanted for hit in wanted],
        "best_ids": [_as_array(hit.best_ids) for hit in wanted],
        "best_ordinals": [_as_array(hit.best_ordinals) for hit in wanted],
        "content_budget": content_budget,
    }
    shown: dict[int, Chunk] = {}
    exchanges: dict[int, list[FoundExchange]] = {}
    totals: dict[int, int] = {}
    around: dict[int, list[tuple[Literal["previous", "next"], Chunk]]] = {}
    statement = _hits(strict, any(hit.wanted == "session" for hit in wanted))
    for position, relation, number, total, *columns in fetch_numbered(
        connection, statement, values
    ):
        chunk = _read_chunk(columns)
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


def _as_array(numbers: Sequence[int]) -> str:
    """An array as a text: PostgreSQL's arrays of arrays are rectangular."""
    return "{" + ",".join(map(str, numbers)) + "}"


def _by_number(exchange: FoundExchange) -> int:
    return exchange.number


_SET_FIELDS: Sequence[Callable[[Chunk, Any], None]] = [
    getattr(Chunk, field.name).__set__ for field in fields(Chunk)
]


def _read_chunk(columns: Sequence[Any]) -> Chunk:
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
def _hits(filters: tuple[str, ...], sessions: bool) -> Numbered:
    """The statement of `fetch_hits`; without filters, or without sessions, it asks nothing more."""
    passes = join_conditions(filters)
    exchanges = fill("exchanges_of_hits", FILE, passes=passes) if sessions else ""
    text = fill(
        "fetch_hits",
        FILE,
        scope=fill("scope_of_hits", FILE) if filters else "",
        session_chunk=fill("session_chunk", FILE),
        passes=passes,
        exchanges=exchanges,
    )
    return number_parameters(text)


def fetch_history(
    connection: Connection, tenant_id: int, scope_id: int, chunk_id: int
) -> list[Event]:
    """Everything that happened to a chunk, oldest first."""
    values = {"tenant_id": tenant_id, "scope_id": scope_id, "chunk_id": chunk_id}
    return fetch_all(connection, "fetch_history", values, of=Event)


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
    connection: Connection, namespace: Namespace, user_id: str | None
) -> list[ScopeStatistics]:
    """What each user's memory of the namespace holds."""
    values = {**_key(namespace), "user_id": user_id}
    return fetch_all(connection, "fetch_statistics", values, of=ScopeStatistics)
