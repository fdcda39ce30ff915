"""The term `current`: of two statements about one fact, the one that the question's tense asks for.

A question in the present tense wants the latest statement, one about "before" or "at first" the
earlier one. Two candidates speak of the same fact if what they say is alike and both answer the
question; words of change in the newer one ("moved", "no longer") are evidence, words of addition
("also", "another") are evidence against it. The wanted statement is lifted just above the other, so
that nothing is hidden, and candidates about other things keep their scores.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memsense.search.profiles import Profile
from memsense.search.question import Question
from memsense.search.recall.candidates import Candidates
from memsense.text.changes import Statement, read_statement

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Succession:
    """Two candidates, by their rows: the newer one changes what the older one says.

    `reason` are the newer one's words of change, "" if it has none. `evidence` is how far the
    evidence is above the profile's threshold.
    """

    older: int
    newer: int
    reason: str
    evidence: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Current:
    """The best candidates of a question, compared with each other.

    `near` (m, words) are the similarities of the question's tokens to the candidates of `rows`
    (m,), `shares` (words,) their weights; `has_text` (m,) says whether the user says anything, and
    `read_text` returns what. `scores` (n,) are the scores of all candidates by the other terms.
    """

    candidates: Candidates
    profile: Profile
    question: Question
    rows: Sequence[int]
    near: NDArray[np.float32]
    shares: Values
    has_text: Sequence[bool]
    read_text: Callable[[int], str]
    scores: Values
    _statements: dict[int, Statement] = field(default_factory=dict[int, Statement], repr=False)
    _evidences: dict[tuple[int, int], float] = field(
        default_factory=dict[tuple[int, int], float], repr=False
    )

    @cached_property
    def _pool(self) -> list[int]:
        """Return the places of the best candidates that say something at a known time."""
        places = [
            place
            for place, row in enumerate(self.rows)
            if self.has_text[place] and self.candidates.times[row] is not None
        ]
        places.sort(key=lambda place: (-self.scores[self.rows[place]], self.rows[place]))
        return places[: self.profile.current_pool]

    def _statement(self, place: int) -> Statement:
        if place not in self._statements:
            self._statements[place] = read_statement(self.read_text(place))
        return self._statements[place]

    @cached_property
    def _question_statement(self) -> Statement:
        return read_statement(self.question.search_text)

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
        statements = [self._statement(place) for place in self._pool]
        return Counter([word for statement in statements for word in statement.words])

    @cached_property
    def _rarity(self) -> Mapping[str, float]:
        """Return the idf of each word among the best candidates."""
        total = len(self._pool) + 1
        return {word: log(total / (count + 0.5)) for word, count in self._counts.items()}

    def _weigh(self, words: Iterable[str]) -> float:
        return sum([self._rarity[word] for word in words])

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

    def _evidence(self, older: int, newer: int) -> float:
        """Return the evidence that the newer of two statements changes what the older one says."""
        # Lifts and links ask for the same pairs.
        pair = older, newer
        if pair not in self._evidences:
            self._evidences[pair] = self._weigh_evidence(older, newer)
        return self._evidences[pair]

    def _weigh_evidence(self, older: int, newer: int) -> float:
        profile, question = self.profile, self.question
        one, other = self._statement(older), self._statement(newer)
        is_now = question.tense != "early"
        has_change = bool(other.change) or other.is_adjusted
        # Of another owner: "my neighbour's dog" is no news of "my dog".
        for owner, word in other.owned:
            if (
                word in self._question_statement.words
                and owner not in self._question_statement.plain | one.plain
            ):
                return -np.inf
        # A question that names Hugo is not answered by what is now true of Anton.
        if (
            is_now
            and not has_change
            and any(name in one.plain and name not in other.plain for name in self._named)
        ):
            return -np.inf
        fewer = min(self._weigh(one.words), self._weigh(other.words))
        shared = self._weigh(one.words & other.words) / fewer if fewer else 0.0
        vectors = self.candidates.embeddings
        cosine = float(vectors[self.rows[older]] @ vectors[self.rows[newer]])
        # A word that almost nothing else here has, such as a name, ties the two together.
        rare = any(
            self._counts[word] <= profile.current_rare_count for word in one.words & other.words
        )
        ties = profile.current_rare if rare and has_change else 0.0
        if cosine + shared + ties < profile.current_subject:
            return -np.inf
        both = float(np.minimum(self.near[older], self.near[newer]) @ self.shares)
        evidence = (
            profile.current_cosine * cosine
            + profile.current_words * shared
            + profile.current_question * both
            + profile.current_change * has_change
            + profile.current_hint * other.is_hinted
            - profile.current_addition * other.is_addition
        )
        sessions = self.candidates.session_ids
        if sessions[self.rows[older]] != sessions[self.rows[newer]]:
            # Long messages of different sessions have much in common without being about one fact.
            evidence -= profile.current_length * max(other.length - profile.current_short, 0) / 100
        if is_now:
            gap = self.near[older] - self.near[newer] - profile.current_slack
            unmet = float(np.maximum(gap, 0.0) @ self.shares)
            weight = profile.current_unmet if has_change else profile.current_unmet_unsaid
            evidence -= weight * unmet
        if one.numbers and other.numbers and not one.numbers & other.numbers:
            evidence += profile.current_numbers
        return evidence

    def lifts(self) -> dict[int, tuple[float, int]]:
        """Return by how much each lifted candidate rises, and the row that it rises above."""
        profile, tense = self.profile, self.question.tense
        if not tense:
            return {}
        lifts: dict[int, tuple[float, int]] = {}
        for above in self._pool[: profile.current_depth]:
            top = self.scores.item(self.rows[above])
            best: tuple[float, int] | None = None
            for below in self._pool:
                older, newer = (above, below) if tense == "now" else (below, above)
                score = self.scores.item(self.rows[below])
                if above == below or not self._is_before(older, newer):
                    continue
                if abs(top - score) > profile.current_reach:
                    continue
                evidence = self._evidence(older, newer)
                # The further a statement would rise, the more must speak for it.
                climb = profile.current_climb * max(top - score, 0.0)
                if evidence > profile.current_threshold + climb:
                    strength = evidence + profile.current_relevance * score
                    best = max(best, (strength, below)) if best else (strength, below)
            if best is not None:
                row = self.rows[best[1]]
                lift = top + profile.current_margin - self.scores.item(row)
                if lift > lifts.get(row, (0.0, 0))[0]:
                    lifts[row] = lift, self.rows[above]
        return lifts

    @cached_property
    def successions(self) -> Mapping[int, Succession]:
        """Return for each row what superseded it, if that is plain enough to be said.

        Precision comes before recall: the question asks for what is true now or was true first,
        both statements are short, the newer one has words of change, both have words in common,
        and each is the other's best match. Long messages mention many things, so that one more
        thing in common says little.
        """
        longest = self.profile.current_link_words
        if not self.question.tense:
            return {}
        places = [place for place in self._pool if self._statement(place).length <= longest]
        best: dict[int, Succession] = {}
        for newer in places:
            for older in (
                places[: self.profile.current_link_depth] if self._statement(newer).change else ()
            ):
                if older == newer or not self._is_before(older, newer):
                    continue
                if not self._statement(older).words & self._statement(newer).words:
                    continue
                evidence = self._evidence(older, newer) - self.profile.current_link_threshold
                link = Succession(
                    older=self.rows[older],
                    newer=self.rows[newer],
                    reason=self._statement(newer).change,
                    evidence=evidence,
                )
                rivals = [best[row] for row in (link.older, ~link.newer) if row in best]
                if evidence > 0 and all(evidence > rival.evidence for rival in rivals):
                    for rival in rivals:
                        best.pop(rival.older, None)
                        best.pop(~rival.newer, None)
                    # A candidate has one link as the older one, and one as the newer one (~row).
                    best[link.older] = best[~link.newer] = link
        return {row: link for row, link in best.items() if row >= 0}

    def describe(self, row: int, other: int) -> str:
        """Return why a candidate is lifted above another one."""
        newer = row if self.question.tense == "now" else other
        at: Any = self.candidates.times[newer]
        change = self._statement(self.rows.index(newer)).change
        chunk_id = self.candidates.chunk_ids.item(other)
        words = f" (“{change}”)" if change else ""
        if self.question.tense == "now":
            return f"newer than chunk {chunk_id} about the same{words}"
        return f"chunk {chunk_id} about the same is newer: {at:%Y-%m-%d}{words}"
