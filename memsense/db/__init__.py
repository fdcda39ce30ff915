"""Connections to PostgreSQL: the pool, transactions, and the check of a server's features."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memsense.db.connection import check_server, connect
    from memsense.db.failures import database_errors
    from memsense.db.pool import (
        Pool,
        run_autocommit,
        run_read,
        run_transaction,
        savepoint,
        transaction,
    )

_HOMES = {"check_server": "connection", "connect": "connection", "database_errors": "failures"}
"""The modules of the names that are not in `pool`."""

__all__ = [
    "Pool",
    "check_server",
    "connect",
    "database_errors",
    "run_autocommit",
    "run_read",
    "run_transaction",
    "savepoint",
    "transaction",
]


def __getattr__(name: str) -> Any:
    """Import a name at its first use: who reads a statement's text needs no driver."""
    if name in __all__:
        return getattr(import_module(f"memsense.db.{_HOMES.get(name, 'pool')}"), name)
    raise AttributeError(f"module 'memsense.db' has no attribute {name!r}")
