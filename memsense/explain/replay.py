"""Runs a recorded search again, as it was or with other constants, and says what moved and why."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from memsense.explain.outcomes import trace_outcomes
from memsense.explain.why_not import describe_outcome
from memsense.search.hits import SearchResult
from memsense.search.profiles import Profile, read_profile
from memsense.search.request import NO_FILTERS, Filters, SearchRequest
from memsense.search.search import Search
from memsense.store.traces import Trace, TraceCandidate
from memsense.types import Granularity

SMALLEST_CHANGE = 1e-6
"""Scores nearer than this are equal: another way to run the same model rounds otherwise."""

MOST_REASONS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedHit:
    """A hit of either list: the chunk shown, the candidate behind it, its score and its parts."""

    rank: int
    chunk_id: int
    candidate_id: int
    score: float
    parts: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Where a chunk stood, where it stands, and why; a rank is None where it is no hit."""

    chunk_id: int
    old_rank: int | None
    new_rank: int | None
    old_score: float | None
    new_score: float | None
    why: str
    changes: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """Two lists side by side: as recorded, and as the search answers now."""

    trace_id: UUID
    question: str
    old_profile: str
    new_profile: str
    changed: Mapping[str, tuple[Any, Any]]
    old: Sequence[ListedHit]
    new: Sequence[ListedHit]
    moves: Sequence[Move]
    notes: Sequence[str] = ()

    @property
    def is_unchanged(self) -> bool:
        """Whether the same chunks came back in the same order with the same scores."""
        return len(self.old) == len(self.new) and all(
            one.chunk_id == other.chunk_id and abs(one.score - other.score) < SMALLEST_CHANGE
            for one, other in zip(self.old, self.new, strict=True)
        )

    @property
    def overlap(self) -> float:
        """The share of the recorded hits that are hits again; 1 where there were none."""
        before = {hit.chunk_id for hit in self.old}
        kept = before & {hit.chunk_id for hit in self.new}
        return len(kept) / len(before) if before else 1.0

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON."""
        return {
            "trace_id": str(self.trace_id),
            "question": self.question,
            "old_profile": self.old_profile,
            "new_profile": self.new_profile,
            "changed": {name: list(values) for name, values in self.changed.items()},
            "unchanged": self.is_unchanged,
            "overlap": self.overlap,
            "old": [_plain(hit) for hit in self.old],
            "new": [_plain(hit) for hit in self.new],
            "moves": [_plain(move) for move in self.moves],
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The replays of several traces, newest first."""

    replays: Sequence[Replay]

    @property
    def unchanged(self) -> int:
        """How many lists came back exactly as recorded."""
        return sum(replay.is_unchanged for replay in self.replays)

    @property
    def same_first(self) -> int:
        """How many lists begin with the same hit as before."""
        return sum(_first(replay.old) == _first(replay.new) for replay in self.replays)

    @property
    def mean_overlap(self) -> float:
        """The mean share of recorded hits that are hits again; 1 without traces."""
        shares = [replay.overlap for replay in self.replays]
        return sum(shares) / len(shares) if shares else 1.0

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON."""
        return {
            "traces": len(self.replays),
            "unchanged": self.unchanged,
            "same_first": self.same_first,
            "mean_overlap": self.mean_overlap,
            "replays": [replay.as_dict() for replay in self.replays],
        }


def _first(hits: Sequence[ListedHit]) -> int | None:
    return hits[0].chunk_id if hits else None


def _plain(item: ListedHit | Move) -> dict[str, Any]:
    values = {spec.name: getattr(item, spec.name) for spec in fields(item)}
    return {
        name: dict(value) if isinstance(value, Mapping) else value  # pyright: ignore[reportUnknownArgumentType]
        for name, value in values.items()
    }


def make_request(trace: Trace, profile: Profile, filters: Filters) -> SearchRequest:
    """The recorded search as a request of now.

    Earlier versions recorded "auto", which is what it returned: sessions where any were stored.
    """
    granularity = trace.returned if trace.granularity == "auto" else trace.granularity
    return SearchRequest(
        query=trace.question,
        user_id=trace.user_id,
        top_k=trace.top_k,
        granularity=cast("Granularity | None", granularity),
        min_score=trace.min_score,
        filters=filters,
        profile=profile,
        asked_at=trace.asked_at,
    )


Run = Callable[[SearchRequest], tuple[Search, SearchResult]]
"""Runs a search and fetches its hits."""


def replay_trace(
    trace: Trace,
    run: Run,
    profile: Profile | None,
    overrides: Mapping[str, object],
    *,
    filters: Filters = NO_FILTERS,
    as_of: datetime | None = None,
) -> Replay:
    """The trace's search run again: its own constants, or `profile`'s, with `overrides` on top,
    over memory as it is, or as it stood at `as_of`."""
    recorded = read_profile(trace.profile)
    chosen = profile or recorded
    if overrides:
        chosen = chosen.override(**overrides)
    request = make_request(trace, chosen, filters)
    search, result = run(replace(request, as_of=as_of))
    old = [_listed_before(item) for item in trace.hits()]
    new = [
        ListedHit(
            rank=rank,
            chunk_id=hit.chunk_id,
            candidate_id=hit.explain.chunk_id,
            score=hit.score,
            parts=dict(hit.explain.parts()),
        )
        for rank, hit in enumerate(result, start=1)
    ]
    return Replay(
        trace_id=trace.trace_id,
        question=trace.question,
        old_profile=trace.profile_name,
        new_profile=chosen.name,
        changed=_changed_constants(recorded, chosen),
        old=old,
        new=new,
        moves=_find_moves(trace, search, old, new),
        notes=result.notes,
    )


def _listed_before(item: TraceCandidate) -> ListedHit:
    return ListedHit(
        rank=item.hit_rank or 0,
        chunk_id=item.shown_chunk_id or item.chunk_id,
        candidate_id=item.chunk_id,
        score=item.final_score,
        parts=item.parts(),
    )


def _changed_constants(old: Profile, new: Profile) -> dict[str, tuple[Any, Any]]:
    before, after = old.constants(), new.constants()
    return {name: (before[name], after[name]) for name in before if before[name] != after[name]}


def _find_moves(
    trace: Trace, search: Search, old: Sequence[ListedHit], new: Sequence[ListedHit]
) -> list[Move]:
    before = {hit.chunk_id: hit for hit in old}
    after = {hit.chunk_id: hit for hit in new}
    reasons = _Reasons(trace, search)
    order = [*after, *(chunk_id for chunk_id in before if chunk_id not in after)]
    return [
        reasons.explain(chunk_id, before.get(chunk_id), after.get(chunk_id)) for chunk_id in order
    ]


class _Reasons:
    """Looks up what became of a chunk in the search that did not return it."""

    def __init__(self, trace: Trace, search: Search) -> None:
        self._before = {item.chunk_id: item for item in trace.candidates}
        self._after = {item.candidate.chunk_id: item for item in trace_outcomes(search)}

    def explain(self, chunk_id: int, old: ListedHit | None, new: ListedHit | None) -> Move:
        changes = _differences(old.parts, new.parts) if old and new else {}
        return Move(
            chunk_id=chunk_id,
            old_rank=old.rank if old else None,
            new_rank=new.rank if new else None,
            old_score=old.score if old else None,
            new_score=new.score if new else None,
            changes=changes,
            why=self._say_why(old, new, changes),
        )

    def _say_why(
        self, old: ListedHit | None, new: ListedHit | None, changes: Mapping[str, float]
    ) -> str:
        if old is None:
            item = self._before.get(new.candidate_id) if new else None
            return f"before: {_describe_dropped(item)}" if item else "was no candidate before"
        if new is None:
            outcome = self._after.get(old.candidate_id)
            return describe_outcome(outcome) if outcome else "is no candidate any more"
        if changes:
            largest = sorted(changes, key=lambda name: -abs(changes[name]))[:MOST_REASONS]
            return ", ".join(f"{name} {changes[name]:+.4f}" for name in largest)
        if old.rank == new.rank:
            return "unchanged"
        return "same score; others moved" if old.rank > new.rank else "same score; overtaken"


def _differences(old: Mapping[str, float], new: Mapping[str, float]) -> dict[str, float]:
    found = {name: new.get(name, 0.0) - old.get(name, 0.0) for name in [*new, *old]}
    return {name: value for name, value in found.items() if abs(value) > SMALLEST_CHANGE}


def _describe_dropped(item: TraceCandidate) -> str:
    """What a trace says of a candidate that it did not return."""
    if item.dropped_by in ("session", "part"):
        left = "exchange" if item.dropped_by == "part" else "session"
        return f"left its {left} to chunk {item.lost_to}"
    if item.dropped_by == "duplicate":
        return f"duplicated hit chunk {item.lost_to} (redundancy {item.redundancy or 0:.3f})"
    if item.dropped_by == "limit":
        return (
            f"was barred with its session by max_per_session or min_sessions:"
            f" place {item.score_rank} by score"
        )
    if item.dropped_by == "below_min_score":
        return f"was below min_score, place {item.score_rank} by score"
    if item.dropped_by == "mmr":
        return f"was dropped by MMR, place {item.score_rank} by score"
    return f"was outranked, place {item.score_rank} by score"
