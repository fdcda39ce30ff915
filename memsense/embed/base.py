"""Protocol of embedders, checks of their vectors, and the cache of questions."""

import textwrap
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Annotated, Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from memsense.deadline import EMBEDDING_SHARE, run_with_deadline
from memsense.errors import CallTimeoutError, EmbeddingError, InvalidInputError, MemSenseError
from memsense.inputs import Checker, Name, shorten, whole_number
from memsense.types import EmbeddingModel

T = TypeVar("T")

Vectors: TypeAlias = NDArray[np.float32]

LEAST_KNOWN = 0.5
"""Share of a text that a model must know for its vectors of the text to count."""

UNIT_TOLERANCE = 1e-5
"""Largest distance of a unit vector's squared length from 1: the rounding of float32."""

LARGEST_DIMENSION = 16_000
"""Limit of pgvector's half-precision vectors."""

LONGEST_FAILURE = 300
"""Characters of an embedder's own error that EmbeddingError quotes."""

# Unicode's controls, format characters, separators and marks. Unassigned characters count as
# visible: they may be symbols newer than this Python's Unicode.
INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp", "Mn", "Mc", "Me"})


class Embedder(Protocol):
    """Protocol of an embedder, which turns texts into unit vectors.

    Vectors of two embedders may be compared only if `model` and `dimension` are equal.
    """

    @property
    def model(self) -> str:
        """Name of the model, stored with its vectors."""
        ...

    @property
    def dimension(self) -> int:
        """Length of each vector, from 1 to 16,000."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the unit vectors of the texts.

        Args:
            texts: Texts, none of them blank.

        Returns:
            (n, dimension) float32, in the order of the texts.

        Raises:
            InvalidInputError: If a text is blank.
            EmbeddingError: If the model fails.
        """
        ...

    def embed_query(self, text: str) -> Vectors:
        """Return the unit vector of one question, (dimension,) float32.

        Args:
            text: The question, not blank.

        Raises:
            InvalidInputError: If the question is blank.
            EmbeddingError: If the model fails.
        """
        ...


def reads_whole(embedder: Embedder, text: str) -> bool:
    """Return whether the embedder's model reads a text to its end.

    An embedder reports it by a method of this name; without one, its model reads every text.
    """
    # The class is looked at: an attribute of the object might ask a server.
    if not hasattr(type(embedder), "reads_whole"):
        return True
    return getattr(embedder, "reads_whole")(text)  # noqa: B009 (not every embedder has it)


def share_known(embedder: Embedder, text: str) -> float:
    """Return the share of a text, 0 to 1, in words that the embedder's model was trained on.

    A model gives a vector of any text, but that of a language it never learnt says nothing: below
    `LEAST_KNOWN` neither vectors nor tokens are made, and words alone find the text. An embedder
    reports the share by a method of this name; without one, it counts as 1.

    Args:
        embedder: The embedder.
        text: A text, not blank.
    """
    if not hasattr(type(embedder), "share_known"):
        return 1.0
    return getattr(embedder, "share_known")(text)  # noqa: B009 (not every embedder has it)


_read_model = Checker(Name, "the embedder's model")
_read_dimension = Checker(
    Annotated[int, whole_number(1, LARGEST_DIMENSION)], "the embedder's dimension"
)


class _WrapErrors:
    """Context manager that turns any exception of an embedder into EmbeddingError."""

    # A class, since a search enters it nine times, and a generator takes three times as long.

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if not isinstance(error, Exception) or isinstance(error, MemSenseError):
            return
        text = textwrap.shorten(str(error), LONGEST_FAILURE, placeholder=" …")
        raise EmbeddingError(
            f"the embedder failed: {type(error).__name__}{': ' if text else ''}{text}"
        ) from error


_WRAP_ERRORS = _WrapErrors()


def wrap_embedder_errors() -> AbstractContextManager[None]:
    """Raise EmbeddingError for an exception of any library; memsense's own errors pass through."""
    return _WRAP_ERRORS


