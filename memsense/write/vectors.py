"""Embeds each distinct text once and remembers it for as long as one batch of writes lasts."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from memsense.embed import Embedder
from memsense.types import SessionDraft


class BatchVectors:
    """Vectors of the texts of one batch: embedded together beforehand, looked up while writing."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, NDArray[np.float32]] = {}

    def prepare(self, texts: Iterable[str]) -> None:
        """Embed those of the texts that are not known yet, in one call."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._known]
        if missing:
            vectors = self._embedder.embed(missing)
            self._known.update(zip(missing, vectors, strict=True))

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of the texts, (n, dimension) float32; embeds what is not known yet."""
        self.prepare(texts)
        if not texts:
            return np.zeros((0, self._embedder.dimension), dtype=np.float32)
        return np.stack([self._known[text] for text in texts])


def texts_of(drafts: Iterable[SessionDraft]) -> Iterable[str]:
    """Every text of the drafts' turn chunks that will be embedded."""
    for draft in drafts:
        if draft.mode == "session":
            continue
        for exchange in draft.exchanges:
            for chunk in exchange.chunks:
                yield from chunk.texts().values()
