"""Gemini: CLI sessions (JSONL or one object), API request bodies, AI Studio prompts."""

from collections.abc import Iterator

from memsense.ingest.content import joined_text
from memsense.ingest.head import Head
from memsense.ingest.reader import Reader
from memsense.ingest.reading import ConversationBuilder, ObjectRecord, Reading
from memsense.ingest.roles import role_of
from memsense.ingest.values import (
    JsonObject,
    first_identifier,
    mapping,
    objects,
    string,
)
from memsense.types import Conversation, JsonValue

_LISTS = ("contents", "messages", "history")
_WORD_KEYS = ("content", "parts", "text", "message")


def _sniff(head: Head) -> str | None:
    if head.find(lambda record: record.get("type") == "session_metadata"):
        return "a line of type session_metadata"
    if head.find(lambda record: "sessionId" in record and "projectHash" in record):
        return "a session with projectHash"
    if head.find(lambda record: isinstance(record.get("chunkedPrompt"), dict)):
        return "an AI Studio prompt with chunkedPrompt"
    if head.find(lambda record: any(map(_is_turn, objects(record.get("contents"))))):
        return "contents with role and parts"
    if head.find(_has_model_role):
        return "messages of role model"
    return None


def _is_turn(turn: JsonObject) -> bool:
    return isinstance(turn.get("parts"), list)


def _has_model_role(record: JsonObject) -> bool:
    turns = [*objects(record.get("messages")), *objects(record.get("history"))]
    return any(turn.get("role") == "model" for turn in turns)


def _read(reading: Reading) -> Iterator[Conversation]:
    loose = reading.conversation()
    session, started = reading.source.stem, None
    saw_lines = False
    for record in reading.objects():
        turns = _turns(record.value)
        if turns is not None:
            yield from _read_object(reading, record, turns)
        elif record.value.get("type") == "session_metadata":
            session = first_identifier(record.value, "sessionId") or session
            started = record.value.get("startTime")
            saw_lines = True
        else:
            saw_lines = True
            _add_turn(loose, record.value, record.line)
    if saw_lines:
        yield from loose.build(session, started_at=reading.stamp(started).at)


def _turns(record: JsonObject) -> list[JsonObject] | None:
    """The turns of a record that is a whole conversation, else None."""
    if isinstance(record.get("chunkedPrompt"), dict):
        return objects(mapping(record["chunkedPrompt"]).get("chunks"))
    lists = (record[key] for key in _LISTS if isinstance(record.get(key), list))
    return next((objects(turns) for turns in lists), None)


def _read_object(
    reading: Reading, record: ObjectRecord, turns: list[JsonObject]
) -> Iterator[Conversation]:
    builder = reading.conversation()
    for turn in turns:
        _add_turn(builder, turn, record.line)
    session = first_identifier(record.value, "sessionId", "session_id", "id")
    yield from builder.build(
        session or f"{reading.source.stem}:{record.ordinal}",
        started_at=reading.stamp(record.value.get("startTime")).at,
    )


def _add_turn(builder: ConversationBuilder, turn: JsonObject, line: int) -> None:
    role = role_of(string(turn.get("role")) or string(turn.get("type")))
    if role not in ("user", "assistant"):
        builder.reading.skip("not a message", line)
        return
    if turn.get("isThought") is True:
        builder.reading.skip("thinking", line)
        return
    builder.add(
        role,
        _words(turn),
        external_id=first_identifier(turn, "id"),
        stamp=builder.reading.stamp(_time(turn)),
        line=line,
    )


def _time(turn: JsonObject) -> JsonValue:
    return turn.get("timestamp", turn.get("createTime"))


def _words(turn: JsonObject) -> str:
    found = (joined_text(turn.get(key)) for key in _WORD_KEYS)
    return next((words for words in found if words), "")


READER = Reader(name="gemini_cli", sniff=_sniff, read=_read)
