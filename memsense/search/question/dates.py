"""Dates that an English question names, with those that belong together joined.

Patterns decide what is a date, because a free parser takes "may", "march" and "v2.10" for dates.
dateutil does the arithmetic of the calendar.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta

from memsense.search.question.calendar import (
    BEFORE,
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
"""A digit or the beginning of a word that every date has; most questions have neither."""


def find_dates(text: str, asked_at: datetime | None = None) -> tuple[DateRange, ...]:
    """Return the dates that the text names, in their order.

    Days ("7 May 2023", "May 7th", "2023-05-07"), months ("in June", "May 2023"), years
    ("in 2021"), seasons of a year, ranges ("between May and July 2023", "3-7 May"), and the time
    next to a day ("the week before 9 June 2023"), in addition to the day itself. With `asked_at`
    also dates relative to it: "yesterday", "last week", "two months ago". Calendar weeks run
    from Monday to Sunday. "07/05/2023" gives both readings.
    """
    if not _CALENDAR_WORD.search(text):
        return ()
    relative = relative_dates(text, asked_at.date()) if asked_at else ()
    readings = dict.fromkeys([*explicit_dates(text), *relative])
    # Of overlapping readings the first and longest counts: "7 May 2023" is not also "May 2023".
    # Readings of the very same span all count, as those of 07/05/2023.
    dates: list[DateRange] = []
    for item in sorted(readings, key=lambda item: (item.span[0], -item.span[1])):
        if not dates or item.span[0] >= dates[-1].span[1] or item.span == dates[-1].span:
            dates.append(item)
    beside = _find_beside(dates, text)
    return tuple(sorted([*_join_ranges(dates, text), *beside], key=lambda item: item.span))


def _join_ranges(dates: Sequence[DateRange], text: str) -> list[DateRange]:
    """Return the dates, "from A to B" as one range, and with the year that "A and B" share."""
    joined: list[DateRange] = []
    for second in dates:
        first = joined[-1] if joined else None
        link = _LINK.fullmatch(text, first.span[1], second.span[0]) if first else None
        if first is None or link is None or "range" in {first.precision, second.precision}:
            joined.append(second)
            continue
        first, last = _share_year(first, second)
        # "A to B" means all days between them, "A and B" only after "between", "A or B" never.
        word = (link["word"] or "").lower()
        before = text[max(0, first.span[0] - BEFORE) : first.span[0]]
        is_range = word != "or" and (word != "and" or _BETWEEN.search(before) is not None)
        if is_range and first.start <= last.end:
            span = (first.span[0], last.span[1])
            joined[-1] = replace(
                first, end=last.end, precision="range", text=text[slice(*span)], span=span
            )
        else:
            joined[-1:] = (first, last)
    return joined


def _share_year(first: DateRange, second: DateRange) -> tuple[DateRange, DateRange]:
    """Return both dates with one year, so that the first is earlier, if only one names its year."""
    if first.any_year and not second.any_year:
        moved = _move_to_year(first, second.start.year)
        is_late = moved.start > second.start
        return (_move_to_year(first, second.start.year - 1) if is_late else moved), second
    if second.any_year:
        moved = _move_to_year(second, first.start.year)
        is_early = moved.end < first.start
        second = _move_to_year(second, first.start.year + 1) if is_early else moved
        return first, replace(second, any_year=first.any_year)
    return first, second


def _move_to_year(item: DateRange, year: int) -> DateRange:
    start, end = item.in_year(year)
    return replace(item, start=start, end=end, any_year=False)


def _find_beside(dates: Sequence[DateRange], text: str) -> Iterator[DateRange]:
    """Yield the days before, after or around a named day: "the week before 9 June 2023"."""
    for anchor in dates:
        match = _BESIDE.search(text, max(0, anchor.span[0] - BEFORE), anchor.span[0])
        if match is None or anchor.precision != "day":
            continue
        # "The Friday before 9 June" is a different day every year.
        if anchor.any_year and match["unit"].lower() in {"weekend", *WEEKDAYS}:
            continue
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


def _days_beside(match: Match, day: date) -> Days:
    unit = match["unit"].lower()
    is_after = match["side"].lower() in {"after", "following"}
    if match["side"].lower() == "of":
        return week_days(day)
    if unit in WEEKDAYS or unit == "weekend":
        weekday = WEEKDAYS.index("saturday" if unit == "weekend" else unit)
        first = weekday_before(day + timedelta(days=8 if is_after else 0), weekday)
        return first, first + timedelta(days=int(unit == "weekend"))
    if match["count"]:
        word = match["count"]
        count = int(word) if word.isdigit() else NUMBERS[word.lower()]
        there = day + step_by(unit, count * (1 if is_after else -1))
        return there, there
    edge = day + step_by(unit, 1 if is_after else -1)
    one = timedelta(days=1)
    return (day + one, edge) if is_after else (edge, day - one)
