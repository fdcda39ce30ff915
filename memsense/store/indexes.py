"""Indexing: gives large scopes approximate (HNSW) indexes of their own, and takes them away again.

A search of a scope is exact and reads the whole scope, until the scope is indexed. If building
its indexes breaks off, the scope is searched exactly as before; the next run finishes them.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Literal

from psycopg import IsolationLevel, errors, sql

from memsense.db.connection import Connection, connect_beside
from memsense.db.queries import query
from memsense.db.rows import execute, execute_alone, fetch_all, fetch_value, fetch_values
from memsense.errors import LockTimeoutError
from memsense.store.scopes import Namespace, Scope
from memsense.types import EmbeddingModel

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

SETTLED_AT_ONCE = 64
"""Vectors that are settled in a transaction: a quarter of a second, for which one that changes them
may have to wait."""

Action = Literal["build", "drop", "repair", "clean", "settle"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeSize:
    """A scope, its number of active chunks, and whether it has HNSW indexes now.

    `keeps_fresh`: these are of the kind that leaves fresh vectors out, for a job.
    """

    scope_id: int
    user_id: str
    indexed: bool
    keeps_fresh: bool
    chunks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexChange:
    """What one optimisation did to one scope, which has so many active chunks.

    `build` gave it its indexes and `drop` took them away; `repair` built again what an indexed
    scope lacked, `clean` dropped what a run that broke off had left behind, `settle` took vectors
    in that were waiting for it.
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


def list_misfits(connection: Connection, namespace: Namespace, threshold: int) -> list[int]:
    """The scopes that by the rule are to get indexes, or to lose theirs, or whose indexes are of
    an earlier kind, which writes have to wait for."""
    return [
        scope.scope_id
        for scope in list_scopes(connection, namespace)
        if should_index(scope.chunks, threshold, indexed=scope.indexed) != scope.indexed
        or scope.indexed != scope.keeps_fresh
    ]


def optimise(
    connection: Connection,
    namespace: Namespace,
    threshold: int,
    on_change: Callable[[IndexChange], object] = lambda _: None,
    *,
    only: int | None = None,
) -> list[IndexChange]:
    """Build and drop indexes of the namespace's scopes by the rule, or of the `only` one; returns
    what was changed.

    `connection` must be in autocommit mode. Reads and writes go on meanwhile. Safe to break off at
    any point and to run again. Raises LockTimeoutError while another one runs in the database.
    """
    changes: list[IndexChange] = []
    with _locked(connection):
        with_indexes = _scopes_with_indexes(connection, namespace)
        for scope in list_scopes(connection, namespace):
            if only not in {None, scope.scope_id}:
                continue
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
        settled = _settle_all(connection, namespace, scope.scope_id)
        built = build_indexes(connection, namespace, scope.scope_id)
        if built:
            return "repair" if scope.indexed else "build"
        return "settle" if settled else None
    if scope.indexed or has_any:
        drop_indexes(connection, namespace, scope.scope_id)
        return "drop" if scope.indexed else "clean"
    return None


def build_indexes(connection: Connection, namespace: Namespace, scope_id: int) -> bool:
    """Build what is missing of the scope's indexes, then mark it and drop those of no use to it;
    False if all was there.
    """
    state = _scope_indexes(connection, scope_id)
    wanted = {
        _index_name(table, model, scope_id): (table, model)
        for model in namespace.models
        for table in INDEXED_TABLES
    }
    missing = {name: what for name, what in wanted.items() if not state.get(name)}
    for name, (table, model) in missing.items():
        _drop_index(connection, name)
        _create_index(connection, name, table, model, scope_id)
    _ease_writes(connection, scope_id)
    marked = _set_indexed(connection, namespace, scope_id, indexed=True)
    for name in state.keys() - wanted.keys():
        _drop_index(connection, name)
    return marked or bool(missing)


def _create_index(
    connection: Connection, name: str, table: str, model: EmbeddingModel, scope_id: int
) -> None:
    create = query("create_scope_index", FILE).format(
        index=sql.Identifier(name),
        table=sql.Identifier(table),
        dimension=sql.Literal(model.dimension),
        scope_id=sql.Literal(scope_id),
        model_id=sql.Literal(model.model_id),
    )
    execute_alone(connection, create)
    # An expression index has statistics of its own, which the planner needs.
    analyse = query("analyse_scope_table", FILE)
    execute_alone(connection, analyse.format(table=sql.Identifier(table)))


