"""Replays of recorded searches, as they were or with other constants: what moved, and why."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any, Protocol, cast
from uuid import UUID

from memsense.explain.outcomes import trace_outcomes
from memsense.explain.why_not import describe_outcome
from memsense.search.hits import SearchResult, Supersession
from memsense.search.profiles import Profile, read_profile
from memsense.search.request import NO_FILTERS, Filters, SearchRequest
from memsense.search.search import Search
from memsense.search.settings import CALENDAR_SETTINGS, NAMESPACE_DEFAULTS
from memsense.store.traces import Trace, TraceCandidate
from memsense.types import Granularity, Note

SMALLEST_CHANGE = 1e-6
"""Scores nearer than this count as equal: the same model run in another way rounds differently."""

MOST_REASONS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedHit:
    """A hit of either list.

    Attributes:
        rank: Rank in the list, from 1.
        chunk_id: Chunk that is shown.
        candidate_id: Chunk that was ranked; another one for a session.
        score: Final score.
        parts: Parts of the score by name.
        superseded_by: Memory that changed what this one says; a recorded list does not know it.
        supersedes: Memory whose fact this one changed; a recorded list does not know it.
    """

    rank: int
    chunk_id: int
    candidate_id: int
    score: float
    parts: Mapping[str, float]
    superseded_by: Supersession | None = None
    supersedes: Supersession | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """The move of a chunk from one list to the other.

    Attributes:
        chunk_id: The chunk.
        old_rank: Rank in the recorded list, None if it was no hit.
        new_rank: Rank in the new list, None if it is no hit.
        old_score: Score in the recorded list.
        new_score: Score in the new list.
        why: Reason in words.
        changes: Differences of the parts of the score by name.
    """

    chunk_id: int
    old_rank: int | None
    new_rank: int | None
    old_score: float | None
    new_score: float | None
    why: str
    changes: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """Two lists of hits: as recorded, and as the search answers now.

    Attributes:
        trace_id: Id of the recorded search.
        question: The question.
        old_profile: Name of the recorded profile.
        new_profile: Name of the profile of the new run.
        changed: Constants that differ, each with its old and its new value.
        old: Hits as recorded.
        new: Hits of the new run.
        moves: Every chunk of either list, with its ranks and the reason of its move.
        notes: Notes of the new run.
    """

    trace_id: UUID
    question: str
    old_profile: str
    new_profile: str
    changed: Mapping[str, tuple[Any, Any]]
    old: Sequence[ListedHit]
    new: Sequence[ListedHit]
    moves: Sequence[Move]
    notes: Sequence[Note] = ()

    @property
    def is_unchanged(self) -> bool:
        """Return whether the same chunks came back in the same order with the same scores."""
        return len(self.old) == len(self.new) and all(
            one.chunk_id == other.chunk_id and abs(one.score - other.score) < SMALLEST_CHANGE
            for one, other in zip(self.old, self.new, strict=True)
        )

    @property
    def overlap(self) -> float:
        """Return the share of the recorded hits that are hits again; 1 if there were none."""
        before = {hit.chunk_id for hit in self.old}
        again = before & {hit.chunk_id for hit in self.new}
        return len(again) / len(before) if before else 1.0

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for JSON."""
        return {
            "trace_id": str(self.trace_id),
            "question": self.question,
            "old_profile": self.old_profile,
            "new_profile": self.new_profile,
            "changed": {name: list(values) for name, values in self.changed.items()},
            "unchanged": self.is_unchanged,
            "overlap": self.overlap,
            "old": [plain(hit) for hit in self.old],
            "new": [plain(hit) for hit in self.new],
            "moves": [plain(move) for move in self.moves],
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The replays of several traces.

    Attributes:
        replays: One for each trace, newest first.
    """

    replays: Sequence[Replay]

    @property
    def unchanged(self) -> int:
        """Return the number of lists that came back exactly as recorded."""
        return sum(replay.is_unchanged for replay in self.replays)

    @property
    def same_first(self) -> int:
        """Return the number of lists that begin with the same hit as before."""
        return sum(_first(replay.old) == _first(replay.new) for replay in self.replays)

    @property
    def mean_overlap(self) -> float:
        """Return the mean share of recorded hits that are hits again; 1 without traces."""
        shares = [replay.overlap for replay in self.replays]
        return sum(shares) / len(shares) if shares else 1.0

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values, ready for JSON."""
        return {
            "traces": len(self.replays),
            "unchanged": self.unchanged,
            "same_first": self.same_first,
            "mean_overlap": self.mean_overlap,
            "replays": [replay.as_dict() for replay in self.replays],
        }


def _first(hits: Sequence[ListedHit]) -> int | None:
    return hits[0].chunk_id if hits else None


def plain(item: ListedHit | Move) -> dict[str, Any]:
    """Return a hit or a move as plain values, ready for JSON."""
    values: dict[str, Any] = {spec.name: getattr(item, spec.name) for spec in fields(item)}
    for name, value in values.items():
        if isinstance(value, Supersession):
            values[name] = value.as_dict()
        elif isinstance(value, Mapping):
            values[name] = dict(cast("Mapping[str, Any]", value))
    return values


def make_request(trace: Trace, profile: Profile, filters: Filters) -> SearchRequest:
    """Return the recorded search as a new request."""
    # Earlier versions recorded "auto", which returned sessions if any were stored: the request asks
    # for what was returned.
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
        # Earlier versions counted UTC days.
        timezone=trace.timezone or "UTC",
        calendar=trace.calendar or {name: NAMESPACE_DEFAULTS[name] for name in CALENDAR_SETTINGS},
        request_share=trace.request_share,
    )


