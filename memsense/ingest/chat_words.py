"""Words of dates and times in the languages of CLDR, for logs of chats and their heads."""

import json
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from memsense.ingest.options import DateOrder

HEADS = Path(__file__).parents[1] / "data" / "heads" / "heads.json"
"""The words; tools/locales.py writes them."""
NUMBER = re.compile(r"\d+")
MARK = re.compile("[\u061c\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
"""Marks of writing direction, and joiners, which exports set and leave out at will."""
_CUT = re.compile(r"[\s.,،:/()\[\]'\u2019\u2010-\u2015-]+")
_NO_HOUR = 24
_CLOCK = re.compile(r"(?P<before>\D*)(?P<hour>\d{1,2})\D{1,3}(?P<minute>\d{2})(?P<after>\D*)")


class Words(NamedTuple):
    """Months by their phrase, and hours.

    A month is 0 for a phrase that is none, negative if few languages mean another by it, and 13 if
    languages differ.

    The hours of a phrase are bits, 1 << 9 for nine o'clock; no bit is set for a phrase of no half.
    """

    months: dict[str, int]
    hours: dict[str, int]


@lru_cache(maxsize=1)
def read_words() -> Words:
    """Return the words of all languages."""
    data = json.loads(HEADS.read_text(encoding="utf-8"))
    parts: list[dict[str, int]] = []
    for name, base in (("months", 10), ("hours", 16)):
        phrases = ((int(key, base), value.split("|")) for key, value in data[name].items())
        parts.append({phrase: key for key, values in phrases for phrase in (*values, "")})
    months, hours = parts
    return Words(months | {"": 0}, hours | {"": 0})


@lru_cache(maxsize=4096)
def normalise_phrase(text: str) -> str:
    """Return the words between two numbers, without case, punctuation and marks of direction."""
    folded = unicodedata.normalize("NFKC", MARK.sub("", text)).casefold()
    return " ".join(filter(None, _CUT.split(folded)))


def read_hour(hour: int, before: str, after: str) -> int | None:
    """Return the hour of the day by the phrases around a time; 24 if they leave it open.

    None if the phrases are not known, or the hour is none of the halves that they name.
    """
    hours = read_words().hours
    if before not in hours or after not in hours:
        return None
    mask = hours[before] | hours[after]
    if not mask or hour > 12:  # noqa: PLR2004
        return None if mask or hour >= _NO_HOUR else hour
    options = [option for option in (hour % 12, hour % 12 + 12) if mask >> option & 1]
    return options[0] if len(options) == 1 else _NO_HOUR


def split_phrase(text: str) -> Iterator[tuple[str, str]]:
    """Yield each cut of a phrase between a date and a time: what belongs to either."""
    words = normalise_phrase(text).split(" ")
    for at in range(len(words) + 1):
        yield " ".join(words[:at]), " ".join(words[at:])


def format_day(text: str, order: DateOrder | None) -> str:
    """Return the date of a line as `2026-11-18`, by its numbers alone; empty if it has none."""
    numbers = [int(number) for number in NUMBER.findall(text)]
    if len(numbers) != 3:  # noqa: PLR2004
        return ""
    if numbers[0] > 31 or order == "ymd":  # noqa: PLR2004
        year, month, day = numbers
    elif order == "dmy" or numbers[0] > 12:  # noqa: PLR2004
        day, month, year = numbers
    else:
        month, day, year = numbers
    return f"{year}-{month:02}-{day:02}"


def format_clock(text: str, half: str | None) -> str:
    """Return a time of the day as `21:02`; with words that leave its half open, as none."""
    match = _CLOCK.fullmatch(f"{half or ''}{text}")
    hour = match and read_hour(
        int(match["hour"]), normalise_phrase(match["before"]), normalise_phrase(match["after"])
    )
    return "" if match is None or hour in (None, _NO_HOUR) else f"{hour:02}:{match['minute']}"
