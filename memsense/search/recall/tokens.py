"""The tokens that recall fetched with the candidates, one candidate's after another's."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True, eq=False)
class CandidateTokens:
    """The tokens of those of n candidates that have any.

    `places` are the candidates' rows; `counts` and `user_counts` how many tokens each
    has, and how many of them are of its user side; `pieces` (t,) and `signs` (t, ⌈d / 8⌉) of all.
    """

    places: NDArray[np.int64]
    counts: NDArray[np.int64]
    user_counts: NDArray[np.int64]
    pieces: NDArray[np.uint16]
    signs: NDArray[np.uint8]

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where each candidate's tokens begin."""
        return np.cumsum(self.counts) - self.counts

    def of(self, row: int) -> "CandidateTokens | None":
        """One candidate's tokens, None if it has none."""
        found = np.flatnonzero(self.places == row)
        return self._select(found) if len(found) else None

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> "CandidateTokens":
        """The tokens of the candidates of these rows, renumbered as they stand there."""
        known = {place: index for index, place in enumerate(self.places.tolist())}
        listed = [
            (new, known[old]) for new, old in enumerate(np.asarray(rows).tolist()) if old in known
        ]
        chosen = self._select(np.array([index for _, index in listed], dtype=np.int64))
        return CandidateTokens(
            places=np.array([new for new, _ in listed], dtype=np.int64),
            counts=chosen.counts,
            user_counts=chosen.user_counts,
            pieces=chosen.pieces,
            signs=chosen.signs,
        )

    def _select(self, indexes: NDArray[np.int64]) -> "CandidateTokens":
        counts = self.counts[indexes]
        ends = np.cumsum(counts)
        within = np.arange(int(counts.sum())) - np.repeat(ends - counts, counts)
        tokens: NDArray[np.int64] = np.repeat(self.starts[indexes], counts) + within
        return CandidateTokens(
            places=self.places[indexes],
            counts=counts,
            user_counts=self.user_counts[indexes],
            pieces=self.pieces[tokens],
            signs=self.signs[tokens],
        )


def read_tokens(
    rows: NDArray[np.int64],
    user_counts: NDArray[np.int32],
    counts: NDArray[np.int32],
    pieces: bytes,
    signs: bytes,
) -> CandidateTokens:
    """The tokens as the recall statement gives them, of the candidates of these rows."""
    return CandidateTokens(
        places=rows,
        counts=counts.astype(np.int64),
        user_counts=user_counts.astype(np.int64),
        pieces=np.frombuffer(pieces, dtype="<u2"),
        signs=np.frombuffer(signs, dtype=np.uint8).reshape(int(counts.sum()), -1),
    )
