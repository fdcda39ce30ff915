"""Guards of the server: request rates, body sizes, and requests that other web sites cause."""

import math
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from anyio import fail_after
from fastapi import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from memsense.server.options import ServerOptions, is_loopback
from memsense.server.problems import BodyTooLargeError, ProblemError

READING_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

UPLOADS = "/v1/imports"

BODY_SECONDS = 60.0
"""Time within which a client must send the next part of a body."""

LARGEST_BUCKET_COUNT = 10_000
"""Callers whose bucket is remembered. Beyond it the one that was used longest ago is dropped."""


class Buckets:
    """Token buckets, one for each caller.

    Args:
        rate: Requests per second in the long run.
        burst: Requests at once.
        clock: Returns seconds; tests pass their own.
    """

    def __init__(
        self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        # Tokens and the time at which they were counted. In order of use, so that the first entry
        # is the one to drop.
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, caller: str) -> float:
        """Take one of the caller's tokens; return 0, or the seconds until there will be one."""
        now = self._clock()
        full = float(self._burst)
        tokens, counted_at = self._buckets.get(caller, (full, now))
        tokens = min(full, tokens + (now - counted_at) * self._rate)
        if tokens < 1:
            return (1 - tokens) / self._rate
        self._buckets.pop(caller, None)
        self._buckets[caller] = tokens - 1, now
        # A client that sends made-up keys or addresses must not fill the memory.
        if len(self._buckets) > LARGEST_BUCKET_COUNT:
            del self._buckets[next(iter(self._buckets))]
        return 0.0


def format_retry_after(seconds: float) -> str:
    """Return a value for Retry-After: whole seconds, rounded up."""
    return str(max(1, math.ceil(seconds)))


class BodyLimit:
    """ASGI middleware that raises BodyTooLargeError for a body of more than `largest` bytes.

    It counts the bytes that are read, because a request with chunked encoding has no length. An
    upload of an export is counted by its own route.
    """

    def __init__(self, app: ASGIApp, largest: int) -> None:
        self._app = app
        self._largest = largest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and count the bytes of its body."""
        size = 0

        async def count_and_receive() -> Any:
            nonlocal size
            with fail_after(BODY_SECONDS):
                message = await receive()
            size += len(message.get("body", b""))
            if size > self._largest:
                raise BodyTooLargeError(self._largest)
            return message

        is_counted = scope["type"] == "http" and scope["path"] != UPLOADS
        await self._app(scope, count_and_receive if is_counted else receive, send)


def check_host(request: Request, options: ServerOptions) -> None:
    """Raise ProblemError for a host name other than localhost, if the server needs no key."""
    # Against DNS rebinding: a web site can let its own name resolve to 127.0.0.1, and would then
    # read the memory in its visitor's browser.
    if options.needs_key:
        return
    name = urlsplit(f"//{request.headers.get('host', '')}").hostname or ""
    if not is_loopback(name):
        raise ProblemError(
            403, "without keys the server answers only requests to localhost or 127.0.0.1"
        )


def check_origin(request: Request, options: ServerOptions) -> None:
    """Raise ProblemError for a request by which another web site would change something here."""
    if request.method in READING_METHODS:
        return
    origin = request.headers.get("origin")
    # A listed site may use the API, which no cookie opens; never the page.
    if origin is not None and request.url.path.startswith("/v1/") and options.allows(origin):
        return
    fetch_site = request.headers.get("sec-fetch-site", "same-origin")
    is_other = origin is not None and urlsplit(origin).netloc != request.headers.get("host")
    if is_other or fetch_site not in {"same-origin", "none"}:
        raise ProblemError(403, "requests from other web sites are refused")
