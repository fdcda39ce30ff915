"""Answers of the API, made from the dataclasses that the Python methods return.

An answer has the fields of its dataclass with their types, or a named part of them. A route whose
answer is a list, a page or a number names it in its row, by `list_of` and `value_of`. Written out
here are only answers whose fields Python returns in another form.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Annotated, Any, ClassVar, cast, get_type_hints
from uuid import UUID
from zlib import crc32

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic_core import to_json

from memsense.client import redacting
from memsense.client.embedding_models import ModelStatus
from memsense.client.profiles import KnownProfile
from memsense.client.questions import Figures, QuestionSet
from memsense.client.ttl import TtlRule
from memsense.client.worker import JobsDone
from memsense.graph import reading
from memsense.graph.resource import EntityView
from memsense.search.hits import SearchResult
from memsense.search.profiles import Profile
from memsense.search.prompt import Prompt, PromptLine
from memsense.search.settings import Setting
from memsense.store import projects
from memsense.store.access import AccessKey
from memsense.store.erasing import Receipt
from memsense.store.expiring import Swept
from memsense.store.indexes import IndexChange
from memsense.store.jobs import Job, JobCounts
from memsense.store.life import Life
from memsense.store.reindexing import Reindexing
from memsense.store.settings import RecordedChange
from memsense.store.statistics import Statistics
from memsense.store.traces import Trace, TraceStatistics, TraceSummary
from memsense.store.versions import Version
from memsense.types import (
    Added,
    Chunk,
    DayCount,
    Event,
    PossibleChange,
    ScopeStatistics,
    SessionSummary,
    SupersededFact,
)


class Answer(BaseModel):
    """An answer that is read from the attributes of a Python object.

    `holds_memory` says whether it may hold what only the scope `read` opens; a key without that
    scope gets `Written` in its place. An answer that says nothing is taken to hold memory.
    """

    model_config = ConfigDict(from_attributes=True)

    holds_memory: ClassVar[bool] = True

    @classmethod
    def plain(cls, value: Any, _: Mapping[str, Any], /) -> dict[str, Any]:
        """Return the answer for a result of the Python API, as plain values.

        It gets the result, and the arguments of the request.
        """
        return cls.model_validate(value).model_dump()

    @classmethod
    def close(cls, content: dict[str, Any]) -> dict[str, Any]:
        """Return what of an answer a key gets that may not read: the ids of memories alone."""
        return (
            Written(chunk_ids=sorted(ids_in(content))).model_dump() if cls.holds_memory else content
        )


class WithoutMemory(Answer):
    """An answer that holds no memory: a key without the scope `read` gets it, too."""

    holds_memory = False


class Tagged(Answer):
    """An answer with an ETag: of its version, or of all that it says."""

    @classmethod
    def tag(cls, content: Mapping[str, Any]) -> str:
        """Return the text of the ETag; it begins with the version, if there is one."""
        version = content.get("version", "")
        if isinstance(version, str) and version:
            return version
        # Settings of one version differ between servers of other defaults.
        return f"{version}-{crc32(to_json(content)):08x}"


def ids_in(content: Any) -> set[int]:
    """Return the ids of chunks in an answer, at any depth."""
    if isinstance(content, Mapping):
        mapping = cast("Mapping[str, Any]", content)
        own = {mapping["chunk_id"]} if mapping.get("chunk_id") is not None else set[int]()
        return own.union(*map(ids_in, mapping.values()))
    if isinstance(content, list | tuple):
        return set[int]().union(*map(ids_in, cast("Sequence[Any]", content)))
    return set()


class Written(BaseModel):
    """The outcome of a write for a key without the scope `read`: which memories it concerns."""

    chunk_ids: list[int]


EXAMPLES: Mapping[str, Any] = {"chunk_id": 42, "user_id": "ada", "session_id": "monday"}

NextCursor = Annotated[
    str | None, Field(description="Pass it as `cursor` to get the next page; null on the last one.")
]


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


class _AsDict(Answer):
    """Base of the answers whose Python objects give themselves as plain values."""

    @classmethod
    def plain(cls, value: Any, _: Mapping[str, Any], /) -> dict[str, Any]:
        """Return what the object's `as_dict` gives."""
        return value.as_dict()


