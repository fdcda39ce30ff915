"""`memsense init`, `db` and `doctor`: the database, its schema, its server and its health."""

import json
import os
import shutil
import subprocess
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from memsense.cli import capacity
from memsense.cli.app import new_app
from memsense.cli.exits import FAILED, interrupts_left_to_child
from memsense.cli.options import AnyUser, Output
from memsense.cli.output import print_data
from memsense.cli.render import add_row, console, plain, table
from memsense.cli.target import Target, target_of
from memsense.db import connect, dumping, migrate
from memsense.db.address import read_address, shown_url, split_secrets
from memsense.db.citus import spread as spread_tables
from memsense.db.purge import PurgeStep
from memsense.db.purge import purge as run_purge
from memsense.errors import ConfigurationError, ConnectionFailedError

_SEVERITY_STYLES = {"error": "bold red", "warning": "yellow", "info": "dim"}

File = Annotated[Path, typer.Argument(metavar="FILE", help="File of the backup.")]

app = new_app(help="Start, stop, inspect and upgrade the database.", no_args_is_help=True)


def init(
    ctx: typer.Context, *, roles: bool = False, citus: bool = False, output: Output = "table"
) -> None:
    """Prepare the database: create the schema, or upgrade it.

    \b
      memsense init
      memsense init --database-url postgresql://me@db.example/memories
      memsense init --roles --database-url postgresql://postgres@db.example/memories
      memsense init --citus --database-url postgresql://me@coordinator.example/memories

    The embedded server is prepared at its first use; a database of your own needs this once.
    --roles needs a superuser or a user with CREATEROLE; from then on statements run as
    memsense_app, which PostgreSQL keeps within one tenant (the guide 'How to keep tenants apart').

    Args:
        roles: Also create the roles that keep tenants apart.
        citus: Also distribute the tables over a Citus cluster, by tenant.
    """
    target = target_of(ctx)
    if citus and not target.settings().database_url:
        raise ConfigurationError("--citus needs a cluster of your own: name it with --database-url")
    with target.database() as url:
        before = migrate.schema_state(url)
        after = migrate.upgrade(url)
        # The embedded server's user is a superuser; elsewhere --roles says that this one may.
        if roles or not target.settings().database_url:
            migrate.make_roles(url)
        unindexed = list(migrate.list_unindexed(url))
        spread = spread_tables(url) if citus else None
    run_next = list_next(before.current)
    fields = {
        # No output shows the password, except that of `db url`.
        "url": shown_url(url),
        "embedded": not target.settings().database_url,
        "data_dir": None if target.settings().database_url else target.settings().data_dir,
        "revision_before": before.current,
        "revision": after.current,
        "spread": None if spread is None else asdict(spread),
        "unindexed": unindexed,
        "run_next": run_next,
    }
    if print_data(output, fields):
        return
    state = "is up to date" if before.is_current else "is ready"
    if spread is not None:
        tables = len(spread.everywhere) + len(spread.by_tenant)
        typer.echo(
            f"distributed {tables} tables over the cluster"
            if tables
            else "all tables are distributed already"
        )
    typer.echo(f"the schema {state}: revision {after.current} in {shown_url(url)}")
    if roles:
        typer.echo(
            "the roles are ready: give memsense_app a password (ALTER ROLE memsense_app PASSWORD"
            " '...'), and connect services as memsense_app"
        )
    if unindexed:
        typer.echo(
            "searches can't use indexes below the row-level security of this database: as"
            " memsense_app a search reads every chunk of a memory, and the tables' owner, whose"
            " searches use indexes, is not limited to one tenant; 'memsense init --roles' mends"
            " both (the guide 'How to keep tenants apart', Without a superuser)",
            err=True,
        )
    # Imported here, since it brings numpy along, which no other command of this module needs.
    from memsense.embed.multilingual import INSTALL_LANGUAGES, is_installed

    if not is_installed():
        typer.echo(f"for other languages than English: {INSTALL_LANGUAGES}")
    if run_next:
        typer.echo(f"run next, for each namespace: {', '.join(run_next)}")
    if fields["data_dir"]:
        typer.echo(f"the embedded server keeps its data in {fields['data_dir']}")


def list_next(revision: str | None) -> list[str]:
    """Return the commands that a store upgraded from this revision needs, in order."""
    if revision is None:
        return []
    text = Path(__file__).with_name("upgrades.json").read_text(encoding="utf-8")
    steps: dict[str, list[str]] = json.loads(text)
    return list(dict.fromkeys(it for key, them in steps.items() if key > revision for it in them))


