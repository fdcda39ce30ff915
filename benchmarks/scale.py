"""Cost of one large memory, or of a great many small ones, in time, memory and disk.

    python -m benchmarks.scale --chunks 300000
    python -m benchmarks.scale --users 1000

A part of the chunks is written as the product writes them, with vectors computed before; the rest
are copies inside the database, with vectors of their own where they are one user's. No chunk has
token vectors, which `benchmarks.tokens` measures. `--memory` is what the server may use to build
an HNSW index, whose graph must fit in it: about 1.5 GB for a million chunks.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing, nullcontext
from pathlib import Path

import psycopg
from psycopg import sql
from rich.console import Console
from rich.table import Table

from benchmarks import stores
from benchmarks.approximation import measure_approximation
from benchmarks.corpus import Corpus, load_corpus
from benchmarks.searcher import server_seconds
from benchmarks.searching import open_memory
from benchmarks.statements import statement
from benchmarks.timing import summarise
from benchmarks.writing import time_adds
from memsense import MemSense
from memsense.db.embedded import EmbeddedServer

USER = "ada"
WRITTEN = 20_000
"""Chunks that the product writes; the others are copies."""

EACH = 1000
"""Chunks of each of many users."""

Figures = dict[str, float]


def main() -> None:
    """Measure one store, print its figures, and write them if `--out` is given."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    size = parser.add_mutually_exclusive_group(required=True)
    size.add_argument("--chunks", type=int, help="of one user")
    size.add_argument("--users", type=int, help=f"with {EACH:,} chunks each")
    parser.add_argument("--memory", default="4GB", help="to build an index")
    parser.add_argument("--url", help="a server on which databases may be created; default: own")
    parser.add_argument("--results", type=Path)
    options = parser.parse_args()
    corpus = load_corpus()
    with tempfile.TemporaryDirectory(prefix="memsense-scale-") as directory:
        own = None if options.url else EmbeddedServer(Path(directory))
        with own or nullcontext():
            server_url = own.url if own else options.url
            with stores.new_database(server_url, "memsense_scale") as url:
                _allow_memory(url, options.memory)
                totals = (
                    measure_one(url, corpus, options.chunks)
                    if options.chunks
                    else measure_many(url, corpus, options.users)
                )
    _print(totals)
    if options.results:
        options.results.write_text(json.dumps(totals, indent=1) + "\n", encoding="utf-8")


def _allow_memory(url: str, memory: str) -> None:
    # An HNSW index of n vectors takes n times 1.5 kB; where half of it fitted, building took 2.6
    # times as long (docs/guides/capacity.md).
    with psycopg.connect(url, autocommit=True) as connection:
        database = sql.Identifier(connection.info.dbname)
        change = sql.SQL("ALTER DATABASE {} SET maintenance_work_mem = {}")
        connection.execute(change.format(database, sql.Literal(memory)))


def measure_one(url: str, corpus: Corpus, chunks: int) -> Figures:
    """Measure one user's memory of so many chunks, with HNSW indexes."""
    times = max(1, round(chunks / WRITTEN))
    written = chunks // times
    seconds = stores.fill_user(url, corpus, USER, written).seconds
    totals: Figures = {
        "chunks": written * times,
        "users": 1,
        "write_ms": 1000 * seconds / written,
    }
    if times > 1:
        totals["copying_s"] = stores.grow_user(url, USER, times).seconds
    stores.settle(url)
    # Before the indexes are built, which are reported by themselves.
    totals |= _disk(url, written * times)
    with closing(open_memory(url, corpus)) as memory:
        started = time.perf_counter()
        memory.indexes.optimise()
        totals["indexing_s"] = time.perf_counter() - started
    stores.settle(url)
    totals["hnsw_bytes_a_chunk"] = stores.index_size(url) / (written * times)
    totals |= _search(url, corpus, [USER])
    totals["add_ms"] = time_adds(url, corpus, USER, seed=chunks)[1].median
    totals |= _approximation(url, corpus, "with the adds fresh")
    with closing(open_memory(url, corpus)) as memory:
        memory.indexes.optimise()
    return totals | _approximation(url, corpus, "with the adds settled")


