"""Indexes for the filters by tags and by metadata, and whether they are worth their cost.

    python -m benchmarks.fits.filters --database-url postgresql://...

Fills a database of its own, dropped at the end: one user of each of the sizes asked for, and 1,000
users with 200 chunks each, all with the same tags and metadata. Times the filter alone, by the
generic plan that searches use, without any index and with each one that could serve it, and what
each adds to storing chunks. Texts are filler and there are no vectors: filters read neither.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import psycopg
from psycopg import sql
from psycopg.rows import TupleRow
from psycopg.types.json import Jsonb

from benchmarks.statements import statement
from benchmarks.stores import new_database, open_namespace
from benchmarks.timing import time_calls

FILE = "fits/filters.sql"
# Many small users besides the large ones: an index that all users share is slow for them.
SMALL_USERS, SMALL = 1000, 200
SHARES = {"half": 0, "tenth": 1, "hundredth": 1, "thousandth": 1}
CALLS = 9
SESSIONS, SESSION_CHUNKS = 100, 20

Connection = psycopg.Connection[TupleRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """Filter, and the index that can serve it, if any."""

    query: str
    index: str | None


WAYS = {
    "tags, no index": Way(query="filter_tags", index=None),
    "tags, one index for all": Way(query="filter_tags", index="index_tags"),
    "tags, by scope (shipped)": Way(query="filter_scope_tags", index="index_scope_tags"),
    "metadata, no index (shipped)": Way(query="filter_metadata", index=None),
    "metadata, one index for all": Way(query="filter_metadata", index="index_metadata"),
    "metadata, by scope": Way(query="filter_scope_metadata", index="index_scope_metadata"),
}


def fill(connection: Connection, sizes: Sequence[int]) -> dict[str, int]:
    """Store the users to search; return their number of chunks."""
    open_namespace(connection)
    users = len(sizes) + SMALL_USERS
    connection.execute(statement(FILE, "make_users"), {"users": users})
    for number, chunks in enumerate(sizes, 1):
        values = {"chunks": chunks, "first": number, "last": number}
        connection.execute(statement(FILE, "fill_users"), values)
    values = {"chunks": SMALL, "first": len(sizes) + 1, "last": users}
    connection.execute(statement(FILE, "fill_users"), values)
    # As autovacuum would in time: plans depend on the statistics.
    connection.execute("VACUUM ANALYZE memsense.chunks")
    user_sizes = {f"user{number}": chunks for number, chunks in enumerate(sizes, 1)}
    return user_sizes | {f"user{users}": SMALL}


def put_index(connection: Connection, index: str | None) -> int:
    """Create this index and drop the others; return its bytes."""
    connection.execute(statement(FILE, "drop_indexes"))
    if index is None:
        return 0
    connection.execute(statement(FILE, index))
    connection.execute("ANALYZE memsense.chunks")
    row = connection.execute(statement(FILE, "measure_index")).fetchone()
    assert row is not None
    return row[0]


def time_filter(connection: Connection, way: Way, user_id: str) -> dict[str, float]:
    """Return the median milliseconds by the share of chunks that the filter lets through."""
    text = statement(FILE, way.query)

    def ask(values: Mapping[str, object]) -> None:
        connection.execute(text, values, prepare=True)

    figures: dict[str, float] = {}
    for share, value in SHARES.items():
        values: Mapping[str, object] = {
            "user_id": user_id,
            "tags": [share],
            "metadata": Jsonb({share: value}),
        }
        figures[share] = round(time_calls(ask, [values] * CALLS).median, 2)
    return figures


def weigh_writes(connection: Connection) -> dict[str, float]:
    """Return the bytes of write-ahead log for each chunk, by index: a cost without noise."""
    indexes = sorted({way.index for way in WAYS.values() if way.index})
    figures: dict[str, float] = {}
    for name in ("none", *indexes):
        put_index(connection, None if name == "none" else name)
        with connection.transaction(force_rollback=True):
            weights = [_log_bytes(connection, str(session)) for session in range(SESSIONS)]
        figures[name] = round(sum(weights) / (SESSIONS * SESSION_CHUNKS))
    return figures


def _log_bytes(connection: Connection, session_id: str) -> int:
    explain = sql.SQL("EXPLAIN (ANALYZE, WAL, FORMAT JSON) ")
    statement_text = sql.SQL(statement(FILE, "copy_chunks"))
    row = connection.execute(explain + statement_text, {"session_id": session_id}).fetchone()
    assert row is not None
    return row[0][0]["Plan"]["WAL Bytes"]


def measure(url: str, sizes: Sequence[int]) -> dict[str, object]:
    """Return milliseconds per way, user size and share; bytes per index; log bytes per chunk."""
    with psycopg.connect(url, autocommit=True) as connection:
        users = fill(connection, sizes)
        connection.execute("SET jit = off")
        connection.execute("SET max_parallel_workers_per_gather = 0")
        connection.execute("SET plan_cache_mode = force_generic_plan")
        connection.execute(statement(FILE, "create_pairs"))
        filters: dict[str, object] = {}
        for name, way in WAYS.items():
            size = put_index(connection, way.index)
            times = {str(n): time_filter(connection, way, user) for user, n in users.items()}
            filters[name] = {"bytes": size, "ms": times}
        return {"filters": filters, "log_bytes_per_chunk": weigh_writes(connection)}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Which indexes pay for the filters.")
    parser.add_argument("--database-url", required=True, help="a server that allows new databases")
    parser.add_argument("--chunks", type=int, nargs="+", default=[20_000, 100_000])
    options = parser.parse_args(arguments)
    with new_database(options.database_url, "memsense_bench_filters") as url:
        print(json.dumps(measure(url, options.chunks), indent=2))


if __name__ == "__main__":
    main()
