"""`python -m benchmarks.load`: many clients search and add at once; prints what they got."""

import argparse
import json
import multiprocessing
import random
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from benchmarks import stores
from benchmarks.corpus import Corpus, load_corpus
from benchmarks.searching import open_memory
from benchmarks.timing import summarise
from memsense import MemSense
from memsense.config import Settings
from memsense.db.embedded import EmbeddedServer
from memsense.errors import MemSenseError

WRITES = 0.2
"""The share of adds among the calls."""

# Several, since adds to one memory wait for its lock.
USERS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Clients: `processes` times `threads` for `seconds`, on pools of `pool` connections each."""

    url: str
    processes: int
    threads: int
    seconds: float
    pool: int
    chunks: int
    users: int = USERS
    writes: float = WRITES


@dataclass(slots=True)
class Tally:
    """Results of some clients: milliseconds by kind of call, and the errors."""

    searches: list[float] = field(default_factory=list[float])
    adds: list[float] = field(default_factory=list[float])
    errors: list[str] = field(default_factory=list[str])

    def absorb(self, other: "Tally") -> None:
        """Add another tally's calls to this one."""
        self.searches += other.searches
        self.adds += other.adds
        self.errors += other.errors


def main() -> None:
    """Fill a store, run the clients, print and write the result."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--threads", type=int, default=8, help="per process")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--pool", type=int, default=4, help="connections per process")
    parser.add_argument("--chunks", type=int, default=1000, help="per user")
    parser.add_argument("--users", type=int, default=USERS)
    parser.add_argument("--writes", type=float, default=WRITES, help="share of adds")
    parser.add_argument("--url", help="a server on which databases may be created; default: own")
    parser.add_argument("--results", type=Path)
    options = parser.parse_args()
    corpus = load_corpus()
    with tempfile.TemporaryDirectory(prefix="memsense-load-") as directory:
        own = None if options.url else EmbeddedServer(Path(directory))
        with own or nullcontext():
            server_url = own.url if own else options.url
            with stores.new_database(server_url, "memsense_bench_load") as url:
                load = Load(
                    url=url,
                    processes=options.processes,
                    threads=options.threads,
                    seconds=options.seconds,
                    pool=options.pool,
                    chunks=options.chunks,
                    users=options.users,
                    writes=options.writes,
                )
                figures = run_load(load, corpus)
    print(json.dumps(figures, indent=1))
    if options.results:
        options.results.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def run_load(load: Load, corpus: Corpus) -> dict[str, Any]:
    """Return throughput, latencies, errors, and the most connections that were open at once."""
    for number in range(load.users):
        stores.fill_user(load.url, corpus, f"user-{number}", load.chunks, seed=number)
    stores.settle(load.url)
    context = multiprocessing.get_context("spawn")
    tally, most = Tally(), 0
    started = time.perf_counter()
    with context.Pool(load.processes) as pool:
        work = [(load, corpus, number) for number in range(load.processes)]
        running = pool.starmap_async(run_process, work)
        while not running.ready():
            most = max(most, count_connections(load.url))
            time.sleep(0.25)
        for part in running.get():
            tally.absorb(part)
    seconds = time.perf_counter() - started
    return {
        **asdict(load),
        "url": None,
        "calls_per_second": (len(tally.searches) + len(tally.adds)) / load.seconds,
        "search": describe(tally.searches),
        "add": describe(tally.adds),
        "errors": tally.errors[:20],
        "error_count": len(tally.errors),
        "most_connections": most,
        "connections_allowed": load.processes * load.pool,
        "wall_seconds": seconds,
    }


def describe(milliseconds: Sequence[float]) -> dict[str, float]:
    """Return count and latencies of one kind of call."""
    if not milliseconds:
        return {"calls": 0}
    ordered = sorted(milliseconds)
    timing = summarise(ordered)
    p99 = ordered[round(0.99 * (len(ordered) - 1))]
    return {"calls": timing.calls, "p50_ms": timing.median, "p95_ms": timing.p95, "p99_ms": p99}


def count_connections(url: str) -> int:
    """Return the number of connections to the database, without this one."""
    with psycopg.connect(url, application_name="benchmark") as connection:
        rows = connection.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND backend_type = 'client backend' AND application_name <> 'benchmark'"
        ).fetchall()
    return int(rows[0][0])


def run_process(load: Load, corpus: Corpus, number: int) -> Tally:
    """Run one process: threads that share one memory and its pool."""
    settings = Settings(
        database_url=load.url,
        tenant=stores.TENANT,
        namespace=stores.NAMESPACE,
        pool_max_size=load.pool,
        pool_timeout=60,
    )
    total = Tally()
    with (
        open_memory(load.url, corpus, settings) as memory,
        ThreadPoolExecutor(load.threads) as clients,
    ):
        seeds = [1000 * number + client for client in range(load.threads)]
        running = [clients.submit(run_client, memory, load, corpus, seed) for seed in seeds]
        for client in running:
            total.absorb(client.result())
    return total


def run_client(memory: MemSense, load: Load, corpus: Corpus, seed: int) -> Tally:
    """Run one client: searches, and a share of calls that add an exchange, until time is up."""
    choose = random.Random(seed)
    tally = Tally()
    until = time.perf_counter() + load.seconds
    count = 0
    while time.perf_counter() < until:
        user_id = f"user-{choose.randrange(load.users)}"
        writes = choose.random() < load.writes
        started = time.perf_counter()
        try:
            if writes:
                add_exchange(memory, corpus, user_id, 1_000_000 * (seed + 1) + count)
            else:
                memory.search(choose.choice(corpus.questions), user_id=user_id)
        except MemSenseError as error:
            tally.errors.append(f"{type(error).__name__}: {error}")
        elapsed = 1000 * (time.perf_counter() - started)
        (tally.adds if writes else tally.searches).append(elapsed)
        count += 1
    return tally


def add_exchange(memory: MemSense, corpus: Corpus, user_id: str, number: int) -> None:
    """Store an exchange with prepared vectors, in a session that grows to twenty exchanges."""
    choose = random.Random(number)
    texts = [f"{choose.choice(corpus.questions)} #{number}.{side}" for side in range(2)]
    messages = [
        {"role": role, "content": text}
        for role, text in zip(("user", "assistant"), texts, strict=True)
    ]
    memory.add(messages, user_id=user_id, session_id=f"load-{number // 20}")


if __name__ == "__main__":
    main()
