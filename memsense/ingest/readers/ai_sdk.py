"""Message lists of two agent libraries: UIMessages of the AI SDK, and Pydantic AI's history."""

from collections.abc import Iterator

from memsense.ingest.content import joined_text, named_file
from memsense.ingest.head import Head
from memsense.ingest.reader import Reader
from memsense.ingest.reading import EMPTY, ConversationBuilder, ObjectRecord, Reading
from memsense.ingest.roles import role_of
from memsense.ingest.values import (
    JsonObject,
    first_identifier,
    identifier,
    objects,
    reach,
    sequence,
    string,
)
from memsense.types import Conversation, JsonValue, Role

_SESSION_KEYS = ("id", "chatId", "chat_id", "conversation_id", "session_id")
_KINDS: dict[str, Role] = {"user-prompt": "user", "text": "assistant"}
_LEFT = {
    "system-prompt": "system message",
    "tool-return": "tool result",
    "retry-prompt": "tool result",
    "tool-call": "tool call",
    "builtin-tool-call": "tool call",
    "builtin-tool-return": "tool result",
    "thinking": "thinking",
}


def _sniff(head: Head) -> str | None:
    if head.find(_is_of_pydantic) or head.find(
        lambda record: any(map(_is_of_pydantic, _list(record)))
    ):
        return "messages of kind request or response whose parts have a part_kind"
    if head.find(_is_ui) or head.find(lambda record: any(map(_is_ui, _list(record)))):
        return "messages of role and typed parts"
    return None


def _list(record: JsonObject) -> list[JsonObject]:
    return objects(record.get("messages"))


def _is_of_pydantic(message: JsonObject) -> bool:
    is_kind = message.get("kind") in ("request", "response")
    return is_kind and any("part_kind" in part for part in objects(message.get("parts")))


def _is_ui(message: JsonObject) -> bool:
    known = role_of(string(message.get("role"))) in ("user", "assistant", "system")
    return known and any("type" in part for part in objects(message.get("parts")))


def _read(reading: Reading) -> Iterator[Conversation]:
    loose: dict[int, ConversationBuilder] = {}
    for record in reading.objects():
        if "messages" in record.value:
            yield from _read_list(reading, record)
        else:
            builder = loose.setdefault(record.list_number or 0, reading.conversation())
            _add_message(builder, record.value, record.line)
    for number, builder in loose.items():
        suffix = f":{number}" if number > 1 else ""
        yield from builder.build(reading.source.session_id + suffix)


def _read_list(reading: Reading, record: ObjectRecord) -> Iterator[Conversation]:
    builder = reading.conversation()
    for message in _list(record.value):
        _add_message(builder, message, record.line)
    known = first_identifier(record.value, *_SESSION_KEYS)
    session = known or f"{reading.source.session_id}:{record.ordinal}"
    yield from builder.build(session, title=string(record.value.get("title")))


def _add_message(builder: ConversationBuilder, message: JsonObject, line: int) -> None:
    if message.get("kind") in ("request", "response"):
        for part in objects(message.get("parts")):
            _add_part(builder, message, part, line)
    else:
        _add_ui(builder, message, line)


def _add_part(
    builder: ConversationBuilder, message: JsonObject, part: JsonObject, line: int
) -> None:
    """One part of Pydantic AI's messages: only what the user and the model said is a message."""
    kind = string(part.get("part_kind"))
    if kind not in _KINDS:
        builder.reading.skip(_LEFT.get(kind, "not a message"), line)
        return
    time = part.get("timestamp", message.get("timestamp"))
    text = "\n\n".join(piece for piece in map(_piece, _pieces(part.get("content"))) if piece)
    builder.add(_KINDS[kind], text, stamp=builder.reading.stamp(time), line=line)


def _pieces(content: JsonValue) -> list[JsonValue]:
    return [content] if isinstance(content, str) else list(sequence(content))


def _piece(piece: JsonValue) -> str:
    return piece if isinstance(piece, str) else named_file(reach(piece, "identifier"))


def _add_ui(builder: ConversationBuilder, message: JsonObject, line: int) -> None:
    role = role_of(string(message.get("role")))
    parts = objects(message.get("parts"))
    if role not in ("user", "assistant"):
        builder.reading.skip(f"{role or 'unknown'} message", line)
        return
    files = [named_file(part.get("filename")) for part in parts if part.get("type") == "file"]
    said = joined_text(message.get("parts")) or joined_text(message.get("content"))
    text = "\n\n".join(piece for piece in (said, *files) if piece)
    if not text.strip():
        is_call = any("tool" in string(part.get("type")) for part in parts)
        builder.reading.skip("tool call" if is_call else EMPTY, line)
        return
    time = message.get("createdAt", reach(message, "metadata", "createdAt"))
    builder.add(
        role,
        text,
        external_id=identifier(message.get("id")),
        stamp=builder.reading.stamp(time),
        line=line,
    )


READER = Reader(name="ai_sdk", sniff=_sniff, read=_read)
