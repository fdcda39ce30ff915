"""The score phase: the terms that join the fused ranks in every candidate's score.

Each term has a weight in the profile and a line in the explanation; a signal that finds nothing
adds no term. Terms read raw scores, dates, speakers and wordings. They also compare tokens: late
interaction, the MaxSim of Khattab and Zaharia (ColBERT, 2020), over the embedder's token vectors,
with a bit a dimension on the candidates' side.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from memsense.embed import QuestionTokens
from memsense.embed.tokens import UNKNOWN_PIECE
from memsense.search.explanation import SideValues, Term, WordMatch
from memsense.search.profiles import SECOND_MODEL, VECTOR_ROUTES, Profile
from memsense.search.question import Question
from memsense.search.question.proximity import date_proximity
from memsense.search.rank.current import Current
from memsense.search.recall.candidates import (
    COLUMNS,
    NO_WORDING_MATCH,
    Candidates,
    CandidateTokens,
)

Values = NDArray[np.float64]

NO_TERMS: Mapping[int, Term] = MappingProxyType({})

# OpenBLAS, which numpy is built with, shares larger products among all cores, and its threads wait
# for one another without sleeping. A search gains nothing by that and takes the cores from others:
# 70 µs of one thread became 16 ms of processor time while other programs ran.
MOST_ALONE = 1 << 18
"""Number of multiplications up to which OpenBLAS leaves a matrix product to the calling thread."""

ORDER_STEP = 0.5
"""Distance of two memories that are put in the order of time, so that diversity keeps it."""

_DAY = timedelta(days=1)

# 512 rows of 384 signs are 0.8 MB, which the processor's cache holds until they are multiplied:
# 2,048 rows took three times the time of 512.
_UNPACKED_ROWS = 512

# The eight signs that each byte holds, (256, 8), so that bits become signs by one lookup.
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, np.newaxis], axis=1)
_SIGNS = 2 * _BITS.astype(np.float32) - 1

CLAUSE_ENDS = frozenset("?!.,;:")
SHORTEST_CLAUSE = 5
"""Tokens of the shortest part of a message that is judged by itself."""

_VECTOR_COLUMNS = [COLUMNS[route] for route in VECTOR_ROUTES]

_EXPECTED = "not compared: estimated from its other terms"
# It begins with a blank, not with the look-behind, which would be tried at every character.
_IN_NUMBER = re.compile(r" ([.,:]) (?<=\d [.,:] )(?=\d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One term for each of n candidates; `values` and `applies` are (n,).

    A candidate for which `applies` is False has no such term. `because` is one reason for all, or
    one for each.
    """

    name: str
    weight: float
    values: Values
    applies: NDArray[np.bool_]
    because: str | Sequence[str] = ""

    def contributions(self) -> Values:
        """Return weight * value for each candidate, 0 where there is no such term."""
        return np.where(self.applies, self.weight * self.values, 0.0)

    def term(self, row: int) -> Term:
        """Return the term of one candidate."""
        value = self.values.item(row)
        return Term(
            name=self.name,
            value=value,
            weight=self.weight,
            contribution=self.weight * value,
            because=self.because if isinstance(self.because, str) else self.because[row],
        )