# Answers that hold one field ---------------------------------------------------------------------


class _List(Answer):
    """Base of the answers that hold a list of other answers (see `list_of`).

    A list holds memory if its items do.
    """

    field: ClassVar[str]
    item: ClassVar[type[Answer]]

    @classmethod
    def plain(cls, value: Any, arguments: Mapping[str, Any], /) -> dict[str, Any]:
        """Return the list, and of a page the cursor of the next one."""
        # `get_many` returns the memories by their ids, which each one holds.
        is_by_id = isinstance(value, Mapping)
        items: Iterable[Any] = cast("Any", value).values() if is_by_id else value
        content = {cls.field: [cls.item.plain(item, arguments) for item in items]}
        if "next_cursor" in cls.model_fields:
            content["next_cursor"] = value.next_cursor
        return content

    @classmethod
    def close(cls, content: dict[str, Any]) -> dict[str, Any]:
        """Return the list with its items closed, if they hold no memory."""
        if cls.holds_memory:
            return super().close(content)
        return content | {cls.field: [cls.item.close(item) for item in content[cls.field]]}


class _Value(Answer):
    """Base of the answers that hold a number, ids, or words of the request (see `value_of`)."""

    holds_memory = False

    @classmethod
    def plain(cls, value: Any, _: Mapping[str, Any], /) -> dict[str, Any]:
        """Return the value under the name of the only field; a set in a fixed order."""
        [name] = cls.model_fields
        return {name: sorted(cast("set[str]", value)) if isinstance(value, set) else value}


def list_of(
    item: type[Answer], field: str, name: str, text: str, *, is_page: bool = False
) -> type[Answer]:
    """Return an answer that holds a list of other answers.

    Args:
        item: Answer of each item.
        field: The only field, besides the cursor of a page.
        name: Name of the answer in OpenAPI.
        text: Description of the answer in OpenAPI.
        is_page: Add the cursor of the next page.
    """
    fields: dict[str, Any] = {field: (list[item], ...)}
    if is_page:
        fields["next_cursor"] = (NextCursor, ...)
    answer = create_model(name, __base__=_List, __doc__=text, **fields)
    answer.field, answer.item, answer.holds_memory = field, item, item.holds_memory
    return answer


def value_of(field: str, name: str, text: str, *, kind: Any = int) -> type[Answer]:
    """Return an answer that holds one plain value, by default a number.

    Args:
        field: The only field.
        name: Name of the answer in OpenAPI.
        text: Description of the answer in OpenAPI.
        kind: Type of the value.
    """
    fields: dict[str, Any] = {field: (kind, ...)}
    return create_model(name, __base__=_Value, __doc__=text, **fields)


# Memories ----------------------------------------------------------------------------------------


class Memory(
    Tagged,
    answer_of(
        Chunk,
        *("chunk_id", "user_id", "agent_id", "session_id", "granularity", "ordinal", "part"),
        *("part_count", "status", "user_text", "assistant_text", "tags", "task_tag"),
        *("memory_kind", "personal_info", "preferences", "events", "memory_score"),
        *("confidence", "occurred_at", "recorded_at", "expires_at", "message_ids", "source"),
        *("project", "metadata", "opening_length"),
        opening_length=Field(
            description="Characters of `user_text` that a later part repeats of the first."
        ),
        ordinal=Field(description="Position of its first exchange in the session, from 0."),
        expires_at=Field(description="From this time on no search finds it."),
    ),
):
    """A stored chunk: an exchange, a part of a long one, or a session."""

    content: Annotated[
        str,
        Field(
            description="Both sides under the speakers' names; empty if it is forgotten.",
            examples=["user: I moved to Lisbon in March."],
        ),
    ]
    version: Annotated[
        str, Field(description="Changes with the memory; the ETag of this memory alone.")
    ]


