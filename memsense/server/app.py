"""Assembly of the server: routes, page, errors, guards and headers."""

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

    from memsense.server.guards import BodyLimit, check_host, check_origin, check_query
    from memsense.server.page.routers import ROUTERS as PAGE_ROUTERS
    from memsense.server.page.visitors import (
        HOME,
        PageSessions,
        SignInNeededError,
        redirect_to_sign_in,
        render_error,
    )
    from memsense.server.problems import Problem, ProblemError, add_handlers, problem_response
    from memsense.server.routes import memories, operating, searches
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
    """Return the server as an ASGI application over open memories, which the caller closes.

    Args:
        tenants: The open memories.
        options: The address and the limits.
        mounts: More applications, by the path that each answers at. If one has a lifespan, it runs
            within the server's.

    Raises:
        ConfigurationError: If other machines could reach the server without a key.
    """
    options.check_address()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        # Starlette does not run the lifespan of a mounted application, which MCP's needs.
        async with AsyncExitStack() as stack:
            for mounted in (mounts or {}).values():
                router = getattr(mounted, "router", None)
                if router is not None:
                    await stack.enter_async_context(router.lifespan_context(mounted))
            yield

    app = FastAPI(
        title="memsense",
        summary=SUMMARY,
        version=memsense.__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/v1/openapi.json",
    )
    app.state.server = ServerState(tenants, options)
    app.state.page_sessions = PageSessions()
    add_handlers(app, _error_response)
    app.add_exception_handler(
        SignInNeededError,
        redirect_to_sign_in,
    )
    for router in (memories.router, searches.router, operating.router, operating.health_router):
        app.include_router(router, dependencies=[Depends(check_query)])
    for router in PAGE_ROUTERS:
        app.include_router(router)
    for path, mounted in (mounts or {}).items():
        # A Route, not a Mount: a Mount would redirect /mcp to /mcp/.
        app.router.routes.append(Route(path, mounted))
    app.openapi = lambda: _openapi(app)
    app.add_middleware(BodyLimit, largest=options.largest_body)
    app.middleware("http")(_guard_and_count)
    return app


async def _guard_and_count(request: Request, call_next: Callable[[Request], Any]) -> Response:
    """Check each request before its route, count it, and set the headers of its answer."""
    state: ServerState = request.app.state.server
    started, status = time.perf_counter(), 500
    try:
        try:
            check_host(request, state.options)
            check_origin(request)
        except ProblemError as error:
            response = _error_response(request, error)
        else:
            response = await call_next(request)
        status = response.status_code
    finally:
        # By the route's pattern: the paths themselves hold ids, and would be a counter each.
        route = getattr(request.scope.get("route"), "path", "other")
        state.metrics.count(request.method, route, status, time.perf_counter() - started)
    response.headers.setdefault("X-Content-Type-Options", "nosniff")
    # No proxy or browser may keep memories, unless a route says so of a static file.
    response.headers.setdefault("Cache-Control", "no-store")
    return response


def _error_response(request: Request, error: Exception) -> Response:
    is_page = request.url.path.startswith(HOME)
    return render_error(request, error) if is_page else problem_response(error)


def _openapi(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document, in which every error is a problem."""
    if app.openapi_schema is None:
        schema = get_openapi(
            title=app.title, version=app.version, summary=app.summary, routes=app.routes
        )
        schemas = schema["components"]["schemas"]
        schemas["Problem"] = Problem.model_json_schema()
        # FastAPI describes its own form of validation errors, which this server never sends.
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        app.openapi_schema = schema
    return app.openapi_schema
