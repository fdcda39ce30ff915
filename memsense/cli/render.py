"""The pieces that all output is made of: the console, tables, times, excerpts, JSON."""

import json
import re
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

PIPE_WIDTH = 120
MIN_EXCERPT = 40
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BLANKS = re.compile(r"\s+")


def console(*, stderr: bool = False) -> Console:
    """A console as wide as the terminal, or 120 columns where there is none."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else PIPE_WIDTH
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
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"


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


def table(*headings: str, title: str | None = None, right: Sequence[str] = ()) -> Table:
    """An empty table; the columns named in `right` are aligned to the right."""
    made = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold")
    for heading in headings:
        made.add_column(heading, justify="right" if heading in right else "left", overflow="fold")
    return made


def add_row(to: Table, *cells: object, style: str | None = None) -> None:
    """Add a row of texts as they are: nothing in them is markup."""
    to.add_row(
        *(cell if isinstance(cell, Text) else Text(str(cell)) for cell in cells), style=style
    )


def print_json(value: object, *, indent: int | None = 2) -> None:
    """Print the value as JSON on stdout; times are ISO 8601."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=indent, default=_as_json))


def _as_json(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"no JSON for {type(value).__name__}")
