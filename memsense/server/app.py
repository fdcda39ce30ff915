"""Assembly of the server: routes, page, errors, guards and headers."""

from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cache, partial
from typing import Any, cast

import memsense
from memsense.client.tenants import Tenants
from memsense.declaration import unknown_argument
from memsense.errors import ConfigurationError
from memsense.server.options import ServerOptions
from memsense.text.nearest import nearest_name

try:
    from fastapi import Depends, FastAPI, Request, Response
    from fastapi.openapi.utils import get_openapi
    from fastapi.routing import APIRoute
    from starlette.exceptions import HTTPException
    from starlette.middleware.cors import CORSMiddleware
    from starlette.middleware.gzip import GZipMiddleware
    from starlette.routing import Match, Route
    from starlette.types import ASGIApp, Receive, Scope, Send

    from memsense.server.callers import NAMESPACE_HEADER
    from memsense.server.gate import Gate
    from memsense.server.operations import COMPRESSION, SMALLEST_COMPRESSED
    from memsense.server.page.routers import ROUTERS as PAGE_ROUTERS
    from memsense.server.page.visitors import (
        COOKIE,
        HOME,
        PageSessions,
        SignInNeededError,
        redirect_to_sign_in,
        render_error,
    )
    from memsense.server.problems import Problem, ProblemError, add_handlers, problem_response
    from memsense.server.routes import health, memories, operating, searches, transfer
    from memsense.server.state import ServerState
except ImportError as error:
    raise ConfigurationError(
        f"the server needs more packages ({error.name}): pip install 'memsense[server]'"
    ) from error

SUMMARY = "Memory for agents: conversations in, the few memories that matter out, and why."

TAGS = {
    "memories": "Memories, sessions, projects, entities and users: store, list, change, erase.",
    "searches": "Questions, contexts, why-not, recorded searches and sets of questions.",
    "operating": "Settings, profiles, keys, rules of expiry, jobs, models and indexes.",
    "transfer": "Exports and imports.",
    "health": "The state of the server.",
}

API_ROUTERS = (memories.router, searches.router, operating.router, transfer.router, health.router)


