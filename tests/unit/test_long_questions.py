"""Long questions: what they ask, and the windows in which a model reads them."""

import random
from collections.abc import Sequence

import numpy as np
import pytest

from memsense.embed import (
    OnnxEmbedder,
    QuestionTokens,
    Vocabulary,
    Window,
    cache_queries,
    check_embedder,
    join_tokens,
    split_windows,
)
from memsense.embed.onnx import open_tokenizer
from memsense.search.question.windows import choose_windows, find_asking

ROOM = 254
LOG = "\n".join(
    f"2026-02-{day:02} 03:1{day % 10}:07 WARN [loader-{day % 4}] batch 7{day}41 took {day}89 ms"
    for day in range(1, 28)
)
STORY = (
    "The ferry left at noon and the harbour was quiet. The captain did not hear about the fog. "
    "She waited for an hour, drank her tea and wrote three letters to her sister in the hills. "
) * 8


@pytest.fixture(scope="module")
def embedder() -> OnnxEmbedder:
    return OnnxEmbedder()


@pytest.mark.parametrize(
    "text",
    [
        LOG,
        STORY,
        "\N{HANGUL SYLLABLE HAN}\N{HANGUL SYLLABLE GUG} " * 120,
        "\u6211\u5728\u6771\u4eac" * 100,
        "caf\u00e9 r\u00e9sum\u00e9 Stra\u00dfe " * 90,
        "unbelievablyhyperconnectedness " * 60,
        "\N{ROCKET} and \U0001fae8 " * 130,
    ],
)
def test_windows_have_the_tokens_of_the_whole_text(embedder: OnnxEmbedder, text: str) -> None:
    tokenizer = open_tokenizer()
    whole: list[int] = tokenizer.encode(text).ids[1:-1]
    windows = embedder.split_windows(text)
    tokens: list[list[int]] = [tokenizer.encode(it.text).ids[1:-1] for it in windows]
    assert len(windows) > 1
    assert max(map(len, tokens)) <= ROOM
    assert windows[0].repeated == 0
    joined: list[int] = []
    for window, ids in zip(windows, tokens, strict=True):
        assert window.repeated <= 32
        assert ids[: window.repeated] == joined[len(joined) - window.repeated :]
        joined += ids[window.repeated :]
    assert joined == whole


def test_a_text_that_the_model_reads_whole_is_one_window(embedder: OnnxEmbedder) -> None:
    for text in (
        "Where does Ada live?",
        "tea " * ROOM,
        "\N{ROCKET}",
        "\N{HANGUL SYLLABLE HAN}" * 84,
    ):
        assert list(embedder.split_windows(text)) == [Window(text)]
    assert len(embedder.split_windows("tea " * (ROOM + 1))) == 2


@pytest.mark.parametrize(
    "text", ["What is " + "c" * 300 + "?", "c" * 8000, "\N{ROCKET}" * 8000, "e\u0301" * 4000]
)
def test_a_long_text_of_few_pieces_is_one_window(embedder: OnnxEmbedder, text: str) -> None:
    assert list(embedder.split_windows(text)) == [Window(text)]
    assert embedder.embed_query(text).shape == (embedder.dimension,)


def test_wrapped_embedders_pass_windows_on_and_others_have_one(embedder: OnnxEmbedder) -> None:
    class Short:
        model = "short"
        dimension = 2

        def embed(self, texts: Sequence[str]) -> np.ndarray:
            return np.array([[1, 0]] * len(texts), dtype=np.float32)

        def embed_query(self, text: str) -> np.ndarray:
            return self.embed([text])[0]

    windows = embedder.split_windows(STORY)
    assert split_windows(cache_queries(check_embedder(embedder), 8), STORY) == windows
    assert split_windows(cache_queries(check_embedder(Short()), 8), STORY) == [Window(STORY)]


