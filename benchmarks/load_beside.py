"""`python -m benchmarks.load_beside CHECKOUT`: the load of `load`, on two checkouts by turns.

    git worktree add /tmp/before COMMIT
    python -m benchmarks.load_beside /tmp/before --turns 3 --seconds 20
    python -m benchmarks.load_beside /tmp/before --users 1 --writes 0.4 --processes 1 --threads 50

Each checkout fills a database of its own, and then they take turns, so that whatever else the
machine does meets both alike. A worker runs by itself with a checkout's packages.
"""

import argparse
import json
import multiprocessing
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks import load, stores
from benchmarks.corpus import load_corpus
from memsense.db import migrate
from memsense.db.embedded import EmbeddedServer

HERE = Path(__file__).parents[1]


def main() -> None:
    """Fill both, let them take turns, and print the result of each."""
    if "--worker" in sys.argv:
        work(sys.argv[-1])
        return
    from benchmarks.search_cost import new_database, searching  # which an older checkout lacks

    parser = argparse.ArgumentParser(prog="python -m benchmarks.load_beside", description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20, help="of each turn")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--threads", type=int, default=8, help="per process")
    parser.add_argument("--pool", type=int, default=4, help="connections per process")
    parser.add_argument("--chunks", type=int, default=1000, help="per user")
    parser.add_argument("--users", type=int, default=load.USERS)
    parser.add_argument("--writes", type=float, default=load.WRITES, help="share of adds")
    options = vars(parser.parse_args())
    checkouts = {"now": HERE, "before": options.pop("checkout").resolve()}
    turns = options.pop("turns")
    got: dict[str, list[dict[str, Any]]] = {name: [] for name in checkouts}
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="memsense-load-")))
        server = stack.enter_context(EmbeddedServer(directory))
        asks: dict[str, Callable[[], dict[str, Any]]] = {}
        for name, checkout in checkouts.items():
            url = stack.enter_context(new_database(server.url, f"memsense_load_{name}"))
            worker_arguments = ["--worker", json.dumps({**options, "url": url})]
            asks[name] = stack.enter_context(
                searching(checkout, worker_arguments, program=Path(__file__))
            )
        for turn in range(turns):
            for name in list(asks) if turn % 2 else reversed(asks):
                got[name].append(asks[name]())
    rates = {name: sum(one["calls_per_second"] for one in each) for name, each in got.items()}
    print(json.dumps({**got, "now_to_before": rates["now"] / rates["before"]}, indent=1))


def work(text: str) -> None:
    """Fill a store, report that, and run the clients for each line of the input."""
    load_options = load.Load(**json.loads(text))
    corpus = load_corpus()
    migrate.upgrade(load_options.url)
    for number in range(load_options.users):
        stores.fill_user(
            load_options.url, corpus, f"user-{number}", load_options.chunks, seed=number
        )
    stores.settle(load_options.url)
    print("ready", flush=True)
    context = multiprocessing.get_context("spawn")
    for turn, _ in enumerate(sys.stdin):
        tally = load.Tally()
        with context.Pool(load_options.processes) as pool:
            # No two turns add the same exchanges: those of a number are a client's own.
            numbers = range(load_options.processes * turn, load_options.processes * (turn + 1))
            for part in pool.starmap(
                load.run_process, [(load_options, corpus, n) for n in numbers]
            ):
                tally.absorb(part)
        results = {
            "calls_per_second": (len(tally.searches) + len(tally.adds)) / load_options.seconds,
            "search": load.describe(tally.searches),
            "add": load.describe(tally.adds),
            "errors": tally.errors[:5],
        }
        print(json.dumps(results), flush=True)


if __name__ == "__main__":
    main()
