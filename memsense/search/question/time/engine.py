"""Times that a question names, read by one grammar with a table of words for each language.

Each word of a table has a role, written as one letter, so that a question becomes a short string:
"the last week of May 2023" is "dLUoMY". The rules are patterns over these letters and hold for
every language. A date needs evidence next to it, because free parsers take "may", "march" and
"v2.10" for dates.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple
from unicodedata import combining, normalize

from memsense.search.question.time.calendar import Calendar
from memsense.search.question.time.cjk import find_cjk
from memsense.search.question.time.feasts import FEAST_DAYS
from memsense.search.question.time.interval import (
    ANY_YEAR,
    EARLIEST,
    FEAST,
    FEAST_SLACK,
    LIKELY,
    NEVER,
    PARTS,
    RECENT_DAYS,
    SURE,
    VAGUE,
    WEEK_SLACK,
    Days,
    Grain,
    Interval,
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
from memsense.search.question.time.lexer import NumericDate, Token, read_visible, split_tokens
from memsense.search.question.time.tables import Table
from memsense.search.question.time.tables.de import GERMAN
from memsense.search.question.time.tables.en import ENGLISH
from memsense.search.question.time.tables.es import SPANISH
from memsense.search.question.time.tables.fr import FRENCH
from memsense.search.question.time.tables.ru import RUSSIAN

MOST_INTERVALS = 16
"""Maximum number of intervals of a question; each is compared with every candidate."""

EVENING = 18
"""Hour from which on "tonight" may have happened."""

FEW = (3, 1)
FROM_TO = "from the one to the other"
HELPER = "the day from which others count"
ORDER_ROLES = "^$%bap"
"""Roles of the words that ask for an order: "right", "the last time", "before"."""

UNIT_GRAINS: dict[str, Grain] = {
    "hour": "day",
    "day": "day",
    "week": "week",
    "weekend": "weekend",
    "month": "month",
    "quarter": "quarter",
    "year": "year",
}


class Word(NamedTuple):
    """A word or phrase of a question with its role in one language."""

    role: str
    value: Any
    start: int
    end: int
    text: str


class Unit(NamedTuple):
    """A unit of time; `factor` is 2 for a fortnight, `is_many` that its plural has no number."""

    name: str
    factor: int = 1
    is_many: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """An interval before its year is known, at the words from `start` to `stop` of a question.

    Attributes:
        days: First and last day.
        is_weak: Whether it counts only as an end of a range.
        anchor: The day that "the week after" counts from, if it is not the only one.
    """

    days: Days
    grain: Grain
    start: int
    stop: int
    reading: str = ""
    confidence: float = SURE
    any_year: bool = False
    bounds_end: bool = False
    is_weak: bool = False
    anchor: date | None = None


def _strip_accents(word: str) -> str:
    """Return a word in Latin letters without its accents."""
    if word > "\u0250":
        return word
    return "".join(letter for letter in normalize("NFD", word) if not combining(letter))


class Vocabulary:
    """Words and phrases of a table, by their first word."""

    def __init__(self, table: Table) -> None:
        """Index the table."""
        self.table = table
        self.words: dict[str, tuple[str, Any]] = {}
        self.phrases: dict[str, list[tuple[tuple[str, ...], str, Any]]] = {}
        self.strong: set[str] = set()
        self.orders: set[str] = set()
        for number, forms in enumerate(table.months, start=1):
            self._add(forms, "M", number)
        for number, forms in enumerate(table.weekdays):
            self._add(forms, "W", number)
        for number, forms in enumerate(table.short_weekdays):
            self._add(forms, "v", number)
        for number, forms in table.seasons.items():
            self._add(forms, "S", number)
        for days, forms in table.named.items():
            self._add(forms, "R", days)
        self._add(table.tonight, "R", None)
        self._add(table.recently, "E", None)
        for name, forms in table.feasts.items():
            self._add(forms, "F", name)
        for year, forms in table.decades.items():
            self._add(forms, "i", year)
        # A plural means several units if it has no number.
        many = {form for forms in table.many.values() for form in forms.split("|")}
        self._add(table.year, "J", Unit("year"))
        for name, forms in (*table.units.items(), *table.many.items()):
            count, _, unit = name.rpartition(" ")
            role = "K" if unit == "quarter" else "U"
            for form in forms.split("|"):
                self._add(form, role, Unit(unit, int(count or 1), form in many))
        for count, forms in table.numbers.items():
            self._add(forms, "N", count)
        for count, forms in table.vague.items():
            self._add(forms, "V", count)
        for number, forms in table.ordinals.items():
            self._add(forms, "O", number)
        for part, forms in table.parts.items():
            self._add(forms, "g", part)
        for role, forms in table.roles.items():
            self._add(forms, role, None)
        self._add(table.habits, "!", None)
        for phrases in self.phrases.values():
            phrases.sort(key=lambda phrase: -len(phrase[0]))
        self.shared = frozenset(table.shared.split("|"))
        self.common = frozenset(table.common.split("|"))
        self.counted = frozenset(table.counted.split("|"))
        self.verbs = frozenset(table.verbs.split("|"))
        self.people = frozenset(table.people.split("|"))
        self.past = frozenset(table.past.split("|"))
        self.future = tuple(f" {form} " for form in table.future.split("|"))

    def _add(self, forms: str, role: str, value: Any) -> None:
        for form in filter(None, forms.split("|")):
            parts = tuple(token.text for token in split_tokens(form, frozenset()))
            # People drop accents.
            for spelling in {parts, tuple(map(_strip_accents, parts))}:
                if len(spelling) == 1:
                    self.words.setdefault(spelling[0], (role, value))
                else:
                    self.phrases.setdefault(spelling[0], []).append((spelling, role, value))
                if role in "MWSUJKREFi":
                    self.strong.add(spelling[-1])
                if role in ORDER_ROLES:
                    self.orders.add(spelling[0])

    def read(self, tokens: Sequence[Token], text: str, *, is_known: bool) -> list[Word]:
        """Return the words of a question with their roles; several tokens may be one word."""
        words: list[Word] = []
        names = [token.text for token in tokens]
        position = 0
        while position < len(tokens):
            token = tokens[position]
            size, role, value = 1, token.role or "#", token.value
            for parts, phrase_role, phrase_value in self.phrases.get(token.text, ()):
                if tuple(names[position : position + len(parts)]) == parts:
                    size, role, value = len(parts), phrase_role, phrase_value
                    break
            else:
                entry = self.words.get(token.text)
                if entry is not None and (is_known or token.text not in self.shared):
                    role, value = entry
            end = tokens[position + size - 1].end
            words.append(Word(role, value, token.start, end, text[token.start : end]))
            position += size
        return words


VOCABULARIES = tuple(Vocabulary(table) for table in (ENGLISH, GERMAN, FRENCH, SPANISH, RUSSIAN))
_STRONG: dict[str, int] = {}
for _place, _vocabulary in enumerate(VOCABULARIES):
    for _word in _vocabulary.strong:
        _STRONG[_word] = _STRONG.get(_word, 0) | 1 << _place
_ORDER_WORDS = frozenset[str]().union(*[item.orders for item in VOCABULARIES])
_ALL = (1 << len(VOCABULARIES)) - 1
_KNOWN_BEFORE_HYPHEN = frozenset(
    form.rpartition(" ")[2].rstrip(".")
    for vocabulary in VOCABULARIES
    for forms in (*vocabulary.table.months, *vocabulary.table.parts.values())
    for form in forms.split("|")
)


def find_intervals(
    text: str,
    *,
    now: datetime | None,
    calendar: Calendar = Calendar(),  # noqa: B008 (frozen)
) -> tuple[Interval, ...]:
    """Return the times that a question names, in its order; at most 16.

        find_intervals("What did I cook last week?", now=now)  # Monday to Sunday before this week

    Quotations and code are not read, and of the rest 600 characters.

    Args:
        text: The question, in any of the languages that have a table.
        now: When it is asked, in the zone of the calendar; without it, times that depend on today
            are not read.
        calendar: The calendar of the one who asks.
    """
    visible = read_visible(text)
    now = now.astimezone(calendar.zone) if now else None
    tokens = _split_question(visible)
    languages = 0
    for token in tokens:
        languages |= _ALL if token.role and token.role in "YIniz" else _STRONG.get(token.text, 0)
        if token.role == "Q":
            languages = _ALL
    intervals: list[Interval] = []
    if languages:
        scores = _count_common([token.text for token in tokens])
        for place, vocabulary in enumerate(VOCABULARIES):
            if languages >> place & 1:
                is_known = scores[place] == max(scores)
                words = vocabulary.read(tokens, text, is_known=is_known)
                # "s" is a strong word because of "New Year's", and most often of another's.
                if not _RULE_ROLES.isdisjoint([word.role for word in words]):
                    intervals += _Reader(vocabulary, words, text, now, calendar).read()
    if _CJK.search(visible):
        intervals += find_cjk(visible, now=now, calendar=calendar)
    return _choose(intervals)[:MOST_INTERVALS]


def read_order_words(text: str) -> Iterator[list[Word]]:
    """Yield the words of a short text with their roles, in each language that it may be of.

    Languages in which it has no word of order are left out.
    """
    tokens = _split_question(text)
    names = [token.text for token in tokens]
    if _ORDER_WORDS.isdisjoint(names):
        return
    scores = _count_common(names)
    for vocabulary, score in zip(VOCABULARIES, scores, strict=True):
        if score == max(scores) and not vocabulary.orders.isdisjoint(names):
            yield vocabulary.read(tokens, text, is_known=True)


@lru_cache(maxsize=4)
def _split_question(text: str) -> tuple[Token, ...]:
    # The times and the order of a question are read one after the other.
    return tuple(split_tokens(text, _KNOWN_BEFORE_HYPHEN))


def _count_common(names: Sequence[str]) -> list[int]:
    """Return how many of the words each language has among its common ones."""
    return [sum(map(item.common.__contains__, names)) for item in VOCABULARIES]


def _choose(readings: Sequence[Interval]) -> tuple[Interval, ...]:
    """Return the intervals of the longest words, and all of the same words."""
    chosen: list[Interval] = []
    for item in sorted(readings, key=lambda item: (item.span[0] - item.span[1], item.span[0])):
        rivals = [it for it in chosen if it.span[0] < item.span[1] and item.span[0] < it.span[1]]
        days = (item.first, item.last, item.span)
        if any((it.first, it.last, it.span) == days for it in rivals):
            continue  # two languages read the same
        is_helper = item.reading == HELPER
        # A day that helps to name others ("the week before 9 June") lies inside their words.
        if all(it.span == item.span or (is_helper and it.span[1] == item.span[1]) for it in rivals):
            chosen.append(item)
    return tuple(sorted(chosen, key=lambda item: (item.span, -item.confidence)))


_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_YEAR = r"(?:\.?[,-]?[od]*J?(?P<y>Y)J?)?"
_DAY_MONTH = re.compile(
    r"(?:[Wv][,.]?[df]*)?(?:(?P<r>r)|(?P<d>[DO])\.?(?:(?P<link>[-tu&|])[df]*(?P<d2>[DO]))?)\.?"
    rf"[od-]*(?P<m>M){_YEAR}"
)
_MONTH_DAY = re.compile(
    r"(?:[Wv][,.]?d?)?(?P<m>M)\.?d?(?:(?P<r>r)|(?P<d>D)(?:(?P<link>[-tu&|])[df]*(?P<d2>D))?)"
    rf"{_YEAR}"
)
_MONTH_YEAR = re.compile(r"(?P<m>M)\.?[,-]?[od]*J?(?P<y>Y)J?")
_MONTH = re.compile(r"(?P<m>M)")
_SEASON_YEAR = re.compile(r"(?P<s>S),?[ods]*J?(?:(?P<y>Y)(?:[-t]d?(?P<y2>Y))?J?|(?P<z>z)J?)")
_QUARTER = re.compile(r"(?:(?P<q>Q)|d?(?P<o>[OD])\.?K)(?:,?[od]*J?(?P<y>Y)J?)?")
_YEAR_ALONE = re.compile(r"(?P<j>J)?(?P<y>[Yz])(?P<j2>J)?")
_DECADE = re.compile(r"d?J?(?P<i>i)J?")
_NUMERIC = re.compile(r"(?:[Wv][,.]?[df]*)?(?P<n>[In])")
_DOTTED = re.compile(r"(?P<lead>[fqstubyakUW])d?(?P<n>j)")
_WEEKDAY = re.compile(r"(?P<w>[Wv])T?")
_WEEKDAY_LIST = re.compile(r"[Wv]T?[&|,]+[df]*$")
_RELATIVE = re.compile(
    r"(?P<n>[UJKWvSMF])(?P<which>[lxBC])T?|(?P<which2>[LPXBC])[do]?(?P<n2>[UJKWvSMF])(?:-?c)?T?"
)
_WEEKDAY_OF_WEEK = re.compile(
    r"[df]*(?P<w>[Wv])T?,?[odfe]*(?:(?P<l>[LBPXC])(?P<u>U)|(?P<u2>U)(?P<l2>[lBxC]))"
    r"|(?:(?P<l3>[LBPXC])(?P<u3>U)|(?P<u4>U)(?P<l4>[lBxC])),?[df]*(?P<w2>[Wv])T?"
)
_AGO = re.compile(
    r"(?:(?P<n0>[ND])(?P<or>[|&t-]))?(?P<n>[NDHV])?(?P<u>[UJK])A"
    r"|[Gp](?:(?P<m0>[ND])(?P<or2>[|&t-]))?(?P<n2>[NDHV])?(?P<u2>[UJK])"
)
_RECENT = re.compile(
    r"(?P<lead>[eh]?)(?P<d>d?)(?:(?P<last>[LBl])(?P<n>[NDHV])?(?P<u>[UJK])|(?P<n2>[NDHV])[LBl](?P<u2>[UJK]))"
    r"|(?P<lead3>[eh]?)(?P<d3>d?)(?P<n3>[NDHV])(?P<u3>[UJK])[lB]"
)
_NAMED = re.compile(r"(?P<r>[RE])T?")
_FEAST = re.compile(r"(?P<which>[LPXBC])?d*(?P<f>F)(?P<which2>[lxBC])?(?:,?[od]*J?(?P<y>Y)J?)?")
_DAY_OF_MONTH = re.compile(
    r"(?P<d>D)\.?[odf]*(?:(?P<which>[LPBXC])(?P<u>U)|(?P<u2>U)(?P<which2>[lBxC]))"
)

_LINK = re.compile(r"[df]*(?P<link>[-tu&|])[dfe]*")
_OPENER = re.compile(r"(?P<opener>[kqsoe])[df]*$")
_PART = re.compile(r"(?P<part>g)-?[od]*$")
_WEEK_OF = re.compile(r"d?(?P<u>U)(?P<how>[oqsfd]+)$")
_BESIDE = re.compile(r"d?L?(?P<n>[NDV])?(?P<u>[UJKWv])o?(?P<side>[bap])[od]*$")
_OPERATOR = re.compile(r"(?P<operator>[sbauyqp])[edfo]*$")
_IN_SENTENCE = re.compile(r"[^\s.!?:;\"'\u201c\u2018(]\s*$")
_CLAUSE_END = re.compile(r"\s*(?:[,.;:?!)]|$)")
_SURE_LEADS = frozenset("esug")
_PEOPLES_LEADS = frozenset("qybaohk")


class _Reader:
    """Reader of one question in one language."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        words: Sequence[Word],
        text: str,
        now: datetime | None,
        calendar: Calendar,
    ) -> None:
        self.vocabulary = vocabulary
        self.table = vocabulary.table
        self.words = words
        self.roles = "".join([word.role for word in words])
        self.text = text
        self.now = now
        self.today = now.date() if now else None
        self.calendar = calendar
        names = [word.text.lower() for word in words]
        joined = f" {' '.join(names)} "
        self.is_future = any(form in joined for form in vocabulary.future) and not any(
            name in vocabulary.past for name in names
        )

    def read(self) -> Iterator[Interval]:
        """Yield the intervals of the question."""
        readings: list[Reading] = []
        for pattern, read in _RULES:
            for match in pattern.finditer(self.roles):
                readings += read(self, match)
        chosen = self._choose(readings)
        for reading in self._join(chosen):
            for item in self._apply_words_before(reading):
                yield self._finish(item)

    def _choose(self, readings: list[Reading]) -> list[Reading]:
        """Return the longest of readings that overlap, and all of the same words."""
        chosen: list[Reading] = []
        places: dict[int, tuple[int, int]] = {}
        readings.sort(key=lambda it: (it.is_weak, it.start - it.stop, it.start))
        for item in readings:
            place = (item.start, item.stop)
            if all(places.get(word, place) == place for word in range(*place)):
                if item not in chosen:
                    chosen.append(item)
                places |= dict.fromkeys(range(*place), place)
        chosen.sort(key=lambda it: (it.start, it.stop))
        return chosen

    # Rules: each reads the words that its pattern matches.

    def day_month(self, match: re.Match[str]) -> Iterator[Reading]:
        """Read "3 May 2023", "May 3-7", "Friday, the 3rd of May"."""
        month_word = self.words[match.start("m")]
        month = month_word.value
        year_word = self._word(match, "y")
        year = year_word.value if year_word else ANY_YEAR
        link = match["link"]
        if match["r"]:
            numbers = list(self.words[match.start("r")].value)
            link, is_ordinal = "-", False
        else:
            parts = [self.words[match.start(name)] for name in ("d", "d2") if match[name]]
            numbers = [word.value if word.role == "O" else word.value[0] for word in parts]
            is_ordinal = any(word.role == "O" or word.value[1] for word in parts)
            if any(word.role == "O" for word in parts) and numbers != [1]:
                return  # "the second May" is none
        if not year_word and not is_ordinal and not self._is_month(match, month_word):
            return
        try:
            days = [date(year, month, number) for number in numbers]
        except ValueError:
            return  # 31 June
        start, stop = match.span()
        reading = "day of that year" if year_word else "the latest such day"
        any_year = not year_word
        if any_year and self.today and self.roles[start] in "Wv" and len(days) == 1:
            # The weekday may say which year is meant.
            weekday = self.words[start].value
            for there in range(self.today.year, self.today.year - 8, -1):
                day = move_to_year((days[0], days[0]), there)[0]
                if day <= self.today and day.weekday() == weekday and day.day == days[0].day:
                    days, any_year, reading = [day], False, "the latest such weekday and day"
                    break
        is_range = len(days) > 1 and (
            link not in "&|" or self.roles[:start].rstrip("df").endswith("k")
        )
        if is_range and days[0] > days[1]:
            return
        stretches = [(days[0], days[-1])] if is_range else [(day, day) for day in days]
        for stretch in stretches:
            yield Reading(
                days=stretch,
                grain="range" if is_range else "day",
                start=start,
                stop=stop,
                reading=FROM_TO if is_range else reading,
                any_year=any_year,
            )

    def month_day(self, match: re.Match[str]) -> Iterator[Reading]:
        """Read "May 3, 2023" in languages that write the month first."""
        if self.table.month_first:
            yield from self.day_month(match)

    def _is_month(self, match: re.Match[str], word: Word) -> bool:
        """Return False if "may" or "march" could be something else than a month."""
        if word.text.lower() not in self.vocabulary.verbs:
            return True
        text, start, end = self.text, word.start, self.words[match.end() - 1].end
        if word.text[0].isupper() and _IN_SENTENCE.search(text, max(0, start - 40), start):
            return True
        lead = self.roles[: match.start()].rstrip("d")[-1:]
        return (lead != "" and lead in "fqsubayk") or bool(_CLAUSE_END.match(text, end))

    def month_year(self, match: re.Match[str]) -> Iterator[Reading]:
        """Read "May 2023"."""
        days = month_days(self._value(match, "y"), self._value(match, "m"))
        yield Reading(days=days, grain="month", start=match.start(), stop=match.end())

    def month(self, match: re.Match[str]) -> Iterator[Reading]:
        """Read a month without day and year if the word before it leaves no doubt."""
        word = self.words[match.start()]
        lead = self.roles[: match.start()].rstrip("d-")[-1:]
        name = word.text.lower()
        is_sure = lead in _SURE_LEADS
        is_strong = lead != "" and lead in self.table.month_leads
        if name in self.vocabulary.verbs and word.text.islower() and not is_sure:
            is_strong = False
        is_odd = {"always": str.islower, "never": str.istitle}.get(self.table.capital)
        if is_odd and is_odd(word.text) and not (self.table.capital == "always" and is_sure):
            is_strong = False
        if name in self.vocabulary.people and lead in _PEOPLES_LEADS:
            is_strong = lead in "bay" and bool(_CLAUSE_END.match(self.text, word.end))
        yield Reading(
            days=month_days(ANY_YEAR, word.value),
            grain="month",
            start=match.start(),
            stop=match.end(),
            reading="the latest such month",
            any_year=True,
            is_weak=not is_strong,
        )

    def season_year(self, match: re.Match[str]) -> Iterator[Reading]:
        """Read "summer 2023", "winter 2023/24"."""
        year = self.words[match.start("z")].value[0] if match["z"] else self._value(match, "y")
        days = season_days(year, self._value(match, "s"), self.calendar.hemisphere)
        yield Reading(days=days, grain="season", start=match.start(), stop=match.end())

    def quarter(self, match: re.Match[str]) -> Iterator[Reading]:
        """Read "Q3 2024", "the third quarter of 2024", "in Q3"."""
        if match["q"]:
            number = self._value(match, "q")
        else:
            word = self.words[match.start("o")]
            number = word.value if word.role == "O" else word.value[0]
        if number > 4:  # noqa: PLR2004
            return
        lead = self.roles[: match.start()].rstrip("d")[-1:]
        if not match["y"] and not (lead and lead in "esubqkyaf"):
            return
        year = self._value(match, "y") if match["y"] else ANY_YEAR
        yield Reading(
            days=quarter_days(year, number),
            grain="quarter",
            start=match.start(),
            stop=match.end(),
            reading=f"quarter {number}",
            any_year=not match["y"],
        )

    def year(self, match: re.Match[str]) -> Iterator[Reading]:
        """Read a year after a word like "in", or two that are linked."""
        word = self.words[match.start("y")]
        lead = self.roles[: match.start()].rstrip("d")[-1:]
        article = self.roles[match.start() - 1 : match.start()] if match.start() else ""
        is_led = bool(lead and lead in self.table.year_leads) or (
            article == "d" and "d" in self.table.year_leads
        )
        if self._is_counted(match.end()):
            return
        is_strong = is_led or bool(match["j"] or match["j2"])
        first, last = word.value, word.value
        if word.role == "z":
            first, last, is_whole = word.value
            if not is_whole and not is_strong:
                return
            is_strong = True
        yield Reading(
            days=(date(first, 1, 1), date(last, 12, 31)),
            grain="range" if word.role == "z" else "year",
            start=match.start(),
            stop=match.end(),
            is_weak=not is_strong,
        )

    def _is_counted(self, place: int) -> bool:
        """Return whether the word there is a thing that numbers count."""
        if place >= len(self.words):
            return False
        after = self.words[place].text.lower()
        return after in self.vocabulary.counted

    def decade(self, match: re.Match[str]) -> Iterator[Reading]:
        """Read "in the 1990s"."""
        lead = self.roles[: match.start()].rstrip("d")[-1:]
        if lead and lead in "esubag":
            first = self._value(match, "i")
            yield Reading(
                days=(date(first, 1, 1), date(first + 9, 12, 31)),
                grain="range",
                start=match.start("i"),
                stop=match.end(),
                reading="decade",
            )

    def numeric(self, match: re.Match[str]) -> Iterator[Reading]:
        """Read 2023-05-07, 7.5.2023, and both readings of 07/05/2023."""
        word = self.words[match.start("n")]
        start, stop = match.span()
        for item in self._numeric_days(word):
            yield Reading(
                days=item.days,
                grain=item.grain,
                start=start,
                stop=stop,
                reading=item.reading,
                confidence=item.confidence,
            )

    def _numeric_days(self, word: Word) -> Sequence[NumericDate]:
        if word.role == "I":
            return word.value
        one, two, year, is_dotted = word.value
        orders = {"day/month": (one, two), "month/day": (two, one)}
        dates: list[NumericDate] = []
        for reading, (day, month) in orders.items():
            if is_dotted and reading == "month/day":
                continue
            try:
                there = date(year or ANY_YEAR, month, day)
            except ValueError:
                continue  # 05/17/2023 can only be month/day
            if not dates or dates[0].days != (there, there):
                dates.append(NumericDate((there, there), "day", reading))
        if len(dates) == 1:
            return dates
        order = {"dmy": "day/month", "mdy": "month/day"}.get(self.calendar.date_order)
        if order:
            return [item for item in dates if item.reading == order]
        return [item._replace(confidence=LIKELY) for item in dates]

    def dotted(self, match: re.Match[str]) -> Iterator[Reading]:
        """Read "am 3.5." and "am 3.5.23", which may be versions without a word before them."""
        word = self.words[match.start("n")]
        is_short = word.value[2] is None
        if is_short and self.text[word.end : word.end + 1] != ".":
            return
        for item in self._numeric_days(word):
            yield Reading(
                days=item.days,
                grain="day",
                start=match.start("n"),
                stop=match.end(),
                reading=item.reading,
                any_year=is_short,
            )

    def weekday(self, match: re.Match[str]) -> Iterator[Reading]:
        """Read "on Friday", and in some languages a weekday without a word before it."""
        if self.today is None:
            return
        word = self.words[match.start("w")]
        before = self.roles[: match.start()]
        lead = before.rstrip("d")[-1:]
        leads = self.table.weekday_leads
        if word.role == "v" and not (word.text[0].isupper() and lead and lead in leads):
            return
        is_strong = bool(lead) and (lead in leads or lead in "sbauqky")
        if " " in leads and not is_strong:
            is_strong = before[-1:] not in {"d", "f", "!", "P"}
        # "on Friday and Saturday"
        chain = _WEEKDAY_LIST.search(before)
        if not is_strong and chain:
            is_strong = before[: chain.start()].rstrip("d")[-1:] in leads
        latest = weekday_before(self.today + timedelta(days=1), word.value)
        if self.roles[match.end() : match.end() + 1] == "!":
            return  # "on Friday evenings"
        if self.is_future:
            latest += timedelta(days=7)
        yield Reading(
            days=(latest, latest),
            grain="day",
            start=match.start(),
            stop=match.end(),
            reading=f"the latest {latest:%A}" if latest <= self.today else f"the next {latest:%A}",
            confidence=LIKELY if latest <= self.today else NEVER,
            is_weak=not is_strong,
        )

    def relative(self, match: re.Match[str]) -> Iterator[Reading]:
        """Read "last Tuesday", "this month", "next summer"."""
        if self.today is None:
            return
        word = self.words[match.start("n" if match["n"] else "n2")]
        if match["which2"] == "P" and self.roles[match.end() : match.end() + 1] in {"D", "H"}:
            return  # "this week 1 of the plan"
        step = {"L": -1, "l": -1, "B": -1, "P": 0, "X": 1, "x": 1, "C": 1}[
            match["which"] or match["which2"]
        ]
        if word.role in "UJK":
            if word.value.is_many or word.value.name in {"day", "hour"} or word.value.factor > 1:
                return
            days, grain = self._unit_days(word.value.name, step)
        elif word.role in "Wv":
            days, grain = self._weekday_days(word.value, step), "day"
        elif word.role == "S":
            days, grain = self._season_days(word.value, step), "season"
        elif word.role == "M":
            days, grain = self._month_days(word.value, step), "month"
        else:
            return  # feasts have a rule of their own
        which = {-1: "last", 0: "this", 1: "next"}[step]
        name = f"calendar {grain}" if word.role in "UJK" else grain
        yield Reading(
            days=days,
            grain=grain,
            start=match.start(),
            stop=match.end(),
            reading=f"{which} {name}",
            confidence=SURE if days[0] <= self.today else NEVER,
        )

    def _unit_days(self, unit: str, step: int) -> tuple[Days, Grain]:
        assert self.today is not None
        there = add_units(self.today, unit, step)
        if unit == "week":
            return week_days(there, self.calendar.week_start), "week"
        if unit == "weekend":
            return weekend_days(there), "weekend"
        if unit == "month":
            return month_days(there.year, there.month), "month"
        if unit == "quarter":
            return quarter_days(there.year, (there.month + 2) // 3), "quarter"
        return year_days(there.year), "year"

    def _weekday_days(self, weekday: int, step: int) -> Days:
        assert self.today is not None
        if step < 0:
            day = weekday_before(self.today, weekday)
        elif step == 0:
            first, _ = week_days(self.today, self.calendar.week_start)
            day = first + timedelta(days=(weekday - first.weekday()) % 7)
        else:
            # On a Monday, the last Monday is a week ago and the next one a week ahead.
            weeks = 2 if self.today.weekday() == weekday else 1
            day = weekday_before(self.today, weekday) + timedelta(weeks=weeks)
        return day, day

    def _month_days(self, month: int, step: int) -> Days:
        assert self.today is not None
        year = self.today.year
        if step < 0:
            year -= month >= self.today.month
        else:
            year += step > 0 and month <= self.today.month
        return month_days(year, month)

    def _season_days(self, month: int, step: int) -> Days:
        assert self.today is not None
        years = range(self.today.year - 2, self.today.year + 3)
        nearby = [season_days(year, month, self.calendar.hemisphere) for year in years]
        if step < 0:
            return [days for days in nearby if days[1] < self.today][-1]
        return next(days for days in nearby if (days[0] if step else days[1]) >= self.today)

    def weekday_of_week(self, match: re.Match[str]) -> Iterator[Reading]:
        """Read "Tuesday of last week"."""
        names = [name for name in ("u", "u2", "u3", "u4") if match[name]]
        which = match["l"] or match["l2"] or match["l3"] or match["l4"]
        word = self.words[match.start(names[0])]
        if self.today is None or word.value != Unit("week"):
            return
        step = {"P": 0, "X": 1, "x": 1, "C": 1}.get(which, -1)
        first, _ = week_days(self.today + timedelta(weeks=step), self.calendar.week_start)
        weekday = self._value(match, "w" if match["w"] else "w2")
        day = first + timedelta(days=(weekday - first.weekday()) % 7)
        yield Reading(
            days=(day, day),
            grain="day",
            start=match.start(),
            stop=match.end(),
            reading="weekday of that calendar week",
            confidence=SURE if day <= self.today else NEVER,
        )

    def day_of_month(self, match: re.Match[str]) -> Iterator[Reading]:
        """Read "on the 5th of last month"."""
        unit = self.words[match.start("u" if match["u"] else "u2")].value
        if self.today is None or unit.name != "month" or unit.is_many:
            return
        which = match["which"] or match["which2"]
        step = {"P": 0, "X": 1, "x": 1, "C": 1}.get(which, -1)
        first, last = self._unit_days("month", step)[0]
        number = self._value(match, "d")[0]
        if number <= last.day:
            day = first.replace(day=number)
            yield Reading(
                days=(day, day),
                grain="day",
                start=match.start(),
                stop=match.end(),
                confidence=SURE if day <= self.today else NEVER,
            )

    def ago(self, match: re.Match[str]) -> Iterator[Reading]:
        """Read "two weeks ago", "a few months ago"."""
        if self.today is None or self.now is None:
            return
        is_before = match["u"] is None
        unit: Unit = self._value(match, "u2" if is_before else "u")
        number = self._word(match, "n2" if is_before else "n")
        first = self._word(match, "m0" if is_before else "n0")
        if number is None and is_before and not unit.is_many:
            return
        count, slack = self._count(number, unit)
        most, least = count + slack, count - slack
        if first is not None:
            least = min(least, self._count(first, unit)[0])
        most, least = most * unit.factor, least * unit.factor
        try:
            earliest = add_units(self.today, unit.name, -most)
            latest = add_units(self.today, unit.name, -least)
        except (ValueError, OverflowError):
            return  # before the first year of the calendar
        is_vague = most != least
        grain = UNIT_GRAINS[unit.name]
        if unit.name == "hour":
            earliest = (self.now - timedelta(hours=most)).date()
            latest = (self.now - timedelta(hours=least)).date()
        elif unit.name == "week":
            earliest, latest = earliest - WEEK_SLACK, latest + WEEK_SLACK
        elif unit.name == "weekend":
            earliest, latest = weekend_days(earliest)[0], weekend_days(latest)[1]
        elif unit.name == "month":
            earliest = earliest.replace(day=1)
            latest = month_days(latest.year, latest.month)[1]
        elif unit.name == "year":
            earliest, latest = date(earliest.year, 1, 1), date(latest.year, 12, 31)
        yield Reading(
            days=(earliest, latest),
            grain="range" if is_vague else grain,
            start=match.start(),
            stop=match.end(),
            reading=f"{f'{least} to ' if is_vague else ''}{most} {unit.name}s ago",
            confidence=LIKELY if is_vague else SURE,
        )

    def recent(self, match: re.Match[str]) -> Iterator[Reading]:
        """Read "in the past two weeks", "over the last year", "the last few days"."""
        if self.today is None:
            return
        suffix = "" if match["u"] else "2" if match["u2"] else "3"
        unit: Unit = self._value(match, f"u{suffix}")
        number = self._word(match, f"n{suffix}")
        if number is None and not unit.is_many:
            lead = match["lead"] or ""
            # "over the last week", "el último mes"; but "la semana pasada" is that of the calendar.
            is_rolling = match["last"] == "l" or (self.table.is_rolling and lead and match["d"])
            if not is_rolling or unit.name in {"weekend", "hour"}:
                return
        count, slack = self._count(number, unit)
        try:
            first = add_units(self.today, unit.name, -(count + slack) * unit.factor)
        except (ValueError, OverflowError):
            return
        yield Reading(
            days=(first, self.today),
            grain="range",
            start=match.start(),
            stop=match.end(),
            reading=f"the last {count + slack} {unit.name}s",
            confidence=LIKELY if slack else SURE,
        )

    def _count(self, word: Word | None, unit: Unit) -> tuple[int, int]:
        """Return how many units a phrase counts, and by how many that may be wrong."""
        if word is None:
            return FEW if unit.is_many else (1, 0)
        if word.role == "N":
            return word.value, 0
        return word.value if word.role == "V" else (word.value[0], 0)

    def named(self, match: re.Match[str]) -> Iterator[Reading]:
        """Read "yesterday", "tonight", "the other day"."""
        if self.today is None or self.now is None:
            return
        word = self.words[match.start("r")]
        first = last = self.today
        grain: Grain = "day"
        confidence, reading = SURE, word.text
        if word.role == "E":
            first, last = self.today - timedelta(days=RECENT_DAYS), self.today - timedelta(days=1)
            grain, confidence, reading = "range", VAGUE, "the last two weeks"
        elif word.value is None:
            confidence = LIKELY if self.now.hour >= EVENING else NEVER
        else:
            first = last = self.today - timedelta(days=word.value)
            confidence = SURE if word.value >= 0 else NEVER
        yield Reading(
            days=(first, last),
            grain=grain,
            start=match.start(),
            stop=match.end(),
            reading=reading,
            confidence=confidence,
        )

    def feast(self, match: re.Match[str]) -> Iterator[Reading]:
        """Read "Easter 2024", "last Christmas", "at Halloween"."""
        name: str = self._value(match, "f")
        which = match["which"] or match["which2"] or ""
        lead = self.roles[: match.start()].rstrip("d")[-1:]
        if not match["y"] and not which and not (lead and lead in "efhsbauykqtpL"):
            return
        find_day = FEAST_DAYS[name]
        confidence = FEAST
        if match["y"]:
            day = find_day(self._value(match, "y"))
        else:
            if self.today is None:
                return
            years = range(self.today.year - 1, self.today.year + 2)
            nearby = [find_day(year) for year in years]
            if which in {"X", "x", "C"} or (self.is_future and not which):
                day = next(day for day in nearby if day > self.today)
                confidence = NEVER
            else:
                # "At Christmas", asked on that day, is this one, and "last Christmas" another.
                edge = self.today - timedelta(days=1) if which in {"L", "l", "B"} else self.today
                day = [day for day in nearby if day <= edge][-1]
        yield Reading(
            days=(day - FEAST_SLACK, day + FEAST_SLACK),
            grain="range",
            start=match.start("which") if match["which"] else match.start("f"),
            stop=match.end(),
            reading=f"2 days either side of {day}",
            confidence=confidence,
            anchor=day,
        )

    def _word(self, match: re.Match[str], name: str) -> Word | None:
        return self.words[match.start(name)] if match[name] else None

    def _value(self, match: re.Match[str], name: str) -> Any:
        return self.words[match.start(name)].value

    # Words before and between the readings.

    def _join(self, readings: Sequence[Reading]) -> list[Reading]:
        """Return the readings, "from A to B" as one range, with the year that "A and B" share."""
        joined: list[Reading] = []
        for reading in readings:
            second = reading
            first = joined[-1] if joined else None
            link = (
                _LINK.fullmatch(self.roles, first.stop, second.start)
                if first and first.stop < second.start
                else None
            )
            if first is None or link is None or "range" in {first.grain, second.grain}:
                joined.append(second)
                continue
            opener = _OPENER.search(self.roles, 0, first.start)
            word = link["link"]
            # "A to B" means all days between them, "A and B" only after "between", "A or B" never.
            is_range = word != "|" and (word != "&" or (opener is not None and opener[1] == "k"))
            is_even = first.grain == second.grain
            if first.is_weak and second.is_weak and not (is_range and opener and is_even):
                joined.append(second)
                continue
            if (first.is_weak or second.is_weak) and not is_range and not is_even:
                joined.append(second)
                continue
            first, second = _share_year(first, second)
            if is_range and first.days[0] <= second.days[1]:
                start = first.start
                joined[-1] = replace(
                    first,
                    days=(first.days[0], second.days[1]),
                    grain="range",
                    start=start,
                    stop=second.stop,
                    reading=FROM_TO,
                    confidence=min(first.confidence, second.confidence),
                    is_weak=False,
                )
            else:
                joined[-1:] = (replace(first, is_weak=False), replace(second, is_weak=False))
        return [item for item in joined if not item.is_weak]

    def _apply_words_before(self, item: Reading) -> Iterator[Reading]:
        """Yield what the words before a time make of it: "mid", "the week of", "since"."""
        part = _PART.search(self.roles, 0, item.start)
        is_joined = item.reading == FROM_TO
        if part and item.grain == "month":
            first, last = PARTS[self.words[part.start()].value]
            item = replace(
                item,
                days=(
                    item.days[0].replace(day=first),
                    item.days[0].replace(day=min(last, item.days[1].day)),
                ),
                grain="range",
                start=part.start(),
                reading=f"{self.words[part.start()].value} part of the month",
            )
        elif part:
            item = replace(item, start=part.start())
        week = _WEEK_OF.search(self.roles, 0, item.start)
        anchor = item.anchor or (self._latest(item)[0] if item.grain == "day" else None)
        if week and anchor and self.words[week.start("u")].value == Unit("week"):
            is_from = any(role in "qs" for role in week["how"])
            days = (
                (anchor, anchor + timedelta(days=6))
                if is_from
                else week_days(anchor, self.calendar.week_start)
            )
            reading = "7 days from it" if is_from else "the calendar week around it"
            yield replace(
                item, days=days, grain="week", start=week.start(), reading=reading, anchor=None
            )
            yield replace(item, confidence=NEVER, reading=HELPER)
            return
        beside = _BESIDE.search(self.roles, 0, item.start)
        if beside and anchor and (days := self._days_beside(beside, anchor, item.any_year)):
            yield replace(
                item,
                days=days,
                grain="day" if days[0] == days[1] else "range",
                start=beside.start(),
                reading=f"next to {anchor}",
                anchor=None,
            )
            yield replace(item, confidence=NEVER, reading=HELPER)
            return
        operator = _OPERATOR.search(self.roles, 0, item.start)
        # "From" and "since" have already opened a range that names its end.
        is_open = operator is not None and not (is_joined and operator[1] in "qsu")
        if operator and is_open and self.today and item.confidence:
            yield self._bound(item, operator)
        else:
            yield item

    def _days_beside(self, match: re.Match[str], day: date, any_year: bool) -> Days | None:
        """Return the days of "the week before", "two days after" or "the Friday before" a day."""
        word = self.words[match.start("u")]
        is_after = match["side"] == "a"
        # "The Friday before 9 June" is a different day every year.
        if word.role in "Wv":
            if any_year:
                return None
            first = weekday_before(day + timedelta(days=8 if is_after else 0), word.value)
            return first, first
        unit: Unit = word.value
        if unit.name == "weekend":
            if any_year:
                return None
            first = weekday_before(day + timedelta(days=8 if is_after else 0), 5)
            return first, first + timedelta(days=1)
        if unit.name == "hour":
            return None
        count = self._word(match, "n")
        steps = unit.factor * (1 if is_after else -1)
        if count:
            number, slack = self._count(count, unit)
            near = add_units(day, unit.name, (number - slack) * steps)
            far = add_units(day, unit.name, (number + slack) * steps)
            return min(near, far), max(near, far)
        one = timedelta(days=1)
        edge = add_units(day, unit.name, steps)
        return (day + one, edge) if is_after else (edge, day - one)

    def _bound(self, item: Reading, match: re.Match[str]) -> Reading:
        """Return the time that begins or ends where "since", "before", "after" or "by" say."""
        assert self.today is not None
        role = match["operator"]
        start, any_year = match.start(), False
        first, last = self._latest(item)
        if role == "y":
            return replace(item, bounds_end=True, confidence=NEVER, reading="the end of the time")
        if role in "sq":
            days, reading = (first, self.today), "until today"
        elif role == "a":
            days, reading = (last + timedelta(days=1), self.today), "from the day after until today"
        elif role == "u":
            days, reading = (EARLIEST, last), "until then"
        else:
            days, reading = (EARLIEST, first - timedelta(days=1)), "before it"
        if days[0] > days[1]:
            return item
        return replace(
            item,
            days=days,
            grain="range",
            start=start,
            any_year=any_year,
            reading=reading,
            confidence=LIKELY,
            anchor=None,
        )

    def _latest(self, item: Reading) -> Days:
        """Return the latest such days that begin before tomorrow; the next ones if the question is
        about the future."""
        if not item.any_year or self.today is None:
            return item.days
        return latest_days(item.days, self.today, is_future=self.is_future)

    def _finish(self, item: Reading) -> Interval:
        days = self._latest(item)
        confidence = item.confidence
        if item.any_year and self.today:
            confidence = min(confidence, LIKELY)
        if self.today and days[0] > self.today:
            confidence = NEVER
        span = (self.words[item.start].start, self.words[item.stop - 1].end)
        return Interval(
            first=days[0],
            last=days[1],
            grain=item.grain,
            confidence=confidence,
            reading=item.reading or item.grain,
            text=self.text[slice(*span)],
            span=span,
            any_year=item.any_year,
            bounds_end=item.bounds_end,
        )


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


_Rule = Callable[[_Reader, re.Match[str]], Iterator[Reading]]
_RULE_ROLES = frozenset("MSQKYziInjWvUJREF")
"""Roles of which each rule needs one."""

_RULES: tuple[tuple[re.Pattern[str], _Rule], ...] = (
    (_DAY_MONTH, _Reader.day_month),
    (_MONTH_DAY, _Reader.month_day),
    (_MONTH_YEAR, _Reader.month_year),
    (_MONTH, _Reader.month),
    (_SEASON_YEAR, _Reader.season_year),
    (_QUARTER, _Reader.quarter),
    (_YEAR_ALONE, _Reader.year),
    (_DECADE, _Reader.decade),
    (_NUMERIC, _Reader.numeric),
    (_DOTTED, _Reader.dotted),
    (_WEEKDAY, _Reader.weekday),
    (_RELATIVE, _Reader.relative),
    (_WEEKDAY_OF_WEEK, _Reader.weekday_of_week),
    (_DAY_OF_MONTH, _Reader.day_of_month),
    (_AGO, _Reader.ago),
    (_RECENT, _Reader.recent),
    (_NAMED, _Reader.named),
    (_FEAST, _Reader.feast),
)