class Scored(NamedTuple):
    """A candidate's terms, in the order of their explanation, and the values behind them."""

    terms: tuple[Term, ...]
    coverage: float
    similarity: float
    matches: Sequence[WordMatch] = ()
    sides: SideValues | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreTerms:
    """The terms that are added to the fused ranks of n candidates; `totals` (n,) are their sums.

    `coverage` and `similarity` (n,) are the values of these terms, also where their weight is 0.
    `added` maps chunk ids to a further term, such as a reranker's; `compared` is the comparison of
    tokens behind the token terms, `current` that of statements about one fact.
    """

    signals: Sequence[Signal]
    totals: Values
    coverage: Values
    similarity: Values
    chunk_ids: Sequence[int]
    added: Mapping[int, Term]
    compared: "Comparison | None" = None
    current: Current | None = None

    def of(self, row: int) -> tuple[Term, ...]:
        """Return the terms of one candidate, in the order in which they are explained."""
        terms = [signal.term(row) for signal in self.signals if signal.applies.item(row)]
        further = self.added.get(self.chunk_ids[row])
        return (*terms, further) if further else tuple(terms)

    def explain(self, row: int) -> Scored:
        """Return everything that the score phase knows of a candidate."""
        compared = self.compared
        return Scored(
            terms=self.of(row),
            coverage=self.coverage.item(row),
            similarity=self.similarity.item(row),
            matches=() if compared is None else compared.matches(row),
            sides=None if compared is None else compared.sides(row),
        )


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
    """Return the terms of every candidate: its memory score, then its signals.

    `ceiling` is the largest lexical score that the question allows, by granularity. `tokens` are
    the question's, if the candidates' are to be compared with them. `sessions` says that sessions
    are ranked.
    """
    order = question.order if profile.latest_weight else None
    # "The last time" orders memories of one topic by their time, whichever states a fact now.
    is_by_time = order is not None and order.kind in {"last", "first"}
    # A share of the largest score, so that it means the same for every question.
    coverage = _coverage(candidates, ceiling)
    similarity = _similarity(candidates)
    own = _own_signals(candidates, profile, question, coverage, similarity)
    memory = Signal(
        name="memory_score",
        weight=profile.memory_alpha,
        values=candidates.memory_scores,
        applies=np.ones(len(candidates), dtype=bool),
    )
    totals = sum([signal.contributions() for signal in own], memory.contributions())
    # What a candidate has by itself, whichever model compares it.
    boosts = sum([signal.contributions() for signal in own[2:]], memory.contributions())
    # Tokens come last: the score by the other terms says what to expect of a candidate that was not
    # compared.
    compared, current, late = None, None, list[Signal]()
    if tokens is not None and candidates.tokens is not None and len(candidates.tokens.places):
        compared = Comparison(question=tokens, tokens=candidates.tokens)
        scores = profile.rrf_weight * candidates.rrf_scores + totals
        late = _token_signals(candidates, profile, question, compared, scores, sessions=sessions)
        totals = sum([signal.contributions() for signal in late], totals)
        if profile.current_weight and not is_by_time:
            # Last of all, since it compares what the candidates score by everything else.
            current = Current(
                candidates=candidates,
                profile=profile,
                question=question,
                rows=compared.rows.tolist(),
                messages=compared,
                scores=profile.rrf_weight * candidates.rrf_scores + totals,
            )
            rising = _current_signal(current, profile, len(candidates))
            totals = totals + rising.contributions()
            late.append(rising)
    if candidates.by_other.any():
        scores = profile.rrf_weight * candidates.rrf_scores + totals - boosts
        second = _second_model_signal(candidates, coverage, similarity, scores)
        totals = totals + second.contributions()
        late.append(second)
    if profile.words_alone_weight and not candidates.embedded.all():
        # After everything that compares candidates: no other score may depend on the rise.
        alone = _words_alone_signal(
            candidates, profile, coverage, profile.rrf_weight * candidates.rrf_scores + totals
        )
        totals = totals + alone.contributions()
        late.append(alone)
    if len(candidates) and (is_by_time or question.neighbours):
        scores = profile.rrf_weight * candidates.rrf_scores + totals
        if order is not None and is_by_time:
            ordered = _latest_signal(candidates, profile, question, order.kind, scores)
        else:
            ordered = _beside_signal(candidates, profile, question, scores)
        totals = totals + ordered.contributions()
        late.append(ordered)
    chunk_ids: list[int] = candidates.chunk_ids.tolist()
    if added:
        totals += [added[key].contribution if key in added else 0.0 for key in chunk_ids]
    return ScoreTerms(
        signals=[memory, *own, *late],
        totals=totals,
        coverage=coverage,
        similarity=similarity,
        chunk_ids=chunk_ids,
        added=added,
        compared=compared,
        current=current,
    )


def _current_signal(current: Current, profile: Profile, count: int) -> Signal:
    """Return the signal that lifts the statement which the question's tense asks for."""
    values, because = np.zeros(count), [""] * count
    for row, (lift, other) in current.lifts().items():
        values[row], because[row] = lift, current.describe(row, other)
    return _make_signal("current", profile.current_weight, values, because)


