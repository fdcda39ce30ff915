"""Cost of a search: processor time and wall, beside another checkout and LanceDB's hybrid.

    git worktree add /tmp/before COMMIT
    python -m benchmarks.search_cost --chunks 1000 10000 --beside /tmp/before --lancedb

Everybody gets the same chunks and vectors, each checkout in a database of its own, and all are
asked the same questions in turns, block by block, so that whatever else the machine does meets them
alike. Processor time is that of the process that searches and of the server's backends for it,
which run on this machine. No embedding is in it. `--tokens 70` gives every exchange token vectors,
as the shipped embedder does. `--dated` asks the same questions with a time behind them as well, by
the route over times and without it.
"""

import argparse
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql
from rich.console import Console
from rich.table import Table

from benchmarks.corpus import Corpus, load_corpus
from benchmarks.peers import LancePeer, load_documents
from benchmarks.timing import summarise
from memsense.db.embedded import EmbeddedServer

HERE = Path(__file__).parents[1]
SEARCHER = Path(__file__).with_name("searcher.py")
USER = "ada"
NO_ROUTE = {"time": 0, "inside_weight": 0, "inside_alone_weight": 0}


@dataclass(slots=True)
class Side:
    """One side of the comparison: how every question is searched once, and the times."""

    ask: Callable[[], dict[str, Any]]
    ms: list[float] = field(default_factory=list[float])
    client_s: float = 0.0
    server_s: float = 0.0

    def take_turn(self) -> None:
        """Search every question once more."""
        result = self.ask()
        self.ms += result["ms"]
        self.client_s += result["client_s"]
        self.server_s += result["server_s"]

    def describe(self) -> dict[str, float]:
        """Return milliseconds per search, and how many a core does in a second."""
        timing, count = summarise(self.ms), len(self.ms)
        processor_s = (self.client_s + self.server_s) / count
        return {
            "server_ms": 1000 * self.server_s / count,
            "client_ms": 1000 * self.client_s / count,
            "processor_ms": 1000 * processor_s,
            "per_core_second": 1 / processor_s,
            "median_ms": timing.median,
            "p95_ms": timing.p95,
            "p95_to_median": timing.p95 / timing.median,
        }


def main() -> None:
    """Measure every size, print a table of each, and write the results if `--out` is given."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search_cost", description=__doc__)
    parser.add_argument("--chunks", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--beside", type=Path, help="another checkout of memsense")
    parser.add_argument("--lancedb", action="store_true", help="LanceDB's hybrid search, too")
    parser.add_argument("--tokens", type=int, default=0, help="token vectors of each exchange")
    parser.add_argument("--top-k", type=int, default=8, help="hits of each search")
    parser.add_argument("--dated", action="store_true", help="questions that name a time, too")
    parser.add_argument("--index", action="store_true", help="HNSW indexes")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--url", help="a server on which databases may be created; default: own")
    parser.add_argument("--results", type=Path)
    options = parser.parse_args()
    corpus = load_corpus()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="memsense-cost-") as directory:
        own = None if options.url else EmbeddedServer(Path(directory))
        with own or nullcontext():
            url = own.url if own else options.url
            for chunks in options.chunks:
                rows.append(measure(url, chunks, corpus, Path(directory), options))
                print_row(rows[-1])
    if options.results:
        options.results.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def measure(
    url: str, chunks: int, corpus: Corpus, directory: Path, options: argparse.Namespace
) -> dict[str, Any]:
    """Return every side's figures on stores of this size."""
    # Texts and vectors go over as a file: both checkouts are filled with the same.
    file = directory / "corpus.pickle"
    file.write_bytes(pickle.dumps(corpus))
    checkouts = {"memsense": HERE, **({"before": options.beside} if options.beside else {})}
    fill_options = ["--fill", str(chunks), "--tokens", str(options.tokens)]
    fill_options += ["--top-k", str(options.top_k)]
    fill_options += ["--index"] if options.index else []
    with ExitStack() as stack:
        sides: dict[str, Side] = {}
        for name, checkout in checkouts.items():
            database = stack.enter_context(new_database(url, f"memsense_cost_{name}"))
            ask = stack.enter_context(searching(checkout, [database, str(file), *fill_options]))
            sides[name] = Side(ask)
            if options.dated and name == "memsense":
                sides["dated"] = Side(partial(ask, dated=True))
                sides["dated, no route"] = Side(partial(ask, dated=True, overrides=NO_ROUTE))
            if options.lancedb and name == "memsense":
                place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                sides["lancedb hybrid"] = Side(over_lancedb(database, corpus, place))
        take_turns(list(sides.values()), options.rounds)
    return {
        "chunks": chunks,
        "tokens": options.tokens,
        "top_k": options.top_k,
        "sides": {name: side.describe() for name, side in sides.items()},
    }


def take_turns(sides: Sequence[Side], rounds: int) -> None:
    """Run the sides round by round, each time in another order."""
    for number in range(rounds):
        # The order changes, since the machine's speed drifts within a run.
        for side in sides if number % 2 else reversed(sides):
            side.take_turn()


@contextmanager
def new_database(server_url: str, name: str) -> Generator[str]:
    """Yield the URL of an empty database, migrated by the checkout that fills it; drop it after."""
    identifier = sql.Identifier(name)
    drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(identifier)
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(drop)
        connection.execute(sql.SQL("CREATE DATABASE {}").format(identifier))
        try:
            yield urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))
        finally:
            connection.execute(drop)


@contextmanager
def searching(
    checkout: Path, arguments: Sequence[str], *, program: Path = SEARCHER
) -> Generator[Callable[..., dict[str, Any]]]:
    """Start a process that searches with a checkout's packages; yield how to search everything."""
    process = subprocess.Popen(
        [sys.executable, "-P", str(program), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout), "PYTHONSAFEPATH": "1"},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    written, read = process.stdin, process.stdout

    def ask(**way: object) -> dict[str, Any]:
        written.write(f"{json.dumps(way)}\n")
        written.flush()
        return json.loads(read.readline())

    try:
        if read.readline() != "ready\n":
            raise RuntimeError(f"the searcher of {checkout} ended")
        yield ask
    finally:
        written.close()
        process.wait(30)
        read.close()


def over_lancedb(url: str, corpus: Corpus, directory: Path) -> Callable[[], dict[str, Any]]:
    """Return LanceDB's hybrid search of the same chunks, in this process."""
    peer = LancePeer(directory)
    peer.fill(load_documents(url, USER))
    pairs = list(zip(corpus.questions, corpus.question_vectors, strict=True))

    def ask() -> dict[str, Any]:
        times: list[float] = []
        before = time.process_time()
        for question, vector in pairs:
            started = time.perf_counter()
            peer.search(question, vector)
            times.append(1000 * (time.perf_counter() - started))
        return {"ms": times, "client_s": time.process_time() - before, "server_s": 0.0}

    ask()
    return ask


def print_row(row: dict[str, Any]) -> None:
    """Print a size's figures as a table."""
    sides: dict[str, dict[str, float]] = row["sides"]
    tokens = f", {row['tokens']} tokens each" if row["tokens"] else ""
    hits = f", top_k {row['top_k']}"
    table = Table("per search", *sides, title=f"{row['chunks']:,} chunks{tokens}{hits}")
    for name in next(iter(sides.values())):
        table.add_row(name, *(f"{figures[name]:.3g}" for figures in sides.values()))
    Console().print(table)


if __name__ == "__main__":
    main()
