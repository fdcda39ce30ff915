"""Lanes of a user's life, as the page draws them."""

from datetime import UTC, datetime, timedelta

import pytest

pytest.importorskip("fastapi")

from memsense.server.page.bars import WIDTH
from memsense.server.page.users import draw_lanes
from memsense.store.life import Lane, Span

START = datetime(2026, 1, 1, tzinfo=UTC)


def span(number: int, last: int) -> Span:
    """A statement of this day, replaced on the next one unless it is the last."""
    since = START + timedelta(days=number)
    until = None if number == last else since + timedelta(days=1)
    return Span(chunk_id=number, text="I live here.", since=since, until=until, reason=None)


@pytest.mark.parametrize("count", [1, 3, 26, 200])
def test_bars_stand_in_a_row_within_the_picture(count: int) -> None:
    spans = [span(number, count - 1) for number in range(count)]
    [(_, bars)] = draw_lanes([Lane(subject="home", spans=spans)], START + timedelta(days=count))
    assert all(bar.width > 0 for bar in bars)
    ends = [bar.start + bar.width for bar in bars]
    assert all(bar.start >= end - 0.2 for bar, end in zip(bars[1:], ends, strict=False))
    assert ends[-1] == pytest.approx(WIDTH, abs=0.2)
