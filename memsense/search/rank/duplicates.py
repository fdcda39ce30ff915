"""Which near-duplicates by their vectors differ in their texts: vectors know beginnings alone."""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from memsense.search.profiles import Profile
from memsense.search.rank.diversity import NO_DIFFERING, Differing
from memsense.search.recall.candidates import Candidates

FetchTexts = Callable[[Candidates], Mapping[int, str]]
"""The whole texts of candidates, by chunk id; what went away meanwhile is left out."""

_WORD = re.compile(r"\w+")


def find_differing(candidates: Candidates, profile: Profile, fetch_texts: FetchTexts) -> Differing:
    """The pairs of near-duplicates whose texts have less than `duplicate_overlap` in common.

    Texts are only fetched where there are such pairs.
    """
    if not profile.duplicate_overlap:
        return NO_DIFFERING
    vectors = candidates.embeddings
    near = np.triu(vectors @ vectors.T >= profile.duplicate_threshold, k=1)
    pairs = np.argwhere(near & ~_of_one_exchange(candidates, profile))
    if not len(pairs):
        return NO_DIFFERING
    ids = candidates.chunk_ids
    texts = fetch_texts(candidates.take(np.unique(pairs)))
    words = {chunk_id: frozenset(_WORD.findall(text.lower())) for chunk_id, text in texts.items()}
    differing: defaultdict[int, set[int]] = defaultdict(set)
    for one, other in ids[pairs].tolist():
        if _overlap(words.get(one), words.get(other)) < profile.duplicate_overlap:
            differing[one].add(other)
            differing[other].add(one)
    return {chunk_id: frozenset(others) for chunk_id, others in differing.items()}


def _of_one_exchange(candidates: Candidates, profile: Profile) -> NDArray[np.bool_]:
    """Which pairs are parts of one exchange where only one of those is ranked, (n, n)."""
    if not profile.one_per_exchange:
        return np.zeros((len(candidates), len(candidates)), dtype=bool)
    numbers = candidates.exchange_numbers
    return numbers[:, np.newaxis] == numbers[np.newaxis, :]


def _overlap(one: frozenset[str] | None, other: frozenset[str] | None) -> float:
    """The share of all their words that both have; 1 where a text is not there any more."""
    if one is None or other is None or not one | other:
        return 1.0
    return len(one & other) / len(one | other)
