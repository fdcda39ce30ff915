"""Line-oriented chat exports (WhatsApp, Signal): a dated head, a name, a text."""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from memsense.ingest.chat_notices import NOTICE, NoWords, clean_entry, find_people
from memsense.ingest.chat_words import MARK, normalise_phrase, read_hour, read_words, split_phrase
from memsense.ingest.options import DateOrder
from memsense.ingest.reading import Reading
from memsense.ingest.timestamps import NO_TIME, localise
from memsense.types import Conversation

_MONTHS_IN_YEAR = 12
_LAST_DAY = 31
_CENTURY = 100
_NO_HOUR = 24
_BUDDHIST_YEARS = range(2540, 2700)
_ENOUGH_HEADS = 3
_MOST_BACKWARD = 0.05
"""Share of entries that may be earlier than the one before; one always may, as clocks are set."""
_AROUND_NAMES = " ~\u202f\u00a0\u200e\u200f\u202a\u202c"
_MARKS = "\u200e\u200f\u202a-\u202e\ufeff"
_HALF = r"[apAP]\.?\s?[mM]\.?|上午|下午|午前|午後|오전|오후"
_DASH = r"\s+[-\u2013]\s+"
# Every locale has its own order, separators and spelling of a.m. and p.m.; some exports put U+202F
# before it, and marks of writing direction before the date.
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
# The same of any language, with words around the numbers: `2024년 3월 5일 오후 9:14, `. A month may
# be a word, so that the date has two numbers. Words must be known, see `chat_words`.
_W = r"[^\d\[\]\n:]"
_SHAPES = tuple(
    re.compile(
        rf"(?P<bracket>\[)?(?P<p0>{_W}{{0,24}}?)(?P<n0>\d{{1,4}})(?P<p1>{_W}{{1,24}}?)(?P<n1>\d{{1,4}})"
        rf"{third}(?P<between>{_W}{{1,48}}?)(?P<hour>\d{{1,2}})(?P<clock>:|{_W}{{1,12}}?)"
        rf"(?P<minute>\d{{1,2}})(?:(?P<tick>:|{_W}{{1,12}}?)(?P<seconds>\d{{1,2}}))?(?P<after>{_W}{{0,24}}?)"
        rf"(?:\]\s?|{_DASH}|(?P<comma>,\s+))(?P<rest>.*)",
        re.DOTALL,
    )
    for third in ("", rf"(?P<p2>{_W}{{1,24}}?)(?P<n2>\d{{1,4}})")
)
_FEWEST_DIGITS = 5
_LONGEST_HEAD = 160
# The first colon ends the name. A quotation mark before it means that it is part of a notice.
_NAMED = re.compile(rf"[{_MARKS}]*(?P<name>[^:\n\"“”«»]{{1,60}}):\s?(?P<text>.*)", re.DOTALL)
# The words that programs write before the text of their own logs: a level, or a module's name.
_IS_OF_PROGRAM = re.compile(
    r"(?i:(?:trace|debug|info|notice|warn|warning|error|err|crit|critical|fatal|severe|log)\b.*)"
    r"|[a-z0-9]+(?:[._/-][A-Za-z0-9]+)+|\[.*"
).fullmatch
_AFTERNOON = ("p", "P", "下午", "午後", "오후")


@dataclass(frozen=True, slots=True)
class ChatHead:
    """The beginning of one entry: its date as written, its time, and the text after it."""

    fields: tuple[int, int, int]
    year_first: bool
    hour: int
    minute: int
    seconds: int
    has_seconds: bool
    bracketed: bool
    dashed: bool
    rest: str
    is_open: bool = False

    @property
    def is_named(self) -> bool:
        """Return whether a name follows, rather than a notice of the program."""
        return _NAMED.match(self.rest) is not None


