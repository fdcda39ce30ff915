"""The page *Health*: counts, growth, jobs, latency; for admins the findings of the doctor, too."""

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from memsense.doctor.sizes import in_units
from memsense.doctor.tenant import examine_tenant, list_sizes
from memsense.server.callers import state_of
from memsense.server.page.visiting import Reading, Visitor, find_visitor, read_form, see_other
from memsense.server.problems import ProblemError

router = APIRouter(prefix="/ui/health", include_in_schema=False)

DEAD_JOBS = 50
USERS = 100
DAYS = 30


@router.get("")
async def show_health(visitor: Reading) -> Response:
    """How the memory does."""
    memory = visitor.caller.whole()
    growth = await memory.growth(days=DAYS)
    most = max((day.exchanges for day in growth), default=1)
    return visitor.page(
        "health.html",
        users=await memory.users(limit=USERS),
        growth=[(day, round(1000 * day.exchanges / most)) for day in growth],
        jobs=await memory.jobs.count(),
        dead=await memory.jobs.list("dead", limit=DEAD_JOBS),
        latency=await memory.traces.statistics(),
        **await _examine(visitor),
    )


async def _examine(visitor: Visitor) -> dict[str, Any]:
    """What the doctor finds and how large the database is; None for who may not know."""
    if not visitor.caller.may("admin"):
        return {"report": None, "sizes": []}
    state, tenant = state_of(visitor.request), visitor.caller.tenant
    pool = state.tenants.pool(tenant)
    settings = state.tenants.settings.model_copy(update={"tenant": tenant})

    def examine() -> Any:
        embedder = state.tenants.memory(tenant).embedder
        return examine_tenant(pool, settings, embedder)

    report = await state.threads.run(examine)
    sizes = await state.threads.run(partial(list_sizes, pool))
    return {
        "report": report,
        "sizes": [{**row, "size": in_units(row["bytes"])} for row in sizes],
    }


@router.post("/jobs/{action}")
async def change_jobs(action: str, visitor: Annotated[Visitor, Depends(find_visitor)]) -> Response:
    """Retry or drop what is dead."""
    form = await read_form(visitor, "admin")
    given = form.get("job", "")
    jobs = visitor.caller.whole().jobs
    chosen = [int(given)] if given.isdecimal() else None
    if action == "retry":
        await jobs.retry(chosen)
    elif action == "drop":
        await jobs.drop(chosen)
    else:
        raise ProblemError(404, "there is no such action")
    return see_other("/ui/health")
