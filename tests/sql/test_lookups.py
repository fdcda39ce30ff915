"""Functions that use the GIN indexes under the policies, on servers without a superuser: they
return what reading the tables returns, nothing of another tenant, and the server reports which way
is used.
"""

import random
import subprocess
from collections.abc import Generator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from embedders import HashingEmbedder
from filtered import fill_at_random
from managed import Managed, as_user, open_managed
from pgbouncer import open_pgbouncer
from psycopg import sql
from traced import WORDS

from memsense import MemSense, load_settings
from memsense.db import connect, migrate
from memsense.db.dumping import find_tool
from memsense.db.embedded import EmbeddedServer
from memsense.db.migrate import list_unindexed, make_roles, upgrade
from memsense.db.queries import as_sql
from memsense.db.security import find_standing
from memsense.doctor.checkup import check_up
from memsense.errors import DatabaseError, NotFoundError
from memsense.search.hits import SearchResult
from memsense.search.profiles import BALANCED

SESSIONS, EXCHANGES = 75, 20
pytestmark = pytest.mark.one_server("its nodes use no policies")

LOOKUPS = {
    "find_postings": "ARRAY[{scope}], ARRAY['tea', 'river'], ARRAY['turn', 'turn'], ARRAY['tea']",
    "find_ranked": "ARRAY[{scope}], ARRAY['tea', 'river'], 'tea | river'",
    "find_chunks": "ARRAY[{scope}], ARRAY['tea']",
    "find_tagged": "ARRAY[{scope}], ARRAY['tea', 'river']",
    "find_entities": "ARRAY[{scope}], memsense.spellings('lisbon')",
}


@pytest.fixture(scope="module")
def managed(server_url: str, template_database: str) -> Generator[Managed]:  # noqa: ARG001 (roles)
    """Yield a database without a superuser, with the roles, in which tenants a and b store the
    same.
    """
    with open_managed(server_url) as found:
        upgrade(found.url)
        make_roles(found.url)
        for tenant in ("a", "b"):
            with open_tenant(found, tenant) as memory:
                fill_at_random(memory, random.Random(31))
                said = {
                    "role": "user",
                    "content": 'Ticket MEM-4711 of Lisbon: "rain in the garden".',
                }
                memory.add([said], user_id="ada", session_id="named", tags=["tea"])
                memory.indexes.optimise()
        yield found


def open_tenant(managed: Managed, tenant: str, **options: Any) -> MemSense:
    threshold = 20 if tenant == "b" else 10_000
    settings = load_settings(tenant=tenant, index_threshold=threshold)
    return MemSense.open(managed.url, embedder=HashingEmbedder(), settings=settings, **options)


def told(result: SearchResult) -> list[Any]:
    return [
        (hit.chunk_id, hit.score, [(at.route, at.rank, at.score) for at in hit.explain.routes])
        for hit in result
    ]


def count(connection: psycopg.Connection[Any], relation: str) -> int:
    text = f"SELECT count(*) FROM {relation}"  # noqa: S608
    [(rows,)] = connection.execute(as_sql(text)).fetchall()
    return rows


def standing(url: str) -> tuple[str | None, bool]:
    with connect(url) as connection:
        found = find_standing(connection)
    return found.role, found.lookups


# The same is found --------------------------------------------------------------------------------

QUESTIONS = (
    *(" ".join(random.Random(number).sample(WORDS, 1 + number % 5)) for number in range(5)),
    "MEM-4711",
    "what of MEM-4711 and nothing-1",
    'who said "rain in the garden"?',
    '"tea"',
    "the",
    "Lisbonn and the harbor",
)
PROFILES = {
    "balanced": BALANCED,
    "must": BALANCED.override(quoted="must"),
    "ts_rank": BALANCED.override(lexical_mode="ts_rank"),
    "graph": BALANCED.override(graph=1.0),
    "deep": BALANCED.override(least_candidates=10_000, least_route_limit=10_000, quoted="must"),
}
FILTERED: Sequence[dict[str, Any]] = (
    {},
    {"tags": ["tea"]},
    {"tags": ["river", "none"], "kinds": ["stable", "episodic"], "granularity": "turn"},
    {"tags": ["none"]},
    {"granularity": "session", "metadata": {"colour": "green"}},
    {"project": "kitchen", "agent_id": "sales"},
)


