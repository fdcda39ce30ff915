"""The root command: global options, what there is to run, and how every command fails.

A command's module is imported when the command runs, so that `memsense --help` needs none.
"""

import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import memsense
from memsense.cli.errors import INTERRUPTED, SIGNALLED, exit_code, one_line
from memsense.cli.jsonflag import add_json_flag
from memsense.cli.signals import TerminatedError, end_when_terminated
from memsense.cli.target import Target
from memsense.errors import MemSenseError
from memsense.text.nearest import did_you_mean

COMMANDS = {
    "demo": ("memsense.cli.demo:demo", "Ingest the sample log, ask three questions, show why."),
    "init": ("memsense.cli.db:init", "Prepare the database: create or upgrade the schema."),
    "ingest": ("memsense.cli.ingest:ingest", "Read conversation logs into memory, once."),
    "export": ("memsense.cli.transfer:export", "Write memory to a file of JSON lines."),
    "import": ("memsense.cli.transfer:import_file", "Store what `export` has written, once."),
    "search": ("memsense.cli.search:search", "Ask a question; show the memories that answer it."),
    "recent": ("memsense.cli.chunks:recent", "List the latest memories, newest first."),
    "list": ("memsense.cli.listing:list_chunks", "List memories by time, page by page."),
    "sessions": ("memsense.cli.listing:sessions", "List sessions, the latest first."),
    "show": ("memsense.cli.chunks:show", "Show one memory with everything known of it."),
    "history": ("memsense.cli.chunks:history", "Show everything that happened to a memory."),
    "forget": ("memsense.cli.chunks:forget", "Take memories out of every search."),
    "archive": ("memsense.cli.chunks:archive", "Take outdated memories out of every search."),
    "restore": ("memsense.cli.chunks:restore", "Bring forgotten or archived memories back."),
    "update": ("memsense.cli.update:update", "Change what a memory says or is known by."),
    "delete": ("memsense.cli.erase:delete", "Erase memories for good, and keep a receipt."),
    "erase": ("memsense.cli.erase:erase", "Erase a user, a session or a message for good."),
    "erasures": ("memsense.cli.erase:erasures", "List the receipts of what was erased."),
    "promote": ("memsense.cli.chunks:promote", "Raise the score of memories by 0.15."),
    "demote": ("memsense.cli.chunks:demote", "Lower the score of memories by 0.15."),
    "feedback": ("memsense.cli.chunks:feedback", "Record whether a memory helped."),
    "why-not": ("memsense.cli.explain:why_not", "Say why a question does not return a memory."),
    "trace": ("memsense.cli.explain:trace", "List, show and prune recorded searches."),
    "replay": ("memsense.cli.explain:replay", "Run a recorded search again, changed or not."),
    "compare": ("memsense.cli.explain:compare", "Run the last searches again, changed."),
    "doctor": ("memsense.cli.explain:doctor", "Examine the database and its settings."),
    "config": ("memsense.cli.config:app", "Show the environment's settings, and their origin."),
    "settings": (
        "memsense.cli.settings:app",
        "Show and change what searches use, while they run.",
    ),
    "model": ("memsense.cli.model:app", "Take another embedding model while searches go on."),
    "profile": ("memsense.cli.profile:app", "List, show, store and delete recall profiles."),
    "project": ("memsense.cli.project:app", "Keep projects: named pools of sessions."),
    "serve": ("memsense.cli.serve:serve", "Serve memory over HTTP: API, page, health, metrics."),
    "key": ("memsense.cli.key:app", "Make, list and revoke the keys of a server's programs."),
    "ttl": ("memsense.cli.ttl:app", "How long memories are kept; sweep what has expired."),
    "jobs": ("memsense.cli.jobs:app", "Look at what was left for later; retry or drop it."),
    "worker": ("memsense.cli.jobs:worker", "Do what was left for later, as it comes."),
    "install": ("memsense.cli.install:install", "Put the MCP server into a coding agent."),
    "hook": ("memsense.cli.hook:hook", "Answer a hook of a coding agent."),
    "mcp": ("memsense.cli.mcp:mcp", "Serve memory to models: the MCP server."),
    "entities": ("memsense.graph.cli:app", "List and show what memory mentions."),
    "stats": ("memsense.cli.chunks:stats", "Show what each user's memory holds."),
    "eval": ("memsense.cli.evaluate:app", "Measure recall on gold questions."),
    "db": ("memsense.cli.db:app", "Start, stop, inspect and upgrade the database."),
    "formats": (
        "memsense.cli.formats:formats",
        "List the logs that ingest reads, and where they are.",
    ),
    "sql": ("memsense.cli.sql:app", "Print the SQL that memsense runs."),
}
"""Name, where the function (or group) is, and its line in `memsense --help`."""

