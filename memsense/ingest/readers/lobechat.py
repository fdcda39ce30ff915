"""LobeChat exports: all messages of all topics in one list, of the browser or of its database."""

from collections.abc import Iterator

from memsense.ingest.content import joined_text, named_file
from memsense.ingest.head import Head
from memsense.ingest.reader import Reader
from memsense.ingest.reading import ConversationBuilder, Reading
from memsense.ingest.roles import role_of
from memsense.ingest.timestamps import parse_timestamp
from memsense.ingest.values import (
    JsonObject,
    first_identifier,
    identifier,
    mapping,
    objects,
    sequence,
    string,
)
from memsense.types import Conversation, JsonValue

_FILES = ("fileList", "imageList", "files")
_INBOX = "inbox"


def _sniff(head: Head) -> str | None:
    if head.find(lambda record: bool(_messages(_state(record)))):
        return "an export with a state or data of messages, topics and sessions"
    return None


def _state(record: JsonObject) -> JsonObject:
    """What an export holds: the browser's state, or the database's tables."""
    if isinstance(record.get("exportType"), str):
        return mapping(record.get("state"))
    return mapping(record.get("data")) if "schemaHash" in record else {}


def _messages(state: JsonObject) -> list[JsonObject]:
    told = objects(state.get("messages"))
    return told if any("role" in one and "content" in one for one in told) else []


def _read(reading: Reading) -> Iterator[Conversation]:
    for record in reading.objects():
        state = _state(record.value)
        builders: dict[str, ConversationBuilder] = {}
        for message in sorted(objects(state.get("messages")), key=_seconds):
            builder = builders.setdefault(_session(message), reading.conversation())
            _add_message(builder, message, record.line)
        titles = {identifier(one.get("id")): one for one in objects(state.get("topics"))}
        for session, builder in builders.items():
            topic = titles.get(session.partition("/")[0], {})
            yield from builder.build(session, title=string(topic.get("title")))


def _session(message: JsonObject) -> str:
    """The topic, else the assistant whose messages belong to none; a thread is its own session."""
    topic = first_identifier(message, "topicId", "topic_id", "sessionId", "session_id") or _INBOX
    thread = first_identifier(message, "threadId", "thread_id")
    return f"{topic}/{thread}" if thread else topic


def _time(message: JsonObject) -> JsonValue:
    return message.get("createdAt", message.get("created_at"))


def _seconds(message: JsonObject) -> float:
    """The program itself shows a topic's messages by their time; a table has no other order."""
    at = parse_timestamp(_time(message)).at
    return at.timestamp() if at else 0.0


def _add_message(builder: ConversationBuilder, message: JsonObject, line: int) -> None:
    role = role_of(string(message.get("role")))
    if role not in ("user", "assistant"):
        builder.reading.skip(f"{role or 'unknown'} message", line)
        return
    text = joined_text(message.get("content"))
    files = [named_file(one.get("name")) for key in _FILES for one in objects(message.get(key))]
    if not text.strip() and not any(files) and sequence(message.get("tools")):
        builder.reading.skip("tool call", line)
        return
    builder.add(
        role,
        "\n\n".join(part for part in (text, *files) if part),
        external_id=identifier(message.get("id")),
        stamp=builder.reading.stamp(_time(message)),
        line=line,
    )


READER = Reader(name="lobechat", sniff=_sniff, read=_read)
