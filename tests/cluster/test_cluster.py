"""What a Citus cluster refuses, or does otherwise than one server."""

from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from embedders import HashingEmbedder
from plans import explain_prepared, walk
from servers import SHARDS, TestServer, with_database

from memsense import MemSense
from memsense.db import Pool, citus
from memsense.db.migrate import head_revision, make_roles, schema_state, seal, upgrade
from memsense.errors import ConfigurationError, SchemaError
from memsense.search import search as searching
from memsense.search.recall.run import RecallRequest

FEW_SHARDS = f"?options=-c%20citus.shard_count%3D{SHARDS}"

LOCAL = """
SELECT c.relname FROM pg_class AS c
WHERE c.relnamespace = 'memsense'::regnamespace AND c.relkind IN ('r', 'p')
  AND NOT EXISTS (SELECT FROM pg_dist_partition AS d WHERE d.logicalrelid = c.oid)
"""

REFERENCES = """
SELECT format('%s %s', conrelid::regclass, pg_get_constraintdef(oid)) FROM pg_constraint
WHERE connamespace = 'memsense'::regnamespace AND contype = 'f' AND conparentid = 0 ORDER BY 1
"""

SAID = [
    {"role": "user", "content": "I moved to Lisbon."},
    {"role": "assistant", "content": "Which district?"},
]


@pytest.mark.parametrize("revision", ["0001", "0019"])
def test_a_schema_that_is_spread_already_is_upgraded_and_its_new_tables_are_spread(
    unspread_url: str, database_url: str, revision: str
) -> None:
    upgrade(unspread_url, revision)
    citus.spread(unspread_url + FEW_SHARDS)
    upgrade(unspread_url)
    upgrade(unspread_url)
    assert schema_state(unspread_url).current == head_revision()
    with psycopg.connect(unspread_url) as old, psycopg.connect(database_url) as new:
        assert old.execute(LOCAL).fetchall() == [("alembic_version",)]
        assert old.execute(REFERENCES).fetchall() == new.execute(REFERENCES).fetchall()
    with MemSense.open(unspread_url, embedder=HashingEmbedder()) as memory:
        [chunk] = memory.add(SAID, user_id="ada", session_id="s")
        assert [hit.chunk_id for hit in memory.search("Lisbon", user_id="ada")] == [chunk.chunk_id]


@pytest.mark.parametrize("roles", ["before", "after", "of another database"])
def test_tables_of_the_role_that_owns_them_can_be_moved(
    server: TestServer, unspread_url: str, roles: str
) -> None:
    if roles == "of another database":
        for node in server.nodes:
            with psycopg.connect(node, autocommit=True) as connection:
                connection.execute("SET citus.enable_alter_role_propagation = off")
                connection.execute("ALTER ROLE memsense_owner NOLOGIN")
    upgrade(unspread_url)
    if roles == "before":
        make_roles(unspread_url)
    citus.spread(unspread_url + FEW_SHARDS)
    if roles != "of another database":
        make_roles(unspread_url)
    with MemSense.open(unspread_url, embedder=HashingEmbedder()) as memory:
        [chunk] = memory.add(SAID, user_id="ada", session_id="s")
    name = urlsplit(unspread_url).path.removeprefix("/")
    for node in server.nodes:
        with psycopg.connect(with_database(node, name)) as connection:
            roles = "SELECT rolname FROM pg_roles WHERE rolname LIKE 'memsense\\_%' AND rolcanlogin"
            assert {"memsense_app", "memsense_owner"} <= {r for (r,) in connection.execute(roles)}
    with psycopg.connect(unspread_url, autocommit=True) as connection:
        moves = connection.execute(
            "SELECT s.shardid, s.nodename, s.nodeport, n.nodename, n.nodeport"
            " FROM citus_shards AS s JOIN pg_dist_node AS n ON n.groupid > 0"
            " WHERE s.table_name = 'memsense.namespaces'::regclass AND n.nodeport <> s.nodeport"
        ).fetchall()
        assert len(moves) == SHARDS
        for move in moves:
            connection.execute(
                "SELECT citus_move_shard_placement(%s, %s, %s, %s, %s, 'block_writes')", move
            )
    with MemSense.open(unspread_url, embedder=HashingEmbedder()) as memory:
        assert [hit.chunk_id for hit in memory.search("Lisbon", user_id="ada")] == [chunk.chunk_id]


