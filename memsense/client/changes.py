"""Changes of stored chunks: each runs in one transaction that locks the chunk's memory.

Each has an idempotency key, the caller's or a new one, so that a repetition after a lost
connection is applied only once.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Literal
from uuid import uuid4

from memsense.client.context import Resource
from memsense.client.spans import traced
from memsense.db import run_transaction
from memsense.db.connection import Connection
from memsense.errors import NotFoundError, OutcomeUnknownError
from memsense.store.keys import WriteKey, write_once
from memsense.store.lifecycle import change_memory_score, record_feedback, restore, retire
from memsense.store.quotas import keep_quota
from memsense.store.scopes import ChunkPlace, Namespace, find_chunk_scope
from memsense.store.supersession import decide_pair
from memsense.types import ChangeState, Status

SCORE_STEP = 0.15
"""Amount by which promote and demote change a memory score."""

Change = Callable[[Connection, Namespace, ChunkPlace], Any]


class Changes(Resource):
    """Writer that retires, restores and rates chunks within one context."""

    @traced("delete_memory", len)
    def retire(
        self, chunk_id: int, status: Status, reason: str | None, key: str | None
    ) -> list[int]:
        """Forget or archive a chunk; if the embedder is down, leave its work to a job."""
        vectors, key = self._context.batch_vectors(), key or _make_key()
        reason = self._context.clean(reason)

        def change(connection: Connection, _: Namespace, place: ChunkPlace) -> Any:
            return retire(connection, place, status, reason, vectors)

        arguments = status, chunk_id, reason
        # Forgetting must not wait for an embedding server that is down.
        return vectors.retry_or_defer(lambda: self._change(change, key, *arguments))

    def restore(self, chunk_id: int, reason: str | None, key: str | None) -> list[int]:
        """Bring a retired chunk back."""
        vectors, key = self._context.batch_vectors(), key or _make_key()
        reason = self._context.clean(reason)

        def change(connection: Connection, namespace: Namespace, place: ChunkPlace) -> Any:
            restored = restore(connection, namespace, place, reason, vectors)
            keep_quota(
                connection,
                namespace,
                place.scope,
                restored,
                vectors,
                user_id=place.user_id,
                session_id=place.session_id,
            )
            return restored

        arguments = "restore", chunk_id, reason
        return vectors.retry_until_embedded(lambda: self._change(change, key, *arguments))

    def move_score(self, chunk_id: int, steps: Literal[1, -1], key: str | None) -> float:
        """Raise or lower a chunk's memory score by a step, and return the new score."""
        change = steps * SCORE_STEP
        return self._change(
            lambda it, _, place: change_memory_score(it, place, change),
            key or _make_key(),
            "score",
            chunk_id,
            change,
        )

    def record_feedback(
        self,
        chunk_id: int,
        *,
        helpful: bool,
        question: str | None,
        note: str | None,
        key: str | None,
    ) -> None:
        """Store a user's feedback about a hit."""
        question, note = self._context.clean(question), self._context.clean(note)
        self._change(
            lambda it, _, place: record_feedback(it, place, helpful, question, note),
            key or _make_key(),
            "feedback",
            chunk_id,
            helpful,
            question,
            note,
        )

    def decide(
        self, older: int, newer: int, decision: ChangeState, reason: str | None, key: str | None
    ) -> None:
        """Store whether a chunk replaces what another one of the same user says."""
        reason = self._context.clean(reason)

        def change(connection: Connection, namespace: Namespace, place: ChunkPlace) -> None:
            other = find_chunk_scope(connection, namespace, newer)
            if other.user_id != place.user_id or newer == older:
                raise NotFoundError(f"chunk {newer} is not another one of the user of {older}")
            decide_pair(connection, place.scope, older, newer, state=decision, reason=reason)

        self._change(change, key or _make_key(), "decide", older, newer, decision, reason)

    def _change(self, change: Change, key: str, verb: str, chunk_id: int, *arguments: Any) -> Any:
        followers = self._context.followers()
        write_key = WriteKey.of(key, verb, chunk_id, *arguments)

        def work(connection: Connection) -> Any:
            namespace = self._context.require_namespace(connection)
            place = find_chunk_scope(connection, namespace, chunk_id, followers=followers)
            return write_once(
                connection,
                namespace,
                [place.user_id],
                write_key,
                lambda: change(connection, namespace, place),
            )

        # The key makes a retry safe even after a commit whose answer was lost.
        with naming_key(key):
            return run_transaction(self._context.pool, work, is_idempotent=True)


def _make_key() -> str:
    return str(uuid4())


@contextmanager
def naming_key(key: str | None) -> Generator[None]:
    """Add the idempotency key to errors whose outcome is unknown."""
    try:
        yield
    except OutcomeUnknownError as error:
        if key is None:
            raise
        message = f"{error}; run again with key={key!r}, it is done once"
        raise OutcomeUnknownError(message, key=key) from error
