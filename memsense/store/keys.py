"""Keys of writes: a write that is run again under its key is done once and returns the same.

Each user has keys of their own.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from psycopg.types.json import Jsonb

from memsense.db.connection import Connection
from memsense.db.groups import ApartError
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
    """Return the result of the write, or the stored one of this key and these users.

    Runs in the write's own transaction, so that its result and its key are committed together.
    Raises ConflictError for a key that belongs to another write.
    """
    claim = _claim(namespace, user_ids, key)
    # Claiming waits for another transaction that has claimed the key, until that one has ended.
    if execute(connection, "claim_key", claim, FILE):
        result = write()
        _keep(connection, claim, result)
        return result
    row = find_one(connection, "find_key", claim, FILE)
    if row is None:
        raise ConflictError(f"the key {key.key!r} was dropped just now; run the write again")
    stored_hash, result = row
    if bytes(stored_hash) != key.request_hash:
        raise ConflictError(
            f"the key {key.key!r} belongs to another write; give each write a key of its own"
        )
    return result


def write_each_once(
    connection: Connection,
    namespace: Namespace,
    user_id: str,
    keys: Sequence[WriteKey | None],
    write: Callable[[], Sequence[Any]],
) -> Sequence[Any]:
    """Return the results of several calls' writes, each stored under its key if it has one.

    Raises ApartError if one of the keys is known.
    """
    claims = [key and _claim(namespace, [user_id], key) for key in keys]
    for claim in filter(None, claims):
        if not execute(connection, "claim_key", claim, FILE):
            raise ApartError
    results = write()
    for claim, result in zip(claims, results, strict=True):
        if claim is not None:
            _keep(connection, claim, [result])
    return results


def _claim(namespace: Namespace, user_ids: Iterable[str], key: WriteKey) -> dict[str, Any]:
    """Return a key as values of a statement."""
    return {
        **namespace.key,
        # Hashed with the users: no user can find out, or take first, a key of another one.
        "key_hash": sha256(json.dumps([key.key, *sorted({*user_ids})]).encode()).digest(),
        "asked_hash": key.request_hash,
    }


def _keep(connection: Connection, claim: Mapping[str, Any], result: Any) -> None:
    execute(connection, "keep_result", {**claim, "result": Jsonb(result)}, FILE)
    # A few old ones with each new one: nothing else deletes them.
    execute(connection, "drop_old_keys", {**claim, "days": KEPT_DAYS}, FILE)
