"""JSON values of a text, one at a time, in any layout, in bounded memory.

One scanner serves one value, several values on one line or on several, one a line (JSONL), and
one array of any size: the items of a top-level array come out as if they stood alone. Suffixes say
little: arrays in a `.jsonl` and lines in a `.json` occur, as do two objects on one line.
"""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeAlias, TypeVar, cast

import pydantic_core

from memsense.types import JsonValue

# Control characters inside strings are accepted: real logs hold them (openclaw#69846).
_DECODER = json.JSONDecoder(strict=False)
_BLANK = re.compile(r"[\s\x00\ufeff,]*")
# A decoding error this close to the end of the text read so far may only mean "read more".
_EDGE = 16
# The text after the error, where a log ends in the middle of a literal or an escape.
_LAST_TOKEN = re.compile(r"[^\x00\s]{0,6}[\x00\s]*\Z")
_OPENING = re.compile(r'\{\s*"([^"\\]*)"\s*:\s*\[')
_ENVELOPE_LENGTH = 1_000
_COMPACT_AT = 2 * 1024
_PEEK_CHUNK = 64 * 1024
# With so many places that aren't JSON, and more of them than values, the text is something else.
_TOO_BROKEN = 100
# A line longer than this is not read to its end before its first value is decoded.
_LONGEST_LINE = 16 << 20

Value = TypeVar("Value")


# A tuple: large logs have hundreds of thousands of records, and a frozen dataclass takes four times
# as long to make.
class Record(NamedTuple, Generic[Value]):
    """One JSON value, with its line and its number in the text (both from 1).

    `list_number` (from 1) is the top-level list that it is an item of, if any.
    """

    value: Value
    line: int
    ordinal: int
    list_number: int | None = None


AnyRecord: TypeAlias = Record[JsonValue]


@dataclass(frozen=True, slots=True)
class Broken:
    """A place that isn't JSON; `offset` counts characters.

    Reading goes on at the next line, unless the text ends inside a value (`at_end`).
    """

    line: int
    offset: int
    at_end: bool


class _Window:
    """The part of a long text that is being read."""

    def __init__(self, chunks: Iterator[str]) -> None:
        self._chunks = chunks
        self._dropped = 0
        self.text = ""
        self.position = 0
        self.line = 1

    @property
    def offset(self) -> int:
        return self._dropped + self.position

    def read_more(self) -> bool:
        """Add text, at least half as much as is pending; return False at the end."""
        # A value that spans many chunks is decoded again after each addition: with half as much
        # more each time, the work stays in proportion to its length.
        least = (len(self.text) - self.position) // 2
        pieces: list[str] = []
        length = 0
        for chunk in self._chunks:
            pieces.append(chunk)
            length += len(chunk)
            if length > least:
                break
        if length:
            self._drop_consumed(pieces)
        return length > 0

    def _drop_consumed(self, pieces: list[str]) -> None:
        self._dropped += self.position
        self.text = "".join([self.text[self.position :], *pieces])
        self.position = 0

    def compact(self) -> None:
        """Drop the text before the position."""
        # A JSONDecodeError counts the lines before it: its cost grows with its position.
        if self.position > _COMPACT_AT:
            self._drop_consumed([])

    def advance(self, end: int) -> None:
        self.line += self.text.count("\n", self.position, end)
        self.position = end

    def find_value(self) -> str:
        """Go to the next character that matters and return it; empty at the end."""
        while True:
            if match := _BLANK.match(self.text, self.position):
                self.advance(match.end())
            if self.position < len(self.text):
                return self.text[self.position]
            if not self.read_more():
                return ""

    def skip_line(self) -> None:
        """Go behind the next line end, or to the end of the text."""
        while (newline := self.text.find("\n", self.position)) < 0:
            self.position = len(self.text)
            if not self.read_more():
                return
        self.advance(newline + 1)


def scan_json(
    chunks: Iterator[str], envelope: str | None = None, within: str | None = None
) -> Iterator[AnyRecord | Broken]:
    """Yield every value of the text in order, and every place that is not JSON.

    With `envelope`, a text that begins `{"<envelope>": [` is read as that list alone. With
    `within`, a first object with a list of that name is yielded once for each of its items, with
    what precedes the list and the item's number as `list_number`.
    """
    window = _Window(chunks)
    ordinal = list_number = 0
    in_list = is_enveloped = False
    if envelope is not None:
        while len(window.text) < _ENVELOPE_LENGTH and window.read_more():
            pass
        if window.find_value() == "{":
            match = _OPENING.match(window.text, window.position)
            if match is not None and match[1] == envelope:
                window.advance(match.end())
                in_list = is_enveloped = True
    if within is not None and window.find_value() == "{":
        ordinal = 1
        yield from _scan_within(window, within)
    while char := window.find_value():
        if char == "[" and not in_list:
            in_list, list_number = True, list_number + 1
            window.advance(window.position + 1)
        elif char == "]" and in_list:
            in_list = False
            window.advance(window.position + 1)
            if is_enveloped:
                return
        elif char == "{" and not in_list and (value := _take_line(window)) is not None:
            # The usual log is an object a line: one after the other is taken here.
            while value is not None:
                ordinal += 1
                yield Record(value, window.line - 1, ordinal)
                has_next = window.text.startswith("{", window.position)
                value = _take_line(window) if has_next else None
        else:
            ordinal += 1
            yield _take_value(window, ordinal, list_number if in_list else None)


