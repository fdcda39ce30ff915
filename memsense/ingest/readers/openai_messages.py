"""Reader of OpenAI-style message lists: a conversation a line, in lists, request logs, or bare."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from memsense.ingest.content import content_text, role_of
from memsense.ingest.fields import (
    find_answers,
    find_message_id,
    find_other_texts,
    find_time,
    unpack_json,
)
from memsense.ingest.head import Head
from memsense.ingest.reading import ConversationBuilder, ObjectRecord, Reader, Reading
from memsense.ingest.values import (
    JsonObject,
    first_identifier,
    first_string,
    identifier,
    mapping,
    objects,
    reach,
    string,
)
from memsense.types import Conversation

_SESSION_KEYS = ("id", "conversation_id", "session_id", "sessionId", "thread_id", "custom_id")
# With one of these keys, a bare message is a row of a table of sessions.
_ROW_SESSIONS = ("session_id", "session", "conversation_id", "chat_id", "thread_id", "dialog_id")
_TRACE_KEYS = ("trace_id", "litellm_trace_id")
# The keys of a conversation's messages and of its requests, which are read.
_READ = frozenset({"messages", "request", "body", "response", "history", "proxy_server_request"})


@dataclass(frozen=True, slots=True)
class _Talk:
    """A conversation as far as it was read, with its session's id and its record."""

    builder: ConversationBuilder
    session: str
    record: ObjectRecord

    def texts(self) -> list[tuple[str, str]]:
        """Return (role, text) of each message."""
        return [(message.role, message.text) for message in self.builder.messages]

    def build(self) -> Iterator[Conversation]:
        """Yield the conversation."""
        self.builder.put_oldest_first()
        title = string(self.record.value.get("title"))
        return self.builder.build(self.session, title=title)


def sniff(head: Head) -> str | None:
    """Return what shows that a log has messages of OpenAI's form."""
    if head.find(lambda record: any(map(_is_message, _messages(record) or ()))):
        return "records with a list of messages of role and content"
    if head.is_list and head.find(
        lambda record: (
            _is_message(record)
            and "content" in record
            and not any(key in record for key in _ROW_SESSIONS)
        )
    ):
        return "a list of messages of role and content"
    return None


def _is_message(message: JsonObject) -> bool:
    has_role = role_of(string(message.get("role"))) is not None
    return has_role and ("content" in message or "text" in message)


def _messages(record: JsonObject) -> list[JsonObject] | None:
    """Return the messages of a record that is a conversation, a batch line or a log line."""
    for value in (
        record.get("messages"),
        reach(record, "body", "messages"),
        reach(record, "request", "messages"),
        reach(record, "request", "body", "messages"),
        reach(record, "proxy_server_request", "messages"),
    ):
        # A table of logs has its lists as texts; some proxies leave an empty object.
        messages = unpack_json(value)
        if isinstance(messages, list) and messages:
            # The answer of a request log is next to its question.
            return [*objects(messages), *find_answers(record, objects(messages))]
    if isinstance(record.get("messages"), list):
        return []
    # Continue.dev: each item of the history holds its message.
    if isinstance(record.get("history"), list):
        turns = objects(record["history"])
        return [mapping(turn.get("message")) or turn for turn in turns]
    has_choices = any(
        reach(record, *path, "choices") for path in (("response",), ("response", "body"))
    )
    return find_answers(record, ()) or None if has_choices else None


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield every conversation; one that the next one repeats and continues is left out."""
    loose: dict[int, tuple[ConversationBuilder, ObjectRecord]] = {}
    pending: _Talk | None = None
    for record in reading.objects():
        messages = _messages(record.value)
        if messages is None:
            if not _is_message(record.value):
                reading.skip("not a message", record.line)
                continue
            # A bare message belongs to the conversation of its list, or of the file.
            entry = (reading.conversation(), record)
            builder, _ = loose.setdefault(record.list_number or 0, entry)
            _add_message(builder, record.value, record)
            continue
        builder = reading.conversation()
        for message in messages:
            _add_message(builder, message, record)
        for key in find_other_texts(record.value, _READ):
            reading.skip(f"text next to the messages ({key})", record.line)
        talk = _Talk(builder, _session_id(reading, record, builder), record)
        # In a prompt log each request holds the whole conversation so far.
        if pending is not None:
            earlier, later = pending.texts(), talk.texts()
            if 0 < len(earlier) < len(later) and later[: len(earlier)] == earlier:
                reading.skip_conversation("repeated and continued by a later one")
                session = talk.session if _own_id(record.value) else pending.session
                talk = _Talk(builder, session, record)
            else:
                yield from pending.build()
        pending = talk
    if pending is not None:
        yield from pending.build()
    for builder, record in loose.values():
        builder.put_oldest_first()
        yield from builder.build(_session_id(reading, record, builder))


def _add_message(builder: ConversationBuilder, message: JsonObject, record: ObjectRecord) -> None:
    role = role_of(string(message.get("role")))
    # SWE-agent gives what its tools print the role of the user.
    if message.get("message_type") == "observation":
        role = "tool"
    content = message.get("content", message.get("text"))
    time = find_time(message)
    if time is None:
        time = find_time(record.value)
    builder.add(
        role,
        content_text(content) or first_string(message, ("refusal", "result")),
        external_id=find_message_id(message),
        speaker=identifier(message.get("name")),
        stamp=builder.reading.stamp(time),
        line=record.line,
    )


def _own_id(record: JsonObject) -> str | None:
    metadata_id = identifier(reach(record, "metadata", "session_id"))
    own_id = first_identifier(record, *_SESSION_KEYS) or metadata_id
    return own_id or first_identifier(record, *_TRACE_KEYS)


def _session_id(reading: Reading, record: ObjectRecord, builder: ConversationBuilder) -> str:
    if own_id := _own_id(record.value):
        return own_id
    # The record's place and the hash of its first message: that stays when the conversation grows,
    # and tells it from another one at the same place of a later log.
    first = builder.messages[0].text if builder.messages else ""
    digest = hashlib.sha256(first.encode()).hexdigest()[:8]
    place = record.line if record.list_number is None else record.ordinal
    return f"{reading.source.session_id}:{place}:{digest}"


READER = Reader(name="openai_messages", sniff=sniff, read=read)
