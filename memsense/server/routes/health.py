"""`/health/live`, `/health/ready`, `/metrics`: for whoever runs the server."""

from fastapi import APIRouter, Request, Response

from memsense.server.answers import Health
from memsense.server.callers import Admin, state_of
from memsense.server.metrics import CONTENT_TYPE
from memsense.server.problems import TITLES, ProblemError, documented

router = APIRouter(tags=["health"])


@router.get("/health/live")
async def live() -> Health:
    """The process runs."""
    return Health(status="live")


@router.get(
    "/health/ready",
    responses={503: documented()[503] | {"description": TITLES[503]}},
)
async def ready(request: Request) -> Health:
    """The database answers, too."""
    if await state_of(request).find_fault() is not None:
        raise ProblemError(503, "the database does not answer; the server's log tells why")
    return Health(status="ready")


@router.get(
    "/metrics",
    response_class=Response,
    responses={
        **documented(),
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "counters"},
    },
)
async def metrics(request: Request, caller: Admin) -> Response:  # noqa: ARG001 (must be admitted)
    """Counters in the text format of Prometheus: requests by route, times, the pool."""
    return Response(state_of(request).metrics.text(), media_type=CONTENT_TYPE)
