"""A standby answers in place of its primary: what it lacks, and what happens if one is away."""

import logging
import shutil
import subprocess
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from embedders import HashingEmbedder
from standby import Standby

from memsense import MemSense
from memsense.config import Settings
from memsense.db.embedded import EmbeddedServer
from memsense.errors import ConnectionFailedError

PATIENCE = 60

OpenOne = Callable[..., MemSense]


@pytest.fixture
def server(data_dir: Path) -> Generator[EmbeddedServer]:
    with EmbeddedServer(data_dir) as running:
        MemSense.open(settings=Settings(data_dir=data_dir, database_url=None)).close()
        yield running


@pytest.fixture
def standby(server: EmbeddedServer, data_dir: Path) -> Generator[Standby]:
    folder = data_dir / "standby"
    standby = Standby.copy_of(server.url, folder)
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
    standby.catch_up(server.url)
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
    standby.catch_up(server.url)
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
    standby.catch_up(server.url)
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
    standby.catch_up(server.url)
    assert drinks(memory) == {"I drink tea."}
    server.stop()
    with caplog.at_level(logging.WARNING, "memsense.replica"):
        assert drinks(memory) == {"I drink tea."}
    assert caplog.text.count("the replica answers") == 1
    with pytest.raises(ConnectionFailedError, match="nothing was written"):
        memory.add("I drink mate.", user_id="ada")
