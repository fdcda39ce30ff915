"""Messenger and Instagram downloads: `message_1.json` of a thread, the newest message first."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from memsense.ingest.content import named_file
from memsense.ingest.head import Head
from memsense.ingest.reader import Reader
from memsense.ingest.reading import ConversationBuilder, Reading
from memsense.ingest.values import JsonObject, identifier, objects, string
from memsense.types import Conversation

_MEDIA = ("photos", "videos", "audio_files", "files", "gifs")
_NOTICE = re.compile(
    r"(?i:(?:\S{1,40} ){0,4}(?:sent an attachment|reacted .{1,12} to your message)\.?\s*)"
)


def _sniff(head: Head) -> str | None:
    if head.find(_is_thread):
        return "a thread of messages with sender_name and timestamp_ms"
    return None


def _is_thread(record: JsonObject) -> bool:
    told = objects(record.get("messages"))
    return any({"sender_name", "timestamp_ms"} <= one.keys() for one in told)


def _read(reading: Reading) -> Iterator[Conversation]:
    for record in reading.objects():
        told = objects(record.value.get("messages"))
        builder = reading.conversation()
        for message in sorted(told, key=_time):
            _add_message(builder, message, record.line)
        path = identifier(record.value.get("thread_path"))
        session = path or f"{reading.source.session_id}:{record.ordinal}"
        names = [_text(one.get("name")) for one in objects(record.value.get("participants"))]
        yield from builder.build_parts(
            session,
            reading.options.session_gap,
            title=_text(record.value.get("title")),
            participants=[name for name in names if name in builder.speakers()],
        )


def _time(message: JsonObject) -> float:
    time = message.get("timestamp_ms")
    return time if isinstance(time, int | float) else 0.0


def _text(value: object) -> str:
    """The text; the download writes each byte of its UTF-8 as a character of its own."""
    text = value if isinstance(value, str) else ""
    try:
        return text.encode("latin-1").decode()
    except UnicodeError:
        return text


def _add_message(builder: ConversationBuilder, message: JsonObject, line: int) -> None:
    name, text = _text(message.get("sender_name")), _text(message.get("content"))
    if message.get("is_unsent") is True:
        builder.reading.skip("deleted message", line)
        return
    if _NOTICE.fullmatch(text) or string(message.get("type")) in ("Call", "Subscribe"):
        builder.reading.skip("notice of the program", line)
        return
    uris = (string(item.get("uri")) for kind in _MEDIA for item in objects(message.get(kind)))
    files = [named_file(PurePosixPath(uri).name) for uri in uris if uri]
    if not text and files:
        builder.reading.skip("media without words", line)
        return
    builder.add(
        "other",
        "\n\n".join(part for part in (text, *files) if part),
        external_id=f"{message.get('timestamp_ms')}:{name}",
        speaker=name,
        stamp=builder.reading.stamp(message.get("timestamp_ms")),
        line=line,
    )


READER = Reader(name="messenger", sniff=_sniff, read=_read)
