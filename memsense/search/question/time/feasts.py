"""Days of feasts, by the names that the tables of words use."""

from datetime import date, timedelta

_EASTER_SHIFTS = {
    "carnival": -48,
    "good_friday": -2,
    "easter": 0,
    "easter_monday": 1,
    "ascension": 39,
    "pentecost": 49,
}
_FIXED = (
    "new_year=1-1 epiphany=1-6 orthodox_christmas=1-7 valentine=2-14 defender_day=2-23"
    " womens_day=3-8 labour_day=5-1 golden_week=5-3 victory_day=5-9 russia_day=6-12"
    " independence_us=7-4 bastille_day=7-14 obon=8-14 assumption=8-15 national_day_cn=10-1"
    " unity_day=10-3 national_day_es=10-12 halloween=10-31 all_saints=11-1 st_nicholas=12-6"
    " christmas_eve=12-24 christmas=12-25 new_years_eve=12-31"
)
# Both follow the moon: https://www.hko.gov.hk/en/gts/time/conversion.htm has the years from 2015.
_MOON = {
    "spring_festival": "2-19 2-8 1-28 2-16 2-5 1-25 2-12 2-1 1-22 2-10 1-29 2-17 2-6 1-26 2-13 2-3",
    "mid_autumn": "9-27 9-15 10-4 9-24 9-13 10-1 9-21 9-10 9-29 9-17 10-6 9-25 9-15 10-3 9-22 9-12",
}

FIXED_FEASTS = {name: day for name, _, day in (item.partition("=") for item in _FIXED.split())}
"""Feasts that are on the same day of every year, with month and day."""


def find_feast(name: str, year: int) -> date | None:
    """Return the day of a feast in a year, None if it is not known."""
    if name in FIXED_FEASTS:
        return _read_day(year, FIXED_FEASTS[name])
    if name in _MOON:
        return {
            2015 + number: _read_day(2015 + number, day)
            for number, day in enumerate(_MOON[name].split())
        }.get(year)
    if name == "thanksgiving":
        first = date(year, 11, 1)
        return first + timedelta(days=(3 - first.weekday()) % 7 + 21)
    # Few questions name a feast: the others need not wait for the import.
    from dateutil.easter import EASTER_ORTHODOX, EASTER_WESTERN, easter

    if name == "orthodox_easter":
        return easter(year, EASTER_ORTHODOX)
    return easter(year, EASTER_WESTERN) + timedelta(days=_EASTER_SHIFTS[name])


def _read_day(year: int, day: str) -> date:
    month, _, number = day.partition("-")
    return date(year, int(month), int(number))
