"""What an embedder is, and what holds for every one: the checks, the query cache, no text twice."""

import textwrap
import unicodedata
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Annotated, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memsense.errors import EmbeddingError, InvalidInputError, MemSenseError
from memsense.inputs import Gate, Name, shorten, whole_number
from memsense.types import EmbeddingModel

Vectors: TypeAlias = NDArray[np.float32]

UNIT_TOLERANCE = 1e-5
"""How far a unit vector's squared length may be from 1: what rounding to float32 makes of it."""

LARGEST_DIMENSION = 16_000
"""What pgvector's half-precision vectors can have."""

LONGEST_FAILURE = 300
"""Characters that are told of an error that an embedder raises."""

# Unicode's controls, format characters, separators and marks. Unassigned ones may be new symbols.
INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp", "Mn", "Mc", "Me"})


class Embedder(Protocol):
    """Turns texts into unit vectors; `model` names the space they live in.

    Vectors of two embedders may be compared only if `model` and `dimension` are equal.
    """

    @property
    def model(self) -> str:
        """The model's name, as it is recorded with the vectors."""
        ...

    @property
    def dimension(self) -> int:
        """The length of each vector."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """The unit vectors of the texts, in their order: (n, dimension) float32.

        Raises InvalidInputError for a blank text, EmbeddingError if the model fails.
        """
        ...

    def embed_query(self, text: str) -> Vectors:
        """The unit vector of one question: (dimension,) float32; raises as `embed` does."""
        ...


_read_model = Gate(Name, "the embedder's model")
_read_dimension = Gate(
    Annotated[int, whole_number(1, LARGEST_DIMENSION)], "the embedder's dimension"
)


class _FailingAsEmbedder:
    """Of a class, since a search enters it nine times, and a generator takes thrice as long."""

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if not isinstance(error, Exception) or isinstance(error, MemSenseError):
            return
        told = textwrap.shorten(str(error), LONGEST_FAILURE, placeholder=" …")
        raise EmbeddingError(
            f"the embedder failed: {type(error).__name__}{': ' if told else ''}{told}"
        ) from error


_FAILING_AS_EMBEDDER = _FailingAsEmbedder()


def failing_as_embedder() -> AbstractContextManager[None]:
    """Raise EmbeddingError for whatever the embedder within raises; memsense's own errors stay.

    Whose code it is decides, not the kind of error: libraries of HTTP have kinds of their own.
    """
    return _FAILING_AS_EMBEDDER


class _Remembered:
    """Reads a value through a gate, and the very same one again without: searches ask often."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._last: tuple[object, Any] | None = None

    def read(self, given: object) -> Any:
        """What the gate makes of the value."""
        last = self._last
        if last is None or last[0] is not given:
            self._last = last = (given, self._gate(given))
        return last[1]


class CheckedEmbedder:
    """An embedder of anybody's making, whose answers are checked: what memsense works with.

    It may return lists, and vectors that are not of unit length. Raises EmbeddingError for what
    `check_vectors` refuses and for whatever the embedder raises itself, InvalidInputError for an
    unusable model or dimension.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._model = _Remembered(_read_model)
        self._dimension = _Remembered(_read_dimension)

    @property
    def model(self) -> str:
        """The model of the embedder within."""
        with failing_as_embedder():
            return self._model.read(self._embedder.model)

    @property
    def dimension(self) -> int:
        """The dimension of the embedder within."""
        with failing_as_embedder():
            return self._dimension.read(self._embedder.dimension)

    @property
    def known_dimension(self) -> int | None:
        """The dimension, None where it is to be asked for."""
        return None if known_dimension(self._embedder) is None else self.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """The texts' unit vectors in their order: (n, dimension) float32."""
        with failing_as_embedder():
            given = self._embedder.embed(texts)
        return check_vectors(given, len(texts), self.dimension)

    def embed_query(self, text: str) -> Vectors:
        """The unit vector of one question: (dimension,) float32."""
        with failing_as_embedder():
            given = self._embedder.embed_query(text)
        return check_vectors([given], 1, self.dimension)[0]


class CacheInfo(Protocol):
    """What is used of functools' own."""

    @property
    def hits(self) -> int: ...  # noqa: D102
    @property
    def misses(self) -> int: ...  # noqa: D102


def known_dimension(embedder: Embedder) -> int | None:
    """The length of the embedder's vectors; None where a server would have to be asked first."""
    if hasattr(type(embedder), "known_dimension"):
        return getattr(embedder, "known_dimension")  # noqa: B009 (not every embedder has it)
    return embedder.dimension