@app.command("upgrade")
def upgrade(ctx: typer.Context, *, output: Output = "table") -> None:
    """Upgrade the schema to this version of memsense; safe to run twice.

    \b
      memsense db upgrade
    """
    init(ctx, output=output)


@app.command("backup")
def back_up(ctx: typer.Context, file: File) -> None:
    """Write the whole database to a file: all tenants, settings, keys, traces, jobs.

    \b
      memsense db backup memories.dump
      memsense db backup memories.dump --database-url postgresql://postgres@db.example/memories

    It runs the pg_dump that fits the server, as a superuser or the tables' owner. One tenant alone:
    memsense tenant backup.
    """
    with target_of(ctx).database() as url:
        tool = dumping.back_up(url, file)
    typer.echo(f"{file}: {file.stat().st_size} bytes, by {tool.path} {tool.major}")


@app.command("restore")
def restore(ctx: typer.Context, file: File) -> None:
    """Restore a backup into a database that has no memsense schema yet.

    \b
      createdb memories
      memsense db restore memories.dump --database-url postgresql://postgres@db.example/memories

    Roles, policies and indexes are made as they were, and the schema is upgraded if it is older.
    """
    with target_of(ctx).database() as url:
        tool = dumping.restore(url, file)
    typer.echo(f"{file}: restored by {tool.path} {tool.major}; 'memsense doctor' examines it")


app.command("capacity")(capacity.plan)
app.command("partition")(capacity.partition)


@app.command("seal")
def seal(
    ctx: typer.Context, *, replace: bool = False, strict: bool = False, undo: bool = False
) -> None:
    """Seal the tenants: SQL alone, without the key, then reaches no other tenant's rows.

    \b
      export MEMSENSE_SEAL_KEY=$(python -c 'import secrets; print(secrets.token_urlsafe(40))')
      memsense db seal --database-url postgresql://owner@db.example/memories

    Run it as the tables' owner. Processes need the same MEMSENSE_SEAL_KEY, and connect as
    memsense_app.
    To change the key: seal with the new one, restart the processes with it, seal with --replace.

    Args:
        replace: Stop accepting the keys that were given before.
        strict: Refuse if memsense_app may create temporary objects.
        undo: Seal the tenants no longer.
    """
    target = target_of(ctx)
    with target.database() as url:
        if undo:
            migrate.unseal(url)
            typer.echo("tenants are no longer sealed")
            return
        key = target.settings().seal_key
        if key is None:
            raise ConfigurationError(
                "MEMSENSE_SEAL_KEY is not set; make a key with"
                " python -c 'import secrets; print(secrets.token_urlsafe(40))'"
            )
        advice = migrate.seal(url, key, replaces=replace, is_strict=strict)
        typer.echo("tenants are sealed: connect as memsense_app, with MEMSENSE_SEAL_KEY")
        for item in advice:
            typer.echo(f"of memsense_app, {item.what}; better run: {item.remedy};", err=True)


@app.command("purge")
def purge(ctx: typer.Context, *, full: bool = False, output: Output = "table") -> None:
    """Remove the words of erased memories from the server's files.

    \b
      memsense db purge
      memsense db purge --full

    An erasure deletes rows, and PostgreSQL leaves their bytes in its files for a while: words stay
    in indexes for good. This removes them from the indexes while searches and writes go on; --full
    also from the tables and, run by a superuser, from the planner's statistics. Neither touches
    the write-ahead log, replicas or backups. Run it as the tables' owner or a superuser; the
    receipts say what was purged ('memsense erasures').

    Args:
        full: Rewrite the tables too; each is locked meanwhile.
    """

    def report_step(step: PurgeStep) -> None:
        if output == "table":
            locked = "" if step.locks_for is None else ": locked meanwhile"
            about = f", about {step.locks_for:.0f} s" if step.locks_for else ""
            typer.echo(f"{step.action} {step.name}{locked}{about}".rstrip(), err=True)

    with target_of(ctx).database() as url:
        report = run_purge(url, is_full=full, on_step=report_step)
    if print_data(output, asdict(report)):
        return
    where = "all files but the write-ahead log" if full else "all index files"
    typer.echo(f"the words of {report.receipts} more erasures are gone from {where}")
    if report.skips_server:
        typer.echo(
            "the planner's statistics, which only a superuser may rewrite, and their old files may"
            " still have words: run it as a superuser",
            err=True,
        )
    if report.waiting:
        typer.echo(
            f"{report.waiting} erasures are not purged: a transaction from before them was open;"
            " run it again later",
            err=True,
        )