def _scan_within(window: _Window, name: str) -> Iterator[AnyRecord | Broken]:
    line, offset = window.line, window.offset
    before: dict[str, JsonValue] = {}
    number = 0
    with suppress(ValueError, RecursionError):
        window.advance(window.position + 1)
        while window.find_value() == '"':
            key = str(_decode_next(window))
            if window.find_value() != ":":
                break
            window.advance(window.position + 1)
            if window.find_value() == "[" and key == name:
                window.advance(window.position + 1)
                while window.find_value() not in ("]", ""):
                    number += 1
                    line = window.line
                    yield Record(before | {name: [_decode_next(window)]}, line, 1, number)
                    window.compact()
                window.advance(window.position + 1)
            else:
                before[key] = _decode_next(window)
        if window.find_value() == "}":
            window.advance(window.position + 1)
            if not number:
                yield Record(before, line, 1)
            return
    window.skip_line()
    yield Broken(line, offset, at_end=not window.find_value())


def peek_json(text: str, *, complete: bool) -> tuple[list[AnyRecord], int]:
    """Return the values at the start of a text, and how many places were not JSON.

    If the text is only the beginning (`complete` is False), a last value that the cut broke
    is completed as far as it goes. A text that is mostly not JSON is given up early.
    """
    records: list[AnyRecord] = []
    broken = 0
    chunks = (text[at : at + _PEEK_CHUNK] for at in range(0, len(text), _PEEK_CHUNK))
    for item in scan_json(chunks):
        if isinstance(item, Record):
            records.append(item)
        elif item.at_end and not complete:
            try:
                value = pydantic_core.from_json(
                    text[item.offset :], allow_partial="trailing-strings"
                )
            except ValueError:
                continue
            records.append(Record(cast("JsonValue", value), item.line, ordinal=0))
        else:
            broken += 1
            if broken > max(_TOO_BROKEN, len(records)):
                break
    return records, broken


def _take_line(window: _Window) -> JsonValue:
    """Return the value that is the rest of the line, and go behind it; None if there is none.

    Nearly every log is a value a line, which pydantic's parser reads in half the time of json's.
    It refuses what json takes, such as control characters and halves of surrogate pairs.
    """
    while (end := window.text.find("\n", window.position)) < 0:
        if len(window.text) - window.position > _LONGEST_LINE or not window.read_more():
            return None
    try:
        line = window.text[window.position : end]
        value = cast("JsonValue", pydantic_core.from_json(line, cache_strings="keys"))
    except ValueError:
        return None
    window.line += 1
    window.position = end + 1
    return value


def _take_value(window: _Window, ordinal: int, list_number: int | None) -> AnyRecord | Broken:
    line, offset = window.line, window.offset
    try:
        value = _decode_next(window)
    # In addition to syntax errors (a ValueError): numbers of thousands of digits, absurd nesting.
    except (ValueError, RecursionError) as error:
        # Either the text ends inside this value, so that no other can follow it, or the line is
        # bad and costs only itself.
        if isinstance(error, json.JSONDecodeError) and (
            error.msg.startswith("Unterminated")
            or _LAST_TOKEN.match(window.text, error.pos) is not None
        ):
            window.advance(len(window.text))
        else:
            window.skip_line()
            window.compact()
        return Broken(line, offset, at_end=not window.find_value())
    return Record(value, line, ordinal, list_number)


def _decode_next(window: _Window) -> JsonValue:
    while True:
        try:
            value, end = cast(
                "tuple[JsonValue, int]", _DECODER.raw_decode(window.text, window.position)
            )
        except json.JSONDecodeError as error:
            is_open = error.msg.startswith("Unterminated")
            may_be_cut = is_open or error.pos >= len(window.text) - _EDGE
            if may_be_cut and window.read_more():
                continue
            raise
        # A number at the end of the text may have more digits in the next chunk.
        if end == len(window.text) and isinstance(value, int | float) and window.read_more():
            continue
        window.advance(end)
        return value
