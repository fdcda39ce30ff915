"""Reader of Goose: its database `sessions.db`, JSON lines under a header, exported sessions."""

from collections.abc import Iterator

from memsense.ingest.content import content_text, role_of
from memsense.ingest.head import Head
from memsense.ingest.reading import ConversationBuilder, Reader, Reading, name_parts
from memsense.ingest.values import JsonObject, identifier, objects, reach, string
from memsense.types import Conversation

_TOOLS = {
    "toolRequest": "tool call",
    "toolResponse": "tool result",
    "thinking": "thinking",
    "redactedThinking": "thinking",
}
# Sessions of sub-agents, and those that Goose itself does not list.
_SIDE_TYPES = ("sub_agent", "hidden")


def sniff(head: Head) -> str | None:
    """Return what shows that a log is Goose's."""
    if head.find(_is_message):
        return "messages of role, created and a list of content"
    if head.has_item("conversation", _is_message):
        return "a session with a conversation of such messages"
    return None


def _is_message(record: JsonObject) -> bool:
    is_dated = isinstance(record.get("created"), int)
    return is_dated and "role" in record and isinstance(record.get("content"), list)


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield each exported session, or the one session of a file of lines."""
    loose = reading.conversation()
    title, folder, has_lines = "", "", False
    for record in reading.objects():
        value, line = record.value, record.line
        name = string(value.get("description")) or string(value.get("name"))
        turns = value.get("conversation")
        if isinstance(turns, list):
            builder = reading.conversation()
            messages = objects(turns)
            if value.get("session_type") in _SIDE_TYPES and not reading.options.sidechains:
                reading.skip("sidechain", line, len(messages))
                messages = []
            for message in messages:
                _add_message(builder, message, line)
            session = reading.name_session(identifier(value.get("id")), record.ordinal)
            folder = string(value.get("working_dir"))
            yield from builder.build(session, title=name, folder=folder)
        else:
            has_lines = True
            title = title or name
            folder = folder or string(value.get("working_dir"))
            _add_message(loose, value, line)
    if has_lines:
        yield from loose.build(reading.source.session_id, title=title, folder=folder)


def _add_message(builder: ConversationBuilder, message: JsonObject, line: int) -> None:
    role = role_of(string(message.get("role")))
    if "role" not in message:
        builder.reading.skip("not a message", line)
    elif role in ("user", "assistant") and reach(message, "metadata", "userVisible") is False:
        builder.reading.skip("hidden message", line)
    else:
        builder.add(
            role,
            content_text(message.get("content")),
            external_id=identifier(message.get("id")),
            stamp=builder.reading.stamp(message.get("created")),
            line=line,
            empty=name_parts(objects(message.get("content")), _TOOLS),
        )


READER = Reader(name="goose", sniff=sniff, read=read)
