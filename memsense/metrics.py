"""Recall, reciprocal rank and nDCG of one ranked list against its gold set.

Pure, and apart from the rest: tests compare it with trec_eval, and no memory is needed.
"""

import math
from collections.abc import Collection, Sequence


def recall_at(ranked: Sequence[Collection[str]], gold: Collection[str], k: int) -> float:
    """Return the share of `gold` that the first `k` results cover; a result covers some ids."""
    # An id that two results cover counts once, so that repeated hits gain nothing.
    covered = {identity for result in ranked[:k] for identity in result}
    return len(covered & set(gold)) / len(gold)


def reciprocal_rank(ranked: Sequence[Collection[str]], gold: Collection[str]) -> float:
    """Return 1 / rank of the first result that covers an id of `gold`; 0 if none does."""
    gold = set(gold)
    ranks = (rank for rank, result in enumerate(ranked, 1) if gold & set(result))
    return next((1 / rank for rank in ranks), 0.0)


def ndcg_at(ranked: Sequence[Collection[str]], gold: Collection[str], k: int) -> float:
    """Return the normalised discounted cumulative gain, gains 0 and 1.

    Järvelin and Kekäläinen 2002.
    """
    gold = set(gold)
    gains = [1.0 if gold & set(result) else 0.0 for result in ranked[:k]]
    gain = sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))
    best = sum(1 / math.log2(rank + 1) for rank in range(1, min(len(gold), k) + 1))
    return gain / best
