"""Stretches of days that a question names, and the words of the English calendar."""

from calendar import monthrange
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from dateutil.relativedelta import relativedelta

Span = tuple[int, int]
Precision = Literal["day", "week", "month", "year", "range"]
Days = tuple[date, date]

BEFORE = 40
"""Characters before a word that are read to understand it."""

ANY_YEAR = 2000
"""The year of dates that have none; a leap year, so that 29 February exists."""

MONTH_NAMES = tuple(
    "january february march april may june july august september october november december".split()
)
MONTHS = {name: number for number, name in enumerate(MONTH_NAMES, start=1)}
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
SEASON_MONTHS = 3
NUMBERS = {
    "a": 1,
    "an": 1,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DateRange:
    """A stretch of days that a question names, both ends included.

    With `any_year` the question gave no year: the range then begins near the year 2000 and means
    the same days of every year. `text` is what the question says, at `span`.
    """

    start: date
    end: date
    precision: Precision
    text: str
    span: Span
    any_year: bool = False

    def in_year(self, year: int) -> Days:
        """Return the first and the last day; a range of any year begins in `year`."""
        if not self.any_year:
            return self.start, self.end
        # A winter of any year ends in the year after.
        shift = year - self.start.year
        days: list[date] = []
        for day in (self.start, self.end):
            try:
                days.append(day.replace(year=day.year + shift))
            except ValueError:  # 29 February
                days.append(day.replace(year=day.year + shift, day=28))
        return days[0], days[1]


def step_by(unit: str, count: int) -> "relativedelta":
    """Return a step of `count` days, weeks, months or years."""
    # Few questions name a date: the others need not wait for the import.
    from dateutil.relativedelta import relativedelta

    steps = {
        "day": relativedelta(days=count),
        "week": relativedelta(weeks=count),
        "month": relativedelta(months=count),
        "year": relativedelta(years=count),
    }
    return steps[unit]


def month_days(year: int, month: int, months: int = 1) -> Days:
    """Return the first and the last day of a month, or of several months that begin with it."""
    last = date(year, month, 1) + step_by("month", months - 1)
    return date(year, month, 1), last.replace(day=monthrange(last.year, last.month)[1])


def month_number(word: str) -> int:
    """Return the number of a month's English name or abbreviation, in any case."""
    return next(n for name, n in MONTHS.items() if name.startswith(word[:3].lower()))


def season_days(year: int, season: str) -> Days:
    """Return the three months of a northern season; winter begins in December of `year`."""
    return month_days(year, SEASONS[season.lower()], SEASON_MONTHS)


def year_days(year: int) -> Days:
    """Return the first and the last day of a year."""
    return date(year, 1, 1), date(year, 12, 31)
