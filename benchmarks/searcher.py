"""Process that searches one store on demand: see `search_cost`, which starts it.

It runs by itself with any checkout's packages, so that two of them are compared in one run.

    PYTHONPATH=CHECKOUT python benchmarks/searcher.py URL CORPUS.pickle --fill 1000

Reads a line, asks every question of the corpus once, and prints what that took as JSON. The line is
JSON, too: whether the questions name a time, and changes of the profile's constants.
"""

import argparse
import gc
import json
import pickle
import sys
import time
from itertools import cycle
from pathlib import Path
from typing import Any

import psycopg

from benchmarks import stores
from benchmarks.corpus import Corpus
from benchmarks.tokens import PreparedTokens
from memsense import MemSense
from memsense.db import migrate

USER = "ada"
WARM = 20

TIMES = (" (on 2 January 2025)", " (in the week of 2 January 2025)", " (in January 2025)")
ASKED_AT = "2025-08-01T12:00:00Z"
"""Times that questions name, a day, a week and a month of each store, and when they are asked."""


def main() -> None:
    """Fill the store if asked to, report that, and search until the input ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--fill", type=int, default=0, help="chunks to store first")
    parser.add_argument("--tokens", type=int, default=0, help="token vectors of each exchange")
    parser.add_argument("--top-k", type=int, default=8)
    parser.add_argument("--index", action="store_true", help="HNSW indexes")
    options = parser.parse_args()
    corpus: Corpus = pickle.loads(options.corpus.read_bytes())  # noqa: S301 (our own file)
    if options.fill:
        migrate.upgrade(options.url)
        stores.fill_user(options.url, corpus, USER, options.fill)
    with open_memory(options.url, corpus, options.tokens) as memory:
        if options.fill and options.tokens:
            memory.indexes.fill_tokens()
        if options.index:
            memory.indexes.optimise()
        if options.fill:
            stores.settle(options.url)
        for question in corpus.questions[:WARM]:
            memory.search(question, user_id=USER, top_k=options.top_k)
        # The corpus is no part of what a search costs, so the collector must not walk through it.
        gc.collect()
        gc.freeze()
        print("ready", flush=True)
        for line in sys.stdin:
            way = {"top_k": options.top_k, **json.loads(line or "{}")}
            print(json.dumps(ask_all(memory, options.url, corpus, **way)), flush=True)


def open_memory(url: str, corpus: Corpus, tokens: int) -> MemSense:
    """Open a memory with its questions' vectors prepared; with random tokens, if any."""
    known = {
        f"{question}{time}": vector
        for question, vector in zip(corpus.questions, corpus.question_vectors, strict=True)
        for time in ("", *TIMES)
    }
    embedder: Any = PreparedTokens(known=known, length=tokens) if tokens else None
    embedder = embedder or stores.PreparedEmbedder(known=known)
    place: dict[str, Any] = {"tenant": stores.TENANT, "namespace": stores.NAMESPACE}
    return MemSense.open(url, embedder=embedder, **place)


def ask_all(
    memory: MemSense,
    url: str,
    corpus: Corpus,
    *,
    top_k: int,
    dated: bool = False,
    overrides: dict[str, float] | None = None,
) -> dict[str, Any]:
    """Return milliseconds of each search, and processor seconds here and of the server.

    Args:
        memory: The memory.
        url: Its database.
        corpus: The questions.
        top_k: Hits of each search.
        dated: Whether each question names a time.
        overrides: Changes of the profile's constants.
    """
    times_named = cycle(TIMES if dated else ("",))
    options: dict[str, Any] = {"user_id": USER, "top_k": top_k, "overrides": overrides or {}}
    server, client = server_seconds(url), time.process_time()
    times: list[float] = []
    for question, named in zip(corpus.questions, times_named, strict=False):
        started = time.perf_counter()
        memory.search(f"{question}{named}", asked_at=ASKED_AT, **options)
        times.append(1000 * (time.perf_counter() - started))
    client = time.process_time() - client
    return {"ms": times, "client_s": client, "server_s": server_seconds(url) - server}


def server_seconds(url: str) -> float:
    """Return the processor time of the database's other backends, which run on this machine."""
    with psycopg.connect(url, autocommit=True) as connection:
        rows = connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
            " AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
        ).fetchall()
    # schedstat counts nanoseconds; the ticks of /proc/PID/stat are too coarse for one search.
    files = [Path(f"/proc/{pid}/schedstat") for (pid,) in rows]
    return sum(int(file.read_text().split()[0]) for file in files if file.exists()) / 1e9


if __name__ == "__main__":
    main()
