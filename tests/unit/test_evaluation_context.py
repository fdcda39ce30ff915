"""Gold per token: what counts as carried, and the prompts that concern nothing."""

from collections import Counter

import pytest

from memsense.evaluation.context import carried, read_unrelated

SHORT = "I moved to Lisbon & sold\nthe  boat."
LONG = " ".join(f"Sentence number {number} of a long answer." for number in range(30))
"""1,190 characters without a repeated stretch of 50."""

CARRIED = [
    ("- 2024-03-04 user: I moved to Lisbon & sold the boat. | assistant: Nice.", SHORT, True),
    ("### Memory 4\n> user: I moved to Lisbon & sold\n>   the boat.", SHORT, True),
    ("<said>I moved to Lisbon &amp; sold the boat.</said>", SHORT, True),
    ("> > I moved to Lisbon &lt;b&gt;", "> I moved to Lisbon <b>", True),
    ("- user: I moved to Lisbon & sold the …", SHORT, False),
    ("I moved to Lisbon. And sold the boat.", SHORT, False),
    ("", SHORT, False),
    ("- user: ", " \n ", False),
    # A long text: its first 500 characters, a later 500, or stretches that have 500 together.
    (f"user: {LONG[:500]}… | assistant: Yes.", LONG, True),
    (f"user: {LONG[:499]}… | assistant: Yes.", LONG, False),
    (f"user: …{LONG[300:800]}…", LONG, True),
    (f"user: {LONG[:200]}…{LONG[400:600]}…{LONG[900:1000]}", LONG, True),
    (f"user: {LONG[:200]}…{LONG[400:600]}…{LONG[900:999]}", LONG, False),
    # Stretches that overlap, or are repeated, count once; shorter ones than 50 never.
    (f"{LONG[:300]}…{LONG[100:400]}…{LONG[:300]}", LONG, False),
    ("…".join(LONG[at : at + 49] for at in range(0, 1000, 60)), LONG, False),
    ("…".join(LONG[at : at + 50] for at in range(0, 1000, 100)), LONG, True),
]


@pytest.mark.parametrize(("prompt", "text", "expected"), CARRIED)
def test_a_text_is_carried_if_it_stands_in_the_prompt(
    prompt: str, text: str, expected: bool
) -> None:
    assert carried(prompt, text) is expected


def test_there_are_20_unrelated_prompts_of_each_of_ten_kinds() -> None:
    prompts = read_unrelated()
    assert set(Counter(item.kind for item in prompts).values()) == {20}
    assert len({item.prompt for item in prompts}) == 200
