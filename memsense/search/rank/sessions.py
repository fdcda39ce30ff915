"""Scores of sessions: joins the chunks of each into one entry, as the profile says."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memsense.search.profiles import Profile
from memsense.search.recall.candidates import Candidates


class Support(NamedTuple):
    """Contributions of a session's turns and session chunk; `best_turn` is a candidate's row."""

    session_rrf_score: float
    turn_support: float
    supporting_turn_count: int
    best_turn: int | None


class Entry(NamedTuple):
    """An entry of the ranking: a chunk's row, or a session's with its best exchanges."""

    row: int
    score: float
    own_routes: bool = True
    wants_session: bool = False
    support: Support | None = None
    best: Sequence[tuple[int, float]] = ()


MOST_BEST = 5
"""Maximum number of exchanges that are reported of a session hit."""


def session_entries(
    candidates: Candidates,
    profile: Profile,
    fused: NDArray[np.float64],
    added: NDArray[np.float64],
) -> list[Entry]:
    """Return one entry for each session: its session chunk and its turns, joined by the profile."""
    by_rrf = _best_first(candidates, candidates.rrf_scores)
    by_score = _best_first(candidates, fused + added)
    best_turns = profile.session_scoring == "best_turns"
    order = by_score if best_turns else by_rrf
    numbers, is_session = candidates.session_numbers, candidates.is_session.tolist()
    turns: dict[int, list[int]] = {number: [] for number in numbers}
    chunks: dict[int, list[int]] = {number: [] for number in numbers}
    for row in order:
        if not is_session[row]:
            turns[numbers[row]].append(row)
    for row in by_rrf:
        if is_session[row]:
            chunks[numbers[row]].append(row)
    rrf = candidates.rrf_scores.tolist()
    score = _score_best_turns if best_turns else _score_support
    scores = _Scores(rrf, fused.tolist(), added.tolist())
    # The exchanges to show are the best by final score, even if the session's score follows ranks.
    best: dict[int, list[tuple[int, float]]] = {number: [] for number in numbers}
    for row in by_score:
        exchanges = best[numbers[row]]
        if not is_session[row] and len(exchanges) < MOST_BEST:
            exchanges.append((row, scores.fused[row] + scores.added[row]))
    return [
        score(chunks[number], rows, profile, scores)._replace(best=best[number])
        for number, rows in turns.items()
    ]


class _Scores(NamedTuple):
    """Scores by row: the rrf_score, the share of it that counts, and the terms added to it."""

    rrf: Sequence[float]
    fused: Sequence[float]
    added: Sequence[float]


def _best_first(candidates: Candidates, scores: NDArray[np.float64]) -> list[int]:
    """Return the rows by descending score, ties by chunk id."""
    return np.lexsort((candidates.chunk_ids, -scores)).tolist()


def _score_support(
    chunks: Sequence[int], turns: Sequence[int], profile: Profile, scores: _Scores
) -> Entry:
    """Score a session by the original's formula: its session chunk, supported by its best turn."""
    best_turn = scores.rrf[turns[0]] if turns else 0.0
    support = Support(
        session_rrf_score=scores.rrf[chunks[0]] if chunks else 0.0,
        turn_support=min(profile.turn_support_cap, profile.turn_support_coefficient * best_turn),
        supporting_turn_count=len(turns),
        best_turn=turns[0] if turns else None,
    )
    row = chunks[0] if chunks else turns[0]
    own = scores.fused[row] if chunks else 0.0
    score = own + support.turn_support + scores.added[row]
    return Entry(row, score, bool(chunks), wants_session=True, support=support)


def _score_best_turns(
    chunks: Sequence[int], turns: Sequence[int], profile: Profile, scores: _Scores
) -> Entry:
    """Score a session by its best turn, with shares of the second one and of the session chunk."""
    if not turns:
        row = chunks[0]
        return Entry(row, scores.fused[row] + scores.added[row], wants_session=True)
    row = turns[0]
    session_rrf = scores.rrf[chunks[0]] if chunks else 0.0
    second = scores.rrf[turns[1]] if len(turns) > 1 else 0.0
    support = Support(
        session_rrf_score=session_rrf,
        turn_support=profile.second_turn_weight * second
        + profile.session_chunk_weight * session_rrf,
        supporting_turn_count=len(turns) - 1,
        best_turn=row,
    )
    score = scores.fused[row] + support.turn_support + scores.added[row]
    return Entry(row, score, wants_session=True, support=support)
