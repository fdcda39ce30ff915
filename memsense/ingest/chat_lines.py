"""Reads line-oriented chat exports (WhatsApp, Signal): a dated head, a name, a text."""

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from memsense.ingest.chat_notices import NOTICE, Left, People, clean_entry, find_people
from memsense.ingest.options import DateOrder
from memsense.ingest.reading import ConversationBuilder, Reading
from memsense.ingest.timestamps import NO_TIME, Stamp, localise
from memsense.types import Conversation

_MONTHS_IN_YEAR = 12
_CENTURY = 100
_ENOUGH_HEADS = 3
_AROUND_NAMES = " ~\u202f\u00a0\u200e\u200f\u202a\u202c"
_MARKS = "\u200e\u200f\u202a-\u202e\ufeff"
_HALF = r"[apAP]\.?\s?[mM]\.?|上午|下午|午前|午後|오전|오후"
_DASH = r"\s+[-\u2013]\s+"
_HEAD = re.compile(
    rf"""
    [{_MARKS}]* (?P<bracket>\[)?
    (?P<first>\d{{1,4}}) (?P<separator>[-/.]) \s? (?P<second>\d{{1,2}}) (?P=separator) \s?
    (?P<third>\d{{1,4}}) (?: [,.]\s* | \s+ )
    (?: (?P<before>{_HALF}) \s* )? (?P<hour>\d{{1,2}}) [:.] (?P<minute>\d{{2}})
    (?: [:.] (?P<seconds>\d{{2}}) )?
    (?: \s* (?P<after>{_HALF}) (?: \]\s? | {_DASH} ) | \s*\]\s? | {_DASH} )
    (?P<rest>.*)
    """,
    re.VERBOSE | re.DOTALL,
)
_NAMED = re.compile(rf"[{_MARKS}]*(?P<name>[^:\n\"“”«»]{{1,60}}):\s?(?P<text>.*)", re.DOTALL)
# What programs write before the text of their own logs: a level, or a module's name.
_IS_OF_PROGRAM = re.compile(
    r"(?i:(?:trace|debug|info|notice|warn|warning|error|err|crit|critical|fatal|severe|log)\b.*)"
    r"|[a-z0-9]+(?:[._/-][A-Za-z0-9]+)+|\[.*"
).fullmatch
_AFTERNOON = ("p", "P", "下午", "午後", "오후")


@dataclass(frozen=True, slots=True)
class ChatHead:
    """The beginning of one entry: its date fields as written, its time, and what follows."""

    fields: tuple[int, int, int]
    year_first: bool
    hour: int
    minute: int
    seconds: int
    has_seconds: bool
    bracketed: bool
    dashed: bool
    rest: str

    @property
    def is_named(self) -> bool:
        """Whether a name follows, rather than a notice of the program."""
        return _NAMED.match(self.rest) is not None


def parse_head(line: str) -> ChatHead | None:
    """The head at the start of a line, None where the line continues the entry above."""
    match = _HEAD.fullmatch(line.rstrip("\r\n"))
    if match is None:
        return None
    half = match["before"] or match["after"]
    hour = int(match["hour"])
    if half:
        hour = hour % 12 + (12 if half.startswith(_AFTERNOON) else 0)
    return ChatHead(
        fields=(int(match["first"]), int(match["second"]), int(match["third"])),
        year_first=len(match["first"]) > 2,  # noqa: PLR2004
        hour=hour,
        minute=int(match["minute"]),
        seconds=int(match["seconds"] or 0),
        has_seconds=match["seconds"] is not None,
        bracketed=match["bracket"] is not None,
        dashed=match["separator"] == "-",
        rest=match["rest"],
    )


def find_heads(lines: Sequence[str]) -> list[ChatHead]:
    """The heads among a log's first lines, none where they are too few for a chat."""
    heads = [found for line in lines if (found := parse_head(line))]
    enough = len(heads) >= _ENOUGH_HEADS or 2 * len(heads) >= len(lines)
    names = [match["name"].strip() for head in heads if (match := _NAMED.match(head.rest))]
    return heads if enough and names and not all(map(_IS_OF_PROGRAM, names)) else []


