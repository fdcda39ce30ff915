"""Connections to PostgreSQL: the pool, transactions, and what a server must offer."""

from memsense.db.connection import (
    check_server,
    connect,
    database_errors,
    open_pool,
    read,
    transaction,
)

__all__ = ["check_server", "connect", "database_errors", "open_pool", "read", "transaction"]
