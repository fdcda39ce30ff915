"""Memory over an empty database, with a fast embedder."""

import sys
from collections.abc import Callable, Generator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from servers import TestServer

from memsense import MemSense

# The tests of this folder, and processes that they start, import the modules beside them.
sys.path.append(str(Path(__file__).parent))

pytest.register_assert_rewrite("counting")

OpenMemory = Callable[..., MemSense]


@pytest.fixture
def database_url(server: TestServer, shared_database_url: str) -> Generator[str]:
    """Yield the URL of a migrated, empty database. Tests may write: it is emptied afterwards."""
    yield shared_database_url
    with psycopg.connect(shared_database_url, autocommit=True) as conn:
        empty_database(conn, is_cluster=server.is_cluster)


UNNOTICED_PAGES = 10
"""Size that the planner takes a table to have at least, until it is analysed."""


def empty_database(conn: psycopg.Connection, *, is_cluster: bool) -> None:
    """Leave the database as a migration does: no rows, nothing analysed, sequences at their start.

    Deleting rows takes a hundredth of truncating tables, each with all its indexes. Tables are
    truncated where the remains of deleted rows, or statistics, could change a plan; all of them on
    a cluster, whose coordinator knows neither.
    """
    tables = conn.execute(
        "SELECT relname, %(is_cluster)s OR relpages > 0 OR reltuples >= 0"
        " OR pg_relation_size(oid) > %(unnoticed)s * current_setting('block_size')::int"
        " FROM pg_class WHERE relnamespace = 'memsense'::regnamespace"
        " AND relkind = ANY (%(kinds)s) AND NOT (relispartition AND %(is_cluster)s)"
        " AND (%(is_cluster)s OR reltuples >= 0 OR pg_relation_size(oid) > 0)"
        " AND relname <> 'alembic_version'",
        {
            "is_cluster": is_cluster,
            "unnoticed": UNNOTICED_PAGES,
            "kinds": ["r", "p"] if is_cluster else ["r"],
        },
    ).fetchall()
    statements = [sql.SQL("SET session_replication_role = replica")]  # in any order of foreign keys
    statements += [
        sql.SQL("DELETE FROM {}").format(sql.Identifier("memsense", name))
        for name, is_noticed in tables
        if not is_noticed
    ]
    if noticed := [sql.Identifier("memsense", name) for name, is_noticed in tables if is_noticed]:
        statements.append(sql.SQL("TRUNCATE {} CASCADE").format(sql.SQL(", ").join(noticed)))
    statements.append(
        sql.SQL(
            "SELECT setval(oid::regclass, 1, false) FROM pg_class"
            " WHERE relnamespace = 'memsense'::regnamespace AND relkind = 'S'"
        )
    )
    conn.execute(sql.SQL("; ").join(statements))
    conn.execute("DROP TABLE IF EXISTS orders")
    indexes = conn.execute(
        "SELECT c.relname FROM pg_class AS c JOIN pg_am AS a ON a.oid = c.relam"
        " WHERE c.relnamespace = 'memsense'::regnamespace AND a.amname = 'hnsw'"
    ).fetchall()
    for (name,) in indexes:
        conn.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier("memsense", name)))


@pytest.fixture
def open_memory(database_url: str) -> Generator[OpenMemory]:
    """Yield a function that opens memories over the test's database; all are closed at the end."""
    from embedders import HashingEmbedder

    with ExitStack() as stack:

        def open_one(**options: object) -> MemSense:
            given = {"embedder": HashingEmbedder(), **options}
            return stack.enter_context(partial(MemSense.open, database_url)(**given))  # pyright: ignore[reportArgumentType]

        yield open_one


@pytest.fixture
def memory(open_memory: OpenMemory) -> MemSense:
    """Return a memory over the test's database."""
    return open_memory()
