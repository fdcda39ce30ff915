"""What answers hold, typed."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from memsense.types import Granularity, MemoryKind, Status

CURSOR = "hand it back as `cursor` for the next page; null on the last one"


class Answer(BaseModel):
    """Read from what the Python API returns."""

    model_config = ConfigDict(from_attributes=True)

    @classmethod
    def of(cls, value: object) -> Self:
        """The answer that tells a value of the Python API."""
        return cls.model_validate(value)


class Memory(Answer):
    """A stored chunk: an exchange, a part of a long one, or a session."""

    chunk_id: int = Field(examples=[42])
    user_id: str = Field(examples=["ada"])
    agent_id: str | None
    session_id: str = Field(examples=["monday"])
    granularity: Granularity
    ordinal: int = Field(description="place of its first exchange in the session, from 0")
    part: int
    part_count: int
    status: Status
    content: str = Field(
        description="both sides under their names; empty if it is forgotten",
        examples=["user: I moved to Lisbon in March."],
    )
    user_text: str
    assistant_text: str
    tags: Sequence[str]
    task_tag: str | None
    memory_kind: MemoryKind
    personal_info: str | None
    preferences: str | None
    events: str | None
    memory_score: float
    confidence: float
    occurred_at: datetime | None
    recorded_at: datetime
    expires_at: datetime | None = Field(description="from when on no search finds it")
    message_ids: Sequence[str]
    source: str | None
    metadata: Mapping[str, Any]


class MemoryPage(BaseModel):
    """A page of memories, the latest first."""

    memories: list[Memory]
    next_cursor: str | None = Field(description=CURSOR)


class AddedMemories(BaseModel):
    """What was stored, or was there already."""

    memories: list[Memory]
    notes: list[str] = Field(description="what is to be said of it")
    deferred: int = Field(description="how many still wait for their vectors; words find them")


class Session(Answer):
    """A session: when it was, how much of it is stored, how it begins."""

    user_id: str
    session_id: str
    agent_id: str | None
    first_at: datetime | None
    last_at: datetime | None
    exchanges: int
    opening: str


class SessionPage(BaseModel):
    """A page of sessions, the latest first."""

    sessions: list[Session]
    next_cursor: str | None = Field(description=CURSOR)


class User(Answer):
    """What a user's memory holds."""

    user_id: str
    language: str
    model: str | None
    turns: int
    session_chunks: int
    sessions: int
    inactive: int
    first_at: datetime | None
    last_at: datetime | None


class UserPage(BaseModel):
    """A page of users, by their ids."""

    users: list[User]
    next_cursor: str | None = Field(description=CURSOR)


class KeptVersion(Answer):
    """What a memory said until it was changed."""

    version: int
    content: Mapping[str, Any] = Field(description="its fields by name")
    superseded_at: datetime


class Versions(BaseModel):
    """What a memory said before, oldest first, where the setting `history` keeps it."""

    versions: list[KeptVersion]


class HistoryEntry(Answer):
    """Something that happened to a memory."""

    event_id: int
    chunk_id: int
    kind: str = Field(examples=["added"])
    detail: Mapping[str, Any]
    recorded_at: datetime


class History(BaseModel):
    """Everything that happened to a memory, oldest first."""

    events: list[HistoryEntry]


class RouteShare(BaseModel):
    """What a route adds to a score."""

    model_config = ConfigDict(extra="allow")

    route: str = Field(examples=["lexical"])
    rank: int
    score: float
    weight: float
    contribution: float


class Arithmetic(BaseModel):
    """Why a hit has its score: `parts` add up to `final_score`."""

    model_config = ConfigDict(extra="allow")

    chunk_id: int
    final_score: float
    parts: dict[str, float] = Field(examples=[{"vec_full": 0.0154, "lexical": 0.0161}])
    routes: list[RouteShare]


class FoundMemory(BaseModel):
    """A hit, with the arithmetic of its score."""

    model_config = ConfigDict(extra="allow")

    chunk_id: int
    score: float
    content: str
    content_cut: bool
    session_id: str
    user_id: str
    agent_id: str | None
    granularity: Granularity
    occurred_at: datetime | None
    message_ids: list[str]
    memory_kind: MemoryKind
    tags: list[str]
    explain: Arithmetic


class SearchAnswer(BaseModel):
    """The hits, best first."""

    profile: str
    question: dict[str, Any]
    notes: list[str] = Field(description="what is to be said of the answer as a whole")
    timings_ms: dict[str, float]
    trace_id: UUID | None = Field(description="of a recorded search")
    hits: list[FoundMemory]


class Verdict(BaseModel):
    """Why a memory is or is not among the hits: the first step that lost it."""

    chunk_id: int
    step: str = Field(examples=["outranked"])
    text: str
    numbers: dict[str, Any]


class TraceLine(Answer):
    """A recorded search."""

    trace_id: UUID
    user_id: str | None
    question: str
    top_k: int
    returned: str
    profile_name: str
    candidate_count: int
    hit_count: int
    total_ms: float
    recorded_at: datetime


class TracePage(BaseModel):
    """A page of recorded searches, the latest first."""

    traces: list[TraceLine]
    next_cursor: str | None = Field(description=CURSOR)


class Candidate(BaseModel):
    """What became of a candidate; `parts` add up to `final_score`."""

    chunk_id: int
    granularity: str
    position: int
    final_score: float
    parts: dict[str, float]
    hit_rank: int | None
    dropped_by: str | None


class RecordedSearch(BaseModel):
    """A recorded search with all of its candidates."""

    trace_id: UUID
    user_id: str | None
    question: str
    searched: str
    names: list[str]
    dates: list[str]
    lexemes: list[str]
    top_k: int
    profile_name: str
    profile: dict[str, Any]
    filters: dict[str, Any]
    timings_ms: dict[str, float]
    notes: list[str]
    recorded_at: datetime | None
    candidates: list[Candidate]


class ReplayAnswer(BaseModel):
    """Two lists side by side, and what moved."""

    model_config = ConfigDict(extra="allow")

    trace_id: UUID
    question: str
    old_profile: str
    new_profile: str
    unchanged: bool
    overlap: float
    old: list[dict[str, Any]]
    new: list[dict[str, Any]]
    moves: list[dict[str, Any]]
    notes: list[str]


class Changed(BaseModel):
    """Which memories changed: a session takes its exchanges along, a part the other parts."""

    chunk_ids: list[int]


class Scored(BaseModel):
    """A memory's score after it was moved."""

    chunk_id: int
    memory_score: float


class ErasureReceipt(BaseModel):
    """What proves an erasure: salted hashes and counts, no text and no id."""

    erasure_id: UUID
    namespace: str
    kind: str
    salt: str
    user_hash: str
    subject_hash: str
    counts: dict[str, int]
    erased_by: str
    erased_at: datetime


class JobLine(Answer):
    """Work that was left for later."""

    job_id: int
    kind: str
    status: str
    user_id: str | None
    session_id: str | None
    chunk_id: int | None
    attempts: int
    run_at: datetime
    dead_at: datetime | None
    last_error: str | None


class Jobs(BaseModel):
    """What was left for later, those that are due next first, and how many there are."""

    waiting: int
    running: int
    dead: int
    oldest_at: datetime | None
    jobs: list[JobLine]


class JobIds(BaseModel):
    """The jobs that were changed."""

    job_ids: list[int]


class Health(BaseModel):
    """Whether the server answers."""

    status: str = Field(examples=["ready"])
