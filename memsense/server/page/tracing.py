"""The page *Traces*: recorded searches, what became of their candidates, and other constants."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from memsense.explain.replay import Replay
from memsense.server.cursors import check_cursor
from memsense.server.page.asking import SLIDERS, slider_values
from memsense.server.page.bars import draw_bars, named_parts
from memsense.server.page.browsing import following_page
from memsense.server.page.visiting import Reading
from memsense.server.problems import ProblemError
from memsense.store.traces import Trace

router = APIRouter(prefix="/ui/traces", include_in_schema=False)

TRACES = 50
COMPARED = 20
SLOW_MS = 200.0
CANDIDATES = 50


@router.get("")
async def list_traces(
    visitor: Reading,
    show: str = "",
    user: str = "",
    cursor: Annotated[str | None, Query()] = None,
) -> Response:
    """Recorded searches: all, the slow ones, or those that found nothing."""
    if cursor is not None:
        check_cursor("traces", cursor)
    found = await visitor.caller.narrowed(user or None).traces.list(
        limit=TRACES,
        empty=show == "empty",
        slower_than=SLOW_MS if show == "slow" else None,
        cursor=cursor,
    )
    asked = {"show": show, "user": user}
    return visitor.page(
        "traces.html",
        traces=found,
        asked=asked,
        slow=SLOW_MS,
        profiles=await visitor.profile_names(),
        following=following_page("/ui/traces", asked, found.next_cursor),
    )


@router.get("/compare")
async def compare(visitor: Reading, one: str, other: str) -> Response:
    """The latest recorded searches under two profiles, side by side."""
    traces = visitor.caller.memory.traces
    under_one = await traces.compare(COMPARED, profile=one)
    under_other = await traces.compare(COMPARED, profile=other)
    rows = [
        _compare(first, second)
        for first, second in zip(under_one.replays, under_other.replays, strict=False)
        if first.trace_id == second.trace_id
    ]
    return visitor.page("compare.html", rows=rows, one=one, other=other)


def _compare(one: Replay, other: Replay) -> dict[str, Any]:
    ids, others = ([hit.chunk_id for hit in replay.new] for replay in (one, other))
    shared = len(set(ids) & set(others))
    return {
        "trace_id": one.trace_id,
        "question": one.question,
        "one": ids,
        "other": others,
        "shared": shared,
        "most": max(len(ids), len(others)),
    }


@router.get("/{trace_id}")
async def show_trace(trace_id: UUID, visitor: Reading) -> Response:
    """One recorded search with all that was weighed."""
    trace = await visitor.caller.memory.traces.get(trace_id)
    return visitor.page(
        "trace.html",
        trace=trace,
        candidates=_draw(trace),
        left_out=max(0, len(trace.candidates) - CANDIDATES),
        sliders=slider_values(trace.profile),
        profiles=await visitor.profile_names(),
    )


def _draw(trace: Trace) -> list[dict[str, Any]]:
    """The candidates by score, each with its bar."""
    ordered = sorted(trace.candidates, key=lambda it: (it.hit_rank or 10**9, -it.final_score))
    shown = ordered[:CANDIDATES]
    bars = draw_bars([(item.final_score, named_parts(item.parts())) for item in shown])
    return [{"candidate": item, "bar": bar} for item, bar in zip(shown, bars, strict=True)]


@router.get("/{trace_id}/replay")
async def replay(trace_id: UUID, visitor: Reading, request: Request, profile: str = "") -> Response:
    """A recorded search again, under another profile or with what sliders say.

    A piece of a page for htmx, a page for everybody else.
    """
    traces = visitor.caller.memory.traces
    trace = await traces.get(trace_id)
    overrides = _moved(trace, request) if not profile else {}
    found = await traces.replay(trace_id, profile=profile or None, **overrides)
    is_piece = request.headers.get("hx-request") == "true"
    name = "replay_piece.html" if is_piece else "replay.html"
    return visitor.page(name, replay=found, trace_id=trace_id, texts=await _texts(visitor, found))


def _moved(trace: Trace, request: Request) -> dict[str, Any]:
    """The constants that sliders have moved."""
    recorded = {name: value for name, value, _ in slider_values(trace.profile)}
    moved: dict[str, Any] = {}
    for name in SLIDERS:
        given = request.query_params.get(name)
        if given is None or name not in recorded:
            continue
        try:
            value = float(given)
        except ValueError as error:
            raise ProblemError(422, f"{name}: {given!r} is no number") from error
        if value != recorded[name]:
            moved[name] = value
    return moved


async def _texts(visitor: Reading, found: Replay) -> dict[int, str]:
    """How each chunk of either list begins."""
    memory = visitor.caller.memory
    ids = {hit.chunk_id for hit in (*found.old, *found.new)}
    return {chunk_id: (await memory.get(chunk_id)).content[:160] for chunk_id in sorted(ids)}
