"""Profiles for ablation and sweep, and the table that compares them with the first."""

from collections.abc import Generator
from dataclasses import fields

import pytest

from memsense.client.memory import MemSense
from memsense.errors import ConfigurationError, NotFoundError
from memsense.evaluation import (
    PARTS,
    GoldQuestion,
    GoldSet,
    ablations,
    grid_profiles,
    parse_grid,
    sweep,
    tabulate,
    without,
)
from memsense.search.profiles import BALANCED, LEXICAL, MEMSENSE, ROUTES, Profile


def test_every_route_can_be_left_out() -> None:
    every = MEMSENSE.override(**dict.fromkeys(ROUTES, 1.0))
    for route in ROUTES:
        variant = without(every, route)
        assert variant.weights[route] == 0
        assert sum(variant.weights.values()) == sum(every.weights.values()) - 1
        assert variant.name == f"memsense without {route}"


def test_every_signal_can_be_left_out() -> None:
    assert not without(BALANCED, "names").names_removed
    assert without(BALANCED, "dates").date_weight == 0
    assert without(BALANCED, "mmr").mmr_lambda == 1
    assert without(BALANCED, "vectors").weights == LEXICAL.weights


def test_no_signal_of_a_profile_is_forgotten() -> None:
    signals = {item.name for item in fields(Profile) if item.name.endswith(("_weight", "_bonus"))}
    changed = {constant for constants in PARTS.values() for constant in constants}
    assert signals - {"rrf_weight"} <= changed


def test_an_unknown_part_is_refused_with_those_there_are() -> None:
    with pytest.raises(NotFoundError, match="lexical"):
        without(BALANCED, "lexicon")


def test_an_ablation_leaves_out_only_what_takes_part() -> None:
    names = [variant.name for variant in ablations(BALANCED)]
    assert "balanced without lexical" in names
    assert "balanced without names" in names
    assert "balanced without vec_next_user" not in names
    assert "memsense without vec_next_user" in [variant.name for variant in ablations(MEMSENSE)]
    assert "lexical without lexical" not in [variant.name for variant in ablations(LEXICAL)]
    assert [item.name for item in ablations(BALANCED, ["mmr"])] == ["balanced without mmr"]


def test_a_grid_is_read_with_the_constants_own_types() -> None:
    grid = parse_grid(["rrf_k=5, 15.5", "least_candidates=50", "names_removed=false", "lexical=1"])
    assert grid == {
        "rrf_k": [5.0, 15.5],
        "least_candidates": [50],
        "names_removed": [False],
        "lexical": [1.0],
    }
    assert parse_grid(["session_scoring=support,best_turns"]) == {
        "session_scoring": ["support", "best_turns"]
    }


@pytest.mark.parametrize(
    "setting",
    ["rrf_k", "rrf_k=", "rrf_k=ten", "=1", "rrfk=1", "name=x", "session_scoring=best", "b=0.1,"],
)
def test_an_unusable_grid_is_refused(setting: str) -> None:
    with pytest.raises(ConfigurationError):
        parse_grid([setting])


def test_a_grid_gives_every_combination() -> None:
    profiles = grid_profiles(BALANCED, {"rrf_k": [5, 60], "lexical": [1.0, 3.0]})
    assert [(item.rrf_k, item.weights["lexical"]) for item in profiles] == [
        (5, 1.0), (5, 3.0), (60, 1.0), (60, 3.0),
    ]  # fmt: skip
    assert profiles[1].name == "balanced rrf_k=5 lexical=3.0"
    assert grid_profiles(BALANCED, {}) == []
    with pytest.raises(ConfigurationError, match="rrf_k"):
        grid_profiles(BALANCED, {"rrf_k": [-1]})


@pytest.fixture
def memory(database_url: str) -> Generator[MemSense]:
    with MemSense.open(database_url) as opened:
        facts = {"s1": "My sister keeps bees.", "s2": "The code of the bike lock is ZX-4711."}
        for session, fact in facts.items():
            message = {"role": "user", "content": fact, "id": session}
            opened.add([message], user_id="ada", session_id=session)
        yield opened


def question(number: int, text: str, gold: str) -> GoldQuestion:
    return GoldQuestion(
        question_id=f"q{number}",
        user_id="ada",
        question=text,
        gold_messages=frozenset([gold]),
        gold_sessions=frozenset([gold]),
        category="all",
        split="",
    )


def test_a_sweep_measures_the_base_and_sets_each_variant_against_it(memory: MemSense) -> None:
    questions = [
        question(0, "Who looks after insects that make honey?", "s1"),
        question(1, "What is ZX-4711?", "s2"),
    ]
    asked: list[int] = []
    runs = sweep(
        memory,
        GoldSet(name="two", questions=questions, skipped={}),
        LEXICAL,
        {"vec_full": [1.0]},
        on_question=lambda: asked.append(1),
    )
    assert len(asked) == 4
    base, hybrid = tabulate(runs)
    assert (base.profile, hybrid.profile) == ("lexical", "lexical vec_full=1.0")
    assert base.differences == ()
    assert base.means["session.recall@1"].mean == 0.5
    gain = {item.metric: item for item in hybrid.differences}["session.recall@1"]
    assert (gain.a, gain.b, gain.wins, gain.losses) == (0.5, 1.0, 1, 0)
    assert hybrid.as_dict()["means"]["session.recall@1"]["mean"] == 1.0
