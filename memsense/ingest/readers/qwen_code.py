"""Reader of Qwen Code: lines linked like Claude Code's, whose messages have Gemini's parts."""

from collections.abc import Iterator

from memsense.ingest.content import content_text
from memsense.ingest.head import Head
from memsense.ingest.reader import Reader
from memsense.ingest.reading import EMPTY, ConversationBuilder, Reading
from memsense.ingest.values import JsonObject, identifier, objects, reach, string
from memsense.types import Conversation

_TYPES = frozenset({"user", "assistant"})


def sniff(head: Head) -> str | None:
    """Return what shows that a log is Qwen Code's."""
    if head.find(_is_message):
        return "lines of type user or assistant with a message of parts"
    return None


def _is_message(record: JsonObject) -> bool:
    is_line = string(record.get("type")) in _TYPES and "sessionId" in record
    return is_line and isinstance(reach(record, "message", "parts"), list)


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield a conversation for each session; with `sidechains` also for each sub-agent."""
    sessions: dict[str, ConversationBuilder] = {}
    for entry in reading.keep_current_branch(list(reading.objects()), "uuid", "parentUuid"):
        value = entry.value
        session = identifier(value.get("sessionId")) or reading.source.session_id
        if value.get("isSidechain") is True and reading.options.sidechains:
            session = f"{session}/{identifier(value.get('agentId')) or 'sidechain'}"
        builder = sessions.setdefault(session, reading.conversation())
        text = content_text(reach(value, "message", "parts"))
        if reason := _reason_to_skip(reading, value, text):
            reading.skip(reason, entry.line)
            continue
        builder.add(
            "user" if value.get("type") == "user" else "assistant",
            text,
            external_id=identifier(value.get("uuid")),
            stamp=reading.stamp(value.get("timestamp")),
            line=entry.line,
        )
    for session, builder in sessions.items():
        yield from builder.build(session)


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


READER = Reader(name="qwen_code", sniff=sniff, read=read)
