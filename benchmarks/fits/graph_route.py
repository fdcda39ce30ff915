"""Worth of the graph route on LoCoMo, by category, and its cost.

    python benchmarks/fits/graph_route.py ../shared/eval/locomo10.json --database-url URL

The weight is chosen on conversations 0-4; conversations 5-9 are asked with that weight and with
none. The database must hold the file (memsense ingest). Times are of the recall statement, both
profiles asked in turn, so that they share whatever else the machine does.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median

from memsense import MemSense
from memsense.evaluation import GoldSet, QuestionResult, compare, evaluate, read_locomo
from memsense.search.profiles import BALANCED, Profile

# Tried on conversations 0-4; conversations 5-9 are searched once, with the chosen weight.
WEIGHTS = (0.0, 0.25, 0.5, 1.0, 2.0)
CATEGORIES: Mapping[str, str] = {
    "1": "multi-hop",
    "2": "temporal",
    "3": "open-domain",
    "4": "single-hop",
    "5": "adversarial",
}
TIMED_EVERY = 5
METRICS = ("session.recall@5", "turn.recall@5", "turn.recall@10", "turn.recall@20")


def weighted(weight: float) -> Profile:
    """Return the default profile with this weight of the graph route."""
    return BALANCED.override(name=f"graph {weight:g}", graph=weight)


def select(gold: GoldSet, split: str) -> GoldSet:
    """Return the questions of one split."""
    questions = [question for question in gold.questions if question.split == split]
    return replace(gold, questions=questions)


def by_category(results: Sequence[QuestionResult]) -> Iterator[tuple[str, list[QuestionResult]]]:
    """Return all results, and those of each category."""
    yield "all", list(results)
    for category, name in CATEGORIES.items():
        yield name, [result for result in results if result.category == category]


def measure(results: Sequence[QuestionResult]) -> list[float]:
    """Return R@5, T@5, T@10 and T@20 in percent."""
    turns = [fmean(item.turn[f"recall@{k}"] for item in results) for k in (5, 10, 20)]
    return [100 * value for value in (fmean(i.session["recall@5"] for i in results), *turns)]


def objective(results: Sequence[QuestionResult]) -> float:
    """Return the mean of the four measures, by which the weight is chosen."""
    return fmean(measure(results))


def print_rows(split: str, weight: float, results: Sequence[QuestionResult]) -> None:
    """Print a line of a Markdown table for each category."""
    for name, members in by_category(results):
        figures = " | ".join(f"{value:.1f}" for value in measure(members))
        print(f"| {split} | {name} ({len(members)}) | {weight:g} | {figures} |", flush=True)


def choose_weight(memory: MemSense, gold: GoldSet) -> float:
    """Return the weight with the best objective on the questions; print every weight."""
    reached: dict[float, float] = {}
    for weight in WEIGHTS:
        results = evaluate(memory, gold, profile=weighted(weight))
        reached[weight] = objective(results)
        print_rows("0-4", weight, results)
    return max(WEIGHTS[1:], key=lambda weight: reached[weight])


def report(memory: MemSense, gold: GoldSet, weight: float) -> None:
    """Print both profiles on questions that nothing was chosen on, and the interval of the gain."""
    without = evaluate(memory, gold, profile=weighted(0.0))
    using = evaluate(memory, gold, profile=weighted(weight))
    print_rows("5-9", 0.0, without)
    print_rows("5-9", weight, using)
    for (name, before), (_, after) in zip(by_category(without), by_category(using), strict=True):
        for row in compare(before, after):
            if row.metric in METRICS:
                print(
                    f"{name}: {row.metric} {100 * row.difference:+.2f}"
                    f" [{100 * row.low:+.2f}, {100 * row.high:+.2f}], p = {row.p_value:.3f},"
                    f" {row.wins} better, {row.losses} worse"
                )


def time_recall(memory: MemSense, gold: GoldSet, weight: float) -> None:
    """Return the median milliseconds of the recall statement without and with the route."""
    profiles = (weighted(0.0), weighted(weight))
    times: dict[str, list[float]] = {profile.name: [] for profile in profiles}
    for question in gold.questions[::TIMED_EVERY]:
        for profile in profiles:  # once unmeasured, so that plans and pages are as warm
            memory.search(question.question, user_id=question.user_id, profile=profile)
        for profile in profiles:
            result = memory.search(question.question, user_id=question.user_id, profile=profile)
            times[profile.name].append(result.timings_ms["recall"])
    without, using = (median(times[profile.name]) for profile in profiles)
    paired = zip(*times.values(), strict=True)
    ratio = median(after / before for before, after in paired)
    print(f"recall {without:.2f} ms without, {using:.2f} ms with it; median ratio {ratio:.2f}")


def main() -> None:
    """Choose the weight, report it, time it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("locomo", type=Path)
    parser.add_argument("--database-url")
    parser.add_argument("--weight", type=float, help="report this weight instead of choosing one")
    options = parser.parse_args()
    gold = read_locomo(options.locomo)
    with MemSense.open(options.database_url) as memory:
        print("| conversations | questions | weight | R@5 | T@5 | T@10 | T@20 |")
        print("| --- | --- | --- | --- | --- | --- | --- |", flush=True)
        weight = options.weight or choose_weight(memory, select(gold, "0-4"))
        print(f"chosen: {weight:g}", flush=True)
        report(memory, select(gold, "5-9"), weight)
        time_recall(memory, gold, weight)


if __name__ == "__main__":
    main()
