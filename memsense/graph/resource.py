"""Resource `entities` of a client: lists and shows entities, and rebuilds them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from memsense.db import Pool, run_read
from memsense.db.connection import Connection
from memsense.declaration import Facade, awaited, takes
from memsense.errors import NotFoundError
from memsense.graph.extraction.model import EntityExtractor, EntityKind
from memsense.graph.extraction.naming import entity_key
from memsense.graph.reading import (
    Entity,
    EntityMention,
    NearEntity,
    fetch_neighbourhood,
    find_similar,
    list_entities,
)
from memsense.graph.upkeep import rebuild_entities
from memsense.inputs import Limit, Name, require_user
from memsense.parameters import AllUsers, OnlyUserId, PageSize, UserId
from memsense.store.by_user import work_by_user
from memsense.store.reads import fetch_chunks
from memsense.store.scopes import Namespace
from memsense.types import Chunk

DEFAULT_LISTED = 50
DEFAULT_SHOWN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityView:
    """Entity with the chunks that mention it most and its strongest neighbours.

    Attributes:
        entity: The entity.
        mentions: Its mentions by chunks, the most occurrences first.
        chunks: The chunks of `mentions`, in the same order.
        neighbours: Entities that chunks mention together with it.
        edges: (id, id, weight) among the entity and its neighbours; the weight is the number of
            chunks that mention both.
    """

    entity: Entity
    mentions: Sequence[EntityMention]
    chunks: Sequence[Chunk]
    neighbours: Sequence[NearEntity]
    edges: Sequence[tuple[int, int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entities:
    """Entities of a namespace."""

    pool: Pool
    find_namespace: Callable[[Connection], Namespace | None]
    require_namespace: Callable[[Connection], Namespace]
    extractor: EntityExtractor

    @takes
    def list(
        self,
        *,
        user_id: UserId | None = None,
        all_users: AllUsers = False,
        kind: EntityKind | None = None,
        limit: PageSize = DEFAULT_LISTED,
    ) -> list[Entity]:
        """Return what a user's memory mentions most often; of all users, each one's own.

        Args:
            user_id: Whose memory to read: an id of your own. Required without `all_users`.
            all_users: Read the memory of all users in the namespace.
            kind: Only entities of this kind, such as "name".
            limit: Maximum number of items.
        """
        whose = require_user(user_id, all_users)

        def fetch(connection: Connection) -> Sequence[Entity]:
            namespace = self.find_namespace(connection)
            if namespace is None:
                return ()
            return list_entities(connection, namespace, user_id=whose, kind=kind, limit=limit)

        return [*run_read(self.pool, fetch)]

    @takes
    def get(
        self,
        name: Name,
        *,
        user_id: UserId | None = None,
        all_users: AllUsers = False,
        limit: Limit = DEFAULT_SHOWN,
    ) -> EntityView:
        """Return an entity with its mentions and neighbours.

        With `all_users` it is that of the user who mentions it most.

        Args:
            name: Name of the entity, in any spelling.
            user_id: Whose memory to read: an id of your own. Required without `all_users`.
            all_users: Read the memory of all users in the namespace.
            limit: Maximum number of mentions and of neighbours.

        Raises:
            NotFoundError: For an unknown name; lists similar ones.
        """
        whose = require_user(user_id, all_users)

        def fetch(connection: Connection) -> EntityView:
            namespace = self.require_namespace(connection)
            entity = _find_entity(connection, namespace, name, whose)
            near = fetch_neighbourhood(connection, namespace, entity, limit=limit)
            chunk_ids = [mention.chunk_id for mention in near.mentions]
            rows = fetch_chunks(connection, namespace, chunk_ids)
            chunks = {chunk.chunk_id: chunk for chunk in rows}
            return EntityView(
                entity=entity,
                mentions=near.mentions,
                chunks=[chunks[chunk_id] for chunk_id in chunk_ids],
                neighbours=near.neighbours,
                edges=near.edges,
            )

        return run_read(self.pool, fetch)

    @takes
    def rebuild(
        self,
        *,
        user_id: OnlyUserId | None = None,
        on_user: Callable[[str, int], object] = lambda _user, _chunks: None,
    ) -> int:
        """Find the entities of everything stored again.

        Needed after a change of extractor. Each user is one transaction, for which that user's
        writes wait.

        Args:
            user_id: Only this user's; default: all users'.
            on_user: Called after each user with the id and the number of their chunks.

        Returns:
            The number of chunks that were read.
        """
        namespace = run_read(self.pool, self.require_namespace)
        work = partial(rebuild_entities, extractor=self.extractor)
        return work_by_user(self.pool, namespace, user_id, work, on_user)


class AsyncEntities(Facade):
    """Entities for asyncio, each method awaited."""

    list = awaited(Entities.list)
    get = awaited(Entities.get)
    rebuild = awaited(Entities.rebuild)


def _find_entity(
    connection: Connection, namespace: Namespace, name: str, user_id: str | None
) -> Entity:
    key = entity_key(name)
    entities = list_entities(connection, namespace, user_id=user_id, keys=[key], limit=1)
    if entities:
        return entities[0]
    similar = find_similar(connection, namespace, name, user_id) if key else []
    hint = f"; similar: {', '.join(similar)}" if similar else "; see 'memsense entities'"
    raise NotFoundError(f"no entity named {name!r}{hint}")
