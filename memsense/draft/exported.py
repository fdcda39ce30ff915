"""Lines of an export, version 3, their reader, and the redaction of chunks that are there already.

A header with the namespace's settings; then for each user a line with the speakers and a line for
each chunk; then a footer with the number of chunks. docs/reference/export-format.md
describes the fields.
"""

import base64
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError, model_validator

from memsense.draft.facets.model import FACETS, Facet, FacetTagger, Side
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
from memsense.text.configurations import AUTO
from memsense.text.secrets import clean
from memsense.types import Chunk, ChunkDraft, Granularity, JsonValue, MemoryKind, Status

VERSION = 3

READ_VERSIONS = (1, 2, 3)
"""Version 1 has no settings and no profiles, and before version 3 no chunk has a language."""

FORMAT = "memsense"
"""Format of imports in the ledger: exchanges of one import are known to the next one."""

_Code = Annotated[str, Field(pattern="^[a-z]{2,8}$")]
_Whole = Annotated[int, whole_number(0, 2**31 - 1)]
_Large = Annotated[int, whole_number(-LARGEST_BIGINT, LARGEST_BIGINT)]


class Header(Input):
    """First line of an export: its version, the vectors' model, and the namespace's settings."""

    memsense_export: int
    namespace: Name
    language: Name
    model: Name | None = None
    dimension: _Whole | None = None
    vectors: Switch = False
    settings: Mapping[str, Any] = {}
    profiles: Mapping[str, Mapping[str, Any]] = {}
    exported_at: Time

    @property
    def language_of_texts(self) -> str:
        """The language of all texts, or "auto"; a text-search configuration before version 3."""
        is_former = self.memsense_export < 3  # noqa: PLR2004 (a version)
        return AUTO if is_former and self.language == "english" else self.language


class ExportedUser(Input):
    """Line before a user's chunks, with the speakers in them."""

    user: Id
    speakers: Names = ()


class Footer(Input):
    """Last line: the number of chunks before it, by which a truncated file is noticed."""

    chunks: _Whole


class LedgerEntry(Input):
    """Message of an ingested log, which is recognised by it when the log is read again."""

    format: str
    key: str
    hash: str
    ordinal: _Whole
    content_key: str | None = None


class HistoryEntry(Input):
    """Entry of a chunk's history."""

    kind: str
    detail: Mapping[str, Any]
    actor: str | None = None
    recorded_at: Time


class ExportedSpan(Input):
    """Sentence of one side in which a rule found a facet: its first character and its end."""

    facet: Facet
    rule: Name
    side: Side
    start: _Whole
    end: _Whole


class ExportedChange(Input):
    """Decision about two exchanges, which are named by content, window of time and part."""

    older: tuple[Name, _Large, _Whole]
    newer: tuple[Name, _Large, _Whole]
    state: Literal["confirmed", "rejected", "set"]
    reason: Text = ""
    strength: float = 0.0
    decided_by: Text | None = None
    decided_at: Time | None = None


class ExportedChunk(Input):
    """Chunk with its history; without texts if it is forgotten or expired."""

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
    project: Name | None = None
    language: _Code | None = None
    metadata: Metadata = Field(default_factory=dict[str, JsonValue])
    content_hash: Name
    dedup_window: _Large = 0
    expires_at: Time | None = None
    ledger: Sequence[LedgerEntry] = ()
    history: Sequence[HistoryEntry] = ()
    changes: Sequence[ExportedChange] = ()
    vectors: Mapping[str, str] = {}

    @model_validator(mode="after")
    def _check_spans(self) -> "ExportedChunk":
        lengths = {"user": len(self.user_text), "assistant": len(self.assistant_text)}
        for number, values in enumerate(self.facet_spans):
            span = ExportedSpan(**values)
            if not span.start < span.end <= lengths[span.side]:
                raise InvalidInputError(
                    f"facet_spans.{number} of chunk {self.chunk} goes from {span.start} to"
                    f" {span.end}, and the {span.side}'s text has {lengths[span.side]} characters"
                )
        return self

    @property
    def key(self) -> str:
        """Key of the content within a memory."""
        return f"{self.content_hash}@{self.dedup_window}"

    def as_forgotten(self) -> "ExportedChunk":
        """Return the chunk without its texts, with its place and the keys that keep it away."""
        names = {
            "chunk", "session_id", "granularity", "ordinal", "last_ordinal", "part", "part_count",
            "recorded_at", "occurred_at", "message_ids", "content_hash", "dedup_window", "ledger",
        }  # fmt: skip
        values = {name: getattr(self, name) for name in names}
        return ExportedChunk(**values, status="deleted")

    def draft(self, ordinal: int) -> ChunkDraft:
        """Return the chunk's draft, for this place of its session."""
        names = (name for name in ChunkDraft.__slots__ if name in ExportedChunk.model_fields)
        values = {name: getattr(self, name) for name in names}
        span = self.last_ordinal - self.ordinal
        values |= {"ordinal": ordinal, "last_ordinal": ordinal + span}
        if self.status == "deleted":
            # Without its text it must not pass for a stored copy of an exchange that has one.
            values["content_hash"] = f"{self.content_hash}:forgotten:{ordinal}"
        return ChunkDraft(**values)

    def read_vectors(self, dimension: int) -> dict[str, NDArray[np.float32]]:
        """Return the vectors of that dimension by route, (dimension,) float32."""
        decoded = {route: _decode_vector(text) for route, text in self.vectors.items()}
        return {
            route: vector
            for route, vector in decoded.items()
            if len(vector) == dimension and np.isfinite(vector).all()
        }


