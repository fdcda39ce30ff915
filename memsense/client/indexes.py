"""`memory.indexes`: HNSW indexes of large memories, and rebuilding the text index."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from memsense.client.context import Context
from memsense.client.listing import Listing
from memsense.client.updating import Updating
from memsense.db import run_autocommit, run_read
from memsense.db.connection import Connection
from memsense.declaration import Facade, awaited, takes
from memsense.draft.facets.model import STANDING
from memsense.draft.vectors import BatchVectors
from memsense.errors import ConfigurationError
from memsense.inputs import Id, Name, Switch
from memsense.search.request import NO_FILTERS
from memsense.store import indexes
from memsense.store.by_user import work_by_user
from memsense.store.indexes import IndexChange
from memsense.store.models import fill_model
from memsense.store.reindexing import Reindexing, reindex
from memsense.store.supersession import link_memory
from memsense.store.updating import Update

AT_ONCE = 500
"""Memories that are read together while rules are looked for."""

if TYPE_CHECKING:
    from memsense.client.writing import Writes


class IndexesResource:
    """Builder of indexes, token vectors and session chunks while searches go on."""

    def __init__(self, context: Context, writes: "Writes") -> None:
        self._context = context
        self._writes = writes

    @takes
    def make_sessions(self, user_id: Id | None = None) -> int:
        """Make the session chunks that writes in mode "hybrid" left for later.

        A search for sessions makes those that it needs by itself.

        Args:
            user_id: Only this user's; default: all users'.

        Returns:
            The number of sessions.
        """
        return self._writes.make_sessions(user_id)

    @takes
    def optimise(
        self, on_change: Callable[[IndexChange], object] = lambda _: None
    ) -> list[IndexChange]:
        """Build HNSW indexes for large users' memories, and drop those of memories that shrank.

        The settings `index_threshold` and `index_users` say which. It takes minutes for 100,000
        chunks; searches and writes go on meanwhile.

        Args:
            on_change: Called after each index is built or dropped.

        Returns:
            The changes.
        """
        # Kept outside of `work`: if a lost connection makes it run again, that second run does
        # only what is left, and what the first one changed is still to be reported.
        changes: list[IndexChange] = []

        def note_change(change: IndexChange) -> None:
            changes.append(change)
            on_change(change)

        def work(connection: Connection) -> None:
            namespace = self._context.reload_namespace(connection)
            if namespace is not None:
                settings = self._context.settings
                threshold, most = settings.index_threshold, settings.index_users
                indexes.optimise(connection, namespace, threshold, note_change, most=most)

        run_autocommit(self._context.pool, work)
        return changes

    @takes
    def fill_tokens(self, *, on_chunks: Callable[[int], object] = lambda _: None) -> int:
        """Compute token vectors for exchanges that were stored without them.

        Searches and writes go on; the next run completes an interrupted one.

        Args:
            on_chunks: Called after each batch with its number of exchanges.

        Returns:
            The number of exchanges.

        Raises:
            ConfigurationError: If the embedder has no token vectors, or the settings turn them off.
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
        embedder = self._context.embedders.of(namespace)
        filled = fill_model(
            self._context.pool,
            namespace,
            namespace.in_use,
            lambda: BatchVectors(embedder),
            lambda batch: on_chunks(batch.exchanges),
        )
        return filled.exchanges

    @takes
    def link_facts(
        self,
        *,
        user_id: Id | None = None,
        again: Switch = False,
        on_user: Callable[[str, int], object] = lambda _user, _links: None,
    ) -> int:
        """Find pairs of memories that may tell a fact and its change.

        Needed for memories from before version 0042 of the schema. Decided pairs stay. Each user is
        one transaction, for which that user's writes wait: about a second for 1,000 exchanges.

        Args:
            user_id: Only this user's; default: all users'.
            again: Whether to judge anew every pair without a decision.
            on_user: Called after each user with the id and the number of new links.

        Returns:
            The number of new links.

        Raises:
            NotFoundError: If nothing is stored for the user.
        """
        namespace = self._context.look_up_namespace()
        if namespace is None:
            return 0
        work = partial(link_memory, again=again)
        return work_by_user(self._context.pool, namespace, user_id, work, on_user)

    @takes
    def find_rules(self, *, user_id: Id | None = None) -> int:
        """Find the standing rules of memories that were stored before they were looked for.

        Each memory that has one is updated, as `update` does with the text that it has.

        Args:
            user_id: Only this user's; default: all users'.

        Returns:
            The number of memories with new rules.
        """
        listing, updating = Listing(self._context), Updating(self._context)
        cursor: str | None = None
        updated = 0
        while True:
            page = listing.chunks(
                user_id,
                NO_FILTERS,
                granularity="turn",
                statuses=("active",),
                order="oldest",
                limit=AT_ONCE,
                cursor=cursor,
            )
            for chunk in page:
                facets = self._context.tagger.tag(chunk.own_user_text, "")
                rules = {span.rule for span in facets.spans} & {STANDING}
                if rules - {str(span["rule"]) for span in chunk.facet_spans}:
                    update = Update(content={"user": chunk.user_text})
                    updating.update(chunk.chunk_id, update, "standing rules", None)
                    updated += 1
            if (cursor := page.next_cursor) is None:
                return updated

    @takes
    def rebuild(
        self, language: Name | None = None, *, on_chunks: Callable[[int], object] = lambda _: None
    ) -> Reindexing:
        """Make the words of all memories again, for example in another language.

        Searches and writes go on, and find each text by its old or by its new words.

        Args:
            language: Code of the texts' language, or auto; default: the same.
            on_chunks: Called after each batch with its number of chunks.

        Raises:
            InvalidInputError: For an unknown language.
            NotFoundError: Before anything is stored.
        """
        pool = self._context.pool
        namespace = run_read(pool, self._context.require_namespace)
        return reindex(pool, namespace, language, on_chunks)


class AsyncIndexesResource(Facade):
    """IndexesResource for asyncio, each method awaited."""

    make_sessions = awaited(IndexesResource.make_sessions)
    optimise = awaited(IndexesResource.optimise)
    fill_tokens = awaited(IndexesResource.fill_tokens)
    link_facts = awaited(IndexesResource.link_facts)
    find_rules = awaited(IndexesResource.find_rules)
    rebuild = awaited(IndexesResource.rebuild)
