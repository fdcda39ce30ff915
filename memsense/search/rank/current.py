"""The term `current`: of two statements about one fact, the one that the question's tense asks for.

A question in the present tense wants the latest statement, one about "before" or "at first" the
earlier one. Whether the newer of two candidates replaces what the older one says is judged by a
logistic regression over what both say. The wanted statement is lifted just above the other, so that
nothing is hidden, and candidates about other things keep their scores.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from memsense.search.profiles import Profile
from memsense.search.question import Question
from memsense.search.question.tense import find_end
from memsense.search.recall.candidates import Candidates
from memsense.text.changes import Statement, read_statement

Values = NDArray[np.float64]

RARE: Final = 2
"""Number of the best candidates that may have a word which ties two of them together."""


USUAL_COSINE: Final = 0.2
"""Mean cosine of two candidates of a memory about many things."""

USUAL_PAIRS: Final = 30
"""How many pairs of candidates it counts as."""

LEAST_SHARE: Final = 0.4
"""Share of the other statement's score that a linked one must have to rise above it: one with less
says little about the question.
"""

WEAK_DEPTH: Final = 5
"""Number of best candidates above which a stored link may lift that is too weak to be said."""


class Evidence(NamedTuple):
    """Evidence that the newer of two statements replaces the older one, or the weight of each.

    The words of a side are those of its sentences nearest to the question, so that a long message
    is judged by the sentence that matters.
    """

    bias: float
    early: float
    """The question asks for the earlier statement."""

    climb: float
    """Score that an earlier statement lacks to the later one."""

    cosine: float
    """Cosine of the whole exchanges."""

    usual: float
    """Mean cosine of the best candidates: long messages of one project are all alike."""

    change: float
    """The newer message has words of a change, such as "no longer"."""

    adjusted: float
    """Its sentence has words of an adjustment, such as "extended"."""

    hint: float
    """Its sentence has a word that is frequent in changes, such as "now"."""

    numbers: float
    """Each sentence has a number that the other one lacks."""

    rare: float
    """Both messages have a word that almost no other candidate has, such as a name."""

    first: float
    """No other candidate of the wanted time is between them."""

    between: float
    """Tenth of the number of candidates that stand between them."""

    addition: float
    """The newer sentence has words of addition, such as "also"."""

    story: float
    """It tells of earlier times."""

    asks: float
    """It asks instead of saying something."""

    owner: float
    """The newer message speaks of another person's thing: "my neighbour's dog"."""

    named: float
    """Only the older one names whom the question names."""

    subject: float
    """Older one and question speak of a home, say, and the newer one tells of a move."""

    end: float
    """The newer message says more of what ended the earlier time that the question asks about:
    "before I came to Grenoble". The share of its words.
    """

    stored: float
    """The newer message was found to supersede the older one when it was written."""


# Fitted by benchmarks/fits/fit_current.py on one half of tests/data/changed_facts.jsonl, on the
# bundled sample and on BEAM 1-10; docs/how/constants.md, "What is true now", has the figures.
WEIGHTS: Final = Evidence(
    bias=-6.47, early=1.46, climb=-2.59, cosine=9.37, usual=-10.29, change=0.69, adjusted=1.88,
    hint=1.32, numbers=0.16, rare=2.21, first=1.05, between=-0.7, addition=-1.13, story=-1.75,
    asks=-0.2, owner=-1.02, named=-0.58, subject=2.56, end=2.5, stored=1.76,
)  # fmt: skip


