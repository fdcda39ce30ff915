"""The examination of the indexes that searches and writes rely on."""

import re
from collections.abc import Iterator

from memsense.db.connection import Connection
from memsense.db.rows import Named, fetch_all, fetch_one, fetch_values
from memsense.doctor.findings import FILE, Expected, Finding, error, info, warning
from memsense.doctor.sizes import in_units
from memsense.store.indexes import FILE as INDEXES_FILE
from memsense.store.indexes import INDEXED_TABLES
from memsense.store.vectors import FRESH_LIMIT

LEFTOVER = re.compile(r"_cc(new|old)\d*$")
"""Name of an index that a broken REINDEX CONCURRENTLY left."""

NODE_BYTES = 714
"""Bytes of a node of an HNSW graph while it is built, without its vector."""


def examine_indexes(connection: Connection, expected: Expected) -> Iterator[Finding]:
    """Examine indexes: invalid ones, and those that an indexed memory lacks."""
    indexes = fetch_all(connection, "list_indexes", file=FILE, of=Named)
    for index in indexes:
        if not index["is_usable"]:
            name = index["index_name"]
            verb = "DROP INDEX" if LEFTOVER.search(name) else "REINDEX INDEX"
            yield error(
                f"index {name} of memsense.{index['table_name']} is invalid",
                f"run '{verb} CONCURRENTLY memsense.{name}'",
            )
    usable = [index for index in indexes if index["method"] == "hnsw" and index["is_usable"]]
    for scope in fetch_all(connection, "list_indexed", file=FILE, of=Named):
        of_scope = f"(scope_id = {scope['scope_id']})"
        of_model = f"(model_id = {scope['model_id']})"
        # Indexes of before models could be changed name no model: they hold the vectors of any.
        indexed_tables = {
            index["table_name"]
            for index in usable
            if of_scope in index["predicate"]
            and ("model_id" not in index["predicate"] or of_model in index["predicate"])
        }
        missing = [table for table in INDEXED_TABLES if table not in indexed_tables]
        if missing:
            yield error(
                f"the indexed memory of {scope['user_id']!r} has no usable HNSW index on"
                f" {', '.join(missing)}",
                f"run '{expected.command('db optimise', scope)}', which builds what is missing",
            )


def examine_large(connection: Connection, expected: Expected) -> Iterator[Finding]:
    """Examine large memories: those without indexes, or whose indexes slow writes down."""
    values = {"threshold": expected.index_threshold}
    settings = fetch_one(connection, "fetch_settings", file=FILE, of=Named)
    memory: int = settings["maintenance_work_mem"]
    indexed = len(fetch_values(connection, "list_scopes_with_indexes", file=INDEXES_FILE))
    room = expected.index_users - indexed
    if room < 0:
        yield warning(
            f"{indexed:,} users have HNSW indexes, more than index_users allows"
            f" ({expected.index_users:,}): each costs every write and every search",
            "run 'memsense db optimise', which keeps those of the largest",
        )
    large = fetch_all(connection, "list_large_unindexed", values, FILE, of=Named)
    if len(large) > max(room, 0):
        yield info(
            f"{len(large) - max(room, 0):,} users of {expected.index_threshold:,} chunks or"
            f" more are searched vector by vector: at most {expected.index_users:,} users"
            " (index_users) have HNSW indexes"
        )
    for scope in large[: max(room, 0)]:
        remedy = f"run '{expected.command('db optimise', scope)}'"
        if (needed := build_memory(scope["chunks"], scope["dimension"])) > memory:
            remedy += (
                "; it is several times faster if an index fits into maintenance_work_mem, now"
                f" {in_units(memory)}: ALTER DATABASE ... SET maintenance_work_mem ="
                f" '{-(-needed >> 20)}MB'"
            )
        yield warning(
            f"the memory of {scope['user_id']!r} has {scope['chunks']:,} chunks"
            " and is searched without indexes of its own",
            remedy,
        )
    for scope in fetch_all(connection, "list_old_kind", file=FILE, of=Named):
        yield warning(
            f"the indexes of {scope['user_id']!r} are of an earlier version: writes wait for them",
            f"run '{expected.command('db optimise', scope)}', which builds them anew while"
            " searches go on",
        )
    for scope in fetch_all(
        # Reported at half of the limit, before writes begin to wait.
        connection,
        "list_unsettled",
        {"least": FRESH_LIMIT // 2},
        FILE,
        of=Named,
    ):
        yield warning(
            f"{scope['chunks']:,} chunks of {scope['user_id']!r} wait to be added to its"
            f" indexes, and no worker does it: from {FRESH_LIMIT:,} on, writes do it themselves",
            f"run '{expected.command('worker', scope)}', or"
            f" '{expected.command('db optimise', scope)}' at times",
        )


def build_memory(chunks: int, dimension: int) -> int:
    """Return the bytes that pgvector needs to build an HNSW index with m = 16 over half vectors.

    Beyond maintenance_work_mem its graph spills to disk, and building takes several times as long.
    Measured: 8 MB hold 5,660 vectors of 384 dimensions.
    """
    return chunks * (NODE_BYTES + 2 * dimension)
