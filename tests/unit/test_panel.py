"""Counting rules of the panel, on a set of its own, and its means and intervals."""

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.panel import IDLE, leave_out
from benchmarks.panel_asking import OWN, Addition, Answer
from benchmarks.panel_report import Run, read_run, summarise, summarise_gains, write_run
from benchmarks.panel_scores import (
    CHARACTERS,
    RIGHT_FIRST,
    SEVERAL,
    Hit,
    Ranking,
    average,
    find_means,
    rank_gold,
)
from benchmarks.panel_sets import Memory, PanelSet, Question, choose_sets, find_sets
from memsense import PROFILES
from memsense.errors import EvaluationError, NotFoundError
from memsense.search.profiles import ROUTES

SESSIONS = [
    {
        "id": "mon",
        "timestamp": "2026-03-02T09:00:00",
        "turns": [
            {"id": "a", "role": "user", "speaker": "user", "text": "My sister keeps bees."},
            {"id": "b", "role": "assistant", "speaker": "assistant", "text": "How many hives?"},
        ],
    },
    {
        "id": "tue",
        "timestamp": "2026-03-03T09:00:00",
        "turns": [
            {
                "id": "c",
                "role": "other",
                "speaker": "Ada",
                "text": "She has nine hives.",
                "at": "2026-03-03T11:30:00",
            }
        ],
    },
]


def row(**changes: Any) -> dict[str, Any]:
    return {
        "id": "q",
        "text": "How many hives?",
        "category": "facts",
        "answerable": True,
        "gold_ok": True,
        "gold_turn_ids": ["c"],
        "asked_at": None,
        **changes,
    }


def read(tmp_path: Path, *questions: dict[str, Any], own_session: bool = False) -> Memory:
    memory = {"conversation_id": "ines", "sessions": SESSIONS, "questions": list(questions)}
    path = tmp_path / "bees.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as lines:
        lines.write(json.dumps(memory) + "\n")
    [panel_set] = find_sets(tmp_path, tmp_path / "no.json", tmp_path / "no.jsonl").values()
    [made] = panel_set.read(own_session=own_session)
    return made


def hits(*turn_ids: str, characters: int = 100) -> list[Hit]:
    """Return a hit for each text, which names its turns by letters."""
    return [Hit(turn_ids=frozenset(ids), characters=characters) for ids in turn_ids]


def question(*gold: str, others: str = "") -> Question:
    return Question(
        question_id="q",
        text="How many hives?",
        category="",
        gold=[frozenset(group) for group in gold],
        others=frozenset(others),
    )


# Questions that count -----------------------------------------------------------------------------


def test_only_questions_with_sure_gold_and_prompts_for_silence_count(tmp_path: Path) -> None:
    memory = read(
        tmp_path,
        row(id="sure"),
        row(id="doubtful", gold_ok=False),
        row(id="unanswerable", answerable=False),
        row(id="no gold", gold_turn_ids=[]),
        row(id="silence", gold_turn_ids=[], gold_ok=False, answerable=False, want_silence=True),
    )
    counted = {item.question_id: item.wants_silence for item in memory.questions}
    assert counted == {"sure": False, "silence": True}


def test_gold_groups_replace_the_gold_turns(tmp_path: Path) -> None:
    groups = [["a", "b"], ["c"]]
    memory = read(tmp_path, row(gold_turn_ids=["a", "b", "c"], gold_groups=groups))
    assert list(memory.questions[0].gold) == [frozenset("ab"), frozenset("c")]


def test_each_gold_turn_is_a_group_without_gold_groups(tmp_path: Path) -> None:
    memory = read(tmp_path, row(gold_turn_ids=["a", "c"], gold_groups=[]))
    assert list(memory.questions[0].gold) == [frozenset("a"), frozenset("c")]


def test_before_session_hides_that_session_and_later_ones(tmp_path: Path) -> None:
    memory = read(tmp_path, row(id="later", before_session="tue"), row(before_session="mon"))
    assert [list(item.hidden_sessions) for item in memory.questions] == [["tue"], ["mon", "tue"]]