def create_app(
    tenants: Tenants, options: ServerOptions, *, mounts: Mapping[str, ASGIApp] | None = None
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
            try:
                yield
            finally:
                state.transfers.close()

    app = FastAPI(
        title="memsense",
        summary=SUMMARY,
        version=memsense.__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/v1/openapi.json",
    )
    state = app.state.server = ServerState(tenants, options)
    app.state.page_sessions = PageSessions()
    state.find_page_key = partial(_find_page_key, app)
    add_handlers(app, _error_response)
    app.add_exception_handler(SignInNeededError, redirect_to_sign_in)
    for router in API_ROUTERS:
        app.include_router(router, dependencies=[Depends(check_query)])
    for router in PAGE_ROUTERS:
        app.include_router(router)
    for path, mounted in (mounts or {}).items():
        # A Route, not a Mount: a Mount would redirect /mcp to /mcp/.
        app.router.routes.append(Route(path, mounted))
    app.openapi = describe_api
    # The last one that is added is the first one that runs.
    app.add_middleware(_Compress, minimum_size=SMALLEST_COMPRESSED, compresslevel=COMPRESSION)
    if options.origins:
        app.add_middleware(
            _Cors,
            allow_origins=options.origins,
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=[
                *("Authorization", "Content-Type", "Idempotency-Key", "Range"),
                *("If-Match", "If-None-Match", "Memsense-Namespace"),
            ],
            expose_headers=[
                *("Location", "Retry-After", "Content-Range", "ETag"),
                *("RateLimit", "RateLimit-Policy"),
            ],
            max_age=600,
        )
    app.add_middleware(Gate, state=state, respond=_error_response)
    return app


async def check_query(request: Request) -> None:
    """Check a query for parameters that the route doesn't have, or that are given twice.

    Raises UnknownArgumentError and ProblemError.
    """
    # A mistyped filter would otherwise be ignored, and the list be longer than it should be; of a
    # value that is given twice, the first would be.
    if not request.query_params:
        return
    route, method = request.scope["route"], request.method.lower()
    operation = describe_api()["paths"][route.path_format][method]
    schemas = {
        item["name"]: item["schema"]
        for item in operation.get("parameters", ())
        if item.get("in") == "query"
    }
    if unknown := sorted(request.query_params.keys() - schemas.keys()):
        raise unknown_argument(unknown[0], sorted(schemas))
    counts = Counter([name for name, _ in request.query_params.multi_items()])
    for name, count in counts.items():
        kinds = [schemas[name], *schemas[name].get("anyOf", ())]
        if count > 1 and not any(kind.get("type") == "array" for kind in kinds):
            raise ProblemError(422, f"{name} is given {count} times; give it once")


class _Compress(GZipMiddleware):
    """Compression of the API's answers and of static files.

    Never of a page: it holds the token of its forms next to parts of the request, and the length of
    a compressed text would tell of both. Never of the lines of an export, which parts are fetched
    from.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Compress the answer, if it is one of these and the client reads it."""
        path = scope.get("path", "")
        is_compressed = path.startswith(("/v1/", "/ui/static/")) and not path.endswith("/lines")
        run = super().__call__ if is_compressed else self.app
        await run(scope, receive, send)


class _Cors(CORSMiddleware):
    """CORS of the API alone: other web sites never call the page."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a preflight, or add the headers for an allowed site."""
        run = super().__call__ if scope.get("path", "").startswith("/v1/") else self.app
        await run(scope, receive, send)


def _find_page_key(app: FastAPI, request: Request) -> str | None:
    session = app.state.page_sessions.find(request.cookies.get(COOKIE))
    return session.key if session is not None else None


def _error_response(request: Request, error: Exception) -> Response:
    if request.url.path.startswith(HOME):
        return render_error(request, error)
    if isinstance(error, HTTPException) and error.status_code in {404, 405}:
        error = _unknown_route(request)
    return problem_response(error)


def _unknown_route(request: Request) -> ProblemError:
    """Return the error for a path without a route, or for a method that the path lacks."""
    request_line = f"{request.method} {request.url.path}"
    routes = [route for router in API_ROUTERS for route in router.routes]
    matching = [route for route in routes if route.matches(request.scope)[0] is not Match.NONE]
    methods = {name for route in cast("list[APIRoute]", matching) for name in route.methods or ()}
    if methods:
        allowed = ", ".join(sorted(methods))
        return ProblemError(
            405, f"no route {request_line}; the path has {allowed}", {"Allow": allowed}
        )
    parts = request.url.path.split("/")
    # The paths of the API, with the names and ids of the request; all begin alike.
    paths = [
        "/".join(
            parts[place] if part.startswith("{") and place < len(parts) else part
            for place, part in enumerate(path.split("/"))
        )
        for path in describe_api()["paths"]
    ]
    by_name = {path.removeprefix("/v1/"): path for path in paths}
    nearest = nearest_name(request.url.path.removeprefix("/v1/"), by_name)
    hint = f"; did you mean {by_name[nearest]}?" if nearest else ""
    return ProblemError(404, f"no route {request_line}{hint}")


@cache
def describe_api() -> dict[str, Any]:
    """Return the OpenAPI document of the API, in which every error is a problem."""
    routes = [route for router in API_ROUTERS for route in router.routes]
    document = get_openapi(
        title="memsense",
        version=memsense.__version__,
        summary=SUMMARY,
        routes=routes,
        servers=[{"url": "/"}],
        tags=[{"name": name, "description": text} for name, text in TAGS.items()],
    )
    components, responses = document["components"], dict[str, Any]()
    problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    components["schemas"] |= problem.pop("$defs") | {"Problem": problem}
    components["responses"] = responses
    # FastAPI describes its own form of validation errors, which this server never sends.
    for name in ("HTTPValidationError", "ValidationError"):
        components["schemas"].pop(name, None)
    document["security"] = [{scheme: []} for scheme in components["securitySchemes"]]
    for route in cast("list[APIRoute]", routes):
        for method in route.methods or ():
            operation = document["paths"][route.path_format][method.lower()]
            # FastAPI's own ids change with the path.
            operation["operationId"] = route.name
            if operation.pop("security", None) is None:
                operation["security"] = []
            for place, item in enumerate(operation.get("parameters", ())):
                if item["name"] == NAMESPACE_HEADER:
                    components["parameters"] = {"Namespace": item}
                    operation["parameters"][place] = {"$ref": "#/components/parameters/Namespace"}
            # Written once: the same ten errors of each route were half of the text.
            for status, response in operation["responses"].items():
                if not status.startswith(("2", "3")):
                    responses[name := f"Problem{status}"] = response
                    operation["responses"][status] = {"$ref": f"#/components/responses/{name}"}
    return document