class LeftOff(Answer):
    """End of the last session in a project."""

    text: str = Field(description="For a prompt; empty if nothing is known of the project.")
    chunk_ids: list[int] = Field(description="Memories in it.")
    tokens: int

    @classmethod
    def plain(cls, value: Prompt, _: Mapping[str, Any], /) -> dict[str, Any]:
        """Return the text with its ids."""
        return {"text": str(value), "chunk_ids": list(value.chunk_ids), "tokens": value.tokens}


class AddedMemories(Answer):
    """Memories that were stored, or were stored already."""

    memories: list[Memory]
    notes: list[str] = Field(description="Remarks, such as vectors that are computed later.")
    deferred: int = Field(
        description="Number of memories without vectors yet; full text finds them already."
    )
    redacted: dict[str, int] = Field(
        description="Secrets by kind, and private passages, that were not stored."
    )

    @classmethod
    def plain(cls, value: Added, arguments: Mapping[str, Any], /) -> dict[str, Any]:
        """Return the memories and the remarks on them."""
        return {
            "memories": [Memory.plain(chunk, arguments) for chunk in value],
            "notes": value.notes,
            "deferred": value.deferred,
            "redacted": value.redacted,
        }


class Session(answer_of(SessionSummary)):
    """A session: its times, its number of exchanges, and its opening words."""


class User(answer_of(ScopeStatistics)):
    """A user, with the size of the memory."""


class Day(answer_of(DayCount)):
    """The exchanges that were stored on a day."""


class AllSearches(answer_of(Statistics, step=Field(description="Minutes of a period."))):
    """Searches of the tenant, recorded or not: in total, by period, and the slowest."""


class UserLife(answer_of(Life)):
    """A user's sessions by week, and facts with the statements that replaced each other."""


class KeptVersion(answer_of(Version, content=Field(description="Its fields by name."))):
    """A memory's content before a change."""


class ChangedFact(answer_of(SupersededFact, reason=Field(examples=["she has moved"]))):
    """A fact that changed: which memory replaced what which other one says."""


class FoundChange(answer_of(PossibleChange)):
    """Two memories that may tell a fact and its change."""


class HistoryEntry(answer_of(Event, kind=Field(examples=["added"]))):
    """An event in a memory's history."""


Changed = value_of(
    "chunk_ids",
    "Changed",
    "The memories that changed: a session with its exchanges, a part with its other parts.",
    kind=list[int],
)


class Scored(Answer):
    """A memory's score after it was raised or lowered."""

    chunk_id: int
    memory_score: float

    @classmethod
    def plain(cls, value: float, arguments: Mapping[str, Any], /) -> dict[str, Any]:
        """Return the score and whose it is."""
        return {"chunk_id": arguments["chunk_id"], "memory_score": value}


class ErasureReceipt(WithoutMemory, _AsDict, answer_of(Receipt)):
    """Proof of an erasure: salted hashes and counts, without texts or ids."""


ErasureReceipts = list_of(
    ErasureReceipt, "erasures", "ErasureReceipts", "Receipts of erasures, the latest first."
)


class Redaction(WithoutMemory, answer_of(redacting.Redaction)):
    """Secrets that were replaced in what is stored, by kind, and the id of the receipt."""


# Projects and entities ---------------------------------------------------------------------------


class Project(answer_of(projects.Project)):
    """A project that memories are about, a pool of sessions, or both under one name."""


class Entity(
    answer_of(reading.Entity, "entity_id", "user_id", "name", "kind", "mentions", "chunks")
):
    """A name, a place or another thing that memories mention."""


class EntityDetails(answer_of(EntityView, "mentions", "neighbours", "edges")):
    """An entity with the memories that mention it most and its strongest neighbours."""

    entity: Entity
    chunks: list[Memory]


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


class ContextAnswer(Answer):
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

    @classmethod
    def plain(cls, value: Prompt, arguments: Mapping[str, Any], /) -> dict[str, Any]:
        """Return the text, with its lines and reasons if the request asks for them."""
        return {
            "text": str(value),
            "lines": None,
            "omitted": None,
            **value.as_dict(explain=bool(arguments.get("explain"))),
        }


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


