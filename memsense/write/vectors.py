"""Vectors of a batch of writes: each distinct text is embedded once, before the transaction."""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from memsense.embed import (
    Embedder,
    Tokens,
    find_token_embedder,
    is_embedder_of,
)
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


class TokenText(NamedTuple):
    """An exchange whose tokens get vectors: its text, the end of the user's side in it, and the
    text that was said right before it."""

    text: str
    user_end: int
    context: str

    @classmethod
    def of(cls, text: str, assistant_text: str, context: str) -> "TokenText":
        """Make one of an exchange whose text ends with the assistant's side."""
        return cls(text, len(text) - len(assistant_text), context)


def chain_token_texts(chunks: Iterable[ChunkDraft], before: str) -> list[TokenText]:
    """Return consecutive exchanges of one session, each with the text of the one before it.

    `before` is the text that precedes the first.
    """
    chain: list[TokenText] = []
    for chunk in chunks:
        chain.append(TokenText.of(chunk.texts()["full"], chunk.assistant_text, before))
        before = chain[-1].text
    return chain


FindEmbedder = Callable[[EmbeddingModel], Embedder | None]
"""Lookup of a model's embedder; None if this process has none and can't open one."""


def _find_none(_: EmbeddingModel) -> None:
    return None


class VectorSpace(NamedTuple):
    """A model and the length of its vectors; None while the length is unknown."""

    model: str
    dimension: int | None


