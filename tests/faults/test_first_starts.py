"""Processes that start for the first time at once, and memories that open during a restart."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from embedders import HashingEmbedder
from servers import TestServer
from test_restarts import kill_server, stop_server

from memsense import MemSense
from memsense.config import Settings
from memsense.db.embedded import EmbeddedServer
from memsense.errors import ConnectionFailedError

PATIENCE = 120
AWAY_SECONDS = 3


def init_together(*environments: dict[str, str]) -> list[tuple[int, str]]:
    """Run `memsense init --roles` in a process for each environment, at the same moment."""
    command = [sys.executable, "-m", "memsense", "init", "--roles"]
    running = [
        subprocess.Popen(
            command, env=os.environ | values, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        for values in environments
    ]
    ended = [(process, process.communicate(timeout=PATIENCE)[1]) for process in running]
    return [(process.returncode, errors.decode()) for process, errors in ended]


@pytest.fixture
def rounds(*, is_long: bool) -> int:
    return 20 if is_long else 2


def test_two_first_starts_of_an_embedded_server_at_once_both_succeed(
    cluster_dir: Path, rounds: int
) -> None:
    for number in range(rounds):
        place = cluster_dir / str(number)
        values = {"MEMSENSE_DATA_DIR": str(place), "MEMSENSE_DATABASE_URL": ""}
        try:
            assert init_together(values, values) == [(0, "")] * 2
        finally:
            EmbeddedServer(place).stop()


@pytest.mark.parametrize("databases", [1, 2])
@pytest.mark.one_server("its nodes are set up by another command")
def test_first_starts_at_once_on_a_server_all_succeed(
    server: TestServer, empty_template: str, rounds: int, databases: int
) -> None:
    for _ in range(rounds):
        with (
            server.new_database(empty_template) as one,
            server.new_database(empty_template) as two,
        ):
            urls = [one, two][:databases] * 2
            ended = init_together(*({"MEMSENSE_DATABASE_URL": url} for url in urls))
            assert ended == [(0, "")] * len(urls)


@pytest.mark.parametrize("end", [stop_server, kill_server])
def test_a_memory_opens_across_a_restart(
    data_dir: Path, end: Callable[[Path], None], *, is_long: bool
) -> None:
    with MemSense.open(settings=Settings(data_dir=data_dir), embedder=HashingEmbedder()):
        url = EmbeddedServer(data_dir).url
    for _ in range(10 if is_long else 1):
        with EmbeddedServer(data_dir):
            end(data_dir)
            started = threading.Timer(AWAY_SECONDS, EmbeddedServer(data_dir).start, [])
            started.start()
            began = time.monotonic()
            with MemSense.open(url, embedder=HashingEmbedder()) as memory:
                assert memory.recent(user_id="ada") == []
            assert time.monotonic() - began >= AWAY_SECONDS - 0.5
            started.join()


def test_a_memory_of_a_server_that_stays_away_says_so_in_time(data_dir: Path) -> None:
    with MemSense.open(settings=Settings(data_dir=data_dir), embedder=HashingEmbedder()):
        url = EmbeddedServer(data_dir).url
    stop_server(data_dir)
    began = time.monotonic()
    with pytest.raises(ConnectionFailedError, match=r"cannot connect.*; waited [12]\.\d s"):
        MemSense.open(settings=Settings(database_url=url, pool_timeout=2))
    assert 1 <= time.monotonic() - began < 3


def test_a_server_of_memories_waits_for_its_database(data_dir: Path) -> None:
    with MemSense.open(settings=Settings(data_dir=data_dir), embedder=HashingEmbedder()):
        url = EmbeddedServer(data_dir).url
    stop_server(data_dir)
    command = [sys.executable, "-m", "memsense", "serve", "--port", "0", "--wait", "60"]
    values = os.environ | {"MEMSENSE_DATABASE_URL": url, "MEMSENSE_POOL_TIMEOUT": "1"}
    with subprocess.Popen(command, env=values, stderr=subprocess.PIPE) as process:
        try:
            time.sleep(AWAY_SECONDS)
            with EmbeddedServer(data_dir):
                assert process.stderr is not None
                assert b"memsense serves on" in process.stderr.readline()
        finally:
            process.terminate()
