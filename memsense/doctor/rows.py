"""Reads the rows that the statements of doctor.sql find."""

from collections.abc import Mapping
from typing import Any

from psycopg.rows import dict_row

from memsense.db.connection import Connection
from memsense.db.queries import query

FILE = "doctor.sql"


def fetch_rows(
    connection: Connection, name: str, values: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """What a statement of doctor.sql finds, a mapping a row."""
    cursor = connection.cursor(row_factory=dict_row)
    return cursor.execute(query(name, FILE), values).fetchall()


def fetch_row(
    connection: Connection, name: str, values: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """As `fetch_rows`, of a statement that finds one row."""
    return fetch_rows(connection, name, values or {})[0]
