"""`memsense serve`, `openapi` and `key`: the HTTP server, its text, and keys of its clients."""

import json
import re
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Annotated

import typer
from rich.text import Text

from memsense.cli.app import new_app
from memsense.cli.exits import end_when_interrupted
from memsense.cli.options import By, Output, complete_from
from memsense.cli.output import print_data
from memsense.cli.render import add_row, console, plain, table, when
from memsense.cli.target import target_of
from memsense.errors import ConfigurationError
from memsense.server.options import (
    DEFAULT_BURST,
    DEFAULT_HOST,
    DEFAULT_PATIENCE,
    DEFAULT_PORT,
    DEFAULT_QUEUE,
    DEFAULT_RATE,
    LARGEST_BODY,
    LARGEST_IMPORT,
    ServerOptions,
)
from memsense.store.access import SCOPES

PAGE = "/ui/"

_DAYS = re.compile(r"([1-9][0-9]{0,4})d", re.ASCII)


def serve(
    ctx: typer.Context,
    *,
    host: Annotated[str, typer.Option(metavar="ADDRESS")] = DEFAULT_HOST,
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535)] = DEFAULT_PORT,
    require_keys: bool = False,
    opens: Annotated[bool, typer.Option("--open")] = False,
    in_container: bool = False,
    rate: Annotated[float, typer.Option(metavar="N")] = DEFAULT_RATE,
    burst: Annotated[int, typer.Option(metavar="N")] = DEFAULT_BURST,
    slots: Annotated[int, typer.Option(metavar="N", min=0)] = 0,
    queue: Annotated[int, typer.Option(metavar="N", min=0)] = DEFAULT_QUEUE,
    patience: Annotated[float, typer.Option(metavar="SECONDS")] = DEFAULT_PATIENCE,
    wait: Annotated[float, typer.Option(metavar="SECONDS", min=0)] = 60.0,
    largest_body: Annotated[int, typer.Option(metavar="BYTES")] = LARGEST_BODY,
    largest_import: Annotated[int, typer.Option(metavar="BYTES")] = LARGEST_IMPORT,
    cors: Annotated[list[str] | None, typer.Option(metavar="ORIGIN")] = None,
) -> None:
    """Serve memory over HTTP: the API under /v1, the page under /ui, /health and /metrics; with
    memsense[mcp], the MCP server at /mcp?user=NAME.

    \b
      memsense serve --open
      memsense key create --scope read,write && memsense serve --host 0.0.0.0

    If the tenant has an access key when the server starts ('memsense key create'), every request
    needs one, and so it does with --require-keys; the key decides whose memory a request reaches.
    Without keys only this machine reaches the server, and with it all of the tenant's memory.

    Args:
        host: Address to listen on; 0.0.0.0: all.
        port: Port; 0: any free one.
        require_keys: Ask for an access key even if the tenant has none yet.
        opens: Open the page in a browser.
        in_container: Start as the image does: prepare the database as MEMSENSE_OWNER_URL, write a
            first key to first-key in the data directory, listen on all addresses, ask for keys.
        rate: Requests per second that each key may send on average.
        burst: Requests that each key may send at once.
        slots: Requests that run at once, shared fairly by the keys; 0: as suits the pool.
        queue: Requests that may wait for each key.
        patience: How long a request may wait for its turn.
        wait: How long to wait at the start for the database's server.
        largest_body: Largest body of a request, in bytes.
        largest_import: Largest export, or log, that is uploaded.
        cors: Web site whose pages may call /v1; repeatable.
    """
    settings = target_of(ctx).settings()
    options = ServerOptions(
        host="0.0.0.0" if in_container and host == DEFAULT_HOST else host,  # noqa: S104
        port=port,
        needs_key=require_keys or in_container,
        rate=rate,
        burst=burst,
        slots=slots,
        queue=queue,
        patience=patience,
        largest_body=largest_body,
        largest_import=largest_import,
        origins=tuple(cors or ()),
    )
    # The server is an extra (memsense[server]); `key` works without it.
    run = import_module("memsense.server.run")
    end_when_interrupted()
    if in_container:
        place = import_module("memsense.server.first_start").prepare(settings, wait=wait)
        if place is not None:
            typer.echo(f"a first access key with all scopes is in {place}", err=True)
    run.serve(settings, options, on_start=print_address, opens=PAGE if opens else None, wait=wait)


def print_address(address: str) -> None:
    """Print the address that the server listens on."""
    typer.echo(f"memsense serves on {address} (page: {address}{PAGE}); Ctrl-C ends it", err=True)


