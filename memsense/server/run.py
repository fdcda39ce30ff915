"""Runs the server until it is interrupted."""

import signal
import socket
import threading
import webbrowser
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

from memsense.client.tenants import Tenants
from memsense.config import Settings
from memsense.errors import ConfigurationError
from memsense.server.app import create_app
from memsense.server.options import ServerOptions

SHUTDOWN_SECONDS = 10


def serve(
    settings: Settings,
    options: ServerOptions,
    *,
    on_start: Callable[[str], object] = lambda _: None,
    opens: str | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM; `on_start` is told the address once it listens.

    Keys are asked for as soon as the tenant of the settings has any. `opens` is the path of a page
    to show in a browser. Raises ConfigurationError where the address is taken, or unsafe.
    """
    import uvicorn

    with Tenants.open(settings) as tenants:
        if any(not key.revoked_at for key in tenants.own.access_keys.list()):
            options = replace(options, needs_key=True)
        config = uvicorn.Config(
            create_app(tenants, options, mounts=_mounts()),
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=True,  # of a proxy on this machine, or that FORWARDED_ALLOW_IPS names
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        )
        with _listen(options) as listening:
            address = _address(listening, options)
            on_start(address)
            if opens is not None:
                shown = f"{address}{opens}"
                threading.Thread(target=webbrowser.open, args=(shown,), daemon=True).start()
            with _signals_afterwards():
                uvicorn.Server(config).run([listening])


@contextmanager
def _signals_afterwards() -> Generator[None]:
    """Raise the signal that ends the server once it has ended, not in the midst of its ending."""
    noted: list[int] = []
    heeded = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda it, _: noted.append(it)) for number in heeded}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if noted:
        signal.raise_signal(noted[-1])


def _mounts() -> Mapping[str, Any]:
    """MCP, where its library is installed."""
    if find_spec("mcp") is None:
        return {}
    from memsense.server.mcp import PATH, KeyedMcp

    return {PATH: KeyedMcp()}


def _listen(options: ServerOptions) -> socket.socket:
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    try:
        return socket.create_server((options.host, options.port), family=family)
    except OSError as error:
        raise ConfigurationError(
            f"can't listen on {options.host}, port {options.port}: {error.strerror};"
            " choose another --port or --host"
        ) from error


def _address(listening: socket.socket, options: ServerOptions) -> str:
    """Where it listens, with the port that port 0 became."""
    port = listening.getsockname()[1]
    host = f"[{options.host}]" if ":" in options.host else options.host
    return f"http://{host}:{port}"