class _CheckedOnce:
    """Gate that remembers its last value, since each search reads model and dimension often."""

    def __init__(self, gate: Checker) -> None:
        self._gate = gate
        self._last: tuple[object, Any] | None = None

    def read(self, value: object) -> Any:
        """Return the checked value; checks the very same object only once."""
        last = self._last
        if last is None or last[0] is not value:
            self._last = last = (value, self._gate(value))
        return last[1]


def embed_in_time(embed: Callable[[], T]) -> T:
    """Return what an embedder returns before the call's deadline; else raise EmbeddingError."""
    try:
        return run_with_deadline(embed, "the embedder", EMBEDDING_SHARE)
    except CallTimeoutError as error:
        raise EmbeddingError(str(error)) from error


class CheckedEmbedder:
    """Embedder whose results are checked; memsense wraps every embedder in one.

    The embedder inside may return lists, and vectors that are not of unit length.

    Args:
        embedder: Any embedder.

    Raises:
        EmbeddingError: In each call, if `check_vectors` refuses the vectors, or the embedder
            inside raises anything.
        InvalidInputError: In each call, if its model or dimension is unusable.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._model = _CheckedOnce(_read_model)
        self._dimension = _CheckedOnce(_read_dimension)

    @property
    def model(self) -> str:
        """Model of the embedder inside."""
        with wrap_embedder_errors():
            return self._model.read(self._embedder.model)

    @property
    def dimension(self) -> int:
        """Dimension of the embedder inside."""
        with wrap_embedder_errors():
            return self._dimension.read(self._embedder.dimension)

    @property
    def known_dimension(self) -> int | None:
        """The dimension, or None if the embedder would have to ask a server for it."""
        return None if known_dimension(self._embedder) is None else self.dimension

    def reads_whole(self, text: str) -> bool:
        """Return whether the model of the embedder inside reads a text to its end."""
        with wrap_embedder_errors():
            return reads_whole(self._embedder, text)

    def share_known(self, text: str) -> float:
        """Return the share of a text that the model of the embedder inside knows, 0 to 1."""
        with wrap_embedder_errors():
            return share_known(self._embedder, text)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the texts' unit vectors in their order, (n, dimension) float32."""
        with wrap_embedder_errors():
            vectors = embed_in_time(lambda: self._embedder.embed(texts))
        return check_vectors(vectors, len(texts), self.dimension)

    def embed_query(self, text: str) -> Vectors:
        """Return the unit vector of one question, (dimension,) float32."""
        with wrap_embedder_errors():
            vector = embed_in_time(lambda: self._embedder.embed_query(text))
        return check_vectors([vector], 1, self.dimension)[0]


def known_dimension(embedder: Embedder) -> int | None:
    """Return the embedding dimension; None if the embedder would have to ask a server for it."""
    # The class is looked at: an attribute of the object might ask the server.
    if hasattr(type(embedder), "known_dimension"):
        return getattr(embedder, "known_dimension")  # noqa: B009 (not every embedder has it)
    return embedder.dimension


def is_embedder_of(embedder: Embedder, model: EmbeddingModel) -> bool:
    """Return whether the embedder makes the model's vectors; an unknown dimension fits any."""
    if embedder.model != model.name:
        return False
    return known_dimension(embedder) in (None, model.dimension)


