"""Writes drafts: each session in a transaction of its own, or within the caller's."""

from collections.abc import Callable
from typing import TypeVar

import psycopg

from memsense import store
from memsense.client.context import Context
from memsense.db import database_errors, run_read, run_transaction, savepoint
from memsense.db.connection import Connection
from memsense.types import Chunk, SessionDraft, SessionWrite
from memsense.write.vectors import BatchVectors

T = TypeVar("T")


class Writes:
    """Stores drafts within one context."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def write_draft(self, draft: SessionDraft, vectors: BatchVectors) -> SessionWrite:
        """Store a draft in a transaction of its own."""
        write = self._writer(draft, vectors)
        return self._run(lambda it: write(it)[1], vectors)

    def add(
        self, draft: SessionDraft, vectors: BatchVectors, joined: psycopg.Connection | None
    ) -> list[Chunk]:
        """Store a draft, in the transaction of `joined` if it is given; the chunks that hold it."""
        write = self._writer(draft, vectors)

        def add(connection: Connection) -> list[Chunk]:
            namespace, written = write(connection)
            return store.fetch_chunks(connection, namespace, written.chunk_ids)

        return self._run(add, vectors, joined)

    def missing(self, draft: SessionDraft) -> SessionDraft:
        """The part of the draft that is not stored yet."""
        namespace = self._context.look_up_namespace()
        if namespace is None:
            return draft
        return run_read(self._context.pool, lambda it: store.select_missing(it, namespace, draft))

    def _writer(
        self, draft: SessionDraft, vectors: BatchVectors
    ) -> Callable[[Connection], tuple[store.Namespace, SessionWrite]]:
        """Stores the draft in an open transaction; the namespace is made if it is new."""
        followers = self._context.followers(draft)
        self._context.require_dimension()

        def write(connection: Connection) -> tuple[store.Namespace, SessionWrite]:
            namespace = self._context.open_namespace(connection)
            scope = store.lock_scope(connection, namespace, draft.user_id, followers=followers)
            return namespace, store.write_session(connection, scope, draft, vectors)

        return write

    def _run(
        self,
        work: Callable[[Connection], T],
        vectors: BatchVectors,
        joined: psycopg.Connection | None = None,
    ) -> T:
        if joined is None:  # what is stored already is known by its content or its keys
            pool = self._context.pool
            return vectors.complete(lambda: run_transaction(pool, work, is_idempotent=True))
        self._begin(joined)

        def write() -> T:
            with savepoint(joined) as connection:
                return work(connection)

        return vectors.complete(write)

    def _begin(self, connection: psycopg.Connection) -> None:
        """Begin the caller's transaction, unless it has begun or the connection is in autocommit.

        Any first statement does; else the savepoint would become a transaction and be committed.
        """
        with database_errors():
            store.find_tenant(connection, self._context.settings.tenant)

    def make_sessions(self, user_id: str | None = None) -> int:
        """Make the session chunks that wait to be made, of one user or all; of how many sessions.

        Each session is a transaction of its own, and is embedded before it begins.
        """
        namespace = self._context.look_up_namespace()
        if namespace is None:
            return 0
        marked = run_read(self._context.pool, lambda it: store.list_marked(it, namespace, user_id))
        return sum(self._make_session(namespace, item) for item in marked)

    def _make_session(self, namespace: store.Namespace, marked: store.MarkedSession) -> bool:
        embedder, pool = self._context.embedder, self._context.pool
        store.check_model(namespace, embedder.model, embedder.dimension)
        vectors = self._context.batch_vectors()
        vectors.prepare(run_read(pool, lambda it: store.session_texts(it, namespace, marked)))
        followers = self._context.followers()

        def make(connection: Connection) -> bool:
            scope = store.lock_scope(connection, namespace, marked.user_id, followers=followers)
            return store.make_session(connection, scope, marked.session_id, vectors)

        return self._run(make, vectors)

    def said_before(self, draft: SessionDraft) -> str:
        """What the session that a draft continues holds last; empty if the draft begins it."""
        namespace = self._context.look_up_namespace()
        if namespace is None:
            return ""
        return run_read(self._context.pool, lambda it: store.fetch_last_text(it, namespace, draft))
