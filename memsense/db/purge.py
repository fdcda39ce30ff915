"""Purge: the bytes of erased texts leave the server's files.

An erasure deletes rows. Their words stay as keys of GIN indexes, from which PostgreSQL removes
none, in the holes of the tables' pages, and in the planner's statistics.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from psycopg.rows import scalar_row

from memsense.db import citus
from memsense.db.connection import Connection, connect
from memsense.db.failures import database_errors
from memsense.db.migrate import require_current
from memsense.db.queries import as_sql, query
from memsense.db.tenants import require_operator
from memsense.errors import ConfigurationError

FILE = "purge.sql"


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeStep:
    """A step of a purge that begins: the statement's verb and the table or index that it works on.

    `locks_for` is set where reads and writes of the table wait: the estimated seconds, by the rate
    of the tables before; 0 where nothing was measured yet.
    """

    action: str
    name: str
    locks_for: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeReport:
    """Result of a purge.

    `receipts` are the erasures whose words are gone from the files now; `waiting` are those for
    which the purge must be run again, because a transaction from before them was still open.
    `skips_server` is true if the user may not rewrite the planner's statistics, where words of
    erased texts may still stand: a full purge is then none.
    """

    is_full: bool
    receipts: int
    waiting: int
    skips_server: bool


def purge(
    url: str,
    *,
    is_full: bool = False,
    on_step: Callable[[PurgeStep], object] = lambda _: None,
) -> PurgeReport:
    """Remove erased texts from the files of indexes, and with `is_full` from those of tables.

    Each step is a statement of its own, so a purge that was interrupted is simply run again.

    Args:
        url: Address of the database, of the tables' owner or a superuser.
        is_full: Whether to rewrite the tables with texts, too. Each is locked meanwhile, and needs
            its size in free space.
        on_step: Called before each step.

    Raises:
        ConfigurationError: If the user is not the owner, or on a Citus cluster.
    """
    with connect(url) as connection, database_errors():
        require_current(connection)
        require_operator(connection)
        if citus.is_spread(connection):
            raise ConfigurationError(
                "a Citus cluster is not purged by this command: run VACUUM FULL and REINDEX on it"
            )
        # Read before anything is deleted: see mark_purged.
        row = connection.execute(query("fetch_horizon", FILE)).fetchone()
        assert row is not None
        horizon, is_super = row
        tables = connection.execute(query("list_texts", FILE), {}).fetchall()

        def run(action: str, name: str, locks_for: float | None = None) -> None:
            on_step(PurgeStep(action=action, name=name, locks_for=locks_for))
            connection.execute(query(action, FILE).format(name=as_sql(name)))

        for name, _ in tables:
            run("vacuum", name)
        for name in _list(connection, "list_leftovers"):
            run("drop", name)
        if is_full:
            seconds = done = 0.0
            for name, size in tables:
                began = time.monotonic()
                run("rewrite", name, size * seconds / done if done else 0.0)
                seconds, done = seconds + time.monotonic() - began, done + size
            if is_super:
                run("rewrite", "pg_catalog.pg_statistic", 0.0)
                # The files of before are removed by it.
                run("checkpoint", "")
        else:
            for name in _list(connection, "list_indexes_of_texts"):
                run("rebuild", name)
        marks = {"is_full": is_full and is_super, "horizon": horizon}
        receipts = connection.execute(query("mark_purged", FILE), marks).rowcount
        [waiting] = connection.execute(query("count_unpurged", FILE), marks).fetchone() or (0,)
    skips_server = is_full and not is_super
    return PurgeReport(
        is_full=is_full, receipts=receipts, waiting=waiting, skips_server=skips_server
    )


def _list(connection: Connection, name: str) -> list[str]:
    return connection.cursor(row_factory=scalar_row).execute(query(name, FILE), {}).fetchall()
