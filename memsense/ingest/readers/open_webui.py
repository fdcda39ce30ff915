"""Open WebUI and LibreChat exports: chats as trees of messages, of which one branch is shown."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from memsense.ingest.branches import find_latest_leaf, other_branches, path_to_root
from memsense.ingest.content import joined_text, named_file
from memsense.ingest.head import Head
from memsense.ingest.reader import Reader
from memsense.ingest.reading import ConversationBuilder, ObjectRecord, Reading
from memsense.ingest.roles import role_of
from memsense.ingest.timestamps import parse_timestamp
from memsense.ingest.values import (
    JsonObject,
    first_identifier,
    identifier,
    mapping,
    objects,
    reach,
    string,
)
from memsense.types import Conversation, JsonValue, Role

_TIMES = ("timestamp", "createdAt", "created_at")


@dataclass(frozen=True, slots=True)
class _Chat:
    """A chat of either program: its messages by id, the shown one, and what it is called."""

    session: str | None
    title: str
    started: JsonValue
    messages: Mapping[str, JsonObject]
    parent_key: str
    current: str | None


def _sniff(head: Head) -> str | None:
    if head.find(lambda record: _history(record) is not None):
        return "chats with history.messages and currentId"
    if head.find(_is_librechat):
        return "a conversation of messages with messageId and isCreatedByUser"
    return None


def _history(record: JsonObject) -> JsonObject | None:
    for history in (reach(record, "chat", "history"), record.get("history")):
        told = mapping(mapping(history).get("messages")).values()
        if any("parentId" in mapping(one) and "role" in mapping(one) for one in told):
            return mapping(history)
    return None


def _is_librechat(record: JsonObject) -> bool:
    told = objects(record.get("messages"))
    return any({"messageId", "isCreatedByUser"} <= one.keys() for one in told)


def _read(reading: Reading) -> Iterator[Conversation]:
    for record in reading.objects():
        if (history := _history(record.value)) is not None:
            yield from _read_chat(reading, _of_open_webui(record.value, history), record)
        elif _is_librechat(record.value):
            yield from _read_chat(reading, _of_librechat(record.value), record)
        else:
            reading.skip("not a conversation", record.line)


def _of_open_webui(record: JsonObject, history: JsonObject) -> _Chat:
    chat = mapping(record.get("chat")) or record
    told = mapping(history.get("messages"))
    return _Chat(
        session=first_identifier(record, "id") or first_identifier(chat, "id"),
        title=string(chat.get("title")) or string(record.get("title")),
        started=record.get("created_at", chat.get("timestamp")),
        messages={known: mapping(one) for known, one in told.items()},
        parent_key="parentId",
        current=identifier(history.get("currentId")),
    )


def _of_librechat(record: JsonObject) -> _Chat:
    return _Chat(
        session=identifier(record.get("conversationId")),
        title=string(record.get("title")),
        started=None,
        messages=_flatten(objects(record.get("messages"))),
        parent_key="parentMessageId",
        current=None,
    )


def _flatten(told: Sequence[JsonObject]) -> dict[str, JsonObject]:
    """The messages by id, also where an export nests answers in what they answer."""
    found: dict[str, JsonObject] = {}
    pending = list(reversed(told))
    while pending:
        one = pending.pop()
        if known := identifier(one.get("messageId")):
            found[known] = one
        pending.extend(reversed(objects(one.get("children"))))
    return found


def _read_chat(reading: Reading, chat: _Chat, record: ObjectRecord) -> Iterator[Conversation]:
    parents = {key: identifier(one.get(chat.parent_key)) for key, one in chat.messages.items()}
    leaf = chat.current if chat.current in chat.messages else None
    if leaf is None:
        times = {key: _seconds(one) for key, one in chat.messages.items()}
        leaf = find_latest_leaf(parents, times)
    main = path_to_root(leaf or "", parents)
    session = chat.session or f"{reading.source.session_id}:{record.ordinal}"
    yield from _build(reading, chat, session, main, record.line)
    asked = (key for key, one in chat.messages.items() if _role(one) == "user")
    for end, path in other_branches(main, parents, asked):
        if reading.options.all_branches:
            yield from _build(reading, chat, f"{session}/{end}", path, record.line)
        else:
            left = sum(key not in main for key in path)
            reading.skip("abandoned branch", record.line, left)


def _seconds(message: JsonObject) -> float:
    at = parse_timestamp(_time(message)).at
    return at.timestamp() if at else 0.0


def _time(message: JsonObject) -> JsonValue:
    return next((message[key] for key in _TIMES if message.get(key) is not None), None)


def _role(message: JsonObject) -> Role | None:
    if isinstance(message.get("isCreatedByUser"), bool):
        return "user" if message["isCreatedByUser"] else "assistant"
    return role_of(string(message.get("role")))


def _build(
    reading: Reading, chat: _Chat, session: str, path: Sequence[str], line: int
) -> Iterator[Conversation]:
    builder = reading.conversation()
    for key in path:
        _add_message(builder, key, chat.messages[key], line)
    started = reading.stamp(chat.started).at
    yield from builder.build(session, title=chat.title, started_at=started)


def _add_message(builder: ConversationBuilder, key: str, message: JsonObject, line: int) -> None:
    role = _role(message)
    if role not in ("user", "assistant"):
        builder.reading.skip(f"{role or 'unknown'} message", line)
        return
    text = joined_text(message.get("content")) or string(message.get("text"))
    files = (
        named_file(first_identifier(file, "name", "filename"))
        for file in objects(message.get("files"))
    )
    builder.add(
        role,
        "\n\n".join(part for part in (text, *files) if part),
        external_id=key,
        stamp=builder.reading.stamp(_time(message)),
        line=line,
    )


READER = Reader(name="open_webui", sniff=_sniff, read=_read)
