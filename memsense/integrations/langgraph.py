"""LangGraph: a store of items under namespaces, with hybrid search and expiry."""

import asyncio
import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, Literal, NamedTuple, cast, get_args

try:
    from langchain_core.embeddings import Embeddings
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        IndexConfig,
        Item,
        ListNamespacesOp,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        ensure_embeddings,
        get_text_at_path,
    )
    from langgraph.store.base.batch import AsyncBatchedBaseStore
except ImportError as error:
    raise ImportError(
        "LangGraph's store needs langgraph: pip install 'memsense[langgraph]'"
    ) from error

from memsense.client.memory import MemSense
from memsense.errors import DatabaseError, InvalidInputError
from memsense.inputs import shorten
from memsense.integrations.memories import AdaptedMemory, AnyMemory
from memsense.store import items
from memsense.store.items import (
    Condition,
    Distance,
    GetItem,
    ItemOperation,
    ListPaths,
    Operator,
    PathMatch,
    PutItem,
    SearchItems,
    VectorModel,
)

COLLECTION: Final = "langgraph"
SWEEP_MINUTES: Final = 5.0
"""Default interval of the sweeper, in minutes."""


class StoreIndex(IndexConfig, total=False):
    """LangGraph's index settings, all optional here, and two of our own.

    Attributes:
        dims: Length of the vectors; by default that of the embeddings.
        embed: Embeddings or a function; by default the memory's embedder.
        fields: Paths in a value that are embedded; by default the whole value, `["$"]`.
        distance_type: Score by this similarity alone, as LangGraph's own PostgreSQL store does. By
            default vectors and words are fused.
        model: Name of the embedding model; by default the name of `embed`'s class or function.
            Vectors are only compared with others of the same model.
    """

    distance_type: Distance
    model: str


class ScoredItem(SearchItem):
    """Result of a search; `explain` has the routes, ranks and parts of its score.

    Neither `dict()` nor the item's text has them: tools hand both to models.
    """

    __slots__ = ("explain",)

    def __init__(self, *, explain: Mapping[str, Any], **values: Any) -> None:
        super().__init__(**values)
        self.explain = explain


