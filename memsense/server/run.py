"""Entry point that runs the server until it is interrupted, and the connections that it serves."""

import asyncio
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from memsense.client.tenants import Tenants
from memsense.config import Settings
from memsense.errors import ConfigurationError
from memsense.server.app import create_app
from memsense.server.options import ServerOptions

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


SHUTDOWN_SECONDS = 10
SWITCH_SECONDS = 0.001


def serve(
    settings: Settings,
    options: ServerOptions,
    *,
    on_start: Callable[[str], object] = lambda _: None,
    opens: str | None = None,
    wait: float | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM.

    Keys are required if the tenant of the settings has any.

    Args:
        settings: The settings of the memory.
        options: The address and the limits.
        on_start: Called with the server's address once it listens.
        opens: Path of a page to show in a browser.
        wait: Seconds to wait for the database's server; by default the pool's timeout.

    Raises:
        ConfigurationError: If the address is in use, or other machines could reach it without key.
    """
    import uvicorn

    # A thread that computes gives way after 5 ms; with several, the loop that answers everybody
    # would wait for each of them in turn.
    sys.setswitchinterval(SWITCH_SECONDS)
    with Tenants.open(settings, wait=wait) as tenants:
        if any(not key.revoked_at for key in tenants.own.access_keys.list()):
            options = replace(options, needs_key=True)
        mounts: dict[str, Any] = {}
        if find_spec("mcp") is not None:
            from memsense.server.mcp import PATH, KeyedMcp

            mounts[PATH] = KeyedMcp()
        config = uvicorn.Config(
            create_app(tenants, options, mounts=mounts),
            log_level="warning",
            access_log=False,
            server_header=False,
            http=QuickProtocol,
            # uvicorn trusts only a proxy on this machine, or one that FORWARDED_ALLOW_IPS names.
            proxy_headers=True,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        )
        with _listen(options) as listener:
            # Port 0 means any free port: ask the socket which one it is.
            port = listener.getsockname()[1]
            host = f"[{options.host}]" if ":" in options.host else options.host
            address = f"http://{host}:{port}"
            on_start(address)
            if opens is not None:
                # In a thread, because some browsers keep the caller waiting until they end.
                url = f"{address}{opens}"
                threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
            with _delayed_signals():
                uvicorn.Server(config).run([listener])


@contextmanager
def _delayed_signals() -> Generator[None]:
    """Raise a signal that ended the server again, but only after the server has shut down.

    uvicorn raises it itself, in the middle of its shutdown.
    """
    received: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    handlers = {
        number: signal.signal(number, lambda it, _: received.append(it)) for number in numbers
    }
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if received:
        signal.raise_signal(received[-1])


def _listen(options: ServerOptions) -> socket.socket:
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    try:
        listener = socket.create_server((options.host, options.port), family=family)
    except OSError as error:
        raise ConfigurationError(
            f"can't listen on {options.host}, port {options.port}: {error.strerror};"
            " choose another --port or --host"
        ) from error
    end_dead_connections(listener)
    return listener
