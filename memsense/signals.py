"""The signals that join the fused ranks in a score: what raw scores, dates, speakers and
neighbours say.

Each is a weight in the profile and a visible term of the explanation; a signal that finds nothing
adds no term.
"""

from collections.abc import Mapping, Sequence

from memsense.explanation import Term
from memsense.profiles import Profile, Route
from memsense.question import Question, date_proximity
from memsense.recall import Candidate

Scores = Mapping[Route, float]


def score_terms(
    candidates: Sequence[Candidate],
    *,
    profile: Profile,
    question: Question,
    ceiling: Mapping[str, float],
) -> dict[int, tuple[Term, ...]]:
    """The terms of every candidate, by chunk id: its memory score, then its signals.

    `ceiling` is the largest lexical score the question allows, by granularity.
    """
    own = {
        candidate.chunk_id: tuple(_own_terms(candidate, profile, question, ceiling))
        for candidate in candidates
    }
    nearby = _neighbour_terms(candidates, own, profile)
    return {
        candidate.chunk_id: (
            _term("memory_score", candidate.memory_score, profile.memory_alpha),
            *own[candidate.chunk_id],
            *nearby.get(candidate.chunk_id, ()),
        )
        for candidate in candidates
    }


def _term(name: str, value: float, weight: float, because: str = "") -> Term:
    return Term(name=name, value=value, weight=weight, contribution=weight * value, because=because)


def _own_terms(
    candidate: Candidate, profile: Profile, question: Question, ceiling: Mapping[str, float]
) -> list[Term]:
    scores: dict[Route, float] = {hit.route: hit.score for hit in candidate.routes}
    found = [_coverage(scores, candidate, profile, ceiling)]
    if profile.similarity_weight:
        found.append(_term("similarity", side_similarity(scores), profile.similarity_weight))
        if profile.speaker_bonus and (favoured := _favoured_side(candidate, question)):
            found.append(_speaker(scores, favoured, profile, question))
    if profile.event_weight and "facet_events" in scores:
        found.append(_term("event", max(scores["facet_events"], 0.0), profile.event_weight))
    if profile.date_weight and question.dates:
        found.append(_date(candidate, profile, question))
    return [term for term in found if term.contribution]


def _coverage(
    scores: Scores, candidate: Candidate, profile: Profile, ceiling: Mapping[str, float]
) -> Term:
    """The lexical score as a share of the largest possible one, comparable across questions."""
    highest = ceiling.get(candidate.granularity, 0.0)
    value = scores.get("lexical", 0.0) / highest if highest else 0.0
    return _term("coverage", value, profile.coverage_weight)


def side_similarity(scores: Scores, user_bonus: float = 0.0, assistant_bonus: float = 0.0) -> float:
    """Half the cosine of the whole, half that of the nearer side; 0 where no route found it."""
    bonuses: dict[Route, float] = {"vec_user": user_bonus, "vec_assistant": assistant_bonus}
    sides = [scores[route] + bonus for route, bonus in bonuses.items() if route in scores]
    return max(0.5 * scores.get("vec_full", 0.0) + 0.5 * max([*sides, 0.0]), 0.0)


def _speaker(scores: Scores, favoured: int, profile: Profile, question: Question) -> Term:
    """What similarity gains or loses when the side of the one speaker asked about is favoured."""
    bonus = favoured * profile.speaker_bonus
    gain = side_similarity(scores, bonus, -bonus) - side_similarity(scores)
    name = question.named_speakers[0]
    return _term("speaker", gain, profile.similarity_weight, f"the question names {name}")


def _favoured_side(candidate: Candidate, question: Question) -> int:
    """1 for the user side, -1 for the assistant side, 0 unless one of them alone was named."""
    if len(question.named_speakers) != 1:
        return 0
    (name,) = question.named_speakers
    return (candidate.user_speaker == name) - (candidate.assistant_speaker == name)


def _date(candidate: Candidate, profile: Profile, question: Question) -> Term:
    near = date_proximity(candidate.occurred_at, question.dates)
    named = ", ".join(found.text for found in question.dates)
    return _term("date", near, profile.date_weight, f"the question names {named}")


def _neighbour_terms(
    candidates: Sequence[Candidate], own: Mapping[int, Sequence[Term]], profile: Profile
) -> dict[int, tuple[Term, ...]]:
    """A share of the better neighbouring turn's score, for turns that stand side by side."""
    if not profile.neighbour_weight:
        return {}
    turns = [candidate for candidate in candidates if candidate.granularity == "turn"]
    turns.sort(key=lambda item: (item.scope_id, item.session_id, item.ordinal, item.part))
    scores = [_score_before(turn, own[turn.chunk_id], profile) for turn in turns]
    best: dict[int, tuple[float, int]] = {}
    for index in range(len(turns) - 1):
        one, other = turns[index], turns[index + 1]
        if _are_neighbours(one, other):
            _keep_better(best, one.chunk_id, scores[index + 1], other.chunk_id)
            _keep_better(best, other.chunk_id, scores[index], one.chunk_id)
    return {
        chunk_id: (_term("neighbour", score, profile.neighbour_weight, f"beside chunk {beside}"),)
        for chunk_id, (score, beside) in best.items()
    }


def _score_before(candidate: Candidate, terms: Sequence[Term], profile: Profile) -> float:
    return profile.rrf_weight * candidate.rrf_score + sum(term.contribution for term in terms)


def _are_neighbours(one: Candidate, other: Candidate) -> bool:
    same_session = (one.scope_id, one.session_id) == (other.scope_id, other.session_id)
    return same_session and other.ordinal - one.ordinal <= 1


def _keep_better(
    best: dict[int, tuple[float, int]], chunk_id: int, score: float, beside: int
) -> None:
    if score > best.get(chunk_id, (0.0, 0))[0]:
        best[chunk_id] = (score, beside)
