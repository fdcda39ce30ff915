"""LangGraph: a store of items under namespaces, found by vectors and words, with times to live."""

import asyncio
import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
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

from memsense.client.aio import AsyncMemSense
from memsense.client.memory import MemSense
from memsense.errors import DatabaseError, InvalidInputError
from memsense.inputs import shorten
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
from memsense.text.scripts import segment_scripts

COLLECTION: Final = "langgraph"
SWEEP_MINUTES: Final = 5.0
"""How often a store sweeps, where its `ttl` doesn't say."""


class StoreIndex(IndexConfig, total=False):
    """How items are found, beside LangGraph's `dims`, `embed` and `fields`, which may be left out.

    With a `distance_type` the score is that similarity alone, as in LangGraph's own PostgreSQL
    store; without, vectors and words are fused. `model` names what `embed` is, so that vectors of
    another one are never compared with its own (default: the name of its class).
    """

    distance_type: Distance
    model: str


class ScoredItem(SearchItem):
    """What a search found; `explain` tells how its score came about: routes, ranks and parts."""

    __slots__ = ("explain",)

    def __init__(self, *, explain: Mapping[str, Any], **values: Any) -> None:
        super().__init__(**values)
        self.explain = explain

    def dict(self) -> dict[str, Any]:
        """The item as plain values, its arithmetic too."""
        told = cast("dict[str, Any]", super().dict())  # pyright: ignore[reportUnknownMemberType]
        return {**told, "explain": self.explain}


