"""HNSW indexes of large scopes: the largest above a threshold get their own, and lose them again.

Each index costs every write, every plan and every process something, for whichever user, so that
their number has a limit (benchmarks/fits/indexed_users.py).

A search of a scope is exact and reads the whole scope, until the scope is indexed. If building its
indexes breaks off, the scope is searched exactly as before; the next run finishes them.
"""

from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Literal

from psycopg import IsolationLevel, errors, sql

from memsense.db.connection import Connection, connect_beside
from memsense.db.queries import query
from memsense.db.rows import execute, execute_alone, fetch_all, fetch_value, fetch_values
from memsense.errors import LockTimeoutError
from memsense.store.scopes import Namespace, Scope

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
"""An indexed scope keeps its indexes down to this share of the threshold, so that a scope near the
threshold does not gain and lose them by turns.
"""

SETTLED_AT_ONCE = 64
"""Vectors that one transaction settles: a quarter of a second, for which a write that changes one
of them may have to wait.
"""

Action = Literal["build", "drop", "repair", "clean", "settle"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeSize:
    """A scope, its number of active chunks, and whether it has HNSW indexes.

    `keeps_fresh` is true if these are of the kind that leaves fresh vectors to a job.
    """

    scope_id: int
    user_id: str
    indexed: bool
    keeps_fresh: bool
    chunks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexChange:
    """A change to the indexes of one scope, which has this many active chunks.

    `build` created its indexes and `drop` removed them; `repair` rebuilt missing ones of an indexed
    scope, `clean` removed what an interrupted run had left, `settle` added waiting vectors.
    """

    user_id: str
    chunks: int
    action: Action


def should_index(chunks: int, threshold: int, *, indexed: bool = False) -> bool:
    """Return whether a scope is large enough for HNSW indexes.

    A scope gets them at `threshold` active chunks and keeps them until it shrinks below half of
    that.
    """
    return chunks >= (threshold * KEPT_SHARE if indexed else threshold)


def list_scopes(connection: Connection, namespace: Namespace) -> list[ScopeSize]:
    """Return the scopes of the namespace with their sizes, largest first."""
    return fetch_all(connection, "list_scopes", namespace.key, FILE, of=ScopeSize)


def choose_indexed(
    scopes: Sequence[ScopeSize], threshold: int, most: int, have_indexes: Collection[int] = ()
) -> set[int]:
    """Return the scopes that are to have indexes: the largest of those above the threshold.

    One that has indexes counts for twice its size, so that two of about one size do not take turns.
    `most` is for the whole database: scopes of other namespaces and tenants among those that
    `have_indexes` keep their places.
    """
    others = set(have_indexes) - {scope.scope_id for scope in scopes}
    large = [it for it in scopes if should_index(it.chunks, threshold, indexed=it.indexed)]
    large.sort(key=lambda it: (-it.chunks / (KEPT_SHARE if it.indexed else 1), it.scope_id))
    return {scope.scope_id for scope in large[: max(most - len(others), 0)]}


def list_misfits(
    connection: Connection, namespace: Namespace, threshold: int, most: int
) -> list[int]:
    """Return the scopes whose indexes the rule would change.

    Those are to be indexed, to lose their indexes, or to replace indexes of an earlier kind, which
    writes have to wait for.
    """
    scopes = list_scopes(connection, namespace)
    have_indexes = fetch_values(connection, "list_scopes_with_indexes", file=FILE)
    chosen = choose_indexed(scopes, threshold, most, have_indexes)
    return [
        scope.scope_id
        for scope in scopes
        if (scope.scope_id in chosen) != scope.indexed or scope.indexed != scope.keeps_fresh
    ]


def optimise(
    connection: Connection,
    namespace: Namespace,
    threshold: int,
    on_change: Callable[[IndexChange], object] = lambda _: None,
    *,
    most: int,
    only: int | None = None,
) -> list[IndexChange]:
    """Build and drop indexes by the rule, for all scopes or for `only` one; return the changes.

    At most `most` scopes of the database have any. What other namespaces have stays theirs.
    `connection` must be in autocommit mode. Reads and writes go on meanwhile. A run may be
    interrupted at any point and started again. Raises LockTimeoutError while another one runs in
    the database.
    """
    changes: list[IndexChange] = []
    with _locked(connection):
        have_indexes = set(fetch_values(connection, "list_scopes_with_indexes", file=FILE))
        scopes = list_scopes(connection, namespace)
        chosen = choose_indexed(scopes, threshold, most, have_indexes)
        # First those that lose their indexes, so that the limit holds meanwhile.
        for scope in sorted(scopes, key=lambda it: it.scope_id in chosen):
            if only not in {None, scope.scope_id}:
                continue
            action: Action | None = None
            if scope.scope_id in chosen:
                # Both, always: settling is due even where no index is missing.
                is_settled = _settle_all(connection, namespace, scope.scope_id)
                if build_indexes(connection, namespace, scope.scope_id):
                    action = "repair" if scope.indexed else "build"
                elif is_settled:
                    action = "settle"
            elif scope.indexed or scope.scope_id in have_indexes:
                # An unmarked scope may have indexes that a build left behind when it broke off.
                drop_indexes(connection, namespace, scope.scope_id)
                action = "drop" if scope.indexed else "clean"
            if action is not None:
                change = IndexChange(user_id=scope.user_id, chunks=scope.chunks, action=action)
                changes.append(change)
                on_change(change)
    return changes


def build_indexes(connection: Connection, namespace: Namespace, scope_id: int) -> bool:
    """Build what is missing of the scope's indexes, mark it, and drop indexes it doesn't need.

    Returns False if nothing was missing.
    """
    is_complete = _scope_indexes(connection, scope_id)
    needed = {
        f"{table}_settled_model_{model.model_id}_scope_{scope_id}": (table, model)
        for model in namespace.models
        for table in INDEXED_TABLES
    }
    missing = {name: parts for name, parts in needed.items() if not is_complete.get(name)}
    for name, (table, model) in missing.items():
        # CREATE INDEX CONCURRENTLY leaves an invalid index behind when it breaks off.
        _drop_index(connection, name)
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
    # From here on a write looks less far for a new vector's neighbours than the build did. An index
    # that a transaction holds for longer than a moment keeps its setting until the next run.
    for name in fetch_values(connection, "list_uneased", {"scope_id": scope_id}, FILE):
        ease = query("ease_scope_index", FILE).format(index=sql.Identifier(name))
        with suppress(errors.LockNotAvailable), connection.transaction():
            execute_alone(connection, query("wait_briefly", FILE))
            execute_alone(connection, ease)
    # Marked last, because searches of a marked scope rely on its indexes.
    is_marked = _set_indexed(connection, namespace, scope_id, indexed=True)
    for name in is_complete.keys() - needed.keys():
        _drop_index(connection, name)
    return is_marked or bool(missing)


def renew_indexes(connection: Connection, namespace: Namespace) -> None:
    """Give each indexed memory an index for every model of the namespace, and drop all others.

    Needs a connection in autocommit mode, and may be interrupted and run again, as `optimise`.
    """
    with _locked(connection):
        for scope in list_scopes(connection, namespace):
            if scope.indexed:
                _settle_all(connection, namespace, scope.scope_id)
                build_indexes(connection, namespace, scope.scope_id)


def settle_vectors(connection: Connection, scope: Scope) -> int:
    """Add some of the memory's fresh vectors to its HNSW indexes; return how many.

    It waits for no other transaction and returns 0 if there are none, or all are being changed.
    """
    values = {**scope.key, "limit": SETTLED_AT_ONCE}
    return execute(connection, "settle_vectors", values, FILE)


def count_fresh(connection: Connection, scope: Scope) -> int:
    """Return how many vectors of the memory are not in its HNSW indexes yet."""
    return fetch_value(connection, "count_fresh", scope.key, FILE)


def _settle_all(connection: Connection, namespace: Namespace, scope_id: int) -> bool:
    """Settle all fresh vectors, a transaction a batch; return whether there were any."""
    scope = Scope(tenant_id=namespace.tenant_id, scope_id=scope_id)
    batches = range(0, count_fresh(connection, scope), SETTLED_AT_ONCE)
    return sum(settle_vectors(connection, scope) for _ in batches) > 0


def drop_indexes(connection: Connection, namespace: Namespace, scope_id: int) -> None:
    """Unmark the scope, then drop its indexes, complete or not."""
    # Unmarked first, so that no search counts on an index that is about to go.
    _set_indexed(connection, namespace, scope_id, indexed=False)
    for name in _scope_indexes(connection, scope_id):
        _drop_index(connection, name)


def analyse_new_tables(connection: Connection) -> None:
    """Run ANALYZE on tables with rows that were never analysed, outside a transaction.

    Autovacuum does it a minute later. Until then the planner takes each memory for one row, reads
    all of its texts where the text index would do, and a search takes twice as long.
    """
    for table in fetch_values(connection, "list_never_analysed", file=FILE):
        analyse = query("analyse_table", FILE)
        execute_alone(connection, analyse.format(table=sql.Identifier(table)))


def _drop_index(connection: Connection, name: str) -> None:
    statement = query("drop_scope_index", FILE)
    execute_alone(connection, statement.format(index=sql.Identifier(name)))


def _set_indexed(
    connection: Connection, namespace: Namespace, scope_id: int, *, indexed: bool
) -> bool:
    values = {"tenant_id": namespace.tenant_id, "scope_id": scope_id, "indexed": indexed}
    return execute(connection, "set_indexed", values, FILE) > 0


def _scope_indexes(connection: Connection, scope_id: int) -> dict[str, bool]:
    """Return each HNSW index of the scope, and whether it is complete."""
    return dict(fetch_all(connection, "list_scope_indexes", {"scope_id": scope_id}, FILE))


@contextmanager
def _locked(connection: Connection) -> Generator[None]:
    """Hold the lock of optimisations, in a transaction on a second connection."""
    # On a second connection, since an index can't be built in a transaction. Not a session's lock,
    # which would stay on a connection that a pooler lends to others. Read committed, so that the
    # transaction keeps no snapshot, for which the building of an index would wait.
    with connect_beside(connection) as other:
        other.isolation_level = IsolationLevel.READ_COMMITTED
        with other.transaction():
            if not fetch_value(other, "lock_indexing", file=FILE):
                raise LockTimeoutError(
                    "another optimisation is running in this database; try again later"
                )
            yield
