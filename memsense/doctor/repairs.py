"""Repairs wrong statistics, and removes what retired chunks left in the indexes."""

from memsense.db.connection import Connection
from memsense.db.rows import Named, execute, fetch_all
from memsense.doctor.findings import FILE, Finding

RECOUNT = "reindex.sql"


def repair(connection: Connection) -> list[Finding]:
    """Recount drifted statistics and clear what retired chunks left behind.

    In the caller's transaction, with each scope locked as writes lock it. Returns what was done.
    """
    done: list[Finding] = []
    for tenant_id, scope_ids in _scopes_of(connection, "list_retired_scopes"):
        values = {"tenant_id": tenant_id, "scope_ids": scope_ids}
        execute(connection, "lock_scopes", values, RECOUNT)
        vectors = execute(connection, "drop_retired_vectors", values, FILE)
        vectors += execute(connection, "drop_retired_tokens", values, FILE)
        entries = execute(connection, "drop_retired_entries", values, FILE)
        text = f"removed {vectors} vectors and {entries} index entries of retired chunks"
        done.append(Finding(check="repair", severity="info", text=text))
    for tenant_id, scope_ids in _scopes_of(connection, "find_drift"):
        values = {"tenant_id": tenant_id, "scope_ids": scope_ids}
        for name in (
            "lock_scopes",
            "clear_lexemes",
            "clear_counts",
            "recount_lexemes",
            "recount_chunks",
        ):
            execute(connection, name, values, RECOUNT)
        text = f"recounted the statistics of {len(scope_ids)} memories"
        done.append(Finding(check="repair", severity="info", text=text))
    return done


def _scopes_of(connection: Connection, statement: str) -> list[tuple[int, list[int]]]:
    """The scopes that the statement finds, by tenant."""
    found: dict[int, list[int]] = {}
    for row in fetch_all(connection, statement, file=FILE, of=Named):
        found.setdefault(row["tenant_id"], []).append(row["scope_id"])
    return sorted(found.items())
