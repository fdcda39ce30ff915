"""Writes of messages: read, cut into drafts and stored, in one transaction or the caller's."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Annotated, Any, NamedTuple, TypeVar

import psycopg

from memsense.actor import current_actor
from memsense.client.changes import naming_key
from memsense.client.context import Context, Resource
from memsense.client.spans import traced
from memsense.db import database_errors, run_read, savepoint
from memsense.db.calls import current_call
from memsense.db.connection import Connection
from memsense.db.groups import ApartError
from memsense.draft.completing import starts_with_answer
from memsense.draft.continuing import Continuation, Log
from memsense.draft.drafting import Annotations, Drafter, Paired
from memsense.draft.messages import read_messages
from memsense.draft.vectors import LATER, BatchVectors, UnembeddedError, list_chunks
from memsense.errors import ConflictError, InvalidInputError
from memsense.ingest.pairing import EXCHANGE_GAP
from memsense.inputs import AsList, Checker, Gap, Id, shorten
from memsense.store.jobs import count_unembedded
from memsense.store.keys import WriteKey, write_each_once, write_once
from memsense.store.planning import OutdatedDraftError, find_awaiting, select_missing
from memsense.store.quotas import keep_quota
from memsense.store.reads import fetch_chunks
from memsense.store.recognising import recognise
from memsense.store.scopes import Follower, Namespace, find_tenant, lock_scope, name_tenant
from memsense.store.sessions import MarkedSession, list_marked, session_texts
from memsense.store.writes import make_session, write_sessions
from memsense.text.secrets import redact as find_secrets
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

MOST_CHARACTERS = 256_000
"""Characters of texts that are stored together."""

ATTEMPTS = 5
"""Attempts to add an answer whose question another call keeps answering first."""


class SessionInput(NamedTuple):
    """Messages that a caller adds to one session, and the drafter that cuts them.

    `is_named` is false where the caller left the session to the day. `kept_secrets` counts secrets
    that are stored as they are by a setting, and by no choice of the call.
    """

    conversation: Conversation
    drafter: Drafter
    user_id: str
    is_named: bool = True
    kept_secrets: int = 0


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
    remaining = 0
    if redact is None and not drafter.redacts:
        remaining = sum(find_secrets(message.text)[1].total() for message in conversation.messages)
    is_named = session_id is not None
    return SessionInput(conversation, drafter, user_id, is_named=is_named, kept_secrets=remaining)


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


Stored = Sequence[tuple[list[int], int]]
"""The chunks of each draft that was stored, and how many of them wait for their vectors."""

Once = Callable[[Connection, Namespace, Callable[[], Stored]], Stored]
"""Runs a write within its transaction, or returns what it has stored before."""


def _name_write(
    key: str, sessions: Sequence[SessionInput], drafts: Sequence[SessionDraft]
) -> WriteKey:
    """Return the key of a call that adds these drafts; under other texts it is a conflict."""
    contents: list[object] = []
    for session, draft in zip(sessions, drafts, strict=True):
        chunks = [chunk for item in draft.exchanges for chunk in item.chunks]
        if session.is_named:
            hashes = [chunk.content_hash for chunk in chunks]
            contents.append((draft.user_id, draft.session_id, draft.mode, hashes))
        else:
            # A hash is one of a session too, and a call that is repeated after midnight is still
            # the same call.
            texts = [(chunk.user_text, chunk.assistant_text) for chunk in chunks]
            contents.append((draft.user_id, None, draft.mode, texts))
    return WriteKey.of(key, "add", *contents)


class _Write:
    """A draft that waits to be stored, perhaps with those of other calls."""

    def __init__(
        self, draft: SessionDraft, vectors: BatchVectors, key: WriteKey | None, *, is_answer: bool
    ) -> None:
        self.draft = draft
        self.vectors = vectors
        self.key = key
        self.is_alone = is_answer or not vectors.is_whole
        self.actor = current_actor()
        self.call = current_call()
        chunks = [chunk for item in draft.exchanges for chunk in item.chunks]
        self.names = {*(chunk.content_hash for chunk in chunks), *([key.key] if key else [])}
        self.size = sum(len(it.user_text) + len(it.assistant_text) for it in chunks)


def fits(writes: Sequence[_Write], other: _Write) -> bool:
    """Return whether a write may be stored in one transaction with those before it.

    Of each, the same must be stored as if those before it had been committed first.
    """
    every = (*writes, other)
    return (
        not any(write.is_alone for write in every)
        and all(write.actor == other.actor for write in writes)
        and all(write.names.isdisjoint(other.names) for write in writes)
        and sum(write.size for write in every) <= MOST_CHARACTERS
    )


class Writes(Resource):
    """Writer of drafts within one context."""

    def write_draft(self, draft: SessionDraft, vectors: BatchVectors) -> SessionWrite:
        """Store a draft in a transaction of its own."""
        write = self._writer([draft], vectors)
        return self._run(lambda it: write(it)[1][0], vectors, {draft.user_id})

    def write_beside(
        self,
        draft: SessionDraft,
        vectors: BatchVectors,
        also: Callable[[Connection, Namespace], object],
    ) -> None:
        """Store a draft in one transaction with other work, which may run more than once."""
        write = self._writer([draft], vectors)
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

        A session that starts with an answer completes the stored exchange that awaits one. Adds to
        one memory that wait for each other are stored together.
        """
        drafts = [each.drafter.draft(each.conversation, each.user_id) for each in sessions]
        write_key = None if key is None else _name_write(key, sessions, drafts)
        users = {draft.user_id for draft in drafts}

        def once(
            connection: Connection, namespace: Namespace, write: Callable[[], Stored]
        ) -> Stored:
            if write_key is None:
                return write()
            return write_once(connection, namespace, users, write_key, write)

        if joined is None:
            # A transaction that may be rolled back doesn't cache the namespace; this read does.
            self._context.look_up_namespace()
        vectors = self._context.batch_vectors(embed)
        completed = self._prepare(sessions, drafts, vectors, joined)

        def store(*, is_outdated: bool = False) -> list[Added]:
            current = None if is_outdated else completed
            for _ in range(ATTEMPTS):
                current = current or self._prepare(sessions, drafts, vectors, joined)
                try:
                    return self._add(current, vectors, joined, once)
                except OutdatedDraftError:
                    current = None  # another call answered it first: look again what awaits one
            raise ConflictError(
                f"session {drafts[0].session_id!r} is written to by several at once, and what is"
                " added answers what another call just answered; add it again"
            )

        with naming_key(key):
            # The text of a session chunk is known, and embedded, only when its turn has come: other
            # adds must not wait for that.
            if joined is not None or len(drafts) != 1 or drafts[0].mode == "session":
                results = store()
            else:
                # An answer completes what was stored before it, so that it comes after that.
                is_answer = starts_with_answer(sessions[0].conversation, drafts[0])
                write = _Write(completed[0], vectors, write_key, is_answer=is_answer)
                results = self._context.groups.run(
                    drafts[0].user_id,
                    write,
                    fits=fits,
                    together=self._store_together,
                    alone=lambda has_waited: store(is_outdated=is_answer and has_waited),
                )
        for added, draft, session in zip(results, drafts, sessions, strict=True):
            added.redacted = dict(draft.redacted)
            if added.redacted:
                added.notes.append(summary(added.redacted))
            if remaining := session.kept_secrets:
                words = (
                    ("secret", "it is", "it") if remaining == 1 else ("secrets", "they are", "them")
                )
                noun, state, them = words
                added.notes.append(
                    f"{remaining} {noun} stored as {state}: redact=True replaces {them}"
                )
        return results

    def _prepare(
        self,
        sessions: Sequence[SessionInput],
        drafts: Sequence[SessionDraft],
        vectors: BatchVectors,
        joined: psycopg.Connection | None,
    ) -> list[SessionDraft]:
        """Return the drafts, completed and embedded."""
        completed = [
            self._complete(session, draft, joined)
            for session, draft in zip(sessions, drafts, strict=True)
        ]
        vectors.prepare(list_chunks(completed))
        return completed

    def _store_together(self, writes: Sequence[_Write]) -> list[list[Added]]:
        """Store the drafts of several calls, all of one user, in one transaction."""

        def once(
            connection: Connection, namespace: Namespace, write: Callable[[], Stored]
        ) -> Stored:
            with ExitStack() as stack:
                for call in filter(None, (it.call for it in writes)):
                    stack.enter_context(call.holding(connection))
                user_id, keys = writes[0].draft.user_id, [it.key for it in writes]
                try:
                    return write_each_once(connection, namespace, user_id, keys, write)
                except UnembeddedError:
                    # Others must not wait for a text that is known only within its own write.
                    raise ApartError from None

        vectors = writes[0].vectors.join(it.vectors for it in writes[1:])
        drafts = [it.draft for it in writes]
        return [[added] for added in self._add(drafts, vectors, once=once)]

    def _complete(
        self, session: SessionInput, draft: SessionDraft, joined: psycopg.Connection | None
    ) -> SessionDraft:
        """Return the draft, merged with the stored exchange that it answers, if there is one."""
        from memsense.draft.completing import complete_exchange

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
        joined: psycopg.Connection | None = None,
        once: Once = lambda _connection, _namespace, write: write(),
    ) -> list[Added]:
        places: dict[str, list[int]] = {}
        for place, draft in enumerate(drafts):
            places.setdefault(draft.user_id, []).append(place)
        # Memories are locked in one order, so that two calls don't wait for each other.
        writers = {
            user_id: self._writer([drafts[place] for place in places[user_id]], vectors)
            for user_id in sorted(places)
        }
        space, users = vectors.space(), set(places)

        def store_drafts(connection: Connection) -> Stored:
            written: dict[int, SessionWrite] = {}
            for user_id, write in writers.items():
                written |= zip(places[user_id], write(connection)[1], strict=True)
            return [(list(it.chunk_ids), it.deferred) for _, it in sorted(written.items())]

        def add(connection: Connection) -> list[Added]:
            namespace = self._context.open_namespace(connection, space)
            stored = once(connection, namespace, partial(store_drafts, connection))
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

    def recognise(
        self, log: Log, joined_logs: Collection[str]
    ) -> tuple[Sequence[Paired], Continuation | None]:
        """Return what is new of a log's parts, in the stored sessions that they continue."""
        nothing: tuple[Sequence[Paired], Continuation | None] = (log.parts, None)
        return self._context.read_stored(
            partial(recognise, log=log, joined_logs=joined_logs), nothing
        )

    def _writer(
        self, drafts: Sequence[SessionDraft], vectors: BatchVectors
    ) -> Callable[[Connection], tuple[Namespace, list[SessionWrite]]]:
        """Return a function that stores drafts of one user in an open transaction."""
        followers = self._context.followers(*drafts)
        space = vectors.space()

        def write(connection: Connection) -> tuple[Namespace, list[SessionWrite]]:
            namespace = self._context.open_namespace(connection, space)
            user_id = drafts[0].user_id
            scope = lock_scope(connection, namespace, user_id, followers=followers)
            if scope.quota is not None and len(drafts) > 1:
                # Each has the quota that those before it leave.
                one_by_one = [self._writer([draft], vectors) for draft in drafts]
                return namespace, [write(connection)[1][0] for write in one_by_one]
            results: list[SessionWrite] = []
            written = write_sessions(connection, scope, drafts, vectors)
            for draft, result in zip(drafts, written, strict=True):
                if result.added:
                    keep_quota(
                        connection,
                        namespace,
                        scope,
                        result.chunk_ids,
                        vectors,
                        user_id=user_id,
                        session_id=draft.session_id,
                    )
                if result.expires:
                    self._context.wake_worker()
                waiting = 0
                if vectors.deferred is not None:
                    waiting = count_unembedded(connection, scope, result.chunk_ids)
                results.append(replace(result, deferred=waiting))
            return namespace, results

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