@dataclass(frozen=True, slots=True)
class _Entry:
    """One entry of the chat: its head, its whole text with continuation lines, its line."""

    head: ChatHead
    text: str
    line: int

    @property
    def name(self) -> str:
        match = _NAMED.match(self.head.rest)
        return match["name"].strip(_AROUND_NAMES) if match else ""

    @property
    def words(self) -> str:
        match = _NAMED.match(self.text)
        return match["text"] if match else self.text


def parse_head(line: str) -> ChatHead | None:
    """Return the head at the start of a line, or None for a line that continues an entry."""
    match = _HEAD.fullmatch(line.rstrip("\r\n"))
    if match is None:
        return _parse_worded(line.rstrip("\r\n"))
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


def _parse_worded(line: str) -> ChatHead | None:
    """Return the head at the start of a line, with the words of any language."""
    start = MARK.sub("", line[:_LONGEST_HEAD])
    if sum(map(str.isdecimal, start)) < _FEWEST_DIGITS:
        return None
    months, hours = read_words()
    for match in (match for shape in _SHAPES if (match := shape.fullmatch(start))):
        groups = match.groupdict()
        numbers = [int(groups[name]) for name in ("n0", "n1", "n2") if groups.get(name)]
        around = [normalise_phrase(groups[name]) for name in ("p0", "p1", "p2") if name in groups]
        clocks = [normalise_phrase(groups[name] or "") for name in ("clock", "tick")]
        after = normalise_phrase(match["after"])
        for post, before in split_phrase(match["between"]):
            phrases = [*around, post]
            values = [months.get(phrase) for phrase in phrases]
            hour = read_hour(int(match["hour"]), before, after)
            named = [month for month in values if month]
            # Of a date with a month's name the other numbers are its year and its day.
            is_date = None not in values and len(named) + len(numbers) == 3  # noqa: PLR2004
            has_words = any((*phrases, before, after))
            if hour is None or not is_date or any(hours.get(word) != 0 for word in clocks):
                continue
            if match["comma"] and not has_words:
                continue
            if named:
                year, day = sorted(numbers, key=lambda number: number <= _LAST_DAY)
                numbers = [year, abs(named[0]), day]
            first, second, third = numbers
            return ChatHead(
                fields=(first, second, third),
                year_first=bool(named) or len(match["n0"]) > 2,  # noqa: PLR2004
                hour=hour,
                minute=int(match["minute"]),
                seconds=int(match["seconds"] or 0),
                has_seconds=match["seconds"] is not None,
                bracketed=match["bracket"] is not None,
                dashed=False,
                rest=match["rest"] + line[_LONGEST_HEAD:],
                is_open=any(month < 0 for month in named),
            )
    return None


def find_heads(lines: Sequence[str]) -> list[ChatHead]:
    """Return the heads among a log's first lines; none if they are too few for a chat."""
    heads = [head for line in lines if (head := parse_head(line))]
    is_enough = len(heads) >= _ENOUGH_HEADS or 2 * len(heads) >= len(lines)
    names = [match["name"].strip() for head in heads if (match := _NAMED.match(head.rest))]
    # Logs of servers have dated lines with a colon, too: there the "names" are levels or modules.
    if not is_enough or not names or all(map(_IS_OF_PROGRAM, names)):
        return []
    orders: tuple[DateOrder, ...] = ("dmy", "mdy", "ymd")
    backward = min(_count_backward(heads, order) for order in orders)
    return heads if backward <= max(1, _MOST_BACKWARD * len(heads)) else []


