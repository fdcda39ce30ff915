"""`memsense tenant`: tenants as an operator sees them."""

from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from memsense.cli.app import new_app
from memsense.cli.exits import confirm
from memsense.cli.options import Output, Yes
from memsense.cli.output import OutputForm, print_data
from memsense.cli.render import add_row, console, plain, table, when
from memsense.cli.target import target_of
from memsense.db import tenants, usage
from memsense.db.tenants import TenantReceipt
from memsense.db.usage import UsageBy
from memsense.errors import ConfigurationError

app = new_app(
    no_args_is_help=True, help="Operate on whole tenants, as the tables' owner or a superuser."
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the tenant.")]
File = Annotated[Path, typer.Argument(metavar="FILE", help="Archive of the tenant.")]


@app.command("list")
def list_tenants(ctx: typer.Context, *, output: Output = "table") -> None:
    """List the tenants of the database with what they hold.

    \b
      memsense tenant list
    """
    with target_of(ctx).database() as url:
        listed = tenants.list_tenants(url)
    if print_data(output, [asdict(tenant) for tenant in listed]):
        return
    rows = table(
        "tenant", "users", "chunks", "namespaces", "created", "state",
        right=("users", "chunks", "namespaces"),
    )  # fmt: skip
    for it in listed:
        state = f"suspended since {when(it.suspended_at)}" if it.suspended_at else "open"
        counts = (it.users, it.chunks, it.namespaces)
        add_row(rows, plain(it.name), *counts, when(it.created_at), state)
    console().print(rows)


@app.command("show")
def show(ctx: typer.Context, name: Name, *, output: Output = "table") -> None:
    """Show a tenant with its rows and bytes by table. Reads all of its rows.

    \b
      memsense tenant show acme
    """
    with target_of(ctx).database() as url:
        tenant, size = tenants.find_tenant(url, name), tenants.measure_tenant(url, name)
    total = sum(size.bytes.values())
    if print_data(output, {**asdict(tenant), **asdict(size), "total_bytes": total}):
        return
    rows = table("table", "rows", "bytes", right=("rows", "bytes"))
    for it, count in sorted(size.rows.items()):
        add_row(rows, it, count, size.bytes[it])
    add_row(rows, "all", sum(size.rows.values()), total)
    console().print(rows)


@app.command("usage")
def show_usage(
    ctx: typer.Context,
    name: Name,
    *,
    days: Annotated[int, typer.Option(metavar="N", min=1)] = 30,
    by: UsageBy = "user",
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1)] = 20,
    prune: Annotated[int | None, typer.Option(metavar="DAYS", min=0)] = None,
    output: Output = "table",
) -> None:
    """Show the calls of a tenant and what its users store, or delete old sums of calls.

    \b
      memsense tenant usage acme --days 7
      memsense tenant usage acme --by verb
      memsense tenant usage acme --prune 400

    Calls are those of processes with MEMSENSE_METERING=1. By user, the largest is first, with
    active exchanges, chunks of any status, and the bytes of chunks, embeddings and token vectors;
    that reads all of the tenant's rows.

    Args:
        days: UTC days to sum, today's included.
        by: What to sum by.
        limit: Maximum number of rows.
        prune: Delete older sums of calls instead of listing.
    """
    with target_of(ctx).database() as url:
        if prune is not None:
            since, count = usage.prune_usage(url, name, days=prune)
            if not print_data(output, {"tenant": name, "since": since, "deleted": count}):
                typer.echo(f"tenant {name!r}: {count} sums of calls before {since} deleted")
            return
        measured = usage.measure_usage(url, name, days=days, by=by, limit=limit)
    stored = ("exchanges", "chunks", "bytes") if by == "user" else ()
    if output != "table":
        names = ("name", "calls", "failures", "mean_ms", *stored)
        rows = [{column: getattr(it, column) for column in names} for it in measured.rows]
        total = {column: getattr(measured.total, column) for column in names[1:4]}
        print_data(output, {**asdict(measured), "total": total, "rows": rows}, rows)
        return
    numbers = ("calls", "failures", "mean ms", *stored)
    listed = table(by, *numbers, right=numbers)
    for it in (*measured.rows, measured.total):
        mean = "-" if it.mean_ms is None else f"{it.mean_ms:.1f}"
        sizes = [getattr(it, column) for column in stored]
        cells = ["" if size is None else size for size in sizes]
        add_row(
            listed, "-" if it.name is None else plain(it.name), it.calls, it.failures, mean, *cells
        )
    console().print(listed)


@app.command("suspend")
def suspend(ctx: typer.Context, name: Name) -> None:
    """Refuse all calls for a tenant; its rows stay.

    \b
      memsense tenant suspend acme

    Requests by access keys are refused at once; other processes notice within half a minute.
    """
    with target_of(ctx).database() as url:
        tenants.suspend_tenant(url, name)
    typer.echo(f"tenant {name!r} is suspended")


@app.command("resume")
def resume(ctx: typer.Context, name: Name) -> None:
    """Accept calls for a suspended tenant again.

    \b
      memsense tenant resume acme
    """
    with target_of(ctx).database() as url:
        tenants.suspend_tenant(url, name, resume=True)
    typer.echo(f"tenant {name!r} is open")


@app.command("drop")
def drop(ctx: typer.Context, name: Name, *, yes: Yes = False, output: Output = "table") -> None:
    """Delete a suspended tenant with everything that belongs to it, and print a receipt.

    \b
      memsense tenant suspend acme
      memsense tenant drop acme --yes --json > receipt.json
    """
    confirm(f"Delete tenant {name!r} with all of its memories for good?", yes=yes)
    with target_of(ctx).database() as url:
        _print(tenants.drop_tenant(url, name), output)


@app.command("backup")
def backup(ctx: typer.Context, name: Name, file: File, *, output: Output = "table") -> None:
    """Write a tenant to an archive: memories, vectors, history, settings, keys, traces, jobs.

    \b
      memsense tenant backup acme acme.memsense
    """
    if file.exists():
        raise ConfigurationError(f"{file} exists already; name another file")
    with target_of(ctx).database() as url:
        _print(tenants.back_up_tenant(url, name, file), output)


@app.command("restore")
def restore(
    ctx: typer.Context,
    file: File,
    *,
    name: Annotated[str | None, typer.Option(metavar="NAME")] = None,
    output: Output = "table",
) -> None:
    """Store the tenant of an archive, which must not exist here.

    \b
      memsense tenant restore acme.memsense --name acme-again

    Args:
        name: Store it under this name.
    """
    with target_of(ctx).database() as url:
        _print(tenants.restore_tenant(url, file, name), output)


@app.command("move")
def move(
    ctx: typer.Context,
    name: Name,
    *,
    to: Annotated[str, typer.Option(metavar="URL")],
    yes: Yes = False,
    output: Output = "table",
) -> None:
    """Move a tenant to another database that `memsense init` has prepared.

    \b
      memsense tenant move acme --to postgresql://owner@db2.example/memories

    It is suspended here, copied, and dropped here once it is there. After an error it is still
    here.

    Args:
        to: Database to move it to.
    """
    confirm(f"Move tenant {name!r} away from this database?", yes=yes)
    with target_of(ctx).database() as url, TemporaryDirectory() as directory:
        _print(tenants.move_tenant(url, name, to, Path(directory, "tenant")), output)


def _print(receipt: TenantReceipt, output: OutputForm) -> None:
    if print_data(output, asdict(receipt)):
        return
    count = sum(receipt.rows.values())
    typer.echo(f"tenant {receipt.name!r} {receipt.action}: {count} rows, by {receipt.by}")
