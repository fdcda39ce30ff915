"""`memsense eval`: recall on gold questions, as a table and as JSON."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from memsense.cli.app import new_app
from memsense.cli.gold_kinds import compare_kinds, own_place, print_kinds, store_gold
from memsense.cli.ingest import run_with_progress
from memsense.cli.measuring import (
    Ablate,
    ByConversation,
    Family,
    Figure,
    Intervals,
    Plain,
    QuestionsOut,
    Split,
    Study,
    Sweep,
    print_differences,
    print_intervals,
    print_variants,
    read_grid,
    study_profiles,
)
from memsense.cli.options import Changes, Output, offering
from memsense.cli.output import OutputForm, print_data
from memsense.cli.ranking import read_overrides
from memsense.cli.render import add_row, console, table
from memsense.cli.target import Target, check_profile, target_of
from memsense.client.memory import MemSense
from memsense.evaluation import (
    PARTS,
    RETRIEVAL,
    GoldConversation,
    compare,
    gold_set,
    read_beam,
    read_gold,
    read_locomo,
    read_results,
    without,
)
from memsense.ingest import ReadOptions
from memsense.search.profiles import PROFILES, Profile
from memsense.text.tables import TextTable

app = new_app(help="Measure recall on gold questions.", no_args_is_help=True)

COLUMNS = {
    "R@1": ("session", "recall@1"),
    "R@3": ("session", "recall@3"),
    "R@5": ("session", "recall@5"),
    "R@10": ("session", "recall@10"),
    "MRR": ("session", "mrr"),
    "nDCG": ("session", "ndcg@10"),
    "T@5": ("turn", "recall@5"),
    "T@10": ("turn", "recall@10"),
    "T@20": ("turn", "recall@20"),
}
"""Heading, and where the number is in a summary."""

Profiles = Annotated[
    list[str] | None,
    typer.Option(
        "--profile",
        "-p",
        metavar="NAME",
        help=f"{', '.join(PROFILES)}; repeatable",
        autocompletion=offering(PROFILES),
    ),
]
Parts = Annotated[
    list[str] | None,
    typer.Option("--without", metavar="PART", help="leave a route or signal out; repeatable"),
]

A_RUN = "results of one run"
LocomoFile = Annotated[
    Path | None,
    typer.Option("--locomo", metavar="FILE", exists=True, dir_okay=False, help="locomo10.json"),
]
BeamFile = Annotated[
    Path | None,
    typer.Option("--beam", metavar="FILE", exists=True, dir_okay=False, help="BEAM as JSON Lines"),
]
Categories = Annotated[
    list[str] | None,
    typer.Option(
        "--category", metavar="NAME",
        help=f"questions of these instead of {', '.join(RETRIEVAL)}; repeatable",
    ),
]  # fmt: skip


@app.callback()
def group() -> None:
    """Measure recall on gold questions."""


@app.command("locomo")
def locomo(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="locomo10.json")],
    *,
    profiles: Profiles = None,
    changes: Changes = None,
    without_parts: Parts = None,
    ingest_first: Annotated[
        bool, typer.Option("--ingest", help="ingest the file first, where it isn't yet")
    ] = False,
    ablate: Ablate = False,
    sweep: Sweep = None,
    plain: Plain = False,
    split: Split = None,
    intervals: Intervals = False,
    by_conversation: ByConversation = False,
    figure: Figure = None,
    questions_out: QuestionsOut = None,
    output: Output = "table",
) -> None:
    """Measure recall on LoCoMo: sessions and exchanges, by split and by category.

    \b
      memsense --namespace locomo eval locomo locomo10.json --ingest
      memsense --namespace locomo eval locomo locomo10.json -p balanced -p memsense --json
      memsense --namespace locomo eval locomo locomo10.json --set lexical=1.5 --without vec_user
      memsense --namespace locomo eval locomo locomo10.json --ablate --ci --figure recall.png

    Tune on conversations 0-4, report on 5-9. R@k and MRR rank sessions, T@k exchanges.
    """
    target = target_of(ctx)
    choose = _read_choice(profiles, changes, without_parts)
    study = Study(
        ablate=ablate,
        plain=plain,
        grid=read_grid(sweep),
        intervals=intervals,
        by_conversation=by_conversation,
        figure=figure,
        questions_out=questions_out,
    )
    gold = read_locomo(file).only(split)
    with target.open() as memory:
        chosen = choose(memory)
        if ingest_first:
            options = ReadOptions(format="locomo")
            run_with_progress(memory, [str(file)], {"options": options})
        families = study_profiles(memory, gold, chosen, study)
    _tell(families, output)


@app.command("jsonl")
def jsonl(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="the gold set")],
    *,
    profiles: Profiles = None,
    changes: Changes = None,
    without_parts: Parts = None,
    ablate: Ablate = False,
    sweep: Sweep = None,
    plain: Plain = False,
    split: Split = None,
    intervals: Intervals = False,
    by_conversation: ByConversation = False,
    figure: Figure = None,
    questions_out: QuestionsOut = None,
    output: Output = "table",
) -> None:
    """Measure recall on a gold set of your own (its format: docs/evaluation.md).

    \b
      memsense eval jsonl gold.jsonl --ci
      memsense eval jsonl gold.jsonl -p balanced -p semantic --figure recall.png
      memsense eval jsonl gold.jsonl --sweep lexical=1,2,3 --sweep rrf_k=15,60

    Its conversations are stored once, in a namespace made for this file unless --namespace
    names another.
    """
    target = target_of(ctx)
    choose = _read_choice(profiles, changes, without_parts)
    study = Study(
        ablate=ablate,
        plain=plain,
        grid=read_grid(sweep),
        intervals=intervals,
        by_conversation=by_conversation,
        figure=figure,
        questions_out=questions_out,
    )
    families = _study_conversations(
        target, file, read_gold(file), split=split, choose=choose, study=study
    )
    _tell(families, output)


@app.command("beam")
def beam(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="BEAM as JSON Lines")],
    *,
    categories: Categories = None,
    profiles: Profiles = None,
    changes: Changes = None,
    without_parts: Parts = None,
    ablate: Ablate = False,
    sweep: Sweep = None,
    plain: Plain = False,
    split: Split = None,
    intervals: Intervals = False,
    by_conversation: ByConversation = False,
    figure: Figure = None,
    questions_out: QuestionsOut = None,
    output: Output = "table",
) -> None:
    """Measure recall on BEAM, long chats with an assistant (its fields: docs/evaluation.md).

    \b
      memsense eval beam beam100k.jsonl
      memsense eval beam beam100k.jsonl --plain --split 11-20
      memsense eval beam beam100k.jsonl --category summarization --json

    Tune on conversations 1-10, report on the others. Its conversations are stored once, in a
    namespace made for this file unless --namespace names another.
    """
    target = target_of(ctx)
    choose = _read_choice(profiles, changes, without_parts)
    study = Study(
        ablate=ablate,
        plain=plain,
        grid=read_grid(sweep),
        intervals=intervals,
        by_conversation=by_conversation,
        figure=figure,
        questions_out=questions_out,
    )
    conversations = read_beam(file, categories or RETRIEVAL)
    families = _study_conversations(
        target, file, conversations, split=split, choose=choose, study=study
    )
    _tell(families, output)


@app.command("compare")
def compare_runs(
    ctx: typer.Context,
    a: Annotated[Path | None, typer.Argument(exists=True, dir_okay=False, help=A_RUN)] = None,
    b: Annotated[Path | None, typer.Argument(exists=True, dir_okay=False, help=A_RUN)] = None,
    *,
    locomo_file: LocomoFile = None,
    beam_file: BeamFile = None,
    profiles: Profiles = None,
    changes: Changes = None,
    by_conversation: ByConversation = False,
    output: Output = "table",
) -> None:
    """Compare two files of --questions-out by a paired test: what B gains over A. Or measure every
    profile on people's chats and on chats with an assistant, beside plain fusion.

    \b
      memsense eval jsonl gold.jsonl -p balanced -p memsense --questions-out run.jsonl
      memsense eval compare run.memsense.jsonl run.balanced.jsonl
      memsense eval compare --locomo locomo10.json --beam beam100k.jsonl
      memsense eval compare --beam beam100k.jsonl -p balanced --set lexical=1.5 --json

    Conversations are stored once, in a namespace made for each file unless --namespace names
    another.
    """
    files = {"locomo": locomo_file, "beam": beam_file}
    named = {kind: file for kind, file in files.items() if file}
    if a and b and not named:
        _compare_files(a, b, by_conversation=by_conversation, output=output)
        return
    if a or b or not named:
        raise typer.BadParameter(
            "give two files of --questions-out, or --locomo FILE and --beam FILE"
        )
    names = profiles or tuple(PROFILES)
    choose = _read_choice(names, changes, ())
    found = compare_kinds(target_of(ctx), named, choose, by_conversation=by_conversation)
    if output != "table":
        print_data(output, {"kinds": {kind.name: kind.as_dict() for kind in found}})
    else:
        print_kinds(found)


def _study_conversations(
    target: Target,
    file: Path,
    conversations: Sequence[GoldConversation],
    *,
    split: str | None,
    choose: Callable[[MemSense], list[Profile]],
    study: Study,
) -> list[Family]:
    """The profiles measured on a file's conversations, which are stored first."""
    gold = gold_set(conversations, file.stem).only(split)
    with own_place(target, file).open() as memory:
        chosen = choose(memory)
        store_gold(memory, conversations)
        return study_profiles(memory, gold, chosen, study)


