"""`memory.access_keys`: keys with which programs use the tenant's memory on a server."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from pydantic import Field

from memsense.actor import user_name
from memsense.client.context import Resource
from memsense.db import run_read, run_transaction
from memsense.db.connection import Connection
from memsense.declaration import Facade, awaited, takes
from memsense.errors import InvalidInputError, NotFoundError
from memsense.inputs import AnyTime, AsList, Id, Name, shorten
from memsense.parameters import Actor
from memsense.store import access
from memsense.store.access import AccessKey, KeyScope, NewKey
from memsense.store.scopes import claim_tenant, find_tenant

_Scopes = Annotated[Sequence[KeyScope], AsList, Field(min_length=1)]


class AccessKeysResource(Resource):
    """Store of the tenant's keys: creates, lists and revokes them."""

    @takes
    def create(
        self,
        scopes: _Scopes = ("read",),
        *,
        name: Name = "unnamed",
        user_id: Id | None = None,
        namespace: Id | None = None,
        expires_at: AnyTime | None = None,
        by: Actor | None = None,
    ) -> NewKey:
        """Create a key; its `text` is returned now and never again.

        key = memory.access_keys.create(["read", "write"], name="chat", expires_at="2027-01-01")
        print(key.text)

        Args:
            scopes: What the key allows: "read", "write" (add, rate), "forget" (and restore),
                "admin" (erase, see jobs and health).
            name: Label, so that you recognise the key in lists.
            user_id: Limit the key to this user's memory; it can't have "admin" then.
            namespace: Limit the key to this namespace; it can't have "admin" then.
            expires_at: When it expires; default: never.
            by: Who does it, for the receipt or history; default: the operating system's user.
        """
        for kind, limit in (("user", user_id), ("namespace", namespace)):
            if limit is not None and "admin" in scopes:
                raise InvalidInputError(
                    f"a key of one {kind}'s ({shorten(limit)}) can't have the scope admin, which is"
                    " the whole tenant's: leave out one of the two"
                )

        def insert(connection: Connection) -> NewKey:
            tenant_id = claim_tenant(connection, self._context.settings.tenant)
            created = access.insert_key(
                connection,
                tenant_id,
                name=name,
                scopes=[scope for scope in access.SCOPES if scope in scopes],
                user_id=user_id,
                namespace=namespace,
                by=by or user_name(),
                expires_at=expires_at if isinstance(expires_at, datetime) else None,
            )
            if not created.key.is_open():
                raise InvalidInputError("expires_at has passed: the key would open nothing")
            return created

        return run_transaction(self._context.pool, insert)

    def list(self) -> Sequence[AccessKey]:
        """Return the tenant's keys, the oldest first, revoked and expired ones included."""
        tenant_id = run_read(self._context.pool, self._find_tenant)
        if tenant_id is None:
            return []
        return run_read(self._context.pool, lambda it: access.list_keys(it, tenant_id))

    @takes
    def revoke(self, key_id: Name) -> AccessKey:
        """Revoke a key for good, and return it.

        Args:
            key_id: Id of the key, as `list` shows it.

        Raises:
            NotFoundError: For an id that no key has.
        """

        def revoke(connection: Connection) -> AccessKey:
            tenant_id = self._find_tenant(connection)
            key = tenant_id and access.revoke_key(connection, tenant_id, key_id)
            if not key:
                raise NotFoundError(f"no key {key_id!r}; 'memsense key list' shows their ids")
            return key

        revoked = run_transaction(self._context.pool, revoke)
        self._context.known_keys.drop(revoked)
        return revoked

    def _find_tenant(self, connection: Connection) -> int | None:
        return find_tenant(connection, self._context.settings.tenant)


class AsyncAccessKeysResource(Facade):
    """AccessKeysResource for asyncio, each method awaited."""

    create = awaited(AccessKeysResource.create)
    list = awaited(AccessKeysResource.list)
    revoke = awaited(AccessKeysResource.revoke)
