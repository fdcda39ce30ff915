"""Route `time`: the memories of the times that a question names, by an index on their time.

docs/how/retrieval.md says how it ranks them, and docs/how/constants.md how its weight was found.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any

from memsense.db.queries import fill
from memsense.search.question import Interval, Question

FILE = "time.sql"

DEPTH = 2000
"""Number of chunks that the intervals of a question find together."""

# A cut would leave the beginning of the interval out.
SLICES = 10
"""Stretches of an interval that are read apart where a question asks for nothing but a time."""

YEARS, EARLIER = 10, 4 / 7
"""Number of earlier years in which a date without a year is looked for, and the factor of its
confidence there.
"""

_STEP = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class TimeRoute:
    """Optional route of recall, for questions that name a time of the past."""

    table: str = "chunks"
    step: str = "time_within"
    has_past: bool = True
    meaning: str = (
        "the confidence that the chunk's time is meant, by a third, and by two thirds as far as its"
        " meaning and words fit"
    )

    def ask(self, question: Question) -> Mapping[str, Any] | None:
        """Return the parameters of its steps, None if the question names no time of the past."""
        intervals = [item for item in question.intervals if item.confidence > 0]
        slices = SLICES if question.is_dated_alone else 1
        stretches = [
            stretch for item in intervals for stretch in _list_stretches(item, question, slices)
        ]
        if not stretches:
            return None
        since, until, wall_since, wall_until, confidence = zip(*stretches, strict=True)
        return {
            "time_since": list(since),
            "time_until": list(until),
            "time_wall_since": list(wall_since),
            "time_wall_until": list(wall_until),
            "time_confidence": list(confidence),
            "time_chunk_ids": [],
            "time_share": max(DEPTH // (slices * len(intervals)), 1),
            "time_depth": DEPTH,
            "time_alone": question.is_dated_alone,
        }

    def steps(
        self, takes_part: Callable[[str], str], *, cosines: Callable[[str], str], **_: object
    ) -> Iterator[str]:
        """Yield its CTEs; see `OptionalRoute`."""
        stretch = {"asked": fill("time_asked", FILE), "in_stretch": fill("in_stretch", FILE)}
        yield fill("time_within", FILE, takes_part=takes_part("c.chunk_id"), **stretch)
        yield fill("time_found", FILE, takes_part=takes_part("c.chunk_id"), **stretch)
        yield fill("time", FILE, cosines=cosines("time_found"))


def _list_stretches(
    interval: Interval, question: Question, slices: int
) -> Iterator[tuple[datetime, datetime, datetime, datetime, float]]:
    """Yield the stretches of an interval, none of them behind the time of asking.

    Each is its beginning and its end, which it leaves out, in the asker's zone and as a wall clock,
    which is stored as UTC; and its confidence.
    """
    zone, asked_at = question.calendar.zone, question.asked_at
    for ago in range(YEARS + 1 if interval.any_year else 1):
        first, last = interval.in_year(interval.first.year - ago)
        confidence = interval.confidence * (EARLIER if ago else 1)
        bounds: list[list[datetime]] = []
        for clock in (zone, UTC):
            since, until = _midnight(first, clock), _midnight(last + timedelta(days=1), clock)
            if asked_at is not None:
                now = asked_at.astimezone(zone)
                # What is stored at the moment of asking is known then.
                until = min(until, (now if clock is zone else now.replace(tzinfo=UTC)) + _STEP)
            length = (until - since) / slices
            bounds.append([*(since + number * length for number in range(slices)), until])
        zoned, walls = bounds
        for number in range(slices):
            if zoned[number] < zoned[number + 1] or walls[number] < walls[number + 1]:
                yield (*zoned[number : number + 2], *walls[number : number + 2], confidence)


def _midnight(day: date, zone: tzinfo) -> datetime:
    # Arithmetic with aware times of one zone would count hours by its wall clock.
    return datetime.combine(day, datetime.min.time(), zone).astimezone(UTC)
