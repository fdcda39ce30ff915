"""Rules of Citus for statements, checked on their texts, and on a cluster if there is one."""

import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from embedders import HashingEmbedder
from typer.testing import CliRunner

from memsense import MemSense
from memsense.cli.app import root
from memsense.db import citus
from memsense.db.queries import SQL_ROOT

NOT_ON_A_TENANT = {
    *("citus.sql", "citus_session.sql", "demo.sql", "doctor.sql", "session.sql"),
    # An operator's, of one node or of all tenants.
    *("security.sql", "tenants.sql", "partitions.sql", "purge.sql"),
}
"""What an operator's connection runs, and what names no table."""

PARTS = {"recall.sql", "hits.sql", "filters.sql", "graph.sql", "indexes.sql", "foreign.sql"}
"""Files of parts of statements: the whole names the tenant, a part compares with it."""

ANY_TENANT = {
    "store.sql: find_tenant",
    "store.sql: find_tenant_state",
    "store.sql: ensure_tenant",
    "store.sql: claim_model",
    "store.sql: find_model",
}
"""Statements on the tables that every node has whole."""

NAMED = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
COMMENT = re.compile(r"--[^\n]*")
CALL = re.compile(r"\b([a-z_][a-z0-9_]*)\s*\(")
WRITE = re.compile(r"\b(INSERT INTO|UPDATE|DELETE FROM) memsense\.", re.IGNORECASE)


def statements() -> Iterator[tuple[str, str]]:
    """Yield every statement of sql/ under its file and name, without comments and quoted texts."""
    for path in sorted(SQL_ROOT.glob("*.sql")):
        parts = NAMED.split(path.read_text(encoding="utf-8"))
        for name, body in zip(parts[1::2], parts[2::2], strict=True):
            yield f"{path.name}: {name}", re.sub(r"'[^']*'", "''", COMMENT.sub("", body))


STATEMENTS = dict(statements())
LOCKING = {
    name: text for name, text in STATEMENTS.items() if re.search(r"\bFOR (NO KEY )?UPDATE", text)
}
WRITING = {name: text for name, text in STATEMENTS.items() if WRITE.search(text)}

OF_TENANTS = {
    name: text
    for name, text in STATEMENTS.items()
    if re.search(r"(FROM|INTO|UPDATE|JOIN) memsense\.(?!find_)\w", text)
    and name not in ANY_TENANT
    and name.partition(":")[0] not in NOT_ON_A_TENANT
}
"""But for those that ask a function of lookups.sql, which takes the tenant from the transaction,
and which is not called on Citus."""


@pytest.fixture(scope="module")
def volatile(server_url: str) -> set[str]:
    """Return the names of the server's volatile functions."""
    with psycopg.connect(server_url) as connection:
        rows = connection.execute(
            "SELECT DISTINCT proname FROM pg_proc"
            " WHERE provolatile = 'v' AND pronamespace = 'pg_catalog'::regnamespace"
        ).fetchall()
    return {name for (name,) in rows}


def test_the_statements_are_found() -> None:
    assert len(STATEMENTS) > 150
    assert "jobs.sql: select_due_jobs" in LOCKING
    assert len(WRITING) > 50


def test_rows_are_locked_within_one_tenant() -> None:
    """Across tenants: "could not run distributed query with FOR UPDATE"."""
    selects = [
        (name, part)
        for name, text in LOCKING.items()
        for part in re.split(r"\bSELECT\b", text)
        if re.search(r"FOR (NO KEY )?UPDATE", part)
    ]
    named = re.compile(r"\btenant_id = %\(tenant_id\)s")
    assert [(name, part) for name, part in selects if not named.search(part)] == []


def test_no_write_calls_a_volatile_function(volatile: set[str]) -> None:
    called = {name: {*CALL.findall(text.lower())} & volatile for name, text in WRITING.items()}
    assert {name: calls for name, calls in called.items() if calls - {"set_config"}} == {}


def test_no_row_is_inserted_with_what_a_subquery_finds() -> None:
    """ "subqueries are not supported within INSERT queries"."""
    assert [
        (name, values)
        for name, text in WRITING.items()
        for values in re.findall(r"\bVALUES\b(.*)", text, re.DOTALL)
        if "SELECT" in values.split("ON CONFLICT")[0]
    ] == []


