"""The values that pass between layers: messages and conversations in, chunks stored, hits out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date, datetime
from typing import Any, Literal, TypeVar

T = TypeVar("T")

Role = Literal["user", "assistant", "system", "tool", "other"]
Granularity = Literal["turn", "session"]
MemoryKind = Literal["stable", "preference", "episodic", "ephemeral"]
IngestMode = Literal["turn", "session", "hybrid"]
EmbedWhen = Literal["now", "later", "strict"]
Status = Literal["active", "archived", "deleted"]
JsonValue = str | int | float | bool | None | Sequence["JsonValue"] | Mapping[str, "JsonValue"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingModel:
    """A model that a namespace has vectors of.

    `embedder` says how a process opens it: the arguments of `open_embedder`, its name as
    `embedder`; empty where the program brings it along.
    """

    model_id: int
    name: str
    dimension: int
    embedder: Mapping[str, JsonValue] = field(default_factory=dict[str, "JsonValue"])

    def __str__(self) -> str:
        return f"{self.name} ({self.dimension} dimensions)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One utterance of a log, in the order of its conversation.

    `role` is `other` for people-to-people logs, whose `speaker` then names the person.
    `external_id` is the log's own id, None where it has none. `at` is aware (UTC when the
    log gave no zone, with `at_zone_known` False), or None where the log has no usable time.
    """

    role: Role
    text: str
    external_id: str | None = None
    speaker: str | None = None
    at: datetime | None = None
    at_zone_known: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """One session as a reader found it: the kept messages in path order.

    `session_id` is the log's own id where it has one. `source` names where it came from
    (path, and the member of an archive); `format` is the reader's name.
    """

    session_id: str
    messages: Sequence[Message]
    format: str
    source: str
    title: str | None = None
    started_at: datetime | None = None
    participants: Sequence[str] = ()
    agent_id: str | None = None
    metadata: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A user turn and its answer: the unit that becomes one turn chunk.

    Either side may be empty (a greeting, a question without a reply yet), never both.
    In people-to-people logs the user side is one chosen speaker and the assistant side
    everybody else; the messages keep role `other` and their speakers.
    """

    ordinal: int
    user: Sequence[Message] = ()
    assistant: Sequence[Message] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkDraft:
    """A chunk before it is stored: its texts, what is known of it, and where it stands.

    `ordinal` counts exchanges within the session, `part` the pieces of one long exchange, of which
    there are `part_count`; a session chunk covers the exchanges `ordinal` to `last_ordinal`. The
    first `opening_length` characters of a later part's `user_text` repeat how the user began.
    `content_hash` and `dedup_window` identify the content within its scope. From `expires_at` on
    nothing shows it.
    """

    granularity: Granularity
    session_id: str
    ordinal: int
    last_ordinal: int
    part: int = 0
    agent_id: str | None = None
    user_text: str = ""
    assistant_text: str = ""
    session_text: str = ""
    user_speaker: str | None = None
    assistant_speaker: str | None = None
    next_user_text: str | None = None
    context: str = ""
    task_tag: str | None = None
    tags: Sequence[str] = ()
    memory_kind: MemoryKind = "ephemeral"
    personal_info: str | None = None
    preferences: str | None = None
    events: str | None = None
    facet_spans: Sequence[Mapping[str, JsonValue]] = ()
    confidence: float = 1.0
    occurred_at: datetime | None = None
    occurred_zone_known: bool = True
    message_ids: Sequence[str] = ()
    source: str | None = None
    metadata: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    content_hash: str
    dedup_window: int = 0
    part_count: int = 1
    opening_length: int = 0
    expires_at: datetime | None = None

    @property
    def own_user_text(self) -> str:
        """What the user says in this part, without the repeated opening."""
        return self.user_text[self.opening_length :]

    def texts(self) -> dict[str, str]:
        """What is embedded, by the partition of `embeddings` it goes to."""
        if self.granularity == "session":
            return {"full": self.session_text}
        found = {
            "full": join_sides(self.user_text, self.assistant_text),
            "user": self.own_user_text,
            "assistant": self.assistant_text,
            "personal_info": self.personal_info or "",
            "preferences": self.preferences or "",
            "events": self.events or "",
        }
        return {route: text for route, text in found.items() if text.strip()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """The stored exchange that a draft brings the answer of: its place, its chunks and its text.

    `answer` is the first chunk that the answer alone would make: what it is known by.
    """

    ordinal: int
    chunk_ids: Sequence[int]
    user_text: str
    answer: ChunkDraft


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeDraft:
    """The turn chunks of one exchange, and its messages as the ledger knows them.

    `messages` maps each message's key to the hash of its content; empty when the caller wants
    no ledger (then equal content within ten minutes of event time counts once). One that
    `completes` a stored exchange takes its place. `expiry_given`: a caller has said when it
    expires, or that it never does.
    """

    chunks: Sequence[ChunkDraft]
    messages: Mapping[str, str] = field(default_factory=dict[str, str])
    completes: Completion | None = None
    expiry_given: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionDraft:
    """What one call or one conversation adds to one session."""

    user_id: str
    session_id: str
    exchanges: Sequence[ExchangeDraft]
    mode: IngestMode = "turn"
    format: str = ""
    speakers: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionWrite:
    """What a write did: the turn (or session) chunks per given exchange, and the counts.

    `deferred` counts those of the chunks whose vectors are left to a job; `expires` says whether
    some of what was written does.
    """

    chunk_ids: Sequence[int]
    added: int = 0
    replaced: int = 0
    repeated: int = 0
    deferred: int = 0
    expires: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A stored chunk as reads return it; its parts, their opening and its expiry are those of
    ChunkDraft."""

    chunk_id: int
    namespace: str
    user_id: str
    agent_id: str | None
    session_id: str
    granularity: Granularity
    ordinal: int
    last_ordinal: int
    part: int
    user_text: str
    assistant_text: str
    session_text: str
    user_speaker: str | None
    assistant_speaker: str | None
    next_user_text: str | None
    context: str
    task_tag: str | None
    tags: Sequence[str]
    memory_kind: MemoryKind
    personal_info: str | None
    preferences: str | None
    events: str | None
    facet_spans: Sequence[Mapping[str, JsonValue]]
    memory_score: float
    confidence: float
    status: Status
    occurred_at: datetime | None
    occurred_zone_known: bool
    recorded_at: datetime
    message_ids: Sequence[str]
    source: str | None
    metadata: Mapping[str, JsonValue]
    part_count: int = 1
    opening_length: int = 0
    expires_at: datetime | None = None

    @property
    def own_user_text(self) -> str:
        """What the user says in this part, without the repeated opening."""
        return self.user_text[self.opening_length :]

    def without_opening(self) -> Chunk:
        """The chunk as it is shown beside another part of its exchange."""
        return replace(self, user_text=self.own_user_text, opening_length=0)

    @property
    def content(self) -> str:
        """The text as a reader wants it: each side under its speaker's name."""
        return self.session_text or render_exchange(
            self.user_text, self.assistant_text, self.user_speaker, self.assistant_speaker
        )

    def as_dict(self) -> dict[str, Any]:
        """The chunk as plain values, ready for JSON."""
        return {**asdict(self), "content": self.content}


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """What one session holds, as lists show it: active exchanges, their times, how it begins.

    `opening` has 200 characters at most; `agent_id` is one of the session's agents.
    """

    user_id: str
    session_id: str
    agent_id: str | None
    exchanges: int
    first_at: datetime | None
    last_at: datetime | None
    opening: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DayCount:
    """How many exchanges, still active, were stored on a day (UTC)."""

    day: date
    exchanges: int


