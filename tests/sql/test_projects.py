"""Projects: named pools of sessions, which limit a search inside every route."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from test_searching import besides_texts, recorded_statements
from traced import fill

from memsense import MemSense
from memsense.errors import InvalidInputError, NotFoundError
from memsense.search.profiles import BALANCED, ROUTES, VECTOR_ROUTES, Profile, Route

OpenMemory = Callable[..., MemSense]

QUESTION = "apple and river tea"


@pytest.fixture
def filled(memory: MemSense) -> MemSense:
    """Add nine sessions of ada's, three of bob's, and a project of two of them."""
    fill(memory, sessions=9, mode="turn")
    fill(memory, user_id="bob", sessions=3, mode="turn")
    memory.projects.create("pool", ["s1", "s4"])
    return memory


def sessions_found(memory: MemSense, **options: Any) -> set[str]:
    given: dict[str, Any] = {"user_id": "ada", "top_k": 50, **options}
    return {hit.session_id for hit in memory.search(QUESTION, **given)}


def test_a_project_limits_the_search_to_its_sessions(filled: MemSense) -> None:
    assert len(sessions_found(filled)) == 9
    assert sessions_found(filled, project="pool") == {"s1", "s4"}
    filled.projects.add("pool", ["s2"])
    assert sessions_found(filled, project="pool") == {"s1", "s2", "s4"}
    filled.projects.remove("pool", ["s1", "s8"])
    assert sessions_found(filled, project="pool") == {"s2", "s4"}
    assert sessions_found(filled, project="pool", session_ids=["s4", "s5"]) == {"s4"}


def test_a_project_holds_for_every_user_of_the_namespace(filled: MemSense) -> None:
    hits = filled.search(QUESTION, project="pool", top_k=50, all_users=True)
    assert {(hit.chunk.user_id, hit.session_id) for hit in hits} == {
        ("ada", "s1"),
        ("ada", "s4"),
        ("bob", "s1"),
    }


def test_a_project_is_applied_inside_every_route_so_that_none_is_under_served(
    filled: MemSense,
) -> None:
    wanted = {
        chunk.chunk_id
        for session_id in ("s1", "s4")
        for chunk in filled.recent(user_id="ada", session_id=session_id, limit=50)
    }
    whole = filled.search(QUESTION, user_id="ada", top_k=len(wanted), project="pool")
    assert {hit.chunk_id for hit in whole} == wanted
    for profile in alone():
        hits = filled.search(QUESTION, user_id="ada", top_k=3, project="pool", profile=profile)
        assert {hit.session_id for hit in hits} <= {"s1", "s4"}
        if profile.name not in {"lexical", *(route for route in ROUTES if "facet" in route)}:
            assert len(hits) == 3


def alone() -> Iterator[Profile]:
    for route in (*VECTOR_ROUTES, "lexical"):
        weights: dict[Route, float] = {route: 1.0}
        # So few rows that other sessions' chunks would fill them.
        limits = {
            "list_depth": 1,
            "candidate_factor": 1,
            "least_candidates": 3,
            "least_route_limit": 3,
        }
        yield BALANCED.override(name=route, weights=weights, **limits)


def test_a_search_in_a_project_is_two_statements(
    filled: MemSense, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled.search(QUESTION, user_id="ada")
    with recorded_statements(monkeypatch) as statements:
        assert filled.search(QUESTION, user_id="ada", project="pool")
    assert len(besides_texts(statements)) == 2
    assert "vec_full AS" in statements[0]


def test_an_unknown_project_is_no_empty_result(filled: MemSense) -> None:
    with pytest.raises(NotFoundError, match="no project 'pond' in namespace 'default'; .* pool"):
        filled.search(QUESTION, user_id="ada", project="pond")
    with pytest.raises(NotFoundError, match="no project 'pond'"):
        filled.why_not(QUESTION, 1, project="pond", all_users=True)


def test_a_project_without_hits_is_an_empty_result_that_says_why(filled: MemSense) -> None:
    filled.projects.create("empty")
    empty = filled.search(QUESTION, user_id="ada", project="empty")
    assert not empty
    assert "project 'empty' has no sessions yet" in empty.notes
    filled.projects.create("elsewhere", ["nothing-yet"])
    result = filled.search(QUESTION, user_id="ada", project="elsewhere")
    assert not result
    assert not [note for note in result.notes if "project" in note]


def test_why_not_reports_a_chunk_outside_the_project(filled: MemSense) -> None:
    outside = filled.recent(user_id="ada", session_id="s2", limit=1)[0].chunk_id
    verdict = filled.why_not(QUESTION, outside, user_id="ada", project="pool")
    assert verdict.step == "scope"
    assert verdict.text.endswith("project: neither it nor its session is in the project asked for")
    inside = filled.recent(user_id="ada", session_id="s4", limit=1)[0].chunk_id
    verdict = filled.why_not(QUESTION, inside, user_id="ada", project="pool", top_k=50)
    assert verdict.step == "hit"


def test_a_recorded_search_in_a_project_is_replayed_in_it(filled: MemSense) -> None:
    trace_id = filled.search(QUESTION, user_id="ada", project="pool", trace=True).trace_id
    assert trace_id is not None
    assert filled.traces.get(trace_id).filters["project"] == "pool"
    assert filled.traces.replay(trace_id).is_unchanged
    filled.projects.remove("pool", ["s1"])
    assert {hit.chunk_id for hit in filled.traces.replay(trace_id).new} <= {
        chunk.chunk_id for chunk in filled.recent(user_id="ada", session_id="s4", limit=50)
    }


def test_projects_are_listed_shown_and_deleted(filled: MemSense) -> None:
    filled.projects.create("attic", ["s9", "s0", "s0"])
    assert [(found.name, found.session_ids) for found in filled.projects.list()] == [
        ("attic", ["s0", "s9"]),
        ("pool", ["s1", "s4"]),
    ]
    filled.projects.delete("attic")
    assert [found.name for found in filled.projects.list()] == ["pool"]
    with pytest.raises(NotFoundError, match="no project 'attic'"):
        filled.projects.get("attic")
    assert len(sessions_found(filled)) == 9


@pytest.mark.parametrize("change", ["add", "remove"])
def test_an_unknown_project_cannot_be_changed(filled: MemSense, change: str) -> None:
    with pytest.raises(NotFoundError, match="no project 'pond'"):
        getattr(filled.projects, change)("pond", ["s1"])
    with pytest.raises(NotFoundError, match="no project 'pond'"):
        filled.projects.delete("pond")


def test_a_project_that_cannot_be_made_is_refused(filled: MemSense) -> None:
    with pytest.raises(InvalidInputError, match="there is a project 'pool' already"):
        filled.projects.create("pool")
    for name in ("a\nb", "n" * 151):
        with pytest.raises(InvalidInputError, match="no name for a project"):
            filled.projects.create(name)
    with pytest.raises(InvalidInputError, match="session_ids must be a list, not 's1'"):
        filled.projects.create("attic", "s1")
    with pytest.raises(InvalidInputError, match="session_ids.1 is empty"):
        filled.projects.add("pool", ["s1", " "])
    assert [found.name for found in filled.projects.list()] == ["pool"]


def test_a_project_can_be_made_before_anything_is_stored(memory: MemSense) -> None:
    assert memory.projects.list() == []
    memory.projects.create("pool", ["s0"])
    fill(memory, sessions=2, mode="turn")
    assert sessions_found(memory, project="pool") == {"s0"}


def test_a_project_is_of_one_namespace(filled: MemSense, open_memory: OpenMemory) -> None:
    other = open_memory(namespace="other")
    fill(other, sessions=3, mode="turn")
    assert other.projects.list() == []
    other.projects.create("pool", ["s2"])
    assert sessions_found(other, project="pool") == {"s2"}
    assert sessions_found(filled, project="pool") == {"s1", "s4"}


def test_sessions_added_at_once_are_all_there(filled: MemSense) -> None:
    wanted = [f"new{number:02}" for number in range(40)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(partial(filled.projects.add, "pool"), [[item] for item in wanted]))
    assert filled.projects.get("pool").session_ids == [*wanted, "s1", "s4"]