@pytest.mark.parametrize("tenant", ["a", pytest.param("b", marks=pytest.mark.full)])
@pytest.mark.parametrize("profile", PROFILES)
def test_the_same_is_found_with_the_same_scores_as_by_reading_the_tables(
    managed: Managed, tenant: str, profile: str
) -> None:
    hits = 0
    with open_tenant(managed, tenant) as memory:
        session = memory._context.pool._session  # pyright: ignore[reportPrivateUsage]
        assert session.lookups
        for filters in FILTERED:
            for question in QUESTIONS:
                whose: dict[str, Any]
                for whose in ({"user_id": "ada"}, {"all_users": True}):
                    found: list[list[Any]] = []
                    for session.lookups in (True, False):
                        options = {**filters, **whose}
                        ranking = PROFILES[profile]
                        result = memory.search(question, profile=ranking, top_k=30, **options)
                        found.append(told(result))
                    assert found[0] == found[1], (question, filters, whose)
                    hits += len(found[0])
    assert hits > 200


def test_a_past_is_searched_in_the_chunks_of_then(managed: Managed) -> None:
    with open_tenant(managed, "past") as memory:
        memory.settings.set(history="on")
        said = [{"role": "user", "content": "The harbour froze."}]
        [added] = memory.add(said, user_id="ada", session_id="s")
        with connect(managed.support_url) as connection:
            [(then,)] = connection.execute("SELECT clock_timestamp()").fetchall()
        memory.forget(added.chunk_id)
        assert not list(memory.search("harbour", user_id="ada", profile="lexical"))
        [hit] = memory.search("harbour", user_id="ada", profile="lexical", as_of=then)
        assert hit.chunk_id == added.chunk_id


def test_a_misspelt_entity_is_suggested(managed: Managed) -> None:
    with open_tenant(managed, "a") as memory, pytest.raises(NotFoundError, match="similar: lisbon"):
        memory.entities.get("Lisbbon", user_id="ada")


# The indexes serve --------------------------------------------------------------------------------


def some_name(number: int) -> str:
    """Return a name unlike all others."""
    return "".join(random.Random(number).choices("abcdefghijklmnop", k=9)).capitalize()


@pytest.fixture(scope="module")
def many(managed: Managed) -> int:
    """Fill a memory that is large enough for its indexes to be used; return its tenant's number."""
    said = [
        {
            "session_id": f"s{number}",
            "tags": [f"tag{number}"],
            "messages": [
                {"role": role, "content": text}
                for word in range(number * EXCHANGES, (number + 1) * EXCHANGES)
                for role, text in (
                    ("user", f"Of tea and word{word} in {some_name(word)}."),
                    ("assistant", "Noted."),
                )
            ],
        }
        for number in range(SESSIONS)
    ]
    with open_tenant(managed, "many") as memory:
        memory.add_many(said, user_id="ada", embed="later")
    with connect(managed.support_url) as connection:
        connection.execute("VACUUM (ANALYZE)")
        [(number,)] = connection.execute(
            "SELECT tenant_id FROM memsense.tenants WHERE name = 'many'"
        ).fetchall()
    return number


