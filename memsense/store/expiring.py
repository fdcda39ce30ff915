"""Sweeps what has expired, a batch at a time, and dates what is stored by a new rule."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from memsense.db.connection import Connection
from memsense.db.rows import execute, fetch_all, fetch_value, fetch_values
from memsense.store import erasing, writes
from memsense.store.jobs import schedule_sweep
from memsense.store.lifecycle import retire
from memsense.store.scopes import Follower, Namespace, Scope, find_chunk_scope, lock_scope

FILE = "sweep.sql"

BATCH = 200
"""Chunks that a transaction sweeps: a memory is locked no longer than that takes."""


@dataclass(slots=True)
class Swept:
    """What a sweep did: `chunks` that it erased (or forgot), of how many `memories`; the receipts
    of what was erased hold the counts of rows.
    """

    chunks: int = 0
    memories: int = 0
    forgotten: bool = False
    receipts: list[UUID] = field(default_factory=list[UUID])

    def add(self, other: "Swept") -> None:
        """Count another batch of the same memory in."""
        self.chunks += other.chunks
        self.forgotten = self.forgotten or other.forgotten
        self.receipts += other.receipts


def list_lapsed_scopes(connection: Connection, namespace: Namespace) -> list[int]:
    """The memories of a namespace that hold anything that has expired."""
    values = {"tenant_id": namespace.tenant_id, "namespace_id": namespace.namespace_id}
    return fetch_values(connection, "list_lapsed_scopes", values, FILE)


def sweep(
    connection: Connection,
    namespace: Namespace,
    scope_id: int,
    *,
    erasure_id: UUID,
    embed: writes.Embed,
    followers: Sequence[Follower] = (),
) -> Swept:
    """Sweep the next batch of what has expired of a memory; nothing where nothing has.

    Erases it, keeping what the ledger knows, so that a log that is read again does not bring it
    back; or forgets it, where the setting `on_expiry` says so: then it can be restored. Done again
    under the same `erasure_id`, it erases nothing more.
    """
    if done := erasing.find_receipt(connection, namespace, erasure_id):
        return Swept(chunks=done.counts.get("chunks", 0), receipts=[erasure_id])
    user_id = erasing.find_user(connection, namespace.tenant_id, scope_id)
    scope = lock_scope(connection, namespace, user_id, followers=followers)
    chunk_ids = _select_lapsed(connection, scope)
    if not chunk_ids:
        return Swept()
    values = {"tenant_id": namespace.tenant_id, "namespace_id": namespace.namespace_id}
    if fetch_value(connection, "fetch_on_expiry", values, FILE) == "forget":
        _forget(connection, namespace, chunk_ids, embed, followers)
        return Swept(chunks=len(chunk_ids), forgotten=True)
    wanted = erasing.Wanted(user_id=user_id, expired=chunk_ids)
    receipt = erasing.erase(
        connection,
        namespace,
        wanted,
        erasure_id=erasure_id,
        by="ttl",
        embed=embed,
        followers=followers,
    )
    return Swept(chunks=receipt.counts.get("chunks", 0), receipts=[receipt.erasure_id])


def _select_lapsed(connection: Connection, scope: Scope) -> list[int]:
    return fetch_values(connection, "select_lapsed", {**_key(scope), "limit": BATCH}, FILE)


def _forget(
    connection: Connection,
    namespace: Namespace,
    chunk_ids: Sequence[int],
    embed: writes.Embed,
    followers: Sequence[Follower],
) -> None:
    """Forget the chunks; they expire no more, so that they may be restored."""
    for chunk_id in chunk_ids:
        place = find_chunk_scope(connection, namespace, chunk_id, followers=followers)
        retire(connection, place, "deleted", "expired", embed)
        values = {**_key(place.scope), "chunk_ids": [chunk_id]}
        execute(connection, "clear_expiry", values, FILE)


def date_stored(
    connection: Connection, namespace: Namespace, *, tag: str | None, seconds: float
) -> int:
    """Let what is stored already expire so many seconds after it was stored, unless it does sooner.

    Returns how many chunks it is that expire now, or sooner than they did.
    """
    values = {
        "tenant_id": namespace.tenant_id,
        "namespace_id": namespace.namespace_id,
        "tag": tag,
        "seconds": seconds,
    }
    fetch_all(connection, "lock_scopes_of_namespace", values, FILE)
    scope_ids: list[int] = fetch_values(connection, "date_stored", values, FILE)
    for scope_id in sorted(set(scope_ids)):
        scope = Scope(tenant_id=namespace.tenant_id, scope_id=scope_id, language=namespace.language)
        schedule_sweep(connection, scope)
    return len(scope_ids)


def _key(scope: Scope) -> dict[str, Any]:
    return {"tenant_id": scope.tenant_id, "scope_id": scope.scope_id}
