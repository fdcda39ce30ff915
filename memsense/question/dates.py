"""Finds the dates that an English question names: days, months, years, ranges, and "last week".

Patterns decide what is a date, because a free parser takes "may", "march" and "v2.10" for one;
dateutil does the calendar's arithmetic.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta

from memsense.question.ranges import (
    ANY_YEAR,
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
    year_days,
)
from memsense.question.relative import relative_dates, step_by, week_days, weekday_before

Match = re.Match[str]
Reader = Callable[[Match], Iterator[DateRange]]

VERBS = ("may", "mar")
"""Month words that are verbs or nouns when small or at the beginning of a sentence."""
PEOPLE = ("april", "may", "june", "august")
"""Months that are also first names: "from April" names nobody's month."""

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)(?![a-z])"
)
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_ORDINAL = r"(?:st|nd|rd|th)"
_YEAR = r"(?:19|20)\d\d"
_LEFT = r"(?<![\w.\-/:#@])"
_RIGHT = r"(?!\w|[-/.:]\w)"
_DASH = r"\s*[-\u2013\u2014]\s*"
_TO = rf"(?:{_DASH}|\s+(?:to|until|till|through|and)\s+)"
_OF_YEAR = rf"(?:\s*,?\s*(?:of\s+)?(?P<year>{_YEAR}))?"
_UNITS = (
    r"(?!\s+(?:dollars|euros|pounds|bucks|people|users|steps|met(?:er|re)s|miles|calories|words"
    r"|points|items|pieces|copies|days|hours|times|pages|rows|lines|k?m|k?g)\b)"
)


def find_dates(text: str, asked_at: datetime | None = None) -> tuple[DateRange, ...]:
    """The dates that the text names, in their order.

    Days ("7 May 2023", "May 7th", "2023-05-07"), months ("in June", "May 2023"), years
    ("in 2021"), seasons of a year, ranges ("between May and July 2023", "3-7 May"), and what lies
    beside a day ("the week before 9 June 2023"), in addition to the day itself. With `asked_at`
    also what is relative to it: "yesterday", "last week", "two months ago". Calendar weeks run
    from Monday to Sunday. "07/05/2023" gives both readings.
    """
    named = [found for pattern, read in _PATTERNS for m in pattern.finditer(text) for found in read(m)]
    if asked_at is not None:
        named += relative_dates(text, asked_at.date())
    single = _without_overlaps(named)
    return tuple(sorted([*_joined(single, text), *_beside(single, text)], key=lambda d: d.span))


def _without_overlaps(named: Sequence[DateRange]) -> list[DateRange]:
    """The first and longest of overlapping readings; readings of the very same span all stay."""
    kept: list[DateRange] = []
    for found in sorted(named, key=lambda d: (d.span[0], -d.span[1])):
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
        opening = _OPENING.search(text, 0, first.span[0])
        if pair[0].start <= pair[1].end and _is_range(link, opening):
            joined[-1] = _span_of(*pair, text)
        else:
            joined[-1:] = pair
    return joined


def _is_range(link: Match, opening: Match | None) -> bool:
    if link["word"].lower() == "and":
        return opening is not None and opening["word"].lower() == "between"
    return True


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
        match = _BESIDE.search(text, 0, anchor.span[0])
        if match and anchor.precision == "day":
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


def _found(match: Match, days: Days, precision: Precision, group: str = "date") -> DateRange:
    start, end = days
    return DateRange(
        start=start,
        end=end,
        precision=precision,
        text=match[group],
        span=match.span(group),
        any_year=start.year == ANY_YEAR and "year" in match.groupdict() and match["year"] is None,
    )


def _year_of(match: Match) -> int:
    return int(match["year"]) if match["year"] else ANY_YEAR


def _read_day(match: Match) -> Iterator[DateRange]:
    """A day and a month, perhaps with a first day ("3-7 May") and a year."""
    if not _is_month(match):
        return
    month = month_number(match["month"])
    days = [int(number) for number in (match["first"], match["last"]) if number]
    try:
        first, *others = [date(_year_of(match), month, number) for number in days]
    except ValueError:
        return  # 31 June
    last = others[0] if others else first
    if first <= last:
        yield _found(match, (first, last), "range" if others else "day")


def _is_month(match: Match) -> bool:
    """False where "may" or "march" may be something else than a month."""
    word = match["month"]
    if word.lower()[:3] not in VERBS or match["year"]:
        return True
    before, after = match.string[: match.start()], match.string[match.end() :]
    if word[0].isupper() and _IN_SENTENCE.search(before):
        return True
    return bool(match["ordinal"] or _BEFORE_DAY.search(before) or _CLAUSE_END.match(after))


def _read_month(match: Match) -> Iterator[DateRange]:
    days = month_days(_year_of(match), month_number(match["month"]))
    yield _found(match, days, "month")


def _read_bare_month(match: Match) -> Iterator[DateRange]:
    """A month without day and year, where the word before it leaves no doubt."""
    month, lead = match["month"], match["lead"].lower().split()[0]
    small = month.islower() and month.startswith(VERBS)
    if (small and lead not in _SURE_LEADS) or (
        month.lower() in PEOPLE and lead in _PEOPLES_LEADS
    ):
        return
    yield from _read_month(match)


def _read_two_months(match: Match) -> Iterator[DateRange]:
    """Both months of "between May and July": the pair itself leaves no doubt."""
    for group in ("one", "two"):
        days = month_days(ANY_YEAR, month_number(match[group]))
        yield replace(_found(match, days, "month", group), any_year=True)


def _read_season(match: Match) -> Iterator[DateRange]:
    yield _found(match, season_days(int(match["year"]), match["season"]), "range")


def _read_year(match: Match) -> Iterator[DateRange]:
    for group in ("year", "two"):
        if match[group]:
            yield _found(match, year_days(int(match[group])), "year", group)


def _read_numbers(match: Match) -> Iterator[DateRange]:
    """2023-05-07, 7.5.2023, and 07/05/2023, which may be read as day/month or as month/day."""
    year, first, second = (int(match[group]) for group in ("year", "one", "two"))
    if match["order"] == "year":
        readings = [(first, second)]
    elif match["mark"] == ".":
        readings = [(second, first)]
    else:
        readings = list(dict.fromkeys([(second, first), (first, second)]))
    for month, day in readings:
        try:
            found = date(year, month, day)
        except ValueError:
            continue
        yield _found(match, (found, found), "day")


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_LEADS = (
    r"in|during|since|until|till|throughout|around|between|from|by|before|after|of|for|through"
    r"|last|this|next|past|early|mid|late"
)
_SURE_LEADS = frozenset({"in", "during", "since", "until", "throughout"})
_PEOPLES_LEADS = frozenset("from by before after of for through around between".split())
_LINK = _compile(rf"{_DASH.replace('[', '(?P<word>[', 1)}")
