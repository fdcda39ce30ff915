"""`/v1/search`, `/v1/why-not` and `/v1/traces`: questions, and why they were answered so."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from memsense.server.answers import (
    Candidate,
    RecordedSearch,
    ReplayAnswer,
    SearchAnswer,
    TraceLine,
    TracePage,
    Verdict,
)
from memsense.server.callers import Reader
from memsense.server.cursors import Limit, TraceCursor
from memsense.server.problems import documented
from memsense.server.requests import OfUser, ReplayBody, SearchBody, WhyNotBody
from memsense.store.traces import Trace

router = APIRouter(prefix="/v1", tags=["searches"])


@router.post("/search", responses=documented(404, 504))
async def search(body: SearchBody, caller: Reader) -> SearchAnswer:
    """The memories that answer the question best, each with the arithmetic of its score."""
    options = body.options() | caller.whose(body.user_id, all_users=body.all_users)
    result = await caller.memory.search(**options)
    return SearchAnswer.model_validate(result.as_dict())


@router.post("/why-not", responses=documented(404, 504))
async def why_not(body: WhyNotBody, caller: Reader) -> Verdict:
    """Why a search does not return a memory, or as which hit it does."""
    options = body.options() | caller.whose(body.user_id, all_users=body.all_users)
    verdict = await caller.narrowed(body.user_id).why_not(**options)
    return Verdict.model_validate(verdict.as_dict())


@router.get("/traces", responses=documented())
async def list_traces(
    caller: Reader,
    *,
    user_id: OfUser = None,
    empty: Annotated[bool, Query(description="only those without hits")] = False,
    slower_than: Annotated[float | None, Query(ge=0, le=1e9, description="milliseconds")] = None,
    limit: Limit = 50,
    cursor: TraceCursor = None,
) -> TracePage:
    """Recorded searches, the latest first."""
    found = await caller.narrowed(user_id).traces.list(
        limit=limit,
        empty=empty,
        slower_than=slower_than,
        cursor=cursor,
    )
    traces = [TraceLine.of(item) for item in found]
    return TracePage(traces=traces, next_cursor=found.next_cursor)


@router.get("/traces/{trace_id}", responses=documented(404))
async def get_trace(trace_id: UUID, caller: Reader, user_id: OfUser = None) -> RecordedSearch:
    """A recorded search with what became of all its candidates."""
    return _describe(await caller.narrowed(user_id).traces.get(trace_id))


def _describe(trace: Trace) -> RecordedSearch:
    candidates = [
        Candidate(
            chunk_id=item.chunk_id,
            granularity=item.granularity,
            position=item.position,
            final_score=item.final_score,
            parts=item.parts(),
            hit_rank=item.hit_rank,
            dropped_by=item.dropped_by,
        )
        for item in trace.candidates
    ]
    given = {
        name: getattr(trace, name) for name in RecordedSearch.model_fields if name != "candidates"
    }
    return RecordedSearch(**given, candidates=candidates)


@router.post("/traces/{trace_id}/replay", responses=documented(404, 504))
async def replay_trace(
    trace_id: UUID, caller: Reader, body: ReplayBody | None = None, user_id: OfUser = None
) -> ReplayAnswer:
    """Run a recorded search again, as it was or with other constants, and see what moved."""
    given = body or ReplayBody()
    traces = caller.narrowed(user_id).traces
    replay = await traces.replay(
        trace_id, profile=given.profile, as_of_then=given.as_of_then, overrides=given.overrides
    )
    return ReplayAnswer.model_validate(replay.as_dict())
