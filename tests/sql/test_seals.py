"""Sealed tenants: SQL in the hands of memsense_app reaches no other tenant's rows.

The attacker's connection has the rights of memsense_app and a valid token of tenant a. Each attempt
looks for tenant b's word in what it returns, and tenant b's rows are compared at the end.
"""

# pyright: reportPrivateUsage=false
# ruff: noqa: S106, S608

import json
import re
import subprocess
import sys
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, LiteralString, cast

import psycopg
import pytest
import takeover
from embedders import HashingEmbedder
from managed import open_managed
from pgbouncer import open_pgbouncer
from psycopg import sql
from takeover import ATTACKS, LOOK_UP, attack
from test_row_security import as_app, fill

from memsense import MemSense, Settings
from memsense.db import Pool, migrate, run_read, run_transaction
from memsense.db.queries import query
from memsense.db.seals import sign_tenant
from memsense.db.security import list_lasting
from memsense.doctor.checkup import check_up
from memsense.errors import ConfigurationError, SchemaError

pytestmark = pytest.mark.one_server("its nodes use no policies")

KEY = "k" * 40
OTHER_KEY = "o" * 40


@dataclass(frozen=True)
class Sealed:
    """A database with the tenants a and b, sealed."""

    url: str
    ids: dict[str, int]


@pytest.fixture(scope="module")
def sealed(module_database_url: str) -> Generator[Sealed]:
    url = module_database_url
    migrate.make_roles(url)
    for tenant in ("a", "b"):
        fill(url, tenant)
    with psycopg.connect(url) as owner:
        ids = dict(owner.execute("SELECT name, tenant_id FROM memsense.tenants").fetchall())
    migrate.seal(url, KEY)
    yield Sealed(url, ids)
    migrate.unseal(url)


def claim(tenant: str, number: object) -> str:
    """Return statements that name a tenant in each way that an unsealed database believes."""
    return (
        f"SELECT nullif(set_config('memsense.tenant', '{tenant}', true), '{tenant}');"
        f" SELECT nullif(set_config('memsense.tenant_id', '{number}', true), '{number}');"
    )


TOKEN = "SELECT set_config('memsense.token', {token}, true);"
OWN = "current_setting('memsense.token')"
FORGED = f"repeat('0', 64) || substr({OWN}, 65)"
LOOK = "SELECT user_text FROM memsense.chunks"
TRICK = (
    "CREATE FUNCTION pg_temp.tell(text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS"
    " $$ BEGIN IF $1 LIKE '%tea green. b%' THEN RAISE '%', $1; END IF; RETURN true; END $$;"
)