class UnembeddedError(Exception):
    """A transaction needs vectors that are not made yet; it is rolled back and run again."""

    def __init__(
        self,
        vectors: "BatchVectors",
        texts: Sequence[str] = (),
        exchanges: Sequence[TokenText] = (),
    ) -> None:
        super().__init__(f"{len(texts) + len(exchanges)} texts are not embedded yet")
        self.vectors = vectors
        self.texts = texts
        self.exchanges = exchanges


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
    """Vectors of the texts of one batch of writes: embedded beforehand, looked up while writing.

        vectors = BatchVectors(embedder)
        vectors.prepare(list_texts(drafts))
        vectors.retry_until_embedded(lambda: run_transaction(pool, write))

    No model runs while a transaction holds its locks. A namespace may have vectors of several
    models; then each of `models` embeds the texts. A failure of a model that searches don't use
    never fails the write: a job makes its vectors.

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
        find: FindEmbedder = _find_none,
        models: Sequence[EmbeddingModel] = (),
    ) -> None:
        self._embedder = embedder
        self._wants_tokens = tokens
        self._find = find
        self._models = models
        self._others: dict[int, BatchVectors | None] = {}
        self._token_embedder = find_token_embedder(embedder) if tokens else None
        self._vectors: dict[str, NDArray[np.float32]] = {}
        self._tokens: dict[TokenText, Tokens] = {}
        self._when: EmbedWhen = when
        self._backoff = backoff or EmbedderBackoff()
        self.has_unindexed_vectors = False  # set by a write that left indexing to a job
        self.deferred: str | None = LATER if when == "later" else None
        if when == "now":
            self.deferred = self._backoff.find_reason()

    @property
    def has_tokens(self) -> bool:
        """True if exchanges get token vectors, so that `tokens` may be called."""
        return self._token_embedder is not None

    def add_vectors(self, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        """Add vectors that this model made earlier, by text, so that they are not made again."""
        self._vectors.update(vectors)

    def iter_models(
        self, models: Sequence[EmbeddingModel]
    ) -> "Iterator[tuple[EmbeddingModel, BatchVectors | None]]":
        """Yield each model with its vectors; None if this process can't open its embedder.

        Raises ModelMismatchError if that is so for the first model, the one that searches use.
        """
        for number, model in enumerate(models):
            if is_embedder_of(self._embedder, model):
                yield model, self
                continue
            if model.model_id not in self._others:
                embedder = self._find(model)
                # No search reads the other models yet, so their failures may wait for a job.
                when: EmbedWhen = self._when if number == 0 or self._when == "later" else "now"
                self._others[model.model_id] = (
                    BatchVectors(embedder, tokens=self._wants_tokens, when=when)
                    if embedder
                    else None
                )
            vectors = self._others[model.model_id]
            if vectors is None and number == 0:
                raise ModelMismatchError(
                    f"the namespace is searched with {model}, the embedder is"
                    f" {self._embedder.model}"
                )
            yield model, vectors

    def prepare(self, texts: Iterable[str], exchanges: Iterable[TokenText] = ()) -> None:
        """Embed the texts, and the tokens of the exchanges, that are not embedded yet.

        Every model of the namespace does so. An exchange's text and tokens take one call, so that
        the model reads the text once for both where it can. Raises EmbeddingError if a text can't
        be embedded and the failure is not left to a job.
        """
        texts, exchanges = list(texts), list(exchanges)
        if not self._models:
            self.embed_missing(texts, exchanges)
        for _, vectors in self.iter_models(self._models):
            if vectors is not None:
                vectors.embed_missing(texts, exchanges)

    def embed_missing(self, texts: Iterable[str], exchanges: Iterable[TokenText]) -> None:
        """Do what `prepare` does, with this model alone."""
        if self.deferred is not None:
            return
        started = time.monotonic()
        try:
            # Tokens come first: their call returns the exchanges' vectors as well, so that the
            # second call is left with facets and sides alone.
            if self._token_embedder is not None:
                unread = [item for item in dict.fromkeys(exchanges) if item not in self._tokens]
                if unread:
                    contents = [item.text for item in unread]
                    vectors, tokens = self._token_embedder.embed_with_tokens(
                        contents, [item.context for item in unread]
                    )
                    self._vectors.update(zip(contents, vectors, strict=True))
                    self._tokens.update(zip(unread, tokens, strict=True))
            missing = [text for text in dict.fromkeys(texts) if text not in self._vectors]
            if missing:
                self._vectors.update(zip(missing, self._embedder.embed(missing), strict=True))
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

    def __call__(self, texts: Sequence[str]) -> list[NDArray[np.float32] | None]:
        """Return each text's vector, (dimension,) float32; None for those left to a job.

        Raises UnembeddedError if a text is not embedded and nothing is left to a job.
        """
        missing = [text for text in texts if text not in self._vectors]
        if missing and self.deferred is None:
            raise UnembeddedError(self, missing)
        return [self._vectors.get(text) for text in texts]

    def tokens(self, exchanges: Sequence[TokenText]) -> list[Tokens | None]:
        """Return each exchange's tokens; None for those left to a job.

        Raises UnembeddedError if one has no tokens yet and nothing is left to a job.
        """
        missing = [item for item in exchanges if item not in self._tokens]
        if missing and self.deferred is None:
            raise UnembeddedError(self, exchanges=missing)
        return [self._tokens.get(item) for item in exchanges]

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
                missing.vectors.embed_missing(missing.texts, missing.exchanges)

    def retry_or_defer(self, write: Callable[[], T]) -> T:
        """Run a transaction as `retry_until_embedded` does, but never fail for lack of vectors.

        If the embedder fails, a job makes the vectors, also with `when="strict"`.
        """
        try:
            return self.retry_until_embedded(write)
        except EmbeddingError as error:
            for vectors in (self, *self._others.values()):
                if vectors is not None:
                    vectors.defer(error)
        return write()


def embed_tokens(embedder: Embedder, exchanges: Sequence[TokenText]) -> Sequence[Tokens | None]:
    """Return the exchanges' tokens, made by an embedder that has them."""
    vectors = BatchVectors(embedder)
    vectors.prepare((), exchanges)
    return vectors.tokens(exchanges)


def list_texts(drafts: Iterable[SessionDraft]) -> Iterable[str]:
    """Yield every text of the drafts' turn chunks that will be embedded."""
    for draft in drafts:
        # A session chunk goes on from the last stored one, so that its text is known only in the
        # transaction.
        if draft.mode == "session":
            continue
        for exchange in draft.exchanges:
            for chunk in exchange.chunks:
                yield from chunk.texts().values()


def list_token_texts(draft: SessionDraft, before: str) -> list[TokenText]:
    """Return every exchange of a draft that gets token vectors.

    `before` is the last text that the session holds already; empty if there is none.
    """
    if draft.mode == "session":
        return []
    return chain_token_texts((chunk for item in draft.exchanges for chunk in item.chunks), before)