def test_a_prompt_may_see_the_turns_before_it_in_its_own_session(tmp_path: Path) -> None:
    asked = row(before_session="mon", turn_in_session=1)
    [item] = read(tmp_path, asked, own_session=True).questions
    assert (list(item.hidden_sessions), list(item.hidden_turns)) == (["tue"], ["b"])
    [item] = read(tmp_path, asked).questions
    assert (list(item.hidden_sessions), list(item.hidden_turns)) == (["mon", "tue"], [])


@pytest.mark.parametrize(
    ("changes", "asked_at"),
    [
        ({}, None),
        ({"asked_at": "2026-03-04T10:00:00"}, "2026-03-04T10:00:00"),
        ({"asked_at": "2024-02"}, "2024-02-29T23:59:00"),
        ({"before_session": "tue"}, "2026-03-03T09:00:00"),
        ({"before_session": "tue", "asked_at": "2026-03"}, "2026-03-31T23:59:00"),
    ],
)
def test_a_question_is_put_at_its_own_time_or_that_of_its_session(
    tmp_path: Path, changes: dict[str, str], asked_at: str | None
) -> None:
    assert read(tmp_path, row(**changes)).questions[0].asked_at == asked_at


def test_turns_keep_their_own_time_and_the_names_of_other_people(tmp_path: Path) -> None:
    conversation = read(tmp_path, row()).conversation
    assert conversation is not None
    turns = [
        (turn.id, turn.name, str(turn.at or session.at)) for session, turn in conversation.turns()
    ]
    assert turns == [
        ("a", None, "2026-03-02 09:00:00"),
        ("b", None, "2026-03-02 09:00:00"),
        ("c", "Ada", "2026-03-03 11:30:00"),
    ]


def test_a_line_that_is_no_memory_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl.gz"
    path.write_bytes(gzip.compress(b'\n{"conversation_id": "ines", "sessions": []}\n'))
    with pytest.raises(EvaluationError, match=r"bad\.jsonl\.gz, line 2: questions"):
        PanelSet(name="bad", path=path, stored_as="bad").read()


def test_sets_are_chosen_by_name_and_halves_by_the_name_of_their_file(tmp_path: Path) -> None:
    for name in ("bees.jsonl.gz", "locomo10.json", "other.txt"):
        (tmp_path / name).touch()
    sets = find_sets(tmp_path, tmp_path / "locomo10.json", tmp_path / "beam.jsonl")
    assert list(sets) == ["locomo-0-4", "locomo-5-9", "bees"]
    assert choose_sets(sets, []) == list(sets.values())
    assert [item.name for item in choose_sets(sets, ["locomo"])] == ["locomo-0-4", "locomo-5-9"]
    assert [item.name for item in choose_sets(sets, ["bees", "locomo-5-9"])] == [
        "bees",
        "locomo-5-9",
    ]
    with pytest.raises(EvaluationError, match="no set 'beam'; there are locomo-0-4"):
        choose_sets(sets, ["beam"])


# Scores -------------------------------------------------------------------------------------------


def test_the_share_of_gold_counts_each_group_once_at_its_best_rank() -> None:
    # The first group is found at 2 and again at 3, the second at 6, the third nowhere.
    ranking = rank_gold(hits("x", "a", "b", "x", "x", "c"), question("ab", "c", "d"))
    assert list(ranking.gold) == [2, 6, None]
    scores = ranking.scores()
    shares = {name: scores[name] for name in ("T@5", "T@10", "any@10", "first", "MRR")}
    assert shares == pytest.approx(
        {"T@5": 1 / 3, "T@10": 2 / 3, "any@10": 1, "first": 0, "MRR": 1 / 2}
    )


def test_a_hit_with_several_gold_turns_finds_all_of_them() -> None:
    scores = rank_gold(hits("abc"), question("a", "c")).scores()
    assert (scores["T@5"], scores["first"], scores["MRR"]) == (1, 1, 1)


def test_nothing_found_scores_nothing() -> None:
    for found in (hits(), hits("x", "y")):
        scores = rank_gold(found, question("a")).scores()
        assert {scores[name] for name in ("T@5", "T@50", "any@10", "first", "MRR")} == {0}