_QUOTED = re.compile(r"'([^']*)'")
GLOBAL_OPTIONS = ("--database-url", "--tenant", "--namespace")


class LazyGroup(TyperGroup):
    """Imports a command when it is asked for; tells memsense's errors in one line."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = dict.fromkeys(COMMANDS)  # pyright: ignore[reportAttributeAccessIssue]

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """The names of all commands, in the order of `COMMANDS`."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """The command of that name, or None."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        found = getattr(import_module(module), name)
        if not isinstance(found, typer.Typer):
            found, function = new_app(), found
            found.command(cmd_name)(function)
        command = typer.main.get_command(found)
        add_json_flag(command)
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """The list of commands, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an error of memsense's becomes a line on stderr and an exit code."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message += _meant(error.message)
            raise
        except MemSenseError as error:
            typer.echo(one_line(error), err=True)
            raise typer.Exit(exit_code(error)) from error
        except TerminatedError as error:
            typer.echo("memsense: terminated", err=True)
            raise typer.Exit(SIGNALLED + error.number) from error
        except KeyboardInterrupt as error:
            typer.echo("memsense: interrupted", err=True)
            raise typer.Exit(INTERRUPTED) from error


def _meant(message: str) -> str:
    """Which of an option's choices a wrong value may have meant."""
    given, is_choice, choices = message.partition(" is not one of ")
    if not is_choice:
        return ""
    return did_you_mean(_QUOTED.findall(given)[-1:], _QUOTED.findall(choices))


def new_app(**settings: Any) -> typer.Typer:
    """A Typer with the settings that all commands share."""
    shared: dict[str, Any] = {
        "rich_markup_mode": None,
        "pretty_exceptions_enable": False,
        "add_completion": False,
        "context_settings": {"help_option_names": ["-h", "--help"]},
    }
    return typer.Typer(**{**shared, **settings})


root = new_app(cls=LazyGroup, no_args_is_help=True, add_completion=True)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"memsense {memsense.__version__}")
        raise typer.Exit


@root.callback()
def choose_target(
    ctx: typer.Context,
    *,
    database_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="PostgreSQL (or MEMSENSE_DATABASE_URL); without it the embedded server",
        ),
    ] = None,
    tenant: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="whose memory (or MEMSENSE_TENANT; default 'default')"),
    ] = None,
    namespace: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="which part of it (or MEMSENSE_NAMESPACE; default 'default')"
        ),
    ] = None,
    version: Annotated[  # noqa: ARG001
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="the version")
    ] = False,
) -> None:
    """Memory for agents in PostgreSQL: conversations in, the few memories that matter out.

    \b
      memsense ingest chats/ --user ada
      memsense search "Where does Ada live?" --user ada --explain
      memsense --namespace work recent

    Global options may stand before or after the command. Exit codes: 0 done, 1 nothing usable
    or not found, 2 wrong usage, settings, connection or schema, 130 interrupted, 143 terminated.
    """
    ctx.obj = Target(database_url=database_url, tenant=tenant, namespace=namespace)


def hoist_global_options(arguments: Sequence[str]) -> list[str]:
    """The arguments with the global options first, wherever before `--` they stood."""
    hoisted: list[str] = []
    kept: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        name, equals, _ = argument.partition("=")
        if argument == "--":
            kept += [argument, *rest]
        elif name in GLOBAL_OPTIONS:
            hoisted += [argument] if equals else [argument, *_next(rest)]
        else:
            kept.append(argument)
    return [*hoisted, *kept]


def _next(rest: Any) -> list[str]:
    value = next(rest, None)
    return [] if value is None else [value]


def main() -> None:
    """Run the command line and exit with its code."""
    end_when_terminated()
    # numpy starts a thread a core as it is imported, for matrices larger than any of memsense's.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    arguments = hoist_global_options(sys.argv[1:])
    try:
        root(args=arguments, prog_name="memsense")
    except SystemExit:
        if not _is_hook(arguments):
            raise
        sys.exit(0)  # to a coding agent an exit code may mean: stop the prompt


def _is_hook(hoisted: Sequence[str]) -> bool:
    """Whether the command is `hook`."""
    rest = iter(hoisted)
    for argument in rest:
        if argument in GLOBAL_OPTIONS:
            next(rest, None)
        elif not argument.startswith("-"):
            return argument == "hook"
    return False