def _second_model_signal(
    candidates: Candidates, coverage: Values, similarity: Values, scores: Values
) -> Signal:
    """Return the signal that brings what the second model compares on the scale of the rest.

    Its candidates lack the terms of tokens, and distances of two models give no common ranks. But
    by cosine and words alone either model's can be ordered together. There a candidate takes its
    place among those of the first model, whose own order by all terms stays as it is: it gets the
    score that the one in the same place has.
    """
    values, because = np.zeros(len(candidates)), [""] * len(candidates)
    plain = (
        SECOND_MODEL["similarity_weight"] * similarity + SECOND_MODEL["coverage_weight"] * coverage
    )
    for members in (candidates.is_session, ~candidates.is_session):
        rows = np.flatnonzero(members & candidates.by_other)
        first = members & candidates.embedded & ~candidates.by_other
        if not len(rows):
            continue
        marks, own = np.sort(plain[first]), np.sort(scores[first])
        if not len(marks):
            marks = own = np.zeros(1)
        target = np.interp(plain[rows], marks, own)
        # Beyond both ends it goes on as it goes within.
        width = marks[-1] - marks[0]
        slope = (own[-1] - own[0]) / width if width > 0 else 1.0
        target += slope * np.maximum(plain[rows] - marks[-1], 0)
        target -= slope * np.maximum(marks[0] - plain[rows], 0)
        values[rows] = target - scores[rows]
        places = len(marks) - np.searchsorted(marks, plain[rows], side="left") + 1
        for row, place in zip(rows.tolist(), places.tolist(), strict=True):
            because[row] = (
                f"by its cosine and words, {plain.item(row):.2f}, it would be number {place} of the"
                " texts in the first model's languages"
            )
    return _make_signal("second_model", 1.0, values, because)


def _words_alone_signal(
    candidates: Candidates, profile: Profile, coverage: Values, scores: Values
) -> Signal:
    """Return the signal that gives candidates without vectors the place that words give them.

    Only the lexical route can find such a candidate, so that it lacks the shares of all others, and
    even the best match by words would stay behind. Ranked r-th by words, it rises to the r-th best
    score of the candidates with vectors, or a part of the way if words cover little.
    """
    values, because = np.zeros(len(candidates)), [""] * len(candidates)
    places = candidates.ranks[:, COLUMNS["lexical"]]
    waits = ~candidates.embedded & (places > 0)
    strength = np.minimum(1.0, coverage / profile.words_alone_coverage)
    is_session = candidates.is_session
    together = [np.ones(len(candidates), dtype=bool)]
    lists = [is_session, ~is_session] if profile.ranks == "apart" else together
    found_by_vectors = (candidates.ranks[:, _VECTOR_COLUMNS] > 0).any()
    for members in lists if found_by_vectors else ():
        best = -np.sort(-scores[members & candidates.embedded])
        for row in np.flatnonzero(members & waits).tolist():
            place = places.item(row)
            if place <= len(best):
                values[row] = max(0.0, strength.item(row) * (best.item(place - 1) - scores[row]))
                because[row] = f"it has no vectors; by words it is number {place}"
    return _make_signal("words_alone", profile.words_alone_weight, values, because)


def _latest_signal(
    candidates: Candidates, profile: Profile, question: Question, kind: str, scores: Values
) -> Signal:
    """Return the signal that orders the memories which fit about as well as the best by time.

    `kind` is "last" for the latest first, "first" for the earliest. Where the question names a
    time, only memories of that time count.
    """
    fitting: list[tuple[datetime, int, int]] = []
    for row, at in enumerate(candidates.times):
        if at is None:
            continue
        day = question.calendar.day_of(at, zone_known=bool(candidates.zones_known[row]))
        if not question.stretches or question.confidence_of(day):
            fitting.append((at, candidates.chunk_ids.item(row), row))
    best = max((scores[row] for *_, row in fitting), default=0.0)
    band = [it for it in fitting if scores[it[-1]] >= profile.latest_band * best]
    rows = [row for *_, row in sorted(band, reverse=kind == "last")]
    becauses = [
        f"the number {place} of {len(rows)} that fit about as well, the {kind} one first"
        for place in range(1, len(rows) + 1)
    ]
    return _ordered_signal("latest", profile.latest_weight, rows, becauses, scores)


