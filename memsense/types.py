"""Values that the layers pass to each other: messages, conversations, drafts and chunks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import date, datetime, timedelta
from hashlib import sha256
from typing import Any, Literal, Self, TypeVar

T = TypeVar("T")

Role = Literal["user", "assistant", "system", "tool", "other"]
Granularity = Literal["turn", "session"]
MemoryKind = Literal["stable", "preference", "episodic", "ephemeral"]
ChosenKind = Literal["stable", "preference", "episodic", "ephemeral", "rule"]
"""What a caller may say of what is stored: a rule is stable, and its sentences are spans."""

IngestMode = Literal["turn", "session", "hybrid"]
EmbedWhen = Literal["now", "later", "strict"]
PromptKind = Literal["question", "request"]
Status = Literal["active", "archived", "deleted"]
NoteKind = Literal[
    "empty", "unknown user", "unknown session", "unknown agent", "unknown tag", "filters", "past",
    "time", "vectors", "words", "score", "sessions", "silence", "projects", "trace", "recorded",
    "prompt",
]  # fmt: skip
"""What a note is about; "recorded" if it was read from a recorded search."""

ENGLISH_MODEL = "all-MiniLM-L6-v2-onnx-int8"
"""Name of the default model, which knows English alone."""

JsonValue = str | int | float | bool | None | Sequence["JsonValue"] | Mapping[str, "JsonValue"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingModel:
    """An embedding model that a namespace has vectors for.

    `embedder` has the arguments with which a process opens it by `open_embedder`, including its
    name as `embedder`. It is empty if the program passes its own embedder. `languages` are those
    whose texts it compares where a namespace has two models, ("*",) for all; None if it isn't one
    of two.
    """

    model_id: int
    name: str
    dimension: int
    embedder: Mapping[str, JsonValue] = field(default_factory=dict[str, "JsonValue"])
    languages: Sequence[str] | None = None

    def knows(self, language: str) -> bool:
        """Return whether the model compares texts of a language, by its ISO 639-1 code."""
        return self.languages is None or not {"*", language}.isdisjoint(self.languages)

    def __str__(self) -> str:
        return f"{self.name} ({self.dimension} dimensions)"


class Note(str):
    """A sentence on an answer as a whole: a text for people, and for code its kind.

    Attributes:
        kind: What it is about.
    """

    __slots__ = ("kind",)

    kind: NoteKind

    def __new__(cls, kind: NoteKind, text: str) -> Self:
        """Return a note of this kind."""
        note = super().__new__(cls, text)
        note.kind = kind
        return note

    def __reduce__(self) -> tuple[type[Self], tuple[NoteKind, str]]:
        """Return what makes a copy, and what is unpickled."""
        return type(self), (self.kind, str(self))

    @classmethod
    def unknown(cls, noun: str, name: str, hint: str) -> Self:
        """Return the note on a user, session, agent or tag that is not stored.

        Args:
            noun: "user", "session", "agent" or "tag".
            name: The name that was asked for.
            hint: A similar name, as a question, or nothing.
        """
        kind: Any = f"unknown {noun}"
        return cls(kind, f"no {noun} {name!r} is stored here{hint}")

    @classmethod
    def read(cls, text: str) -> Self:
        """Return the note of a recorded search; the database has only its text."""
        # One kind must be known again: it may suggest the name of another user.
        is_of_user = text.startswith("no user ")
        return cls("unknown user" if is_of_user else "recorded", text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One utterance of a log, in the order of its conversation.

    `role` is `other` for people-to-people logs, whose `speaker` then names the person.
    `external_id` is the message's id in the log, or None. `at` is aware; it is in UTC, with
    `at_zone_known` False, if the log has no zone, and None if the log has no usable time. `project`
    is the project that the log names next to this message.
    """

    role: Role
    text: str
    external_id: str | None = None
    speaker: str | None = None
    at: datetime | None = None
    at_zone_known: bool = True
    project: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """One session that a reader returned: its messages in the order of the conversation.

    `session_id` is the log's own id if it has one. `source` is the path of the log, with the member
    of an archive; `format` is the reader's name. `project` is that of the messages that name none.
    `log` is the name of the log's file if `session_id` is made of it, else empty.
    """

    session_id: str
    messages: Sequence[Message]
    format: str
    source: str
    log: str = ""
    title: str | None = None
    started_at: datetime | None = None
    participants: Sequence[str] = ()
    agent_id: str | None = None
    project: str | None = None
    metadata: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A user turn and its answer: the unit that becomes one turn chunk.

    Either side may be empty (a greeting, a question without a reply yet), never both.
    In people-to-people logs the user side is one chosen speaker, and the assistant side is all
    others; the messages keep role `other` and their speakers. `follows_gap` is true if nothing but
    a silence ended the exchange before.
    """

    ordinal: int
    user: Sequence[Message] = ()
    assistant: Sequence[Message] = ()
    follows_gap: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkDraft:
    """A chunk before it is stored: its texts, its metadata, and its position.

    `ordinal` counts exchanges within the session, `part` the pieces of one long exchange, which has
    `part_count` of them; a session chunk covers the exchanges `ordinal` to `last_ordinal`. The
    first `opening_length` characters of a later part's `user_text` repeat the start of the user's
    text. `content_hash` and `dedup_window` identify the content within its scope. From `expires_at`
    on no read returns it. `project` is the repository, folder or name that the exchange was about.
    `language` is the code of its language; the write finds it if it is None.
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
    project: str | None = None
    language: str | None = None

    @property
    def own_user_text(self) -> str:
        """The user's text in this part, without the repeated opening."""
        return self.user_text[self.opening_length :]

    def texts(self) -> dict[str, str]:
        """Return the texts to embed, by their partition of `embeddings`."""
        if self.granularity == "session":
            return {"full": self.session_text}
        texts = {
            "full": join_sides(self.user_text, self.assistant_text),
            "user": self.own_user_text,
            "assistant": self.assistant_text,
            "personal_info": self.personal_info or "",
            "preferences": self.preferences or "",
            "events": self.events or "",
        }
        return {route: text for route, text in texts.items() if text.strip()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A stored exchange that a draft completes with an answer: its position, chunks and text.

    `answer` is the first chunk that the answer alone would make; its hash identifies the answer.
    """

    ordinal: int
    chunk_ids: Sequence[int]
    user_text: str
    answer: ChunkDraft


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeDraft:
    """The turn chunks of one exchange, and its messages for the ledger.

    `messages` maps each message's key to the hash of its content; empty if the caller uses
    no ledger; equal content within ten minutes of event time then counts once. A draft that
    `completes` a stored exchange replaces it. `has_expiry` is true if the caller set when the
    exchange expires, or that it never does; a `lifetime` begins when it is stored. `content_keys`
    has a key of each message's content, by which another export of the log is recognised.
    `redacted` counts by kind what its texts lack: secrets, and passages in `<private>`.
    `follows_gap` is that of the exchange.
    """

    chunks: Sequence[ChunkDraft]
    messages: Mapping[str, str] = field(default_factory=dict[str, str])
    content_keys: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    completes: Completion | None = None
    has_expiry: bool = False
    lifetime: timedelta | None = None
    redacted: Mapping[str, int] = field(default_factory=dict[str, int])
    follows_gap: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionDraft:
    """The exchanges that one call or one conversation adds to one session.

    `left_out` counts the private passages and secrets of exchanges without any other text.
    `recognised` is the number of exchanges that are stored already and so not in the draft, `alias`
    another name that a log gives to the session.
    """

    user_id: str
    session_id: str
    exchanges: Sequence[ExchangeDraft]
    recognised: int = 0
    alias: str = ""
    mode: IngestMode = "turn"
    format: str = ""
    speakers: Sequence[str] = ()
    left_out: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def redacted(self) -> Counter[str]:
        """Counts by kind of what was taken out of the texts, and of what was left out whole."""
        counts: Counter[str] = Counter(self.left_out)
        for exchange in self.exchanges:
            counts.update(exchange.redacted)
        return counts


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionWrite:
    """Result of a write: the turn (or session) chunks of each exchange, and counts.

    `deferred` counts the chunks whose vectors are left to a job; `expires` is true if some of the
    written chunks expire.
    """

    chunk_ids: Sequence[int]
    added: int = 0
    replaced: int = 0
    repeated: int = 0
    deferred: int = 0
    expires: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A stored chunk, as reads return it. ChunkDraft describes its fields."""

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
    project: str | None = None
    language: str | None = None

    @property
    def own_user_text(self) -> str:
        """The user's text in this part, without the repeated opening."""
        return self.user_text[self.opening_length :]

    @property
    def version(self) -> str:
        """Text that every change of the memory changes, but none of its neighbours."""
        own = replace(self, context="", next_user_text=None)
        values = [getattr(own, item.name) for item in fields(own)]
        # Times as numbers: their zone is that of the connection.
        state = [it.timestamp() if isinstance(it, datetime) else it for it in values]
        return sha256(repr(state).encode()).hexdigest()[:16]

    def as_draft(self, *, content_hash: str, dedup_window: int = 0) -> ChunkDraft:
        """Return the draft that would store the chunk as it is, recognised by these values."""
        shared = {name: getattr(self, name) for name in ChunkDraft.__slots__ if hasattr(self, name)}
        return ChunkDraft(content_hash=content_hash, dedup_window=dedup_window, **shared)

    def without_opening(self) -> Chunk:
        """Return the chunk as it is shown next to another part of its exchange."""
        return replace(self, user_text=self.own_user_text, opening_length=0)

    @property
    def content(self) -> str:
        """The text to show: each side after its speaker's name."""
        return self.session_text or render_exchange(
            self.user_text, self.assistant_text, self.user_speaker, self.assistant_speaker
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the chunk as plain values, ready for JSON."""
        return {**asdict(self), "content": self.content}


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """Summary of a session for lists: its active exchanges, their times, and its opening.

    `opening` has at most 200 characters; `agent_id` is one of the session's agents.
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
    """Number of exchanges that were stored on a day (UTC) and are still active."""

    day: date
    exchanges: int


class Page(list[T]):
    """Page of a list, in its order; `next_cursor` requests the next page, None at the end."""

    def __init__(self, items: Iterable[T] = (), *, next_cursor: str | None = None) -> None:
        super().__init__(items)
        self.next_cursor = next_cursor


class Added(list[Chunk]):
    """The chunks of an add, and notes about them.

    `deferred` counts the chunks whose vectors a job will make; until then only words find them.
    `redacted` counts by kind what was not stored: secrets, and passages in `<private>`.
    """

    def __init__(
        self,
        chunks: Iterable[Chunk] = (),
        *,
        notes: Sequence[str] = (),
        deferred: int = 0,
        redacted: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__(chunks)
        self.notes = list(notes)
        self.deferred = deferred
        self.redacted = dict(redacted or {})


def join_sides(user_text: str, assistant_text: str) -> str:
    """Return the text of an exchange to embed: both sides, without the speakers' names."""
    return "\n".join(text for text in (user_text, assistant_text) if text)


def render_exchange(
    user_text: str,
    assistant_text: str,
    user_speaker: str | None = None,
    assistant_speaker: str | None = None,
) -> str:
    """Return both sides of an exchange, each on its own line after its speaker's name."""
    sides = (
        (user_speaker or "user", user_text),
        (assistant_speaker or "assistant", assistant_text),
    )
    return "\n".join(f"{speaker}: {text}" for speaker, text in sides if text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One entry of a chunk's append-only history.

    `actor` is who or what caused it, such as `key:1a2b`, `cli:ada`, `hook:codex` or `job:expire`;
    None before version 0028 of the schema.
    """

    event_id: int
    chunk_id: int
    kind: str
    detail: Mapping[str, JsonValue]
    actor: str | None
    recorded_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SupersededFact:
    """A fact that changed: what one memory says was replaced by what a newer one says.

    Attributes:
        older_id: Chunk id of the memory that was superseded.
        newer_id: Chunk id of the memory that supersedes it.
        reason: Words that prove it, or why it was confirmed; empty if there are none.
        strength: Logit of the chance that memsense gave it; 0 if it had not found it.
        superseded_at: When the newer one was said.
        found_at: When the pair was found.
    """

    older_id: int
    newer_id: int
    reason: str
    strength: float
    superseded_at: datetime | None
    found_at: datetime


ChangeState = Literal["found", "confirmed", "rejected", "set"]
"""Whether a pair was only found, or how it was decided; "set" if a user named it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PossibleChange(SupersededFact):
    """Two memories of a user that may tell a fact and its change.

    Attributes:
        user_id: Whose memory has both.
        older_text: What the user said first.
        newer_text: What the user said later.
        said_at: When the older one was said.
        state: "found" by memsense, "confirmed" or "rejected" by a user, or "set" by one.
        evidence: What speaks for and against it, by name.
        decided_by: Who decided it; None before a decision.
        decided_at: When.
    """

    user_id: str
    older_text: str
    newer_text: str
    said_at: datetime | None
    state: ChangeState
    evidence: Mapping[str, float]
    decided_by: str | None
    decided_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeStatistics:
    """Counts of one user's memory.

    `expiring` chunks will expire; `expired` ones are no longer returned, but not swept yet.
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
