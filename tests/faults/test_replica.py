"""A standby answers in place of its primary: what it lacks, and what happens if one is away."""

import logging
import os
import pwd
import shutil
import subprocess
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, LiteralString

import psutil
import psycopg
import pytest
from embedders import HashingEmbedder

from memsense import MemSense
from memsense.config import Settings
from memsense.db.embedded import EmbeddedServer
from memsense.errors import ConnectionFailedError

PATIENCE = 60

OpenOne = Callable[..., MemSense]


@dataclass(frozen=True)
class Standby:
    """A standby of the embedded server, in a directory of its own."""

    folder: Path
    programs: Path
    user: str | None
    database: str

    @classmethod
    def copy_of(cls, server: EmbeddedServer, folder: Path) -> "Standby":
        """Return a standby of a running server, which is not started yet."""
        pid = server.status().pid
        assert pid is not None
        process = psutil.Process(pid)
        user = process.username() if os.geteuid() == 0 else None
        folder.mkdir()
        if user:
            shutil.chown(folder, user)
        with psycopg.connect(server.url) as connection:
            database = connection.info.dbname
        standby = cls(folder, Path(process.exe()).parent, user, database)
        standby._run(
            "pg_basebackup", "-D", str(folder / "data"), "-R", "-c", "fast", "-d", server.url
        )
        return standby

    @property
    def url(self) -> str:
        return f"postgresql://postgres@/{self.database}?host={self.folder}&port=5999"

    def start(self) -> None:
        options = f"-p 5999 -k {self.folder} -c listen_addresses='' -c restart_after_crash=off"
        log = str(self.folder / "log")
        self._pg_ctl("start", "-w", "-l", log, "-o", options)

    def stop(self) -> None:
        self._pg_ctl("stop", "-m", "immediate")

    def pause(self) -> None:
        """Replay nothing from now on."""
        self._do("SELECT pg_wal_replay_pause()")
        self._wait("SELECT pg_get_wal_replay_pause_state() = 'paused'")

    def go_on(self) -> None:
        self._do("SELECT pg_wal_replay_resume()")

    def catch_up(self, server: EmbeddedServer) -> None:
        with psycopg.connect(server.url) as connection:
            row = connection.execute("SELECT pg_current_wal_insert_lsn()::text").fetchone()
        assert row is not None
        self._wait("SELECT pg_last_wal_replay_lsn() >= %s", row[0])

    def _do(self, statement: LiteralString) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement)

    def _wait(self, condition: LiteralString, *values: str) -> None:
        deadline = time.monotonic() + PATIENCE
        with psycopg.connect(self.url, autocommit=True) as connection:
            while connection.execute(condition, values).fetchone() != (True,):
                assert time.monotonic() < deadline, condition
                time.sleep(0.02)

    def _pg_ctl(self, *arguments: str) -> None:
        self._run("pg_ctl", "-D", str(self.folder / "data"), *arguments)

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self.programs / program), *arguments]
        group = pwd.getpwnam(self.user).pw_gid if self.user else None
        subprocess.run(
            command, user=self.user, group=group, cwd=self.folder, check=True, timeout=PATIENCE
        )


@pytest.fixture
def server(data_dir: Path) -> Generator[EmbeddedServer]:
    with EmbeddedServer(data_dir) as running:
        MemSense.open(settings=Settings(data_dir=data_dir, database_url=None)).close()
        yield running


@pytest.fixture
def standby(server: EmbeddedServer, data_dir: Path) -> Generator[Standby]:
    folder = data_dir / "standby"
    standby = Standby.copy_of(server, folder)
    standby.start()
    yield standby
    with suppress(subprocess.CalledProcessError):  # a test may have stopped it
        standby.stop()
    shutil.rmtree(folder)


@pytest.fixture
def open_one(server: EmbeddedServer) -> Generator[OpenOne]:
    """Opens memories over the primary; all are closed at the end."""
    with ExitStack() as stack:

        def open_one(**settings: Any) -> MemSense:
            chosen = Settings(database_url=server.url, pool_timeout=2, **settings)
            return stack.enter_context(MemSense.open(settings=chosen, embedder=HashingEmbedder()))

        yield open_one


def drinks(memory: MemSense) -> set[str]:
    hits = memory.search("What do I drink?", user_id="ada")
    listed = memory.recent(user_id="ada")
    found = {hit.chunk.user_text for hit in hits}
    assert found == {chunk.user_text for chunk in listed}
    return found


def test_a_standby_answers_unless_it_lacks_what_this_process_wrote(
    open_one: OpenOne, server: EmbeddedServer, standby: Standby
) -> None:
    memory = open_one(replica_url=standby.url, replica_lag=PATIENCE)
    memory.add("I drink tea.", user_id="ada")
    standby.catch_up(server)
    assert drinks(memory) == {"I drink tea."}
    standby.pause()
    open_one().add("I drink mate.", user_id="ada")
    assert drinks(memory) == {"I drink tea."}
    memory.add("I drink cocoa.", user_id="ada")
    assert drinks(memory) == {"I drink tea.", "I drink mate.", "I drink cocoa."}


def test_a_standby_answers_without_what_others_wrote_for_the_lag_at_most(
    open_one: OpenOne, server: EmbeddedServer, standby: Standby
) -> None:
    memory = open_one(replica_url=standby.url, replica_lag=0.5)
    memory.add("I drink tea.", user_id="ada")
    standby.catch_up(server)
    standby.pause()
    assert drinks(memory) == {"I drink tea."}
    open_one().add("I drink mate.", user_id="ada")
    time.sleep(0.5)
    assert drinks(memory) == {"I drink tea.", "I drink mate."}


def test_without_its_standby_a_memory_reads_from_the_primary(
    open_one: OpenOne, server: EmbeddedServer, standby: Standby, caplog: pytest.LogCaptureFixture
) -> None:
    memory = open_one(replica_url=standby.url)
    memory.add("I drink tea.", user_id="ada")
    standby.catch_up(server)
    assert drinks(memory) == {"I drink tea."}
    standby.stop()
    with caplog.at_level(logging.WARNING, "memsense.replica"):
        assert drinks(memory) == {"I drink tea."}
    assert caplog.text.count("the replica is left alone") == 1


def test_without_its_primary_a_memory_reads_from_the_standby_and_writes_nothing(
    open_one: OpenOne, server: EmbeddedServer, standby: Standby, caplog: pytest.LogCaptureFixture
) -> None:
    memory = open_one(replica_url=standby.url, replica_lag=0)
    memory.add("I drink tea.", user_id="ada")
    standby.catch_up(server)
    assert drinks(memory) == {"I drink tea."}
    server.stop()
    with caplog.at_level(logging.WARNING, "memsense.replica"):
        assert drinks(memory) == {"I drink tea."}
    assert caplog.text.count("the replica answers") == 1
    with pytest.raises(ConnectionFailedError, match="nothing was written"):
        memory.add("I drink mate.", user_id="ada")
