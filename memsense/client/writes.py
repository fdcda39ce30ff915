"""Writes drafts: each session in a transaction of its own, or within the caller's."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import psycopg

from memsense import store
from memsense.client.changes import naming_key
from memsense.client.context import Context
from memsense.client.telling import told_as
from memsense.db import database_errors, run_read, savepoint
from memsense.db.connection import Connection
from memsense.errors import ConflictError
from memsense.store.awaiting import OutdatedDraftError, find_awaiting
from memsense.store.keys import WriteKey, write_once
from memsense.types import (
    Added,
    Awaiting,
    Chunk,
    Conversation,
    EmbedWhen,
    SessionDraft,
    SessionWrite,
)
from memsense.write.vectors import LATER, BatchVectors, TokenText, list_texts, list_token_texts

if TYPE_CHECKING:
    from memsense.write.drafting import Drafter

T = TypeVar("T")

ATTEMPTS = 5
"""How often an answer is tried that others' answers come before."""


class Given(NamedTuple):
    """What a caller adds to one session, and how it is cut into exchanges."""

    conversation: Conversation
    drafter: "Drafter"
    user_id: str


class Writes:
    """Stores drafts within one context."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def write_draft(self, draft: SessionDraft, vectors: BatchVectors) -> SessionWrite:
        """Store a draft in a transaction of its own."""
        write = self._writer(draft, vectors)
        return self._run(lambda it: write(it)[1], vectors)

    def write_beside(
        self,
        draft: SessionDraft,
        vectors: BatchVectors,
        also: Callable[[Connection, store.Namespace], object],
    ) -> None:
        """Store a draft in one transaction with something else, which may be done twice."""
        write = self._writer(draft, vectors)
        self._run(lambda it: also(it, write(it)[0]), vectors)

    @told_as("create_memory", lambda added: sum(len(each) for each in added))
    def add(
        self,
        given: Sequence[Given],
        *,
        embed: EmbedWhen | None,
        joined: psycopg.Connection | None = None,
        key: str | None = None,
    ) -> list[Added]:
        """Store what is given, each a session's, in one transaction, `joined` if there is one.

        An answer to what was added before completes that exchange, if it still awaits one.
        """
        drafts = [each.drafter.draft(each.conversation, each.user_id) for each in given]
        name = None if key is None else _name(key, drafts)
        vectors = self._context.batch_vectors(embed)
        for _ in range(ATTEMPTS):
            ready = [
                self._complete(each, draft, joined)
                for each, draft in zip(given, drafts, strict=True)
            ]
            self._prepare(ready, vectors, joined)
            try:
                with naming_key(key):
                    return self._add([draft for draft, _ in ready], vectors, joined, name)
            except OutdatedDraftError:
                continue  # another call's answer came before; this one's is looked at anew
        raise ConflictError(
            f"session {given[0].conversation.session_id!r} is written to by several at once, and"
            " what is added answers what another call just answered; add it again"
        )

    def _complete(
        self, given: Given, draft: SessionDraft, joined: psycopg.Connection | None
    ) -> tuple[SessionDraft, str | None]:
        """The draft, completing what awaits its answer, and then what was said before that."""
        from memsense.write.completing import complete_exchange, starts_with_answer

        if starts_with_answer(given.conversation, draft) and (
            awaiting := self._find_awaiting(draft, joined)
        ):
            return complete_exchange(
                given.drafter, given.conversation, draft, awaiting
            ), awaiting.before
        return draft, None

    def _find_awaiting(
        self, draft: SessionDraft, joined: psycopg.Connection | None
    ) -> Awaiting | None:
        """The exchange that the draft may bring the answer of, as `joined` sees it."""
        if joined is not None:
            self._begin(joined)
            with savepoint(joined) as connection:
                store.name_tenant(connection, self._context.settings.tenant)
                namespace = self._context.see_namespace(connection)
                return find_awaiting(connection, namespace, draft) if namespace else None
        namespace = self._context.look_up_namespace()
        if namespace is None:
            return None
        return run_read(self._context.pool, lambda it: find_awaiting(it, namespace, draft))

    def _prepare(
        self,
        ready: Sequence[tuple[SessionDraft, str | None]],
        vectors: BatchVectors,
        joined: psycopg.Connection | None,
    ) -> None:
        """Embed all that is new in one batch, tokens with what was said before, if it is known."""
        exchanges: list[TokenText] = []
        if vectors.has_tokens and vectors.deferred is None and joined is None:
            asked = [draft for draft, before in ready if before is None]
            found = iter(self._said_before_each(asked))
            for draft, before in ready:
                exchanges += list_token_texts(draft, next(found) if before is None else before)
        vectors.prepare(list_texts([draft for draft, _ in ready]), exchanges)

    def _add(
        self,
        drafts: Sequence[SessionDraft],
        vectors: BatchVectors,
        joined: psycopg.Connection | None,
        name: WriteKey | None,
    ) -> list[Added]:
        writes = [self._writer(draft, vectors) for draft in drafts]
        space, users = vectors.space(), {draft.user_id for draft in drafts}
        # Memories are locked in one order, so that two calls don't wait for each other.
        in_order = sorted(range(len(drafts)), key=lambda at: drafts[at].user_id)

        def store_drafts(connection: Connection) -> list[tuple[list[int], int]]:
            written = {at: writes[at](connection)[1] for at in in_order}
            return [(list(it.chunk_ids), it.deferred) for _, it in sorted(written.items())]

        def add(connection: Connection) -> list[Added]:
            namespace = self._context.open_namespace(connection, space)
            stored = (
                store_drafts(connection)
                if name is None
                else write_once(
                    connection, namespace, users, name, lambda: store_drafts(connection)
                )
            )
            every = [chunk_id for chunk_ids, _ in stored for chunk_id in chunk_ids]
            chunks = {it.chunk_id: it for it in store.fetch_chunks(connection, namespace, every)}
            return [
                _as_added([chunks[one] for one in sorted(set(ids)) if one in chunks], late, vectors)
                for ids, late in stored
            ]

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
        space = vectors.space()

        def write(connection: Connection) -> tuple[store.Namespace, SessionWrite]:
            namespace = self._context.open_namespace(connection, space)
            scope = store.lock_scope(connection, namespace, draft.user_id, followers=followers)
            written = store.write_session(connection, scope, draft, vectors)
            if written.expires:
                self._context.wake_worker()
            if vectors.deferred is not None:
                waiting = store.count_unembedded(connection, scope, written.chunk_ids)
                written = replace(written, deferred=waiting)
            return namespace, written

        return write

    def _run(
        self,
        work: Callable[[Connection], T],
        vectors: BatchVectors,
        joined: psycopg.Connection | None = None,
    ) -> T:
        if joined is None:  # what is stored already is known by its content or its keys
            return self._context.run_write(work, vectors)
        self._begin(joined)

        def write() -> T:
            with savepoint(joined) as connection:
                store.name_tenant(connection, self._context.settings.tenant)
                return work(connection)

        result = vectors.retry_until_embedded(write)
        if vectors.deferred is not None:
            self._context.wake_worker()
        return result

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
        pool, vectors = self._context.pool, self._context.batch_vectors()
        vectors.prepare(run_read(pool, lambda it: store.session_texts(it, namespace, marked)))
        followers = self._context.followers()

        def make(connection: Connection) -> bool:
            scope = store.lock_scope(connection, namespace, marked.user_id, followers=followers)
            return store.make_session(connection, scope, marked.session_id, vectors)

        return self._run(make, vectors)

    def said_before(self, draft: SessionDraft) -> str:
        """What the session that a draft continues holds last; empty if the draft begins it."""
        [said] = self._said_before_each([draft])
        return said

    def _said_before_each(self, drafts: Sequence[SessionDraft]) -> Sequence[str]:
        namespace = self._context.look_up_namespace()
        if namespace is None or not drafts:
            return [""] * len(drafts)
        return run_read(
            self._context.pool, lambda it: store.fetch_last_texts(it, namespace, drafts)
        )


def _as_added(chunks: Sequence[Chunk], deferred: int, vectors: BatchVectors) -> Added:
    notes = [note_deferred(deferred, vectors)] if deferred else []
    return Added(chunks, notes=notes, deferred=deferred)


def _name(key: str, drafts: Sequence[SessionDraft]) -> WriteKey:
    """The key of a write that stores these drafts, whenever it is run."""
    asked = [
        (
            draft.user_id,
            draft.session_id,
            draft.mode,
            [chunk.content_hash for exchange in draft.exchanges for chunk in exchange.chunks],
        )
        for draft in drafts
    ]
    return WriteKey.of(key, "add", *asked)


def note_deferred(count: int, vectors: BatchVectors) -> str:
    """What is said of chunks that were stored without their vectors."""
    return (
        f"{count} stored without vectors, so that words alone find them until 'memsense worker'"
        f" has embedded them: {vectors.deferred or LATER}"
    )
