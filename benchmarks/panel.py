"""Retrieval over a panel of memories of many kinds, in one table.

    python -m benchmarks.panel store
    python -m benchmarks.panel ask realmem prefeval --save before.json
    python -m benchmarks.panel ask --alone --override lexical=1.5 --save after.json
    python -m benchmarks.panel compare before.json after.json
    python -m benchmarks.panel ablate prefeval --part tokens --part vec_user

`store` writes the sets into namespaces panel-SET of the database in use. `ask` searches for every
question and reports each set and the mean over sets, next to plain rankings of the same exchanges
(`--alone` does without). `compare` shows what changed between two files of `ask --save`. `ablate`
asks without each route and each term in turn. benchmarks/results/recall.md describes the sets, and
how their questions count.
"""

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.panel_asking import OWN, Addition, Answer, Way, ask_all, check_stored, make_tasks
from benchmarks.panel_report import (
    WHOLE,
    Run,
    print_gains,
    print_parts,
    print_summary,
    read_run,
    summarise,
    summarise_gains,
    summarise_parts,
    write_run,
)
from benchmarks.panel_sets import PanelSet, choose_sets, find_sets
from benchmarks.panel_storing import Stored, store_set
from benchmarks.plain_rankings import check_packages
from memsense import MemSense
from memsense.cli.progress import question_progress
from memsense.cli.target import Target
from memsense.errors import EvaluationError, MemSenseError
from memsense.evaluation import PARTS, parse_grid, without
from memsense.search.profiles import Profile

SHARED = Path(os.environ.get("MEMSENSE_SHARED_DIR", Path(__file__).parents[2] / "shared"))
IDLE = frozenset(("reranker", "reranker_weight", "session_support", "tokens_session_weight"))
"""Parts that do nothing here: there is no reranker, and exchanges are asked for, not sessions."""


def main() -> None:
    """Run one of the verbs."""
    options = _read_options()
    try:
        options.verb(options)
    except MemSenseError as error:
        raise SystemExit(str(error)) from error


def store(options: argparse.Namespace) -> None:
    """Store each set that is not stored yet."""
    rows: list[Stored] = []
    with Target().database() as url:
        # The first memory prepares the embedded server's database.
        MemSense.open().close()
        done: set[str] = set()
        for panel_set in _choose(options):
            # Both halves of LoCoMo are one log.
            if panel_set.is_log and panel_set.stored_as in done:
                continue
            done.add(panel_set.stored_as)
            row = store_set(url, panel_set, prefix=options.prefix, again=options.again)
            rows.append(row)
            if not options.json:
                print(
                    f"{row.set}: {row.memories} memories, {row.chunks} chunks, {row.new_chunks} of"
                    f" them new, {row.processor_s:.0f} s of processor",
                    flush=True,
                )
    if options.json:
        print(json.dumps([asdict(row) for row in rows], indent=1))


def ask(options: argparse.Namespace) -> None:
    """Search for every question; print each set and the mean over sets."""
    started = time.perf_counter()
    if not options.alone:
        check_packages()
    with Target().database() as url:
        profile = _choose_profile(options)
        way = Way(
            url=url,
            prefix=options.prefix,
            profiles={OWN: profile.as_dict()},
            with_plain=not options.alone,
            prompt_tokens=options.prompt,
        )
        run = _ask_sets(options, _choose(options), way)
    if options.save:
        write_run(options.save, run)
    summary = summarise(run)
    summary["seconds"] = time.perf_counter() - started
    if options.json:
        print(json.dumps(summary, indent=1))
    else:
        print_summary(summary)


def _ask_sets(
    options: argparse.Namespace,
    chosen: Sequence[PanelSet],
    way: Way,
    *,
    with_silence: bool = True,
) -> Run:
    sets = [(item, item.read(own_session=options.own_session)) for item in chosen]
    check_stored(way.url, options.prefix, sets)
    tasks = make_tasks(sets, options.prefix, limit=options.limit, with_silence=with_silence)
    answers: list[Answer] = []
    additions: list[Addition] = []
    total = sum(len(task.questions) for task in tasks)
    with question_progress("asking", total) as on_question:
        for result in ask_all(way, tasks, options.workers, on_question):
            if isinstance(result, Answer):
                answers.append(result)
            else:
                additions.append(result)
    return Run(
        profile=next(iter(way.profiles.values())),
        answers=sorted(answers, key=lambda item: item.key),
        additions=sorted(additions, key=lambda item: (item.set, item.memory, item.question_id)),
    )


def _choose_profile(options: argparse.Namespace) -> Profile:
    """Return the profile to measure: the named one, else that in force, with the overrides."""
    grid = parse_grid(options.override)
    if several := [name for name, values in grid.items() if len(values) > 1]:
        raise EvaluationError(f"--override takes one value, not several, of {several[0]}")
    # Opened without a URL, so that the embedded server's database is prepared.
    with MemSense.open() as client:
        profile = client.profiles.get(options.profile)
    return profile.override(**{name: values[0] for name, values in grid.items()})


