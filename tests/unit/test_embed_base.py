import threading
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsense.embed import (
    CachedQueries,
    Embedder,
    Vectors,
    check_embedder,
    check_texts,
    check_vectors,
    embed_distinct,
    is_embeddable,
    open_embedder,
)
from memsense.embed.base import normalise
from memsense.errors import ConfigurationError, EmbeddingError, InvalidInputError


class LetterCounter:
    """Embedder by letter counts, which also counts its calls."""

    model = "letters"
    dimension = 26

    def __init__(self) -> None:
        self.seen: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.seen += texts
        letters = "abcdefghijklmnopqrstuvwxyz"
        counts = [[text.count(letter) for letter in letters] for text in texts]
        return normalise(np.array(counts, dtype=np.float64).reshape(len(texts), 26))

    def embed_query(self, text: str) -> Vectors:
        return self.embed([text])[0]


class Failing(LetterCounter):
    def embed(self, texts: Sequence[str]) -> Vectors:
        self.seen += texts
        raise EmbeddingError("down")


@given(st.lists(st.text("abc", min_size=1, max_size=3)))
def test_distinct_embedding_equals_plain_embedding_and_works_once_per_text(
    texts: list[str],
) -> None:
    counter = LetterCounter()
    vectors = embed_distinct(counter, texts)
    assert sorted(counter.seen) == sorted(set(texts))
    assert np.array_equal(vectors, LetterCounter().embed(texts))


def test_a_repeated_question_is_embedded_once() -> None:
    counter = LetterCounter()
    cached = CachedQueries(counter)
    first, again = cached.embed_query("abba"), cached.embed_query("abba")
    assert counter.seen == ["abba"]
    assert np.array_equal(first, again)
    assert (cached.hits, cached.misses) == (1, 1)
    assert (cached.model, cached.dimension) == ("letters", 26)


def test_the_query_cache_forgets_the_question_unused_for_longest() -> None:
    counter = LetterCounter()
    cached = CachedQueries(counter, size=2)
    for question in ("a", "b", "a", "c", "a", "b"):
        cached.embed_query(question)
    assert counter.seen == ["a", "b", "c", "b"]


def test_a_cached_vector_cannot_be_changed_by_one_of_its_callers() -> None:
    vector = CachedQueries(LetterCounter()).embed_query("abc")
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 1


def test_a_failed_question_is_asked_again() -> None:
    failing = Failing()
    cached = CachedQueries(failing)
    for _ in range(2):
        with pytest.raises(EmbeddingError):
            cached.embed_query("a")
    assert failing.seen == ["a", "a"]


class Raising:
    """Embedder that raises the given error at every call."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    @property
    def model(self) -> str:
        raise self._error

    @property
    def dimension(self) -> int:
        raise self._error

    def embed(self, texts: Sequence[str]) -> Vectors:  # noqa: ARG002
        raise self._error

    def embed_query(self, text: str) -> Vectors:  # noqa: ARG002
        raise self._error


ASKED: dict[str, Callable[[Embedder], object]] = {
    "model": lambda embedder: embedder.model,
    "dimension": lambda embedder: embedder.dimension,
    "embed": lambda embedder: embedder.embed(["a"]),
    "embed_query": lambda embedder: embedder.embed_query("a"),
}


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize(
    "error", [RuntimeError("no\nmemory"), OSError("gone"), StopIteration(), KeyError("data")]
)
def test_whatever_an_embedder_raises_is_an_embedding_error(asked: str, error: Exception) -> None:
    with pytest.raises(EmbeddingError, match=type(error).__name__) as raised:
        ASKED[asked](check_embedder(Raising(error)))
    assert raised.value.__cause__ is error
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("error", [InvalidInputError("blank"), KeyboardInterrupt()])
def test_errors_of_our_own_and_interrupts_pass_an_embedder_as_they_are(
    asked: str, error: BaseException
) -> None:
    with pytest.raises(type(error)) as raised:
        ASKED[asked](check_embedder(Raising(error)))
    assert raised.value is error


def test_texts_for_storage_bypass_the_query_cache() -> None:
    counter = LetterCounter()
    cached = CachedQueries(counter)
    cached.embed(["a"])
    cached.embed(["a"])
    assert counter.seen == ["a", "a"]


def test_a_query_cache_without_room_is_refused() -> None:
    with pytest.raises(InvalidInputError):
        CachedQueries(LetterCounter(), size=0)


def test_the_query_cache_serves_many_threads_at_once() -> None:
    cached = CachedQueries(LetterCounter(), size=8)
    expected = {text: LetterCounter().embed_query(text) for text in "abcdefghijkl"}
    agreed: list[bool] = []

    def ask() -> None:
        asked = list(expected) * 50
        agreed.extend(np.array_equal(cached.embed_query(t), expected[t]) for t in asked)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(agreed)
    assert len(agreed) == 4 * 50 * 12
    assert cached.hits + cached.misses == 4 * 50 * 12


@pytest.mark.parametrize("text", ["", " ", "\n\t", "\u200b", "\ufeff\u00a0", "\ufe0f", "\x00"])
def test_a_text_without_visible_characters_is_refused(text: str) -> None:
    assert not is_embeddable(text)
    with pytest.raises(InvalidInputError, match="text 1 of 2"):
        check_texts(["fine", text])


@pytest.mark.parametrize(
    "text", ["a", " a ", "?", "7", "🙂", "日本", "ไทย", "\u200ba", "\U0001fadc"]
)
def test_a_text_with_one_visible_character_is_embeddable(text: str) -> None:
    assert is_embeddable(text)


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="text 0 of 1"):
        check_texts(["caf\ud83d"])


def test_good_vectors_pass_the_check() -> None:
    check_vectors(np.eye(3, dtype=np.float32), 3, 3)
    check_vectors(np.empty((0, 3), dtype=np.float32), 0, 3)


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (np.ones((2, 3)), "shape"),
        (np.ones((3, 2)), "shape"),
        (np.ones(3), "shape"),
        (np.array([[1, 0, 0], [0, 1, 0], [0, np.nan, 0]]), "NaN"),
        (np.array([[1, 0, 0], [0, 1, 0], [0, np.inf, 0]]), "NaN"),
        (np.array([[1, 0, 0], [0, 1, 0], [0, 0, 0]]), "length zero"),
    ],
)
def test_bad_vectors_fail_the_check(vectors: np.ndarray, message: str) -> None:
    with pytest.raises(EmbeddingError, match=message):
        check_vectors(vectors.astype(np.float32), 3, 3)


def test_an_unknown_embedder_is_refused_with_the_known_names() -> None:
    with pytest.raises(ConfigurationError, match="multilingual, onnx, openai"):
        open_embedder("word2vec")


def test_an_unknown_embedder_setting_is_refused_by_name() -> None:
    with pytest.raises(ConfigurationError, match="colour"):
        open_embedder("openai", model="m", colour="red")


def test_a_missing_embedder_setting_is_refused_by_name() -> None:
    with pytest.raises(ConfigurationError, match="model"):
        open_embedder("openai")
