"""Where the server listens: the standard streams of its process, or HTTP."""

import ipaddress
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import anyio
import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette

from memsense.errors import ConfigurationError, MemSenseError
from memsense.mcp.scope import OneScope

PATH = "/mcp"
_ENDING = [getattr(signal, it) for it in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, it)]
_THIS_MACHINE = ("127.0.0.1", "localhost", "[::1]")


def serve_stdio(
    server: MCPServer[Any],
    find: OneScope,
    on_error: Callable[[MemSenseError], object],
    leave: Callable[[int], NoReturn],
) -> None:
    """Serve until stdin ends; the memory is opened meanwhile.

    `on_error` gets what opening it raises: the next call tries again. At a signal that ends
    processes the memory is closed, and `leave` gets the signal's number.
    """

    async def serve() -> None:
        async with find, anyio.create_task_group() as tasks:
            tasks.start_soon(_open, find, on_error)
            tasks.start_soon(_wait_for_signal, find, leave)
            await server.run_stdio_async()
            tasks.cancel_scope.cancel()

    anyio.run(serve)


async def _open(find: OneScope, on_error: Callable[[MemSenseError], object]) -> None:
    try:
        await find()
    except MemSenseError as error:
        on_error(error)


async def _wait_for_signal(find: OneScope, leave: Callable[[int], NoReturn]) -> None:
    if sys.platform == "win32":  # no loop can wait for one there
        return
    heeded = [it for it in _ENDING if signal.getsignal(it) != signal.SIG_IGN]
    with anyio.open_signal_receiver(*heeded) as signals:
        async for number in signals:
            await find.close()
            leave(number)


def serve_http(
    server: MCPServer[Any],
    find: OneScope,
    listening: socket.socket,
    on_ready: Callable[[], object],
) -> None:
    """Serve at `/mcp` of a socket that listens, until the process is told to end.

    `on_ready` is called once the memory is open. Raises the errors of `AsyncMemSense.open`.
    """
    app = build_app(server, listening.getsockname()[0])
    config = uvicorn.Config(app, log_level="warning", lifespan="on", server_header=False)

    async def serve() -> None:
        async with find:
            await find()
            on_ready()
            await uvicorn.Server(config).serve([listening])

    anyio.run(serve)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens on this machine alone, at port 0 on any that is free.

    Raises ConfigurationError: whoever reaches the server has the memory, for it asks for no key.
    """
    if not is_loopback(host):
        raise ConfigurationError(
            f"--host {host}: without keys the server listens on this machine alone (127.0.0.1, ::1)"
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise ConfigurationError(
            f"can't listen on {host}, port {port}: {error.strerror}; --port takes another"
        ) from error


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens there."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def build_app(server: MCPServer[Any], *names: str, asks_for_keys: bool = False) -> Starlette:
    """The server as an ASGI application, without sessions: any process may answer any request.

    It answers under the names of this machine and those given, so that no web page reaches it by a
    name of its own; under any name where each request shows a key. An application that takes its
    routes in must enter its lifespan:

        app = build_app(server)
        async with app.router.lifespan_context(app):  # in the lifespan of the other
            ...
    """
    hosts = [*_THIS_MACHINE, *(f"[{name}]" if ":" in name else name for name in names)]
    return server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        transport_security=TransportSecuritySettings(
            enable_dns_rebinding_protection=not asks_for_keys,
            allowed_hosts=[entry for host in hosts for entry in (host, f"{host}:*")],
            allowed_origins=[f"http://{host}:*" for host in hosts],
        ),
    )
