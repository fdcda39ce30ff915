"""Page *Traces*: recorded searches, their candidates, replays, and comparisons of profiles."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from memsense.inputs import shorten
from memsense.server.page.ask import SLIDERS, slider_values
from memsense.server.page.bars import draw_bars, named_parts
from memsense.server.page.memories import next_page_path
from memsense.server.page.visitors import ReadingVisitor
from memsense.server.problems import ProblemError
from memsense.server.requests import check_cursor
from memsense.store.traces import Trace

router = APIRouter(prefix="/ui/traces", include_in_schema=False)

TRACES_PER_PAGE = 50
COMPARED_TRACES = 20
SLOW_MS = 200.0
SHOWN_CANDIDATES = 50


@router.get("")
async def list_traces(
    visitor: ReadingVisitor,
    show: str = "",
    user: str = "",
    cursor: Annotated[str | None, Query()] = None,
) -> Response:
    """Show recorded searches: all of them, slow ones, or those without hits."""
    if cursor is not None:
        check_cursor("traces", cursor)
    traces = await visitor.caller.narrowed(user or None).traces.list(
        limit=TRACES_PER_PAGE,
        empty=show == "empty",
        slower_than=SLOW_MS if show == "slow" else None,
        cursor=cursor,
    )
    fields = {"show": show, "user": user}
    return visitor.page(
        "traces.html",
        traces=traces,
        asked=fields,
        slow=SLOW_MS,
        profiles=await visitor.profile_names(),
        following=next_page_path("/ui/traces", fields, traces.next_cursor),
    )


@router.get("/compare")
async def compare(visitor: ReadingVisitor, one: str, other: str) -> Response:
    """Show the latest recorded searches under two profiles, side by side."""
    traces = visitor.caller.memory.traces
    under_one = await traces.compare(COMPARED_TRACES, profile=one)
    under_other = await traces.compare(COMPARED_TRACES, profile=other)
    rows: list[dict[str, Any]] = []
    for first, second in zip(under_one.replays, under_other.replays, strict=False):
        # A search that was recorded between the two calls shifts one list against the other.
        if first.trace_id != second.trace_id:
            continue
        ids, other_ids = ([hit.chunk_id for hit in replay.new] for replay in (first, second))
        rows.append(
            {
                "trace_id": first.trace_id,
                "question": first.question,
                "one": ids,
                "other": other_ids,
                "shared": len(set(ids) & set(other_ids)),
                "most": max(len(ids), len(other_ids)),
            }
        )
    return visitor.page("compare.html", rows=rows, one=one, other=other)


@router.get("/{trace_id}")
async def show_trace(trace_id: UUID, visitor: ReadingVisitor) -> Response:
    """Show one recorded search with its best candidates."""
    trace = await visitor.caller.memory.traces.get(trace_id)
    # Hits in their order, then the other candidates by score.
    ordered = sorted(trace.candidates, key=lambda it: (it.hit_rank or 10**9, -it.final_score))
    best = ordered[:SHOWN_CANDIDATES]
    bars = draw_bars([(item.final_score, named_parts(item.parts())) for item in best])
    return visitor.page(
        "trace.html",
        trace=trace,
        candidates=[{"candidate": item, "bar": bar} for item, bar in zip(best, bars, strict=True)],
        left_out=max(0, len(trace.candidates) - SHOWN_CANDIDATES),
        sliders=slider_values(trace.profile),
        profiles=await visitor.profile_names(),
    )


@router.get("/{trace_id}/replay")
async def replay(
    trace_id: UUID, visitor: ReadingVisitor, request: Request, profile: str = ""
) -> Response:
    """Run a recorded search again, under another profile or with the sliders' values.

    htmx gets the result alone, without the frame of a page.
    """
    memory = visitor.caller.memory
    trace = await memory.traces.get(trace_id)
    overrides = _changed_constants(trace, request) if not profile else {}
    result = await memory.traces.replay(trace_id, profile=profile or None, overrides=overrides)
    chunk_ids = {hit.chunk_id for hit in (*result.old, *result.new)}
    openings = {
        chunk_id: (await memory.get(chunk_id)).content[:160] for chunk_id in sorted(chunk_ids)
    }
    is_htmx = request.headers.get("hx-request") == "true"
    name = "replay_piece.html" if is_htmx else "replay.html"
    return visitor.page(name, replay=result, trace_id=trace_id, texts=openings)


def _changed_constants(trace: Trace, request: Request) -> dict[str, Any]:
    """Return the constants whose sliders stand elsewhere than in the recorded search."""
    recorded = {name: value for name, value, _ in slider_values(trace.profile)}
    changed: dict[str, Any] = {}
    for name in SLIDERS:
        text = request.query_params.get(name)
        if text is None or name not in recorded:
            continue
        try:
            value = float(text)
        except ValueError as error:
            raise ProblemError(422, f"{name} must be a number, not {shorten(text)}") from error
        if value != recorded[name]:
            changed[name] = value
    return changed
