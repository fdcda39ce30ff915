"""Erasure by `erase` and `delete`, and `memory.erasures`: the receipts that they leave."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, cast
from uuid import UUID, uuid4, uuid5

from memsense.actor import user_name
from memsense.client.context import Resource, no_chunk
from memsense.client.spans import traced
from memsense.db import run_autocommit, run_read
from memsense.db.connection import Connection
from memsense.declaration import Facade, awaited, takes
from memsense.errors import ConflictError, DatabaseError, InvalidInputError, NotFoundError
from memsense.inputs import Id, Name, require_user
from memsense.parameters import Actor, AllUsers, PageSize, UserId, uuid_of
from memsense.search.settings import REDACT_KINDS
from memsense.store import erasing
from memsense.store.erasing import Receipt, Target
from memsense.store.indexes import drop_indexes
from memsense.store.reads import fetch_chunks
from memsense.store.scopes import (
    KnownScope,
    Namespace,
    find_chunk_scope,
    find_scope,
    list_namespaces,
)
from memsense.store.updating import check_version
from memsense.text.secrets import read_kinds

if TYPE_CHECKING:
    from memsense.client.redacting import Redaction

logger = logging.getLogger("memsense.erasing")


class ErasuresResource(Resource):
    """Reader of the receipts of what was erased, and eraser of a user in every namespace."""

    @takes
    def list(self, *, limit: PageSize = 100, about: Id | None = None) -> Sequence[Receipt]:
        """Return the receipts of the namespace, the latest first.

        memory.erasures.list(about="ada")

        Args:
            limit: Maximum number of items.
            about: Only receipts about this user, session, message or chunk; takes about 0.1 s a
                receipt.
        """
        receipts = self._context.read_stored(partial(erasing.list_receipts, limit=limit), [])
        # A receipt stores no id, only a salted scrypt hash of it: the database can't filter by id.
        return [receipt for receipt in receipts if about is None or receipt.is_about(about)]

    @takes
    def everywhere(self, user_id: Id, *, by: Actor | None = None) -> "Sequence[Receipt]":
        """Erase a user's memory in every namespace of the tenant, for good.

        Each namespace is one transaction with a receipt of its own. After an error, call it again.

        Args:
            user_id: Whose memory to erase: an id of your own.
            by: Who does it, for the receipt or history; default: the operating system's user.

        Returns:
            The receipts, one for each namespace that held something of the user.

        Raises:
            NotFoundError: If no namespace holds anything of the user.
        """
        context = self._context
        tenant = context.settings.tenant
        names = run_read(context.pool, lambda it: list_namespaces(it, tenant))
        receipts: list[Receipt] = []
        for name in names:
            other = context.beside(tenant, name)
            try:
                receipts.append(Erasing(other).erase(user_id, None, None, by))
            except NotFoundError:
                continue  # nothing of the user there
            finally:
                other.close()
        context.forget_user(user_id)
        if not receipts:
            raise NotFoundError(f"tenant {tenant!r} has nothing of user {user_id!r}; check the id")
        return receipts

    @takes
    def redact(
        self,
        *,
        user_id: UserId | None = None,
        all_users: AllUsers = False,
        kinds: Name | None = None,
        dry_run: bool = False,
        by: Actor | None = None,
        on_progress: Callable[[int, int], object] = lambda _done, _total: None,
    ) -> "Redaction":
        """Replace the secrets in what is stored by their kind, for good.

            memory.erasures.redact(user_id="ada", dry_run=True).redacted   # {"aws-key": 2}

        Memories, histories, earlier versions and items lose their secrets, and searches that were
        recorded with one are deleted. Names, ids and backups stay as they are. After an error, call
        it again.

        Args:
            user_id: Whose memory to read: an id of your own. Required without `all_users`.
            all_users: Read the memory of all users in the namespace.
            kinds: Kinds, such as "password,api-key", or kinds to leave as they are, "-iban,-card";
                default: the setting `redact_kinds`.
            dry_run: Only count the secrets by kind.
            by: Who does it, for the receipt or history; default: the operating system's user.
            on_progress: Called after each page with the number of memories read, and of all.

        Raises:
            ConfigurationError: If a kind is unknown.
            NotFoundError: If nothing is stored of the user.
        """
        from memsense.client.redacting import Redacting, Redaction

        user_id = require_user(user_id, all_users)
        context = self._context
        namespace = context.look_up_namespace()
        stored = namespace.settings.get(REDACT_KINDS, "all") if namespace else "all"
        names = read_kinds(kinds or stored)
        if namespace is None:
            return Redaction(redacted={})
        redacting = Redacting(
            context=context, namespace=namespace, user_id=user_id, kinds=names, dry_run=dry_run,
            by=by,
        )  # fmt: skip
        return redacting.redact(on_progress)

    @takes
    def get(self, erasure_id: Annotated[UUID | str, uuid_of("an erasure")]) -> Receipt:
        """Return the receipt of an erasure.

        Args:
            erasure_id: Id of an erasure, as its receipt has it.

        Raises:
            NotFoundError: If the namespace has no such receipt.
        """
        id_ = cast("UUID", erasure_id)  # `takes` has turned a text into a UUID
        receipt = self._context.read_stored(partial(erasing.find_receipt, erasure_id=id_), None)
        if receipt is None or receipt.namespace != self._context.settings.namespace:
            raise NotFoundError(f"no erasure {id_} in this namespace")
        return receipt


class AsyncErasuresResource(Facade):
    """ErasuresResource for asyncio, each method awaited."""

    list = awaited(ErasuresResource.list)
    redact = awaited(ErasuresResource.redact)
    everywhere = awaited(ErasuresResource.everywhere)
    get = awaited(ErasuresResource.get)


class Erasing(Resource):
    """Writer that erases users, sessions, messages and chunks within one context."""

    def erase(
        self,
        user_id: str | None,
        session_id: str | None,
        message_id: str | None,
        by: str | None = None,
        key: str | None = None,
    ) -> Receipt:
        """Erase a user, a session or a message; without `user_id`, look up whose it is."""
        if user_id is None and session_id is None and message_id is None:
            raise InvalidInputError("say what to erase: a user_id, a session_id or a message_id")

        def find(connection: Connection, namespace: Namespace) -> Target:
            owner_id = user_id or _find_user(connection, namespace, session_id, message_id)
            return Target(user_id=owner_id, session_id=session_id, message_id=message_id)

        subjects = {"message": message_id, "session": session_id, "user": user_id}
        kind, name = next((kind, name) for kind, name in subjects.items() if name is not None)
        return self._erase(find, by, _Repeat(key=key, kind=kind, name=name, user_id=user_id))

    def delete(
        self, chunk_id: int, by: str | None, key: str | None, if_version: str | None
    ) -> Receipt:
        """Erase a chunk, and the other chunks that hold the same text."""

        def find(connection: Connection, namespace: Namespace) -> Target:
            if if_version is not None:
                # It locks the memory: a change that is under way ends first.
                find_chunk_scope(connection, namespace, chunk_id)
            chunks = fetch_chunks(connection, namespace, [chunk_id])
            if not chunks:
                raise no_chunk(chunk_id)
            check_version(chunks, if_version)
            return Target(user_id=chunks[0].user_id, chunk_id=chunk_id)

        return self._erase(find, by, _repeat_of(chunk_id, key))

    def find_deleted(self, chunk_id: int, key: str | None) -> Receipt | None:
        """Return the receipt that `delete` under this key left; None if there is none."""

        def find(connection: Connection) -> Receipt | None:
            namespace = self._context.require_namespace(connection)
            erasure_id = _repeat_of(chunk_id, key).erasure_id(namespace)
            return erasure_id and erasing.find_receipt(connection, namespace, erasure_id)

        return None if key is None else run_read(self._context.pool, find)

    @traced("delete_memory", lambda receipt: receipt.counts.get("chunks", 0))
    def _erase(
        self, find: Callable[[Connection, Namespace], Target], by: str | None, repeat: "_Repeat"
    ) -> Receipt:
        """Find and erase the target in one transaction, and return the receipt."""
        context, new_id = self._context, uuid4()
        # Traces hold questions and texts. One that is still queued must be written first, so that
        # it is erased too instead of being stored afterwards.
        context.recorder.flush()
        vectors, followers = context.batch_vectors(), context.followers()
        erased: list[tuple[Namespace, Target, KnownScope | None]] = []

        def work(connection: Connection) -> Receipt:
            namespace = context.require_namespace(connection)
            erasure_id = repeat.erasure_id(namespace) or new_id
            # A retry under the same key; or the transaction is run again after a lost connection,
            # and may have been committed.
            if receipt := erasing.find_receipt(connection, namespace, erasure_id):
                repeat.check(receipt)
                return receipt
            target = find(connection, namespace)
            scope = find_scope(connection, namespace.tenant_id, namespace.name, target.user_id)
            erased[:] = [(namespace, target, scope)]
            return erasing.erase(
                connection,
                namespace,
                target,
                erasure_id=erasure_id,
                by=by or user_name(),
                embed=vectors,
                followers=followers,
            )

        receipt = context.run_write(work, vectors, if_possible=True)
        for namespace, target, scope in erased:
            context.forget_user(target.user_id)
            if scope is not None and scope.indexed and target.kind == "user":
                self._drop_indexes(namespace, scope.scope_id)
        return receipt

    def _drop_indexes(self, namespace: Namespace, scope_id: int) -> None:
        """Drop the indexes of an erased memory; a failure is only logged."""
        # The indexes are empty by now and do no harm if they stay.
        try:
            run_autocommit(self._context.pool, lambda it: drop_indexes(it, namespace, scope_id))
        except DatabaseError as error:
            logger.warning("indexes of an erased memory could not be dropped: %s", error)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Repeat:
    """Mark by which an erasure that is run again is recognised: its key, and what it is about.

    The key and the user that the call names become the receipt's id. So an erasure is done once for
    as long as its receipt is stored, and no row remembers what the request named.
    """

    key: str | None
    kind: str
    name: str
    user_id: str | None = None

    def erasure_id(self, namespace: Namespace) -> UUID | None:
        """Return the id of the erasure in a namespace, None without a key."""
        if self.key is None:
            return None
        place = namespace.tenant_id, namespace.namespace_id, self.user_id or "", self.key
        return uuid5(_KEYS, "/".join(map(str, place)))

    def check(self, receipt: Receipt) -> None:
        """Raise ConflictError if the receipt is about something else."""
        if receipt.kind != self.kind or not receipt.is_about(self.name):
            raise ConflictError(
                f"the key {self.key!r} belongs to another erasure; give each a key of its own"
            )


def _repeat_of(chunk_id: int, key: str | None) -> _Repeat:
    return _Repeat(key=key, kind="chunk", name=str(chunk_id))


_KEYS = UUID("5b0c7a52-3f0e-4d55-9d0e-6b8d0a4c1f21")
"""Namespace of the ids that are made from keys."""


def _find_user(
    connection: Connection, namespace: Namespace, session_id: str | None, message_id: str | None
) -> str:
    """Return the user of a session or message; raise InvalidInputError if several have one."""
    user_ids = erasing.find_users(
        connection, namespace, session_id=session_id, message_id=message_id
    )
    what = f"message {message_id!r}" if message_id is not None else f"session {session_id!r}"
    if not user_ids:
        raise NotFoundError(f"nothing of {what} in namespace {namespace.name!r}")
    if len(user_ids) > 1:
        raise InvalidInputError(f"{len(user_ids)} users have a {what}: say whose by user_id")
    return user_ids[0]
