"""Rules that read times: each is a pattern over the roles of a question's words, and a function.

The roles are those of `tables.table.Table`: "the last week of May 2023" is "dLUoMY". A rule yields
the readings of the words that its pattern matches. A date needs evidence next to it, because free
parsers take "may", "march" and "v2.10" for dates. A ValueError says that there is no such day, as
31 June, or that it depends on an unknown time of asking.
"""

import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta

from memsense.search.question.time.feasts import FIXED_FEASTS, find_feast
from memsense.search.question.time.interval import (
    ANY_YEAR,
    FEAST,
    FEAST_SLACK,
    FROM_TO,
    LIKELY,
    NEVER,
    RECENT_DAYS,
    SURE,
    VAGUE,
    WEEK_SLACK,
    Days,
    Grain,
    add_units,
    latest_days,
    month_days,
    move_to_year,
    quarter_days,
    season_days,
    week_days,
    weekday_before,
    weekend_days,
    year_days,
)
from memsense.search.question.time.patterns import pattern
from memsense.search.question.time.sentence import YEAR_BEFORE, YEAR_BEHIND, Reading, Sentence
from memsense.search.question.time.tables import Unit
from memsense.search.question.time.vocabulary import Word

EVENING = 18
"""Hour from which on "tonight" may have happened."""

SATURDAY = 5
_FEW = (2, 4)
_OTHER_COUNTS = (
    *("half", "halb", "demi", "medio", "media", "полтора", "половиной"),
    *("hundred", "thousand", "million", "dozen"),
    *("hundreds of", "thousands of", "millions of", "dozens of"),
    *("сто", "двести", "сот", "тысяча", "тысячи", "тысяч", "миллионов"),
)
"""Ends of words that count, but aren't read as numbers."""
_IN_SENTENCE = r"[^\s.!?:;\"'\u201c\u2018(]\s*$"
_CLAUSE_END = r"\s*(?:[,.;:?!)]|$)"
_HABIT_BEHIND = r"(?:[&|,]+[df]*[Wv])*!"
_WEEKDAY_LIST = r"[Wv]T?[&|,]+[df]*$"
_SURE_LEADS = "esug"
_PEOPLES_LEADS = "qybaohk"
_WEEKDAY = r"(?P<day>(?P<week>[Wv][,.]?[df]*)?"
_DAY = r"(?:(?P<r>r)|(?P<d>{0})(?:\.?(?P<link>[-{1}&|])[df]*(?P<d2>{0}))?)"
_DAY_END = rf"{YEAR_BEHIND}(?:T|,?W(?![Wv&]))?)"

_Rule = Callable[[Sentence, re.Match[str]], Iterator[Reading]]
RULES: list[tuple[str, str, _Rule]] = []
"""Roles without which a rule matches nothing, its pattern, and its function."""


def _rule(needed: str, source: str) -> Callable[[_Rule], _Rule]:
    """Register a rule, which is tried if a question has one of the needed roles."""

    def register(read: _Rule) -> _Rule:
        RULES.append((needed, source, read))
        return read

    return register


def read_times(sentence: Sentence) -> Iterator[Reading]:
    """Yield the readings of all times that a question names; they may overlap."""
    roles = frozenset(sentence.roles)
    for needed, source, read in RULES:
        if roles.isdisjoint(needed):
            continue
        for match in pattern(source).finditer(sentence.roles):
            try:
                yield from read(sentence, match)
            except (ValueError, OverflowError):
                continue


# Times of a year, with the year or without.


