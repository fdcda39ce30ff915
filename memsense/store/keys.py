"""Keys of writes: what is run again under its key is done once, and gives what it gave.

Each user has keys of their own: nobody learns of another's, or takes one first.
"""

import json
from collections.abc import Callable, Iterable, Sequence
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


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteKey:
    """A write's key, and a hash of what it is to do."""

    key: str
    asked: bytes

    @classmethod
    def of(cls, key: str, *asked: Any) -> "WriteKey":
        """The key of a write that is described by plain values."""
        return cls(key=key, asked=sha256(json.dumps(asked).encode()).digest())


def write_once(
    connection: Connection,
    namespace: Namespace,
    user_ids: Iterable[str],
    key: WriteKey,
    write: Callable[[], Any],
) -> Any:
    """What the write gives, plain values, or what it gave under this key of these users before.

    In the write's own transaction, so that its result and its key are committed together. Raises
    ConflictError for a key that was another write's.
    """
    values: dict[str, Any] = {
        "tenant_id": namespace.tenant_id,
        "namespace_id": namespace.namespace_id,
        "key_hash": _hash(key.key, user_ids),
        "asked_hash": key.asked,
    }
    if not execute(connection, "claim_key", values, FILE):
        return _find_result(find_one(connection, "find_key", values, FILE), key)
    result = write()
    execute(connection, "keep_result", {**values, "result": Jsonb(result)}, FILE)
    execute(connection, "drop_old_keys", {**values, "days": KEPT_DAYS}, FILE)
    return result


def _hash(key: str, user_ids: Iterable[str]) -> bytes:
    return sha256(json.dumps([key, *sorted({*user_ids})]).encode()).digest()


def _find_result(found: Sequence[Any] | None, key: WriteKey) -> Any:
    if found is None:
        raise ConflictError(f"the key {key.key!r} was dropped just now; run the write again")
    asked, result = found
    if bytes(asked) != key.asked:
        raise ConflictError(
            f"the key {key.key!r} was given to another write before; give each write its own"
        )
    return result
