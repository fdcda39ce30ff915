"""The part of `MemSense` that changes what is stored: its status, its score, its indexes."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from memsense import store
from memsense.client.context import Opened
from memsense.db import read, transaction
from memsense.db.connection import Connection
from memsense.store.reindexing import Reindexing, reindex
from memsense.types import Event
from memsense.write.vectors import BatchVectors

PROMOTION = 0.15
"""How much promote and demote change a memory score."""


class Curator(Opened):
    """Looks after memory."""

    def forget(self, chunk_id: int, *, reason: str | None = None) -> list[int]:
        """Take a chunk out of every search and out of its neighbours' context; `restore` undoes it.

        A session chunk takes its turns along. Returns the ids of the chunks that changed.
        """
        return self._retire(chunk_id, "deleted", reason)

    def archive(self, chunk_id: int, *, reason: str | None = None) -> list[int]:
        """As `forget`, for what is outdated rather than unwanted."""
        return self._retire(chunk_id, "archived", reason)

    def _retire(self, chunk_id: int, status: Any, reason: str | None) -> list[int]:
        with self._changing(chunk_id) as (connection, _, place):
            return store.retire(connection, place, status, reason, BatchVectors(self.embedder))

    def restore(self, chunk_id: int, *, reason: str | None = None) -> list[int]:
        """Bring a forgotten or archived chunk back, its turns included."""
        with self._changing(chunk_id) as (connection, namespace, place):
            vectors = BatchVectors(self.embedder)
            return store.restore(connection, namespace, place, reason, vectors)

    def promote(self, chunk_id: int) -> float:
        """Raise a chunk's memory score by 0.15, at most to 1; returns the new score."""
        with self._changing(chunk_id) as (connection, _, place):
            return store.change_memory_score(connection, place, PROMOTION)

    def demote(self, chunk_id: int) -> float:
        """Lower a chunk's memory score by 0.15, at least to 0; returns the new score."""
        with self._changing(chunk_id) as (connection, _, place):
            return store.change_memory_score(connection, place, -PROMOTION)

    def feedback(
        self, chunk_id: int, *, helpful: bool, question: str | None = None, note: str | None = None
    ) -> None:
        """Record whether a hit helped; it goes into the chunk's history and changes no score."""
        with self._changing(chunk_id) as (connection, _, place):
            store.record_feedback(connection, place, helpful, question, note)

    def history(self, chunk_id: int) -> list[Event]:
        """Everything that happened to a chunk, oldest first; raises NotFoundError."""
        with self._changing(chunk_id) as (connection, _, place):
            scope = place.scope
            return store.fetch_history(connection, scope.tenant_id, scope.scope_id, chunk_id)

    @contextmanager
    def _changing(
        self, chunk_id: int
    ) -> Generator[tuple[Connection, store.Namespace, store.ChunkPlace]]:
        with transaction(self._pool) as connection:
            namespace = self._require_namespace(connection)
            place = store.find_chunk_scope(connection, namespace, chunk_id)
            yield connection, namespace, place

    def optimise(
        self, on_change: Callable[[store.Promotion], object] = lambda _: None
    ) -> list[store.Promotion]:
        """Give large users' memories HNSW indexes of their own, and take them from shrunken ones.

        The rule is `store.should_promote` with the setting `promotion_threshold`. Takes minutes for
        100,000 chunks; searches and writes go on meanwhile. Returns what was changed.
        """
        with read(self._pool) as connection:
            namespace = self._find_namespace(connection)
            if namespace is None:
                return []
            threshold = self._settings.promotion_threshold
            return store.optimise(connection, namespace, threshold, on_change)

    def reindex(
        self,
        language: str | None = None,
        *,
        on_chunks: Callable[[int], object] = lambda _: None,
    ) -> Reindexing:
        """Make the text index of all memories anew, in the text-search configuration `language`
        if one is given, which the namespace then keeps.

        One transaction: searches use the old index until it is done, and keep it if it fails;
        writes wait. `on_chunks` gets the number of chunks of each batch. Raises InvalidInputError
        for a language that the server doesn't know, NotFoundError before anything is stored.
        """
        with transaction(self._pool) as connection:
            namespace = self._require_namespace(connection)
            return reindex(connection, namespace, language, on_chunks)