ATTEMPTS = {
    "name the tenant": claim("b", "{b}") + LOOK,
    "name it for the session": "SET memsense.tenant_id = '{b}'; SET memsense.tenant = 'b';" + LOOK,
    "name no tenant": claim("", "") + LOOK,
    "drop the token": TOKEN.format(token="''") + LOOK,
    "forge a signature": TOKEN.format(token=FORGED) + LOOK,
    "sign by oneself": TOKEN.format(
        token="encode(sha256('{b}|9999999999|b'), 'hex') || '|{b}|9999999999|b'"
    )
    + LOOK,
    "change the number": TOKEN.format(token=f"regexp_replace({OWN}, '[|]{{a}}[|]', '|{{b}}|')")
    + LOOK,
    "change the name": TOKEN.format(token=f"{OWN} || 'b'") + claim("b", "{b}") + LOOK,
    "put another token behind": TOKEN.format(token=f"{OWN} || '|{{b}}|9999999999|b'") + LOOK,
    "use a token of yesterday": TOKEN.format(token="'{expired}'") + LOOK,
    "use a token of another key": TOKEN.format(token="'{other}'") + LOOK,
    "read the keys": "SELECT inner_key::text FROM memsense.seals",
    "copy the keys": "COPY memsense.seals TO STDOUT",
    "add a key": "INSERT INTO memsense.seals (inner_key, outer_key) VALUES ('a', 'b')",
    "replace the check": (
        "CREATE OR REPLACE FUNCTION memsense.find_token() RETURNS text LANGUAGE sql AS"
        " $$ SELECT '{b}|9999999999|b' $$;"
    )
    + LOOK,
    "replace sha256": (
        "CREATE FUNCTION pg_temp.sha256(bytea) RETURNS bytea LANGUAGE sql"
        " AS $$ SELECT ''::bytea $$;"
        " SET search_path = pg_temp, pg_catalog;"
    )
    + TOKEN.format(token="'|{b}|9999999999|b'")
    + LOOK,
    "mask the keys": (
        "CREATE TEMP TABLE seals (inner_key bytea, outer_key bytea); SET search_path = pg_temp;"
    )
    + TOKEN.format(token=FORGED)
    + LOOK,
    "turn policies off": "SET row_security = off;" + LOOK,
    "become the owner": "SET ROLE memsense_owner;" + LOOK,
    "become the first user": "RESET ROLE; RESET SESSION AUTHORIZATION;" + LOOK,
    "drop the policy": "DROP POLICY one_tenant ON memsense.chunks;" + LOOK,
    "disable policies": "ALTER TABLE memsense.chunks DISABLE ROW LEVEL SECURITY;" + LOOK,
    "read a partition": "SELECT chunk_id::text FROM memsense.embeddings_full WHERE tenant_id = {b}",
    "read a view": "SELECT content FROM memsense.chunk_overview WHERE tenant_id = {b}",
    "read the audit": "SELECT detail::text FROM memsense.audit WHERE tenant = 'b'",
    "copy the table": "COPY memsense.chunks TO STDOUT",
    "print from within": TRICK + LOOK + " WHERE pg_temp.tell(user_text)",
    "make a view of one's own": "CREATE TEMP VIEW mine AS " + LOOK + "; SELECT * FROM mine",
    "call the look-ups": claim("b", "{b}")
    + "SELECT f.chunk_id::text FROM memsense.find_chunks(ARRAY[{scopes}], ARRAY['tea']) AS f"
    " WHERE NOT EXISTS (SELECT FROM memsense.chunks AS c WHERE c.chunk_id = f.chunk_id)",
    "read the statistics": (
        "SELECT most_common_vals::text FROM pg_stats WHERE schemaname = 'memsense'"
        " AND tablename = 'chunks' AND attname = 'user_text'"
    ),
    "read the catalogue": "SELECT stavalues1::text FROM pg_statistic",
    "look at others' statements": (
        "SELECT query FROM pg_stat_activity WHERE query LIKE '%tea green. b%'"
    ),
    "write into the tenant": (
        "INSERT INTO memsense.namespaces (tenant_id, name, language)"
        " VALUES ({b}, 'mine', 'english')"
    ),
    "change its rows": "UPDATE memsense.chunks SET user_text = 'gone' WHERE tenant_id = {b}",
    "give it one's rows": "UPDATE memsense.chunks SET tenant_id = {b}",
    "delete its rows": "DELETE FROM memsense.chunks WHERE tenant_id = {b}",
    "empty its table": "TRUNCATE memsense.chunks CASCADE",
    "stop everybody's model": "UPDATE memsense.models SET dimension = 1",
    "drop everybody's model": "DELETE FROM memsense.models",
    "leave everybody a model": "INSERT INTO memsense.models (name, dimension) VALUES ('mine', 1)",
    "take the name of a later tenant": "UPDATE memsense.tenants SET name = 'later'",
    "resume oneself": "UPDATE memsense.tenants SET suspended_at = NULL",
    "leave and come back as another": "DELETE FROM memsense.tenants",
}


