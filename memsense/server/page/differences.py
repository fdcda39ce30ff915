"""Page *Why this, not that*: two candidates of a recorded search, and what would turn their order.

A part of a score is its weight times a value that the weight leaves alone. So the value of one
weight at which two scores are equal follows from the parts alone. But parts can depend on each
other, and hits are not chosen by scores alone: each change that is shown was replayed first.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from fastapi.responses import Response

from memsense.client.aio import AsyncMemSense, AsyncUserMemory
from memsense.explain.replay import ListedHit
from memsense.inputs import LARGEST_BIGINT
from memsense.server.page.ask import Slider, list_sliders
from memsense.server.page.bars import PARTS, list_legend
from memsense.server.page.ranked import rank_candidates
from memsense.server.page.visitors import ReadingVisitor
from memsense.server.problems import ProblemError
from memsense.store.traces import Trace, TraceCandidate

router = APIRouter(prefix="/ui/traces", include_in_schema=False)

STEPS = (0, 1, 5, 20)
"""Hundredths beyond the value of equal scores that are tried, as hits are chosen by more."""

MOST_TRIED = 8
SMALLEST_DIFFERENCE = 0.00005
"""Smaller ones are 0 in the four digits that the page shows."""

ChunkId = Annotated[int, Query(ge=1, le=LARGEST_BIGINT)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A change of one weight by which the second memory comes before the first."""

    slider: Slider
    value: float


@router.get("/{trace_id}/difference")
async def show_difference(
    trace_id: UUID, visitor: ReadingVisitor, a: ChunkId, b: ChunkId
) -> Response:
    """Show what decided between two candidates, and the smallest changes that turn their order."""
    memory = visitor.caller.memory
    trace = await memory.traces.get(trace_id)
    by_id = {item.shown_chunk_id or item.chunk_id: item for item in reversed(trace.candidates)}
    if a not in by_id or b not in by_id or a == b:
        raise ProblemError(404, "name two candidates of this search: a=NUMBER&b=NUMBER")
    pair = by_id[a], by_id[b]
    first, second = (item.parts() for item in pair)
    differences = {
        name: first.get(name, 0.0) - second.get(name, 0.0) for name in {**first, **second}
    }
    memories = rank_candidates(pair, await memory.get_many([a, b]))
    return visitor.page(
        "difference.html",
        trace=trace,
        memories=memories,
        legend=list_legend(item.bar for item in memories if item.bar),
        differences=[
            (name, PARTS.get(name, name), value)
            for name, value in sorted(differences.items(), key=lambda it: -abs(it[1]))
            if abs(value) >= SMALLEST_DIFFERENCE
        ],
        total=pair[0].final_score - pair[1].final_score,
        turns=await find_turns(memory, trace, pair),
    )


async def find_turns(
    memory: AsyncMemSense | AsyncUserMemory,
    trace: Trace,
    pair: tuple[TraceCandidate, TraceCandidate],
) -> list[Turn]:
    """Return, for each weight that can do it alone, the value that turns the order; nearest first.

    Each was replayed. Empty if the second memory comes first already, or no single weight does it.
    """
    places = [item.hit_rank or math.inf for item in pair]
    if places[1] < places[0]:
        return []
    a, b = (item.shown_chunk_id or item.chunk_id for item in pair)
    first, second = (item.parts() for item in pair)
    lead = pair[0].final_score - pair[1].final_score
    sliders = [item for items in list_sliders(trace.profile).values() for item in items]
    equal = [
        (abs(value - item.recorded), value, item)
        for item in sliders
        if item.recorded > 0 and (gap := first.get(item.part, 0.0) - second.get(item.part, 0.0))
        and 0 <= (value := item.recorded * (1 - lead / gap)) <= item.largest
    ]  # fmt: skip
    turns: list[Turn] = []
    for _, value, item in sorted(equal, key=lambda it: it[0])[:MOST_TRIED]:
        # Away from the recorded value, in the hundredths that sliders have.
        away = 1 if value > item.recorded else -1
        nearest = math.ceil(value * 100) if away > 0 else math.floor(value * 100)
        for step in STEPS:
            tried = (nearest + away * step) / 100
            if not 0 <= tried <= item.largest:
                break
            replay = await memory.traces.replay(trace.trace_id, overrides={item.name: tried})
            if _is_before(b, a, replay.new):
                turns.append(Turn(slider=item, value=tried))
                break
    return turns


def _is_before(one: int, other: int, hits: Sequence[ListedHit]) -> bool:
    ranks = {hit.chunk_id: hit.rank for hit in hits}
    return one in ranks and ranks[one] < ranks.get(other, math.inf)
