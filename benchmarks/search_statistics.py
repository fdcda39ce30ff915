"""Processor time that the statistics of searches cost, as a share of a search's, in one run.

    python -m benchmarks.search_statistics --database-url postgresql://... [--rounds 40]

The database must hold memories. Blocks of the same questions are searched in turns with the
statistics and without them, in a random order, so that whatever else the machine does meets both
alike. A block with statistics ends with a write of the sums, although a process writes them every
ten seconds only; it is measured apart. The time is that of this process, without PostgreSQL.
"""

import argparse
import json
import random
import statistics
import time
from unittest.mock import patch

from benchmarks.trace_overhead import read_words
from memsense import MemSense
from memsense.search.request import SearchRequest

BLOCK = 20
WARM = 3


def measure(memory: MemSense, rounds: int) -> dict[str, float]:
    """Return medians of processor time for a search, the count of one, and a write of the sums."""
    meter = memory._context.search_meter  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    source, words = random.Random(1), read_words()
    spent: dict[str, list[float]] = {"with": [], "without": [], "write": []}
    shares: list[float] = []
    for number in range(rounds + WARM):
        questions = [" ".join(source.sample(words, k=6)) + "?" for _ in range(BLOCK)]
        for question in questions:  # so that both variants find the same caches
            memory.search(question, all_users=True, trace=False)
        meter.flush()
        used: dict[str, float] = {}
        for kind in source.sample(["with", "without"], k=2):
            with patch.object(meter, "count", meter.count if kind == "with" else _count_nothing):
                before = time.process_time()
                for question in questions:
                    memory.search(question, all_users=True, trace=False)
                used[kind] = time.process_time() - before
        before = time.process_time()
        meter.flush()
        used["write"] = (time.process_time() - before) * BLOCK
        if number >= WARM:
            for kind, seconds in used.items():
                spent[kind].append(1000 * seconds / BLOCK)
            shares.append(used["with"] / used["without"] - 1)
    result = memory.search("tea", all_users=True, trace=False)
    request = SearchRequest(query="tea")
    before = time.process_time()
    for _ in range(100_000):
        meter.count("default", [request], [result], 0.01)
    count = (time.process_time() - before) / 100_000
    medians = {name: statistics.median(values) for name, values in spent.items()}
    return {
        "search_ms": medians["without"],
        "difference_of_blocks_percent": 100 * statistics.median(shares),
        "count_us": 1e6 * count,
        "count_percent": 100 * 1000 * count / medians["without"],
        "write_ms": medians["write"],
        "searches_in_10_s_from_which_all_is_below_1_percent": medians["write"]
        / (0.01 * medians["without"] - 1000 * count),
    }


def _count_nothing(*_: object) -> None:
    return None


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--database-url", required=True)
    parser.add_argument("--rounds", type=int, default=40)
    arguments = parser.parse_args()
    with MemSense.open(arguments.database_url) as memory:
        print(json.dumps(measure(memory, arguments.rounds), indent=1))


if __name__ == "__main__":
    main()
