"""Pulse: searches, what is stored and what waits, as figures with their course; part of *Ask*."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from memsense.client.aio import AsyncMemSense
from memsense.server.page.bars import Column, draw_columns

Span = Literal["hour", "day", "week", "month", "quarter"]

SPANS: Mapping[Span, int] = {
    "hour": 60, "day": 1_440, "week": 10_080, "month": 43_200, "quarter": 129_600
}  # fmt: skip
"""Times that can be looked at, in minutes; a picture has 60 columns."""

COLUMNS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A figure, and its course in columns."""

    name: str
    value: str
    columns: Sequence[Column]
    hint: str = ""


async def take_pulse(memory: AsyncMemSense, span: Span) -> dict[str, Any]:
    """Return the tiles and the slowest searches of the last hour, day, week, month or quarter."""
    minutes = SPANS[span]
    # A minute is whole, so that no period ends within one.
    until = datetime.now(UTC).replace(second=0, microsecond=0) + timedelta(minutes=1)
    since, step = until - timedelta(minutes=minutes), minutes // COLUMNS
    statistics = await memory.statistics(since=since, until=until, step=step)
    total, periods = statistics.total, statistics.periods
    days = -(-minutes // SPANS["day"])
    stored = {it.day: it.exchanges for it in await memory.growth(days=days)}
    dates = [until.date() - timedelta(days=days - number) for number in range(days + 1)]
    jobs = await memory.jobs.count()
    tiles = [
        _tile("Searches", total.searches, [it.searches for it in periods]),
        _tile("Without hits", total.empty, [it.empty for it in periods]),
        _tile("Failed", total.failed, [it.failed for it in periods]),
        _tile("Median", _in_ms(total.p50_ms), [it.p50_ms for it in periods]),
        _tile("95th percentile", _in_ms(total.p95_ms), [it.p95_ms for it in periods]),
        _tile(
            "Memories", statistics.memories, [stored.get(it, 0) for it in dates], "stored by day"
        ),
        _tile("Users", statistics.users),
        _tile("Jobs", jobs.waiting + jobs.running, hint=f"{jobs.dead} dead"),
    ]
    return {
        "span": span,
        "spans": SPANS,
        "tiles": tiles,
        "slowest": statistics.slowest,
        "step": step,
    }


def _tile(
    name: str, value: float | str, course: Sequence[float | None] = (), hint: str = ""
) -> Tile:
    text = value if isinstance(value, str) else f"{value:,}"
    return Tile(name=name, value=text, columns=draw_columns(course), hint=hint)


def _in_ms(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f} ms"
