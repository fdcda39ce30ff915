"""Reads SQLite databases of other programs, and never writes to one, nor locks it.

A database without a write-ahead log is opened immutable. Where there is one, its newest rows are in
it, and a program may be writing: both files are copied, and the copy is read.
"""

import shutil
import sqlite3
import tempfile
import time
import weakref
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from memsense.db.queries import query

MAGIC = b"SQLite format 3\x00"
FILE = "foreign.sql"

_ATTEMPTS = 5
_PAUSE = 0.2
_LOG_HEADER = 32

Look: TypeAlias = tuple[int, int, bytes, int]


class Snapshot:
    """A database as it was at one moment; statements are named in `sql/foreign.sql`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def tables(self) -> set[str]:
        """The names of its tables."""
        return {row["name"] for row in self.rows("list_tables")}

    def rows(self, name: str, **values: str) -> Iterator[dict[str, Any]]:
        """The rows of a statement, one at a time."""
        try:
            cursor = self._connection.execute(query(name, FILE).as_string(), values)
            names = [column[0] for column in cursor.description]
            yield from (dict(zip(names, row, strict=True)) for row in cursor)
        except UnicodeDecodeError as error:  # in what SQLite says of a damaged file
            raise sqlite3.DatabaseError("the database is damaged") from error


class Database:
    """Another program's database, read as it was when it was opened.

    A copy is kept until `drop`, or as long as this lives, so that it is made but once.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: Look | None = None
        self._drop: weakref.finalize[..., Database] | None = None
        self._copied = path

    @contextmanager
    def open(self) -> Generator[Snapshot]:
        """A snapshot; the file, and a program that uses it, are left alone.

        Raises OSError and sqlite3.Error, the latter also for a file that does not stop changing.
        """
        if _log(self._path) is not None:
            self._keep_copy()
            with _connect(self._copied, "mode=rw") as snapshot:
                yield snapshot
            return
        before = _look(self._path)
        with _connect(self._path, "mode=ro&immutable=1") as snapshot:
            yield snapshot
        if _look(self._path) != before:
            raise sqlite3.OperationalError("it was written to while it was read; run this again")

    def peek(self) -> set[str]:
        """The tables in the file itself, whatever its log holds; none where it can't be told."""
        try:
            with _connect(self._path, "mode=ro&immutable=1") as snapshot:
                return snapshot.tables()
        except sqlite3.Error:
            return set()

    def drop(self) -> None:
        """Remove the copy, if there is one."""
        if self._drop is not None:
            self._drop()
        self._seen = None

    def _keep_copy(self) -> None:
        if self._seen is not None and self._seen == _look(self._path):
            return
        self.drop()
        folder = tempfile.mkdtemp(prefix="memsense-")
        self._drop = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._copied = Path(folder) / "copy.db"
        self._seen = _copy(self._path, self._copied)


@contextmanager
def _connect(path: Path, how: str) -> Generator[Snapshot]:
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True)) as connection:
        connection.text_factory = _decode
        yield Snapshot(connection)


def _decode(data: bytes) -> str:
    return data.decode(errors="replace")


def _log(path: Path) -> Path | None:
    """The write-ahead log beside a database, where it holds anything."""
    log = path.with_name(f"{path.name}-wal")
    try:
        return log if log.stat().st_size > 0 else None
    except FileNotFoundError:
        return None


def _look(path: Path) -> Look:
    """What changes when rows reach the file: its time, its size, the log's header; and whether a
    transaction is under way in it.
    """
    stat = path.stat()
    header = b""
    if log := _log(path):
        with log.open("rb") as stream:
            header = stream.read(_LOG_HEADER)
    journal = path.with_name(f"{path.name}-journal")
    return stat.st_mtime_ns, stat.st_size, header, _size(journal)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _copy(path: Path, copy: Path) -> Look:
    """Copy a database and its log so that they fit together; what the database looked like.

    A log that only grew meanwhile is whole up to its last transaction, which SQLite finds by its
    checksums; one that was moved into the database meanwhile, or begun anew, is copied again.
    """
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE * attempt)
        before = _look(path)
        shutil.copyfile(path, copy)
        beside = copy.with_name(f"{copy.name}-wal")
        if log := _log(path):
            shutil.copyfile(log, beside)
        else:
            beside.unlink(missing_ok=True)
        if _look(path) == before and not before[-1]:
            copy.chmod(0o600)
            return before
    raise sqlite3.OperationalError("it does not stop changing; run this again, or end its program")
