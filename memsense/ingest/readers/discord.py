"""Discord channels as DiscordChatExporter writes them: JSON of a guild, a channel and messages."""

from collections.abc import Iterator

from memsense.ingest.content import named_file
from memsense.ingest.head import Head
from memsense.ingest.reader import Reader
from memsense.ingest.reading import ConversationBuilder, Reading
from memsense.ingest.values import (
    JsonObject,
    first_identifier,
    identifier,
    mapping,
    objects,
    string,
)
from memsense.types import Conversation

_SPOKEN = frozenset({"Default", "Reply", "0", "19"})


def _sniff(head: Head) -> str | None:
    if head.find(_is_channel):
        return "a channel with messages of author and timestamp"
    return None


def _is_channel(record: JsonObject) -> bool:
    told = objects(record.get("messages"))
    is_channel = isinstance(record.get("channel"), dict)
    return is_channel and any("author" in one and "timestamp" in one for one in told)


def _read(reading: Reading) -> Iterator[Conversation]:
    for record in reading.objects():
        channel = mapping(record.value.get("channel"))
        builder = reading.conversation()
        for message in objects(record.value.get("messages")):
            _add_message(builder, message, record.line)
        session = identifier(channel.get("id")) or f"{reading.source.session_id}:{record.ordinal}"
        title = string(channel.get("name"))
        yield from builder.build_parts(session, reading.options.session_gap, title=title)


def _add_message(builder: ConversationBuilder, message: JsonObject, line: int) -> None:
    author = mapping(message.get("author"))
    if string(message.get("type")) not in _SPOKEN:
        builder.reading.skip("notice of the program", line)
        return
    if author.get("isBot") is True and not builder.reading.options.bots:
        builder.reading.skip("bot message", line)
        return
    files = (named_file(file.get("fileName")) for file in objects(message.get("attachments")))
    builder.add(
        "other",
        "\n\n".join(part for part in (string(message.get("content")), *files) if part),
        external_id=identifier(message.get("id")),
        speaker=first_identifier(author, "nickname", "name", "id"),
        stamp=builder.reading.stamp(message.get("timestamp")),
        line=line,
    )


READER = Reader(name="discord", sniff=_sniff, read=_read)