def contents(url: str, tenant_id: int) -> list[Any]:
    with psycopg.connect(url) as owner:
        return owner.execute(
            "SELECT c.*, n.name, (SELECT array_agg(m ORDER BY m) FROM memsense.models AS m),"
            " (SELECT array_agg(t ORDER BY t) FROM memsense.tenants AS t)"
            " FROM memsense.chunks AS c JOIN memsense.namespaces AS n USING (tenant_id)"
            " WHERE c.tenant_id = %s ORDER BY c.chunk_id, n.name",
            [tenant_id],
        ).fetchall()


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_sql_in_hand_reaches_no_other_tenant(sealed: Sealed, attempt: str) -> None:
    before = contents(sealed.url, sealed.ids["b"])
    with psycopg.connect(sealed.url) as owner:
        scopes = owner.execute(
            "SELECT string_agg(scope_id::text, ',') FROM memsense.scopes"
        ).fetchone()
    own = sign_tenant(KEY, "a", sealed.ids["a"])
    parts = {
        **sealed.ids,
        "scopes": (scopes or ("",))[0],
        "expired": sign_expired(KEY, "b", sealed.ids["b"]),
        "other": sign_tenant(OTHER_KEY, "b", sealed.ids["b"]),
    }
    seen: list[object] = []
    with psycopg.connect(as_app(sealed.url)) as connection:
        connection.add_notice_handler(lambda it: seen.append(it.message_primary))
        connection.execute("SELECT set_config('memsense.token', %s, true)", [own])
        assert len(connection.execute(LOOK).fetchall()) >= 3  # its own rows it sees
        try:
            for statement in ATTEMPTS[attempt].format(**parts).split("; "):
                text = cast("LiteralString", statement)
                if text.lstrip().startswith("COPY"):
                    with connection.cursor().copy(text) as copy:
                        seen += [bytes(block).decode() for block in copy]
                    continue
                cursor = connection.execute(text)
                while cursor is not None:
                    seen += [row[0] for row in cursor.fetchall()] if cursor.description else []
                    cursor = cursor if cursor.nextset() else None
        except psycopg.Error as error:
            connection.rollback()
            seen.append(str(error) if "tea green" in str(error) else "refused")
        else:
            connection.commit()
    told = [it for it in seen if it is not None]
    assert not [it for it in told if "tea green. b" in str(it) and "%tea green" not in str(it)]
    if attempt in {"read a partition", "read a view", "read the audit", "call the look-ups"}:
        assert not told
    assert contents(sealed.url, sealed.ids["b"]) == before


def sign_expired(key: str, tenant: str, tenant_id: int) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("memsense.db.seals.TOKEN_SECONDS", -86_400)
        return sign_tenant(key, tenant, tenant_id)


def spy_on(url: str) -> psycopg.Connection:
    """Return a connection of another process of memsense_app that gets what NOTIFY carries."""
    connection = psycopg.connect(as_app(url), autocommit=True)
    connection.execute("LISTEN spoils")
    return connection


def spoils(seen: list[str], listening: psycopg.Connection) -> list[str]:
    """Return what of tenant b was seen, or heard by the other process: texts, tokens, a key."""
    listening.execute("SELECT")
    heard = [notice.payload for notice in listening.notifies(timeout=0)]
    return [item for item in [*seen, *heard] if "tea green. b" in item or item.endswith("|b")]