def compare(options: argparse.Namespace) -> None:
    """Print what the second file gains over the first, and the questions that fell most."""
    summary = summarise_gains(read_run(options.before), read_run(options.after), options.falls)
    if options.json:
        print(json.dumps(summary, indent=1, ensure_ascii=False))
    else:
        print_gains(summary)


def ablate(options: argparse.Namespace) -> None:
    """Ask without each part in turn; print what every set loses, and what a search costs then."""
    started = time.perf_counter()
    answers: list[Answer] = []
    with Target().database() as url:
        profile = _choose_profile(options)
        profiles = {WHOLE: profile, **leave_out(profile, options.part)}
        way = Way(
            url=url,
            prefix=options.prefix,
            profiles={name: item.as_dict() for name, item in profiles.items()},
            is_timed=True,
        )
        for panel_set in _choose(options):
            answers += _ask_sets(options, [panel_set], way, with_silence=False).answers
            # An ablation takes hours: what is measured outlives an interruption.
            if options.save:
                run = Run(profile=profile.as_dict(), answers=answers)
                write_run(options.save, run)
    summary = summarise_parts(Run(profile=profile.as_dict(), answers=answers))
    summary["seconds"] = time.perf_counter() - started
    if options.json:
        print(json.dumps(summary, indent=1))
    else:
        print_parts(summary)


def leave_out(profile: Profile, parts: Sequence[str] | None = None) -> dict[str, Profile]:
    """Return the profile without each part, by the part's name.

    Args:
        profile: The profile.
        parts: Parts of `memsense eval --ablate`, or names of weights; by default all that the
            profile uses, once.

    Raises:
        NotFoundError: If there is no part of a name; lists all.
    """
    weights = [
        name
        for name, value in profile.constants().items()
        if name.endswith("_weight") and value and not isinstance(value, bool)
    ]
    variants: dict[str, Profile] = {}
    for part in parts or [name for name in (*PARTS, *weights) if name not in IDLE]:
        is_weight = part not in PARTS and part in weights
        variant = profile.override(**{part: 0.0}) if is_weight else without(profile, part)
        # Named alike, so that two parts that change the same are equal.
        variant = variant.override(name=profile.name)
        is_new = variant != profile and variant not in variants.values()
        if parts or (is_new and any(variant.weights.values())):
            variants[part] = variant
    return variants


def _choose(options: argparse.Namespace) -> list[PanelSet]:
    sets = find_sets(options.folder, options.locomo, options.beam)
    return choose_sets(sets, options.sets)


def _read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.panel",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = parser.add_subparsers(required=True, metavar="VERB")

    def add_verb(verb: Callable[[argparse.Namespace], None], *parents: argparse.ArgumentParser):
        summary = (verb.__doc__ or "").splitlines()[0]
        added = verbs.add_parser(
            verb.__name__, parents=[*parents], help=summary, description=summary
        )
        added.add_argument("--json", action="store_true", help="print JSON")
        added.set_defaults(verb=verb)
        return added

    sets = argparse.ArgumentParser(add_help=False)
    sets.add_argument("sets", nargs="*", metavar="SET", help="default: all")
    places = {
        "folder": ("MEMSENSE_PANEL_DIR", "panel", "the sets' files NAME.jsonl.gz"),
        "locomo": ("MEMSENSE_LOCOMO", "locomo10.json", "LoCoMo's file"),
        "beam": ("MEMSENSE_BEAM", "beam100k.jsonl", "BEAM's file"),
    }
    for name, (variable, file, text) in places.items():
        default = Path(os.environ.get(variable, SHARED / "eval" / file))
        sets.add_argument(
            f"--{name}", type=Path, default=default, help=f"{text}; default: {variable}"
        )
    sets.add_argument("--prefix", default="panel", help="beginning of the namespaces' names")

    asking = argparse.ArgumentParser(add_help=False)
    asking.add_argument("--profile", help="shipped or stored; default: the one in force")
    asking.add_argument("--override", action="append", default=[], metavar="NAME=VALUE")
    asking.add_argument("--limit", type=int, help="most questions of a memory, drawn by a seed")
    asking.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    asking.add_argument(
        "--own-session",
        action="store_true",
        help="a prompt may find the turns before it in its own session",
    )

    verb = add_verb(store, sets)
    verb.add_argument("--again", action="store_true", help="erase what is stored of a set first")
    verb = add_verb(ask, sets, asking)
    verb.add_argument("--alone", action="store_true", help="without the plain rankings")
    verb.add_argument(
        "--prompt", type=int, default=0, metavar="TOKENS", help="also rank what prompts hold"
    )
    verb.add_argument("--save", type=Path, metavar="FILE", help="write every question's result")
    verb = add_verb(compare)
    verb.add_argument("before", type=Path, metavar="A.json", help="a file of ask --save")
    verb.add_argument("after", type=Path, metavar="B.json", help="another one")
    verb.add_argument("--falls", type=int, default=20, help="questions to print")
    verb = add_verb(ablate, sets, asking)
    verb.add_argument(
        "--part",
        action="append",
        metavar="NAME",
        help="a part of memsense eval, or a weight; default: all that the profile uses",
    )
    verb.add_argument("--save", type=Path, metavar="FILE", help="write every question's result")
    return parser.parse_args()


if __name__ == "__main__":
    main()
