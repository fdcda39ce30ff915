"""`memsense db capacity` works out disk, memory and cores from the store's own bytes."""

import json
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from embedders import HashingEmbedder
from servers import TestServer, with_user
from traced import fill
from typer.testing import CliRunner

from memsense import MemSense, load_settings
from memsense.cli.app import root
from memsense.doctor import capacity
from memsense.doctor.capacity import Load, Machine, Measured, plan_capacity, work_out
from memsense.errors import ConfigurationError, InvalidInputError

EMPTY = Measured(
    users=0,
    active_users=0,
    exchanges=0,
    indexed_exchanges=0,
    bytes=0,
    index_bytes=0,
    trace_bytes=0,
    dimension=None,
)
MACHINE = Machine(memory=64_000_000_000, cores=16)


def reckon(load: Load, measured: Measured = EMPTY) -> capacity.Capacity:
    return work_out(
        load, MACHINE, measured, index_threshold=8_000, index_users=16, has_tokens=False
    )


def total_size(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT sum(pg_total_relation_size(oid)) FROM pg_class"
            " WHERE relnamespace = 'memsense'::regnamespace AND relkind = 'r'"
        ).fetchone()
    assert row is not None
    return int(row[0])


@pytest.mark.parametrize(
    ("users", "exchanges", "active", "searches", "adds", "advice", "nodes"),
    [
        (100, 1_000, 100, 100, 10, "one machine", 1),
        (16_000, 1_000, 16_000, 0, 0, "one machine", 1),  # 64 GB hold 16,000 active users
        (16_001, 1_000, 16_001, 0, 0, "a Citus cluster", 2),
        (1_000_000, 1_000, 40_000, 0, 0, "a Citus cluster", 3),
        (1_000, 1_000, 1_000, 4_000, 10, "read replicas", 3),
        (1_000, 1_000, 1_000, 0, 5_000, "a Citus cluster", 2),
        (1, 20_000_000, 1, 0, 0, "a larger machine", 1),
    ],
)
def test_the_advice_follows_from_memory_and_cores(
    users: int, exchanges: int, active: int, searches: int, adds: int, advice: str, nodes: int
) -> None:
    load = Load(users=users, exchanges=exchanges, active_users=active, searches=searches, adds=adds)
    it = reckon(load)
    assert (it.advice, it.nodes) == (advice, nodes)
    assert bool(it.reasons) == (advice != "one machine")


def test_disk_has_hnsw_indexes_of_as_many_large_users_as_may_have_them() -> None:
    small = reckon(Load(users=20, exchanges=7_999, active_users=0))
    assert (small.indexed_users, small.disk) == (0, 20 * 7_999 * 7_619)
    large = reckon(Load(users=20, exchanges=8_000, active_users=0))
    assert (large.indexed_users, large.disk) == (16, 8_000 * (20 * 7_619 + 16 * 4_276))


def test_token_vectors_count_unless_the_store_is_measured() -> None:
    load = Load(users=1, exchanges=1_000, active_users=0)
    limits = {"index_threshold": 8_000, "index_users": 16}
    it = work_out(load, MACHINE, EMPTY, **limits, has_tokens=True)
    assert it.disk == 1_000 * (7_619 + 14_500)
    own = replace(EMPTY, users=1, exchanges=2_000, bytes=20_000_000)
    it = work_out(load, MACHINE, own, **limits, has_tokens=True)
    assert it.disk == 1_000 * 10_000


def test_bytes_of_a_large_enough_store_count_instead_of_the_guides() -> None:
    load = Load(users=10, exchanges=10_000, active_users=0)
    own = replace(EMPTY, users=1, exchanges=2_000, bytes=20_000_000, dimension=1536)
    it = reckon(load, own)
    assert (it.exchange_bytes, it.exchange_bytes_from) == (10_000, "this store")
    assert (it.index_bytes, it.index_bytes_from) == (4_276, "the guide 'How to plan capacity'")
    it = reckon(load, replace(own, indexed_exchanges=1_000, index_bytes=9_000_000))
    assert (it.index_bytes, it.index_bytes_from) == (9_000, "this store")
    it = reckon(load, replace(own, exchanges=999))
    assert it.exchange_bytes == 7_619
    assert any("1536" in reason for reason in it.reasons)


def test_the_figures_are_those_of_the_guide_and_the_results() -> None:
    pages = ("docs/guides/capacity.md", "benchmarks/results/capacity.md")
    texts = [(Path(__file__).parents[2] / page).read_text(encoding="utf-8") for page in pages]
    guide, results = (" ".join(text.split()) for text in texts)  # wherever their lines break
    assert f"bytes a chunk, HNSW indexes apart | 6,826 | {capacity.EXCHANGE_BYTES:,} |" in results
    assert f"{capacity.TOKEN_BYTES / 1000} kB to one of 254" in results
    assert f"bytes a chunk of the HNSW indexes | {capacity.INDEX_BYTES:,} |" in results
    assert f"a search, ms of the server's processor | {capacity.INDEXED_SEARCH_MS} |" in results
    assert f"{capacity.ACTIVE_BYTES // 1000} MB for each user who is active" in guide
    assert f"writes: 3 to {capacity.ADD_MS:.0f} ms of the server each" in guide
    searches = [
        1000 / reckon(Load(users=17, exchanges=n, active_users=0)).search_ms
        for n in (1_000, 10_000)
    ]
    assert searches == pytest.approx([110, 40], rel=0.02)
    assert "some 110 searches of 1,000 chunks a second of a core, 40 of 10,000" in guide


