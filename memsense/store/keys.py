"""Keys of writes: a write that is run again under its key is done once and returns the same.

Each user has keys of their own.
"""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from psycopg.types.json import Jsonb

from memsense.db.connection import Connection
from memsense.db.rows import execute, find_one
from memsense.errors import ConflictError
from memsense.store.scopes import Namespace

FILE = "keys.sql"

KEPT_DAYS = 7
"""Days that a key and its result are stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteKey:
    """A write's key, and a hash of the request that it belongs to."""

    key: str
    request_hash: bytes

    @classmethod
    def of(cls, key: str, *request: Any) -> "WriteKey":
        """Return the key of a write whose request is described by plain values."""
        return cls(key=key, request_hash=sha256(json.dumps(request).encode()).digest())


def write_once(
    connection: Connection,
    namespace: Namespace,
    user_ids: Iterable[str],
    key: WriteKey,
    write: Callable[[], Any],
) -> Any:
    """Return the result of the write, plain values, or the stored result of this key and these
    users.

    Runs in the write's own transaction, so that its result and its key are committed together.
    Raises ConflictError for a key that belongs to another write.
    """
    values: dict[str, Any] = {
        **namespace.key,
        # Hashed with the users: no user can find out, or take first, a key of another one.
        "key_hash": sha256(json.dumps([key.key, *sorted({*user_ids})]).encode()).digest(),
        "asked_hash": key.request_hash,
    }
    # Claiming waits for another transaction that has claimed the key, until that one has ended.
    if execute(connection, "claim_key", values, FILE):
        result = write()
        execute(connection, "keep_result", {**values, "result": Jsonb(result)}, FILE)
        # A few old ones with each new one: nothing else deletes them.
        execute(connection, "drop_old_keys", {**values, "days": KEPT_DAYS}, FILE)
        return result
    row = find_one(connection, "find_key", values, FILE)
    if row is None:
        raise ConflictError(f"the key {key.key!r} was dropped just now; run the write again")
    stored_hash, result = row
    if bytes(stored_hash) != key.request_hash:
        raise ConflictError(
            f"the key {key.key!r} belongs to another write; give each write a key of its own"
        )
    return result
