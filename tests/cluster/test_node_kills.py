"""Nodes of the cluster are killed while memories are lived through: nothing is lost or doubled.

MEMSENSE_FAULT_KILLS is the number of kills (3), MEMSENSE_FAULT_SEED what chance begins with (1).
"""

import os
import random
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from threading import Event

import pytest
from embedders import TokenHashingEmbedder
from invariants import assert_whole, contents
from killing import Node, plain_copy
from nodes import find_port
from servers import TestServer

from memsense.config import Settings
from memsense.db import Pool, run_transaction
from memsense.db.connection import Connection
from memsense.doctor.checkup import check_up

CLIENT = Path(__file__).parents[1] / "faults" / "client.py"
PATIENCE = 240
MOST_RESTARTS = 20

STEPS = ("add", "settle", "model switch", "erase", "forget", "embed", "reindex", "model fill")
"""The steps of a life (faults/client.py) within which nodes are killed, in turns."""

PASSING = ("ConnectionFailedError", "OutcomeUnknownError")
"""Errors of a client that began again when its node was back."""


def write_log(path: Path) -> None:
    lines = [
        f'{{"session_id": "s{session}", "role": "{role}", "id": "{session}.{turn}.{role}",'
        f' "content": "{role} {session}.{turn} says a {"secret" if turn == 2 else "word"} of tea",'
        f' "timestamp": "2026-03-{session + 1:02}T10:{2 * turn + (role == "user"):02}:00Z"}}'
        for session in range(4)
        for turn in range(4)
        for role in ("user", "assistant")
    ]
    path.write_text("\n".join(lines))


