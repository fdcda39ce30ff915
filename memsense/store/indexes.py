"""Promotion: gives large scopes approximate (HNSW) indexes of their own, and takes them away again.

A search of a scope is exact and reads the whole scope, until the scope is promoted. A promotion
that breaks off leaves the scope as it was, searched exactly; the next one finishes it.
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

PROMOTED_TABLES = (
    "embeddings_full",
    "embeddings_user",
    "embeddings_assistant",
    "embeddings_personal_info",
    "embeddings_preferences",
    "embeddings_events",
)

DEMOTION_SHARE = 0.5
"""Below this share of the threshold a promoted scope is demoted: it must not go to and fro."""

Action = Literal["promote", "demote", "repair", "clean"]


FILE = "promotion.sql"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeSize:
    """A scope, its number of active chunks, and whether it has HNSW indexes now."""

    scope_id: int
    user_id: str
    promoted: bool
    chunks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """What one optimisation did to one scope.

    `promote` and `demote` are the two changes; `repair` rebuilt indexes that a promoted scope
    lacked, `clean` dropped what a broken-off promotion left behind.
    """

    user_id: str
    chunks: int
    action: Action


def should_promote(chunks: int, threshold: int, *, promoted: bool = False) -> bool:
    """THE rule: a scope is searched approximately from `threshold` active chunks on.

    A scope that is promoted already stays so until it has shrunk below half of that.
    """
    return chunks >= (threshold * DEMOTION_SHARE if promoted else threshold)


def list_scopes(connection: Connection, namespace: Namespace) -> list[ScopeSize]:
    """The scopes of the namespace, the largest first."""
    values = {"tenant_id": namespace.tenant_id, "namespace": namespace.name}
    return fetch_all(connection, "list_scopes", values, FILE, of=ScopeSize)


def optimise(
    connection: Connection,
    namespace: Namespace,
    threshold: int,
    on_change: Callable[[Promotion], object] = lambda _: None,
) -> list[Promotion]:
    """Promote and demote the namespace's scopes by the rule; returns what was changed.

    `connection` must be in autocommit mode. Reads and writes go on meanwhile. Safe to break off at
    any point and to run again. Raises DatabaseError while another one runs in the database.
    """
    changes: list[Promotion] = []
    with _locked(connection):
        leftover = _scopes_with_indexes(connection, namespace)
        for scope in list_scopes(connection, namespace):
            action = _adjust(connection, namespace, scope, threshold, scope.scope_id in leftover)
            if action is not None:
                change = Promotion(user_id=scope.user_id, chunks=scope.chunks, action=action)
                changes.append(change)
                on_change(change)
    return changes


def _adjust(
    connection: Connection, namespace: Namespace, scope: ScopeSize, threshold: int, indexed: bool
) -> Action | None:
    if should_promote(scope.chunks, threshold, promoted=scope.promoted):
        built = promote_scope(connection, namespace, scope.scope_id)
        return ("repair" if scope.promoted else "promote") if built else None
    if scope.promoted or indexed:
        demote_scope(connection, namespace, scope.scope_id)
        return "demote" if scope.promoted else "clean"
    return None


def promote_scope(connection: Connection, namespace: Namespace, scope_id: int) -> bool:
    """Build what is missing of the scope's indexes, then mark it; False if all was there."""
    state = _scope_indexes(connection, scope_id)
    missing = [table for table in PROMOTED_TABLES if not state.get(_index_name(table, scope_id))]
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
    return _set_promoted(connection, namespace, scope_id, promoted=True) or bool(missing)


def demote_scope(connection: Connection, namespace: Namespace, scope_id: int) -> None:
    """Unmark the scope, then drop its indexes, complete or not."""
    _set_promoted(connection, namespace, scope_id, promoted=False)
    for name in _scope_indexes(connection, scope_id):
        statement = query("drop_scope_index", FILE)
        execute(connection, statement.format(index=sql.Identifier(name)))


def _set_promoted(
    connection: Connection, namespace: Namespace, scope_id: int, *, promoted: bool
) -> bool:
    values = {"tenant_id": namespace.tenant_id, "scope_id": scope_id, "promoted": promoted}
    return execute(connection, "set_promoted", values, FILE) > 0


def _index_name(table: str, scope_id: int) -> str:
    return f"{table}_scope_{scope_id}"


def _scope_indexes(connection: Connection, scope_id: int) -> dict[str, bool]:
    """Each index that promotion made for the scope, and whether it is complete."""
    return dict(fetch_all(connection, "list_scope_indexes", {"scope_id": scope_id}, FILE))


def _scopes_with_indexes(connection: Connection, namespace: Namespace) -> set[int]:
    values = {"tenant_id": namespace.tenant_id, "namespace": namespace.name}
    return set(fetch_values(connection, "list_scopes_with_indexes", values, FILE))


@contextmanager
def _locked(connection: Connection) -> Generator[None]:
    if not fetch_value(connection, "lock_promotion", file=FILE):
        raise DatabaseError("another optimisation is running in this database; try again later")
    try:
        yield
    finally:
        if not connection.closed:
            execute(connection, "unlock_promotion", file=FILE)