def read_chat(reading: Reading) -> Iterator[Conversation]:
    """The chat's sessions: cut at silences, roles `other`, participants of the whole file.

    Of two people the one who exported the chat comes first, where the chat shows who it was.
    """
    entries = deque(_collect(reading))
    order = reading.options.date_order or _guess_order(reading, [head for head, *_ in entries])
    people = find_people(reading.source.label, ((_name(h), _said(t)) for h, t, _ in entries))
    builder = reading.conversation()
    while entries:  # each is let go as its message is made
        head, text, line = entries.popleft()
        _add_entry(builder, people, _Entry(head, text, _stamp(reading, head, order), line))
    speakers = builder.speakers()
    first = tuple(name for name in speakers if name == people.owner)
    yield from builder.build_parts(
        reading.source.session_id,
        reading.options.session_gap,
        participants=tuple(dict.fromkeys((*first, *speakers))),
    )


def _name(head: ChatHead) -> str:
    match = _NAMED.match(head.rest)
    return match["name"].strip(_AROUND_NAMES) if match else ""


def _said(text: str) -> str:
    match = _NAMED.match(text)
    return match["text"] if match else text


@dataclass(frozen=True, slots=True)
class _Entry:
    """One entry of the chat: its head, all its text, its time and its line."""

    head: ChatHead
    text: str
    stamp: Stamp
    line: int


def _collect(reading: Reading) -> Iterator[tuple[ChatHead, str, int]]:
    """Each head with its whole text (continuation lines joined) and line."""
    head, texts, start = None, [""], 1
    for number, line in enumerate(reading.lines(), 1):
        found = parse_head(line)
        if found is None:
            texts.append(line.rstrip("\r\n"))
            continue
        if head is not None:
            yield head, "\n".join(texts), start
        elif "".join(texts).strip():
            reading.skip("text before the first message", 1)
        head, texts, start = found, [found.rest], number
        reading.report.records += 1
    if head is not None:
        yield head, "\n".join(texts), start


def _add_entry(builder: ConversationBuilder, people: People, entry: _Entry) -> None:
    name = _name(entry.head)
    if not name or name == people.group:
        builder.reading.skip(NOTICE, entry.line)
        return
    words = clean_entry(_said(entry.text), is_marked=entry.head.bracketed)
    if isinstance(words, Left):
        builder.reading.skip(words.reason, entry.line)
        return
    builder.add("other", words, speaker=name, stamp=entry.stamp, line=entry.line)


def _guess_order(reading: Reading, heads: Sequence[ChatHead]) -> DateOrder:
    """Day or month first: by a field above 12, else by dates that don't go backwards."""
    if any(head.year_first for head in heads):
        return "ymd"
    if any(head.fields[0] > _MONTHS_IN_YEAR for head in heads):
        return "dmy"
    if any(head.fields[1] > _MONTHS_IN_YEAR for head in heads):
        return "mdy"
    backward = {order: _count_backward(heads, order) for order in ("dmy", "mdy")}
    if backward["mdy"] < backward["dmy"]:
        return "mdy"
    if backward["mdy"] == backward["dmy"] and heads:
        warning = "day or month first is open; read as day first (choose with --date-order)"
        reading.report.warnings.append(f"{reading.source.label}: {warning}")
    return "dmy"


def _count_backward(heads: Sequence[ChatHead], order: DateOrder) -> int:
    dates = [_date(head, order) for head in heads]
    return sum(later < earlier for earlier, later in pairwise(dates))


def _date(head: ChatHead, order: DateOrder) -> tuple[int, int, int]:
    """(year, month, day); two-digit years are of this century."""
    first, second, third = head.fields
    if head.year_first or order == "ymd":
        year, month, day = first, second, third
    elif order == "mdy":
        year, month, day = third, first, second
    else:
        year, month, day = third, second, first
    return (2000 + year if year < _CENTURY else year, month, day)


def _stamp(reading: Reading, head: ChatHead, order: DateOrder) -> Stamp:
    year, month, day = _date(head, order)
    try:
        naive = datetime(year, month, day, head.hour, head.minute, head.seconds)  # noqa: DTZ001
    except ValueError:
        stamp = NO_TIME
    else:
        stamp = localise(naive, reading.options.timezone)
    reading.report.unusable_times += stamp.at is None
    return stamp