class MemSenseStore(BaseStore):
    """Keeps a graph's items in memsense's database.

        store = MemSenseStore(memory, index={"fields": ["text"]}, user_label=1)
        store.put(("memories", "ada"), "home", {"text": "Ada lives in Lisbon."})
        [item] = store.search(("memories",), query="Where does Ada live?", limit=1)
        item.score, item.explain

    Items belong to the memory's tenant and namespace; no label reaches another's. Without an
    `index` the memory's embedder reads the whole value; `index=False` has no search by meaning.
    `user_label` is the place of the user's id among the labels: `memory.erase(user_id=...)` then
    takes these items along. Expired items are deleted by `sweep_ttl`, or by `start_ttl_sweeper`,
    which does so in a thread.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: MemSense,
        *,
        index: StoreIndex | Literal[False] | None = None,
        ttl: TTLConfig | None = None,
        user_label: int | None = None,
        collection: str = COLLECTION,
    ) -> None:
        self.ttl_config = TTLConfig(**ttl) if ttl else None
        self._memory = memory
        self._awaited = AsyncMemSense.over(memory)
        self._collection = collection
        self._user_label = user_label
        self._index = None if index is False else _Index.of(index or StoreIndex(), memory)
        self.index_config = self._index.config if self._index else None
        self._sweeper: _Sweeper | None = None

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do all of it in one transaction; reads see what was there before its writes."""
        plan = _Plan.of(ops, self._index)
        vectors: _Vectors = _Vectors([], [])
        if self._index and (plan.texts or plan.queries):
            embed = self._index.embeddings
            texts = embed.embed_documents(plan.texts) if plan.texts else []
            vectors = _Vectors(texts, [embed.embed_query(query) for query in plan.queries])
        given = self._translate(plan, vectors)
        found = self._memory.items.run(self._collection, given, **self._options(vectors))
        return [_result(op, item) for op, item in zip(plan.ops, found, strict=True)]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As `batch`, in a thread of the memory's."""
        plan = _Plan.of(ops, self._index)
        vectors: _Vectors = _Vectors([], [])
        if self._index and (plan.texts or plan.queries):
            embed = self._index.embeddings
            texts = await embed.aembed_documents(plan.texts) if plan.texts else []
            queries = await asyncio.gather(*(embed.aembed_query(item) for item in plan.queries))
            vectors = _Vectors(texts, queries)
        given = self._translate(plan, vectors)
        found = await self._awaited.items.run(self._collection, given, **self._options(vectors))
        return [_result(op, item) for op, item in zip(plan.ops, found, strict=True)]

    def sweep_ttl(self) -> int:
        """Delete what has expired; returns how many items."""
        return self._memory.items.sweep(self._collection)

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> None:
        """Sweep in a thread, every so many minutes, until it is stopped."""
        configured = (self.ttl_config or {}).get("sweep_interval_minutes")
        minutes = sweep_interval_minutes or configured or SWEEP_MINUTES
        if self._sweeper is None:
            self._sweeper = _Sweeper(self, 60 * minutes)
            self._sweeper.start()

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop sweeping; whether the thread has ended within `timeout` seconds."""
        sweeper, self._sweeper = self._sweeper, None
        return sweeper is None or sweeper.stop(timeout)

    def _options(self, vectors: "_Vectors") -> dict[str, Any]:
        config = self.ttl_config or {}
        model = self._index.model(vectors) if self._index else None
        return {"model": model, "omit_expired": bool(config.get("omit_expired"))}

    def _translate(self, plan: "_Plan", vectors: "_Vectors") -> list[ItemOperation]:
        """The operations as the memory takes them."""
        texts = dict(zip(plan.texts, vectors.texts, strict=True)) if vectors.texts else {}
        queries = dict(zip(plan.queries, vectors.queries, strict=True)) if vectors.queries else {}
        return [self._operation(op, plan, texts, queries) for op in plan.ops]

    def _operation(
        self,
        op: Op,
        plan: "_Plan",
        texts: Mapping[str, Sequence[float]],
        queries: Mapping[str, Sequence[float]],
    ) -> ItemOperation:
        match op:
            case PutOp():
                fields = plan.fields.get((op.namespace, op.key), ())
                return PutItem(
                    path=op.namespace,
                    key=op.key,
                    value=op.value,
                    vectors={field.name: texts[field.text] for field in fields},
                    words=segment_scripts(" ".join(field.words for field in fields)),
                    ttl=None if op.ttl is None else 60 * op.ttl,
                    user_id=self._user(op.namespace),
                )
            case GetOp():
                return GetItem(path=op.namespace, key=op.key, refresh=op.refresh_ttl)
            case SearchOp():
                return _search(op, queries.get(op.query or ""), self._index)
            case ListNamespacesOp():
                matches = [
                    PathMatch(item.match_type, item.path) for item in op.match_conditions or ()
                ]
                return ListPaths(
                    matches=matches, depth=op.max_depth, limit=op.limit, offset=op.offset
                )

    def _user(self, labels: Sequence[str]) -> str | None:
        place = self._user_label
        return labels[place] if place is not None and -len(labels) <= place < len(labels) else None


class AsyncMemSenseStore(AsyncBatchedBaseStore):
    """As MemSenseStore, for one event loop: calls of the same moment are one batch.

    store = AsyncMemSenseStore(memory)
    await store.aput(("memories", "ada"), "home", {"text": "Ada lives in Lisbon."})
    """

    supports_ttl = True

    def __init__(self, memory: MemSense, **options: Any) -> None:
        """Takes the options of MemSenseStore."""
        super().__init__()
        self._within = MemSenseStore(memory, **options)
        self.ttl_config = self._within.ttl_config
        self.index_config = self._within.index_config

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As MemSenseStore's."""
        return await self._within.abatch(ops)

    async def sweep_ttl(self) -> int:
        """Delete what has expired; returns how many items."""
        return await asyncio.to_thread(self._within.sweep_ttl)

    async def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> None:
        """Sweep in a thread, every so many minutes, until it is stopped."""
        self._within.start_ttl_sweeper(sweep_interval_minutes)

    async def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:  # noqa: ASYNC109
        """Stop sweeping; whether the thread has ended within `timeout` seconds."""
        return await asyncio.to_thread(self._within.stop_ttl_sweeper, timeout)


# What is found by meaning and words --------------------------------------------------------------


class _MemoryEmbeddings(Embeddings):
    """The memory's embedder, as LangChain calls one."""

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
        known = get_args(Distance)
        if (distance := config.get("distance_type")) not in (None, *known):
            raise InvalidInputError(
                f"distance_type must be one of {', '.join(known)}, not {shorten(distance)}"
            )
        given = config.get("embed")
        if given is None:
            name = config.get("model") or memory.embedder.model
            return cls(config, _MemoryEmbeddings(memory), name)
        name = config.get("model") or getattr(given, "__name__", type(given).__name__)
        return cls(config, ensure_embeddings(given), name)

    @property
    def fields(self) -> Sequence[str]:
        return self.config.get("fields") or ["$"]

    @property
    def distance(self) -> Distance | None:
        return self.config.get("distance_type")

    def model(self, vectors: "_Vectors") -> VectorModel | None:
        """What made the vectors; raises InvalidInputError unless they are as long as was said."""
        lengths = {len(vector) for vector in chain(vectors.texts, vectors.queries)}
        if not lengths:
            return None
        wanted = self.config.get("dims") or min(lengths)
        if lengths != {wanted}:
            raise InvalidInputError(
                f"the embeddings have {sorted(lengths)} dimensions, the index says {wanted}"
            )
        return VectorModel(self.name, wanted)


