"""Page of a user: sessions by week, and a lane for each fact that has changed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from fastapi import APIRouter
from fastapi.responses import Response

from memsense.server.page.bars import WIDTH, draw_columns
from memsense.server.page.render import format_day
from memsense.server.page.visitors import ReadingVisitor
from memsense.store.life import Lane, Span

router = APIRouter(prefix="/ui/users", include_in_schema=False)

NARROWEST = 40
"""Smallest width of a statement in its lane, so that it can be hit; less where there are many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A statement in the picture of its lane: from when it was said until it was replaced."""

    span: Span
    start: float
    width: float

    @property
    def text(self) -> str:
        """The statement in words, with its time."""
        span = self.span
        since = format_day(span.since) if span.since else "no date"
        until = format_day(span.until) if span.until else "now"
        return f"{since} to {until}: {span.text}"


def draw_lanes(lanes: Sequence[Lane], now: datetime) -> list[tuple[Lane, Sequence[Bar]]]:
    """Return the lanes with their bars, on one scale from the first statement until now."""
    first = min((it.since for lane in lanes for it in lane.spans if it.since), default=now)
    drawn: list[tuple[Lane, Sequence[Bar]]] = []
    for lane in lanes:
        # Each bar has a smallest width, of half the picture together; the rest is the scale.
        narrowest = min(NARROWEST, WIDTH / 2 / len(lane.spans))
        unit = (WIDTH - narrowest * len(lane.spans)) / max((now - first).total_seconds(), 1.0)
        bars: list[Bar] = []
        end = 0.0
        for place, span in enumerate(lane.spans):
            since, until = span.since or first, span.until or now
            start = max((since - first).total_seconds() * unit + narrowest * place, end)
            end = max((until - first).total_seconds() * unit + narrowest * (place + 1), start)
            end = max(end, start + narrowest / 2)
            bars.append(Bar(span=span, start=round(start, 1), width=round(end - start, 1)))
        drawn.append((lane, bars))
    return drawn


@router.get("/{user:path}")
async def show_user(user: str, visitor: ReadingVisitor) -> Response:
    """Show a user's sessions by week, and the facts of theirs that have changed."""
    life = await visitor.caller.memory.life(**visitor.caller.whose(user))
    sessions = {it.week: it.sessions for it in life.weeks}
    count = (life.weeks[-1].week - life.weeks[0].week).days // 7 + 1 if life.weeks else 0
    weeks = [life.weeks[0].week + timedelta(weeks=number) for number in range(count)]
    return visitor.page(
        "user.html",
        life=life,
        columns=draw_columns([sessions.get(week, 0) for week in weeks]),
        lanes=draw_lanes(life.lanes, datetime.now(UTC)),
    )
