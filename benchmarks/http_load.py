"""`python -m benchmarks.http_load`: 50 clients over HTTP and in Python, by turns, in one run.

The sample log is the memory. Every fifth call adds an exchange; at the end each one is looked for.
"""

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import psycopg

from benchmarks import stores
from benchmarks.corpus import SAMPLE, SAMPLE_QUESTIONS
from benchmarks.load import WRITES, Tally, describe
from memsense import MemSense, load_settings
from memsense.db.embedded import EmbeddedServer
from memsense.errors import MemSenseError

USER = "ines"
COMMAND = [sys.executable, "-c", "from memsense.cli import main; main()"]

# The clients of the Python API connect to the same database and must not be counted.
SERVED = "served"
"""Application name of the server's connections."""


class Clients(NamedTuple):
    """Number of clients, duration, questions, and the chunks that they wrote."""

    number: int
    seconds: float
    questions: list[str]
    written: set[int]


Call = Callable[[str, str | None], int | None]
"""Asks a question, or stores a text under a session: then it gives the chunk's id."""


def main() -> None:
    """Fill a store, run the clients by turns, and print the result."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.http_load", description=__doc__)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60, help="of each way")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--pool", type=int, default=8)
    options = parser.parse_args()
    questions = [json.loads(line)["question"] for line in SAMPLE_QUESTIONS.open(encoding="utf-8")]
    with (
        tempfile.TemporaryDirectory(prefix="memsense-http-") as directory,
        EmbeddedServer(Path(directory)) as own,
        stores.new_database(own.url, "memsense_bench_http") as url,
    ):
        print(json.dumps(measure(url, questions, options), indent=1))


def measure(url: str, questions: list[str], options: argparse.Namespace) -> dict[str, Any]:
    """Return the latencies of both ways, errors, lost writes, and the most server connections."""
    settings = load_settings(database_url=url, pool_max_size=options.pool, pool_timeout=60)
    tallies = {"http": Tally(), "python": Tally()}
    written: set[int] = set()
    most = 0
    share = options.seconds / options.turns
    with MemSense.open(settings=settings) as memory:
        memory.ingest(SAMPLE, user_id=USER)
        clients = Clients(options.clients, share, questions, written)
        for _ in range(options.turns):
            with (
                serving(url, options.pool) as (address, _),
                httpx.Client(base_url=address, timeout=60, limits=_LIMITS) as client,
            ):
                most = max(most, run(over_http(client), tallies["http"], url, clients))
            run(in_python(memory), tallies["python"], url, clients)
        # Every write that was confirmed must be there at the end.
        stored = {chunk.chunk_id for chunk in memory.list(user_id=USER, limit=1_000_000)}
    ways = {
        name: {"search": describe(it.searches), "add": describe(it.adds), "errors": it.errors[:5]}
        for name, it in tallies.items()
    }
    return {
        **ways,
        "written": len(written),
        "lost": len(written - stored),
        "most_connections": most,
        "connections_allowed": options.pool,
    }


# By default httpx keeps 20 connections alive, so that most of 50 clients would connect anew for
# each call.
_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=None)


@contextmanager
def serving(url: str, pool: int) -> Generator[tuple[str, int]]:
    """Start a server in a process of its own; yield its address and the process's id."""
    named = f"{url}{'&' if '?' in url else '?'}application_name={SERVED}"
    # Without these the server's own rate limit would be measured.
    limits = ["--rate", "1e6", "--burst", "1000000"]
    process = subprocess.Popen(
        [*COMMAND, "--database-url", named, "serve", "--port", "0", *limits],
        stderr=subprocess.PIPE, text=True,
        env={**os.environ, "MEMSENSE_POOL_MAX_SIZE": str(pool), "MEMSENSE_POOL_TIMEOUT": "60"},
    )  # fmt: skip
    assert process.stderr is not None
    match = re.search(r"serves on (\S+)", process.stderr.readline())
    assert match
    try:
        yield match[1], process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
        process.stderr.close()


def over_http(client: httpx.Client) -> Call:
    """Return calls of the HTTP API."""

    def call(text: str, session: str | None) -> int | None:
        if session is None:
            client.post("/v1/search", json={"query": text, "user_id": USER}).raise_for_status()
            return None
        messages = [{"role": "user", "content": text}]
        body = {"user_id": USER, "session_id": session, "messages": messages}
        answer = client.post("/v1/memories", json=body).raise_for_status().json()
        return answer["memories"][0]["chunk_id"]

    return call


def in_python(memory: MemSense) -> Call:
    """Return the same calls of the Python API, in the clients' own process."""

    def call(text: str, session: str | None) -> int | None:
        if session is None:
            memory.search(text, user_id=USER)
            return None
        messages = [{"role": "user", "content": text}]
        return memory.add(messages, user_id=USER, session_id=session)[0].chunk_id

    return call


def count_served(url: str) -> int:
    """Return the number of connections that the server has to the database."""
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s", (SERVED,)
        ).fetchall()
    return int(rows[0][0])


def run(call: Call, tally: Tally, url: str, clients: Clients) -> int:
    """Let the clients call until time is up; return the most connections of the server."""
    until, most = time.perf_counter() + clients.seconds, 0

    def work(number: int) -> None:
        choose = random.Random(f"{number} {until}")
        count = 0
        while time.perf_counter() < until:
            session = f"load-{until}-{number}" if choose.random() < WRITES else None
            text = choose.choice(clients.questions) + (f" {count}" if session else "")
            started = time.perf_counter()
            try:
                if (chunk_id := call(text, session)) is not None:
                    clients.written.add(chunk_id)
            except (httpx.HTTPError, MemSenseError) as error:
                tally.errors.append(repr(error))
            times = tally.searches if session is None else tally.adds
            times.append(1000 * (time.perf_counter() - started))
            count += 1

    with ThreadPoolExecutor(clients.number) as threads:
        running = [threads.submit(work, number) for number in range(clients.number)]
        while not all(one.done() for one in running):
            most = max(most, count_served(url))
            time.sleep(0.25)
        for one in running:
            one.result()
    return most


if __name__ == "__main__":
    main()