@pytest.mark.parametrize(
    ("call", "index", "rows"),
    [
        ("find_postings({scope}, ARRAY['word7'], ARRAY['turn'], ARRAY['word7'])", "lexemes", 3),
        ("find_ranked({scope}, ARRAY['word7'], 'word7')", "lexemes", 1),
        ("find_chunks({scope}, ARRAY['word7', 'tea'])", "lexemes", 3),
        ("find_tagged({scope}, ARRAY['tag7'])", "tags", EXCHANGES),
        (f"find_entities({{scope}}, memsense.spellings('{some_name(7).lower()}'))", "spellings", 1),
    ],
)
@pytest.mark.parametrize("plans", ["auto", "force_generic_plan"])
def test_each_function_is_served_by_its_index(
    managed: Managed, many: int, call: str, index: str, rows: int, plans: str
) -> None:
    table = "entities" if index == "spellings" else "chunks"
    scanned = (
        f"SELECT pg_stat_get_xact_numscans('memsense.{table}_scope_{index}'::regclass),"
        f" pg_stat_get_xact_tuples_returned('memsense.{table}'::regclass)"
    )
    with psycopg.connect(as_user(managed.url, "memsense_app")) as app:
        app.execute("SELECT set_config('memsense.tenant_id', %s, true)", (str(many),))
        app.execute("SELECT set_config('plan_cache_mode', %s, true)", (plans,))
        [(scope,)] = app.execute("SELECT ARRAY[scope_id]::text FROM memsense.scopes").fetchall()
        given = call.format(scope=f"'{scope}'::integer[]")
        found = count(app, f"memsense.{given}")
        [(scans, read)] = app.execute(as_sql(scanned)).fetchall()
    assert 1 <= found <= rows  # a word stands in the context of those beside it, too
    assert (scans > 0, read) == (True, 0)


def test_a_search_reads_what_the_index_finds(managed: Managed, many: int) -> None:
    assert many
    with open_tenant(managed, "many") as memory:
        [hit, *_] = memory.search("word7", user_id="ada", profile="lexical")
        assert "word7 " in hit.content
    report = check_up(
        managed.url, settings=load_settings(tenant="many"), embedder=HashingEmbedder()
    )
    [words] = [f for f in report.findings if f.text.startswith("lexical: ")]
    assert words.severity == "info"
    assert "find_postings by chunks_scope_lexemes" in words.text


