"""A question as a string of roles, and what the rules that read it share."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from memsense.search.question.time.calendar import Calendar
from memsense.search.question.time.interval import (
    LIKELY,
    NEVER,
    SURE,
    Days,
    Grain,
    Interval,
    latest_days,
)
from memsense.search.question.time.tables import read_forms
from memsense.search.question.time.vocabulary import Vocabulary, Word

YEAR = r"(?:J?(?P<y{0}>[Yz])J?|(?P<last{0}>[LPXBCm])J|J(?P<behind{0}>[lxBCm])|(?P<named{0}>=))"
YEAR_BEFORE = rf"(?:{YEAR.format(1)}(?:(?<=[J=])[oedf,]*|,?[edf]+))?"
YEAR_BEHIND = rf"(?:\.?[,-]?[od]*{YEAR.format(2)})?"
"""A year next to another time, by its number or as "last year"."""


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


class Sentence:
    """A question in one language, with its words and their roles."""

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
        self.calendar = calendar
        blank = "" if self.table.is_behind else " "
        names = [word.text.lower() for word in words]
        joined = f" {' '.join(names)} " if blank else text
        self.is_past = any(name in self.vocabulary.past for name in names)
        self.is_future = not self.is_past and any(
            f"{blank}{form}{blank}" in joined for form in read_forms(self.table.future)
        )

    @property
    def today(self) -> date:
        """Return the day of asking; raise ValueError, which ends a rule, if it is unknown."""
        if self.now is None:
            raise ValueError("the time of asking is unknown")
        return self.now.date()

    def word(self, match: re.Match[str], *names: str) -> Word | None:
        """Return the first word of the first of these groups that matched."""
        return next((self.words[match.start(name)] for name in names if match[name]), None)

    def value(self, match: re.Match[str], *names: str) -> Any:
        """Return the value of the first of these groups that matched, None if none did."""
        word = self.word(match, *names)
        return word and word.value

    def year(self, match: re.Match[str]) -> int | None:
        """Return the year that a match of `YEAR_BEFORE` or `YEAR_BEHIND` names, if any."""
        for place in "21":
            if f"y{place}" not in match.re.groupindex:
                continue
            if word := self.word(match, f"y{place}"):
                return word.value if word.role == "Y" else word.value[0]
            if word := self.word(match, f"named{place}"):
                return self.today.year - word.value
            if word := self.word(match, f"last{place}", f"behind{place}"):
                return self.today.year + word.value
        return None

    def lead(self, place: int) -> str:
        """Return the role of the word before a place, without articles; "" at the beginning."""
        return self.roles[:place].rstrip("d-")[-1:]

    def is_led(self, place: int, leads: str) -> bool:
        """Return whether the word before a place has one of these roles; " " asks for none."""
        lead = self.lead(place)
        return (lead != "" and lead in leads) or (" " in leads and lead != "!")

    def reading(
        self, match: re.Match[str], days: Days, grain: Grain, reading: str = "", **changes: Any
    ) -> Reading:
        """Return a reading of the words that a rule matched."""
        places: dict[str, Any] = {"start": match.start(), "stop": match.end()}
        return Reading(days=days, grain=grain, reading=reading, **(places | changes))

    def latest_day(self, weekday: int | None, number: int) -> date:
        """Return the latest day of this number in its month, and on this weekday if not None."""
        days = (self.today - timedelta(days=shift) for shift in range(3000))
        return next(it for it in days if it.day == number and weekday in {None, it.weekday()})

    def latest(self, item: Reading) -> Days:
        """Return the latest such days that begin before tomorrow; the next ones if the question is
        about the future."""
        if not item.any_year or self.now is None:
            return item.days
        return latest_days(item.days, self.today, is_future=self.is_future)

    def finish(self, item: Reading) -> Interval:
        """Return the interval of a reading."""
        days = self.latest(item)
        confidence = item.confidence
        if item.any_year and self.now:
            confidence = min(confidence, LIKELY)
        if self.now and days[0] > self.today:
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
