"""Token vectors of the built-in embedder, and their cache for questions."""

import json

import numpy as np
import pytest

from memsense.embed import (
    CachedQueries,
    OnnxEmbedder,
    Passage,
    QuestionTokens,
    Tokens,
    Vocabulary,
    cache_queries,
    find_token_embedder,
)
from memsense.embed.onnx import DATA
from memsense.embed.tokens import pack_signs
from memsense.errors import EmbeddingError, InvalidInputError

TEXTS = ["I moved to Lisbon in 2021.\nCongrats! How is it?", "Hello there", "She plays the cello."]


@pytest.fixture(scope="module")
def embedder() -> OnnxEmbedder:
    return OnnxEmbedder(threads=1)


def tokens_of(embedder: OnnxEmbedder, text: str) -> Tokens:
    [reading] = embedder.read([Passage(text)])
    return reading.tokens


def test_texts_have_the_same_vectors_with_tokens_as_without(embedder: OnnxEmbedder) -> None:
    readings = embedder.read([Passage(text) for text in TEXTS])
    assert np.array_equal([it.vector for it in readings], embedder.embed(TEXTS))


def test_a_part_is_the_mean_of_its_tokens(embedder: OnnxEmbedder) -> None:
    text = TEXTS[0]
    end = text.index("\n")
    every = ((0, len(text)),)
    sides = ((0, end),), ((end, len(text)),)
    ends = ((0, 1), (len(text) - 1, len(text)))
    [reading] = embedder.read([Passage(text, (every, *sides, ends, ()))])
    whole, user, assistant, both_ends, absent = reading.parts
    assert absent is None
    assert whole is not None
    assert user is not None
    assert assistant is not None
    assert both_ends is not None
    vectors = np.stack([whole, user, assistant, both_ends])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    # Without [CLS] and [SEP] it is near the text's own vector; a side is nearer to its own text.
    alone = embedder.embed([text, text[:end], text[end + 1 :]])
    near = vectors @ alone.T
    assert near[0, 0] > 0.95
    assert near[1, 1] > near[1, 2]
    assert near[2, 2] > near[2, 1]


def test_a_part_behind_what_the_model_reads_has_no_vector(embedder: OnnxEmbedder) -> None:
    long = "tea " * 400
    [reading] = embedder.read([Passage(long, (((0, 40),), ((1400, 1600),)))])
    assert [part is None for part in reading.parts] == [False, True]


def test_each_token_has_a_piece_a_place_and_a_bit_a_dimension(embedder: OnnxEmbedder) -> None:
    tokens = tokens_of(embedder, TEXTS[0])
    pieces = embedder.vocabulary.spell(tokens.pieces.tolist())
    assert pieces[:5] == ["i", "moved", "to", "lisbon", "in"]
    assert TEXTS[0][tokens.starts[3] :].startswith("Lisbon")
    assert tokens.signs.shape == (len(pieces), 48)


def test_a_token_is_the_sign_of_its_unit_vector_without_the_mean(embedder: OnnxEmbedder) -> None:
    _, question = embedder.embed_question(TEXTS[2])
    signs = pack_signs(question.vectors, np.zeros(384, dtype=np.float32))
    assert signs.tobytes() == tokens_of(embedder, TEXTS[2]).signs.tobytes()


def test_254_tokens_are_read_of_a_long_text(embedder: OnnxEmbedder) -> None:
    long = "tea " * 400
    tokens = tokens_of(embedder, long)
    assert len(tokens.pieces) == len(tokens.starts) == len(tokens.signs) == 254
    assert np.array_equal(tokens.signs, tokens_of(embedder, "tea " * 254).signs)


def test_a_text_of_unknown_symbols_has_one_token(embedder: OnnxEmbedder) -> None:
    tokens = tokens_of(embedder, "\U0001fae8")
    assert (len(tokens.pieces), tokens.starts.tolist(), len(tokens.signs)) == (1, [0], 1)


