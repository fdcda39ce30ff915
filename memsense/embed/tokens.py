"""Token vectors: what an embedder that has them gives for a text's tokens, one bit a dimension."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, TypeAlias, cast, overload

import numpy as np
from numpy.typing import NDArray

from memsense.embed.base import (
    CachedQueries,
    CacheInfo,
    CheckedEmbedder,
    Embedder,
    Vectors,
    check_vectors,
    failing_as_embedder,
)
from memsense.errors import EmbeddingError

Pieces: TypeAlias = NDArray[np.uint16]
Signs: TypeAlias = NDArray[np.uint8]

LARGEST_VOCABULARY = 1 << 16
"""A piece's number takes two bytes."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tokens:
    """The first n tokens of a text.

    `pieces` are their numbers in the vocabulary, (n,); `starts` where each begins in the text,
    (n,); `signs` the signs of their vectors, (n, ⌈d / 8⌉), as `pack_signs` packs them.
    """

    pieces: Pieces
    starts: NDArray[np.int64]
    signs: Signs


class Vocabulary(Sequence[str]):
    """A model's at most 65,536 pieces by their numbers; what continues a word begins with ##."""

    def __init__(self, pieces: Sequence[str]) -> None:
        if len(pieces) > LARGEST_VOCABULARY:
            raise EmbeddingError(
                f"a vocabulary may have {LARGEST_VOCABULARY:,} pieces, not {len(pieces):,}"
            )
        self._pieces = pieces
        self._masks: dict[frozenset[str], NDArray[np.bool_]] = {}

    def __len__(self) -> int:
        return len(self._pieces)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        return self._pieces[index]

    def mask(self, words: frozenset[str]) -> NDArray[np.bool_]:
        """Which pieces are one of the words, by number; remembered."""
        known = self._masks.get(words)
        if known is None:
            known = np.array([piece in words for piece in self._pieces], dtype=bool)
            self._masks[words] = known
        return known


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QuestionTokens:
    """A question's tokens: `words` are the pieces of its text, `vectors` (n, d) float32 unit
    vectors without the model's mean, `weights` (n,) how much each counts."""

    vocabulary: Vocabulary
    words: Sequence[str]
    vectors: Vectors
    weights: NDArray[np.float64]


class TokenEmbedder(Embedder, Protocol):
    """An embedder whose vectors are made of token vectors, which it gives too.

    The signs of two of them may be compared only if their `model` is equal: what it takes away
    from each vector before the sign, the model's mean, is as fixed as the model.
    """

    @property
    def vocabulary(self) -> Vocabulary:
        """Every piece by its number."""
        ...

    def embed_with_tokens(
        self, texts: Sequence[str], contexts: Sequence[str]
    ) -> tuple[Vectors, Sequence[Tokens]]:
        """As `embed`, and each text's tokens as they are read behind the end of its context.

        A context is what was said right before the text, empty for nothing. It changes the
        tokens, never the texts' vectors, and has no tokens itself.
        """
        ...

    def embed_question(self, text: str) -> tuple[Vectors, QuestionTokens]:
        """As `embed_query`, and the question's tokens."""
        ...


def find_token_embedder(embedder: Embedder) -> TokenEmbedder | None:
    """The embedder, if it gives tokens.

    Its class is looked at, not the embedder: what it has may have to be asked of a server.
    """
    has_tokens = hasattr(type(embedder), "embed_with_tokens")
    return cast("TokenEmbedder", embedder) if has_tokens else None


def pack_signs(vectors: Vectors, mean: Vectors) -> Signs:
    """A bit for each component: 1 where it is above the mean's; (n, d) -> (n, ⌈d / 8⌉)."""
    return np.packbits(vectors > mean, axis=1)


def unit_rows(vectors: Vectors) -> Vectors:
    """Each row at unit length."""
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class CheckedTokenEmbedder(CheckedEmbedder):
    """As `CheckedEmbedder`, of an embedder that gives tokens, which are passed on as they are."""

    def __init__(self, embedder: TokenEmbedder) -> None:
        super().__init__(embedder)
        self._token_embedder = embedder

    @property
    def vocabulary(self) -> Vocabulary:
        """That of the embedder within."""
        with failing_as_embedder():
            return self._token_embedder.vocabulary

    def embed_with_tokens(
        self, texts: Sequence[str], contexts: Sequence[str]
    ) -> tuple[Vectors, Sequence[Tokens]]:
        """The texts' unit vectors, and their tokens."""
        with failing_as_embedder():
            vectors, tokens = self._token_embedder.embed_with_tokens(texts, contexts)
        return check_vectors(vectors, len(texts), self.dimension), tokens

    def embed_question(self, text: str) -> tuple[Vectors, QuestionTokens]:
        """The unit vector of one question, and its tokens."""
        with failing_as_embedder():
            vector, tokens = self._token_embedder.embed_question(text)
        return check_vectors([vector], 1, self.dimension)[0], tokens


def check_embedder(embedder: Embedder) -> CheckedEmbedder:
    """The embedder with its answers checked, which gives tokens if the embedder does."""
    giving = find_token_embedder(embedder)
    return CheckedTokenEmbedder(giving) if giving else CheckedEmbedder(embedder)


class CachedTokenQueries(CachedQueries):
    """As `CachedQueries`, of an embedder that gives tokens; a question's are remembered with it."""

    def __init__(self, embedder: TokenEmbedder, size: int = 1024) -> None:
        super().__init__(embedder, size)
        self._token_embedder = embedder
        self._cached_tokens = lru_cache(maxsize=size)(self._embed_question_read_only)

    @property
    def vocabulary(self) -> Vocabulary:
        """That of the embedder within."""
        return self._token_embedder.vocabulary

    def embed_with_tokens(
        self, texts: Sequence[str], contexts: Sequence[str]
    ) -> tuple[Vectors, Sequence[Tokens]]:
        """As the embedder within, uncached."""
        return self._token_embedder.embed_with_tokens(texts, contexts)

    def embed_query(self, text: str) -> Vectors:
        """The question's vector alone."""
        return self.embed_question(text)[0]

    def embed_question(self, text: str) -> tuple[Vectors, QuestionTokens]:
        """The question's vector and tokens, read-only; embedded if not remembered."""
        return self._cached_tokens(text)

    def forget(self) -> None:
        """Remember no question any more."""
        super().forget()
        self._cached_tokens.cache_clear()

    def _info(self) -> CacheInfo:
        return self._cached_tokens.cache_info()

    def _embed_question_read_only(self, text: str) -> tuple[Vectors, QuestionTokens]:
        vector, tokens = self._token_embedder.embed_question(text)
        for array in (vector, tokens.vectors, tokens.weights):
            array.setflags(write=False)
        return vector, tokens


def cache_queries(embedder: Embedder, size: int) -> CachedQueries:
    """The embedder with a cache of questions, which gives tokens if the embedder does."""
    giving = find_token_embedder(embedder)
    return CachedTokenQueries(giving, size) if giving else CachedQueries(embedder, size)
