"""Connections to PostgreSQL: the pool, transactions, and the check of a server's features."""

from memsense.db.connection import check_server, connect
from memsense.db.failures import database_errors
from memsense.db.pool import (
    Pool,
    open_pool,
    run_autocommit,
    run_read,
    run_transaction,
    savepoint,
    transaction,
)

__all__ = [
    "Pool",
    "check_server",
    "connect",
    "database_errors",
    "open_pool",
    "run_autocommit",
    "run_read",
    "run_transaction",
    "savepoint",
    "transaction",
]
