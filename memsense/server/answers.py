"""Answers of the API, made from the dataclasses that the Python methods return.

An answer has the fields of its dataclass with their types, or a named part of them. Only the frames
around them are written out here: pages, lists, and results that Python returns as plain values.
"""

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Annotated, Any, Self, get_type_hints
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, create_model

from memsense.search.prompt import PromptLine
from memsense.store import projects
from memsense.store.erasing import Receipt
from memsense.store.jobs import Job
from memsense.store.traces import Trace, TraceSummary
from memsense.store.versions import Version
from memsense.types import Chunk, Event, ScopeStatistics, SessionSummary

NextCursor = Annotated[
    str | None, Field(description="Pass it as `cursor` to get the next page; null on the last one.")
]


class Answer(BaseModel):
    """An answer that is read from the attributes of a Python object."""

    model_config = ConfigDict(from_attributes=True)

    @classmethod
    def of(cls, value: object) -> Self:
        """Return the answer for an object of the Python API."""
        return cls.model_validate(value)


EXAMPLES: Mapping[str, Any] = {"chunk_id": 42, "user_id": "ada", "session_id": "monday"}


def answer_of(dataclass: type, *names: str, **notes: Any) -> type[Answer]:
    """Return an answer with the fields of a dataclass: those that are named, or all of them.

    Args:
        dataclass: The class of the Python API.
        names: Fields; by default all.
        notes: A `Field` for OpenAPI by the name of its field.
    """
    hints = get_type_hints(dataclass)
    field_names = [item.name for item in fields(dataclass)]
    chosen: dict[str, Any] = {}
    for name in names or field_names:
        if name not in field_names:
            raise TypeError(f"{dataclass.__name__} has no field {name}")
        kind = _json_type(hints[name])
        examples = [EXAMPLES[name]] if name in EXAMPLES else None
        chosen[name] = (Annotated[kind, notes.get(name, Field(examples=examples))], ...)
    return create_model(dataclass.__name__, __base__=Answer, **chosen)


def _json_type(kind: Any) -> Any:
    """Return the type that OpenAPI shows: any JSON object, and hashes as hexadecimal texts."""
    if kind is bytes:
        return str
    # The recursive JsonValue would be a schema of its own for "anything".
    return Mapping[str, Any] if "JsonValue" in str(kind) or "object" in str(kind) else kind


# Memories ----------------------------------------------------------------------------------------


class Memory(
    answer_of(
        Chunk,
        *("chunk_id", "user_id", "agent_id", "session_id", "granularity", "ordinal", "part"),
        *("part_count", "status", "user_text", "assistant_text", "tags", "task_tag"),
        *("memory_kind", "personal_info", "preferences", "events", "memory_score"),
        *("confidence", "occurred_at", "recorded_at", "expires_at", "message_ids", "source"),
        "project",
        "metadata",
        ordinal=Field(description="Position of its first exchange in the session, from 0."),
        expires_at=Field(description="From this time on no search finds it."),
    )
):
    """A stored chunk: an exchange, a part of a long one, or a session."""

    content: Annotated[
        str,
        Field(
            description="Both sides under the speakers' names; empty if it is forgotten.",
            examples=["user: I moved to Lisbon in March."],
        ),
    ]


class LeftOff(BaseModel):
    """End of the last session in a project."""

    text: str = Field(description="For a prompt; empty if nothing is known of the project.")
    chunk_ids: list[int] = Field(description="Memories in it.")
    tokens: int


class Project(answer_of(projects.Project)):
    """A project that memories are about, a pool of sessions, or both under one name."""


class ProjectList(BaseModel):
    """The projects by name, with what a search in each reaches."""

    projects: list[Project]


class MemoryPage(BaseModel):
    """A page of memories, latest first."""

    memories: list[Memory]
    next_cursor: NextCursor


class AddedMemories(BaseModel):
    """Memories that were stored, or were stored already."""

    memories: list[Memory]
    notes: list[str] = Field(description="Remarks, such as vectors that are computed later.")
    deferred: int = Field(
        description="Number of memories without vectors yet; full text finds them already."
    )
    redacted: dict[str, int] = Field(
        description="Secrets by kind, and private passages, that were not stored."
    )


class Session(answer_of(SessionSummary)):
    """A session: its times, its number of exchanges, and its opening words."""


class SessionPage(BaseModel):
    """A page of sessions, latest first."""

    sessions: list[Session]
    next_cursor: NextCursor


class User(
    answer_of(
        ScopeStatistics,
        *("user_id", "language", "model", "turns", "session_chunks", "sessions", "inactive"),
        *("first_at", "last_at"),
    )
):
    """A user, with the size of the memory."""


class UserPage(BaseModel):
    """A page of users, by their ids."""

    users: list[User]
    next_cursor: NextCursor


class KeptVersion(answer_of(Version, content=Field(description="Its fields by name."))):
    """A memory's content before a change."""


