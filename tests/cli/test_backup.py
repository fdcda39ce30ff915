"""`memsense db backup` and `db restore` find the programs that fit the server, and lose nothing."""

import stat
from pathlib import Path

import psycopg
import pytest
from command import run
from embedders import HashingEmbedder
from servers import with_user

from memsense import MemSense
from memsense.db import dumping
from memsense.errors import DatabaseError

SAID = [{"role": "user", "content": "I drink green tea in Lisbon."}]
LATER = [{"role": "user", "content": "I drink black tea in Lisbon now."}]


@pytest.fixture
def major(database_url: str) -> int:
    """Return the server's version; skip the test where its pg_restore is not installed."""
    with psycopg.connect(database_url) as conn:
        version = conn.info.server_version // 10_000
    try:
        dumping.find_tool("pg_restore", version)
    except DatabaseError as error:
        pytest.skip(str(error))
    return version


def test_a_backup_restored_elsewhere_gives_the_same_answers(
    database_url: str, empty_database_url: str, tmp_path: Path, major: int
) -> None:
    with MemSense.open(database_url, embedder=HashingEmbedder()) as memory:
        [older] = memory.add(SAID, user_id="ada", session_id="monday")
        [newer] = memory.add(LATER, user_id="ada", session_id="tuesday")
        memory.decide_change(older.chunk_id, newer.chunk_id, "rejected")
        before = [(hit.content, hit.score) for hit in memory.search("green tea", user_id="ada")]
    file = tmp_path / "memories.dump"
    done = run(database_url, "db", "backup", file)
    assert done.returncode == 0, done.stderr
    assert f"{major}" in done.stdout
    assert run(database_url, "db", "backup", file).returncode == 1  # it is never overwritten
    refused = run(database_url, "db", "restore", file)
    assert (refused.returncode, "schema already" in refused.stderr) == (1, True)
    done = run(empty_database_url, "db", "restore", file)
    assert done.returncode == 0, done.stderr
    with MemSense.open(empty_database_url, embedder=HashingEmbedder()) as memory:
        found = [(hit.content, hit.score) for hit in memory.search("green tea", user_id="ada")]
        assert found == before
        memory.indexes.link_facts(again=True)
        assert [change.state for change in memory.changes(user_id="ada")] == ["rejected"]
        memory.add(SAID, user_id="ben", session_id="tuesday")


@pytest.mark.one_server("its nodes use no policies, and memsense_app has no login there")
@pytest.mark.usefixtures("major")
def test_commands_of_the_owner_run_as_memsense_app_say_who_may_run_them(
    empty_database_url: str, tmp_path: Path
) -> None:
    done = run(empty_database_url, "init", "--roles")
    assert "give memsense_app a password" in done.stdout, done.stderr
    app = with_user(empty_database_url, "memsense_app")
    for arguments in (("db", "upgrade"), ("db", "backup", tmp_path / "memories.dump")):
        done = run(app, *arguments)
        assert done.returncode != 0
        assert "permission denied" in done.stderr
        assert "the user who ran 'memsense init'" in done.stderr


@pytest.mark.usefixtures("major")
def test_a_backup_of_a_newer_server_is_refused_with_the_way_to_an_older_one(
    database_url: str, empty_database_url: str, tmp_path: Path
) -> None:
    file = tmp_path / "newer.dump"
    dumping.back_up(database_url, file)
    # The header: the letters PGDMP, then the format's version in three bytes.
    content = bytearray(file.read_bytes())
    content[6] = 99
    file.write_bytes(content)
    done = run(empty_database_url, "db", "restore", file)
    assert done.returncode == 1
    assert "unsupported version (1.99)" in done.stderr
    assert "use 'memsense export' and 'memsense import'" in done.stderr


def test_the_program_of_the_servers_version_is_found_else_the_next_newer_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for major in (15, 17, 18):
        program = tmp_path / str(major) / "pg_dump"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\necho 'pg_dump (PostgreSQL) {major}.2 (Debian)'\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    folders = [str(tmp_path / name) for name in ("18", "15", "17")]
    monkeypatch.setenv("PATH", ":".join(folders))
    monkeypatch.setattr(dumping, "_DEBIAN", str(tmp_path / "none"))
    monkeypatch.setattr(dumping, "_WHEEL", "no_such_package")
    for server, chosen in ((15, 15), (16, 17), (17, 17), (18, 18)):
        assert dumping.find_tool("pg_dump", server).path == tmp_path / str(chosen) / "pg_dump"
    with pytest.raises(DatabaseError, match=r"19 or newer.*\(15\).*\(18\).*postgresql-client-19"):
        dumping.find_tool("pg_dump", 19)
