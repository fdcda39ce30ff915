"""Execution of the statements of `sql/` by name.

Only this module runs them, but for connecting and migrating. Each function takes a statement's
name, or a statement composed of parts, then its values by name and the file of `sql/` that holds
it. Rows are tuples, or objects of the class `of`, whose fields are the columns.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from psycopg import Cursor, RawCursor, sql
from psycopg.rows import TupleRow, class_row, scalar_row, tuple_row

from memsense.db.connection import Connection
from memsense.db.queries import Numbered, query
from memsense.db.session import announced, limit_recall, one_round_trip
from memsense.db.wire import register_types
from memsense.errors import DatabaseError

T = TypeVar("T")
Statement = str | sql.SQL | sql.Composed
Values = Mapping[str, Any]

Named = dict[str, Any]
"""A row by the names of its columns, for `of` where a class is not worthwhile."""

ROW: type[TupleRow] = tuple
"""A row by the places of its columns."""

STORE = "store.sql"


def _run(cursor: Cursor[T], statement: Statement, values: Values | None, file: str, /) -> Cursor[T]:
    text = query(statement, file) if isinstance(statement, str) else statement
    with announced(cursor.connection):
        return cursor.execute(text, values or {})


def execute(
    connection: Connection, statement: Statement, values: Values | None = None, file: str = STORE
) -> int:
    """Run a statement that returns no rows; return how many it wrote or deleted."""
    return _run(connection.cursor(), statement, values, file).rowcount


def execute_together(
    connection: Connection, statements: Iterable[str], values: Values, file: str = STORE
) -> None:
    """Run statements that return no rows in one round trip, in order, with the same values.

    Needs a transaction. On a Citus cluster they need the nodes of their shards only; one statement
    that writes in several CTEs would need every node.
    """
    with one_round_trip(connection):
        for statement in statements:
            connection.execute(query(statement, file), values)


def execute_alone(connection: Connection, statement: Statement, file: str = STORE) -> None:
    """Run a statement outside of transactions, such as CREATE INDEX CONCURRENTLY."""
    text = query(statement, file) if isinstance(statement, str) else statement
    connection.execute(text)


def execute_many(
    connection: Connection, statement: str, values: Iterable[Values], file: str = STORE
) -> None:
    """Run a statement once for each of the values, without waiting for each answer."""
    connection.cursor().executemany(query(statement, file), values)


def fetch_all(
    connection: Connection,
    statement: Statement,
    values: Values | None = None,
    file: str = STORE,
    *,
    of: type[T] = ROW,
) -> list[T]:
    """Return all rows of the statement, in its order."""
    return _run(_cursor(connection, of), statement, values, file).fetchall()


def find_one(
    connection: Connection,
    statement: Statement,
    values: Values | None = None,
    file: str = STORE,
    *,
    of: type[T] = ROW,
) -> T | None:
    """Return the first row of the statement, None if there is none."""
    return _run(_cursor(connection, of), statement, values, file).fetchone()


def fetch_one(
    connection: Connection,
    statement: Statement,
    values: Values | None = None,
    file: str = STORE,
    *,
    of: type[T] = ROW,
) -> T:
    """Return the row of a statement that always finds one; raise DatabaseError otherwise."""
    rows = _run(_cursor(connection, of), statement, values, file).fetchall()
    return _only(rows, statement)


def fetch_value(
    connection: Connection, statement: Statement, values: Values | None = None, file: str = STORE
) -> Any:
    """Return the one column of `fetch_one`'s row; raise DatabaseError as it does."""
    cursor = connection.cursor(row_factory=scalar_row)
    return _only(_run(cursor, statement, values, file).fetchall(), statement)


def find_value(
    connection: Connection, statement: Statement, values: Values | None = None, file: str = STORE
) -> Any:
    """Return the one column of `find_one`'s row, None if there is no row."""
    cursor = connection.cursor(row_factory=scalar_row)
    return _run(cursor, statement, values, file).fetchone()


def fetch_values(
    connection: Connection, statement: Statement, values: Values | None = None, file: str = STORE
) -> list[Any]:
    """Return the one column of all rows of the statement, in its order."""
    cursor = connection.cursor(row_factory=scalar_row)
    return _run(cursor, statement, values, file).fetchall()


def _cursor(connection: Connection, of: type[T]) -> Cursor[T]:
    make_rows: Any = tuple_row if of is ROW else class_row(of)
    return connection.cursor(row_factory=make_rows)


def _only(rows: Sequence[T], statement: Statement) -> T:
    if len(rows) != 1:
        name = statement if isinstance(statement, str) else "a statement"
        raise DatabaseError(f"{name} returned {len(rows)} rows instead of one")
    return rows[0]


def fetch_batches(
    connection: Connection,
    statement: Statement,
    values: Values,
    file: str = STORE,
    *,
    of: type[T] = ROW,
    size: int,
) -> Iterator[list[T]]:
    """Yield all rows in lists of `size`, in a transaction that stays open until the last one."""
    text = query(statement, file) if isinstance(statement, str) else statement
    make_rows: Any = tuple_row if of is ROW else class_row(of)
    with connection.cursor("batches", row_factory=make_rows) as cursor:
        cursor.execute(text, values)
        while batch := cursor.fetchmany(size):
            yield batch


def fetch_numbered(connection: Connection, statement: Numbered, values: Values) -> list[TupleRow]:
    """Return all rows of a statement that every search runs: prepared, and in binary both ways.

    Takes numpy arrays, and returns columns that are arrays of numbers as numpy arrays (see `wire`).
    """
    return _run_numbered(connection, statement, values).fetchall()


def fetch_each_numbered(
    connection: Connection, runs: Sequence[tuple[Numbered, Values]], seconds: float
) -> list[list[TupleRow]]:
    """Return the rows of searches' statements in one round trip; raise RecallTimeoutError."""
    with limit_recall(connection, seconds):
        cursors = [_run_numbered(connection, statement, values) for statement, values in runs]
    return [cursor.fetchall() for cursor in cursors]


def execute_numbered(connection: Connection, statement: Numbered, values: Values) -> int:
    """Run a statement as `fetch_numbered` does that returns no rows; return how many it wrote."""
    return _run_numbered(connection, statement, values).rowcount


def _run_numbered(
    connection: Connection, statement: Numbered, values: Values
) -> RawCursor[TupleRow]:
    cursor = RawCursor(connection)
    register_types(cursor)
    arguments = statement.arguments(values)
    with announced(connection):
        return cursor.execute(statement.text, arguments, prepare=True, binary=True)
