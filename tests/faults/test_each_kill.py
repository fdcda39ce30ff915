"""After each kill -9 of a client, a worker or the server, the store is as without it."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

import psycopg
import pytest
from client import open_life
from embedders import TokenHashingEmbedder
from former import make_former
from invariants import assert_whole, contents
from psycopg import sql
from psycopg.conninfo import make_conninfo
from test_kills import PATIENCE, start_client, write_log

from memsense import MemSense
from memsense.config import Settings
from memsense.db import migrate
from memsense.db.embedded import EmbeddedServer
from memsense.doctor.checkup import check_up

OpenMemory = Callable[..., MemSense]
UPGRADE = "import sys; from memsense.db.migrate import upgrade; upgrade(sys.argv[1])"

SCHEMA = """
SELECT format('%s %s %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod))
FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0
WHERE c.relnamespace = 'memsense'::regnamespace
UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'memsense'
UNION ALL SELECT conname || pg_get_constraintdef(oid) FROM pg_constraint
WHERE connamespace = 'memsense'::regnamespace
UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc
WHERE pronamespace = 'memsense'::regnamespace
ORDER BY 1
"""


@contextmanager
def database(url: str, name: str) -> Generator[str]:
    """A database of its own, empty."""
    identifier = sql.Identifier(name)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(identifier))
        try:
            yield make_conninfo(url, dbname=name)
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(identifier))


class Life:
    """A client that lives a memory through, and a worker beside it."""

    def __init__(self, data_dir: Path, log: Path, user_id: str) -> None:
        self._begin = partial(start_client, "live", data_dir, user_id, log)
        self._start_worker = partial(start_client, "work", data_dir, user_id)
        self.client = self._begin()
        self.worker = self._start_worker()

    def live(self) -> dict[str, float]:
        """Through to the end; how many seconds each step took."""
        begun: dict[str, float] = {}
        for step in self._steps():
            begun[step] = time.monotonic()
        _, errors = self.client.communicate(timeout=PATIENCE)
        assert "done" in begun, errors
        ends = [*begun.values()][1:]
        return {name: end - start for (name, start), end in zip(begun.items(), ends, strict=False)}

    def live_until(self, step: str) -> None:
        """Up to the beginning of a step."""
        assert step in self._steps(), self.client.communicate()[1]

    def kill_client(self) -> None:
        """Begin the life again."""
        _kill(self.client)
        self.client = self._begin()

    def kill_worker(self) -> None:
        """Another one takes its place."""
        assert self.worker.poll() is None, self.worker.communicate()[1]
        _kill(self.worker)
        self.worker = self._start_worker()

    def end(self) -> None:
        """Kill the worker; fail if it had failed."""
        failed = self.worker.communicate()[1] if self.worker.poll() is not None else ""
        _kill(self.worker)
        _kill(self.client)
        assert failed == ""

    def _steps(self) -> Iterator[str]:
        assert self.client.stdout is not None
        return (line.strip() for line in self.client.stdout)


def _kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate(timeout=PATIENCE)


class Lives:
    """Memories that are lived through, and who is killed at which step."""

    def __init__(self, data_dir: Path, log: Path, chance: random.Random) -> None:
        self.data_dir = data_dir
        self.log = log
        self.chance = chance
        self.usual: dict[str, float] = {}
        self.killed: Counter[tuple[str, str]] = Counter()

    def live_through(self, user_id: str) -> None:
        """A life without a kill, by whose steps others are timed."""
        with closing_life(Life(self.data_dir, self.log, user_id)) as life:
            self.usual = life.live()

    def live_with_a_kill(self, user_id: str, step: str) -> str:
        """A life in which somebody is killed within a step, and that is then lived through; whom.

        What is done already is left alone.
        """
        whom = self.chance.choice(["client", "client", "worker", "server"])
        with closing_life(Life(self.data_dir, self.log, user_id)) as life:
            life.live_until(step)
            time.sleep(self.chance.uniform(0, 0.9) * self.usual[step])
            if whom == "client":
                life.kill_client()
            elif whom == "worker":
                life.kill_worker()
            elif (pid := EmbeddedServer(self.data_dir).status().pid) is not None:
                os.kill(pid, signal.SIGKILL)
            self.killed[step, whom] += 1
            life.live()
        return whom


@contextmanager
def closing_life(life: Life) -> Generator[Life]:
    """The life, whose processes are ended."""
    try:
        yield life
    finally:
        life.end()


@pytest.fixture
def lives(open_memory: OpenMemory, data_dir: Path, tmp_path: Path, chance: random.Random) -> Lives:
    open_memory()  # so that the server outlives the clients
    log = tmp_path / "log.jsonl"
    write_log(log, sessions=6)
    return Lives(data_dir, log, chance)


def test_after_each_kill_a_resumed_memory_is_one_without_kills(
    lives: Lives, data_dir: Path, kills: int
) -> None:
    lives.live_through("whole")
    steps = list(lives.usual)
    begun = lives.chance.randrange(len(steps))
    for number in range(kills):
        user_id, step = f"killed {number}", steps[(begun + number) % len(steps)]
        whom = lives.live_with_a_kill(user_id, step)
        print(f"kill {number}: {whom} within {step}", flush=True)
        with EmbeddedServer(data_dir) as server, psycopg.connect(server.url) as connection:
            whole = contents(connection, "whole")
            assert {granularity for _, granularity, *_ in whole[0]} == {"turn", "session"}
            assert {model for *_, model, _ in whole[1]} == {"second"}
            assert contents(connection, user_id) == whole, f"kill {number}: {whom}, {step}"
    for step in steps:
        print(step, {whom: n for (at, whom), n in sorted(lives.killed.items()) if at == step})
    with EmbeddedServer(data_dir) as server:
        with psycopg.connect(server.url) as connection:
            assert_whole(connection)
        assert_quiet(server.url)


def assert_quiet(url: str) -> None:
    """Fail if doctor finds anything wrong with what is stored."""
    settings = Settings(database_url=url, index_threshold=20, index_users=10_000)
    report = check_up(url, settings=settings, embedder=TokenHashingEmbedder())
    ours = {"schema", "indexes", "embeddings", "jobs", "tokens", "retired", "statistics", "drift"}
    found = [(item.check, item.text) for item in report.findings if item.severity != "info"]
    assert [item for item in found if item[0] in ours] == []


def test_a_migration_that_is_killed_is_done_or_not_begun(
    open_memory: OpenMemory, data_dir: Path, chance: random.Random, kills: int
) -> None:
    open_memory()
    url = EmbeddedServer(data_dir).url
    with psycopg.connect(url) as connection:
        expected = connection.execute(SCHEMA).fetchall()
    usual = 0.0
    for number in range(kills + 1):
        with database(url, f"migrated_{number}") as own:
            process = subprocess.Popen([sys.executable, "-c", UPGRADE, own])
            started = time.monotonic()
            try:
                process.wait(chance.uniform(0.3, 1) * usual if usual else PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(PATIENCE)
                assert migrate.schema_state(own).current in (None, migrate.head_revision())
            usual = usual or time.monotonic() - started
            migrate.upgrade(own)
            with psycopg.connect(own) as connection:
                assert connection.execute(SCHEMA).fetchall() == expected


AT = "2026-05-01T12:00:00Z"

TEXTS = """
SELECT session_id, ordinal, string_agg(substr(user_text, opening_length + 1), '' ORDER BY part),
    string_agg(assistant_text, '' ORDER BY part)
FROM memsense.chunks JOIN memsense.scopes USING (tenant_id, scope_id)
WHERE user_id = %(user)s AND granularity = 'turn' AND status = 'active' GROUP BY 1, 2 ORDER BY 1, 2
"""


def store_long_exchanges(memory: MemSense, user_id: str, count: int) -> None:
    for number in range(count):
        said = [
            {"role": "user", "content": f"Question {number} about tea?", "at": AT},
            {"role": "assistant", "content": f"Part of answer {number} about tea and rain. " * 60},
        ]
        memory.add(said, user_id=user_id, session_id=f"s{number % 5}", mode="hybrid")
    memory.indexes.make_sessions()


def kill_at_work(
    data_dir: Path,
    chance: random.Random,
    count: Callable[[], int],
    is_enough: Callable[[int], bool],
) -> None:
    """Start a worker of the memory "killed", and kill it a moment after so many rows are left."""
    worker = start_client("work", data_dir, "killed")
    ends_at = time.monotonic() + PATIENCE
    while not is_enough(count()):
        assert time.monotonic() < ends_at
        time.sleep(0.02)
    time.sleep(chance.uniform(0, 0.2))
    _kill(worker)


def test_a_worker_that_is_killed_while_it_cuts_exchanges_loses_nothing(
    data_dir: Path,
    chance: random.Random,
    kills: int,
    older_lengths: Callable[[], AbstractContextManager[None]],
) -> None:
    with open_life(str(data_dir), "whole") as whole, open_life(str(data_dir), "killed") as killed:
        with older_lengths():
            store_long_exchanges(whole, "whole", 48 * kills)
            store_long_exchanges(killed, "killed", 48 * kills)
        with (
            EmbeddedServer(data_dir) as server,
            psycopg.connect(server.url, autocommit=True) as connection,
        ):
            texts = connection.execute(TEXTS, {"user": "killed"}).fetchall()
            connection.execute(
                "INSERT INTO memsense.jobs (tenant_id, namespace_id, kind, scope_id)"
                " SELECT tenant_id, namespace_id, 'recut', scope_id FROM memsense.scopes"
            )
            whole.jobs.run()

            def count_long() -> int:
                rows = connection.execute(
                    "SELECT count(*) FROM memsense.chunks JOIN memsense.scopes USING (scope_id)"
                    " WHERE user_id = 'killed' AND granularity = 'turn'"
                    " AND length(assistant_text) > 1000"
                ).fetchall()
                return rows[0][0]

            work_until = partial(kill_at_work, data_dir, chance, count_long)
            for _ in range(kills):
                before = count_long()
                work_until(lambda left, before=before: left < before)
                assert_whole(connection)
                assert connection.execute(TEXTS, {"user": "killed"}).fetchall() == texts
            work_until(lambda left: left == 0)
            assert contents(connection, "killed")[0] == contents(connection, "whole")[0]
            assert_whole(connection)


SAID = {
    "Ich sammle Pilze am See Nummer {}.": "Pilze am See Nummer {}",
    "My sister keeps bees in garden {}.": "bees in garden {}",
    "Мой брат купил велосипед номер {}.": "велосипед номер {}",
    "我在第{}号店买了一辆自行车。": "第{}号店自行车",
}


def test_a_worker_that_is_killed_while_it_makes_entries_again_loses_nothing(
    data_dir: Path, chance: random.Random, kills: int
) -> None:
    languages = "SELECT languages, lexemes_version FROM memsense.scopes WHERE user_id = %s"
    with open_life(str(data_dir), "whole") as whole, open_life(str(data_dir), "killed") as killed:
        for user_id, memory in (("whole", whole), ("killed", killed)):
            for number in range(5 * (kills + 1)):
                said = [
                    message
                    for at, text in enumerate(SAID)
                    for message in (
                        {"role": "user", "content": text.format(4 * number + at), "at": AT},
                        {"role": "assistant", "content": "Noted."},
                    )
                ]
                memory.add(said, user_id=user_id, session_id=f"s{number % 5}", mode="turn")
        with (
            EmbeddedServer(data_dir) as server,
            psycopg.connect(server.url, autocommit=True) as connection,
        ):
            texts = connection.execute(TEXTS, {"user": "killed"}).fetchall()
            make_former(connection)
            whole.jobs.run()

            def count_former() -> int:
                rows = connection.execute(
                    "SELECT count(*) FROM memsense.chunks JOIN memsense.scopes USING (scope_id)"
                    " WHERE user_id = 'killed' AND language IS NULL"
                ).fetchall()
                return rows[0][0]

            for _ in range(kills):
                before = count_former()
                assert before
                kill_at_work(
                    data_dir, chance, count_former, lambda left, before=before: left < before
                )
                assert_whole(connection)
                assert connection.execute(TEXTS, {"user": "killed"}).fetchall() == texts
                number = chance.randrange(5 * (kills + 1))
                for at, (text, question) in enumerate(SAID.items()):
                    asked, wanted = (it.format(4 * number + at) for it in (question, text))
                    # Words that only entries of this version have look rare while these are few.
                    hits = killed.search(asked, user_id="killed", profile="lexical", top_k=10)
                    assert wanted in {hit.chunk.user_text for hit in hits}

            def count_jobs() -> int:
                return connection.execute(
                    "SELECT FROM memsense.jobs JOIN memsense.scopes USING (tenant_id, scope_id)"
                    " WHERE user_id = 'killed'"
                ).rowcount

            kill_at_work(data_dir, chance, count_jobs, lambda left: left == 0)
            assert contents(connection, "killed") == contents(connection, "whole")
            [expected] = connection.execute(languages, ["whole"]).fetchall()
            assert connection.execute(languages, ["killed"]).fetchall() == [expected]
            assert expected[1] == 2
            assert_whole(connection)
