"""Items: JSON values under a path and a key, which frameworks keep in addition to conversations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any, Literal, NamedTuple

from pgvector import HalfVector
from psycopg.types.json import Jsonb

from memsense.db.connection import Connection
from memsense.db.rows import (
    Named,
    execute,
    execute_many,
    fetch_all,
    fetch_values,
    find_value,
)
from memsense.store.scopes import Namespace, claim_model
from memsense.text.configurations import choose_language, list_former_lexemes
from memsense.text.lexemes import index_lexemes, list_lexemes

FILE = "items.sql"

RRF_K = 60
"""Constant of the fusion of vectors and words: a route contributes 1 / (60 + rank)."""

Distance = Literal["cosine", "inner_product", "l2"]
Operator = Literal["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"]


class VectorModel(NamedTuple):
    """The model that makes a collection's vectors, and their dimension."""

    name: str
    dimension: int


class Condition(NamedTuple):
    """A filter of items: the value at `path` is compared with `operand`."""

    path: Sequence[str]
    operator: Operator
    operand: Any


class PathMatch(NamedTuple):
    """A condition on paths: how they begin or end. `*` stands for any one label."""

    kind: Literal["prefix", "suffix"]
    path: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PutItem:
    """A write of a value over any that is there; None as the value deletes the item.

    `vectors` are the vectors of its fields by name, `words` is the text to find it by, `ttl` is in
    seconds. An item with a user is erased with that user's memory, one with a session also with
    that session.
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
    """A read of one item; `refresh` starts its time to live again."""

    path: Sequence[str]
    key: str
    refresh: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchItems:
    """A search of the items below a path. Without a vector and words the latest come first.

    Without a `limit` all of them are returned. With a `distance`, that similarity alone is the
    score; without, vectors and words are fused.
    """

    prefix: Sequence[str]
    filters: Sequence[Condition] = ()
    limit: int | None = 10
    offset: int = 0
    vector: Sequence[float] | None = None
    words: str = ""
    distance: Distance | None = None
    refresh: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPaths:
    """A listing of the paths that hold any item, cut after `depth` labels."""

    matches: Sequence[PathMatch] = ()
    depth: int | None = None
    limit: int = 100
    offset: int = 0


ItemOperation = PutItem | GetItem | SearchItems | ListPaths


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A stored item; one that a search found has a score, and the routes that the score is made of.

    `expires` is true if it has a time to live.
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
    """A named set of items of one namespace.

    `omit_expired` leaves out items that have expired and are not swept yet.
    """

    namespace: Namespace
    name: str
    model: VectorModel | None = None
    omit_expired: bool = False

    def detect(self, text: str) -> str:
        """Return the language of a text: the namespace's, or its own."""
        return choose_language(text, "en", self.namespace.language)

    def index(self, text: str) -> str:
        """Return the lexemes of an item, in its language and in English, as a tsvector's literal.

        Short questions and items may be taken for different languages: English is common to both.
        """
        languages = dict.fromkeys((self.detect(text), "en"))
        return " ".join(index_lexemes(text, language) for language in languages)

    def list_asked(self, text: str) -> list[str]:
        """Return the lexemes of a question, which any item may have."""
        # Items keep no language, and those of before were indexed by PostgreSQL: a word is asked
        # for as English as well.
        language = self.detect(text)
        lexemes = (
            list_lexemes(text, language),
            list_lexemes(text, "en"),
            list_former_lexemes(text, self.namespace.language),
        )
        return list(dict.fromkeys(chain.from_iterable(lexemes)))

    def values(self) -> dict[str, Any]:
        """Return the parameters that every statement of this module takes."""
        return {
            "tenant_id": self.namespace.tenant_id,
            "namespace_id": self.namespace.namespace_id,
            "collection": self.name,
            "omit_expired": self.omit_expired,
        }


# Reading -----------------------------------------------------------------------------------------


def fetch_items(
    connection: Connection, collection: Collection, operations: Sequence[GetItem]
) -> list[Item | None]:
    """Return the items in the order of the operations, None for each that doesn't exist."""
    places = [
        {"place": place, "path": list(item.path), "key": item.key}
        for place, item in enumerate(operations)
    ]
    values = {**collection.values(), "items": Jsonb(places)}
    rows = fetch_all(connection, "fetch_items", values, FILE, of=Named)
    items = {row.pop("place"): Item(**row) for row in rows}
    return [items.get(place) for place in range(len(operations))]


def search_items(connection: Connection, collection: Collection, search: SearchItems) -> list[Item]:
    """Return the items that a search finds, best first."""
    has_question = search.vector is not None or bool(search.words)
    values = {
        **collection.values(),
        "prefix": list(search.prefix),
        "filters": Jsonb([item._asdict() for item in search.filters]),
        "limit": search.limit,
        "offset": search.offset,
        "vector": None if search.vector is None else HalfVector(list(search.vector)),
        "model_id": _find_model(connection, collection) if search.vector is not None else None,
        "distance": search.distance if has_question else None,
        "asked": collection.list_asked(search.words),
        "rrf_k": RRF_K,
    }
    items: list[Item] = []
    for row in fetch_all(connection, "search_items", values, FILE, of=Named):
        field, similarity = row.pop("field"), row.pop("similarity")
        vector_rank, words_score = row.pop("vector_rank"), row.pop("words_score")
        words_rank = row.pop("words_rank")
        routes: list[dict[str, Any]] = []
        if vector_rank is not None:
            route = {"route": "vector", "rank": vector_rank, "score": similarity, "field": field}
            routes.append({**route, "score_kind": search.distance or "cosine"})
        if words_rank is not None:
            route = {"route": "words", "rank": words_rank, "score": words_score}
            routes.append({**route, "score_kind": "ts_rank_cd"})
        for route in routes:
            # With a distance the score is that similarity alone; nothing is fused.
            fused = 1 / (RRF_K + route["rank"])
            route["contribution"] = route["score"] if search.distance else fused
        items.append(Item(**row, routes=routes))
    return items