Line = Header | ExportedUser | ExportedChunk | Footer

_KINDS: Mapping[str, type[Line]] = {
    "memsense_export": Header,
    "user": ExportedUser,
    "chunk": ExportedChunk,
    "chunks": Footer,
}
"""Types of lines by their first field."""


def encode_vector(halfvec: bytes) -> str:
    """Return a halfvec in PostgreSQL's binary form as base64 of little-endian 2-byte floats."""
    # Four bytes of dimension come first; PostgreSQL sends its numbers big-endian.
    floats = np.frombuffer(halfvec[4:], dtype=">f2")
    return base64.b64encode(floats.astype("<f2").tobytes()).decode()


def _decode_vector(text: str) -> NDArray[np.float32]:
    """Return a vector of an export; an empty one if the text is damaged."""
    try:
        floats = np.frombuffer(base64.b64decode(text), dtype="<f2")
    except ValueError:
        return np.empty(0, np.float32)
    return floats.astype(np.float32)


def format_line(values: Mapping[str, Any]) -> str:
    """Return the values as one line of an export."""
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"), default=str) + "\n"


_NO_EXPORT = "this is no export of memsense; 'memsense export' writes one, logs are for 'ingest'"


def read_lines(lines: Iterable[str | bytes]) -> Iterator[Line]:
    """Yield the lines of an export, the header first; raise IngestError, which names a bad line."""
    chunks, has_ended, number = 0, False, 0
    for number, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        try:
            parsed: object = json.loads(text)
        except ValueError as error:
            message = (
                f"{_NO_EXPORT} (line 1 is no JSON)" if number == 1 else f"line {number}: {error}"
            )
            raise IngestError(message) from error
        except RecursionError as error:
            raise IngestError(f"line {number}: JSON is nested too deeply") from error
        values = cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else {}
        kind = next((_KINDS[name] for name in values if name in _KINDS), None)
        if kind is None or (number == 1 and kind is not Header):
            raise IngestError(
                _NO_EXPORT if number == 1 else f"line {number} is no line of an export"
            )
        # The version is checked before the fields: a later version may have fields that are
        # unknown here, and the error must then say to upgrade.
        version = values.get("memsense_export", VERSION)
        if version not in READ_VERSIONS:
            raise IngestError(
                f"the export has version {version}, this memsense reads up to {VERSION}: upgrade"
                " memsense"
            )
        try:
            line = kind(**values)
        except (InvalidInputError, ValidationError) as error:
            raise IngestError(f"line {number}: {error}") from error
        if isinstance(line, Footer):
            has_ended = line.chunks == chunks
            break
        chunks += isinstance(line, ExportedChunk)
        yield line
    if not number:
        raise IngestError(_NO_EXPORT)
    # An import stores as it reads, so the first part of a truncated file is stored already.
    if not has_ended:
        raise IngestError(
            f"the export breaks off at line {number}, after {chunks:,} chunks: import the whole"
            " file again; what is stored already is left alone"
        )


def clean_chunk(
    chunk: Chunk | ExportedChunk, tagger: FacetTagger
) -> tuple[dict[str, Any], Counter[str]]:
    """Return the fields of a chunk that may not be stored as they are, and counts by kind."""
    # The repeated beginning of a later part is cleaned apart: its length counts.
    opening, counts = clean(chunk.user_text[: chunk.opening_length], secrets=True)
    names = ("assistant_text", "session_text", "task_tag", "tags", "metadata", *FACETS)
    values = {name: getattr(chunk, name) for name in names}
    values["user_text"] = own_text = chunk.user_text[chunk.opening_length :]
    cleaned, more = clean(values, secrets=True)
    counts += more
    changes = {name: value for name, value in cleaned.items() if value is not values[name]}
    if not counts:
        return {}, counts
    changes["user_text"] = opening + cleaned["user_text"]
    changes["opening_length"] = len(opening)
    if chunk.granularity == "session":
        return changes, counts
    old = tagger.tag(own_text, chunk.assistant_text)
    new = tagger.tag(cleaned["user_text"], cleaned["assistant_text"])
    for name in FACETS:
        if getattr(chunk, name) == getattr(old, name):
            changes[name] = getattr(new, name)
    changes["facet_spans"] = [
        {
            "facet": span.facet,
            "rule": span.rule,
            "side": span.side,
            "start": span.start + (len(opening) if span.side == "user" else 0),
            "end": span.end + (len(opening) if span.side == "user" else 0),
        }
        for span in new.spans
    ]
    return changes, counts
