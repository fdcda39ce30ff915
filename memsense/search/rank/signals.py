"""The signals that join the fused ranks in a score: what raw scores, dates, speakers, wording
and neighbours say.

Each is a weight in the profile and a visible term of the explanation; a signal that finds nothing
adds no term.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from memsense.embed import QuestionTokens
from memsense.search.explanation import Term
from memsense.search.profiles import Profile, Route
from memsense.search.question import Question, date_proximity
from memsense.search.rank.tokens import Comparison
from memsense.search.recall.candidates import COLUMNS, NO_WORDING_MATCH, Candidates

Values = NDArray[np.float64]

NO_TERMS: Mapping[int, Term] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One term for each of n candidates: `values` and `shown` are (n,).

    A candidate for which `shown` is False has no such term. `because` is one reason for all, or
    one for each.
    """

    name: str
    weight: float
    values: Values
    shown: NDArray[np.bool_]
    because: str | Sequence[str] = ""

    def contributions(self) -> Values:
        """weight · value where the term is shown, else 0."""
        return np.where(self.shown, self.weight * self.values, 0.0)

    def term(self, row: int) -> Term:
        """The term of one candidate."""
        value = self.values.item(row)
        return Term(
            name=self.name,
            value=value,
            weight=self.weight,
            contribution=self.weight * value,
            because=self.because if isinstance(self.because, str) else self.because[row],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreTerms:
    """What is added to every candidate's fused ranks; `totals` is (n,).

    `added` holds a further term for some, such as a reranker's, by chunk id; `compared` is what the
    terms of tokens were made of.
    """

    signals: Sequence[Signal]
    totals: Values
    chunk_ids: Sequence[int]
    added: Mapping[int, Term]
    compared: Comparison | None = None

    def of(self, row: int) -> tuple[Term, ...]:
        """The terms of one candidate, in the order in which they are explained."""
        found = [signal.term(row) for signal in self.signals if signal.shown.item(row)]
        further = self.added.get(self.chunk_ids[row])
        return (*found, further) if further else tuple(found)


def score_terms(
    candidates: Candidates,
    *,
    profile: Profile,
    question: Question,
    ceiling: Mapping[str, float],
    added: Mapping[int, Term] = NO_TERMS,
    tokens: QuestionTokens | None = None,
    sessions: bool = False,
) -> ScoreTerms:
    """The terms of every candidate: its memory score, then its signals.

    `ceiling` is the largest lexical score the question allows, by granularity. `tokens` are the
    question's, if the candidates' are to be compared with them; `sessions`: what is ranked is
    sessions.
    """
    own = [
        _coverage(candidates, profile, ceiling),
        *_similarity(candidates, profile, question),
        *_event(candidates, profile),
        *_date(candidates, profile, question),
        *_session(candidates, profile),
        *_boosts(candidates, profile, question),
    ]
    memory = Signal(
        name="memory_score",
        weight=profile.memory_alpha,
        values=candidates.memory_scores,
        shown=np.ones(len(candidates), dtype=bool),
    )
    given = [signal.contributions() for signal in own]
    neighbours = _neighbour(candidates, given, profile)
    totals = sum(given, memory.contributions())
    totals = sum((signal.contributions() for signal in neighbours), totals)
    compared = compare_candidates(candidates, tokens)
    late = []
    if compared is not None:
        expected = profile.rrf_weight * candidates.rrf_scores + totals
        late = _tokens(candidates, profile, question, compared, expected, sessions=sessions)
        totals = sum((signal.contributions() for signal in late), totals)
    chunk_ids: list[int] = candidates.chunk_ids.tolist()
    if added:
        totals += [added[key].contribution if key in added else 0.0 for key in chunk_ids]
    return ScoreTerms(
        signals=[memory, *own, *neighbours, *late],
        totals=totals,
        chunk_ids=chunk_ids,
        added=added,
        compared=compared,
    )


def _signal(name: str, weight: float, values: Values, because: str | Sequence[str] = "") -> Signal:
    """A signal that is shown wherever it changes a score."""
    shown = (weight * values) != 0
    return Signal(name=name, weight=weight, values=values, shown=shown, because=because)


def _found(candidates: Candidates, route: Route) -> NDArray[np.bool_]:
    return candidates.ranks[:, COLUMNS[route]] > 0


def _scores(candidates: Candidates, route: Route) -> Values:
    """The route's raw scores, (n,), 0 where it found nothing."""
    return candidates.scores[:, COLUMNS[route]]


def _coverage(candidates: Candidates, profile: Profile, ceiling: Mapping[str, float]) -> Signal:
    """The lexical score as a share of the largest possible one, comparable across questions."""
    turn, session = ceiling.get("turn") or np.inf, ceiling.get("session") or np.inf
    highest = np.where(candidates.is_session, session, turn)
    values = _scores(candidates, "lexical") / highest
    return _signal("coverage", profile.coverage_weight, values)


def side_similarity(
    candidates: Candidates,
    user_bonus: Values | None = None,
    assistant_bonus: Values | None = None,
) -> Values:
    """Half the cosine of the whole, half that of the nearer side, (n,); unfound ones are 0."""
    user = _with_bonus(candidates, "vec_user", user_bonus)
    assistant = _with_bonus(candidates, "vec_assistant", assistant_bonus)
    nearer = np.maximum(np.maximum(user, assistant), 0.0)
    return np.maximum(0.5 * _scores(candidates, "vec_full") + 0.5 * nearer, 0.0)


def _with_bonus(candidates: Candidates, route: Route, bonus: Values | None) -> Values:
    scores = _scores(candidates, route)
    return scores if bonus is None else np.where(_found(candidates, route), scores + bonus, 0.0)


def _similarity(candidates: Candidates, profile: Profile, question: Question) -> list[Signal]:
    """How alike question and chunk are; then what that gains or loses when the side of the one
    speaker asked about is favoured."""
    if not profile.similarity_weight:
        return []
    plain = side_similarity(candidates)
    found = [_signal("similarity", profile.similarity_weight, plain)]
    if profile.speaker_bonus and len(question.named_speakers) == 1:
        (name,) = question.named_speakers
        bonus = profile.speaker_bonus * _favoured_sides(candidates, name)
        gain = side_similarity(candidates, bonus, -bonus) - plain
        because = f"the question names {name}"
        found.append(_signal("speaker", profile.similarity_weight, gain, because))
    return found


def _favoured_sides(candidates: Candidates, name: str) -> Values:
    """1 where the user side is the named speaker's, -1 where the assistant side is, else 0."""
    pairs = zip(candidates.user_speakers, candidates.assistant_speakers, strict=True)
    return np.array(
        [(user == name) - (assistant == name) for user, assistant in pairs], dtype=float
    )


def _event(candidates: Candidates, profile: Profile) -> list[Signal]:
    if not profile.event_weight:
        return []
    values = np.maximum(_scores(candidates, "facet_events"), 0.0)
    return [_signal("event", profile.event_weight, values)]


def _date(candidates: Candidates, profile: Profile, question: Question) -> list[Signal]:
    if not (profile.date_weight and question.dates):
        return []
    near = [date_proximity(time, question.dates) for time in candidates.times]
    named = ", ".join(found.text for found in question.dates)
    values = np.array(near, dtype=float)
    return [_signal("date", profile.date_weight, values, f"the question names {named}")]


def _session(candidates: Candidates, profile: Profile) -> list[Signal]:
    """What the best session chunk of its session scores, for exchanges: a session's opinion."""
    if not profile.session_weight or candidates.session_scores is None:
        return []
    return [_signal("session", profile.session_weight, candidates.session_scores)]


def _boosts(candidates: Candidates, profile: Profile, question: Question) -> list[Signal]:
    """What is added to texts that hold the question word for word, its quotations, or what it
    names; nothing where no candidate holds any of it."""
    if not candidates.wordings:
        return []
    held = [
        candidates.wordings.get(chunk_id, NO_WORDING_MATCH)
        for chunk_id in candidates.chunk_ids.tolist()
    ]
    quoted = [f"“{text}”" for text in question.quoted]
    shares = [len(item.quoted) / len(quoted) if quoted else 0.0 for item in held]
    return [
        _signal(
            "phrase",
            profile.phrase_boost,
            np.array([float(item.phrase) for item in held]),
            "the text holds the question word for word",
        ),
        _signal(
            "quoted",
            profile.quoted_boost,
            np.array(shares),
            [_list_held(quoted, item.quoted) for item in held],
        ),
        _signal(
            "identifier",
            profile.identifier_boost,
            np.array([item.identifier_share for item in held]),
            [_list_held(question.identifiers, item.identifiers) for item in held],
        ),
    ]


def _list_held(texts: Sequence[str], places: Sequence[int]) -> str:
    return f"the text holds {', '.join(texts[place] for place in places)}"


def _neighbour(candidates: Candidates, given: Sequence[Values], profile: Profile) -> list[Signal]:
    """A share of the better neighbouring turn's score, for turns that stand side by side.

    `given` is what the other signals contribute.
    """
    if not profile.neighbour_weight or not len(candidates):
        return []
    scores = sum(given, profile.rrf_weight * candidates.rrf_scores)
    values, beside = _better_beside(candidates, scores)
    values = np.maximum(values, 0.0)
    return [
        Signal(
            name="neighbour",
            weight=profile.neighbour_weight,
            values=values,
            shown=values > 0,
            because=beside,
        )
    ]


def _better_beside(candidates: Candidates, values: Values) -> tuple[Values, Sequence[str]]:
    """The larger of the values of the turns beside each candidate, (n,), -inf where there is none
    among the candidates; and which turn has it."""
    order, beside = _side_by_side(candidates)
    before = values[order]
    previous = np.full(len(order), -np.inf)
    following = previous.copy()
    np.copyto(previous[1:], before[:-1], where=beside)
    np.copyto(following[:-1], before[1:], where=beside)
    better = np.empty(len(order))
    better[order] = np.maximum(previous, following)
    alone = np.isinf(better)
    return better, _Beside(candidates.chunk_ids, order, following > previous, alone)


_EXPECTED = "not compared: what its other terms let expect"
_NOBODY = "none of its neighbours is a candidate: the mean of all"
_WHEN = re.compile(r"\bwhen\b", re.IGNORECASE)


def _tokens(
    candidates: Candidates,
    profile: Profile,
    question: Question,
    compared: Comparison,
    scores: Values,
    *,
    sessions: bool,
) -> list[Signal]:
    """What tokens say of every turn. One that was not compared is taken for what turns of its score
    are on average, so that it neither rises nor falls for that."""
    is_turn = ~candidates.is_session
    known = np.zeros(len(candidates), dtype=bool)
    known[compared.rows] = True
    because = ["" if found else _EXPECTED for found in known.tolist()]
    own = _expect(compared.values, compared.rows, scores)
    found = [_of_turns("tokens", profile.tokens_weight, own, is_turn, because)]
    if profile.tokens_near_weight:
        near, beside = _better_beside(candidates, own)
        alone = np.isinf(near)
        near[alone] = own[is_turn].mean()
        found.append(_of_turns("tokens_near", profile.tokens_near_weight, near, is_turn, beside))
    if sessions and profile.tokens_session_weight:
        joined = own.copy()
        joined[compared.rows] = compared.of_sessions(np.array(candidates.session_numbers))
        found.append(_of_turns("tokens_session", profile.tokens_session_weight, joined, is_turn))
    if profile.asks_weight:
        asking = np.full(len(candidates), compared.asking.mean())
        asking[compared.rows] = compared.asking
        found.append(_of_turns("asks", profile.asks_weight, asking, is_turn, because))
    if profile.when_time_weight:
        found += _when_time(candidates, profile, question, compared)
    return found


def compare_candidates(candidates: Candidates, tokens: QuestionTokens | None) -> Comparison | None:
    """The question's tokens beside the candidates'; None unless both have some."""
    if tokens is None or candidates.tokens is None or not len(candidates.tokens.places):
        return None
    return Comparison(question=tokens, tokens=candidates.tokens)


def _expect(values: Values, rows: NDArray[np.int64], scores: Values) -> Values:
    """The values of these rows, and for every other what its score lets expect: the line of least
    squares through them, within their range; (n,)."""
    known = scores[rows]
    spread = known - known.mean()
    squares = float(spread @ spread)
    slope = float(spread @ values) / squares if squares > 0 else 0.0
    expected = values.mean() + slope * (scores - known.mean())
    expected = np.clip(expected, values.min(), values.max())
    expected[rows] = values
    return expected


def _of_turns(
    name: str,
    weight: float,
    values: Values,
    is_turn: NDArray[np.bool_],
    because: str | Sequence[str] = "",
) -> Signal:
    shown = is_turn & (weight * values != 0)
    return Signal(name=name, weight=weight, values=values, shown=shown, because=because)


def _when_time(
    candidates: Candidates, profile: Profile, question: Question, compared: Comparison
) -> list[Signal]:
    """Whether the side of the one speaker whom a when-question names tells a time."""
    if len(question.named_speakers) != 1 or not _WHEN.search(question.text):
        return []
    (name,) = question.named_speakers
    is_user = np.array([speaker == name for speaker in candidates.user_speakers], dtype=bool)
    is_assistant = np.array(
        [speaker == name for speaker in candidates.assistant_speakers], dtype=bool
    )
    values = np.zeros(len(candidates))
    values[compared.rows] = compared.tells_time(is_user, is_assistant)
    because = f"{name} says when"
    return [_signal("when_time", profile.when_time_weight, values, because)]


def _side_by_side(candidates: Candidates) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The rows in the order of sessions, (n,), and whether each two in a row, (n - 1,), are turns
    that are parts of one exchange or of adjoining ones."""
    sessions = np.array(candidates.session_numbers)
    if candidates.is_session.any():  # a session chunk is nobody's neighbour: a session of its own
        alone = np.arange(len(sessions), 2 * len(sessions))
        sessions = np.where(candidates.is_session, alone, sessions)
    order = np.lexsort((candidates.parts, candidates.ordinals, sessions))
    sessions, ordinals = sessions[order], candidates.ordinals[order]
    return order, (sessions[1:] == sessions[:-1]) & (ordinals[1:] - ordinals[:-1] <= 1)


class _Beside(Sequence[str]):
    """The reasons of what the better neighbour gives, worded when asked for."""

    def __init__(
        self,
        chunk_ids: NDArray[np.int64],
        order: NDArray[np.int64],
        is_next: NDArray[np.bool_],
        alone: NDArray[np.bool_],
    ) -> None:
        self._chunk_ids = chunk_ids
        self._order = order
        self._is_next = is_next
        self._alone = alone

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, row: int) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        if self._alone[row]:
            return _NOBODY
        place = int(np.flatnonzero(self._order == row)[0])
        beside = self._order[place + 1 if self._is_next[place] else place - 1]
        return f"beside chunk {self._chunk_ids[beside]}"