def _beside_signal(
    candidates: Candidates, profile: Profile, question: Question, scores: Values
) -> Signal:
    """Return the signal that lifts the memories next to the anchor, the nearest first."""
    rows: list[int] = []
    becauses: list[str] = []
    places = {chunk_id: row for row, chunk_id in enumerate(candidates.chunk_ids.tolist())}
    side = question.order.kind if question.order else ""
    for neighbour in sorted(question.neighbours, key=lambda it: (not it.place, it.place)):
        if neighbour.chunk_id in places:
            rows.append(places.pop(neighbour.chunk_id))
            anchor = f"chunk {neighbour.anchor_id}"
            text = (
                f"{neighbour.place} {side} {anchor}"
                if neighbour.place
                else "the question is about it"
            )
            becauses.append(text)
    return _ordered_signal("beside", profile.beside_weight, rows, becauses, scores)


def _ordered_signal(
    name: str, weight: float, rows: Sequence[int], becauses: Sequence[str], scores: Values
) -> Signal:
    """Return the signal that puts some rows above all others, in their order."""
    values, because = np.zeros(len(scores)), [""] * len(scores)
    for place, (row, reason) in enumerate(zip(rows, becauses, strict=True)):
        values[row] = scores.max() + ORDER_STEP * (len(rows) - place) - scores[row]
        because[row] = reason
    return _make_signal(name, weight, values, because)


def _coverage(candidates: Candidates, ceiling: Mapping[str, float]) -> Values:
    """Return the lexical score as a share of the largest one that the question allows, (n,)."""
    turn, session = ceiling.get("turn") or np.inf, ceiling.get("session") or np.inf
    highest = np.where(candidates.is_session, session, turn)
    return candidates.scores[:, COLUMNS["lexical"]] / highest


def _make_signal(
    name: str, weight: float, values: Values, because: str | Sequence[str] = ""
) -> Signal:
    """Return a signal that applies wherever it changes a score."""
    applies = (weight * values) != 0
    return Signal(name=name, weight=weight, values=values, applies=applies, because=because)


def _own_signals(
    candidates: Candidates,
    profile: Profile,
    question: Question,
    coverage: Values,
    similarity: Values,
) -> list[Signal]:
    """Return the signals that look at each candidate by itself."""
    signals = [
        _make_signal("coverage", profile.coverage_weight, coverage),
        _make_signal("similarity", profile.similarity_weight, similarity),
    ]
    if question.intervals:
        day_of, zones = question.calendar.day_of, candidates.zones_known.tolist()
        days = [
            at and day_of(at, zone_known=has_zone)
            for at, has_zone in zip(candidates.times, zones, strict=True)
        ]
        near = np.array([date_proximity(day, question.intervals) for day in days], dtype=float)
        reason = f"the question names {', '.join([item.text for item in question.intervals])}"
        signals.append(_make_signal("date", profile.date_weight, near, reason))
        signals.append(_inside_signal(days, profile, question))
    if candidates.wordings:
        signals += _boosts(candidates, profile, question)
    return signals


def _inside_signal(days: Sequence[date | None], profile: Profile, question: Question) -> Signal:
    """Return the signal of memories whose day lies in a time that the question names.

    Short times count only where nothing else is asked: people tell of a day later and name it, so
    that the answer to a question with a topic often lies behind the day.
    """
    is_alone = question.is_dated_alone
    weight = profile.inside_alone_weight if is_alone else profile.inside_weight
    least = timedelta(days=1 if is_alone else profile.inside_days)
    # The best one comes last, and so decides.
    stretches = sorted(question.stretches, key=lambda it: it.confidence)
    values, because = np.zeros(len(days)), [""] * len(days)
    for stretch in stretches:
        if stretch.interval.last - stretch.interval.first + _DAY < least:
            continue
        reason = f"it lies in {stretch}"
        for row, day in enumerate(days):
            if day is not None and stretch.first <= day <= stretch.last:
                values[row], because[row] = stretch.confidence, reason
    return _make_signal("inside", weight, values, because)


def _similarity(candidates: Candidates) -> Values:
    """Return half the cosine of the whole and half that of the nearer side, (n,), at least 0."""
    full, user, assistant = (
        candidates.scores[:, COLUMNS[route]] for route in ("vec_full", "vec_user", "vec_assistant")
    )
    nearer = np.maximum(np.maximum(user, assistant), 0.0)
    return np.maximum(0.5 * full + 0.5 * nearer, 0.0)


