"""The counter of tokens beside o200k_base's own counts of texts in tests/data."""

import json
import random
from collections import defaultdict
from pathlib import Path

import pytest

from memsense.errors import InvalidInputError
from memsense.text.tokens import count_tokens, make_counter

# `tokens` is what o200k_base's tokenizer makes of each text.
SAMPLES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data/token_counts.jsonl")
    .read_text("utf-8")
    .splitlines()
]
KINDS = ("English", "code", "Chinese", "mixed")


@pytest.mark.parametrize("kind", KINDS)
def test_the_sum_of_a_kind_is_within_5_percent(kind: str) -> None:
    samples = [sample for sample in SAMPLES if sample["kind"] == kind]
    expected = sum(sample["tokens"] for sample in samples)

    assert len(samples) >= 4
    assert min(sample["tokens"] for sample in samples) >= 100
    assert sum(count_tokens(sample["text"]) for sample in samples) == pytest.approx(
        expected, rel=0.05
    )


def test_one_text_of_a_hundred_tokens_is_within_10_percent() -> None:
    errors = {
        sample["text"][:30]: round(count_tokens(sample["text"]) / sample["tokens"] - 1, 3)
        for sample in SAMPLES
    }

    assert not {text: error for text, error in errors.items() if abs(error) > 0.1}


def test_a_prompt_of_all_kinds_is_within_5_percent() -> None:
    by_kind: dict[str, list[dict[str, object]]] = defaultdict(list)
    for sample in SAMPLES:
        by_kind[sample["kind"]].append(sample)

    for prompt in zip(*(by_kind[kind] for kind in KINDS), strict=False):
        expected = sum(int(str(sample["tokens"])) for sample in prompt)
        text = "\n\n".join(str(sample["text"]) for sample in prompt)
        assert count_tokens(text) == pytest.approx(expected, rel=0.05)


def test_any_text_is_counted_and_a_longer_one_counts_more() -> None:
    randomness = random.Random(20)
    everything = [chr(point) for point in range(0x20000)]
    randomness.shuffle(everything)
    texts = ["".join(everything[start : start + 50]) for start in range(0, len(everything), 50)]

    for text in (*texts, *(char + "a" for char in everything[:20_000])):
        assert 0 < count_tokens(text) < count_tokens(f"{text}\n\nOne more line.\n\n{text}")
    assert count_tokens("") == 0


@pytest.mark.parametrize("char", [" ", "\n", "a", "A", "7", "=", "'", "_", "你", "é", "🙂"])
def test_a_long_run_of_one_character_takes_linear_time(char: str) -> None:
    # A quadratic pattern would take minutes here.
    assert count_tokens(char * 300_000) < 600_000


def test_the_callers_function_or_encoder_counts() -> None:
    class Encoder:
        def encode(self, text: str) -> list[str]:
            return text.split()

    assert make_counter(None) is count_tokens
    assert make_counter(len)("four") == 4
    assert make_counter(Encoder())("one two three") == 3
    with pytest.raises(InvalidInputError, match="how many tokens"):
        make_counter(lambda _: "many")("text")