@pytest.mark.parametrize(
    ("found", "right"), [("ax", 1), ("xa", 1), ("ao", 1), ("oa", 0), ("o", 0), ("x", 0)]
)
def test_the_right_statement_must_stand_before_the_other(found: str, right: int) -> None:
    scores = rank_gold(hits(*found), question("a", others="o")).scores()
    assert scores[RIGHT_FIRST] == right


def test_questions_without_another_statement_have_no_such_score() -> None:
    assert RIGHT_FIRST not in rank_gold(hits("a"), question("a")).scores()


def test_the_length_is_that_of_the_first_ten_hits() -> None:
    found = [*hits(*"x" * 10, characters=100), *hits("a", characters=9_000)]
    assert rank_gold(found, question("a")).scores()[CHARACTERS] == 100
    assert rank_gold([], question("a")).scores()[CHARACTERS] == 0


# Means and intervals ------------------------------------------------------------------------------


def test_few_memories_are_resampled_by_question() -> None:
    rows = [{"T@5": float(number % 2)} for number in range(40)]
    means = find_means(rows, [f"user {number % (SEVERAL - 1)}" for number in range(40)])
    assert (means.unit, means.questions, means.memories) == ("questions", 40, SEVERAL - 1)
    interval = means.intervals()["T@5"]
    assert interval.mean == 0.5
    # The standard error of 40 coins is .079.
    assert interval.low == pytest.approx(0.5 - 1.96 * 0.079, abs=0.03)
    assert interval.high == pytest.approx(0.5 + 1.96 * 0.079, abs=0.03)


def test_several_memories_are_resampled_whole() -> None:
    # All questions of a memory are alike: a sample of five memories has a mean of n fifths.
    users = [f"user {number % SEVERAL}" for number in range(50)]
    means = find_means([{"T@5": float(user == "user 0")} for user in users], users)
    assert means.unit == "memories"
    fifths = means.samples[:, 0] * SEVERAL
    assert np.allclose(fifths, np.round(fifths))
    interval = means.intervals()["T@5"]
    assert (interval.low, interval.mean, interval.high) == pytest.approx((0, 0.2, 0.6))


def test_each_set_weighs_the_same_in_the_mean_over_sets() -> None:
    large = find_means([{"T@5": 1.0, RIGHT_FIRST: 1.0}] * 90, ["a"] * 90, seed=1)
    small = find_means([{"T@5": 0.0}] * 10, ["b"] * 10, seed=2)
    means = average([large, small])
    assert (means.unit, means.questions, means.memories) == ("sets", 100, 2)
    assert list(means.intervals()) == ["T@5"]
    interval = means.intervals()["T@5"]
    assert (interval.low, interval.mean, interval.high) == (0.5, 0.5, 0.5)


def test_the_interval_over_sets_adds_independent_errors() -> None:
    rows = [{"T@5": float(number % 2)} for number in range(40)]
    sets = [find_means(rows, ["a"] * 40, seed=seed) for seed in range(4)]
    widths = [
        item.intervals()["T@5"].high - item.intervals()["T@5"].low
        for item in (sets[0], average(sets))
    ]
    assert widths[1] == pytest.approx(widths[0] / 2, rel=0.15)


# Comparing and leaving out ------------------------------------------------------------------------


def answer(
    question_id: str, *ranks: int | None, panel_set: str = "bees", text: str = "Hives?"
) -> Answer:
    ranking = Ranking(gold=ranks, characters=100)
    return Answer(
        set=panel_set,
        memory="ines",
        question_id=question_id,
        category="",
        text=text,
        rankings={OWN: ranking},
    )


def run(*answers: Answer) -> Run:
    return Run(profile=PROFILES["balanced"].as_dict(), answers=answers)


