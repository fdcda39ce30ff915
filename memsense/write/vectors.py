"""Embeds each distinct text once, before the transaction that needs the vectors."""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from memsense.embed import (
    Embedder,
    TokenEmbedder,
    Tokens,
    find_token_embedder,
    is_embedder_of,
)
from memsense.errors import EmbeddingError, ModelMismatchError
from memsense.types import ChunkDraft, EmbeddingModel, EmbedWhen, SessionDraft

T = TypeVar("T")

logger = logging.getLogger("memsense.vectors")

LATER = "vectors are made later"

_SHARE_OF_FAILING = 10
_LONGEST_PAUSE = 300.0


class TokenText(NamedTuple):
    """An exchange whose tokens are wanted: its text, where the user's side of it ends, and what
    was said right before it."""

    text: str
    user_end: int
    context: str

    @classmethod
    def of(cls, text: str, assistant_text: str, context: str) -> "TokenText":
        """An exchange whose text ends with what the assistant said."""
        return cls(text, len(text) - len(assistant_text), context)


def in_a_row(chunks: Iterable[ChunkDraft], before: str) -> list[TokenText]:
    """The exchanges of one session that follow each other; `before` was said before the first."""
    found: list[TokenText] = []
    for chunk in chunks:
        found.append(TokenText.of(chunk.texts()["full"], chunk.assistant_text, before))
        before = found[-1].text
    return found


FindEmbedder = Callable[[EmbeddingModel], Embedder | None]
"""The embedder of a model, None where this process has none and can't open it."""


def _find_none(_: EmbeddingModel) -> None:
    return None


class VectorSpace(NamedTuple):
    """A model and the length of its vectors, None where nobody can say it now."""

    model: str
    dimension: int | None


class UnembeddedError(Exception):
    """A transaction came upon texts or exchanges that are not embedded yet; it is rolled back."""

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


class Patience:
    """How often a failing embedder is asked: it may take a tenth of the time at most.

    One that fails at once is asked each time, one whose server lets everybody wait is left alone
    for ten times as long as it took, at most five minutes. Shared by the writes of a memory.
    """

    def __init__(self) -> None:
        self._until = 0.0
        self._reason = ""

    def refusal(self) -> str | None:
        """Why the embedder is not asked now, None if it is to be."""
        return self._reason if time.monotonic() < self._until else None

    def failed(self, reason: str, took: float) -> None:
        """The embedder failed, after so many seconds."""
        self._reason = reason
        self._until = time.monotonic() + min(_SHARE_OF_FAILING * took, _LONGEST_PAUSE)


