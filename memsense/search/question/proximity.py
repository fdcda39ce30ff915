"""How near a memory's time is to the dates that a question names."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, date, datetime
from typing import Literal

from memsense.search.question.calendar import DateRange

Breadth = Literal["day", "week", "month", "season", "year"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DateScores:
    """The proximity of a memory to a named date, by how broad the date is.

    People tell of a day on the day itself or soon after it, seldom ahead of it; and the broader the
    date, the less it says. A range counts as the narrowest breadth that holds it: up to `week_days`
    as a week, up to `month_days` as a month, up to `season_days` as a season, else as a year.
    """

    same_day: float = 1.0
    soon_after: float = 0.6
    soon_days: int = 2
    later: float = 0.4
    later_days: int = 10
    ahead: float = 0.2
    ahead_days: int = 2
    inside_week: float = 0.8
    after_week: float = 0.4
    inside_month: float = 0.6
    after_month: float = 0.3
    inside_season: float = 0.45
    after_season: float = 0.2
    inside_year: float = 0.3
    after_year: float = 0.0
    week_days: int = 7
    month_days: int = 31
    season_days: int = 92


DEFAULT_SCORES = DateScores()


def date_proximity(
    occurred_at: datetime | None,
    dates: Sequence[DateRange],
    scores: DateScores = DEFAULT_SCORES,
) -> float:
    """The proximity of a memory to the nearest of the dates, in [0, 1]; 0 without a time or date.

    A day: 1 on it, 0.6 until 2 days after it, 0.4 until 10 days after, 0.2 up to 2 days ahead. A
    week, month, season or year: 0.8, 0.6, 0.45 or 0.3 inside, and 0.4, 0.3, 0.2 or 0 until 10 days
    after. Dates without a year are those of any year. The memory's day is that of its own zone.
    """
    if occurred_at is None:
        return 0.0
    day = occurred_at.date()
    return max((_score(day, *days, scores) for days in _candidates(day, dates)), default=0.0)


def _candidates(day: date, dates: Sequence[DateRange]) -> Iterator[tuple[date, date]]:
    """The stretches that are meant; of a date in any year those in the years around the day."""
    for found in dates:
        if found.any_year:
            for year in range(max(day.year - 1, MINYEAR), min(day.year + 1, MAXYEAR - 1) + 1):
                yield found.in_year(year)
        else:
            yield found.start, found.end


def _score(day: date, start: date, end: date, scores: DateScores) -> float:
    breadth = _breadth((end - start).days + 1, scores)
    after = (day - end).days
    if breadth == "day":
        return _day_score(after, scores)
    inside, later = _broad_scores(breadth, scores)
    if start <= day <= end:
        return inside
    return later if 0 < after <= scores.later_days else 0.0


def _day_score(after: int, scores: DateScores) -> float:
    if after == 0:
        return scores.same_day
    if after < 0:
        return scores.ahead if -after <= scores.ahead_days else 0.0
    if after <= scores.soon_days:
        return scores.soon_after
    return scores.later if after <= scores.later_days else 0.0


def _breadth(days: int, scores: DateScores) -> Breadth:
    if days == 1:
        return "day"
    if days <= scores.week_days:
        return "week"
    if days <= scores.month_days:
        return "month"
    return "season" if days <= scores.season_days else "year"


def _broad_scores(breadth: Breadth, scores: DateScores) -> tuple[float, float]:
    """The scores inside and shortly after a stretch of such breadth."""
    if breadth == "week":
        return scores.inside_week, scores.after_week
    if breadth == "month":
        return scores.inside_month, scores.after_month
    if breadth == "season":
        return scores.inside_season, scores.after_season
    return scores.inside_year, scores.after_year
