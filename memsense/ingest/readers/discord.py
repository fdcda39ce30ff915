"""Reader of Discord's channels as DiscordChatExporter writes them: guild, channel and messages."""

from collections.abc import Iterator

from memsense.ingest.content import format_file, join_texts
from memsense.ingest.head import Head
from memsense.ingest.reader import Reader
from memsense.ingest.reading import Reading
from memsense.ingest.values import (
    first_identifier,
    identifier,
    mapping,
    objects,
    string,
)
from memsense.types import Conversation

# Types of people's messages, by name or number: default ones and replies.
_MESSAGE_TYPES = frozenset({"Default", "Reply", "0", "19"})


def sniff(head: Head) -> str | None:
    """Return what shows that a log is a Discord channel."""
    for record in head.objects:
        messages = objects(record.get("messages"))
        has_author = any("author" in one and "timestamp" in one for one in messages)
        if has_author and isinstance(record.get("channel"), dict):
            return "a channel with messages of author and timestamp"
    return None


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield the sessions of each channel, cut at silences."""
    for record in reading.objects():
        channel = mapping(record.value.get("channel"))
        builder = reading.conversation()
        for message in objects(record.value.get("messages")):
            author = mapping(message.get("author"))
            if string(message.get("type")) not in _MESSAGE_TYPES:
                reading.skip("notice of the program", record.line)
                continue
            if author.get("isBot") is True and not reading.options.bots:
                reading.skip("bot message", record.line)
                continue
            attachments = objects(message.get("attachments"))
            files = (format_file(file.get("fileName")) for file in attachments)
            builder.add(
                "other",
                join_texts(string(message.get("content")), *files),
                external_id=identifier(message.get("id")),
                speaker=first_identifier(author, "nickname", "name", "id"),
                stamp=reading.stamp(message.get("timestamp")),
                line=record.line,
            )
        session = reading.name_session(identifier(channel.get("id")), record.ordinal)
        title = string(channel.get("name"))
        yield from builder.build_parts(session, reading.options.session_gap, title=title)


READER = Reader(name="discord", sniff=sniff, read=read)
