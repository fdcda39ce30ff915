"""Codex CLI rollouts: the same words in two layers, of which one is read."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from memsense.ingest.content import joined_text
from memsense.ingest.head import Head
from memsense.ingest.reader import Reader
from memsense.ingest.reading import ObjectRecord, Reading
from memsense.ingest.roles import role_of
from memsense.ingest.timestamps import Stamp
from memsense.ingest.values import JsonObject, identifier, mapping, string
from memsense.types import Conversation, JsonValue, Role

_TYPES = frozenset(
    {"session_meta", "event_msg", "response_item", "turn_context", "compacted", "world_state"}
)
_SPOKEN_EVENTS: dict[str, Role] = {"user_message": "user", "agent_message": "assistant"}
_INJECTED = re.compile(
    r"\s*(<((?:environment_context|user_instructions|permissions|turn_aborted|skill"
    r"|collaboration_mode)[^<>]*)>.*?</\2>|# AGENTS\.md instructions for .*)\s*",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class _Spoken:
    role: Role
    text: str
    external_id: str | None
    stamp: Stamp
    line: int


@dataclass(slots=True)
class _Rollout:
    """One file's words by layer, and its first header."""

    header: JsonObject = field(default_factory=dict[str, JsonValue])
    events: list[_Spoken] = field(default_factory=list[_Spoken])
    items: list[_Spoken] = field(default_factory=list[_Spoken])


def _sniff(head: Head) -> str | None:
    if head.find(_is_rollout_line):
        return "rollout lines of type session_meta, event_msg or response_item with a payload"
    if head.find(_is_bare_item):
        return "bare message items with input_text or output_text"
    return None


def _is_rollout_line(record: JsonObject) -> bool:
    return string(record.get("type")) in _TYPES and isinstance(record.get("payload"), dict)


def _is_bare_item(record: JsonObject) -> bool:
    kinds = joined_text(record.get("content"), frozenset({"input_text", "output_text"}))
    is_list = isinstance(record.get("content"), list)
    return record.get("type") == "message" and is_list and bool(kinds)


def _read(reading: Reading) -> Iterator[Conversation]:
    rollout = _Rollout()
    for record in reading.objects():
        _take(reading, rollout, record)
    layer, other = rollout.events or rollout.items, rollout.items if rollout.events else []
    for repeated in other:
        reading.skip("same words in the other layer", repeated.line)
    builder = reading.conversation()
    for spoken in layer:
        text = _peel(spoken.text) if spoken.role == "user" else spoken.text
        if spoken.text.strip() and not text.strip():
            reading.skip("injected context", spoken.line)
            continue
        builder.add(
            spoken.role,
            text,
            external_id=spoken.external_id,
            stamp=spoken.stamp,
            line=spoken.line,
        )
    yield from builder.build(
        identifier(rollout.header.get("id")) or reading.source.stem,
        started_at=reading.stamp(rollout.header.get("timestamp")).at,
    )


def _take(reading: Reading, rollout: _Rollout, record: ObjectRecord) -> None:
    value = record.value
    payload = mapping(value.get("payload"))
    kind = value.get("type")
    if kind == "session_meta" or ("id" in value and kind is None):
        rollout.header = rollout.header or payload or value
        reading.skip("not a message", record.line)
    elif kind == "event_msg" and string(payload.get("type")) in _SPOKEN_EVENTS:
        role = _SPOKEN_EVENTS[string(payload.get("type"))]
        text = string(payload.get("message"))
        rollout.events.append(_spoken(reading, record, payload, role, text))
    elif (item := payload if kind == "response_item" else value).get("type") == "message":
        _take_item(reading, rollout, record, item)
    else:
        reading.skip("not a message", record.line)


def _take_item(reading: Reading, rollout: _Rollout, record: ObjectRecord, item: JsonObject) -> None:
    role = role_of(string(item.get("role")))
    if role in ("user", "assistant"):
        text = joined_text(item.get("content"))
        rollout.items.append(_spoken(reading, record, item, role, text))
    else:
        reading.skip(f"{role or 'unknown'} message", record.line)


def _spoken(
    reading: Reading, record: ObjectRecord, item: JsonObject, role: Role, text: str
) -> _Spoken:
    stamp = reading.stamp(record.value.get("timestamp"))
    return _Spoken(role, text, identifier(item.get("id")), stamp, record.line)


def _peel(text: str) -> str:
    """The text without the blocks that the program puts before a person's words."""
    start = 0
    while match := _INJECTED.match(text, start):
        start = match.end()
    return text[start:]


READER = Reader(name="codex", sniff=_sniff, read=_read)
