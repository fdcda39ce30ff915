"""OpenAI-style message lists: one conversation a line, in a list, in request logs, or bare."""

import hashlib
from collections.abc import Iterator, Sequence

from memsense.ingest.content import joined_text
from memsense.ingest.head import Head
from memsense.ingest.reader import Reader
from memsense.ingest.reading import ConversationBuilder, ObjectRecord, Reading
from memsense.ingest.roles import role_of
from memsense.ingest.values import (
    JsonObject,
    first_identifier,
    identifier,
    mapping,
    objects,
    reach,
    string,
)
from memsense.types import Conversation, JsonValue

_SESSION_KEYS = ("id", "conversation_id", "session_id", "sessionId", "thread_id", "custom_id")
_ROW_SESSIONS = ("session_id", "session", "conversation_id", "chat_id", "thread_id", "dialog_id")
_TIME_KEYS = ("timestamp", "created_at", "created", "create_time")


def _sniff(head: Head) -> str | None:
    if head.find(lambda record: any(map(_is_message, _messages(record) or ()))):
        return "records with a list of messages of role and content"
    if head.is_list and head.find(_is_flat_message):
        return "a list of messages of role and content"
    return None


def _is_message(message: JsonObject) -> bool:
    known = role_of(string(message.get("role"))) is not None
    return known and ("content" in message or "text" in message)


def _is_flat_message(record: JsonObject) -> bool:
    known = role_of(string(record.get("role"))) is not None
    return known and "content" in record and not any(key in record for key in _ROW_SESSIONS)


def _messages(record: JsonObject) -> list[JsonObject] | None:
    """The messages of a record that is a conversation, a batch line or a log line."""
    for messages in (
        record.get("messages"),
        reach(record, "body", "messages"),
        reach(record, "request", "messages"),
        reach(record, "request", "body", "messages"),
    ):
        if isinstance(messages, list):
            return [*objects(messages), *_answers(record)]
    if isinstance(record.get("history"), list):
        turns = objects(record["history"])
        return [mapping(turn.get("message")) or turn for turn in turns]
    return _answers(record) or None


def _answers(record: JsonObject) -> list[JsonObject]:
    bodies = (reach(record, "response", "body"), record.get("response"))
    choices = [choice for body in bodies for choice in objects(mapping(body).get("choices"))]
    return [message for choice in choices[:1] if (message := mapping(choice.get("message")))]


def _read(reading: Reading) -> Iterator[Conversation]:
    """Every conversation; one that the next one repeats and continues comes out once."""
    flat: dict[int, tuple[ConversationBuilder, ObjectRecord]] = {}
    pending: tuple[ConversationBuilder, str, ObjectRecord] | None = None
    for record in reading.objects():
        messages = _messages(record.value)
        if messages is None:
            _add_flat(reading, flat, record)
            continue
        builder = reading.conversation()
        for message in messages:
            _add_message(builder, message, record)
        session = _session_id(reading, record, builder)
        if pending and _continues(pending[0], builder):
            reading.skip_conversation("repeated and continued by a later one")
            session = session if _named(record.value) else pending[1]
        elif pending:
            yield from _finish(*pending)
        pending = (builder, session, record)
    if pending:
        yield from _finish(*pending)
    for builder, record in flat.values():
        yield from builder.build(_session_id(reading, record, builder))


def _add_flat(
    reading: Reading,
    flat: dict[int, tuple[ConversationBuilder, ObjectRecord]],
    record: ObjectRecord,
) -> None:
    """A bare message belongs to the conversation of its list (or of the file)."""
    if not _is_message(record.value):
        reading.skip("not a message", record.line)
        return
    entry = (reading.conversation(), record)
    builder, _ = flat.setdefault(record.list_number or 0, entry)
    _add_message(builder, record.value, record)


def _add_message(builder: ConversationBuilder, message: JsonObject, record: ObjectRecord) -> None:
    word = string(message.get("role"))
    role = role_of(word)
    if role not in ("user", "assistant"):
        builder.reading.skip(f"{role or 'unknown'} message", record.line)
        return
    content = message.get("content", message.get("text"))
    time = _time(message)
    builder.add(
        role,
        joined_text(content) or string(message.get("refusal")),
        external_id=identifier(message.get("id")),
        speaker=identifier(message.get("name")),
        stamp=builder.reading.stamp(time if time is not None else _time(record.value)),
        line=record.line,
    )


def _time(record: JsonObject) -> JsonValue:
    return next((record[key] for key in _TIME_KEYS if record.get(key) is not None), None)


def _named(record: JsonObject) -> str | None:
    return first_identifier(record, *_SESSION_KEYS) or identifier(
        reach(record, "metadata", "session_id")
    )


def _session_id(reading: Reading, record: ObjectRecord, builder: ConversationBuilder) -> str:
    """The record's own id; else its place and the hash of its first message, which stays when
    the conversation grows."""
    if named := _named(record.value):
        return named
    first = builder.messages[0].text if builder.messages else ""
    digest = hashlib.sha256(first.encode()).hexdigest()[:8]
    place = record.line if record.list_number is None else record.ordinal
    return f"{reading.source.session_id}:{place}:{digest}"


def _continues(earlier: ConversationBuilder, later: ConversationBuilder) -> bool:
    first, second = _said(earlier), _said(later)
    return 0 < len(first) < len(second) and second[: len(first)] == first


def _said(builder: ConversationBuilder) -> Sequence[tuple[str, str]]:
    return [(message.role, message.text) for message in builder.messages]


def _finish(
    builder: ConversationBuilder, session: str, record: ObjectRecord
) -> Iterator[Conversation]:
    yield from builder.build(session, title=string(record.value.get("title")))


READER = Reader(name="openai_messages", sniff=_sniff, read=_read)
