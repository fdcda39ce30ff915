"""Candidates of a search, a column at a time: what recall found and rerank ranks.

A search weighs hundreds of candidates and shows a handful, so they are kept as arrays; an object
is made only for a candidate that somebody looks at.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from itertools import count
from types import MappingProxyType
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from memsense.search.profiles import ROUTES, Route
from memsense.search.recall.tokens import CandidateTokens
from memsense.types import Granularity

NO_TAGS: frozenset[str] = frozenset()

COLUMNS: Mapping[Route, int] = MappingProxyType(
    {route: place for place, route in enumerate(ROUTES)}
)
"""The column of each route in `ranks` and `scores`."""


class RouteHit(NamedTuple):
    """A route's rank (1-based) and raw score for a candidate."""

    route: Route
    rank: int
    score: float


class Held(NamedTuple):
    """What a candidate's text holds of the question word for word.

    `quoted` and `identifiers` are places in the question's quotations and identifiers;
    `identifier_share` is the share of its identifiers, each counted by its idf.
    """

    phrase: bool = False
    quoted: tuple[int, ...] = ()
    identifiers: tuple[int, ...] = ()
    identifier_share: float = 0.0


NOTHING_HELD = Held()


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A chunk that fusion kept; `embedding` is its full text's unit vector, (d,) float32."""

    chunk_id: int
    rrf_score: float
    routes: tuple[RouteHit, ...]
    scope_id: int
    granularity: Granularity
    session_id: str
    ordinal: int
    part: int
    memory_score: float
    tags: frozenset[str]
    occurred_at: datetime | None
    user_speaker: str | None
    assistant_speaker: str | None
    embedding: NDArray[np.float32] | None


