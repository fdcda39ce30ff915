"""Writes the words of dates and times in all languages of CLDR: memsense/data/heads/heads.json.

    python tools/locales.py

Babel holds CLDR's data and is needed for this alone. Each language's dates and times are written
out, and the words around their numbers are collected, as `memsense.ingest.chat_words` cuts them.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from datetime import date, time
from pathlib import Path
from typing import cast

from babel import Locale, dates, localedata

from memsense.ingest.chat_words import HEADS, NUMBER, normalise_phrase

YEAR, DAY = 2026, 25
_AGREED = 9
_SKELETONS = ("hm", "hms", "Bhm", "Bhms", "Hm", "Hms")


def list_languages() -> list[str]:
    """Return the codes of CLDR's languages, without their regions and scripts."""
    return [code for code in localedata.locale_identifiers() if "_" not in code and code != "root"]


def list_clocks(code: str) -> list[str]:
    """Return the patterns by which a language writes the time: short, medium, and both clocks."""
    locale = Locale.parse(code)
    usual = [locale.time_formats[width].pattern for width in ("short", "medium")]
    skeletons = locale.datetime_skeletons
    more = [skeletons[name].pattern for name in _SKELETONS if name in skeletons]
    return list(dict.fromkeys((*usual, *more)))


def _phrases(text: str) -> tuple[list[str], list[str]]:
    """Return the numbers of a text, and the phrases before, between and after them."""
    return NUMBER.findall(text), [normalise_phrase(piece) for piece in NUMBER.split(text)]


def _of_dates(code: str) -> Iterator[tuple[str, int]]:
    """Yield each phrase around the numbers of dates, with its month or 0."""
    for month in range(1, 13):
        for width in ("short", "medium", "long"):
            text = dates.format_date(date(YEAR, month, DAY), width, locale=code)
            numbers, phrases = _phrases(text)
            other = dates.format_date(date(YEAR, month % 12 + 1, DAY), width, locale=code)
            others = _phrases(other)[1]
            for phrase, of_other in zip(phrases, others, strict=False):
                yield phrase, month if phrase != of_other and len(numbers) == 2 else 0  # noqa: PLR2004


def _of_times(code: str) -> Iterator[tuple[str, int]]:
    """Yield each phrase around the numbers of times, with the hour that it names, or -1."""
    for pattern in list_clocks(code):
        has_half = any(letter in pattern for letter in "aBbhK")
        for hour in range(24):
            text = dates.format_time(time(hour, 44, 55), pattern, locale=code)
            for phrase in _phrases(text)[1]:
                yield phrase, hour if has_half else -1
    # Programs write the longer words for the halves of a day, too.
    for width in ("abbreviated", "wide"):
        names = cast("Mapping[str, str]", dates.get_period_names(width, locale=code))
        for first, half in ((0, "am"), (12, "pm")):
            for hour in range(first, first + 12):
                yield normalise_phrase(names.get(half, "")), hour


def collect_words() -> dict[str, dict[str, str]]:
    """Return the words of months and of parts of the day, and those that mean neither."""
    months: defaultdict[str, Counter[int]] = defaultdict(Counter)
    hours: defaultdict[str, int] = defaultdict(int)
    for code in list_languages():
        of_clock: defaultdict[str, int] = defaultdict(int)
        for phrase, month in set(_of_dates(code)):
            months[phrase][month] += 1
        for phrase, hour in _of_times(code):
            of_clock[phrase] |= 0 if hour < 0 else 1 << hour
        for phrase, mask in of_clock.items():
            # A phrase at every hour, such as the word for "o'clock", names none of them.
            hours[phrase] |= 0 if mask == (1 << 24) - 1 else mask
    by_month: defaultdict[str, list[str]] = defaultdict(list)
    for phrase, values in sorted(months.items()):
        (month, count), *others = [
            *Counter({m: n for m, n in values.items() if m}).most_common(),
            (0, 0),
        ]
        rest = sum(number for _, number in others)
        # A word of other months in other languages is negative if nearly all agree, else 13.
        key = month if not rest else -month if count >= _AGREED * rest else 13
        by_month[str(key)].append(phrase)
    by_hours: defaultdict[str, list[str]] = defaultdict(list)
    for phrase, mask in sorted(hours.items()):
        by_hours[f"{mask:x}"].append(phrase)
    return {
        "months": {key: "|".join(filter(None, by_month[key])) for key in sorted(by_month)},
        "hours": {key: "|".join(filter(None, by_hours[key])) for key in sorted(by_hours)},
    }


def main() -> None:
    """Write the file."""
    text = json.dumps(collect_words(), ensure_ascii=False, indent=0)
    Path(HEADS).write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
