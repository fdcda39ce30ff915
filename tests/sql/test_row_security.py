"""Row-level security: statements that run as memsense_app see the rows of one tenant."""

from collections.abc import Generator
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from embedders import HashingEmbedder
from managed import Managed, open_managed
from psycopg import sql

from memsense import MemSense, load_settings
from memsense.db import Pool, run_transaction
from memsense.db.migrate import make_roles, upgrade
from memsense.db.queries import as_sql
from memsense.db.rows import fetch_value
from memsense.doctor.checkup import check_up
from memsense.errors import ConfigurationError

pytestmark = pytest.mark.one_server("its nodes use no policies")

TEXT = "I moved to Lisbon in March, and drink my tea green."


def as_app(url: str) -> str:
    """Return the URL of the same database for the user memsense_app."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"memsense_app@{parts.netloc.rpartition('@')[2]}"))


def fill(url: str, tenant: str, times: int = 3) -> None:
    """Store one of everything that a tenant can have."""
    with MemSense.open(url, embedder=HashingEmbedder(), tenant=tenant) as memory:
        for number in range(times):
            memory.add(
                [
                    {"role": "user", "content": f"{TEXT} {tenant} {number}"},
                    {"role": "assistant", "content": "Noted, Maria Silva."},
                ],
                user_id="ada", session_id=f"s{number}", tags=["tea"], mode="hybrid",
            )  # fmt: skip
        memory.indexes.make_sessions()
        memory.add([{"role": "user", "content": "Marked."}], user_id="ada", session_id="s0")
        memory.projects.create("pool", ["s1"])
        memory.settings.set(lexical=1.5)
        memory.profiles.create("mine", "balanced")
        memory.search("tea", user_id="ada", trace=True)
        memory.traces.flush()


@pytest.fixture(scope="module")
def two(module_database_url: str) -> str:
    """Return the superuser's URL of a database in which tenants a and b have stored the same."""
    for tenant in ("a", "b"):
        fill(module_database_url, tenant)
    return module_database_url


def relations(connection: psycopg.Connection[Any], kinds: str) -> list[str]:
    rows = connection.execute(
        "SELECT c.relname::text FROM pg_class AS c"
        " JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'tenant_id'"
        " WHERE c.relnamespace = 'memsense'::regnamespace AND c.relkind::text = ANY (%s)"
        " ORDER BY 1",
        (list(kinds),),
    ).fetchall()
    return [name for (name,) in rows]


def count(connection: psycopg.Connection[Any], name: str, where: str = "true") -> int:
    statement = sql.SQL("SELECT count(*) FROM {} WHERE {}").format(
        sql.Identifier("memsense", name), as_sql(where)
    )
    row = connection.execute(statement).fetchone()
    assert row
    return row[0]


def test_every_table_with_a_tenant_has_a_forced_policy(two: str) -> None:
    with psycopg.connect(two) as connection:
        tables = set(relations(connection, "rp"))
        rows = connection.execute(
            "SELECT c.relname::text FROM pg_class AS c"
            " JOIN pg_policy AS p ON p.polrelid = c.oid AND p.polname = 'one_tenant'"
            " WHERE c.relrowsecurity AND c.relforcerowsecurity"
        ).fetchall()
    assert len(tables) > 25
    assert {name for (name,) in rows} == tables


def test_every_view_runs_with_its_reader_s_rights(two: str) -> None:
    with psycopg.connect(two) as connection:
        rows = connection.execute(
            "SELECT relname::text, coalesce(reloptions, '{}') FROM pg_class"
            " WHERE relnamespace = 'memsense'::regnamespace AND relkind = 'v'"
        ).fetchall()
    assert len(rows) >= 15
    assert [name for name, options in rows if "security_invoker=true" not in options] == []


def number(url: str, tenant: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT tenant_id FROM memsense.tenants WHERE name = %s", (tenant,)
        ).fetchone()
    assert row
    return row[0]


@pytest.mark.parametrize("tenant", ["a", "b"])
def test_a_tenant_sees_its_own_rows_in_every_table_and_view(two: str, tenant: str) -> None:
    tenant_id = number(two, tenant)
    with psycopg.connect(two) as everything, psycopg.connect(as_app(two)) as app:
        app.execute("SELECT set_config('memsense.tenant_id', %s, true)", (str(tenant_id),))
        seen = 0
        for name in relations(everything, "rpv"):
            own = count(everything, name, f"tenant_id = {tenant_id}")
            assert count(app, name) == own, name
            assert count(app, name, f"tenant_id <> {tenant_id}") == 0, name
            seen += own > 0
    assert seen > 30


@pytest.mark.parametrize("announced", [None, ""])
def test_without_a_tenant_nothing_is_seen(two: str, announced: str | None) -> None:
    with psycopg.connect(as_app(two)) as app:
        if announced is not None:
            app.execute("SELECT set_config('memsense.tenant_id', %s, true)", (announced,))
        for name in relations(app, "rpv"):
            assert count(app, name) == 0, name