def test_a_store_is_counted_and_measured(
    memory: MemSense, database_url: str, monkeypatch: pytest.MonkeyPatch, server: TestServer
) -> None:
    settings = load_settings()
    before = plan_capacity(database_url, settings).measured
    assert (before.users, before.exchanges, before.active_users) == (0, 0, 0)
    fill(memory, sessions=4)
    fill(memory, user_id="bob", sessions=2)
    memory.search("bees", user_id="bob", trace=True)
    with psycopg.connect(database_url, autocommit=True) as connection:
        stored = connection.execute(
            "SELECT count(*) FROM memsense.chunks WHERE granularity = 'turn'"
        ).fetchone()
        connection.execute("UPDATE memsense.chunks SET recorded_at = now() - interval '2 days'"
                           " WHERE tenant_id = 1 AND scope_id = 1")  # fmt: skip
    monkeypatch.setattr(capacity, "LEAST_EXCHANGES", 10)
    least = total_size(database_url)
    it = plan_capacity(database_url, settings, users=1_000, exchanges=100)
    measured = it.measured
    assert stored == (measured.exchanges,)
    assert (measured.users, measured.active_users) == (2, 1)
    assert it.load.active_users == 500
    assert measured.bytes > before.bytes
    assert measured.dimension == HashingEmbedder().dimension
    assert it.exchange_bytes == -(-measured.bytes // measured.exchanges)
    if not server.is_cluster:
        # The server may add to a table's maps meanwhile.
        total = measured.bytes + measured.index_bytes + measured.trace_bytes
        assert least <= total <= total_size(database_url)


def test_hnsw_indexes_are_measured_apart(memory: MemSense, database_url: str) -> None:
    fill(memory, sessions=4)
    before = plan_capacity(database_url, load_settings()).measured
    assert (before.index_bytes, before.indexed_exchanges) == (0, 0)
    with MemSense.open(
        settings=load_settings(database_url=database_url, index_threshold=1),
        embedder=HashingEmbedder(),
    ) as large:
        large.indexes.optimise()
    after = plan_capacity(database_url, load_settings()).measured
    assert after.index_bytes > 0
    assert after.indexed_exchanges == after.exchanges > 0


def test_more_active_users_than_users_and_negative_numbers_are_refused(database_url: str) -> None:
    with pytest.raises(InvalidInputError, match="5 active users are more than 4 users"):
        plan_capacity(database_url, load_settings(), users=4, exchanges=1, active_users=5)
    with pytest.raises(InvalidInputError, match="negative"):
        plan_capacity(database_url, load_settings(), users=4, exchanges=-1)


@pytest.mark.one_server("a cluster uses no row-level security")
def test_a_user_who_sees_one_tenant_is_refused(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("CREATE ROLE watcher LOGIN IN ROLE memsense_app")
        try:
            with pytest.raises(ConfigurationError, match="'watcher' sees one tenant"):
                plan_capacity(with_user(database_url, "watcher"), load_settings())
        finally:
            connection.execute("DROP ROLE watcher")


def test_the_command_prints_a_table_or_json(database_url: str) -> None:
    command = ["--database-url", database_url, "db", "capacity", "--users", "1000000"]
    command += ["--exchanges", "1000", "--active", "40000"]
    shown = CliRunner().invoke(root, command)
    assert shown.exit_code == 0, shown.output
    assert "22.1 TB" in shown.output
    assert "Advice: a Citus cluster, 3 machines" in shown.output
    fields = json.loads(CliRunner().invoke(root, [*command, "--json"]).stdout)
    assert (fields["disk"], fields["memory"]) == (22_119_000_000_000, 160_000_000_000)
    assert fields["load"]["users"] == 1_000_000


def test_the_doctor_compares_the_active_users_with_the_servers_cache(database_url: str) -> None:
    with MemSense.open(database_url, embedder=HashingEmbedder()) as memory:
        with psycopg.connect(database_url, autocommit=True) as connection:
            assert list(capacity.examine_capacity(connection)) == []
            fill(memory)
            [finding] = capacity.examine_capacity(connection)
            assert finding.severity == "info"
            assert " who stored something within a day read " in finding.text
            connection.execute("SET effective_cache_size = '8kB'")
            [finding] = capacity.examine_capacity(connection)
            assert finding.severity == "warning"
            assert "memsense db capacity" in finding.remedy
