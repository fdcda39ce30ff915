"""Retrieval over a panel of memories of many kinds, in one table.

    python -m benchmarks.panel store
    python -m benchmarks.panel ask realmem prefeval --save before.json
    python -m benchmarks.panel ask --alone --override lexical=1.5 --save after.json
    python -m benchmarks.panel compare before.json after.json
    python -m benchmarks.panel ablate prefeval --part tokens --part vec_user

`store` writes the sets into namespaces panel-SET of the database in use. `ask` searches for every
question and reports each set and the mean over sets, next to plain rankings of the same exchanges
(`--alone` does without). `compare` shows what changed between two files of `ask --save`. `ablate`
asks without each route and each term in turn. docs/guides/evaluation.md describes the sets, and how
their questions count.
"""

import argparse
import json
import os
import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from pydantic import TypeAdapter, ValidationError
from rich.console import Console
from rich.table import Table

from benchmarks.panel_asking import (
    OWN,
    Addition,
    Answer,
    Way,
    ask_all,
    find_server,
    make_tasks,
    name_connections,
    name_namespace,
    processor_seconds,
)
from benchmarks.panel_scores import CHARACTERS, RIGHT_FIRST, Means, average, find_means
from benchmarks.panel_sets import Memory, PanelSet, choose_sets, find_sets
from memsense import MemSense
from memsense.cli.progress import question_progress
from memsense.cli.target import Target
from memsense.errors import EvaluationError, MemSenseError
from memsense.evaluation import Interval, parse_grid
from memsense.evaluation.jsonl import GoldSession, GoldTurn
from memsense.ingest import ReadOptions
from memsense.search.profiles import Profile

SHARED = Path(os.environ.get("MEMSENSE_SHARED_DIR", Path(__file__).parents[2] / "shared"))
SESSIONS_AT_ONCE = 32
"""Sessions that are embedded and stored together."""

METRICS = ("T@5", "T@10", "T@20", "MRR", "first")
WIDTH = 180
"""Columns of the tables, which no terminal may wrap."""


def main() -> None:
    """Run one of the verbs."""
    options = _read_options()
    try:
        options.verb(options)
    except MemSenseError as error:
        raise SystemExit(str(error)) from error


# Storing -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """Chunks of a set in the store, and the processor seconds that storing it took."""

    set: str
    memories: int
    chunks: int
    new_chunks: int
    processor_s: float


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


def store_set(url: str, panel_set: PanelSet, *, prefix: str, again: bool = False) -> Stored:
    """Store the sessions of a set that are not stored yet; with `again` erase its memories first.

    Each session is stored as one, each turn with its own time.
    """
    memories = panel_set.read()
    started = processor_seconds([])
    own_url, application = name_connections(url)
    with MemSense.open(own_url, namespace=name_namespace(prefix, panel_set)) as client:
        users = {memory.user_id for memory in memories}
        stored = users & {scope.user_id for scope in client.stats()}
        if again:
            for user_id in sorted(stored):
                client.erase(user_id=user_id)
        before = _count_chunks(client, users)
        if panel_set.is_log:
            client.ingest(panel_set.path, options=ReadOptions(format="locomo"))
        else:
            sessions = [
                (memory.user_id, session)
                for memory in memories
                for session in _find_new_sessions(client, memory)
            ]
            with question_progress(panel_set.name, len(sessions), "sessions") as on_session:
                _add_sessions(client, sessions, on_session)
        # The server's processes began with this client, so that all their time is its own.
        processor_s = processor_seconds(find_server(url, application)) - started
        chunks = _count_chunks(client, users)
    return Stored(
        set=panel_set.name,
        memories=len(memories),
        chunks=chunks,
        new_chunks=chunks - before,
        processor_s=processor_s,
    )


def _count_chunks(client: MemSense, users: Iterable[str]) -> int:
    names = set(users)
    return sum(scope.turns for scope in client.stats() if scope.user_id in names)


def _find_new_sessions(client: MemSense, memory: Memory) -> list[GoldSession]:
    """Return the sessions with any text that are not stored yet."""
    assert memory.conversation is not None
    session_ids: set[str] = set()
    cursor: str | None = None
    while True:
        page = client.sessions(user_id=memory.user_id, limit=1000, cursor=cursor)
        session_ids |= {summary.session_id for summary in page}
        cursor = page.next_cursor
        if cursor is None:
            break
    return [
        session
        for session in memory.conversation.sessions
        if session.session_id not in session_ids
        and any(turn.content.strip() for turn in session.turns)
    ]


def _add_sessions(
    client: MemSense,
    sessions: Sequence[tuple[str, GoldSession]],
    on_session: Callable[[], object],
) -> None:
    for start in range(0, len(sessions), SESSIONS_AT_ONCE):
        batch = sessions[start : start + SESSIONS_AT_ONCE]
        client.add_many(
            [
                {
                    "user_id": user_id,
                    "session_id": session.session_id,
                    "messages": [_make_message(turn, session) for turn in session.turns],
                }
                for user_id, session in batch
            ],
            redact=False,
        )
        for _ in batch:
            on_session()


def _make_message(turn: GoldTurn, session: GoldSession) -> dict[str, object]:
    at = turn.at or session.at
    message = {
        "id": turn.id,
        "role": turn.role,
        "content": turn.content,
        "name": turn.name,
        "at": at.isoformat() if at else None,
    }
    return {name: value for name, value in message.items() if value is not None}


