"""The candidates of a search, as columns: the result of recall, the input of ranking.

A search weighs hundreds of candidates and shows a handful, so they are kept as arrays. An object is
made only for a candidate that is looked at.
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
from memsense.types import Granularity

NO_TAGS: frozenset[str] = frozenset()

COLUMNS: Mapping[Route, int] = MappingProxyType(
    {route: place for place, route in enumerate(ROUTES)}
)
"""Column of each route in `ranks` and `scores`."""


class RouteHit(NamedTuple):
    """Rank (from 1) and raw score that a route gave a candidate."""

    route: Route
    rank: int
    score: float


class WordingMatch(NamedTuple):
    """The wordings of the question that a candidate's text holds word for word.

    `phrase` stands for the whole question. `quoted` and `identifiers` are indexes into the
    question's quotations and identifiers; `identifier_share` is the share of its identifiers,
    weighted by idf.
    """

    phrase: bool = False
    quoted: tuple[int, ...] = ()
    identifiers: tuple[int, ...] = ()
    identifier_share: float = 0.0


NO_WORDING_MATCH = WordingMatch()


class Link(NamedTuple):
    """A stored pair: the ids of two chunks, its logit, its proof, and what was decided of it."""

    older_id: int
    newer_id: int
    strength: float
    reason: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A chunk that fusion kept; `embedding` is the unit vector of its full text, (d,) float32."""

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
    occurred_zone_known: bool = True
    user_speaker: str | None
    assistant_speaker: str | None
    embedding: NDArray[np.float32] | None


@dataclass(frozen=True, kw_only=True, eq=False)
class CandidateTokens:
    """Tokens of those of n candidates that have any, one candidate's after another's.

    `places` are the rows of these candidates. `counts` and `user_counts` are the number of tokens
    of each, and the number of them on its user side, which comes first. `pieces` (t,) are the
    tokens' numbers in the vocabulary, `signs` (t, ⌈d / 8⌉) the signs of their vectors, a bit each.
    """

    places: NDArray[np.int64]
    counts: NDArray[np.int64]
    user_counts: NDArray[np.int64]
    pieces: NDArray[np.uint16]
    signs: NDArray[np.uint8]

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Return the index of each candidate's first token."""
        return np.cumsum(self.counts) - self.counts

    def of(self, row: int) -> "CandidateTokens | None":
        """Return the tokens of one candidate, None if it has none."""
        indexes = np.flatnonzero(self.places == row)
        return self._select(indexes) if len(indexes) else None

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> "CandidateTokens":
        """Return the tokens of the candidates of these rows, under their new row numbers."""
        index_of = {place: index for index, place in enumerate(self.places.tolist())}
        pairs = [
            (new, index_of[old])
            for new, old in enumerate(np.asarray(rows).tolist())
            if old in index_of
        ]
        selected = self._select(np.array([index for _, index in pairs], dtype=np.int64))
        return replace(selected, places=np.array([new for new, _ in pairs], dtype=np.int64))

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


@dataclass(frozen=True, kw_only=True, eq=False)
class Candidates(Sequence[Candidate]):
    """n candidates by descending rrf_score; a field holds a column of n values, or n rows.

    `ranks` and `scores` are (n, routes), in the order of ROUTES; rank 0 means that the route did
    not find the candidate. `embeddings` is (n, d) float32, a row of zeros where `embedded` is
    False. `by_other` (n,) says whose texts the second of `models` compares, in a search that reads
    two; cosines of the two models' vectors are 0. `tags` and `wordings` map chunk ids to values,
    for candidates that have any. `tokens` is None if no tokens were read. `links` are the stored
    supersessions, of chunks that may not be among these candidates any more.
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
    zones_known: NDArray[np.bool_]
    user_speakers: Sequence[str | None]
    assistant_speakers: Sequence[str | None]
    embedded: NDArray[np.bool_]
    embeddings: NDArray[np.float32]
    by_other: NDArray[np.bool_]
    models: Sequence[str] = ("", "")
    wordings: Mapping[int, WordingMatch] = field(default_factory=dict[int, WordingMatch])
    tokens: CandidateTokens | None = None
    links: Sequence[Link] = ()

    @classmethod
    def of(cls, candidates: Sequence[Candidate]) -> "Candidates":
        """Return the same candidates as columns, in their order."""
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
            zones_known=np.array([item.occurred_zone_known for item in candidates], dtype=bool),
            user_speakers=[item.user_speaker for item in candidates],
            assistant_speakers=[item.assistant_speaker for item in candidates],
            embedded=np.array([item.embedding is not None for item in candidates], dtype=bool),
            embeddings=embeddings,
            by_other=np.zeros(len(candidates), dtype=bool),
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
            occurred_zone_known=bool(self.zones_known[row]),
            user_speaker=self.user_speakers[row],
            assistant_speaker=self.assistant_speakers[row],
            embedding=self.embeddings[row] if self.embedded[row] else None,
        )

    def route_hits(self, row: int) -> tuple[RouteHit, ...]:
        """Return rank and score by each route that found the candidate, in route order."""
        ranks, scores = self.ranks[row].tolist(), self.scores[row].tolist()
        hits = zip(ROUTES, ranks, scores, strict=True)
        return tuple([RouteHit(route, rank, score) for route, rank, score in hits if rank])

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> "Candidates":
        """Return the candidates of these rows, in this order."""
        indexes = np.asarray(rows, dtype=np.int64)
        listed: list[int] = indexes.tolist()
        return Candidates(
            chunk_ids=self.chunk_ids[indexes],
            rrf_scores=self.rrf_scores[indexes],
            ranks=self.ranks[indexes],
            scores=self.scores[indexes],
            scope_ids=self.scope_ids[indexes],
            is_session=self.is_session[indexes],
            session_ids=[self.session_ids[row] for row in listed],
            ordinals=self.ordinals[indexes],
            parts=self.parts[indexes],
            memory_scores=self.memory_scores[indexes],
            tags=self.tags,
            times=[self.times[row] for row in listed],
            zones_known=self.zones_known[indexes],
            user_speakers=[self.user_speakers[row] for row in listed],
            assistant_speakers=[self.assistant_speakers[row] for row in listed],
            embedded=self.embedded[indexes],
            embeddings=self.embeddings[indexes],
            by_other=self.by_other[indexes],
            models=self.models,
            wordings=self.wordings,
            tokens=self.tokens.take(listed) if self.tokens else None,
            links=self.links,
        )

    @cached_property
    def exchange_numbers(self) -> NDArray[np.int64]:
        """Return a number for each exchange or session chunk, (n,), equal for the parts of one."""
        numbers: defaultdict[Hashable, int] = defaultdict(count().__next__)
        keys = zip(self.session_numbers, self.ordinals.tolist(), strict=True)
        whole = self.is_session.tolist()
        return np.array(
            [numbers[row if whole[row] else key] for row, key in enumerate(keys)], dtype=np.int64
        )

    @cached_property
    def session_numbers(self) -> list[int]:
        """Return a number for each candidate's session, from 0 in the order of first candidates."""
        numbers: defaultdict[Hashable, int] = defaultdict(count().__next__)
        scope_ids: list[int] = self.scope_ids.tolist()
        # Two users may give their sessions the same ids.
        if len(set(scope_ids)) > 1:
            return [numbers[key] for key in zip(scope_ids, self.session_ids, strict=True)]
        return [numbers[session_id] for session_id in self.session_ids]
