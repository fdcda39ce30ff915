"""`memsense install`: adds the MCP server and hooks to a coding agent, and removes them."""

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
    host: Annotated[
        HostName, typer.Argument(metavar="HOST", help=f"Coding agent, one of {', '.join(HOSTS)}.")
    ],
    *,
    user: Annotated[str | None, typer.Option("--user", "-u", metavar="NAME")] = None,
    agent: Annotated[str | None, typer.Option(metavar="NAME")] = None,
    read_only: bool = False,
    hooks: bool = False,
    timeout: Annotated[float | None, typer.Option(min=0.05, max=60, metavar="SECONDS")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, metavar="N")] = None,
    remove: bool = False,
    dry_run: bool = False,
) -> None:
    """Add memsense to a coding agent's configuration, as an MCP server that the agent starts.

    \b
      memsense install claude-code --user ada --dry-run
      memsense install codex --user ada --hooks
      memsense install codex --user ada --hooks --timeout 1.5 --max-tokens 600
      memsense install codex --remove

    Prints its changes to the files, and keeps a backup next to each file. --remove takes only these
    changes out: a file that was not changed since is restored to the byte. With --hooks the
    agent gets memories before each prompt, and each session is stored when a turn ends
    (the guide 'How to give a coding agent memory by hooks'). --tenant and --namespace go into the
    server's arguments, --database-url into its environment; a URL with a password is refused: put
    the password into ~/.pgpass. See the guide 'How to give a model memory over MCP' for other
    hosts.

    Args:
        user: User whose memory to serve.
        agent: Agent under whose name to store memories.
        read_only: Offer no tool that writes.
        hooks: Also install hooks: recall before each prompt, store each session.
        timeout: With --hooks: seconds that a prompt waits for memories. Default: 0.5.
        max_tokens: With --hooks: maximum tokens of memories before a prompt. Default: 1000.
        remove: Remove the server and the hooks again.
        dry_run: Print the changes and make none.
    """
    agent_host = HOSTS[host]
    if not hooks and (timeout is not None or max_tokens is not None):
        raise ConfigurationError("--timeout and --max-tokens are options of hooks: add --hooks")
    if remove:
        changes = [
            plan_removal(agent_host),
            *(hooks_of(host).plan_removal() if host in AGENT_HOOKS else []),
        ]
    else:
        if user is None:
            raise ConfigurationError("say whose memory to serve: --user NAME")
        if find_spec("mcp") is None:
            raise ConfigurationError(
                "the MCP server needs the package mcp: pip install 'memsense[mcp]'"
            )
        target = target_of(ctx)
        program, environment = str(_find_program()), _read_environment(target)
        # Only options of this call: the agent's process has an environment of its own.
        names = [("--tenant", target.tenant), ("--namespace", target.namespace)]
        scope = [part for option, value in names if value for part in (option, value)]
        command = [program, "mcp", "--user", user]
        command += ["--agent", agent] if agent else []
        command += [*scope, *(["--read-only"] if read_only else [])]
        changes = [plan_install(agent_host, Server(command=command, environment=environment))]
        if hooks:
            words = [program, "hook", host, "--user", user, *scope]
            # The defaults stay out of the command, so that they can change with memsense.
            words += [] if timeout is None else ["--timeout", f"{timeout:g}"]
            words += [] if max_tokens is None else ["--max-tokens", str(max_tokens)]
            hook = HookCommand(words=words, environment=environment, timeout=timeout or 0)
            changes += hooks_of(host).plan(hook)
    pending = [change for change in changes if not change.is_none]
    if not pending:
        state = "not in" if remove else "in"
        typer.echo(f"{NAME} is {state} {changes[0].file}: nothing to do", err=True)
        return
    # The diff alone goes to stdout; notes go to stderr.
    for change in pending:
        typer.echo(plain(change.diff()))
    if dry_run:
        typer.echo("nothing is changed: --dry-run", err=True)
        return
    backups = [_apply(change, remove=remove) for change in pending]
    typer.echo(
        f"{agent_host.title} {'no longer starts' if remove else 'starts'} memsense", err=True
    )
    for backup in filter(None, backups):
        typer.echo(f"backup of the file: {backup}", err=True)
    if hooks and not remove and host in _NEXT:
        typer.echo(_NEXT[host], err=True)


_NEXT: dict[HostName, str] = {
    "codex": "Codex runs only hooks that you have reviewed: run /hooks in Codex and trust these"
}
"""The next step for the user."""


def _apply(change: Change, *, remove: bool) -> Path | None:
    """Write the change; return the path of the file's backup, if there is one."""
    try:
        # The backup comes first: a write that fails halfway must not cost the file.
        backup = None if remove else change.keep_backup()
        change.write()
        if remove and not change.is_ours:
            change.drop_backup()
    except OSError as error:
        raise ConfigurationError(f"{change.file} can't be written: {error.strerror}") from error
    return backup


def _read_environment(target: Target) -> dict[str, str]:
    """Return the variables for the agent's file; raise ConfigurationError for a password."""
    if not target.database_url:
        return {}
    # Agents' files are shared, synchronised and committed: no password goes into them.
    if holds_secret(target.database_url):
        raise ConfigurationError(
            "--database-url holds a password, which would be written to the agent's file: leave it"
            " out of the address, and put it into ~/.pgpass or the file that PGPASSFILE names; or"
            " omit --database-url, and set MEMSENSE_DATABASE_URL in the environment of the agent"
        )
    return {"MEMSENSE_DATABASE_URL": target.database_url}


def _find_program() -> Path:
    """Return the full path of the command memsense."""
    # Agents don't start their servers with the PATH of a person's shell.
    installed = Path(sys.executable).with_name("memsense")
    if installed.exists():
        return installed
    program = shutil.which("memsense")
    if program is None:
        raise ConfigurationError("the command memsense is not on the PATH: install it first")
    return Path(program)
