"""LangChain messages in their four JSON shapes, and LangGraph states and histories."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from memsense.ingest.content import joined_text
from memsense.ingest.head import Head
from memsense.ingest.langchain_shapes import message_fields, message_type, reason_to_skip
from memsense.ingest.reader import Reader
from memsense.ingest.reading import ConversationBuilder, ObjectRecord, Reading
from memsense.ingest.roles import role_of
from memsense.ingest.timestamps import NO_TIME, Stamp
from memsense.ingest.values import (
    JsonObject,
    first_identifier,
    identifier,
    mapping,
    objects,
    reach,
    string,
)
from memsense.types import Conversation

_TYPES = frozenset({"human", "ai", "chat", "remove", "HumanMessageChunk", "AIMessageChunk"})


@dataclass(slots=True)
class _Thread:
    """The states of one LangGraph thread: the newest messages, and when each came first."""

    step: float = float("-inf")
    messages: list[JsonObject] = field(default_factory=list["JsonObject"])
    first_seen: dict[str, Stamp] = field(default_factory=dict[str, Stamp])
    line: int = 1


def _sniff(head: Head) -> str | None:
    if head.find(lambda record: _state_messages(record) is not None):
        return "LangGraph states with values.messages"
    if head.find(_is_message):
        return "LangChain messages of type human or ai"
    if head.find(lambda record: any(map(_is_message, objects(record.get("messages"))))):
        return "lists of LangChain messages"
    return None


def _is_message(record: JsonObject) -> bool:
    fields = message_fields(record)
    return message_type(record) in _TYPES and (
        "content" in fields or message_type(record) == "remove"
    )


def _state_messages(record: JsonObject) -> list[JsonObject] | None:
    for holder in ("values", "channel_values"):
        messages = reach(record, holder, "messages")
        if isinstance(messages, list):
            return objects(messages)
    return None


def _read(reading: Reading) -> Iterator[Conversation]:
    loose: dict[int, ConversationBuilder] = {}
    threads: dict[str, _Thread] = {}
    for record in reading.objects():
        state = _state_messages(record.value)
        if state is not None:
            _take_state(reading, threads, record, state)
        elif isinstance(record.value.get("messages"), list):
            yield from _read_list(reading, record)
        else:
            number = record.list_number or 0
            builder = loose.setdefault(number, reading.conversation())
            _add_message(builder, record.value, record.line)
    for number, builder in loose.items():
        suffix = f":{number}" if number > 1 else ""
        yield from builder.build(reading.source.session_id + suffix)
    for thread_id, thread in threads.items():
        yield from _read_thread(reading, thread_id, thread)


def _read_list(reading: Reading, record: ObjectRecord) -> Iterator[Conversation]:
    builder = reading.conversation()
    for message in objects(record.value["messages"]):
        _add_message(builder, message, record.line)
    session = first_identifier(record.value, "thread_id", "session_id", "id")
    yield from builder.build(session or f"{reading.source.session_id}:{record.ordinal}")


def _take_state(
    reading: Reading,
    threads: dict[str, _Thread],
    record: ObjectRecord,
    messages: list[JsonObject],
) -> None:
    """Each state holds the whole list so far: remember the newest, and first sightings."""
    configurable = mapping(reach(record.value, "config", "configurable"))
    if configurable.get("checkpoint_ns"):
        reading.skip("state of a subgraph", record.line)
        return
    thread_id = identifier(configurable.get("thread_id")) or reading.source.session_id
    thread = threads.setdefault(thread_id, _Thread(line=record.line))
    stamp = reading.stamp(record.value.get("created_at"))
    for message in messages:
        _note_sighting(thread, message, stamp)
    step = reach(record.value, "metadata", "step")
    order = float(step) if isinstance(step, int) else float(len(messages))
    if order > thread.step:
        thread.step, thread.messages, thread.line = order, messages, record.line


def _note_sighting(thread: _Thread, message: JsonObject, stamp: Stamp) -> None:
    known = identifier(message_fields(message).get("id"))
    if known is None or stamp.at is None:
        return
    earlier = thread.first_seen.get(known, stamp)
    if earlier.at is None or stamp.at <= earlier.at:
        thread.first_seen[known] = stamp


def _read_thread(reading: Reading, thread_id: str, thread: _Thread) -> Iterator[Conversation]:
    builder = reading.conversation()
    for message in thread.messages:
        known = identifier(message_fields(message).get("id"))
        stamp = thread.first_seen.get(known or "", NO_TIME)
        _add_message(builder, message, thread.line, stamp)
    yield from builder.build(thread_id)


def _add_message(
    builder: ConversationBuilder, record: JsonObject, line: int, stamp: Stamp = NO_TIME
) -> None:
    fields = message_fields(record)
    kind = message_type(record)
    external_id = identifier(fields.get("id"))
    if kind == "remove":
        builder.remove(external_id or "", line)
        builder.reading.skip("not a message", line)
        return
    role = role_of(string(fields.get("role")) if kind == "chat" else kind)
    text = joined_text(fields.get("content"))
    if reason := reason_to_skip(fields, role, text):
        builder.reading.skip(reason, line)
        return
    builder.add(
        "user" if role == "user" else "assistant",
        text,
        external_id=external_id,
        speaker=identifier(fields.get("name")),
        stamp=stamp,
        line=line,
    )


READER = Reader(name="langchain", sniff=_sniff, read=_read)
