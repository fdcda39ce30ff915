"""Measurement of recall on gold sets, by the public API; no search imports it."""

from memsense.evaluation.beam import RETRIEVAL, read_beam
from memsense.evaluation.comparison import (
    ProfileRow,
    ProfileRun,
    compare_models,
    evaluate_profiles,
    sweep,
    tabulate,
)
from memsense.evaluation.gold import GoldQuestion, GoldSet
from memsense.evaluation.jsonl import (
    GoldConversation,
    gold_namespace,
    gold_set,
    ingest_gold,
    read_gold,
)
from memsense.evaluation.locomo import read_locomo
from memsense.evaluation.results import read_results, write_results
from memsense.evaluation.run import QuestionResult, evaluate, summarise
from memsense.evaluation.statistics import (
    Difference,
    Interval,
    compare,
    differences_by_split,
    intervals,
    intervals_by_split,
)
from memsense.evaluation.variants import (
    BASELINES,
    BM25,
    COSINE,
    FUSION,
    PARTS,
    ablations,
    grid_profiles,
    parse_grid,
    without,
)

__all__ = [
    "BASELINES",
    "BM25",
    "COSINE",
    "FUSION",
    "PARTS",
    "RETRIEVAL",
    "Difference",
    "GoldConversation",
    "GoldQuestion",
    "GoldSet",
    "Interval",
    "ProfileRow",
    "ProfileRun",
    "QuestionResult",
    "ablations",
    "compare",
    "compare_models",
    "differences_by_split",
    "evaluate",
    "evaluate_profiles",
    "gold_namespace",
    "gold_set",
    "grid_profiles",
    "ingest_gold",
    "intervals",
    "intervals_by_split",
    "parse_grid",
    "read_beam",
    "read_gold",
    "read_locomo",
    "read_results",
    "summarise",
    "sweep",
    "tabulate",
    "without",
    "write_results",
]
