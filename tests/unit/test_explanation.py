"""Explanations as values: their parts and their plain form."""

import copy
import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from memsense.search.explanation import (
    Explanation,
    RouteContribution,
    SessionSupport,
    Term,
    explain_later,
)

ROUTE = RouteContribution(
    route="lexical", rank=2, score=3.5, score_kind="bm25f", weight=2.0, contribution=2 / 17
)
MEMORY = Term(name="memory_score", value=0.65, weight=0.1, contribution=0.065)


def make(session: SessionSupport | None = None, total: float = 2 / 17 + 0.065) -> Explanation:
    return Explanation(
        chunk_id=1,
        routes=(ROUTE,),
        rrf_score=2 / 17,
        rrf_k=15,
        terms=(MEMORY,),
        session=session,
        final_score=total,
        profile="balanced",
    )


def test_the_parts_are_routes_then_support_then_terms() -> None:
    support = SessionSupport(session_rrf_score=0.1, turn_support=0.05, supporting_turn_count=1)
    assert [name for name, _ in make(support).parts()] == [
        "lexical",
        "turn_support",
        "memory_score",
    ]
    assert [name for name, _ in make().parts()] == ["lexical", "memory_score"]


def test_the_parts_add_up() -> None:
    explanation = make()
    assert sum(part for _, part in explanation.parts()) == pytest.approx(explanation.final_score)
    assert explanation.memory_score == 0.65


def test_the_plain_form_is_json_with_the_parts() -> None:
    found = json.loads(json.dumps(make().as_dict()))
    assert found["parts"] == {"lexical": 2 / 17, "memory_score": 0.065}
    assert found["routes"][0]["score_kind"] == "bm25f"


def test_an_explanation_is_one_line_at_a_prompt() -> None:
    shown = repr(make())
    assert shown == "<Explanation of chunk 1: 0.1826 = +0.1176 lexical +0.0650 memory_score>"


def test_an_explanation_s_table_adds_up_as_it_is_printed() -> None:
    for width in (40, 60, 100):
        lines = make().table(width=width).splitlines()
        assert max(map(len, lines)) <= width
        numbers = [line.replace("█", "").split() for line in lines]
        adds = [words[-1] for words in numbers if words and len(words[-1]) == len("0.1176")]
        *parts, total = map(float, adds)
        assert round(sum(parts), 4) == total == 0.1826
    assert "weight 2 / (15 + 2)" in make().table()


READS: tuple[Callable[[Explanation], Any], ...] = (
    lambda it: it.chunk_id,
    lambda it: it.memory_score,
    Explanation.parts,
    Explanation.table,
    Explanation.as_dict,
    repr,
    copy.copy,
    copy.deepcopy,
    pickle.dumps,
    lambda it: replace(it, final_score=1.0),
)


@pytest.mark.parametrize("read", READS)
def test_an_explanation_that_is_made_later_reads_as_any_other(
    read: Callable[[Explanation], Any],
) -> None:
    calls: list[int] = []

    def make_once() -> Explanation:
        calls.append(1)
        return make()

    later = explain_later(make_once)
    assert not calls
    assert read(later) == read(make())
    assert later == make()
    assert pickle.loads(pickle.dumps(later)) == make()  # noqa: S301 (our own)
    assert len(calls) == 1


def test_an_explanation_that_is_made_later_has_no_other_attributes() -> None:
    for explanation in (explain_later(make), make()):
        with pytest.raises(AttributeError, match="no attribute 'scores'"):
            getattr(explanation, "scores")  # noqa: B009 (a checker would refuse it)