def test_no_row_of_another_tenant_is_changed_or_made(two: str) -> None:
    own, other = number(two, "a"), number(two, "b")
    with psycopg.connect(two) as everything:
        tables = relations(everything, "rp")
        before = {name: count(everything, name, f"tenant_id = {other}") for name in tables}
    with psycopg.connect(as_app(two)) as app:
        app.execute("SELECT set_config('memsense.tenant_id', %s, true)", (str(own),))
        for name in tables:
            table = sql.Identifier("memsense", name)
            for text in (
                "DELETE FROM {} WHERE tenant_id = %s",
                "UPDATE {} SET tenant_id = tenant_id WHERE tenant_id = %s",
            ):
                if name == "tenants":  # not even its own name may it change
                    with pytest.raises(psycopg.errors.InsufficientPrivilege), app.transaction():
                        app.execute(sql.SQL(text).format(table), (other,))
                    continue
                assert app.execute(sql.SQL(text).format(table), (other,)).rowcount == 0, name
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
            app.execute(
                "INSERT INTO memsense.namespaces (tenant_id, name, language)"
                " VALUES (%s, 'theirs', 'english')",
                (other,),
            )
    with psycopg.connect(two) as everything:
        assert before == {name: count(everything, name, f"tenant_id = {other}") for name in tables}
        assert all(before[name] for name in ("chunks", "embeddings", "traces", "projects"))


def test_the_app_changes_no_table_no_policy_and_no_role(two: str) -> None:
    refused = (
        "ALTER TABLE memsense.chunks DISABLE ROW LEVEL SECURITY",
        "DROP POLICY one_tenant ON memsense.chunks",
        "CREATE POLICY two ON memsense.chunks USING (true)",
        "DROP VIEW memsense.chunk_overview",
        "TRUNCATE memsense.chunks",
        "SET ROLE memsense_owner",
        "ALTER ROLE memsense_app BYPASSRLS",
        "UPDATE memsense.alembic_version SET version_num = '0001'",
    )
    for statement in refused:
        with psycopg.connect(as_app(two)) as app:
            with pytest.raises(
                (psycopg.errors.InsufficientPrivilege, psycopg.errors.InvalidParameterValue)
            ):
                app.execute(statement)  # pyright: ignore[reportArgumentType, reportCallIssue]


@pytest.mark.parametrize("login", ["superuser", "app"])
def test_every_statement_of_a_memory_runs_as_the_app(two: str, login: str) -> None:
    """Every connection runs statements as memsense_app, and keeps no session state."""
    expected = f"memsense_app{number(two, 'a')}"
    url = two if login == "superuser" else as_app(two)
    with MemSense.open(url, embedder=HashingEmbedder(), tenant="a") as memory:
        pool = memory._context.pool  # pyright: ignore[reportPrivateUsage]
        with pool.connection() as connection:
            told = fetch_value(
                connection, as_sql("SELECT current_user || current_setting('memsense.tenant_id')")
            )
            assert told == expected
            left = connection.execute(
                "SELECT session_user = current_user, current_setting('memsense.tenant_id', true),"
                " current_setting('plan_cache_mode')"
            ).fetchone()
            assert left == (True, "", "auto")
        user = as_sql("SELECT current_user || current_setting('memsense.tenant_id')")
        assert run_transaction(pool, lambda it: fetch_value(it, user)) == expected
        assert {hit.chunk.content.split()[-1] for hit in memory.search("tea", user_id="ada")}
        assert memory.search("Lisbon", all_users=True)[0].chunk.content.count(" a ")


def test_a_statement_that_names_another_tenant_finds_nothing(two: str) -> None:
    wrong = as_sql("SELECT count(*) FROM memsense.chunks WHERE tenant_id = %(tenant_id)s")
    every = as_sql("SELECT count(DISTINCT tenant_id) FROM memsense.chunks")
    with MemSense.open(two, embedder=HashingEmbedder(), tenant="a") as memory:
        with memory._context.pool.connection() as connection:  # pyright: ignore[reportPrivateUsage]
            assert fetch_value(connection, wrong, {"tenant_id": number(two, "b")}) == 0
            assert fetch_value(connection, every) == 1


def test_a_caller_s_transaction_needs_to_name_no_tenant(two: str) -> None:
    with MemSense.open(two, embedder=HashingEmbedder(), tenant="c") as memory:
        with psycopg.connect(as_app(two)) as connection:
            memory.add(
                [{"role": "user", "content": "Joined."}], user_id="ada", session_id="s",
                connection=connection,
            )  # fmt: skip
        assert [chunk.user_text for chunk in memory.recent(user_id="ada")] == ["Joined."]


def test_a_pool_without_a_tenant_sees_nothing_as_the_app(two: str) -> None:
    chunks = as_sql("SELECT count(*) FROM memsense.chunks")
    with (
        Pool(as_app(two), min_size=1, max_size=1, timeout=10) as pool,
        pool.connection() as connection,
    ):
        assert fetch_value(connection, chunks) == 0


