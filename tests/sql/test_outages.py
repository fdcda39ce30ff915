"""Lost connections, conflicts, refusing servers and hanging models: possible answers are returned,
no connection leaks, and errors name their cause.
"""

# pyright: reportPrivateUsage=false

import json
import random
import string
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from counting import assert_counted
from embedders import HashingEmbedder, Vectors
from psycopg import sql
from servers import end_connections
from waiting import wait_until

from memsense import MemSense
from memsense.config import Settings
from memsense.db import Pool, pool, run_read, run_transaction
from memsense.db.connection import Connection
from memsense.errors import (
    ConnectionFailedError,
    DatabaseError,
    DataRefusedError,
    DiskFullError,
    EmbeddingError,
    LockTimeoutError,
    SchemaError,
    StatementTimeoutError,
    TransactionConflictError,
)
from memsense.types import IngestMode

OpenMemory = Callable[..., MemSense]
PATIENCE = 60


def say(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def fill_pool(memory: MemSense) -> None:
    """Open as many connections as the pool may have."""
    barrier = threading.Barrier(8)

    def hold(_: int) -> None:
        with memory._context.pool.connection():
            barrier.wait(PATIENCE)

    with ThreadPoolExecutor(8) as clients:
        list(clients.map(hold, range(8)))


@pytest.mark.parametrize("clients", [1, 14])
def test_ended_connections_cost_no_search_and_no_add(
    open_memory: OpenMemory, database_url: str, clients: int
) -> None:
    memory = open_memory(settings=Settings(database_url=database_url, pool_timeout=PATIENCE))
    memory.add(say("I drink tea."), user_id="ada", session_id="s", mode="turn")
    fill_pool(memory)
    assert end_connections(database_url) >= 8
    with ThreadPoolExecutor(clients) as calls:
        asked = [calls.submit(memory.search, "tea", user_id="ada") for _ in range(14)]
        found = [item.result(PATIENCE) for item in asked]
    assert [len(hits) for hits in found] == [1] * 14
    fill_pool(memory)
    assert end_connections(database_url) >= 8

    def add(number: int) -> None:
        memory.add(say(f"Cup {number}."), user_id="ada", session_id="s", mode="turn")

    with ThreadPoolExecutor(clients) as calls:
        list(calls.map(add, range(14)))
    with psycopg.connect(database_url) as connection:
        assert_counted(connection)
    assert len(memory.recent(limit=100, user_id="ada")) == 15


def test_work_whose_connection_ends_is_done_again_on_another(database_url: str) -> None:
    seen: list[int] = []

    def work(connection: Connection) -> str:
        seen.append(connection.info.backend_pid)
        if len(seen) == 1:
            end_connections(database_url)
        row = connection.execute("SELECT 'answered'").fetchone()
        assert row is not None
        return row[0]

    with Pool(database_url, min_size=1, max_size=2, timeout=PATIENCE) as opened:
        assert run_read(opened, work) == "answered"
        assert len(set(seen)) == len(seen) == 2
        seen.clear()
        assert run_transaction(opened, work) == "answered"
        assert len(set(seen)) == len(seen) == 2


def test_a_connection_that_ends_every_time_is_an_error_in_the_end(database_url: str) -> None:
    def work(connection: Connection) -> None:
        end_connections(database_url)
        connection.execute("SELECT 1")

    with Pool(database_url, min_size=1, max_size=2, timeout=PATIENCE) as opened:
        with pytest.raises(ConnectionFailedError, match="connection failed"):
            run_read(opened, work)


def test_a_connection_that_was_idle_for_long_is_checked_before_use(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    with Pool(database_url, min_size=1, max_size=1, timeout=PATIENCE) as opened:
        with opened.connection() as connection:
            monkeypatch.setattr(connection, "execute", asked.append)
        with opened.connection():
            assert asked == []
        monkeypatch.setattr(pool, "_IDLE_SECONDS", 0)
        with opened.connection():
            assert asked == [""]


def test_an_error_distinguishes_an_unreachable_server_from_a_busy_pool(tmp_path: Path) -> None:
    nobody = f"postgresql://ada@/memsense?host={tmp_path}"
    with Pool(nobody, min_size=0, max_size=2, timeout=1.5) as opened:
        with pytest.raises(ConnectionFailedError, match="did not answer for 1.5 s") as failed:
            run_read(opened, lambda it: it.execute("SELECT 1"))
    assert "MEMSENSE_POOL_MAX_SIZE" not in str(failed.value)
    assert isinstance(failed.value.__cause__, psycopg.OperationalError)


def test_a_closed_memory_raises_an_error_that_says_so(database_url: str) -> None:
    memory = MemSense.open(database_url, embedder=HashingEmbedder())
    memory.close()
    with pytest.raises(ConnectionFailedError, match="this memory is closed"):
        memory.recent(all_users=True)


# What the driver's errors mean --------------------------------------------------------------------

MEANINGS = [
    ("40001", TransactionConflictError, "run it again"),
    ("40P01", TransactionConflictError, "run it again"),
    ("55P03", LockTimeoutError, "lock_timeout"),
    ("53100", DiskFullError, "free space"),
    ("22001", DataRefusedError, "shorten it"),
    ("22021", DataRefusedError, "shorten it"),
    ("54000", DataRefusedError, "shorten it"),
    ("42P01", SchemaError, "memsense db upgrade"),
    ("53200", DatabaseError, "database error"),
    ("58030", DatabaseError, "database error"),
    ("23505", DatabaseError, "database error"),
    ("57P01", ConnectionFailedError, "connection failed"),
    ("08006", ConnectionFailedError, "connection failed"),
]

TRIES: dict[type[DatabaseError], int] = {TransactionConflictError: 3, ConnectionFailedError: 3}


@pytest.mark.parametrize(("code", "kind", "remedy"), MEANINGS, ids=[code for code, *_ in MEANINGS])
def test_each_error_of_the_driver_keeps_its_meaning(
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    code: str,
    kind: type[DatabaseError],
    remedy: str,
) -> None:
    monkeypatch.setattr(pool, "_MOST_CONFLICTS", 2)
    tries: list[None] = []

    def fail(connection: Connection) -> None:
        tries.append(None)
        connection.execute(
            sql.SQL("DO $$ BEGIN RAISE 'what happened' USING ERRCODE = {}; END $$").format(code)
        )

    with Pool(database_url, min_size=1, max_size=1, timeout=PATIENCE) as opened:
        for run in (run_read, run_transaction):
            tries.clear()
            with pytest.raises(DatabaseError, match="what happened") as failed:
                run(opened, fail)
            assert type(failed.value) is kind
            assert remedy in str(failed.value)
            assert isinstance(failed.value.__cause__, psycopg.Error)
            assert len(tries) == TRIES.get(kind, 1)


def test_timeouts_of_the_server_name_their_setting(database_url: str) -> None:
    with Pool(database_url, min_size=2, max_size=2, timeout=PATIENCE) as opened:

        def sleep(connection: Connection) -> None:
            connection.execute("SET LOCAL statement_timeout = 50")
            connection.execute("SELECT pg_sleep(20)")

        with pytest.raises(StatementTimeoutError, match="raise statement_timeout"):
            run_transaction(opened, sleep)

        # A cluster has this table on its coordinator alone: of one that is spread, a LOCK that
        # waits too long is told as a failed connection to its node.
        def lock(connection: Connection) -> None:
            connection.execute("SET LOCAL lock_timeout = 50")
            connection.execute("LOCK TABLE memsense.alembic_version IN ACCESS EXCLUSIVE MODE")

        with psycopg.connect(database_url) as other:
            other.execute("LOCK TABLE memsense.alembic_version IN ACCESS EXCLUSIVE MODE")
            with pytest.raises(LockTimeoutError, match="raise lock_timeout"):
                run_transaction(opened, lock)


def test_a_deadlock_is_resolved_and_both_go_on(database_url: str) -> None:
    both_hold_one, tries = threading.Barrier(2), {"one": 0, "two": 0}

    def work(name: str, keys: Sequence[int]) -> str:
        def lock(connection: Connection) -> str:
            tries[name] += 1
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [keys[0]])
            if tries[name] == 1:
                both_hold_one.wait(PATIENCE)
            connection.execute("SELECT pg_advisory_xact_lock(%s)", [keys[1]])
            return name

        return run_transaction(opened, lock)

    with Pool(database_url, min_size=2, max_size=2, timeout=PATIENCE) as opened:
        with ThreadPoolExecutor(2) as calls:
            done = [calls.submit(work, "one", (1, 2)), calls.submit(work, "two", (2, 1))]
            assert [item.result(PATIENCE) for item in done] == ["one", "two"]
    assert sum(tries.values()) == 3


@contextmanager
def default_isolation(url: str, level: str) -> Generator[None]:
    with psycopg.connect(url, autocommit=True) as connection:
        name = sql.Identifier(connection.info.dbname)
        setting = sql.SQL("ALTER DATABASE {} SET default_transaction_isolation = {}")
        connection.execute(setting.format(name, level))
        try:
            yield
        finally:
            reset = sql.SQL("ALTER DATABASE {} RESET default_transaction_isolation")
            connection.execute(reset.format(name))


@pytest.mark.parametrize("level", ["repeatable read", "serializable"])
def test_adds_at_once_succeed_whatever_the_databases_default_isolation(
    open_memory: OpenMemory, database_url: str, level: str
) -> None:
    with default_isolation(database_url, level):
        memory = open_memory(settings=Settings(database_url=database_url, pool_timeout=PATIENCE))

        def add(number: int) -> int:
            said = say(f"The number {number} is mine.")
            session = f"s{number % 3}"
            return len(memory.add(said, user_id="ada", session_id=session, mode="turn"))

        with ThreadPoolExecutor(12) as calls:
            assert list(calls.map(add, range(60))) == [1] * 60
        with psycopg.connect(database_url) as connection:
            assert_counted(connection)


# No connection and no lock is held while a model works --------------------------------------------


class GatedEmbedder(HashingEmbedder):
    """Embedder that waits while its gate is shut, and reports that it waits."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self._counting = threading.Lock()
        self.waiting = threading.Event()
        self.waiters = 0
        self.fails = False
        self.gate.set()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors, once the gate is open."""
        self._pass()
        return super().embed(texts)

    def embed_query(self, text: str) -> Vectors:
        """Return the vector, once the gate is open."""
        self._pass()
        return super().embed_query(text)

    def _pass(self) -> None:
        if self.fails:
            raise EmbeddingError("the embedding server is down")
        if not self.gate.is_set():
            with self._counting:
                self.waiters += 1
            self.waiting.set()
            assert self.gate.wait(PATIENCE)

    @contextmanager
    def hanging(self) -> Generator[None]:
        """Shut the gate for a while."""
        self.waiting.clear()
        self.gate.clear()
        try:
            yield
        finally:
            self.gate.set()


Prepared = dict[str, Any]
OPERATIONS: dict[str, Callable[[MemSense, Prepared], object]] = {
    "search": lambda memory, _: memory.search("Which tea?", user_id="ada"),
    "why_not": lambda memory, made: memory.why_not("Which tea now?", made["turn"], user_id="ada"),
    "replay": lambda memory, made: memory.traces.replay(made["trace"]),
    "add": lambda memory, _: memory.add(say("More tea."), user_id="ada", session_id="new"),
    "add to a session": lambda memory, _: memory.add(
        say("And cake."), user_id="ada", session_id="one"
    ),
    "ingest": lambda memory, made: memory.ingest(made["log"], user_id="ada"),
    "forget": lambda memory, made: memory.forget(made["turn"]),
    "restore": lambda memory, made: memory.restore(made["forgotten"]),
}


def prepare(memory: MemSense, folder: Path) -> Prepared:
    """Store a session of three turns, one of them forgotten, a trace and a log."""
    for text in ("I drink green tea.", "I drink black tea.", "I had coffee once."):
        [chunk] = memory.add(say(text), user_id="ada", session_id="one", mode="hybrid")
    assert memory.indexes.make_sessions() == 1
    memory.forget(chunk.chunk_id)
    log = folder / "log.jsonl"
    log.write_text('{"session_id": "log", "role": "user", "content": "Milk in it.", "id": "1"}\n')
    traced = memory.search("green tea", user_id="ada", trace=True)
    memory.traces.flush()
    turn = memory.recent(user_id="ada")[0].chunk_id
    return {
        "turn": turn,
        "forgotten": chunk.chunk_id,
        "log": log,
        "trace": traced.trace_id,
    }


@pytest.mark.parametrize("operation", OPERATIONS)
def test_no_call_waits_for_a_model_that_another_call_waits_for(
    open_memory: OpenMemory, database_url: str, tmp_path: Path, operation: str
) -> None:
    embedder = GatedEmbedder()
    settings = Settings(
        database_url=database_url, pool_max_size=1, pool_timeout=20, query_cache_size=0
    )
    memory = open_memory(settings=settings, embedder=embedder)
    other = open_memory()
    made = prepare(memory, tmp_path)
    with ThreadPoolExecutor(1) as calls:
        with embedder.hanging():
            waiting = calls.submit(OPERATIONS[operation], memory, made)
            while not embedder.waiting.wait(0.05):
                assert not waiting.done(), "it embeds nothing"
            assert memory.recent(user_id="ada")
            other.add(say("I drink mate."), user_id="ada", session_id="one", mode="turn")
            other.add(say("I drink mate too."), user_id="ada", session_id="two")
            assert not waiting.done()
        waiting.result(PATIENCE)
    with psycopg.connect(database_url) as connection:
        assert_counted(connection)


def test_eight_hanging_searches_block_nothing_else(
    open_memory: OpenMemory,
) -> None:
    embedder = GatedEmbedder()
    memory = open_memory(embedder=embedder)
    memory.add(say("I drink tea."), user_id="ada", session_id="one")
    with ThreadPoolExecutor(8) as calls:
        with embedder.hanging():
            found = [calls.submit(memory.search, f"tea {n}", user_id="ada") for n in range(8)]
            wait_until(lambda: embedder.waiters == 8, "eight searches that hang")
            assert len(memory.recent(user_id="ada")) == 1
        assert all(item.result(PATIENCE) for item in found)


@pytest.mark.parametrize("mode", ["turn", "hybrid", "session"])
def test_forgetting_needs_no_embedder(
    open_memory: OpenMemory, database_url: str, mode: IngestMode
) -> None:
    embedder = GatedEmbedder()
    memory = open_memory(embedder=embedder)
    for text in ("My code is 4711.", "I drink tea.", "I eat cake."):
        memory.add(say(text), user_id="ada", session_id="one", mode=mode)
    [chunk] = [
        chunk
        for chunk in memory.recent(
            user_id="ada", granularity="session" if mode == "session" else "turn"
        )
        if "4711" in chunk.content
    ]
    embedder.fails = True
    assert chunk.chunk_id in memory.forget(chunk.chunk_id)
    with psycopg.connect(database_url) as connection:
        holding = connection.execute(
            "SELECT count(*) FROM memsense.chunks WHERE status = 'active'"
            " AND concat(session_text, user_text, context, next_user_text) LIKE '%4711%'"
        ).fetchone()
    assert holding == (0,)
    embedder.fails = False
    memory.add(say("I sleep."), user_id="ada", session_id="one", mode=mode)
    if mode != "session":
        with psycopg.connect(database_url) as connection:
            assert_counted(connection)


# One bad log --------------------------------------------------------------------------------------


def test_a_log_that_cannot_be_stored_does_not_stop_others(
    open_memory: OpenMemory, database_url: str, tmp_path: Path
) -> None:
    endless = "".join(random.Random(1).choices(string.ascii_letters, k=20_000))
    for name, text in (("a", "Tea a."), ("b", endless), ("c", "Tea c.")):
        said = {"session_id": f"of {name}", "role": "user", "content": text, "id": "1"}
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(said))
    memory = open_memory()
    with psycopg.connect(database_url) as connection:  # an index of the owner's own
        # A part of 1,000 letters makes an entry that is too long.
        connection.execute(
            "CREATE INDEX of_owner ON memsense.chunks"
            " (user_text, (user_text || '1'), (user_text || '2'))"
        )
    try:
        report = memory.ingest(tmp_path, user_id="ada")
    finally:
        with psycopg.connect(database_url) as connection:
            connection.execute("DROP INDEX memsense.of_owner")
    stored = {chunk.user_text for chunk in memory.recent(user_id="ada")}
    assert stored == {"Tea a.", "Tea c."}
    [failure] = report.failed
    assert "b.jsonl, session 'of b'" in failure
    assert "refused a value" in failure
    assert endless[:100] not in failure
    assert report.stored == 2
    assert report.usable
