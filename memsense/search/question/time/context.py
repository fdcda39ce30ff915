"""Reader of the words between and around the times of a question: "since", "to", "week of"."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

from memsense.search.question.time.interval import (
    EARLIEST,
    FROM_TO,
    HALVES,
    LIKELY,
    NEVER,
    PARTS,
    Days,
    Grain,
    Interval,
    add_units,
    month_days,
    move_to_year,
    week_days,
    weekday_before,
    weekend_days,
)
from memsense.search.question.time.patterns import pattern
from memsense.search.question.time.rules import SATURDAY, count_units
from memsense.search.question.time.sentence import Reading, Sentence
from memsense.search.question.time.tables import Unit

HELPER = "the day from which others count"
NAME = "a name: rue du 4-Septembre"
MOST_INTERVALS = 16
"""Maximum number of intervals of a question; each is compared with every candidate."""


# Each has a pattern for words before a time, and one for words behind it.
_NAME = (r"@\.?[od]*$", r"(?P<name>@)")
_OPENER = (r"(?P<opener>[kqsoe])[df]*$", r"(?P<opener>k)")
_PART = (r"(?P<part>g)-?[od]*$", r"o?(?P<part>g)")
_WEEK_OF = (r"d?(?<![LPXBCmNDV])(?P<u>U)(?P<how>[oqsfdh]*)$", r"(?P<how>[ods]+)N?(?P<u>U)")
_BESIDE = (
    r"d?L?(?P<n>[NDV])?(?P<u>[UJKWv])o?(?P<side>[bap])[od]*$",
    r"o?(?P<side>[ba])[od]*(?P<n>[NDV])?(?P<u>U)",
)
_NEXT_DAY = (r"(?P<w>w)[od]*$", r"o?(?P<w>w)")
_OPERATOR = (r"(?P<operator>[sbauyp])[edfo]*$", r"o?[T~]?(?P<operator>[sbauy])")
_LINK = r"o?[df]*(?P<link>[-tus&|])[dfe]*"


def _find(
    patterns: tuple[str, str], sentence: Sentence, item: Reading
) -> tuple[re.Match[str], dict[str, Any]] | None:
    """Return the words around a time that match, and what they and the time take up."""
    match = pattern(patterns[0]).search(sentence.roles, 0, item.start)
    if match:
        return match, {"start": match.start()}
    if sentence.table.is_behind:
        match = pattern(patterns[1]).match(sentence.roles, item.stop)
    return (match, {"stop": match.end()}) if match else None


def choose_readings(readings: list[Reading]) -> list[Reading]:
    """Return the longest of readings that overlap, and all of the same words."""
    chosen: list[Reading] = []
    places: dict[int, tuple[int, int]] = {}
    readings.sort(key=lambda item: (item.is_weak, item.start - item.stop, item.start))
    for item in readings:
        place = (item.start, item.stop)
        if all(places.get(word, place) == place for word in range(*place)):
            if item not in chosen:
                chosen.append(item)
            places |= dict.fromkeys(range(*place), place)
    chosen.sort(key=lambda item: (item.start, item.stop))
    return chosen


def choose_intervals(scored: Iterable[tuple[int, Interval]]) -> tuple[Interval, ...]:
    """Return the intervals of the longest words, and all of the same words; at most 16.

    Where two languages read the same words, the likelier one of the question counts.
    """
    chosen: list[tuple[int, Interval]] = []
    for score, item in sorted(
        scored, key=lambda pair: (-pair[0], pair[1].span[0] - pair[1].span[1], pair[1].span[0])
    ):
        start, end = item.span
        rivals = [pair for pair in chosen if pair[1].span[0] < end and start < pair[1].span[1]]
        if all(
            score == other
            # Two languages of one score may read the same.
            and (rival.first, rival.last, rival.span) != (item.first, item.last, item.span)
            # A day that helps to name others ("the week before 9 June") lies inside their words.
            and (rival.span == item.span or (item.reading == HELPER and start >= rival.span[0]))
            for other, rival in rivals
        ):
            chosen.append((score, item))
    intervals = [item for _, item in chosen if item.reading != NAME]
    intervals.sort(key=lambda item: (item.span, -item.confidence))
    return tuple(intervals[:MOST_INTERVALS])


def join_readings(sentence: Sentence, readings: Sequence[Reading]) -> list[Reading]:
    """Return the readings, "from A to B" as one range, with the year that "A and B" share."""
    joined: list[Reading] = []
    for item in readings:
        first, second = joined[-1] if joined else None, item
        link = None
        if first and first.stop < second.start and "range" not in {first.grain, second.grain}:
            link = pattern(_LINK).fullmatch(sentence.roles, first.stop, second.start)
        if first is None or link is None or (link["link"] == "s" and not sentence.table.is_behind):
            joined.append(second)
            continue
        opener = _find(_OPENER, sentence, replace(first, stop=second.stop))
        # "A to B" means all days between them, "A and B" only after "between", "A or B" never.
        is_between = opener is not None and opener[0]["opener"] == "k"
        is_range = link["link"] not in "|&" or (link["link"] == "&" and is_between)
        is_even = first.grain == second.grain
        if (first.is_weak and second.is_weak and not (is_range and opener and is_even)) or (
            (first.is_weak or second.is_weak) and not is_range and not is_even
        ):
            joined.append(second)
            continue
        first, second = _share_year(first, second)
        if is_range and first.days[0] <= second.days[1]:
            joined[-1] = replace(
                first,
                days=(first.days[0], second.days[1]),
                grain="range",
                stop=second.stop,
                reading=FROM_TO,
                confidence=min(first.confidence, second.confidence),
                is_weak=False,
            )
        else:
            joined[-1:] = (replace(first, is_weak=False), replace(second, is_weak=False))
    return [item for item in joined if not item.is_weak]


def _share_year(first: Reading, second: Reading) -> tuple[Reading, Reading]:
    """Return both with one year, so that the first is earlier, if only one names its year."""
    if first.any_year and not second.any_year:
        moved = move_to_year(first.days, second.days[0].year)
        if moved[0] > second.days[0]:
            moved = move_to_year(first.days, second.days[0].year - 1)
        return replace(first, days=moved, any_year=False), second
    if second.any_year:
        moved = move_to_year(second.days, first.days[0].year)
        if moved[1] < first.days[0]:
            moved = move_to_year(second.days, first.days[0].year + 1)
        return first, replace(second, days=moved, any_year=first.any_year)
    return first, second


def apply_words_around(sentence: Sentence, item: Reading) -> Iterator[Reading]:
    """Yield what the words around a time make of it: "mid", "the week of", "since"."""
    if _find(_NAME, sentence, item):
        yield replace(item, reading=NAME)
        return
    if part := _find(_PART, sentence, item):
        name, (first, last) = sentence.value(part[0], "part"), item.days
        changes: dict[str, Any] = {}
        if item.grain == "month":
            start, end = PARTS[name]
            days = (first.replace(day=start), first.replace(day=min(end, last.day)))
            changes = {"days": days, "grain": "range", "reading": f"{name} part of the month"}
        elif item.grain == "year" and name in HALVES:
            days = month_days(first.year, *HALVES[name])
            changes = {"days": days, "grain": "range", "reading": f"{name} of the year"}
        item = replace(item, **part[1], **changes)
    anchor = item.anchor or (sentence.latest(item)[0] if item.grain == "day" else None)
    if anchor and (other := _count_from(sentence, replace(item, anchor=None), anchor)):
        yield other
        yield replace(item, confidence=NEVER, reading=HELPER)
        return
    operator = _find(_OPERATOR, sentence, item)
    # "From" and "since" have already opened a range that names its end.
    is_open = operator and (item.reading != FROM_TO or operator[0]["operator"] not in "suy")
    if operator and is_open and sentence.now and item.confidence:
        yield _bound(sentence, replace(item, **operator[1]), operator[0]["operator"]) or item
    else:
        yield item


def _count_from(sentence: Sentence, item: Reading, day: date) -> Reading | None:
    """Return the time that words like "the week of" and "two days after" name by a day."""
    if around := _find(_WEEK_OF, sentence, item):
        match, place = around
        unit = sentence.value(match, "u")
        if unit == Unit("weekend"):
            days, reading = weekend_days(day), "the weekend of that week"
            return replace(item, days=days, grain="weekend", reading=reading, **place)
        if unit == Unit("week"):
            days, reading = (
                week_days(day, sentence.calendar.week_start),
                "the calendar week around it",
            )
            if set(match["how"]) & {"q", "s"}:
                days, reading = (day, day + timedelta(days=6)), "7 days from it"
            return replace(item, days=days, grain="week", reading=reading, **place)
    days = None
    if around := _find(_NEXT_DAY, sentence, item):
        there = day + timedelta(days=sentence.value(around[0], "w"))
        days = (there, there)
    elif around := _find(_BESIDE, sentence, item):
        days = _days_beside(sentence, around[0], day, item.any_year)
    if not around or not days:
        return None
    grain: Grain = "day" if days[0] == days[1] else "range"
    return replace(item, days=days, grain=grain, reading=f"next to {day}", **around[1])


def _days_beside(
    sentence: Sentence, match: re.Match[str], day: date, any_year: bool
) -> Days | None:
    """Return the days of "the week before", "two days after" or "the Friday before" a day."""
    word, is_after = sentence.words[match.start("u")], match["side"] == "a"
    is_weekday = word.role in "Wv"
    if is_weekday or word.value.name == "weekend":
        # "The Friday before 9 June" is a different day every year.
        if any_year:
            return None
        weekday = word.value if is_weekday else SATURDAY
        first = weekday_before(day + timedelta(days=8 if is_after else 0), weekday)
        return first, first + timedelta(days=0 if is_weekday else 1)
    unit: Unit = word.value
    if unit.name == "hour":
        return None
    sign, one = (1 if is_after else -1), timedelta(days=1)
    if match["n"] and not sentence.table.is_behind:
        counts = count_units(sentence.word(match, "n"), unit)
        near, far = (add_units(day, unit.name, sign * count) for count in counts)
        return min(near, far), max(near, far)
    edge = add_units(day, unit.name, sign * unit.factor)
    return (day + one, edge) if is_after else (edge, day - one)


def _bound(sentence: Sentence, item: Reading, operator: str) -> Reading | None:
    """Return the time that begins or ends where "since", "before", "after" or "by" say."""
    today, (first, last) = sentence.today, sentence.latest(item)
    item = replace(item, anchor=None)
    if operator == "y":
        return replace(item, bounds_end=True, confidence=NEVER, reading="the end of the time")
    days, reading = {
        "s": ((first, today), "until today"),
        "a": ((last + timedelta(days=1), today), "from the day after until today"),
        "u": ((EARLIEST, last), "until then"),
    }.get(operator, ((EARLIEST, first - timedelta(days=1)), "before it"))
    if days[0] > days[1]:
        return None
    changes: dict[str, Any] = {"any_year": False, "confidence": LIKELY}
    return replace(item, days=days, grain="range", reading=reading, **changes)
