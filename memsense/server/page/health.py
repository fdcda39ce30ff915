"""Page *Health*: users and jobs; with the scope `admin` the doctor's findings."""

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from memsense.doctor.checks import examine_tenant, list_sizes
from memsense.doctor.sizes import in_units
from memsense.inputs import shorten
from memsense.server.callers import state_of
from memsense.server.page.visitors import (
    ReadingVisitor,
    Visitor,
    find_visitor,
    read_form,
    redirect_after_post,
)
from memsense.server.problems import ProblemError

router = APIRouter(prefix="/ui/health", include_in_schema=False)

DEAD_JOBS = 50
USERS = 100


@router.get("")
async def show_health(visitor: ReadingVisitor) -> Response:
    """Show the state of the tenant's memory."""
    memory = visitor.caller.whole()
    # Sizes are those of the whole database, which is not every reader's business.
    report, sizes = None, []
    if visitor.caller.may("admin"):
        state, tenant = state_of(visitor.request), visitor.caller.tenant
        namespace = visitor.caller.namespace
        pool = state.tenants.pool(tenant)
        settings = state.tenants.settings.model_copy(
            update={"tenant": tenant, "namespace": namespace}
        )

        def examine() -> Any:
            embedder = state.tenants.memory(tenant, namespace).embedder
            return examine_tenant(pool, settings, embedder)

        report = await state.threads.run(examine)
        rows = await state.threads.run(partial(list_sizes, pool))
        sizes = [{**row, "size": in_units(row["bytes"])} for row in rows]
    return visitor.page(
        "health.html",
        users=await memory.users(limit=USERS),
        jobs=await memory.jobs.count(),
        dead=await memory.jobs.list("dead", limit=DEAD_JOBS),
        report=report,
        sizes=sizes,
    )


@router.post("/jobs/{action}")
async def change_jobs(action: str, visitor: Annotated[Visitor, Depends(find_visitor)]) -> Response:
    """Retry or drop a dead job, or all of them."""
    form = await read_form(visitor, "admin")
    job_id = form.get("job", "")
    jobs = visitor.caller.whole().jobs
    job_ids = [int(job_id)] if job_id.isdecimal() else None
    if action == "retry":
        await jobs.retry(job_ids)
    elif action == "drop":
        await jobs.drop(job_ids)
    else:
        raise ProblemError(404, f"a job has no action {shorten(action)}; it has retry and drop")
    return redirect_after_post("/ui/health")
