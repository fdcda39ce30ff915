"""Gold per token: what counts as carried, the baseline, and tokens on unrelated prompts."""

from collections import Counter
from collections.abc import Generator

import pytest

from memsense import PROFILES, MemSense
from memsense.evaluation import (
    GoldConversation,
    GoldText,
    PromptRequest,
    UnrelatedPrompt,
    UnrelatedResult,
    carried,
    gold_set,
    ingest_gold,
    measure_prompts,
    measure_unrelated,
    read_unrelated,
    summarise_prompts,
)
from memsense.evaluation.context import Shares, longer_lines, share_of_gold, trimmed_lines

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


TEXTS = {
    "m1": GoldText(text="I keep bees."),
    "m2": GoldText(text="How many hives?", by_user=False),
    "m3": GoldText(text="Twelve hives."),
}
SHARED = [
    (("m1", "m2", "m3"), ("m1", "m2", "m9"), Shares(user_turns=1 / 2, all_turns=2 / 3)),
    (("m1", "m2"), ("m2",), Shares(user_turns=0.0, all_turns=1 / 2)),
    (("m2",), ("m2",), Shares(user_turns=None, all_turns=1.0)),
    (("m1",), (), Shares(user_turns=0.0, all_turns=0.0)),
]


@pytest.mark.parametrize(("gold", "messages", "expected"), SHARED)
def test_gold_is_shared_by_the_users_turns_and_by_all(
    gold: tuple[str, ...], messages: tuple[str, ...], expected: Shares
) -> None:
    assert share_of_gold({key: TEXTS[key] for key in gold}, messages) == expected


CONVERSATION = GoldConversation.model_validate(
    {
        "conversation_id": "ada",
        "sessions": [
            {
                "session_id": "s1",
                "at": "2024-03-04T09:00:00Z",
                "turns": [
                    {"id": "m1", "role": "user", "content": "I keep bees.\nIn  the garden."},
                    {"id": "m2", "role": "assistant", "content": "Bees need water. " * 30},
                ],
            },
            {
                "session_id": "s2",
                "turns": [{"id": "m3", "role": "user", "content": "The lock is ZX-4711."}],
            },
        ],
        "questions": [
            {"question": "Which insects do I keep?", "gold": ["m1", "m2"], "split": "dev"},
            {"question": "What is ZX-4711?", "gold": ["m3"], "split": "dev"},
            {"question": "What do bees need?", "gold": ["m2"], "split": "test"},
        ],
    }
)
GOLD = gold_set([CONVERSATION], "ada")
BALANCED = PROFILES["balanced"]


@pytest.fixture(scope="module")
def memory(module_database_url: str) -> Generator[MemSense]:
    with MemSense.open(module_database_url) as opened:
        ingest_gold(opened, [CONVERSATION])
        yield opened


def test_trimmed_lines_hold_one_line_a_hit_and_leave_out_what_does_not_fit(
    memory: MemSense,
) -> None:
    result = memory.search("Which insects do I keep?", user_id="ada", granularity="turn")
    request = PromptRequest(
        memory=memory,
        user_id="ada",
        question="Which insects do I keep?",
        profile=BALANCED,
        result=result,
        count=len,
    )
    answer = " ".join(["Bees need water."] * 30)
    first = "- 2024-03-04 user: I keep bees. In the garden. | assistant: "
    second = "- user: The lock is ZX-4711.\n"
    trimmed = f"{first}{answer[:150]}\n"
    assert trimmed_lines(request, 10_000) == trimmed + second
    assert trimmed_lines(request, len(trimmed + second)) == trimmed + second
    assert trimmed_lines(request, len(trimmed + second) - 1) == trimmed
    assert trimmed_lines(request, len(trimmed) - 1) == second
    assert trimmed_lines(request, len(second) - 1) == ""
    assert longer_lines(request, 10_000) == f"{first}{answer[:500]}\n{second}"


