"""Reader of LobeChat's exports: all messages of all topics in one list, of browser or database."""

from collections.abc import Iterator

from memsense.ingest.content import content_text, format_file, join_texts, role_of
from memsense.ingest.head import Head
from memsense.ingest.reading import EMPTY, ConversationBuilder, Reader, Reading
from memsense.ingest.timestamps import epoch_seconds
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


def sniff(head: Head) -> str | None:
    """Return what shows that a log is a LobeChat export."""
    for record in head.objects:
        messages = objects(_state(record).get("messages"))
        if any("role" in one and "content" in one for one in messages):
            return "an export with a state or data of messages, topics and sessions"
    return None


def _state(record: JsonObject) -> JsonObject:
    """Return the content of an export: the browser's state, or the database's tables."""
    if isinstance(record.get("exportType"), str):
        return mapping(record.get("state"))
    return mapping(record.get("data")) if "schemaHash" in record else {}


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield a conversation for each topic and thread; messages of none are their assistant's."""
    for record in reading.objects():
        state = _state(record.value)
        builders: dict[str, ConversationBuilder] = {}
        # The program itself shows a topic's messages by their time; a table has no other order.
        messages = objects(state.get("messages"))
        for message in sorted(messages, key=lambda message: epoch_seconds(_time(message))):
            topic_id = first_identifier(message, "topicId", "topic_id", "sessionId", "session_id")
            thread_id = first_identifier(message, "threadId", "thread_id")
            session = topic_id or _INBOX
            session = f"{session}/{thread_id}" if thread_id else session
            builder = builders.setdefault(session, reading.conversation())
            text = content_text(message.get("content"))
            attachments = (one for key in _FILES for one in objects(message.get(key)))
            files = [format_file(one.get("name")) for one in attachments]
            builder.add(
                role_of(string(message.get("role"))),
                join_texts(text, *files),
                external_id=identifier(message.get("id")),
                stamp=reading.stamp(_time(message)),
                line=record.line,
                empty="tool call" if sequence(message.get("tools")) else EMPTY,
            )
        topics = {identifier(one.get("id")): one for one in objects(state.get("topics"))}
        for session, builder in builders.items():
            topic = topics.get(session.partition("/")[0], {})
            yield from builder.build(session, title=string(topic.get("title")))


def _time(message: JsonObject) -> JsonValue:
    return message.get("createdAt", message.get("created_at"))


READER = Reader(name="lobechat", sniff=sniff, read=read)
