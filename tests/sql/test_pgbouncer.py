"""PgBouncer in transaction mode, with two server connections for many clients: everything works, no
client sees another's rows, and no server connection keeps any session state.
"""

from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import psycopg
import pytest
from embedders import HashingEmbedder
from pgbouncer import SERVER_CONNECTIONS, open_pgbouncer
from psycopg import errors as pg

from memsense import MemSense
from memsense.config import Settings
from memsense.db.failures import explain
from memsense.db.migrate import downgrade, schema_state, upgrade
from memsense.doctor.checkup import check_up
from memsense.doctor.findings import Finding
from memsense.errors import DatabaseError, PoolerError
from memsense.store.indexes import IndexChange

TENANTS = ("a", "b")
CLIENTS = 8
ROUNDS = 3

OpenThrough = Callable[..., MemSense]


@pytest.fixture
def pooled_url(database_url: str) -> Generator[str]:
    """Yield the test's database, through PgBouncer."""
    with open_pgbouncer(database_url) as url:
        yield url


@pytest.fixture
def open_through(pooled_url: str) -> Generator[OpenThrough]:
    """Yield a function that opens memories through PgBouncer, with these settings."""
    with ExitStack() as stack:

        def open_one(**given: object) -> MemSense:
            settings = Settings.model_validate(
                {"database_url": pooled_url, "pool_timeout": 60, **given}
            )
            return stack.enter_context(MemSense.open(settings=settings, embedder=HashingEmbedder()))

        yield open_one


