"""SQLite databases of other programs, which are read but never written to, nor locked.

A database without a write-ahead log is opened immutable. If it has one, its newest rows are in the
log, and a program may be writing: both files are copied, and the copy is read.
"""

import shutil
import sqlite3
import tempfile
import time
import weakref
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from memsense.db.queries import query

MAGIC = b"SQLite format 3\x00"
FILE = "foreign.sql"

_ATTEMPTS = 5
_PAUSE = 0.2
_LOG_HEADER = 32
_READING = frozenset(
    {
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_READ,
        sqlite3.SQLITE_FUNCTION,
        sqlite3.SQLITE_RECURSIVE,
    }
)

Look: TypeAlias = tuple[int, int, bytes, int]


class Snapshot:
    """A database as it was at one moment; its statements are named in `sql/foreign.sql`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def tables(self) -> set[str]:
        """Return the names of its tables."""
        return {row["name"] for row in self.rows("list_tables")}

    def columns(self) -> dict[str, frozenset[str]]:
        """Return the names of each table's columns."""
        return {
            table: frozenset(row["name"] for row in self.rows("list_columns", table=table))
            for table in self.tables()
        }

    def rows(self, name: str, **values: str) -> Iterator[dict[str, Any]]:
        """Yield the rows of a statement."""
        return self._run(query(name, FILE).as_string(), values)

    def select(self, statement: str) -> Iterator[dict[str, Any]]:
        """Yield the rows of a format's query; raise sqlite3.DatabaseError if it writes."""
        self._connection.set_authorizer(_allow_reading)
        try:
            yield from self._run(statement, {})
        finally:
            self._connection.set_authorizer(None)

    def read_table(self, table: str) -> Iterator[dict[str, Any]]:
        """Yield the rows of a table, in the order in which they were written."""
        quoted = table.replace('"', '""')
        return self.select(f'SELECT * FROM "{quoted}" ORDER BY rowid')  # noqa: S608 (quoted)

    def _run(self, statement: str, values: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        try:
            cursor = self._connection.execute(statement, values)
            if cursor.description is None:
                raise sqlite3.DatabaseError("the statement returns no rows")
            names = [column[0] for column in cursor.description]
            yield from (dict(zip(names, row, strict=True)) for row in cursor)
        except UnicodeDecodeError as error:  # in what SQLite says of a damaged file
            raise sqlite3.DatabaseError("the database is damaged") from error


def _allow_reading(action: int, _first: Any, second: Any, *_about: Any) -> int:
    """Return SQLite's answer to what a statement wants to do: reading is all that is allowed."""
    # Formats are shared as files, so that their queries are other people's.
    is_loading = action == sqlite3.SQLITE_FUNCTION and second == "load_extension"
    is_allowed = action in _READING and not is_loading
    return sqlite3.SQLITE_OK if is_allowed else sqlite3.SQLITE_DENY


def join_tables(columns: Mapping[str, frozenset[str]]) -> Iterator[str]:
    """Yield a query for each table with a column `x_id` that names a row of a table `x` or `xs`."""
    for table, names in sorted(columns.items()):
        for name in sorted(names):
            stem = name.removesuffix("_id")
            for other in (stem, f"{stem}s"):
                if name != stem and other != table and "id" in columns.get(other, ()):
                    one, two, key = (text.replace('"', '""') for text in (table, other, name))
                    yield (
                        f'SELECT b.*, a.* FROM "{one}" AS a JOIN "{two}" AS b'  # noqa: S608 (quoted)
                        f' ON b.id = a."{key}" ORDER BY a.rowid'
                    )


class Database:
    """Another program's database, read from a copy, which is reused until the file changes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: Look | None = None
        self._drop: weakref.finalize[..., Database] | None = None
        self._copied = path

    @contextmanager
    def open(self) -> Generator[Snapshot]:
        """Open a snapshot; the file is left alone. Raises OSError and sqlite3.Error."""
        if _log(self._path) is not None:
            # A copy, because reading a log in place would lock it, or write to it.
            if self._seen is None or self._seen != _look(self._path):
                self.drop()
                folder = tempfile.mkdtemp(prefix="memsense-")
                self._drop = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
                self._copied = Path(folder) / "copy.db"
                self._seen = _copy(self._path, self._copied)
            with _connect(self._copied, "mode=rw") as snapshot:
                yield snapshot
            return
        before = _look(self._path)
        with _connect(self._path, "mode=ro&immutable=1") as snapshot:
            yield snapshot
        if _look(self._path) != before:
            raise sqlite3.OperationalError("it was written to while it was read; run this again")

    def peek(self) -> dict[str, frozenset[str]]:
        """Return the columns of each table of the file, without its log; none if unreadable."""
        try:
            with _connect(self._path, "mode=ro&immutable=1") as snapshot:
                return snapshot.columns()
        except sqlite3.Error:
            return {}

    def drop(self) -> None:
        """Remove the copy, if there is one."""
        if self._drop is not None:
            self._drop()
        self._seen = None


@contextmanager
def _connect(path: Path, how: str) -> Generator[Snapshot]:
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True)) as connection:
        connection.text_factory = _decode
        yield Snapshot(connection)


def _decode(data: bytes) -> str:
    return data.decode(errors="replace")


def _log(path: Path) -> Path | None:
    """Return the write-ahead log next to a database, None if it is empty or missing."""
    log = path.with_name(f"{path.name}-wal")
    try:
        return log if log.stat().st_size > 0 else None
    except FileNotFoundError:
        return None


def _look(path: Path) -> Look:
    """Return a value that changes when rows reach the file: time, sizes and log header."""
    stat = path.stat()
    header = b""
    if log := _log(path):
        with log.open("rb") as stream:
            header = stream.read(_LOG_HEADER)
    journal = path.with_name(f"{path.name}-journal")
    journal_size = journal.stat().st_size if journal.exists() else 0
    return stat.st_mtime_ns, stat.st_size, header, journal_size


def _copy(path: Path, copy: Path) -> Look:
    """Copy a database and its log so that they match; return the look of the database."""
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE * attempt)
        # A log that only grew meanwhile is whole up to its last transaction, which SQLite finds by
        # its checksums. One that was moved into the database, or begun anew, is copied again.
        before = _look(path)
        shutil.copyfile(path, copy)
        log_copy = copy.with_name(f"{copy.name}-wal")
        if log := _log(path):
            shutil.copyfile(log, log_copy)
        else:
            log_copy.unlink(missing_ok=True)
        if _look(path) == before and not before[-1]:
            copy.chmod(0o600)
            return before
    raise sqlite3.OperationalError("it does not stop changing; run this again, or end its program")
