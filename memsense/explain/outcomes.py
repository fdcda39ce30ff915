"""The outcome of every candidate of a search: the hit that it is, or the step that dropped it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from memsense.search.explanation import RouteContribution, Selection, SessionSupport, Term
from memsense.search.rank.choose import Ranking, contributions, fused_scores
from memsense.search.recall.candidates import Candidate
from memsense.search.search import Search

DropStep = Literal["duplicate", "mmr", "session", "limit", "part", "outranked", "below_min_score"]
STEPS: tuple[DropStep | None, ...] = (None, *get_args(DropStep))
"""Meanings of the numbers in `Fates.steps`, None for a hit. Traces store them: add at the end."""

_DUPLICATE, _MMR, _SESSION, _LIMIT, _PART, _OUTRANKED, _BELOW = range(1, len(STEPS))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fates:
    """The outcomes of n candidates in the order of fusion, an array (n,) each.

    A score rank of 0 and a NaN mean that another candidate stands for the same session or exchange.
    A hit rank of 0 means that the candidate is no hit. `rivals` are chunks: the hit that an entry
    was closest to when it, or else the last hit, was chosen (0 for none); the chunk that stands for
    the session or the exchange of a candidate that is no entry.
    """

    steps: NDArray[np.int16]
    hit_ranks: NDArray[np.int32]
    own_routes: NDArray[np.bool_]
    final_scores: NDArray[np.float64]
    score_ranks: NDArray[np.int32]
    relevances: NDArray[np.float64]
    redundancies: NDArray[np.float64]
    rivals: NDArray[np.int64]


def judge_candidates(ranking: Ranking) -> Fates:
    """Return the outcome of every candidate.

    Later steps overrule earlier ones: what scored below `min_score` could not be chosen in
    any case. Limits bar whole sessions. An entry without a place among the best by score alone was
    outranked; one with such a place was dropped by MMR.
    """
    candidates, profile, entries = ranking.candidates, ranking.profile, ranking.entries
    rows = np.array([entry.row for entry in entries], dtype=np.int64)
    ids, count = candidates.chunk_ids, len(candidates)
    # The chunk that stands for each candidate's session or exchange, where not all are entries.
    standing = np.zeros(count, dtype=np.int64)
    if len(rows) < count:
        numbers = (
            np.array(candidates.session_numbers)
            if ranking.sessions
            else candidates.exchange_numbers
        )
        by_number = np.zeros(numbers.max() + 1, dtype=np.int64)
        by_number[numbers[rows]] = ids[rows]
        standing = by_number[numbers]
    fates = Fates(
        steps=np.full(count, _SESSION if ranking.sessions else _PART, dtype=np.int16),
        hit_ranks=np.zeros(count, dtype=np.int32),
        own_routes=np.ones(count, dtype=np.bool_),
        final_scores=fused_scores(candidates, profile) + ranking.terms.totals,
        score_ranks=np.zeros(count, dtype=np.int32),
        relevances=np.full(count, np.nan),
        redundancies=np.full(count, np.nan),
        rivals=standing,
    )
    # Near-duplicates are passed over while others remain; once only they remain, MMR decides.
    duplicates = ranking.duplicates
    if not ranking.picks or ranking.picks[-1][1].duplicate:
        duplicates = np.zeros(len(entries), dtype=np.bool_)
    is_surpassed = np.arange(len(rows)) >= len(ranking.picks)
    dropped = np.where(is_surpassed, _OUTRANKED, _MMR)
    fates.steps[rows] = np.where(duplicates, _DUPLICATE, dropped)
    fates.steps[rows[ranking.barred]] = _LIMIT
    fates.steps[rows[ranking.eligible :]] = _BELOW
    fates.own_routes[rows] = [entry.own_routes for entry in entries]
    fates.final_scores[rows] = [entry.score for entry in entries]
    fates.score_ranks[rows] = np.arange(1, len(rows) + 1)
    fates.relevances[rows] = ranking.relevance
    fates.redundancies[rows] = ranking.redundancy
    fates.rivals[rows] = np.where(ranking.against >= 0, ids[rows[ranking.against]], 0)
    for place, step in ranking.picks:
        row = rows[place]
        fates.steps[row] = 0
        fates.hit_ranks[row] = step.selected_rank
        fates.redundancies[row] = step.max_redundancy
        fates.rivals[row] = step.against or 0
    return fates


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A candidate and its outcome.

    `position` is its place after fusion, `score_rank` its place by final_score among the entries
    (None if another candidate stands for the same session or exchange), `hit_rank` its place in
    the answer. `selection` holds the MMR numbers of the step that chose it, or of the last step
    that didn't; `bar` is the MMR score that won that step, or the `min_score` that it is below.
    `lost_to` is the chunk it duplicates, or the one that stands for its session or its exchange.
    base_score + turn support + terms = final_score, where base_score is the sum of the routes'
    contributions, or 0 for a turn that only supports its session.
    """

    position: int
    candidate: Candidate
    routes: Sequence[RouteContribution]
    base_score: float
    terms: Sequence[Term]
    session: SessionSupport | None
    final_score: float
    score_rank: int | None
    selection: Selection | None
    bar: float | None
    hit_rank: int | None
    dropped_by: DropStep | None
    lost_to: int | None


def trace_outcomes(search: Search) -> list[Outcome]:
    """Return the outcome of every candidate, in the order of fusion; no search waits for it."""
    ranking = search.ranking
    fates = judge_candidates(ranking)
    last_score = ranking.picks[-1][1].mmr_score if ranking.picks else None
    support = {item.candidate.chunk_id: item.session for item in ranking.scored}
    return [
        _describe(ranking, fates, row, last_score, support.get(candidate.chunk_id))
        for row, candidate in enumerate(search.candidates)
    ]


def _describe(
    ranking: Ranking,
    fates: Fates,
    row: int,
    last_score: float | None,
    session: SessionSupport | None,
) -> Outcome:
    """Return one outcome; `last_score` is the MMR score of the last hit."""
    candidate, step = ranking.candidates[row], STEPS[int(fates.steps[row])]
    selection, bar = None, None
    if fates.score_ranks[row]:
        relevance, redundancy = float(fates.relevances[row]), float(fates.redundancies[row])
        share = ranking.profile.mmr_lambda
        selection = Selection(
            selected_rank=int(fates.hit_ranks[row]),
            relevance=relevance,
            max_redundancy=redundancy,
            against=int(fates.rivals[row]) or None,
            mmr_lambda=share,
            mmr_score=share * relevance - (1 - share) * redundancy,
            duplicate=row in ranking.duplicate_rows,
        )
        bar = selection.mmr_score if step is None else last_score
    if step == "below_min_score":
        bar = ranking.min_score
    routes = contributions(candidate.routes, ranking.profile)
    return Outcome(
        position=row + 1,
        candidate=candidate,
        routes=routes,
        base_score=sum(item.contribution for item in routes) if fates.own_routes[row] else 0.0,
        terms=ranking.terms.of(row),
        session=session,
        final_score=float(fates.final_scores[row]),
        score_rank=int(fates.score_ranks[row]) or None,
        selection=selection,
        bar=bar,
        hit_rank=int(fates.hit_ranks[row]) or None,
        dropped_by=step,
        lost_to=int(fates.rivals[row]) if step in ("duplicate", "session", "part") else None,
    )
