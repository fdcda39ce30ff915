"""Entry point that runs the server until it is interrupted."""

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

from memsense.client.tenants import Tenants
from memsense.config import Settings
from memsense.errors import ConfigurationError
from memsense.server.app import create_app
from memsense.server.connections import QuickProtocol, end_dead_connections
from memsense.server.options import ServerOptions

SHUTDOWN_SECONDS = 10
SWITCH_SECONDS = 0.001


def serve(
    settings: Settings,
    options: ServerOptions,
    *,
    on_start: Callable[[str], object] = lambda _: None,
    opens: str | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM.

    Keys are required if the tenant of the settings has any.

    Args:
        settings: The settings of the memory.
        options: The address and the limits.
        on_start: Called with the server's address once it listens.
        opens: Path of a page to show in a browser.

    Raises:
        ConfigurationError: If the address is in use, or other machines could reach it without key.
    """
    import uvicorn

    # A thread that computes gives way after 5 ms; with several, the loop that answers everybody
    # would wait for each of them in turn.
    sys.setswitchinterval(SWITCH_SECONDS)
    with Tenants.open(settings) as tenants:
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
