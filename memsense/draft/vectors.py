"""Vectors of a batch of writes: each exchange is read once, before the transaction."""

import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from memsense.draft.facets.sentences import split_sentences
from memsense.embed import (
    LEAST_KNOWN,
    Embedder,
    Passage,
    Reading,
    Tokens,
    find_token_embedder,
    is_embedder_of,
    share_known,
)
from memsense.embed.tokens import Ranges
from memsense.errors import EmbeddingError, ModelMismatchError
from memsense.types import ChunkDraft, EmbeddingModel, EmbedWhen, SessionDraft

T = TypeVar("T")

logger = logging.getLogger("memsense.vectors")

LATER = "vectors are made later"
"""Reason for deferred vectors when the caller asked for `embed="later"`."""

# A server that needs its whole limit of 120 s to fail would otherwise cost every write 120 s. So
# waiting for a failing embedder may take at most a tenth of the time: docs/guides/outages.md.
_BACKOFF_FACTOR = 10
_LONGEST_BACKOFF = 300.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChunkTexts:
    """Texts of a chunk to embed.

    Attributes:
        texts: The text of each route that gets a vector.
        passage: The whole exchange, which an embedder with token vectors reads once for all its
            routes and tokens; None for a session chunk.
        routes: The route of each part of the passage.
        user_end: Where the user's side ends in the passage.
        wants_tokens: Whether the exchange is to get token vectors.
        stored: The texts of routes that have their vectors already.
    """

    texts: Mapping[str, str]
    passage: Passage | None = None
    routes: Sequence[str] = ()
    user_end: int = 0
    wants_tokens: bool = True
    stored: Sequence[str] = ()

    @classmethod
    def of(
        cls, draft: ChunkDraft, *, stored: Collection[str] = (), wants_tokens: bool = True
    ) -> "ChunkTexts":
        """Make one of a draft; routes in `stored` have their vectors already."""
        every = draft.texts()
        texts = {route: text for route, text in every.items() if route not in stored}
        others = [every[route] for route in every if route not in texts]
        if draft.granularity == "session" or "full" not in every:
            return cls(texts=texts, stored=others)
        whole = every["full"]
        user_end = len(whole) - len(draft.assistant_text)
        sides = {"user": (draft.opening_length, user_end), "assistant": (user_end, len(whole))}
        parts = {
            route: (sides[route],) if route in sides else locate(text, whole)
            for route, text in every.items()
            if route != "full"
        }
        return cls(
            texts=texts,
            passage=Passage(whole, tuple(parts.values())),
            routes=tuple(parts),
            user_end=user_end,
            wants_tokens=wants_tokens,
            stored=others,
        )


def locate(facet: str, text: str) -> Ranges:
    """Return where the sentences of a facet stand in a text; empty if one of them does not."""
    # A facet is one sentence of the text, or several that are joined.
    sentences = [facet] if facet in text else [facet[a:b] for a, b in split_sentences(facet)]
    places = [text.find(sentence) for sentence in sentences]
    if -1 in places:
        return ()
    return tuple((at, at + len(it)) for at, it in zip(places, sentences, strict=True))


FindEmbedder = Callable[[EmbeddingModel], Embedder | None]
"""Lookup of a model's embedder; None if this process has none and can't open one."""


class VectorSpace(NamedTuple):
    """A model and the length of its vectors; None while the length is unknown."""

    model: str
    dimension: int | None


class UnembeddedError(Exception):
    """A transaction needs vectors that are not made yet; it is rolled back and run again."""

    def __init__(self, vectors: "BatchVectors", chunks: Sequence[ChunkTexts]) -> None:
        super().__init__(f"{len(chunks)} chunks are not embedded yet")
        self.vectors = vectors
        self.chunks = chunks


