"""Queries of entities: lists, similar names, and an entity's neighbourhood."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from psycopg.sql import SQL

from memsense.db.connection import Connection
from memsense.db.queries import as_sql, fill
from memsense.db.rows import fetch_all, fetch_values
from memsense.db.session import uses_lookups
from memsense.graph.extraction.model import EntityKind
from memsense.graph.extraction.naming import entity_key
from memsense.graph.upkeep import FILE
from memsense.store.scopes import Namespace

LEAST_SIMILARITY = 0.8
SUGGESTIONS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """Entity of one user's memory.

    Attributes:
        scope_id: Number of the user's memory.
        entity_id: Number of the entity in it.
        user_id: The user.
        key: What all spellings of the entity share.
        name: Its most frequent spelling.
        kind: Its kind, such as "name" or "file".
        mentions: Number of its occurrences.
        chunks: Number of the active turn chunks that hold them.
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
    """Entity that `weight` chunks mention together with another one."""

    entity_id: int
    key: str
    name: str
    kind: EntityKind
    weight: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityMention:
    """Mention of an entity by a chunk: its spelling, and the number of occurrences."""

    chunk_id: int
    name: str
    mentions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbourhood:
    """Surroundings of an entity; `edges` are (id, id, weight) among it and its neighbours."""

    mentions: Sequence[EntityMention]
    neighbours: Sequence[NearEntity]
    edges: Sequence[tuple[int, int, int]]


def list_entities(
    connection: Connection,
    namespace: Namespace,
    *,
    user_id: str | None = None,
    kind: EntityKind | None = None,
    keys: Sequence[str] | None = None,
    limit: int,
) -> list[Entity]:
    """Return the most mentioned entities of this kind and these keys, most frequent first."""
    values = {
        **namespace.key,
        "user_id": user_id,
        "kind": kind,
        "keys": None if keys is None else list(keys),
        "limit": limit,
    }
    return fetch_all(connection, "list_entities", values, FILE, of=Entity)


def find_similar(
    connection: Connection, namespace: Namespace, name: str, user_id: str | None
) -> list[str]:
    """Return at most three keys like a name (similarity above 0.8), the most similar first."""
    values = {
        **namespace.key,
        "user_id": user_id,
        "key": entity_key(name),
        "least": LEAST_SIMILARITY,
        "limit": SUGGESTIONS,
    }
    return fetch_values(connection, _fill_similar(lookups=uses_lookups(connection)), values)


@cache
def _fill_similar(*, lookups: bool) -> SQL:
    # PostgreSQL uses no GIN index under row-level security, unless a function asks it.
    entities = fill("similar_entities_looked_up" if lookups else "similar_entities", FILE)
    return as_sql(fill("find_similar", FILE, entities=entities))


def fetch_neighbourhood(
    connection: Connection, namespace: Namespace, entity: Entity, *, limit: int
) -> Neighbourhood:
    """Return the `limit` chunks that mention an entity most often, and its nearest neighbours."""
    scope = {"tenant_id": namespace.tenant_id, "scope_id": entity.scope_id}
    values = {**scope, "entity_id": entity.entity_id, "limit": limit}
    neighbours = fetch_all(connection, "list_neighbours", values, FILE, of=NearEntity)
    ids = [entity.entity_id, *(neighbour.entity_id for neighbour in neighbours)]
    return Neighbourhood(
        mentions=fetch_all(connection, "list_mentions", values, FILE, of=EntityMention),
        neighbours=neighbours,
        edges=fetch_all(connection, "list_edges_among", {**scope, "entity_ids": ids}, FILE),
    )
