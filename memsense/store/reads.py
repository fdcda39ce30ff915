"""Reads of stored chunks, their neighbours, history and counts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple

from memsense.db.connection import Connection
from memsense.db.queries import numbered_query
from memsense.db.rows import fetch_all, fetch_numbered
from memsense.store.scopes import Namespace
from memsense.types import Chunk, Event, Granularity, ScopeStatistics


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
    """A chosen candidate, and whether it is to be shown as its turn or as its session chunk."""

    scope_id: int
    chunk_id: int
    session_id: str
    ordinal: int
    part: int
    wanted: Granularity


@dataclass(frozen=True, slots=True)
class FoundHit:
    """The chunk to show for a wanted hit, and its neighbours (`previous`, `next`)."""

    chunk: Chunk
    neighbors: tuple[tuple[Literal["previous", "next"], Chunk], ...]


def fetch_hits(
    connection: Connection,
    tenant_id: int,
    wanted: Sequence[WantedHit],
    *,
    exclude_chunks: Sequence[int] = (),
    exclude_messages: Sequence[str] = (),
) -> list[FoundHit | None]:
    """The chunks of all hits with their neighbours, by one statement, in the order wanted.

    None where a chunk went away between recall and this read. A turn whose session chunk is
    excluded, or holds an excluded message, is shown by itself.
    """
    values: dict[str, Any] = {
        "tenant_id": tenant_id,
        "scope_ids": [hit.scope_id for hit in wanted],
        "chunk_ids": [hit.chunk_id for hit in wanted],
        "session_ids": [hit.session_id for hit in wanted],
        "ordinals": [hit.ordinal for hit in wanted],
        "parts": [hit.part for hit in wanted],
        "wanted": [hit.wanted for hit in wanted],
        "exclude_chunks": list(exclude_chunks),
        "exclude_messages": list(exclude_messages),
    }
    shown: dict[int, Chunk] = {}
    around: dict[int, list[tuple[Literal["previous", "next"], Chunk]]] = {}
    found = fetch_numbered(connection, numbered_query("fetch_hits"), values)
    for position, relation, *columns in found:
        chunk = _read_chunk(columns)
        if relation == "hit":
            shown[position] = chunk
        else:
            around.setdefault(position, []).append((relation, chunk))
    return [
        FoundHit(shown[position], tuple(sorted(around.get(position, ()), key=_by_place)))
        if position in shown
        else None
        for position in range(1, len(wanted) + 1)
    ]


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


def _by_place(neighbor: tuple[str, Chunk]) -> tuple[int, int]:
    return neighbor[1].ordinal, neighbor[1].part


def fetch_history(
    connection: Connection, tenant_id: int, scope_id: int, chunk_id: int
) -> list[Event]:
    """Everything that happened to a chunk, oldest first."""
    values = {"tenant_id": tenant_id, "scope_id": scope_id, "chunk_id": chunk_id}
    return fetch_all(connection, "fetch_history", values, of=Event)


def fetch_statistics(
    connection: Connection, namespace: Namespace, user_id: str | None
) -> list[ScopeStatistics]:
    """What each user's memory of the namespace holds."""
    values = {**_key(namespace), "user_id": user_id}
    return fetch_all(connection, "fetch_statistics", values, of=ScopeStatistics)