def write_within(_: PromptRequest, max_tokens: int) -> str:
    """Return the bees alone if there is room, else the lock."""
    return "> I keep bees. In the\n> garden." if max_tokens >= 30 else "The lock is ZX-4711."


def test_prompts_are_measured_by_the_gold_that_they_carry(memory: MemSense) -> None:
    results = measure_prompts(
        memory,
        GOLD,
        profile=BALANCED,
        writers={"own": write_within, "none": lambda _, __: ""},
        budgets=(20, 40),
        tokenizer=len,
    )
    everything = Shares(user_turns=1.0, all_turns=1.0)
    assert [one.ceiling for one in results] == [
        everything,
        everything,
        Shares(user_turns=None, all_turns=1.0),
    ]
    assert [one.carried["own"] for one in results] == [
        {20: Shares(user_turns=0.0, all_turns=0.0), 40: Shares(user_turns=1.0, all_turns=0.5)},
        {20: everything, 40: Shares(user_turns=0.0, all_turns=0.0)},
        {20: Shares(user_turns=None, all_turns=0.0), 40: Shares(user_turns=None, all_turns=0.0)},
    ]
    assert results[0].tokens == {"own": {20: 20, 40: 31}, "none": {20: 0, 40: 0}}

    summary = summarise_prompts(results, [make_unrelated("ada", "dev", 0)])
    assert list(summary["splits"]) == ["all", "dev", "test"]
    both = summary["splits"]["all"]
    assert (both["questions"], both["user_questions"]) == (3, 2)
    assert both["ceiling"] == {"user_turns": 1.0, "all_turns": 1.0}
    assert both["writers"]["own"] == {
        "20": {"user_turns": 0.5, "all_turns": pytest.approx(1 / 3), "mean_tokens": 20},
        "40": {"user_turns": 0.5, "all_turns": pytest.approx(0.5 / 3), "mean_tokens": 31},
    }
    assert summary["splits"]["test"]["ceiling"] == {"user_turns": None, "all_turns": 1.0}
    assert list(summary["unrelated"]) == ["all", "dev"]


def make_unrelated(user_id: str, split: str, tokens: int, kind: str = "command") -> UnrelatedResult:
    return UnrelatedResult(
        kind=kind, prompt="ls", user_id=user_id, split=split, tokens={"own": tokens}
    )


def test_unrelated_prompts_are_summarised_by_silence_and_tokens(memory: MemSense) -> None:
    lengths = (0, 0, 10, 30)
    unrelated = [make_unrelated("ada", "dev", length) for length in lengths]
    unrelated.append(make_unrelated("bob", "test", 60, kind="code"))
    results = measure_prompts(memory, GOLD, profile=BALANCED, writers={"own": write_within})
    groups = summarise_prompts(results, unrelated)["unrelated"]
    assert groups["dev"]["writers"]["own"] == {
        "silent": 0.5,
        "mean_tokens": 10,
        "median_tokens": 5,
        "by_kind": {"command": {"silent": 0.5, "mean_tokens": 10, "median_tokens": 5}},
    }
    assert groups["all"]["prompts"] == 5
    assert groups["all"]["writers"]["own"]["mean_tokens"] == 20
    assert groups["all"]["writers"]["own"]["by_kind"]["code"]["silent"] == 0


def test_each_unrelated_prompt_is_put_to_a_memory_of_the_gold_set(memory: MemSense) -> None:
    prompts = [UnrelatedPrompt(kind="small talk", prompt=text) for text in ("Hi", "Bye")]
    results = measure_unrelated(
        memory,
        GOLD,
        profile=BALANCED,
        prompts=prompts,
        writers={"length": lambda request, budget: request.question * budget},
        max_tokens=2,
        tokenizer=len,
    )
    # There is one user, although four memories are requested.
    assert [(one.prompt, one.user_id, one.tokens["length"]) for one in results] == [
        ("Hi", "ada", 4),
        ("Bye", "ada", 6),
    ]