def say(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def session_state(connection: psycopg.Connection) -> set[tuple[str, str]]:
    """Return all settings and objects that a database session may keep."""
    found = connection.execute(
        "SELECT name, setting FROM pg_settings WHERE name NOT IN"
        " ('application_name', 'client_encoding', 'transaction_isolation')"
        # A library's, once it is loaded: its default, or the database's on a cluster.
        " AND (name NOT LIKE '%.%' OR setting <> boot_val AND source <> 'database')"
        " UNION ALL SELECT 'prepared', statement FROM pg_prepared_statements"
        " UNION ALL SELECT 'lock', locktype FROM pg_locks WHERE locktype = 'advisory'"
        " UNION ALL SELECT 'temporary', relname::text FROM pg_class WHERE relpersistence = 't'"
        " UNION ALL SELECT 'role', current_user::text WHERE current_user <> session_user"
        " UNION ALL SELECT name, current_setting(name, true) FROM"
        "  (VALUES ('memsense.tenant_id'), ('memsense.tenant')) AS own (name)"
        "  WHERE current_setting(name, true) <> ''"
    )
    return set(found.fetchall())


def left_behind(pooled_url: str, direct_url: str) -> set[tuple[str, str]]:
    """Return session state that a new client finds on PgBouncer's server connections, but not on a
    new connection to the server.
    """
    with psycopg.connect(direct_url) as fresh:
        usual = session_state(fresh)
    found: set[tuple[str, str]] = set()
    processes: set[int] = set()
    with ExitStack() as stack:
        for _ in range(SERVER_CONNECTIONS):  # each in a transaction, which holds it
            connection = stack.enter_context(psycopg.connect(pooled_url))
            processes |= set(connection.execute("SELECT pg_backend_pid()").fetchone() or ())
            found |= session_state(connection) - usual
    assert len(processes) == SERVER_CONNECTIONS
    return found


def live(memory: MemSense, tenant: str, client: int) -> None:
    """Act as an agent, and check the owner of every text that it reads."""
    for turn in range(ROUNDS):
        session = f"s{client}-{turn}"
        text = f"Tea of tenant {tenant} in {session}."
        memory.add(say(text), user_id="ada", session_id=session, embed="later" if turn else "now")
        memory.jobs.run()
        result = memory.search("tea of which tenant", user_id="ada", trace=True)
        assert result
        assert all(f"tenant {tenant} " in hit.content for hit in result)
        assert result.trace_id is not None
        memory.traces.flush()
        assert memory.traces.get(result.trace_id).question == "tea of which tenant"
        [mine] = memory.search("tea", user_id="ada", session_ids=[session])
        assert text in mine.content
        assert memory.why_not("tea", mine.chunk_id, user_id="ada")
        if turn:
            memory.forget(mine.chunk_id)
            assert not memory.search("tea", user_id="ada", session_ids=[session])


@pytest.mark.parametrize("prepares", [None, False])
def test_many_clients_of_two_tenants_share_two_server_connections(
    open_through: OpenThrough, database_url: str, pooled_url: str, prepares: bool | None
) -> None:
    memories = {it: open_through(tenant=it, prepared_statements=prepares) for it in TENANTS}
    with ThreadPoolExecutor(CLIENTS) as threads:
        clients = [
            threads.submit(live, memories[tenant], tenant, number)
            for number in range(CLIENTS)
            for tenant in [TENANTS[number % 2]]
        ]
        for client in clients:
            client.result()
    for tenant, memory in memories.items():
        kept = memory.recent(user_id="ada", limit=100)
        assert len(kept) == CLIENTS // 2
        assert all(f"tenant {tenant} " in chunk.user_text for chunk in kept)
        assert not memory.jobs.list()
    assert left_behind(pooled_url, database_url) == set()


def test_prepared_statements_that_a_pooler_mixes_up_name_their_setting(
    open_through: OpenThrough,
) -> None:
    one, other = (open_through(prepared_statements=True) for _ in range(2))

    def take_turns() -> None:
        for memory in (one, other) * 20:
            memory.add(say("I drink tea."), user_id="ada", session_id="s")
            memory.search("tea", user_id="ada")

    with pytest.raises(PoolerError, match="MEMSENSE_PREPARED_STATEMENTS=false") as raised:
        take_turns()
    assert raised.value.committed is False


def test_a_statement_that_met_another_of_its_name_names_the_setting(
    conn: psycopg.Connection,
) -> None:
    conn.pgconn.prepare(b"_pg3_7", b"SELECT $1::integer")
    error = pg.error_from_result(conn.pgconn.exec_prepared(b"_pg3_7", [b"1", b"2"]))
    assert isinstance(explain(error), PoolerError)


def findings(url: str, prepares: bool | None) -> list[Finding]:
    settings = Settings(database_url=url, prepared_statements=prepares)
    report = check_up(url, settings=settings, embedder=HashingEmbedder())
    return [found for found in report.findings if found.check == "pooler"]


def test_doctor_reports_a_pooler_and_whether_it_allows_prepared_statements(
    open_through: OpenThrough, database_url: str, pooled_url: str
) -> None:
    open_through().add(say("I drink tea."), user_id="ada", session_id="s")
    assert findings(database_url, prepares=True) == []
    [refused] = findings(pooled_url, prepares=True)
    assert refused.severity == "error"
    assert "MEMSENSE_PREPARED_STATEMENTS" in refused.remedy
    for prepares in (None, False):
        [said] = findings(pooled_url, prepares=prepares)
        assert said.severity == "info"
        assert "planned anew" in said.text
    assert left_behind(pooled_url, database_url) == set()


def test_one_optimisation_at_a_time_and_no_lock_stays_behind(
    open_through: OpenThrough, database_url: str, pooled_url: str
) -> None:
    one, other = (open_through(index_threshold=1) for _ in range(2))
    one.add(say("I drink tea."), user_id="ada", session_id="s")
    refusals: list[str] = []

    def interfere(_: IndexChange) -> None:
        with pytest.raises(DatabaseError, match="another optimisation is running") as raised:
            other.indexes.optimise()
        refusals.append(str(raised.value))

    [built] = one.indexes.optimise(interfere)
    assert built.action == "build"
    assert len(refusals) == 1
    assert left_behind(pooled_url, database_url) == set()
    assert other.indexes.optimise() == []
    assert [hit.content for hit in one.search("tea", user_id="ada")]


def test_an_empty_database_is_migrated_and_used_through_it(empty_database_url: str) -> None:
    with open_pgbouncer(empty_database_url) as url:
        for _ in range(2):
            upgrade(url)
        downgrade(url, "-1")
        assert upgrade(url) == schema_state(empty_database_url)
        with MemSense.open(url, embedder=HashingEmbedder()) as memory:
            memory.add(say("I drink tea."), user_id="ada", session_id="s")
            assert len(memory.search("tea", user_id="ada")) == 1
        assert left_behind(url, empty_database_url) == set()
