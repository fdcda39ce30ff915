"""Finds the dates that an English question names, and joins those that belong together.

Patterns decide what is a date, because a free parser takes "may", "march" and "v2.10" for one;
dateutil does the calendar's arithmetic.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta

from memsense.search.question.calendar import (
    MONTH_NAMES,
    NUMBERS,
    SEASONS,
    WEEKDAYS,
    DateRange,
    Days,
)
from memsense.search.question.relative_dates import (
    relative_dates,
    step_by,
    week_days,
    weekday_before,
)
from memsense.search.question.spelled_dates import explicit_dates
from memsense.text.spans import BEFORE

Match = re.Match[str]

_LINK = re.compile(
    r"\s*[-\u2013\u2014]\s*|\s+(?P<word>and|or|to|until|till|through)\s+", re.IGNORECASE
)
_BETWEEN = re.compile(r"\bbetween\s+(?:the\s+)?$", re.IGNORECASE)
_BESIDE = re.compile(
    rf"(?:\bthe\s+)?\b(?:(?P<count>\d{{1,2}}|{'|'.join(NUMBERS)})\s+)?"
    rf"(?P<unit>day|weekend|week|month|year|{'|'.join(WEEKDAYS)})s?\s+"
    r"(?P<side>before|prior\s+to|preceding|after|following|(?<=week\s)of)\s+(?:the\s+)?$",
    re.IGNORECASE,
)

_CALENDAR_WORDS = (
    *(name[:3] for name in (*MONTH_NAMES, *WEEKDAYS)),
    *SEASONS,
    *("yesterday", "today", "tonight", "morning", "afternoon", "evening", "night"),
    *("day", "week", "month", "year"),
)
_CALENDAR_WORD = re.compile(rf"\d|(?<!\w)(?:{'|'.join(_CALENDAR_WORDS)})", re.IGNORECASE)
"""Every date has a digit or a word that begins like this; most questions have neither."""


def find_dates(text: str, asked_at: datetime | None = None) -> tuple[DateRange, ...]:
    """The dates that the text names, in their order.

    Days ("7 May 2023", "May 7th", "2023-05-07"), months ("in June", "May 2023"), years
    ("in 2021"), seasons of a year, ranges ("between May and July 2023", "3-7 May"), and what lies
    beside a day ("the week before 9 June 2023"), in addition to the day itself. With `asked_at`
    also what is relative to it: "yesterday", "last week", "two months ago". Calendar weeks run
    from Monday to Sunday. "07/05/2023" gives both readings.
    """
    if not _CALENDAR_WORD.search(text):
        return ()
    relative = relative_dates(text, asked_at.date()) if asked_at else ()
    named = _without_overlaps([*explicit_dates(text), *relative])
    return tuple(
        sorted([*_joined(named, text), *_beside(named, text)], key=lambda found: found.span)
    )


def _without_overlaps(named: Sequence[DateRange]) -> list[DateRange]:
    """The first and longest of overlapping readings; readings of the very same span all stay."""
    kept: list[DateRange] = []
    for found in sorted(dict.fromkeys(named), key=lambda found: (found.span[0], -found.span[1])):
        if not kept or found.span[0] >= kept[-1].span[1] or found.span == kept[-1].span:
            kept.append(found)
    return kept


def _joined(found: Sequence[DateRange], text: str) -> list[DateRange]:
    """The dates, with the ends of "from A to B" made one range, and years shared in "A and B"."""
    joined: list[DateRange] = []
    for second in found:
        first = joined[-1] if joined else None
        link = _LINK.fullmatch(text, first.span[1], second.span[0]) if first else None
        if first is None or link is None or "range" in {first.precision, second.precision}:
            joined.append(second)
            continue
        pair = _same_year(first, second)
        if pair[0].start <= pair[1].end and _is_range(
            link, text[max(0, first.span[0] - BEFORE) : first.span[0]]
        ):
            joined[-1] = _span_of(*pair, text)
        else:
            joined[-1:] = pair
    return joined


def _is_range(link: Match, before: str) -> bool:
    """Whether "A and B" or "A to B" means what lies between, given the text before A."""
    word = (link["word"] or "").lower()
    return word != "or" and (word != "and" or _BETWEEN.search(before) is not None)


def _same_year(first: DateRange, second: DateRange) -> tuple[DateRange, DateRange]:
    """Both dates, one that has no year in the other's, so that the first comes first."""
    if first.any_year and not second.any_year:
        moved = _in_year(first, second.start.year)
        late = moved.start > second.start
        return (_in_year(first, second.start.year - 1) if late else moved), second
    if second.any_year:
        moved = _in_year(second, first.start.year)
        early = moved.end < first.start
        second = _in_year(second, first.start.year + 1) if early else moved
        return first, replace(second, any_year=first.any_year)
    return first, second


def _in_year(found: DateRange, year: int) -> DateRange:
    start, end = found.in_year(year)
    return replace(found, start=start, end=end, any_year=False)


def _span_of(first: DateRange, second: DateRange, text: str) -> DateRange:
    span = (first.span[0], second.span[1])
    return replace(first, end=second.end, precision="range", text=text[slice(*span)], span=span)


def _beside(found: Sequence[DateRange], text: str) -> Iterator[DateRange]:
    """What lies before, after or around a named day: "the week before 9 June 2023"."""
    for anchor in found:
        match = _BESIDE.search(text, max(0, anchor.span[0] - BEFORE), anchor.span[0])
        if match and anchor.precision == "day" and not _needs_year(match, anchor):
            start, end = _days_beside(match, anchor.start)
            span = (match.start(), anchor.span[1])
            yield replace(
                anchor,
                start=start,
                end=end,
                precision="day" if start == end else "range",
                text=text[slice(*span)],
                span=span,
            )


def _needs_year(match: Match, anchor: DateRange) -> bool:
    return anchor.any_year and match["unit"].lower() in {"weekend", *WEEKDAYS}


def _days_beside(match: Match, day: date) -> Days:
    unit = match["unit"].lower()
    after = match["side"].lower() in {"after", "following"}
    if match["side"].lower() == "of":
        return week_days(day)
    if unit in WEEKDAYS or unit == "weekend":
        weekday = WEEKDAYS.index("saturday" if unit == "weekend" else unit)
        found = weekday_before(day + timedelta(days=8 if after else 0), weekday)
        return found, found + timedelta(days=int(unit == "weekend"))
    if match["count"]:
        there = day + step_by(unit, _number(match["count"]) * (1 if after else -1))
        return there, there
    edge = day + step_by(unit, 1 if after else -1)
    one = timedelta(days=1)
    return (day + one, edge) if after else (edge, day - one)


def _number(word: str) -> int:
    return int(word) if word.isdigit() else NUMBERS[word.lower()]
