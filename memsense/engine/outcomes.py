"""What became of every candidate of a search: chosen as which hit, or dropped by which step."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from memsense.candidates import Candidate
from memsense.engine.searching import Search
from memsense.explanation import RouteContribution, Selection, SessionSupport, Term
from memsense.profiles import Profile
from memsense.rerank import Ranked, Ranking, contributions

DropStep = Literal["duplicate", "mmr", "session"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A candidate and its fate.

    `position` is its place after fusion, `score_rank` its place by final_score among what MMR
    chose from (None for a candidate that its session left to another), `hit_rank` its place in
    the answer. `selection` holds the MMR numbers of the step that chose it, or of the last step
    that didn't; `bar` the MMR score that won that step. `lost_to` is the chunk it duplicates, or
    the one that stands for its session. base_score + turn support + terms = final_score, where
    base_score is the sum of the routes' contributions, or 0 for a turn that only supports.
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
    threshold = search.request.profile.duplicate_threshold
    entries = _entry_outcomes(search.ranking, threshold)
    standing = {
        (item.candidate.scope_id, item.candidate.session_id): item.candidate.chunk_id
        for item in search.ranking.scored
    }
    found: list[Outcome] = []
    for position, candidate in enumerate(search.candidates, start=1):
        entry = entries.get(candidate.chunk_id)
        if entry is None:
            representative = standing[candidate.scope_id, candidate.session_id]
            found.append(_left_to_session(search, position, candidate, representative))
        else:
            found.append(_place(entry, position, search.request.profile))
    return found


@dataclass(frozen=True, slots=True)
class _Entry:
    """What MMR made of one entry: the numbers of its deciding step, and its fate."""

    ranked: Ranked
    score_rank: int
    selection: Selection
    bar: float
    dropped_by: DropStep | None


def _entry_outcomes(ranking: Ranking, threshold: float) -> dict[int, _Entry]:
    chosen = {item.candidate.chunk_id: item.explanation.selection for item in ranking.chosen}
    last = ranking.chosen[-1].explanation.selection if ranking.chosen else None
    found: dict[int, _Entry] = {}
    for index, item in enumerate(ranking.scored):
        chunk_id = item.candidate.chunk_id
        step = chosen.get(chunk_id)
        if step is not None:
            found[chunk_id] = _Entry(item, index + 1, step, step.mmr_score, None)
        elif last is not None:
            found[chunk_id] = _lost(ranking, index, last, threshold)
    return found


def _lost(ranking: Ranking, index: int, last: Selection, threshold: float) -> _Entry:
    """An entry as it stood when the last hit was chosen instead of it.

    Near-duplicates are passed over while others remain; once only they remain, MMR decides.
    """
    rival = int(ranking.against[index])
    relevance, redundancy = float(ranking.relevance[index]), float(ranking.redundancy[index])
    duplicate = redundancy >= threshold
    step = Selection(
        selected_rank=0,
        relevance=relevance,
        max_redundancy=redundancy,
        against=ranking.scored[rival].candidate.chunk_id if rival >= 0 else None,
        mmr_lambda=last.mmr_lambda,
        mmr_score=last.mmr_lambda * relevance - (1 - last.mmr_lambda) * redundancy,
        duplicate=duplicate,
    )
    dropped: DropStep = "duplicate" if duplicate and not last.duplicate else "mmr"
    return _Entry(ranking.scored[index], index + 1, step, last.mmr_score, dropped)


def _place(entry: _Entry, position: int, profile: Profile) -> Outcome:
    explanation = entry.ranked.explanation
    candidate = entry.ranked.candidate
    chosen = entry.dropped_by is None
    return Outcome(
        position=position,
        candidate=candidate,
        routes=explanation.routes or contributions(candidate, profile),
        base_score=explanation.rrf_score,
        terms=explanation.terms,
        session=explanation.session,
        final_score=explanation.final_score,
        score_rank=entry.score_rank,
        selection=entry.selection,
        bar=entry.bar,
        hit_rank=entry.selection.selected_rank if chosen else None,
        dropped_by=entry.dropped_by,
        lost_to=entry.selection.against if entry.dropped_by == "duplicate" else None,
    )


def _left_to_session(
    search: Search, position: int, candidate: Candidate, representative: int
) -> Outcome:
    routes = contributions(candidate, search.request.profile)
    rrf_score = sum(route.contribution for route in routes)
    terms = search.ranking.terms.of(position - 1)
    return Outcome(
        position=position,
        candidate=candidate,
        routes=routes,
        base_score=rrf_score,
        terms=terms,
        session=None,
        final_score=rrf_score + sum(term.contribution for term in terms),
        score_rank=None,
        selection=None,
        bar=None,
        hit_rank=None,
        dropped_by="session",
        lost_to=representative,
    )
