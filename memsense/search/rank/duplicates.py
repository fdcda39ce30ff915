"""Which near-duplicates by their vectors differ in their texts: vectors know beginnings alone."""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from memsense.search.profiles import Profile
from memsense.search.rank.products import rows_alone
from memsense.search.recall.candidates import Candidates

FetchTexts = Callable[[Candidates], Mapping[int, str]]
"""The whole texts of candidates, by chunk id; what went away meanwhile is left out."""

Differing = Callable[[int], frozenset[int]]
"""Of a chunk, the others whose vectors are as close as a duplicate's and whose texts differ."""

_WORD = re.compile(r"\w+")


def none_differ(chunk_id: int) -> frozenset[int]:  # noqa: ARG001
    """Whatever is as close as a duplicate is one."""
    return frozenset()


def find_differing(candidates: Candidates, profile: Profile, fetch_texts: FetchTexts) -> Differing:
    """The near-duplicates whose texts have less than `duplicate_overlap` in common.

    It is worked out when somebody asks, for all chunks at once; texts are only fetched where there
    are near-duplicates.
    """
    if not profile.duplicate_overlap:
        return none_differ
    return _Differing(candidates, profile, fetch_texts).of


class _Differing:
    def __init__(self, candidates: Candidates, profile: Profile, fetch_texts: FetchTexts) -> None:
        self._candidates = candidates
        self._profile = profile
        self._fetch_texts = fetch_texts

    def of(self, chunk_id: int) -> frozenset[int]:
        return self._found.get(chunk_id, frozenset())

    @cached_property
    def _found(self) -> Mapping[int, frozenset[int]]:
        candidates, least = self._candidates, self._profile.duplicate_overlap
        pairs = _near_pairs(candidates, self._profile)
        if not len(pairs):
            return {}
        texts = self._fetch_texts(candidates.take(np.unique(pairs)))
        words = {
            chunk_id: frozenset(_WORD.findall(text.lower())) for chunk_id, text in texts.items()
        }
        differing: defaultdict[int, set[int]] = defaultdict(set)
        for one, other in candidates.chunk_ids[pairs].tolist():
            if _overlap(words.get(one), words.get(other)) < least:
                differing[one].add(other)
                differing[other].add(one)
        return {chunk_id: frozenset(others) for chunk_id, others in differing.items()}


def _near_pairs(candidates: Candidates, profile: Profile) -> NDArray[np.int64]:
    """The rows of candidates whose vectors are as close as a duplicate's, (pairs, 2)."""
    vectors = candidates.embeddings
    count, depth = vectors.shape
    near = np.zeros((count, count), dtype=bool)
    size = rows_alone(count, depth)
    for start in range(0, count, size):
        cosines = vectors[start : start + size] @ vectors[start:].T
        near[start : start + size, start:] = cosines >= profile.duplicate_threshold
    near = np.triu(near, k=1)
    if profile.one_per_exchange and near.any():  # parts of one exchange are no rivals
        numbers = candidates.exchange_numbers
        near &= numbers[:, np.newaxis] != numbers[np.newaxis, :]
    return np.argwhere(near)


def _overlap(one: frozenset[str] | None, other: frozenset[str] | None) -> float:
    """The share of all their words that both have; 1 where a text is not there any more."""
    if one is None or other is None or not one | other:
        return 1.0
    return len(one & other) / len(one | other)