def test_the_doctor_names_a_lookup_that_lost_its_index(
    managed: Managed, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert many
    monkeypatch.setattr("memsense.doctor.plan.SLOW_MS", 0)
    lose = as_sql(
        "ALTER FUNCTION memsense.find_postings(integer[], text[], text[], text[])"
        " {} enable_bitmapscan"
    )
    with connect(managed.support_url) as connection:
        connection.execute(sql.SQL(lose.as_string().format("SET") + " = off"))  # pyright: ignore[reportArgumentType]
        try:
            report = check_up(
                managed.url, settings=load_settings(tenant="many"), embedder=HashingEmbedder()
            )
        finally:
            connection.execute(sql.SQL(lose.as_string().format("RESET")))  # pyright: ignore[reportArgumentType]
    [words] = [item for item in report.problems() if item.check == "plan"]
    assert "find_postings read whole" in words.text
    assert "its index does not serve" in words.text


# Nothing of another tenant ------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOOKUPS)
def test_a_tenant_that_calls_a_function_by_hand_gets_its_own_rows(
    managed: Managed, name: str
) -> None:
    numbers: dict[str, int] = {}
    scopes: dict[str, str] = {}
    with connect(managed.support_url) as connection:
        for tenant in ("a", "b"):
            [(numbers[tenant], scopes[tenant])] = connection.execute(
                "SELECT t.tenant_id, string_agg(s.scope_id::text, ',')"
                " FROM memsense.tenants AS t JOIN memsense.scopes AS s USING (tenant_id)"
                " WHERE t.name = %s GROUP BY t.tenant_id",
                (tenant,),
            ).fetchall()
    both = f"{scopes['a']},{scopes['b']}"
    with psycopg.connect(as_user(managed.url, "memsense_app")) as app:

        def calls(scope: str) -> list[Any]:
            given = LOOKUPS[name].format(scope=scope)
            text = f"SELECT * FROM memsense.{name}({given})"  # noqa: S608
            return sorted(map(str, app.execute(as_sql(text)).fetchall()))

        for announced in (None, ""):
            if announced is not None:
                app.execute("SELECT set_config('memsense.tenant_id', %s, true)", (announced,))
            assert calls(both) == []
        seen: dict[str, list[Any]] = {}
        for tenant in ("a", "b"):
            app.execute(
                "SELECT set_config('memsense.tenant_id', %s, true)", (str(numbers[tenant]),)
            )
            seen[tenant] = calls(both)
            assert seen[tenant] == calls(scopes[tenant]) != []
            assert calls(scopes["b" if tenant == "a" else "a"]) == []
    assert not set(seen["a"]) & set(seen["b"])


def test_only_the_app_calls_the_functions_and_memsense_index_reads_only_what_they_need(
    managed: Managed,
) -> None:
    with psycopg.connect(managed.support_url) as connection:
        rows = connection.execute(
            "SELECT proname::text, proowner::regrole::text, prosecdef, proconfig,"
            " has_function_privilege('public', oid, 'EXECUTE'),"
            " has_function_privilege('memsense_app', oid, 'EXECUTE')"
            " FROM pg_proc WHERE pronamespace = 'memsense'::regnamespace AND proname ~ '^find_'"
            " AND proname NOT IN ('find_token', 'find_own_tenant')"
        ).fetchall()
        setting = ["search_path=pg_catalog, pg_temp"]
        assert sorted(rows) == [
            (name, "memsense_index", True, setting, False, True) for name in sorted(LOOKUPS)
        ]
        others = connection.execute(
            "SELECT proname::text, proowner::regrole::text, proconfig FROM pg_proc"
            " WHERE pronamespace = 'memsense'::regnamespace AND prosecdef AND proname !~ '^find_'"
        ).fetchall()
        assert others == [("claim_model", "memsense_owner", setting)]
        [role] = connection.execute(
            "SELECT rolcanlogin, rolsuper, rolbypassrls, rolcreaterole,"
            " EXISTS (SELECT FROM pg_auth_members WHERE member = r.oid)"
            " FROM pg_roles AS r WHERE rolname = 'memsense_index'"
        ).fetchall()
        assert role == (False, False, False, False, False)
        read = connection.execute(
            "SELECT c.relname || '.' || a.attname FROM pg_class AS c"
            " JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
            " WHERE c.relnamespace = 'memsense'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm')"
            " AND has_column_privilege('memsense_index', c.oid, a.attnum, 'SELECT')"
        ).fetchall()
        assert {name for (name,) in read} == {
            *(
                f"chunks.{name}"
                for name in (
                    "tenant_id", "scope_id", "chunk_id", "granularity", "tsv", "tags",
                    "user_length", "assistant_length", "tag_length", "context_length",
                )
            ),
            *(f"entities.{name}" for name in ("tenant_id", "scope_id", "entity_id", "key")),
        }  # fmt: skip
        written = connection.execute(
            "SELECT c.relname FROM pg_class AS c WHERE c.relnamespace = 'memsense'::regnamespace"
            " AND c.relkind IN ('r', 'p', 'v') AND has_table_privilege("
            "'memsense_index', c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')"
        ).fetchall()
        assert written == []
        made = connection.execute(
            "SELECT has_schema_privilege('memsense_index', 'memsense', 'CREATE')"
        ).fetchone()
        assert made == (False,)
        policies = connection.execute(
            "SELECT polrelid::regclass::text, polcmd::text FROM pg_policy"
            " WHERE 'memsense_index'::regrole = ANY (polroles) ORDER BY 1"
        ).fetchall()
        assert policies == [("memsense.chunks", "r"), ("memsense.entities", "r")]
    for user in ("memsense_app", managed.owner):
        with psycopg.connect(as_user(managed.url, user)) as connection:
            can_read = "SELECT has_table_privilege('memsense.chunks', 'SELECT')"
            assert connection.execute(can_read).fetchone() == (True,)
            if user == "memsense_app":
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute("SET ROLE memsense_index")


def test_the_policies_apply_to_memsenses_role_but_not_to_dumps(managed: Managed) -> None:
    assert standing(managed.url) == ("memsense_app", True)
    assert standing(as_user(managed.url, "memsense_app")) == (None, True)
    settings = load_settings(tenant="a", require_policies=True)
    with MemSense.open(managed.url, embedder=HashingEmbedder(), settings=settings) as memory:
        assert memory.search("tea", user_id="ada")
    with psycopg.connect(managed.url) as owner:
        assert count(owner, "memsense.chunks") > 100  # pg_dump reads so


def test_searches_go_through_pgbouncer(managed: Managed) -> None:
    with ExitStack() as stack:
        url = stack.enter_context(open_pgbouncer(managed.url))
        memories = {
            tenant: stack.enter_context(
                MemSense.open(
                    url, embedder=HashingEmbedder(), settings=load_settings(tenant=tenant)
                )
            )
            for tenant in ("a", "b")
        }
        asked: dict[str, Any] = {"user_id": "ada", "tags": ["tea"]}
        expected: dict[str, list[Any]] = {}
        for tenant, memory in memories.items():
            assert memory._context.pool._session.lookups  # pyright: ignore[reportPrivateUsage]
            with open_tenant(managed, tenant, profile="lexical") as straight:
                expected[tenant] = told(straight.search("tea in Lisbon", **asked))
        for _ in range(8):
            for tenant, memory in memories.items():
                found = memory.search("tea in Lisbon", profile="lexical", **asked)
                assert told(found) == expected[tenant] != []


# A server goes from one way to the other ----------------------------------------------------------


def security_findings(url: str) -> list[tuple[str, str]]:
    report = check_up(url, settings=load_settings(tenant="a"), embedder=HashingEmbedder())
    return [(item.severity, item.text) for item in report.findings if item.check == "security"]


def fill(url: str) -> None:
    with MemSense.open(url, embedder=HashingEmbedder(), tenant="a") as memory:
        for number in range(3):
            said = [{"role": "user", "content": f"Of tea and word{number}."}]
            memory.add(said, user_id="ada", session_id=f"s{number}", tags=[f"tag{number}"])


def is_member(url: str) -> bool:
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT bool_or(pg_has_role(oid, 'USAGE')) FROM pg_roles WHERE rolname = 'memsense_app'"
        ).fetchone()
    assert row is not None
    return bool(row[0])


