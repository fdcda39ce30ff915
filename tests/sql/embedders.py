"""Embedders for tests: quick, deterministic, and real implementations of the protocol."""

import re
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


@cache
def word_vector(word: str, dimension: int) -> NDArray[np.float64]:
    """A direction of the word's own, the same in every process."""
    seed = int.from_bytes(blake2b(word.encode(), digest_size=8).digest())
    return np.random.default_rng(seed).standard_normal(dimension)


class HashingEmbedder:
    """The normalised sum of random directions, one a word: texts that share words are close."""

    def __init__(self, dimension: int = 48, model: str = "hashing") -> None:
        self.model = model
        self.dimension = dimension
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        """The unit vectors of the texts, (n, dimension) float32."""
        self.embedded += texts
        return np.stack([self._embed(text) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        """The unit vector of a question, (dimension,) float32."""
        return self._embed(text)

    def _embed(self, text: str) -> Vectors:
        words = re.findall(r"\w+", text.lower()) or [text]
        total = np.sum([word_vector(word, self.dimension) for word in words], axis=0)
        return (total / np.linalg.norm(total)).astype(np.float32)


class BrokenEmbedder(HashingEmbedder):
    """A hashing embedder whose vectors go through `spoil` before they are returned."""

    def __init__(self, spoil: Callable[[Vectors], Vectors]) -> None:
        super().__init__()
        self._spoil = spoil

    def embed(self, texts: Sequence[str]) -> Vectors:
        """The spoilt vectors."""
        return self._spoil(super().embed(texts))

    def embed_query(self, text: str) -> Vectors:
        """The spoilt vector."""
        return self._spoil(super().embed_query(text)[np.newaxis, :])[0]
