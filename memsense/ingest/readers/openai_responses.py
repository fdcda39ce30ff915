"""OpenAI Responses and Conversations: items, response objects, request and response logs."""

from collections.abc import Iterator

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

_SPOKEN = frozenset({"input_text", "output_text"})
_SESSION_KEYS = ("conversation_id", "conversation", "session_id", "id", "custom_id")


def _sniff(head: Head) -> str | None:
    if head.find(_is_item):
        return "message items with input_text or output_text"
    if head.find(lambda record: record.get("object") == "response" and _items(record) is not None):
        return "response objects with output items"
    if head.find(lambda record: any(map(_is_item, _items(record) or ()))):
        return "records with input or output items"
    return None


def _is_item(record: JsonObject) -> bool:
    kinds = {string(block.get("type")) for block in objects(record.get("content"))}
    return record.get("type", "message") == "message" and bool(kinds & _SPOKEN)


def _items(record: JsonObject) -> list[JsonObject] | None:
    """The items of a record that holds a conversation, or one request and its response."""
    body = mapping(record.get("body")) or mapping(record.get("request")) or record
    answer = mapping(reach(record, "response", "body")) or mapping(record.get("response"))
    asked, answered = body.get("input"), (answer or record).get("output")
    listed = record.get("data") if record.get("object") == "list" else record.get("items")
    if not any(isinstance(value, list) for value in (asked, answered, listed)):
        return None
    question: list[JsonObject] = (
        [{"type": "message", "role": "user", "content": asked}] if isinstance(asked, str) else []
    )
    said = [*objects(listed), *question, *objects(asked), *objects(answered)]
    return said if any(map(_is_message, said)) else None


def _is_message(item: JsonObject) -> bool:
    return item.get("type", "message") == "message" and "role" in item


def _read(reading: Reading) -> Iterator[Conversation]:
    sessions: dict[str, ConversationBuilder] = {}
    for record in reading.objects():
        items = _items(record.value)
        session = _session(reading, record, items)
        builder = sessions.setdefault(session, reading.conversation())
        time = record.value.get("created_at", record.value.get("timestamp"))
        for item in [record.value] if items is None else _in_order(record.value, items):
            _add_item(builder, item, time, record.line)
    for session, builder in sessions.items():
        yield from builder.build(session)


def _in_order(record: JsonObject, items: list[JsonObject]) -> list[JsonObject]:
    """The items from the first; a page of a conversation tells the newest first.

    Times tell, or where there are none, that it would begin with an answer and end in a question.
    """
    if None in (record.get("first_id"), record.get("last_id")):
        return items
    times = [item.get("created_at") for item in items]
    numbers = [time for time in times if isinstance(time, int | float)]
    if len(numbers) == len(times):
        return items[::-1] if numbers != sorted(numbers) else items
    roles = [role_of(string(item.get("role"))) for item in items if _is_message(item)]
    backward = (roles[0], roles[-1]) == ("assistant", "user")
    return items[::-1] if backward else items


def _session(reading: Reading, record: ObjectRecord, items: list[JsonObject] | None) -> str:
    if items is None:
        number = record.list_number or 1
        return reading.source.session_id if number == 1 else f"{reading.source.session_id}:{number}"
    talk = mapping(record.value.get("conversation"))
    named = identifier(talk.get("id")) or first_identifier(record.value, *_SESSION_KEYS)
    return named or f"{reading.source.session_id}:{record.ordinal}"


def _add_item(builder: ConversationBuilder, item: JsonObject, time: JsonValue, line: int) -> None:
    role = role_of(string(item.get("role")))
    if not _is_message(item):
        kind = string(item.get("type"))
        reason = "thinking" if kind == "reasoning" else "tool call" if "call" in kind else None
        builder.reading.skip(reason or "not a message", line)
    elif role not in ("user", "assistant"):
        builder.reading.skip(f"{role or 'unknown'} message", line)
    else:
        own = item.get("created_at", item.get("timestamp"))
        builder.add(
            role,
            _words(item.get("content")),
            external_id=identifier(item.get("id")),
            stamp=builder.reading.stamp(time if own is None else own),
            line=line,
        )


def _words(content: JsonValue) -> str:
    names = (
        f"[file: {name}]"
        for block in objects(content)
        if block.get("type") == "input_file" and (name := identifier(block.get("filename")))
    )
    return "\n\n".join(part for part in (joined_text(content), *names) if part)


READER = Reader(name="openai_responses", sniff=_sniff, read=_read)