class MemSenseStore(BaseStore):
    """LangGraph store in memsense's database.

        store = MemSenseStore(memory, index={"fields": ["text"]}, user_label=1)
        store.put(("memories", "ada"), "home", {"text": "Ada lives in Lisbon."})
        [item] = store.search(("memories",), query="Where does Ada live?", limit=1)
        item.score, item.explain

    Items belong to the memory's tenant and namespace; a LangGraph namespace can't reach another
    tenant. `sweep_ttl` deletes expired items, `start_ttl_sweeper` does so in a thread.

    Over a user's view, every namespace is the user's own, and erasing the user erases the items.
    Such a namespace is stored below the user's id: `MemSenseStore(memory, user_label=0)` has
    `("home",)` of `memory.for_user("ada")` as `("ada", "home")`.

    Args:
        memory: An open memory, or a user's view of it; the caller closes it.
        index: How items are embedded and scored; False turns search by meaning off. By default the
            memory's embedder embeds the whole value.
        ttl: LangGraph's settings of expiry, in minutes.
        user_label: Position of the user's id among a namespace's labels. Erasing the user then
            erases the items, too. By default items belong to no user. A user's view has none.
        collection: Name that keeps several stores in one memory apart.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: AnyMemory,
        *,
        index: StoreIndex | Literal[False] | None = None,
        ttl: TTLConfig | None = None,
        user_label: int | None = None,
        collection: str = COLLECTION,
    ) -> None:
        self.ttl_config = TTLConfig(**ttl) if ttl else None
        self._memory = AdaptedMemory(memory)
        self._collection = collection
        self._user_label = user_label
        # Labels that stand before each namespace, which LangGraph does not see.
        self._root: tuple[str, ...] = ()
        if (user_id := self._memory.user_id) is not None:
            # In a condition on paths, an asterisk would stand for any user.
            if user_label is not None or user_id == "*":
                wrong = "leave user_label out" if user_id != "*" else "a store can't serve it"
                raise InvalidInputError(f"this is the memory of {shorten(user_id)} alone: {wrong}")
            self._root, self._user_label = (user_id,), 0
        whole = self._memory.whole
        self._index = None if index is False else _Index.of(index or StoreIndex(), whole)
        self.index_config = self._index.config if self._index else None
        self._sweeper: _Sweeper | None = None

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations in one transaction; reads see the state before its writes.

        Args:
            ops: LangGraph's operations.

        Returns:
            One result for each operation, in order.
        """
        memory = self._memory.blocking
        plan = _Plan.of(ops, self._index)
        vectors: _Vectors = _Vectors([], [])
        # Embed before the transaction: a slow model must not hold locks.
        if self._index and (plan.texts or plan.queries):
            embed = self._index.embeddings
            texts = embed.embed_documents(plan.texts) if plan.texts else []
            vectors = _Vectors(texts, [embed.embed_query(query) for query in plan.queries])
        operations = self._translate(plan, vectors)
        results = memory.items.run(self._collection, operations, **self._options(vectors))
        return [self._to_result(op, item) for op, item in zip(plan.ops, results, strict=True)]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations in one transaction, as `batch` does, in a thread of the memory's.

        Args:
            ops: LangGraph's operations.

        Returns:
            One result for each operation, in order.
        """
        plan = _Plan.of(ops, self._index)
        vectors: _Vectors = _Vectors([], [])
        if self._index and (plan.texts or plan.queries):
            embed = self._index.embeddings
            texts = await embed.aembed_documents(plan.texts) if plan.texts else []
            queries = await asyncio.gather(*(embed.aembed_query(item) for item in plan.queries))
            vectors = _Vectors(texts, queries)
        operations = self._translate(plan, vectors)
        results = await self._memory.awaited.items.run(
            self._collection, operations, **self._options(vectors)
        )
        return [self._to_result(op, item) for op, item in zip(plan.ops, results, strict=True)]

    def sweep_ttl(self) -> int:
        """Delete expired items; return their number."""
        return self._memory.blocking.items.sweep(self._collection)

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> None:
        """Delete expired items in a thread until it is stopped.

        Args:
            sweep_interval_minutes: Minutes between sweeps; by default the `ttl` setting's, else 5.
        """
        configured = (self.ttl_config or {}).get("sweep_interval_minutes")
        minutes = sweep_interval_minutes or configured or SWEEP_MINUTES
        if self._sweeper is None:
            self._sweeper = _Sweeper(self, 60 * minutes)
            self._sweeper.start()

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop the sweeper.

        Args:
            timeout: Seconds to wait for its thread; by default until it has ended.

        Returns:
            Whether the thread has ended.
        """
        sweeper, self._sweeper = self._sweeper, None
        return sweeper is None or sweeper.stop(timeout)

    def _options(self, vectors: "_Vectors") -> dict[str, Any]:
        config = self.ttl_config or {}
        model = self._index.model(vectors) if self._index else None
        return {"model": model, "omit_expired": bool(config.get("omit_expired"))}

    def _translate(self, plan: "_Plan", vectors: "_Vectors") -> list[ItemOperation]:
        """Return the operations in the form of `MemSense.items.run`."""
        texts = dict(zip(plan.texts, vectors.texts, strict=True)) if vectors.texts else {}
        queries = dict(zip(plan.queries, vectors.queries, strict=True)) if vectors.queries else {}
        return [self._translate_one(op, plan, texts, queries) for op in plan.ops]

    def _translate_one(
        self,
        op: Op,
        plan: "_Plan",
        texts: Mapping[str, Sequence[float]],
        queries: Mapping[str, Sequence[float]],
    ) -> ItemOperation:
        match op:
            case PutOp():
                fields = plan.fields.get((op.namespace, op.key), ())
                labels, place = (*self._root, *op.namespace), self._user_label
                has_user = place is not None and -len(labels) <= place < len(labels)
                return PutItem(
                    path=labels,
                    key=op.key,
                    value=op.value,
                    vectors={field.name: texts[field.text] for field in fields},
                    words=" ".join(field.words for field in fields),
                    ttl=None if op.ttl is None else 60 * op.ttl,  # LangGraph counts minutes
                    user_id=labels[place] if place is not None and has_user else None,
                )
            case GetOp():
                return GetItem(
                    path=(*self._root, *op.namespace), key=op.key, refresh=op.refresh_ttl
                )
            case SearchOp():
                index = self._index
                return SearchItems(
                    prefix=(*self._root, *op.namespace_prefix),
                    filters=list(_conditions(op.filter or {}, ())),
                    limit=op.limit,
                    offset=op.offset,
                    vector=queries.get(op.query or ""),
                    words=(op.query or "") if index else "",
                    distance=index.distance if index else None,
                    refresh=op.refresh_ttl,
                )
            case ListNamespacesOp():
                root, matches = self._root, [PathMatch("prefix", self._root)]
                for item in op.match_conditions or ():
                    path = tuple(item.path)
                    is_prefix = item.match_type == "prefix"
                    matches.append(
                        PathMatch(item.match_type, (*root, *path) if is_prefix else path)
                    )
                    # A suffix must not reach into the root before the namespace.
                    matches.append(PathMatch("prefix", (*root, *("*" for _ in path))))
                depth = None if op.max_depth is None else len(root) + op.max_depth
                return ListPaths(matches=matches, depth=depth, limit=op.limit, offset=op.offset)

    def _to_result(self, op: Op, result: Any) -> Result:
        if isinstance(op, GetOp) and result is not None:
            return Item(**self._item_fields(result))
        if isinstance(op, SearchOp):
            hits: list[SearchItem] = []
            for item in cast("Sequence[items.Item]", result):
                routes = [dict(route) for route in item.routes]
                parts = {route["route"]: route["contribution"] for route in item.routes}
                explain = {"score": item.score, "parts": parts, "routes": routes}
                fields = self._item_fields(item)
                hits.append(ScoredItem(**fields, score=item.score, explain=explain))
            return hits
        if isinstance(op, ListNamespacesOp):
            return [path[len(self._root) :] for path in cast("Sequence[tuple[str, ...]]", result)]
        return result

    def _item_fields(self, item: items.Item) -> dict[str, Any]:
        return {
            "namespace": tuple(item.path[len(self._root) :]),
            "key": item.key,
            "value": item.value,
            "created_at": item.created_at,
            "updated_at": item.updated_at,
        }


