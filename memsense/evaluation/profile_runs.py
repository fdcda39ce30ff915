"""Evaluates several profiles on one gold set and sets each against the first."""

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
    """What a profile found."""

    profile: Profile
    results: Sequence[QuestionResult]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRow:
    """A profile's means with their intervals, and what it gains over the first profile."""

    profile: str
    means: Mapping[str, Interval]
    differences: Sequence[Difference]

    def as_dict(self) -> dict[str, Any]:
        """The row as plain values, ready for JSON."""
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
    """Ask every question with every profile, one profile after the other."""
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
    """The base, then each combination of the grid's values, e.g. `{"rrf_k": [5, 15, 60]}`."""
    profiles = [base, *grid_profiles(base, grid)]
    return evaluate_profiles(memory, gold, profiles, on_question=on_question)


def tabulate(
    runs: Sequence[ProfileRun], *, by_conversation: bool = False, seed: int = 0
) -> list[ProfileRow]:
    """A row a run: means, and differences to the first run (none in its own row)."""
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