@dataclass(frozen=True, kw_only=True, eq=False)
class Candidates(Sequence[Candidate]):
    """n candidates, a field each: arrays (n,), lists of n, or a row each.

    `ranks` and `scores` are (n, routes), in the order of ROUTES; rank 0: the route didn't find it.
    `embeddings` is (n, d) float32, a row of zeros where `embedded` is False. `tags` and `held`
    hold only the candidates that have any, by chunk id. `session_scores` is (n,): what the best
    session chunk of its session scores by rank, for exchanges that were found beside such chunks.
    `tokens` are there where they are asked for and any candidate has some.
    """

    chunk_ids: NDArray[np.int64]
    rrf_scores: NDArray[np.float64]
    ranks: NDArray[np.int64]
    scores: NDArray[np.float64]
    scope_ids: NDArray[np.int64]
    is_session: NDArray[np.bool_]
    session_ids: Sequence[str]
    ordinals: NDArray[np.int64]
    parts: NDArray[np.int64]
    memory_scores: NDArray[np.float64]
    tags: Mapping[int, frozenset[str]]
    times: Sequence[datetime | None]
    user_speakers: Sequence[str | None]
    assistant_speakers: Sequence[str | None]
    embedded: NDArray[np.bool_]
    embeddings: NDArray[np.float32]
    held: Mapping[int, Held] = field(default_factory=dict[int, Held])
    session_scores: NDArray[np.float64] | None = None
    tokens: CandidateTokens | None = None

    @classmethod
    def of(cls, candidates: Sequence[Candidate]) -> "Candidates":
        """The same candidates as arrays, in their order."""
        known = [item.embedding is not None for item in candidates]
        width = next((len(c.embedding) for c in candidates if c.embedding is not None), 1)
        embeddings = np.zeros((len(candidates), width), dtype=np.float32)
        ranks = np.zeros((len(candidates), len(ROUTES)), dtype=np.int64)
        scores = np.zeros((len(candidates), len(ROUTES)))
        for row, item in enumerate(candidates):
            if item.embedding is not None:
                embeddings[row] = item.embedding
            for hit in item.routes:
                ranks[row, COLUMNS[hit.route]] = hit.rank
                scores[row, COLUMNS[hit.route]] = hit.score
        return cls(
            chunk_ids=np.array([item.chunk_id for item in candidates], dtype=np.int64),
            rrf_scores=np.array([item.rrf_score for item in candidates], dtype=np.float64),
            ranks=ranks,
            scores=scores,
            scope_ids=np.array([item.scope_id for item in candidates], dtype=np.int64),
            is_session=np.array([item.granularity == "session" for item in candidates], dtype=bool),
            session_ids=[item.session_id for item in candidates],
            ordinals=np.array([item.ordinal for item in candidates], dtype=np.int64),
            parts=np.array([item.part for item in candidates], dtype=np.int64),
            memory_scores=np.array([item.memory_score for item in candidates], dtype=np.float64),
            tags={item.chunk_id: item.tags for item in candidates if item.tags},
            times=[item.occurred_at for item in candidates],
            user_speakers=[item.user_speaker for item in candidates],
            assistant_speakers=[item.assistant_speaker for item in candidates],
            embedded=np.array(known, dtype=bool),
            embeddings=embeddings,
        )

    def __len__(self) -> int:
        return len(self.chunk_ids)

    @overload
    def __getitem__(self, index: int) -> Candidate: ...
    @overload
    def __getitem__(self, index: slice) -> "Candidates": ...
    def __getitem__(self, index: int | slice) -> "Candidate | Candidates":
        if isinstance(index, slice):
            return self.take(range(len(self))[index])
        return self._candidate(range(len(self))[index])

    def __iter__(self) -> Iterator[Candidate]:
        return map(self._candidate, range(len(self)))

    def _candidate(self, row: int) -> Candidate:
        chunk_id = int(self.chunk_ids[row])
        return Candidate(
            chunk_id=chunk_id,
            rrf_score=float(self.rrf_scores[row]),
            routes=self.route_hits(row),
            scope_id=int(self.scope_ids[row]),
            granularity="session" if self.is_session[row] else "turn",
            session_id=self.session_ids[row],
            ordinal=int(self.ordinals[row]),
            part=int(self.parts[row]),
            memory_score=float(self.memory_scores[row]),
            tags=self.tags.get(chunk_id, NO_TAGS),
            occurred_at=self.times[row],
            user_speaker=self.user_speakers[row],
            assistant_speaker=self.assistant_speakers[row],
            embedding=self.embeddings[row] if self.embedded[row] else None,
        )

    def route_hits(self, row: int) -> tuple[RouteHit, ...]:
        """What each route that found the candidate says of it, in route order."""
        ranks, scores = self.ranks[row].tolist(), self.scores[row].tolist()
        hits = zip(ROUTES, ranks, scores, strict=True)
        return tuple([RouteHit(route, rank, score) for route, rank, score in hits if rank])

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> "Candidates":
        """The candidates of these rows, in this order."""
        wanted = np.asarray(rows, dtype=np.int64)
        listed: list[int] = wanted.tolist()
        return Candidates(
            chunk_ids=self.chunk_ids[wanted],
            rrf_scores=self.rrf_scores[wanted],
            ranks=self.ranks[wanted],
            scores=self.scores[wanted],
            scope_ids=self.scope_ids[wanted],
            is_session=self.is_session[wanted],
            session_ids=[self.session_ids[row] for row in listed],
            ordinals=self.ordinals[wanted],
            parts=self.parts[wanted],
            memory_scores=self.memory_scores[wanted],
            tags=self.tags,
            times=[self.times[row] for row in listed],
            user_speakers=[self.user_speakers[row] for row in listed],
            assistant_speakers=[self.assistant_speakers[row] for row in listed],
            embedded=self.embedded[wanted],
            embeddings=self.embeddings[wanted],
            held=self.held,
            session_scores=None if self.session_scores is None else self.session_scores[wanted],
            tokens=self.tokens.take(listed) if self.tokens else None,
        )

    def without_sessions(self) -> "Candidates":
        """The exchanges alone, each with what its session's chunks score."""
        whole = np.flatnonzero(self.is_session)
        if not len(whole):
            return self
        numbers = np.array(self.session_numbers)
        best = np.zeros(numbers.max() + 1)
        np.maximum.at(best, numbers[whole], self.rrf_scores[whole])
        scored = replace(self, session_scores=best[numbers])
        return scored.take(np.flatnonzero(~self.is_session))

    @cached_property
    def exchange_numbers(self) -> NDArray[np.int64]:
        """A number for each candidate's exchange, (n,), equal for the parts of one.

        A session chunk is an exchange of its own.
        """
        sessions = np.array(self.session_numbers, dtype=np.int64)
        alone = np.where(self.is_session, np.arange(1, len(self) + 1), 0)
        keys = np.stack((sessions, self.ordinals, alone))
        return np.unique(keys, axis=1, return_inverse=True)[1].reshape(-1)

    @cached_property
    def session_numbers(self) -> list[int]:
        """A number for each candidate's session, equal for equal sessions, from 0 as they come."""
        numbers: defaultdict[Hashable, int] = defaultdict(count().__next__)
        scope_ids: list[int] = self.scope_ids.tolist()
        if len(set(scope_ids)) > 1:
            return [numbers[key] for key in zip(scope_ids, self.session_ids, strict=True)]
        return [numbers[session_id] for session_id in self.session_ids]
