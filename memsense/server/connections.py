"""Connections of the server: those that send nothing, or whose other side is gone, end."""

import asyncio
import socket
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

REQUEST_SECONDS = 30.0
"""Time in which a connection must have sent the head of its first request."""

LARGEST_HEAD = 64 * 1024
"""Bytes that the head of a request may have: the parser itself would collect any number."""

PROBE_AFTER, PROBE_EVERY, PROBES = 60, 15, 4
"""Seconds of silence before the kernel asks whether the other side is there, and how often."""


class QuickProtocol(HttpToolsProtocol):
    """HTTP/1.1 of uvicorn, which by itself waits for a request for ever, however long its head."""

    _deadline: asyncio.TimerHandle | None = None
    _head_size = 0

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._deadline = self.loop.call_later(REQUEST_SECONDS, self._close_if_silent)

    def data_received(self, data: bytes) -> None:
        """Read data, and wait for the rest of a request's head no longer than for a first one."""
        self._head_size += len(data)
        super().data_received(data)
        if not self._is_between_requests():
            self._stop_waiting()
            self._head_size = 0
        elif self._head_size > LARGEST_HEAD:
            self.transport.close()
        elif self._deadline is None:
            # Counted from its first byte: a head that comes byte by byte gets no more time.
            self._deadline = self.loop.call_later(REQUEST_SECONDS, self._close_if_silent)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _is_between_requests(self) -> bool:
        cycle: Any = self.cycle  # uvicorn declares no None, but begins with it
        return cycle is None or cycle.response_complete

    def _close_if_silent(self) -> None:
        if self._is_between_requests() and not self.transport.is_closing():
            self.transport.close()


def end_dead_connections(listener: socket.socket) -> None:
    """Let the kernel end the listener's connections whose other side does not answer."""
    # Connections inherit these from the socket that accepts them.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    options = {
        "TCP_KEEPIDLE": PROBE_AFTER,
        "TCP_KEEPINTVL": PROBE_EVERY,
        "TCP_KEEPCNT": PROBES,
        "TCP_USER_TIMEOUT": 1000 * (PROBE_AFTER + PROBE_EVERY * PROBES),
    }
    for name, value in options.items():
        # Not every system has each of them.
        if hasattr(socket, name):
            listener.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
