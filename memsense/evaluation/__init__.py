"""Measures recall on gold sets, by public names only; nothing of it is in the search path."""

from memsense.evaluation.gold import GoldQuestion, GoldSet
from memsense.evaluation.locomo import read_locomo
from memsense.evaluation.run import QuestionResult, evaluate, summarise

__all__ = ["GoldQuestion", "GoldSet", "QuestionResult", "evaluate", "read_locomo", "summarise"]