def list_paths(
    connection: Connection, collection: Collection, listing: ListPaths
) -> list[tuple[str, ...]]:
    """Return the paths in order, each once."""
    values = {
        **collection.values(),
        "matches": Jsonb([{"kind": kind, "path": list(path)} for kind, path in listing.matches]),
        "depth": listing.depth,
        "limit": listing.limit,
        "offset": listing.offset,
    }
    return [tuple(path) for path in fetch_values(connection, "list_paths", values, FILE)]


def fetch_last_items(
    connection: Connection, collection: Collection, path: Sequence[str], limit: int | None
) -> list[Item]:
    """Return the latest items at a path, at most `limit`, in the order of their writing."""
    values = {**collection.values(), "path": list(path), "limit": limit}
    return fetch_all(connection, "fetch_last_items", values, FILE, of=Item)[::-1]


# Writing -----------------------------------------------------------------------------------------


def put_items(connection: Connection, collection: Collection, puts: Sequence[PutItem]) -> None:
    """Write and delete items; of several operations on one key the last one counts."""
    # A batch may name a key several times, but one statement can't write a row twice.
    last = {(tuple(item.path), item.key): item for item in puts}
    deleted = [_place(path, key) for (path, key), item in last.items() if item.value is None]
    written = {place: item for place, item in last.items() if item.value is not None}
    if deleted:
        execute(connection, "delete_items", {**collection.values(), "items": Jsonb(deleted)}, FILE)
    if not written:
        return
    rows = [
        {
            **_place(item.path, item.key),
            "place": place,
            "value": item.value,
            "words": collection.index(item.words) if item.words is not None else None,
            "user_id": item.user_id,
            "session_id": item.session_id,
            "ttl": item.ttl,
        }
        for place, item in enumerate(written.values())
    ]
    values = {**collection.values(), "items": Jsonb(rows)}
    ids = {
        (tuple(path), key): item_id
        for item_id, path, key in fetch_all(connection, "put_items", values, FILE)
    }
    # The old vectors go in any case: an item may be written over by one that has none.
    tenant_id = collection.namespace.tenant_id
    key = {"tenant_id": tenant_id, "item_ids": list(ids.values())}
    execute(connection, "delete_item_vectors", key, FILE)
    if not any(item.vectors for item in written.values()):
        return
    assert collection.model is not None, "a collection with vectors names their model"
    model_id = claim_model(connection, **collection.model._asdict())
    vectors = [
        {
            "tenant_id": tenant_id,
            "item_id": ids[place],
            "model_id": model_id,
            "field": field,
            "embedding": HalfVector(list(vector)),
        }
        for place, item in written.items()
        for field, vector in (item.vectors or {}).items()
    ]
    execute_many(connection, "insert_item_vector", vectors, FILE)


def _place(path: Sequence[str], key: str) -> dict[str, Any]:
    return {"path": list(path), "key": key}


def refresh_items(connection: Connection, collection: Collection, items: Sequence[Item]) -> None:
    """Start the time to live of items again; those without one stay as they are."""
    values = {
        "tenant_id": collection.namespace.tenant_id,
        "item_ids": [item.item_id for item in items],
    }
    execute(connection, "refresh_items", values, FILE)


def sweep_items(connection: Connection, collection: Collection) -> int:
    """Delete what has expired; return how many items."""
    return execute(connection, "sweep_items", collection.values(), FILE)


def clear_items(connection: Connection, collection: Collection, path: Sequence[str]) -> int:
    """Delete all items at a path; return how many."""
    return execute(connection, "delete_items_at", {**collection.values(), "path": list(path)}, FILE)


def _find_model(connection: Connection, collection: Collection) -> int | None:
    """Return the number of the collection's model, None before any vector of it was stored."""
    assert collection.model is not None, "a collection with vectors names their model"
    return find_value(connection, "find_model", collection.model._asdict())


# Several at once ---------------------------------------------------------------------------------


def run_reads(
    connection: Connection, collection: Collection, operations: Sequence[ItemOperation]
) -> tuple[list[Any], list[Item]]:
    """Return the result of each operation (None for writes), and the items to refresh."""
    results: list[Any] = [None] * len(operations)
    refreshed: list[Item] = []
    gets = {place: item for place, item in enumerate(operations) if isinstance(item, GetItem)}
    # All single items by one statement: a framework's batch may hold many.
    fetched = fetch_items(connection, collection, list(gets.values())) if gets else []
    for (place, get), item in zip(gets.items(), fetched, strict=True):
        results[place] = item
        refreshed += [item] if item is not None and item.expires and get.refresh else []
    for place, operation in enumerate(operations):
        if isinstance(operation, SearchItems):
            results[place] = items = search_items(connection, collection, operation)
            refreshed += [item for item in items if item.expires and operation.refresh]
        elif isinstance(operation, ListPaths):
            results[place] = list_paths(connection, collection, operation)
    return results, refreshed
