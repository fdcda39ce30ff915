"""The server: versions and settings, a pooler in front of it, and the policies between tenants."""

from collections.abc import Iterator

from memsense.db import citus
from memsense.db.connection import OLDEST_PGVECTOR, OLDEST_SERVER, Connection
from memsense.db.pooler import is_pooled, keeps_apart
from memsense.db.rows import Named, fetch_all, fetch_one
from memsense.db.security import (
    REMEDY,
    Standing,
    fetch_user,
    list_lasting,
    list_leaky,
    list_unguarded,
)
from memsense.doctor.findings import FILE, Finding, error, info, warning
from memsense.doctor.sizes import in_units

# A recall's sorts and bitmaps spill to disk below PostgreSQL's own default, 4 MB.
LEAST_WORK_MEM = 4 << 20

LONGEST_PREPARED = 3600
"""Seconds that a transaction may be prepared."""

_MOST_NAMED = 3
"""Tables that a finding names; of more it says the number."""


def examine_server(connection: Connection) -> Iterator[Finding]:
    """Examine the server's versions and settings; needs no schema."""
    server = fetch_one(connection, "fetch_server", file=FILE, of=Named)
    yield info(
        f"PostgreSQL {server['server']}, pgvector {server['pgvector'] or 'not installed'}",
        check="server",
    )
    if server["server_number"] < OLDEST_SERVER:
        yield error(
            f"PostgreSQL {server['server']} is older than 15", "upgrade the server", check="server"
        )
    # Other encodings can't store every character: a write with one of them is refused.
    if server["encoding"] != "UTF8":
        yield warning(
            f"the database is encoded in {server['encoding']}",
            "create a database with ENCODING 'UTF8'",
            check="server",
        )
    yield from _examine_extension(server["pgvector"], server["pgvector_available"])
    settings = fetch_one(connection, "fetch_settings", file=FILE, of=Named)
    if settings["work_mem"] < LEAST_WORK_MEM:
        yield warning(
            f"work_mem is {in_units(settings['work_mem'])}; sorts and bitmaps of a recall"
            " spill to disk",
            "set it to 16MB or more: ALTER DATABASE ... SET work_mem = '16MB'",
            check="work_mem",
        )
    if settings["autovacuum"] != "on":
        yield warning(
            "autovacuum is off: tables bloat and the planner's statistics go stale",
            "turn autovacuum on",
            check="autovacuum",
        )


def examine_prepared(connection: Connection) -> Iterator[Finding]:
    """Examine prepared transactions: those that have waited for their end for an hour."""
    values = {"seconds": LONGEST_PREPARED}
    for row in fetch_all(connection, "list_prepared", values, FILE, of=Named):
        yield warning(
            f"transaction {row['gid']!r} is prepared since {row['prepared_at']:%Y-%m-%d %H:%M}"
            " UTC: it holds its locks, and nothing newer can be vacuumed",
            f"run 'COMMIT PREPARED' or 'ROLLBACK PREPARED' with {row['gid']!r}",
            check="prepared",
        )


def _examine_extension(installed: str | None, available: str | None) -> Iterator[Finding]:
    if installed is None:
        remedy = "run 'memsense init'" if available else "install pgvector on the server"
        text = "pgvector is not installed"
        yield error(text, remedy, check="pgvector")
    elif _version(installed) < OLDEST_PGVECTOR:
        yield error(
            f"pgvector {installed} is older than 0.8",
            "install a newer one, then run 'ALTER EXTENSION vector UPDATE'",
            check="pgvector",
        )
    elif available and _version(installed) < _version(available):
        yield warning(
            f"pgvector {available} is on the server, the database still uses {installed}",
            "run 'ALTER EXTENSION vector UPDATE'",
            check="pgvector",
        )


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:3] if part.isdigit())


def examine_pooler(connection: Connection, *, prepares: bool | None) -> Iterator[Finding]:
    """Examine whether a pooler is in front of the server, and allows prepared statements."""
    if not is_pooled(connection):
        return
    allowed = keeps_apart(connection)
    # Only if the setting insists: left unset, nothing is prepared through such a pooler.
    if prepares and not allowed:
        yield error(
            "a pooler is in front of the server and does not separate its clients' prepared"
            " statements: if it lends connections for one transaction, searches and writes fail",
            "unset MEMSENSE_PREPARED_STATEMENTS, or set it to false; or use PgBouncer 1.21"
            " or newer with max_prepared_statements = 200",
            check="pooler",
        )
        return
    planning = "prepared" if allowed and prepares is not False else "planned anew each time"
    text = f"a pooler is in front of the server; statements are {planning}"
    yield info(text, check="pooler")


def examine_security(connection: Connection, standing: Standing) -> Iterator[Finding]:
    """Examine who runs statements, tables without a policy, and functions that lose their index."""
    user, role = fetch_user(connection), standing.role
    if citus.is_installed(connection):
        text = (
            f"searches and writes run as {role or user.name}; a Citus cluster uses no row-level"
            " security: only memsense's own statements keep tenants apart"
        )
        yield info(text, check="security")
        return
    if role is None and user.bypasses:
        yield warning(
            f"searches and writes run as {user.name}, who bypasses row-level security: only"
            " memsense's own statements keep tenants apart",
            REMEDY,
            check="security",
        )
    else:
        text = f"searches and writes run as {role or user.name}"
        yield info(text, check="security")
    if tables := list_unguarded(connection, role):
        named = ", ".join(tables[:_MOST_NAMED])
        others = len(tables) - _MOST_NAMED
        more = f" and {others} other tables" if others > 0 else ""
        yield warning(
            f"row-level security does not hold for {role or user.name} on {named}{more}",
            "run 'memsense init --roles'; see the guide 'How to keep tenants apart', 'Without a"
            " superuser'",
            check="security",
        )
    sealed = "tenants are sealed, but " if standing.is_sealed else ""
    for item in list_lasting(connection):
        if standing.is_sealed or not item.is_advice:
            is_grave = standing.is_sealed and not item.is_advice
            yield Finding(
                check="seal",
                severity="error" if is_grave else "warning",
                text=f"{sealed}of memsense_app: {item.what}",
                remedy=f"run as the owner: {item.remedy}",
            )
    if standing.lookups:
        text = "under policies, functions that run as memsense_index read the GIN indexes"
        yield info(text, check="security")
    elif leaky := list_leaky(connection):
        yield warning(
            f"under policies no index serves {', '.join(leaky)}: they are not leakproof",
            "run 'memsense init --roles', as a superuser or as a user with CREATEROLE, also"
            " after restoring a dump",
            check="security",
        )
