"""Gate of the server: guards, admission, metrics and headers around every request."""

import time
from collections.abc import Callable

from fastapi import Request, Response
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memsense.server.admission import TooBusyError
from memsense.server.guards import UPLOADS, Bodies, check_host, check_origin, format_retry_after
from memsense.server.problems import BodyTooLargeError, ProblemError
from memsense.server.state import ServerState

FREE_PATHS = ("/health/", "/v1/openapi.json", "/ui/static/", "/favicon.ico")


class Gate:
    """ASGI middleware around all others: guards, admission, metrics and headers.

    Written for ASGI itself: Starlette's middleware by a function starts a task and a stream for
    each request, which costs more than all that is done here.
    """

    def __init__(
        self, app: ASGIApp, state: ServerState, respond: Callable[[Request, Exception], Response]
    ) -> None:
        self._app = app
        self._state = state
        self._respond = respond
        self._bodies = Bodies(state.options.largest_body)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the request, wait for its turn, pass it on, and count it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state, started, status = self._state, time.perf_counter(), 500

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers.setdefault("X-Content-Type-Options", "nosniff")
                # No proxy or browser may keep memories, unless a route allows it for a static file.
                headers.setdefault("Cache-Control", "no-store")
                headers.update(scope.get("state", {}).get("rate_limit", {}))
            await send(message)

        request = Request(scope, receive)
        try:
            check_host(request, state.options)
            check_origin(request, state.options)
            async with self._bodies.reading(scope, receive) as receive_body:
                await self._run(request, scope, receive_body, send_with_headers)
        except (ProblemError, BodyTooLargeError) as error:
            await self._respond(request, error)(scope, receive, send_with_headers)
        finally:
            # By the route's pattern: the paths themselves hold ids, and would be a counter each.
            route = getattr(scope.get("route"), "path", "other")
            seconds = time.perf_counter() - started
            state.metrics.count(request.method, route, status, seconds)

    async def _run(self, request: Request, scope: Scope, receive: Receive, send: Send) -> None:
        if _is_free(request):
            await self._app(scope, receive, send)
            return
        name = self._state.name_caller(request)
        try:
            await self._state.admission.enter(name)
        except TooBusyError as error:
            self._state.metrics.refuse(own=error.is_own)
            wait = format_retry_after(error.retry_after)
            raise ProblemError(
                429 if error.is_own else 503,
                f"{error}: try again in {wait} s",
                {"Retry-After": wait},
            ) from error
        started = time.perf_counter()
        try:
            await self._app(scope, receive, send)
        finally:
            self._state.admission.leave(name, time.perf_counter() - started)


def _is_free(request: Request) -> bool:
    """Return whether a request needs no slot: it asks nothing of a memory, or stays for long."""
    path = request.url.path
    if path.startswith(FREE_PATHS):
        return True
    # A stream of events stays open; streams of lines, and uploads, have limits of their own.
    free = {"GET": {"/mcp", "/v1/export"}, "POST": UPLOADS}
    return path in free.get(request.method, ())
