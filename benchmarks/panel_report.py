"""Reports of the panel: means of each set, gains of one run over another, parts left out."""

import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from pydantic import TypeAdapter, ValidationError
from rich.console import Console
from rich.table import Table

from benchmarks.panel_asking import OWN, Addition, Answer
from benchmarks.panel_scores import CHARACTERS, RIGHT_FIRST, Means, average, find_means
from memsense.errors import EvaluationError
from memsense.evaluation import Interval

METRICS = ("T@5", "T@10", "T@20", "MRR", "first")
ABLATED = ("T@5", "T@10", "MRR", "first")
WHOLE = "all parts"
"""System that has every part, among those without one."""

LONGEST_TEXT = 200
"""Characters of a question that a report of falls prints."""

WIDTH = 180
"""Columns of the tables, which no terminal may wrap."""


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


def write_run(path: Path, run: Run) -> None:
    """Write a run for `compare`; raise EvaluationError if the file can't be written."""
    try:
        path.write_bytes(_RUN.dump_json(run))
    except OSError as error:
        raise EvaluationError(f"{path} can't be written: {error}") from error


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


# Gains -------------------------------------------------------------------------------------------


def summarise_gains(before: Run, after: Run, falls: int) -> dict[str, Any]:
    """Return the gains of each set with paired intervals, their mean, and the largest falls.

    Raises EvaluationError if the runs have no question in common, or a question with other gold.
    """
    partners = {answer.key: answer for answer in after.answers}
    pairs: defaultdict[str, list[tuple[Answer, Answer]]] = defaultdict(list)
    for answer in before.answers:
        if partner := partners.get(answer.key):
            groups = [len(item.rankings[OWN].gold) for item in (answer, partner)]
            if groups[0] != groups[1] or answer.text != partner.text:
                raise EvaluationError(
                    f"question {answer.question_id} of {answer.set} has another text or gold in"
                    " the other run"
                )
            pairs[answer.set].append((answer, partner))
    if not pairs:
        raise EvaluationError("the runs have no question in common")
    means = {
        name: find_means(
            [find_gains(one, other) for one, other in members],
            [one.memory for one, _ in members],
            seed=seed_of(name),
        )
        for name, members in sorted(pairs.items())
    }
    paired = [pair for members in pairs.values() for pair in members]
    paired.sort(key=lambda pair: (_find_gain(*pair), pair[0].key))
    return {
        "sets": {name: _describe({OWN: item}) for name, item in means.items()},
        "mean over sets": _describe({OWN: average(list(means.values()))}),
        "unpaired": len(before.answers) + len(after.answers) - 2 * len(paired),
        "falls": [
            {
                "set": one.set,
                "memory": one.memory,
                "question_id": one.question_id,
                "text": one.text,
                "before": list(one.rankings[OWN].gold),
                "after": list(other.rankings[OWN].gold),
            }
            for one, other in paired[:falls]
            if _find_gain(one, other) < 0
        ],
    }


def find_gains(before: Answer, after: Answer) -> dict[str, float]:
    """Return the gain of a question's second answer over its first, by metric."""
    old, new = before.rankings[OWN].scores(), after.rankings[OWN].scores()
    return {name: new[name] - old[name] for name in old}


def _find_gain(before: Answer, after: Answer) -> float:
    """Return the gain in the mean of four metrics, by which falls are sorted."""
    gains = find_gains(before, after)
    return fmean(gains[name] for name in ("T@5", "T@10", "T@20", "MRR"))


def print_gains(summary: Mapping[str, Any]) -> None:
    """Print a row for each set, the mean over sets, and the questions that fell most."""
    table = Table(title="gains of the second file, in points", title_justify="left")
    for heading in ("set", "questions", "by", *METRICS, "chars"):
        table.add_column(
            heading, justify="left" if heading in ("set", "by") else "right", no_wrap=True
        )
    rows = {**summary["sets"], "mean over sets": summary["mean over sets"]}
    for name, row in rows.items():
        metrics = row["systems"][OWN]
        cells = [_format_interval(Interval(**metrics[metric]), "+") for metric in METRICS]
        table.add_row(
            name,
            str(row["questions"]),
            row["resampled"],
            *cells,
            f"{metrics[CHARACTERS]['mean']:+,.0f}",
        )
    console = _console()
    console.print(table)
    if summary["unpaired"]:
        console.print(f"{summary['unpaired']} answers of one file alone are left out")
    for fall in summary["falls"]:
        ranks = [" ".join(str(rank or "-") for rank in fall[key]) for key in ("before", "after")]
        console.print(
            f"{fall['set']} {fall['memory']} {fall['question_id']}: gold at {ranks[0]}, then"
            f" {ranks[1]}: {_shorten(fall['text'])}"
        )


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_TEXT else line[:LONGEST_TEXT] + "…"


# Parts -------------------------------------------------------------------------------------------


def summarise_parts(run: Run) -> dict[str, Any]:
    """Return each set's means with all parts, the gains without each, and milliseconds a search.

    Gains are paired; a part that helps has a loss without it.
    """
    sets = run.by_set()
    parts = list(run.answers[0].rankings)
    rows: dict[str, Any] = {}
    for part in parts:
        means = {
            name: find_means(
                [_find_part_gains(answer, part) for answer in answers],
                [answer.memory for answer in answers],
                seed=seed_of(name),
            )
            for name, answers in sets.items()
        }
        rows[part] = {
            "sets": {
                name: {key: asdict(value) for key, value in item.intervals().items()}
                for name, item in means.items()
            },
            "mean over sets": {
                key: asdict(value)
                for key, value in average(list(means.values())).intervals().items()
            },
            "processor_ms": 1000 * fmean(answer.seconds[part] for answer in run.answers),
        }
    return {
        "profile": run.profile["name"],
        "questions": {name: len(answers) for name, answers in sets.items()},
        "parts": rows,
    }


def _find_part_gains(answer: Answer, part: str) -> dict[str, float]:
    """Return the metrics with all parts, or what they gain without one."""
    whole, scores = (answer.rankings[name].scores() for name in (WHOLE, part))
    if part == WHOLE:
        return whole
    return {name: value - whole[name] for name, value in scores.items()}


def print_parts(summary: Mapping[str, Any]) -> None:
    """Print a table of parts and sets for each metric; a star marks an interval without 0."""
    names = [*summary["questions"], "mean over sets"]
    console = Console(
        width=max(WIDTH, 40 + 16 * len(names)), highlight=False, markup=False, soft_wrap=True
    )
    for metric in ABLATED:
        title = f"{metric} of profile {summary['profile']}, and points gained without each part"
        table = Table(title=title, title_justify="left")
        table.add_column("without", no_wrap=True)
        for heading in (*names, "ms"):
            table.add_column(heading, justify="right", no_wrap=True)
        for part, row in summary["parts"].items():
            columns = [*row["sets"].values(), row["mean over sets"]]
            intervals = [Interval(**column[metric]) for column in columns]
            cells = [
                f"{100 * item.mean:.1f} "
                if part == WHOLE
                else f"{100 * item.mean:+.1f}{'*' if item.low * item.high > 0 else ' '}"
                for item in intervals
            ]
            label = "nothing" if part == WHOLE else part
            table.add_row(label, *cells, f"{row['processor_ms']:.1f}")
        console.print(table)
    console.print(
        "* its 95% interval has no 0; ms: processor time of a search whose question is embedded,"
        f" of client and server. {summary['seconds']:.0f} s in all"
    )
