"""Reader of two agent libraries' message lists: UIMessages of the AI SDK, Pydantic AI's history."""

from collections.abc import Iterator

from memsense.ingest.content import content_text, format_file, join_texts, role_of
from memsense.ingest.head import Head
from memsense.ingest.reading import EMPTY, ConversationBuilder, Reader, Reading
from memsense.ingest.values import (
    JsonObject,
    first_identifier,
    identifier,
    objects,
    reach,
    sequence,
    string,
)
from memsense.types import Conversation, Role

_SESSION_KEYS = ("id", "chatId", "chat_id", "conversation_id", "session_id")
# Pydantic AI's kinds of parts: only these two are words of the user or the model.
_SPEAKERS: dict[str, Role] = {"user-prompt": "user", "text": "assistant"}
_REASONS = {
    "system-prompt": "system message",
    "tool-return": "tool result",
    "retry-prompt": "tool result",
    "tool-call": "tool call",
    "builtin-tool-call": "tool call",
    "builtin-tool-return": "tool result",
    "thinking": "thinking",
}


def sniff(head: Head) -> str | None:
    """Return what shows that a log is of one of the libraries."""
    if head.find(_is_of_pydantic) or head.has_item("messages", _is_of_pydantic):
        return "messages of kind request or response whose parts have a part_kind"
    if head.find(_is_ui) or head.has_item("messages", _is_ui):
        return "messages of role and typed parts"
    return None


def _is_of_pydantic(message: JsonObject) -> bool:
    is_kind = message.get("kind") in ("request", "response")
    return is_kind and any("part_kind" in part for part in objects(message.get("parts")))


def _is_ui(message: JsonObject) -> bool:
    has_role = role_of(string(message.get("role"))) in ("user", "assistant", "system")
    return has_role and any("type" in part for part in objects(message.get("parts")))


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield a conversation for each list of messages, and one for the messages of no list."""
    loose: dict[int, ConversationBuilder] = {}
    for record in reading.objects():
        if "messages" not in record.value:
            builder = loose.setdefault(record.list_number or 0, reading.conversation())
            _add_message(builder, record.value, record.line)
            continue
        builder = reading.conversation()
        for message in objects(record.value.get("messages")):
            _add_message(builder, message, record.line)
        own_id = first_identifier(record.value, *_SESSION_KEYS)
        session = reading.name_session(own_id, record.ordinal)
        yield from builder.build(session, title=string(record.value.get("title")))
    for number, builder in loose.items():
        suffix = f":{number}" if number > 1 else ""
        yield from builder.build(reading.source.session_id + suffix)


def _add_message(builder: ConversationBuilder, message: JsonObject, line: int) -> None:
    reading = builder.reading
    parts = objects(message.get("parts"))
    if message.get("kind") in ("request", "response"):
        # Pydantic AI: a request holds the prompt with system prompts and tools' results.
        for part in parts:
            kind = string(part.get("part_kind"))
            if kind not in _SPEAKERS:
                reading.skip(_REASONS.get(kind, "not a message"), line)
                continue
            content = part.get("content")
            pieces = [content] if isinstance(content, str) else sequence(content)
            texts = (
                piece if isinstance(piece, str) else format_file(reach(piece, "identifier"))
                for piece in pieces
            )
            time = part.get("timestamp", message.get("timestamp"))
            text, stamp = join_texts(*texts), reading.stamp(time)
            builder.add(_SPEAKERS[kind], text, stamp=stamp, line=line)
        return
    files = (format_file(part.get("filename")) for part in parts if part.get("type") == "file")
    words = content_text(message.get("parts")) or content_text(message.get("content"))
    is_call = any("tool" in string(part.get("type")) for part in parts)
    time = message.get("createdAt", reach(message, "metadata", "createdAt"))
    builder.add(
        role_of(string(message.get("role"))),
        join_texts(words, *files),
        external_id=identifier(message.get("id")),
        stamp=reading.stamp(time),
        line=line,
        empty="tool call" if is_call else EMPTY,
    )


READER = Reader(name="ai_sdk", sniff=sniff, read=read)