def test_a_question_is_embedded_as_without_its_tokens(embedder: OnnxEmbedder) -> None:
    vector, tokens = embedder.embed_question("Where does Ada live?")
    assert np.array_equal(vector, embedder.embed_query("Where does Ada live?"))
    assert list(tokens.words) == ["where", "does", "ada", "live", "?"]
    assert tokens.weights[2] > tokens.weights[3] > tokens.weights[4]


def test_the_heaviest_tokens_keep_their_order_vectors_and_weights(embedder: OnnxEmbedder) -> None:
    _, tokens = embedder.embed_question("Where does Ada keep the kubernetes manifests?")
    order = sorted(range(len(tokens.words)), key=lambda at: (-tokens.weights.item(at), at))
    for count in range(1, len(order) + 1):
        heaviest, kept = tokens.heaviest(count), sorted(order[:count])
        assert np.array_equal(heaviest.weights, tokens.weights[kept])
        assert np.array_equal(heaviest.vectors, tokens.vectors[kept])
        pieces = [word.removeprefix("##") for word in heaviest.words]
        assert pieces == [tokens.words[at].removeprefix("##") for at in kept]
    assert tokens.heaviest(len(order)).words == tokens.words


def test_words_that_the_model_lacks_have_no_weight(embedder: OnnxEmbedder) -> None:
    _, tokens = embedder.embed_question("Where is 猫 🏔 now?")
    weightless = [
        word for word, weight in zip(tokens.words, tokens.weights, strict=True) if not weight
    ]
    assert weightless == ["[UNK]", "[UNK]"]
    assert tokens.vocabulary.unknown == tokens.vocabulary.spell(range(200)).index("[UNK]")


def test_a_piece_whose_beginning_is_left_out_is_a_word_of_its_own() -> None:
    words = ["where", "kub", "##ern", "##etes"]
    weights = np.array([1.0, 2.0, 4.0, 3.0])
    tokens = QuestionTokens(
        vocabulary=Vocabulary(words),
        words=words,
        vectors=np.eye(4, 8, dtype=np.float32),
        weights=weights,
    )
    assert list(tokens.heaviest(3).words) == ["kub", "##ern", "##etes"]
    assert list(tokens.heaviest(2).words) == ["ern", "##etes"]


def test_a_blank_text_has_no_tokens(embedder: OnnxEmbedder) -> None:
    with pytest.raises(InvalidInputError):
        embedder.read([Passage("tea"), Passage(" ")])
    with pytest.raises(InvalidInputError):
        embedder.embed_question(" ")


def test_the_mean_is_that_of_the_shipped_log(embedder: OnnxEmbedder) -> None:
    lines = (DATA.parent / "sample_conversation.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [json.loads(line)["content"] for line in lines]
    shipped = np.load(DATA / "token_mean.npy")
    assert np.allclose(embedder.token_mean(texts), shipped, atol=1e-5)


def test_a_cache_of_questions_gives_tokens_where_the_embedder_does(embedder: OnnxEmbedder) -> None:
    cached = cache_queries(embedder, 8)
    giving = find_token_embedder(cached)
    assert giving is not None
    vector, tokens = giving.embed_question("Where does Ada live?")
    assert cached.embed_query("Where does Ada live?") is vector
    assert (cached.hits, cached.misses) == (1, 1)
    assert not vector.flags.writeable
    assert not tokens.vectors.flags.writeable


def test_a_cache_of_questions_gives_no_tokens_where_the_embedder_has_none() -> None:
    class Plain:
        model, dimension = "plain", 2

        def embed(self, texts: object) -> object: ...
        def embed_query(self, text: str) -> object: ...

    cached = cache_queries(Plain(), 8)  # pyright: ignore[reportArgumentType]
    assert isinstance(cached, CachedQueries)
    assert find_token_embedder(cached) is None


def test_a_vocabulary_of_more_than_two_bytes_is_refused() -> None:
    assert Vocabulary(["a", "?"]).mask(frozenset("?")).tolist() == [False, True]
    with pytest.raises(EmbeddingError, match="65,536"):
        Vocabulary(["x"] * 65_537)