def test_a_server_goes_from_one_way_to_the_other_and_an_open_memory_goes_on(
    server_url: str, template_database: str
) -> None:
    assert template_database
    with open_managed(server_url) as managed:
        upgrade(managed.url)
        fill(managed.url)
        # Before PostgreSQL 16, who may grant roles that exist already is a member of them.
        if not is_member(managed.url):
            assert standing(managed.url) == (None, False)
            assert list_unindexed(managed.url)
            assert any("does not hold" in text for _, text in security_findings(managed.url))

        make_roles(managed.url)
        assert standing(managed.url) == ("memsense_app", True)
        assert list_unindexed(managed.url) == []
        found = security_findings(managed.url)
        assert {severity for severity, _ in found} == {"info"}
        assert any("memsense_index" in text for _, text in found)
        with MemSense.open(managed.url, embedder=HashingEmbedder(), tenant="a") as memory:
            before = told(memory.search("tea word1", user_id="ada", tags=["tag1"]))
            assert before
            for again in (make_roles, upgrade, make_roles, upgrade):
                again(managed.url)
                assert standing(managed.url) == ("memsense_app", True)
                assert told(memory.search("tea word1", user_id="ada", tags=["tag1"])) == before

            make_roles(managed.support_url)  # a superuser: from now on indexes serve by themselves
            assert standing(managed.url) == ("memsense_app", False)
            assert told(memory.search("tea word1", user_id="ada", tags=["tag1"])) == before
            with psycopg.connect(managed.support_url) as connection:
                left = "pg_policy WHERE polname = 'by_index'"
                assert count(connection, left) == 0
                lookups = "proname ~ '^find_' AND proname NOT IN ('find_token', 'find_own_tenant')"
                assert count(connection, f"pg_proc WHERE prosecdef AND {lookups}") == 0
                may = "SELECT has_schema_privilege('memsense_index', 'memsense', 'USAGE')"
                assert connection.execute(may).fetchone() == (False,)
                connection.execute(  # as a restore leaves it
                    "ALTER FUNCTION pg_catalog.arrayoverlap(anyarray, anyarray) NOT LEAKPROOF"
                )
        with MemSense.open(managed.url, embedder=HashingEmbedder(), tenant="a") as memory:
            assert told(memory.search("tea word1", user_id="ada", tags=["tag1"])) == before
        assert any("no index serves" in text for _, text in security_findings(managed.url))
        make_roles(managed.url)
        assert standing(managed.url) == ("memsense_app", True)
        with MemSense.open(managed.url, embedder=HashingEmbedder(), tenant="a") as memory:
            assert told(memory.search("tea word1", user_id="ada", tags=["tag1"])) == before

        head = migrate.head_revision()
        migrate.downgrade(managed.url, f"{int(head) - 1:04}")
        with psycopg.connect(managed.support_url) as connection:
            assert count(connection, "pg_policy WHERE polname = 'by_index'") == 0
            assert count(connection, "pg_proc WHERE proname = 'find_postings'") == 0
        upgrade(managed.url)
        assert standing(managed.url) == ("memsense_app", True)


