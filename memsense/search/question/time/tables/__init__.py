"""Words by which languages name times, a table for each language."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Words of a language that name times. Alternatives are separated by "|".

    A word has one role, which `engine.py` writes as one letter. `roles` has the words that only
    join others, by these letters:

        e "in", f "on", s "since", b "before", a "after", u "until", y "by", h "for" and the like,
        k "between", q "from", t "to", & "and", | "or", o "of", d articles, c pronouns,
        L "last" before its noun, l behind it, B both, P "this", X "next" before, x behind, C both,
        m "last but one",
        ^ "right" of "right after", $ "the last time", % "the first time",
        A "ago" behind its number, G before it, p "vor" (before, ago), Z "in (two weeks)",
        T times of the day, _ "числа" behind the number of a day.

    Attributes:
        months: The twelve months in every form.
        weekdays: The weekdays from Monday on, in every form.
        short_weekdays: Their abbreviations; they count only next to a date or with a capital.
        seasons: Seasons by the month in which they begin in the north.
        units: Units of time by "day", "week", "weekend", "month", "quarter" and "year"; a count
            multiplies the unit ("2 week" for a fortnight).
        many: The same units in the plural without a number ("the last weeks").
        year: Words that stand next to a year's number ("the year 2021").
        numbers: Numbers in words.
        vague: Vague numbers, by count and by how much it may be wrong.
        ordinals: Ordinal numbers in words.
        roles: Words that join others, by their role.
        named: Named days by how many days ago they are.
        tonight: Phrases for what of today lies ahead.
        next_days: Words for the day after (1) or before (-1) another ("lendemain").
        recently: Phrases for a day of the last two weeks.
        feasts: Feasts by the names in `engine.py`.
        parts: Words for the parts of a month or year by the names in `interval.py`.
        decades: Decades in words, by their first year.
        counted: Nouns before which a number is no year.
        future: Words of a question about the future.
        past: Words of a question about the past; with one of them no word of the future counts.
        habits: Words before a weekday or unit that mean all of them ("every").
        common: Ordinary words by which the language is known.
        shared: Words that count only in a text that is known to be of this language.
        topicless: Words of a question that asks for nothing but a time.
        month_leads: Roles before a month that has neither day nor year.
        year_leads: Roles before a year.
        season_leads: Roles before a season that has no year.
        weekday_leads: Roles before a weekday; " " if it needs none.
        verbs: Names of months that are also verbs or nouns.
        people: Names of months that are also first names.
        capital: Whether months "always" or "never" have a capital; others are not read alone.
        month_first: Whether "May 7" is written.
        is_rolling: Whether "in the last week" means the last seven days.
    """

    months: tuple[str, ...]
    weekdays: tuple[str, ...]
    short_weekdays: tuple[str, ...] = ()
    seasons: Mapping[int, str]
    units: Mapping[str, str]
    many: Mapping[str, str] = field(default_factory=dict[str, str])
    year: str = ""
    numbers: Mapping[int, str]
    vague: Mapping[tuple[int, int], str]
    ordinals: Mapping[int, str]
    roles: Mapping[str, str]
    named: Mapping[int, str]
    tonight: str = ""
    next_days: Mapping[int, str] = field(default_factory=dict[int, str])
    recently: str = ""
    feasts: Mapping[str, str] = field(default_factory=dict[str, str])
    parts: Mapping[str, str]
    decades: Mapping[int, str] = field(default_factory=dict[int, str])
    counted: str
    future: str
    past: str = ""
    habits: str
    common: str
    shared: str = ""
    topicless: str
    month_leads: str
    year_leads: str
    season_leads: str = "e"
    weekday_leads: str
    verbs: str = ""
    people: str = ""
    capital: str = ""
    month_first: bool = False
    is_rolling: bool = False
