"""Writes drafts: each session in a transaction of its own, or within the caller's."""

from collections.abc import Sequence

import psycopg

from memsense import store
from memsense.client.context import Context
from memsense.db import database_errors, read, transaction
from memsense.types import SessionDraft, SessionWrite
from memsense.write.vectors import BatchVectors


class Writes:
    """Stores drafts within one context."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def begin(self, connection: psycopg.Connection) -> None:
        """Begin the caller's transaction, unless it has begun or the connection is in autocommit.

        Any first statement does; else the savepoint would become a transaction and be committed.
        """
        with database_errors():
            store.find_tenant(connection, self._context.settings.tenant)

    def write(
        self,
        connection: psycopg.Connection,
        draft: SessionDraft,
        vectors: BatchVectors,
        followers: Sequence[store.Follower],
    ) -> tuple[store.Namespace, SessionWrite]:
        """Store a draft in the open transaction; the namespace is made if it is new."""
        namespace = self._context.open_namespace(connection)
        scope = store.lock_scope(connection, namespace, draft.user_id, followers=followers)
        return namespace, store.write_session(connection, scope, draft, vectors)

    def write_draft(self, draft: SessionDraft, vectors: BatchVectors) -> SessionWrite:
        """Store a draft in a transaction of its own."""
        followers = self._context.followers(draft)
        with transaction(self._context.pool) as connection:
            return self.write(connection, draft, vectors, followers)[1]

    def make_sessions(self, user_id: str | None = None) -> int:
        """Make the session chunks that wait to be made, of one user or all; of how many sessions.

        Each session is a transaction of its own, and is embedded before it begins.
        """
        pool = self._context.pool
        with read(pool) as connection:
            namespace = self._context.find_namespace(connection)
            marked = store.list_marked(connection, namespace, user_id) if namespace else []
        return sum(self._make_session(namespace, item) for item in marked if namespace)

    def _make_session(self, namespace: store.Namespace, marked: store.MarkedSession) -> bool:
        embedder = self._context.embedder
        store.check_model(namespace, embedder.model, embedder.dimension)
        with read(self._context.pool) as connection:
            texts = store.session_texts(connection, namespace, marked)
        vectors = BatchVectors(embedder)
        vectors.prepare(texts)
        followers = self._context.followers()
        with transaction(self._context.pool) as connection:
            scope = store.lock_scope(connection, namespace, marked.user_id, followers=followers)
            return store.make_session(connection, scope, marked.session_id, vectors)

    def missing(self, draft: SessionDraft) -> SessionDraft:
        """The part of the draft that is not stored yet."""
        with read(self._context.pool) as connection:
            namespace = self._context.find_namespace(connection)
            return store.select_missing(connection, namespace, draft) if namespace else draft
