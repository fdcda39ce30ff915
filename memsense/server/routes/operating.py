"""Routes for operators: erasing, exports, jobs, health and metrics."""

import os
import tempfile
from pathlib import Path
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Query, Request, Response
from fastapi import Path as PathParameter
from fastapi.responses import FileResponse
from starlette.background import BackgroundTask

from memsense.client.verbs import Memory
from memsense.declaration import parameters_of
from memsense.inputs import LONGEST_ID, VISIBLE
from memsense.server.answers import ErasureReceipt, Health, JobIds, JobLine, Jobs
from memsense.server.callers import Admin, Reader, state_of
from memsense.server.problems import TITLES, ProblemError, problem_responses
from memsense.server.requests import AllUsers, EraseBody, JobsBody, Limit, UserId, text_of
from memsense.server.state import METRICS_CONTENT_TYPE
from memsense.store.jobs import JobStatus

router = APIRouter(prefix="/v1", tags=["operating"])
health_router = APIRouter(tags=["health"])

LINES = "application/x-ndjson"

_UserId = Annotated[
    str, PathParameter(min_length=1, max_length=LONGEST_ID, pattern=VISIBLE, examples=["ada"])
]


@router.post("/users/{user_id:path}/erase", responses=problem_responses(404))
async def erase_user(
    user_id: _UserId, caller: Admin, body: EraseBody | None = None
) -> ErasureReceipt:
    """Erase a user's memory for good, or a session or message of it, and return the receipt."""
    arguments = (body or EraseBody()).arguments()
    receipt = await caller.of_user(user_id).erase(**arguments, by=caller.name)
    return ErasureReceipt.of(receipt.as_dict())


@router.get(
    "/export",
    response_class=FileResponse,
    responses={
        **problem_responses(),
        200: {"content": {LINES: {"schema": {"type": "string"}}}, "description": "JSON lines"},
    },
)
async def export(
    caller: Reader,
    *,
    user_id: UserId = None,
    all_users: AllUsers = False,
    vectors: Annotated[
        bool, Query(description=text_of("vectors", parameters_of(Memory.export_to)))
    ] = False,
) -> FileResponse:
    """Return a user's memory, or everybody's, as JSON lines that `memsense import` reads."""
    whose = caller.whose(user_id, all_users=all_users)
    # A file, because an export may be larger than the memory of the process.
    handle, name = tempfile.mkstemp(prefix="memsense-export-", suffix=".jsonl")
    os.close(handle)

    def remove() -> None:
        Path(name).unlink(missing_ok=True)

    try:
        await caller.memory.export_to(name, **whose, vectors=vectors)
    except BaseException:  # a cancelled request, too
        await to_thread.run_sync(remove)
        raise
    after_response = BackgroundTask(remove)
    return FileResponse(name, media_type=LINES, filename="memory.jsonl", background=after_response)


@router.get("/jobs", responses=problem_responses())
async def list_jobs(caller: Admin, status: JobStatus | None = None, limit: Limit = 50) -> Jobs:
    """List background jobs, such as computing vectors: waiting, running or dead."""
    jobs = await caller.whole().jobs.list(status, limit=limit)
    counts = await caller.whole().jobs.count()
    return Jobs(
        waiting=counts.waiting,
        running=counts.running,
        dead=counts.dead,
        oldest_at=counts.oldest_at,
        jobs=[JobLine.of(job) for job in jobs],
    )


@router.post("/jobs/retry", responses=problem_responses(404))
async def retry_jobs(caller: Admin, body: JobsBody | None = None) -> JobIds:
    """Make jobs due now; dead ones get all their attempts again."""
    arguments = (body or JobsBody()).arguments()
    return JobIds(job_ids=await caller.whole().jobs.retry(**arguments))


@router.post("/jobs/drop", responses=problem_responses(404))
async def drop_jobs(caller: Admin, body: JobsBody | None = None) -> JobIds:
    """Delete jobs; their memories stay, and full text finds them."""
    arguments = (body or JobsBody()).arguments()
    return JobIds(job_ids=await caller.whole().jobs.drop(**arguments))


# Health ------------------------------------------------------------------------------------------


@health_router.get("/health/live")
async def live() -> Health:
    """Return whether the process runs; it asks no database."""
    return Health(status="live")


@health_router.get(
    "/health/ready",
    responses={503: problem_responses()[503] | {"description": TITLES[503]}},
)
async def ready(request: Request) -> Health:
    """Return whether the database answers, too."""
    # Without a key: the reason may name the database's address, and goes into the log alone.
    if await state_of(request).find_fault() is not None:
        raise ProblemError(503, "the database does not answer; see the server's log for the reason")
    return Health(status="ready")


@health_router.get(
    "/metrics",
    response_class=Response,
    responses={
        **problem_responses(),
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "counters"},
    },
)
async def metrics(request: Request, caller: Admin) -> Response:  # noqa: ARG001 (checks the scope)
    """Return counters for Prometheus: requests by route, their times, and the pool."""
    return Response(state_of(request).metrics.text(), media_type=METRICS_CONTENT_TYPE)
