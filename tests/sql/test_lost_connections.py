"""Each operation succeeds although the connection of each of its reads and transactions is lost.

Each borrowed connection is lost before its first statement, and the next one works: an operation
that doesn't repeat its reads fails.
"""

# pyright: reportPrivateUsage=false

import os
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import Any

import psycopg
import pytest
from embedders import TokenHashingEmbedder
from psycopg.conninfo import make_conninfo

from memsense import MemSense
from memsense.client import place
from memsense.config import Settings
from memsense.db import Pool
from memsense.db.connection import connect, repeat_lost
from memsense.db.failures import database_errors
from memsense.db.security import Standing, find_standing
from memsense.db.session import TenantConnection
from memsense.doctor.checks import examine_tenant, list_sizes
from memsense.doctor.checkup import check_up
from memsense.errors import ConnectionFailedError

OpenMemory = Callable[..., MemSense]
Operation = Callable[[MemSense, str], object]

OLD, NEW = TokenHashingEmbedder(48, "old"), TokenHashingEmbedder(32, "new")
THRESHOLD = 10


class Cutter:
    """Pool wrapper that ends every other borrowed connection, like a restart of the server."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.cuts = 0
        self._seen = threading.local()

    def cut(self, connection: TenantConnection) -> None:
        """End the connection, unless it replaces one that was ended."""
        self._seen.is_cut = not getattr(self._seen, "is_cut", False)
        if self._seen.is_cut:
            self.cuts += 1
            with psycopg.connect(self.url, autocommit=True) as other:
                pid = connection.info.backend_pid
                other.execute("SELECT pg_terminate_backend(%s::integer, 5000)", [pid])


@contextmanager
def cutting(url: str, monkeypatch: pytest.MonkeyPatch) -> Generator[Cutter]:
    cutter = Cutter(url)
    lend = Pool.connection

    @contextmanager
    def lend_cut(pool: Pool) -> Generator[TenantConnection]:
        with lend(pool) as connection:
            cutter.cut(connection)
            yield connection

    with monkeypatch.context() as patched:
        patched.setattr(Pool, "connection", lend_cut)
        yield cutter


def write_trace(memory: MemSense, _: str) -> None:
    found = memory.search("tea", user_id="ada", trace=True)
    memory.traces.flush()
    assert memory.traces.get(found.trace_id or "").question == "tea"
    assert not any("was not traced" in note for note in found.notes)


def index_by_jobs(memory: MemSense, _: str) -> None:
    memory.jobs.run()
    assert memory.jobs.count().waiting == 0
    assert index_names(memory)


def check(_: MemSense, url: str) -> None:
    report = check_up(url, settings=Settings(database_url=url), embedder=OLD, repair=True)
    assert {item.check for item in report.findings} >= {"plan", "schema"}


def examine(memory: MemSense, url: str) -> None:
    pool = memory._context.pool
    settings = Settings(database_url=url)
    assert examine_tenant(pool, settings, OLD).findings
    assert list_sizes(pool)


def erase(memory: MemSense, _: str) -> None:
    memory.erase(user_id="ada")
    assert index_names(memory) == []


def index_names(memory: MemSense) -> list[str]:
    """Return the names of the HNSW indexes of memories."""
    with psycopg.connect(memory._context.settings.database_url or "") as connection:
        rows = connection.execute(
            "SELECT indexname FROM pg_indexes WHERE indexname LIKE 'embeddings%scope%'"
        ).fetchall()
    return [name for (name,) in rows]


OPERATIONS: dict[str, Operation] = {
    "search": lambda memory, _: memory.search("tea", user_id="ada"),
    "trace": write_trace,
    "optimise": lambda memory, _: memory.indexes.optimise(),
    "jobs": index_by_jobs,
    "erase": erase,
    "model add": lambda memory, _: memory.models.add(NEW),
    "model switch": lambda memory, _: memory.models.switch("new"),
    "model compare": lambda memory, _: memory.models.compare("new"),
    "model back": lambda memory, _: memory.models.back(),
    "model drop": lambda memory, _: memory.models.drop("new"),
    "doctor": check,
    "doctor of a tenant": examine,
}

MODELS: dict[str, Callable[[MemSense], object]] = {
    "model add": lambda memory: memory.models.add(NEW),
    "model switch": lambda memory: memory.models.switch("new"),
    "model back": lambda memory: memory.models.back(),
}
"""What an operation on models needs done before it, in this order."""


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_that_loses_each_connection_once_is_answered(
    open_memory: OpenMemory, database_url: str, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    settings = Settings(
        database_url=database_url,
        index_threshold=THRESHOLD,
        auto_index=name == "jobs",
        worker="off",
    )
    memory = open_memory(settings=settings, embedder=OLD)
    for number in range(THRESHOLD + 2):
        said = [{"role": "user", "content": f"Cup {number} of tea."}]
        memory.add(said, user_id="ada", session_id="s", mode="turn")
    if name == "erase":
        memory.indexes.optimise()  # so that it has indexes to drop
    if name.startswith("model"):
        memory.search("tea", user_id="ada", trace=True)
        memory.traces.flush()
        before = list(MODELS)
        wanted = {"model add": 0, "model switch": 1, "model compare": 1, "model back": 2}
        for step in before[: wanted.get(name, 3)]:
            MODELS[step](memory)
    with cutting(database_url, monkeypatch) as cutter:
        partial(OPERATIONS[name], memory, database_url)()
    assert cutter.cuts > 0


@pytest.mark.parametrize("losses", [1, 2])
def test_a_memory_opens_although_its_connection_is_lost_while_it_is_checked(
    database_url: str, monkeypatch: pytest.MonkeyPatch, losses: int
) -> None:
    lost: list[int] = []

    def check_after_loss(connection: psycopg.Connection[Any]) -> Standing:
        if len(lost) < losses:
            lost.append(connection.info.backend_pid)
            with psycopg.connect(database_url, autocommit=True) as other:
                other.execute("SELECT pg_terminate_backend(%s::integer, 5000)", lost[-1:])
        return find_standing(connection)

    monkeypatch.setattr(place, "find_standing", check_after_loss)
    with MemSense.open(database_url, embedder=OLD) as memory:
        assert memory.recent(user_id="ada") == []
    assert len(lost) == losses


def test_a_memory_whose_connection_is_lost_each_time_says_so(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check_after_loss(connection: psycopg.Connection[Any]) -> Standing:
        with psycopg.connect(database_url, autocommit=True) as other:
            pid = connection.info.backend_pid
            other.execute("SELECT pg_terminate_backend(%s::integer, 5000)", [pid])
        return find_standing(connection)

    monkeypatch.setattr(place, "find_standing", check_after_loss)
    settings = Settings(database_url=database_url, pool_timeout=0.3)
    with pytest.raises(ConnectionFailedError, match=r"terminating connection.*; waited 0\.\d s"):
        MemSense.open(settings=settings, embedder=OLD)


@pytest.mark.parametrize(
    ("change", "attempts"),
    [
        ({"dbname": "none_such"}, 2),  # once more: the server may have been starting up
        ({"user": "none_such"}, 2),
        ({"host": "none-such.invalid"}, 1),
    ],
)
def test_what_no_waiting_mends_is_not_waited_for(
    database_url: str, change: dict[str, str], attempts: int
) -> None:
    url = make_conninfo(database_url, **change)
    tries: list[float] = []

    def attempt(seconds: float) -> None:
        tries.append(seconds)
        connect(url, seconds=seconds).close()

    with pytest.raises(ConnectionFailedError):
        repeat_lost(attempt, 600, url=url)
    assert len(tries) == attempts


def test_an_embedded_server_that_ends_within_a_check_is_waited_for(database_url: str) -> None:
    tries: list[float] = []

    def attempt(seconds: float) -> int:
        tries.append(seconds)
        with connect(database_url) as connection, database_errors():
            if len(tries) == 1:
                with socket.socket(fileno=os.dup(connection.fileno())) as wire:
                    wire.shutdown(socket.SHUT_RDWR)
            return len(connection.execute("SELECT 1").fetchall())

    assert repeat_lost(attempt, 600) == 1
    assert len(tries) == 2
