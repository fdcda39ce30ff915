"""A reranker reads the best entries and changes only their order."""

from collections.abc import Callable, Sequence
from typing import get_args

import pytest

from memsense import MemSense
from memsense.types import Granularity

OpenMemory = Callable[..., MemSense]
DEPTH = 3


class ShortestFirst:
    """Reranker with negative scores, lowest for long texts."""

    name = "shortest-first"
    score_scale = 0.1

    def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return scores far below 0."""
        del query
        return [-10.0 * len(text) for text in texts]


@pytest.fixture
def memory(open_memory: OpenMemory) -> MemSense:
    memory = open_memory(reranker=ShortestFirst())
    for number in range(8):
        words = " ".join(["tea"] * (number + 1))
        memory.add(
            [{"role": "user", "content": f"I drink {words} in cup {number}"}],
            user_id="ada",
            session_id=f"s{number}",
        )
    return memory


@pytest.mark.parametrize("granularity", get_args(Granularity))
def test_a_reranker_reads_the_first_entries_and_they_stay_first(
    memory: MemSense, granularity: Granularity
) -> None:
    def sessions(**changes: float) -> list[str]:
        found = memory.search(
            "tea",
            user_id="ada",
            granularity=granularity,
            overrides={"mmr_lambda": 1, "duplicate_threshold": 2, **changes},
        )
        return [hit.session_id for hit in found.hits]

    before = sessions(reranker_weight=0)
    assert len(before) == 8
    assert before[:DEPTH] != sorted(before[:DEPTH])
    assert sessions(reranker_depth=DEPTH) == sorted(before[:DEPTH]) + before[DEPTH:]


def test_the_routes_part_of_a_score_adds_up(memory: MemSense) -> None:
    found = memory.search("tea", user_id="ada", overrides={"reranker_depth": DEPTH})

    told = {hit.chunk_id: hit.explain for hit in found.hits}
    read = [item for item in told.values() if any(term.name == "reranker" for term in item.terms)]
    assert len(read) == DEPTH
    for item in told.values():
        total = item.rrf_score + sum(term.contribution for term in item.terms)
        total += item.session.turn_support if item.session else 0.0
        assert item.final_score == pytest.approx(total, abs=1e-9)
    terms = [term for item in read for term in item.terms if term.name == "reranker"]
    assert min(term.value for term in terms) == 0
    assert {term.weight for term in terms} == {ShortestFirst.score_scale}
