"""Processor time of one `add`, by the memory's size, statement by statement.

    python -m benchmarks.write_cost [--sizes 1000 100000] [--adds 100] [--rounds 3]
    python -m benchmarks.write_cost --urls URL URL      # stores that are there already

Vectors are at hand, so that what is measured is the store's own cost. Memories from the threshold
on have HNSW indexes. Stores take turns, round by round; processor time is that of this process and
of its server's process, read from /proc on the machine of the server, so that other work on the
machine counts little. Before and after: run it in a worktree of each commit over the same URLs.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from benchmarks import stores
from benchmarks.corpus import Corpus, PreparedEmbedder, generate_sessions, load_corpus
from memsense import MemSense
from memsense.db import Pool, run_transaction
from memsense.db.connection import Connection
from memsense.db.embedded import EmbeddedServer
from memsense.draft.vectors import BatchVectors, list_chunks
from memsense.store.scopes import lock_scope
from memsense.store.writes import write_sessions

USER = "ada"
FIRST = 200_000
"""Sessions are numbered from here on, far behind those that fill a store."""


@dataclass(slots=True)
class Cost:
    """Processor milliseconds: of the server by statement, of this process, of each add."""

    chunks: int
    server: defaultdict[str, list[float]] = field(
        default_factory=lambda: defaultdict[str, list[float]](list)
    )
    adds: list[tuple[float, float, float]] = field(default_factory=list[tuple[float, float, float]])

    def as_dict(self) -> dict[str, Any]:
        """Return medians over all adds; by statement the mean of an add."""
        server, client, wall = zip(*self.adds, strict=True)
        means = {
            name: sum(seconds_by_name) / len(self.adds)
            for name, seconds_by_name in self.server.items()
        }
        return {
            "chunks": self.chunks,
            "adds": len(self.adds),
            "server_ms": statistics.median(server),
            "client_ms": statistics.median(client),
            "wall_ms": statistics.median(wall),
            "by_statement": dict(sorted(means.items(), key=lambda item: -item[1])[:6]),
        }


class Writer:
    """Client that adds one exchange after another to a store, and times each."""

    def __init__(self, url: str, corpus: Corpus) -> None:
        self._url = url
        self._pool: Pool = Pool(url, min_size=1, max_size=1, timeout=30)
        self._corpus = corpus
        self._namespace = run_transaction(self._pool, stores.open_namespace)
        with psycopg.connect(url) as connection:
            counted = "SELECT count(*), max(session_id) FROM memsense.chunks"
            [(chunks, last)] = connection.execute(counted).fetchall()
        self._next = max(FIRST, int(last[1:]) + 1)
        self.cost = Cost(chunks=chunks)

    def close(self) -> None:
        """End the connection."""
        self._pool.close()

    def add(self, count: int) -> None:
        """Add sessions of two exchanges, each exchange in a transaction; the first two untimed."""
        for number in range(-1, count // 2):
            [session] = generate_sessions(self._corpus, USER, 2, seed=self._next, first=self._next)
            self._next += 1
            for piece in session.single_exchanges():
                # Vectors are at hand: embedding would be most of what is measured.
                vectors = BatchVectors(PreparedEmbedder(known=piece.vectors))
                vectors.prepare(list_chunks([piece.draft]))

                def write(
                    connection: Connection, vectors: BatchVectors = vectors, piece: Any = piece
                ) -> None:
                    scope = lock_scope(connection, self._namespace, USER, followers=(piece.upkeep,))
                    write_sessions(connection, scope, [piece.draft], vectors)

                self._time(write, is_timed=number >= 0)

    def _time(self, write: Any, *, is_timed: bool) -> None:
        with self._pool.connection() as connection:
            process = connection.info.backend_pid
        times: dict[str, float] = defaultdict(float)
        server, client, wall = server_seconds(process), time.thread_time(), time.perf_counter()
        with _by_statement(process, times):
            run_transaction(self._pool, write)
        if is_timed:
            for name, seconds in times.items():
                self.cost.server[name].append(1000 * seconds)
            self.cost.adds.append(
                (
                    1000 * (server_seconds(process) - server),
                    1000 * (time.thread_time() - client),
                    1000 * (time.perf_counter() - wall),
                )
            )


@contextmanager
def _by_statement(process: int, times: dict[str, float]) -> Generator[None]:
    """Measure the server's time for each statement meanwhile, by its first words."""
    execute, many = psycopg.Cursor.execute, psycopg.Cursor.executemany

    def timed(run: Any) -> Any:
        def timing(cursor: Any, query: Any, *args: Any, **options: Any) -> Any:
            text = query.as_string(cursor) if hasattr(query, "as_string") else str(query)
            before = server_seconds(process)
            try:
                return run(cursor, query, *args, **options)
            finally:
                times[_name(text)] += server_seconds(process) - before

        return timing

    psycopg.Cursor.execute = timed(execute)
    psycopg.Cursor.executemany = timed(many)
    try:
        yield
    finally:
        psycopg.Cursor.execute, psycopg.Cursor.executemany = execute, many


def _name(text: str) -> str:
    """Return a statement's name: the table that it writes first, else its beginning."""
    for word in ("INSERT INTO memsense.", "UPDATE memsense."):
        if word in text:
            return word + text.partition(word)[2].split()[0]
    return " ".join(text.split())[:40]


def server_seconds(process: int) -> float:
    """Return the processor time of a process, to the microsecond."""
    return int(Path(f"/proc/{process}/schedstat").read_text(encoding="utf-8").split()[0]) / 1e9


def measure(urls: Sequence[str], corpus: Corpus, adds: int, rounds: int) -> list[dict[str, Any]]:
    """Return each store's cost; they take turns."""
    with ExitStack() as stack:
        writers = [Writer(url, corpus) for url in urls]
        for writer in writers:
            stack.callback(writer.close)
        for _ in range(rounds):
            for writer in writers:
                writer.add(adds)
        return [writer.cost.as_dict() for writer in writers]


@contextmanager
def filled(server: EmbeddedServer, corpus: Corpus, sizes: Sequence[int]) -> Generator[list[str]]:
    """Yield stores of these sizes, indexed if they are large enough."""
    with ExitStack() as stack:
        yield [stack.enter_context(_store(server.url, corpus, size)) for size in sizes]


@contextmanager
def _store(server_url: str, corpus: Corpus, size: int) -> Generator[str]:
    with stores.new_database(server_url, f"memsense_writes_{size}") as url:
        stores.fill_user(url, corpus, USER, size)
        place: dict[str, Any] = {"tenant": stores.TENANT, "namespace": stores.NAMESPACE}
        with MemSense.open(url, embedder=PreparedEmbedder(), **place) as memory:
            memory.indexes.optimise()
        stores.settle(url)
        yield url


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.write_cost", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 100_000])
    parser.add_argument("--adds", type=int, default=100, help="of each store in a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--urls", nargs="+", help="stores that are there, in place of --sizes")
    options = parser.parse_args()
    corpus = load_corpus()
    if options.urls:
        costs = measure(options.urls, corpus, options.adds, options.rounds)
    else:
        with (
            tempfile.TemporaryDirectory(prefix="memsense-writes-") as directory,
            EmbeddedServer(Path(directory)) as server,
            filled(server, corpus, options.sizes) as urls,
        ):
            costs = measure(urls, corpus, options.adds, options.rounds)
    print(json.dumps(costs, indent=1))


if __name__ == "__main__":
    main()
