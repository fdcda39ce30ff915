"""Token vectors of embedders that have them, stored as one bit for each dimension."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from memsense.embed.base import (
    CachedQueries,
    CheckedEmbedder,
    Embedder,
    Vectors,
    check_vectors,
    embed_in_time,
    wrap_embedder_errors,
)
from memsense.errors import EmbeddingError

Pieces: TypeAlias = NDArray[np.uint16]
Signs: TypeAlias = NDArray[np.uint8]

UNKNOWN_PIECE = "[UNK]"
"""The piece that stands for every word that a model doesn't know."""

LARGEST_VOCABULARY = 1 << 16
"""Limit of a vocabulary: a piece's number takes two bytes."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tokens:
    """First n tokens of a text.

    Attributes:
        pieces: Their numbers in the vocabulary, (n,) uint16.
        starts: The offset of each in the text, (n,) int64.
        signs: The signs of their vectors, (n, ⌈d / 8⌉) uint8, as `pack_signs` packs them.
    """

    pieces: Pieces
    starts: NDArray[np.int64]
    signs: Signs


Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""Places in a text: the start of each, and the offset behind its end."""


class Passage(NamedTuple):
    """Text that the model reads once for several vectors.

    Attributes:
        text: The text, not blank.
        parts: The places of each part that gets a vector of its own; none for a part whose words
            don't stand in the text.
    """

    text: str
    parts: tuple[Ranges, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reading:
    """Vectors and tokens that one run of the model makes of a passage.

    Attributes:
        vector: The unit vector of the text, (d,) float32, as `embed` returns it.
        parts: The unit vector of each part, the mean of its token vectors; None if the model reads
            nothing of a part.
        tokens: The tokens that the model reads of the text.
    """

    vector: Vectors
    parts: Sequence[Vectors | None]
    tokens: Tokens


class Vocabulary:
    """Pieces of a model by their numbers; a piece that continues a word begins with `##`.

    Args:
        pieces: At most 65,536 pieces.

    Raises:
        EmbeddingError: If there are more.
    """

    def __init__(self, pieces: Sequence[str]) -> None:
        if len(pieces) > LARGEST_VOCABULARY:
            raise EmbeddingError(
                f"a vocabulary may have {LARGEST_VOCABULARY:,} pieces, not {len(pieces):,}"
            )
        self._pieces = pieces
        self._masks: dict[frozenset[str], NDArray[np.bool_]] = {}

    def spell(self, numbers: Sequence[int]) -> list[str]:
        """Return the pieces of these numbers."""
        return list(map(self._pieces.__getitem__, numbers))

    @cached_property
    def unknown(self) -> int | None:
        """The number of the piece for unknown words; None if the vocabulary has no such piece."""
        return self._pieces.index(UNKNOWN_PIECE) if UNKNOWN_PIECE in self._pieces else None

    @cached_property
    def are_numbers(self) -> NDArray[np.bool_]:
        """For each piece whether it consists of digits, (pieces,) bool."""
        return np.array([piece.removeprefix("##").isdigit() for piece in self._pieces], dtype=bool)

    def mask(self, words: frozenset[str]) -> NDArray[np.bool_]:
        """Return for each piece whether it is one of the words, (pieces,) bool."""
        # Cached: searches ask again and again for the same few sets of words.
        mask = self._masks.get(words)
        if mask is None:
            mask = np.array([piece in words for piece in self._pieces], dtype=bool)
            self._masks[words] = mask
        return mask


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QuestionTokens:
    """Tokens of a question.

    Attributes:
        vocabulary: The model's vocabulary.
        words: The pieces of its text.
        vectors: Their unit vectors less the model's mean, (n, d) float32.
        weights: The weight of each, (n,) float64; 0 for words that the model doesn't know.
    """

    vocabulary: Vocabulary
    words: Sequence[str]
    vectors: Vectors
    weights: NDArray[np.float64]

    def heaviest(self, count: int) -> "QuestionTokens":
        """Return the `count` tokens that weigh most, in the order of the question."""
        if len(self.words) <= count:
            return self
        places = np.sort(np.argsort(-self.weights, kind="stable")[:count])
        # The rest of a word whose beginning is left out becomes a word of its own.
        follows: list[bool] = (np.diff(places, prepend=-2) == 1).tolist()
        numbers: list[int] = places.tolist()
        words = [
            self.words[number] if is_next else self.words[number].removeprefix("##")
            for number, is_next in zip(numbers, follows, strict=True)
        ]
        return QuestionTokens(
            vocabulary=self.vocabulary,
            words=words,
            vectors=self.vectors[places],
            weights=self.weights[places],
        )


class TokenEmbedder(Embedder, Protocol):
    """Protocol of an embedder that returns vectors of a text, its parts and its tokens together.

    Signs of two embedders may be compared only if their `model` is equal: the mean that is taken
    from each vector before its signs are is as fixed as the model.
    """

    @property
    def vocabulary(self) -> Vocabulary:
        """All pieces of the model, by their numbers."""
        ...

    def read(self, passages: Sequence[Passage]) -> Sequence[Reading]:
        """Return the vectors of each passage, of its parts and of its tokens.

        Args:
            passages: Passages, none of whose texts is blank.
        """
        ...

    def embed_question(self, text: str) -> tuple[Vectors, QuestionTokens]:
        """Return the question's unit vector, as `embed_query` does, and its tokens.

        Args:
            text: The question, not blank.
        """
        ...


def find_token_embedder(embedder: Embedder) -> TokenEmbedder | None:
    """Return the embedder if it has token vectors, else None."""
    # The class is looked at: an attribute of the object might ask a server.
    has_tokens = hasattr(type(embedder), "embed_question")
    return cast("TokenEmbedder", embedder) if has_tokens else None


def pack_signs(vectors: Vectors, mean: Vectors) -> Signs:
    """Return a bit for each component, 1 if it is above the mean's: (n, ⌈d / 8⌉) from (n, d)."""
    return np.packbits(vectors > mean, axis=1)


def unit_rows(vectors: Vectors) -> Vectors:
    """Return each row divided by its length."""
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class CheckedTokenEmbedder(CheckedEmbedder):
    """`CheckedEmbedder` of an embedder with token vectors; tokens are passed on unchecked."""

    def __init__(self, embedder: TokenEmbedder) -> None:
        super().__init__(embedder)
        self._token_embedder = embedder

    @property
    def vocabulary(self) -> Vocabulary:
        """Vocabulary of the embedder inside."""
        with wrap_embedder_errors():
            return self._token_embedder.vocabulary

    def read(self, passages: Sequence[Passage]) -> Sequence[Reading]:
        """Return the vectors of each passage, of its parts and of its tokens."""
        with wrap_embedder_errors():
            readings = embed_in_time(lambda: self._token_embedder.read(passages))
        if len(readings) != len(passages):
            raise EmbeddingError(
                f"the embedder read {len(readings)} passages instead of {len(passages)}"
            )
        return [self._check(reading) for reading in readings]

    def _check(self, reading: Reading) -> Reading:
        parts = [vector for vector in reading.parts if vector is not None]
        vectors = iter(check_vectors([reading.vector, *parts], len(parts) + 1, self.dimension))
        return Reading(
            vector=next(vectors),
            parts=[None if vector is None else next(vectors) for vector in reading.parts],
            tokens=reading.tokens,
        )

    def embed_question(self, text: str) -> tuple[Vectors, QuestionTokens]:
        """Return the unit vector of one question, (dimension,) float32, and its tokens."""
        with wrap_embedder_errors():
            vector, tokens = embed_in_time(lambda: self._token_embedder.embed_question(text))
        return check_vectors([vector], 1, self.dimension)[0], tokens


def check_embedder(embedder: Embedder) -> CheckedEmbedder:
    """Return the embedder with checks of its results; with token vectors if it has them."""
    token_embedder = find_token_embedder(embedder)
    return CheckedTokenEmbedder(token_embedder) if token_embedder else CheckedEmbedder(embedder)


class CachedTokenQueries(CachedQueries):
    """`CachedQueries` of an embedder with token vectors; a question's tokens are cached, too."""

    def __init__(self, embedder: TokenEmbedder, size: int = 1024) -> None:
        super().__init__(embedder, size)
        self._token_embedder = embedder

    @property
    def vocabulary(self) -> Vocabulary:
        """Vocabulary of the embedder inside."""
        return self._token_embedder.vocabulary

    def read(self, passages: Sequence[Passage]) -> Sequence[Reading]:
        """Return the vectors of each passage, of its parts and of its tokens, without the cache."""
        return self._token_embedder.read(passages)

    def embed_question(self, text: str) -> tuple[Vectors, QuestionTokens]:
        """Return the question's unit vector and tokens, read-only."""
        return self._cached(text)

    def _embed_read_only(self, text: str) -> tuple[Vectors, QuestionTokens]:
        vector, tokens = self._token_embedder.embed_question(text)
        for array in (vector, tokens.vectors, tokens.weights):
            array.setflags(write=False)
        return vector, tokens


def cache_queries(embedder: Embedder, size: int) -> CachedQueries:
    """Return the embedder with a cache of `size` questions; with token vectors if it has them."""
    token_embedder = find_token_embedder(embedder)
    if token_embedder is None:
        return CachedQueries(embedder, size)
    return CachedTokenQueries(token_embedder, size)
