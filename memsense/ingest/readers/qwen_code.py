"""Reader of Qwen Code: lines linked like Claude Code's, whose messages have Gemini's parts."""

from collections.abc import Iterator

from memsense.ingest.content import content_text
from memsense.ingest.head import Head
from memsense.ingest.reading import EMPTY, ConversationBuilder, Reader, Reading
from memsense.ingest.values import identifier, objects, reach, string
from memsense.types import Conversation

_TYPES = frozenset({"user", "assistant"})
_OTHER_TYPES = frozenset({"system"})


def sniff(head: Head) -> str | None:
    """Return what shows that a log is Qwen Code's."""
    for record in head.objects:
        is_line = string(record.get("type")) in _TYPES and "sessionId" in record
        if is_line and isinstance(reach(record, "message", "parts"), list):
            return "lines of type user or assistant with a message of parts"
    return None


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield a conversation for each session; with `sidechains` also for each sub-agent."""
    sessions: dict[str, ConversationBuilder] = {}
    for entry in reading.keep_current_branch(list(reading.objects()), "uuid", "parentUuid"):
        value = entry.value
        session = identifier(value.get("sessionId")) or reading.source.session_id
        if value.get("isSidechain") is True and reading.options.sidechains:
            session = f"{session}/{identifier(value.get('agentId')) or 'sidechain'}"
        builder = sessions.setdefault(session, reading.conversation())
        kind, parts = string(value.get("type")), reach(value, "message", "parts")
        if kind not in _TYPES:
            if kind == "tool_result":
                reading.skip("tool result", entry.line)
            else:
                reading.skip_record(kind, _OTHER_TYPES, entry.line)
        elif value.get("isSidechain") is True and not reading.options.sidechains:
            reading.skip("sidechain", entry.line)
        else:
            is_call = any("functionCall" in part for part in objects(parts))
            has_thought = any(part.get("thought") for part in objects(parts))
            builder.add(
                "user" if kind == "user" else "assistant",
                content_text(parts),
                external_id=identifier(value.get("uuid")),
                stamp=reading.stamp(value.get("timestamp")),
                folder=string(value.get("cwd")),
                line=entry.line,
                empty="tool call" if is_call else "thinking" if has_thought else EMPTY,
            )
    for session, builder in sessions.items():
        yield from builder.build(session)


READER = Reader(name="qwen_code", sniff=sniff, read=read)
