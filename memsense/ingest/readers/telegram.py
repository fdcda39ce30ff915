"""Reader of Telegram's `result.json`: one chat, or all chats of an account."""

from collections.abc import Iterator

from memsense.ingest.head import Head
from memsense.ingest.reader import Reader
from memsense.ingest.reading import Reading
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
from memsense.types import Conversation


def sniff(head: Head) -> str | None:
    """Return what shows that a log is a Telegram export."""
    chats = (chat for record in head.objects for chat in _chats(record))
    for message in (message for chat in chats for message in objects(chat.get("messages"))):
        is_dated = "date_unixtime" in message or ("date" in message and "from_id" in message)
        if message.get("type") in ("message", "service") and is_dated:
            return "messages with from and date_unixtime"
    return None


def _chats(record: JsonObject) -> list[JsonObject]:
    return objects(reach(record, "chats", "list")) or [record]


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield the sessions of each chat, cut at silences."""
    for record in reading.objects():
        for number, chat in enumerate(_chats(record.value), record.ordinal):
            builder = reading.conversation()
            for message in objects(chat.get("messages")):
                if message.get("type") == "service":
                    reading.skip("notice of the program", record.line)
                    continue
                # A text is a string, or a list of strings and of objects that format theirs.
                text = message.get("text")
                pieces = [text] if isinstance(text, str) else sequence(text)
                builder.add(
                    "other",
                    "".join(string(one) or string(mapping(one).get("text")) for one in pieces),
                    external_id=identifier(message.get("id")),
                    speaker=first_identifier(message, "from", "from_id"),
                    # `date` is the local time without a zone.
                    stamp=reading.stamp(message.get("date_unixtime") or message.get("date")),
                    line=record.line,
                )
            session = reading.name_session(first_identifier(chat, "id", "name"), number)
            gap = reading.options.session_gap
            yield from builder.build_parts(session, gap, title=string(chat.get("name")))


READER = Reader(name="telegram", sniff=sniff, read=read)