class Page(list[T]):
    """Some items of a list, in its order; `next_cursor` asks for those behind, None at the end."""

    def __init__(self, items: Iterable[T] = (), *, next_cursor: str | None = None) -> None:
        super().__init__(items)
        self.next_cursor = next_cursor


class Added(list[Chunk]):
    """The chunks that hold what was added, and what is to be said about them.

    `deferred` counts those whose vectors a job will make; words find them meanwhile.
    """

    def __init__(
        self, chunks: Iterable[Chunk] = (), *, notes: Sequence[str] = (), deferred: int = 0
    ) -> None:
        super().__init__(chunks)
        self.notes = list(notes)
        self.deferred = deferred


def join_sides(user_text: str, assistant_text: str) -> str:
    """An exchange as it is embedded: what both said, without their names."""
    return "\n".join(text for text in (user_text, assistant_text) if text)


def render_exchange(
    user_text: str,
    assistant_text: str,
    user_speaker: str | None = None,
    assistant_speaker: str | None = None,
) -> str:
    """Both sides of an exchange, each on its own line under its speaker's name."""
    sides = (
        (user_speaker or "user", user_text),
        (assistant_speaker or "assistant", assistant_text),
    )
    return "\n".join(f"{speaker}: {text}" for speaker, text in sides if text)


@dataclass(frozen=True, slots=True)
class Awaiting:
    """The parts of a stored exchange without an answer, and the text of what was said before it."""

    parts: Sequence[Chunk]
    before: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One entry of a chunk's append-only history."""

    event_id: int
    chunk_id: int
    kind: str
    detail: Mapping[str, JsonValue]
    recorded_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeStatistics:
    """What one user's memory holds.

    `expiring` chunks expire some day; `expired` ones are shown no more, and not swept yet.
    """

    namespace: str
    user_id: str
    language: str
    model: str | None
    turns: int
    session_chunks: int
    sessions: int
    inactive: int
    expiring: int
    expired: int
    first_at: datetime | None
    last_at: datetime | None
