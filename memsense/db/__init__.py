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

_HOMES = {
    "check_server": "memsense.db.connection",
    "connect": "memsense.db.connection",
    "database_errors": "memsense.db.failures",
    "Pool": "memsense.db.pool",
    "run_autocommit": "memsense.db.pool",
    "run_read": "memsense.db.pool",
    "run_transaction": "memsense.db.pool",
    "savepoint": "memsense.db.pool",
    "transaction": "memsense.db.pool",
}

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
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'memsense.db' has no attribute {name!r}")
