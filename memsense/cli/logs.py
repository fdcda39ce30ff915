"""`memsense formats` and `memsense ingest --find`: log formats, and where programs keep logs."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from memsense.cli.exits import one_line
from memsense.cli.options import Output
from memsense.cli.output import OutputForm, print_data
from memsense.cli.render import add_row, console, plain, table
from memsense.errors import IngestError
from memsense.ingest import READERS, find_places
from memsense.ingest.places import BY_HAND, SYSTEMS, Place, System, places_of, this_system
from memsense.write.ingest_run import IngestReport

if TYPE_CHECKING:
    from memsense.client.memory import MemSense

_SYSTEM_NAMES: dict[System, str] = {"macos": "macOS", "linux": "Linux", "windows": "Windows"}


def formats(*, output: Output = "table") -> None:
    """List the log formats that `memsense ingest` reads, in the order in which it tries them, and
    where programs keep such logs; a * stands for any name.

    \b
      memsense formats
      memsense ingest --find     looks in these places
    """
    if output != "table":
        items: list[dict[str, Any]] = []
        for name in READERS:
            paths = {
                # Formats of one program share places, and some systems agree on them.
                system: list(dict.fromkeys(place.display(system) for place in places_of(name)))
                for system in SYSTEMS
            }
            fields = {"format": name, "what": _describe_format(name), **paths}
            items.append({**fields, "by_hand": BY_HAND.get(name)})
        print_data(output, items)
        return
    rows = table("format", "what it is", "where it is kept")
    for name in READERS:
        places = [line for place in places_of(name) for line in _place_lines(place)]
        lines = [*dict.fromkeys(places), *([BY_HAND[name]] if name in BY_HAND else [])]
        add_row(rows, name, _describe_format(name), "\n".join(lines))
    console().print(rows)


def _place_lines(place: Place) -> list[str]:
    """Return the place on each system; systems on which it is the same share a line."""
    systems: dict[str, list[str]] = {}
    for system in SYSTEMS:
        systems.setdefault(place.display(system), []).append(_SYSTEM_NAMES[system])
    if len(systems) == 1:
        return list(systems)
    return [f"{', '.join(names)}: {path}" for path, names in systems.items()]


def _describe_format(name: str) -> str:
    """Return the first line of the reader's module docstring."""
    # The reader's own words, so that this list can't differ from what it reads.
    first = (sys.modules[f"memsense.ingest.readers.{name}"].__doc__ or "").split("\n")[0]
    return first.rstrip(".")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSource:
    """A program's logs in one place, and the report of a dry run over them.

    `problem` says why the logs can't be ingested; None if they can.
    """

    place: Place
    paths: Sequence[Path]
    report: IngestReport
    problem: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the source as plain values, ready for JSON."""
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
    """Logs of this machine, and the paths that the user agreed to ingest: none without a yes."""

    sources: Sequence[LogSource]
    paths: list[str] = field(default_factory=list[str])

    def as_dict(self) -> dict[str, Any]:
        """Return the offer as plain values, ready for JSON."""
        return {"found": [source.as_dict() for source in self.sources]}


def offer_logs(
    memory: "MemSense",
    arguments: dict[str, Any],
    log_format: str | None,
    *,
    output: OutputForm,
    yes: bool,
) -> Offer:
    """Look where programs keep logs, show what is there, and ask whether to store what is new.

    `log_format` limits the search to one format. Raises IngestError if no program keeps any.
    """
    places = find_places([log_format] if log_format else [])
    if not places:
        which = f" in format {log_format}" if log_format else ""
        raise IngestError(
            f"no program keeps logs{which} where memsense looks; `memsense formats` shows the"
            " places, and `memsense ingest PATHS` takes any other"
        )
    sources: list[LogSource] = []
    for place, group in groupby(places, key=lambda item: item.place):
        paths = [item.path for item in group]
        # A dry run counts what is new and names what can't be read, and stores nothing.
        dry_run: dict[str, Any] = arguments | {"dry_run": True}
        try:
            report = memory.ingest(*paths, **dry_run)
            problem = None if report.usable else report.read.explain_nothing() or "no logs in it"
        except IngestError as error:
            report, problem = IngestReport(dry_run=True), one_line(error)
        sources.append(LogSource(place=place, paths=paths, report=report, problem=problem))
    if output == "table":
        _print_sources(sources)
    new = sum(source.report.stored for source in sources)
    is_accepted = new > 0 and not arguments.get("dry_run") and _ask(new, output=output, yes=yes)
    paths = [str(path) for source in sources if source.report.usable for path in source.paths]
    return Offer(sources=sources, paths=paths if is_accepted else [])


def _print_sources(sources: Sequence[LogSource]) -> None:
    counts = ("logs", "sessions", "exchanges", "new")
    rows = table("program", "where", *counts, "note", right=counts)
    for source in sources:
        fields = source.as_dict()
        add_row(
            rows,
            source.place.program,
            plain(_shown_path(source)),
            *(fields[name] for name in counts),
            plain(source.problem or ""),
        )
    console().print(rows)


def _shown_path(source: LogSource) -> str:
    """Return the path with ~ for the home folder; for several paths their pattern."""
    if len(source.paths) > 1:
        return source.place.display(this_system())
    (path,) = source.paths
    # The table has little room, and most of these paths begin with the home folder.
    home = Path.home()
    return f"~/{path.relative_to(home).as_posix()}" if home in path.parents else str(path)


def _ask(new: int, *, output: OutputForm, yes: bool) -> bool:
    if yes:
        return True
    # Only a person at a terminal can answer; a script says --yes.
    if output == "table" and sys.stdin.isatty():
        return typer.confirm(f"Store {new} exchange{'s' * (new > 1)}?", err=True)
    typer.echo("memsense: nothing is stored yet; --yes stores what is new", err=True)
    return False