@pytest.mark.parametrize("name", ATTACKS)
def test_a_session_carries_nothing_from_one_tenant_to_the_next(
    sealed: Sealed,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    if name == LOOK_UP:
        monkeypatch.setattr("memsense.db.session.TENANT_SECONDS", 0.0)
    with spy_on(sealed.url) as listening:
        assert spoils(attack(as_app(sealed.url), KEY, name), listening) == []
    assert "SQL other than memsense's ran there" in caplog.text


def leave_as_it_is(_: object) -> None:
    """Clean nothing."""


@pytest.mark.parametrize("name", ATTACKS)
def test_without_the_cleaning_each_of_these_attacks_would_succeed(
    sealed: Sealed, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memsense.db.pool.clean_session", leave_as_it_is)
    if name == LOOK_UP:
        monkeypatch.setattr("memsense.db.session.TENANT_SECONDS", 0.0)
    with spy_on(sealed.url) as listening:
        assert spoils(attack(as_app(sealed.url), KEY, name), listening)


def test_another_process_gets_nothing_out_of_the_one_that_is_attacked(sealed: Sealed) -> None:
    program = str(Path(takeover.__file__))
    with spy_on(sealed.url) as listening:
        for name in ("steal the token", "mask a type", "swap a read"):
            command = [sys.executable, program, as_app(sealed.url), KEY, name]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            seen = json.loads(done.stdout)
            assert [it for it in seen if "tea green. a" in it]
            assert spoils(seen, listening) == []


def test_a_process_with_the_key_works_as_before_and_finds_its_tenant_alone(sealed: Sealed) -> None:
    settings = Settings(database_url=as_app(sealed.url), seal_key=KEY)
    for tenant, others in (("a", "b"), ("b", "a"), ("new", "ab")):
        with MemSense.open(settings=settings, tenant=tenant, embedder=HashingEmbedder()) as memory:
            said = [{"role": "user", "content": f"Sealed tea of {tenant}."}]
            [chunk] = memory.add(said, user_id="ada", session_id="sealed")
            found = [hit.content for hit in memory.search("sealed tea", user_id="ada")]
            assert f"user: Sealed tea of {tenant}." in found
            assert not [text for text in found for other in others if f"tea of {other}." in text]
            with psycopg.connect(as_app(sealed.url)) as own:
                joined = [{"role": "user", "content": "Joined."}]
                memory.add(joined, user_id="ada", session_id="joined", connection=own)
            memory.erase(user_id="ada", session_id="joined")
            memory.delete(chunk.chunk_id)


@pytest.mark.parametrize(
    ("user", "key", "reason"),
    [
        ("memsense_app", None, "set MEMSENSE_SEAL_KEY"),
        ("memsense_app", "short", "32 to 64 bytes"),
        ("postgres", KEY, "connect as memsense_app"),
    ],
)
def test_a_process_that_is_not_held_by_the_seal_is_refused(
    sealed: Sealed, user: str, key: str | None, reason: str
) -> None:
    url = as_app(sealed.url) if user == "memsense_app" else sealed.url
    with pytest.raises(ConfigurationError, match=reason):
        MemSense.open(settings=Settings(database_url=url, seal_key=key), tenant="a")


def test_a_wrong_key_shows_nothing_and_a_key_is_replaced_while_processes_run(
    sealed: Sealed,
) -> None:
    def count(key: str) -> int:
        pool = Pool(as_app(sealed.url), min_size=1, max_size=1, timeout=9, tenant="a", seal_key=key)
        with pool, pool.connection() as connection, connection.transaction():
            token = sign_tenant(key, "a", sealed.ids["a"])
            connection.execute("SELECT set_config('memsense.token', %s, true)", [token])
            row = connection.execute(sql.SQL("SELECT count(*) FROM memsense.chunks")).fetchone()
        return row[0] if row else 0

    assert (count(KEY) > 0, count(OTHER_KEY)) == (True, 0)
    migrate.seal(sealed.url, OTHER_KEY)
    assert count(KEY) == count(OTHER_KEY) > 0
    migrate.seal(sealed.url, KEY, replaces=True)
    assert (count(KEY) > 0, count(OTHER_KEY)) == (True, 0)


def test_look_ups_that_run_as_another_role_reach_no_other_tenant_either(
    server_url: str,
) -> None:
    """On a server without superusers functions read the indexes of all tenants (lookups.sql)."""
    with open_managed(server_url) as managed:
        migrate.upgrade(managed.url)
        migrate.make_roles(managed.url)
        for tenant in ("a", "b"):
            fill(managed.url, tenant, times=1)
        migrate.seal(managed.url, KEY)
        with psycopg.connect(managed.support_url) as owner:
            ids = dict(owner.execute("SELECT name, tenant_id FROM memsense.tenants").fetchall())
            chunks = owner.execute(
                "SELECT tenant_id, array_agg(chunk_id) FROM memsense.chunks GROUP BY 1"
            ).fetchall()
            scopes = owner.execute("SELECT array_agg(scope_id) FROM memsense.scopes").fetchone()
        with psycopg.connect(as_app(managed.url)) as connection:
            token = sign_tenant(KEY, "a", ids["a"])
            connection.execute("SELECT set_config('memsense.token', %s, true)", [token])
            connection.execute(cast("LiteralString", claim("b", ids["b"])))
            found = connection.execute(
                "SELECT chunk_id FROM memsense.find_chunks(%s, ARRAY['tea', 'green', 'note'])",
                scopes,
            ).fetchall()
        assert {it for (it,) in found} <= set(dict(chunks)[ids["a"]])
        assert found
        settings = Settings(database_url=as_app(managed.url), seal_key=KEY)
        with MemSense.open(settings=settings, tenant="a", embedder=HashingEmbedder()) as memory:
            assert len(memory.search("green tea", user_id="ada"))


# Sessions between tenants -------------------------------------------------------------------------


def open_pool(
    url: str, tenant: str, search_path: str | None = "pg_catalog, public, pg_temp"
) -> Pool:
    return Pool(
        as_app(url), min_size=1, max_size=1, timeout=9, tenant=tenant, seal_key=KEY,
        search_path=search_path,
    )  # fmt: skip


def ask(pool: Pool, statement: LiteralString) -> Any:
    return run_read(pool, lambda it: it.execute(statement).fetchone())


STATE: LiteralString = """
    SELECT current_setting('search_path'), current_setting('DateStyle'),
        current_setting('default_transaction_read_only'),
        (SELECT count(*) FROM pg_listening_channels()) + (SELECT count(*) FROM pg_cursors)
        + (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()),
        (SELECT count(*) FROM pg_prepared_statements)
"""
LEFT = {
    "a prepared statement": "PREPARE mine AS SELECT 1",
    "a schema for temporary objects": "CREATE TEMP TABLE mine (item text)",
    "fewer prepared statements than the driver made": "DO $$BEGIN EXECUTE 'DEALLOCATE ALL'; END$$",
}


@pytest.mark.parametrize("left", LEFT)
def test_a_session_with_anything_left_in_it_is_closed_reported_and_counted(
    sealed: Sealed, left: str, caplog: pytest.LogCaptureFixture
) -> None:
    with open_pool(sealed.url, "a") as a:
        b = a.for_tenant("b")
        for pool in (a, b, a):
            process = ask(pool, "SELECT pg_backend_pid()")
        run_transaction(a, lambda it: takeover.run(it, LEFT[left]))
        assert ask(a, "SELECT pg_backend_pid()") == process  # the same tenant may go on
        assert ask(b, "SELECT pg_backend_pid()") != process
        assert a.foreign_sessions == b.foreign_sessions == 1
    assert f"a session of tenant 'a' left {left}: SQL other than memsense's" in caplog.text


def test_what_can_be_removed_is_removed_and_the_session_and_its_plans_stay(sealed: Sealed) -> None:
    with psycopg.connect(sealed.url, autocommit=True) as owner:
        # The driver needs ISO, which RESET ALL undoes.
        german = sql.SQL("ALTER DATABASE {} SET DateStyle = 'German'")
        owner.execute(german.format(sql.Identifier(owner.info.dbname)))
    try:
        with open_pool(sealed.url, "a") as a:
            b = a.for_tenant("b")
            for pool in (a, b, a):
                process = ask(pool, "SELECT pg_backend_pid()")
            for statement in (
                "SET search_path = pg_temp",
                "SET memsense.tenant = 'b'",
                "SET default_transaction_read_only = on",
                "LISTEN spoils",
                "DECLARE mine CURSOR WITH HOLD FOR SELECT 1",
                "SELECT pg_advisory_lock(1)",
            ):
                run_transaction(a, lambda it, text=statement: takeover.run(it, text))
            with b.connection() as connection:
                prepared = len(connection._prepared._names)
            assert ask(b, "SELECT pg_backend_pid()") == process
            assert ask(b, STATE) == ("pg_catalog, public, pg_temp", "ISO, DMY", "off", 0, prepared)
            assert prepared
            assert a.foreign_sessions == 0
    finally:
        with psycopg.connect(sealed.url, autocommit=True) as owner:
            iso = sql.SQL("ALTER DATABASE {} RESET DateStyle")
            owner.execute(iso.format(sql.Identifier(owner.info.dbname)))


def test_the_driver_s_own_list_of_prepared_statements_is_the_server_s(sealed: Sealed) -> None:
    """The cleaning reads it where psycopg documents no way to."""
    with open_pool(sealed.url, "a") as pool, pool.connection() as connection:
        for number in range(3):
            connection.execute("SELECT %s::integer", [number], prepare=True)
        rows = connection.execute("SELECT name FROM pg_prepared_statements").fetchall()
        names = [it.decode() for it in connection._prepared._names.values()]
        assert sorted(names) == sorted(name for (name,) in rows)
        assert names


def test_statements_that_carry_a_token_name_nothing_that_a_session_could_replace() -> None:
    for name in ("announce", "name_tenant"):
        text = query(name, "session.sql").as_string()
        called = re.findall(r"([\w.]+)\(", text)
        types = re.findall(r"::([\w.]+)", text)
        assert {it.partition(".")[0] for it in [*called, *types]} - {"OPERATOR"} == {"pg_catalog"}
        bare = re.sub(r"OPERATOR\(pg_catalog\.[<>]\)|'[^']*'|%\(\w+\)s", "", text)
        assert not re.search(r"[<>=~+*/|&-]|BETWEEN|\bIN\b|LIKE", bare)


# What would outlive a session ---------------------------------------------------------------------

LASTING = {
    "CREATE SCHEMA open; GRANT CREATE ON SCHEMA open TO PUBLIC": "REVOKE CREATE ON SCHEMA open",
    "CREATE SCHEMA own AUTHORIZATION memsense_app": "ALTER SCHEMA own OWNER TO memsense_owner",
    "GRANT CREATE ON DATABASE {database} TO memsense_app": "REVOKE CREATE ON DATABASE",
    "GRANT pg_read_all_data TO memsense_app": "REVOKE pg_read_all_data FROM memsense_app",
    "ALTER ROLE memsense_app CREATEROLE": "NOCREATEROLE",
    "ALTER ROLE memsense_app SET search_path = public": "RESET search_path",
    "ALTER ROLE memsense_app IN DATABASE {database} SET work_mem = '1MB'": "RESET work_mem",
    "CREATE DOMAIN public.own AS text; ALTER DOMAIN public.own OWNER TO memsense_app": "DROP OWNED",
    "GRANT TRIGGER ON memsense.chunks TO memsense_app": "REVOKE TRIGGER ON memsense.chunks",
}


@pytest.mark.parametrize("change", LASTING)
def test_what_the_app_could_leave_behind_is_found_with_the_statement_that_ends_it(
    sealed: Sealed, change: str
) -> None:
    with psycopg.connect(sealed.url) as owner:  # nothing is committed: roles are the server's
        assert [it for it in list_lasting(owner) if not it.is_advice] == []
        takeover.run(owner, change.format(database=owner.info.dbname))
        lasting = [it for it in list_lasting(owner) if not it.is_advice]
        assert any(LASTING[change] in it.remedy for it in lasting)
        for remedy in dict.fromkeys(it.remedy for it in lasting):
            takeover.run(owner, remedy)
        takeover.run(owner, "DROP OWNED BY memsense_app")
        assert [it for it in list_lasting(owner) if not it.is_advice] == []
        owner.rollback()


@pytest.fixture
def unsealed_url(database_url: str) -> Generator[str]:
    """Yield the URL of a database whose seal is removed again: other tests share it."""
    yield database_url
    migrate.unseal(database_url)


def test_sealing_refuses_with_the_statement_to_run(unsealed_url: str) -> None:
    with psycopg.connect(unsealed_url, autocommit=True) as owner:
        owner.execute("GRANT CREATE ON SCHEMA public TO PUBLIC")  # as databases from before 15 do
        with pytest.raises(SchemaError, match="Run: REVOKE CREATE ON SCHEMA public FROM PUBLIC"):
            migrate.seal(unsealed_url, KEY)
        owner.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
        [advice] = migrate.seal(unsealed_url, KEY)
        assert advice.remedy.startswith("REVOKE TEMPORARY ON DATABASE")
        with pytest.raises(SchemaError, match="REVOKE TEMPORARY ON DATABASE"):
            migrate.seal(unsealed_url, KEY, is_strict=True)
        takeover.run(owner, advice.remedy)
        assert migrate.seal(unsealed_url, KEY, is_strict=True) == []


def test_settings_that_the_app_gave_itself_are_named_outdone_and_reset(
    sealed: Sealed, caplog: pytest.LogCaptureFixture
) -> None:
    """With a schema of its own and a search path for the role, an attacker needs no session."""
    with psycopg.connect(sealed.url, autocommit=True) as owner, spy_on(sealed.url) as listening:
        owner.execute("CREATE SCHEMA evil AUTHORIZATION memsense_app")
        with psycopg.connect(as_app(sealed.url), autocommit=True) as app:
            app.execute(
                "CREATE FUNCTION evil.leak(item pg_catalog.text) RETURNS boolean LANGUAGE plpgsql"
                " AS $$ BEGIN PERFORM pg_catalog.pg_notify('spoils', item); RETURN true; END $$"
            )
            app.execute("CREATE DOMAIN evil.text AS pg_catalog.text CHECK (evil.leak(value))")
            path = "ALTER ROLE memsense_app IN DATABASE {} SET search_path = evil, pg_catalog"
            app.execute(sql.SQL(path).format(sql.Identifier(app.info.dbname)))
        try:
            settings = Settings(database_url=as_app(sealed.url), seal_key=KEY)
            with MemSense.open(settings=settings, tenant="b", embedder=HashingEmbedder()) as memory:
                assert memory.search("tea green", user_id="ada")
            assert spoils([], listening) == []
            assert "it has the setting search_path; run as the owner: ALTER ROLE" in caplog.text
            errors = [it.text for it in check_up(sealed.url, settings=Settings()).problems()]
            assert any("it may create objects in schema evil" in it for it in errors)
            migrate.make_roles(sealed.url)
            assert not [it for it in list_lasting(owner) if "setting" in it.what]
        finally:
            owner.execute("DROP SCHEMA evil CASCADE")


def test_a_pooler_is_refused_unless_its_pools_are_said_to_serve_one_tenant(
    sealed: Sealed,
) -> None:
    with open_pgbouncer(as_app(sealed.url)) as url:
        with pytest.raises(ConfigurationError, match="a pooler shares sessions between clients"):
            MemSense.open(settings=Settings(database_url=url, seal_key=KEY), tenant="a")
        settings = Settings(database_url=url, seal_key=KEY, sealed_pooler=True)
        with MemSense.open(settings=settings, tenant="a", embedder=HashingEmbedder()) as memory:
            assert memory.search("tea green", user_id="ada")


def test_models_are_added_by_name_alone(database_url: str) -> None:
    with psycopg.connect(as_app(database_url), autocommit=True) as app:
        claim = "SELECT memsense.claim_model(%s, 3)"
        first = app.execute(claim, ["Модель 1"]).fetchone()
        assert first == app.execute(claim, ["Модель 1"]).fetchone() != (None,)
        for name in ("", "x" * 201, "a\nb", "a\u202eb", "a\x1b[31m"):
            with pytest.raises(psycopg.DataError, match="1 to 200 visible characters"):
                app.execute(claim, [name])
