"""Writes and reads items: values under a path and a key, beside conversations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, NamedTuple

from pgvector import HalfVector
from psycopg.types.json import Jsonb

from memsense.db.connection import Connection
from memsense.db.rows import Named, execute, execute_many, fetch_all, fetch_value, fetch_values
from memsense.store.scopes import Namespace

FILE = "items.sql"

RRF_K = 60
"""The constant of the fusion of vectors and words: a route gives 1 / (60 + rank)."""

Distance = Literal["cosine", "inner_product", "l2"]
Operator = Literal["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]


class VectorModel(NamedTuple):
    """What makes a collection's vectors, and how long they are."""

    name: str
    dimension: int


class Condition(NamedTuple):
    """What a value must satisfy: the operand is compared with what is at this path of it."""

    path: Sequence[str]
    operator: Operator
    operand: Any


class PathMatch(NamedTuple):
    """What a path must begin or end with; `*` stands for any one label."""

    kind: Literal["prefix", "suffix"]
    path: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PutItem:
    """Writes a value, over what is there; no value deletes it.

    `vectors` are of its fields by name, `words` the text to find it by, `ttl` is in seconds.
    With a user, it is erased with that user's memory, and with that session of it.
    """

    path: Sequence[str]
    key: str
    value: Any
    vectors: Mapping[str, Sequence[float]] | None = None
    words: str | None = None
    ttl: float | None = None
    user_id: str | None = None
    session_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GetItem:
    """Reads one item; with `refresh` it stays for as long again."""

    path: Sequence[str]
    key: str
    refresh: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchItems:
    """Finds items below a path. Without a vector and words the latest come first.

    With a `distance`, that similarity alone is the score; without, vectors and words are fused.
    """

    prefix: Sequence[str]
    filters: Sequence[Condition] = ()
    limit: int = 10
    offset: int = 0
    vector: Sequence[float] | None = None
    words: str = ""
    distance: Distance | None = None
    refresh: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPaths:
    """Lists the paths that hold anything, cut after `depth` labels."""

    matches: Sequence[PathMatch] = ()
    depth: int | None = None
    limit: int = 100
    offset: int = 0


ItemOperation = PutItem | GetItem | SearchItems | ListPaths


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """An item as it is stored; one that was searched for has a score and how it came about.

    `expires` says whether it has a time to live.
    """

    item_id: int
    path: Sequence[str]
    key: str
    value: Any
    created_at: datetime
    updated_at: datetime
    expires: bool
    score: float | None = None
    routes: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """Where items are: a namespace's, under a name of their owner's.

    `omit_expired` leaves out what has expired and is not swept yet.
    """

    namespace: Namespace
    name: str
    model: VectorModel | None = None
    omit_expired: bool = False

    def values(self) -> dict[str, Any]:
        """What every statement is told."""
        return {
            "tenant_id": self.namespace.tenant_id,
            "namespace_id": self.namespace.namespace_id,
            "collection": self.name,
            "language": self.namespace.language,
            "omit_expired": self.omit_expired,
        }


# Reading -----------------------------------------------------------------------------------------


def fetch_items(
    connection: Connection, collection: Collection, wanted: Sequence[GetItem]
) -> list[Item | None]:
    """The items in the order in which they are wanted, None for what there is not."""
    asked = [
        {"place": place, "path": list(item.path), "key": item.key}
        for place, item in enumerate(wanted)
    ]
    values = {**collection.values(), "items": Jsonb(asked)}
    rows = fetch_all(connection, "fetch_items", values, FILE, of=Named)
    found = {row.pop("place"): Item(**row) for row in rows}
    return [found.get(place) for place in range(len(wanted))]


def search_items(connection: Connection, collection: Collection, wanted: SearchItems) -> list[Item]:
    """What the search finds, best first."""
    has_question = wanted.vector is not None or bool(wanted.words)
    values = {
        **collection.values(),
        "prefix": list(wanted.prefix),
        "filters": Jsonb([item._asdict() for item in wanted.filters]),
        "limit": wanted.limit,
        "offset": wanted.offset,
        "vector": None if wanted.vector is None else HalfVector(list(wanted.vector)),
        "model_id": _find_model(connection, collection) if wanted.vector is not None else None,
        "distance": wanted.distance if has_question else None,
        "asked": wanted.words,
        "rrf_k": RRF_K,
    }
    rows = fetch_all(connection, "search_items", values, FILE, of=Named)
    return [_found(row, wanted.distance) for row in rows]


def _found(row: dict[str, Any], distance: Distance | None) -> Item:
    field, similarity = row.pop("field"), row.pop("similarity")
    vector_rank, words_score = row.pop("vector_rank"), row.pop("words_score")
    words_rank = row.pop("words_rank")
    routes: list[dict[str, Any]] = []
    if vector_rank is not None:
        told = {"route": "vector", "rank": vector_rank, "score": similarity, "field": field}
        routes.append({**told, "score_kind": distance or "cosine"})
    if words_rank is not None:
        told = {"route": "words", "rank": words_rank, "score": words_score}
        routes.append({**told, "score_kind": "ts_rank_cd"})
    for route in routes:
        fused = 1 / (RRF_K + route["rank"])
        route["contribution"] = route["score"] if distance else fused
    return Item(**row, routes=routes)


