"""Stretches of days that a question names, and the arithmetic of the calendar."""

from calendar import monthrange
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import MINYEAR, date, timedelta
from typing import Literal, NamedTuple

Span = tuple[int, int]
Days = tuple[date, date]
Grain = Literal["day", "week", "weekend", "month", "quarter", "season", "year", "range"]

ANY_YEAR = 2000
"""Year of the days whose year is unknown; a leap year, so that 29 February exists."""

EARLIEST = date(1900, 1, 1)
"""First day of what has no beginning: "before 2023"."""

SURE = 1.0
FEAST = 0.9
LIKELY = 0.7
VAGUE = 0.5
NEVER = 0.0
"""Confidence of days in which nothing can have happened yet, or that only help to name others."""

FEAST_SLACK = timedelta(days=2)
WEEK_SLACK = timedelta(days=3)
"""People count weeks loosely: "two weeks ago" may be 11 to 17 days."""

RECENT_DAYS = 14
"""How long ago "the other day" may be."""

PARTS = {
    "early": (1, 10),
    "mid": (11, 20),
    "late": (21, 31),
    "first half": (1, 15),
    "second half": (16, 31),
}
"""First and last day of the parts of a month."""

HALVES = {"first half": (1, 6), "second half": (7, 6)}
"""First month of the halves of a year, and how many they have."""

FROM_TO = "from the one to the other"
"""Reading of a range whose first and last day the words name."""

YEARS, EARLIER = 10, 4 / 7
"""Number of earlier years that days without a year may be of, and the factor of their confidence
then.
"""

SEASON_MONTHS = 3
QUARTER_MONTHS = 3
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A stretch of days that a question names, in the zone of the one who asks.

    Attributes:
        first: First day.
        last: Last day, included.
        grain: Kind of the stretch.
        confidence: Chance that memories of this stretch are meant, 0 to 1. It is 0 for the future,
            and for a day that is only named to find others ("the week before 9 June").
        reading: How the words are understood, for an explanation.
        text: The words.
        span: Their place in the question.
        any_year: Whether the question gives no year. `first` and `last` are then the latest such
            days, or lie near the year 2000 if the time of asking is unknown; the same days
            of other years may be meant too, with less confidence.
        bounds_end: Whether the words only say where the time asked about ends ("by May").
    """

    first: date
    last: date
    grain: Grain
    confidence: float = SURE
    reading: str = ""
    text: str
    span: Span
    any_year: bool = False
    bounds_end: bool = False

    def in_year(self, year: int) -> Days:
        """Return the first and the last day; those of any year begin in `year`."""
        if not self.any_year:
            return self.first, self.last
        return move_to_year((self.first, self.last), year)


def move_to_year(days: Days, year: int) -> Days:
    """Return the same days, the first in another year; 29 February may become the 28th."""
    shift = year - days[0].year
    moved: list[date] = []
    for day in days:
        try:
            moved.append(day.replace(year=day.year + shift))
        except ValueError:  # 29 February
            moved.append(day.replace(year=day.year + shift, day=28))
    return moved[0], moved[1]


def latest_days(days: Days, today: date, *, is_future: bool = False) -> Days:
    """Return the latest days of any year that begin by today; in the future, the next ones."""
    years = [move_to_year(days, today.year + shift) for shift in (1, 0, -1)]
    if is_future:
        return next((there for there in reversed(years) if there[0] >= today), years[0])
    return next(there for there in years if there[0] <= today)


def add_months(day: date, count: int) -> date:
    """Return the same day `count` months later, or the month's last day if it is shorter."""
    index = 12 * day.year + day.month - 1 + count
    year, month = divmod(index, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def add_units(day: date, unit: str, count: int) -> date:
    """Return the day `count` days, weeks, months or years later."""
    if unit in {"month", "quarter", "year"}:
        return add_months(day, count * {"month": 1, "quarter": 3, "year": 12}[unit])
    return day + timedelta(days=count * (7 if unit in {"week", "weekend"} else 1))


def month_days(year: int, month: int, months: int = 1) -> Days:
    """Return the first and the last day of a month, or of several months that begin with it."""
    first = date(year, month, 1)
    return first, add_months(first, months) - timedelta(days=1)


def year_days(year: int) -> Days:
    """Return the first and the last day of a year."""
    return date(year, 1, 1), date(year, 12, 31)


def quarter_days(year: int, quarter: int) -> Days:
    """Return the first and the last day of a quarter, 1 to 4."""
    return month_days(year, QUARTER_MONTHS * quarter - 2, QUARTER_MONTHS)


def week_days(day: date, week_start: str = "monday") -> Days:
    """Return the first and the last day of the day's week."""
    first = day - timedelta(days=(day.weekday() - WEEKDAYS.index(week_start)) % 7)
    return first, first + timedelta(days=6)


def weekend_days(day: date) -> Days:
    """Return Saturday and Sunday of the day's week, which begins on a Monday."""
    monday, sunday = week_days(day)
    return monday + timedelta(days=5), sunday


def weekday_before(day: date, weekday: int) -> date:
    """Return the last such weekday (Monday is 0) before the day."""
    return day - timedelta(days=(day.weekday() - weekday - 1) % 7 + 1)


def season_days(year: int, month: int, hemisphere: str = "north") -> Days:
    """Return the three months of a season.

    Args:
        year: The year in which it begins; a northern winter begins in December.
        month: The month in which it begins in the north.
        hemisphere: "south" has each season half a year earlier, or later.
    """
    if hemisphere == "south":
        month = (month + 5) % 12 + 1
    return month_days(year, month, SEASON_MONTHS)


class Stretch(NamedTuple):
    """Days in which memories are looked for: an interval, or the same days of an earlier year."""

    first: date
    last: date
    confidence: float
    interval: Interval

    def __str__(self) -> str:
        """Return the days in words, such as "1 to 30 April 2024"."""
        return describe_days((self.first, self.last))


def list_stretches(intervals: Sequence[Interval], today: date | None) -> Iterator[Stretch]:
    """Yield the days that may be meant, those of an interval's own year first, none after today."""
    for item in intervals:
        for ago in range(YEARS + 1 if item.any_year else 1):
            if (year := item.first.year - ago) < MINYEAR:
                break
            first, last = item.in_year(year)
            confidence = item.confidence * (EARLIER if ago else 1)
            if confidence and (today is None or first <= today):
                yield Stretch(first, min(last, today or last), confidence, item)


def describe_stretches(stretches: Sequence[Stretch]) -> str:
    """Return the days of all intervals in words, without each of the earlier years."""
    texts: list[str] = []
    for item in dict.fromkeys(it.interval for it in stretches):
        text = str(next(it for it in stretches if it.interval == item))
        texts.append(f"{text} or these days of an earlier year" if item.any_year else text)
    return " or ".join(dict.fromkeys(texts))


def describe_day(day: date) -> str:
    """Return a day in words, such as "3 March 2024"."""
    return f"{day.day} {day:%B} {day.year}"


def describe_days(days: Days) -> str:
    """Return days in words, such as "1 to 30 April 2024" or "30 April to 2 May 2024"."""
    first, last = days
    if first == last:
        return describe_day(last)
    if first.year != last.year:
        return f"{describe_day(first)} to {describe_day(last)}"
    begin = f"{first.day}" if first.month == last.month else f"{first.day} {first:%B}"
    return f"{begin} to {describe_day(last)}"
