"""Reader of Messenger and Instagram downloads: `message_1.json` of a thread, newest first."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from memsense.ingest.content import format_file, join_texts
from memsense.ingest.head import Head
from memsense.ingest.reading import Reader, Reading
from memsense.ingest.values import identifier, objects, string
from memsense.types import Conversation, JsonValue

_MEDIA = ("photos", "videos", "audio_files", "files", "gifs")
_NOTICE = re.compile(
    r"(?i:(?:\S{1,40} ){0,4}(?:sent an attachment|reacted .{1,12} to your message)\.?\s*)"
)


def sniff(head: Head) -> str | None:
    """Return what shows that a log is a Messenger thread."""
    if head.has_item("messages", lambda one: {"sender_name", "timestamp_ms"} <= one.keys()):
        return "a thread of messages with sender_name and timestamp_ms"
    return None


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield the sessions of each thread, cut at silences."""
    for record in reading.objects():
        builder = reading.conversation()
        messages = objects(record.value.get("messages"))
        # The newest message comes first.
        messages.sort(
            key=lambda m: time if isinstance(time := m.get("timestamp_ms"), int | float) else 0.0
        )
        for message in messages:
            name = _mend_text(message.get("sender_name"))
            text = _mend_text(message.get("content"))
            uris = [string(one.get("uri")) for kind in _MEDIA for one in objects(message.get(kind))]
            files = [format_file(PurePosixPath(uri).name) for uri in uris if uri]
            time = message.get("timestamp_ms")
            if message.get("is_unsent") is True:
                reading.skip("deleted message", record.line)
            elif _NOTICE.fullmatch(text) or string(message.get("type")) in ("Call", "Subscribe"):
                reading.skip("notice of the program", record.line)
            elif not text and files:
                reading.skip("media without words", record.line)
            else:
                builder.add(
                    "other",
                    join_texts(text, *files),
                    # Messages have no ids.
                    external_id=f"{time}:{name}",
                    speaker=name,
                    stamp=reading.stamp(time),
                    line=record.line,
                )
        path = identifier(record.value.get("thread_path"))
        participants = objects(record.value.get("participants"))
        names = [_mend_text(one.get("name")) for one in participants]
        yield from builder.build_parts(
            reading.name_session(path, record.ordinal),
            reading.options.session_gap,
            title=_mend_text(record.value.get("title")),
            participants=[name for name in names if name in builder.speakers()],
        )


def _mend_text(value: JsonValue) -> str:
    """Return a text whose characters are right.

    The download writes each byte of its UTF-8 as a character of its own.
    """
    text = string(value)
    try:
        return text.encode("latin-1").decode()
    except UnicodeError:
        return text


READER = Reader(name="messenger", sniff=sniff, read=read)