# Asking ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Results of `ask`, as `--save` writes them."""

    profile: Mapping[str, Any]
    answers: Sequence[Answer]
    additions: Sequence[Addition] = ()

    def by_set(self) -> dict[str, list[Answer]]:
        """Return the answers of each set, sets in order of their names."""
        sets: defaultdict[str, list[Answer]] = defaultdict(list)
        for answer in sorted(self.answers, key=lambda item: item.key):
            sets[answer.set].append(answer)
        return dict(sets)


_RUN = TypeAdapter(Run)


def ask(options: argparse.Namespace) -> None:
    """Search for every question; print each set and the mean over sets."""
    started = time.perf_counter()
    with Target().database() as url:
        profile = _choose_profile(options)
        way = Way(
            url=url,
            prefix=options.prefix,
            profiles={OWN: profile.as_dict()},
            with_plain=not options.alone,
        )
        run = _ask_sets(options, way, profile)
    if options.save:
        options.save.write_bytes(_RUN.dump_json(run))
    summary = summarise(run)
    summary["seconds"] = time.perf_counter() - started
    if options.json:
        print(json.dumps(summary, indent=1))
    else:
        print_summary(summary)


def _ask_sets(
    options: argparse.Namespace, way: Way, profile: Profile, *, with_silence: bool = True
) -> Run:
    sets = [(item, item.read(own_session=options.own_session)) for item in _choose(options)]
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
        profile=profile.as_dict(),
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


def read_run(path: Path) -> Run:
    """Read a file that `ask --save` wrote; raise EvaluationError if it is none."""
    try:
        run = _RUN.validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise EvaluationError(
            f"{path} can't be read; write it with 'python -m benchmarks.panel ask --save': {error}"
        ) from error
    if not run.answers:
        raise EvaluationError(f"{path} holds no answers")
    return run


def summarise(run: Run) -> dict[str, Any]:
    """Return each set's means with intervals by system, the mean over sets, and what was added.

    The rows of a system over sets have the metrics that all sets have.
    """
    means: dict[str, dict[str, Means]] = {}
    for name, answers in run.by_set().items():
        means[name] = {
            system: find_means(
                [answer.rankings[system].scores() for answer in answers],
                [answer.memory for answer in answers],
                seed=seed_of(name),
            )
            for system in answers[0].rankings
        }
    systems = list(next(iter(means.values())))
    over_sets = {system: average([item[system] for item in means.values()]) for system in systems}
    added: defaultdict[str, list[int]] = defaultdict(list)
    for addition in run.additions:
        added[addition.set].append(addition.characters)
    return {
        "profile": run.profile["name"],
        "sets": {name: _describe(item) for name, item in means.items()},
        "mean over sets": _describe(over_sets),
        "silence": {
            name: {
                "prompts": len(characters),
                "silent": fmean(not count for count in characters),
                "characters": fmean(characters),
            }
            for name, characters in added.items()
        },
    }


def seed_of(name: str) -> int:
    """Return a seed of a set's own, so that its interval doesn't depend on the other sets."""
    return zlib.crc32(name.encode())


def _describe(systems: Mapping[str, Means]) -> dict[str, Any]:
    first = next(iter(systems.values()))
    return {
        "questions": first.questions,
        "memories": first.memories,
        "resampled": first.unit,
        "systems": {
            system: {name: asdict(interval) for name, interval in means.intervals().items()}
            for system, means in systems.items()
        },
    }


def print_summary(summary: Mapping[str, Any]) -> None:
    """Print a row for each set and system, then the mean over sets, in percent."""
    table = Table(title=f"profile {summary['profile']}", title_justify="left")
    for heading in ("set", "questions", "by", "system"):
        align = "right" if heading == "questions" else "left"
        table.add_column(heading, justify=align, no_wrap=True)
    for heading in (*METRICS, "chars"):
        table.add_column(heading, justify="right", no_wrap=True)
    rows = {**summary["sets"], "mean over sets": summary["mean over sets"]}
    for name, row in rows.items():
        labels = [name, str(row["questions"]), row["resampled"]]
        for system, metrics in row["systems"].items():
            cells = [_format_interval(Interval(**metrics[metric])) for metric in METRICS]
            table.add_row(*labels, system, *cells, f"{metrics[CHARACTERS]['mean']:,.0f}")
            labels = [""] * len(labels)
        table.add_section()
    console = _console()
    console.print(table)
    console.print(
        "percent with 95% intervals, by bootstrap over memories or questions as `by` says;"
        " chars: mean length of the first 10 hits"
    )
    for name, row in summary["sets"].items():
        for system, metrics in row["systems"].items():
            if share := metrics.get(RIGHT_FIRST):
                text = _format_interval(Interval(**share))
                console.print(f"{name}, {system}: the right statement before the other: {text}")
    for name, silence in summary["silence"].items():
        console.print(
            f"{name}: {silence['prompts']} prompts for which nothing stored helps: nothing is added"
            f" to {100 * silence['silent']:.1f}%, on average {silence['characters']:.0f} characters"
        )
    console.print(f"{summary['seconds']:.0f} s in all")


def _format_interval(interval: Interval, sign: str = "") -> str:
    low, high = 100 * interval.low, 100 * interval.high
    return f"{100 * interval.mean:{sign}.1f} [{low:{sign}.1f}, {high:{sign}.1f}]"


def _console() -> Console:
    return Console(width=WIDTH, highlight=False, markup=False)


# Options -----------------------------------------------------------------------------------------


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
    verb.add_argument("--save", type=Path, metavar="FILE", help="write every question's result")
    return parser.parse_args()


if __name__ == "__main__":
    main()
