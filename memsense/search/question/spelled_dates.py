"""Dates that English text spells out: days, months, years and seasons."""

import re
from collections.abc import Callable, Iterator
from datetime import date

from memsense.search.question.calendar import (
    ANY_YEAR,
    BEFORE,
    MONTH_NAMES,
    SEASONS,
    DateRange,
    Days,
    Precision,
    month_days,
    month_number,
    season_days,
    year_days,
)

Match = re.Match[str]
Reader = Callable[[Match], Iterator[DateRange]]

VERBS = ("may", "mar")
"""Month words that are verbs or nouns in lower case or at the beginning of a sentence."""
PEOPLE = ("april", "june")
"""Months that are also first names: "from June" may mean a person."""
PEOPLES_LEADS = frozenset({"from", "by", "before", "after", "of", "for", "around", "between"})
SURE_LEADS = frozenset(
    {"in", "during", "since", "until", "throughout", "month", "beginning", "start", "end"}
)

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)(?![a-z])"
)
_FULL_MONTH = "|".join(MONTH_NAMES)
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_ORDINAL = r"(?:st|nd|rd|th)"
_YEAR = r"(?:19|20)\d\d"
_LEFT = r"(?<![\w.\-/:#@])"
_RIGHT = r"(?!\w|[-/.:]\w)"
_DASH = r"\s*[-\u2013\u2014]\s*"
_TO = rf"(?:{_DASH}|\s+(?:to|until|till|through|and|or)\s+)"
_OF_YEAR = rf"(?:\.?\s*(?:,\s*)?(?:of\s+)?(?P<year>{_YEAR}))?"
_LEADS = (
    r"(?:month|beginning|start|end)\s+of|in|during|since|until|till|throughout|around|between"
    r"|from|by|before|after|of|for|through|last|this|next|past|early|mid|late"
)
_YEAR_LEADS = (
    r"in|during|since|until|till|throughout|around|between|from|by|before|after|of|through"
    r"|year|early|mid|late|the"
)
_NO_UNIT = (
    r"(?!\s+(?:dollars|euros|pounds|bucks|people|users|steps|met(?:er|re)s|miles|calories|words"
    r"|points|items|pieces|copies|days|hours|times|pages|rows|lines|k?m|k?g)\b)"
)
_IN_SENTENCE = re.compile(r"[^\s.!?:;\"'\u201c\u2018(]\s*$")
_BEFORE_DAY = re.compile(
    r"\b(?:on|from|until|till|since|before|after|by|between)\s+$", re.IGNORECASE
)
_CLAUSE_END = re.compile(r"\s*(?:[,.;:?!)]|$)")


def explicit_dates(text: str) -> Iterator[DateRange]:
    """Yield the dates that are complete without another day; they may overlap."""
    for pattern, read in _PATTERNS:
        for match in pattern.finditer(text):
            yield from read(match)


def _read_day(match: Match) -> Iterator[DateRange]:
    """Yield a day and a month, perhaps with a first day ("3-7 May") and a year."""
    if not _is_month(match):
        return
    year = int(match["year"]) if match["year"] else ANY_YEAR
    month = month_number(match["month"])
    days = [int(number) for number in (match["first"], match["last"]) if number]
    try:
        first, *others = [date(year, month, number) for number in days]
    except ValueError:
        return  # 31 June
    last = others[0] if others else first
    if first <= last:
        yield _make_range(
            match, (first, last), "range" if others else "day", any_year=not match["year"]
        )


def _is_month(match: Match) -> bool:
    """Return False if "may" or "march" could be something else than a month."""
    word = match["month"]
    if word.lower()[:3] not in VERBS or match["year"] or match["ordinal"]:
        return True
    start = match.start("month")
    if word[0].isupper() and _IN_SENTENCE.search(match.string, max(0, start - BEFORE), start):
        return True
    return bool(
        _BEFORE_DAY.search(match.string, max(0, match.start() - BEFORE), match.start())
        or _CLAUSE_END.match(match.string, match.end())
    )


def _read_month(match: Match) -> Iterator[DateRange]:
    yield _make_range(match, month_days(int(match["year"]), month_number(match["month"])), "month")


def _read_bare_month(match: Match) -> Iterator[DateRange]:
    """Yield a month without day and year if the word before it leaves no doubt."""
    month, lead = match["month"], match["lead"].lower().split()[0]
    verb = month.islower() and month.startswith(VERBS) and lead not in SURE_LEADS
    person = month.lower() in PEOPLE and lead in PEOPLES_LEADS
    if not (verb or person):
        yield _make_range(match, month_days(ANY_YEAR, month_number(month)), "month", any_year=True)


def _read_two_months(match: Match) -> Iterator[DateRange]:
    """Yield both months of "between May and July" or "May to July 2023"."""
    if match["lead"] or match["year"] or match["dash"]:
        for group in ("one", "two"):
            days = month_days(ANY_YEAR, month_number(match[group]))
            yield _make_range(match, days, "month", group, any_year=True)


