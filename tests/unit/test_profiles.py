"""Profiles: validation, defaults and output."""

import math

import pytest

from memsense.errors import ConfigurationError, NotFoundError
from memsense.search.profiles import (
    BALANCED,
    PROFILES,
    ROUTES,
    TUNABLE,
    VECTOR_ROUTES,
    Profile,
    get_profile,
    read_profile,
)


def test_there_are_ten_routes_in_the_querys_order() -> None:
    assert len(ROUTES) == 10
    assert ROUTES.index("lexical") == 4
    assert ROUTES[-2:] == ("graph", "time")
    assert set(VECTOR_ROUTES) == set(ROUTES) - {"lexical", "graph", "time"}


@pytest.mark.parametrize("name", PROFILES)
def test_a_shipped_profile_is_found_by_name(name: str) -> None:
    assert get_profile(name).name == name


def test_an_unknown_profile_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(NotFoundError, match=r"balanced, .*memsense"):
        get_profile("best")


def test_the_memsense_profile_holds_the_originals_constants() -> None:
    profile = PROFILES["memsense"]
    assert profile.weights == {route: float(route not in {"graph", "time"}) for route in ROUTES}
    assert (profile.rrf_k, profile.memory_alpha, profile.mmr_lambda) == (15, 0.1, 0.78)
    assert (profile.turn_support_coefficient, profile.turn_support_cap) == (0.6, 0.12)
    assert (profile.duplicate_threshold, profile.tag_redundancy) == (0.94, 0.35)
    assert (profile.lexical_mode, profile.relevance) == ("ts_rank", "raw")
    assert [profile.candidate_limit(k) for k in (1, 8, 10)] == [32, 32, 40]
    assert [profile.route_limit(k) for k in (1, 8, 10)] == [64, 64, 80]
    deep = profile.override(list_depth=50)
    assert [deep.candidate_limit(k) for k in (1, 50, 60)] == [200, 200, 240]
    assert [deep.route_limit(k) for k in (1, 50, 60)] == [400, 400, 480]
    assert (profile.ranks, profile.session_chunks) == ("together", "all")


def test_searches_that_return_sessions_read_deeper() -> None:
    profile = Profile(
        name="x", least_candidates=30, least_route_limit=100, session_depth=3, list_depth=1
    )
    assert [profile.candidate_limit(k, sessions=True) for k in (1, 10)] == [90, 120]
    assert [profile.route_limit(k, sessions=True) for k in (1, 30)] == [300, 720]
    assert [profile.route_limit(k) for k in (1, 30)] == [100, 240]


def test_the_lexical_and_the_semantic_profile_run_no_other_routes() -> None:
    assert {r for r, w in PROFILES["lexical"].weights.items() if w} == {"lexical", "time"}
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
        {"lexical": True},
        {"candidate_factor": 2.5},
        {"reranker_depth": True},
        {"names_removed": 1},
        {"names_removed": "yes"},
        {"phrase_boost": 5.5},
        {"identifier_boost": -1},
        {"quoted_boost": 6},
        {"max_per_session": 1001},
        {"min_sessions": -1},
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


@pytest.mark.parametrize("name", ["lexical_mode", "session_scoring", "relevance", "quoted"])
def test_a_word_that_no_mode_is_called_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{name} must be .* not 'sideways'"):
        get_profile("balanced").override(**{name: "sideways"})


def test_vector_heavy_and_keyword_focused_lean_to_opposite_sides_of_balanced() -> None:
    heavy, focused = PROFILES["vector_heavy"], PROFILES["keyword_focused"]
    for route in ("vec_full", "vec_user"):
        assert heavy.weights[route] > BALANCED.weights[route] > focused.weights[route]
    assert heavy.weights["lexical"] < BALANCED.weights["lexical"] < focused.weights["lexical"]
    assert heavy.weights["vec_assistant"] > focused.weights["vec_assistant"]
    assert heavy.similarity_weight > focused.similarity_weight
    assert heavy.coverage_weight < focused.coverage_weight


def test_boosts_and_limits_of_sessions_are_off_in_every_shipped_profile() -> None:
    for profile in PROFILES.values():
        assert (profile.phrase_boost, profile.identifier_boost, profile.quoted) == (0, 0, "off")
        assert (profile.max_per_session, profile.min_sessions) == (0, 0)


def test_a_varied_profile_has_its_changes_in_its_name() -> None:
    varied = BALANCED.vary({"lexical": 1.5, "quoted": "must"})
    assert varied.name == "balanced (lexical=1.5, quoted=must)"
    assert (varied.weights["lexical"], varied.quoted) == (1.5, "must")
    assert BALANCED.vary({}) is BALANCED


@pytest.mark.parametrize("name", ["name", "weights", "lexcal"])
def test_an_unknown_constant_is_refused_with_the_command_that_lists_them(name: str) -> None:
    said = rf"no constant or route named {name}.* \(memsense profile show lists them\)"
    with pytest.raises(ConfigurationError, match=said):
        BALANCED.vary({name: 1})


def test_the_constants_are_all_weights_and_all_fields_but_the_name() -> None:
    for profile in PROFILES.values():
        constants = profile.constants()
        assert tuple(constants) == TUNABLE
        assert BALANCED.vary(constants).override(name=profile.name) == profile


def test_a_stored_profile_is_read_without_what_this_version_does_not_know() -> None:
    stored = {**BALANCED.as_dict(), "constant_of_tomorrow": 3}
    assert read_profile(stored) == BALANCED
