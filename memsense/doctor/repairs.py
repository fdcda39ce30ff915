"""Mends what a recount can mend."""

from collections.abc import Mapping, Sequence
from typing import Any

from memsense.db.connection import Connection
from memsense.db.queries import query
from memsense.doctor.findings import Finding
from memsense.doctor.rows import FILE, fetch_rows

RECOUNT = "reindex.sql"


def repair(connection: Connection) -> list[Finding]:
    """Recount drifted statistics and clear what retired chunks left behind.

    In the caller's transaction, with each scope locked as writes lock it. Returns what was done.
    """
    done: list[Finding] = []
    for tenant_id, scope_ids in _by_tenant(fetch_rows(connection, "list_retired_scopes", {})):
        values = {"tenant_id": tenant_id, "scope_ids": scope_ids}
        connection.execute(query("lock_scopes", RECOUNT), values)
        vectors = connection.execute(query("drop_retired_vectors", FILE), values).rowcount
        entries = connection.execute(query("drop_retired_entries", FILE), values).rowcount
        text = f"removed {vectors} vectors and {entries} index entries of retired chunks"
        done.append(Finding(check="repair", severity="info", text=text))
    for tenant_id, scope_ids in _by_tenant(fetch_rows(connection, "find_drift", {})):
        values = {"tenant_id": tenant_id, "scope_ids": scope_ids}
        for name in (
            "lock_scopes",
            "clear_lexemes",
            "clear_counts",
            "recount_lexemes",
            "recount_chunks",
        ):
            connection.execute(query(name, RECOUNT), values)
        text = f"recounted the statistics of {len(scope_ids)} memories"
        done.append(Finding(check="repair", severity="info", text=text))
    return done


def _by_tenant(rows: Sequence[Mapping[str, Any]]) -> list[tuple[int, list[int]]]:
    found: dict[int, list[int]] = {}
    for row in rows:
        found.setdefault(row["tenant_id"], []).append(row["scope_id"])
    return sorted(found.items())