def _read_season(match: Match) -> Iterator[DateRange]:
    yield _make_range(match, season_days(int(match["year"]), match["season"]), "range")


def _read_year(match: Match) -> Iterator[DateRange]:
    """Yield one year after a word like "in", or two that are linked."""
    if match["lead"] or match["two"]:
        for group in ("year", "two"):
            if match[group]:
                yield _make_range(match, year_days(int(match[group])), "year", group)


def _read_iso(match: Match) -> Iterator[DateRange]:
    """Yield the day 2023-05-07 or the month 2023-05."""
    year, month = int(match["year"]), int(match["month"])
    if match["day"] is None:
        yield _make_range(match, month_days(year, month), "month")
    elif int(match["day"]) <= month_days(year, month)[1].day:
        day = date(year, month, int(match["day"]))
        yield _make_range(match, (day, day), "day")


def _read_numbers(match: Match) -> Iterator[DateRange]:
    """Yield the day 7.5.2023, or both readings of 07/05/2023: day/month and month/day."""
    one, two = int(match["one"]), int(match["two"])
    readings = {(one, two), (one, two) if match["mark"] == "." else (two, one)}
    for day, month in sorted(readings):
        try:
            moment = date(int(match["year"]), month, day)
        except ValueError:
            continue  # 05/17/2023 can only be month/day
        yield _make_range(match, (moment, moment), "day")


def _make_range(
    match: Match,
    days: Days,
    precision: Precision,
    group: str = "date",
    *,
    any_year: bool = False,
) -> DateRange:
    return DateRange(
        start=days[0],
        end=days[1],
        precision=precision,
        text=match[group],
        span=match.span(group),
        any_year=any_year,
    )


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_DAY_MONTH = _compile(
    rf"{_LEFT}(?P<date>(?:(?P<first>{_DAY}){_ORDINAL}?{_TO})?(?P<last>{_DAY})"
    rf"(?P<ordinal>{_ORDINAL})?(?:\s+of)?[\s-]*(?P<month>{_MONTH}){_OF_YEAR}){_RIGHT}"
)
_MONTH_DAY = _compile(
    rf"(?<!\w)(?P<date>(?P<month>{_MONTH})\.?\s+(?:the\s+)?(?P<first>{_DAY})"
    rf"(?P<ordinal>{_ORDINAL})?(?:{_DASH}(?P<last>{_DAY}){_ORDINAL}?)?(?![\d:])"
    rf"{_OF_YEAR}){_RIGHT}"
)
_ISO = _compile(
    rf"{_LEFT}(?P<date>(?P<year>{_YEAR})[-/](?P<month>0[1-9]|1[0-2])"
    rf"(?:[-/](?P<day>{_DAY}))?)(?:T\d[\d:.]*Z?)?{_RIGHT}"
)
_NUMBERS = _compile(
    rf"{_LEFT}(?P<date>(?P<one>\d\d?)(?P<mark>[./-])(?P<two>\d\d?)(?P=mark)"
    rf"(?P<year>{_YEAR})){_RIGHT}"
)
_MONTH_YEAR = _compile(
    rf"(?<!\w)(?P<date>(?P<month>{_MONTH})\.?(?:\s*,\s*|\s+)(?:of\s+)?"
    rf"(?P<year>{_YEAR})){_RIGHT}"
)
_BARE_MONTH = _compile(
    rf"(?<!\w)(?P<lead>{_LEADS})[\s-]+(?:(?:the|early|mid|late)[\s-]+)?"
    rf"(?P<date>(?P<month>{_FULL_MONTH}))(?!\w)"
)
_TWO_MONTHS = _compile(
    rf"(?<!\w)(?:(?P<lead>in|during|between|from|since)\s+)?(?P<one>{_MONTH})"
    rf"(?:(?P<dash>{_DASH})|{_TO})(?P<two>{_MONTH})(?!\w)"
    rf"(?=(?:\s*(?:,\s*)?(?P<year>{_YEAR}))?)"
)
_SEASON_YEAR = _compile(
    rf"(?<!\w)(?P<date>(?P<season>{'|'.join(SEASONS)})(?:\s+of)?,?\s+"
    rf"(?P<year>{_YEAR})){_RIGHT}"
)
_ONE_OR_TWO_YEARS = _compile(
    rf"(?:(?<!\w)(?P<lead>{_YEAR_LEADS})[\s-]+(?:the\s+)?(?:year\s+)?|{_LEFT})"
    rf"(?P<year>{_YEAR})(?:{_TO}(?P<two>{_YEAR}))?{_RIGHT}{_NO_UNIT}"
)
_PATTERNS: tuple[tuple[re.Pattern[str], Reader], ...] = (
    (_DAY_MONTH, _read_day),
    (_MONTH_DAY, _read_day),
    (_ISO, _read_iso),
    (_NUMBERS, _read_numbers),
    (_MONTH_YEAR, _read_month),
    (_BARE_MONTH, _read_bare_month),
    (_TWO_MONTHS, _read_two_months),
    (_SEASON_YEAR, _read_season),
    (_ONE_OR_TWO_YEARS, _read_year),
)
