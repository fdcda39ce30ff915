"""What requests hold: bodies and parameters, typed, with examples."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from fastapi import Header, Path, Query
from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints

from memsense.inputs import LARGEST_BIGINT, LONGEST_ID, LONGEST_NOTE
from memsense.search.request import (
    DEFAULT_CONTENT_BUDGET,
    DEFAULT_TOP_K,
    LARGEST_CONTENT_BUDGET,
    LARGEST_TOP_K,
    LONGEST_QUESTION,
)
from memsense.types import EmbedWhen, Granularity, IngestMode, MemoryKind

MOST_MESSAGES = 10_000
MOST_ITEMS = 1_000

VISIBLE = r"[^\s\x00-\x20]"
"""What an id holds at least one of."""

WHOSE = "whose memory; or `all_users`. A key of one user's needs neither"

Id = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_ID, pattern=VISIBLE)]
Ids = Annotated[list[Id], Field(max_length=MOST_ITEMS)]
Texts = Annotated[str, Field(max_length=1_000_000)]
Note = Annotated[str, Field(max_length=LONGEST_NOTE)]
Facets = Annotated[
    dict[str, str] | None, Field(description="`personal_info`, `preferences`, `events`")
]

ChunkId = Annotated[
    int, Path(ge=1, le=LARGEST_BIGINT, description="a memory's id, as searches give it")
]
OfUser = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=LONGEST_ID,
        pattern=VISIBLE,
        description="only of this user's memory",
    ),
]
AllUsers = Annotated[bool, Query(description="everybody's memory in the tenant")]
IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=LONGEST_ID,
        pattern=r"^[!-~]+$",
        description="run again under its key, a write is done once; kept seven days",
    ),
]


class Body(BaseModel):
    """A request's body; what it doesn't know is refused."""

    model_config = ConfigDict(extra="forbid")


def _example(*examples: dict[str, JsonValue]) -> ConfigDict:
    return ConfigDict(extra="forbid", json_schema_extra={"examples": list(examples)})


class MessageIn(BaseModel):
    """A message: of memsense's own form, or as OpenAI and Anthropic have it."""

    model_config = ConfigDict(extra="allow")

    role: Annotated[str, Field(description="user, assistant, system or tool", examples=["user"])]
    content: Annotated[
        Texts | list[dict[str, JsonValue]] | None,
        Field(description="what is said, as a text or in parts", examples=["I moved to Lisbon."]),
    ] = None
    id: Annotated[Id | int | None, Field(description="the log's own id")] = None
    at: Annotated[datetime | None, Field(description="when it was said")] = None
    name: Annotated[str | None, Field(description="who said it")] = None


class NewMemories(Body):
    """Messages of one session, to be stored as exchanges."""

    model_config = _example({
        "user_id": "ada",
        "session_id": "monday",
        "messages": [
            {"role": "user", "content": "I moved to Lisbon in March."},
            {"role": "assistant", "content": "How do you like it?"},
        ],
        "tags": ["home"],
    })  # fmt: skip

    user_id: Annotated[
        Id | None, Field(description="whose memory; a key of one user's needs none")
    ] = None
    session_id: Id
    messages: Annotated[list[MessageIn], Field(min_length=1, max_length=MOST_MESSAGES)]
    agent_id: Id | None = None
    mode: IngestMode = "turn"
    task_tag: Id | None = None
    tags: Ids = []
    facets: Facets = None
    memory_kind: MemoryKind | None = None
    confidence: Annotated[float, Field(ge=0, le=1)] = 1.0
    metadata: dict[str, JsonValue] | None = None
    expires_at: Annotated[datetime | None, Field(description="when it ends")] = None
    ttl: Annotated[
        str | None, Field(max_length=50, description="how long it lives", examples=["30d"])
    ] = None
    embed: Annotated[
        EmbedWhen | None, Field(description="when vectors are made: now, later, or strict")
    ] = None

    def options(self) -> dict[str, Any]:
        """The keywords of `add`."""
        found = {name: getattr(self, name) for name in type(self).model_fields}
        found["messages"] = [
            {**message.model_dump(exclude_none=True), "content": message.content or ""}
            for message in self.messages
        ]
        return found


class Sides(Body):
    """What each side of an exchange says; the one that is left out stays."""

    user: Texts | None = None
    assistant: Texts | None = None


