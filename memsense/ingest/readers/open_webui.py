"""Reader of Open WebUI and LibreChat: chats as trees of messages, in which one branch is shown."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from memsense.ingest.branches import find_latest_leaf, find_other_branches, path_to_root
from memsense.ingest.content import content_text, format_file, join_texts, role_of
from memsense.ingest.head import Head
from memsense.ingest.reading import Reader, Reading
from memsense.ingest.timestamps import epoch_seconds
from memsense.ingest.values import (
    JsonObject,
    first_identifier,
    first_value,
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
    """A chat of either program: its names, its messages by id, and the one that is shown."""

    session: str | None
    title: str
    started: JsonValue
    messages: Mapping[str, JsonObject]
    parent_key: str
    current: str | None


def sniff(head: Head) -> str | None:
    """Return what shows that a log is of one of the programs."""
    if head.find(lambda record: _history(record) is not None):
        return "chats with history.messages and currentId"
    if head.find(_is_librechat):
        return "a conversation of messages with messageId and isCreatedByUser"
    return None


def _history(record: JsonObject) -> JsonObject | None:
    for history in (reach(record, "chat", "history"), record.get("history")):
        messages = mapping(mapping(history).get("messages")).values()
        if any("parentId" in mapping(one) and "role" in mapping(one) for one in messages):
            return mapping(history)
    return None


def _is_librechat(record: JsonObject) -> bool:
    messages = objects(record.get("messages"))
    return any({"messageId", "isCreatedByUser"} <= one.keys() for one in messages)


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield the shown branch of each chat; with `all_branches` the others too."""
    for record in reading.objects():
        value = record.value
        history = _history(value)
        if history is not None:
            about = mapping(value.get("chat")) or value
            messages = mapping(history.get("messages"))
            chat = _Chat(
                session=first_identifier(value, "id") or first_identifier(about, "id"),
                title=string(about.get("title")) or string(value.get("title")),
                started=value.get("created_at", about.get("timestamp")),
                messages={key: mapping(one) for key, one in messages.items()},
                parent_key="parentId",
                current=identifier(history.get("currentId")),
            )
        elif _is_librechat(value):
            chat = _Chat(
                session=identifier(value.get("conversationId")),
                title=string(value.get("title")),
                started=None,
                messages=_flatten(objects(value.get("messages"))),
                parent_key="parentMessageId",
                current=None,
            )
        else:
            reading.skip("not a conversation", record.line)
            continue
        parents = {key: identifier(m.get(chat.parent_key)) for key, m in chat.messages.items()}
        leaf = chat.current if chat.current in chat.messages else None
        if leaf is None:
            times = {k: epoch_seconds(first_value(m, _TIMES)) for k, m in chat.messages.items()}
            leaf = find_latest_leaf(parents, times)
        main = path_to_root(leaf or "", parents)
        session = reading.name_session(chat.session, record.ordinal)
        yield from _build(reading, chat, session, main, record.line)
        questions = (key for key, message in chat.messages.items() if _role(message) == "user")
        for end, path in find_other_branches(main, parents, questions):
            if reading.options.all_branches:
                yield from _build(reading, chat, f"{session}/{end}", path, record.line)
            else:
                count = sum(key not in main for key in path)
                reading.skip("abandoned branch", record.line, count)


def _flatten(messages: Sequence[JsonObject]) -> dict[str, JsonObject]:
    """Return the messages by id, also where an export nests answers in what they answer."""
    by_id: dict[str, JsonObject] = {}
    # A stack, not recursion: a chat may be deeper than Python's stack.
    pending = list(reversed(messages))
    while pending:
        message = pending.pop()
        if message_id := identifier(message.get("messageId")):
            by_id[message_id] = message
        pending.extend(reversed(objects(message.get("children"))))
    return by_id


def _role(message: JsonObject) -> Role | None:
    if isinstance(message.get("isCreatedByUser"), bool):
        return "user" if message["isCreatedByUser"] else "assistant"
    return role_of(string(message.get("role")))


def _build(
    reading: Reading, chat: _Chat, session: str, path: Sequence[str], line: int
) -> Iterator[Conversation]:
    builder = reading.conversation()
    for key in path:
        message = chat.messages[key]
        text = content_text(message.get("content")) or string(message.get("text"))
        attachments = objects(message.get("files"))
        files = (format_file(first_identifier(one, "name", "filename")) for one in attachments)
        builder.add(
            _role(message),
            join_texts(text, *files),
            external_id=key,
            stamp=reading.stamp(first_value(message, _TIMES)),
            line=line,
        )
    started = reading.stamp(chat.started).at
    yield from builder.build(session, title=chat.title, started_at=started)


READER = Reader(name="open_webui", sniff=sniff, read=read)
