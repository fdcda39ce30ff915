"""Reader of OpenAI's Responses and Conversations: items, response objects, request logs."""

from collections.abc import Iterator

from memsense.ingest.content import content_text, format_file, join_texts, role_of
from memsense.ingest.head import Head
from memsense.ingest.reading import ConversationBuilder, Reader, Reading
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

_TEXT_TYPES = frozenset({"input_text", "output_text"})
_SESSION_KEYS = ("conversation_id", "conversation", "session_id", "id", "custom_id")


def sniff(head: Head) -> str | None:
    """Return what shows that a log has items of the Responses API."""
    if head.find(_is_item):
        return "message items with input_text or output_text"
    if head.find(lambda record: record.get("object") == "response" and _items(record) is not None):
        return "response objects with output items"
    if head.find(lambda record: any(map(_is_item, _items(record) or ()))):
        return "records with input or output items"
    return None


def _is_item(record: JsonObject) -> bool:
    kinds = {string(block.get("type")) for block in objects(record.get("content"))}
    return record.get("type", "message") == "message" and bool(kinds & _TEXT_TYPES)


def _items(record: JsonObject) -> list[JsonObject] | None:
    """Return the items of a record that holds a conversation, or a request and its response."""
    body = mapping(record.get("body")) or mapping(record.get("request")) or record
    response = mapping(reach(record, "response", "body")) or mapping(record.get("response"))
    inputs, outputs = body.get("input"), (response or record).get("output")
    # A page of a conversation is an object of type "list".
    page = record.get("data") if record.get("object") == "list" else record.get("items")
    if not any(isinstance(value, list) for value in (inputs, outputs, page)):
        return None
    question: list[JsonObject] = (
        [{"type": "message", "role": "user", "content": inputs}] if isinstance(inputs, str) else []
    )
    items = [*objects(page), *question, *objects(inputs), *objects(outputs)]
    return items if any(map(_is_message, items)) else None


def _is_message(item: JsonObject) -> bool:
    return item.get("type", "message") == "message" and "role" in item


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield a conversation for each session that the records name, in the order of their start."""
    sessions: dict[str, ConversationBuilder] = {}
    file_id = reading.source.session_id
    for record in reading.objects():
        value = record.value
        items = _items(value)
        if items is None:
            number = record.list_number or 1
            session = file_id if number == 1 else f"{file_id}:{number}"
            items = [value]
        else:
            conversation_id = identifier(mapping(value.get("conversation")).get("id"))
            own_id = conversation_id or first_identifier(value, *_SESSION_KEYS)
            session = reading.name_session(own_id, record.ordinal)
            items = _order_items(value, items)
        builder = sessions.setdefault(session, reading.conversation())
        time = value.get("created_at", value.get("timestamp"))
        for item in items:
            role, kind = role_of(string(item.get("role"))), string(item.get("type"))
            if not _is_message(item):
                reason = "tool call" if "call" in kind else "not a message"
                reading.skip("thinking" if kind == "reasoning" else reason, record.line)
                continue
            content = item.get("content")
            blocks = (block for block in objects(content) if block.get("type") == "input_file")
            files = (format_file(block.get("filename")) for block in blocks)
            own_time = item.get("created_at", item.get("timestamp"))
            builder.add(
                role,
                join_texts(content_text(content), *files),
                external_id=identifier(item.get("id")),
                stamp=reading.stamp(time if own_time is None else own_time),
                line=record.line,
            )
    for session, builder in sessions.items():
        yield from builder.build(session)


def _order_items(record: JsonObject, items: list[JsonObject]) -> list[JsonObject]:
    """Return the items in the order of the conversation: a page may list the newest first."""
    if None in (record.get("first_id"), record.get("last_id")):
        return items
    times = [item.get("created_at") for item in items]
    numbers = [time for time in times if isinstance(time, int | float)]
    if len(numbers) == len(times):
        return items[::-1] if numbers != sorted(numbers) else items
    # Without times, a page that begins with an answer and ends in a question is reversed.
    roles = [role_of(string(item.get("role"))) for item in items if _is_message(item)]
    is_backward = (roles[0], roles[-1]) == ("assistant", "user")
    return items[::-1] if is_backward else items


READER = Reader(name="openai_responses", sniff=sniff, read=read)