def list_paths(
    connection: Connection, collection: Collection, wanted: ListPaths
) -> list[tuple[str, ...]]:
    """The paths in order, each once."""
    values = {
        **collection.values(),
        "matches": Jsonb([{"kind": kind, "path": list(path)} for kind, path in wanted.matches]),
        "depth": wanted.depth,
        "limit": wanted.limit,
        "offset": wanted.offset,
    }
    return [tuple(path) for path in fetch_values(connection, "list_paths", values, FILE)]


def fetch_last_items(
    connection: Connection, collection: Collection, path: Sequence[str], limit: int | None
) -> list[Item]:
    """The latest so many items at a path, in the order in which they were written."""
    values = {**collection.values(), "path": list(path), "limit": limit}
    return fetch_all(connection, "fetch_last_items", values, FILE, of=Item)[::-1]


# Writing -----------------------------------------------------------------------------------------


def put_items(connection: Connection, collection: Collection, given: Sequence[PutItem]) -> None:
    """Write and delete, the last of several for one key alone."""
    last = {(tuple(item.path), item.key): item for item in given}
    gone = [_place(path, key) for (path, key), item in last.items() if item.value is None]
    kept = {place: item for place, item in last.items() if item.value is not None}
    if gone:
        execute(connection, "delete_items", {**collection.values(), "items": Jsonb(gone)}, FILE)
    if not kept:
        return
    rows = [
        {
            **_place(item.path, item.key),
            "place": place,
            "value": item.value,
            "words": item.words,
            "user_id": item.user_id,
            "session_id": item.session_id,
            "ttl": item.ttl,
        }
        for place, item in enumerate(kept.values())
    ]
    written = fetch_all(
        connection, "put_items", {**collection.values(), "items": Jsonb(rows)}, FILE
    )
    ids = {(tuple(path), key): item_id for item_id, path, key in written}
    _put_vectors(connection, collection, {ids[place]: item for place, item in kept.items()})


def _place(path: Sequence[str], key: str) -> dict[str, Any]:
    return {"path": list(path), "key": key}


def _put_vectors(
    connection: Connection, collection: Collection, written: Mapping[int, PutItem]
) -> None:
    key = {"tenant_id": collection.namespace.tenant_id, "item_ids": list(written)}
    execute(connection, "delete_item_vectors", key, FILE)
    if not any(item.vectors for item in written.values()):
        return
    model_id = _ensure_model(connection, collection)
    rows = [
        {
            "tenant_id": collection.namespace.tenant_id,
            "item_id": item_id,
            "model_id": model_id,
            "field": field,
            "embedding": HalfVector(list(vector)),
        }
        for item_id, item in written.items()
        for field, vector in (item.vectors or {}).items()
    ]
    execute_many(connection, "insert_item_vector", rows, FILE)


def refresh_items(connection: Connection, collection: Collection, found: Sequence[Item]) -> None:
    """Let what was read, and has a time to live, stay for as long again."""
    values = {
        "tenant_id": collection.namespace.tenant_id,
        "item_ids": [item.item_id for item in found],
    }
    execute(connection, "refresh_items", values, FILE)


def sweep_items(connection: Connection, collection: Collection) -> int:
    """Delete what has expired; returns how many items."""
    return execute(connection, "sweep_items", collection.values(), FILE)


def pop_item(connection: Connection, collection: Collection, path: Sequence[str]) -> Item | None:
    """Take the latest item at a path away."""
    values = {**collection.values(), "path": list(path)}
    found = fetch_all(connection, "pop_item", values, FILE, of=Item)
    return found[0] if found else None


def clear_items(connection: Connection, collection: Collection, path: Sequence[str]) -> int:
    """Delete all items at a path; returns how many."""
    return execute(connection, "delete_items_at", {**collection.values(), "path": list(path)}, FILE)


def _find_model(connection: Connection, collection: Collection) -> int | None:
    assert collection.model is not None, "a collection with vectors names their model"
    name, dimension = collection.model
    values = {"name": name, "dimension": dimension}
    found = fetch_values(connection, "find_model", values)
    return found[0] if found else None


def _ensure_model(connection: Connection, collection: Collection) -> int:
    assert collection.model is not None, "a collection with vectors names their model"
    name, dimension = collection.model
    values = {"name": name, "dimension": dimension}
    execute(connection, "ensure_model", values)
    return fetch_value(connection, "find_model", values)


# Several at once ---------------------------------------------------------------------------------


def run_reads(
    connection: Connection, collection: Collection, operations: Sequence[ItemOperation]
) -> tuple[list[Any], list[Item]]:
    """What each operation finds (None for writes), and the items to be refreshed."""
    results: list[Any] = [None] * len(operations)
    refreshed: list[Item] = []
    gets = {place: item for place, item in enumerate(operations) if isinstance(item, GetItem)}
    found = fetch_items(connection, collection, list(gets.values())) if gets else []
    for (place, get), item in zip(gets.items(), found, strict=True):
        results[place] = item
        refreshed += [item] if item is not None and item.expires and get.refresh else []
    for place, operation in enumerate(operations):
        if isinstance(operation, SearchItems):
            results[place] = items = search_items(connection, collection, operation)
            refreshed += [item for item in items if item.expires and operation.refresh]
        elif isinstance(operation, ListPaths):
            results[place] = list_paths(connection, collection, operation)
    return results, refreshed
