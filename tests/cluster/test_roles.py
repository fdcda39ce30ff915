"""Roles of a cluster: rights of the application's on every node, and backups that name them."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from embedders import HashingEmbedder
from servers import SHARDS, TestServer, with_user

from memsense import MemSense
from memsense.config import Settings
from memsense.db import citus, dumping
from memsense.db.migrate import create_roles, make_roles, upgrade
from memsense.doctor.checkup import check_up

FEW_SHARDS = f"?options=-c%20citus.shard_count%3D{SHARDS}"
SAID = [{"role": "user", "content": "I moved to Lisbon."}]


def test_the_role_of_the_application_writes_and_searches_and_changes_no_table(
    unspread_url: str,
) -> None:
    upgrade(unspread_url)
    make_roles(unspread_url)
    citus.spread(unspread_url + FEW_SHARDS)
    url = with_user(unspread_url, "memsense_app")
    with MemSense.open(url, embedder=HashingEmbedder(), tenant="acme") as memory:
        [chunk] = memory.add(SAID, user_id="ada", session_id="s")
        memory.add(SAID, user_id="ada", session_id="t", embed="later")
        assert memory.jobs.run().done == 1
        memory.settings.set(history="on")
        memory.update(chunk.chunk_id, content={"user": "I moved to Porto."})
        assert [hit.session_id for hit in memory.search("Porto", user_id="ada", top_k=1)] == ["s"]
        key = memory.access_keys.create(["read"])
        memory.access_keys.revoke(key.key.key_id)
        memory.forget(chunk.chunk_id)
        memory.erase(session_id="t", user_id="ada")
        assert not memory.search("Lisbon", user_id="ada")
    report = check_up(
        url, settings=Settings(database_url=url, tenant="acme"), embedder=HashingEmbedder()
    )
    assert report.problems() == []
    assert "memsense_app; a Citus cluster uses no row-level security" in str(report.findings)
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in (
            "DROP TABLE memsense.chunks",
            "ALTER TABLE memsense.chunks ADD COLUMN more text",
            "DELETE FROM memsense.models",
            "SELECT FROM memsense.seals",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)


@contextmanager
def role_set_aside(node: str, name: str) -> Generator[None]:
    """Let a node be without a role that it may have of other databases."""
    aside = f"{name}_set_aside"
    with psycopg.connect(node, autocommit=True) as connection:
        connection.execute("SET citus.enable_alter_role_propagation = off")
        connection.execute("SET citus.enable_create_role_propagation = off")
        had_role = connection.execute("SELECT to_regrole(%s)", (name,)).fetchone() != (None,)
        if had_role:
            connection.execute(f"ALTER ROLE {name} RENAME TO {aside}")  # pyright: ignore[reportArgumentType, reportCallIssue]
        try:
            yield
        finally:
            connection.execute(f"DROP ROLE IF EXISTS {name}")  # pyright: ignore[reportArgumentType, reportCallIssue]
            if had_role:
                connection.execute(f"ALTER ROLE {aside} RENAME TO {name}")  # pyright: ignore[reportArgumentType, reportCallIssue]


@pytest.mark.parametrize("node", [0, 1])
def test_a_role_that_some_nodes_have_already_is_created_on_the_others(
    server: TestServer, unspread_url: str, node: int
) -> None:
    both = "SELECT to_regrole('memsense_owner'), to_regrole('memsense_app')"
    create_roles(unspread_url)
    with role_set_aside(server.nodes[node], "memsense_app"):
        create_roles(unspread_url)
        for url in server.nodes:
            with psycopg.connect(url) as connection:
                roles = connection.execute(both).fetchone()
                assert roles == ("memsense_owner", "memsense_app")


def test_a_backup_of_a_cluster_is_restored_into_another_database(
    server: TestServer, empty_template: str, unspread_url: str, tmp_path: Path
) -> None:
    upgrade(unspread_url)
    make_roles(unspread_url)
    citus.spread(unspread_url + FEW_SHARDS)
    with MemSense.open(unspread_url, embedder=HashingEmbedder()) as memory:
        memory.add(SAID, user_id="ada", session_id="s")
        before = [(hit.content, hit.score) for hit in memory.search("Lisbon", user_id="ada")]
    archive = tmp_path / "memories.dump"
    dumping.back_up(unspread_url, archive)
    with server.new_database(empty_template) as url:
        dumping.restore(url, archive)
        citus.spread(url + FEW_SHARDS)
        with MemSense.open(url, embedder=HashingEmbedder()) as memory:
            after = [(hit.content, hit.score) for hit in memory.search("Lisbon", user_id="ada")]
            memory.add(SAID, user_id="bo", session_id="s")
            assert len(memory.search("Lisbon", user_id="bo")) == 1
        assert after == before
