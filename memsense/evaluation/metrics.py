"""Recall, reciprocal rank and nDCG of one ranked list against its gold set."""

import math
from collections.abc import Collection, Sequence


def recall_at(ranked: Sequence[Collection[str]], gold: Collection[str], k: int) -> float:
    """The share of `gold` that the first `k` results cover; each result covers some ids."""
    covered = {identity for result in ranked[:k] for identity in result}
    return len(covered & set(gold)) / len(gold)


def reciprocal_rank(ranked: Sequence[Collection[str]], gold: Collection[str]) -> float:
    """1 / rank of the first result that covers anything of `gold`, 0 without one."""
    wanted = set(gold)
    ranks = (rank for rank, result in enumerate(ranked, 1) if wanted & set(result))
    return next((1 / rank for rank in ranks), 0.0)


def ndcg_at(ranked: Sequence[Collection[str]], gold: Collection[str], k: int) -> float:
    """Normalised discounted cumulative gain, gains 0 and 1 (Järvelin and Kekäläinen 2002)."""
    wanted = set(gold)
    gains = [1.0 if wanted & set(result) else 0.0 for result in ranked[:k]]
    found = sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))
    best = sum(1 / math.log2(rank + 1) for rank in range(1, min(len(wanted), k) + 1))
    return found / best
