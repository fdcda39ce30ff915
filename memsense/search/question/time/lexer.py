"""Tokens of a question: words, marks, and numbers with what they may be in a date."""

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import date
from typing import Any, NamedTuple

from memsense.search.question.quotations import find_quotations
from memsense.search.question.time.interval import (
    ANY_YEAR,
    Days,
    Grain,
    Span,
    month_days,
    quarter_days,
)
from memsense.search.question.time.patterns import pattern

MOST_READ = 600
"""Characters outside quotations and code that are read: a pasted log is full of dates."""

FIRST_YEAR, LAST_YEAR = 1900, 2099
LONGEST_DAY = 31
FIRST_DECADE = 50
"""First decade that two digits may name: "the 50s"."""

_QUOTES = "[\"'`\u2018\u201c\u201e\u00ab\u300c\u300e]"
_PASTED = (
    r"```.*?(?:```|\Z)|`[^`\n]{1,200}`"
    # A line of a log begins with its time.
    r"|^[\[(]?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d(?:[:\s]|$)[^\n]*"
)
# Chinese and Japanese letters may stand next to a number of any kind.
_CJK = "\u3005-\u9fff\uff00-\uffef"
_TOKEN = rf"""
    (?P<iso>(?:19|20)\d\d\.(?:0[1-9]|1[0-2])\.(?:0[1-9]|[12]\d|3[01])(?![^\W{_CJK}]|[-/.:]\w)
    |(?:19|20)\d\d[-/](?:0[1-9]|1[0-2])(?:[-/](?:0?[1-9]|[12]\d|3[01]))?(?:T\d[\d:.]{{0,20}}Z?)?
        (?![^\W{_CJK}]|[-/.:]\w))
    |(?P<quarter>[QTqt][1-4](?!\w)|(?:19|20)\d\d[-/ ]?[Qq][1-4](?!\w)|[1-4][Qq](?!\w))
    |(?P<number>\d+(?:[-\u2013/.:]\d+)*)
    |(?P<word>[^\W\d_]+['\u2019]?)
    |(?P<mark>[^\w\s]|_)
    """
_ORDINAL = (
    r"(?:st|nd|rd|th|ern?|re|ère|ème|eme|e|do|ro|º|ª|-?(?:го|ого|е|ое|й|му|м|х)|['\u2019]?s)(?!\w)"
)
_LATIN_ENDS = frozenset("hdtreoºª°s")
_BAD_BEFORE = frozenset("_./:#@$€€£+=~&%№\\*^<>")
# What makes a number in front of it a price, a part of a path, a word or a larger number.
_BAD_BEHIND = rf"(?![{_CJK}])\w|[@%€$£°=*^\\]|[ ][%€$£°]|[/:]\w|,\d\d\d(?!\d)"
_WORD_BEHIND = r"[-.]([^\W\d_]+)"
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
    any_year: bool = False


def read_visible(text: str) -> str:
    """Return the first `MOST_READ` visible characters, with blanks for quotations and code."""
    hidden: list[Span] = []
    if pattern(_QUOTES).search(text):
        hidden = [span for span, _ in find_quotations(text)]
    if "`" in text or "\n" in text:
        hidden += [
            match.span() for match in pattern(_PASTED, re.DOTALL | re.MULTILINE).finditer(text)
        ]
    if not hidden:
        return text[:MOST_READ]
    pieces: list[str] = []
    position, limit = 0, MOST_READ
    for begin, end in sorted(hidden):
        start = max(begin, position)
        if start < min(end, limit):
            pieces += (text[position:start], " " * (end - start))
            position = end
            limit += end - start
    return ("".join(pieces) + text[position:])[:limit]


def split_tokens(text: str, known_before_hyphen: frozenset[str]) -> Iterator[Token]:
    """Yield the tokens of a text; some words may have a hyphen before a number ("mid-2023")."""
    before, read = ["", ""], 0
    for match in pattern(_TOKEN, re.VERBOSE).finditer(text):
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
            token = _read_number(text, match, known_before_hyphen)
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