def openapi() -> None:
    """Print the OpenAPI text of the HTTP API, from which clients are made; needs no database.

    \b
      memsense openapi > openapi.json
    """
    typer.echo(json.dumps(import_module("memsense.server.app").describe_api(), indent=1))


key = new_app(
    no_args_is_help=True,
    help="Create, list and revoke a tenant's access keys (--tenant) for 'memsense serve'.",
)


@key.command("create")
def create(
    ctx: typer.Context,
    *,
    scope: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SCOPES",
            help="Permissions of the key, repeated or separated by commas, such as read,write."
            f" There are {', '.join(SCOPES)}; default: read.",
            autocompletion=complete_from(SCOPES),
        ),
    ] = None,
    name: Annotated[str, typer.Option(metavar="NAME")] = "unnamed",
    user: Annotated[str | None, typer.Option("--user", "-u", metavar="NAME")] = None,
    only_namespace: Annotated[str | None, typer.Option(metavar="NAME")] = None,
    expires: Annotated[str | None, typer.Option(metavar="TIME")] = None,
    by: By = None,
    output: Output = "table",
) -> None:
    """Create an access key of the tenant; it is shown once, and stored as a hash.

    \b
      memsense --tenant acme key create --scope read,write --name chat --expires 90d
      memsense --tenant acme key create --scope read,write --user ada

    read: search and look; write: add, promote, demote, give feedback; forget: forget and restore;
    admin: erase, jobs, health (not for a key with --user or --only-namespace). Stdout has the key
    alone, stderr the rest.

    Args:
        name: Name of the key in lists, such as chat.
        user: Limit the key to this user's memory.
        only_namespace: Limit the key to this namespace of the tenant.
        expires: When the key expires: ISO 8601, or days from now such as 90d.
    """
    days = _DAYS.fullmatch(expires or "")
    expires_at = datetime.now(UTC) + timedelta(days=int(days[1])) if days else expires
    with target_of(ctx).open() as memory:
        created = memory.access_keys.create(
            [item.strip() for item in ",".join(scope or ["read"]).split(",")],  # pyright: ignore[reportArgumentType] (the method checks them)
            name=name,
            user_id=user,
            namespace=only_namespace,
            expires_at=expires_at,
            by=by,
        )
    if print_data(output, created.as_dict()):
        return
    new = created.key
    until = f"until {when(new.expires_at)}" if new.expires_at else "until it is revoked"
    whose = f" of user {plain(new.user_id)} alone" if new.user_id is not None else ""
    # On stderr, so that `memsense key create > key.txt` has the key alone.
    typer.echo(
        f"Key {new.key_id} of tenant {plain(new.tenant)} opens {', '.join(new.scopes)}{whose}"
        f" {until}. It is shown this once:",
        err=True,
    )
    typer.echo(created.text)


@key.command("list")
def list_keys(ctx: typer.Context, *, output: Output = "table") -> None:
    """List the tenant's access keys, without their secrets.

    \b
      memsense --tenant acme key list
    """
    with target_of(ctx).open() as memory:
        keys = memory.access_keys.list()
    if print_data(output, [item.as_dict() for item in keys]):
        return
    if not keys:
        console().print(Text("This tenant has no keys; 'memsense key create' makes one."))
        return
    rows = table("key", "name", "user", "scopes", "made", "by", "until", "last used")
    for item in keys:
        until = f"revoked {when(item.revoked_at)}" if item.revoked_at else when(item.expires_at)
        add_row(
            rows,
            item.key_id,
            plain(item.name),
            "everybody's" if item.user_id is None else plain(item.user_id),
            ", ".join(item.scopes),
            when(item.created_at),
            plain(item.created_by),
            until,
            when(item.last_used_at),
        )
    console().print(rows)


@key.command("revoke")
def revoke(
    ctx: typer.Context,
    key_id: Annotated[str, typer.Argument(metavar="KEY")],
    *,
    output: Output = "table",
) -> None:
    """Revoke an access key for good; requests with it fail from now on.

    \b
      memsense --tenant acme key revoke 4f2a90c1d3e7

    Args:
        key_id: Id of the key, as 'key list' shows it.
    """
    # Whole keys begin with ms_; the error must not repeat a secret.
    if key_id.startswith("ms_"):
        raise ConfigurationError("give the key's id, as 'memsense key list' shows it, not the key")
    with target_of(ctx).open() as memory:
        revoked = memory.access_keys.revoke(key_id)
    if not print_data(output, revoked.as_dict()):
        typer.echo(f"key {revoked.key_id} is revoked")