@_rule(
    "M",
    rf"{YEAR_BEFORE}{_WEEKDAY}{_DAY.format('[DON]', 'tu')}\.?[od-]*(?P<m>M){_DAY_END}",
)
@_rule("M", rf"{YEAR_BEFORE}{_WEEKDAY}(?P<m>M)\.?d?{_DAY.format('D', 'tus')}{_DAY_END}")
def _read_day(sentence: Sentence, match: re.Match[str]) -> Iterator[Reading]:
    """Read "3 May 2023", "May 3-7", "Friday, the 3rd of May"."""
    if (
        match.start("m") < max(match.start("d"), match.start("r"))
        and not sentence.table.month_first
    ):
        return
    month_word = sentence.words[match.start("m")]
    year = sentence.year(match)
    link = match["link"]
    if match["r"]:
        numbers, link, is_ordinal = list(sentence.value(match, "r")), "-", False
    else:
        parts = [sentence.words[match.start(name)] for name in ("d", "d2") if match[name]]
        numbers = [word.value[0] if word.role == "D" else word.value for word in parts]
        is_ordinal = any(word.role == "O" or (word.role == "D" and word.value[1]) for word in parts)
        spelled = {word.role for word in parts} - {"D"}
        can_stand = sentence.table.capital == "never" or numbers == [1] or "o" in match[0]
        can_stand = can_stand or sentence.lead(match.start()) == "f"
        if ("N" in spelled and (not sentence.table.cardinal_days or 1 in numbers)) or (
            "O" in spelled and not can_stand
        ):
            return  # "the second May" is none
    if year is None and not is_ordinal and not _is_month(sentence, match, month_word):
        return
    days = [date(year or ANY_YEAR, month_word.value, number) for number in numbers]
    start = match.start("day")
    any_year, reading = year is None, "the latest such day" if year is None else "day of that year"
    if any_year and sentence.now and match["week"] and len(days) == 1:
        # The weekday may say which year is meant.
        weekday = sentence.words[start].value
        for there in range(sentence.today.year, sentence.today.year - 8, -1):
            day = move_to_year((days[0], days[0]), there)[0]
            if day <= sentence.today and day.weekday() == weekday and day.day == days[0].day:
                days, any_year, reading = [day], False, "the latest such weekday and day"
                break
    around = sentence.roles[:start].rstrip("df")[-1:] + sentence.roles[match.end() :][:1]
    is_range = len(days) > 1 and (link not in "&|" or "k" in around)
    if is_range and days[0] > days[1]:
        return
    for first, last in [(days[0], days[-1])] if is_range else [(day, day) for day in days]:
        yield sentence.reading(
            match,
            (first, last),
            "range" if is_range else "day",
            FROM_TO if is_range else reading,
            any_year=any_year,
        )


def _is_month(sentence: Sentence, match: re.Match[str], word: Word) -> bool:
    """Return False if "may" or "march" could be something else than a month."""
    if word.text.lower() not in sentence.vocabulary.verbs:
        return True
    if word.text[0].isupper() and pattern(_IN_SENTENCE).search(
        sentence.text, max(0, word.start - 40), word.start
    ):
        return True
    lead = sentence.roles[: match.start()].rstrip("d")[-1:]
    end = sentence.words[match.end() - 1].end
    return (lead != "" and lead in "fqsubayk") or _ends_clause(sentence, end)


def _ends_clause(sentence: Sentence, end: int) -> bool:
    return pattern(_CLAUSE_END).match(sentence.text, end) is not None


@_rule("M", rf"{YEAR_BEFORE}(?P<m>M){YEAR_BEHIND}")
def _read_month(sentence: Sentence, match: re.Match[str]) -> Iterator[Reading]:
    """Read "May 2023", and a month alone if the word before it leaves no doubt."""
    word, table = sentence.words[match.start("m")], sentence.table
    year = sentence.year(match)
    if year is not None:
        yield sentence.reading(match, month_days(year, word.value), "month")
        return
    lead, name = sentence.lead(match.start()), word.text.lower()
    is_sure = lead != "" and lead in _SURE_LEADS
    is_strong = sentence.is_led(match.start(), table.month_leads)
    if name in sentence.vocabulary.verbs and word.text.islower() and not is_sure:
        is_strong = False
    is_odd = {"always": str.islower, "never": str.istitle}.get(table.capital)
    if is_odd and is_odd(word.text) and not (table.capital == "always" and is_sure):
        is_strong = False
    if name in sentence.vocabulary.people and lead in _PEOPLES_LEADS:
        is_strong = lead in "bay" and _ends_clause(sentence, word.end)
    yield sentence.reading(
        match,
        month_days(ANY_YEAR, word.value),
        "month",
        "the latest such month",
        any_year=True,
        is_weak=not is_strong,
    )


