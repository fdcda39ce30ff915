"""The lines of an export, version 2: what they hold, and how they are read back.

A header with what the namespace has set, then for each user a line with the speakers and a line for
each chunk, then a line that says how many there were. docs/data.md describes the fields.
"""

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from memsense.errors import IngestError, InvalidInputError
from memsense.inputs import (
    LARGEST_BIGINT,
    Id,
    Input,
    Metadata,
    Name,
    Names,
    Share,
    Switch,
    Text,
    Time,
    whole_number,
)
from memsense.types import ChunkDraft, Granularity, JsonValue, MemoryKind, Status

VERSION = 2

READ_VERSIONS = (1, 2)
"""Version 1 says nothing of settings and profiles."""

FORMAT = "memsense"
"""What the ledger calls an import: an exchange that one brought is known to the next."""

_Whole = Annotated[int, whole_number(0, 2**31 - 1)]
_Large = Annotated[int, whole_number(-LARGEST_BIGINT, LARGEST_BIGINT)]


class Header(Input):
    """The first line: which form follows, what the vectors were made with, and what the namespace
    had set."""

    memsense_export: int
    namespace: Name
    language: Name
    model: Name | None = None
    dimension: _Whole | None = None
    vectors: Switch = False
    settings: Mapping[str, Any] = {}
    profiles: Mapping[str, Mapping[str, Any]] = {}
    exported_at: Time


class ExportedUser(Input):
    """The line before a user's chunks; who speaks in them."""

    user: Id
    speakers: Names = ()


class Footer(Input):
    """The last line: how many chunks stand before it."""

    chunks: _Whole


class Ingested(Input):
    """A message that a log brought, by which it is known when it comes again."""

    format: str
    key: str
    hash: str
    ordinal: _Whole


class Happened(Input):
    """An entry of a chunk's history."""

    kind: str
    detail: Mapping[str, Any]
    recorded_at: Time


class ExportedChunk(Input):
    """A chunk with what became of it; of one that is forgotten or has expired, its place alone."""

    chunk: _Large
    session_id: Id
    granularity: Granularity
    ordinal: _Whole
    last_ordinal: _Whole
    part: _Whole = 0
    part_count: _Whole = 1
    opening_length: _Whole = 0
    status: Status = "active"
    user_text: Text = ""
    assistant_text: Text = ""
    session_text: Text = ""
    user_speaker: Text | None = None
    assistant_speaker: Text | None = None
    agent_id: Id | None = None
    task_tag: Name | None = None
    tags: Names = ()
    memory_kind: MemoryKind = "ephemeral"
    personal_info: Text | None = None
    preferences: Text | None = None
    events: Text | None = None
    facet_spans: Sequence[Mapping[str, Any]] = ()
    confidence: Share = 1.0
    memory_score: Share = 0.5
    occurred_at: Time | None = None
    occurred_zone_known: Switch = True
    recorded_at: Time
    message_ids: Sequence[Id] = ()
    source: Text | None = None
    metadata: Metadata = Field(default_factory=dict[str, JsonValue])
    content_hash: Name
    dedup_window: _Large = 0
    expires_at: Time | None = None
    ledger: Sequence[Ingested] = ()
    history: Sequence[Happened] = ()
    vectors: Mapping[str, str] = {}

    @property
    def key(self) -> str:
        """What the content is known by within a memory."""
        return f"{self.content_hash}@{self.dedup_window}"

    def as_forgotten(self) -> "ExportedChunk":
        """Its place and what it is known by, without anything that it says."""
        kept = {
            "chunk", "session_id", "granularity", "ordinal", "last_ordinal", "part", "part_count",
            "recorded_at", "occurred_at", "message_ids", "content_hash", "dedup_window", "ledger",
        }  # fmt: skip
        values = {name: getattr(self, name) for name in kept}
        return ExportedChunk(**values, status="deleted")

    def draft(self, ordinal: int) -> ChunkDraft:
        """The chunk as it is written at this place of its session."""
        names = (name for name in ChunkDraft.__slots__ if name in ExportedChunk.model_fields)
        values = {name: getattr(self, name) for name in names}
        span = self.last_ordinal - self.ordinal
        values |= {"ordinal": ordinal, "last_ordinal": ordinal + span}
        if self.status == "deleted":  # what has no text must not stand for what has
            values["content_hash"] = f"{self.content_hash}:forgotten:{ordinal}"
        return ChunkDraft(**values)

    def read_vectors(self, dimension: int) -> dict[str, NDArray[np.float32]]:
        """The vector of each of its texts, by route, of those whose width is right."""
        found = {
            route: np.frombuffer(base64.b64decode(text), dtype="<f2").astype(np.float32)
            for route, text in self.vectors.items()
        }
        return {route: vector for route, vector in found.items() if len(vector) == dimension}


Line = Header | ExportedUser | ExportedChunk | Footer

_KINDS: Mapping[str, type[Line]] = {
    "memsense_export": Header,
    "user": ExportedUser,
    "chunk": ExportedChunk,
    "chunks": Footer,
}
"""What a line is, by its first field."""


def write_vector(sent: bytes) -> str:
    """A halfvec as PostgreSQL sends it, as base64 of 2-byte floats, the lower byte first."""
    return base64.b64encode(np.frombuffer(sent[4:], dtype=">f2").astype("<f2").tobytes()).decode()


def write_line(values: Mapping[str, Any]) -> str:
    """A line of an export."""
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"), default=str) + "\n"


def read_lines(lines: Iterable[str | bytes]) -> Iterator[Line]:
    """What the lines of an export say, the header first; blank ones say nothing.

    Raises IngestError, which names the line, for what is no export, or breaks off.
    """
    chunks, ended, number = 0, False, 0
    for number, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        line = _read_line(text, number)
        if chunks == 0 and number == 1 and not isinstance(line, Header):
            raise IngestError(_NO_EXPORT)
        if isinstance(line, Footer):
            ended = line.chunks == chunks
            break
        chunks += isinstance(line, ExportedChunk)
        yield line
    if not number:
        raise IngestError(_NO_EXPORT)
    if not ended:
        raise IngestError(
            f"the export breaks off at line {number}, after {chunks:,} chunks: import the whole"
            " file again; what is stored already is left alone"
        )


_NO_EXPORT = "this is no export of memsense; 'memsense export' writes one, logs are for 'ingest'"


def _read_line(text: str | bytes, number: int) -> Line:
    try:
        found: object = json.loads(text)
    except ValueError as error:
        told = f"{_NO_EXPORT} (line 1 is no JSON)" if number == 1 else f"line {number}: {error}"
        raise IngestError(told) from error
    values = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    kind = next((_KINDS[name] for name in values if name in _KINDS), None)
    if kind is None or (number == 1 and kind is not Header):
        raise IngestError(_NO_EXPORT if number == 1 else f"line {number} is no line of an export")
    version = values.get("memsense_export", VERSION)
    if version not in READ_VERSIONS:
        raise IngestError(
            f"the export has version {version}, this memsense reads up to {VERSION}: upgrade"
            " memsense"
        )
    try:
        return kind(**values)
    except (InvalidInputError, ValidationError) as error:
        raise IngestError(f"line {number}: {error}") from error