def _boosts(candidates: Candidates, profile: Profile, question: Question) -> list[Signal]:
    """Return the signals of texts that hold wordings of the question word for word."""
    matches = [
        candidates.wordings.get(chunk_id, NO_WORDING_MATCH)
        for chunk_id in candidates.chunk_ids.tolist()
    ]
    quoted = [f"“{text}”" for text in question.quoted]
    shares = [len(item.quoted) / len(quoted) if quoted else 0.0 for item in matches]
    return [
        _make_signal(
            "phrase",
            profile.phrase_boost,
            np.array([float(item.phrase) for item in matches]),
            "the text holds the question word for word",
        ),
        _make_signal(
            "quoted",
            profile.quoted_boost,
            np.array(shares),
            [_list_texts(quoted, item.quoted) for item in matches],
        ),
        _make_signal(
            "identifier",
            profile.identifier_boost,
            np.array([item.identifier_share for item in matches]),
            [_list_texts(question.identifiers, item.identifiers) for item in matches],
        ),
    ]


def _list_texts(texts: Sequence[str], places: Sequence[int]) -> str:
    return f"the text holds {', '.join([texts[place] for place in places])}"


def _token_signals(
    candidates: Candidates,
    profile: Profile,
    question: Question,
    compared: "Comparison",
    scores: Values,
    *,
    sessions: bool,
) -> list[Signal]:
    """Return the signals of every turn that come from tokens."""
    is_turn = ~candidates.is_session
    has_tokens = np.zeros(len(candidates), dtype=bool)
    has_tokens[compared.rows] = True
    reasons = ["" if is_compared else _EXPECTED for is_compared in has_tokens.tolist()]

    def signal_of_turns(
        name: str, weight: float, values: Values, because: str | Sequence[str] = ""
    ) -> Signal:
        applies = is_turn & ~candidates.by_other & (weight * values != 0)
        return Signal(name=name, weight=weight, values=values, applies=applies, because=because)

    def expected(values: Values) -> Values:
        return _expect(values, compared.rows, scores)

    own = expected(compared.values)
    signals = [signal_of_turns("tokens", profile.tokens_weight, own, reasons)]
    # Who asks about one speaker wants that speaker's words, not the other's answer to them.
    if profile.tokens_speaker_weight and len(question.named_speakers) == 1:
        (name,) = question.named_speakers
        pairs = zip(candidates.user_speakers, candidates.assistant_speakers, strict=True)
        sides = np.array([(user == name) - (other == name) for user, other in pairs])
        named, other = compared.by_speaker(sides[compared.rows])
        weight, reason = profile.tokens_speaker_weight, f"the words of {name}, less the other's"
        signals.append(signal_of_turns("tokens_speaker", weight, expected(named - other), reason))
    if profile.tokens_around_weight:
        around = expected(compared.around(candidates))
        weight = profile.tokens_around_weight
        signals.append(signal_of_turns("tokens_around", weight, around, reasons))
    weight = profile.tokens_session_weight if sessions else profile.tokens_whole_weight
    if weight:
        joined = own.copy()
        joined[compared.rows] = compared.of_sessions(np.array(candidates.session_numbers))
        signals.append(signal_of_turns("tokens_session", weight, joined))
    return signals