@_rule(
    "S",
    rf"(?:(?P<y0>Y)J?[-ts](?=Y))?{YEAR_BEFORE}(?P<s>S){YEAR_BEHIND}(?:(?<=[YJ])[-t]d?YJ?)?",
)
def _read_season(sentence: Sentence, match: re.Match[str]) -> Iterator[Reading]:
    """Read "summer 2023", "winter 2023/24", "in summer"."""
    word = sentence.words[match.start("s")]
    year = sentence.value(match, "y0") or sentence.year(match)
    is_led = sentence.is_led(match.start(), sentence.table.season_leads)
    if year is None and sentence.roles[match.end() :][:1] == "o":
        return  # "the spring of the mattress"
    if year is not None or is_led or word.text.lower().endswith(("ой", "ом", "ью")):
        days = season_days(year or ANY_YEAR, word.value, sentence.calendar.hemisphere)
        reading = "season" if year else "the latest such season"
        yield sentence.reading(match, days, "season", reading, any_year=year is None)


@_rule("QK", rf"{YEAR_BEFORE}(?:(?P<q>Q)|d?(?P<o>[ODN])\.?K){YEAR_BEHIND}")
def _read_quarter(sentence: Sentence, match: re.Match[str]) -> Iterator[Reading]:
    """Read "Q3 2024", "the third quarter of 2024", "in Q3"."""
    word = sentence.words[match.start("q" if match["q"] else "o")]
    number = word.value[0] if word.role == "D" else word.value
    year = sentence.year(match)
    is_led = word.role != "N" and sentence.is_led(match.start(), sentence.table.quarter_leads)
    if 1 <= number <= 4 and (year is not None or is_led):  # noqa: PLR2004
        days = quarter_days(year or ANY_YEAR, number)
        yield sentence.reading(match, days, "quarter", f"quarter {number}", any_year=year is None)


@_rule("F", rf"{YEAR_BEFORE}(?P<f>F){YEAR_BEHIND}")
def _read_feast(sentence: Sentence, match: re.Match[str]) -> Iterator[Reading]:
    """Read "Easter 2024", "at Halloween"."""
    name = sentence.value(match, "f")
    year = sentence.year(match)
    before = sentence.roles[: match.start()].rstrip("do")[-1:]
    day = None
    if year is not None:
        day = find_feast(name, year)
    elif (
        sentence.is_led(match.start(), sentence.table.quarter_leads + "hpL")
        or before == "w"
        # "Wer war Ostern bei uns?"
        or (sentence.is_past and " " in sentence.table.weekday_leads)
    ):
        day = _find_days(sentence, sentence.words[match.start("f")], int(sentence.is_future))[0]
    if day:
        # The days of Easter in one year say nothing of those in another.
        is_fixed = year is None and name in FIXED_FEASTS
        yield _read_around(sentence, match, day, any_year=is_fixed)


def _read_around(sentence: Sentence, match: re.Match[str], day: date, **changes: object) -> Reading:
    reading = f"2 days either side of {day}"
    changes = {"confidence": FEAST, "anchor": day} | changes
    return sentence.reading(
        match, (day - FEAST_SLACK, day + FEAST_SLACK), "range", reading, **changes
    )


