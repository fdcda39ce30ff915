"""What other suites do on one server and Citus may refuse: items, tenants as wholes, rights."""

from pathlib import Path

import psycopg
import pytest
from embedders import HashingEmbedder
from servers import with_user
from typer.testing import CliRunner

from memsense import MemSense, load_settings
from memsense.cli.app import root
from memsense.db import tenants, usage
from memsense.db.migrate import upgrade
from memsense.doctor.checkup import check_up
from memsense.errors import SchemaError
from memsense.store.items import (
    Condition,
    GetItem,
    ListPaths,
    PathMatch,
    PutItem,
    SearchItems,
    VectorModel,
)

SAID = [{"role": "user", "content": "I moved to Lisbon."}]


def test_items_are_written_searched_and_deleted(database_url: str) -> None:
    model = VectorModel("hashing", 3)
    users = ["users"]
    with MemSense.open(database_url, embedder=HashingEmbedder()) as memory:
        items = memory.items
        vectors = {"whole": [1.0, 0.0, 0.0]}
        puts = [
            PutItem(path=users, key="ada", value={"age": 36}, vectors=vectors, words="tea", ttl=60),
            PutItem(path=users, key="bo", value={"age": 8}, words="milk"),
            PutItem(path=["gone"], key="cy", value={}, ttl=-1),
        ]
        items.run("app", puts, model=model)
        items.run("app", puts[:1], model=model)
        reads = [
            GetItem(path=users, key="ada", refresh=True),
            SearchItems(prefix=users, vector=[1.0, 0.0, 0.0], words="tea"),
            SearchItems(prefix=users, filters=[Condition(["age"], "$lt", 10)]),
            ListPaths(matches=[PathMatch("prefix", ["users"])]),
        ]
        item, nearest, young, paths = items.run("app", reads, model=model)
        assert item.value == {"age": 36}
        assert [hit.key for hit in nearest][:1] == ["ada"]
        assert [hit.key for hit in young] == ["bo"]
        assert [list(path) for path in paths] == [users]
        assert [it.key for it in items.tail("app", users)] == ["ada", "bo"]
        assert items.sweep("app") == 1
        items.run("app", [PutItem(path=users, key="ada", value=None)])
        assert items.clear("app", users) == 1
        assert items.tail("app", users) == []


def test_a_tenant_is_measured_copied_dropped_and_restored(
    database_url: str, tmp_path: Path
) -> None:
    with MemSense.open(database_url, embedder=HashingEmbedder(), tenant="acme") as memory:
        memory.add(SAID, user_id="ada", session_id="s")
        before = [(hit.content, hit.score) for hit in memory.search("Lisbon", user_id="ada")]
    assert tenants.measure_tenant(database_url, "acme").rows["chunks"] == 1
    archive = tmp_path / "acme"
    tenants.back_up_tenant(database_url, "acme", archive)
    tenants.suspend_tenant(database_url, "acme")
    tenants.drop_tenant(database_url, "acme")
    assert [it.name for it in tenants.list_tenants(database_url)] == []
    tenants.restore_tenant(database_url, archive)
    with MemSense.open(database_url, embedder=HashingEmbedder(), tenant="acme") as memory:
        after = [(hit.content, hit.score) for hit in memory.search("Lisbon", user_id="ada")]
        assert after == before
        memory.add(SAID, user_id="bo", session_id="s")
        assert len(memory.search("Lisbon", user_id="bo")) == 1


def test_calls_are_added_reported_left_to_nobody_and_pruned(database_url: str) -> None:
    settings = load_settings(metering=True)
    for tenant in ("acme", "other", "acme"):
        with MemSense.open(
            database_url, embedder=HashingEmbedder(), tenant=tenant, settings=settings
        ) as memory:
            memory.add(SAID, user_id="ada", session_id="s")
            memory.search("Lisbon", user_id="ada")
    for tenant, times in (("acme", 2), ("other", 1)):
        by_verb = usage.measure_usage(database_url, tenant, by="verb").rows
        assert [(it.name, it.calls) for it in by_verb] == [("add", times), ("search", times)]
        [ada] = usage.measure_usage(database_url, tenant).rows
        assert (ada.name, ada.calls, ada.exchanges, ada.chunks) == ("ada", 2 * times, 1, 1)
        assert ada.bytes
    with MemSense.open(database_url, embedder=HashingEmbedder(), tenant="acme") as memory:
        memory.erase(user_id="ada")
    [nobody] = usage.measure_usage(database_url, "acme").rows
    assert (nobody.name, nobody.calls, nobody.bytes) == (None, 4, 0)
    assert usage.prune_usage(database_url, "acme", days=0)[1] == 2
    assert usage.measure_usage(database_url, "acme").rows == []
    assert usage.measure_usage(database_url, "other").total.calls == 2


def test_a_user_without_rights_is_told_what_a_superuser_must_run(unspread_url: str) -> None:
    with psycopg.connect(unspread_url, autocommit=True) as connection:
        connection.execute("CREATE ROLE visitor LOGIN")
        try:
            with pytest.raises(SchemaError, match=r"GRANT CREATE ON DATABASE \w+ TO visitor;"):
                upgrade(with_user(unspread_url, "visitor"))
        finally:
            connection.execute("DROP ROLE visitor")


def test_the_demo_shows_its_rows(database_url: str) -> None:
    result = CliRunner().invoke(root, ["--database-url", database_url, "demo"])
    assert result.exit_code == 0, result.output
    assert "memsense.chunk_overview" in result.output


def test_a_worker_leaves_an_erasure_alone_that_no_command_purges(database_url: str) -> None:
    settings = load_settings(purge_days=0)
    with MemSense.open(database_url, embedder=HashingEmbedder(), settings=settings) as memory:
        [chunk] = memory.add(SAID, user_id="ada")
        receipt = memory.delete(chunk.chunk_id)
        assert memory.jobs.run().done == 0
        assert memory.erasures.get(receipt.erasure_id).purged_at is None
    report = check_up(database_url, settings=settings, embedder=HashingEmbedder())
    assert not [finding for finding in report.findings if finding.check == "erasures"]


def test_a_wrong_hash_and_lost_mentions_are_mended(database_url: str) -> None:
    with MemSense.open(database_url, embedder=HashingEmbedder()) as memory:
        memory.add(SAID, user_id="ada")
    broken = "UPDATE memsense.chunks SET content_hash = repeat('0', 64)"
    with psycopg.connect(database_url) as connection:
        [(tenant_id,)] = connection.execute("SELECT tenant_id FROM memsense.tenants").fetchall()
        [found] = connection.execute("SELECT content_hash FROM memsense.chunks").fetchall()
        connection.execute(f"{broken} WHERE tenant_id = %s", [tenant_id])
        connection.execute("DELETE FROM memsense.mentions WHERE tenant_id = %s", [tenant_id])
    for repair in (True, False):
        report = check_up(
            database_url, settings=load_settings(), embedder=HashingEmbedder(), repair=repair
        )
        told = [it.text for it in report.findings if "mended 1 chunks of memory" in it.text]
        assert bool(told) is repair
        assert not [it for it in report.problems() if it.check == "exchanges"]
    with psycopg.connect(database_url) as connection:
        assert connection.execute("SELECT content_hash FROM memsense.chunks").fetchall() == [found]
        [(mentions,)] = connection.execute("SELECT count(*) FROM memsense.mentions").fetchall()
        assert mentions > 0