Run = Callable[[SearchRequest], tuple[Search, SearchResult]]
"""Function that runs a search and fetches its hits."""


def replay_trace(
    trace: Trace,
    run: Run,
    profile: Profile | None,
    overrides: Mapping[str, object],
    *,
    filters: Filters = NO_FILTERS,
    as_of: datetime | None = None,
) -> Replay:
    """Run the trace's search again, with its own constants or others, and compare the lists."""
    recorded = read_profile(trace.profile)
    chosen = profile or recorded
    if overrides:
        chosen = chosen.override(**overrides)
    request = make_request(trace, chosen, filters)
    search, result = run(replace(request, as_of=as_of))
    old = [
        ListedHit(
            rank=item.hit_rank or 0,
            chunk_id=item.shown_chunk_id or item.chunk_id,
            candidate_id=item.chunk_id,
            score=item.final_score,
            parts=item.parts(),
        )
        for item in trace.hits()
    ]
    new = list_hits(result)
    before, after = recorded.constants(), chosen.constants()
    return Replay(
        trace_id=trace.trace_id,
        question=trace.question,
        old_profile=trace.profile_name,
        new_profile=chosen.name,
        changed={
            name: (before[name], after[name]) for name in before if before[name] != after[name]
        },
        old=old,
        new=new,
        moves=join_moves(old, new, reasons=_AbsenceReasons(trace, search)),
        notes=result.notes,
    )


def list_hits(result: SearchResult) -> list[ListedHit]:
    """Return the hits of a search as a comparison lists them."""
    return [
        ListedHit(
            rank=rank,
            chunk_id=hit.chunk_id,
            candidate_id=hit.explain.chunk_id,
            score=hit.score,
            parts=dict(hit.explain.parts()),
            superseded_by=hit.superseded_by,
            supersedes=hit.supersedes,
        )
        for rank, hit in enumerate(result, start=1)
    ]


class AbsenceReasons(Protocol):
    """Reasons why a hit of one list is not in the other."""

    def why_entered(self, hit: ListedHit) -> str:
        """Return why a hit of the new list is not in the old one."""
        ...

    def why_left(self, hit: ListedHit) -> str:
        """Return why a hit of the old list is not in the new one."""
        ...


class ListReasons:
    """Reasons why a memory is in one of two lists alone.

    Args:
        replays: Replays whose moves say it; of all others a general reason is given.
    """

    def __init__(self, *replays: Replay) -> None:
        self._reasons = {move.chunk_id: move.why for it in replays for move in it.moves}

    def why_entered(self, hit: ListedHit) -> str:
        """Return why a hit of the new list is not in the old one."""
        return self._reasons.get(hit.chunk_id, "not among the hits of the other list")

    def why_left(self, hit: ListedHit) -> str:
        """Return why a hit of the old list is not in the new one."""
        return self.why_entered(hit)


class _AbsenceReasons:
    """Reasons of a recorded search and of the search that replays it."""

    def __init__(self, trace: Trace, search: Search) -> None:
        self._recorded = {item.chunk_id: item for item in trace.candidates}
        self._outcomes = {item.candidate.chunk_id: item for item in trace_outcomes(search)}

    def why_entered(self, hit: ListedHit) -> str:
        """Return what the recorded search did with the hit."""
        item = self._recorded.get(hit.candidate_id)
        return f"before: {_describe_dropped(item)}" if item else "was no candidate before"

    def why_left(self, hit: ListedHit) -> str:
        """Return what the replay did with the hit."""
        outcome = self._outcomes.get(hit.candidate_id)
        return describe_outcome(outcome) if outcome else "is no candidate any more"


def join_moves(
    old: Sequence[ListedHit], new: Sequence[ListedHit], *, reasons: AbsenceReasons
) -> list[Move]:
    """Return the moves from one list of hits to another, by the parts of the scores that changed.

    Args:
        old: The hits of the one list.
        new: The hits of the other.
        reasons: Why a hit is in one of them alone.
    """
    before = {hit.chunk_id: hit for hit in old}
    after = {hit.chunk_id: hit for hit in new}
    moves: list[Move] = []
    for chunk_id in dict.fromkeys([*after, *before]):
        one, other = before.get(chunk_id), after.get(chunk_id)
        changes: dict[str, float] = {}
        why = ""
        if one is None and other is not None:
            why = reasons.why_entered(other)
        elif one is not None and other is None:
            why = reasons.why_left(one)
        elif one is not None and other is not None:
            names = dict.fromkeys([*other.parts, *one.parts])
            differences = {
                name: other.parts.get(name, 0.0) - one.parts.get(name, 0.0) for name in names
            }
            changes = {n: value for n, value in differences.items() if abs(value) > SMALLEST_CHANGE}
            largest = sorted(changes, key=lambda name: -abs(changes[name]))[:MOST_REASONS]
            why = ", ".join(f"{name} {changes[name]:+.4f}" for name in largest)
            if not changes and one.rank == other.rank:
                why = "unchanged"
            elif not changes:
                is_up = one.rank > other.rank
                why = "same score; others moved" if is_up else "same score; overtaken"
        moves.append(
            Move(
                chunk_id=chunk_id,
                old_rank=one.rank if one else None,
                new_rank=other.rank if other else None,
                old_score=one.score if one else None,
                new_score=other.score if other else None,
                changes=changes,
                why=why,
            )
        )
    return moves


def _describe_dropped(item: TraceCandidate) -> str:
    """Return what a trace recorded of a candidate that it did not return."""
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
