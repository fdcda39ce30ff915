"""Joins the chunks of a session into one entry, as the profile says."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memsense.search.profiles import Profile
from memsense.search.recall.candidates import Candidates


class Support(NamedTuple):
    """What a session's turns and session chunk gave it; `best_turn` is a row of the candidates."""

    session_rrf_score: float
    turn_support: float
    supporting_turn_count: int
    best_turn: int | None


class Entry(NamedTuple):
    """A chunk, or a session and the chunk that stands for it: `row` is that chunk's row.

    `best` holds the rows of a session's best exchanges with their scores, best first.
    """

    row: int
    score: float
    own_routes: bool = True
    wants_session: bool = False
    support: Support | None = None
    best: Sequence[tuple[int, float]] = ()


MOST_BEST = 5
"""Exchanges that are told of a session which they brought in."""


def session_entries(
    candidates: Candidates,
    profile: Profile,
    fused: NDArray[np.float64],
    added: NDArray[np.float64],
) -> list[Entry]:
    """One entry per session: its session chunk and its turns, joined as the profile says."""
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
    found = _find_best(candidates, by_score, scores)
    return [
        score(chunks[number], rows, profile, scores)._replace(best=found.get(number, ()))
        for number, rows in turns.items()
    ]


def _find_best(
    candidates: Candidates, by_score: Sequence[int], scores: "_Scores"
) -> dict[int, list[tuple[int, float]]]:
    """Each session's best exchanges with their scores, by the session's number."""
    numbers, is_session = candidates.session_numbers, candidates.is_session.tolist()
    found: dict[int, list[tuple[int, float]]] = {}
    for row in by_score:
        best = found.setdefault(numbers[row], [])
        if not is_session[row] and len(best) < MOST_BEST:
            best.append((row, scores.fused[row] + scores.added[row]))
    return found


class _Scores(NamedTuple):
    """By row: the rrf_score, how much of it counts, and what is added to it."""

    rrf: Sequence[float]
    fused: Sequence[float]
    added: Sequence[float]


def _best_first(candidates: Candidates, scores: NDArray[np.float64]) -> list[int]:
    """The rows by descending score, ties by chunk id."""
    return np.lexsort((candidates.chunk_ids, -scores)).tolist()


def _score_support(
    chunks: Sequence[int], turns: Sequence[int], profile: Profile, scores: _Scores
) -> Entry:
    """The original's formula: the session chunk's own score, supported by its best turn."""
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
    """The best turn stands for its session; the next ones and the session chunk add a share."""
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
