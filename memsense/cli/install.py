"""`memsense install`: puts the MCP server and hooks into a coding agent, and takes them out."""

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from memsense.cli.render import plain
from memsense.cli.target import Target, target_of
from memsense.db.address import holds_secret
from memsense.errors import ConfigurationError
from memsense.hosts.change import Change, plan_install, plan_removal
from memsense.hosts.hooks import AGENT_HOOKS, HookCommand, hooks_of
from memsense.hosts.places import HOSTS, NAME, HostName, Server


def install(
    ctx: typer.Context,
    host: Annotated[HostName, typer.Argument(metavar="HOST", help="one of " + ", ".join(HOSTS))],
    *,
    user: Annotated[
        str | None, typer.Option("--user", "-u", metavar="NAME", help="whose memory it serves")
    ] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="NAME", help="under whose name is remembered")
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="no tool that writes")] = False,
    hooks: Annotated[
        bool, typer.Option("--hooks", help="also recall before each prompt, and take all in")
    ] = False,
    remove: Annotated[bool, typer.Option("--remove", help="take it all out again")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="show the change; make none")] = False,
) -> None:
    """Put memsense into a coding agent's configuration, as a server that it starts.

    \b
      memsense install claude-code --user ada --dry-run
      memsense install codex --user ada --hooks
      memsense install codex --remove

    Shows what it changes in the files, and keeps a file as it was beside it. --remove takes that
    out, and leaves everything else: where nothing was changed since, a file is what it was, to
    the byte. With --hooks the agent is given memories before each prompt, and what was said is
    taken in when a turn ends (docs/agents.md). --tenant and --namespace go into the server's
    arguments, --database-url into its environment; one with a password is refused, which belongs
    into ~/.pgpass. docs/mcp.md has more hosts.
    """
    chosen = HOSTS[host]
    if remove:
        changes = [
            plan_removal(chosen),
            *(hooks_of(host).plan_removal() if host in AGENT_HOOKS else []),
        ]
    else:
        if user is None:
            raise ConfigurationError("whose memory is it to serve? --user NAME")
        target = target_of(ctx)
        changes = [plan_install(chosen, _server(target, user, agent, read_only=read_only))]
        changes += hooks_of(host).plan(_hook(target, host, user)) if hooks else []
    wanted = [change for change in changes if not change.is_none]
    if not wanted:
        state = "not in" if remove else "in"
        typer.echo(f"{NAME} is {state} {changes[0].file}: nothing to do", err=True)
        return
    for change in wanted:
        typer.echo(plain(change.diff()))
    if dry_run:
        typer.echo("nothing is changed: --dry-run", err=True)
        return
    kept = [_make(change, remove=remove) for change in wanted]
    typer.echo(
        f"{chosen.title} {'knows memsense no more' if remove else 'starts memsense'}", err=True
    )
    for backup in filter(None, kept):
        typer.echo(f"the file as it was: {backup}", err=True)
    if hooks and not remove and host in _NEXT:
        typer.echo(_NEXT[host], err=True)


_NEXT: dict[HostName, str] = {
    "codex": "Codex runs no hook that you haven't looked at: call /hooks in it, and trust these"
}
"""What is left for the person to do."""


def _make(change: Change, *, remove: bool) -> Path | None:
    """Make the change; where the file is kept as it was, if it is."""
    try:
        kept = None if remove else change.keep_backup()
        change.write()
        if remove and not change.is_ours:
            change.drop_backup()
    except OSError as error:
        raise ConfigurationError(f"{change.file} can't be written: {error.strerror}") from error
    return kept


def _server(target: Target, user: str, agent: str | None, *, read_only: bool) -> Server:
    if find_spec("mcp") is None:
        raise ConfigurationError(
            "the MCP server needs the package mcp: pip install 'memsense[mcp]'"
        )
    command = [str(_program()), "mcp", "--user", user]
    command += ["--agent", agent] if agent else []
    command += [*_names(target), *(["--read-only"] if read_only else [])]
    return Server(command=command, environment=_environment(target))


def _hook(target: Target, host: HostName, user: str) -> HookCommand:
    words = [str(_program()), "hook", host, "--user", user, *_names(target)]
    return HookCommand(words=words, environment=_environment(target))


def _names(target: Target) -> list[str]:
    named = [("--tenant", target.tenant), ("--namespace", target.namespace)]
    return [part for option, value in named if value for part in (option, value)]


def _environment(target: Target) -> dict[str, str]:
    """The address of the database for the agent's file, where no password is to stand."""
    if not target.database_url:
        return {}
    if holds_secret(target.database_url):
        raise ConfigurationError(
            "--database-url holds a password, which would stand in the agent's file: leave it out"
            " of the address, and put it into ~/.pgpass or the file that PGPASSFILE names; or give"
            " no --database-url, and set MEMSENSE_DATABASE_URL in the environment of the agent"
        )
    return {"MEMSENSE_DATABASE_URL": target.database_url}


def _program() -> Path:
    """The command's whole path: hosts don't start what they start with a person's PATH."""
    beside = Path(sys.executable).with_name("memsense")
    if beside.exists():
        return beside
    found = shutil.which("memsense")
    if found is None:
        raise ConfigurationError("the command memsense is not on the PATH: install it first")
    return Path(found)
