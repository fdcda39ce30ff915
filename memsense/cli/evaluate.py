"""`memsense eval`: recall on gold questions (questions with known answers)."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from memsense import evaluation
from memsense.cli import measuring
from memsense.cli.app import new_app
from memsense.cli.ingest import run_with_progress
from memsense.cli.options import Changes, Output, complete_from, options_read_by
from memsense.cli.output import OutputForm, print_data
from memsense.cli.target import Target, check_profile, target_of
from memsense.cli.values import read_choices, read_overrides
from memsense.client.memory import MemSense
from memsense.ingest import ReadOptions
from memsense.search.profiles import PROFILES, Profile

app = new_app(help="Measure recall on gold questions.", no_args_is_help=True)

Profiles = Annotated[
    list[str] | None,
    typer.Option(
        "--profile",
        "-p",
        metavar="NAME",
        help=f"Profile to measure. Repeatable. There are {', '.join(PROFILES)}, and stored ones.",
        autocompletion=complete_from(PROFILES),
    ),
]
Choose = Callable[[MemSense], list[Profile]]
"""Function that chooses the profiles of a memory."""

Categories = Annotated[
    list[str] | None,
    typer.Option(
        "--category", metavar="NAME",
        help=f"Category of questions. Repeatable. Default: {', '.join(evaluation.RETRIEVAL)}.",
    ),
]  # fmt: skip


def _read_choice(
    profiles: Profiles = None,
    changes: Changes = None,
    without_parts: Annotated[list[str] | None, typer.Option("--without", metavar="PART")] = None,
) -> Choose:
    """Return a function that chooses the profiles of a memory; raise BadParameter if it can't.

    Args:
        without_parts: Leave a route or signal out. Repeatable.
    """
    read_choices(
        without_parts or (), tuple(evaluation.PARTS), "route or signal", option="--without"
    )
    overrides = read_overrides(changes or (), ())

    # Stored profiles are only known once the memory is open; all else is checked before that.
    def choose(memory: MemSense) -> list[Profile]:
        chosen: list[Profile] = []
        for name in profiles or [None]:
            check_profile(memory, name)
            profile = memory.profiles.get(name).vary(overrides)
            for part in without_parts or ():
                profile = evaluation.without(profile, part)
            chosen.append(profile)
        return chosen

    return choose


@app.callback()
def group() -> None:
    """Measure recall on gold questions."""


@app.command("locomo")
@options_read_by(choose=_read_choice, study=measuring.Study)
def locomo(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False)],
    *,
    choose: Choose,
    ingest_first: Annotated[bool, typer.Option("--ingest")] = False,
    study: measuring.Study,
    output: Output = "table",
) -> None:
    """Measure recall on LoCoMo: of sessions and of exchanges, by split and by category.

    \b
      memsense --namespace locomo eval locomo locomo10.json --ingest
      memsense --namespace locomo eval locomo locomo10.json -p balanced -p memsense --json
      memsense --namespace locomo eval locomo locomo10.json --set lexical=1.5 --without vec_user
      memsense --namespace locomo eval locomo locomo10.json --ablate --ci --figure recall.png

    Tune on conversations 0-4, report on 5-9. R@k and MRR rank sessions, T@k exchanges.

    Args:
        file: LoCoMo's locomo10.json.
        ingest_first: First ingest the file, unless it is stored already.
    """
    target = target_of(ctx)
    gold = evaluation.read_locomo(file).only(study.split)
    with target.open() as memory:
        # An unknown profile is reported before a long ingest.
        profile_set = choose(memory)
        if ingest_first:
            options = ReadOptions(format="locomo")
            run_with_progress(memory, [str(file)], {"options": options})
        families = measuring.study_profiles(memory, gold, profile_set, study)
    _print_families(families, output)


@app.command("jsonl")
@options_read_by(choose=_read_choice, study=measuring.Study)
def jsonl(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False)],
    *,
    choose: Choose,
    study: measuring.Study,
    output: Output = "table",
) -> None:
    """Measure recall on a gold set of your own; the guide 'How to measure recall' has its format.

    \b
      memsense eval jsonl gold.jsonl --ci
      memsense eval jsonl gold.jsonl -p balanced -p semantic --figure recall.png
      memsense eval jsonl gold.jsonl --sweep lexical=1,2,3 --sweep rrf_k=15,60

    Its conversations are stored once, in a namespace made for this file unless --namespace
    names another.

    Args:
        file: Gold set (the guide 'How to measure recall').
    """
    target = target_of(ctx)
    families = _study_conversations(target, file, evaluation.read_gold(file), choose, study)
    _print_families(families, output)


@app.command("beam")
@options_read_by(choose=_read_choice, study=measuring.Study)
def beam(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False)],
    *,
    categories: Categories = None,
    choose: Choose,
    study: measuring.Study,
    output: Output = "table",
) -> None:
    """Measure recall on BEAM, long chats with an assistant (the guide 'How to measure recall').

    \b
      memsense eval beam beam100k.jsonl
      memsense eval beam beam100k.jsonl --plain --split 11-20
      memsense eval beam beam100k.jsonl --category summarization --json

    Tune on conversations 1-10, report on the others. Its conversations are stored once, in a
    namespace made for this file unless --namespace names another.

    Args:
        file: BEAM as JSON lines.
    """
    target = target_of(ctx)
    conversations = evaluation.read_beam(file, categories or evaluation.RETRIEVAL)
    families = _study_conversations(target, file, conversations, choose, study)
    _print_families(families, output)


@app.command("compare")
def compare_runs(
    ctx: typer.Context,
    a: Annotated[Path | None, typer.Argument(exists=True, dir_okay=False)] = None,
    b: Annotated[Path | None, typer.Argument(exists=True, dir_okay=False)] = None,
    *,
    locomo_file: Annotated[
        Path | None, typer.Option("--locomo", metavar="FILE", exists=True, dir_okay=False)
    ] = None,
    beam_file: Annotated[
        Path | None, typer.Option("--beam", metavar="FILE", exists=True, dir_okay=False)
    ] = None,
    profiles: Profiles = None,
    changes: Changes = None,
    by_conversation: bool = False,
    context: bool = False,
    output: Output = "table",
) -> None:
    """Compare two files of --questions-out by a paired test: the gain of B over A. Or measure every
    profile on chats between people and on chats with an assistant, and compare with plain fusion.

    \b
      memsense eval jsonl gold.jsonl -p balanced -p memsense --questions-out run.jsonl
      memsense eval compare run.memsense.jsonl run.balanced.jsonl
      memsense eval compare --locomo locomo10.json --beam beam100k.jsonl
      memsense eval compare --beam beam100k.jsonl -p balanced --set lexical=1.5 --json

    Conversations are stored once, in a namespace made for each file unless --namespace names
    another.

    Args:
        a: File of --questions-out: the results of one run.
        b: File of --questions-out: the results of one run.
        locomo_file: LoCoMo's locomo10.json.
        beam_file: BEAM as JSON lines.
        by_conversation: Resample whole conversations instead of questions.
        context: Also measure prompts: gold by tokens, and tokens that unrelated prompts get.
    """
    files = {"locomo": locomo_file, "beam": beam_file}
    gold_files = {kind: file for kind, file in files.items() if file}
    if a and b and not gold_files:
        differences = evaluation.compare(
            evaluation.read_results(a), evaluation.read_results(b), by_conversation=by_conversation
        )
        if output != "table":
            metrics = [difference.as_dict() for difference in differences]
            print_data(output, {"a": a, "b": b, "metrics": metrics})
        else:
            measuring.print_differences(a.stem, b.stem, differences)
        return
    if a or b or not gold_files:
        raise typer.BadParameter(
            "give two files of --questions-out, or --locomo FILE and --beam FILE"
        )
    choose = _read_choice(profiles or list(PROFILES), changes)
    kinds = measuring.compare_kinds(
        target_of(ctx), gold_files, choose, by_conversation=by_conversation, context=context
    )
    if not print_data(output, {"kinds": {kind.name: kind.as_dict() for kind in kinds}}):
        measuring.print_kinds(kinds)


def _study_conversations(
    target: Target,
    file: Path,
    conversations: Sequence[evaluation.GoldConversation],
    choose: Choose,
    study: measuring.Study,
) -> list[measuring.Family]:
    """Store a file's conversations, and measure the profiles on them."""
    gold = evaluation.gold_set(conversations, file.stem).only(study.split)
    with measuring.gold_target(target, file).open() as memory:
        # An unknown profile is reported before the conversations are stored.
        profile_set = choose(memory)
        measuring.store_gold(memory, conversations)
        return measuring.study_profiles(memory, gold, profile_set, study)


def _print_families(families: Sequence[measuring.Family], output: OutputForm) -> None:
    if output != "table":
        items = [family.as_dict() for family in families]
        print_data(output, items if len(items) > 1 else items[0])
        return
    for family in families:
        measuring.print_measures(family.summary)
        if family.intervals:
            measuring.print_intervals(family.intervals)
        if family.rows:
            measuring.print_variants(family.rows)
        if family.context:
            measuring.print_context(family.summary["profile"], {"": family.context})
