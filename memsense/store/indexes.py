"""Indexing: gives large scopes approximate (HNSW) indexes of their own, and takes them away again.

A search of a scope is exact and reads the whole scope, until the scope is indexed. If building
its indexes breaks off, the scope is searched exactly as before; the next run finishes them.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from psycopg import sql

from memsense.db.connection import Connection
from memsense.db.queries import query
from memsense.db.rows import execute, fetch_all, fetch_value, fetch_values
from memsense.errors import DatabaseError
from memsense.store.scopes import Namespace

FILE = "indexes.sql"

INDEXED_TABLES = (
    "embeddings_full",
    "embeddings_user",
    "embeddings_assistant",
    "embeddings_personal_info",
    "embeddings_preferences",
    "embeddings_events",
)

KEPT_SHARE = 0.5
"""An indexed scope keeps its indexes down to this share of the threshold: no going to and fro."""

Action = Literal["build", "drop", "repair", "clean"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeSize:
    """A scope, its number of active chunks, and whether it has HNSW indexes now."""

    scope_id: int
    user_id: str
    indexed: bool
    chunks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexChange:
    """What one optimisation did to one scope, which has so many active chunks.

    `build` gave it its indexes and `drop` took them away; `repair` built again what an indexed
    scope lacked, `clean` dropped what a run that broke off had left behind.
    """

    user_id: str
    chunks: int
    action: Action


def should_index(chunks: int, threshold: int, *, indexed: bool = False) -> bool:
    """THE rule: a scope has indexes of its own from `threshold` active chunks on.

    A scope that has them already keeps them until it has shrunk below half of that.
    """
    return chunks >= (threshold * KEPT_SHARE if indexed else threshold)


def list_scopes(connection: Connection, namespace: Namespace) -> list[ScopeSize]:
    """The scopes of the namespace with their sizes, the largest first."""
    values = {"tenant_id": namespace.tenant_id, "namespace": namespace.name}
    return fetch_all(connection, "list_scopes", values, FILE, of=ScopeSize)


def optimise(
    connection: Connection,
    namespace: Namespace,
    threshold: int,
    on_change: Callable[[IndexChange], object] = lambda _: None,
) -> list[IndexChange]:
    """Build and drop indexes of the namespace's scopes by the rule; returns what was changed.

    `connection` must be in autocommit mode. Reads and writes go on meanwhile. Safe to break off at
    any point and to run again. Raises DatabaseError while another one runs in the database.
    """
    changes: list[IndexChange] = []
    with _locked(connection):
        with_indexes = _scopes_with_indexes(connection, namespace)
        for scope in list_scopes(connection, namespace):
            has_any = scope.scope_id in with_indexes
            action = _adjust(connection, namespace, scope, threshold, has_any)
            if action is not None:
                change = IndexChange(user_id=scope.user_id, chunks=scope.chunks, action=action)
                changes.append(change)
                on_change(change)
    return changes


def _adjust(
    connection: Connection, namespace: Namespace, scope: ScopeSize, threshold: int, has_any: bool
) -> Action | None:
    if should_index(scope.chunks, threshold, indexed=scope.indexed):
        built = build_indexes(connection, namespace, scope.scope_id)
        return ("repair" if scope.indexed else "build") if built else None
    if scope.indexed or has_any:
        drop_indexes(connection, namespace, scope.scope_id)
        return "drop" if scope.indexed else "clean"
    return None


def build_indexes(connection: Connection, namespace: Namespace, scope_id: int) -> bool:
    """Build what is missing of the scope's indexes, then mark it; False if all was there."""
    state = _scope_indexes(connection, scope_id)
    missing = [table for table in INDEXED_TABLES if not state.get(_index_name(table, scope_id))]
    for table in missing:
        index = sql.Identifier(_index_name(table, scope_id))
        execute(connection, query("drop_scope_index", FILE).format(index=index))
        create = query("create_scope_index", FILE).format(
            index=index,
            table=sql.Identifier(table),
            dimension=sql.Literal(namespace.dimension),
            scope_id=sql.Literal(scope_id),
        )
        execute(connection, create)
        # An expression index has statistics of its own, which the planner needs.
        analyse = query("analyse_scope_table", FILE)
        execute(connection, analyse.format(table=sql.Identifier(table)))
    return _set_indexed(connection, namespace, scope_id, indexed=True) or bool(missing)


def drop_indexes(connection: Connection, namespace: Namespace, scope_id: int) -> None:
    """Unmark the scope, then drop its indexes, complete or not."""
    _set_indexed(connection, namespace, scope_id, indexed=False)
    for name in _scope_indexes(connection, scope_id):
        statement = query("drop_scope_index", FILE)
        execute(connection, statement.format(index=sql.Identifier(name)))


def _set_indexed(
    connection: Connection, namespace: Namespace, scope_id: int, *, indexed: bool
) -> bool:
    values = {"tenant_id": namespace.tenant_id, "scope_id": scope_id, "indexed": indexed}
    return execute(connection, "set_indexed", values, FILE) > 0


def _index_name(table: str, scope_id: int) -> str:
    return f"{table}_scope_{scope_id}"


def _scope_indexes(connection: Connection, scope_id: int) -> dict[str, bool]:
    """Each HNSW index of the scope, and whether it is complete."""
    return dict(fetch_all(connection, "list_scope_indexes", {"scope_id": scope_id}, FILE))


def _scopes_with_indexes(connection: Connection, namespace: Namespace) -> set[int]:
    values = {"tenant_id": namespace.tenant_id, "namespace": namespace.name}
    return set(fetch_values(connection, "list_scopes_with_indexes", values, FILE))


@contextmanager
def _locked(connection: Connection) -> Generator[None]:
    if not fetch_value(connection, "lock_indexing", file=FILE):
        raise DatabaseError("another optimisation is running in this database; try again later")
    try:
        yield
    finally:
        if not connection.closed:
            execute(connection, "unlock_indexing", file=FILE)