@_rule(
    "M",
    rf"(?<![edf])[edf]*{YEAR_BEFORE}(?:(?P<which>[OLlB])(?P<n>[ND])?(?P<u>U)[oedf]*(?P<m>M)"
    rf"|(?P<m2>M)o?(?P<which2>[OLl])(?P<u2>U)){YEAR_BEHIND}",
)
def _read_week_of_month(sentence: Sentence, match: re.Match[str]) -> Iterator[Reading]:
    """Read "the first week of May", "the last two days of May 2023"."""
    unit: Unit = sentence.value(match, "u", "u2")
    word = sentence.word(match, "which", "which2")
    if word is None or unit.name not in {"week", "weekend", "day"} or unit.factor > 1:
        return
    year, month = sentence.year(match), sentence.value(match, "m", "m2")
    days = month_days(year or ANY_YEAR, month)
    if year is None and sentence.now:
        days = latest_days(days, sentence.today)
    first, last = days
    number = word.value if word.role == "O" else 0
    if count := sentence.word(match, "n"):
        if number > 1 or unit.name == "weekend":
            return
        length = timedelta(days=count_units(count, unit)[1] * (7 if unit.name == "week" else 1) - 1)
        first, last = (first, first + length) if number else (last - length, last)
    elif unit.name == "day":
        first = last = first.replace(day=number) if number else last
    elif unit.name == "week":
        first = first + timedelta(weeks=number - 1) if number else last - timedelta(days=6)
        last = min(first + timedelta(days=6), last)
    else:
        first = weekday_before(first, SATURDAY) + timedelta(weeks=number)
        if not number:
            first = weekday_before(last + timedelta(days=1), SATURDAY)
        last = first + timedelta(days=1)
    if first > last:
        return
    yield sentence.reading(
        match,
        (first, last),
        unit.grain,
        f"{unit.name} of the month",
        confidence=LIKELY if year is None else SURE,
        any_year=year is None and unit.name != "weekend",
    )


@_rule("U", rf"(?<=[eof])(?P<u>U)(?P<d>[DH]){YEAR_BEHIND}(?![oM.])")
def _read_numbered_week(sentence: Sentence, match: re.Match[str]) -> Iterator[Reading]:
    """Read "in week 23", "in KW 23"."""
    if sentence.value(match, "u") == Unit("week"):
        year, number = sentence.year(match), sentence.value(match, "d")[0]
        first = date.fromisocalendar(year or sentence.today.year, number, 1)
        if year is None and first > sentence.today:
            first = date.fromisocalendar(sentence.today.year - 1, number, 1)
        reading = f"calendar week {number}"
        yield sentence.reading(match, (first, first + timedelta(days=6)), "week", reading)


@_rule("Yz=", r"(?P<j>J)?(?P<y>[Yz=])(?P<j2>J)?")
def _read_year(sentence: Sentence, match: re.Match[str]) -> Iterator[Reading]:
    """Read a year after a word like "in", two that are linked, and 去年."""
    word, table = sentence.words[match.start("y")], sentence.table
    after = sentence.words[match.end()].text.lower() if match.end() < len(sentence.words) else ""
    if after in sentence.vocabulary.counted:
        return
    before = sentence.roles[match.start() - 1 : match.start()] if match.start() else ""
    is_strong = sentence.is_led(match.start(), table.year_leads) or bool(match["j"] or match["j2"])
    is_strong = is_strong or (before == "d" and "d" in table.year_leads)
    first = last = word.value
    if word.role == "=":
        first = last = sentence.today.year - word.value
        is_strong = True
    elif word.role == "z":
        first, last, is_whole = word.value
        if not is_whole and not is_strong:
            return
        is_strong = True
    days = (date(first, 1, 1), date(last, 12, 31))
    grain: Grain = "range" if word.role == "z" else "year"
    yield sentence.reading(match, days, grain, is_weak=not is_strong)


@_rule("i", r"d?J?(?P<i>i)J?")
def _read_decade(sentence: Sentence, match: re.Match[str]) -> Iterator[Reading]:
    """Read "in the 1990s"."""
    if sentence.is_led(match.start(), sentence.table.decade_leads):
        first = sentence.value(match, "i")
        days = (date(first, 1, 1), date(first + 9, 12, 31))
        yield sentence.reading(match, days, "range", "decade", start=match.start("i"))