class Life:
    """Processes of one tenant's life: a client that lives it through, and a worker beside it."""

    def __init__(self, url: str, log: Path, tenant: str) -> None:
        self._arguments = (url, tenant, str(log))
        self.restarts = 0
        self.client = self._start("live")
        self.worker = self._start("work")

    def _start(self, what: str) -> subprocess.Popen[str]:
        path = [str(CLIENT.parents[1] / "sql"), os.environ.get("PYTHONPATH", "")]
        arguments = self._arguments if what == "live" else self._arguments[:2]
        return subprocess.Popen(
            [sys.executable, str(CLIENT), what, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
        )

    def live(self, step: str | None = None, reached: Event | None = None) -> dict[str, float]:
        """Live to the end, as often as it takes; return how many seconds each step took.

        Set `reached` when the step first begins.
        """
        while True:
            assert self.client.stdout is not None
            begun: dict[str, float] = {}
            for line in self.client.stdout:
                begun[line.strip()] = time.monotonic()
                if reached is not None and line.strip() == step:
                    reached.set()
            _, errors = self.client.communicate(timeout=PATIENCE)
            if "done" in begun:
                lasted = (end - start for start, end in pairwise(begun.values()))
                return dict(zip(begun, lasted, strict=False))
            last = errors.strip().splitlines()[-1:]
            assert any(name in line for name in PASSING for line in last), errors
            self.restarts += 1
            assert self.restarts < MOST_RESTARTS, errors
            time.sleep(0.3)
            self.client = self._start("live")

    def end(self) -> None:
        """End both processes; fail if the worker had ended by itself."""
        failed = self.worker.communicate()[1] if self.worker.poll() is not None else ""
        for process in (self.client, self.worker):
            process.kill()
            process.communicate(timeout=PATIENCE)
        assert failed == ""


@contextmanager
def living(url: str, log: Path, tenant: str) -> Generator[Life]:
    life = Life(url, log, tenant)
    try:
        yield life
    finally:
        life.end()


@pytest.fixture
def local_nodes(server: TestServer) -> Sequence[Node]:
    """Return the coordinator and the other nodes; skip where they can't be killed."""
    nodes = [Node.find(url) for url in server.nodes]
    found = [node for node in nodes if node is not None]
    if len(found) < len(nodes):
        pytest.skip("needs nodes on this machine, run by this user or with this one as root")
    return found


def pick(nodes: Sequence[Node], url: str, tenant: str, turn: int) -> tuple[str, Node]:
    """Return a node to kill: in turns the tenant's own, the coordinator, and another one."""
    coordinator, *others = nodes
    own = find_port(url, tenant)
    [mine] = [node for node in others if f":{own}/" in node.url]
    other = next(node for node in others if node is not mine)
    return [("its own node", mine), ("the coordinator", coordinator), ("another", other)][turn % 3]


def restart(nodes: Sequence[Node], after: float) -> None:
    time.sleep(after)
    for node in nodes:
        node.kill()
        node.start()


@pytest.mark.parametrize("is_within", [False, True], ids=["between statements", "within one"])
def test_a_transaction_runs_again_if_nodes_are_killed(
    is_within: bool, database_url: str, local_nodes: Sequence[Node]
) -> None:
    _, *nodes = local_nodes
    runs = 0
    restarts: list[Future[None]] = []
    # Citus copies the rows of a function to their node, one by one as it returns them.
    insert = (
        "INSERT INTO notes SELECT 'ada', note"
        " FROM (SELECT note, pg_sleep(%s) FROM generate_series(%s::int, %s) AS note) AS slow"
    )
    with (
        ThreadPoolExecutor(1) as threads,
        Pool(database_url, min_size=1, max_size=1, timeout=60) as pool,
    ):

        def create(connection: Connection) -> None:
            connection.execute("CREATE TABLE notes (tenant text, note int)")
            connection.execute("SELECT create_distributed_table('notes', 'tenant')")

        def write(connection: Connection) -> None:
            nonlocal runs
            runs += 1
            if runs > 1:
                restarts[0].result()
            connection.execute(insert, (0, 1, 10))
            if runs == 1:
                restarts.append(threads.submit(restart, nodes, 0.5 if is_within else 0))
                if not is_within:
                    restarts[0].result()
            connection.execute(insert, (0.001, 11, 2000))

        def count(connection: Connection) -> int:
            [(number,)] = connection.execute("SELECT count(*) FROM notes WHERE tenant = 'ada'")
            return number

        run_transaction(pool, create)
        run_transaction(pool, write)
        assert (runs, run_transaction(pool, count)) == (2, 2000)


def test_after_each_kill_of_a_node_a_memory_is_one_without_kills(
    server: TestServer, database_url: str, local_nodes: Sequence[Node], tmp_path: Path
) -> None:
    kills = int(os.environ.get("MEMSENSE_FAULT_KILLS", "3"))
    seed = int(os.environ.get("MEMSENSE_FAULT_SEED", "1"))
    print(f"MEMSENSE_FAULT_SEED={seed}")
    chance = random.Random(seed)
    log = tmp_path / "log.jsonl"
    write_log(log)
    with living(database_url, log, "whole") as life:
        usual = life.live()
    for number in range(kills):
        tenant, step = f"killed{number}", STEPS[number % len(STEPS)]
        reached = Event()
        with ThreadPoolExecutor(1) as threads, living(database_url, log, tenant) as life:
            rest = threads.submit(life.live, step, reached)
            while not reached.wait(0.1):
                assert not rest.done(), rest.result()
            time.sleep(chance.uniform(0, 0.9) * usual[step])
            name, node = pick(local_nodes, database_url, tenant, number)
            node.kill()
            time.sleep(chance.uniform(0, 1))
            node.start()
            rest.result(PATIENCE)
        print(f"kill {number}: {name} within {step}, {life.restarts} restarts", flush=True)
    with plain_copy(server, database_url) as connection:
        whole = contents(connection, "whole")
        assert {granularity for _, granularity, *_ in whole[0]} == {"turn", "session"}
        for number in range(kills):
            assert contents(connection, f"killed{number}") == whole, f"kill {number}"
        assert_whole(connection)
    for number in range(kills):
        settings = Settings(
            database_url=database_url,
            tenant=f"killed{number}",
            index_threshold=20,
            index_users=10_000,
        )
        report = check_up(database_url, settings=settings, embedder=TokenHashingEmbedder())
        ours = {"schema", "indexes", "embeddings", "jobs", "tokens", "statistics", "drift"}
        found = [(item.check, item.text) for item in report.findings if item.severity != "info"]
        assert [item for item in found if item[0] in ours] == []
