"""Time of memsense.fusion for 10 lists of 10,000 ids, beside the obvious implementation."""

import argparse
import random
from collections.abc import Callable, Sequence
from statistics import median
from time import perf_counter

from memsense.fusion import merge, reciprocal_rank_fusion

LISTS, LENGTH, K = 10, 10_000, 60


def naive(rankings: Sequence[Sequence[int]]) -> list[tuple[int, float]]:
    """Compute scores alone: no order of equal scores, no contributions, no checks."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, identity in enumerate(ranking, start=1):
            scores[identity] = scores.get(identity, 0.0) + 1 / (K + rank)
    return sorted(scores.items(), key=lambda pair: pair[1], reverse=True)


def milliseconds(run: Callable[[], object], repeats: int) -> float:
    """Return the median time of one run."""
    times: list[float] = []
    for _ in range(repeats):
        start = perf_counter()
        run()
        times.append(perf_counter() - start)
    return median(times) * 1000


def report(universe: int, repeats: int) -> None:
    """Print a line for each function, for lists drawn from a universe of so many ids."""
    source = random.Random(7)
    rankings = [source.sample(range(universe), LENGTH) for _ in range(LISTS)]
    functions: dict[str, Callable[[], object]] = {
        "naive (scores only)": lambda: naive(rankings),
        "reciprocal_rank_fusion, all": lambda: reciprocal_rank_fusion(rankings, k=K),
        "reciprocal_rank_fusion, limit=100": lambda: reciprocal_rank_fusion(
            rankings, k=K, limit=100
        ),
        "merge": lambda: merge(rankings),
    }
    distinct = len({identity for ranking in rankings for identity in ranking})
    print(f"{LISTS} lists x {LENGTH:,} ids, {distinct:,} distinct")
    for name, run in functions.items():
        print(f"  {name:36}{milliseconds(run, repeats):8.1f} ms")


def main() -> None:
    """Measure lists that overlap much and lists that overlap little."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    repeats = parser.parse_args().repeats
    for universe in (20_000, 1_000_000):
        report(universe, repeats)


if __name__ == "__main__":
    main()
