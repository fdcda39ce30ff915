"""Late interaction: how near each token of a question comes to a token of each candidate.

MaxSim of Khattab and Zaharia (ColBERT, 2020) over the token vectors of the embedder, a bit a
dimension on the candidates' side.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray

from memsense.embed import QuestionTokens
from memsense.search.explanation import WordMatch
from memsense.search.rank.products import rows_alone
from memsense.search.recall.candidates import CandidateTokens

Values = NDArray[np.float64]

_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, np.newaxis], axis=1)
_SIGNS = 2 * _BITS.astype(np.float32) - 1
"""The eight signs that a byte holds, (256, 8)."""

ASKING = frozenset("?")
ENDING = frozenset("?!.")
TIME_WORDS = frozenset(
    "yesterday today tomorrow tonight ago last next recently soon day days night morning afternoon "
    "evening week weeks weekend month months year years summer winter spring autumn monday tuesday "
    "wednesday thursday friday saturday sunday january february march april may june july august "
    "september october november december".split()
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """A question's tokens beside those of the candidates."""

    question: QuestionTokens
    tokens: CandidateTokens

    @cached_property
    def _nearest(self) -> NDArray[np.float32]:
        """How near each candidate's nearest token comes to each of the question's: (m, words)."""
        return np.maximum.reduceat(compare(self.question, self.tokens), self.tokens.starts, axis=0)

    @property
    def rows(self) -> NDArray[np.int64]:
        """The candidates that have tokens."""
        return self.tokens.places

    @cached_property
    def shares(self) -> Values:
        """What each of the question's tokens counts for, (words,); they add up to 1."""
        return self.question.weights / self.question.weights.sum()

    @cached_property
    def values(self) -> Values:
        """The weighted mean over the question's tokens, for each candidate that has tokens."""
        return self._nearest.astype(np.float64) @ self.shares

    def of_sessions(self, sessions: NDArray[np.int64]) -> Values:
        """As `values`, where any exchange of a candidate's session may hold the nearest token."""
        _, number = np.unique(sessions[self.rows], return_inverse=True)
        best = np.full((int(number.max()) + 1, len(self.shares)), -np.inf, dtype=np.float32)
        np.maximum.at(best, number, self._nearest)
        return (best.astype(np.float64) @ self.shares)[number]

    @cached_property
    def asking(self) -> Values:
        """The share of its sentences that are questions, for each candidate that has tokens."""
        asked = self._count(ASKING, self.tokens.counts)
        ended = self._count(ENDING, self.tokens.counts)
        return np.where(ended > 0, asked / np.maximum(ended, 1), 0.0)

    def tells_time(self, is_user: NDArray[np.bool_], is_assistant: NDArray[np.bool_]) -> Values:
        """1 where a side that is meant holds a word of time, for each candidate with tokens."""
        on_user = self._count(TIME_WORDS, self.tokens.user_counts)
        on_assistant = self._count(TIME_WORDS, self.tokens.counts) - on_user
        rows = self.rows
        told = (is_user[rows] & (on_user > 0)) | (is_assistant[rows] & (on_assistant > 0))
        return told.astype(np.float64)

    def _count(self, words: frozenset[str], counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many of the first `counts` tokens of each candidate are one of these."""
        is_one = self.question.vocabulary.mask(words)[self.tokens.pieces]
        before = np.concatenate([[0], np.cumsum(is_one)])
        return before[self.tokens.starts + counts] - before[self.tokens.starts]

    def matches(self, row: int) -> Sequence[WordMatch]:
        """Which word of a candidate each word of the question met, in the question's order; worked
        out when somebody looks."""
        return _Matches(self, row)

    def find_matches(self, row: int) -> tuple[WordMatch, ...]:
        """As `matches`, worked out."""
        own = self.tokens.of(row)
        if own is None:
            return ()
        near = compare(self.question, own)
        found = near.argmax(axis=0).tolist()
        best = near.max(axis=0).astype(np.float64)
        words = [self.question.vocabulary[int(piece)] for piece in own.pieces]
        return tuple(_match(self, span, best, found, words) for span in _words(self.question.words))


class _Matches(Sequence[WordMatch]):
    """The matches of a candidate, found when they are looked at."""

    def __init__(self, compared: Comparison, row: int) -> None:
        self._compared = compared
        self._row = row

    @cached_property
    def _found(self) -> tuple[WordMatch, ...]:
        return self._compared.find_matches(self._row)

    def __len__(self) -> int:
        return len(self._found)

    @overload
    def __getitem__(self, index: int) -> WordMatch: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[WordMatch]: ...
    def __getitem__(self, index: int | slice) -> WordMatch | Sequence[WordMatch]:
        return self._found[index]


def compare(question: QuestionTokens, tokens: CandidateTokens) -> NDArray[np.float32]:
    """q · sign(d) / √dimension of each token d of the candidates and q of the question: (t, q)."""
    asked = np.ascontiguousarray(question.vectors.T)
    dimension = len(asked)
    near = np.empty((len(tokens.signs), asked.shape[1]), dtype=np.float32)
    size = rows_alone(asked.shape[1], dimension)
    for start in range(0, len(near), size):
        block = tokens.signs[start : start + size]
        signs = np.take(_SIGNS, block, axis=0).reshape(len(block), -1)[:, :dimension]
        np.matmul(signs, asked, out=near[start : start + size])
    near /= np.float32(np.sqrt(dimension))
    return near


def _match(
    compared: Comparison,
    span: range,
    best: Values,
    found: Sequence[int],
    words: Sequence[str],
) -> WordMatch:
    """A word's pieces together; what it met is what its weightiest piece met."""
    shares = compared.shares[span.start : span.stop]
    weightiest = span.start + int(shares.argmax())
    met = next(item for item in _words(words) if found[weightiest] in item)
    return WordMatch(
        asked=_join(compared.question.words, span),
        met=_join(words, met),
        similarity=float(shares @ best[span.start : span.stop] / shares.sum()),
        share=float(shares.sum()),
    )


def _words(pieces: Sequence[str]) -> list[range]:
    """The places of each word's pieces."""
    firsts = [
        place for place, piece in enumerate(pieces) if not place or not piece.startswith("##")
    ]
    return [
        range(first, end) for first, end in zip(firsts, [*firsts[1:], len(pieces)], strict=True)
    ]


def _join(pieces: Sequence[str], span: range) -> str:
    return "".join(pieces[place].removeprefix("##") for place in span)
