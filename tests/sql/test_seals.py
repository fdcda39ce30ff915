"""Sealed tenants: SQL in the hands of memsense_app reaches no other tenant's rows.

The attacker's connection has the rights of memsense_app and a valid token of tenant a. Each attempt
looks for tenant b's word in what it returns, and tenant b's rows are compared at the end.
"""

# ruff: noqa: S106, S608

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, LiteralString, cast

import psycopg
import pytest
from embedders import HashingEmbedder
from managed import open_managed
from psycopg import sql
from test_row_security import as_app, fill

from memsense import MemSense, Settings
from memsense.db import Pool, migrate
from memsense.db.seals import sign_tenant
from memsense.errors import ConfigurationError

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
}


def contents(url: str, tenant_id: int) -> list[Any]:
    with psycopg.connect(url) as owner:
        return owner.execute(
            "SELECT c.*, n.name, (SELECT max(dimension) FROM memsense.models)"
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
