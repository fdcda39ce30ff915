"""Cost of the indexes of other users: an add, a search, a process's memory, by indexed users.

    python -m benchmarks.fits.indexed_users [--users 1 100 4000] [--limit 16]

Each indexed user has six HNSW indexes. All have a few exchanges and a threshold of 2, so that what
is measured is what the indexes of others cost; `--limit` is the setting `index_users`. One user
adds and searches. Searches are not prepared, as behind PgBouncer; processor time is that of this
process and its server's process, from /proc on the machine of the server. A backend's memory is
that of its contexts (pg_backend_memory_contexts) after a search. Each process's first search is one
on a new connection.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from benchmarks import stores
from benchmarks.write_cost import server_seconds
from memsense import MemSense
from memsense.config import Settings
from memsense.db.embedded import EmbeddedServer
from memsense.embed import OnnxEmbedder

USER = "ada"
THRESHOLD = 2
OWN = 40
"""Exchanges of the user who adds and searches; others have `THRESHOLD`."""

QUESTION = "Where is the blue lamp of the kitchen?"
COPY = """
    WITH numbers AS (SELECT generate_series(1, %(users)s) AS number)
    INSERT INTO memsense.scopes (tenant_id, namespace_id, user_id)
    SELECT s.tenant_id, s.namespace_id, 'user ' || number
    FROM memsense.scopes AS s CROSS JOIN numbers WHERE s.user_id = 'first'
"""
COUNTED = """
    INSERT INTO memsense.scope_statistics (tenant_id, scope_id, granularity, chunk_count)
    SELECT s.tenant_id, s.scope_id, t.granularity, t.chunk_count
    FROM memsense.scopes AS s CROSS JOIN memsense.scope_statistics AS t
    JOIN memsense.scopes AS f ON f.scope_id = t.scope_id AND f.user_id = 'first'
    WHERE s.user_id LIKE 'user %%'
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Medians of processor milliseconds, and a backend's bytes."""

    add_ms: float
    search_ms: float
    first_ms: float
    backend_bytes: float


def main() -> None:
    """Measure each number of users in a database of its own; print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fits.indexed_users", description=__doc__)
    parser.add_argument("--users", type=int, nargs="+", default=[1, 100, 4000])
    parser.add_argument("--limit", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args()
    print("| large users | indexed | add, ms | search, ms | first search, ms | backend, MB |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    with (
        tempfile.TemporaryDirectory(prefix="memsense-indexed-") as directory,
        EmbeddedServer(Path(directory)) as server,
    ):
        for users in options.users:
            with stores.new_database(server.url, f"memsense_indexed_{users}") as url:
                indexed = fill(url, users, options.limit)
                cost = measure(url, options.rounds)
            figures = f"{cost.add_ms:.1f} | {cost.search_ms:.1f} | {cost.first_ms:.0f}"
            size = f"{cost.backend_bytes / 1e6:.1f}"
            print(f"| {users:,} | {indexed:,} | {figures} | {size} |", flush=True)


def open_memory(url: str, limit: int = 0) -> MemSense:
    """Return a memory whose statements are never prepared."""
    settings = Settings(
        database_url=url,
        index_threshold=THRESHOLD,
        index_users=limit,
        prepared_statements=False,
        pool_max_size=1,
        worker="off",
    )
    return MemSense.open(url, settings=settings, embedder=OnnxEmbedder())


def fill(url: str, users: int, limit: int) -> int:
    """Store the users and index as many as the limit allows; return how many have indexes.

    All but two share the statistics of the first one: that, and not their rows, is what decides who
    is large.
    """
    with open_memory(url, limit) as memory, psycopg.connect(url, autocommit=True) as connection:
        for user, count in ((USER, OWN), ("first", THRESHOLD))[:users]:
            for number in range(count):
                add(memory, user, number)
        connection.execute(COPY, {"users": max(0, users - 2)})
        connection.execute(COUNTED)
        memory.indexes.optimise()
        stores.settle(url)
        query = "SELECT count(*) FROM memsense.scopes WHERE indexed"
        [(indexed,)] = connection.execute(query).fetchall()
    return indexed


def add(memory: MemSense, user: str, number: int) -> None:
    """Add one exchange."""
    text = f"The lamp number {number} of the kitchen is blue, and its cable is {number} feet long."
    memory.add(text, user_id=user, session_id=f"s{number // 10}", mode="turn")


def measure(url: str, rounds: int) -> Cost:
    """Return the cost of one user's calls."""
    first: list[float] = []
    for _ in range(5):
        with open_memory(url) as memory:
            memory.embedder.embed_query(QUESTION)
            started = time.perf_counter()
            memory.search(QUESTION, user_id=USER)
            first.append(1000 * (time.perf_counter() - started))
    with open_memory(url) as memory:
        memory.search(QUESTION, user_id=USER)
        process, size = inspect_backend(memory)
        searches = time_each(process, rounds, lambda _: memory.search(QUESTION, user_id=USER))
        adds = time_each(process, rounds, lambda it: add(memory, USER, 1_000 + it))
    return Cost(
        add_ms=statistics.median(adds),
        search_ms=statistics.median(searches),
        first_ms=statistics.median(first),
        backend_bytes=size,
    )


def inspect_backend(memory: MemSense) -> tuple[int, int]:
    """Return the process id of the memory's one connection, and the bytes of its contexts."""
    query = "SELECT pg_backend_pid(), sum(total_bytes)::bigint FROM pg_backend_memory_contexts"
    with memory._context.pool.connection() as connection:  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        [(process, size)] = connection.execute(query).fetchall()
    return process, size


def time_each(process: int, rounds: int, call: Callable[[int], Any]) -> Sequence[float]:
    """Return the processor milliseconds of each call: this process's and the server's."""
    times: list[float] = []
    for number in range(rounds):
        server, client = server_seconds(process), time.process_time()
        call(number)
        spent = server_seconds(process) - server + time.process_time() - client
        times.append(1000 * spent)
    return times


if __name__ == "__main__":
    main()
