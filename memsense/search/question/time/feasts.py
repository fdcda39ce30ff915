"""Days of feasts, by the names that the tables of words use."""

from collections.abc import Callable, Mapping
from datetime import date, timedelta


def _easter(year: int, shift: int = 0, *, orthodox: bool = False) -> date:
    # Few questions name a feast: the others need not wait for the import.
    from dateutil.easter import EASTER_ORTHODOX, EASTER_WESTERN, easter

    return easter(year, EASTER_ORTHODOX if orthodox else EASTER_WESTERN) + timedelta(days=shift)


def _thanksgiving(year: int) -> date:
    """Return the fourth Thursday of November."""
    first = date(year, 11, 1)
    return first + timedelta(days=(3 - first.weekday()) % 7 + 21)


def _days_from(first_year: int, days: str) -> Mapping[int, date]:
    """Return days that are written as month-day by the years that follow each other."""
    pairs = (map(int, day.split("-")) for day in days.split())
    return {year: date(year, *pair) for year, pair in enumerate(pairs, start=first_year)}


# Both follow the moon: https://www.hko.gov.hk/en/gts/time/conversion.htm has the years.
_SPRING_FESTIVALS = _days_from(
    2015,
    "2-19 2-8 1-28 2-16 2-5 1-25 2-12 2-1 1-22 2-10 1-29 2-17 2-6 1-26 2-13 2-3",
)
_MID_AUTUMNS = _days_from(
    2015,
    "9-27 9-15 10-4 9-24 9-13 10-1 9-21 9-10 9-29 9-17 10-6 9-25 9-15 10-3 9-22 9-12",
)

FEAST_DAYS: Mapping[str, Callable[[int], date | None]] = {
    "carnival": lambda year: _easter(year, -48),
    "good_friday": lambda year: _easter(year, -2),
    "easter": _easter,
    "easter_monday": lambda year: _easter(year, 1),
    "orthodox_easter": lambda year: _easter(year, orthodox=True),
    "ascension": lambda year: _easter(year, 39),
    "pentecost": lambda year: _easter(year, 49),
    "thanksgiving": _thanksgiving,
    "spring_festival": _SPRING_FESTIVALS.get,
    "mid_autumn": _MID_AUTUMNS.get,
    "new_year": lambda year: date(year, 1, 1),
    "epiphany": lambda year: date(year, 1, 6),
    "orthodox_christmas": lambda year: date(year, 1, 7),
    "valentine": lambda year: date(year, 2, 14),
    "womens_day": lambda year: date(year, 3, 8),
    "labour_day": lambda year: date(year, 5, 1),
    "golden_week": lambda year: date(year, 5, 3),
    "victory_day": lambda year: date(year, 5, 9),
    "independence_us": lambda year: date(year, 7, 4),
    "bastille_day": lambda year: date(year, 7, 14),
    "obon": lambda year: date(year, 8, 14),
    "assumption": lambda year: date(year, 8, 15),
    "national_day_cn": lambda year: date(year, 10, 1),
    "unity_day": lambda year: date(year, 10, 3),
    "halloween": lambda year: date(year, 10, 31),
    "all_saints": lambda year: date(year, 11, 1),
    "st_nicholas": lambda year: date(year, 12, 6),
    "christmas_eve": lambda year: date(year, 12, 24),
    "christmas": lambda year: date(year, 12, 25),
    "new_years_eve": lambda year: date(year, 12, 31),
}
"""The day of each feast in a year, None if it is not known."""

FIXED_FEASTS = frozenset(
    name
    for name in FEAST_DAYS
    if name
    not in {
        *("carnival", "good_friday", "easter", "easter_monday", "orthodox_easter", "ascension"),
        *("pentecost", "thanksgiving", "spring_festival", "mid_autumn"),
    }
)
"""Feasts that are on the same day of every year."""