class Versions(BaseModel):
    """A memory's former contents, oldest first, as far as the setting `history` keeps them."""

    versions: list[KeptVersion]


class HistoryEntry(answer_of(Event, kind=Field(examples=["added"]))):
    """An event in a memory's history."""


class History(BaseModel):
    """A memory's history, oldest event first."""

    events: list[HistoryEntry]


class Changed(BaseModel):
    """The memories that changed: a session with its exchanges, a part with its other parts."""

    chunk_ids: list[int]


class Scored(BaseModel):
    """A memory's score after it was raised or lowered."""

    chunk_id: int
    memory_score: float


class ErasureReceipt(answer_of(Receipt)):
    """Proof of an erasure: salted hashes and counts, without texts or ids."""


# Searches ----------------------------------------------------------------------------------------


class RouteShare(BaseModel):
    """The contribution of a route to a score."""

    model_config = ConfigDict(extra="allow")

    route: str = Field(examples=["lexical"])
    rank: int
    score: float
    weight: float
    contribution: float


class Arithmetic(BaseModel):
    """The computation of a score: `parts` add up to `final_score`."""

    model_config = ConfigDict(extra="allow")

    chunk_id: int
    final_score: float
    parts: dict[str, float] = Field(examples=[{"vec_full": 0.0154, "lexical": 0.0161}])
    routes: list[RouteShare]


class ContextLine(answer_of(PromptLine)):
    """A quotation in a context."""


class ContextAnswer(BaseModel):
    """Context of a prompt."""

    text: str = Field(description="For the model; empty if nothing known concerns the prompt.")
    chunk_ids: list[int] = Field(description="Memories in it, in their order.")
    left_out: list[int] = Field(description="Memories that were found but are not in it.")
    tokens: int
    notes: list[str] = Field(description="Remarks, such as why the text is empty.")
    lines: list[ContextLine] | None = Field(
        None, description="With `explain`: what each quotation is from, and why it is there."
    )
    omitted: dict[int, str] | None = Field(
        None, description="With `explain`: why each other memory is not there, by chunk id."
    )


class FoundMemory(
    answer_of(
        Chunk,
        *("chunk_id", "user_id", "agent_id", "session_id", "granularity", "occurred_at"),
        *("message_ids", "memory_kind", "tags", "personal_info", "preferences", "events"),
        *("metadata", "source", "project", "expires_at"),
    )
):
    """A hit, with the computation of its score."""

    model_config = ConfigDict(extra="allow")

    score: float
    content: str
    content_cut: Annotated[bool, Field(description="Whether a part of the text is left out.")]
    explain: Arithmetic


class SearchAnswer(BaseModel):
    """The hits, best first."""

    profile: str
    question: dict[str, Any]
    notes: list[str] = Field(description="Remarks on the answer, such as why it is empty.")
    timings_ms: dict[str, float]
    trace_id: UUID | None = Field(description="Id of the recorded search.")
    hits: list[FoundMemory]


class Verdict(BaseModel):
    """Reason why a memory is not among the hits, or its rank: the first step that lost it."""

    chunk_id: int
    step: str = Field(examples=["outranked"])
    text: str
    numbers: dict[str, Any]


class TraceLine(
    answer_of(
        TraceSummary,
        *("trace_id", "user_id", "question", "top_k", "returned", "profile_name"),
        *("candidate_count", "hit_count", "total_ms", "recorded_at"),
    )
):
    """A recorded search."""


class TracePage(BaseModel):
    """A page of recorded searches, latest first."""

    traces: list[TraceLine]
    next_cursor: NextCursor


class Candidate(BaseModel):
    """A candidate of a recorded search; `parts` add up to `final_score`."""

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

    @classmethod
    def of(cls, trace: Trace) -> Self:
        """Return the answer for a trace."""
        candidates = [
            Candidate(
                chunk_id=item.chunk_id,
                granularity=item.granularity,
                position=item.position,
                final_score=item.final_score,
                parts=item.parts(),
                hit_rank=item.hit_rank,
                dropped_by=item.dropped_by,
            )
            for item in trace.candidates
        ]
        values = {name: getattr(trace, name) for name in cls.model_fields if name != "candidates"}
        return cls(**values, candidates=candidates)


class ReplayAnswer(BaseModel):
    """The recorded list and the new one, and what moved."""

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


# Operation ---------------------------------------------------------------------------------------


class JobLine(
    answer_of(
        Job,
        *("job_id", "kind", "status", "user_id", "session_id", "chunk_id", "attempts", "run_at"),
        *("dead_at", "last_error"),
    )
):
    """A background job."""


class Jobs(BaseModel):
    """Background jobs, next due first, and their numbers by status."""

    waiting: int
    running: int
    dead: int
    oldest_at: datetime | None
    jobs: list[JobLine]


class JobIds(BaseModel):
    """The jobs that were changed."""

    job_ids: list[int]


class Health(BaseModel):
    """State of the server."""

    status: str = Field(examples=["ready"])