class SearchAnswer(_AsDict):
    """The hits, best first."""

    profile: str
    question: dict[str, Any]
    notes: list[str] = Field(description="Remarks on the answer, such as why it is empty.")
    timings_ms: dict[str, float]
    trace_id: UUID | None = Field(description="Id of the recorded search.")
    hits: list[FoundMemory]

    @classmethod
    def plain(cls, value: SearchResult, arguments: Mapping[str, Any], /) -> dict[str, Any]:
        """Return the result, with its word matches if the request asks for them."""
        return value.as_dict(matches=bool(arguments.get("matches")))


class Verdict(_AsDict):
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


class Candidate(BaseModel):
    """A candidate of a recorded search; `parts` add up to `final_score`."""

    chunk_id: int
    granularity: str
    position: int
    final_score: float
    parts: dict[str, float]
    hit_rank: int | None
    dropped_by: str | None


class RecordedSearch(Answer):
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
    request_share: float | None = Field(
        description="Share of the profile's constants for requests that the prompt took."
    )
    kind_by: str | None = Field(description="What the kind was read from.", examples=["vector"])
    timezone: str | None = Field(
        description="The asker's time zone by its IANA name, else its offset; null before it was"
        " recorded.",
        examples=["Europe/Lisbon"],
    )
    calendar: dict[str, str] | None = Field(
        description="Settings of the asker's calendar; null before they were recorded."
    )
    filters: dict[str, Any]
    timings_ms: dict[str, float]
    notes: list[str]
    recorded_at: datetime | None
    candidates: list[Candidate]

    @classmethod
    def plain(cls, value: Trace, _: Mapping[str, Any], /) -> dict[str, Any]:
        """Return these fields of the trace and of its candidates."""
        return cls.model_validate(value.as_dict()).model_dump()


class ReplayAnswer(_AsDict):
    """The recorded list and the new one, and what moved."""

    trace_id: UUID
    question: str
    old_profile: str
    new_profile: str
    changed: dict[str, list[Any]] = Field(description="Constants that differ: old and new value.")
    unchanged: bool
    overlap: float
    old: list[dict[str, Any]]
    new: list[dict[str, Any]]
    moves: list[dict[str, Any]]
    notes: list[str]


class ComparisonAnswer(_AsDict):
    """Recorded searches run again with other constants, the latest first."""

    traces: int
    unchanged: int = Field(description="Lists that came back exactly as recorded.")
    same_first: int = Field(description="Lists that begin with the same hit as before.")
    mean_overlap: float = Field(description="Mean share of recorded hits that are hits again.")
    replays: list[ReplayAnswer]


class SearchStatistics(answer_of(TraceStatistics)):
    """Counts of the recorded searches, and percentiles of their duration in ms."""


# Questions with labelled memories ----------------------------------------------------------------


class LabelIn(BaseModel):
    """A label: whether a memory is right for a question."""

    chunk_id: int
    right: bool


class Labels(Answer):
    """Labels of one question."""

    labels: list[LabelIn]

    @classmethod
    def plain(cls, value: Mapping[int, bool], _: Mapping[str, Any], /) -> dict[str, Any]:
        """Return the labels as a list."""
        return {"labels": [{"chunk_id": key, "right": right} for key, right in value.items()]}


class Question(_AsDict):
    """A question with its labels; without a user it is asked of the memory of all."""

    question: str
    user_id: str | None
    labels: list[LabelIn]


class SetLine(answer_of(QuestionSet)):
    """A set of questions, with its numbers of questions and labels."""


class SetFigures(answer_of(Figures)):
    """Means over the questions that have a right memory."""


class QuestionMoves(Question):
    """A question under both rankings."""

    first_right: list[int | None] = Field(
        description="Rank of the first right memory before and after; null if it is no hit."
    )
    wrong: list[int] = Field(description="Hits with the label wrong, before and after.")
    before: list[dict[str, Any]]
    after: list[dict[str, Any]]
    moves: list[dict[str, Any]]


