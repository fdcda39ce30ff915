"""The pieces that all output is made of: the console, tables, times, excerpts, JSON."""

import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

import typer
from rich.console import Console

from memsense.text.tables import TextTable

PIPE_WIDTH = 120
MIN_EXCERPT = 40
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_NUMERIC = "0123456789.,:"
_BLANKS = re.compile(r"\s+")


def console(*, stderr: bool = False) -> Console:
    """A console as wide as COLUMNS or the terminal says, else 120 columns."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH
    return Console(stderr=stderr, highlight=False, emoji=False, width=width)


def plain(text: str) -> str:
    """The text without the characters that would steer a terminal."""
    return _UNSEEN.sub("\ufffd", text)


def when(moment: datetime | None, *, zone_known: bool = True) -> str:
    """The moment to the minute; without its zone where the log gave none."""
    if moment is None:
        return "-"
    return f"{moment:%Y-%m-%d %H:%M}" + (f" {moment:%Z}" if zone_known else "")


def shorten(text: str, width: int) -> str:
    """The text on one line of at most `width` characters."""
    line = _BLANKS.sub(" ", plain(text)).strip()
    if len(line) <= width:
        return line
    kept, cut = line[: width - 1], line[width - 1 :]
    if kept[-1:].strip(_NUMERIC) == cut[0].strip(_NUMERIC) == "":
        kept = kept.rstrip(_NUMERIC)  # half a number would be another number
    return kept.rstrip() + "…"


def excerpt(content: str, words: Iterable[str], width: int) -> str:
    """About `width` characters: a long content from its line that holds most of the words on.

    `words` are lexemes of the question: stems, which a line holds when a word begins with one.
    """
    lines = [line for line in plain(content).splitlines() if line.strip()]
    stems = [re.compile(rf"\b{re.escape(word)}", re.IGNORECASE) for word in words]
    held = [sum(bool(stem.search(line)) for stem in stems) for line in lines]
    first = held.index(max(held)) if len(content) > 2 * width else 0
    kept: list[str] = []
    left = width
    for line in lines[first:]:
        if left < MIN_EXCERPT:
            break
        kept.append(shorten(line, left))
        left -= len(kept[-1])
    return ("… " if first else "") + "\n".join(kept)


def table(*headings: str, title: str | None = None, right: Sequence[str] = ()) -> TextTable:
    """An empty table; the columns named in `right` hold numbers and are aligned to the right."""
    return TextTable(headings, title=title, right=right)


def add_row(to: TextTable, *cells: object, style: str | None = None) -> None:
    """Add a row of texts as they are: nothing in them is markup."""
    to.add_row(*cells, style=style)


def print_json(value: object, *, indent: int | None = 2) -> None:
    """Print the value as JSON on stdout; times are ISO 8601."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=indent, default=as_plain))


def as_plain(value: object) -> object:
    """What JSON has no form for, as a text."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"no JSON for {type(value).__name__}")