def _expect(values: Values, rows: NDArray[np.int64], scores: Values) -> Values:
    """Return the values of these rows, and for the others estimates from their scores, (n,).

    The estimates lie on the line of least squares through the known ones, within their range.
    A memory with tokens for a part of its exchanges is thereby ranked without a jump.
    """
    own = scores[rows]
    average = own.mean()
    spread = own - average
    squares = float(spread @ spread)
    slope = float(spread @ values) / squares if squares > 0 else 0.0
    expected = values.mean() + slope * (scores - average)
    expected = np.clip(expected, values.min(), values.max())
    expected[rows] = values
    return expected


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """The tokens of a question compared with those of m candidates that have tokens."""

    question: QuestionTokens
    tokens: CandidateTokens

    @cached_property
    def _near(self) -> NDArray[np.float32]:
        """Return the similarity of each candidate's token and question token, (t, words)."""
        return _compare(self.question, self.tokens)

    @cached_property
    def _nearest_by_side(self) -> NDArray[np.float32]:
        """Return the similarity of each question token's nearest token on each side.

        (m, 2, words) float32: the user's side, then the assistant's; -inf on a side without tokens.
        """
        near, tokens = self._near, self.tokens
        first, split, user_counts = (
            tokens.starts,
            tokens.starts + tokens.user_counts,
            tokens.user_counts,
        )
        starts = np.stack((first, split), axis=1).reshape(-1)
        counts = np.stack((user_counts, tokens.counts - user_counts), axis=1).reshape(-1)
        # A side without tokens has no place in `reduceat`, which would give it the next token.
        has_tokens = counts > 0
        sides = np.full((len(starts), near.shape[1]), -np.inf, dtype=np.float32)
        sides[has_tokens] = np.maximum.reduceat(near, starts[has_tokens], axis=0)
        return sides.reshape(len(first), 2, -1)

    @cached_property
    def nearest(self) -> NDArray[np.float32]:
        """Return the same of each whole candidate, (m, words) float32."""
        return self._nearest_by_side.max(axis=1)

    @property
    def rows(self) -> NDArray[np.int64]:
        """Return the rows of the candidates that have tokens, (m,)."""
        return self.tokens.places

    @cached_property
    def shares(self) -> Values:
        """Return the weight of each question token, (words,); the weights add up to 1."""
        return self.question.weights / self.question.weights.sum()

    @cached_property
    def values(self) -> Values:
        """Return each candidate's weighted mean over the question's tokens, (m,)."""
        return self.nearest.astype(np.float64) @ self.shares

    @cached_property
    def user_values(self) -> Values:
        """Return the same of each candidate's user side alone, (m,); nan without tokens."""
        return self._values_of_side(0)

    @cached_property
    def assistant_values(self) -> Values:
        """Return the same of each candidate's assistant side alone, (m,); nan without tokens."""
        return self._values_of_side(1)

    def _values_of_side(self, side: int) -> Values:
        nearest = self._nearest_by_side[:, side].astype(np.float64)
        return np.where(np.isinf(nearest), np.nan, nearest) @ self.shares

    def sides(self, row: int) -> SideValues | None:
        """Return the values of a candidate's sides, None if it has no tokens."""
        place = self._place_of(row)
        if place is None:
            return None
        user, assistant = self.user_values.item(place), self.assistant_values.item(place)
        return SideValues(
            user=None if np.isnan(user) else user,
            assistant=None if np.isnan(assistant) else assistant,
        )

    def measure_loss(self, one: int, other: int) -> float:
        """Return how much of the question a candidate meets better than another one, 0 to 1."""
        lost = np.maximum(self.nearest[one] - self.nearest[other], 0).astype(np.float64)
        return float(lost @ self.shares)

    @property
    def have_text(self) -> NDArray[np.bool_]:
        """Return whether the user says anything in each candidate, (m,)."""
        return self.tokens.user_counts > 0

    def read(self, places: Sequence[int]) -> list[str]:
        """Return the user's clause nearest to the question, with its neighbours, for each
        candidate.

        `places` are indexes among the candidates that have tokens; the user says something in each.
        The text is spelled as in the vocabulary.
        """
        tokens, vocabulary = self.tokens, self.question.vocabulary
        are_ends, are_numbers = vocabulary.mask(CLAUSE_ENDS), vocabulary.are_numbers
        texts: list[str] = []
        for place in places:
            first = tokens.starts.item(place)
            last = first + tokens.user_counts.item(place)
            pieces = tokens.pieces[first:last]
            is_end = are_ends[pieces]
            # The mark within a number, as in "1,200" or "0.6.2", ends nothing.
            is_digit = are_numbers[pieces]
            is_end[1:-1] &= ~(is_digit[:-2] & is_digit[2:])
            starts = [0]
            for index in np.flatnonzero(is_end).tolist():
                if index + 1 - starts[-1] >= SHORTEST_CLAUSE and index + 1 < len(pieces):
                    starts.append(index + 1)
            nearest = np.maximum.reduceat(self._near[first:last], starts, axis=0)
            best = int((nearest.astype(np.float64) @ self.shares).argmax())
            end = [*starts, len(pieces)][min(best + 2, len(starts))]
            near = pieces[starts[max(best - 1, 0)] : end]
            texts.append(_join_words(vocabulary.spell(near.tolist())))
        return texts

    def by_speaker(self, sides: NDArray[np.int64]) -> tuple[Values, Values]:
        """Return the same of a speaker's side, (m,), and of the other side, (m,).

        `sides` (m,) is 1 if the user's side is the speaker's, -1 if the assistant's is, 0 if
        neither or both are: the values are then those of the whole. A side without tokens has the
        least value of all.
        """
        user, assistant = self.user_values, self.assistant_values
        both = np.stack((user, assistant))
        both[np.isnan(both)] = np.nanmin(both)
        named = np.where(sides > 0, both[0], np.where(sides < 0, both[1], self.values))
        other = np.where(sides > 0, both[1], np.where(sides < 0, both[0], self.values))
        return named, other

    def around(self, candidates: Candidates) -> Values:
        """Return the same, (m,), if any neighbour of a candidate may hold the nearest token."""
        sessions = np.array(candidates.session_numbers)
        if candidates.is_session.any():
            # A session chunk has no turn next to it: give each a session of its own.
            own = np.arange(len(sessions), 2 * len(sessions))
            sessions = np.where(candidates.is_session, own, sessions)
        order = np.lexsort((candidates.parts, candidates.ordinals, sessions))
        sessions, ordinals = sessions[order], candidates.ordinals[order]
        # Neighbours are parts of one exchange or of adjoining ones.
        are_beside = (sessions[1:] == sessions[:-1]) & (ordinals[1:] - ordinals[:-1] <= 1)
        are_beside = are_beside[:, np.newaxis]
        nearest = np.full((len(order), len(self.shares)), -np.inf, dtype=np.float32)
        nearest[self.rows] = self.nearest
        in_order = nearest[order]
        best = in_order.copy()
        np.maximum(best[1:], in_order[:-1], out=best[1:], where=are_beside)
        np.maximum(best[:-1], in_order[1:], out=best[:-1], where=are_beside)
        nearest[order] = best
        return nearest[self.rows].astype(np.float64) @ self.shares

    def of_sessions(self, sessions: NDArray[np.int64]) -> Values:
        """Return the same, (m,), if any exchange of a session may hold the nearest token."""
        _, number = np.unique(sessions[self.rows], return_inverse=True)
        best = np.full((int(number.max()) + 1, len(self.shares)), -np.inf, dtype=np.float32)
        np.maximum.at(best, number, self.nearest)
        return (best.astype(np.float64) @ self.shares)[number]

    def matches(self, row: int) -> Sequence[WordMatch]:
        """Return a candidate's nearest word for each word of the question, made when needed."""
        return _WordMatches(self, row)

    def match_words(self, row: int) -> tuple[WordMatch, ...]:
        """Return the same, computed now; empty for a candidate without tokens."""
        place = self._place_of(row)
        if place is None:
            return ()
        words, first = self._words, self.tokens.starts.item(place)
        last = first + self.tokens.counts.item(place)
        pieces = self.question.vocabulary.spell(self.tokens.pieces[first:last].tolist())
        nearest = self._near[first:last, words.weightiest].argmax(axis=0).tolist()
        weighted = self.nearest[place].astype(np.float64) * self.shares
        similarities = (np.add.reduceat(weighted, words.starts) / words.shares).tolist()
        return tuple(
            [
                WordMatch(
                    asked=word,
                    met=_whole_word(pieces, token),
                    similarity=similarity,
                    share=share,
                )
                for word, token, similarity, share in zip(
                    words.words, nearest, similarities, words.shares.tolist(), strict=True
                )
            ]
        )

    @cached_property
    def _words(self) -> "_QuestionWords":
        """The words of the question that the model knows; every candidate is matched with them."""
        pieces = self.question.words
        starts = [at for at, piece in enumerate(pieces) if not at or not piece.startswith("##")]
        ends = [*starts[1:], len(pieces)]
        spans = [range(start, end) for start, end in zip(starts, ends, strict=True)]
        spans = [span for span in spans if pieces[span.start] != UNKNOWN_PIECE]
        # Sums from one start to the next may include unknown words, which weigh nothing.
        starts = [span.start for span in spans]
        return _QuestionWords(
            words=[_join_pieces([pieces[at] for at in span]) for span in spans],
            starts=starts,
            shares=np.add.reduceat(self.shares, starts),
            weightiest=[max(span, key=self.shares.__getitem__) for span in spans],
        )

    def _place_of(self, row: int) -> int | None:
        """Return the index of a candidate among those that have tokens, None if it has none."""
        places = np.flatnonzero(self.rows == row)
        return places.item(0) if len(places) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _QuestionWords:
    """The w words of a question.

    `starts` are the index of each word's first piece, `shares` (w,) their weights, and
    `weightiest` the index of each word's piece that weighs most: its match is that of the word.
    """

    words: Sequence[str]
    starts: Sequence[int]
    shares: Values
    weightiest: Sequence[int]