def test_every_statement_on_a_tenants_tables_names_the_tenant() -> None:
    def names_tenant(name: str, text: str) -> bool:
        is_part = name.partition(":")[0] in PARTS
        return ("tenant_id" if is_part else "%(tenant_id)s") in text

    assert [name for name, text in OF_TENANTS.items() if not names_tenant(name, text)] == []


def test_functions_with_arguments_are_not_written_in_sql(conn: psycopg.Connection[Any]) -> None:
    """Citus doesn't plan the statement of an SQL function with its arguments. Functions with
    constant arguments, and those that read no table, are called unchanged.
    """
    rows = conn.execute(
        "SELECT p.oid::regprocedure::text FROM pg_proc AS p"
        " JOIN pg_language AS l ON l.oid = p.prolang"
        " WHERE p.pronamespace = 'memsense'::regnamespace AND l.lanname = 'sql' AND p.pronargs > 0"
        " AND pg_get_functiondef(p.oid) ~ 'memsense\\.(chunks|trace|tenants|scopes|lexemes)'"
    ).fetchall()
    assert rows == []


def test_views_list_only_values_of_immutable_functions(conn: psycopg.Connection[Any]) -> None:
    """Citus fails otherwise: "VALUES with a non-immutable function"."""
    unsteady = {
        name
        for (name,) in conn.execute(
            "SELECT DISTINCT proname FROM pg_proc"
            " WHERE provolatile <> 'i' AND pronamespace = 'pg_catalog'::regnamespace"
        ).fetchall()
    }
    views = COMMENT.sub("", (SQL_ROOT / "views.sql").read_text(encoding="utf-8"))
    lists = re.findall(r"\bVALUES\b(.*?)\)\s+AS\s", views, re.DOTALL)
    assert lists
    for values in lists:
        assert set(CALL.findall(values.lower())) & unsteady == set()


# Spreading the tables ----------------------------------------------------------------------------


def test_tables_are_spread_behind_those_that_they_refer_to(conn: psycopg.Connection[Any]) -> None:
    statement = citus.query("list_references", citus.FILE)
    pairs: Any = conn.execute(statement).fetchall()
    names = {name for pair in pairs for name in pair}
    order = citus.in_order(names, pairs)
    assert sorted(order) == sorted(names)
    assert all(order.index(parent) < order.index(child) for child, parent in pairs)
    assert order.index("chunks") < order.index("jobs")


def test_every_table_but_the_shared_ones_can_be_spread_by_tenant(
    conn: psycopg.Connection[Any],
) -> None:
    """Unique keys, and references to such tables, begin with the tenant."""
    rows = conn.execute(
        "SELECT k.conrelid::regclass::text, k.conname FROM pg_constraint AS k"
        " JOIN pg_class AS c ON c.oid = k.conrelid"
        " WHERE c.relnamespace = 'memsense'::regnamespace AND k.contype IN ('p', 'u', 'f')"
        " AND NOT c.relispartition"
        " AND c.relname NOT IN ('tenants', 'models', 'seals', 'alembic_version')"
        " AND coalesce(k.confrelid::regclass::text, '')"
        "   NOT IN ('memsense.tenants', 'memsense.models')"
        " AND NOT EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = k.conrelid"
        "   AND a.attnum = k.conkey[1] AND a.attname = 'tenant_id')"
    ).fetchall()
    assert rows == []


@pytest.fixture
def spread_tables(conn: psycopg.Connection[Any]) -> list[str]:
    """Return the tables that `init --citus` distributes in a new database."""
    conn.execute("CREATE TEMPORARY TABLE pg_dist_partition (logicalrelid regclass) ON COMMIT DROP")
    names = [name for (name,) in conn.execute(citus.query("list_local_tables", citus.FILE))]
    pairs = conn.execute(citus.query("list_references", citus.FILE)).fetchall()
    return citus.in_order(names, pairs)  # pyright: ignore[reportArgumentType]


def test_every_table_of_the_catalogue_is_spread(
    conn: psycopg.Connection[Any], spread_tables: list[str]
) -> None:
    """Only Alembic's table and partitions, which follow their table, are exempt. A new table is
    not.
    """
    tables = conn.execute(
        "SELECT table_name::text FROM information_schema.tables"
        " WHERE table_schema = 'memsense' AND table_type = 'BASE TABLE'"
        " EXCEPT SELECT c.relname::text"
        " FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid"
    ).fetchall()
    assert sorted(spread_tables) == sorted({name for (name,) in tables} - {"alembic_version"})
    known = {"access_keys", "items", "jobs", "erasures", "namespace_models", "past_chunks"}
    assert known | {"token_vectors", "write_keys"} <= set(spread_tables)