class EmbedderBackoff:
    """Pause after an embedder's failure, ten times as long as the failure took.

    An embedder that fails at once is called again by the next write. One that makes callers wait
    is left alone for at most five minutes. All writes of a memory share one backoff.
    """

    def __init__(self) -> None:
        self._until = 0.0
        self._reason = ""

    def find_reason(self) -> str | None:
        """Return why the embedder is not called now, or None if it may be called."""
        return self._reason if time.monotonic() < self._until else None

    def record_failure(self, reason: str, seconds: float) -> None:
        """Start a pause after a failure that took so many seconds."""
        self._reason = reason
        self._until = time.monotonic() + min(_BACKOFF_FACTOR * seconds, _LONGEST_BACKOFF)


class BatchVectors:
    """Vectors of the chunks of one batch of writes: embedded beforehand, looked up while writing.

        vectors = BatchVectors(embedder)
        vectors.prepare(list_chunks(drafts))
        vectors.retry_until_embedded(lambda: run_transaction(pool, write))

    An embedder with token vectors reads each exchange once, for its sides, facets and tokens alike.
    Any other embeds each distinct text once. No model runs while a transaction holds its locks. A
    namespace may have vectors of several models; then each of `models` embeds the texts. A failure
    of a model that searches don't use never fails the write: a job makes its vectors. A chunk of
    which a model knows too little gets none of its vectors and tokens: see `is_unknown`.

    Args:
        embedder: The embedder that this process was opened with.
        tokens: Whether exchanges also get token vectors, if the embedder has them.
        when: "strict" raises EmbeddingError if a text can't be embedded. "now" leaves such texts
            to a job, "later" leaves all texts to a job; `deferred` then holds the reason.
        backoff: The backoff shared by all writes of a memory; by default a new one.
        find: Lookup of the embedders of other models.
        models: The models of the namespace, as far as they are known beforehand.
    """

    def __init__(
        self,
        embedder: Embedder,
        *,
        tokens: bool = True,
        when: EmbedWhen = "strict",
        backoff: EmbedderBackoff | None = None,
        find: FindEmbedder = lambda _: None,
        models: Sequence[EmbeddingModel] = (),
    ) -> None:
        self._embedder = embedder
        self._wants_tokens = tokens
        self._find = find
        self.models = models  # those that the latest write found
        self.others: dict[VectorSpace, BatchVectors | None] = {}
        self._reader = find_token_embedder(embedder)
        self._vectors: dict[str, NDArray[np.float32]] = {}
        self._readings: dict[Passage, Reading] = {}
        self._is_known: dict[str, bool] = {}
        self._when: EmbedWhen = when
        self._backoff = backoff or EmbedderBackoff()
        self.has_unindexed_vectors = False  # set by a write that left indexing to a job
        self.deferred: str | None = LATER if when == "later" else None
        if when == "now":
            self.deferred = self._backoff.find_reason()

    def join(self, batches: "Iterable[BatchVectors]") -> "BatchVectors":
        """Return vectors of this batch and of others of its namespace, all made, as one batch."""
        batches = [self, *batches]
        joined = BatchVectors(
            self._embedder, tokens=self._wants_tokens, find=self._find, models=self.models
        )
        for batch in batches:
            for every, own in zip(joined.caches, batch.caches, strict=True):
                every.update(own)
        for key in {key for batch in batches for key in batch.others}:
            others = [it for batch in batches if (it := batch.others.get(key)) is not None]
            joined.others[key] = others[0].join(others[1:]) if others else None
        return joined

    @property
    def caches(self) -> tuple[dict[Any, Any], ...]:
        """Vectors by text, readings by passage, and whether a text is known, as far as made."""
        return self._vectors, self._readings, self._is_known

    @property
    def is_whole(self) -> bool:
        """True if no model leaves vectors to a job."""
        return self.deferred is None and all(
            it is None or it.is_whole for it in self.others.values()
        )

    @property
    def has_tokens(self) -> bool:
        """True if exchanges get token vectors, so that `tokens` may be called."""
        return self._wants_tokens and self._reader is not None

    def add_vectors(self, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        """Add vectors by text that this model made earlier, so that they are not made again."""
        self._vectors.update(vectors)

    def iter_models(
        self, models: Sequence[EmbeddingModel]
    ) -> "Iterator[tuple[EmbeddingModel, BatchVectors | None]]":
        """Yield each model with its vectors, None without an embedder; raise ModelMismatchError."""
        self.models = models
        for number, model in enumerate(models):
            if is_embedder_of(self._embedder, model):
                yield model, self
                continue
            # Not by the number: a transaction that is run again gives a new model another one.
            key = VectorSpace(model.name, model.dimension)
            if key not in self.others:
                embedder = self._find(model)
                # No search reads the other models yet, so their failures may wait for a job.
                when: EmbedWhen = self._when if number == 0 or self._when == "later" else "now"
                self.others[key] = (
                    BatchVectors(embedder, tokens=self._wants_tokens, when=when)
                    if embedder
                    else None
                )
            vectors = self.others[key]
            if vectors is None and number == 0:
                raise ModelMismatchError(
                    f"the namespace is searched with {model}, the embedder is"
                    f" {self._embedder.model}"
                )
            yield model, vectors

    def prepare(self, chunks: Iterable[ChunkTexts]) -> None:
        """Embed what lacks vectors with every model; raise EmbeddingError unless left to a job."""
        chunks = list(chunks)
        if not self.models:
            self.embed_missing(chunks)
        for _, vectors in self.iter_models(self.models):
            if vectors is not None:
                vectors.embed_missing(chunks)

    def embed_missing(self, chunks: Iterable[ChunkTexts]) -> None:
        """Do what `prepare` does, with this model alone."""
        if self.deferred is not None:
            return
        started = time.monotonic()
        try:
            lacking = [chunk for chunk in chunks if self._lacks(chunk)]
            if self._reader is not None:
                passages = [chunk.passage for chunk in lacking if self._is_unread(chunk)]
                unread = [passage for passage in dict.fromkeys(passages) if passage is not None]
                if unread:
                    self._readings.update(zip(unread, self._reader.read(unread), strict=True))
            # What no reading holds: session chunks, and the texts of any other embedder.
            missing = {
                text: None
                for chunk in lacking
                for route, text in chunk.texts.items()
                if self._vector(chunk, route) is None
            }
            if missing:
                vectors = self._embedder.embed(list(missing))
                self._vectors.update(zip(missing, vectors, strict=True))
        except ModelMismatchError:
            # A kind of EmbeddingError that no later attempt mends, so that no job is left.
            raise
        except EmbeddingError as error:
            if self._when == "strict":
                raise
            self._backoff.record_failure(str(error), time.monotonic() - started)
            self.defer(error)

    def defer(self, error: EmbeddingError) -> None:
        """Leave all vectors that are still missing to a job, because of this error."""
        logger.warning("a write goes without vectors, which a job will make: %s", error)
        self.deferred = str(error)

    def space(self) -> "VectorSpace":
        """Return the model and dimension of the embedder that this process was opened with."""
        return VectorSpace(self._embedder.model, self.dimension())

    def dimension(self) -> int | None:
        """Return the embedding dimension, or None while the vectors are left to a job."""
        # An embedding server may have to be called for it, so it can fail as embedding does.
        if self.deferred is not None:
            return None
        try:
            return self._embedder.dimension
        except EmbeddingError as error:
            if self._when == "strict":
                raise
            self.defer(error)
            return None

    def __call__(
        self, chunks: Sequence[ChunkTexts]
    ) -> list[Mapping[str, NDArray[np.float32] | None]]:
        """Return each chunk's vectors by route, (dimension,) float32; None if left to a job.

        A chunk that the model doesn't know has none. Raises UnembeddedError if one is not embedded,
        or lacks its tokens, and nothing is left to a job.
        """
        self._require(chunks)
        return [
            {}
            if self.is_unknown(chunk)
            else {route: self._vector(chunk, route) for route in chunk.texts}
            for chunk in chunks
        ]

    def is_unknown(self, chunk: ChunkTexts) -> bool:
        """Return whether the model knows less than half of a chunk's text and of its sides."""
        if self.deferred is not None:
            return False
        # An exchange has the vectors of both sides if one of them is known: who asks in the
        # language of that side finds the other one with it.
        texts = (*chunk.stored, *chunk.texts.values())
        return bool(texts) and not any(map(self._knows, texts))

    def _knows(self, text: str) -> bool:
        is_known = self._is_known.get(text)
        if is_known is None:
            is_known = share_known(self._embedder, text) >= LEAST_KNOWN
            self._is_known[text] = is_known
        return is_known

    def require(self, models: Sequence[EmbeddingModel], chunks: Sequence[ChunkTexts]) -> None:
        """Raise UnembeddedError if a text lacks vectors that this process can make."""
        for _, vectors in self.iter_models(models):
            if vectors is not None:
                vectors(chunks)

    def tokens(self, chunks: Sequence[ChunkTexts]) -> list[Tokens | None]:
        """Return each exchange's tokens, None for one without; raise UnembeddedError."""
        self._require(chunks)
        readings = [chunk.passage and self._readings.get(chunk.passage) for chunk in chunks]
        return [reading.tokens if reading else None for reading in readings]

    def _require(self, chunks: Sequence[ChunkTexts]) -> None:
        lacking = [chunk for chunk in chunks if self._lacks(chunk)]
        if lacking and self.deferred is None:
            raise UnembeddedError(self, lacking)

    def _lacks(self, chunk: ChunkTexts) -> bool:
        """Return whether a vector of the chunk is not made yet, or its tokens are not."""
        if self.is_unknown(chunk):
            return False
        if self.has_tokens and chunk.wants_tokens and self._is_unread(chunk):
            return True
        return any(self._vector(chunk, route) is None for route in chunk.texts)

    def _is_unread(self, chunk: ChunkTexts) -> bool:
        return chunk.passage is not None and chunk.passage not in self._readings

    def _vector(self, chunk: ChunkTexts, route: str) -> NDArray[np.float32] | None:
        """Return the vector of a chunk's route as far as it is made."""
        reading = self._readings.get(chunk.passage) if chunk.passage else None
        if reading is None:
            return self._vectors.get(chunk.texts[route])
        if route == "full":
            return reading.vector
        part = reading.parts[chunk.routes.index(route)]
        # The model didn't read as far as this part, or the part isn't in the text.
        return part if part is not None else self._vectors.get(chunk.texts[route])

    def retry_until_embedded(self, write: Callable[[], T]) -> T:
        """Run a transaction until it finds all its vectors, and return its result.

        Vectors that it lacks are made after it was rolled back. It then sees rows that others have
        stored meanwhile, and may lack further vectors; the loop ends because each round means that
        another writer has committed.
        """
        while True:
            try:
                return write()
            except UnembeddedError as missing:
                missing.vectors.embed_missing(missing.chunks)

    def retry_or_defer(self, write: Callable[[], T]) -> T:
        """Run a transaction as `retry_until_embedded`; what can't be embedded is left to a job."""
        try:
            return self.retry_until_embedded(write)
        except EmbeddingError as error:
            for vectors in (self, *self.others.values()):
                if vectors is not None:
                    vectors.defer(error)
        return write()


def list_chunks(drafts: Iterable[SessionDraft]) -> Iterator[ChunkTexts]:
    """Yield the texts of every turn chunk of the drafts that will be embedded."""
    for draft in drafts:
        # A session chunk goes on from the last stored one, so that its text is known only in the
        # transaction.
        if draft.mode == "session":
            continue
        for exchange in draft.exchanges:
            yield from map(ChunkTexts.of, exchange.chunks)