def test_an_unprotected_connection_is_refused_if_the_setting_requires_policies(
    two: str, empty_database_url: str
) -> None:
    settings = load_settings(require_policies=True)
    with MemSense.open(two, embedder=HashingEmbedder(), settings=settings) as memory:
        assert memory.stats() == []
    upgrade(empty_database_url)
    with psycopg.connect(empty_database_url) as connection:  # as where there are no roles
        connection.execute("REVOKE ALL ON SCHEMA memsense FROM memsense_app")
    with pytest.raises(ConfigurationError, match="does not hold for the user .*init --roles"):
        MemSense.open(empty_database_url, embedder=HashingEmbedder(), settings=settings)


# A server that gives nobody a superuser -----------------------------------------------------------


@pytest.fixture
def managed(server_url: str, template_database: str) -> Generator[Managed]:  # noqa: ARG001 (roles)
    """Yield a database of a user with CREATEROLE, and of no superuser."""
    with open_managed(server_url) as found:
        yield found


def serves(url: str) -> bool:
    """Return whether a search for words uses the text index."""
    with psycopg.connect(url) as connection:
        connection.execute("SELECT set_config('memsense.tenant_id', '1', true)")
        plan = connection.execute(
            "EXPLAIN SELECT FROM memsense.chunks WHERE tenant_id = 1 AND scope_id = 1"
            " AND memsense.scope_lexemes(scope_id, tsv) && ARRAY['1:word7']"
        ).fetchall()
    return "chunks_scope_lexemes" in str(plan)


def test_without_a_superuser_policies_keep_the_app_from_the_index(managed: Managed) -> None:
    """Therefore functions use the index: see test_lookups.py."""
    upgrade(managed.url)
    said = [
        {"session_id": f"s{n}", "messages": [{"role": "user", "content": f"Of tea and word{n}."}]}
        for n in range(1500)
    ]
    with MemSense.open(managed.url, embedder=HashingEmbedder(), tenant="a") as memory:
        memory.add_many(said, user_id="ada", embed="later")
    with psycopg.connect(managed.support_url, autocommit=True) as connection:
        connection.execute("VACUUM (ANALYZE) memsense.chunks")
    assert serves(managed.url)

    make_roles(managed.url)
    upgrade(managed.url)
    with psycopg.connect(managed.support_url) as connection:
        owners = connection.execute(
            "SELECT DISTINCT relowner::regrole::text FROM pg_class"
            " WHERE relnamespace = 'memsense'::regnamespace AND relname NOT LIKE 'alembic%'"
        ).fetchall()
        assert owners == [("memsense_owner",)]
    app = as_app(managed.url)
    with psycopg.connect(app) as connection:
        assert connection.execute("SELECT count(*) FROM memsense.chunks").fetchone() == (0,)
    assert not serves(app)
    with MemSense.open(managed.url, embedder=HashingEmbedder(), tenant="a") as memory:
        assert memory.search("word7", user_id="ada", profile="lexical")

    make_roles(managed.support_url)  # by the provider's support
    assert serves(app)


def security_findings(url: str) -> list[str]:
    report = check_up(url, settings=load_settings(tenant="a"), embedder=HashingEmbedder())
    return [item.text for item in report.problems() if item.check == "security"]


def test_doctor_names_missing_policies_and_functions_without_an_index(database_url: str) -> None:
    fill(database_url, "a")
    assert security_findings(database_url) == []
    with psycopg.connect(database_url, autocommit=True) as connection:
        leaky = "ALTER FUNCTION pg_catalog.arrayoverlap(anyarray, anyarray) {} LEAKPROOF"
        connection.execute(sql.SQL(leaky).format(sql.SQL("NOT")))
        connection.execute("ALTER TABLE memsense.chunks NO FORCE ROW LEVEL SECURITY")
        connection.execute("REVOKE ALL ON SCHEMA memsense FROM memsense_app")
        bypassed, unforced, unserved = security_findings(database_url)
        assert "bypasses row-level security" in bypassed
        assert unforced.endswith("does not hold for postgres on chunks")
        assert "no index serves arrayoverlap" in unserved
    make_roles(database_url)


def test_doctor_names_three_unguarded_tables_and_counts_the_others(database_url: str) -> None:
    fill(database_url, "a")
    tables = ("chunks", "embeddings", "items", "jobs", "scopes")
    with psycopg.connect(database_url, autocommit=True) as connection:
        for table in tables:
            name = sql.Identifier("memsense", table)
            connection.execute(sql.SQL("ALTER TABLE {} DISABLE ROW LEVEL SECURITY").format(name))
    [finding] = security_findings(database_url)
    assert finding.endswith(f" on {', '.join(tables[:3])} and 2 other tables")
    make_roles(database_url)
    assert security_findings(database_url) == []
