"""The term `current`: of two statements about one fact, the one that the question's tense asks for.

A question in the present tense wants the latest statement, one about "before" or "at first" the
earlier one. Whether the newer of two candidates replaces what the older one says is judged by what
both say (`memsense.draft.supersession`). The wanted statement is lifted just above the other, so
that nothing is hidden, and candidates about other things keep their scores.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from memsense.draft.supersession import Comparison, compare, rate
from memsense.search.profiles import Profile
from memsense.search.question import Question
from memsense.search.question.tense import find_end
from memsense.search.recall.candidates import Candidates
from memsense.text.changes import Statement, read_statement

Values = NDArray[np.float64]

LEAST_COSINE: Final = 0.15
"""Cosine of two exchanges below which they are not compared: 97% of real changes have more."""

LEAST_SHARE: Final = 0.25
"""Share of English function words from which candidates are English: memories in English have at
least 0.30, those in six other languages at most 0.16."""


class Messages(Protocol):
    """Reader of the user's words in m candidates, made from their tokens."""

    @property
    def have_text(self) -> NDArray[np.bool_]:
        """Return whether the user says anything in each candidate, (m,)."""
        ...

    def measure_loss(self, one: int, other: int) -> float:
        """Return how much of the question a candidate meets better than another one, 0 to 1."""
        ...

    def read(self, places: Sequence[int]) -> Sequence[str]:
        """Return the user's sentences nearest to the question in candidates with a text."""
        ...


class Succession(NamedTuple):
    """Two candidates' rows: the newer one replaces the older one, by these words and this logit."""

    older: int
    newer: int
    reason: str
    strength: float