def _compare_files(a: Path, b: Path, *, by_conversation: bool, output: OutputForm) -> None:
    found = compare(read_results(a), read_results(b), by_conversation=by_conversation)
    if output != "table":
        print_data(
            output, {"a": a, "b": b, "metrics": [difference.as_dict() for difference in found]}
        )
    else:
        print_differences(a.stem, b.stem, found)


def _read_choice(
    names: Sequence[str] | None, changes: Sequence[str] | None, parts: Sequence[str] | None
) -> Callable[[MemSense], list[Profile]]:
    """How to choose the profiles of a memory, as far as that can be checked without it."""
    if unknown := set(parts or ()) - PARTS.keys():
        raise typer.BadParameter(
            f"no route or signal named {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}",
            param_hint="--without",
        )
    overrides = read_overrides(changes or (), ())

    def choose(memory: MemSense) -> list[Profile]:
        chosen = [_find_profile(memory, name).vary(overrides) for name in names or [None]]
        for part in parts or ():
            chosen = [without(profile, part) for profile in chosen]
        return chosen

    return choose


def _find_profile(memory: MemSense, name: str | None) -> Profile:
    check_profile(memory, name)
    return memory.profiles.get(name)


def _tell(families: Sequence[Family], output: OutputForm) -> None:
    if output != "table":
        told = [family.as_dict() for family in families]
        print_data(output, told if len(told) > 1 else told[0])
        return
    for family in families:
        print_measures(family.summary)
        if family.intervals:
            print_intervals(family.intervals)
        if family.rows:
            print_variants(family.rows)


def print_measures(summary: Mapping[str, Any]) -> None:
    """One profile's table: a row a split, then a row a category of all."""
    made = table(
        "", "questions", *COLUMNS, "p50 ms", "p95 ms",
        title=f"profile {summary['profile']}",
        right=("questions", *COLUMNS, "p50 ms", "p95 ms"),
    )  # fmt: skip
    splits: Mapping[str, Any] = summary["splits"]
    for name, split in splits.items():
        times = [f"{split['search_ms'][key]:.1f}" for key in ("p50", "p95")]
        _add_measures(made, name, str(split["questions"]), split, times)
    made.add_section()
    for category, means in splits["all"]["by_category"].items():
        _add_measures(made, f"category {category}", "", means, ["", ""])
    to = console()
    to.print(made)
    skipped = splits["all"]["skipped"]
    to.print(
        f"shares in percent; {skipped} questions without usable evidence left out", style="dim"
    )


def _add_measures(
    made: TextTable, name: str, count: str, means: Mapping[str, Any], times: Sequence[str]
) -> None:
    shares = [means.get(group, {}).get(metric) for group, metric in COLUMNS.values()]
    told = ["-" if share is None else f"{100 * share:.1f}" for share in shares]
    add_row(made, name, count, *told, *times)
