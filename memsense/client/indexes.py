"""`memory.indexes`: what makes the search of large memories quick, and the text index anew."""

from collections.abc import Callable
from functools import partial

from memsense import store
from memsense.client.context import Context
from memsense.client.writes import Writes
from memsense.db import run_autocommit, transaction
from memsense.db.connection import Connection
from memsense.errors import ConfigurationError
from memsense.inputs import Callback, Id, Name, takes
from memsense.store.reindexing import Reindexing, reindex
from memsense.write.vectors import embed_tokens


class IndexesResource:
    """Builds indexes while searches go on."""

    def __init__(self, context: Context, writes: Writes) -> None:
        self._context = context
        self._writes = writes

    @takes(user_id=Id | None)
    def make_sessions(self, user_id: str | None = None) -> int:
        """Make the session chunks that writes in mode "hybrid" left open; of how many sessions.

        A search of sessions makes those it needs by itself, the first time.
        """
        return self._writes.make_sessions(user_id)

    @takes(on_change=Callback)
    def optimise(
        self, on_change: Callable[[store.IndexChange], object] = lambda _: None
    ) -> list[store.IndexChange]:
        """Give large users' memories HNSW indexes of their own, and take them from shrunken ones.

        The rule is `store.should_index` with the setting `index_threshold`. Takes minutes for
        100,000 chunks; searches and writes go on meanwhile. Returns what was changed.
        """
        # Kept outside of `work`: if a lost connection makes it run again, that second run does
        # only what is left, and what the first one changed is still to be reported.
        changes: list[store.IndexChange] = []

        def note_change(change: store.IndexChange) -> None:
            changes.append(change)
            on_change(change)

        def work(connection: Connection) -> None:
            namespace = self._context.reload_namespace(connection)
            if namespace is not None:
                threshold = self._context.settings.index_threshold
                store.optimise(connection, namespace, threshold, note_change)

        run_autocommit(self._context.pool, work)
        return changes

    @takes(on_chunks=Callback)
    def fill_tokens(self, *, on_chunks: Callable[[int], object] = lambda _: None) -> int:
        """Give the exchanges that were stored without token vectors theirs; returns how many.

        Searches and writes go on meanwhile, and a broken-off run is completed by the next one.
        `on_chunks` gets the size of each batch. Raises ConfigurationError if the embedder has no
        token vectors, or the settings leave them out.
        """
        self._context.look_up_namespace()
        if not self._context.batch_vectors().has_tokens:
            raise ConfigurationError(
                f"{self._context.embedder.model} gives no token vectors"
                if self._context.settings.token_vectors
                else "MEMSENSE_TOKEN_VECTORS leaves token vectors out"
            )
        namespace = self._context.look_up_namespace()
        if namespace is None or namespace.in_use is None:
            return 0
        embed = partial(embed_tokens, self._context.embedders.of(namespace))
        return store.fill_tokens(self._context.pool, namespace, namespace.in_use, embed, on_chunks)

    @takes(language=Name | None, on_chunks=Callback)
    def rebuild(
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
        with transaction(self._context.pool) as connection:
            namespace = self._context.require_namespace(connection)
            return reindex(connection, namespace, language, on_chunks)
