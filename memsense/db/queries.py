"""The SQL texts of `sql/`: whole statements by name, and parts to be filled and joined."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, LiteralString, cast

from memsense.errors import ConfigurationError

if TYPE_CHECKING:
    from psycopg import sql

_PACKAGED = Path(__file__).parents[1] / "_sql"
SQL_ROOT = _PACKAGED if _PACKAGED.is_dir() else Path(__file__).parents[2] / "sql"

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_REASON = re.compile(r"^-- name: (\w+)\n-- because: (.+)$", re.MULTILINE)
_COMMENT = re.compile(r"^ *--.*\n", re.MULTILINE)
_HOLE = re.compile(r"\{(?P<hole>[a-z_]+)\}")
_PARAMETER = re.compile(r"%\((\w+)\)s")


def _read(file: str) -> str:
    return (SQL_ROOT / file).read_text(encoding="utf-8")


def as_sql(text: str) -> sql.SQL:
    """Return a text that is made of `sql/` alone, which the type checker can't know, as SQL."""
    from psycopg import sql

    return sql.SQL(cast("LiteralString", text))


@cache
def _named(file: str) -> dict[str, str]:
    parts = _NAME.split(_read(file))
    bodies = (_COMMENT.sub("", body).strip() for body in parts[2::2])
    return dict(zip(parts[1::2], bodies, strict=True))


def _find(name: str, file: str) -> str:
    try:
        return _named(file)[name]
    except KeyError:
        raise ConfigurationError(f"sql/{file} has no statement named {name}") from None


@cache
def query(name: str, file: str = "store.sql") -> sql.SQL:
    """Return the statement under `-- name: NAME` of `file`."""
    return as_sql(_find(name, file))


@cache
def script(file: str) -> sql.SQL:
    """Return a whole file, to be run as it is."""
    return as_sql(_read(file))


def load_views() -> str:
    """Return the text of `sql/views.sql`: every view, in creation order."""
    return _read("views.sql")


def fill(name: str, file: str, /, **holes: str) -> str:
    """Return the part of a statement under `-- name: NAME` of `file`, its holes `{hole}` filled.

    Holes are filled with text of this package, never of a user; its further lines are indented as
    the line that has the hole. Raises ConfigurationError for an unknown part or an unfilled hole.
    """
    return _fill(_find(name, file), f"sql/{file}, {name}", holes)


def fill_script(file: str, **holes: str) -> str:
    """Return a whole file with its holes filled, as `fill` does, to be run as it is."""
    return _fill(_read(file), f"sql/{file}", holes)


def _fill(text: str, where: str, holes: Mapping[str, str]) -> str:
    def fill_hole(match: re.Match[str]) -> str:
        if match["hole"] not in holes:
            raise ConfigurationError(f"{where}: no text for the hole {match['hole']}")
        line = text[text.rfind("\n", 0, match.start()) + 1 :]
        blanks = line[: len(line) - len(line.lstrip(" "))]
        return holes[match["hole"]].replace("\n", f"\n{blanks}")

    return _HOLE.sub(fill_hole, text)


@dataclass(frozen=True, slots=True)
class Numbered:
    """A statement with $1, $2, … for a raw cursor, and the parameters' names in that order."""

    # psycopg translates named parameters anew at every call, a tenth of a small search's time, and
    # encodes any text but bytes.
    text: bytes
    names: tuple[str, ...]

    def arguments(self, values: Mapping[str, Any]) -> list[Any]:
        """Return the parameters' values, in order."""
        return [values[name] for name in self.names]


def number_parameters(text: str) -> Numbered:
    """Return the statement with its `%(name)s` numbered in the order of their first use."""
    places: dict[str, int] = {}
    numbered = _PARAMETER.sub(
        lambda match: f"${places.setdefault(match[1], len(places) + 1)}", text
    )
    return Numbered(numbered.replace("%%", "%").encode(), tuple(places))


@cache
def numbered_query(name: str, file: str = "store.sql") -> Numbered:
    """Return the statement under `-- name: NAME` of `file`, for a raw cursor."""
    return number_parameters(_find(name, file))


def statement_names(file: str = "store.sql") -> Iterable[str]:
    """Return the names of all statements of `file`."""
    return _named(file).keys()


@cache
def reasons(file: str) -> Mapping[str, str]:
    """Return the text behind `-- because:` of each statement of `file` that has one, by name."""
    return dict(_REASON.findall(_read(file)))
