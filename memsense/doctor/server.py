"""Examines the server: versions and settings."""

from collections.abc import Iterator

from memsense.db.connection import OLDEST_PGVECTOR, OLDEST_SERVER, Connection
from memsense.db.rows import Named, fetch_one
from memsense.doctor.findings import FILE, Finding
from memsense.doctor.sizes import in_units

LEAST_WORK_MEM = 4 << 20


def examine_server(connection: Connection) -> Iterator[Finding]:
    """Versions and settings; needs no schema."""
    yield from _examine_versions(connection)
    yield from _examine_settings(connection)


def _examine_versions(connection: Connection) -> Iterator[Finding]:
    found = fetch_one(connection, "fetch_server", file=FILE, of=Named)
    yield Finding(
        check="server",
        severity="info",
        text=f"PostgreSQL {found['server']}, pgvector {found['pgvector'] or 'not installed'}",
    )
    if found["server_number"] < OLDEST_SERVER:
        yield Finding(
            check="server",
            severity="error",
            text=f"PostgreSQL {found['server']} is older than 15",
            remedy="upgrade the server",
        )
    if found["encoding"] != "UTF8":
        yield Finding(
            check="server",
            severity="warning",
            text=f"the database is encoded in {found['encoding']}",
            remedy="create a database with ENCODING 'UTF8'",
        )
    yield from _examine_extension(found["pgvector"], found["pgvector_available"])


def _examine_extension(installed: str | None, available: str | None) -> Iterator[Finding]:
    if installed is None:
        remedy = "run 'memsense init'" if available else "install pgvector on the server"
        yield Finding(
            check="pgvector", severity="error", text="pgvector is not installed", remedy=remedy
        )
    elif _version(installed) < OLDEST_PGVECTOR:
        yield Finding(
            check="pgvector",
            severity="error",
            text=f"pgvector {installed} is older than 0.8",
            remedy="install a newer one, then run 'ALTER EXTENSION vector UPDATE'",
        )
    elif available and _version(installed) < _version(available):
        yield Finding(
            check="pgvector",
            severity="warning",
            text=f"pgvector {available} is on the server, the database still uses {installed}",
            remedy="run 'ALTER EXTENSION vector UPDATE'",
        )


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:3] if part.isdigit())


def _examine_settings(connection: Connection) -> Iterator[Finding]:
    found = fetch_one(connection, "fetch_settings", file=FILE, of=Named)
    if found["work_mem"] < LEAST_WORK_MEM:
        yield Finding(
            check="work_mem",
            severity="warning",
            text=f"work_mem is {in_units(found['work_mem'])}; sorts and bitmaps of a recall spill",
            remedy="set it to 16MB or more: ALTER DATABASE ... SET work_mem = '16MB'",
        )
    if found["autovacuum"] != "on":
        yield Finding(
            check="autovacuum",
            severity="warning",
            text="autovacuum is off: tables bloat and the planner's statistics go stale",
            remedy="turn autovacuum on",
        )
