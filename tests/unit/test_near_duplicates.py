"""Near-duplicates are found by products small enough for one thread; texts are read on demand."""

from collections.abc import Mapping

import numpy as np
import pytest
from test_rerank import make_candidate

from memsense.search.profiles import BALANCED
from memsense.search.rank import score
from memsense.search.rank.choose import find_differing
from memsense.search.recall.candidates import Candidates

APART = BALANCED.override(name="apart", one_per_exchange=False)


def some_candidates(count: int, depth: int) -> Candidates:
    """Return vectors of which every third one nearly repeats the previous one."""
    rng = np.random.default_rng(count)
    vectors = rng.standard_normal((count, depth)).astype(np.float32)
    vectors[2::3] = vectors[1::3][: len(vectors[2::3])] + 0.1 * vectors[2::3]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return Candidates.of([make_candidate(n + 1, embedding=vectors[n]) for n in range(count)])


@pytest.mark.parametrize(("count", "depth"), [(1, 8), (30, 384), (64, 1536)])
def test_pairs_found_block_by_block_are_those_of_the_whole_product(count: int, depth: int) -> None:
    candidates = some_candidates(count, depth)
    near = candidates.embeddings @ candidates.embeddings.T >= APART.duplicate_threshold
    ids = candidates.chunk_ids

    def tell(wanted: Candidates) -> Mapping[int, str]:
        return {chunk_id: f"only {chunk_id}" for chunk_id in wanted.chunk_ids.tolist()}

    differing = find_differing(candidates, APART, tell)
    for row, chunk_id in enumerate(ids.tolist()):
        others = ids[near[row] & (ids != chunk_id)].tolist()
        assert differing(chunk_id) == frozenset(others)


def test_no_text_is_read_before_it_is_needed_and_then_once() -> None:
    asked: list[int] = []

    def tell(wanted: Candidates) -> Mapping[int, str]:
        asked.append(len(wanted))
        return dict.fromkeys(wanted.chunk_ids.tolist(), "the same")

    differing = find_differing(some_candidates(9, 16), APART, tell)
    assert not asked
    assert differing(2) == differing(3) == frozenset()
    assert asked == [6]


def test_a_product_is_left_to_one_thread_and_never_empty() -> None:
    assert score.rows_alone(100, 384) * 100 * 384 <= score.MOST_ALONE
    assert score.rows_alone(10_000, 1536) == 1
    assert score.rows_alone(0, 384) >= 1
