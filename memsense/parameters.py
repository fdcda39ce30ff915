"""Types and texts of parameters that several public methods share.

`Annotated` carries the check, and the `Field` description is the line that `make generate` writes
into the `Args:` section of every method that uses the type.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from uuid import UUID

from memsense.draft.facets.model import FACETS
from memsense.inputs import (
    METADATA_SCHEMA,
    AnyTime,
    AsList,
    Check,
    ChunkId,
    ChunksAndMessages,
    FiniteNumber,
    Id,
    Ids,
    Limit,
    Name,
    Names,
    Note,
    Text,
    Ttl,
    about,
    mapping_of,
    wrong_value,
)
from memsense.metadata_filters import read_filter
from memsense.types import EmbedWhen, IngestMode, MemoryKind

# Whose memory ------------------------------------------------------------------------------------

UserId = Annotated[
    Id, about("Whose memory to read: an id of your own. Required without `all_users`.")
]
AllUsers = Annotated[bool, about("Read the memory of all users in the namespace.")]
OwnerId = Annotated[Id, about("Whose memory it becomes: an id of your own, up to 500 characters.")]
OnlyUserId = Annotated[Id, about("Only this user's; default: all users'.")]
SessionId = Annotated[Id, about("The conversation that it belongs to: an id of your own.")]

# One memory --------------------------------------------------------------------------------------

MemoryId = Annotated[ChunkId, about("The memory's chunk id, as searches and lists show it.")]
Reason = Annotated[Note, about("Why, for the memory's history; up to 10,000 characters.")]
WriteKey = Annotated[
    Name, about("Idempotency key: a call repeated under its key within seven days is done once.")
]
Actor = Annotated[
    Name, about("Who does it, for the receipt or history; default: the operating system's user.")
]


def uuid_of(noun: str) -> Check:
    """Return a check of the ids of recorded things; an error calls one `noun`."""

    def read(value: object) -> UUID:
        if isinstance(value, UUID):
            return value
        try:
            if isinstance(value, str):
                return UUID(value)
        except ValueError:
            pass  # refused below, as any other value that is no id
        raise wrong_value(f"must be the id of {noun}", value)

    return Check(read, {"type": "string", "format": "uuid"})


TraceId = Annotated[
    UUID | str, uuid_of("a trace"), about("Id of a recorded search, as its result has it.")
]
EraseKey = Annotated[
    Name,
    about("Idempotency key: a repeated call returns the stored receipt of the first."),
]

# What is known of a memory -----------------------------------------------------------------------

AgentLabel = Annotated[Id, about("The agent that the conversation was with.")]
ProjectLabel = Annotated[
    Name,
    about("The project that it is about: a repository's address, a folder or another name."),
]
Mode = Annotated[
    IngestMode,
    about('What to store: "turn" for exchanges, "session" for whole sessions, "hybrid" for both.'),
]
FacetTexts = Annotated[
    Mapping[str, Text],
    mapping_of(*FACETS),
    about(
        "Texts of the facets `personal_info`, `preferences` and `events`; they replace those that"
        " the rules find."
    ),
]
ExpiresAt = Annotated[
    AnyTime, about("When it expires: no search finds it afterwards, and a job deletes it.")
]
TimeToLive = Annotated[
    Ttl,
    about(
        'Time until it expires: a timedelta or a text such as "12h"; "never" overrides the'
        " namespace's rules."
    ),
]
WhenToEmbed = Annotated[
    EmbedWhen,
    about(
        'When to compute vectors: "now" (a failing embedder leaves them to a job), "later" (always'
        ' a job), or "strict" (a failing embedder raises EmbeddingError); default: MEMSENSE_EMBED.'
    ),
]

Redact = Annotated[
    bool,
    about(
        "Replace secrets by their kind before anything is stored; default: as MEMSENSE_REDACT says."
    ),
]

# Options of searches. A filter's name is that of its condition in sql/filters.sql.

AgentFilter = Annotated[Id, about("Only memories of conversations with this agent.")]
SessionFilter = Annotated[Ids, about("Only memories of these sessions.")]
ProjectFilter = Annotated[
    Name,
    about("Only memories of this project: about it, or of a session in the pool of that name."),
]
KindFilter = Annotated[
    Sequence[MemoryKind],
    AsList,
    about('Only memories of these kinds: "stable", "preference", "episodic", "ephemeral".'),
]
MetadataFilter = Annotated[
    Mapping[str, Any],
    Check(read_filter, METADATA_SCHEMA),
    about(
        "Only memories whose metadata contains this JSON object, or satisfies its conditions, such"
        ' as {"priority": {"gte": 3}}.'
    ),
]
MinScore = Annotated[
    FiniteNumber, about("Lowest score of a hit; an empty answer has a note with the best score.")
]
Since = Annotated[AnyTime, about("Only memories of events from this time on, ISO 8601.")]
Until = Annotated[AnyTime, about("Only memories of events before this time, ISO 8601.")]
TagFilter = Annotated[Names, about("Only memories with at least one of these tags.")]
Exclusions = Annotated[
    ChunksAndMessages,
    about(
        "Chunk ids (int) and message ids (str) to leave out, for example what the prompt has"
        " already."
    ),
]
AsOf = Annotated[
    AnyTime,
    about(
        "Search memory as it stood at this moment, without what was erased or has expired since;"
        " needs the setting `history` to have been on."
    ),
]

# Pages -------------------------------------------------------------------------------------------

PageSize = Annotated[Limit, about("Maximum number of items.")]
Cursor = Annotated[Text, about("`next_cursor` of the page before; default: the first page.")]

# Stores of frameworks ----------------------------------------------------------------------------

CollectionName = Annotated[
    Name, about("Name of the application's own part, such as langgraph; others don't see it.")
]