def test_the_owner_dumps_and_restores_what_is_there(
    server_url: str, template_database: str, tmp_path: Path
) -> None:
    assert template_database
    with psycopg.connect(server_url) as connection:
        major = connection.info.server_version // 10_000
    try:
        dump, restore = (find_tool(name, major).path for name in ("pg_dump", "pg_restore"))
    except DatabaseError as error:
        pytest.skip(str(error))
    file = tmp_path / "memories.dump"
    loading = [restore, "--no-owner", "--no-comments", "--single-transaction"]
    with open_managed(server_url) as old, open_managed(server_url) as new:
        upgrade(old.url)
        make_roles(old.url)
        fill(old.url)
        subprocess.run([dump, "--format=custom", "--file", file, old.url], check=True)
        subprocess.run([*loading, "--dbname", new.url, file], check=True)
        make_roles(new.url)
        found: list[list[Any]] = []
        for url in (old.url, new.url):
            assert standing(url) == ("memsense_app", True)
            with MemSense.open(url, embedder=HashingEmbedder(), tenant="a") as memory:
                found.append(told(memory.search("tea word1", user_id="ada", tags=["tag1"])))
        assert found[0] == found[1] != []


def test_init_makes_the_roles_of_a_cluster_that_has_none(cluster_dir: Path) -> None:
    with EmbeddedServer(cluster_dir) as server:
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            connection.execute("CREATE ROLE boss LOGIN NOSUPERUSER CREATEROLE")
            connection.execute("ALTER DATABASE memsense OWNER TO boss")
        url = as_user(server.url, "boss")
        for _ in range(2):
            upgrade(url)
            make_roles(url)
            assert standing(url) == ("memsense_app", True)
        fill(url)
        with psycopg.connect(url) as connection:
            inherits = connection.execute(
                "SELECT pg_has_role('boss', 'memsense_index', 'USAGE'),"
                " (SELECT count(*) FROM pg_roles WHERE rolname ~ '^memsense_')"
            ).fetchone()
        assert inherits == (False, 3)
        with MemSense.open(url, embedder=HashingEmbedder(), tenant="a") as memory:
            assert memory.search("word1", user_id="ada", tags=["tag1"])