def test_every_distributed_tables_keys_begin_with_the_tenant(
    conn: psycopg.Connection[Any], spread_tables: list[str]
) -> None:
    """The tenant is not null, and a part of every unique index and of every reference to another
    distributed table, in the same position. Shared tables don't reference distributed ones."""
    by_tenant = sorted(set(spread_tables) - set(citus.EVERYWHERE))
    asked = {"names": by_tenant, "everywhere": list(citus.EVERYWHERE)}
    with_tenant = conn.execute(
        "SELECT c.relname::text FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid"
        " WHERE c.relnamespace = 'memsense'::regnamespace AND c.relname = ANY (%(names)s)"
        " AND a.attname = 'tenant_id' AND a.attnotnull AND a.atttypid = 'integer'::regtype"
        " ORDER BY 1",
        asked,
    ).fetchall()
    assert [name for (name,) in with_tenant] == by_tenant
    without = conn.execute(
        "SELECT x.indexrelid::regclass::text FROM pg_index AS x"
        " JOIN pg_class AS c ON c.oid = x.indrelid"
        " WHERE c.relnamespace = 'memsense'::regnamespace AND c.relname = ANY (%(names)s)"
        " AND x.indisunique AND NOT EXISTS (SELECT FROM pg_attribute AS a"
        "   WHERE a.attrelid = c.oid AND a.attname = 'tenant_id' AND a.attnum = ANY (x.indkey))",
        asked,
    ).fetchall()
    assert without == []
    askew = conn.execute(
        "SELECT k.conname::text FROM pg_constraint AS k"
        " JOIN pg_class AS child ON child.oid = k.conrelid"
        " JOIN pg_class AS parent ON parent.oid = k.confrelid"
        " WHERE k.contype = 'f' AND child.relnamespace = 'memsense'::regnamespace"
        " AND NOT child.relispartition AND NOT parent.relispartition"
        " AND parent.relname = ANY (%(names)s)"
        " AND (child.relname = ANY (%(everywhere)s) OR k.confdeltype IN ('n', 'd')"
        "   OR NOT EXISTS (SELECT FROM unnest(k.conkey, k.confkey) AS pair (own, other)"
        "     JOIN pg_attribute AS a ON a.attrelid = child.oid AND a.attnum = pair.own"
        "     JOIN pg_attribute AS b ON b.attrelid = parent.oid AND b.attnum = pair.other"
        "     WHERE a.attname = 'tenant_id' AND b.attname = 'tenant_id'))",
        asked,
    ).fetchall()
    assert askew == []


def has_citus(url: str) -> bool:
    with psycopg.connect(url) as connection:
        statement = citus.query("find_citus", citus.FILE)
        return connection.execute(statement).fetchone() is not None


def test_without_citus_the_error_says_how_to_install_it(database_url: str) -> None:
    if has_citus(database_url):
        pytest.skip("there is a Citus")
    result = CliRunner().invoke(root, ["--database-url", database_url, "init", "--citus"])
    assert result.exit_code == 2
    assert "'How to run on a Citus cluster'" in result.output


def test_over_a_cluster_everything_works(empty_database_url: str) -> None:
    if not has_citus(empty_database_url):
        pytest.skip("needs a server with Citus")
    arguments = ["--database-url", empty_database_url, "init", "--citus"]
    for _ in range(2):
        assert CliRunner().invoke(root, arguments).exit_code == 0
    with MemSense.open(empty_database_url, embedder=HashingEmbedder()) as memory:
        said = [{"role": "user", "content": "I moved to Lisbon."}]
        [chunk] = memory.add(said, user_id="ada", session_id="s", key="k")
        assert memory.add(said, user_id="ada", session_id="s", key="k") == [chunk]
        memory.add(
            [{"role": "user", "content": "I drink tea."}],
            user_id="ada",
            session_id="s",
            embed="later",
        )
        assert memory.jobs.run().done == 1
        assert memory.search("Lisbon", user_id="ada", trace=True)
        memory.traces.flush()
        assert memory.traces.list()
        assert memory.traces.prune(days=0) == 1
        memory.forget(chunk.chunk_id)
        memory.restore(chunk.chunk_id)
        assert memory.promote(chunk.chunk_id) == pytest.approx(0.65)
