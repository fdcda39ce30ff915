"""Goose: its database `sessions.db`, JSON lines under a header, exported sessions."""

from collections.abc import Iterator

from memsense.ingest.content import joined_text
from memsense.ingest.head import Head
from memsense.ingest.reader import Reader
from memsense.ingest.reading import EMPTY, ConversationBuilder, Reading
from memsense.ingest.roles import role_of
from memsense.ingest.values import JsonObject, identifier, objects, reach, string
from memsense.types import Conversation

_TOOLS = {
    "toolRequest": "tool call",
    "toolResponse": "tool result",
    "thinking": "thinking",
    "redactedThinking": "thinking",
}


def _sniff(head: Head) -> str | None:
    if head.find(_is_message):
        return "messages of role, created and a list of content"
    if head.find(lambda record: any(map(_is_message, objects(record.get("conversation"))))):
        return "a session with a conversation of such messages"
    return None


def _is_message(record: JsonObject) -> bool:
    is_dated = isinstance(record.get("created"), int)
    return is_dated and "role" in record and isinstance(record.get("content"), list)


def _read(reading: Reading) -> Iterator[Conversation]:
    loose = reading.conversation()
    title, saw_lines = "", False
    for record in reading.objects():
        turns = record.value.get("conversation")
        if isinstance(turns, list):
            builder = reading.conversation()
            told = objects(turns)
            if _is_side(record.value) and not reading.options.sidechains:
                reading.skip("sidechain", record.line, len(told))
                told = []
            for turn in told:
                _add_turn(builder, turn, record.line)
            known = identifier(record.value.get("id"))
            session = known or f"{reading.source.session_id}:{record.ordinal}"
            yield from builder.build(session, title=_title(record.value))
            continue
        saw_lines = True
        title = title or _title(record.value)
        _add_turn(loose, record.value, record.line)
    if saw_lines:
        yield from loose.build(reading.source.session_id, title=title)


def _is_side(record: JsonObject) -> bool:
    """Whether a session is a sub-agent's, or one that Goose hides."""
    return record.get("session_type") in ("sub_agent", "hidden")


def _title(record: JsonObject) -> str:
    return string(record.get("description")) or string(record.get("name"))


def _add_turn(builder: ConversationBuilder, turn: JsonObject, line: int) -> None:
    role = role_of(string(turn.get("role")))
    text = joined_text(turn.get("content"))
    if "role" not in turn:
        builder.reading.skip("not a message", line)
    elif role not in ("user", "assistant"):
        builder.reading.skip(f"{role or 'unknown'} message", line)
    elif reach(turn, "metadata", "userVisible") is False:
        builder.reading.skip("hidden message", line)
    elif not text.strip():
        kinds = (string(block.get("type")) for block in objects(turn.get("content")))
        reason = next((_TOOLS[kind] for kind in kinds if kind in _TOOLS), EMPTY)
        builder.reading.skip(reason, line)
    else:
        builder.add(
            role,
            text,
            external_id=identifier(turn.get("id")),
            stamp=builder.reading.stamp(turn.get("created")),
            line=line,
        )


READER = Reader(name="goose", sniff=_sniff, read=_read)
