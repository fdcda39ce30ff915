"""Reader of LangChain messages in their four JSON shapes, and of LangGraph's states."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from memsense.ingest.content import content_text, role_of
from memsense.ingest.head import Head
from memsense.ingest.langchain_shapes import message_fields, message_type, reason_to_skip
from memsense.ingest.reading import ConversationBuilder, Reader, Reading
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
    """The states of one LangGraph thread: its newest messages, and when each appeared first."""

    step: float = float("-inf")
    messages: list[JsonObject] = field(default_factory=list["JsonObject"])
    first_seen: dict[str, Stamp] = field(default_factory=dict[str, Stamp])
    line: int = 1


def sniff(head: Head) -> str | None:
    """Return what shows that a log is LangChain's or LangGraph's."""
    if head.find(lambda record: _state_messages(record) is not None):
        return "LangGraph states with values.messages"
    if head.find(_is_message):
        return "LangChain messages of type human or ai"
    if head.has_item("messages", _is_message):
        return "lists of LangChain messages"
    return None


def _is_message(record: JsonObject) -> bool:
    kind = message_type(record)
    return kind in _TYPES and ("content" in message_fields(record) or kind == "remove")


def _state_messages(record: JsonObject) -> list[JsonObject] | None:
    for holder in ("values", "channel_values"):
        messages = reach(record, holder, "messages")
        if isinstance(messages, list):
            return objects(messages)
    return None


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield a conversation for each list, one for the messages of no list, and each thread."""
    loose: dict[int, ConversationBuilder] = {}
    threads: dict[str, _Thread] = {}
    for record in reading.objects():
        state = _state_messages(record.value)
        configurable = mapping(reach(record.value, "config", "configurable"))
        if state is not None and configurable.get("checkpoint_ns"):
            reading.skip("state of a subgraph", record.line)
        elif state is not None:
            thread_id = identifier(configurable.get("thread_id")) or reading.source.session_id
            thread = threads.setdefault(thread_id, _Thread(line=record.line))
            # Messages have no times. The creation of the first state that holds a message is the
            # best there is; a history lists its states newest first, so an earlier one may follow.
            stamp = reading.stamp(record.value.get("created_at"))
            for message in state:
                message_id = identifier(message_fields(message).get("id"))
                if message_id is None or stamp.at is None:
                    continue
                earlier = thread.first_seen.get(message_id, stamp)
                if earlier.at is None or stamp.at <= earlier.at:
                    thread.first_seen[message_id] = stamp
            # Each state holds the whole list so far: only the newest is read.
            step = reach(record.value, "metadata", "step")
            order = float(step) if isinstance(step, int) else float(len(state))
            if order > thread.step:
                thread.step, thread.messages, thread.line = order, state, record.line
        elif isinstance(record.value.get("messages"), list):
            builder = reading.conversation()
            for message in objects(record.value["messages"]):
                _add_message(builder, message, record.line)
            own_id = first_identifier(record.value, "thread_id", "session_id", "id")
            yield from builder.build(reading.name_session(own_id, record.ordinal))
        else:
            number = record.list_number or 0
            builder = loose.setdefault(number, reading.conversation())
            _add_message(builder, record.value, record.line)
    for number, builder in loose.items():
        suffix = f":{number}" if number > 1 else ""
        yield from builder.build(reading.source.session_id + suffix)
    for thread_id, thread in threads.items():
        builder = reading.conversation()
        for message in thread.messages:
            message_id = identifier(message_fields(message).get("id"))
            stamp = thread.first_seen.get(message_id or "", NO_TIME)
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
    text = content_text(fields.get("content"))
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


READER = Reader(name="langchain", sniff=sniff, read=read)
