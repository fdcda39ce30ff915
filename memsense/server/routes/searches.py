"""Routes `/v1/search`, `/v1/context`, `/v1/why-not`, `/v1/traces`: questions and explanations."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from memsense.client.traces import TracesResource
from memsense.declaration import parameters_of
from memsense.server.answers import (
    ContextAnswer,
    RecordedSearch,
    ReplayAnswer,
    SearchAnswer,
    TraceLine,
    TracePage,
    Verdict,
)
from memsense.server.callers import Reader
from memsense.server.problems import problem_responses
from memsense.server.requests import (
    ContextBody,
    Limit,
    ReplayBody,
    SearchBody,
    TraceCursor,
    UserId,
    WhyNotBody,
    text_of,
)

router = APIRouter(prefix="/v1", tags=["searches"])

_TRACES = parameters_of(TracesResource.list)


@router.post("/search", responses=problem_responses(404, 504))
async def search(body: SearchBody, caller: Reader) -> SearchAnswer:
    """Return the memories that best answer a question, each with the computation of its score."""
    result = await caller.memory.search(**caller.with_user(body.arguments()))
    return SearchAnswer.model_validate(result.as_dict())


@router.post("/context", responses=problem_responses(404, 504))
async def context(body: ContextBody, caller: Reader) -> ContextAnswer:
    """Return what a model should know of memory for a prompt, as a short text, or nothing."""
    arguments = caller.with_user(body.arguments())
    explain = arguments.pop("explain")
    prompt = await caller.memory.context(**arguments)
    return ContextAnswer.model_validate({"text": str(prompt), **prompt.as_dict(explain=explain)})


@router.post("/why-not", responses=problem_responses(404, 504))
async def why_not(body: WhyNotBody, caller: Reader) -> Verdict:
    """Explain why a search does not return a memory, or as which hit it does."""
    arguments = body.arguments()
    user_id = arguments["user_id"]
    arguments = caller.with_user(arguments)
    # In the user's own memory the id of another user's memory does not exist.
    memory = caller.narrowed(user_id)
    if user_id is not None:
        arguments.pop("user_id", None)
    verdict = await memory.why_not(**arguments)
    return Verdict.model_validate(verdict.as_dict())


@router.get("/traces", responses=problem_responses())
async def list_traces(
    caller: Reader,
    *,
    user_id: UserId = None,
    empty: Annotated[bool, Query(description=text_of("empty", _TRACES))] = False,
    slower_than: Annotated[
        float | None, Query(ge=0, le=1e9, description=text_of("slower_than", _TRACES))
    ] = None,
    limit: Limit = 50,
    cursor: TraceCursor = None,
) -> TracePage:
    """List recorded searches, latest first."""
    page = await caller.narrowed(user_id).traces.list(
        limit=limit,
        empty=empty,
        slower_than=slower_than,
        cursor=cursor,
    )
    return TracePage(traces=[TraceLine.of(item) for item in page], next_cursor=page.next_cursor)


@router.get("/traces/{trace_id}", responses=problem_responses(404))
async def get_trace(trace_id: UUID, caller: Reader, user_id: UserId = None) -> RecordedSearch:
    """Return a recorded search with all of its candidates."""
    return RecordedSearch.of(await caller.narrowed(user_id).traces.get(trace_id))


@router.post("/traces/{trace_id}/replay", responses=problem_responses(404, 504))
async def replay_trace(
    trace_id: UUID, caller: Reader, body: ReplayBody | None = None, user_id: UserId = None
) -> ReplayAnswer:
    """Run a recorded search again, as it was or with other constants, and show what moved."""
    arguments = (body or ReplayBody()).arguments()
    replay = await caller.narrowed(user_id).traces.replay(trace_id, **arguments)
    return ReplayAnswer.model_validate(replay.as_dict())
