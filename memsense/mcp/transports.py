"""Transports of the MCP server: the standard streams of its process, or HTTP."""

import ipaddress
import signal
import socket
import sys
from collections.abc import Callable
from typing import NoReturn

import anyio
import uvicorn
from starlette.applications import Starlette

from memsense.errors import ConfigurationError, MemSenseError
from memsense.mcp.scope import OneScope
from memsense.mcp.sdk import Server, http_app

PATH = "/mcp"
_END_SIGNALS = [
    getattr(signal, it) for it in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, it)
]
_LOCAL_NAMES = ("127.0.0.1", "localhost", "[::1]")


def serve_stdio(
    server: Server,
    find: OneScope,
    on_error: Callable[[MemSenseError], object],
    leave: Callable[[int], NoReturn],
) -> None:
    """Serve until stdin ends, and open the memory in the background.

    Args:
        server: The server.
        find: Opens the memory.
        on_error: Called with the error of opening the memory. The next call tries again.
        leave: Called with a signal's number, after it has ended the server and the memory is
            closed.
    """

    async def open_memory() -> None:
        try:
            await find()
        except MemSenseError as error:
            on_error(error)

    async def close_at_signal() -> None:
        if sys.platform == "win32":  # its event loops can't wait for signals
            return
        # A signal that is ignored, as by nohup, stays ignored.
        numbers = [it for it in _END_SIGNALS if signal.getsignal(it) != signal.SIG_IGN]
        with anyio.open_signal_receiver(*numbers) as signals:
            async for number in signals:
                await find.close()
                leave(number)

    async def serve() -> None:
        async with find, anyio.create_task_group() as tasks:
            tasks.start_soon(open_memory)
            tasks.start_soon(close_at_signal)
            await server.run_stdio_async()
            tasks.cancel_scope.cancel()

    anyio.run(serve)


def serve_http(
    server: Server, find: OneScope, listener: socket.socket, on_ready: Callable[[], object]
) -> None:
    """Serve at `/mcp` of a listening socket, until the process gets a signal to end.

    `on_ready` is called once the memory is open. Raises the errors of `AsyncMemSense.open`.
    """
    app = build_app(server, listener.getsockname()[0])
    config = uvicorn.Config(app, log_level="warning", lifespan="on", server_header=False)

    async def serve() -> None:
        async with find:
            await find()
            on_ready()
            await uvicorn.Server(config).serve([listener])

    anyio.run(serve)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that only this machine can reach; port 0 means any free port.

    Raises ConfigurationError for another address: the server needs no key, so that anybody who
    could reach it could read the memory.
    """
    if not is_loopback(host):
        raise ConfigurationError(
            f"--host {host}: without keys the server listens only on 127.0.0.1 or ::1; for other"
            " machines use 'memsense serve', which has keys"
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise ConfigurationError(
            f"can't listen on {host}, port {port}: {error.strerror}; choose another --port"
        ) from error


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach the address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def build_app(server: Server, *names: str, asks_for_keys: bool = False) -> Starlette:
    """Return the server as an ASGI application, which keeps no sessions.

    An application that includes it must enter its lifespan in its own:

        app = build_app(server)
        async with app.router.lifespan_context(app):
            ...

    Args:
        server: The server.
        names: Host names that it answers to, besides those of this machine. A web page can't reach
            it under a name of its own.
        asks_for_keys: Each request has a key: answer to any host name.
    """
    hosts = [*_LOCAL_NAMES, *(f"[{name}]" if ":" in name else name for name in names)]
    security = {
        "enable_dns_rebinding_protection": not asks_for_keys,
        "allowed_hosts": [entry for host in hosts for entry in (host, f"{host}:*")],
        "allowed_origins": [f"http://{host}:*" for host in hosts],
    }
    return http_app(server, PATH, security)
