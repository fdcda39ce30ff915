"""LoCoMo: ten pairs of people talking over months; the questions and summaries stay unread."""

import re
from collections.abc import Iterator

from memsense.ingest.head import Head
from memsense.ingest.reader import Reader
from memsense.ingest.reading import ConversationBuilder, ObjectRecord, Reading
from memsense.ingest.timestamps import Stamp
from memsense.ingest.values import JsonObject, identifier, mapping, objects, string
from memsense.types import Conversation

_SESSION = re.compile(r"session_(\d{1,9})")


def _sniff(head: Head) -> str | None:
    if head.find(_is_sample):
        return "samples with conversation.speaker_a and sessions"
    return None


def _is_sample(record: JsonObject) -> bool:
    return "speaker_a" in mapping(record.get("conversation"))


def _read(reading: Reading) -> Iterator[Conversation]:
    for record in reading.objects():
        if _is_sample(record.value):
            yield from _read_sample(reading, record)
        else:
            reading.skip("not a sample", record.line)


def _read_sample(reading: Reading, record: ObjectRecord) -> Iterator[Conversation]:
    """One conversation a session; the sample is the user, whose memory it is."""
    talk = mapping(record.value.get("conversation"))
    known = identifier(record.value.get("sample_id"))
    user_id = reading.clean(known or f"{reading.source.session_id}:{record.ordinal}")
    names = [string(talk.get("speaker_a")), string(talk.get("speaker_b"))]
    keys = {int(match[1]): key for key in talk if (match := _SESSION.fullmatch(key))}
    for number in sorted(keys):
        stamp = reading.stamp(talk.get(f"session_{number}_date_time"))
        builder = reading.conversation()
        for turn in objects(talk[keys[number]]):
            _add_turn(builder, turn, stamp, record.line)
        yield from builder.build(
            f"D{number}",
            participants=[name for name in names if name],
            metadata={"user_id": user_id},
        )


def _add_turn(builder: ConversationBuilder, turn: JsonObject, stamp: Stamp, line: int) -> None:
    text, caption = string(turn.get("text")), string(turn.get("blip_caption"))
    if caption:
        text = f"{text} [image: {caption}]".lstrip()
    builder.add(
        "other",
        text,
        external_id=identifier(turn.get("dia_id")),
        speaker=identifier(turn.get("speaker")),
        stamp=stamp,
        line=line,
    )


READER = Reader(name="locomo", sniff=_sniff, read=_read)
