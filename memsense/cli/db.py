"""`memsense init` and `memsense db`: the database itself."""

import os
import shutil
import subprocess
from dataclasses import asdict
from typing import Annotated, Any

import typer

from memsense.cli.app import new_app
from memsense.cli.errors import FAILED
from memsense.cli.options import Output
from memsense.cli.output import print_data
from memsense.cli.signals import interrupts_left_to_child
from memsense.cli.target import Target, target_of
from memsense.db import connect, migrate
from memsense.db.address import read_address, shown_url, split_secrets
from memsense.db.citus import spread as spread_tables
from memsense.errors import ConfigurationError, ConnectionFailedError

app = new_app(help="Start, stop, inspect and upgrade the database.", no_args_is_help=True)


def init(
    ctx: typer.Context,
    *,
    roles: Annotated[
        bool,
        typer.Option("--roles", help="make the roles that keep tenants apart, too"),
    ] = False,
    citus: Annotated[
        bool, typer.Option("--citus", help="spread the tables over a Citus cluster by tenant, too")
    ] = False,
    output: Output = "table",
) -> None:
    """Prepare the database: create the schema, or upgrade it.

    \b
      memsense init
      memsense init --database-url postgresql://me@db.example/memories
      memsense init --roles --database-url postgresql://postgres@db.example/memories
      memsense init --citus --database-url postgresql://me@coordinator.example/memories

    The embedded server prepares itself at first use; a database of yours needs this once. With
    --roles, run by a superuser or by a user with CREATEROLE, statements run as memsense_app from
    then on, which PostgreSQL keeps within one tenant (docs/security.md).
    """
    target = target_of(ctx)
    if citus and not target.settings().database_url:
        raise ConfigurationError("--citus is for a cluster of yours: name it by --database-url")
    with target.database() as url:
        before = migrate.schema_state(url)
        after = migrate.upgrade(url)
        if roles or not target.settings().database_url:
            migrate.make_roles(url)
        unindexed = list(migrate.list_unindexed(url))
        spread = spread_tables(url) if citus else None
    fields = {
        "url": shown_url(url),
        "embedded": not target.settings().database_url,
        "data_dir": None if target.settings().database_url else target.settings().data_dir,
        "revision_before": before.current,
        "revision": after.current,
        "spread": None if spread is None else asdict(spread),
        "unindexed": unindexed,
    }
    if output != "table":
        print_data(output, fields)
        return
    done = "is up to date" if before.is_current else "is ready"
    if spread is not None:
        tables = len(spread.everywhere) + len(spread.by_tenant)
        typer.echo(
            f"spread {tables} tables over the cluster" if tables else "all tables are spread"
        )
    typer.echo(f"the schema {done}: revision {after.current} in {shown_url(url)}")
    if unindexed:
        typer.echo(
            "beneath the policies no index serves: as memsense_app a search reads every chunk of a"
            " memory, and the tables' owner, whose searches don't, is held by no policy;"
            " 'memsense init --roles' gives both (docs/security.md, Without a superuser)",
            err=True,
        )
    if fields["data_dir"]:
        typer.echo(f"the embedded server keeps its data in {fields['data_dir']}")


@app.command("upgrade")
def upgrade(ctx: typer.Context, *, output: Output = "table") -> None:
    """Bring the schema to this version of memsense; safe to run twice.

    \b
      memsense db upgrade
    """
    init(ctx, output=output)


@app.command("optimise")
def optimise(ctx: typer.Context, *, output: Output = "table") -> None:
    """Give large memories HNSW indexes of their own, and hybrid sessions their session chunks.

    \b
      memsense db optimise

    The rule is the setting index_threshold (8,000 chunks). Takes minutes for 100,000 chunks;
    searches and writes go on meanwhile, and a broken-off run is completed by the next one. With
    MEMSENSE_AUTO_INDEX=true, workers do it by themselves. What writes have left to these indexes
    is taken in, which a worker does in any case.
    Session chunks of what was stored in mode "hybrid" are made here, or when they are searched for.
    """
    with target_of(ctx).open() as memory:
        sessions = memory.indexes.make_sessions()
        if sessions and output == "table":
            typer.echo(f"sessions: made the session chunks of {sessions}")
        changes = memory.indexes.optimise(
            lambda change: output != "table" or typer.echo(f"{change.action}: {change.user_id}")
        )
    if output != "table":
        print_data(output, [asdict(change) for change in changes])
    elif not (changes or sessions):
        typer.echo("nothing to do: every memory has the indexes that its size asks for")


@app.command("reindex")
def reindex(
    ctx: typer.Context,
    *,
    language: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="text-search configuration to stem in from now on"),
    ] = None,
    output: Output = "table",
) -> None:
    """Make the text index of all memories anew, in another language if you like.

    \b
      memsense db reindex
      memsense db reindex --language german

    Searches use the old index until the new one is complete, and keep it if anything fails;
    writes wait. `memsense db psql -c '\\dF'` lists the languages.
    """
    with target_of(ctx).open() as memory:
        done = memory.indexes.rebuild(language)
    if output != "table":
        print_data(output, asdict(done))
    else:
        typer.echo(
            f"indexed {done.chunks} chunks of {done.scopes} memories anew, in {done.language}"
        )


