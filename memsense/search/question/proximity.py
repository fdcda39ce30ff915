"""Nearness of a memory's time to the dates that a question names."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, date

from memsense.search.question.time.interval import Days, Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class DateScores:
    """The proximity of a memory to a named date, by how broad the date is.

    People talk about a day on the day itself or soon after it, seldom before it; and the broader
    the date, the less it says. A range counts as the narrowest breadth that holds it: up to
    `week_days` as a week, up to `month_days` as a month, up to `season_days` as a season, else as
    a year.
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


# Measured on LoCoMo, where 13% of the questions name a date: the term is worth 1.6 to 1.9 points of
# T@10 and 4 points of R@1.
DEFAULT_SCORES = DateScores()


def date_proximity(
    day: date | None,
    intervals: Sequence[Interval],
    scores: DateScores = DEFAULT_SCORES,
) -> float:
    """Return the proximity of a memory's day to the nearest date, 0 to 1; 0 without a day or date.

    A day: 1 on it, 0.6 until 2 days after it, 0.4 until 10 days after, 0.2 up to 2 days ahead. A
    week, month, season or year: 0.8, 0.6, 0.45 or 0.3 inside, and 0.4, 0.3, 0.2 or 0 until 10 days
    after. Dates without a year are those of any year. `Calendar.day_of` gives a memory's day.
    """
    if day is None:
        return 0.0
    stretches: list[Days] = []
    for item in intervals:
        if item.any_year:
            # In January, "in December" means the year before.
            years = range(max(day.year - 1, MINYEAR), min(day.year + 1, MAXYEAR - 1) + 1)
            stretches += [item.in_year(year) for year in years]
        else:
            stretches.append((item.first, item.last))
    return max((_score(day, start, end, scores) for start, end in stretches), default=0.0)


def _score(day: date, start: date, end: date, scores: DateScores) -> float:
    """Return the proximity of a day to the days from `start` to `end`."""
    days, after = (end - start).days + 1, (day - end).days
    if days == 1:
        if after < 0:
            return scores.ahead if -after <= scores.ahead_days else 0.0
        if after == 0:
            return scores.same_day
        if after <= scores.soon_days:
            return scores.soon_after
        return scores.later if after <= scores.later_days else 0.0
    if days <= scores.week_days:
        inside, later = scores.inside_week, scores.after_week
    elif days <= scores.month_days:
        inside, later = scores.inside_month, scores.after_month
    elif days <= scores.season_days:
        inside, later = scores.inside_season, scores.after_season
    else:
        inside, later = scores.inside_year, scores.after_year
    if start <= day <= end:
        return inside
    return later if 0 < after <= scores.later_days else 0.0
