"""Measurements of profiles on gold sets, and their tables, for `memsense eval`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memsense import evaluation
from memsense.cli.progress import question_progress
from memsense.cli.render import add_row, console, table
from memsense.cli.target import Target
from memsense.evaluation.figure import draw_recall
from memsense.ingest import ReadOptions
from memsense.search.profiles import Profile

if TYPE_CHECKING:
    from memsense.client.memory import MemSense

DIFFERENCE_COLUMNS = {
    "R@1": "session.recall@1",
    "R@5": "session.recall@5",
    "MRR": "session.mrr",
    "T@1": "turn.recall@1",
    "T@5": "turn.recall@5",
    "T@10": "turn.recall@10",
    "T@20": "turn.recall@20",
}
"""Heading and metric of intervals and gains; --json has all metrics."""

MEASURE_COLUMNS = {
    "R@1": ("session", "recall@1"),
    "R@3": ("session", "recall@3"),
    "R@5": ("session", "recall@5"),
    "R@10": ("session", "recall@10"),
    "MRR": ("session", "mrr"),
    "nDCG": ("session", "ndcg@10"),
    "T@1": ("turn", "recall@1"),
    "T@5": ("turn", "recall@5"),
    "T@10": ("turn", "recall@10"),
    "T@20": ("turn", "recall@20"),
    "+10": ("turn", "shown@10"),
}
"""Heading and place of the number in a summary; --json has all of them."""

KIND_COLUMNS = {
    name: MEASURE_COLUMNS[name] for name in ("R@5", "R@10", "MRR", "T@5", "T@10", "T@20", "+10")
}
GAINS = ("T@5", "T@10", "T@20")
"""Headings of the gains over plain fusion."""

CARRIED_BUDGETS = ("200", "500", "1000", "2000")
"""Columns of the table of prompts: their tokens."""

SIGNIFICANT = 0.05
SIGNIFICANCE = f"* p < {SIGNIFICANT} by sign flips, each metric by itself"


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """Options of a measurement beyond the profiles' plain measures, as a command declares them.

    Args:
        ablate: Also measure without each route and signal in turn.
        sweep: Also measure with these values of a constant, such as lexical=1,2,3. Repeatable.
        plain: Also measure plain fusion of BM25 and cosine (RRF, k = 60).
        split: Only questions of this split, such as 5-9.
        intervals: Add 95% bootstrap intervals.
        by_conversation: Resample whole conversations instead of questions.
        context: Also measure prompts: gold by tokens, and tokens that unrelated prompts get.
        figure: Draw recall@k of each profile as a PNG.
        questions_out: Write each question's results as JSON lines.
    """

    ablate: bool = False
    sweep: Annotated[list[str] | None, typer.Option(metavar="NAME=V1,V2")] = None
    plain: bool = False
    split: Annotated[str | None, typer.Option(metavar="NAME")] = None
    intervals: Annotated[bool, typer.Option("--ci")] = False
    by_conversation: bool = False
    context: bool = False
    figure: Annotated[Path | None, typer.Option(metavar="FILE", dir_okay=False)] = None
    questions_out: Annotated[Path | None, typer.Option(metavar="FILE", dir_okay=False)] = None

    def __post_init__(self) -> None:
        # A fault in it is reported before a long ingest.
        evaluation.parse_grid(self.sweep or ())

    def variants(self, profile: Profile) -> list[Profile]:
        """Return the profiles to compare with this one."""
        return [
            *(evaluation.BASELINES if self.plain else ()),
            *(evaluation.ablations(profile) if self.ablate else ()),
            *evaluation.grid_profiles(profile, evaluation.parse_grid(self.sweep or ())),
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A profile's summary, its variants compared with it, and other requested measurements."""

    summary: Mapping[str, Any]
    intervals: Mapping[str, Mapping[str, evaluation.Interval]]
    rows: Sequence[evaluation.ProfileRow]
    context: Mapping[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the family as plain values: the summary, and the other parts that it has."""
        intervals = {
            split: {name: asdict(interval) for name, interval in metrics.items()}
            for split, metrics in self.intervals.items()
        }
        return {
            **self.summary,
            **({"intervals": intervals} if intervals else {}),
            **({"variants": [row.as_dict() for row in self.rows[1:]]} if self.rows else {}),
            **({"context": self.context} if self.context else {}),
        }


def study_profiles(
    memory: "MemSense", gold: evaluation.GoldSet, profiles: Sequence[Profile], study: Study
) -> list[Family]:
    """Measure each profile and its variants, and write the requested files."""
    runs = [
        [measure(memory, gold, variant) for variant in (profile, *study.variants(profile))]
        for profile in profiles
    ]
    all_runs = list(chain.from_iterable(runs))
    if path := study.questions_out:
        for run in all_runs:
            # Several profiles need a file each: NAME.PROFILE.SUFFIX.
            name = f"{path.stem}.{run.profile.name}{path.suffix}".replace("/", "-")
            evaluation.write_results(
                path.with_name(name) if len(all_runs) > 1 else path, run.results
            )
    if study.figure:
        draw_recall(study.figure, {run.profile.name: run.results for run in all_runs})
    families: list[Family] = []
    for base, *variants in runs:
        clustered = study.by_conversation
        # Bootstrapping takes seconds, so that only --ci asks for it.
        intervals = (
            evaluation.intervals_by_split(base.results, by_conversation=clustered)
            if study.intervals
            else {}
        )
        rows = evaluation.tabulate([base, *variants], by_conversation=clustered) if variants else ()
        summary = evaluation.summarise(base.results, gold, base.profile.name)
        context = measure_context(memory, gold, base.profile) if study.context else None
        families.append(Family(summary=summary, intervals=intervals, rows=rows, context=context))
    return families


def measure(
    memory: "MemSense", gold: evaluation.GoldSet, profile: Profile
) -> evaluation.ProfileRun:
    """Search for each question of the gold set with the profile, under a progress bar."""
    with question_progress(profile.name, len(gold.questions)) as on_question:
        results = evaluation.evaluate(memory, gold, profile=profile, on_question=on_question)
    return evaluation.ProfileRun(profile=profile, results=results)


def measure_context(
    memory: "MemSense", gold: evaluation.GoldSet, profile: Profile
) -> dict[str, Any]:
    """Measure the prompts of the gold questions, and of prompts that concern nothing stored."""
    with question_progress(f"{profile.name}: prompts", len(gold.questions)) as on_question:
        results = evaluation.measure_prompts(memory, gold, profile=profile, on_question=on_question)
    prompts = evaluation.read_unrelated()
    with question_progress("unrelated prompts", len(prompts), "prompts") as on_prompt:
        unrelated = evaluation.measure_unrelated(
            memory, gold, profile=profile, prompts=prompts, on_prompt=on_prompt
        )
    return evaluation.summarise_prompts(results, unrelated)


def print_measures(summary: Mapping[str, Any]) -> None:
    """Print one profile's table: a row for each split, then a row for each category."""
    rows = table(
        "", "questions", *MEASURE_COLUMNS, "p50 ms", "p95 ms",
        title=f"profile {summary['profile']}",
        right=("questions", *MEASURE_COLUMNS, "p50 ms", "p95 ms"),
    )  # fmt: skip
    splits: Mapping[str, Any] = summary["splits"]
    for name, split in splits.items():
        times = [f"{split['search_ms'][key]:.1f}" for key in ("p50", "p95")]
        shares = _format_shares(split, MEASURE_COLUMNS)
        add_row(rows, name, str(split["questions"]), *shares, *times)
    rows.add_section()
    for category, means in splits["all"]["by_category"].items():
        add_row(rows, f"category {category}", "", *_format_shares(means, MEASURE_COLUMNS), "", "")
    to = console()
    to.print(rows)
    skipped = splits["all"]["skipped"]
    to.print(
        f"shares in percent; {skipped} questions without usable evidence left out", style="dim"
    )


def _format_shares(means: Mapping[str, Any], columns: Mapping[str, tuple[str, str]]) -> list[str]:
    shares = [means.get(group, {}).get(metric) for group, metric in columns.values()]
    return [_format_share(share) for share in shares]


def _format_share(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def print_context(profile: str, contexts: Mapping[str, Mapping[str, Any]]) -> None:
    """Print the gold that each writer's prompts carry, then what unrelated prompts get.

    `contexts` are measures by the kind of conversation, empty if there is one only.
    """
    carried = table(
        "", "prompt", *CARRIED_BUDGETS,
        title=f"profile {profile}: gold turns carried by tokens", right=CARRIED_BUDGETS,
    )  # fmt: skip
    headings = ("silent", "mean", "median")
    lengths = table("", "prompt", *headings, title="tokens on unrelated prompts", right=headings)
    for kind, context in contexts.items():
        for name, split in context["splits"].items():
            on = f"{kind} {name}".lstrip()
            # Chats between people have no assistant, so that all their turns are a user's.
            for writer, budgets in split["writers"].items():
                shares = [budgets[budget]["user_turns"] for budget in CARRIED_BUDGETS]
                add_row(carried, on, writer, *map(_format_share, shares))
            ceiling = _format_share(split["ceiling"]["user_turns"])
            add_row(carried, on, "20 best hits", *[ceiling] * len(CARRIED_BUDGETS))
            carried.add_section()
        for name, split in context["unrelated"].items():
            for writer, measures in split["writers"].items():
                tokens = [f"{measures[key]:.0f}" for key in ("mean_tokens", "median_tokens")]
                silent = _format_share(measures["silent"])
                add_row(lengths, f"{kind} {name}".lstrip(), writer, silent, *tokens)
            lengths.add_section()
    to = console()
    to.print(carried)
    to.print("percent of the user's gold turns; --json has all turns", style="dim")
    to.print(lengths)
    count = sum(context["unrelated"]["all"]["prompts"] for context in contexts.values())
    to.print(f"{count} pairs of a prompt and a memory; silent in percent", style="dim")


def print_intervals(intervals: Mapping[str, Mapping[str, evaluation.Interval]]) -> None:
    """Print a row for each split: means with their 95% intervals, in percent."""
    rows = table("95% intervals", *DIFFERENCE_COLUMNS, right=tuple(DIFFERENCE_COLUMNS))
    for split, metrics in intervals.items():
        values = [metrics.get(name) for name in DIFFERENCE_COLUMNS.values()]
        texts = [
            f"{100 * value.mean:.1f} [{100 * value.low:.1f}, {100 * value.high:.1f}]"
            if value
            else "-"
            for value in values
        ]
        add_row(rows, split, *texts)
    console().print(rows)


def print_variants(variants: Sequence[evaluation.ProfileRow]) -> None:
    """Print a row for each variant: its gain over the profile itself, in percentage points."""
    base = variants[0].profile
    rows = table(f"gain over {base}", *DIFFERENCE_COLUMNS, right=tuple(DIFFERENCE_COLUMNS))
    for variant in variants[1:]:
        gains = {gain.metric: gain for gain in variant.differences}
        texts = [_format_gain(gains[metric]) for metric in DIFFERENCE_COLUMNS.values()]
        add_row(rows, variant.profile.removeprefix(f"{base} "), *texts)
    to = console()
    to.print(rows)
    to.print(SIGNIFICANCE, style="dim")


def _format_gain(gain: evaluation.Difference) -> str:
    """Return a gain in percentage points with its interval; a star marks a significant one."""
    star = "*" if gain.p_value < SIGNIFICANT else " "
    points = f"{100 * gain.difference:+.1f}{star}"
    return f"{points} [{100 * gain.low:+.1f}, {100 * gain.high:+.1f}]"


def print_differences(a: str, b: str, differences: Iterable[evaluation.Difference]) -> None:
    """Print a row for each metric: both means, the gain, p-value, wins, ties and losses."""
    headings = (a, b, "gain", "95% interval", "p", "wins", "ties", "losses")
    rows = table("metric", *headings, right=headings)
    for gain in differences:
        add_row(
            rows,
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
    to.print(rows)
    to.print("shares in percent; p by sign flips, each metric by itself", style="dim")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Results of each profile and each baseline on one gold set, by split.

    `contexts` has the measures of prompts by profile, if they were requested.
    """

    name: str
    summaries: Sequence[Mapping[str, Any]]
    contexts: Mapping[str, Mapping[str, Any]]
    gains: Mapping[tuple[str, str], Mapping[str, Sequence[evaluation.Difference]]]

    def as_dict(self) -> dict[str, Any]:
        """Return the summaries, the gains over each baseline and any contexts as plain values."""
        return {
            "profiles": list(self.summaries),
            "gains": [
                {
                    "profile": profile,
                    "over": baseline,
                    "splits": {
                        split: [gain.as_dict() for gain in gains] for split, gains in splits.items()
                    },
                }
                for (profile, baseline), splits in self.gains.items()
            ],
            **({"contexts": dict(self.contexts)} if self.contexts else {}),
        }


def gold_target(target: Target, file: Path) -> Target:
    """Return the target with a namespace for this file alone, unless --namespace names one."""
    if target.namespace is not None:
        return target
    settings = target.settings()
    # The vectors of a namespace are of one model: each embedder gets its own copy of the file.
    embedder = f"{settings.embedder}:{settings.embedding_model}:{settings.embedding_dimension}"
    return replace(target, namespace=evaluation.gold_namespace(file, embedder))


def store_gold(memory: "MemSense", conversations: Sequence[evaluation.GoldConversation]) -> None:
    """Store the conversations that are not stored yet, under a progress bar."""
    with question_progress("storing", len(conversations), "conversations") as on_conversation:
        evaluation.ingest_gold(memory, conversations, on_conversation=on_conversation)


def compare_kinds(
    target: Target,
    files: Mapping[str, Path],
    choose: Callable[["MemSense"], Sequence[Profile]],
    *,
    by_conversation: bool,
    context: bool,
) -> list[Kind]:
    """Store each kind's file, and measure the chosen profiles and the baselines on it."""
    kinds: list[Kind] = []
    for name, file in files.items():
        conversations = None if name == "locomo" else evaluation.read_beam(file)
        gold = (
            evaluation.read_locomo(file)
            if conversations is None
            else evaluation.gold_set(conversations, file.stem)
        )
        with gold_target(target, file).open() as memory:
            profiles = choose(memory)
            # LoCoMo is a log format, too; BEAM's conversations are stored from the gold set.
            if conversations is None:
                memory.ingest(file, options=ReadOptions(format="locomo"))
            else:
                store_gold(memory, conversations)
            runs = [measure(memory, gold, profile) for profile in profiles]
            baselines = [measure(memory, gold, profile) for profile in evaluation.BASELINES]
            contexts = {
                profile.name: measure_context(memory, gold, profile)
                for profile in (profiles if context else ())
            }
        kind = Kind(
            name=name,
            summaries=[
                evaluation.summarise(run.results, gold, run.profile.name)
                for run in (*runs, *baselines)
            ],
            contexts=contexts,
            gains={
                (run.profile.name, baseline.profile.name): evaluation.differences_by_split(
                    baseline.results, run.results, by_conversation=by_conversation
                )
                for run in runs
                for baseline in baselines
            },
        )
        kinds.append(kind)
    return kinds


def print_kinds(kinds: Sequence[Kind]) -> None:
    """Print a row for each profile, kind and split; then the gains over each baseline."""
    rows = table("profile", "on", "questions", *KIND_COLUMNS, right=("questions", *KIND_COLUMNS))
    for summaries in zip(*(kind.summaries for kind in kinds), strict=True):
        for kind, summary in zip(kinds, summaries, strict=True):
            for split, means in summary["splits"].items():
                shares = _format_shares(means, KIND_COLUMNS)
                on = f"{kind.name} {split}"
                add_row(rows, summary["profile"], on, means["questions"], *shares)
        rows.add_section()
    to = console()
    to.print(rows)
    to.print("shares in percent", style="dim")

    rows = table("gain of", "over", "on", *GAINS, right=GAINS)
    metrics = [".".join(KIND_COLUMNS[name]) for name in GAINS]
    for profile, baseline in kinds[0].gains:
        for kind in kinds:
            for split, gains in kind.gains[profile, baseline].items():
                by_metric = {gain.metric: gain for gain in gains}
                texts = [_format_gain(by_metric[metric]) for metric in metrics]
                add_row(rows, profile, baseline, f"{kind.name} {split}", *texts)
        rows.add_section()
    to.print(rows)
    to.print(f"percentage points with 95% intervals; {SIGNIFICANCE}", style="dim")

    for profile in kinds[0].contexts:
        print_context(profile, {kind.name: kind.contexts[profile] for kind in kinds})
