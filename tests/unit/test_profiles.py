"""Profiles: what they refuse, complete, and give out."""

import math

import pytest

from memsense.errors import ConfigurationError, NotFoundError
from memsense.profiles import PROFILES, ROUTES, VECTOR_ROUTES, Profile, get_profile


def test_there_are_eight_routes_in_the_querys_order() -> None:
    assert len(ROUTES) == 8
    assert ROUTES.index("lexical") == 4
    assert set(VECTOR_ROUTES) == set(ROUTES) - {"lexical"}


@pytest.mark.parametrize("name", ["balanced", "memsense", "lexical", "semantic"])
def test_a_shipped_profile_is_found_by_name(name: str) -> None:
    assert get_profile(name).name == name


def test_an_unknown_profile_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(NotFoundError, match=r"balanced, .*memsense"):
        get_profile("best")


def test_the_memsense_profile_holds_the_originals_constants() -> None:
    profile = PROFILES["memsense"]
    assert set(profile.weights.values()) == {1.0}
    assert (profile.rrf_k, profile.memory_alpha, profile.mmr_lambda) == (15, 0.1, 0.78)
    assert (profile.turn_support_coefficient, profile.turn_support_cap) == (0.6, 0.12)
    assert (profile.duplicate_threshold, profile.tag_redundancy) == (0.94, 0.35)
    assert (profile.lexical_mode, profile.relevance) == ("ts_rank", "raw")
    assert [profile.candidate_limit(k) for k in (1, 8, 10)] == [32, 32, 40]
    assert [profile.route_limit(k) for k in (1, 8, 10)] == [64, 64, 80]


def test_the_lexical_and_the_semantic_profile_run_no_other_routes() -> None:
    assert {r for r, w in PROFILES["lexical"].weights.items() if w} == {"lexical"}
    assert PROFILES["semantic"].weights["lexical"] == 0
    assert PROFILES["semantic"].weights["vec_full"] > 0


def test_a_weight_that_is_not_given_is_zero() -> None:
    assert Profile(name="x", weights={"lexical": 2}).weights["vec_full"] == 0


def test_an_override_changes_a_copy() -> None:
    changed = PROFILES["balanced"].override(lexical=1.25, rrf_k=60)
    assert (changed.weights["lexical"], changed.rrf_k) == (1.25, 60)
    assert PROFILES["balanced"].rrf_k == 15


@pytest.mark.parametrize(
    "changes",
    [
        {"lexical": -0.1},
        {"lexical": 5.1},
        {"lexical": math.nan},
        {"vec_full": math.inf},
        {"rrf_k": -1},
        {"b": 1.5},
        {"k1": 0},
        {"mmr_lambda": 1.01},
        {"duplicate_threshold": "high"},
        {"least_candidates": 0},
        {"memory_alpha": math.nan},
        {"no_such_constant": 1},
    ],
)
def test_an_unusable_constant_is_refused_by_name(changes: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(changes))):
        PROFILES["balanced"].override(**changes)


def test_an_unknown_route_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="vec_title"):
        Profile(name="x", weights={"vec_title": 1})  # pyright: ignore[reportArgumentType]


def test_a_profile_cannot_be_changed_in_place() -> None:
    with pytest.raises(TypeError):
        PROFILES["balanced"].weights["lexical"] = 0.0  # pyright: ignore[reportIndexIssue]


def test_a_profile_as_a_mapping_makes_the_same_profile() -> None:
    for profile in PROFILES.values():
        assert Profile(**profile.as_dict()) == profile  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("name", ["lexical_mode", "session_scoring", "relevance"])
def test_a_word_that_no_mode_is_called_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{name} must be .* not 'sideways'"):
        get_profile("balanced").override(**{name: "sideways"})
