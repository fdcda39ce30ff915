"""Telegram `result.json`: one chat, or all chats of an account."""

from collections.abc import Iterator

from memsense.ingest.head import Head
from memsense.ingest.reader import Reader
from memsense.ingest.reading import ConversationBuilder, Reading
from memsense.ingest.values import (
    JsonObject,
    first_identifier,
    identifier,
    mapping,
    objects,
    reach,
    sequence,
    string,
)
from memsense.types import Conversation, JsonValue


def _sniff(head: Head) -> str | None:
    if head.find(lambda record: any(_is_chat(chat) for chat in _chats(record))):
        return "messages with from and date_unixtime"
    return None


def _chats(record: JsonObject) -> list[JsonObject]:
    return objects(reach(record, "chats", "list")) or [record]


def _is_chat(record: JsonObject) -> bool:
    return any(map(_is_message, objects(record.get("messages"))))


def _is_message(message: JsonObject) -> bool:
    dated = "date_unixtime" in message or ("date" in message and "from_id" in message)
    return message.get("type") in ("message", "service") and dated


def _read(reading: Reading) -> Iterator[Conversation]:
    for record in reading.objects():
        for position, chat in enumerate(_chats(record.value), record.ordinal):
            yield from _read_chat(reading, chat, position, record.line)


def _read_chat(
    reading: Reading, chat: JsonObject, position: int, line: int
) -> Iterator[Conversation]:
    builder = reading.conversation()
    for message in objects(chat.get("messages")):
        _add_message(builder, message, line)
    session = first_identifier(chat, "id", "name") or f"{reading.source.session_id}:{position}"
    gap = reading.options.session_gap
    yield from builder.build_parts(session, gap, title=string(chat.get("name")))


def _add_message(builder: ConversationBuilder, message: JsonObject, line: int) -> None:
    if message.get("type") == "service":
        builder.reading.skip("notice of the program", line)
        return
    time = message.get("date_unixtime") or message.get("date")
    builder.add(
        "other",
        "".join(map(_piece, _pieces(message.get("text")))),
        external_id=identifier(message.get("id")),
        speaker=first_identifier(message, "from", "from_id"),
        stamp=builder.reading.stamp(time),
        line=line,
    )


def _pieces(text: JsonValue) -> list[JsonValue]:
    return [text] if isinstance(text, str) else list(sequence(text))


def _piece(piece: JsonValue) -> str:
    return string(piece) or string(mapping(piece).get("text"))


READER = Reader(name="telegram", sniff=_sniff, read=_read)
