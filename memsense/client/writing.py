"""Writes of messages: read, cut into drafts and stored, in one transaction or the caller's."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Annotated, Any, NamedTuple, TypeVar

import psycopg

from memsense.client.changes import naming_key
from memsense.client.context import Context
from memsense.client.spans import traced
from memsense.db import database_errors, run_read, savepoint
from memsense.db.connection import Connection
from memsense.draft.drafting import Annotations, Drafter
from memsense.draft.messages import read_messages
from memsense.draft.vectors import LATER, BatchVectors, list_chunks
from memsense.errors import ConflictError, InvalidInputError
from memsense.ingest.pairing import EXCHANGE_GAP
from memsense.inputs import AsList, Checker, Gap, Id, shorten
from memsense.store.jobs import count_unembedded
from memsense.store.keys import WriteKey, write_once
from memsense.store.planning import OutdatedDraftError, find_awaiting, select_missing
from memsense.store.quotas import keep_quota
from memsense.store.reads import fetch_chunks
from memsense.store.scopes import Follower, Namespace, find_tenant, lock_scope, name_tenant
from memsense.store.sessions import MarkedSession, list_marked, session_texts
from memsense.store.writes import make_session, write_session
from memsense.text.secrets import summary
from memsense.types import (
    Added,
    Chunk,
    Conversation,
    EmbedWhen,
    IngestMode,
    SessionDraft,
    SessionWrite,
)

T = TypeVar("T")

ATTEMPTS = 5
"""Attempts to add an answer whose question another call keeps answering first."""


class SessionInput(NamedTuple):
    """Messages that a caller adds to one session, and the drafter that cuts them.

    `is_named` is false where the caller left the session to the day.
    """

    conversation: Conversation
    drafter: Drafter
    user_id: str
    is_named: bool = True


class _SessionItem(Annotations):
    """One session of `add_many`: the keywords of `add` that belong to a session."""

    messages: Any
    session_id: Id | None = None
    user_id: Id | None = None
    mode: IngestMode = "turn"
    exchange_gap: Gap = EXCHANGE_GAP


_read_items = Checker(Annotated[list[Mapping[str, Any]], AsList], "sessions")


def read_session(
    context: Context,
    messages: object,
    *,
    user_id: str,
    session_id: str | None,
    mode: IngestMode,
    exchange_gap: timedelta,
    annotations: Annotations,
    redact: bool | None = None,
) -> SessionInput:
    """Return one session's messages, ready to be stored; those without a time are said now.

    Without a `session_id`, the session is the day of the first message.

    Raises InvalidInputError for a message that can't be used.
    """
    conversation = read_messages(messages, session_id=session_id, now=datetime.now(UTC))
    drafter = Drafter(
        tagger=context.tagger,
        mode=mode,
        ledger=False,
        exchange_gap=exchange_gap,
        redacts=context.redacts(logs=False, choice=redact),
        annotations=annotations,
    )
    return SessionInput(conversation, drafter, user_id, is_named=session_id is not None)


def read_sessions(
    context: Context,
    sessions: Iterable[Mapping[str, object]],
    user_id: str | None,
    redact: bool | None = None,
) -> list[SessionInput]:
    """Return several sessions, ready to be stored; `user_id` owns those that name no user.

    Raises InvalidInputError, which names the number of the session that can't be used.
    """
    places: set[tuple[str, str]] = set()
    inputs: list[SessionInput] = []
    for number, fields in enumerate(_read_items(sessions)):
        try:
            item = _SessionItem(**fields)
            owner = item.user_id or user_id
            if owner is None:
                missing = "user_id is missing, here and in the call"
                raise InvalidInputError(missing)  # noqa: TRY301 (its number is added below)
            session = read_session(
                context,
                item.messages,
                user_id=owner,
                session_id=item.session_id,
                mode=item.mode,
                exchange_gap=item.exchange_gap,
                annotations=item,
                redact=redact,
            )
        except InvalidInputError as error:
            raise InvalidInputError(f"sessions.{number}: {error}") from None
        # Two items of one session could complete each other's exchanges in either order.
        place = session.user_id, session.conversation.session_id
        if place in places:
            raise InvalidInputError(
                f"sessions.{number}: session {shorten(place[1])} of {shorten(place[0])} came"
                " before: give all of its messages at once, or each session a session_id of its own"
            )
        places.add(place)
        inputs.append(session)
    return inputs


class Writes:
    """Writer of drafts within one context."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def write_draft(self, draft: SessionDraft, vectors: BatchVectors) -> SessionWrite:
        """Store a draft in a transaction of its own."""
        write = self._writer(draft, vectors)
        return self._run(lambda it: write(it)[1], vectors, {draft.user_id})

    def write_beside(
        self,
        draft: SessionDraft,
        vectors: BatchVectors,
        also: Callable[[Connection, Namespace], object],
    ) -> None:
        """Store a draft in one transaction with other work, which may run more than once."""
        write = self._writer(draft, vectors)
        self._run(lambda it: also(it, write(it)[0]), vectors, {draft.user_id})

    @traced("create_memory", lambda added: sum(len(each) for each in added))
    def add(
        self,
        sessions: Sequence[SessionInput],
        *,
        embed: EmbedWhen | None,
        joined: psycopg.Connection | None = None,
        key: str | None = None,
    ) -> list[Added]:
        """Store sessions in one transaction; the caller's, if `joined` is its connection.

        A session that starts with an answer completes the stored exchange that awaits one.
        """
        drafts = [each.drafter.draft(each.conversation, each.user_id) for each in sessions]
        write_key = None
        if key is not None:
            # The key stands for these texts: under other texts it is a conflict.
            contents: list[object] = []
            for session, draft in zip(sessions, drafts, strict=True):
                chunks = [chunk for item in draft.exchanges for chunk in item.chunks]
                if session.is_named:
                    hashes = [chunk.content_hash for chunk in chunks]
                    contents.append((draft.user_id, draft.session_id, draft.mode, hashes))
                else:
                    # A hash is one of a session too, and a call that is repeated after midnight is
                    # still the same call.
                    texts = [(chunk.user_text, chunk.assistant_text) for chunk in chunks]
                    contents.append((draft.user_id, None, draft.mode, texts))
            write_key = WriteKey.of(key, "add", *contents)
        if joined is None:
            # A transaction that may be rolled back doesn't cache the namespace; this read does.
            self._context.look_up_namespace()
        vectors = self._context.batch_vectors(embed)
        for _ in range(ATTEMPTS):
            completed = [
                self._complete(session, draft, joined)
                for session, draft in zip(sessions, drafts, strict=True)
            ]
            vectors.prepare(list_chunks(completed))
            try:
                with naming_key(key):
                    results = self._add(completed, vectors, joined, write_key)
            except OutdatedDraftError:
                continue  # another call answered the question first: look again what awaits one
            for added, draft in zip(results, drafts, strict=True):
                added.redacted = dict(draft.redacted)
                if added.redacted:
                    added.notes.append(summary(added.redacted))
            return results
        raise ConflictError(
            f"session {sessions[0].conversation.session_id!r} is written to by several at once, and"
            " what is added answers what another call just answered; add it again"
        )

    def _complete(
        self, session: SessionInput, draft: SessionDraft, joined: psycopg.Connection | None
    ) -> SessionDraft:
        """Return the draft, merged with the stored exchange that it answers, if there is one."""
        from memsense.draft.completing import complete_exchange, starts_with_answer

        if not starts_with_answer(session.conversation, draft):
            return draft
        awaiting: Sequence[Chunk] = ()
        if joined is not None:
            # Only the caller's own transaction sees what it has not committed yet.
            self._begin(joined)
            with savepoint(joined) as connection:
                self._name_tenant(connection)
                namespace = self._context.see_namespace(connection)
                if namespace is not None:
                    awaiting = find_awaiting(connection, namespace, draft)
        elif (namespace := self._context.look_up_namespace()) is not None:
            current = namespace  # the lambda needs a variable that is never None
            awaiting = run_read(self._context.pool, lambda it: find_awaiting(it, current, draft))
        if not awaiting:
            return draft
        return complete_exchange(session.drafter, session.conversation, draft, awaiting)

    def _name_tenant(self, connection: Connection) -> None:
        """Let the rest of a caller's transaction see this tenant's rows."""
        settings = self._context.settings
        name_tenant(connection, settings.tenant, settings.seal_key)

    def _add(
        self,
        drafts: Sequence[SessionDraft],
        vectors: BatchVectors,
        joined: psycopg.Connection | None,
        write_key: WriteKey | None,
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
                if write_key is None
                else write_once(
                    connection, namespace, users, write_key, lambda: store_drafts(connection)
                )
            )
            every = [chunk_id for chunk_ids, _ in stored for chunk_id in chunk_ids]
            chunks = {it.chunk_id: it for it in fetch_chunks(connection, namespace, every)}
            results: list[Added] = []
            for chunk_ids, deferred in stored:
                # A repeated write may name chunks that were erased since.
                present = [chunks[it] for it in sorted(set(chunk_ids)) if it in chunks]
                notes = [note_deferred(deferred, vectors)] if deferred else []
                results.append(Added(present, notes=notes, deferred=deferred))
            return results

        return self._run(add, vectors, users, joined)

    def select_missing(self, draft: SessionDraft) -> SessionDraft:
        """Return the part of a draft that is not stored yet."""
        return self._context.read_stored(partial(select_missing, draft=draft), draft)

    def _writer(
        self, draft: SessionDraft, vectors: BatchVectors
    ) -> Callable[[Connection], tuple[Namespace, SessionWrite]]:
        """Return a function that stores the draft in an open transaction."""
        followers = self._context.followers(draft)
        space = vectors.space()

        def write(connection: Connection) -> tuple[Namespace, SessionWrite]:
            namespace = self._context.open_namespace(connection, space)
            scope = lock_scope(connection, namespace, draft.user_id, followers=followers)
            written = write_session(connection, scope, draft, vectors)
            if written.added:
                keep_quota(
                    connection,
                    namespace,
                    scope,
                    written.chunk_ids,
                    vectors,
                    user_id=draft.user_id,
                    session_id=draft.session_id,
                )
            if written.expires:
                self._context.wake_worker()
            if vectors.deferred is not None:
                waiting = count_unembedded(connection, scope, written.chunk_ids)
                written = replace(written, deferred=waiting)
            return namespace, written

        return write

    def _run(
        self,
        work: Callable[[Connection], T],
        vectors: BatchVectors,
        users: Collection[str],
        joined: psycopg.Connection | None = None,
    ) -> T:
        if joined is None:
            return self._context.run_write(work, vectors, users=users)
        self._begin(joined)

        def write() -> T:
            with savepoint(joined) as connection:
                self._name_tenant(connection)
                return work(connection)

        result = vectors.retry_until_embedded(write)
        if vectors.deferred is not None:
            self._context.wake_worker()
        return result

    def _begin(self, connection: psycopg.Connection) -> None:
        """Begin the caller's transaction by a first statement, unless it is in autocommit mode.

        Without it, the savepoint would become a transaction of its own and be committed.
        """
        with database_errors():
            find_tenant(connection, self._context.settings.tenant)

    def make_sessions(self, user_id: str | None = None) -> int:
        """Make the session chunks left for later, of one user or all; return how many sessions.

        Each session is a transaction of its own, and is embedded before that begins.
        """
        context, pool = self._context, self._context.pool
        namespace = context.look_up_namespace()
        if namespace is None:
            return 0
        count = 0
        for session in run_read(pool, lambda it: list_marked(it, namespace, user_id)):
            vectors = context.batch_vectors()
            fetch_texts = partial(session_texts, namespace=namespace, marked=session)
            vectors.prepare(run_read(pool, fetch_texts))
            followers = context.followers()

            def make(
                connection: Connection,
                session: MarkedSession = session,
                vectors: BatchVectors = vectors,
                followers: Sequence[Follower] = followers,
            ) -> bool:
                scope = lock_scope(connection, namespace, session.user_id, followers=followers)
                return make_session(connection, scope, session.session_id, vectors)

            count += self._run(make, vectors, {session.user_id})
        return count


def note_deferred(count: int, vectors: BatchVectors) -> str:
    """Return the note on chunks that were stored without their vectors."""
    return (
        f"{count} stored without vectors, so that words alone find them until 'memsense worker'"
        f" has embedded them: {vectors.deferred or LATER}"
    )
