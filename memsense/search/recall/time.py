"""Route `time`: the memories of the times that a question names, by an index on their time.

docs/how/time.md says how it ranks them, and docs/how/constants.md how its weight was found.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import repeat
from typing import Any

from memsense.db.queries import fill
from memsense.search.question import Question
from memsense.search.question.time.interval import Stretch

FILE = "time.sql"

DEPTH, LEAST, PART = 2000, 100, 0.1
"""Number of chunks that the intervals of a question find: a part of the memory, but no more than
the first and no less than the second number. To compare the meaning of more would take longer than
the other routes do.
"""

# A cut would leave the beginning of the interval out.
SLICES = 10
"""Stretches of an interval that are read apart where a question asks for nothing but a time."""

_DAY, _STEP = timedelta(days=1), timedelta(microseconds=1)


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
        """Return the parameters of its steps; None without a time of the past and neighbours."""
        slices = SLICES if question.is_dated_alone else 1
        stretches = question.stretches
        if not stretches and not question.neighbours:
            return None
        pieces = [piece for days in stretches for piece in _cut(days, question, slices)]
        columns = zip(*pieces, strict=True) if pieces else [()] * 5
        since, until, wall_since, wall_until, confidence = columns
        return {
            "time_since": list(since),
            "time_until": list(until),
            "time_wall_since": list(wall_since),
            "time_wall_until": list(wall_until),
            "time_confidence": list(confidence),
            "time_chunk_ids": [it.chunk_id for it in question.neighbours],
            "time_stretches": slices * max(len({days.interval for days in stretches}), 1),
            "time_depth": DEPTH,
            "time_least": DEPTH if question.is_dated_alone else LEAST,
            "time_part": PART,
            "time_alone": question.is_dated_alone,
            "time_first": since[0] if since else None,
            "time_last": until[slices - 1] if until else None,
            "time_now": question.asked_at and question.asked_at + _STEP,
        }

    def steps(
        self, takes_part: Callable[[str], str], *, cosines: Callable[[str], str], **_: object
    ) -> Iterator[str]:
        """Yield its CTEs; see `OptionalRoute`."""
        stretch = {"asked": fill("time_asked", FILE), "in_stretch": fill("in_stretch", FILE)}
        yield fill("time_share", FILE)
        yield fill("time_within", FILE, takes_part=takes_part("c.chunk_id"), **stretch)
        yield fill("time_found", FILE, takes_part=takes_part("c.chunk_id"), **stretch)
        yield fill("time", FILE, cosines=cosines("time_found"))

    def fact(self, takes_part: Callable[[str], str]) -> str:
        """Return the fact about the memories nearest to an empty time."""
        return fill("fact_nearest", FILE, takes_part=takes_part("c.chunk_id"))


def _cut(
    days: Stretch, question: Question, slices: int
) -> Iterator[tuple[datetime, datetime, datetime, datetime, float]]:
    """Yield the moments of some days, in slices and none of them behind the time of asking.

    Each slice is its beginning and its end, which it leaves out, in the asker's zone and as a wall
    clock, which is stored as UTC; and its confidence.
    """
    zone, now = question.calendar.zone, question.asked_at
    bounds: list[list[datetime]] = []
    for clock in (zone, UTC):
        since, until = _midnight(days.first, clock), _midnight(days.last + _DAY, clock)
        if now is not None:
            asked_at = now if clock is zone else now.astimezone(zone).replace(tzinfo=UTC)
            # What is stored at the moment of asking is known then.
            until = min(until, asked_at + _STEP)
        length = (until - since) / slices
        bounds.append([*(since + number * length for number in range(slices)), until])
    (since, until), (wall_since, wall_until) = [(it[:-1], it[1:]) for it in bounds]
    yield from zip(since, until, wall_since, wall_until, repeat(days.confidence), strict=False)


def _midnight(day: date, zone: tzinfo) -> datetime:
    # Arithmetic with aware times of one zone would count hours by its wall clock.
    return datetime.combine(day, datetime.min.time(), zone).astimezone(UTC)
