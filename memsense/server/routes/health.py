"""Routes of health and metrics."""

from fastapi import APIRouter, Request, Response

from memsense.server.answers import Health
from memsense.server.callers import Admin, state_of
from memsense.server.problems import TITLES, ProblemError, problem_responses
from memsense.server.state import METRICS_CONTENT_TYPE

router = APIRouter(tags=["health"])


@router.get("/health/live", name="live")
async def live() -> Health:
    """Return whether the process runs; it asks no database."""
    return Health(status="live")


@router.get(
    "/health/ready",
    name="ready",
    responses={503: problem_responses()[503] | {"description": TITLES[503]}},
)
async def ready(request: Request) -> Health:
    """Return whether the database answers, too."""
    # Without a key: the reason may name the database's address, and goes into the log alone.
    if await state_of(request).find_fault() is not None:
        raise ProblemError(503, "the database does not answer; see the server's log for the reason")
    return Health(status="ready")


@router.get(
    "/metrics",
    name="metrics",
    response_class=Response,
    responses={
        **problem_responses(),
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "counters"},
    },
)
async def metrics(request: Request, caller: Admin) -> Response:
    """Return counters for Prometheus: requests by route, their times, and the pool."""
    state = state_of(request)
    # They count the requests of all tenants, and so are for the operator of the server.
    if caller.tenant != state.tenants.settings.tenant or caller.user_id is not None:
        raise ProblemError(403, "metrics count all tenants: they need a key of the server's tenant")
    return Response(state.metrics.text(), media_type=METRICS_CONTENT_TYPE)