@_rule("In", rf"{_WEEKDAY}(?P<n>[In]))")
@_rule("j", r"(?P<lead>[fqstubyakUW]d?)?(?P<day>(?P<n>j))")
def _read_digits(sentence: Sentence, match: re.Match[str]) -> Iterator[Reading]:
    """Read 2023-05-07, 7.5.2023, both readings of 07/05/2023, and "am 3.5."."""
    word = sentence.words[match.start("n")]
    order = {"dmy": "day/month", "mdy": "month/day"}.get(sentence.calendar.date_order)
    is_both = len(word.value) > 1
    # A short one may be a version without a word before it and a dot behind it.
    has_dot = sentence.text[word.end : word.end + 1] == "." or sentence.table.has_dotted_days
    if word.role == "j" and not match["lead"]:
        before = sentence.text[: word.start].rstrip()[-1:]
        is_day = sentence.table.has_dotted_days and pattern(r"\d\d\.\d\d").match(word.text)
        if not is_day or not "\u0400" <= before <= "\u04ff":
            return
    for item in word.value:
        if (has_dot or not item.any_year) and (not is_both or order in {None, item.reading}):
            yield sentence.reading(
                match,
                item.days,
                item.grain,
                item.reading,
                start=match.start("day"),
                confidence=LIKELY if is_both and order is None else SURE,
                any_year=item.any_year,
            )


# Times that count from today.


@_rule("Wv", r"(?P<w>[Wv])T?")
def _read_weekday(sentence: Sentence, match: re.Match[str]) -> Iterator[Reading]:
    """Read "on Friday", and in some languages a weekday without a word before it."""
    word, leads = sentence.words[match.start("w")], sentence.table.weekday_leads
    before = sentence.roles[: match.start()]
    lead = sentence.lead(match.start())
    if word.role == "v" and not (word.text[0].isupper() and lead and lead in leads):
        return
    is_strong = bool(lead) and (lead in leads or lead in "sbauqky")
    if " " in leads and not is_strong:
        is_strong = before[-1:] not in {"d", "f", "!", "P"}
    # "on Friday and Saturday"
    chain = pattern(_WEEKDAY_LIST).search(before)
    if not is_strong and chain:
        is_strong = sentence.lead(chain.start()) in leads
    if pattern(_HABIT_BEHIND).match(sentence.roles, match.end()):
        return  # "on Friday and Saturday evenings"
    day = weekday_before(sentence.today + timedelta(days=1), word.value)
    if sentence.is_future:
        day += timedelta(days=7)
    is_past = day <= sentence.today
    yield sentence.reading(
        match,
        (day, day),
        "day",
        f"the {'latest' if is_past else 'next'} {day:%A}",
        confidence=LIKELY if is_past else NEVER,
        is_weak=not is_strong,
    )


@_rule(
    "UJKWvSMF",
    r"(?P<n>[UJKWvSMF])(?P<which>[lxBCm])T?"
    r"|(?P<which2>[LPXBCm])[do]?(?P<n2>[UJKWvSMF])(?:-?c)?T?",
)
def _read_relative(sentence: Sentence, match: re.Match[str]) -> Iterator[Reading]:
    """Read "last Tuesday", "this month", "next summer", "last Christmas"."""
    word, step = sentence.words[match.start("n" if match["n"] else "n2")], _step(sentence, match)
    which = {-1: "last", 0: "this", 1: "next"}.get(step, f"{step} from this")
    if match["which2"] == "P" and sentence.roles[match.end() : match.end() + 1] in {"D", "H"}:
        return  # "this week 1 of the plan"
    if word.role in "UJK":
        unit: Unit = word.value
        if not (unit.is_many or unit.name in {"day", "hour"} or unit.factor > 1):
            days = _unit_days(sentence, unit.name, step)
            yield sentence.reading(match, days, unit.grain, f"{which} calendar {unit.name}")
    elif word.role == "F":
        day, _ = _find_days(sentence, word, step)
        yield _read_around(sentence, match, day, confidence=FEAST if step < 1 else NEVER)
    elif sentence.table.is_behind and word.role in "Wv" and match["which2"] in {"L", "m", "P", "X"}:
        yield from _read_weekday_in(sentence, match, word.value, step)
    else:
        grain: Grain = "season" if word.role == "S" else "month" if word.role == "M" else "day"
        yield sentence.reading(match, _find_days(sentence, word, step), grain, f"{which} {grain}")


