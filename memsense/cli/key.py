"""`memsense key`: the keys by which programs reach a tenant's memory on a server."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from memsense.cli.app import new_app
from memsense.cli.options import By, Output, offering
from memsense.cli.output import print_data
from memsense.cli.render import add_row, console, plain, table, when
from memsense.cli.target import target_of
from memsense.errors import ConfigurationError
from memsense.store.access import SCOPES

if TYPE_CHECKING:
    from memsense.store.access import AccessKey

app = new_app(
    no_args_is_help=True,
    help="Make, list and revoke the keys of a tenant (--tenant) for 'memsense serve'.",
)

_DAYS = re.compile(r"([1-9][0-9]{0,4})d", re.ASCII)


@app.command("create")
def create(
    ctx: typer.Context,
    *,
    scope: Annotated[
        str,
        typer.Option(
            metavar="SCOPES",
            help=f"what it opens, with commas: {', '.join(SCOPES)}",
            autocompletion=offering(SCOPES),
        ),
    ] = "read",
    name: Annotated[str, typer.Option(metavar="NAME", help="what it is for")] = "unnamed",
    user: Annotated[
        str | None,
        typer.Option("--user", "-u", metavar="NAME", help="it opens this user's memory alone"),
    ] = None,
    expires: Annotated[
        str | None, typer.Option(metavar="TIME", help="ISO 8601, or days from now: 90d")
    ] = None,
    by: By = None,
    output: Output = "table",
) -> None:
    """Make a key of the tenant's; it is shown once, and stored as a hash.

    \b
      memsense --tenant acme key create --scope read,write --name chat --expires 90d
      memsense --tenant acme key create --scope read,write --user ada

    read: search and look; write: add, promote, demote, give feedback; forget: forget and restore;
    admin: erase, jobs, health, which no key with --user has. Alone, the key is on stdout, and the
    rest on stderr.
    """
    scopes = [item.strip() for item in scope.split(",")]
    with target_of(ctx).open(for_few=True) as memory:
        made = memory.access_keys.create(
            scopes,  # pyright: ignore[reportArgumentType] (the method checks them)
            name=name,
            user_id=user,
            expires_at=_read_expiry(expires),
            by=by,
        )
    if output != "table":
        print_data(output, made.as_dict())
        return
    until = f"until {when(made.key.expires_at)}" if made.key.expires_at else "until it is revoked"
    told = f"Key {made.key.key_id} of tenant {plain(made.key.tenant)} opens"
    whose = f" of user {plain(made.key.user_id)} alone" if made.key.user_id is not None else ""
    scopes_told = f"{', '.join(made.key.scopes)}{whose}"
    typer.echo(f"{told} {scopes_told} {until}. It is shown this once:", err=True)
    typer.echo(made.text)


def _read_expiry(given: str | None) -> datetime | str | None:
    found = _DAYS.fullmatch(given or "")
    return datetime.now(UTC) + timedelta(days=int(found[1])) if found else given


@app.command("list")
def list_keys(ctx: typer.Context, *, output: Output = "table") -> None:
    """List the tenant's keys, without their secrets.

    \b
      memsense --tenant acme key list
    """
    with target_of(ctx).open(for_few=True) as memory:
        found = memory.access_keys.list()
    if output != "table":
        print_data(output, [key.as_dict() for key in found])
    elif not found:
        console().print(Text("This tenant has no keys; 'memsense key create' makes one."))
    else:
        _print_keys(found)


def _print_keys(keys: "Sequence[AccessKey]") -> None:
    made = table("key", "name", "user", "scopes", "made", "by", "until", "last used")
    for key in keys:
        until = f"revoked {when(key.revoked_at)}" if key.revoked_at else when(key.expires_at)
        add_row(
            made,
            key.key_id,
            plain(key.name),
            "everybody's" if key.user_id is None else plain(key.user_id),
            ", ".join(key.scopes),
            when(key.created_at),
            plain(key.created_by),
            until,
            when(key.last_used_at),
        )
    console().print(made)


@app.command("revoke")
def revoke(
    ctx: typer.Context,
    key: Annotated[str, typer.Argument(metavar="KEY", help="its id, as 'key list' shows it")],
    *,
    output: Output = "table",
) -> None:
    """Let a key open nothing from now on, for good.

    \b
      memsense --tenant acme key revoke 4f2a90c1d3e7
    """
    if key.startswith("ms_"):
        raise ConfigurationError("give the key's id, as 'memsense key list' shows it, not the key")
    with target_of(ctx).open(for_few=True) as memory:
        found = memory.access_keys.revoke(key)
    if output != "table":
        print_data(output, found.as_dict())
    else:
        typer.echo(f"key {found.key_id} opens nothing any more")