def test_a_worker_node_is_refused_by_name(server: TestServer, database_url: str) -> None:
    name = urlsplit(database_url).path.removeprefix("/")
    worker = with_database(server.workers[0], name)
    port = urlsplit(worker).port
    with pytest.raises(ConfigurationError, match=f":{port} is a worker node.*coordinator"):
        upgrade(worker)
    with pytest.raises(ConfigurationError, match=f":{port} is a worker node.*coordinator"):
        MemSense.open(worker, embedder=HashingEmbedder())


def test_a_search_of_one_user_runs_on_one_shard(database_url: str) -> None:
    name = urlsplit(database_url).path.removeprefix("/")
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} SET citus.enable_stat_counters = on")  # pyright: ignore[reportArgumentType, reportCallIssue]
    with MemSense.open(database_url, embedder=HashingEmbedder()) as memory:
        memory.add(SAID, user_id="ada", session_id="s")
        with psycopg.connect(database_url, autocommit=True) as connection:
            counters = (
                "SELECT query_execution_single_shard, query_execution_multi_shard"
                " FROM citus_stat_counters WHERE name = current_database()"
            )
            before = connection.execute(counters).fetchone()
            assert before is not None
            memory.search("Lisbon", user_id="ada")
            memory.add(SAID, user_id="bo", session_id="s")
            after = connection.execute(counters).fetchone()
            assert after is not None
    assert after[1] == before[1]
    assert after[0] > before[0]


@pytest.mark.parametrize("question", ["What did I do on 3 January 2024?", "Where did I walk then?"])
def test_a_question_of_a_time_is_one_task(
    database_url: str, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    asked: list[RecallRequest] = []
    run = searching.run_recalls

    def note(connection: Any, requests: Sequence[RecallRequest]) -> Any:
        asked.extend(requests)
        return run(connection, requests)

    monkeypatch.setattr(searching, "run_recalls", note)
    with MemSense.open(database_url, embedder=HashingEmbedder()) as memory:
        memory.add([{**m, "at": "2024-01-03T09:00Z"} for m in SAID], user_id="ada", session_id="s")
        found = memory.search(question, user_id="ada", asked_at=datetime(2024, 2, 1, tzinfo=UTC))
    assert [hit.session_id for hit in found] == ["s"]
    with (
        closing(Pool(database_url, min_size=1, max_size=1, timeout=10)) as pool,
        pool.connection() as conn,
    ):
        plan = explain_prepared(conn, asked[-1])
    [job] = [node["Distributed Query"]["Job"] for node in walk(plan) if "Distributed Query" in node]
    assert job["Task Count"] == 1
    steps = {node.get("Subplan Name") for task in job["Tasks"] for remote in task["Remote Plan"]
             for node in walk(remote[0]["Plan"])}  # fmt: skip
    assert ("CTE time_within" in steps) == ("January" in question)


def test_changes_that_citus_once_refused_are_made(database_url: str) -> None:
    """An UPDATE may call no STABLE function in CASE, nor one with a column."""
    with MemSense.open(database_url, embedder=HashingEmbedder()) as memory:
        memory.settings.set(history="on")
        [chunk] = memory.add(SAID, user_id="ada", session_id="s")
        memory.add(SAID, user_id="ada", session_id="t", embed="later")
        assert memory.jobs.run().done == 1
        memory.update(chunk.chunk_id, content={"user": "I moved to Porto."})
        memory.archive(chunk.chunk_id)
        memory.restore(chunk.chunk_id)
        assert memory.ttl.set("30d", existing=True)
        key = memory.access_keys.create(["read"])
        memory.access_keys.revoke(key.key.key_id)
        memory.access_keys.revoke(key.key.key_id)
        assert memory.models.status()
        memory.forget(chunk.chunk_id)
        memory.erase(session_id="s", user_id="ada")
        assert [hit.session_id for hit in memory.search("Lisbon", user_id="ada")] == ["t"]


def test_tenants_of_a_cluster_are_not_sealed_in_vain(database_url: str) -> None:
    make_roles(database_url)
    with pytest.raises(SchemaError, match="Citus cluster can't be sealed"):
        seal(database_url, "k" * 32)


def test_a_database_with_sealed_tenants_is_not_spread(unspread_url: str) -> None:
    upgrade(unspread_url)
    make_roles(unspread_url)
    seal(unspread_url, "k" * 32)
    with pytest.raises(ConfigurationError, match="tenants of this database are sealed"):
        citus.spread(unspread_url)
