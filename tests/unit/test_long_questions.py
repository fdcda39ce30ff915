"""Long questions: what they ask, and whether a model reads them whole."""

from collections.abc import Sequence

import numpy as np
import pytest

from memsense.embed import (
    OnnxEmbedder,
    cache_queries,
    check_embedder,
    reads_whole,
)
from memsense.search.question.asking import find_asking

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


def test_the_model_reads_254_tokens(embedder: OnnxEmbedder) -> None:
    for text in (
        "Where does Ada live?",
        "tea " * ROOM,
        "\N{ROCKET}",
        "\N{HANGUL SYLLABLE HAN}" * 84,
    ):
        assert embedder.reads_whole(text)
    for text in ("tea " * (ROOM + 1), LOG, STORY, "\u6211\u5728\u6771\u4eac" * 100):
        assert not embedder.reads_whole(text)


@pytest.mark.parametrize(
    "text", ["What is " + "c" * 300 + "?", "c" * 8000, "\N{ROCKET}" * 8000, "e\u0301" * 4000]
)
def test_a_long_text_of_few_pieces_is_read_whole(embedder: OnnxEmbedder, text: str) -> None:
    assert embedder.reads_whole(text)
    assert embedder.embed_query(text).shape == (embedder.dimension,)


def test_wrapped_embedders_say_what_they_read_and_others_read_all(embedder: OnnxEmbedder) -> None:
    class Short:
        model = "short"
        dimension = 2

        def embed(self, texts: Sequence[str]) -> np.ndarray:
            return np.array([[1, 0]] * len(texts), dtype=np.float32)

        def embed_query(self, text: str) -> np.ndarray:
            return self.embed([text])[0]

    assert not reads_whole(cache_queries(check_embedder(embedder), 8), STORY)
    assert reads_whole(cache_queries(check_embedder(Short()), 8), STORY)


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