class Messages(Protocol):
    """Reader of the user's words in m candidates, made from their tokens."""

    @property
    def have_text(self) -> NDArray[np.bool_]:
        """Return whether the user says anything in each candidate, (m,)."""
        ...

    def read(self, places: Sequence[int]) -> Sequence[tuple[str, str]]:
        """Return all that the user says in candidates, and the sentences nearest to the question.

        Args:
            places: Indexes of candidates in which the user says something.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Succession:
    """Two candidates, by their rows: the newer one replaces what the older one says.

    `reason` are the newer one's words of change. `strength` is the logit of the regression.
    """

    older: int
    newer: int
    reason: str
    strength: float


class _Statements(NamedTuple):
    """Statements of the user in a candidate: all of them, and those of the nearest sentence."""

    whole: Statement
    near: Statement


class _ReadStatements(dict[int, _Statements]):
    """Statements of candidates by their places, each read when it is asked for."""

    def __init__(self, messages: Messages) -> None:
        self._messages = messages

    def __missing__(self, place: int) -> _Statements:
        whole, near = map(read_statement, *self._messages.read([place]))
        self[place] = _Statements(whole=whole, near=near)
        return self[place]


class _Pair(NamedTuple):
    """Two candidates of the pool: the indexes of the one above and of the one below, which is the
    wanted one, and the places of the older and of the newer.

    `is_first`: no other candidate of the wanted time is between them.
    """

    above: int
    below: int
    older: int
    newer: int
    is_first: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class Current:
    """The best candidates of a question, compared with each other.

    `messages` are those of the candidates of `rows` (m,). `scores` (n,) are the scores of all
    candidates by the other terms.
    """

    candidates: Candidates
    profile: Profile
    question: Question
    rows: Sequence[int]
    messages: Messages
    scores: Values

    @cached_property
    def pool(self) -> Sequence[int]:
        """Return the places of the best candidates that say something at a known time.

        A long exchange has the place of its best part: its parts do not replace each other.
        """
        numbers, scores = self.candidates.exchange_numbers, self.scores
        have_text: list[bool] = self.messages.have_text.tolist()
        places: dict[int, int] = {}
        for place in sorted(
            range(len(self.rows)), key=lambda place: (-scores[self.rows[place]], self.rows[place])
        ):
            row = self.rows[place]
            if self.candidates.times[row] is not None and have_text[place]:
                places.setdefault(int(numbers[row]), place)
            if len(places) == self.profile.current_pool:
                break
        return list(places.values())

    @cached_property
    def _pairs(self) -> Sequence[_Pair]:
        """Return the pairs that could change places."""
        is_now = self.question.tense == "now"
        pairs: list[_Pair] = []
        if not self.question.tense:
            return pairs
        for above, high in enumerate(self.pool[: self.profile.current_depth]):
            preferred = 0
            for below, low in enumerate(self.pool[above + 1 :], above + 1):
                older, newer = (high, low) if is_now else (low, high)
                if self._is_before(older, newer):
                    pairs.append(_Pair(above, below, older, newer, is_first=not preferred))
                    preferred += 1
        return pairs

    @cached_property
    def judged(self) -> Mapping[tuple[int, int], Evidence]:
        """Return the evidence for each pair that could change places.

        A key has the index in `pool` of a candidate that is above another one, and that of the
        other, which the question's tense prefers.
        """
        return {(pair.above, pair.below): self._weigh(pair) for pair in self._pairs}

    @cached_property
    def strengths(self) -> Mapping[tuple[int, int], float]:
        """Return for each of these pairs how likely the newer one replaces the other: a logit.

        Pairs are left out that can't come above any threshold.
        """
        least = min(self.profile.current_threshold, self.profile.current_link_threshold)
        # What the newer statement says rules out 97% of the pairs, at a fifth of the time.
        return {
            (pair.above, pair.below): rate(self._weigh(pair))
            for pair in self._pairs
            if rate(self._weigh_at_best(pair)) > least
        }

    def lifts(self) -> dict[int, tuple[float, int]]:
        """Return by how much each lifted candidate rises, and the row that it rises above."""
        if not self.question.tense:
            return {}
        rows = [self.rows[place] for place in self.pool]
        scores: list[float] = [self.scores.item(row) for row in rows]
        lifts: dict[int, tuple[float, int]] = {}
        for above, below in match_candidates(self.strengths, scores, self.profile).items():
            lift = scores[above] + self.profile.current_margin - scores[below]
            if lift > lifts.get(rows[below], (0.0, 0))[0]:
                lifts[rows[below]] = lift, rows[above]
        # A stored link needs no second judgement, and its other end may stand far below.
        best = np.argsort(-self.scores, kind="stable")[: self.profile.current_link_depth]
        for link in self.stored:
            is_now = self.question.tense == "now"
            low, high = (link.newer, link.older) if is_now else (link.older, link.newer)
            other, own = self.scores.item(high), self.scores.item(low)
            lift = other + self.profile.current_margin - own
            is_plain = link.strength > self.profile.current_link_threshold
            reachable = best if is_plain else best[:WEAK_DEPTH]
            is_near = high in reachable and own >= LEAST_SHARE * other
            if is_near and lift > lifts.get(low, (0.0, 0))[0]:
                lifts[low] = lift, high
        return lifts

    @cached_property
    def stored(self) -> Sequence[Succession]:
        """Return the stored links between candidates, the strongest first."""
        if not self.candidates.links:
            return ()
        row_of = {chunk_id: row for row, chunk_id in enumerate(self.candidates.chunk_ids.tolist())}
        return [
            Succession(
                older=row_of[link.older_id],
                newer=row_of[link.newer_id],
                reason=link.reason,
                strength=link.strength,
            )
            for link in sorted(self.candidates.links, key=lambda link: -link.strength)
            if link.older_id in row_of and link.newer_id in row_of
        ]

    @cached_property
    def by_newer(self) -> Mapping[int, Succession]:
        """Return for each row what it superseded, if that is plain enough to be said."""
        return {link.newer: link for link in self.by_older.values()}

    @cached_property
    def by_older(self) -> Mapping[int, Succession]:
        """Return for each row what superseded it, if that is plain enough to be said.

        Precision comes before recall: the newer statement has words of change, and each of both is
        the other's best match.
        """
        links: list[Succession] = []
        for pair, strength in self.strengths.items():
            above, below = (self.pool[index] for index in pair)
            older, newer = (above, below) if self.question.tense == "now" else (below, above)
            reason = self._statements[newer].whole.change
            if reason and strength > self.profile.current_link_threshold:
                links.append(
                    Succession(
                        older=self.rows[older],
                        newer=self.rows[newer],
                        reason=reason,
                        strength=strength,
                    )
                )
        chosen: dict[int, Succession] = {}
        replacements: set[int] = set()
        threshold = self.profile.current_link_threshold
        stored = [link for link in self.stored if link.strength > threshold]
        for link in (*stored, *sorted(links, key=lambda link: -link.strength)):
            if link.older not in chosen and link.newer not in replacements:
                chosen[link.older] = link
                replacements.add(link.newer)
        return chosen

    @cached_property
    def _links(self) -> Mapping[tuple[int, int], Succession]:
        """Return the stored links by their older and newer rows."""
        return {(link.older, link.newer): link for link in self.stored}

    def describe(self, row: int, other: int) -> str:
        """Return why a candidate is lifted above another one."""
        newer, older = (row, other) if self.question.tense == "now" else (other, row)
        at: Any = self.candidates.times[newer]
        link = self._links.get((older, newer))
        change = link.reason if link else self._statements[self.rows.index(newer)].whole.change
        chunk_id = self.candidates.chunk_ids.item(other)
        words = f" (“{change}”)" if change else ""
        if self.question.tense == "now":
            return f"newer than chunk {chunk_id} about the same{words}"
        return f"chunk {chunk_id} about the same is newer: {at:%Y-%m-%d}{words}"

    @cached_property
    def _statements(self) -> "_ReadStatements":
        return _ReadStatements(self.messages)

    @cached_property
    def _question_words(self) -> Statement:
        return read_statement(self.question.search_text)

    @cached_property
    def _end_words(self) -> frozenset[str]:
        """Return the words of what ended the earlier time that the question asks about."""
        is_early = self.question.tense == "early"
        return (
            read_statement(find_end(self.question.search_text)).words if is_early else frozenset()
        )

    @cached_property
    def _named(self) -> frozenset[str]:
        """Return the capitalised words within the question, in lower case."""
        words = self.question.search_text.split()[1:]
        stripped = [word.strip(".,;:!?()\"'") for word in words]
        bare = [word.removesuffix("'s").removesuffix("\u2019s") for word in stripped]
        return frozenset([word.lower() for word in bare if len(word) > 1 and word[0].isupper()])

    @cached_property
    def _counts(self) -> Counter[str]:
        """Return the number of the best candidates that have each word."""
        return Counter(
            [word for place in self.pool for word in self._statements[place].whole.words]
        )

    @cached_property
    def _usual_cosine(self) -> float:
        """Return the mean cosine of two of the best candidates.

        Of few candidates it would be their own cosine, so that as much as a usual memory has is
        added to it.
        """
        vectors = self.candidates.embeddings[[self.rows[place] for place in self.pool]]
        count, total = len(vectors), vectors.sum(axis=0)
        own = float(total @ total - count)
        return (own + USUAL_COSINE * USUAL_PAIRS) / (count * (count - 1) + USUAL_PAIRS)

    def _moment(self, place: int) -> tuple[datetime | None, int, int]:
        row = self.rows[place]
        candidates = self.candidates
        return candidates.times[row], candidates.ordinals.item(row), candidates.parts.item(row)

    def _is_before(self, one: int, other: int) -> bool:
        first, second = self._moment(one), self._moment(other)
        if first[0] is None or second[0] is None:
            return False
        if first[0] == second[0]:
            sessions = self.candidates.session_ids
            is_one = sessions[self.rows[one]] == sessions[self.rows[other]]
            return is_one and first[1:] < second[1:]
        return first[0] < second[0]

    def _weigh_at_best(self, pair: _Pair) -> Evidence:
        """Return the evidence that needs no words of the older statement.

        All that needs them is as if it spoke for a replacement, so that no pair rates higher.
        """
        other = self._statements[pair.newer]
        is_early = self.question.tense == "early"
        older, newer = self.rows[pair.older], self.rows[pair.newer]
        vectors = self.candidates.embeddings
        return Evidence(
            bias=1.0,
            early=float(is_early),
            climb=self.scores.item(newer) - self.scores.item(older) if is_early else 0.0,
            cosine=float(vectors[older] @ vectors[newer]),
            usual=self._usual_cosine,
            change=float(bool(other.whole.change)),
            adjusted=float(other.near.is_adjusted),
            hint=float(other.near.is_hinted),
            numbers=1.0,
            rare=1.0,
            first=float(pair.is_first),
            between=(pair.below - pair.above - 1) / 10,
            addition=float(other.near.is_addition),
            story=float(other.near.is_story),
            asks=float(other.near.is_question),
            owner=0.0,
            named=0.0,
            subject=float(bool(other.near.changed & self._question_words.subjects)),
            end=len(self._end_words & other.whole.words) / max(len(self._end_words), 1),
            stored=float((older, newer) in self._links),
        )

    def _weigh(self, pair: _Pair) -> Evidence:
        """Return the evidence that the newer of two statements replaces the older one."""
        one, other = self._statements[pair.older], self._statements[pair.newer]
        question = self._question_words
        return self._weigh_at_best(pair)._replace(
            numbers=float(
                bool(one.near.numbers - other.near.numbers)
                and bool(other.near.numbers - one.near.numbers)
            ),
            rare=float(
                any(self._counts[word] <= RARE for word in one.whole.words & other.whole.words)
            ),
            owner=float(
                any(
                    word in question.words and owner not in question.plain | one.whole.plain
                    for owner, word in other.whole.owned
                )
            ),
            named=float(
                any(
                    name in one.whole.plain and name not in other.whole.plain
                    for name in self._named
                )
            ),
            subject=float(bool(one.near.subjects & other.near.changed & question.subjects)),
            end=len(self._end_words & other.whole.words - one.whole.words)
            / max(len(self._end_words), 1),
        )


def match_candidates(
    strengths: Mapping[tuple[int, int], float], scores: Sequence[float], profile: Profile
) -> dict[int, int]:
    """Return for each candidate the one that rises above it: its best match, and no other one.

    Args:
        strengths: Logit of each pair, by the indexes of the candidate above and the one below.
        scores: Score of each candidate, by its index.
        profile: Profile with the least logit and the largest difference of scores.
    """
    best: dict[int, tuple[float, int]] = {}
    for (above, below), strength in strengths.items():
        is_near = scores[above] - scores[below] <= profile.current_reach
        if is_near and strength > profile.current_threshold:
            best[above] = max(best.get(above, (strength, below)), (strength, below))
    return {above: below for above, (_, below) in best.items()}


def rate(evidence: Evidence) -> float:
    """Return the logit of the chance that the newer statement replaces the older one."""
    return sum([weight * value for weight, value in zip(WEIGHTS, evidence, strict=True)])
