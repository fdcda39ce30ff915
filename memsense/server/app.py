"""Puts the server together: routes, errors, limits and headers."""

import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import memsense
from memsense.client.tenants import Tenants
from memsense.errors import ConfigurationError
from memsense.server.options import ServerOptions

try:
    from fastapi import Depends, FastAPI, Request, Response
    from fastapi.openapi.utils import get_openapi
    from starlette.routing import Route
    from starlette.types import ASGIApp

    from memsense.server.guards import check_name, check_origin, check_query
    from memsense.server.limits import BodyLimit
    from memsense.server.page.app import add_page, is_of_page, tell_error
    from memsense.server.problems import Problem, ProblemError, add_handlers, tell_problem
    from memsense.server.routes import health, memories, operating, searches
    from memsense.server.state import ServerState
except ImportError as error:
    raise ConfigurationError(
        f"the server needs more packages ({error.name}): pip install 'memsense[server]'"
    ) from error

SUMMARY = "Memory for agents: conversations in, the few memories that matter out, and why."


def create_app(
    tenants: Tenants,
    options: ServerOptions,
    *,
    mounts: Mapping[str, ASGIApp] | None = None,
) -> FastAPI:
    """The server as an ASGI application over open memories, which its caller closes.

    `mounts` are further applications by the path that each answers at; the lifespan of one that has
    any is entered with the server's. Raises ConfigurationError where others than this machine would
    need no key.
    """
    options.check_place()
    app = FastAPI(
        title="memsense",
        summary=SUMMARY,
        version=memsense.__version__,
        lifespan=_lifespan(mounts or {}),
        docs_url=None,
        redoc_url=None,
        openapi_url="/v1/openapi.json",
    )
    app.state.server = ServerState(tenants, options)
    add_handlers(app, _tell)
    for module in (memories, searches, operating, health):
        app.include_router(module.router, dependencies=[Depends(check_query)])
    add_page(app)
    for path, mounted in (mounts or {}).items():
        app.router.routes.append(Route(path, mounted))
    app.openapi = lambda: _openapi(app)
    app.add_middleware(BodyLimit, largest=options.largest_body)
    app.middleware("http")(_watch)
    return app


def _lifespan(mounts: Mapping[str, ASGIApp]) -> Callable[[FastAPI], Any]:
    @asynccontextmanager
    async def run(_: FastAPI) -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            for mounted in mounts.values():
                router = getattr(mounted, "router", None)
                if router is not None:
                    await stack.enter_async_context(router.lifespan_context(mounted))
            yield

    return run


async def _watch(request: Request, call_next: Callable[[Request], Any]) -> Response:
    """Guard and count every request."""
    state: ServerState = request.app.state.server
    started, status = time.perf_counter(), 500
    try:
        response = await _guard(request, call_next)
        status = response.status_code
    finally:
        route = getattr(request.scope.get("route"), "path", "other")
        taken = time.perf_counter() - started
        state.metrics.count(request.method, route, status, taken)
    response.headers.setdefault("X-Content-Type-Options", "nosniff")
    response.headers.setdefault("Cache-Control", "no-store")
    return response


async def _guard(request: Request, call_next: Callable[[Request], Any]) -> Response:
    try:
        check_name(request, request.app.state.server.options)
        check_origin(request)
    except ProblemError as error:
        return _tell(request, error)
    return await call_next(request)


def _tell(request: Request, error: Exception) -> Response:
    return tell_error(error) if is_of_page(request) else tell_problem(error)


def _openapi(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI text, in which each error is a problem."""
    if app.openapi_schema is None:
        schema = get_openapi(
            title=app.title, version=app.version, summary=app.summary, routes=app.routes
        )
        schemas = schema["components"]["schemas"]
        schemas["Problem"] = Problem.model_json_schema()
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        app.openapi_schema = schema
    return app.openapi_schema