def _approximation(url: str, corpus: Corpus, when: str) -> Figures:
    rows = measure_approximation(url, corpus, USER)
    return {f"{row['']}, {when}": float(str(row["value"])) for row in rows}


def measure_many(url: str, corpus: Corpus, users: int) -> Figures:
    """Measure memories of `EACH` chunks: one searched again and again, and a hundred in turn."""
    seconds = stores.fill_user(url, corpus, USER, EACH).seconds
    stores.settle(url)
    alone = _search(url, corpus, [USER])
    totals: Figures = {
        "chunks": users * EACH,
        "users": users,
        "write_ms": 1000 * seconds / EACH,
    }
    totals["copying_s"] = stores.copy_user(url, USER, users - 1).seconds
    stores.settle(url)
    totals |= _disk(url, users * EACH)
    step = max(1, (users - 1) // 100)
    everybody = [f"{USER}-{number}" for number in range(1, users, step)]
    for name, figures in (
        ("alone", alone),
        ("the_same", _search(url, corpus, [USER])),
        ("in_turn", _search(url, corpus, everybody)),
    ):
        totals |= {f"{name}_{figure}": value for figure, value in figures.items()}
    totals["add_ms"] = time_adds(url, corpus, USER, seed=users)[1].median
    return totals


def _disk(url: str, chunks: int) -> Figures:
    """Return the bytes a chunk of the large kinds of table, and of all."""
    sizes = stores.sizes(url)
    large_sizes = {name: size for name, size in sizes.items() if size > 0.02 * sum(sizes.values())}
    each = {f"{name}_bytes_a_chunk": size / chunks for name, size in large_sizes.items()}
    return each | {"bytes_a_chunk": sum(sizes.values()) / chunks}


def _search(url: str, corpus: Corpus, users: Sequence[str]) -> Figures:
    """Return the milliseconds of a search, and the blocks read from outside the server's memory.

    First, when nothing of what it reads has been read lately, then again.
    """
    with closing(open_memory(url, corpus)) as memory:
        memory.search("anything", user_id=users[0])
        first = _ask(memory, url, corpus, users)
        again = _ask(memory, url, corpus, users)
    return {f"first_{name}": value for name, value in first.items()} | again


def _ask(memory: MemSense, url: str, corpus: Corpus, users: Sequence[str]) -> Figures:
    hit, read = _blocks(url)
    server, client = server_seconds(url), time.process_time()
    samples: list[float] = []
    for number, question in enumerate(corpus.questions):
        started = time.perf_counter()
        memory.search(question, user_id=users[number % len(users)])
        samples.append(1000 * (time.perf_counter() - started))
    client, server = time.process_time() - client, server_seconds(url) - server
    timing, count = summarise(samples), len(samples)
    hit_since, read_since = _blocks(url)
    return {
        "median_ms": timing.median,
        "p95_ms": timing.p95,
        "server_ms": 1000 * server / count,
        "client_ms": 1000 * client / count,
        "blocks": (hit_since - hit + read_since - read) / count,
        "blocks_read": (read_since - read) / count,
    }


def _blocks(url: str) -> tuple[int, int]:
    with psycopg.connect(url) as connection:
        hit, read = connection.execute(statement("stores.sql", "measure_reads")).fetchall()[0]
        return int(hit), int(read)


def _print(totals: Figures) -> None:
    table = Table("", "", title=f"{totals['chunks']:,.0f} chunks, {totals['users']:,.0f} users")
    for name, value in totals.items():
        table.add_row(name, f"{value:,.4g}" if value < 10_000 else f"{value:,.0f}")
    Console().print(table)


if __name__ == "__main__":
    main()
