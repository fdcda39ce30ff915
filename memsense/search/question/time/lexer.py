"""Tokens of a question: words, marks, and numbers with what they may be in a date."""

import re
from collections.abc import Iterator
from datetime import date
from typing import Any, NamedTuple

from memsense.search.question.quotations import find_quotations
from memsense.search.question.time.interval import (
    SURE,
    Days,
    Grain,
    Span,
    month_days,
    quarter_days,
)

MOST_READ = 600
"""Characters outside quotations and code that are read: a pasted log is full of dates."""

FIRST_YEAR, LAST_YEAR = 1900, 2099
LONGEST_DAY = 31
FIRST_DECADE = 50
"""First decade that two digits may name: "the 50s"."""

_QUOTES = re.compile("[\"'`\u2018\u201c\u201e\u00ab\u300c\u300e]")
_PASTED = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]{1,200}`"
    # A line of a log begins with its time.
    r"|^[\[(]?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d(?:[:\s]|$)[^\n]*",
    re.DOTALL | re.MULTILINE,
)
# Chinese and Japanese letters may stand next to a number of any kind.
_CJK = "\u3005-\u9fff\uff00-\uffef"
_TOKEN = re.compile(
    rf"""
    (?P<iso>(?:19|20)\d\d[-/](?:0[1-9]|1[0-2])(?:[-/](?:0?[1-9]|[12]\d|3[01]))?(?:T\d[\d:.]{{0,20}}Z?)?
        (?![^\W{_CJK}]|[-/.:]\w))
    |(?P<quarter>[QTqt][1-4](?!\w)|(?:19|20)\d\d[-/ ]?[Qq][1-4](?!\w)|[1-4][Qq](?!\w))
    |(?P<number>\d+(?:[-\u2013/.:]\d+)*)
    |(?P<word>[^\W\d_]+['\u2019]?)
    |(?P<mark>[^\w\s]|_)
    """,
    re.VERBOSE,
)
_ORDINAL = re.compile(
    r"(?:st|nd|rd|th|er|re|ère|ème|eme|e|do|ro|º|ª|-?(?:го|ого|е|ое|й|му|м|х)|['\u2019]?s)(?!\w)",
    re.IGNORECASE,
)
_NEXT_WORD = re.compile(r"[-.]([^\W\d_]+)")
_LATIN_ENDS = frozenset("hdtreoºª°s")
_MARK = re.compile("[-\u2013/.:]")
_DIGIT = re.compile(r"\d")
_NO_DIGIT = re.compile(r"\D")
_THOUSANDS = re.compile(r",\d\d\d(?!\d)")
_BAD_BEFORE = frozenset("_./:#@$€£+=~&%№\\*^<>")
_BAD_AFTER = frozenset("_@%€$£°=*^\\")
_NO_NUMBER = ("#", None)
# What is named by a number is not dated by it.
_NAMED_BY_NUMBERS = frozenset(
    "version versions release build room port page pin chapter section ticket issue line row id"
    " zimmer raum seite kapitel zeile postfach chambre salle chapitre ligne numéro habitación sala"
    " página capítulo línea número versión código версия версии версию комната комнате страница"
    " страницы код номер порт バージョン 版本 房间 部屋 ページ".split()
)


class Token(NamedTuple):
    """A word, mark or number. `role` and `value` are those of numbers and marks, "" for a word."""

    text: str
    start: int
    end: int
    role: str = ""
    value: Any = None


class NumericDate(NamedTuple):
    """Days that digits alone name."""

    days: Days
    grain: Grain
    reading: str
    confidence: float = SURE


def read_visible(text: str) -> str:
    """Return the beginning of a text with blanks in place of its quotations and code.

    It ends after `MOST_READ` characters outside of them, and offsets are those of the text.
    """
    hidden: list[Span] = []
    if _QUOTES.search(text):
        hidden = [span for span, _ in find_quotations(text)]
    if "`" in text or "\n" in text:
        hidden += [match.span() for match in _PASTED.finditer(text)]
    if not hidden:
        return text[:MOST_READ]
    pieces: list[str] = []
    position, left = 0, MOST_READ
    for begin, end in sorted(hidden):
        if end <= position:
            continue
        start = max(begin, position)
        pieces.append(text[position : min(start, position + left)])
        left -= start - position
        if left <= 0:
            return "".join(pieces)
        pieces.append(" " * (end - start))
        position = end
    pieces.append(text[position : position + left])
    return "".join(pieces)


def split_tokens(text: str, known_before_hyphen: frozenset[str]) -> Iterator[Token]:
    """Yield the tokens of a text.

    Args:
        text: The text.
        known_before_hyphen: Words after which a hyphen may stand before a number ("mid-2023").
    """
    before, read = ["", ""], 0
    for match in _TOKEN.finditer(text):
        kind, letters = match.lastgroup, match[0]
        start, end = match.span()
        if start < read:
            continue  # the letters of "7th"
        if kind == "word":
            letters = letters.rstrip("'\u2019")
            token = Token(letters.lower().replace("ё", "е"), start, start + len(letters))
        elif kind == "mark":
            role = "-" if letters in "-\u2013\u2014" else letters if letters in ".,&" else "#"
            token = Token(letters, start, end, role)
        elif before[1] in _NAMED_BY_NUMBERS or not _is_free(
            text, start, before, known_before_hyphen
        ):
            token = Token(letters, start, end, *_NO_NUMBER)
        elif kind == "iso":
            token = Token(letters, start, end, *_read_iso(letters))
        elif kind == "quarter":
            token = Token(letters, start, end, *_read_quarter(letters))
        else:
            token = _read_number(text, start, end, known_before_hyphen)
        yield token
        before, read = [before[1], token.text], token.end


