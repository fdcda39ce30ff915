"""Guards of the server: request rates, body sizes, and requests that other web sites cause."""

import asyncio
import math
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from fastapi import Request
from starlette.types import Message, Receive, Scope

from memsense.server.options import ServerOptions, is_loopback
from memsense.server.problems import BodyTooLargeError, ProblemError

READING_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

UPLOADS = frozenset({"/v1/imports", "/v1/ingest"})

BODY_SECONDS = 30.0
LEAST_RATE = 64 * 1024
"""Seconds that a body may take, and the bytes that earn it another second."""

BODY_HEADERS = frozenset({b"content-length", b"transfer-encoding"})
"""A request without either has no body."""

MOST_BUFFERED = 256 * 1024 * 1024
"""Bytes of bodies that are held in memory at once."""

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

    def fields(self, caller: str) -> dict[str, str]:
        """Return the headers that tell a caller its limit, and what is left of it.

        As draft-ietf-httpapi-ratelimit-headers-10 has them: the quota and its window in seconds,
        what remains, and the seconds until all of it is there again.
        """
        tokens, counted_at = self._buckets.get(caller, (float(self._burst), self._clock()))
        tokens = min(self._burst, tokens + (self._clock() - counted_at) * self._rate)
        window, full = (math.ceil(it / self._rate) for it in (self._burst, self._burst - tokens))
        policy = f'"key";q={self._burst};w={window}'
        return {"RateLimit-Policy": policy, "RateLimit": f'"key";r={int(tokens)};t={full}'}


def format_retry_after(seconds: float) -> str:
    """Return a value for Retry-After: whole seconds, rounded up."""
    return str(max(1, math.ceil(seconds)))


class Bodies:
    """Reader of requests' bodies, before a request gets its slot: a slow client holds none.

    Args:
        largest: Bytes that a body may have.
    """

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self._buffered = 0

    @asynccontextmanager
    async def reading(self, scope: Scope, receive: Receive) -> AsyncGenerator[Receive]:
        """Read a request's body; yield a `receive` that gives it whole.

        An upload is passed on as it comes; its own route counts it.

        Raises:
            BodyTooLargeError: If the body is too large.
            ProblemError: If it comes too slowly, or bodies fill the memory.
        """
        names = {name for name, _ in scope["headers"]}
        if names.isdisjoint(BODY_HEADERS):
            yield receive
            return
        in_time = _in_time(receive)
        if scope["path"] in UPLOADS:
            yield in_time
            return
        body, size = bytearray(), 0
        try:
            # Counted as they come, because a body in chunks does not say its length.
            while True:
                message = await in_time()
                part: bytes = message.get("body", b"")
                size += len(part)
                self._buffered += len(part)
                if size > self._largest:
                    raise BodyTooLargeError(self._largest)
                if self._buffered > MOST_BUFFERED:
                    raise ProblemError(503, "too many bodies are being read", {"Retry-After": "1"})
                body += part
                if not message.get("more_body", False):
                    break
            first: list[Message] = [{**message, "body": bytes(body)}]

            async def receive_whole() -> Message:
                return first.pop() if first else await receive()

            yield receive_whole
        finally:
            self._buffered -= size


def _in_time(receive: Receive) -> Receive:
    """Return a `receive` that raises ProblemError for a body that comes too slowly."""
    started, size = time.monotonic(), 0

    async def receive_part() -> Message:
        nonlocal size
        left = started + BODY_SECONDS + size / LEAST_RATE - time.monotonic()
        try:
            async with asyncio.timeout(left):
                message = await receive()
        except TimeoutError:
            raise ProblemError(
                408, f"the body came too slowly: {size:,} bytes so far", {"Connection": "close"}
            ) from None
        size += len(message.get("body", b""))
        return message

    return receive_part


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
