"""Searches while `memsense ingest` runs beside them: their latency, and how long the ingest takes.

    python -m benchmarks.beside_ingest locomo10.json [--conversations 2] [--rounds 3]
        [--before DIRECTORY]

The log of the first conversations is ingested by the command line of each checkout in turn, while
this process asks one user's memory question after question, each a new one for the embedder. In
between it asks with nothing beside it.
"""

import argparse
import json
import tempfile
import time
from itertools import count
from pathlib import Path

from benchmarks import stores
from benchmarks.corpus import SAMPLE
from benchmarks.ingest_speed import HERE, finish, read_turns, start_ingest, write_log
from benchmarks.search_cost import new_database
from benchmarks.timing import summarise
from memsense import MemSense
from memsense.db.embedded import EmbeddedServer

USER = "ines"
ALONE = 100
"""Searches in a round with nothing beside them."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("file", type=Path, help="conversations of LoCoMo")
    parser.add_argument("--conversations", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--before", type=Path, help="a checkout of another commit")
    options = parser.parse_args()
    checkouts = {"ours": HERE, **({"before": options.before} if options.before else {})}
    times: dict[str, list[float]] = {"alone": [], **{name: [] for name in checkouts}}
    seconds: dict[str, list[float]] = {name: [] for name in checkouts}
    numbers = count()
    with tempfile.TemporaryDirectory(prefix="memsense-beside-") as directory:
        log = Path(directory) / "log.jsonl"
        write_log(read_turns(options.file, is_beam=False, conversations=options.conversations), log)
        with (
            EmbeddedServer(Path(directory)) as server,
            stores.new_database(server.url, "memsense_beside") as searched_url,
            MemSense.open(searched_url) as memory,
        ):
            memory.ingest(SAMPLE, user_id=USER)

            def ask() -> float:
                question = f"What did I say about walnuts on day {next(numbers)}?"
                started = time.perf_counter()
                memory.search(question, user_id=USER)
                return 1000 * (time.perf_counter() - started)

            for _ in range(20):
                ask()
            for number in range(options.rounds):
                times["alone"] += [ask() for _ in range(ALONE)]
                for name, checkout in checkouts.items():
                    with new_database(server.url, f"memsense_{name}_{number}") as url:
                        process = start_ingest(checkout, log, url)
                        started = time.perf_counter()
                        while process.poll() is None:
                            times[name].append(ask())
                        seconds[name].append(time.perf_counter() - started)
                        finish(process)
    result = {
        name: {
            **summarise(taken).as_dict(),
            **({"ingest_s": seconds[name]} if name in seconds else {}),
        }
        for name, taken in times.items()
    }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
