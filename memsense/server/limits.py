"""Limits: how often a caller may ask, and how much a request may hold."""

import math
import time
from collections.abc import Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Any]
Send = Callable[[Any], Any]

MOST_BUCKETS = 10_000
"""Callers whose bucket is remembered; the longest unused is forgotten, and full again."""


class Buckets:
    """A token bucket per caller: so many requests at once, and so many a second for long."""

    def __init__(
        self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, caller: str) -> float:
        """Take a token of the caller's; 0, or the seconds after which there is one."""
        tokens = self._tokens(caller)
        if tokens < 1:
            return (1 - tokens) / self._rate
        self._keep(caller, tokens - 1)
        return 0.0

    def _tokens(self, caller: str) -> float:
        now = self._clock()
        tokens, since = self._left.get(caller, (float(self._burst), now))
        return min(float(self._burst), tokens + (now - since) * self._rate)

    def _keep(self, caller: str, tokens: float) -> None:
        self._left.pop(caller, None)
        self._left[caller] = tokens, self._clock()
        if len(self._left) > MOST_BUCKETS:
            del self._left[next(iter(self._left))]


def whole_seconds(seconds: float) -> str:
    """A time for Retry-After: whole seconds, rounded up."""
    return str(max(1, math.ceil(seconds)))


class BodyTooLargeError(Exception):
    """A request's body is larger than the server takes."""

    def __init__(self, largest: int) -> None:
        super().__init__(f"the body is larger than {largest:,} bytes")


class BodyLimit:
    """ASGI middleware: raises BodyTooLargeError where a request is read beyond so many bytes."""

    def __init__(self, app: Any, largest: int) -> None:
        self._app = app
        self._largest = largest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, counting what is read of it."""
        read = 0

        async def counted() -> Any:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self._largest:
                raise BodyTooLargeError(self._largest)
            return message

        await self._app(scope, counted if scope["type"] == "http" else receive, send)
