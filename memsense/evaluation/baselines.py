"""Plain rankings to set profiles against: one list as it is, or two fused, and nothing else."""

from collections.abc import Mapping, Sequence
from typing import Any

from memsense.search.profiles import Profile

PLAIN: Mapping[str, Any] = {
    "least_candidates": 200,
    "least_route_limit": 200,
    "session_scoring": "best_turns",
    "memory_alpha": 0.0,
    "weight_context": 0.0,
    "weight_tag": 0.0,
    "tag_redundancy": 0.0,
    "mmr_lambda": 1.0,
    "duplicate_threshold": 2.0,
}
"""Routes as they are: no blend, no context, no diversity."""

COSINE = Profile(name="cosine", weights={"vec_full": 1.0}, **PLAIN)
BM25 = Profile(name="bm25", weights={"lexical": 1.0}, **PLAIN)

FUSION = Profile(
    name="plain fusion", weights={"vec_full": 1.0, "lexical": 1.0}, rrf_k=60.0, **PLAIN
)
"""Reciprocal rank fusion of BM25 and cosine, with the constant of Cormack et al. (2009)."""

FUSION_OF_EXCHANGES = FUSION.override(name="plain fusion, one an exchange", one_per_exchange=True)

BASELINES: Sequence[Profile] = (FUSION, FUSION_OF_EXCHANGES)
"""What a profile has to beat."""
