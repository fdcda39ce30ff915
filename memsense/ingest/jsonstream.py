"""Reads the JSON values of a text one at a time, whatever the layout, in bounded memory.

One scanner serves one value, several values on one line or on several, one a line (JSONL), and
one array of any size: the items of a top-level array come out as if they stood alone.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import pydantic_core

from memsense.types import JsonValue

# Control characters inside strings are accepted: real logs hold them.
_DECODER = json.JSONDecoder(strict=False)
_BLANK = re.compile(r"[\s\x00\ufeff,]*")
# A decoding error this close to the end of what was read may only mean "read more".
_EDGE = 16
# What may stand after the error where a text ends in the middle of a literal or an escape.
_LAST_TOKEN = re.compile(r"[^\x00\s]{0,6}[\x00\s]*\Z")
_OPENING = re.compile(r'\{\s*"([^"\\]*)"\s*:\s*\[')
_ENVELOPE_LENGTH = 1_000
_COMPACT_AT = 2 * 1024
_PEEK_CHUNK = 64 * 1024
# So many places that aren't JSON, more than there are values, and the text is something else.
_TOO_BROKEN = 100


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON value: its line, its number in the text (from 1), and the top-level list
    (from 1) it is an item of, if any."""

    value: JsonValue
    line: int
    ordinal: int
    list_number: int | None = None


@dataclass(frozen=True, slots=True)
class Broken:
    """A place that isn't JSON; `offset` counts characters.

    Reading goes on at the next line, unless the text ends inside a value (`at_end`).
    """

    line: int
    offset: int
    at_end: bool


class _Window:
    """The part of a long text that is being looked at."""

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
        """Add to the text, at least half of what is pending; False at the end."""
        wanted = (len(self.text) - self.position) // 2
        pieces: list[str] = []
        read = 0
        for chunk in self._chunks:
            pieces.append(chunk)
            read += len(chunk)
            if read > wanted:
                break
        if read:
            self._drop_consumed(pieces)
        return read > 0

    def _drop_consumed(self, added: list[str]) -> None:
        self._dropped += self.position
        self.text = "".join([self.text[self.position :], *added])
        self.position = 0

    def compact(self) -> None:
        """Drop what was read: a decoding error costs time in proportion to its position."""
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


def scan_json(chunks: Iterator[str], envelope: str | None = None) -> Iterator[Record | Broken]:
    """Every value of the text in order, and every place that is no JSON.

    With `envelope`, a text that begins `{"<envelope>": [` is read as that list alone.
    """
    window = _Window(chunks)
    ordinal = list_number = 0
    in_list = enveloped = envelope is not None and _enter(window, envelope)
    while char := window.find_value():
        if char == "[" and not in_list:
            in_list, list_number = True, list_number + 1
            window.advance(window.position + 1)
        elif char == "]" and in_list:
            in_list = False
            window.advance(window.position + 1)
            if enveloped:
                return
        else:
            ordinal += 1
            yield _take(window, ordinal, list_number if in_list else None)


def peek_json(text: str, *, complete: bool) -> tuple[list[Record], int]:
    """The values at the start of a text, and how many places were no JSON.

    Where the text is only the beginning (`complete` False), a last value that the cut broke
    is completed as far as it goes. A text that is mostly no JSON is given up early.
    """
    records: list[Record] = []
    broken = 0
    chunks = (text[at : at + _PEEK_CHUNK] for at in range(0, len(text), _PEEK_CHUNK))
    for item in scan_json(chunks):
        if isinstance(item, Record):
            records.append(item)
        elif item.at_end and not complete:
            records.extend(_complete(text[item.offset :], item.line))
        else:
            broken += 1
            if broken > max(_TOO_BROKEN, len(records)):
                break
    return records, broken


def _enter(window: _Window, key: str) -> bool:
    while len(window.text) < _ENVELOPE_LENGTH and window.read_more():
        pass
    if window.find_value() != "{":
        return False
    match = _OPENING.match(window.text, window.position)
    if match is None or match[1] != key:
        return False
    window.advance(match.end())
    return True


def _take(window: _Window, ordinal: int, list_number: int | None) -> Record | Broken:
    line, offset = window.line, window.offset
    try:
        value = _decode_next(window)
    # Beside syntax errors (a ValueError): numbers of thousands of digits, absurd nesting.
    except (ValueError, RecursionError) as error:
        if isinstance(error, json.JSONDecodeError) and _ends_inside(error, window):
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
            if _may_be_cut(error, window) and window.read_more():
                continue
            raise
        if end == len(window.text) and isinstance(value, int | float) and window.read_more():
            continue
        window.advance(end)
        return value


def _may_be_cut(error: json.JSONDecodeError, window: _Window) -> bool:
    return error.msg.startswith("Unterminated") or error.pos >= len(window.text) - _EDGE


def _ends_inside(error: json.JSONDecodeError, window: _Window) -> bool:
    """Whether the text ends inside this value, so that no other can follow it."""
    is_open = error.msg.startswith("Unterminated")
    return is_open or _LAST_TOKEN.match(window.text, error.pos) is not None


def _complete(text: str, line: int) -> Iterator[Record]:
    try:
        value = pydantic_core.from_json(text, allow_partial="trailing-strings")
    except ValueError:
        return
    yield Record(cast("JsonValue", value), line, ordinal=0)
