"""iMessage chats as imessage-exporter writes them as text: a time, a name, the words below."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePosixPath

from memsense.ingest.content import named_file
from memsense.ingest.head import Head
from memsense.ingest.reader import Reader
from memsense.ingest.reading import EMPTY, ConversationBuilder, Reading
from memsense.ingest.timestamps import NO_TIME, Stamp, localise
from memsense.types import Conversation

_OWNER = "Me"
_HEAD = re.compile(
    r"([A-Z][a-z]{2}) (\d{2}), (\d{4}) {1,2}(\d{1,2}):(\d{2}):(\d{2}) ([AP])M(?P<rest> .*)?"
)
_READ = re.compile(r" \(Read by [^()]{1,120}\)")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_REACTIONS = ("Tapbacks:", "Reactions:")
_REACTION = re.compile(r"\s*\S.{0,60} (?:by|from) \S.{0,120}")
_NOTICE = re.compile(
    r"This message responded to an earlier message\.|Sent with [A-Z].{1,40}"
    r"|This message was deleted from the conversation!"
)
_PATH = re.compile(r"(?:/|~/|attachments/)[^\n]{1,400}/[^/\n]{1,200}\.\w{1,5}")
_QUOTED = "    "
_NOON = 12


@dataclass(slots=True)
class _Entry:
    """A message as far as it was read."""

    stamp: Stamp
    line: int
    speaker: str = ""
    texts: list[str] = field(default_factory=list[str])
    reactions: bool = False


def _sniff(head: Head) -> str | None:
    lines = head.lines
    if head.is_json or len(lines) < 2 or not _is_head(lines[0]):  # noqa: PLR2004
        return None
    heads = [number for number, line in enumerate(lines[:-1]) if _is_head(line)]
    named = all(not _is_head(lines[number + 1]) for number in heads)
    return "lines of a time as imessage-exporter writes it, each above a name" if named else None


def _is_head(line: str) -> bool:
    match = _HEAD.fullmatch(line.rstrip("\r\n"))
    return match is not None and (
        match["rest"] is None or _READ.fullmatch(match["rest"]) is not None
    )


def _read(reading: Reading) -> Iterator[Conversation]:
    builder = reading.conversation()
    entry: _Entry | None = None
    for number, raw in enumerate(reading.lines(), 1):
        line = raw.rstrip("\r\n").lstrip("\ufeff")
        if match := _HEAD.fullmatch(line):
            _close(builder, entry)
            entry = _begin(reading, match, number)
        elif entry is not None:
            _take(entry, line)
    _close(builder, entry)
    speakers = builder.speakers()
    first = tuple(name for name in speakers if name == _OWNER)
    yield from builder.build_parts(
        reading.source.session_id,
        reading.options.session_gap,
        participants=tuple(dict.fromkeys((*first, *speakers))),
    )


def _begin(reading: Reading, match: re.Match[str], number: int) -> _Entry | None:
    """The message that a time begins; None for a notice, which stands on the time's own line."""
    reading.report.records += 1
    if match["rest"] and not _READ.fullmatch(match["rest"]):
        reading.skip("notice of the program", number)
        return None
    return _Entry(_stamp(reading, match), number)


def _stamp(reading: Reading, match: re.Match[str]) -> Stamp:
    month, day, year, hour, minute, second, half = match.groups()[:7]
    try:
        naive = datetime(  # noqa: DTZ001 (localised below)
            int(year),
            _MONTHS.index(month) + 1,
            int(day),
            int(hour) % _NOON + (_NOON if half == "P" else 0),
            int(minute),
            int(second),
        )
    except ValueError:
        reading.report.unusable_times += 1
        return NO_TIME
    return localise(naive, reading.options.timezone)


def _take(entry: _Entry, line: str) -> None:
    """A line below a time: the name first, then words, files, reactions and quoted replies."""
    if not entry.speaker:
        entry.speaker = line.strip()
    elif line in _REACTIONS:
        entry.reactions = True
    elif entry.reactions and (not line.strip() or _REACTION.fullmatch(line)):
        pass
    elif line.startswith(_QUOTED) or _NOTICE.fullmatch(line):
        entry.reactions = False
    else:
        entry.reactions = False
        is_path = _PATH.fullmatch(line)
        entry.texts.append(named_file(PurePosixPath(line).name) if is_path else line)


def _close(builder: ConversationBuilder, entry: _Entry | None) -> None:
    if entry is None:
        return
    text = "\n".join(entry.texts).strip()
    if not entry.speaker or not text:
        builder.reading.skip(EMPTY, entry.line)
        return
    builder.add("other", text, speaker=entry.speaker, stamp=entry.stamp, line=entry.line)


READER = Reader(name="imessage", sniff=_sniff, read=_read)
