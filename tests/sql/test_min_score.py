"""Minimum scores of searches: candidates below are no hits, and a result may be empty."""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from traced import fill

from memsense import MemSense, SearchResult
from memsense.errors import InvalidInputError
from memsense.types import Granularity

OpenMemory = Callable[..., MemSense]
GRANULARITIES: tuple[Granularity, ...] = ("turn", "session")
QUESTION = "apple river tea garden"


@pytest.fixture
def memory(memory: MemSense) -> MemSense:
    fill(memory)
    return memory


def ask(memory: MemSense, granularity: Granularity, **options: Any) -> SearchResult:
    return memory.search(QUESTION, user_id="ada", granularity=granularity, top_k=6, **options)


def scores(result: SearchResult) -> list[tuple[int, float]]:
    return [(hit.chunk_id, hit.score) for hit in result]


@pytest.mark.parametrize("granularity", GRANULARITIES)
def test_hits_are_those_that_score_as_much(memory: MemSense, granularity: Granularity) -> None:
    by_score = {"mmr_lambda": 1.0, "duplicate_threshold": 2.0}
    free = ask(memory, granularity, overrides=by_score)
    assert len({hit.score for hit in free}) == 6
    for place, hit in enumerate(free):
        found = ask(memory, granularity, min_score=hit.score, overrides=by_score)
        assert scores(found) == scores(free)[: place + 1]
    assert scores(ask(memory, granularity, min_score=-1000)) == scores(ask(memory, granularity))


@pytest.mark.parametrize("granularity", GRANULARITIES)
def test_mmr_chooses_among_what_scores_enough(memory: MemSense, granularity: Granularity) -> None:
    free = ask(memory, granularity, overrides={"mmr_lambda": 0.3}, trace=True)
    every = [item for item in memory.traces.get(free.trace_id or "").candidates if item.score_rank]
    least = sorted(hit.score for hit in free)[3]
    found = ask(memory, granularity, min_score=least, overrides={"mmr_lambda": 0.3})
    assert found[0].chunk_id == free[0].chunk_id
    assert len(found) == min(6, sum(item.final_score >= least for item in every))
    assert min(hit.score for hit in found) >= least
    for hit in found:
        assert sum(dict(hit.explain.parts()).values()) == pytest.approx(hit.score, abs=1e-9)
    relevance = {hit.chunk_id: selection(hit).relevance for hit in free}
    assert all(
        selection(hit).relevance == relevance.get(hit.chunk_id, selection(hit).relevance)
        for hit in found
    )


def selection(hit: Any) -> Any:
    return hit.explain.selection


@pytest.mark.parametrize("granularity", GRANULARITIES)
def test_an_empty_result_reports_the_best_score(memory: MemSense, granularity: Granularity) -> None:
    best = ask(memory, granularity)[0]
    assert ask(memory, granularity, min_score=best.score).notes == []
    result = ask(memory, granularity, min_score=best.score + 1)
    assert len(result) == 0
    assert result.notes == [
        f"nothing scored at least {best.score + 1!r}; the best was {best.score:.4f}:"
        f" chunk {best.explain.chunk_id}"
    ]


def test_without_candidates_no_best_score_is_reported(memory: MemSense) -> None:
    result = ask(memory, "turn", since="2090-01-01", min_score=3)
    assert (list(result), [note for note in result.notes if "scored" in note]) == ([], [])


def test_a_rerankers_scores_count(open_memory: OpenMemory, memory: MemSense) -> None:
    class Prefers:
        name = "prefers"
        neutral = 0.0

        def rerank(self, query: str, texts: Any) -> list[float]:  # noqa: ARG002
            return [float(number) for number in range(len(texts))]

    reranked = open_memory(reranker=Prefers())
    free = ask(reranked, "turn")
    assert free[0].score > ask(memory, "turn")[0].score
    found = ask(reranked, "turn", min_score=free[0].score)
    assert scores(found) == scores(free)[:1]


@pytest.mark.parametrize("granularity", GRANULARITIES)
def test_why_not_names_the_score_that_was_too_little(
    memory: MemSense, granularity: Granularity
) -> None:
    free = ask(memory, granularity, trace=True)
    trace = memory.traces.get(free.trace_id or "")
    entries = sorted(
        (item for item in trace.candidates if item.score_rank),
        key=lambda item: item.score_rank or 0,
    )
    least = (entries[1].final_score + entries[2].final_score) / 2
    for item in entries[2:9]:
        verdict = memory.why_not(
            QUESTION, item.chunk_id, user_id="ada", granularity=granularity, top_k=6,
            min_score=least,
        )  # fmt: skip
        assert verdict.step == "below_min_score"
        assert verdict.numbers["min_score"] == least
        assert verdict.numbers["best_score"] == entries[0].final_score
        assert verdict.numbers["final_score"] == item.final_score < least
        assert verdict.numbers["score_rank"] == item.score_rank
        assert f"below min_score {least!r}: place {item.score_rank} by score" in verdict.text
    best = memory.why_not(
        QUESTION, entries[0].chunk_id, user_id="ada", granularity=granularity, min_score=least
    )
    assert best.step == "hit"


@pytest.mark.parametrize("granularity", GRANULARITIES)
def test_a_trace_and_its_replay_keep_the_least_score(
    memory: MemSense, database_url: str, granularity: Granularity
) -> None:
    every = ask(memory, granularity)
    least = every[2].score
    result = ask(memory, granularity, min_score=least, trace=True)
    trace = memory.traces.get(result.trace_id or "")
    assert trace.min_score == least
    dropped = {item.dropped_by for item in trace.candidates if item.final_score < least}
    assert "below_min_score" in dropped
    assert dropped <= {"below_min_score", "session", "part"}
    assert all(item.final_score >= least for item in trace.hits())
    assert not any(
        item.dropped_by == "below_min_score" and item.final_score >= least
        for item in trace.candidates
    )
    replay = memory.traces.replay(result.trace_id or "")
    assert replay.is_unchanged
    assert len(replay.new) == len(result) < len(every)
    with psycopg.connect(database_url) as connection:
        counted = connection.execute(
            "SELECT count(*) FROM memsense.recall_candidates WHERE dropped_by = 'below_min_score'"
        ).fetchone()
    assert counted == (sum(item.dropped_by == "below_min_score" for item in trace.candidates),)


def test_a_replay_says_that_a_score_came_to_be_too_little(memory: MemSense) -> None:
    free = ask(memory, "turn")
    result = ask(memory, "turn", min_score=free[3].score, trace=True)
    replay = memory.traces.replay(result.trace_id or "", overrides={"lexical": 0.0})
    gone = [move.why for move in replay.moves if move.new_rank is None]
    assert gone
    assert all("below min_score" in why or "is no candidate" in why for why in gone)


def test_a_replay_says_that_a_score_was_too_little(memory: MemSense) -> None:
    free = ask(memory, "turn")
    result = ask(memory, "turn", min_score=free[0].score, trace=True)
    replay = memory.traces.replay(result.trace_id or "", overrides={"coverage_weight": 5.0})
    came = [move.why for move in replay.moves if move.old_rank is None]
    assert any("before: was below min_score, place" in why for why in came)


def test_a_least_score_is_a_finite_number(memory: MemSense) -> None:
    for value in (float("nan"), float("-inf"), "1", True):
        with pytest.raises(InvalidInputError, match="min_score must be a finite number"):
            ask(memory, "turn", min_score=value)
        with pytest.raises(InvalidInputError, match="min_score must be a finite number"):
            memory.why_not(QUESTION, 1, min_score=value, all_users=True)  # pyright: ignore[reportArgumentType]