def _find_days(sentence: Sentence, word: Word, step: int) -> Days:
    """Return the last (-1), this (0) or next (1) such weekday, month, season or feast."""
    today, value = sentence.today, word.value
    if word.role in "Wv":
        this = _weekday_in(sentence, value, 0)
        nearby = [(day, day) for week in range(-4, 4) if (day := this + timedelta(weeks=week))]
        current = (this, this)
    else:
        years = range(today.year - 3, today.year + 3)
        if word.role == "F":
            feasts = [find_feast(value, year) for year in years]
            nearby = [(day, day) for day in feasts if day]
            # "At Christmas", asked on that day, is this one.
            current = next((days for days in reversed(nearby) if days[0] <= today), None)
        elif word.role == "M":
            nearby = [month_days(year, value) for year in years]
            current = month_days(today.year, value)
        else:
            hemisphere = sentence.calendar.hemisphere
            nearby = [season_days(year, value, hemisphere) for year in years]
            current = season_days(today.year, value, hemisphere)
            if current[0].year != current[1].year:
                # "This winter" is the one that lasts, or the next one.
                current = next(days for days in nearby if days[1] >= today)
    past = [days for days in nearby if days[1] < today]
    ahead = [days for days in nearby if days[0] > today]
    chosen = [current] if step == 0 else past[step:] if step < 0 else ahead[step - 1 :]
    if not chosen or chosen[0] is None:
        raise ValueError("the days are not known")
    return chosen[0]


def _step(sentence: Sentence, match: re.Match[str]) -> int:
    """Return how many units ahead "last", "this" and "next" are."""
    names = [name for name in match.re.groupindex if name.startswith("which") and match[name]]
    return sentence.words[match.start(names[0])].value