@app.command("optimise")
def optimise(ctx: typer.Context, *, output: Output = "table") -> None:
    """Build HNSW indexes for large memories, and session chunks for hybrid sessions.

    \b
      memsense db optimise

    The 16 largest memories of a database (MEMSENSE_INDEX_USERS) get indexes from 8,000 chunks on
    (MEMSENSE_INDEX_THRESHOLD). It takes minutes for 100,000 chunks; searches and writes go on
    meanwhile, and the next run completes an interrupted one. With MEMSENSE_AUTO_INDEX=true workers
    do it by themselves. New vectors that wait for their index are added to it, which workers do in
    any case. Session chunks of mode "hybrid" are made here, or when sessions are searched for.
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
        typer.echo("nothing to do: every memory has the indexes for its size")


@app.command("reindex")
def reindex(
    ctx: typer.Context,
    *,
    language: Annotated[str | None, typer.Option(metavar="CODE")] = None,
    output: Output = "table",
) -> None:
    """Make the words of all memories again, in another language if you like.

    \b
      memsense db reindex
      memsense db reindex --language de

    A few hundred chunks at a time: searches and writes go on meanwhile. With auto, each text is
    indexed in its own language.

    Args:
        language: Language of all texts from now on, such as de, or auto. Default: the same.
    """
    with target_of(ctx).open() as memory:
        report = memory.indexes.rebuild(language)
    if not print_data(output, asdict(report)):
        typer.echo(
            f"indexed {report.chunks} chunks of {report.scopes} memories anew, in {report.language}"
        )


@app.command("fill")
def fill(ctx: typer.Context, *, output: Output = "table") -> None:
    """Make the token vectors of exchanges that were stored without them.

    \b
      memsense db fill

    Searches compare them with the words of a question. Exchanges of an older memsense lack them,
    and those stored with MEMSENSE_TOKEN_VECTORS=false. It takes as long as ingesting; searches and
    writes go on meanwhile, and the next run completes an interrupted one.
    """
    with target_of(ctx).open() as memory:
        count = memory.indexes.fill_tokens()
    if output != "table":
        print_data(output, {"filled": count})
    elif count:
        typer.echo(f"{count} exchanges have token vectors now")
    else:
        typer.echo("nothing to do: every exchange has token vectors")


@app.command("link")
def link(
    ctx: typer.Context, *, user: AnyUser = None, again: bool = False, output: Output = "table"
) -> None:
    """Find pairs of memories that may tell a fact and its change.

    \b
      memsense db link
      memsense db link --again --user ines

    An exchange is linked when it is written. Memories from before version 0031 of the schema lack
    these links, and those from before version 0042 need `--again` once, because the weights have
    changed. Each user is one transaction, for which that user's writes wait.

    Args:
        again: Judge anew every pair without a decision.
    """
    linked: list[dict[str, Any]] = []

    def report_user(user_id: str, links: int) -> None:
        linked.append({"user_id": user_id, "links": links})
        if output == "table":
            typer.echo(f"{plain(user_id)}: {links} new links")

    with target_of(ctx).open() as memory:
        memory.indexes.link_facts(user_id=user, again=again, on_user=report_user)
    if output != "table":
        print_data(output, linked)
    elif not linked:
        typer.echo("nothing to do: no memories are stored")


@app.command("facets")
def facets(ctx: typer.Context, *, user: AnyUser = None, output: Output = "table") -> None:
    """Find the standing rules of memories that an earlier version stored.

    \b
      memsense db facets
      memsense db facets --user ines

    Each memory that has one is updated, with its text as it is. A second run finds nothing more.
    """
    with target_of(ctx).open() as memory:
        updated = memory.indexes.find_rules(user_id=user)
    if output != "table":
        print_data(output, {"memories": updated})
    else:
        typer.echo(f"{updated} memories have new rules")


@app.command("start")
def start(ctx: typer.Context) -> None:
    """Start the embedded server and keep it running until `memsense db stop`.

    \b
      memsense db start && psql "$(memsense db url)"
    """
    target = target_of(ctx)
    _refuse_url(target, "start")
    typer.echo(target.embedded_server().start(keep=True))
    if target.settings().database_url:
        typer.echo(
            "memsense: other commands use MEMSENSE_DATABASE_URL, which is set, instead of it",
            err=True,
        )


@app.command("stop")
def stop(ctx: typer.Context) -> None:
    """Stop the embedded server now, even if others use it; committed data is safe.

    \b
      memsense db stop
    """
    target = target_of(ctx)
    _refuse_url(target, "stop")
    server = target.embedded_server()
    # Asked first, because afterwards no server runs in either case.
    was_running = server.status().running
    server.stop()
    typer.echo("stopped" if was_running else "it was not running")


def _refuse_url(target: Target, command: str) -> None:
    """Raise ConfigurationError if --database-url names another server."""
    if target.database_url is not None:
        raise ConfigurationError(
            f"--database-url: 'memsense db {command}' is for the embedded server alone; leave the"
            f" option out to {command} that one, and {command} another server with its own tools"
            " (systemctl, pg_ctl, docker compose)"
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
    """Show which server memsense uses, whether it runs, and its schema's revision.

    \b
      memsense db status --json

    The exit code is 1 when the embedded server isn't running.
    """
    target = target_of(ctx)
    configured = target.settings().database_url
    if configured:
        fields = {
            "embedded": False,
            "running": True,
            "url": shown_url(configured),
            **_server_fields(configured),
        }
    else:
        server = target.embedded_server().status()
        fields = {
            "embedded": True,
            "running": server.running,
            "url": server.url,
            "data_dir": server.data_dir,
            "pid": server.pid,
            "kept": server.is_kept,
            # A stopped server's schema can't be read, but its version is in its files.
            **(_server_fields(server.url) if server.url else {"postgresql": server.version}),
        }
    if not print_data(output, fields):
        for name, value in fields.items():
            text = ("yes" if value else "no") if isinstance(value, bool) else value
            typer.echo(f"{name.replace('_', ' '):<12} {'-' if text is None else text}")
    # A script asks by the exit code whether to start the server.
    if not fields["running"]:
        raise typer.Exit(FAILED)


def _server_fields(url: str) -> dict[str, Any]:
    with connect(url) as connection:
        major, minor = divmod(connection.info.server_version, 10_000)
        state = migrate.read_state(connection)
    return {"postgresql": f"{major}.{minor}", "schema": state.current, "schema_needed": state.head}


@app.command("psql", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def psql(
    ctx: typer.Context,
    arguments: Annotated[list[str] | None, typer.Argument(metavar="[ARGS]...")] = None,
) -> None:
    """Run psql on the database; the embedded server runs meanwhile.

    \b
      memsense db psql
      memsense db psql -c "TABLE memsense.chunk_overview LIMIT 5"

    Args:
        arguments: Arguments of psql, such as -c QUERY.
    """
    target = target_of(ctx)
    with target.database() as url, interrupts_left_to_child():
        # The list of processes shows a command's arguments: psql gets the password by PGPASSWORD.
        address, secrets = split_secrets(url)
        is_embedded = not target.settings().database_url
        # The embedded server ships its psql; another server needs the system's.
        command = target.embedded_server().psql_command() if is_embedded else None
        if not command:
            program = shutil.which("psql")
            if program is None:
                raise ConnectionFailedError(
                    f"psql is not installed; install PostgreSQL's client, or connect to {address}"
                )
            command = [program, address]
        process = subprocess.run(  # noqa: S603
            [*command, *(arguments or ())], env={**os.environ, **secrets}, check=False
        )
    # A script with psql -c needs the exit code of psql, as it would have it without memsense.
    raise typer.Exit(process.returncode)


def doctor(
    ctx: typer.Context,
    *,
    repair: bool = False,
    deep: bool = False,
    secrets: bool = False,
    output: Output = "table",
) -> None:
    """Examine the database: versions, settings, indexes, vectors, statistics, query plans.

    The exit code is 0 for a healthy database, 1 with warnings, 2 with errors. 'memsense db
    capacity' works out what more users would need.

    \b
      memsense doctor --repair

    Args:
        repair: Recount the statistics, and mend what does not fit to the exchanges.
        deep: Examine all exchanges, not the newest 50 of each namespace.
        secrets: Count the secrets that memories hold, by kind.
    """
    target = target_of(ctx)
    settings = target.settings()
    # Imported here, because `init` and `db` need no embedder, which the check-up imports.
    checkup = import_module("memsense.doctor.checkup")
    with target.database() as url:
        report = checkup.check_up(url, settings=settings, repair=repair, deep=deep, secrets=secrets)
    if output != "table":
        fields = report.as_dict()
        print_data(output, fields, fields["findings"])
    else:
        rows = table("", "check", "found", "remedy")
        for item in report.findings:
            severity = Text(item.severity, style=_SEVERITY_STYLES[item.severity])
            add_row(rows, severity, item.check, plain(item.text), plain(item.remedy))
        to = console()
        to.print(rows)
        problems = report.problems()
        ending = f"{len(problems)} problem{'s' if len(problems) > 1 else ''} found."
        to.print(ending if problems else "The database is healthy.")
    if report.exit_code:
        raise typer.Exit(report.exit_code)
