"""Repairs of wrong statistics, and of what retired chunks left in the indexes."""

from memsense.db.connection import Connection
from memsense.db.rows import Named, execute, fetch_all
from memsense.doctor.findings import FILE, Finding

RECOUNT = "reindex.sql"


def repair(connection: Connection) -> list[Finding]:
    """Recount wrong statistics and remove what retired chunks left behind; return what was done.

    It happens in the caller's transaction.
    """
    repairs: list[Finding] = []
    for tenant_id, scope_ids in _scopes_of(connection, "list_retired_scopes"):
        values = {"tenant_id": tenant_id, "scope_ids": scope_ids}
        # Locked as writes lock them, so that none changes what is counted.
        execute(connection, "lock_scopes", values, RECOUNT)
        vectors = execute(connection, "drop_retired_vectors", values, FILE)
        vectors += execute(connection, "drop_retired_tokens", values, FILE)
        entries = execute(connection, "drop_retired_entries", values, FILE)
        text = f"removed {vectors} vectors and {entries} index entries of retired chunks"
        repairs.append(Finding(check="repair", severity="info", text=text))
    for tenant_id, scope_ids in _scopes_of(connection, "find_drift"):
        values = {"tenant_id": tenant_id, "scope_ids": scope_ids}
        # The statements of a re-indexing: one way to count.
        for name in (
            "lock_scopes",
            "clear_lexemes",
            "clear_counts",
            "recount_lexemes",
            "recount_chunks",
        ):
            execute(connection, name, values, RECOUNT)
        text = f"recounted the statistics of {len(scope_ids)} memories"
        repairs.append(Finding(check="repair", severity="info", text=text))
    return repairs


def _scopes_of(connection: Connection, statement: str) -> list[tuple[int, list[int]]]:
    """Return the scopes that the statement selects, by tenant."""
    scopes: dict[int, list[int]] = {}
    for row in fetch_all(connection, statement, file=FILE, of=Named):
        scopes.setdefault(row["tenant_id"], []).append(row["scope_id"])
    return sorted(scopes.items())