@app.command("fill")
def fill(ctx: typer.Context, *, output: Output = "table") -> None:
    """Give exchanges that were stored without token vectors theirs.

    \b
      memsense db fill

    They are compared with the words of a question; what an older memsense stored has none, nor what
    was stored with MEMSENSE_TOKEN_VECTORS=false. Takes as long as ingesting; searches and writes go
    on meanwhile, and a broken-off run is completed by the next one.
    """
    with target_of(ctx).open() as memory:
        filled = memory.indexes.fill_tokens()
    if output != "table":
        print_data(output, {"filled": filled})
    elif filled:
        typer.echo(f"{filled} exchanges have token vectors now")
    else:
        typer.echo("nothing to do: every exchange has token vectors")


@app.command("start")
def start(ctx: typer.Context) -> None:
    """Start the embedded server and keep it until `memsense db stop`.

    \b
      memsense db start && psql "$(memsense db url)"
    """
    target = target_of(ctx)
    _refuse_url(target, "start")
    typer.echo(target.embedded_server().start(keep=True))
    if target.settings().database_url:
        typer.echo("memsense: MEMSENSE_DATABASE_URL is set, and used instead", err=True)


@app.command("stop")
def stop(ctx: typer.Context) -> None:
    """Stop the embedded server now, whoever uses it; what was committed is safe.

    \b
      memsense db stop
    """
    target = target_of(ctx)
    _refuse_url(target, "stop")
    server = target.embedded_server()
    running = server.status().running
    server.stop()
    typer.echo("stopped" if running else "it was not running")


def _refuse_url(target: Target, command: str) -> None:
    """Raise ConfigurationError where another server than the embedded one was named."""
    if target.database_url is not None:
        raise ConfigurationError(
            f"--database-url: 'memsense db {command}' is for the embedded server alone; leave the"
            f" option out to {command} that one, and {command} another where it runs (systemctl,"
            " pg_ctl, docker compose)"
        )


@app.command("url")
def url(ctx: typer.Context) -> None:
    """Print the database's URL; the embedded server must be running.

    \b
      psql "$(memsense db url)"
    """
    target = target_of(ctx)
    configured = target.settings().database_url
    typer.echo(read_address(configured) if configured else target.embedded_server().url)


@app.command("status")
def status(ctx: typer.Context, *, output: Output = "table") -> None:
    """Show which server memsense uses, whether it runs, and how far its schema is.

    \b
      memsense db status --json

    The exit code is 1 when the embedded server isn't running.
    """
    fields = _status_fields(target_of(ctx))
    if output != "table":
        print_data(output, fields)
    else:
        for name, value in fields.items():
            typer.echo(f"{name.replace('_', ' '):<12} {_told(value)}")
    if not fields["running"]:
        raise typer.Exit(FAILED)


def _status_fields(target: Target) -> dict[str, Any]:
    configured = target.settings().database_url
    if configured:
        found = _server_fields(configured)
        return {"embedded": False, "running": True, "url": shown_url(configured), **found}
    server = target.embedded_server().status()
    fields = {
        "embedded": True,
        "running": server.running,
        "url": server.url,
        "data_dir": server.data_dir,
        "pid": server.pid,
        "kept": server.kept,
    }
    found = _server_fields(server.url) if server.url else {"postgresql": server.version}
    return {**fields, **found}


def _server_fields(url: str) -> dict[str, Any]:
    with connect(url) as connection:
        major, minor = divmod(connection.info.server_version, 10_000)
        state = migrate.read_state(connection)
    return {
        "postgresql": f"{major}.{minor}",
        "schema": state.current,
        "schema_needed": state.head,
    }


def _told(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else str(value)


@app.command("psql", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def psql(
    ctx: typer.Context,
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="[ARGS]...", help="handed to psql")
    ] = None,
) -> None:
    """Open psql on the database, with the embedded server running meanwhile.

    \b
      memsense db psql
      memsense db psql -c "TABLE memsense.chunk_overview LIMIT 5"
    """
    target = target_of(ctx)
    with target.database() as url, interrupts_left_to_child():
        address, secrets = split_secrets(url)
        command = [*_psql_command(target, address), *(arguments or ())]
        done = subprocess.run(command, env={**os.environ, **secrets}, check=False)  # noqa: S603
    raise typer.Exit(done.returncode)


def _psql_command(target: Target, address: str) -> list[str]:
    """The shipped psql for the embedded server, else the system's."""
    shipped = None if target.settings().database_url else target.embedded_server().psql_command()
    if shipped:
        return shipped
    found = shutil.which("psql")
    if found is None:
        raise ConnectionFailedError(
            f"psql is not installed; install PostgreSQL's client, or connect to {address}"
        )
    return [found, address]
