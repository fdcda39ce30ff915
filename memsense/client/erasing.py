"""What `erase` and `delete` do, and `memory.erasures`: the receipts that they leave."""

import logging
from collections.abc import Callable, Sequence
from typing import Annotated
from uuid import uuid4

from memsense import store
from memsense.client.context import Context, no_chunk
from memsense.client.settings import user_name
from memsense.client.spans import traced
from memsense.db import run_autocommit, run_read
from memsense.db.connection import Connection
from memsense.declaration import takes
from memsense.errors import DatabaseError, InvalidInputError, NotFoundError
from memsense.inputs import Id
from memsense.inputs import about as text
from memsense.parameters import PageSize
from memsense.store import erasing
from memsense.store.erasing import Receipt, Target
from memsense.store.indexes import drop_indexes

logger = logging.getLogger("memsense.erasing")


class ErasuresResource:
    """Lists the receipts of what was erased."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @takes
    def list(
        self,
        *,
        limit: PageSize = 100,
        about: Annotated[
            Id,
            text(
                "Only receipts about this user, session, message or chunk. A receipt holds no id"
                " but recognises its own, in about 0.1 s."
            ),
        ]
        | None = None,
    ) -> Sequence[Receipt]:
        """Return the receipts of the namespace, the latest first.

        memory.erasures.list(about="ada")

        Args:
            limit: Maximum number of items.
            about: Only receipts about this user, session, message or chunk. A receipt holds no id
                but recognises its own, in about 0.1 s.
        """
        namespace = self._context.look_up_namespace()
        if namespace is None:
            return []
        found = run_read(self._context.pool, lambda it: erasing.list_receipts(it, namespace, limit))
        return [receipt for receipt in found if about is None or receipt.is_about(about)]


class Erasing:
    """Erases within one context."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def erase(
        self, user_id: str | None, session_id: str | None, message_id: str | None, by: str | None
    ) -> Receipt:
        """Erase a user, or what the other ids name of it; without a user, of whoever has it."""
        if user_id is None and session_id is None and message_id is None:
            raise InvalidInputError("say what to erase: a user_id, a session_id or a message_id")

        def find(connection: Connection, namespace: store.Namespace) -> Target:
            whose = user_id or _find_user(connection, namespace, session_id, message_id)
            return Target(user_id=whose, session_id=session_id, message_id=message_id)

        return self._erase(find, by)

    def delete(self, chunk_id: int, by: str | None) -> Receipt:
        """Erase a chunk and what says the same."""

        def find(connection: Connection, namespace: store.Namespace) -> Target:
            found = store.fetch_chunks(connection, namespace, [chunk_id])
            if not found:
                raise no_chunk(chunk_id)
            return Target(user_id=found[0].user_id, chunk_id=chunk_id)

        return self._erase(find, by)

    @traced("delete_memory", lambda receipt: receipt.counts.get("chunks", 0))
    def _erase(
        self, find: Callable[[Connection, store.Namespace], Target], by: str | None
    ) -> Receipt:
        """One transaction; a search that is recorded just now is written before, not afterwards."""
        context, erasure_id = self._context, uuid4()
        context.recorder.flush()
        vectors, followers = context.batch_vectors(), context.followers()
        seen: list[tuple[store.Namespace, Target, store.KnownScope | None]] = []

        def work(connection: Connection) -> Receipt:
            namespace = context.require_namespace(connection)
            if done := erasing.find_receipt(connection, namespace, erasure_id):
                return done
            wanted = find(connection, namespace)
            known = store.find_scope(
                connection, namespace.tenant_id, namespace.name, wanted.user_id
            )
            seen[:] = [(namespace, wanted, known)]
            return erasing.erase(
                connection,
                namespace,
                wanted,
                erasure_id=erasure_id,
                by=by or user_name(),
                embed=vectors,
                followers=followers,
            )

        receipt = context.run_write(work, vectors, if_possible=True)
        for namespace, wanted, known in seen:
            context.forget_user(wanted.user_id)
            if known is not None and known.indexed and wanted.kind == "user":
                self._drop_indexes(namespace, known.scope_id)
        return receipt

    def _drop_indexes(self, namespace: store.Namespace, scope_id: int) -> None:
        """Take away the indexes of a memory that is gone; they are empty, and do no harm."""
        try:
            run_autocommit(self._context.pool, lambda it: drop_indexes(it, namespace, scope_id))
        except DatabaseError as error:
            logger.warning("indexes of an erased memory could not be dropped: %s", error)


def _find_user(
    connection: Connection,
    namespace: store.Namespace,
    session_id: str | None,
    message_id: str | None,
) -> str:
    """Whose session or message it is; refuses where several users have one of this id."""
    found = erasing.find_users(connection, namespace, session_id=session_id, message_id=message_id)
    what = f"message {message_id!r}" if message_id is not None else f"session {session_id!r}"
    if not found:
        raise NotFoundError(f"nothing of {what} in namespace {namespace.name!r}")
    if len(found) > 1:
        raise InvalidInputError(f"{len(found)} users have a {what}: say whose by user_id")
    return found[0]