def _ease_writes(connection: Connection, scope_id: int) -> None:
    """Let writes look less far for a new vector's neighbours than the building did.

    An index that a transaction holds for longer than a moment stays as it is until the next run.
    """
    for name in fetch_values(connection, "list_uneased", {"scope_id": scope_id}, FILE):
        ease = query("ease_scope_index", FILE).format(index=sql.Identifier(name))
        with suppress(errors.LockNotAvailable), connection.transaction():
            execute_alone(connection, query("wait_briefly", FILE))
            execute_alone(connection, ease)


def renew_indexes(connection: Connection, namespace: Namespace) -> None:
    """Give the memories that are indexed an index of each model of the namespace, and no other.

    As `optimise`, it takes a connection in autocommit mode, and may be broken off and run again.
    """
    with _locked(connection):
        for scope in list_scopes(connection, namespace):
            if scope.indexed:
                _settle_all(connection, namespace, scope.scope_id)
                build_indexes(connection, namespace, scope.scope_id)


def settle_vectors(connection: Connection, scope: Scope) -> int:
    """Take some of the memory's fresh vectors into its HNSW indexes; how many.

    Waits for no other transaction: 0 if there are none, or all are being changed.
    """
    values = {
        "tenant_id": scope.tenant_id,
        "scope_id": scope.scope_id,
        "limit": SETTLED_AT_ONCE,
    }
    return execute(connection, "settle_vectors", values, FILE)


def count_fresh(connection: Connection, scope: Scope) -> int:
    """How many vectors of the memory are not in its HNSW indexes yet."""
    values = {"tenant_id": scope.tenant_id, "scope_id": scope.scope_id}
    return fetch_value(connection, "count_fresh", values, FILE)


def _settle_all(connection: Connection, namespace: Namespace, scope_id: int) -> bool:
    """Settle as many as are fresh now, a transaction a batch; whether there were any."""
    scope = Scope(tenant_id=namespace.tenant_id, scope_id=scope_id, language=namespace.language)
    batches = range(0, count_fresh(connection, scope), SETTLED_AT_ONCE)
    return sum(settle_vectors(connection, scope) for _ in batches) > 0


def drop_indexes(connection: Connection, namespace: Namespace, scope_id: int) -> None:
    """Unmark the scope, then drop its indexes, complete or not."""
    _set_indexed(connection, namespace, scope_id, indexed=False)
    for name in _scope_indexes(connection, scope_id):
        _drop_index(connection, name)


def _drop_index(connection: Connection, name: str) -> None:
    statement = query("drop_scope_index", FILE)
    execute_alone(connection, statement.format(index=sql.Identifier(name)))


def _set_indexed(
    connection: Connection, namespace: Namespace, scope_id: int, *, indexed: bool
) -> bool:
    values = {"tenant_id": namespace.tenant_id, "scope_id": scope_id, "indexed": indexed}
    return execute(connection, "set_indexed", values, FILE) > 0


def _index_name(table: str, model: EmbeddingModel, scope_id: int) -> str:
    return f"{table}_settled_model_{model.model_id}_scope_{scope_id}"


def _scope_indexes(connection: Connection, scope_id: int) -> dict[str, bool]:
    """Each HNSW index of the scope, and whether it is complete."""
    return dict(fetch_all(connection, "list_scope_indexes", {"scope_id": scope_id}, FILE))


def _scopes_with_indexes(connection: Connection, namespace: Namespace) -> set[int]:
    values = {"tenant_id": namespace.tenant_id, "namespace": namespace.name}
    return set(fetch_values(connection, "list_scopes_with_indexes", values, FILE))


@contextmanager
def _locked(connection: Connection) -> Generator[None]:
    """Hold the lock in a transaction beside `connection`, on which no index could be built in one.

    A lock of a session would stay behind on a connection that a pooler lends to others. The
    transaction has no snapshot, for which the building of an index would wait.
    """
    with connect_beside(connection) as other:
        other.isolation_level = IsolationLevel.READ_COMMITTED
        with other.transaction():
            if not fetch_value(other, "lock_indexing", file=FILE):
                raise LockTimeoutError(
                    "another optimisation is running in this database; try again later"
                )
            yield
