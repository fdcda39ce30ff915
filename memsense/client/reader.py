"""The part of `MemSense` that reads what is stored, without ranking it."""

from memsense import store
from memsense.client.context import Opened, no_chunk
from memsense.db import read
from memsense.errors import InvalidInputError
from memsense.types import Chunk, Granularity, ScopeStatistics


class Reader(Opened):
    """Shows memory."""

    def recent(
        self,
        *,
        limit: int = 10,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        granularity: Granularity = "turn",
    ) -> list[Chunk]:
        """The latest chunks by event time, newest first."""
        if limit < 1:
            raise InvalidInputError(f"limit must be at least 1, not {limit}")
        with read(self._pool) as connection:
            namespace = self._find_namespace(connection)
            if namespace is None:
                return []
            return store.fetch_recent(
                connection,
                namespace,
                limit=limit,
                user_id=user_id,
                agent_id=agent_id,
                session_id=session_id,
                granularity=granularity,
            )

    def get(self, chunk_id: int) -> Chunk:
        """One chunk, whatever its status; raises NotFoundError."""
        with read(self._pool) as connection:
            found = store.fetch_chunks(connection, self._require_namespace(connection), [chunk_id])
        if not found:
            raise no_chunk(chunk_id)
        return found[0]

    def stats(self, *, user_id: str | None = None) -> list[ScopeStatistics]:
        """What each user's memory in this namespace holds."""
        with read(self._pool) as connection:
            namespace = self._find_namespace(connection)
            return store.fetch_statistics(connection, namespace, user_id) if namespace else []