def _unit_days(sentence: Sentence, unit: str, step: int) -> Days:
    there = add_units(sentence.today, unit, step)
    if unit == "week":
        return week_days(there, sentence.calendar.week_start)
    if unit == "weekend":
        return weekend_days(there)
    if unit == "month":
        return month_days(there.year, there.month)
    return (
        year_days(there.year)
        if unit == "year"
        else quarter_days(there.year, (there.month + 2) // 3)
    )


def _weekday_in(sentence: Sentence, weekday: int, step: int) -> date:
    """Return the weekday of a calendar week."""
    first, _ = _unit_days(sentence, "week", step)
    return first + timedelta(days=(weekday - first.weekday()) % 7)


@_rule(
    "Wv",
    r"(?<![df])[df]*(?P<w>[Wv])T?,?[odfe]*"
    r"(?:(?P<which>[LBPXCm])(?P<u>U)|(?P<u2>U)(?P<which2>[lBxC]))"
    r"|(?:(?P<which3>[LBPXCm])(?P<u3>U)|(?P<u4>U)(?P<which4>[lBxC])),?[dfo]*(?P<w2>[Wv])T?",
)
def _read_weekday_of_week(sentence: Sentence, match: re.Match[str]) -> Iterator[Reading]:
    """Read "Tuesday of last week"."""
    if sentence.value(match, "u", "u2", "u3", "u4") != Unit("week"):
        return
    weekday = sentence.value(match, "w", "w2")
    yield from _read_weekday_in(sentence, match, weekday, _step(sentence, match))


def _read_weekday_in(
    sentence: Sentence, match: re.Match[str], weekday: int, step: int
) -> Iterator[Reading]:
    """Read the weekday of a calendar week."""
    day = _weekday_in(sentence, weekday, step)
    yield sentence.reading(match, (day, day), "day", "weekday of that calendar week")
    if sentence.table.is_behind and step == -1:
        # 上周二 is also said of the latest Tuesday.
        latest = weekday_before(sentence.today, weekday)
        yield sentence.reading(match, (latest, latest), "day", f"the latest {day:%A}")


@_rule(
    "D",
    r"(?P<d>D)\.?[odf]*(?:(?P<which>[LPBXC])(?P<u>U)|(?P<u2>U)(?P<which2>[lBxC]))"
    r"|(?P<which3>[LPXm])(?P<u3>U)o?(?P<d2>D)",
)
def _read_day_of_month(sentence: Sentence, match: re.Match[str]) -> Iterator[Reading]:
    """Read "on the 5th of last month"."""
    if sentence.value(match, "u", "u2", "u3") == Unit("month"):
        first, _ = _unit_days(sentence, "month", _step(sentence, match))
        day = first.replace(day=sentence.value(match, "d", "d2")[0])
        yield sentence.reading(match, (day, day), "day")


@_rule(
    "DON",
    r"(?:(?P<w>[Wv]),?[df]*|(?<=[fdU])|(?=[DO]_))(?P<d>[DON])(?P<dot>\.?)(?![oM])(?P<of>_)?",
)
def _read_day_alone(sentence: Sentence, match: re.Match[str]) -> Iterator[Reading]:
    """Read "on the 12th", "Thursday the 12th": the latest such day."""
    place = match.start("d")
    lead = sentence.roles[:place].rstrip("d")[-1:]
    is_led = lead == "f" or (place > 0 and sentence.words[place - 1].text.lower() in {"día", "dia"})
    # "On the 12th?", but not "on the 12th floor".
    word = sentence.words[place]
    number, is_ordinal = word.value if word.role == "D" else (word.value, word.role == "O")
    if word.role == "N" and not (sentence.table.cardinal_days and number > 1):
        return
    after = sentence.text[sentence.words[match.end() - 1].end :]
    if match["dot"] and sentence.table.capital == "always":
        # German: "am 12. gemacht", but not "am 12. Geburtstag".
        is_alone = not after.lstrip()[:1].isupper()
    else:
        is_alone = (is_ordinal or not sentence.table.month_first) and not match["dot"]
        is_alone = is_alone and _ends_clause(sentence, sentence.words[match.end() - 1].end)
    if match["of"] or (is_alone and (is_led or match["w"])):
        day = sentence.latest_day(sentence.value(match, "w"), number)
        yield sentence.reading(match, (day, day), "day", "the latest such day", confidence=LIKELY)


@_rule("U", r"(?P<u>U)(?![LlBxCm])")
def _read_weekend(sentence: Sentence, match: re.Match[str]) -> Iterator[Reading]:
    """Read "at the weekend": the latest one that has begun."""
    place, leads = match.start(), sentence.table.weekend_leads
    if sentence.value(match, "u") == Unit("weekend") and sentence.is_led(place, leads):
        days = weekend_days(sentence.today)
        if days[0] > sentence.today:
            days = weekend_days(sentence.today - timedelta(weeks=1))
        yield sentence.reading(match, days, "weekend", "the latest weekend", confidence=LIKELY)


@_rule("Z", r"Z(?P<n>[NDV])(?P<u>[UJ])")
def _read_ahead(sentence: Sentence, match: re.Match[str]) -> Iterator[Reading]:
    """Read "in two weeks" in languages whose word for it means the future alone."""
    unit: Unit = sentence.value(match, "u")
    if unit.name in {"day", "week", "month", "year"}:
        count, _ = count_units(sentence.word(match, "n"), unit)
        day = add_units(sentence.today, unit.name, count)
        reading = f"{count} {unit.name}s ahead"
        yield sentence.reading(match, (day, day), "day", reading, confidence=NEVER)


def count_units(word: Word | None, unit: Unit) -> tuple[int, int]:
    """Return how many units a phrase counts at least and at most."""
    least, most = _FEW if word is None and unit.is_many else (1, 1)
    if word:
        least, most = word.value if word.role in "Vr" else (word.value, word.value)
        if word.role in "DH":
            least = most = word.value[0]
    return least * unit.factor, most * unit.factor


@_rule(
    "AGp",
    r"(?:(?P<m>[ND])[|&t,-])?(?P<n>[NDHVr])?(?P<u>[UJK])~?A"
    r"|[Gp](?:(?P<m2>[ND])[|&t,-])?(?P<n2>[NDHVr])?(?P<u2>[UJK])",
)
def _read_ago(sentence: Sentence, match: re.Match[str]) -> Iterator[Reading]:
    """Read "two weeks ago", "a few months ago"."""
    unit: Unit = sentence.value(match, "u", "u2")
    number, first = sentence.word(match, "n", "n2"), sentence.word(match, "m", "m2")
    needs_number = bool(match["u2"]) or sentence.table.is_behind
    if number is None and needs_number and not unit.is_many and unit.factor == 1:
        return
    before = sentence.text[: sentence.words[match.start()].start].rstrip()
    if number is None and (before.endswith(_OTHER_COUNTS) or before[-1:].isnumeric()):
        return  # "one and a half years ago", "5000 years ago", "1.5 years ago"
    least, most = count_units(number, unit)
    if first:
        least = min(least, count_units(first, unit)[0])
    earliest = add_units(sentence.today, unit.name, -most)
    latest = add_units(sentence.today, unit.name, -least)
    if unit.name == "hour" and sentence.now:
        earliest = (sentence.now - timedelta(hours=most)).date()
        latest = (sentence.now - timedelta(hours=least)).date()
    elif unit.name == "week":
        earliest, latest = earliest - WEEK_SLACK, latest + WEEK_SLACK
    elif unit.name == "weekend":
        earliest, latest = weekend_days(earliest)[0], weekend_days(latest)[1]
    elif unit.name == "month":
        earliest, latest = earliest.replace(day=1), month_days(latest.year, latest.month)[1]
    elif unit.name == "year":
        earliest, latest = date(earliest.year, 1, 1), date(latest.year, 12, 31)
    is_vague = most != least
    yield sentence.reading(
        match,
        (earliest, latest),
        "range" if is_vague else unit.grain,
        f"{f'{least} to ' if is_vague else ''}{most} {unit.name}s ago",
        confidence=LIKELY if is_vague else SURE,
    )


@_rule(
    "LBlP",
    r"(?P<lead>[eh]?)(?P<d>d?)(?:(?P<last>[LBlP])o?(?P<n>[NDHVr])?(?P<u>[UJK])"
    r"|(?P<n2>[NDHV])[LBl](?P<u2>[UJK])|(?P<n3>[NDHV])(?P<u3>[UJK])[lB])",
)
def _read_recent(sentence: Sentence, match: re.Match[str]) -> Iterator[Reading]:
    """Read "in the past two weeks", "over the last year", "the last few days"."""
    unit: Unit = sentence.value(match, "u", "u2", "u3")
    number = sentence.word(match, "n", "n2", "n3")
    if match["last"] == "P" and not (number and sentence.table.is_behind):
        return  # この3日間 is "the last three days"
    if number is None and not unit.is_many:
        # "over the last week", "el último mes"; but "la semana pasada" is that of the calendar.
        is_led = sentence.table.is_rolling and match["lead"] and match["d"]
        if not (match["last"] == "l" or is_led) or unit.name in {"weekend", "hour"}:
            return
    least, most = count_units(number, unit)
    first = add_units(sentence.today, unit.name, -most)
    if unit.name == "hour" and sentence.now:
        first = (sentence.now - timedelta(hours=most)).date()
    yield sentence.reading(
        match,
        (first, sentence.today),
        "range",
        f"the last {most} {unit.name}s",
        confidence=SURE if least == most else LIKELY,
    )


@_rule("RE", r"(?P<r>[RE])T?")
def _read_named(sentence: Sentence, match: re.Match[str]) -> Iterator[Reading]:
    """Read "yesterday", "tonight", "the other day"."""
    word, today = sentence.words[match.start("r")], sentence.today
    if word.role == "E":
        days = (today - timedelta(days=RECENT_DAYS), today - timedelta(days=1))
        reading = "the last two weeks"
        yield sentence.reading(match, days, "range", reading, confidence=VAGUE)
        return
    day = today - timedelta(days=word.value or 0)
    confidence = SURE
    if word.value is None and sentence.now:
        confidence = LIKELY if sentence.now.hour >= EVENING else NEVER
    yield sentence.reading(match, (day, day), "day", word.text, confidence=confidence)