class _Field(NamedTuple):
    """A part of a value that has a vector: its name, what is embedded, and what words find."""

    name: str
    text: str
    words: str


class _Vectors(NamedTuple):
    texts: Sequence[Sequence[float]]
    queries: Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True)
class _Plan:
    """The operations, and what of them is to be embedded, each text once."""

    ops: list[Op]
    fields: Mapping[tuple[tuple[str, ...], str], Sequence[_Field]]
    texts: list[str]
    queries: list[str]

    @classmethod
    def of(cls, ops: Iterable[Op], index: _Index | None) -> "_Plan":
        given = list(ops)
        if index is None:
            return cls(given, {}, [], [])
        puts = {(op.namespace, op.key): op for op in given if isinstance(op, PutOp)}
        fields = {place: list(_fields(op, index)) for place, op in puts.items()}
        texts = dict.fromkeys(field.text for found in fields.values() for field in found)
        asked = dict.fromkeys(op.query for op in given if isinstance(op, SearchOp) and op.query)
        return cls(given, fields, list(texts), list(asked))


def _fields(op: PutOp, index: _Index) -> Iterator[_Field]:
    if op.value is None or op.index is False:
        return
    for path in index.fields if op.index is None else op.index:
        if path == "$":
            text = json.dumps(op.value, ensure_ascii=False, sort_keys=True, default=str)
            yield _Field("$", text, " ".join(_leaves(op.value)))
            continue
        found = [text for text in get_text_at_path(op.value, path) if text]
        for number, text in enumerate(found):
            yield _Field(path if len(found) == 1 else f"{path}[{number}]", text, text)


def _leaves(value: object) -> Iterator[str]:
    """What a value says, without its keys."""
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


# There and back ----------------------------------------------------------------------------------


def _search(op: SearchOp, vector: Sequence[float] | None, index: _Index | None) -> SearchItems:
    return SearchItems(
        prefix=op.namespace_prefix,
        filters=list(_conditions(op.filter or {}, ())),
        limit=op.limit,
        offset=op.offset,
        vector=vector,
        words=segment_scripts(op.query or "") if index else "",
        distance=index.distance if index else None,
        refresh=op.refresh_ttl,
    )


def _conditions(wanted: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[Condition]:
    """A filter's conditions: a mapping of operators, or what must be there, at any depth."""
    for key, value in wanted.items():
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
                told = ", ".join(get_args(Operator))
                raise InvalidInputError(f"filter {key!r}: no operator {operator!r}; use {told}")
            yield Condition(place, cast("Operator", operator), operand)


def _result(op: Op, found: Any) -> Result:
    if isinstance(op, GetOp) and found is not None:
        return Item(**_told(found))
    if isinstance(op, SearchOp):
        return [_scored(item) for item in cast("Sequence[items.Item]", found)]
    return found


class _Told(NamedTuple):
    namespace: tuple[str, ...]
    key: str
    value: dict[str, Any]
    created_at: datetime
    updated_at: datetime


def _told(item: items.Item) -> dict[str, Any]:
    path = tuple(item.path)
    return _Told(path, item.key, item.value, item.created_at, item.updated_at)._asdict()


def _scored(item: items.Item) -> ScoredItem:
    parts = {route["route"]: route["contribution"] for route in item.routes}
    explain = {"score": item.score, "parts": parts, "routes": [dict(it) for it in item.routes]}
    return ScoredItem(**_told(item), score=item.score, explain=explain)


class _Sweeper(threading.Thread):
    """Sweeps a store until it is stopped; what fails is tried again the next time."""

    def __init__(self, store: MemSenseStore, seconds: float) -> None:
        super().__init__(name="memsense-langgraph-sweeper", daemon=True)
        self._store = store
        self._seconds = seconds
        self._stopped = threading.Event()

    def run(self) -> None:
        while not self._stopped.wait(self._seconds):
            with suppress(DatabaseError):
                self._store.sweep_ttl()

    def stop(self, timeout: float | None) -> bool:
        self._stopped.set()
        self.join(timeout)
        return not self.is_alive()
