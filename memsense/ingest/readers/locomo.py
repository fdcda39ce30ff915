"""Reader of LoCoMo: pairs of people who talk over months, without its questions and summaries."""

import re
from collections.abc import Iterator

from memsense.ingest.head import Head
from memsense.ingest.reading import Reader, Reading
from memsense.ingest.values import JsonObject, identifier, mapping, objects, string
from memsense.types import Conversation

_SESSION = re.compile(r"session_(\d{1,9})")


def sniff(head: Head) -> str | None:
    """Return what shows that a log is LoCoMo."""
    if head.find(_is_sample):
        return "samples with conversation.speaker_a and sessions"
    return None


def _is_sample(record: JsonObject) -> bool:
    return "speaker_a" in mapping(record.get("conversation"))


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield a conversation for each session; the sample is the user, whose memory it is."""
    for record in reading.objects():
        if not _is_sample(record.value):
            reading.skip("not a sample", record.line)
            continue
        # The questions, observations and summaries next to it would give the answers away.
        conversation = mapping(record.value.get("conversation"))
        own_id = identifier(record.value.get("sample_id"))
        user_id = reading.clean(reading.name_session(own_id, record.ordinal))
        names = [string(conversation.get(key)) for key in ("speaker_a", "speaker_b")]
        # Sorted as numbers; a date may have no session (35 dates, 19 sessions in one sample).
        keys = {int(match[1]): key for key in conversation if (match := _SESSION.fullmatch(key))}
        for number in sorted(keys):
            stamp = reading.stamp(conversation.get(f"session_{number}_date_time"))
            builder = reading.conversation()
            for turn in objects(conversation[keys[number]]):
                # The words about a picture are in its caption: 1,226 of 5,882 turns have one.
                text, caption = string(turn.get("text")), string(turn.get("blip_caption"))
                builder.add(
                    "other",
                    f"{text} [image: {caption}]".lstrip() if caption else text,
                    external_id=identifier(turn.get("dia_id")),
                    speaker=identifier(turn.get("speaker")),
                    stamp=stamp,
                    line=record.line,
                )
            yield from builder.build(
                f"D{number}",
                participants=[name for name in names if name],
                metadata={"user_id": user_id},
            )


READER = Reader(name="locomo", sniff=sniff, read=read)