class UpdateBody(Body):
    """What to change of a memory; what is left out stays."""

    model_config = _example({"content": {"assistant": "Noted: Porto since May."}, "ttl": "30d"})

    content: Annotated[
        Texts | Sides | None, Field(description="by side; a text, where it has one side")
    ] = None
    facets: Facets = None
    tags: Ids | None = None
    metadata: dict[str, JsonValue] | None = None
    occurred_at: Annotated[datetime | None, Field(description="when it was said")] = None
    expires_at: Annotated[datetime | None, Field(description="when it ends")] = None
    ttl: Annotated[
        str | None,
        Field(max_length=50, description="how long it lives from now; `never`", examples=["30d"]),
    ] = None
    reason: Note | None = None

    def options(self) -> dict[str, Any]:
        """The keywords of `update`."""
        found = {name: getattr(self, name) for name in type(self).model_fields}
        if isinstance(self.content, Sides):
            found["content"] = self.content.model_dump(exclude_none=True)
        return found


class Selection(Body):
    """Whose memory, which of it, and how to rank: what searches and why-not share."""

    query: Annotated[
        str,
        Field(min_length=1, max_length=LONGEST_QUESTION, pattern=r"\S", description="the question"),
    ]
    user_id: Annotated[Id | None, Field(description=WHOSE)] = None
    all_users: Annotated[bool, Field(description="everybody's memory in the tenant")] = False
    top_k: Annotated[int, Field(ge=1, le=LARGEST_TOP_K)] = DEFAULT_TOP_K
    agent_id: Id | None = None
    session_ids: Ids | None = None
    project: Id | None = None
    since: Annotated[datetime | None, Field(description="from this time on")] = None
    until: Annotated[datetime | None, Field(description="before this time")] = None
    granularity: Granularity | None = None
    min_score: float | None = None
    exclude: Annotated[
        list[Annotated[int, Field(ge=1, le=LARGEST_BIGINT)] | Id],
        Field(
            max_length=MOST_ITEMS, description="chunks (numbers) and messages (texts) to leave out"
        ),
    ] = []
    tags: Ids | None = None
    kinds: Annotated[list[MemoryKind] | None, Field(max_length=MOST_ITEMS)] = None
    metadata: Annotated[
        dict[str, JsonValue] | None, Field(description="what a memory's metadata contains")
    ] = None
    asked_at: Annotated[
        datetime | None, Field(description="what 'last week' counts from; default: now")
    ] = None
    profile: Annotated[Id | None, Field(description="a shipped or stored profile")] = None
    overrides: Annotated[
        dict[str, JsonValue] | None, Field(description="weights and constants, for this call alone")
    ] = None

    def options(self) -> dict[str, Any]:
        """The keywords of `search` and `why_not`."""
        return {name: getattr(self, name) for name in type(self).model_fields}


class SearchBody(Selection):
    """A question."""

    model_config = _example({"query": "Where does Ada live?", "user_id": "ada", "top_k": 4})

    content_budget: Annotated[int, Field(ge=1, le=LARGEST_CONTENT_BUDGET)] = DEFAULT_CONTENT_BUDGET
    as_of: Annotated[
        datetime | None, Field(description="as the memory was then, by what its history keeps")
    ] = None
    trace: Annotated[
        bool | None, Field(description="record it; default: as the server's setting says")
    ] = None


class WhyNotBody(Selection):
    """A question, and the memory that it should have returned."""

    model_config = _example({"query": "Where does Ada live?", "user_id": "ada", "chunk_id": 42})

    chunk_id: Annotated[int, Field(ge=1, le=LARGEST_BIGINT)]


class ReplayBody(Body):
    """With which constants to run a recorded search again; without any, as it was."""

    model_config = _example({"overrides": {"lexical": 1.5, "mmr_lambda": 1.0}})

    profile: Id | None = None
    as_of_then: Annotated[bool, Field(description="over the memory as it was then")] = False
    overrides: dict[str, JsonValue] = {}


class ReasonBody(Body):
    """Why; goes into the memory's history."""

    model_config = _example({"reason": "she has moved"})

    reason: Note | None = None


class FeedbackBody(Body):
    """Whether a memory helped."""

    model_config = _example({"helpful": True, "question": "Where does Ada live?"})

    helpful: bool
    question: Note | None = None
    note: Note | None = None


class EraseBody(Body):
    """What of the user's memory to erase: without an id, all of it."""

    model_config = _example({}, {"session_id": "monday"})

    session_id: Id | None = None
    message_id: Id | None = None


class JobsBody(Body):
    """Which jobs; without ids, all dead ones."""

    model_config = _example({"job_ids": [17]})

    job_ids: Annotated[
        Sequence[Annotated[int, Field(ge=1, le=LARGEST_BIGINT)]] | None,
        Field(min_length=1, max_length=MOST_ITEMS),
    ] = None
