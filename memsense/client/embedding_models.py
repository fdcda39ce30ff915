"""`memory.models`: the embedding models of a namespace, and the move from one to another."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from memsense.client.context import Resource
from memsense.client.embedders import describe_settings
from memsense.client.models import open_named_embedder
from memsense.client.verbs import Memory
from memsense.db import run_autocommit, run_read, run_transaction
from memsense.db.connection import Connection
from memsense.declaration import Facade, awaited, takes
from memsense.draft.vectors import BatchVectors
from memsense.embed import Embedder
from memsense.errors import InvalidInputError, NotFoundError
from memsense.inputs import Limit, Name, Names, about, whole_number, with_attributes
from memsense.store import indexes, models
from memsense.store.models import KnownModel
from memsense.store.scopes import Namespace
from memsense.types import EmbeddingModel, JsonValue

if TYPE_CHECKING:
    from memsense.explain.replay import Replay

State = Literal["in use", "adding", "ready", "dropping"]

_Kind = Literal["onnx", "multilingual", "openai"]
_Embedder = Annotated[Embedder, with_attributes("model", "dimension", "embed", "embed_query")]
_Dimension = Annotated[int, whole_number(1, 16_000)]
_ModelName = Annotated[Name, about("Name of the model, as `status` shows it.")]
_ModelDimension = Annotated[
    _Dimension, about("Dimension, where the namespace has two models of that name.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStatus:
    """Model of the namespace, and how much of what is stored has its vectors.

    `lacking` counts texts without its vectors, `unindexed` large memories without an HNSW index of
    them. Searches can use a model when both are 0. `left_at` is when they changed to another one.
    """

    name: str
    dimension: int
    state: State
    vectors: int
    lacking: int
    unindexed: int
    added_at: datetime | None
    left_at: datetime | None

    @property
    def done_share(self) -> float:
        """Return the share of the stored texts that has its vectors, from 0 to 1."""
        return self.vectors / (self.vectors + self.lacking) if self.lacking else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedTrace:
    """Recorded search, run again with each of two models."""

    question: str
    one: "Replay"
    other: "Replay"

    @property
    def overlap(self) -> float:
        """Return the share of the first model's hits that the other finds too; 1 without any."""
        first = {hit.chunk_id for hit in self.one.new}
        second = {hit.chunk_id for hit in self.other.new}
        return len(first & second) / len(first) if first else float(not second)

    @property
    def same_first(self) -> bool:
        """Return whether both lists begin with the same hit."""
        return [hit.chunk_id for hit in self.one.new[:1]] == [
            hit.chunk_id for hit in self.other.new[:1]
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for JSON."""
        return {
            "trace_id": str(self.one.trace_id),
            "question": self.question,
            "overlap": self.overlap,
            "same_first": self.same_first,
            "one": [{"chunk_id": hit.chunk_id, "score": hit.score} for hit in self.one.new],
            "other": [{"chunk_id": hit.chunk_id, "score": hit.score} for hit in self.other.new],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelComparison:
    """Recorded searches under two models, newest first."""

    one: str
    other: str
    traces: Sequence[ComparedTrace]

    @property
    def mean_overlap(self) -> float:
        """Return the mean share of hits in common; 1 without traces."""
        shares = [item.overlap for item in self.traces]
        return sum(shares) / len(shares) if shares else 1.0

    @property
    def same_first(self) -> int:
        """Return how many searches have the same first hit with both models."""
        return sum(item.same_first for item in self.traces)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for JSON."""
        return {
            "one": self.one,
            "other": self.other,
            "traces": len(self.traces),
            "same_first": self.same_first,
            "mean_overlap": self.mean_overlap,
            "replays": [item.as_dict() for item in self.traces],
        }


class ModelsResource(Resource):
    """Store of embedding models: changes to another one while searches and writes go on.

        memory.models.add("openai", model="nomic-embed-text", url="http://localhost:11434/v1")
        memory.models.compare("nomic-embed-text").mean_overlap
        memory.models.switch("nomic-embed-text")
        memory.models.back()                          # at once: the old vectors are kept
        memory.models.drop("all-MiniLM-L6-v2-onnx-int8")

    Until a model is dropped, each write makes its vectors too.
    """

    def status(self) -> Sequence[ModelStatus]:
        """Return the namespace's models, the one in use first; counts everything stored."""
        namespace = run_read(self._context.pool, self._context.reload_namespace)
        if namespace is None:
            return []
        return run_read(self._context.pool, partial(_read_status, namespace))

    @takes
    def add(
        self,
        embedder: _Kind | _Embedder | None = None,
        *,
        model: Name | None = None,
        url: Name | None = None,
        dimension: _Dimension | None = None,
        languages: Literal["*"] | Names | None = None,
        later: bool = False,
        on_texts: Callable[[int], object] = lambda _: None,
    ) -> ModelStatus:
        """Compute vectors of another model for everything stored, and for each write from now on.

        It takes as long as ingesting did; the next run completes an interrupted one.

        Args:
            embedder: "openai", "onnx" or "multilingual", or an embedder of your own, which every
                process must pass in `other_embedders`; default: the one that this memory was opened
                with.
            model: Name of the model, for "openai".
            url: Address of the embedding server. MEMSENSE_EMBEDDING_API_KEYS has its key, if it is
                not that of MEMSENSE_EMBEDDING_URL.
            dimension: Dimension of its vectors; default: the model's.
            languages: Codes of languages that searches compare by this model, next to an English
                one, or "*" for all; default: "*" for "multilingual", else none until `switch`.
            later: Leave the work to jobs; `status` shows their progress.
            on_texts: Called after each batch with its number of texts.

        Raises:
            NotFoundError: Before anything is stored.
            EmbeddingError: If the model fails.
        """
        opened, described = self._open(embedder, model, url, dimension)
        self._renew_indexes()
        namespace = run_read(self._context.pool, self._require)
        if languages is None and embedder == "multilingual":
            languages = "*"
        codes = None if languages is None else list(languages)
        added = self._insert(namespace, opened, described, languages=codes, later=later)
        self._context.embedders.add(opened)
        if later:
            self._renew_indexes()
            self._context.wake_worker()
        else:
            self._fill(added, opened, on_texts)
        return self._status_of(added)

    def _open(
        self,
        embedder: "_Kind | Embedder | None",
        model: str | None,
        url: str | None,
        dimension: int | None,
    ) -> tuple[Embedder, Mapping[str, JsonValue]]:
        context = self._context
        if embedder is None:
            return context.embedders.own, context.embedders.describe(context.embedders.own)
        if not isinstance(embedder, str):
            return context.embedders.wrap(embedder), {}
        changes: dict[str, Any] = {
            "embedder": embedder,
            "embedding_model": model,
            "embedding_url": url,
            "embedding_dimension": dimension,
            "embedding_api_key": context.embedders.key_of(url),
        }
        settings = context.settings.model_copy(update=changes)
        opened = open_named_embedder(settings)
        described = {**describe_settings(settings), "dimension": opened.dimension}
        if embedder != "openai":
            described.pop("dimension")
        return context.embedders.wrap(opened), described

    def _insert(
        self,
        namespace: Namespace,
        embedder: Embedder,
        described: Mapping[str, JsonValue],
        *,
        languages: Sequence[str] | None,
        later: bool,
    ) -> EmbeddingModel:
        embedders = self._context.embedders
        own, in_use = embedders.own, namespace.in_use
        uses_own = in_use is not None and (own.model, own.dimension) == (
            in_use.name,
            in_use.dimension,
        )
        in_use_described: Mapping[str, JsonValue] = embedders.describe(own) if uses_own else {}

        def insert(connection: Connection) -> EmbeddingModel:
            added = models.keep_model(
                connection,
                namespace,
                name=embedder.model,
                dimension=embedder.dimension,
                embedder=described,
                embedder_in_use=in_use_described,
                languages=languages,
            )
            if later:
                models.enqueue_memories(connection, namespace, added)
            return added

        return run_transaction(self._context.pool, insert)

    def _fill(
        self, model: EmbeddingModel, embedder: Embedder, on_texts: Callable[[int], object]
    ) -> None:
        pool = self._context.pool
        namespace = run_read(pool, self._require)
        tokens = self._context.settings.token_vectors
        models.fill_model(
            pool,
            namespace,
            model,
            lambda: BatchVectors(embedder, tokens=tokens),
            lambda batch: on_texts(batch.texts),
        )
        self._renew_indexes()

    def _renew_indexes(self) -> None:
        run_autocommit(self._context.pool, lambda it: indexes.renew_indexes(it, self._require(it)))

    @takes
    def switch(
        self,
        name: _ModelName,
        *,
        dimension: _ModelDimension | None = None,
        incomplete: bool = False,
    ) -> ModelStatus:
        """Let searches use this model from now on, in every process, by one update.

        The model used before still gets vectors, for `back`, until it is dropped.

        Args:
            name: Name of the model, as `status` shows it.
            dimension: Dimension, where the namespace has two models of that name.
            incomplete: Switch even while texts lack vectors or large memories lack indexes.

        Raises:
            InvalidInputError: If vectors or indexes are missing and `incomplete` is false.
            NotFoundError: For a model that was never added.
        """
        known_model = self._find(name, dimension)
        if not incomplete:
            status = self._status_of(known_model.model)
            if status.lacking or status.unindexed:
                raise InvalidInputError(
                    f"{known_model.model} is not ready: {status.lacking} texts lack its vectors,"
                    f" {status.unindexed} large memories its indexes; add it again, which"
                    " completes it"
                )
        return self._use(known_model.model)

    def back(self) -> ModelStatus:
        """Let searches use the model that they used before; its vectors are there.

        Raises:
            NotFoundError: If there is none, or it was dropped.
        """
        earlier = [
            (item.left_at, item)
            for item in self._list()
            if item.left_at and not item.in_use and not item.dropping
        ]
        if not earlier:
            raise NotFoundError("there is no model to go back to: none was left, or it was dropped")
        return self._use(max(earlier, key=lambda pair: pair[0])[1].model)

    def _use(self, model: EmbeddingModel) -> ModelStatus:
        self._context.embedders.require(model)
        namespace = run_read(self._context.pool, self._require)
        run_transaction(self._context.pool, lambda it: models.use_model(it, namespace, model))
        run_read(self._context.pool, self._context.reload_namespace)
        return self._status_of(model)

    @takes
    def drop(self, name: _ModelName, *, dimension: _ModelDimension | None = None) -> int:
        """Delete the vectors of a model that searches don't use, and return how many there were.

        Searches and writes go on; the next run completes an interrupted one.

        Args:
            name: Name of the model, as `status` shows it.
            dimension: Dimension, where the namespace has two models of that name.

        Raises:
            InvalidInputError: For the model in use.
            NotFoundError: For a model that was never added.
        """
        model, pool = self._find(name, dimension).model, self._context.pool
        namespace = run_read(pool, self._require)
        run_transaction(pool, lambda it: models.begin_dropping(it, namespace, model))
        self._renew_indexes()
        deleted = models.drop_vectors(pool, namespace, model)
        run_read(pool, self._context.reload_namespace)
        return deleted

    @takes
    def trial(self, name: _ModelName, *, dimension: _ModelDimension | None = None) -> Memory:
        """Return this memory as it would answer if searches used that model.

        Give both to `memsense.evaluation`.

        Args:
            name: Name of the model, as `status` shows it.
            dimension: Dimension, where the namespace has two models of that name.
        """

        model = self._find(name, dimension).model
        self._context.embedders.require(model)
        return Memory(self._context, model=model)

    @takes
    def compare(
        self, name: _ModelName, count: Limit = 20, *, dimension: _ModelDimension | None = None
    ) -> ModelComparison:
        """Run recorded searches again with the model in use and with this one.

        `trial` serves questions whose answers are known.

        Args:
            name: Name of the model, as `status` shows it.
            count: Number of recorded searches, the latest first.
            dimension: Dimension, where the namespace has two models of that name.
        """
        in_use = next((item for item in self._list() if item.in_use), None)
        if in_use is None:
            raise NotFoundError("nothing is stored in this namespace yet")
        one = self.trial(in_use.name, dimension=in_use.dimension).traces
        other = self.trial(name, dimension=dimension).traces
        return ModelComparison(
            one=in_use.name,
            other=name,
            traces=[
                ComparedTrace(
                    question=summary.question,
                    one=one.replay(summary.trace_id),
                    other=other.replay(summary.trace_id),
                )
                for summary in one.list(limit=count)
            ],
        )

    def _require(self, connection: Connection) -> Namespace:
        namespace = self._context.reload_namespace(connection)
        if namespace is None or namespace.in_use is None:
            raise NotFoundError("nothing is stored in this namespace yet")
        return namespace

    def _list(self) -> list[KnownModel]:
        return run_read(self._context.pool, lambda it: models.list_models(it, self._require(it)))

    def _find(self, name: str, dimension: int | None) -> KnownModel:
        all_models = self._list()
        matches = [
            item for item in all_models if item.name == name and dimension in (None, item.dimension)
        ]
        if not matches:
            names = ", ".join(str(item.model) for item in all_models)
            raise NotFoundError(f"the namespace has no vectors of a model {name!r}, but of {names}")
        if len(matches) > 1:
            raise InvalidInputError(f"there are several models {name!r}: give its dimension too")
        return matches[0]

    def _status_of(self, model: EmbeddingModel) -> ModelStatus:
        key = model.name, model.dimension
        return next(item for item in self.status() if (item.name, item.dimension) == key)


class AsyncModelsResource(Facade):
    """ModelsResource for asyncio, each method awaited."""

    status = awaited(ModelsResource.status)
    add = awaited(ModelsResource.add)
    switch = awaited(ModelsResource.switch)
    back = awaited(ModelsResource.back)
    drop = awaited(ModelsResource.drop)
    compare = awaited(ModelsResource.compare)


def _read_status(namespace: Namespace, connection: Connection) -> list[ModelStatus]:
    statuses: list[ModelStatus] = []
    for model in models.list_models(connection, namespace):
        lacking = models.count_lacking(connection, namespace, model.model)
        unindexed = models.count_unindexed(connection, namespace, model.model)
        ready: State = "adding" if lacking or unindexed else "ready"
        status = ModelStatus(
            name=model.name,
            dimension=model.dimension,
            state="in use" if model.in_use else "dropping" if model.dropping else ready,
            vectors=models.count_vectors(connection, namespace, model.model),
            lacking=lacking,
            unindexed=unindexed,
            added_at=model.added_at,
            left_at=model.left_at,
        )
        statuses.append(status)
    return statuses
