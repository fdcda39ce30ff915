"""Access keys, which tell a server whose memory a request is about.

A key is `ms_TENANT_ID_SECRET`. The tenant's number and the key's id find its row within that
tenant, as any other row is found, also under row-level security. The secret has 256 random bits;
the row holds only the hash of the whole key.
"""

import re
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
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
# A use is written at most once a minute: without this, every request would write a row.
_USE_INTERVAL = timedelta(minutes=1)
_NO_HASH = bytes(32)

KNOWN_SECONDS = 1.0
MOST_KNOWN = 10_000
"""Seconds for which a checked key is known, and the number of keys that are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessKey:
    """A stored key: its owner and what it allows, without its secret.

    `user_id` limits the key to one user's memory, `namespace` to one namespace; None allows all of
    the tenant. `read_at` is the server's time when the row was read: keys expire by it, not by a
    process's clock.
    """

    tenant: str
    key_id: str
    key_hash: bytes
    name: str
    scopes: Sequence[KeyScope]
    user_id: str | None
    namespace: str | None
    created_by: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    read_at: datetime = field(compare=False)

    def is_open(self, age: float = 0.0) -> bool:
        """Return whether the key, read `age` seconds ago, is neither revoked nor expired."""
        now = self.read_at + timedelta(seconds=age)
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def as_dict(self) -> dict[str, Any]:
        """Return all fields but the hash and `read_at` as plain values, ready for JSON."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        del values["key_hash"], values["read_at"]
        return {**values, "scopes": list(self.scopes)}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A key at its creation: the only time that its text is shown; it is not stored."""

    text: str
    key: AccessKey

    def as_dict(self) -> dict[str, Any]:
        """Return the key and its text, ready for JSON."""
        return {"key": self.text, **self.key.as_dict()}


@dataclass(frozen=True, slots=True)
class ShownKey:
    """The text of a key as a request sends it, parsed but not checked against the database."""

    tenant_id: int
    key_id: str
    key_hash: bytes

    @classmethod
    def read(cls, text: str) -> "ShownKey | None":
        """Parse the text; return None if it has not the form of a key."""
        match = _KEY.fullmatch(text)
        # Tenants are numbered by a 4-byte integer: a larger number is no tenant.
        if match is None or int(match[1]) > _LARGEST_TENANT:
            return None
        return cls(int(match[1]), match[2], _hash(text))


def _hash(text: str) -> bytes:
    # A quick hash is enough: 256 random bits can't be guessed, as a password can.
    return sha256(text.encode()).digest()


def insert_key(
    connection: Connection,
    tenant_id: int,
    *,
    name: str,
    scopes: Sequence[KeyScope],
    user_id: str | None,
    namespace: str | None,
    by: str,
    expires_at: datetime | None,
) -> NewKey:
    """Create a key of the tenant, or of one of its users, and return it with its text."""
    key_id = token_hex(6)
    text = f"ms_{tenant_id}_{key_id}_{token_urlsafe(32)}"
    values = {
        "tenant_id": tenant_id,
        "key_id": key_id,
        "key_hash": _hash(text),
        "name": name,
        "scopes": list(scopes),
        "user_id": user_id,
        "namespace": namespace,
        "created_by": by,
        "expires_at": expires_at,
    }
    execute(connection, "insert_access_key", values, FILE)
    key = _find(connection, tenant_id, key_id)
    assert key is not None
    return NewKey(text=text, key=key)


def _find(connection: Connection, tenant_id: int, key_id: str) -> AccessKey | None:
    values = {"tenant_id": tenant_id, "key_id": key_id}
    return find_one(connection, "find_access_key", values, FILE, of=AccessKey)


def verify_key(connection: Connection, sent_key: ShownKey) -> AccessKey | None:
    """Return the key, or None unless it is stored, not revoked and not expired.

    Each check costs one look-up and one comparison in constant time. The use of a valid key is
    recorded. The connection's session must see the rows of the tenant that the key names.
    """
    key = _find(connection, sent_key.tenant_id, sent_key.key_id)
    # Compared even if there is no such key: the time of a refusal must not tell which ids exist.
    is_equal = compare_digest(key.key_hash if key else _NO_HASH, sent_key.key_hash)
    if key is None or not is_equal or not key.is_open():
        return None
    if key.last_used_at is None or key.read_at - key.last_used_at > _USE_INTERVAL:
        values = {"tenant_id": sent_key.tenant_id, "key_id": sent_key.key_id}
        execute(connection, "note_use", values, FILE)
    return key


class KnownKeys:
    """Keys that were valid a moment ago, so that not each request of a key asks the database.

    This process drops a key that it revokes; others open nothing with it after `KNOWN_SECONDS`.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # By the hash of the whole key: its text is stored nowhere. In order of their checks.
        self._keys: OrderedDict[bytes, tuple[float, AccessKey]] = OrderedDict()

    def find(self, sent_key: ShownKey) -> AccessKey | None:
        """Return the key if it was checked a moment ago and has not expired since."""
        put_at, key = self._keys.get(sent_key.key_hash, (0.0, None))
        age = self._clock() - put_at
        return key if key is not None and age < KNOWN_SECONDS and key.is_open(age) else None

    def put(self, key: AccessKey) -> None:
        """Remember a key that was just checked."""
        self._keys.pop(key.key_hash, None)
        self._keys[key.key_hash] = self._clock(), key
        if len(self._keys) > MOST_KNOWN:
            self._keys.popitem(last=False)

    def drop(self, key: AccessKey) -> None:
        """Forget a key."""
        self._keys.pop(key.key_hash, None)

    def drop_user(self, tenant: str, user_id: str) -> None:
        """Forget the keys of one user, which end with the user's memory."""
        for _, key in list(self._keys.values()):
            if key.tenant == tenant and key.user_id == user_id:
                self.drop(key)


def list_keys(connection: Connection, tenant_id: int) -> list[AccessKey]:
    """Return the tenant's keys, oldest first, expired and revoked ones included."""
    return fetch_all(connection, "list_access_keys", {"tenant_id": tenant_id}, FILE, of=AccessKey)


def revoke_key(connection: Connection, tenant_id: int, key_id: str) -> AccessKey | None:
    """Make a key invalid from now on; return it, or None if the tenant has no such key."""
    values = {"tenant_id": tenant_id, "key_id": key_id}
    execute(connection, "revoke_access_key", values, FILE)
    return _find(connection, tenant_id, key_id)
