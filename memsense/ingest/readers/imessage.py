"""Reader of iMessage chats that imessage-exporter wrote as text: time, name, words below."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePosixPath

from memsense.ingest.content import format_file
from memsense.ingest.head import Head
from memsense.ingest.reading import EMPTY, ConversationBuilder, Reader, Reading
from memsense.ingest.timestamps import NO_TIME, Stamp, localise
from memsense.types import Conversation

_OWNER = "Me"
_HEAD = re.compile(
    r"([A-Z][a-z]{2}) (\d{2}), (\d{4}) {1,2}(\d{1,2}):(\d{2}):(\d{2}) ([AP])M(?P<rest> .*)?"
)
_READ_BY = re.compile(r" \(Read by [^()]{1,120}\)")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_REACTIONS = ("Tapbacks:", "Reactions:")
_REACTION = re.compile(r"\s*\S.{0,60} (?:by|from) \S.{0,120}")
_NOTICE = re.compile(
    r"This message responded to an earlier message\.|Sent with [A-Z].{1,40}"
    r"|This message was deleted from the conversation!"
)
# Attachments are paths on a line of their own.
_PATH = re.compile(r"(?:/|~/|attachments/)[^\n]{1,400}/[^/\n]{1,200}\.\w{1,5}")
# A reply repeats the message that it answers, indented; the log has that message, too.
_QUOTED = "    "
_NOON = 12


@dataclass(slots=True)
class _Entry:
    """A message as far as it was read."""

    stamp: Stamp
    line: int
    speaker: str = ""
    texts: list[str] = field(default_factory=list[str])
    in_reactions: bool = False


def sniff(head: Head) -> str | None:
    """Return what shows that a log is an iMessage chat."""
    lines = head.lines
    if head.is_json or len(lines) < 2 or not _is_head(lines[0]):  # noqa: PLR2004
        return None
    # Times alone, as in many programs' logs, are no chat: a name follows each.
    heads = [number for number, line in enumerate(lines[:-1]) if _is_head(line)]
    if any(_is_head(lines[number + 1]) for number in heads):
        return None
    return "lines of a time as imessage-exporter writes it, each above a name"


def _is_head(line: str) -> bool:
    match = _HEAD.fullmatch(line.rstrip("\r\n"))
    return match is not None and (
        match["rest"] is None or _READ_BY.fullmatch(match["rest"]) is not None
    )


def read(reading: Reading) -> Iterator[Conversation]:
    """Yield the chat's sessions, cut at silences; `Me`, who exported it, comes first."""
    builder = reading.conversation()
    entry: _Entry | None = None
    for number, raw in enumerate(reading.lines(), 1):
        line = raw.rstrip("\r\n").lstrip("\ufeff")
        if match := _HEAD.fullmatch(line):
            _add_entry(builder, entry)
            reading.report.records += 1
            if match["rest"] and not _READ_BY.fullmatch(match["rest"]):
                # A notice is on the same line as its time.
                reading.skip("notice of the program", number)
                entry = None
                continue
            month, day, year, hour, minute, second, half = match.groups()[:7]
            hour_of_day = int(hour) % _NOON + (_NOON if half == "P" else 0)
            stamp = NO_TIME
            try:
                month_number = _MONTHS.index(month) + 1
                date = datetime(int(year), month_number, int(day))  # noqa: DTZ001 (localised below)
                at = date.replace(hour=hour_of_day, minute=int(minute), second=int(second))
                stamp = localise(at, reading.options.timezone)
            except ValueError:
                reading.report.unusable_times += 1
            entry = _Entry(stamp, number)
        elif entry is None:
            continue
        # Below a time: the name first, then words, files, reactions and quoted replies.
        elif not entry.speaker:
            entry.speaker = line.strip()
        elif line in _REACTIONS:
            entry.in_reactions = True
        elif not entry.in_reactions or (line.strip() and not _REACTION.fullmatch(line)):
            entry.in_reactions = False
            if not (line.startswith(_QUOTED) or _NOTICE.fullmatch(line)):
                is_path = _PATH.fullmatch(line)
                entry.texts.append(format_file(PurePosixPath(line).name) if is_path else line)
    _add_entry(builder, entry)
    speakers = builder.speakers()
    first = tuple(name for name in speakers if name == _OWNER)
    yield from builder.build_parts(
        reading.source.session_id,
        reading.options.session_gap,
        participants=tuple(dict.fromkeys((*first, *speakers))),
    )


def _add_entry(builder: ConversationBuilder, entry: _Entry | None) -> None:
    if entry is None:
        return
    text = "\n".join(entry.texts).strip()
    if not entry.speaker or not text:
        builder.reading.skip(EMPTY, entry.line)
        return
    builder.add("other", text, speaker=entry.speaker, stamp=entry.stamp, line=entry.line)


READER = Reader(name="imessage", sniff=sniff, read=read)
