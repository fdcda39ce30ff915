"""Evaluates a memory under two of its embedding models on one gold set."""

from collections.abc import Callable, Sequence

from memsense.client.memory import MemSense
from memsense.evaluation.gold import GoldSet
from memsense.evaluation.run import evaluate
from memsense.evaluation.statistics import Difference, compare
from memsense.search.profiles import Profile


def compare_models(
    memory: MemSense,
    gold: GoldSet,
    one: str,
    other: str,
    *,
    profile: Profile | None = None,
    on_question: Callable[[], object] = lambda: None,
) -> Sequence[Difference]:
    """What the memory gains by searching with `other` in place of `one`, by metric.

    Both are models that it has vectors of; nothing is switched. Without a `profile`, the one in
    force. Raises NotFoundError for a model that was never added, EvaluationError when a user of the
    gold set has no memory.
    """
    chosen = profile or memory.profiles.get()
    before, after = (
        evaluate(memory.models.trial(name), gold, profile=chosen, on_question=on_question)
        for name in (one, other)
    )
    return compare(before, after)