class CachedQueries:
    """Embedder with a cache of the vectors of its last questions. Thread-safe.

        embedder = CachedQueries(OnnxEmbedder())
        vector = embedder.embed_query("Where does Anna live?")

    Vectors of questions are read-only, because callers share them. A failure is not cached.

    Args:
        embedder: The embedder to call for other questions, and for all texts to store.
        size: Number of questions to keep, at least 1; the least recently used one goes first.

    Raises:
        InvalidInputError: If `size` is below 1.
    """

    def __init__(self, embedder: Embedder, size: int = 1024) -> None:
        if size < 1:
            raise InvalidInputError(f"the query cache needs room for at least 1 entry, not {size}")
        self._embedder = embedder
        self._cached = lru_cache(maxsize=size)(self._embed_read_only)

    @property
    def within(self) -> Embedder:
        """The embedder inside, without a cache."""
        return self._embedder

    @property
    def model(self) -> str:
        """Model of the embedder inside."""
        return self._embedder.model

    @property
    def dimension(self) -> int:
        """Dimension of the embedder inside."""
        return self._embedder.dimension

    @property
    def known_dimension(self) -> int | None:
        """The dimension, or None if the embedder would have to ask a server for it."""
        return known_dimension(self._embedder)

    @property
    def hits(self) -> int:
        """Number of questions that the cache answered."""
        return self._cached.cache_info().hits

    @property
    def misses(self) -> int:
        """Number of questions that had to be embedded."""
        return self._cached.cache_info().misses

    def reads_whole(self, text: str) -> bool:
        """Return whether the model of the embedder inside reads a text to its end."""
        return reads_whole(self._embedder, text)

    def share_known(self, text: str) -> float:
        """Return the share of a text that the model of the embedder inside knows, 0 to 1."""
        return share_known(self._embedder, text)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the texts' unit vectors, (n, dimension) float32, without the cache."""
        return self._embedder.embed(texts)

    def embed_query(self, text: str) -> Vectors:
        """Return the question's unit vector, (dimension,) float32, read-only."""
        return self._cached(text)[0]

    def forget(self) -> None:
        """Empty the cache."""
        self._cached.cache_clear()

    def _embed_read_only(self, text: str) -> tuple[Vectors, Any]:
        """Return a question's vector and its tokens, if the embedder has any."""
        vector = self._embedder.embed_query(text)
        # One caller's change would otherwise change the question for all others.
        vector.setflags(write=False)
        return vector, None


def is_embeddable(text: str) -> bool:
    """Return whether a text has a character that is no blank, mark or control."""
    return any(unicodedata.category(char) not in INVISIBLE_CATEGORIES for char in text)


def check_texts(texts: Sequence[str]) -> None:
    """Raise InvalidInputError if a text is blank, or no valid Unicode; names its position."""
    for position, text in enumerate(texts):
        # Half a surrogate pair, as JSON escapes may hold it, would make the tokenizer fail.
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


def check_vectors(vectors: object, n: int, dimension: int) -> Vectors:
    """Return vectors as (n, dimension) float32 of unit length; raise EmbeddingError."""
    # float32 stays as it is; all else goes through float64, so that large integers and lists lose
    # nothing before they are divided by their length.
    is_float32 = getattr(vectors, "dtype", None) == np.float32
    try:
        array: NDArray[np.floating] = np.asarray(vectors, dtype=None if is_float32 else np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise EmbeddingError(
            f"the embedder returned no vectors of one length, but {shorten(vectors)}"
        ) from error
    if array.shape != (n, dimension):
        raise EmbeddingError(
            f"expected vectors of shape {(n, dimension)}, the embedder returned {array.shape}"
        )
    # A square that is too large for a number becomes infinite, and is refused like NaN.
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.einsum("ij,ij->i", array, array, dtype=np.float64)
    if not np.isfinite(squares).all():
        raise EmbeddingError("the embedder returned a vector with NaN or infinite components")
    if not squares.all():
        raise EmbeddingError("the embedder returned a vector of length zero")
    # Unit vectors are returned bit for bit: dividing them again would change their last bits.
    if (np.abs(squares - 1) > UNIT_TOLERANCE).any():
        return normalise(array)
    return array.astype(np.float32, copy=False)


def normalise(vectors: NDArray[np.floating]) -> Vectors:
    """Return each row divided by its length; the rows must be finite and not zero."""
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    return (vectors / lengths).astype(np.float32)


def embed_distinct(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Return the texts' unit vectors, (n, dimension) float32, embedding equal texts only once."""
    row_of = {text: row for row, text in enumerate(dict.fromkeys(texts))}
    vectors = embedder.embed(list(row_of))
    return vectors[np.fromiter((row_of[text] for text in texts), dtype=np.intp, count=len(texts))]
