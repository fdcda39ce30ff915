"""Embedders for tests: fast, deterministic, and real implementations of the protocol."""

import re
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import blake2b
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from memsense.embed import Passage, QuestionTokens, Reading, Tokens, Vocabulary
from memsense.embed.tokens import pack_signs

Vectors = NDArray[np.float32]


@cache
def word_vector(word: str, dimension: int) -> NDArray[np.float64]:
    """Return the random direction of a word, the same in every process."""
    seed = int.from_bytes(blake2b(word.encode(), digest_size=8).digest())
    return np.random.default_rng(seed).standard_normal(dimension)


class HashingEmbedder:
    """Embedder by random directions, one per word: texts that share words are close."""

    def __init__(self, dimension: int = 48, model: str = "hashing") -> None:
        self.model = model
        self.dimension = dimension
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the unit vectors of the texts, (n, dimension) float32."""
        self.embedded += texts
        return np.stack([self._embed(text) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        """Return the unit vector of a question, (dimension,) float32."""
        return self._embed(text)

    def _embed(self, text: str) -> Vectors:
        words = re.findall(r"\w+", text.lower()) or [text]
        total = np.sum([word_vector(word, self.dimension) for word in words], axis=0)
        return (total / np.linalg.norm(total)).astype(np.float32)


class TokenHashingEmbedder(HashingEmbedder):
    """HashingEmbedder with a token for each word: its direction, plus a tenth of the direction of
    the previous word. The vector of a part is that of its words."""

    vocabulary = Vocabulary([f"w{number}" for number in range(1000)])

    def __init__(self, dimension: int = 48, model: str = "hashing") -> None:
        super().__init__(dimension, model)
        self.passages: list[str] = []

    def read(self, passages: Sequence[Passage]) -> list[Reading]:
        """Return the vectors of the texts, their parts and their tokens."""
        self.passages += [passage.text for passage in passages]
        return [
            Reading(
                vector=self._embed(passage.text),
                parts=[
                    self._embed(" ".join(passage.text[start:end] for start, end in part))
                    if part
                    else None
                    for part in passage.parts
                ],
                tokens=self._tokens(passage.text),
            )
            for passage in passages
        ]

    def embed_question(self, text: str) -> tuple[Vectors, QuestionTokens]:
        """Return the question's vector and tokens, all of the same weight."""
        words = re.findall(r"\w+", text.lower())
        return self._embed(text), QuestionTokens(
            vocabulary=self.vocabulary,
            words=words,
            vectors=self._vectors(words),
            weights=np.ones(len(words)),
        )

    def _tokens(self, text: str) -> Tokens:
        found = list(re.finditer(r"\w+", text.lower()))
        vectors = self._vectors([match[0] for match in found])
        return Tokens(
            pieces=np.array([crc32(match[0].encode()) % 1000 for match in found], dtype=np.uint16),
            starts=np.array([match.start() for match in found]),
            signs=pack_signs(vectors, np.zeros(self.dimension, dtype=np.float32)),
        )

    def _vectors(self, words: Sequence[str]) -> Vectors:
        rows = np.stack(
            [
                word_vector(word, self.dimension) + word_vector(earlier, self.dimension) / 10
                for word, earlier in zip(words, ["", *words[:-1]], strict=True)
            ]
        )
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


class BrokenEmbedder(HashingEmbedder):
    """Hashing embedder that applies `spoil` to the vectors before it returns them."""

    def __init__(self, spoil: Callable[[Vectors], Vectors]) -> None:
        super().__init__()
        self._spoil = spoil

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the spoilt vectors."""
        return self._spoil(super().embed(texts))

    def embed_query(self, text: str) -> Vectors:
        """Return the spoilt vector."""
        return self._spoil(super().embed_query(text)[np.newaxis, :])[0]


class AlphabetEmbedder(TokenHashingEmbedder):
    """TokenHashingEmbedder that knows only words of the letters a to z; lists its questions."""

    def __init__(self, dimension: int = 48, model: str = "alphabet") -> None:
        super().__init__(dimension, model)
        self.questions: list[str] = []

    def share_known(self, text: str) -> float:
        """Return the share of the words that are of these letters."""
        words = re.findall(r"\w+", text)
        return sum(word.isascii() for word in words) / max(len(words), 1)

    def embed_question(self, text: str) -> tuple[Vectors, QuestionTokens]:
        """Return what TokenHashingEmbedder returns."""
        self.questions.append(text)
        return super().embed_question(text)
