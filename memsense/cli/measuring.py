"""What every `memsense eval` command does with a gold set: measure profiles, and tell how sure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memsense.cli.progress import question_progress
from memsense.cli.render import add_row, console, table
from memsense.evaluation import (
    BASELINES,
    Difference,
    GoldSet,
    Interval,
    ProfileRow,
    ProfileRun,
    ablations,
    evaluate,
    grid_profiles,
    intervals_by_split,
    parse_grid,
    summarise,
    tabulate,
    write_results,
)
from memsense.evaluation.figure import draw_recall
from memsense.search.profiles import Profile

if TYPE_CHECKING:
    from memsense.client.memory import MemSense

SHOWN = {
    "R@1": "session.recall@1",
    "R@5": "session.recall@5",
    "MRR": "session.mrr",
    "T@5": "turn.recall@5",
    "T@10": "turn.recall@10",
    "T@20": "turn.recall@20",
}
"""Heading, and the metric; the others are in the JSON."""

SIGNIFICANT = 0.05
SIGNIFICANCE = f"* p < {SIGNIFICANT} by sign flips, each metric for itself"

Ablate = Annotated[
    bool, typer.Option("--ablate", help="also measure without each route and signal in turn")
]
Sweep = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=V1,V2", help="also measure with these values; repeatable"),
]
Intervals = Annotated[bool, typer.Option("--ci", help="add 95% bootstrap intervals")]
ByConversation = Annotated[
    bool, typer.Option("--by-conversation", help="resample whole conversations, not questions")
]
Split = Annotated[
    str | None, typer.Option(metavar="NAME", help="only the questions of this split, e.g. 5-9")
]
Plain = Annotated[
    bool, typer.Option("--plain", help="also measure plain fusion of BM25 and cosine (RRF, k = 60)")
]
Figure = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="draw recall@k by profile as a PNG", dir_okay=False),
]
QuestionsOut = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="write what each question found, JSONL", dir_okay=False),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """What is asked for beside the profiles' plain measures."""

    ablate: bool = False
    plain: bool = False
    grid: Mapping[str, Sequence[object]]
    intervals: bool = False
    by_conversation: bool = False
    figure: Path | None = None
    questions_out: Path | None = None

    def variants(self, profile: Profile) -> list[Profile]:
        """The profiles to set against this one."""
        return [
            *(BASELINES if self.plain else ()),
            *(ablations(profile) if self.ablate else ()),
            *grid_profiles(profile, self.grid),
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A profile's summary, its intervals if asked for, and its variants set against it."""

    summary: Mapping[str, Any]
    intervals: Mapping[str, Mapping[str, Interval]]
    rows: Sequence[ProfileRow]

    def as_dict(self) -> dict[str, Any]:
        """The family as plain values: the summary, and what else was asked for."""
        found = {
            split: {name: asdict(interval) for name, interval in metrics.items()}
            for split, metrics in self.intervals.items()
        }
        return {
            **self.summary,
            **({"intervals": found} if found else {}),
            **({"variants": [row.as_dict() for row in self.rows[1:]]} if self.rows else {}),
        }


def read_grid(settings: Sequence[str] | None) -> dict[str, list[object]]:
    """The grid that --sweep names; {} without one."""
    return parse_grid(settings or ())


def study_profiles(
    memory: "MemSense", gold: GoldSet, profiles: Sequence[Profile], study: Study
) -> list[Family]:
    """Measure each profile and its variants, and write the files that were asked for."""
    runs = [
        [measure(memory, gold, variant) for variant in (profile, *study.variants(profile))]
        for profile in profiles
    ]
    everything = list(chain.from_iterable(runs))
    if study.questions_out:
        _write_all(study.questions_out, everything)
    if study.figure:
        draw_recall(study.figure, {run.profile.name: run.results for run in everything})
    return [_family(family, gold, study) for family in runs]


def measure(memory: "MemSense", gold: GoldSet, profile: Profile) -> ProfileRun:
    """What the profile finds of the gold set, under a progress bar."""
    with question_progress(profile.name, len(gold.questions)) as on_question:
        results = evaluate(memory, gold, profile=profile, on_question=on_question)
    return ProfileRun(profile=profile, results=results)


def _family(runs: Sequence[ProfileRun], gold: GoldSet, study: Study) -> Family:
    base, clustered = runs[0], study.by_conversation
    return Family(
        summary=summarise(base.results, gold, base.profile.name),
        intervals=intervals_by_split(base.results, by_conversation=clustered)
        if study.intervals
        else {},
        rows=tabulate(runs, by_conversation=clustered) if len(runs) > 1 else (),
    )


def _write_all(path: Path, runs: Sequence[ProfileRun]) -> None:
    """One file for one profile, `NAME.PROFILE.SUFFIX` for each of several."""
    for run in runs:
        name = f"{path.stem}.{run.profile.name}{path.suffix}".replace("/", "-")
        write_results(path.with_name(name) if len(runs) > 1 else path, run.results)


def print_intervals(found: Mapping[str, Mapping[str, Interval]]) -> None:
    """A row a split: means with their 95% intervals, in percent."""
    made = table("95% intervals", *SHOWN, right=tuple(SHOWN))
    for split, metrics in found.items():
        add_row(made, split, *(_told_interval(metrics.get(name)) for name in SHOWN.values()))
    console().print(made)


def _told_interval(found: Interval | None) -> str:
    if found is None:
        return "-"
    return f"{100 * found.mean:.1f} [{100 * found.low:.1f}, {100 * found.high:.1f}]"


def print_variants(rows: Sequence[ProfileRow]) -> None:
    """A row a variant: what it gains over the profile itself, in points of percent."""
    made = table(f"gain over {rows[0].profile}", *SHOWN, right=tuple(SHOWN))
    for row in rows[1:]:
        gains = {gain.metric: gain for gain in row.differences}
        told = [told_gain(gains[metric]) for metric in SHOWN.values()]
        add_row(made, row.profile.removeprefix(f"{rows[0].profile} "), *told)
    to = console()
    to.print(made)
    to.print(SIGNIFICANCE, style="dim")


def told_gain(gain: Difference) -> str:
    """A gain in points of percent with its interval, starred where it is significant."""
    star = "*" if gain.p_value < SIGNIFICANT else " "
    points = f"{100 * gain.difference:+.1f}{star}"
    return f"{points} [{100 * gain.low:+.1f}, {100 * gain.high:+.1f}]"


def print_differences(a: str, b: str, differences: Iterable[Difference]) -> None:
    """A row a metric: both means, the gain with its interval, p-value, wins, ties and losses."""
    headings = (a, b, "gain", "95% interval", "p", "wins", "ties", "losses")
    made = table("metric", *headings, right=headings)
    for gain in differences:
        add_row(
            made,
            gain.metric,
            f"{100 * gain.a:.1f}",
            f"{100 * gain.b:.1f}",
            f"{100 * gain.difference:+.1f}",
            f"[{100 * gain.low:+.1f}, {100 * gain.high:+.1f}]",
            f"{gain.p_value:.4f}",
            gain.wins,
            gain.ties,
            gain.losses,
        )
    to = console()
    to.print(made)
    to.print("shares in percent; p by sign flips, each metric for itself", style="dim")
