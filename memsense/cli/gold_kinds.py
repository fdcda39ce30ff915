"""Gold sets of each kind in places of their own, and every profile measured on both kinds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memsense.cli.measuring import SIGNIFICANCE, measure, told_gain
from memsense.cli.progress import question_progress
from memsense.cli.render import add_row, console, table
from memsense.cli.target import Target
from memsense.evaluation import (
    BASELINES,
    Difference,
    GoldConversation,
    GoldSet,
    ProfileRun,
    differences_by_split,
    gold_namespace,
    gold_set,
    ingest_gold,
    read_beam,
    read_locomo,
    summarise,
)
from memsense.ingest import ReadOptions
from memsense.search.profiles import Profile

if TYPE_CHECKING:
    from memsense.client.memory import MemSense

COLUMNS = {
    "R@5": ("session", "recall@5"),
    "R@10": ("session", "recall@10"),
    "MRR": ("session", "mrr"),
    "T@5": ("turn", "recall@5"),
    "T@10": ("turn", "recall@10"),
    "T@20": ("turn", "recall@20"),
}
GAINS = ("T@5", "T@10", "T@20")
"""What is told of the gains over plain fusion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What each profile and each baseline found on one gold set, by split."""

    name: str
    summaries: Sequence[Mapping[str, Any]]
    gains: Mapping[tuple[str, str], Mapping[str, Sequence[Difference]]]

    def as_dict(self) -> dict[str, Any]:
        """The summaries, and what each profile gains over each baseline, as plain values."""
        return {
            "profiles": list(self.summaries),
            "gains": [
                {
                    "profile": profile,
                    "over": baseline,
                    "splits": {
                        split: [gain.as_dict() for gain in gains] for split, gains in found.items()
                    },
                }
                for (profile, baseline), found in self.gains.items()
            ],
        }


def own_place(target: Target, file: Path) -> Target:
    """The namespace that --namespace names, else one of the file's own."""
    if target.namespace is not None:
        return target
    settings = target.settings()
    embedder = f"{settings.embedder}:{settings.embedding_model}:{settings.embedding_dimension}"
    return replace(target, namespace=gold_namespace(file, embedder))


def store_gold(memory: "MemSense", conversations: Sequence[GoldConversation]) -> None:
    """Store the conversations, where they aren't yet, under a progress bar."""
    with question_progress("storing", len(conversations), "conversations") as on_conversation:
        ingest_gold(memory, conversations, on_conversation=on_conversation)


def compare_kinds(
    target: Target,
    files: Mapping[str, Path],
    choose: Callable[["MemSense"], Sequence[Profile]],
    *,
    by_conversation: bool,
) -> list[Kind]:
    """Every chosen profile beside the baselines, on each kind's file, which is stored first."""
    found: list[Kind] = []
    for name, file in files.items():
        gold, store = _read_kind(name, file)
        with own_place(target, file).open() as memory:
            profiles = choose(memory)
            store(memory)
            runs = [measure(memory, gold, profile) for profile in (*profiles, *BASELINES)]
        found.append(_as_kind(name, gold, runs, len(profiles), by_conversation=by_conversation))
    return found


def _read_kind(name: str, file: Path) -> tuple[GoldSet, Callable[["MemSense"], object]]:
    """The gold set of a file, and how to store its conversations."""
    if name == "locomo":
        options = ReadOptions(format="locomo")
        return read_locomo(file), lambda memory: memory.ingest(file, options=options)
    conversations = read_beam(file)
    return gold_set(conversations, file.stem), lambda memory: store_gold(memory, conversations)


def _as_kind(
    name: str, gold: GoldSet, runs: Sequence[ProfileRun], count: int, *, by_conversation: bool
) -> Kind:
    """The first `count` runs are the profiles', the others the baselines'."""
    return Kind(
        name=name,
        summaries=[summarise(run.results, gold, run.profile.name) for run in runs],
        gains={
            (run.profile.name, baseline.profile.name): differences_by_split(
                baseline.results, run.results, by_conversation=by_conversation
            )
            for run in runs[:count]
            for baseline in runs[count:]
        },
    )


def print_kinds(kinds: Sequence[Kind]) -> None:
    """A row a profile, kind and split; then what each profile gains over each baseline."""
    made = table("profile", "on", "questions", *COLUMNS, right=("questions", *COLUMNS))
    for summaries in zip(*(kind.summaries for kind in kinds), strict=True):
        for kind, summary in zip(kinds, summaries, strict=True):
            for split, means in summary["splits"].items():
                shares = (means[group].get(metric) for group, metric in COLUMNS.values())
                told = ["-" if share is None else f"{100 * share:.1f}" for share in shares]
                on = f"{kind.name} {split}"
                add_row(made, summary["profile"], on, means["questions"], *told)
        made.add_section()
    to = console()
    to.print(made)
    to.print("shares in percent", style="dim")
    _print_gains(kinds)


def _print_gains(kinds: Sequence[Kind]) -> None:
    made = table("gain of", "over", "on", *GAINS, right=GAINS)
    metrics = [".".join(COLUMNS[name]) for name in GAINS]
    for profile, baseline in kinds[0].gains:
        for kind in kinds:
            for split, gains in kind.gains[profile, baseline].items():
                by_metric = {gain.metric: gain for gain in gains}
                told = [told_gain(by_metric[metric]) for metric in metrics]
                add_row(made, profile, baseline, f"{kind.name} {split}", *told)
        made.add_section()
    to = console()
    to.print(made)
    to.print(f"points of percent with 95% intervals; {SIGNIFICANCE}", style="dim")
