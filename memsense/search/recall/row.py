"""Reads the one row that the recall query gives: columns of candidates, as arrays.

The payload and the vectors come in an order of their own; ids say whose they are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memsense.db.wire import read_joined_arrays, read_joined_halfvecs
from memsense.search.profiles import ROUTES
from memsense.search.question import Wording
from memsense.search.recall.candidates import Candidates, Held
from memsense.search.recall.tokens import CandidateTokens, read_tokens


def read_candidates(columns: Sequence[Any], wording: Wording) -> Candidates:
    """The result's one row without its state, all of it null when nothing was found."""
    if columns[0] is None:
        return Candidates.of(())
    (
        chunk_ids, rrf_scores, hit_routes, hit_counts, hit_chunk_ids, hit_scores, payload_ids,
        scope_ids, granularities, session_ids, ordinals, parts, memory_scores, times,
        user_speakers, assistant_speakers, tags, worded, identified, embedded, embeddings, *tokens,
    ) = columns  # fmt: skip
    places = _Places.of(chunk_ids)
    ranks, scores = _read_hits(places, hit_routes, hit_counts, hit_chunk_ids, hit_scores)
    order = _Places.of(payload_ids).find(chunk_ids)
    listed: list[int] = order.tolist()
    known = np.zeros(len(chunk_ids), dtype=bool)
    vectors = np.zeros((len(chunk_ids), 1), dtype=np.float32)
    if embedded is not None:
        rows = places.find(embedded)
        found = read_joined_halfvecs(embeddings)
        known[rows] = True
        vectors = np.zeros((len(chunk_ids), found.shape[1]), dtype=np.float32)
        vectors[rows] = found
    return Candidates(
        chunk_ids=chunk_ids,
        rrf_scores=rrf_scores,
        ranks=ranks,
        scores=scores,
        scope_ids=scope_ids[order].astype(np.int64),
        is_session=np.array([granularities[row] == "session" for row in listed], dtype=bool),
        session_ids=[session_ids[row] for row in listed],
        ordinals=ordinals[order].astype(np.int64),
        parts=parts[order].astype(np.int64),
        memory_scores=memory_scores[order],
        tags=_read_tags(tags or {}),
        times=[times[row] for row in listed],
        user_speakers=[user_speakers[row] for row in listed],
        assistant_speakers=[assistant_speakers[row] for row in listed],
        embedded=known,
        embeddings=vectors,
        held=_read_held(worded or {}, identified or {}, wording),
        tokens=_read_tokens(places, tokens),
    )


def _read_tokens(places: "_Places", columns: Sequence[Any]) -> CandidateTokens | None:
    """The candidates' tokens, if the statement asked for them and any candidate has some."""
    if not columns or columns[0] is None:
        return None
    tokened, user_counts, counts, pieces, signs = columns
    return read_tokens(places.find(tokened), user_counts, counts, pieces, signs)


@dataclass(frozen=True, slots=True)
class _Places:
    """Finds the places of ids in an array of distinct ids, in whatever order that is."""

    order: NDArray[np.int64]
    ascending: NDArray[np.int64]

    @classmethod
    def of(cls, ids: NDArray[np.int64]) -> "_Places":
        """The places of these ids."""
        order = np.argsort(ids)
        return cls(order, ids[order])

    def find(self, wanted: NDArray[np.int64]) -> NDArray[np.int64]:
        """The place of each wanted id, every one of which is there."""
        return self.order[np.searchsorted(self.ascending, wanted)]

    def look_up(self, wanted: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Which of the wanted ids are there, and the places of those."""
        near = np.minimum(np.searchsorted(self.ascending, wanted), len(self.ascending) - 1)
        is_there = self.ascending[near] == wanted
        return is_there, self.order[near[is_there]]


def _read_hits(
    places: _Places,
    routes: NDArray[np.int32],
    counts: NDArray[np.int32],
    chunk_ids: bytes,
    scores: bytes,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Rank and raw score of each candidate by route, (n, routes); lists are given best first."""
    lengths: list[int] = counts.tolist()
    is_kept, rows = places.look_up(read_joined_arrays(chunk_ids, np.int64, lengths))
    columns = np.repeat(routes - 1, counts)[is_kept]
    shape = len(places.order), len(ROUTES)
    ranks, raw = np.zeros(shape, dtype=np.int64), np.zeros(shape)
    ranks[rows, columns] = np.concatenate([np.arange(1, n + 1) for n in lengths])[is_kept]
    raw[rows, columns] = read_joined_arrays(scores, np.float64, lengths)[is_kept]
    return ranks, raw


def _read_held(
    worded: Mapping[str, list[int]],
    identified: Mapping[str, tuple[float, list[int]]],
    wording: Wording,
) -> dict[int, Held]:
    """What each candidate holds, by chunk id; places count from 0."""
    held: dict[int, Held] = {}
    before = 1 + bool(wording.phrase)
    for chunk_id in worded.keys() | identified.keys():
        places = worded.get(chunk_id, [])
        share, identifiers = identified.get(chunk_id, (0.0, ()))
        held[int(chunk_id)] = Held(
            phrase=bool(wording.phrase) and 1 in places,
            quoted=tuple(place - before for place in places if place >= before),
            identifiers=tuple(place - 1 for place in identifiers),
            identifier_share=share,
        )
    return held


def _read_tags(found: Mapping[str, Sequence[str | None]]) -> dict[int, frozenset[str]]:
    """The tags of the chunks that have any, by chunk id; the task tag may be null."""
    return {
        int(chunk_id): frozenset(tag for tag in tags if tag is not None)
        for chunk_id, tags in found.items()
    }