class _WordMatches(Sequence[WordMatch]):
    """The word matches of a candidate, computed when they are looked at."""

    def __init__(self, compared: Comparison, row: int) -> None:
        self._compared = compared
        self._row = row

    @cached_property
    def _matches(self) -> tuple[WordMatch, ...]:
        return self._compared.match_words(self._row)

    def __len__(self) -> int:
        return len(self._matches)

    @overload
    def __getitem__(self, index: int) -> WordMatch: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[WordMatch]: ...
    def __getitem__(self, index: int | slice) -> WordMatch | Sequence[WordMatch]:
        return self._matches[index]


def _compare(question: QuestionTokens, tokens: CandidateTokens) -> NDArray[np.float32]:
    """Return q · sign(d) / √dimension of each candidate token d and question token q, (t, q)."""
    vectors = np.ascontiguousarray(question.vectors.T)
    dimension, columns = vectors.shape
    near = np.empty((len(tokens.signs), columns), dtype=np.float32)
    size = rows_alone(columns, dimension)
    # numpy multiplies a stack of matrices one by one, without a call from Python for each.
    step = size * max(1, _UNPACKED_ROWS // size)
    # One room for all blocks: the system would clear the memory of a new one for each.
    room = np.empty((min(step, len(near)), tokens.signs.shape[1], 8), dtype=np.float32)
    for start in range(0, len(near), step):
        block = tokens.signs[start : start + step]
        # Without "clip", numpy unpacks to a place of its own first. A byte is never out of range.
        unpacked = np.take(_SIGNS, block, axis=0, out=room[: len(block)], mode="clip")
        signs = unpacked.reshape(len(block), -1)[:, :dimension]
        products, count = near[start : start + step], len(block) // size
        whole = count * size
        stack = signs[:whole].reshape(count, size, dimension)
        np.matmul(stack, vectors, out=products[:whole].reshape(count, size, columns))
        np.matmul(signs[whole:], vectors, out=products[whole:])
    near /= np.float32(np.sqrt(dimension))
    # One piece stands for all words that the model doesn't know: meeting it is no evidence.
    if question.vocabulary.unknown is not None:
        near[tokens.pieces == question.vocabulary.unknown] = 0
    return near


def rows_alone(columns: int, depth: int) -> int:
    """Return how many rows of (rows, depth) to multiply by (depth, columns) at once, at least 1."""
    return max(1, MOST_ALONE // max(1, columns * depth))


def _whole_word(pieces: Sequence[str], token: int) -> str:
    """Return the whole word that a token is a piece of, empty for one that the model lacks."""
    if pieces[token] == UNKNOWN_PIECE:
        return ""
    start, end = token, token + 1
    while start and pieces[start].startswith("##"):
        start -= 1
    while end < len(pieces) and pieces[end].startswith("##"):
        end += 1
    return _join_pieces(pieces[start:end])


def _join_pieces(pieces: Sequence[str]) -> str:
    return "".join([piece.removeprefix("##") for piece in pieces])


def _join_words(pieces: Sequence[str]) -> str:
    # Pieces of a word, parts around an apostrophe and parts of a number belong together.
    text = " ".join(pieces).replace(" ##", "").replace(" ' ", "'")
    return _IN_NUMBER.sub(r"\1", text)
