"""`memsense serve`: the HTTP API, the page, and MCP."""

from importlib import import_module
from typing import Annotated

import typer

from memsense.cli.signals import end_when_interrupted
from memsense.cli.target import target_of
from memsense.server.options import (
    DEFAULT_BURST,
    DEFAULT_HOST,
    DEFAULT_PORT,
    DEFAULT_RATE,
    LARGEST_BODY,
    ServerOptions,
)

PAGE = "/ui/"


def serve(
    ctx: typer.Context,
    *,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="where to listen")] = DEFAULT_HOST,
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="0: any that is free")
    ] = DEFAULT_PORT,
    require_keys: Annotated[
        bool,
        typer.Option("--require-keys", help="ask for a key, also before the tenant has any"),
    ] = False,
    opens: Annotated[bool, typer.Option("--open", help="show the page in a browser")] = False,
    rate: Annotated[
        float, typer.Option(metavar="N", help="requests a second that one key may send for long")
    ] = DEFAULT_RATE,
    burst: Annotated[
        int, typer.Option(metavar="N", help="requests that one key may send at once")
    ] = DEFAULT_BURST,
    largest_body: Annotated[int, typer.Option(metavar="BYTES", help="of a request")] = LARGEST_BODY,
) -> None:
    """Serve memory over HTTP: the API under /v1, the page under /ui, /health and /metrics; with
    memsense[mcp], models at /mcp?user=NAME.

    \b
      memsense serve --open
      memsense key create --scope read,write && memsense serve --host 0.0.0.0

    Requests show a key ('memsense key create') as soon as the tenant has one; it decides whose
    memory they reach. Without keys only this machine reaches the server, and all of the tenant.
    """
    target = target_of(ctx)
    settings = target.settings()
    options = ServerOptions(
        host=host,
        port=port,
        needs_key=require_keys,
        rate=rate,
        burst=burst,
        largest_body=largest_body,
    )
    run = import_module("memsense.server.run")
    end_when_interrupted()
    run.serve(settings, options, on_start=tell_address, opens=PAGE if opens else None)


def tell_address(address: str) -> None:
    """Say where the server listens."""
    typer.echo(f"memsense serves on {address} (page: {address}{PAGE}); Ctrl-C ends it", err=True)
