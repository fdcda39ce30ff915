"""Clients and servers killed at random moments, and everything recounted afterwards."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from client import acknowledged_by
from dumping import find_words
from invariants import assert_whole, contents

from memsense import MemSense
from memsense.db.embedded import EmbeddedServer

LARGEST_GROUP = """
    SELECT max(count) FROM (
        SELECT count(DISTINCT chunk_id) FROM memsense.events WHERE kind = 'added'
        GROUP BY xmin::text
    ) AS added
"""
OpenMemory = Callable[..., MemSense]
HERE = Path(__file__).parent
PATIENCE = 240


def start_client(*arguments: object) -> subprocess.Popen[str]:
    path = os.pathsep.join([str(HERE.parent / "sql"), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, str(HERE / "client.py"), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )


# A client is killed on its way -------------------------------------------------------------------


def write_log(path: Path, sessions: int) -> None:
    lines = [
        {
            "session_id": f"s{session}",
            "role": role,
            "content": f"{role} {session}.{turn} says a {'secret' if turn == 2 else 'word'} of tea",
            "id": f"{session}.{turn}.{role}",
            "timestamp": f"2026-03-{session % 28 + 1:02}T10:{2 * turn + (role == 'user'):02}:00Z",
        }
        for session in range(sessions)
        for turn in range(5)
        for role in ("user", "assistant")
    ]
    path.write_text("\n".join(map(json.dumps, lines)))


def test_work_that_is_killed_and_run_again_ends_as_work_that_ran_through(
    open_memory: OpenMemory, data_dir: Path, tmp_path: Path, chance: random.Random
) -> None:
    open_memory()  # so that the server outlives the clients
    log = tmp_path / "log.jsonl"
    write_log(log, sessions=24)
    started = time.monotonic()
    through = start_client("import", data_dir, "whole", log)
    said, errors = through.communicate(timeout=PATIENCE)
    assert said.endswith("done\n"), errors
    usual = time.monotonic() - started
    kills = 0
    for _ in range(3):
        client = start_client("import", data_dir, "killed", log)
        try:
            client.communicate(timeout=chance.uniform(0.2, 0.8) * usual)
        except subprocess.TimeoutExpired:
            client.kill()
            client.communicate(timeout=PATIENCE)
            kills += 1
    said, errors = start_client("import", data_dir, "killed", log).communicate(timeout=PATIENCE)
    assert said.endswith("done\n"), errors
    print(f"{kills} kills")
    with psycopg.connect(EmbeddedServer(data_dir).url) as connection:
        whole = contents(connection, "whole")
        assert {granularity for _, granularity, *_ in whole[0]} == {"turn", "session"}
        assert contents(connection, "killed") == whole
        indexes = connection.execute(
            "SELECT user_id, indexed FROM memsense.scopes ORDER BY user_id"
        ).fetchall()
        assert indexes == [("killed", True), ("whole", True)]
        assert_whole(connection)


def test_a_redaction_that_is_killed_anywhere_is_ended_by_the_next(
    open_memory: OpenMemory, data_dir: Path, tmp_path: Path, kills: int, chance: random.Random
) -> None:
    memory = open_memory(redact="off")
    log = tmp_path / "log.jsonl"
    write_log(log, sessions=6)
    log.write_text(log.read_text().replace("a secret of tea", "the db password is hunter2-Zebra"))
    users = ["whole", *(f"killed{number}" for number in range(kills))]
    for user_id in users:
        memory.ingest(log, user_id=user_id, mode="hybrid", redact=False)
        chunks = memory.list(user_id=user_id, limit=100)
        first, second, *_ = [it for it in chunks if "hunter2" in it.user_text]
        memory.forget(first.chunk_id, reason="the password is hunter2-Zebra")
        memory.update(second.chunk_id, content={"assistant": "No word."})
        memory.indexes.make_sessions(user_id)

    def redact(user_id: str, last: int = 0) -> tuple[int, str]:
        client = start_client("redact", data_dir, user_id, last)
        printed, errors = client.communicate(timeout=PATIENCE)
        assert last or client.returncode == 0, errors
        return client.returncode, printed

    with psycopg.connect(EmbeddedServer(data_dir).url, autocommit=True) as connection:
        statements = int(redact("whole")[1])
        whole = contents(connection, "whole")
        for user_id in users[1:]:
            last = chance.randint(1, statements)
            print(f"killed at {last} of {statements}")
            assert redact(user_id, last)[0] == -signal.SIGKILL
            assert_whole(connection)
            redact(user_id)
            assert contents(connection, user_id) == whole
        assert_whole(connection)
        assert find_words(connection, "hunter2", "zebra") == set()


# Everything at once ------------------------------------------------------------------------------


class Soak:
    """Clients that talk, and what happens to them and to their server."""

    def __init__(self, data_dir: Path, chance: random.Random, names: list[str]) -> None:
        self.data_dir = data_dir
        self.chance = chance
        self.names = names
        self.clients: dict[str, subprocess.Popen[str]] = {}
        self.counts = dict.fromkeys(("client", "server", "restart", "connections"), 0)

    def start(self, name: str) -> None:
        self.clients[name] = start_client("talk", self.data_dir, name, self.chance.random())

    def acknowledged(self, name: str) -> list[str]:
        """What the client knows to be stored."""
        files = acknowledged_by(self.data_dir, name)
        return [said for it in files if it.exists() for said in it.read_text().splitlines()]

    def step(self) -> None:
        """Something goes wrong."""
        fault = self.chance.choices(
            [self.kill_client, self.kill_server, self.restart_server, self.end_connections],
            weights=[4, 2, 1, 2],
        )[0]
        fault()

    def kill_client(self) -> None:
        name = self.chance.choice(self.names)
        client = self.clients[name]
        assert client.poll() is None, client.communicate()[1]
        client.kill()
        client.communicate(timeout=PATIENCE)
        self.counts["client"] += 1
        self.start(name)

    def kill_server(self) -> None:
        pid = EmbeddedServer(self.data_dir).status().pid
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
            self.counts["server"] += 1

    def restart_server(self) -> None:
        EmbeddedServer(self.data_dir).stop()
        self.counts["restart"] += 1

    def end_connections(self) -> None:
        with EmbeddedServer(self.data_dir) as server, psycopg.connect(server.url) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
            )
            self.counts["connections"] += 1

    def end(self) -> None:
        """Kill what still runs; fail if a client had failed."""
        failed: list[str] = []
        for client in self.clients.values():
            if client.poll() is not None:
                failed.append(client.communicate()[1])
            client.kill()
            client.communicate(timeout=PATIENCE)
        assert failed == []


@contextmanager
def soaking(data_dir: Path, chance: random.Random) -> Generator[Soak]:
    soak = Soak(data_dir, chance, ["ann", "ben", "cas"])
    for name in soak.names:
        soak.start(name)
    try:
        yield soak
    finally:
        soak.end()


def test_a_soak_with_kills_loses_and_doubles_nothing(
    open_memory: OpenMemory, data_dir: Path, chance: random.Random, soak_seconds: float
) -> None:
    open_memory().add(
        [{"role": "user", "content": "It begins."}], user_id="ada", session_id="first"
    )
    with soaking(data_dir, chance) as soak:
        deadline = time.monotonic() + PATIENCE
        while not all(map(soak.acknowledged, soak.names)):
            assert time.monotonic() < deadline, "no client was acknowledged anything"
            time.sleep(0.1)
        deadline = time.monotonic() + soak_seconds
        while time.monotonic() < deadline:
            soak.step()
            time.sleep(chance.uniform(0.2, 2.5))
        before = {name: len(soak.acknowledged(name)) for name in soak.names}
        deadline = time.monotonic() + PATIENCE
        while any(len(soak.acknowledged(name)) <= before[name] for name in soak.names):
            assert time.monotonic() < deadline, "a client did not go on"
            time.sleep(0.1)
    acknowledged = [said for name in soak.names for said in soak.acknowledged(name)]
    print(f"{len(acknowledged)} acknowledged; {soak.counts}")
    assert len(acknowledged) == len(set(acknowledged))
    open_memory().jobs.run()  # the clients' embedder fails at times
    with EmbeddedServer(data_dir) as server, psycopg.connect(server.url) as connection:
        assert_whole(connection, acknowledged)
        [(most,)] = connection.execute(LARGEST_GROUP).fetchall()
    print(f"at most {most} adds in one transaction")
    assert most > 1
