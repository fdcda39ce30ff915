"""Evaluation of several profiles, or of two embedding models, on one gold set."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from memsense.client.memory import MemSense
from memsense.evaluation.gold import GoldSet
from memsense.evaluation.run import QuestionResult, evaluate
from memsense.evaluation.statistics import Difference, Interval, compare, intervals
from memsense.evaluation.variants import grid_profiles
from memsense.search.profiles import Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRun:
    """Results of one profile, a result for each question."""

    profile: Profile
    results: Sequence[QuestionResult]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRow:
    """Means of a profile with their intervals, and its gains over the first profile.

    Attributes:
        profile: Name of the profile.
        means: Intervals by metric, such as `session.recall@5`.
        differences: Gains over the first profile; empty in its own row.
    """

    profile: str
    means: Mapping[str, Interval]
    differences: Sequence[Difference]

    def as_dict(self) -> dict[str, Any]:
        """Return the row as plain values, ready for JSON."""
        return {
            "profile": self.profile,
            "means": {name: asdict(interval) for name, interval in self.means.items()},
            "differences": [difference.as_dict() for difference in self.differences],
        }


def evaluate_profiles(
    memory: MemSense,
    gold: GoldSet,
    profiles: Sequence[Profile],
    *,
    on_question: Callable[[], object] = lambda: None,
) -> list[ProfileRun]:
    """Evaluate several profiles on one gold set, one after the other.

    Args:
        memory: The memory that holds the gold set's conversations.
        gold: The questions.
        profiles: The profiles to evaluate.
        on_question: Called after each question of each profile.

    Raises:
        EvaluationError: If a user of the gold set has no memory.
    """
    return [
        ProfileRun(
            profile=profile,
            results=evaluate(memory, gold, profile=profile, on_question=on_question),
        )
        for profile in profiles
    ]


def sweep(
    memory: MemSense,
    gold: GoldSet,
    base: Profile,
    grid: Mapping[str, Sequence[object]],
    *,
    on_question: Callable[[], object] = lambda: None,
) -> list[ProfileRun]:
    """Evaluate a profile, and then each combination of the grid's values.

    Args:
        memory: The memory that holds the gold set's conversations.
        gold: The questions.
        base: The profile to change; the first run is its own.
        grid: Values to try by constant or route, such as `{"rrf_k": [5, 15, 60]}`.
        on_question: Called after each question of each profile.
    """
    profiles = [base, *grid_profiles(base, grid)]
    return evaluate_profiles(memory, gold, profiles, on_question=on_question)


def tabulate(
    runs: Sequence[ProfileRun], *, by_conversation: bool = False, seed: int = 0
) -> list[ProfileRow]:
    """Return a row for each run: its means, and its differences to the first run.

    Args:
        runs: Runs over the same questions.
        by_conversation: Whether whole conversations are resampled; else single questions.
        seed: Seed of the resampling.
    """
    return [
        ProfileRow(
            profile=run.profile.name,
            means=intervals(run.results, by_conversation=by_conversation, seed=seed),
            differences=compare(
                runs[0].results, run.results, by_conversation=by_conversation, seed=seed
            )
            if number
            else (),
        )
        for number, run in enumerate(runs)
    ]


def compare_models(
    memory: MemSense,
    gold: GoldSet,
    one: str,
    other: str,
    *,
    profile: Profile | None = None,
    on_question: Callable[[], object] = lambda: None,
) -> Sequence[Difference]:
    """Return the gain by searching with the model `other` in place of `one`, metric by metric.

    Nothing is switched: searches of the memory itself go on with the model in use.

    Args:
        memory: The memory that holds the gold set's conversations.
        gold: The questions.
        one: A model that the memory has vectors of.
        other: Another such model.
        profile: The profile of both runs; by default the one in force.
        on_question: Called after each question of each model.

    Raises:
        NotFoundError: If the memory has no vectors of a model.
        EvaluationError: If a user of the gold set has no memory.
    """
    profile = profile or memory.profiles.get()
    # One profile for both, so that the models are all that differs.
    before, after = (
        evaluate(memory.models.trial(name), gold, profile=profile, on_question=on_question)
        for name in (one, other)
    )
    return compare(before, after)