def test_tokens_of_windows_are_joined_without_those_that_are_repeated() -> None:
    vocabulary = Vocabulary(["tea", "sea", "pea"])

    def tokens(*words: str) -> QuestionTokens:
        numbers = np.array([["tea", "sea", "pea"].index(word) for word in words])
        return QuestionTokens(
            vocabulary=vocabulary,
            words=words,
            vectors=np.eye(3, dtype=np.float32)[numbers],
            weights=numbers + 1.0,
        )

    joined = join_tokens([tokens("tea", "sea"), tokens("sea", "pea"), tokens("tea")], [0, 1, 0])
    assert joined.words == ["tea", "sea", "pea", "tea"]
    assert np.array_equal(joined.vectors, np.eye(3)[[0, 1, 2, 0]])
    assert joined.weights.tolist() == [1, 2, 3, 1]
    alone = tokens("tea")
    assert join_tokens([alone], [0]) is alone


def ends(text: str) -> str:
    return f"{text[:200]}\n{text[-200:]}"


WHICH = "Which team owns the checkout service?"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{LOG}\n{WHICH}", WHICH),
        (f"{WHICH}\n\n{LOG}", WHICH),
        (f"{LOG}\n{WHICH}\n{LOG}", WHICH),
        (f"{STORY}{WHICH} {STORY}", WHICH),
        (f"{STORY}\nWrite a test for the weather module.", "Write a test for the weather module."),
        (f"Tell me about the copper lantern.\n{STORY}", "Tell me about the copper lantern."),
        (f"{LOG}\n¿Qué té compró Ana en Lisboa?", "¿Qué té compró Ana en Lisboa?"),
        (
            f"{LOG}\n\u6211\u5728\u6771\u4eac\u4f4f\u54ea\u91cc\uff1f",
            "\u6211\u5728\u6771\u4eac\u4f4f\u54ea\u91cc\uff1f",
        ),
        # Nothing asks, or what asks does not say about what.
        (STORY, ends(STORY)),
        (LOG, ends(LOG)),
        (f"{STORY}\nAny ideas?", ends(f"{STORY}\nAny ideas?")),
        (f"{LOG}\nWhat do you think?", ends(f"{LOG}\nWhat do you think?")),
        # Such words begin lines of code, too, and a text without full stops is no sentence.
        (f"{LOG}\nlist = find(checkout, service)\n{LOG}", ends(f"{LOG}\n{LOG}")),
        (" ".join(LOG.split()) + "?", ends(" ".join(LOG.split()) + "?")),
        # Of many, those at the ends are what the user added.
        (
            "\n".join([LOG, *(f"Where is the lantern number {n}?" for n in range(6))]),
            "\n".join(f"Where is the lantern number {n}?" for n in (0, 1, 4, 5)),
        ),
    ],
)
def test_the_sentences_that_ask_are_found_in_a_long_text(text: str, expected: str) -> None:
    assert find_asking(text) == expected


def test_the_first_the_last_and_the_windows_that_ask_most_are_chosen() -> None:
    story = Window("The tea was cold.", 9)
    asks, orders = Window("Where is it? Who has it?", 9), Window("Write a test.", 9)
    every = [Window("Once."), story, asks, story, story, orders, story, Window("The end.", 9)]
    chosen = choose_windows(every, 4)
    assert [window.text for window in chosen.windows] == [
        every[place].text for place in (0, 2, 5, 7)
    ]
    assert chosen.asking == 1
    # What the window before would repeat is new where that one is left out.
    assert [window.repeated for window in chosen.windows] == [0, 0, 0, 0]
    assert [window.repeated for window in choose_windows(every[:3], 4).windows] == [0, 9, 9]
    assert choose_windows([story, story, story], 4).asking == 2
    assert choose_windows([Window("All.")], 4) == ([Window("All.")], 0)


def test_random_windows_are_chosen_in_their_order(is_long: bool) -> None:
    source = random.Random(5)
    for _ in range(2000 if is_long else 200):
        count, most = source.randint(1, 9), source.randint(2, 4)
        every = [Window(f"{n} " + "Who? " * source.randint(0, 3), n) for n in range(count)]
        chosen, asking = choose_windows(every, most)
        numbers = [int(window.text.split()[0]) for window in chosen]
        assert numbers == sorted(numbers)
        assert len(numbers) == min(count, most)
        assert {0, count - 1} <= {*numbers}
        assert 0 <= asking < len(chosen)
