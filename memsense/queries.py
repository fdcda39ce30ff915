"""Reads the SQL texts of `sql/` and picks their variants; the only module that does."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import LiteralString, cast

from psycopg import sql

from memsense import termcounts
from memsense.errors import ConfigurationError

_PACKAGED = Path(__file__).parent / "_sql"
SQL_ROOT = _PACKAGED if _PACKAGED.is_dir() else Path(__file__).parent.parent / "sql"

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_BLOCK = re.compile(r"^--: (begin|end) (\w+)$")
_PARAMETER = re.compile(r"%\((\w+)\)s")
_MARKER = re.compile(r"\s*--: ([\w ]+)$")


def _read(file: str) -> str:
    return (SQL_ROOT / file).read_text(encoding="utf-8")


def _as_sql(text: str) -> sql.SQL:
    # The texts are this project's own files, so they are literals in every sense but the checker's.
    return sql.SQL(cast("LiteralString", text))


@cache
def _named(file: str) -> dict[str, str]:
    parts = _NAME.split(_read(file))
    return dict(zip(parts[1::2], (body.strip() for body in parts[2::2]), strict=True))


@cache
def query(name: str, file: str = "store.sql") -> sql.SQL:
    """The statement under `-- name: NAME` of `file`."""
    try:
        return _as_sql(_named(file)[name])
    except KeyError:
        raise ConfigurationError(f"sql/{file} holds no statement named {name}") from None


@cache
def script(file: str) -> sql.SQL:
    """A whole file, to be run as it is."""
    return _as_sql(_read(file))


def load_views() -> str:
    """The text of `sql/views.sql`: every view, in creation order."""
    return _read("views.sql")


def load_functions() -> str:
    """The text of `sql/functions.sql`: the functions for people at psql."""
    return _read("functions.sql")


def select_lines(text: str, flags: frozenset[str]) -> str:
    """Keep the unmarked lines of `text` and those whose every marker is in `flags`.

    A marker ends a line (`--: filtered`) or spans a block (`--: begin bm25f` … `--: end bm25f`).
    """
    kept: list[str] = []
    open_blocks: list[str] = []
    for line in text.splitlines():
        if block := _BLOCK.match(line):
            _enter_or_leave(open_blocks, *block.groups())
            continue
        marker = _MARKER.search(line)
        wanted = {*open_blocks, *(marker[1].split() if marker else ())}
        if wanted <= flags:
            kept.append(_MARKER.sub("", line))
    if open_blocks:
        raise ConfigurationError(f"block {open_blocks[-1]} is never closed")
    return "\n".join(kept)


def _enter_or_leave(open_blocks: list[str], edge: str, name: str) -> None:
    if edge == "begin":
        open_blocks.append(name)
    elif not open_blocks or open_blocks.pop() != name:
        raise ConfigurationError(f"block {name} is closed but was not open")


@cache
def recall_text(flags: frozenset[str]) -> str:
    """The text of the recall query with the optional lines of `flags`."""
    text = select_lines(_read("recall.sql"), flags)
    for name, literal in termcounts.literals().items():
        text = text.replace(name, literal)
    return text


@cache
def recall_query(
    flags: frozenset[str], scope_id: int | None = None, dimension: int | None = None
) -> sql.SQL:
    """The recall query for `flags`; with `ann`, for one promoted scope of `dimension`-wide vectors.

    A partial index serves a query only when its predicate stands in the text, hence the literals.
    """
    text = recall_text(flags)
    if "ann" in flags:
        text = text.replace("{scope_id}", str(int(scope_id or 0)))
        text = text.replace("{dimension}", str(int(dimension or 0)))
    return _as_sql(text)


@cache
def _numbered(text: str) -> tuple[bytes, Sequence[str]]:
    names = list(dict.fromkeys(_PARAMETER.findall(text)))
    numbered = _PARAMETER.sub(lambda found: f"${names.index(found[1]) + 1}", text)
    return numbered.replace("%%", "%").encode(), names


def number_parameters(statement: sql.SQL) -> tuple[bytes, Sequence[str]]:
    """The statement with $1, $2, … for a raw cursor, and the parameters' names in that order.

    psycopg would translate the named ones anew at every call, a tenth of a small search's time, and
    encode any text but bytes.
    """
    return _numbered(statement.as_string())


def statement_names(file: str = "store.sql") -> Iterable[str]:
    """The names of all statements of `file`."""
    return _named(file).keys()
