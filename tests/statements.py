"""The statements of sql/ that a run executes, if MEMSENSE_TEST_STATEMENTS names a folder."""

import functools
import re
import uuid
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from memsense.db.queries import SQL_ROOT

_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_COMMENT = re.compile(r"--[^\n]*")
_TOKEN = re.compile(r"(\{[a-z_]+\}|%\(\w+\)[sbt]|%%)")
_PARAMETER = r"(?:%\(\w+\)[sbt]|\$\d+)"


def normalised(text: str) -> str:
    """Return the text without comments, with single blanks."""
    return " ".join(_COMMENT.sub("", text).split())


def as_patterns(part: str) -> list[re.Pattern[str]]:
    """Return patterns of what stands between a part's holes, in order."""
    patterns = [""]
    for piece in _TOKEN.split(normalised(part)):
        if piece.startswith("{"):
            patterns.append("")
        elif piece.startswith("%("):
            patterns[-1] += _PARAMETER
        else:
            patterns[-1] += "%%?" if piece == "%%" else re.escape(piece)
    return [re.compile(pattern) for pattern in patterns if pattern.strip()]


def contains(statement: str, patterns: Iterable[re.Pattern[str]]) -> bool:
    """Return whether the statement has all of the patterns, one behind the other."""
    position = 0
    for pattern in patterns:
        match = pattern.search(statement, position)
        if match is None:
            return False
        position = match.end()
    return True


def read_parts() -> Mapping[str, str]:
    """Return the text of every named part of sql/ under `FILE: NAME`."""
    parts: dict[str, str] = {}
    for path in sorted(SQL_ROOT.glob("*.sql")):
        names = _NAME.split(path.read_text(encoding="utf-8"))
        parts |= {
            f"{path.name}: {name}": body
            for name, body in zip(names[1::2], names[2::2], strict=True)
        }
    return parts


class Recorder:
    """Notes which parts of sql/ the driver has executed without an error, in a file of its own."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / uuid.uuid4().hex
        self._left = {name: as_patterns(body) for name, body in read_parts().items()}
        self._seen: set[str] = set()

    def watch(self) -> None:
        """Record what every cursor of psycopg executes from now on."""
        for cursor in (psycopg.Cursor, psycopg.ServerCursor):
            for name in ("execute", "executemany"):
                if name in vars(cursor):
                    setattr(cursor, name, self._recording(vars(cursor)[name]))
        psycopg.Cursor.copy = self._recording_copy(psycopg.Cursor.copy)

    def _recording(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def execute(cursor: Any, query: Any, *values: Any, **options: Any) -> Any:
            result = method(cursor, query, *values, **options)
            self.note(query, cursor)
            return result

        return execute

    def _recording_copy(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @contextmanager
        @functools.wraps(method)
        def copy(cursor: Any, query: Any, *values: Any, **options: Any) -> Generator[Any]:
            with method(cursor, query, *values, **options) as stream:
                yield stream
            self.note(query, cursor)

        return copy

    def note(self, query: str | bytes | sql.Composable, cursor: psycopg.Cursor[Any]) -> None:
        """Note the parts that a statement contains, which the cursor has executed."""
        text = query.decode() if isinstance(query, bytes) else query
        text = normalised(text if isinstance(text, str) else text.as_string(cursor))
        if text in self._seen:
            return
        self._seen.add(text)
        found = [name for name, patterns in self._left.items() if contains(text, patterns)]
        for name in found:
            del self._left[name]
        if found:
            with self._path.open("a", encoding="utf-8") as file:
                file.writelines(f"{name}\n" for name in found)


EXCEPTIONS = {
    "citus.sql: create_citus": "the nodes of the tests have the extension already",
    **dict.fromkeys(
        (
            "doctor.sql: are_words_indexed",
            "graph.sql: similar_entities_looked_up",
            "recall.sql: is_quoting",
            "recall.sql: quoting",
            "session.sql: list_unguarded",
            "supersessions.sql: holders_looked_up",
        ),
        "under policies alone, which a cluster has none of",
    ),
    **dict.fromkeys(
        (
            "doctor.sql: count_unpurged",
            "jobs.sql: enqueue_purging",
            *(
                f"purge.sql: {name}"
                for name in (
                    "checkpoint",
                    "count_unpurged",
                    "fetch_horizon",
                    "list_indexes_of_texts",
                    "list_leftovers",
                    "list_texts",
                    "mark_purged",
                    "rebuild",
                    "rewrite",
                    "vacuum",
                )
            ),
        ),
        "a cluster is purged by no command of memsense",
    ),
    **{
        f"security.sql: {name}": "tenants of a cluster are not sealed"
        for name in ("drop_other_seals", "drop_seals")
    },
}
"""Parts of sql/ that no cluster executes, with the reason."""

OF_OTHERS = ("foreign.sql",)
"""Files with statements for other databases than memsense's."""


def list_unexecuted(recorded: set[str]) -> list[str]:
    """Return the parts of sql/ that are not among the recorded ones, without files of others."""
    return [
        name
        for name in read_parts()
        if name not in recorded and name.partition(":")[0] not in OF_OTHERS
    ]


def read_recorded(folder: Path) -> set[str]:
    """Return the parts that all processes of a run have executed."""
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    return {name for file in files for name in file.read_text(encoding="utf-8").splitlines()}