class AsyncMemSenseStore(AsyncBatchedBaseStore):
    """Store for one event loop, which runs calls of the same moment as one batch.

        store = AsyncMemSenseStore(memory)
        await store.aput(("memories", "ada"), "home", {"text": "Ada lives in Lisbon."})

    Args:
        memory: As in `MemSenseStore`.
        index: As in `MemSenseStore`.
        ttl: As in `MemSenseStore`.
        user_label: As in `MemSenseStore`.
        collection: As in `MemSenseStore`.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: AnyMemory,
        *,
        index: StoreIndex | Literal[False] | None = None,
        ttl: TTLConfig | None = None,
        user_label: int | None = None,
        collection: str = COLLECTION,
    ) -> None:
        super().__init__()
        self._store = MemSenseStore(
            memory, index=index, ttl=ttl, user_label=user_label, collection=collection
        )
        self.ttl_config = self._store.ttl_config
        self.index_config = self._store.index_config

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations in one transaction; reads see the state before its writes.

        Args:
            ops: LangGraph's operations.

        Returns:
            One result for each operation, in order.
        """
        return await self._store.abatch(ops)

    async def sweep_ttl(self) -> int:
        """Delete expired items; return their number."""
        return await asyncio.to_thread(self._store.sweep_ttl)

    async def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> None:
        """Delete expired items in a thread until it is stopped.

        Args:
            sweep_interval_minutes: Minutes between sweeps; by default the `ttl` setting's, else 5.
        """
        self._store.start_ttl_sweeper(sweep_interval_minutes)

    async def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:  # noqa: ASYNC109
        """Stop the sweeper.

        Args:
            timeout: Seconds to wait for its thread; by default until it has ended.

        Returns:
            Whether the thread has ended.
        """
        return await asyncio.to_thread(self._store.stop_ttl_sweeper, timeout)


# Embeddings --------------------------------------------------------------------------------------


class _MemoryEmbeddings(Embeddings):
    """The memory's embedder behind LangChain's interface."""

    def __init__(self, memory: MemSense) -> None:
        self._memory = memory

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [list(map(float, vector)) for vector in self._memory.embedder.embed(texts)]

    def embed_query(self, text: str) -> list[float]:
        return list(map(float, self._memory.embedder.embed_query(text)))


