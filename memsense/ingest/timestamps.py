"""Times as logs write them; an implausible one becomes "no time", never a guess."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo

from dateutil import parser

from memsense.ingest.options import DateOrder
from memsense.types import JsonValue

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EARLIEST = datetime(1990, 1, 1, tzinfo=UTC)
END = _EPOCH + timedelta(seconds=1e10)
"""The moment in 2286 when epoch seconds get another digit; programs write later for "no time"."""
# (lowest, highest, units in a second): seconds, milliseconds, microseconds, nanoseconds.
_EPOCH_UNITS = (
    (1e9, 1e10, 1),
    (1e12, 1e13, 1_000),
    (1e15, 1e16, 1_000_000),
    (1e18, 1e19, 1_000_000_000),
)
_LONGEST = 64
_MONTHS_IN_YEAR = 12
_NUMBER = re.compile(r"\s*\d{9,19}(\.\d{0,12})?\s*")
_WRITTEN_UTC = re.compile(r"(?<!\s)\s*(?:UTC|GMT)$", re.IGNORECASE)
# LongMemEval: 2023/05/20 (Sat) 02:21.
_SLASHED = re.compile(
    r"(\d{4})/(\d{1,2})/(\d{1,2})(?:\s+\([^)]{1,12}\))?(?:[\sT]+(\d{1,2}):(\d{2})(?::(\d{2}))?)?"
)
# LoCoMo: 1:56 pm on 8 May, 2023.
_SPOKEN = re.compile(
    r"(\d{1,2}):(\d{2})\s*([ap])\.?\s?m\.?\s+on\s+(\d{1,2})\s+([A-Za-z]{3,9}),?\s+(\d{4})",
    re.IGNORECASE,
)
# 3/13/2026 10:00 AM, 13-3-2026; 01.03.2026 10:00, whose dots always mean the day first.
_NUMERIC = re.compile(r"(\d{1,2})([/.-])(\d{1,2})\2(\d{4})\b,?([\w\s:.,+-]{0,40})")
# A month's name next to a day and a year: RFC 2822, and what people write.
_NAMED = re.compile(
    r"([A-Za-z]{3,9}\.?,?\s)?(\d{1,2}[\s-][A-Za-z]{3,9}|[A-Za-z]{3,9}\.?\s\d{1,2})\.?,?[\s-]\d{4}\b"
    r"[\w\s:.,+()-]{0,40}"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


@dataclass(frozen=True, slots=True)
class Stamp:
    """A time of a log: aware, or None; `zone_known` is False where UTC was assumed."""

    at: datetime | None = None
    zone_known: bool = True


NO_TIME = Stamp()


def parse_timestamp(
    value: JsonValue, zone: tzinfo | None = None, order: DateOrder | None = None
) -> Stamp:
    """Parse an epoch number (s, ms, µs, ns), ISO 8601, RFC 2822, or a date as people write it.

    `order` tells what `3/4/2026` means; without it, a date with a.m. or p.m. has the month first.
    A time without a zone is taken to be in `zone` (then known), else in UTC (then unknown).
    Anything before 1990 or after 2286, and anything unreadable, is `NO_TIME`. A time in the
    future stays: the log's clock was wrong, and its times still give the order.
    """
    try:
        if isinstance(value, bool) or value is None:
            return NO_TIME
        if isinstance(value, int | float):
            return Stamp(_from_epoch(value))
        if not isinstance(value, str) or len(value) > _LONGEST:
            return NO_TIME
        # Nearly all times are of this form: the others are tried only where it is another.
        if value[10:11] == "T" and value[-1:] == "Z":
            at = datetime.fromisoformat(value)
            return Stamp(at) if is_plausible(at) else NO_TIME
        if _NUMBER.fullmatch(value):
            return Stamp(_from_epoch(float(value) if "." in value else int(value)))
        text = value.strip()
        if match := _SLASHED.fullmatch(text):
            year, month, day, hour, minute, second = (int(part or 0) for part in match.groups())
            at = datetime(year, month, day, hour, minute, second)  # noqa: DTZ001 (localised below)
        elif match := _SPOKEN.fullmatch(text):
            written_hour, minutes, half, day_of_month, name, written_year = match.groups()
            month = _MONTHS.index(name[:3].lower()) + 1
            hour = int(written_hour) % 12 + (12 if half.lower() == "p" else 0)
            at = datetime(int(written_year), month, int(day_of_month), hour, int(minutes))  # noqa: DTZ001
        elif match := _NUMERIC.fullmatch(text):
            first, separator, second, _, rest = match.groups()
            has_half = "m" in rest.lower()
            is_month_first = order == "mdy" or (order is None and has_half)
            if int(first) > _MONTHS_IN_YEAR or int(second) > _MONTHS_IN_YEAR:
                is_month_first = int(second) > _MONTHS_IN_YEAR
            at = _parse_written(text, day_first=separator == "." or not is_month_first)
        elif _NAMED.fullmatch(text):
            at = _parse_written(text, day_first=True)
        else:
            # fromisoformat refuses a zone that is written as a word.
            if _WRITTEN_UTC.search(text):
                text = _WRITTEN_UTC.sub("+00:00", text)
            at = datetime.fromisoformat(text)
        if at.tzinfo is None:
            return localise(at, zone)
        at = at.astimezone(UTC)
        return Stamp(at) if is_plausible(at) else NO_TIME
    except (ValueError, OverflowError):
        return NO_TIME


def guess_date_order(times: Iterable[JsonValue]) -> DateOrder | None:
    """Return whether day or month comes first in a log's dates, by a field above 12; else None."""
    for time in times:
        match = _NUMERIC.fullmatch(time.strip()) if isinstance(time, str) else None
        if match and int(match[1]) > _MONTHS_IN_YEAR:
            return "dmy"
        if match and int(match[3]) > _MONTHS_IN_YEAR:
            return "mdy"
    return None


def _parse_written(text: str, *, day_first: bool) -> datetime:
    # A zone by name, such as CET, has several meanings: it counts as unknown.
    def find_zone(_name: str | None, offset: int | None) -> tzinfo | None:
        return None if offset is None else timezone(timedelta(seconds=offset))

    midnight = datetime(2000, 1, 1)  # noqa: DTZ001 (localised by the caller)
    try:
        return parser.parse(text, dayfirst=day_first, default=midnight, tzinfos=find_zone)
    except parser.ParserError as error:
        raise ValueError(str(error)) from error


def epoch_seconds(value: JsonValue) -> float:
    """Return a time as seconds since 1970, to sort by; 0 where there is none."""
    at = parse_timestamp(value).at
    return at.timestamp() if at else 0.0


def localise(naive: datetime, zone: tzinfo | None) -> Stamp:
    """Give a wall-clock time its zone, or UTC with the zone marked as unknown."""
    try:
        stamp = Stamp(naive.replace(tzinfo=zone or UTC).astimezone(UTC), zone is not None)
    except (ValueError, OverflowError):
        return NO_TIME
    return stamp if stamp.at is not None and is_plausible(stamp.at) else NO_TIME


def is_plausible(at: datetime) -> bool:
    """Return whether a clock can have shown this time, right or wrong: from 1990 to 2286."""
    return EARLIEST <= at < END


def _from_epoch(number: float) -> datetime | None:
    if not math.isfinite(number):
        return None
    for low, high, units in _EPOCH_UNITS:
        if low <= number < high:
            at = _EPOCH + timedelta(microseconds=round(number * (1_000_000 / units)))
            return at if is_plausible(at) else None
    return None