def is_embedder_of(embedder: Embedder, model: EmbeddingModel) -> bool:
    """Whether the embedder makes vectors of the model, as far as it can say without a server."""
    if embedder.model != model.name:
        return False
    return known_dimension(embedder) in (None, model.dimension)


class CachedQueries:
    """An embedder that remembers the vectors of its last `size` questions. Thread-safe.

        embedder = CachedQueries(OnnxEmbedder())
        vector = embedder.embed_query("Where does Anna live?")

    Vectors of questions are read-only, because callers share them. A failure is not remembered.
    """

    def __init__(self, embedder: Embedder, size: int = 1024) -> None:
        if size < 1:
            raise InvalidInputError(f"the query cache needs room for at least 1 entry, not {size}")
        self._embedder = embedder
        self._cached = lru_cache(maxsize=size)(self._embed_read_only)

    @property
    def within(self) -> Embedder:
        """The embedder that remembers nothing."""
        return self._embedder

    @property
    def model(self) -> str:
        """The model of the embedder within."""
        return self._embedder.model

    @property
    def dimension(self) -> int:
        """The dimension of the embedder within."""
        return self._embedder.dimension

    @property
    def known_dimension(self) -> int | None:
        """The dimension, None where it is to be asked for."""
        return known_dimension(self._embedder)

    @property
    def hits(self) -> int:
        """How many questions were answered from the cache."""
        return self._info().hits

    @property
    def misses(self) -> int:
        """How many questions had to be embedded."""
        return self._info().misses

    def embed(self, texts: Sequence[str]) -> Vectors:
        """As the embedder within, uncached."""
        return self._embedder.embed(texts)

    def embed_query(self, text: str) -> Vectors:
        """The question's vector, (dimension,) float32, read-only; embedded if not remembered."""
        return self._cached(text)

    def forget(self) -> None:
        """Remember no question any more."""
        self._cached.cache_clear()

    def _info(self) -> CacheInfo:
        return self._cached.cache_info()

    def _embed_read_only(self, text: str) -> Vectors:
        vector = self._embedder.embed_query(text)
        vector.setflags(write=False)
        return vector


def is_embeddable(text: str) -> bool:
    """Whether the text has anything to embed: one character that is no blank, mark or control."""
    return any(unicodedata.category(char) not in INVISIBLE_CATEGORIES for char in text)


def check_texts(texts: Sequence[str]) -> None:
    """Raise InvalidInputError if one of the texts has nothing to embed or is no Unicode text."""
    for position, text in enumerate(texts):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InvalidInputError(
                f"text {position} of {len(texts)} holds half a surrogate pair: {error.reason}"
            ) from error
        if not is_embeddable(text):
            raise InvalidInputError(
                f"text {position} of {len(texts)} is empty or blank and has no embedding"
            )


def check_vectors(given: object, n: int, dimension: int) -> Vectors:
    """What an embedder returned, an array or lists, as (n, dimension) float32 of unit length.

    A vector of another length is divided by it. Raises EmbeddingError for another shape, for NaN
    and infinite components, and for a vector of length zero.
    """
    vectors = _as_array(given)
    if vectors.shape != (n, dimension):
        raise EmbeddingError(
            f"expected vectors of shape {(n, dimension)}, the embedder returned {vectors.shape}"
        )
    squares = _squares(vectors)
    if not np.isfinite(squares).all():
        raise EmbeddingError("the embedder returned a vector with NaN or infinite components")
    if not squares.all():
        raise EmbeddingError("the embedder returned a vector of length zero")
    if (np.abs(squares - 1) > UNIT_TOLERANCE).any():
        return normalise(vectors)
    return vectors.astype(np.float32, copy=False)


def _as_array(given: object) -> NDArray[np.floating]:
    try:
        return np.asarray(given, dtype=None if _is_float32(given) else np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise EmbeddingError(
            f"the embedder returned no vectors of one length, but {shorten(given)}"
        ) from error


def _is_float32(given: object) -> bool:
    return getattr(given, "dtype", None) == np.float32


def _squares(vectors: NDArray[np.floating]) -> NDArray[np.float64]:
    """Each row's length, squared: infinite where it is too large for a number."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)


def normalise(vectors: NDArray[np.floating]) -> Vectors:
    """Each row divided by its length; the rows are finite and not zero."""
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    return (vectors / lengths).astype(np.float32)


def embed_distinct(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """As `embedder.embed(texts)`, with each distinct text embedded once: (n, dimension) float32."""
    row_of = {text: row for row, text in enumerate(dict.fromkeys(texts))}
    vectors = embedder.embed(list(row_of))
    return vectors[np.fromiter((row_of[text] for text in texts), dtype=np.intp, count=len(texts))]
