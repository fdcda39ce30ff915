"""Entities: listed, shown with what surrounds them, and found again in what is stored."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from memsense.db.connection import Connection
from memsense.db.queries import query
from memsense.store.mentions import FILE, as_json, count_mentions
from memsense.store.scopes import Namespace, Scope
from memsense.text.entities import EntityExtractor, entity_key, find_mentions
from memsense.types import EntityKind

LEAST_SIMILARITY = 0.8
SUGGESTIONS = 3
REBUILD_STEP = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """An entity of one user's memory, under its most frequent spelling.

    `mentions` counts occurrences, `chunks` the active turn chunks that hold them.
    """

    scope_id: int
    entity_id: int
    user_id: str
    key: str
    name: str
    kind: EntityKind
    mentions: int
    chunks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NearEntity:
    """An entity that `weight` chunks mention together with another one."""

    entity_id: int
    key: str
    name: str
    kind: EntityKind
    weight: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityMention:
    """A chunk that mentions an entity, how it spells it and how often."""

    chunk_id: int
    name: str
    mentions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbourhood:
    """What surrounds an entity; `edges` are (id, id, weight) among it and its neighbours."""

    mentions: Sequence[EntityMention]
    neighbours: Sequence[NearEntity]
    edges: Sequence[tuple[int, int, int]]


def _key(scope: Scope) -> dict[str, Any]:
    return {"tenant_id": scope.tenant_id, "scope_id": scope.scope_id}


def list_users(connection: Connection, namespace: Namespace, user_id: str | None) -> list[str]:
    """The users of the namespace, or the one that is named, if it is there."""
    values = {**_name(namespace), "user_id": user_id}
    return [found for (found,) in connection.execute(query("list_users", FILE), values)]


def _name(namespace: Namespace) -> dict[str, Any]:
    return {"tenant_id": namespace.tenant_id, "namespace": namespace.name}


def rebuild_entities(connection: Connection, scope: Scope, extractor: EntityExtractor) -> int:
    """Read every turn chunk of a locked scope again; returns how many were read.

    All speakers of the scope are known to the extractor meanwhile.
    """
    for name in ("clear_mentions", "clear_edges", "clear_entities"):
        connection.execute(query(name, FILE), _key(scope))
    row = connection.execute(query("fetch_speakers", FILE), _key(scope)).fetchone()
    participants: Sequence[str] = row[0] if row else ()
    read, after = 0, 0
    while turns := _fetch_turns(connection, scope, after):
        _read_again(connection, scope, turns, extractor, participants)
        read, after = read + len(turns), turns[-1][0]
    return read


def _fetch_turns(connection: Connection, scope: Scope, after: int) -> list[tuple[Any, ...]]:
    values = {**_key(scope), "after": after, "limit": REBUILD_STEP}
    return connection.execute(query("fetch_unread_turns", FILE), values).fetchall()


def _read_again(
    connection: Connection,
    scope: Scope,
    turns: Sequence[tuple[Any, ...]],
    extractor: EntityExtractor,
    participants: Sequence[str],
) -> None:
    found = [
        as_json(find_mentions(extractor, zip(row[2:4], row[4:6], strict=True), participants))
        for row in turns
    ]
    values = {
        **_key(scope),
        "chunk_ids": [row[0] for row in turns],
        "entities": [Jsonb(mentions) for mentions in found],
    }
    connection.execute(query("set_entities", FILE), values)
    active = [row[0] for row in turns if row[1] == "active"]
    count_mentions(connection, scope, active, sign=1)


def list_entities(
    connection: Connection,
    namespace: Namespace,
    *,
    user_id: str | None = None,
    kind: EntityKind | None = None,
    keys: Sequence[str] | None = None,
    limit: int,
) -> list[Entity]:
    """The most mentioned entities, of these kinds and keys, the most frequent first."""
    values = {
        **_name(namespace),
        "user_id": user_id,
        "kind": kind,
        "keys": None if keys is None else list(keys),
        "limit": limit,
    }
    cursor = connection.cursor(row_factory=class_row(Entity))
    return cursor.execute(query("list_entities", FILE), values).fetchall()


def find_similar(
    connection: Connection, namespace: Namespace, name: str, user_id: str | None
) -> list[str]:
    """The keys most like a name (similarity above 0.8), the most similar first; three at most."""
    values = {
        **_name(namespace),
        "user_id": user_id,
        "key": entity_key(name),
        "least": LEAST_SIMILARITY,
        "limit": SUGGESTIONS,
    }
    return [key for key, _ in connection.execute(query("find_similar", FILE), values)]


def fetch_neighbourhood(
    connection: Connection, namespace: Namespace, entity: Entity, *, limit: int
) -> Neighbourhood:
    """The `limit` chunks that mention an entity most often, and its strongest neighbours."""
    scope = {"tenant_id": namespace.tenant_id, "scope_id": entity.scope_id}
    values = {**scope, "entity_id": entity.entity_id, "limit": limit}
    mentions = connection.cursor(row_factory=class_row(EntityMention))
    near = connection.cursor(row_factory=class_row(NearEntity))
    neighbours = near.execute(query("list_neighbours", FILE), values).fetchall()
    ids = [entity.entity_id, *(neighbour.entity_id for neighbour in neighbours)]
    edges = connection.execute(query("list_edges_among", FILE), {**scope, "entity_ids": ids})
    return Neighbourhood(
        mentions=mentions.execute(query("list_mentions", FILE), values).fetchall(),
        neighbours=neighbours,
        edges=edges.fetchall(),
    )
