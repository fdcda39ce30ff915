"""Page *Traces*: recorded searches, their candidates, replays, and comparisons of profiles."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from memsense.errors import MemSenseError
from memsense.explain.replay import ListedHit, ListReasons, Move, Replay, join_moves
from memsense.server.page.ask import form_error_status, list_sliders, moved_sliders
from memsense.server.page.bars import list_legend
from memsense.server.page.memories import next_page_path
from memsense.server.page.ranked import RankedMemory, mark_superseded, rank_candidates, rank_list
from memsense.server.page.visitors import ReadingVisitor
from memsense.server.requests import check_cursor
from memsense.types import Chunk

router = APIRouter(prefix="/ui/traces", include_in_schema=False)

TRACES_PER_PAGE = 50
COMPARED_TRACES = 20
SLOW_MS = 200.0
CANDIDATES_PER_PAGE = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoRankings:
    """Two rankings of one question side by side.

    Attributes:
        titles: Name of each ranking.
        old: The one ranking.
        new: The other ranking.
        lines: Old and new place of each memory that is in both.
        moves: The memories that moved, came or went.
        overlap: Share of the old hits that stay.
    """

    titles: tuple[str, str]
    old: Sequence[RankedMemory]
    new: Sequence[RankedMemory]
    lines: Sequence[tuple[int, int]]
    moves: Sequence[Move]
    overlap: float

    @property
    def rows(self) -> int:
        """Rows of the longer ranking, at least one."""
        return max(len(self.old), len(self.new), 1)


def compare_rankings(
    titles: tuple[str, str],
    lists: tuple[Sequence[ListedHit], Sequence[ListedHit]],
    moves: Sequence[Move],
    chunks: Mapping[int, Chunk],
    labels: Mapping[int, bool] | None = None,
) -> TwoRankings:
    """Return two rankings with the moves between them; `labels` say which memories are right."""
    # A recorded list does not know what was superseded; the search that ran now does.
    old, new = (_mark_superseded(hits, [*lists[1], *lists[0]]) for hits in lists)
    places = {hit.chunk_id: hit.rank for hit in old}
    shared = places.keys() & {hit.chunk_id for hit in new}
    return TwoRankings(
        titles=titles,
        old=rank_list(old, moves, chunks, labels or {}, is_new=False),
        new=rank_list(new, moves, chunks, labels or {}, is_new=True),
        lines=[(places[hit.chunk_id], hit.rank) for hit in new if hit.chunk_id in places],
        moves=[move for move in moves if move.old_rank != move.new_rank],
        overlap=len(shared) / len(places) if places else 1.0,
    )


def _mark_superseded(hits: Sequence[ListedHit], both: Sequence[ListedHit]) -> Sequence[ListedHit]:
    """Return the hits, each marked as superseded or superseding if either list knows it."""
    older = {it.chunk_id: it.superseded_by for it in both if it.superseded_by}
    newer = {it.chunk_id: it.supersedes for it in both if it.supersedes}
    return [
        replace(hit, superseded_by=older.get(hit.chunk_id), supersedes=newer.get(hit.chunk_id))
        for hit in hits
    ]


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
    fields = {"show": show, "user": user}
    values: dict[str, Any] = {
        "fields": fields,
        "slow": SLOW_MS,
        "profiles": await visitor.profile_names(),
        "traces": (),
        "following": None,
        "problem": None,
    }
    try:
        traces = await visitor.caller.narrowed(user or None).traces.list(
            limit=TRACES_PER_PAGE,
            empty=show == "empty",
            slower_than=SLOW_MS if show == "slow" else None,
            cursor=cursor,
        )
    except MemSenseError as error:
        values["problem"] = str(error)
        return visitor.page("traces.html", form_error_status(error), **values)
    values["traces"] = traces
    values["following"] = next_page_path("/ui/traces", fields, traces.next_cursor)
    return visitor.page("traces.html", **values)


@router.get("/compare")
async def compare(visitor: ReadingVisitor, one: str, other: str) -> Response:
    """Show the latest recorded searches under two profiles, side by side."""
    traces = visitor.caller.memory.traces
    under_one = await traces.compare(COMPARED_TRACES, profile=one)
    under_other = await traces.compare(COMPARED_TRACES, profile=other)
    # A search that was recorded between the two calls shifts one list against the other. Of a
    # question that was recorded several times the latest counts.
    by_question = {
        first.question: (first, second)
        for first, second in zip(
            reversed(under_one.replays), reversed(under_other.replays), strict=False
        )
        if first.trace_id == second.trace_id
    }
    pairs = [*reversed(by_question.values())]
    hits = [hit.chunk_id for pair in pairs for replay in pair for hit in replay.new]
    chunks = await visitor.caller.memory.get_many(hits)
    rows: list[tuple[Replay, TwoRankings]] = []
    for first, second in pairs:
        moves = join_moves(first.new, second.new, reasons=ListReasons(first, second))
        lists = (first.new, second.new)
        rows.append((first, compare_rankings((one, other), lists, moves, chunks)))
    return visitor.page(
        "compare.html",
        rows=rows,
        one=one,
        other=other,
        profiles=await visitor.profile_names(),
        same_first=sum((1, 1) in pair.lines or not pair.old for _, pair in rows),
        overlap=sum(pair.overlap for _, pair in rows) / len(rows) if rows else 1.0,
        legend=_legend_of([pair for _, pair in rows]),
    )


def _legend_of(pairs: Collection[TwoRankings]) -> list[tuple[str, str]]:
    return list_legend(
        item.bar for pair in pairs for item in (*pair.old, *pair.new) if item.bar is not None
    )


@router.get("/{trace_id}")
async def show_trace(
    trace_id: UUID, visitor: ReadingVisitor, place: Annotated[int, Query(ge=0, le=1_000_000)] = 0
) -> Response:
    """Show one recorded search with a page of its candidates."""
    trace = await visitor.caller.memory.traces.get(trace_id)
    # Hits in their order, then the other candidates by score.
    ordered = sorted(trace.candidates, key=lambda it: (it.hit_rank or 10**9, -it.final_score))
    part = ordered[place : place + CANDIDATES_PER_PAGE]
    chunks = await visitor.caller.memory.get_many(
        [item.shown_chunk_id or item.chunk_id for item in part]
    )
    memories = await mark_superseded(rank_candidates(part, chunks), visitor.caller.memory)
    behind = place + CANDIDATES_PER_PAGE
    return visitor.page(
        "trace.html",
        trace=trace,
        memories=memories,
        legend=list_legend(item.bar for item in memories if item.bar),
        first=place + 1,
        last=place + len(part),
        count=len(ordered),
        best=ordered[0].shown_chunk_id or ordered[0].chunk_id if ordered else None,
        earlier=max(0, place - CANDIDATES_PER_PAGE) if place else None,
        later=behind if behind < len(ordered) else None,
        sliders=list_sliders(trace.profile),
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
    overrides = moved_sliders(request.query_params, trace.profile) if not profile else {}
    result = await memory.traces.replay(trace_id, profile=profile or None, overrides=overrides)
    chunks = await memory.get_many([hit.chunk_id for hit in (*result.old, *result.new)])
    pair = compare_rankings(("As recorded", "Now"), (result.old, result.new), result.moves, chunks)
    is_htmx = request.headers.get("hx-request") == "true"
    return visitor.page(
        "replay_piece.html" if is_htmx else "replay.html",
        replay=result,
        trace=trace,
        pair=pair,
        overrides=overrides,
        legend=_legend_of([pair]),
        sliders=list_sliders(trace.profile, overrides),
    )
