"""Measures recall on gold sets, by public names only; nothing of it is in the search path."""

from memsense.evaluation.gold import GoldQuestion, GoldSet
from memsense.evaluation.jsonl import gold_namespace, gold_set, ingest_gold, read_gold
from memsense.evaluation.locomo import read_locomo
from memsense.evaluation.profile_runs import (
    ProfileRow,
    ProfileRun,
    evaluate_profiles,
    sweep,
    tabulate,
)
from memsense.evaluation.results import read_results, write_results
from memsense.evaluation.run import QuestionResult, evaluate, summarise
from memsense.evaluation.statistics import (
    Difference,
    Interval,
    compare,
    intervals,
    intervals_by_split,
)
from memsense.evaluation.variants import PARTS, ablations, grid_profiles, parse_grid, without

__all__ = [
    "PARTS",
    "Difference",
    "GoldQuestion",
    "GoldSet",
    "Interval",
    "ProfileRow",
    "ProfileRun",
    "QuestionResult",
    "ablations",
    "compare",
    "evaluate",
    "evaluate_profiles",
    "gold_namespace",
    "gold_set",
    "grid_profiles",
    "ingest_gold",
    "intervals",
    "intervals_by_split",
    "parse_grid",
    "read_gold",
    "read_locomo",
    "read_results",
    "summarise",
    "sweep",
    "tabulate",
    "without",
    "write_results",
]
