"""`memsense ingest --find`: shows the logs on this machine, with counts; stores none by itself."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from memsense.cli.errors import one_line
from memsense.cli.output import OutputForm
from memsense.cli.render import add_row, console, plain, table
from memsense.errors import IngestError
from memsense.ingest import find_places
from memsense.ingest.places import Found, Place, this_system
from memsense.write.ingest_run import IngestReport

if TYPE_CHECKING:
    from memsense.client.memory import MemSense


@dataclass(frozen=True, slots=True, kw_only=True)
class Find:
    """A program's logs in one place: what reading them would store; `problem` says why nothing."""

    place: Place
    paths: Sequence[Path]
    report: IngestReport
    problem: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The find as plain values, ready for JSON."""
        return {
            "program": self.place.program,
            "format": self.place.format,
            "paths": [str(path) for path in self.paths],
            "logs": len(self.report.read.detected),
            "sessions": self.report.sessions,
            "messages": self.report.read.messages_kept,
            "exchanges": self.report.exchanges,
            "new": self.report.stored,
            "problem": self.problem,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What was found, and the paths that the caller may ingest: none without a yes."""

    finds: Sequence[Find]
    accepted: list[str] = field(default_factory=list[str])

    def as_dict(self) -> dict[str, Any]:
        """The offer as plain values, ready for JSON."""
        return {"found": [find.as_dict() for find in self.finds]}


def offer_logs(
    memory: "MemSense",
    arguments: dict[str, Any],
    form: str | None,
    *,
    output: OutputForm,
    yes: bool,
) -> Offer:
    """Look where programs keep logs, show what there is, and ask; `form` is the only one wanted.

    Raises IngestError where no program keeps any.
    """
    found = find_places([form] if form else [])
    if not found:
        which = f" in format {form}" if form else ""
        raise IngestError(
            f"no program keeps logs{which} where memsense looks; `memsense formats` shows the"
            " places, and `memsense ingest PATHS` takes any other"
        )
    groups = groupby(found, key=lambda one: one.place)
    finds = [_look(memory, place, list(group), arguments) for place, group in groups]
    if output == "table":
        _print(finds)
    new = sum(find.report.stored for find in finds)
    is_wanted = new > 0 and not arguments["dry_run"] and _ask(new, output=output, yes=yes)
    paths = [str(path) for find in finds if find.report.usable for path in find.paths]
    return Offer(finds=finds, accepted=paths if is_wanted else [])


def _look(
    memory: "MemSense", place: Place, found: Sequence[Found], arguments: dict[str, Any]
) -> Find:
    """A dry run over a program's logs in one place."""
    paths = [one.path for one in found]
    dry: dict[str, Any] = arguments | {"dry_run": True}
    try:
        report = memory.ingest(*paths, **dry)
    except IngestError as error:
        report = IngestReport(dry_run=True)
        return Find(place=place, paths=paths, report=report, problem=one_line(error))
    problem = None if report.usable else report.read.explain_nothing() or "no logs in it"
    return Find(place=place, paths=paths, report=report, problem=problem)


def _print(finds: Sequence[Find]) -> None:
    counts = ("logs", "sessions", "exchanges", "new")
    made = table("program", "where", *counts, "note", right=counts)
    for find in finds:
        told = find.as_dict()
        add_row(
            made,
            find.place.program,
            plain(_where(find)),
            *(told[name] for name in counts),
            plain(find.problem or ""),
        )
    console().print(made)


def _where(find: Find) -> str:
    """The path with ~ for the home folder; of several, their pattern."""
    if len(find.paths) > 1:
        return find.place.shown(this_system())
    (path,) = find.paths
    home = Path.home()
    return f"~/{path.relative_to(home).as_posix()}" if home in path.parents else str(path)


def _ask(new: int, *, output: OutputForm, yes: bool) -> bool:
    if yes:
        return True
    if output == "table" and sys.stdin.isatty():
        return typer.confirm(f"Store {new} exchange{'s' * (new > 1)}?", err=True)
    typer.echo("memsense: nothing is stored yet; --yes stores what is new", err=True)
    return False