class _Pair(NamedTuple):
    """Two candidates of the pool: indexes of the one above and the wanted one below; their order in
    time.

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
        """Return the places of the best candidates with a time, of long exchanges the best part."""
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
                    preferred += 1
                    ids = (self._ids[older], self._ids[newer])
                    if ids in self._decided or self._cosine(older, newer) < LEAST_COSINE:
                        continue
                    pairs.append(_Pair(above, below, older, newer, is_first=preferred == 1))
        return pairs

    @cached_property
    def judged(self) -> Mapping[tuple[int, int], Comparison]:
        """Return the comparison of each pair, by its indexes in `pool`, that could swap."""
        return {(pair.above, pair.below): self._compare(pair) for pair in self._pairs}

    @cached_property
    def strengths(self) -> Mapping[tuple[int, int], float]:
        """Return for each of these pairs how likely the newer one replaces the other: a logit."""
        return {pair: rate(comparison.evidence) for pair, comparison in self.judged.items()}

    def lifts(self) -> dict[int, tuple[float, int]]:
        """Return by how much each lifted candidate rises, and the row that it rises above."""
        if not self.question.tense:
            return {}
        rows = [self.rows[place] for place in self.pool]
        scores: list[float] = [self.scores.item(row) for row in rows]
        lifts: dict[int, tuple[float, int]] = {}
        # A question about earlier times says that something has changed: a pair is enough.
        is_now = self.question.tense == "now"
        profile = self.profile
        least = profile.current_threshold if is_now else profile.current_pair_threshold
        best_match: dict[int, tuple[float, int]] = {}
        for pair, strength in self.strengths.items():
            above, below = pair
            is_near = scores[above] - scores[below] <= profile.current_reach
            may_rise = not is_now or self._may_rise(self.judged[pair])
            if strength > least and is_near and may_rise:
                best_match[above] = max(best_match.get(above, (strength, below)), (strength, below))
        if self.question.identifiers or self.question.quoted:
            best_match = {}
        for above, (_, below) in best_match.items():
            lift = scores[above] + profile.current_margin - scores[below]
            if lift > lifts.get(rows[below], (0.0, 0))[0]:
                lifts[rows[below]] = lift, rows[above]
        # What was decided needs no judgement, and may be far below.
        best = np.argsort(-self.scores, kind="stable")[: profile.current_link_depth]
        for link in self.decided:
            low, high = (link.newer, link.older) if is_now else (link.older, link.newer)
            lift = self.scores.item(high) + profile.current_margin - self.scores.item(low)
            if high in best and lift > lifts.get(low, (0.0, 0))[0]:
                lifts[low] = lift, high
        return lifts

    @cached_property
    def _ids(self) -> Sequence[int]:
        """Return the chunk id of each place."""
        return self.candidates.chunk_ids[np.array(self.rows, dtype=np.int64)].tolist()

    @cached_property
    def _decided(self) -> frozenset[tuple[int, int]]:
        """Return the older and the newer chunk of pairs with a decision."""
        links = self.candidates.links
        return frozenset([(it.older_id, it.newer_id) for it in links if it.state != "found"])

    @cached_property
    def decided(self) -> Sequence[Succession]:
        """Return the pairs of candidates that were confirmed or named."""
        row_of = {chunk_id: row for row, chunk_id in enumerate(self.candidates.chunk_ids.tolist())}
        return [
            Succession(row_of[link.older_id], row_of[link.newer_id], link.reason, np.inf)
            for link in self.candidates.links
            if link.state in {"confirmed", "set"}
            and {link.older_id, link.newer_id} <= row_of.keys()
        ]

    def _successions(self, least: float, *, proven: bool) -> Mapping[int, Succession]:
        """Return for each older row what replaces it by a logit above `least`, or by decision.

        Each of both is the other's best match. If `proven`, evidence against it rules it out.
        """
        judged: list[Succession] = []
        for pair, strength in self.strengths.items():
            above, below = (self.rows[self.pool[index]] for index in pair)
            older, newer = (above, below) if self.question.tense == "now" else (below, above)
            comparison = self.judged[pair]
            is_proven = bool(comparison.proof) and self._may_rise(comparison)
            if strength > least and (is_proven or not proven):
                judged.append(Succession(older, newer, comparison.proof, strength))
        chosen: dict[int, Succession] = {}
        replacements: set[int] = set()
        for link in (*self.decided, *sorted(judged, key=lambda link: -link.strength)):
            if link.older not in chosen and link.newer not in replacements:
                chosen[link.older] = link
                replacements.add(link.newer)
        return chosen

    @cached_property
    def by_older(self) -> Mapping[int, Succession]:
        """Return for each row what superseded it, if that is plain enough to be said."""
        return self._successions(self.profile.current_link_threshold, proven=True)

    @cached_property
    def pairs(self) -> Mapping[int, Succession]:
        """Return for each row what may replace it, so that both are to be shown together."""
        return self._successions(self.profile.current_pair_threshold, proven=False)

    def describe(self, row: int, other: int) -> str:
        """Return why a candidate is lifted above another one."""
        is_now = self.question.tense == "now"
        newer, older = (row, other) if is_now else (other, row)
        at: Any = self.candidates.times[newer]
        links = {(link.older, link.newer): link.reason for link in self.decided}
        places = {self.rows[place]: index for index, place in enumerate(self.pool)}
        comparison = self.judged.get((places.get(other, -1), places.get(row, -1)))
        proof = comparison.proof if comparison else links.get((older, newer), "")
        chunk_id = self.candidates.chunk_ids.item(other)
        words = f" ({proof})" if proof else ""
        if is_now:
            return f"newer than chunk {chunk_id} about the same{words}"
        return f"chunk {chunk_id} about the same is newer: {at:%Y-%m-%d}{words}"

    @cached_property
    def _statements(self) -> dict[int, Statement]:
        """Return the statement of each candidate that is compared, by its place."""
        places = sorted({place for pair in self._pairs for place in (pair.older, pair.newer)})
        return dict(zip(places, map(read_statement, self.messages.read(places)), strict=True))

    def _may_rise(self, comparison: Comparison) -> bool:
        """Return whether a newer English statement is about the same, and may be a change."""
        is_about_same = comparison.is_about_same and not comparison.is_ruled_out
        return is_about_same and self._are_english

    @cached_property
    def _are_english(self) -> bool:
        stems = [stem for it in self._statements.values() for stem in it.stems]
        return stems.count("") >= LEAST_SHARE * len(stems)

    @cached_property
    def _end_words(self) -> frozenset[str]:
        """Return the words of what ended the earlier time that the question asks about."""
        is_early = self.question.tense == "early"
        return (
            read_statement(find_end(self.question.search_text)).words if is_early else frozenset()
        )

    def _cosine(self, one: int, other: int) -> float:
        vectors = self.candidates.embeddings
        return float(vectors[self.rows[one]] @ vectors[self.rows[other]])

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

    def _compare(self, pair: _Pair) -> Comparison:
        """Return the comparison of the older and the newer statement of a pair."""
        older, newer = self._statements[pair.older], self._statements[pair.newer]
        is_early = self.question.tense == "early"
        scores = [self.scores.item(self.rows[place]) for place in (pair.older, pair.newer)]
        return compare(
            older,
            newer,
            read_statement(self.question.search_text),
            cosine=self._cosine(pair.older, pair.newer),
            lost=self.messages.measure_loss(pair.older, pair.newer),
            early=float(is_early),
            climb=scores[1] - scores[0] if is_early else 0.0,
            finish=len(self._end_words & newer.words - older.words) / max(len(self._end_words), 1),
            first=float(pair.is_first),
        )