def _is_free(text: str, start: int, before: list[str], hyphenated: frozenset[str]) -> bool:
    """Return whether what is directly before a number lets it be part of a date."""
    mark = text[start - 1] if start else " "
    if mark.isspace():
        return True
    if mark in "-\u2013\u2014":
        return before[0] in hyphenated or before[0][:1].isdigit()
    return mark not in _BAD_BEFORE and (not mark.isalnum() or "\u3005" <= mark <= "\uffef")


def _read_number(text: str, start: int, end: int, months: frozenset[str]) -> Token:
    digits = text[start:end]
    ordinal = _ORDINAL.match(text, end)
    stop = ordinal.end() if ordinal else end
    after, later = text[stop : stop + 1], text[stop + 1 : stop + 2]
    parts = _MARK.split(digits)
    is_cjk = "\u3005" <= after <= "\uffef"
    if (
        (is_cjk and len(parts) == 1)
        or (after.isalnum() and not is_cjk)
        or after in _BAD_AFTER
        or (after == " " and later in "%€$£°" and later)
        or (after in "/:" and after and later.isalnum())
        or _THOUSANDS.match(text, stop)
    ):
        return Token(digits, start, end, *_NO_NUMBER)
    if after in "-." and after and (later.isalpha()):
        word = _NEXT_WORD.match(text, stop)
        if word is None or word[1].lower() not in months:
            return Token(digits, start, end, *_NO_NUMBER)
    numbers = [int(part) if len(part) <= 4 else -1 for part in parts]  # noqa: PLR2004
    if len(parts) == 1:
        return Token(digits, start, stop, *_name_number(digits, ordinal[0] if ordinal else ""))
    return Token(digits, start, end, *_read_cluster(digits, parts, numbers))


def _name_number(digits: str, ordinal: str) -> tuple[str, Any]:
    """Return the role and the value of a number alone."""
    number = int(digits) if len(digits) <= 4 else 0  # noqa: PLR2004
    if ordinal.endswith(("s", "х", "er")) and number % 10 == 0:
        if len(digits) == 4 and FIRST_YEAR <= number <= LAST_YEAR:  # noqa: PLR2004
            return "i", number
        if len(digits) == 2 and number >= FIRST_DECADE:  # noqa: PLR2004
            return "i", 1900 + number
    if ordinal.endswith("s"):
        return _NO_NUMBER
    if len(digits) == 4 and FIRST_YEAR <= number <= LAST_YEAR and ordinal[-1:] not in _LATIN_ENDS:  # noqa: PLR2004
        return "Y", number
    if len(digits) <= 2 and 1 <= number <= LONGEST_DAY:  # noqa: PLR2004
        return "D", (number, bool(ordinal))
    return ("H", (number, False)) if 0 < number < 1000 else _NO_NUMBER  # noqa: PLR2004


def _read_cluster(digits: str, parts: list[str], numbers: list[int]) -> tuple[str, Any]:
    """Return the role and the value of numbers that marks join: 3-7, 7.5.2023, 2023/24."""
    marks = set(_DIGIT.sub("", digits))
    sizes = tuple(map(len, parts))
    if len(marks) != 1 or marks == {":"}:
        return _NO_NUMBER
    mark = marks.pop()
    years = [FIRST_YEAR <= number <= LAST_YEAR for number in numbers]
    if len(parts) == 3 and (sizes[2] == 4 or (sizes[2] == 2 and mark in "./")):  # noqa: PLR2004
        year = numbers[2] + (2000 if sizes[2] == 2 else 0)  # noqa: PLR2004
        if sizes[0] > 2 or sizes[1] > 2:  # noqa: PLR2004
            return _NO_NUMBER
        # 3.3.24 may be a version: it needs a word before it that dates have.
        is_short = mark == "." and sizes[2] == 2  # noqa: PLR2004
        return ("j" if is_short else "n", (numbers[0], numbers[1], year, mark == "."))
    if len(parts) == 2:  # noqa: PLR2004
        first, last = numbers
        if mark in "-\u2013" and max(sizes) <= 2 and 1 <= first < last <= LONGEST_DAY:  # noqa: PLR2004
            return "r", (first, last)
        if mark in "-\u2013/" and years[0] and years[1] and first < last:
            return "z", (first, last, mark != "/")
        if mark in "-\u2013/" and years[0] and sizes[1] == 2 and last == (first + 1) % 100:  # noqa: PLR2004
            return "z", (first, first + 1, False)
        if mark == "." and max(sizes) <= 2:  # noqa: PLR2004
            return "j", (first, last, None, True)
    return _NO_NUMBER


def _read_iso(digits: str) -> tuple[str, Any]:
    """Return the day 2023-05-07 or the month 2023-05."""
    year, month, *day = [int(part) for part in _MARK.split(digits.partition("T")[0])]
    if not day:
        return "I", (NumericDate(month_days(year, month), "month", "year-month"),)
    if day[0] > month_days(year, month)[1].day:
        return _NO_NUMBER
    there = date(year, month, day[0])
    return "I", (NumericDate((there, there), "day", "year-month-day"),)


def _read_quarter(digits: str) -> tuple[str, Any]:
    """Return the quarter Q3, or the days of 2024-Q3."""
    digits = _NO_DIGIT.sub("", digits)
    if len(digits) == 1:
        return "Q", int(digits)
    days = quarter_days(int(digits[:4]), int(digits[4]))
    return "I", (NumericDate(days, "quarter", f"quarter {digits[4]}"),)
