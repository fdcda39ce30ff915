"""Building blocks of all output: the console, tables, times, excerpts, JSON."""

import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from pathlib import Path
from uuid import UUID

import typer
from rich.console import Console

from memsense.text.tables import TextTable
from memsense.text.visible import show as plain

PIPE_WIDTH = 120
MIN_EXCERPT = 40
_NUMERIC = "0123456789.,:"
_BLANKS = re.compile(r"\s+")


def console(*, stderr: bool = False) -> Console:
    """Return a console as wide as COLUMNS or the terminal, else 120 columns."""
    stream = sys.stderr if stderr else sys.stdout
    # Rich takes 80 columns for a pipe, in which the tables would have no room.
    width = None if stream.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH
    return Console(stderr=stderr, highlight=False, emoji=False, width=width)


def when(moment: datetime | None, *, zone_known: bool = True) -> str:
    """Return the moment to the minute, without its time zone if the log gave none."""
    if moment is None:
        return "-"
    return f"{moment:%Y-%m-%d %H:%M}" + (f" {moment:%Z}" if zone_known else "")


def shorten(text: str, width: int) -> str:
    """Return the text on one line of at most `width` characters."""
    line = _BLANKS.sub(" ", plain(text)).strip()
    if len(line) <= width:
        return line
    start, rest = line[: width - 1], line[width - 1 :]
    # Half a number would be another number: drop it whole.
    if start[-1:].strip(_NUMERIC) == rest[0].strip(_NUMERIC) == "":
        start = start.rstrip(_NUMERIC)
    return start.rstrip() + "…"


def excerpt(content: str, words: Iterable[str], width: int) -> str:
    """Return about `width` characters; of a long content, from the line with most words on.

    `words` are lexemes of the question: stems, which match the beginning of a line's words.
    """
    lines = [line for line in plain(content).splitlines() if line.strip()]
    stems = [re.compile(rf"\b{re.escape(word)}", re.IGNORECASE) for word in words]
    counts = [sum(bool(stem.search(line)) for stem in stems) for line in lines]
    # A content of up to twice the width is better read from its beginning.
    first = counts.index(max(counts)) if len(content) > 2 * width else 0
    excerpts: list[str] = []
    room = width
    for line in lines[first:]:
        # A few characters of a line say nothing.
        if room < MIN_EXCERPT:
            break
        excerpts.append(shorten(line, room))
        room -= len(excerpts[-1])
    return ("… " if first else "") + "\n".join(excerpts)


def table(*headings: str, title: str | None = None, right: Sequence[str] = ()) -> TextTable:
    """Return an empty table; the columns named in `right` hold numbers and are right-aligned."""
    return TextTable(headings, title=title, right=right)


def add_row(to: TextTable, *cells: object, style: str | None = None) -> None:
    """Add a row of texts, which are not read as markup."""
    to.add_row(*cells, style=style)


def print_json(value: object, *, indent: int | None = 2) -> None:
    """Print the value as JSON on stdout; times are ISO 8601."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=indent, default=as_plain))


def as_plain(value: object) -> object:
    """Return a time, day, path or UUID as a text; raise TypeError for what else JSON lacks."""
    if isinstance(value, date):  # a datetime is one
        return value.isoformat()
    if isinstance(value, Path | UUID):
        return str(value)
    raise TypeError(f"no JSON for {type(value).__name__}")