@dataclass(frozen=True, slots=True)
class _Index:
    config: StoreIndex
    embeddings: Embeddings
    name: str

    @classmethod
    def of(cls, config: StoreIndex, memory: MemSense) -> "_Index":
        distances = get_args(Distance)
        if (distance := config.get("distance_type")) not in (None, *distances):
            raise InvalidInputError(
                f"distance_type must be one of {', '.join(distances)}, not {shorten(distance)}"
            )
        embed = config.get("embed")
        if embed is None:
            name = config.get("model") or memory.embedder.model
            return cls(config, _MemoryEmbeddings(memory), name)
        name = config.get("model") or getattr(embed, "__name__", type(embed).__name__)
        return cls(config, ensure_embeddings(embed), name)

    @property
    def fields(self) -> Sequence[str]:
        return self.config.get("fields") or ["$"]

    @property
    def distance(self) -> Distance | None:
        return self.config.get("distance_type")

    def model(self, vectors: "_Vectors") -> VectorModel | None:
        """Return the vectors' model; raises InvalidInputError if their length isn't `dims`."""
        lengths = {len(vector) for vector in chain(vectors.texts, vectors.queries)}
        if not lengths:
            return None
        dims = self.config.get("dims") or min(lengths)
        if lengths != {dims}:
            raise InvalidInputError(
                f"the embeddings have {sorted(lengths)} dimensions, the index says {dims}"
            )
        return VectorModel(self.name, dims)


class _Field(NamedTuple):
    """A part of a value with its own vector: its path, its text, and its words for full text."""

    name: str
    text: str
    words: str


class _Vectors(NamedTuple):
    texts: Sequence[Sequence[float]]
    queries: Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True)
class _Plan:
    """Operations with the texts that they need embedded, each text once."""

    ops: list[Op]
    fields: Mapping[tuple[tuple[str, ...], str], Sequence[_Field]]
    texts: list[str]
    queries: list[str]

    @classmethod
    def of(cls, ops: Iterable[Op], index: _Index | None) -> "_Plan":
        operations = list(ops)
        if index is None:
            return cls(operations, {}, [], [])
        # The last put of a key wins, so earlier ones need no vectors.
        puts = {(op.namespace, op.key): op for op in operations if isinstance(op, PutOp)}
        fields = {place: list(_fields(op, index)) for place, op in puts.items()}
        texts = dict.fromkeys(field.text for item in fields.values() for field in item)
        queries = dict.fromkeys(
            op.query for op in operations if isinstance(op, SearchOp) and op.query
        )
        return cls(operations, fields, list(texts), list(queries))


def _fields(op: PutOp, index: _Index) -> Iterator[_Field]:
    if op.value is None or op.index is False:
        return
    for path in index.fields if op.index is None else op.index:
        if path == "$":
            text = json.dumps(op.value, ensure_ascii=False, sort_keys=True, default=str)
            # Full text gets the values alone: a key such as "text" would match in every item.
            yield _Field("$", text, " ".join(_leaves(op.value)))
            continue
        texts = [text for text in get_text_at_path(op.value, path) if text]
        for number, text in enumerate(texts):
            yield _Field(path if len(texts) == 1 else f"{path}[{number}]", text, text)


def _leaves(value: object) -> Iterator[str]:
    """Yield the values within a value as texts, without its keys."""
    match value:
        case Mapping():
            for inner in cast("Mapping[str, object]", value).values():
                yield from _leaves(inner)
        case list() | tuple():
            for inner in cast("Sequence[object]", value):
                yield from _leaves(inner)
        case None:
            return
        case _:
            yield str(value)


# Filters -----------------------------------------------------------------------------------------


def _conditions(criteria: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[Condition]:
    """Yield a filter's conditions: at any depth a value to equal, or a mapping of operators."""
    for key, value in criteria.items():
        place = (*path, key)
        if not isinstance(value, Mapping) or not value:
            yield Condition(place, "$eq", value)
            continue
        inner = cast("Mapping[str, Any]", value)
        if not any(name.startswith("$") for name in inner):
            yield from _conditions(inner, place)
            continue
        for operator, operand in inner.items():
            if operator not in get_args(Operator):
                operators = ", ".join(get_args(Operator))
                raise InvalidInputError(
                    f"filter {key!r}: no operator {operator!r}; use {operators}"
                )
            yield Condition(place, cast("Operator", operator), operand)


class _Sweeper(threading.Thread):
    """Thread that deletes a store's expired items until it is stopped."""

    def __init__(self, store: MemSenseStore, seconds: float) -> None:
        super().__init__(name="memsense-langgraph-sweeper", daemon=True)
        self._store = store
        self._seconds = seconds
        self._stopped = threading.Event()

    def run(self) -> None:
        while not self._stopped.wait(self._seconds):
            # A database that is down for a while must not end the thread.
            with suppress(DatabaseError):
                self._store.sweep_ttl()

    def stop(self, timeout: float | None) -> bool:
        self._stopped.set()
        self.join(timeout)
        return not self.is_alive()