class BatchVectors:
    """Vectors of the texts of one batch of writes: embedded beforehand, looked up while writing.

        vectors = BatchVectors(embedder)
        vectors.prepare(texts_of(drafts))
        vectors.complete(lambda: run_transaction(pool, write))

    No model works while a transaction holds its locks. `gives_tokens`: whether exchanges get token
    vectors, which takes an embedder that has them. `when` says what becomes of texts that can't be
    embedded: the write raises EmbeddingError ("strict"), or it leaves them to a job ("now"), as it
    leaves all of them ("later"); `deferred` then says why. `left_fresh`: a write left vectors to a
    job that takes them into indexes.

    A namespace that has vectors of several models gets those of each: `find` gives the others'
    embedders, and `models` are known beforehand. What fails for a model that searches don't use is
    left to a job in any case.
    """

    def __init__(
        self,
        embedder: Embedder,
        *,
        tokens: bool = True,
        when: EmbedWhen = "strict",
        patience: Patience | None = None,
        find: FindEmbedder = _find_none,
        models: Sequence[EmbeddingModel] = (),
    ) -> None:
        self._embedder = embedder
        self._wants_tokens = tokens
        self._find = find
        self._models = models
        self._beside: dict[int, BatchVectors | None] = {}
        self._token_embedder = find_token_embedder(embedder) if tokens else None
        self._known: dict[str, NDArray[np.float32]] = {}
        self._tokens: dict[TokenText, Tokens] = {}
        self._when: EmbedWhen = when
        self._patience = patience or Patience()
        self.left_fresh = False
        self.deferred: str | None = LATER if when == "later" else None
        if when == "now":
            self.deferred = self._patience.refusal()

    @property
    def gives_tokens(self) -> bool:
        """Whether `tokens` may be asked."""
        return self._token_embedder is not None

    def know(self, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        """Take vectors over that this model made of these texts before."""
        self._known.update(vectors)

    def of_each(
        self, models: Sequence[EmbeddingModel]
    ) -> "Iterator[tuple[EmbeddingModel, BatchVectors | None]]":
        """The models with their vectors; the first is the one that searches use.

        None where no embedder is to be had, but for the first: ModelMismatchError.
        """
        for number, model in enumerate(models):
            vectors = self._of(model, self._when if number == 0 else "now")
            if vectors is None and number == 0:
                raise ModelMismatchError(
                    f"the namespace is searched with {model}, the embedder is"
                    f" {self._embedder.model}"
                )
            yield model, vectors

    def _of(self, model: EmbeddingModel, when: EmbedWhen) -> "BatchVectors | None":
        if is_embedder_of(self._embedder, model):
            return self
        if model.model_id not in self._beside:
            embedder = self._find(model)
            chosen = "later" if self._when == "later" else when
            self._beside[model.model_id] = (
                BatchVectors(embedder, tokens=self._wants_tokens, when=chosen) if embedder else None
            )
        return self._beside[model.model_id]

    def prepare(self, texts: Iterable[str], exchanges: Iterable[TokenText] = ()) -> None:
        """Embed those of the texts that are not known yet, by each model; of exchanges, their
        tokens too.

        An exchange's text and its tokens take one call, so that the model reads it once for both
        where it can. Raises EmbeddingError, unless what fails is left to a job.
        """
        texts, exchanges = list(texts), list(exchanges)
        if not self._models:
            self.embed_missing(texts, exchanges)
        for _, vectors in self.of_each(self._models):
            if vectors is not None:
                vectors.embed_missing(texts, exchanges)

    def embed_missing(self, texts: Iterable[str], exchanges: Iterable[TokenText]) -> None:
        """As `prepare`, by this model alone."""
        if self.deferred is not None:
            return
        started = time.monotonic()
        try:
            self._embed(texts, exchanges)
        except ModelMismatchError:
            raise
        except EmbeddingError as error:
            if self._when == "strict":
                raise
            self._patience.failed(str(error), time.monotonic() - started)
            self.defer(error)

    def defer(self, error: EmbeddingError) -> None:
        """From now on leave to a job what lacks."""
        logger.warning("a write goes without vectors, which a job will make: %s", error)
        self.deferred = str(error)

    def space(self) -> "VectorSpace":
        """Whose vectors these are, by the embedder that was asked for when the batch was begun."""
        return VectorSpace(self._embedder.model, self.dimension())

    def dimension(self) -> int | None:
        """The vectors' length; None where none are made now, and nobody need say it."""
        if self.deferred is not None:
            return None
        try:
            return self._embedder.dimension
        except EmbeddingError as error:
            if self._when == "strict":
                raise
            self.defer(error)
            return None

    def _embed(self, texts: Iterable[str], exchanges: Iterable[TokenText]) -> None:
        if self._token_embedder is not None:
            self._prepare_tokens(self._token_embedder, exchanges)
        missing = [text for text in dict.fromkeys(texts) if text not in self._known]
        if missing:
            self._known.update(zip(missing, self._embedder.embed(missing), strict=True))

    def _prepare_tokens(self, embedder: TokenEmbedder, exchanges: Iterable[TokenText]) -> None:
        missing = [item for item in dict.fromkeys(exchanges) if item not in self._tokens]
        if missing:
            texts = [item.text for item in missing]
            vectors, tokens = embedder.embed_with_tokens(texts, [item.context for item in missing])
            self._known.update(zip(texts, vectors, strict=True))
            self._tokens.update(zip(missing, tokens, strict=True))

    def __call__(self, texts: Sequence[str]) -> list[NDArray[np.float32] | None]:
        """The vector of each text, (dimension,) float32; raises UnembeddedError where one lacks."""
        missing = [text for text in texts if text not in self._known]
        if missing and self.deferred is None:
            raise UnembeddedError(self, missing)
        return [self._known.get(text) for text in texts]

    def tokens(self, exchanges: Sequence[TokenText]) -> list[Tokens | None]:
        """The tokens of the exchanges; raises UnembeddedError where one lacks them."""
        missing = [item for item in exchanges if item not in self._tokens]
        if missing and self.deferred is None:
            raise UnembeddedError(self, exchanges=missing)
        return [self._tokens.get(item) for item in exchanges]

    def complete(self, write: Callable[[], T]) -> T:
        """What a transaction gives, run again with what it lacked embedded after it ended.

        It sees then what others have stored meanwhile, and may lack something else: one of them
        has come to its end each time.
        """
        while True:
            try:
                return write()
            except UnembeddedError as missing:
                missing.vectors.embed_missing(missing.texts, missing.exchanges)

    def complete_if_possible(self, write: Callable[[], T]) -> T:
        """As `complete`, but what the embedder fails to embed is left to a job in any case."""
        try:
            return self.complete(write)
        except EmbeddingError as error:
            for vectors in (self, *self._beside.values()):
                if vectors is not None:
                    vectors.defer(error)
        return write()


def embed_tokens(embedder: Embedder, exchanges: Sequence[TokenText]) -> Sequence[Tokens | None]:
    """The exchanges' tokens, by an embedder that has them."""
    vectors = BatchVectors(embedder)
    vectors.prepare((), exchanges)
    return vectors.tokens(exchanges)


def texts_of(drafts: Iterable[SessionDraft]) -> Iterable[str]:
    """Every text of the drafts' turn chunks that will be embedded."""
    for draft in drafts:
        if draft.mode == "session":
            continue
        for exchange in draft.exchanges:
            for chunk in exchange.chunks:
                yield from chunk.texts().values()


def exchanges_of(draft: SessionDraft, before: str) -> list[TokenText]:
    """Every exchange of a draft whose tokens will be made, if `before` is what the session holds
    last, empty for nothing."""
    if draft.mode == "session":
        return []
    return in_a_row((chunk for item in draft.exchanges for chunk in item.chunks), before)
