"""Dates that a question names relative to the day it is asked: "last week", "two months ago"."""

import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta

from memsense.search.question.calendar import (
    MONTH_NAMES,
    NUMBERS,
    SEASONS,
    WEEKDAYS,
    DateRange,
    Days,
    Precision,
    month_days,
    month_number,
    season_days,
    step_by,
    year_days,
)

Match = re.Match[str]
Meaning = tuple[Days, Precision]

_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(NUMBERS)}|(?:a\s+)?couple(?:\s+of)?|(?:a\s+)?few|several)"
_UNIT = r"(?P<unit>day|week|month|year)s?"
_WHICH = r"last|this\s+past|past|previous|this|current|next"
VAGUE = {"couple": (2, 0), "few": (3, 1), "several": (4, 1)}
"""How many units a vague count means, and by how many it may be wrong."""

# People count weeks loosely: "two weeks ago" may be 11 to 17 days.
WEEK_SLACK = timedelta(days=3)
WEEKEND = (timedelta(days=5), timedelta(days=6))
STEPS = {"last": -1, "past": -1, "previous": -1, "this": 0, "current": 0, "next": 1}


def relative_dates(text: str, today: date) -> Iterator[DateRange]:
    """Yield the dates in the text that depend on `today`; they may overlap."""
    for pattern, read in _PATTERNS:
        for match in pattern.finditer(text):
            (start, end), precision = read(match, today)
            yield DateRange(
                start=start, end=end, precision=precision, text=match[0], span=match.span()
            )


def weekday_before(day: date, weekday: int) -> date:
    """Return the last such weekday (Monday is 0) before the day."""
    return day - timedelta(days=(day.weekday() - weekday - 1) % 7 + 1)


def week_days(day: date) -> Days:
    """Return Monday and Sunday of the day's week."""
    monday = day - timedelta(days=day.weekday())
    return monday, monday + timedelta(days=6)


def _named_day(match: Match, today: date) -> Meaning:
    word = match[0].lower()
    if word.endswith("before yesterday"):
        return _single(today - timedelta(days=2))
    if word.startswith(("yesterday", "last night")):
        return _single(today - timedelta(days=1))
    return _single(today)


def _calendar_unit(match: Match, today: date) -> Meaning:
    unit, step = match["unit"].lower(), _step(match)
    if unit in {"week", "weekend"}:
        monday, sunday = week_days(today + timedelta(weeks=step))
        if unit == "weekend":
            return (monday + WEEKEND[0], monday + WEEKEND[1]), "range"
        return (monday, sunday), "week"
    if unit == "month":
        there = today + step_by("month", step)
        return month_days(there.year, there.month), "month"
    return year_days(today.year + step), "year"


def _weekday(match: Match, today: date) -> Meaning:
    weekday = WEEKDAYS.index(match["weekday"].lower())
    which = match["which"].lower()
    if which == "on":
        return _single(weekday_before(today + timedelta(days=1), weekday))
    if which == "this":
        return _single(week_days(today)[0] + timedelta(days=weekday))
    if which == "next":
        # On a Monday, the last Monday is a week ago and the next one a week ahead.
        weeks = 2 if today.weekday() == weekday else 1
        return _single(weekday_before(today, weekday) + timedelta(weeks=weeks))
    return _single(weekday_before(today, weekday))


def _month(match: Match, today: date) -> Meaning:
    month, step = month_number(match["month"]), _step(match)
    if step < 0:
        year = today.year - (month >= today.month)
    else:
        year = today.year + (step > 0 and month <= today.month)
    return month_days(year, month), "month"


def _season(match: Match, today: date) -> Meaning:
    step = _step(match)
    nearby = [season_days(today.year + shift, match["season"]) for shift in (-2, -1, 0, 1)]
    if step < 0:
        return [days for days in nearby if days[1] < today][-1], "range"
    return next(days for days in nearby if (days[0] if step else days[1]) >= today), "range"


def _ago(match: Match, today: date) -> Meaning:
    unit = match["unit"].lower()
    count, slack = _count(match)
    earliest = today - step_by(unit, count + slack)
    latest = today - step_by(unit, count - slack)
    if unit == "week":
        return (earliest - WEEK_SLACK, latest + WEEK_SLACK), "range" if slack else "week"
    if unit == "month":
        earliest, _ = month_days(earliest.year, earliest.month)
        _, latest = month_days(latest.year, latest.month)
        return (earliest, latest), "range" if slack else "month"
    if unit == "year":
        earliest, latest = date(earliest.year, 1, 1), date(latest.year, 12, 31)
        return (earliest, latest), "range" if slack else "year"
    return (earliest, latest), "range" if slack else "day"


def _recently(match: Match, today: date) -> Meaning:
    count, slack = _count(match) if match["count"] else (1, 0)
    return (today - step_by(match["unit"].lower(), count + slack), today), "range"


def _count(match: Match) -> tuple[int, int]:
    """Return how many units a phrase counts, and by how many that may be wrong."""
    words = match["count"].lower().split()
    for word in words:
        if word in VAGUE:
            return VAGUE[word]
    return (int(words[0]) if words[0].isdigit() else NUMBERS[words[0]]), 0


def _step(match: Match) -> int:
    return STEPS[match["which"].lower().split()[-1]]


def _single(day: date) -> Meaning:
    return (day, day), "day"


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-])(?:{pattern})(?![\w-])", re.IGNORECASE)


_PATTERNS: tuple[tuple[re.Pattern[str], Callable[[Match, date], Meaning]], ...] = (
    (
        _compile(
            r"(?:the\s+)?day\s+before\s+yesterday|yesterday(?:\s+(?:morning|afternoon|evening))?"
            r"|last\s+night|today|tonight|this\s+(?:morning|afternoon|evening)"
        ),
        _named_day,
    ),
    (_compile(rf"(?P<which>{_WHICH})\s+(?P<unit>week|weekend|month|year)"), _calendar_unit),
    (_compile(rf"(?P<which>{_WHICH}|on)\s+(?P<weekday>{'|'.join(WEEKDAYS)})"), _weekday),
    (_compile(rf"(?P<which>last|this\s+past|next)\s+(?P<month>{'|'.join(MONTH_NAMES)})"), _month),
    (_compile(rf"(?P<which>{_WHICH})\s+(?P<season>{'|'.join(SEASONS)})"), _season),
    (_compile(rf"{_COUNT}\s+{_UNIT}\s+(?:ago|earlier|back)"), _ago),
    (
        _compile(rf"(?:in|over|during|within|for)\s+the\s+(?:last|past)\s+(?:{_COUNT}\s+)?{_UNIT}"),
        _recently,
    ),
    (_compile(rf"(?:the\s+)?(?:last|past)\s+{_COUNT}\s+{_UNIT}"), _recently),
)
