"""Every score of a hit has its kind."""

import json
from pathlib import Path
from typing import get_args

from memsense.search.explanation import Explanation, RouteContribution
from memsense.search.profiles import PROFILES, Route
from memsense.search.rank.choose import contributions
from memsense.search.recall.candidates import RouteHit
from memsense.search.score_kinds import SCORE_KINDS, describe_scores, score_below

DOCUMENT = Path(__file__).parents[2] / "docs" / "how" / "retrieval.md"
FOUND_BY_EVERY_ROUTE = tuple(RouteHit(route, 1, 0.5) for route in get_args(Route))


def explain(routes: tuple[RouteContribution, ...]) -> Explanation:
    return Explanation(
        chunk_id=1, routes=routes, rrf_score=0.1, rrf_k=15, terms=(), session=None, final_score=0.1
    )


def test_every_route_of_every_profile_has_a_kind_of_the_table() -> None:
    kinds = {
        item.score_kind
        for profile in PROFILES.values()
        for item in contributions(FOUND_BY_EVERY_ROUTE, profile)
    }
    assert kinds == {"cosine", "bm25f", "ts_rank", "graph", "time"}
    assert kinds | {"rrf", "final"} == SCORE_KINDS.keys()


def test_an_explanation_describes_the_kinds_it_shows_in_json() -> None:
    routes = contributions(FOUND_BY_EVERY_ROUTE, PROFILES["memsense"])
    fields = json.loads(json.dumps(explain(routes).as_dict()))
    assert list(fields["score_kinds"]) == ["cosine", "ts_rank", "graph", "time", "rrf", "final"]
    cosine = fields["score_kinds"]["cosine"]
    assert (cosine["low"], cosine["high"], cosine["comparable"]) == (-1, 1, True)
    assert {route["score_kind"] for route in fields["routes"]} <= fields["score_kinds"].keys()


def test_a_hit_without_routes_still_has_a_fused_and_a_final_score() -> None:
    assert explain(()).score_kinds() == {"rrf", "final"}
    assert list(describe_scores([])) == []


def test_only_cosines_can_be_compared_across_questions() -> None:
    assert [kind.name for kind in SCORE_KINDS.values() if kind.comparable] == ["cosine"]


def test_the_document_lists_every_kind() -> None:
    text = DOCUMENT.read_text()
    for name in SCORE_KINDS:
        assert f"\n| {name} | " in text


def test_a_score_below_a_bound_is_printed_with_enough_digits() -> None:
    assert score_below(0.83, 1.2) == "0.8300"
    assert score_below(0.83118, 0.8312) == "0.83118000"
    assert score_below(-0.5, 0.0) == "-0.5000"
    assert float(score_below(1.0 - 2**-53, 1.0)) < 1.0