def test_gains_are_those_of_questions_that_both_runs_have() -> None:
    before = run(answer("q1", 7), answer("q2", 1), answer("q3", 1))
    after = run(answer("q1", 3), answer("q2", 12), answer("q4", 1))
    summary = summarise_gains(before, after, falls=5)
    gains = summary["sets"]["bees"]
    means = {name: value["mean"] for name, value in gains["systems"][OWN].items()}
    assert gains["questions"] == 2
    assert means["T@5"] == 0  # one more, one less
    assert means["T@10"] == -0.5
    assert means["T@20"] == 0
    assert means["MRR"] == pytest.approx(((1 / 3 - 1 / 7) + (1 / 12 - 1)) / 2)
    assert summary["unpaired"] == 2


def test_falls_are_listed_from_the_largest_and_without_gains() -> None:
    before = run(answer("better", 9), answer("worse", 1), answer("worst", 1, 2), answer("same", 4))
    after = run(
        answer("better", 1), answer("worse", 6), answer("worst", None, 40), answer("same", 4)
    )
    falls = summarise_gains(before, after, falls=5)["falls"]
    assert [(fall["question_id"], fall["before"], fall["after"]) for fall in falls] == [
        ("worst", [1, 2], [None, 40]),
        ("worse", [1], [6]),
    ]
    assert len(summarise_gains(before, after, falls=1)["falls"]) == 1


def test_the_mean_gain_is_over_sets() -> None:
    before = run(*(answer(f"q{n}", None) for n in range(9)), answer("q", None, panel_set="wasps"))
    after = run(*(answer(f"q{n}", 1) for n in range(9)), answer("q", None, panel_set="wasps"))
    means = summarise_gains(before, after, falls=0)["mean over sets"]["systems"][OWN]
    assert means["T@5"]["mean"] == 0.5


def test_runs_that_cannot_be_compared_are_refused() -> None:
    one = run(answer("q", 1))
    for other in (run(answer("q", 1, 2)), run(answer("q", 1, text="Bees?"))):
        with pytest.raises(EvaluationError, match="question q of bees has another text or gold"):
            summarise_gains(one, other, falls=5)
    with pytest.raises(EvaluationError, match="no question in common"):
        summarise_gains(one, run(answer("other", 1)), falls=5)


def test_a_run_is_read_as_it_was_saved(tmp_path: Path) -> None:
    saved = run(answer("q1", 3, None), answer("q2", 1))
    write_run(tmp_path / "run.json", saved)
    assert summarise(read_run(tmp_path / "run.json")) == summarise(saved)
    (tmp_path / "bad.json").write_text('{"answers": 1}')
    for name in ("bad.json", "missing.json"):
        with pytest.raises(EvaluationError, match=f"{name} can't be read"):
            read_run(tmp_path / name)


def test_added_characters_count_silence() -> None:
    silent, loud = (
        Addition(set="work", memory="ines", question_id=name, text="Hi", characters=count)
        for name, count in (("a", 0), ("b", 300))
    )
    whole = replace(run(answer("q", 1)), additions=[silent, loud])
    assert summarise(whole)["silence"] == {"work": {"prompts": 2, "silent": 0.5, "characters": 150}}


def test_each_route_and_term_in_use_is_left_out_once() -> None:
    balanced = PROFILES["balanced"]
    variants = leave_out(balanced)
    assert {"vec_full", "lexical", "tokens", "tokens_weight", "tokens_around"} <= variants.keys()
    assert all(variant != balanced for variant in variants.values())
    constants = [json.dumps(variant.as_dict()) for variant in variants.values()]
    assert len(set(constants)) == len(constants)
    # Every weight that the profile uses is 0 in some variant.
    for name, value in balanced.constants().items():
        if name in ROUTES or (name.endswith("_weight") and name not in IDLE):
            assert not value or any(not variant.constants()[name] for variant in variants.values())


def test_parts_are_left_out_by_name_or_by_weight() -> None:
    balanced = PROFILES["balanced"]
    variants = leave_out(balanced, ["tokens_around", "tokens_weight"])
    assert list(variants) == ["tokens_around", "tokens_weight"]
    assert variants["tokens_weight"] == balanced.override(tokens_weight=0.0)
    with pytest.raises(NotFoundError, match="no route or signal named 'tokens_al'"):
        leave_out(balanced, ["tokens_al"])
