"""A memory that was opened before a fork works in the parent and in every child."""

import json
import multiprocessing
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Generator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

import pytest

from memsense import MemSense

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork"),
    # Python says that a fork of a process with threads is risky: that is what is tested.
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning"),
]

PATIENCE = 120
CALLS = 330
Serve = Callable[..., list[str]]
USERS = ("ada", "ben", "cyd")
HERE = Path(__file__).parent


@pytest.fixture
def serve(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> Generator[Callable[..., list[str]]]:
    """Open the application's memory in this process, which is the parent of the others."""
    monkeypatch.setenv("MEMSENSE_DATABASE_URL", database_url)
    sys.modules.pop("forking_app", None)
    application = import_module("forking_app")
    yield application.serve
    application.memory.close()


def call(number: int) -> tuple[int, str, list[str]]:
    """Call the inherited memory in a process of a pool."""
    user_id = USERS[number % len(USERS)]
    return os.getpid(), user_id, sys.modules["forking_app"].serve(user_id, number)


def assert_own(answers: list[tuple[int, str, list[str]]], processes: int) -> None:
    """Assert that each answer has texts of its user alone, and that all processes took part."""
    assert len(answers) == CALLS
    assert all(text.startswith(user_id) for _, user_id, texts in answers for text in texts)
    assert len({pid for pid, _, _ in answers}) == processes
    assert sum(bool(texts) for _, _, texts in answers) > CALLS / 2


def test_processes_of_a_forked_pool_and_their_parent_answer_each_call(
    serve: Serve,
) -> None:
    for number, user_id in enumerate(USERS):
        serve(user_id, 5 * number)  # the parent has used its connections
    forks = multiprocessing.get_context("fork")
    answers: list[tuple[int, str, list[str]]] = []
    with ProcessPoolExecutor(2, mp_context=forks) as pool:
        calls: list[Future[tuple[int, str, list[str]]]] = []
        for number in range(0, CALLS, 3):
            calls += [pool.submit(call, number), pool.submit(call, number + 1)]
            answers.append(call(number + 2))
        answers += [it.result(PATIENCE) for it in calls]
    assert_own(answers, processes=3)


def test_processes_forked_while_threads_of_the_parent_search_answer_each_call(
    serve: Serve,
) -> None:
    for number, user_id in enumerate(USERS):
        serve(user_id, 5 * number)
    forks = multiprocessing.get_context("fork")
    queue = forks.SimpleQueue()

    def run(start: int) -> None:
        queue.put([call(number) for number in range(start, start + CALLS // 6)])

    with ThreadPoolExecutor(4) as threads:
        own = [threads.submit(call, number) for number in range(CALLS // 2)]
        children = [forks.Process(target=run, args=(CALLS // 6 * it,)) for it in range(3)]
        for child in children:
            child.start()
        answers = [answer for _ in children for answer in queue.get()]
        answers += [it.result(PATIENCE) for it in own]
    for child in children:
        child.join(PATIENCE)
        assert child.exitcode == 0
    assert_own(answers, processes=4)


def test_workers_of_gunicorn_that_load_the_application_before_the_fork_answer_each_request(
    database_url: str, tmp_path: Path
) -> None:
    pytest.importorskip("gunicorn", reason="gunicorn is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    paths = os.pathsep.join([str(HERE), str(HERE.parent / "sql")])
    options = ["--preload", "--workers", "2", "--threads", "2", "--bind", f"127.0.0.1:{port}"]
    log = tmp_path / "gunicorn.log"
    with log.open("w") as errors:
        server = subprocess.Popen(
            [sys.executable, "-m", "gunicorn", *options, "forking_app:app"],
            env={**os.environ, "PYTHONPATH": paths, "MEMSENSE_DATABASE_URL": database_url},
            stdout=errors,
            stderr=errors,
        )

    def ask(number: int) -> tuple[int, str, list[str]]:
        user_id = USERS[number % len(USERS)]
        url = f"http://127.0.0.1:{port}/?user={user_id}&n={number}"
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
            said = json.load(answer)
        return said["pid"], user_id, said["texts"]

    try:
        ends = time.monotonic() + PATIENCE
        while time.monotonic() < ends and "Booting worker" not in log.read_text():
            assert server.poll() is None, log.read_text()
            time.sleep(0.1)
        for number in range(len(USERS)):
            ask(5 * number)
        with ThreadPoolExecutor(4) as threads:
            answers = list(threads.map(ask, range(CALLS)))
    finally:
        server.terminate()
        server.wait(PATIENCE)
    assert_own(answers, processes=2)
    assert "Traceback" not in log.read_text()


def test_a_child_that_closes_the_inherited_memory_leaves_the_parents_open(
    serve: Serve,
) -> None:
    memory: MemSense = sys.modules["forking_app"].memory
    serve("ada", 0)
    forks = multiprocessing.get_context("fork")
    child = forks.Process(target=memory.close)
    child.start()
    child.join(PATIENCE)
    assert child.exitcode == 0
    assert serve("ada", 1) == ["ada drinks tea number 0."]
