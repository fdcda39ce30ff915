"""What became of every candidate of a search: chosen as which hit, or dropped by which step."""

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
"""What the numbers of `Fates.steps` mean; none for a hit. Traces keep them: add at the end."""

_DUPLICATE, _MMR, _SESSION, _LIMIT, _PART, _OUTRANKED, _BELOW = range(1, len(STEPS))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fates:
    """What became of n candidates, an array (n,) each, in the order of fusion.

    A score rank of 0, as a NaN, says that the candidate left its session or its exchange to
    another; a hit rank of 0 that it is no hit. `rivals` are chunks: the hit that an entry was
    closest to when it was chosen, or when the last hit was chosen instead (0: none); the chunk that
    stands for the session or the exchange of one that left it.
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
    """The fate of every candidate.

    What scored below `min_score` could not be chosen, whatever else is true of it. Limits on
    sessions bar whole sessions. Near-duplicates are passed over while others remain; once only
    they remain, MMR decides. What has no place among the best by score alone was outranked; what
    has one was dropped by MMR.
    """
    candidates, profile, entries = ranking.candidates, ranking.profile, ranking.entries
    rows = np.array([entry.row for entry in entries], dtype=np.int64)
    ids, count = candidates.chunk_ids, len(candidates)
    fates = Fates(
        steps=np.full(count, _SESSION if ranking.sessions else _PART, dtype=np.int16),
        hit_ranks=np.zeros(count, dtype=np.int32),
        own_routes=np.ones(count, dtype=np.bool_),
        final_scores=fused_scores(candidates, profile) + ranking.terms.totals,
        score_ranks=np.zeros(count, dtype=np.int32),
        relevances=np.full(count, np.nan),
        redundancies=np.full(count, np.nan),
        rivals=_standing_chunks(ranking, rows),
    )
    surpassed = np.arange(len(rows)) >= len(ranking.picks)
    dropped = np.where(surpassed, _OUTRANKED, _MMR)
    fates.steps[rows] = np.where(_are_duplicates(ranking), _DUPLICATE, dropped)
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


def _standing_chunks(ranking: Ranking, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The chunk that stands for each candidate's session or exchange, (n,), where not all are
    entries."""
    candidates = ranking.candidates
    if len(rows) == len(candidates):
        return np.zeros(len(candidates), dtype=np.int64)
    numbers = (
        np.array(candidates.session_numbers) if ranking.sessions else candidates.exchange_numbers
    )
    standing = np.zeros(numbers.max() + 1, dtype=np.int64)
    standing[numbers[rows]] = candidates.chunk_ids[rows]
    return standing[numbers]


def _are_duplicates(ranking: Ranking) -> NDArray[np.bool_]:
    """Which entries were too close to a hit while others remained."""
    if not ranking.picks or ranking.picks[-1][1].duplicate:
        return np.zeros(len(ranking.entries), dtype=np.bool_)
    return ranking.duplicates


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A candidate and its fate.

    `position` is its place after fusion, `score_rank` its place by final_score among what MMR
    chose from (None for a candidate that left its session or its exchange to another), `hit_rank`
    its place in the answer. `selection` holds the MMR numbers of the step that chose it, or of the
    last step that didn't; `bar` the MMR score that won that step, or the `min_score` that it is
    below. `lost_to` is the chunk it duplicates, or the one that stands for its session or its
    exchange. base_score + turn support + terms = final_score, where base_score is the sum of the
    routes' contributions, or 0 for a turn that only supports.
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
    """The outcome of every candidate, in the order of fusion; runs outside the search itself."""
    ranking = search.ranking
    fates = judge_candidates(ranking)
    bar = ranking.picks[-1][1].mmr_score if ranking.picks else None
    support = {item.candidate.chunk_id: item.session for item in ranking.scored}
    return [
        _describe(ranking, fates, row, bar, support.get(candidate.chunk_id))
        for row, candidate in enumerate(search.candidates)
    ]


def _describe(
    ranking: Ranking, fates: Fates, row: int, bar: float | None, session: SessionSupport | None
) -> Outcome:
    candidate, step = ranking.candidates[row], STEPS[int(fates.steps[row])]
    selection = _describe_selection(fates, row, ranking) if fates.score_ranks[row] else None
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
        bar=_find_bar(ranking, step, selection, bar),
        hit_rank=int(fates.hit_ranks[row]) or None,
        dropped_by=step,
        lost_to=int(fates.rivals[row]) if step in ("duplicate", "session", "part") else None,
    )


def _find_bar(
    ranking: Ranking, step: DropStep | None, selection: Selection | None, last: float | None
) -> float | None:
    """What a candidate had to reach; `last` is the MMR score of the last hit."""
    if step == "below_min_score":
        return ranking.min_score
    if selection is None:
        return None
    return selection.mmr_score if step is None else last


def _describe_selection(fates: Fates, row: int, ranking: Ranking) -> Selection:
    relevance, redundancy = float(fates.relevances[row]), float(fates.redundancies[row])
    share = ranking.profile.mmr_lambda
    return Selection(
        selected_rank=int(fates.hit_ranks[row]),
        relevance=relevance,
        max_redundancy=redundancy,
        against=int(fates.rivals[row]) or None,
        mmr_lambda=share,
        mmr_score=share * relevance - (1 - share) * redundancy,
        duplicate=row in ranking.duplicate_rows,
    )
