"""Search for words in every column of memsense's tables."""

from typing import Any

import psycopg
from psycopg import sql

BASE_TABLES = (
    "SELECT c.relname FROM pg_class AS c"
    " WHERE c.relnamespace = 'memsense'::regnamespace AND c.relkind IN ('r', 'p')"
    " AND NOT c.relispartition"
    " AND c.relname <> 'alembic_version' ORDER BY c.relname"
)


def list_tables(conn: psycopg.Connection[Any]) -> list[str]:
    """Return the names of memsense's tables."""
    return [name for (name,) in conn.execute(BASE_TABLES).fetchall()]


def dump(conn: psycopg.Connection[Any]) -> dict[str, str]:
    """Return each table's rows as texts, numbers and bytes included."""
    found: dict[str, str] = {}
    for table in list_tables(conn):
        text = sql.SQL("SELECT t::text FROM {} AS t").format(sql.Identifier("memsense", table))
        found[table] = "\n".join(row for (row,) in conn.execute(text).fetchall())
    return found


def find_words(conn: psycopg.Connection[Any], *words: str) -> set[tuple[str, str]]:
    """Return the places of the words: (table, word)."""
    return {
        (table, word)
        for table, text in dump(conn).items()
        for word in words
        if word.lower() in text.lower()
    }


def count_rows(conn: psycopg.Connection[Any]) -> dict[str, int]:
    """Return the number of rows of each table, its partitions together."""
    counts: dict[str, int] = {}
    for table in list_tables(conn):
        text = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier("memsense", table))
        [(counts[table],)] = conn.execute(text).fetchall()
    return counts
