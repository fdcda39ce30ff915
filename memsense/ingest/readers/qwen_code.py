"""Qwen Code sessions: lines linked like Claude Code's, whose messages have Gemini's parts."""

from collections.abc import Iterator

from memsense.ingest.content import joined_text
from memsense.ingest.head import Head
from memsense.ingest.reader import Reader
from memsense.ingest.reading import EMPTY, ConversationBuilder, ObjectRecord, Reading
from memsense.ingest.values import JsonObject, identifier, objects, reach, string
from memsense.types import Conversation

_TYPES = frozenset({"user", "assistant"})


def _sniff(head: Head) -> str | None:
    if head.find(_is_message):
        return "lines of type user or assistant with a message of parts"
    return None


def _is_message(record: JsonObject) -> bool:
    is_line = string(record.get("type")) in _TYPES and "sessionId" in record
    return is_line and isinstance(reach(record, "message", "parts"), list)


def _read(reading: Reading) -> Iterator[Conversation]:
    sessions: dict[str, ConversationBuilder] = {}
    for entry in reading.keep_living(list(reading.objects()), "uuid", "parentUuid"):
        session = identifier(entry.value.get("sessionId")) or reading.source.session_id
        if entry.value.get("isSidechain") is True and reading.options.sidechains:
            session = f"{session}/{identifier(entry.value.get('agentId')) or 'sidechain'}"
        _add_entry(sessions.setdefault(session, reading.conversation()), entry)
    for session, builder in sessions.items():
        yield from builder.build(session)


def _add_entry(builder: ConversationBuilder, entry: ObjectRecord) -> None:
    value, parts = entry.value, reach(entry.value, "message", "parts")
    text = joined_text(parts)
    if reason := _reason_to_skip(builder.reading, value, text):
        builder.reading.skip(reason, entry.line)
        return
    builder.add(
        "user" if value.get("type") == "user" else "assistant",
        text,
        external_id=identifier(value.get("uuid")),
        stamp=builder.reading.stamp(value.get("timestamp")),
        line=entry.line,
    )


def _reason_to_skip(reading: Reading, value: JsonObject, text: str) -> str | None:
    if string(value.get("type")) not in _TYPES:
        return "tool result" if value.get("type") == "tool_result" else "not a message"
    if value.get("isSidechain") is True and not reading.options.sidechains:
        return "sidechain"
    if text.strip():
        return None
    parts = objects(reach(value, "message", "parts"))
    if any("functionCall" in part for part in parts):
        return "tool call"
    return "thinking" if any(part.get("thought") for part in parts) else EMPTY


READER = Reader(name="qwen_code", sniff=_sniff, read=_read)