def _read_number(text: str, match: re.Match[str], months: frozenset[str]) -> Token:
    digits, (start, end) = match[0], match.span()
    ordinal = pattern(_ORDINAL, re.IGNORECASE).match(text, end)
    stop = ordinal.end() if ordinal else end
    word = pattern(_WORD_BEHIND).match(text, stop)
    is_alone = digits.isdecimal()
    if (
        pattern(_BAD_BEHIND).match(text, stop)
        or (is_alone and "\u3005" <= text[stop : stop + 1] <= "\uffef")
        or (word and word[1].lower() not in months)
    ):
        return Token(digits, start, end, *_NO_NUMBER)
    if is_alone:
        return Token(digits, start, stop, *_name_number(digits, ordinal[0] if ordinal else ""))
    return Token(digits, start, end, *_read_cluster(digits))


def _name_number(digits: str, ordinal: str) -> tuple[str, Any]:
    """Return the role and the value of a number alone."""
    number, size = int(digits[:5]), len(digits)
    is_year = size == 4 and FIRST_YEAR <= number <= LAST_YEAR  # noqa: PLR2004
    if ordinal.endswith(("s", "х", "er", "ern")) and number % 10 == 0:
        if is_year:
            return "i", number
        if FIRST_DECADE <= number < 100:  # noqa: PLR2004
            return "i", 1900 + number
    if ordinal.endswith("s"):
        return _NO_NUMBER
    if is_year and ordinal[-1:] not in _LATIN_ENDS:
        return "Y", number
    if size <= 2 and 1 <= number <= LONGEST_DAY:  # noqa: PLR2004
        return "D", (number, bool(ordinal))
    return ("H", (number, False)) if 0 < number < 1000 else _NO_NUMBER  # noqa: PLR2004


def _read_cluster(digits: str) -> tuple[str, Any]:
    """Return the role and the value of numbers that marks join: 3-7, 7.5.2023, 2023/24."""
    if match := pattern(r"(\d\d?)([-\u2013/.])(\d\d?)\2(\d{4}|(?<=[./])\d\d)").fullmatch(digits):
        day, mark, month, year = match.groups()
        is_short = len(year) < 4  # noqa: PLR2004
        # 3.3.24 may be a version: it needs a word before it that dates have.
        role = "j" if mark == "." and is_short else "n"
        return role, _read_orders(int(day), int(month), int(year) + 2000 * is_short, mark == ".")
    if match := pattern(r"((?:19|20)\d\d)([-\u2013/])((?:19|20)?\d\d)").fullmatch(digits):
        first, last = int(match[1]), int(match[3])
        if first < last:
            return "z", (first, last, match[2] != "/")
        return ("z", (first, first + 1, False)) if last == (first + 1) % 100 else _NO_NUMBER
    if match := pattern(r"(\d\d?)([-\u2013.])(\d\d?)").fullmatch(digits):
        first, last = int(match[1]), int(match[3])
        if match[2] == ".":
            dates = _read_orders(first, last, ANY_YEAR, is_dotted=True)
            return "j", [item._replace(any_year=True) for item in dates]
        return ("r", (first, last)) if 1 <= first < last <= LONGEST_DAY else _NO_NUMBER
    return _NO_NUMBER


def _read_orders(first: int, second: int, year: int, is_dotted: bool) -> list[NumericDate]:
    """Return the readings of 07/05/2023; 7.5.2023 has one, and so has 25/05/2023."""
    dates: dict[date, str] = {}
    for reading, day, month in (("day/month", first, second), ("month/day", second, first)):
        if reading == "day/month" or not is_dotted:
            with suppress(ValueError):  # 05/17/2023 can only be month/day
                dates.setdefault(date(year, month, day), reading)
    return [NumericDate((day, day), "day", reading) for day, reading in dates.items()]


def _read_iso(digits: str) -> tuple[str, Any]:
    """Return the day 2023-05-07 or the month 2023-05."""
    day_digits = digits.partition("T")[0].replace("/", "-").replace(".", "-")
    year, month, *day = map(int, day_digits.split("-"))
    if not day:
        return "I", (NumericDate(month_days(year, month), "month", "year-month"),)
    if day[0] > month_days(year, month)[1].day:
        return _NO_NUMBER
    there = date(year, month, day[0])
    return "I", (NumericDate((there, there), "day", "year-month-day"),)


def _read_quarter(letters: str) -> tuple[str, Any]:
    """Return the quarter Q3, or the days of 2024-Q3."""
    *year, quarter = filter(str.isdecimal, letters)
    if not year:
        return "Q", int(quarter)
    days = quarter_days(int("".join(year)), int(quarter))
    return "I", (NumericDate(days, "quarter", f"quarter {quarter}"),)