def read_chat(reading: Reading) -> Iterator[Conversation]:
    """Yield the chat's sessions: cut at silences, with the role `other` and everybody's names.

    Of two people, the one who exported the chat comes first, if the chat shows who it was.
    """
    # The order of the dates and the exporter are known only at the end of the chat.
    entries = deque(_collect_entries(reading))
    order = reading.options.date_order or _guess_order(reading, entries)
    people = find_people(reading.source.label, ((entry.name, entry.words) for entry in entries))
    if any(entry.head.is_open for entry in entries):
        warning = f"{reading.source.label}: its months are read as most languages name them"
        reading.report.warnings.append(warning)
    builder = reading.conversation()
    while entries:  # an entry is freed as its message is made: a chat may be large
        entry = entries.popleft()
        head, name = entry.head, entry.name
        year, month, day = _read_date(head, order)
        try:
            at = datetime(year, month, day, head.hour, head.minute, head.seconds)  # noqa: DTZ001
            stamp = localise(at, reading.options.timezone)
        except ValueError:
            stamp = NO_TIME
        reading.report.unusable_times += stamp.at is None
        if not name or name == people.group:
            reading.skip(NOTICE, entry.line)
            continue
        words = clean_entry(entry.words, is_marked=head.bracketed)
        if isinstance(words, NoWords):
            reading.skip(words.reason, entry.line)
            continue
        builder.add("other", words, speaker=name, stamp=stamp, line=entry.line)
    speakers = builder.speakers()
    first = tuple(name for name in speakers if name == people.owner)
    yield from builder.build_parts(
        reading.source.session_id,
        reading.options.session_gap,
        participants=tuple(dict.fromkeys((*first, *speakers))),
    )


def _collect_entries(reading: Reading) -> Iterator[_Entry]:
    head, texts, start = None, [""], 1
    for number, line in enumerate(reading.lines(), 1):
        next_head = parse_head(line)
        if next_head is None:
            texts.append(line.rstrip("\r\n"))
            continue
        if head is not None:
            yield _Entry(head, "\n".join(texts), start)
        elif "".join(texts).strip():
            reading.skip("text before the first message", 1)
        head, texts, start = next_head, [next_head.rest], number
        reading.report.records += 1
    if head is not None:
        yield _Entry(head, "\n".join(texts), start)


def _guess_order(reading: Reading, entries: Iterable[_Entry]) -> DateOrder:
    """Return whether day or month comes first: by a field above 12, else by the dates' order."""
    heads = [entry.head for entry in entries]
    if any(head.year_first for head in heads):
        return "ymd"
    if any(head.fields[0] > _MONTHS_IN_YEAR for head in heads):
        # A year of two digits may stand first: then the same one does so all the time, and days
        # follow each other where the last number would be years that do.
        firsts, _, lasts = (
            set(numbers) for numbers in zip(*(h.fields for h in heads), strict=True)
        )
        is_year = len(firsts) == 1 < len(lasts) and max(lasts) <= _LAST_DAY
        return "ymd" if is_year and max(lasts) - min(lasts) > len(lasts) - 1 else "dmy"
    if any(head.fields[1] > _MONTHS_IN_YEAR for head in heads):
        return "mdy"
    # A chat runs forward in time: the order in which fewer dates go backward is the right one.
    backward: dict[DateOrder, int] = {}
    orders: tuple[DateOrder, ...] = ("dmy", "mdy")
    for order in orders:
        backward[order] = _count_backward(heads, order)
    if backward["mdy"] < backward["dmy"]:
        return "mdy"
    if backward["mdy"] == backward["dmy"] and heads:
        warning = "day or month first is open; read as day first (choose with --date-order)"
        reading.report.warnings.append(f"{reading.source.label}: {warning}")
    return "dmy"


def _count_backward(heads: Sequence[ChatHead], order: DateOrder) -> int:
    """Return how many entries are earlier than the one before them."""
    moments = [(_read_date(it, order), it.hour, it.minute) for it in heads if it.hour < _NO_HOUR]
    return sum(later < earlier for earlier, later in pairwise(moments))


def _read_date(head: ChatHead, order: DateOrder) -> tuple[int, int, int]:
    """Return (year, month, day); two-digit years are of this century, Buddhist ones are changed."""
    first, second, third = head.fields
    if head.year_first or order == "ymd":
        year, month, day = first, second, third
    elif order == "mdy":
        year, month, day = third, first, second
    else:
        year, month, day = third, second, first
    if year in _BUDDHIST_YEARS:
        year -= 543
    return (2000 + year if year < _CENTURY else year, month, day)
