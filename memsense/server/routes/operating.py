"""`/v1/users/…/erase`, `/v1/export`, `/v1/jobs`: what leaves memory, and what waits."""

import os
import tempfile
from pathlib import Path
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Query
from fastapi import Path as PathParameter
from fastapi.responses import FileResponse
from starlette.background import BackgroundTask

from memsense.inputs import LONGEST_ID
from memsense.server.answers import ErasureReceipt, JobIds, JobLine, Jobs
from memsense.server.callers import Admin, Reader
from memsense.server.cursors import Limit
from memsense.server.problems import documented
from memsense.server.requests import VISIBLE, AllUsers, EraseBody, JobsBody, OfUser
from memsense.store.jobs import JobStatus

router = APIRouter(prefix="/v1", tags=["operating"])

LINES = "application/x-ndjson"

_UserId = Annotated[
    str, PathParameter(min_length=1, max_length=LONGEST_ID, pattern=VISIBLE, examples=["ada"])
]


@router.post("/users/{user_id:path}/erase", responses=documented(404))
async def erase_user(
    user_id: _UserId, caller: Admin, body: EraseBody | None = None
) -> ErasureReceipt:
    """Erase a user's memory for good, or a session or message of it; the receipt proves it."""
    given = body or EraseBody()
    receipt = await caller.of_user(user_id).erase(
        session_id=given.session_id,
        message_id=given.message_id,
        by=caller.name,
    )
    return ErasureReceipt.model_validate(receipt.as_dict())


@router.get(
    "/export",
    response_class=FileResponse,
    responses={
        **documented(),
        200: {"content": {LINES: {"schema": {"type": "string"}}}, "description": "JSON lines"},
    },
)
async def export(
    caller: Reader,
    *,
    user_id: OfUser = None,
    all_users: AllUsers = False,
    vectors: Annotated[
        bool, Query(description="with vectors: spares an import the embedding")
    ] = False,
) -> FileResponse:
    """A user's memory, or everybody's, as JSON lines that `memsense import` takes."""
    whose = caller.whose(user_id, all_users=all_users)
    handle, name = tempfile.mkstemp(prefix="memsense-export-", suffix=".jsonl")
    os.close(handle)
    try:
        await caller.memory.export_to(name, **whose, vectors=vectors)
    except BaseException:
        await to_thread.run_sync(_remove, name)
        raise
    done = BackgroundTask(_remove, name)
    return FileResponse(name, media_type=LINES, filename="memory.jsonl", background=done)


def _remove(name: str) -> None:
    Path(name).unlink(missing_ok=True)


@router.get("/jobs", responses=documented())
async def list_jobs(caller: Admin, status: JobStatus | None = None, limit: Limit = 50) -> Jobs:
    """What was left for later, such as vectors: waiting, running or dead."""
    jobs = await caller.whole().jobs.list(status, limit=limit)
    counts = await caller.whole().jobs.count()
    return Jobs(
        waiting=counts.waiting,
        running=counts.running,
        dead=counts.dead,
        oldest_at=counts.oldest_at,
        jobs=[JobLine.of(job) for job in jobs],
    )


@router.post("/jobs/retry", responses=documented(404))
async def retry_jobs(caller: Admin, body: JobsBody | None = None) -> JobIds:
    """Let jobs be done now; dead ones have all their attempts again."""
    return JobIds(job_ids=await caller.whole().jobs.retry(body.job_ids if body else None))


@router.post("/jobs/drop", responses=documented(404))
async def drop_jobs(caller: Admin, body: JobsBody | None = None) -> JobIds:
    """Give jobs up; their memories stay, and words find them."""
    return JobIds(job_ids=await caller.whole().jobs.drop(body.job_ids if body else None))