class SetCompared(_AsDict):
    """Comparison of two rankings over all questions of a set."""

    before: SetFigures
    after: SetFigures
    questions: list[QuestionMoves]


# Settings, profiles and rules --------------------------------------------------------------------


class SettingInForce(answer_of(Setting)):
    """A setting's value, and where it comes from."""


class SettingsAnswer(WithoutMemory, Tagged, _AsDict):
    """Every setting as the next search uses it; `version` counts the changes."""

    version: int
    settings: list[SettingInForce]


class SettingsChange(WithoutMemory, answer_of(RecordedChange)):
    """A change of a setting or of a stored profile."""


class ProfileAnswer(WithoutMemory, Tagged, _AsDict):
    """The constants of a profile; the page 'How recall ranks' explains each."""

    model_config = ConfigDict(extra="allow")

    name: str
    weights: dict[str, float] = Field(description="Weights of the routes.")


class ProfileLine(WithoutMemory):
    """A profile that a search may name."""

    profile: ProfileAnswer
    origin: str = Field(examples=["shipped"])
    created_by: str | None
    created_at: datetime | None

    @classmethod
    def plain(cls, value: KnownProfile, _: Mapping[str, Any], /) -> dict[str, Any]:
        """Return the profile with its constants."""
        profile: Profile = value.profile
        return {
            "profile": profile.as_dict(),
            "origin": value.origin,
            "created_by": value.created_by,
            "created_at": value.created_at,
        }


class Rule(WithoutMemory, answer_of(TtlRule)):
    """Rule of how long memories are stored; without a tag, for all that have no other."""


class SweptMemories(WithoutMemory, answer_of(Swept)):
    """Counts of the expired memories that were deleted."""


# Operation ---------------------------------------------------------------------------------------


_WHOSE = ("user_id", "session_id", "chunk_id")


class JobLine(
    WithoutMemory,
    answer_of(
        Job,
        *("job_id", "kind", "status", "user_id", "session_id", "chunk_id", "model", "attempts"),
        *("run_at", "dead_at", "last_error"),
    ),
):
    """A background job."""

    @classmethod
    def close(cls, content: dict[str, Any]) -> dict[str, Any]:
        """Return the job without the ids of whose memory it works on."""
        return content | dict.fromkeys(_WHOSE)


class JobNumbers(WithoutMemory, answer_of(JobCounts)):
    """Numbers of background jobs by status."""


JobIds = value_of("job_ids", "JobIds", "The jobs that were changed.", kind=list[int])


class JobsRun(WithoutMemory, answer_of(JobsDone)):
    """Counts of the jobs that were run."""


class Key(
    WithoutMemory,
    answer_of(
        AccessKey,
        *("key_id", "name", "scopes", "user_id", "namespace", "created_by", "created_at"),
        *("expires_at", "revoked_at", "last_used_at"),
    ),
):
    """An access key, without its secret."""


class Namespaces(BaseModel):
    """The namespaces that the key may choose by the header, and that of this request."""

    namespace: str
    namespaces: list[str]


class CreatedKey(WithoutMemory):
    """A key at its creation: its text is shown now and never again."""

    text: str = Field(description="What requests send: `Authorization: Bearer TEXT`.")
    key: Key


class ModelLine(WithoutMemory, answer_of(ModelStatus)):
    """An embedding model that the namespace has vectors of."""


class ModelsCompared(_AsDict):
    """Recorded searches under two models, newest first."""

    one: str
    other: str
    traces: int
    same_first: int
    mean_overlap: float
    replays: list[dict[str, Any]]


ChunkCount = value_of("chunks", "ChunkCount", "The number of memories that were worked on.")


class Change(WithoutMemory, answer_of(IndexChange)):
    """An index that was built or dropped."""


class Rebuilt(WithoutMemory, answer_of(Reindexing)):
    """A rebuilt text index."""


class Health(BaseModel):
    """State of the server."""

    status: str = Field(examples=["ready"])
