"""`memsense formats` and `memsense ingest --find`: log formats, and where programs keep logs."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memsense.cli.app import new_app
from memsense.cli.exits import one_line
from memsense.cli.options import Output
from memsense.cli.output import OutputForm, print_data
from memsense.cli.render import add_row, console, plain, table
from memsense.cli.values import read_choices
from memsense.draft.ingest_run import IngestReport
from memsense.errors import IngestError, InvalidInputError
from memsense.ingest import Reader, find_places
from memsense.ingest.mapping.format_map import (
    BUILT_IN,
    SUFFIX,
    formats_folder,
    list_format_files,
    load_format,
    map_from_fields,
    save_format,
)
from memsense.ingest.places import BY_HAND, SYSTEMS, Place, System, places_of, this_system
from memsense.ingest.registry import readers

if TYPE_CHECKING:
    from memsense.client.memory import MemSense

_SYSTEM_NAMES: dict[System, str] = {"macos": "macOS", "linux": "Linux", "windows": "Windows"}


app = new_app(
    invoke_without_command=True, help="List the log formats; add, show and remove your own."
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the format.")]


@app.callback()
def formats(ctx: typer.Context, *, output: Output = "table") -> None:
    """List the log formats that `memsense ingest` reads, in the order in which it tries them, and
    where programs keep such logs; a * stands for any name. Formats are readers of memsense, files
    (the guide 'How to read a file of any form'), readers of installed packages, and your own.

    \b
      memsense formats
      memsense formats add mine --map messages='$.events[*]' --map role=author
      memsense ingest --find     looks in these places
    """
    if ctx.invoked_subcommand is not None:
        return
    if output != "table":
        items: list[dict[str, Any]] = []
        for name, reader in readers().items():
            paths = {
                # Formats of one program share places, and some systems agree on them.
                system: list(dict.fromkeys(place.display(system) for place in places_of(name)))
                for system in SYSTEMS
            }
            by_hand = BY_HAND.get(name) or "; ".join(reader.places()) or None
            fields = {"format": name, "what": _describe_format(reader), **paths}
            items.append({**fields, "by_hand": by_hand, "origin": reader.origin})
        print_data(output, items)
        return
    rows = table("format", "what it is", "where it is kept")
    for name, reader in readers().items():
        places = [line for place in places_of(name) for line in _place_lines(place)]
        by_hand = [BY_HAND[name]] if name in BY_HAND else reader.places()
        lines = [*dict.fromkeys(places), *map(plain, by_hand)]
        what = _describe_format(reader)
        # Whose a format is matters only where it isn't memsense's own.
        what += "" if reader.origin == "memsense" else f" ({reader.origin})"
        add_row(rows, name, plain(what), "\n".join(lines))
    console().print(rows)


@app.command("add")
def add_format(
    name: Name,
    *,
    fields: Annotated[list[str] | None, typer.Option("--map", metavar="FIELD=PATH")] = None,
    file: Annotated[str | None, typer.Option("--from", metavar="FILE")] = None,
    description: str = "",
) -> None:
    """Save a mapping as a format of your own, which `memsense ingest --format NAME` uses.

    \b
      memsense formats add mine --map messages='$.events[*]' --map role=author
      memsense formats add theirs --from ~/Downloads/theirs.toml

    Args:
        fields: Column or JSONPath that holds a field; the page 'Fields of a mapping'
            describes them. Repeatable.
        file: Take the format from its file (*.toml).
        description: What the format is, in a line.
    """
    if bool(fields) == bool(file):
        raise typer.BadParameter("give either --map or --from")
    if name in readers() and not any(name == own for own, _ in list_format_files(formats_folder())):
        raise typer.BadParameter(
            f"{name!r} is a format of memsense or of a package already: choose another name",
            param_hint="NAME",
        )
    form = load_format(Path(file)) if file else map_from_fields(read_fields(fields or ()))
    if description:
        form = form.model_copy(update={"description": description})
    typer.echo(f"saved in {save_format(form, name)}")


@app.command("show")
def show_format(name: Name) -> None:
    """Print a format's file, to look at or to share; readers written in Python have none.

    \b
      memsense formats show mine > mine.toml
    """
    typer.echo(_file_of(name).read_text(encoding="utf-8"), nl=False)


@app.command("remove")
def remove_format(name: Name) -> None:
    """Remove a format of your own; what was ingested with it stays.

    \b
      memsense formats remove mine
    """
    path = formats_folder() / f"{name}{SUFFIX}"
    if name not in dict(list_format_files(formats_folder())):
        raise typer.BadParameter(f"no format of yours named {name!r}", param_hint="NAME")
    path.unlink()
    typer.echo(f"removed {path}")


def _file_of(name: str) -> Path:
    files = dict(list_format_files(BUILT_IN)) | dict(list_format_files(formats_folder()))
    if name not in files:
        kind = "is written in Python, not a file" if name in readers() else "is no format"
        raise typer.BadParameter(f"{name!r} {kind}; files: {', '.join(files)}", param_hint="NAME")
    return files[name]


def complete_formats(typed: str) -> list[str]:
    """Return the names of formats that begin with what was typed."""
    return [name for name in readers() if name.startswith(typed)]


def check_format(name: str | None, *, has_map: bool) -> None:
    """Raise BadParameter for a format that doesn't exist, or is passed with a mapping."""
    if name is not None and has_map:
        raise typer.BadParameter("--map and --format exclude each other", param_hint="--format")
    if name is not None and not name.endswith(SUFFIX):
        read_choices([name], tuple(readers()), "format", option="--format")


def read_fields(pairs: Sequence[str]) -> dict[str, str | Sequence[str]]:
    """Return the paths of each field of --map; raise BadParameter for other texts."""
    fields: dict[str, list[str]] = {}
    for pair in pairs:
        # Reasons to skip may hold any character but "=".
        name, equals, path = pair.partition("=")
        if not equals or not path.strip():
            raise typer.BadParameter(
                f"{pair!r} is not FIELD=PATH, such as content=said", param_hint="--map"
            )
        fields.setdefault(name.strip(), []).append(path)
    read: dict[str, str | Sequence[str]] = {
        name: paths[0] if len(paths) == 1 else paths for name, paths in fields.items()
    }
    try:
        map_from_fields(read)
    except InvalidInputError as error:
        raise typer.BadParameter(str(error), param_hint="--map") from error
    return read


def _place_lines(place: Place) -> list[str]:
    """Return the place on each system; systems on which it is the same share a line."""
    systems: dict[str, list[str]] = {}
    for system in SYSTEMS:
        systems.setdefault(place.display(system), []).append(_SYSTEM_NAMES[system])
    if len(systems) == 1:
        return list(systems)
    return [f"{', '.join(names)}: {path}" for path, names in systems.items()]


def _describe_format(reader: Reader) -> str:
    """Return what the format's file says it is, or the first line of the reader's module."""
    # The reader's own words, so that this list can't differ from what it reads.
    module = sys.modules.get(f"memsense.ingest.readers.{reader.name}")
    first = reader.describe() or (module.__doc__ if module else "") or ""
    return first.split("\n", maxsplit=1)[0].rstrip(".")


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
