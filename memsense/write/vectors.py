"""Embeds each distinct text once, before the transaction that needs the vectors."""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from memsense.embed import Embedder
from memsense.errors import EmbeddingError
from memsense.types import SessionDraft

T = TypeVar("T")

logger = logging.getLogger("memsense.vectors")


class UnembeddedError(Exception):
    """A transaction came upon texts that are not embedded yet; it is rolled back."""

    def __init__(self, texts: Sequence[str]) -> None:
        super().__init__(f"{len(texts)} texts are not embedded yet")
        self.texts = texts


class BatchVectors:
    """Vectors of the texts of one batch of writes: embedded beforehand, looked up while writing.

        vectors = BatchVectors(embedder)
        vectors.prepare(texts_of(drafts))
        vectors.complete(lambda: run_transaction(pool, write))

    No model works while a transaction holds its locks.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, NDArray[np.float32]] = {}
        self._may_lack = False

    def prepare(self, texts: Iterable[str]) -> None:
        """Embed those of the texts that are not known yet, in one call."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._known]
        if missing:
            vectors = self._embedder.embed(missing)
            self._known.update(zip(missing, vectors, strict=True))

    def __call__(self, texts: Sequence[str]) -> list[NDArray[np.float32] | None]:
        """The vector of each text, (dimension,) float32; raises UnembeddedError where one lacks."""
        missing = [text for text in texts if text not in self._known]
        if missing and not self._may_lack:
            raise UnembeddedError(missing)
        return [self._known.get(text) for text in texts]

    def complete(self, write: Callable[[], T]) -> T:
        """What a transaction gives, run again with what it lacked embedded after it ended.

        It sees then what others have stored meanwhile, and may lack something else: one of them
        has come to its end each time.
        """
        while True:
            try:
                return write()
            except UnembeddedError as missing:
                self.prepare(missing.texts)

    def complete_if_possible(self, write: Callable[[], T]) -> T:
        """As `complete`, but without the vectors of what the embedder fails to embed."""
        try:
            return self.complete(write)
        except EmbeddingError as error:
            logger.warning("a write goes without vectors that its texts call for: %s", error)
        self._may_lack = True
        return write()


def texts_of(drafts: Iterable[SessionDraft]) -> Iterable[str]:
    """Every text of the drafts' turn chunks that will be embedded."""
    for draft in drafts:
        if draft.mode == "session":
            continue
        for exchange in draft.exchanges:
            for chunk in exchange.chunks:
                yield from chunk.texts().values()
