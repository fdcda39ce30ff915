"""Writes and reads access keys, which tell a server whose memory a request is about.

A key is `ms_TENANT_ID_SECRET`: the tenant's number and the key's id find its row within that
tenant, as any other row is found, also beneath row-level security. The secret has 256 random bits;
the row holds the hash of the whole key.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from hmac import compare_digest
from secrets import token_hex, token_urlsafe
from typing import Any, Literal, get_args

from memsense.db.connection import Connection
from memsense.db.rows import execute, fetch_all, find_one

FILE = "access.sql"

KeyScope = Literal["read", "write", "forget", "admin"]
SCOPES: tuple[KeyScope, ...] = get_args(KeyScope)

_KEY = re.compile(r"ms_([1-9][0-9]{0,9})_([0-9a-f]{12})_[A-Za-z0-9_-]{43}", re.ASCII)
_LARGEST_TENANT = 2**31 - 1
_USE_NOTED = timedelta(minutes=1)
_NOBODY = bytes(32)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessKey:
    """A key as it is stored: whose it is and what it opens, not its secret.

    `user_id`: whose memory it opens, and nobody else's; None opens all of the tenant's.
    """

    tenant: str
    key_id: str
    key_hash: bytes
    name: str
    scopes: Sequence[KeyScope]
    user_id: str | None
    created_by: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None

    def opens_at(self, now: datetime) -> bool:
        """Whether the key opens anything at that time."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def as_dict(self) -> dict[str, Any]:
        """Everything but the hash as plain values, ready for JSON."""
        found = {item.name: getattr(self, item.name) for item in fields(self)}
        del found["key_hash"]
        return {**found, "scopes": list(self.scopes)}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A key that was made just now: its text is shown once and kept nowhere."""

    text: str
    key: AccessKey

    def as_dict(self) -> dict[str, Any]:
        """The key with its text, ready for JSON."""
        return {"key": self.text, **self.key.as_dict()}


@dataclass(frozen=True, slots=True)
class ShownKey:
    """The text of a key that somebody shows, read as far as it can be without the database."""

    tenant_id: int
    key_id: str
    key_hash: bytes

    @classmethod
    def read(cls, text: str) -> "ShownKey | None":
        """What the text says; None where no key looks like it."""
        found = _KEY.fullmatch(text)
        if found is None or int(found[1]) > _LARGEST_TENANT:
            return None
        return cls(int(found[1]), found[2], _hash(text))


def _hash(text: str) -> bytes:
    return sha256(text.encode()).digest()


def insert_key(
    connection: Connection,
    tenant_id: int,
    *,
    name: str,
    scopes: Sequence[KeyScope],
    user_id: str | None,
    by: str,
    expires_at: datetime | None,
) -> NewKey:
    """Make a key of the tenant's, or of one user's of it."""
    key_id = token_hex(6)
    text = f"ms_{tenant_id}_{key_id}_{token_urlsafe(32)}"
    values = {
        "tenant_id": tenant_id,
        "key_id": key_id,
        "key_hash": _hash(text),
        "name": name,
        "scopes": list(scopes),
        "user_id": user_id,
        "created_by": by,
        "expires_at": expires_at,
    }
    execute(connection, "insert_access_key", values, FILE)
    made = _find(connection, tenant_id, key_id)
    assert made is not None
    return NewKey(text=text, key=made)


def _find(connection: Connection, tenant_id: int, key_id: str) -> AccessKey | None:
    values = {"tenant_id": tenant_id, "key_id": key_id}
    return find_one(connection, "find_access_key", values, FILE, of=AccessKey)


def verify_key(connection: Connection, shown: ShownKey) -> AccessKey | None:
    """The key that was shown, None unless it is stored and opens something now.

    One look-up and one comparison in constant time, whether or not there is such a key. Notes its
    use. The connection's session must see the rows of the tenant that the key names.
    """
    found = _find(connection, shown.tenant_id, shown.key_id)
    is_equal = compare_digest(found.key_hash if found else _NOBODY, shown.key_hash)
    now = datetime.now(UTC)
    if found is None or not is_equal or not found.opens_at(now):
        return None
    if found.last_used_at is None or now - found.last_used_at > _USE_NOTED:
        values = {"tenant_id": shown.tenant_id, "key_id": shown.key_id}
        execute(connection, "note_use", values, FILE)
    return found


def list_keys(connection: Connection, tenant_id: int) -> list[AccessKey]:
    """The tenant's keys, the oldest first, with those that open nothing any more."""
    return fetch_all(connection, "list_access_keys", {"tenant_id": tenant_id}, FILE, of=AccessKey)


def revoke_key(connection: Connection, tenant_id: int, key_id: str) -> AccessKey | None:
    """Let a key open nothing from now on; None if the tenant has no such key."""
    values = {"tenant_id": tenant_id, "key_id": key_id}
    execute(connection, "revoke_access_key", values, FILE)
    return _find(connection, tenant_id, key_id)
