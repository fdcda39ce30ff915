"""Sweeping of what has expired, a batch at a time, and new expiry dates for what is stored."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from memsense.db.connection import Connection
from memsense.db.rows import execute, fetch_all, fetch_value, fetch_values
from memsense.store import erasing, writes
from memsense.store.jobs import schedule_sweep
from memsense.store.lifecycle import retire
from memsense.store.scopes import Follower, Namespace, Scope, find_chunk_scope, lock_scope

FILE = "sweep.sql"

BATCH = 200
"""Chunks that one transaction sweeps: the memory is locked for as long as that takes."""


@dataclass(slots=True)
class Swept:
    """The result of a sweep: how many chunks it erased (or forgot) of how many memories. The
    receipts of the erasures hold the counts of rows.
    """

    chunks: int = 0
    memories: int = 0
    forgotten: bool = False
    receipts: list[UUID] = field(default_factory=list[UUID])

    def add(self, other: "Swept") -> None:
        """Add another batch of the same memory."""
        self.chunks += other.chunks
        self.forgotten = self.forgotten or other.forgotten
        self.receipts += other.receipts


def list_expired_scopes(connection: Connection, namespace: Namespace) -> list[int]:
    """Return the memories of a namespace that hold anything that has expired."""
    return fetch_values(connection, "list_lapsed_scopes", namespace.key, FILE)


def sweep(
    connection: Connection,
    namespace: Namespace,
    scope_id: int,
    *,
    erasure_id: UUID,
    embed: writes.Embed,
    followers: Sequence[Follower] = (),
) -> Swept:
    """Sweep the next batch of what has expired in a memory; return an empty result if nothing has.

    The chunks are erased, while the ledger keeps their messages, so that a log that is read again
    does not bring them back. With the setting `on_expiry=forget` they are forgotten instead and can
    be restored. A call that is repeated under the same `erasure_id` erases nothing more.
    """
    if receipt := erasing.find_receipt(connection, namespace, erasure_id):
        return Swept(chunks=receipt.counts.get("chunks", 0), receipts=[erasure_id])
    user_id = erasing.find_user(connection, namespace.tenant_id, scope_id)
    scope = lock_scope(connection, namespace, user_id, followers=followers)
    expired = {**scope.key, "limit": BATCH}
    chunk_ids: list[int] = fetch_values(connection, "select_lapsed", expired, FILE)
    if not chunk_ids:
        return Swept()
    # Read here and not from the namespace, which was loaded earlier: an erasure can't be undone.
    if fetch_value(connection, "fetch_on_expiry", namespace.key, FILE) == "forget":
        for chunk_id in chunk_ids:
            place = find_chunk_scope(connection, namespace, chunk_id, followers=followers)
            retire(connection, place, "deleted", "expired", embed)
            # Without an expiry, so that a restored chunk does not expire again at once.
            values = {**place.scope.key, "chunk_ids": [chunk_id]}
            execute(connection, "clear_expiry", values, FILE)
        return Swept(chunks=len(chunk_ids), forgotten=True)
    target = erasing.Target(user_id=user_id, expired=chunk_ids)
    receipt = erasing.erase(
        connection,
        namespace,
        target,
        erasure_id=erasure_id,
        by="ttl",
        embed=embed,
        followers=followers,
    )
    return Swept(chunks=receipt.counts.get("chunks", 0), receipts=[receipt.erasure_id])


def date_stored(
    connection: Connection, namespace: Namespace, *, tag: str | None, seconds: float
) -> int:
    """Let stored chunks expire `seconds` after they were stored, unless they do sooner.

    Returns how many chunks got a new expiry date.
    """
    values = {**namespace.key, "tag": tag, "seconds": seconds}
    # All memories, in the order of their numbers, so that two of these calls can't deadlock.
    fetch_all(connection, "lock_scopes_of_namespace", values, FILE)
    scope_ids: list[int] = fetch_values(connection, "date_stored", values, FILE)
    for scope_id in sorted(set(scope_ids)):
        scope = Scope(tenant_id=namespace.tenant_id, scope_id=scope_id)
        schedule_sweep(connection, scope)
    return len(scope_ids)
