"""The root command: global options, the list of commands, and how errors become exit codes.

A command's module is imported when the command runs, so that `memsense --help` imports none: it
takes 0.2 s of processor time, `memsense search --help` 0.7 s.
"""

import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperGroup

import memsense
from memsense.actor import acting_as, format_actor
from memsense.cli.described import with_help_texts
from memsense.cli.exits import (
    INTERRUPTED,
    SIGNALLED,
    TerminatedError,
    end_when_terminated,
    exit_code,
    one_line,
)
from memsense.cli.target import Target
from memsense.errors import MemSenseError
from memsense.text.nearest import did_you_mean

Command = TypeVar("Command", bound=Callable[..., Any])

GROUPS = {
    "Store": {
        "ingest": ("ingest:ingest", "Read conversation logs into memory."),
        "add": ("chunks:add", "Store what a user said."),
        "list": ("listing:list_chunks", "List memories by time, page by page."),
        "forget": ("chunks:forget", "Take memories out of every search."),
        "erase": ("erase:erase", "Erase a user, a session or a message for good."),
    },
    "Ask": {
        "demo": ("demo:demo", "Ingest the sample log and ask three questions about it."),
        "search": ("search:search", "Ask a question; show the memories that answer it."),
        "context": ("search:context", "Show what a model would be given of memory for a prompt."),
    },
    "Run": {
        "init": ("db:init", "Prepare the database: create or upgrade the schema."),
        "doctor": ("db:doctor", "Examine the database and its settings."),
        "install": ("install:install", "Install the MCP server in a coding agent."),
        "serve": ("serve:serve", "Serve memory over HTTP: API, page, health, metrics."),
    },
    "Look": {
        "show": ("chunks:show", "Show one memory with all of its fields."),
        "history": ("chunks:history", "Show everything that happened to a memory."),
        "recent": ("listing:recent", "List the latest memories, newest first."),
        "sessions": ("listing:sessions", "List sessions, the latest first."),
        "left-off": ("listing:left_off", "Show where a project's last session ended."),
        "stats": ("chunks:stats", "Show statistics of each user's memory."),
        "erasures": ("erase:erasures", "List the receipts of erasures."),
        "help": ("app:show_help", "Show all commands, or the help of one."),
    },
    "Change": {
        "changes": ("changes:app", "List changed facts, and decide what has changed."),
        "update": ("chunks:update", "Change a memory's text, tags, time or metadata."),
        "archive": ("chunks:archive", "Take outdated memories out of every search."),
        "restore": ("chunks:restore", "Bring forgotten or archived memories back."),
        "delete": ("erase:delete", "Erase memories for good, and keep a receipt."),
        "redact": ("erase:redact", "Replace the secrets in what is stored."),
        "promote": ("chunks:promote", "Raise the score of memories by 0.15."),
        "demote": ("chunks:demote", "Lower the score of memories by 0.15."),
        "feedback": ("chunks:feedback", "Record whether a memory helped."),
        "ttl": ("ttl:app", "Set how long memories are kept; sweep expired ones."),
        "export": ("transfer:export", "Write memory to a file of JSON lines."),
        "import": ("transfer:import_file", "Store the contents of an exported file."),
    },
    "Explain": {
        "why-not": ("explain:why_not", "Say why a question does not return a memory."),
        "trace": ("explain:trace", "List, show and prune recorded searches."),
        "replay": ("explain:replay", "Run a recorded search again, with other constants."),
        "compare": ("explain:compare", "Run the latest recorded searches again."),
        "eval": ("evaluate:app", "Measure recall on questions with known answers."),
        "openapi": ("serve:openapi", "Print the OpenAPI text of the HTTP API."),
        "sql": ("sql:app", "Print the SQL that memsense runs."),
    },
    "Administer": {
        "db": ("db:app", "Start, stop, inspect and upgrade the database."),
        "tenant": ("tenant:app", "List, suspend, drop, back up and move tenants."),
        "key": ("serve:key", "Create, list and revoke access keys of the HTTP server."),
        "jobs": ("jobs:app", "List, retry and drop background jobs."),
        "worker": ("jobs:worker", "Run background jobs as they become due."),
        "model": ("model:app", "Change the embedding model while searches go on."),
        "profile": ("profile:app", "List, show, store and delete recall profiles."),
        "settings": ("settings:app", "Show and change the settings of searches."),
        "config": ("settings:config", "Show the settings of the environment."),
        "project": ("project:app", "List projects, and pool sessions."),
        "entities": ("entities:app", "List and show the entities that memory mentions."),
        "formats": ("logs:app", "List the log formats; add, show and remove your own."),
    },
    "Connect": {
        "mcp": ("mcp:mcp", "Serve memory to models: the MCP server."),
        "hook": ("hook:hook", "Answer a hook of a coding agent."),
    },
}
"""Commands by group: name, module and function or group that runs it, and its line in the help."""

FIRST_GROUPS = ("Store", "Ask", "Run")
"""Groups that `memsense --help` lists; `memsense help all` lists every one."""

COMMANDS = {name: command for group in GROUPS.values() for name, command in group.items()}

# Typer exports no class for it, and has its own copy of Click or none, by version.
_NoSuchOption: Any = sys.modules[typer.BadParameter.__module__].__dict__["NoSuchOption"]

_QUOTED = re.compile(r"'([^']*)'")
GLOBAL_OPTIONS = ("--database-url", "--tenant", "--namespace")

JSON_REQUESTED = "memsense.json"
"""Key in a call's `ctx.meta` that says that --json was given."""


class LazyGroup(TyperGroup):
    """Group that imports a command when it is called, and prints memsense's errors on one line."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        # Typer lists and completes the keys; the values come from `get_command`.
        self.commands = dict.fromkeys(COMMANDS)  # pyright: ignore[reportAttributeAccessIssue]

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Return the names of all commands, in the order of `COMMANDS`."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """Import and return the command of that name; None if there is none."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        app = getattr(import_module(f"memsense.cli.{module}"), name)
        if not isinstance(app, typer.Typer):
            app, function = new_app(), app
            app.command(cmd_name)(function)
        command = typer.main.get_command(app)
        add_json_flag(command)
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Write the first groups of commands; no command is imported for it."""
        _write_groups(formatter, FIRST_GROUPS)
        more = len(COMMANDS) - sum(len(GROUPS[name]) for name in FIRST_GROUPS)
        formatter.write(f"\n{more} more: memsense help all\n")

    def invoke(self, ctx: Any) -> Any:
        """Run the command; print errors of memsense on stderr and turn them into exit codes."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            from pydantic import ValidationError

            from memsense.inputs import describe_argument_fault

            if isinstance(error.__cause__, ValidationError):
                # Typer passes on the message alone, which does not say the value.
                fault = error.__cause__.errors(include_url=False)[0]
                error.message = describe_argument_fault(fault, "").lstrip(": ")
            # Typer suggests near commands and options, but not near values of a choice.
            value, is_choice, choices = error.message.partition(" is not one of ")
            if is_choice:
                error.message += did_you_mean(_QUOTED.findall(value)[-1:], _QUOTED.findall(choices))
            raise
        except _NoSuchOption as error:
            error.possibilities = None
            error.message += did_you_mean(
                error.option_name, [name for item in error.ctx.command.params for name in item.opts]
            )
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


def _write_groups(formatter: Any, names: Iterable[str]) -> None:
    for name in names:
        with formatter.section(name):
            formatter.write_dl([(name, line) for name, (_, line) in GROUPS[name].items()])


def show_help(
    ctx: typer.Context,
    command: Annotated[list[str] | None, typer.Argument(metavar="[all | COMMAND...]")] = None,
) -> None:
    """Show the commands to begin with, all commands, or the help of one.

    \b
      memsense help all
      memsense help search
      memsense help db upgrade

    Args:
        command: Default: the commands to begin with.
    """
    at: Any = ctx.find_root()
    if command == ["all"]:
        formatter = at.make_formatter()
        _write_groups(formatter, GROUPS)
        typer.echo(formatter.getvalue().strip())
        return
    for name in command or ():
        if not hasattr(at.command, "commands"):
            raise typer.BadParameter(f"{at.info_name!r} has no command {name!r}")
        # Click's own lookup: it names near commands, and ends with exit code 2.
        _, match, _ = at.command.resolve_command(at, [name])
        at = type(at)(match, parent=at, info_name=name)
    typer.echo(at.get_help())


def add_json_flag(command: Any) -> None:
    """Add --json to the command and its subcommands wherever they have --output."""
    # The option is added here, so that no command can have --output without --json.
    for subcommand in getattr(command, "commands", {}).values():
        add_json_flag(subcommand)
    if any("--output" in parameter.opts for parameter in command.params):
        app = typer.Typer(add_completion=False)
        app.command()(_json_flag)
        command.params.append(typer.main.get_command(app).params[0])


def _note_json(ctx: typer.Context, is_requested: bool) -> bool:
    if is_requested:
        ctx.meta[JSON_REQUESTED] = True
    return is_requested


# Typer makes options from signatures alone, hence a function whose only use is its parameter.
def _json_flag(
    *,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            # Eager, so that --output, which reads the note, is processed after it.
            is_eager=True,
            expose_value=False,
            callback=_note_json,
            help="Short for --output json; the page 'Output of the commands' lists the fields.",
        ),
    ] = False,
) -> None:
    """Declare the option --json."""


class App(typer.Typer):
    """Group of commands whose options have their help in the `Args:` section of the docstring."""

    def command(self, *names: Any, **settings: Any) -> Callable[[Command], Command]:
        """Add a function as a command."""
        return _described(super().command(*names, **settings))

    def callback(self, **settings: Any) -> Callable[[Command], Command]:
        """Add a function that runs before the commands, and has the group's options."""
        return _described(super().callback(**settings))


def _described(add: Callable[..., object]) -> Callable[[Command], Command]:
    def decorate(function: Command) -> Command:
        add(with_help_texts(function))
        return function

    return decorate


def new_app(**settings: Any) -> App:
    """Return a Typer with the settings that all commands share."""
    shared: dict[str, Any] = {
        # Rich's help and tracebacks would import Rich, which `memsense --help` does without.
        "rich_markup_mode": None,
        "pretty_exceptions_enable": False,
        "add_completion": False,
        "context_settings": {"help_option_names": ["-h", "--help"]},
    }
    return App(**{**shared, **settings})


root = new_app(cls=LazyGroup, no_args_is_help=True, add_completion=True)


def _show_version(is_requested: bool) -> None:
    if is_requested:
        import platform
        from importlib import metadata

        from memsense.db.migrate import head_revision

        python = platform.python_version()
        runtime = metadata.version("onnxruntime")
        typer.echo(
            f"memsense {memsense.__version__}, schema {head_revision()}, Python {python}, "
            f"onnxruntime {runtime}"
        )
        raise typer.Exit


@root.callback()
def choose_target(
    ctx: typer.Context,
    *,
    database_url: Annotated[str | None, typer.Option(metavar="URL")] = None,
    tenant: Annotated[str | None, typer.Option(metavar="NAME")] = None,
    namespace: Annotated[str | None, typer.Option(metavar="NAME")] = None,
    version: Annotated[  # noqa: ARG001
        bool, typer.Option("--version", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Memory for agents in PostgreSQL: store conversations, find the few memories that matter.

    \b
      memsense ingest chats/ --user ada
      memsense search "Where does Ada live?" --user ada --explain
      memsense --namespace work recent --user ada

    Global options may stand before or after the command. Exit codes: 0 success, 1 not found or
    failed, 2 wrong usage, settings, connection or schema, 130 interrupted, 143 terminated.

    Args:
        database_url: PostgreSQL database, such as postgresql://me@db.example/memories. Default:
            MEMSENSE_DATABASE_URL, else the embedded server.
        tenant: Tenant. Default: MEMSENSE_TENANT, else 'default'.
        namespace: Namespace of the tenant. Default: MEMSENSE_NAMESPACE, else 'default'.
        version: Print the version and exit.
    """
    ctx.obj = Target(database_url=database_url, tenant=tenant, namespace=namespace)
    ctx.with_resource(acting_as(format_actor("cli")))


def hoist_global_options(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with all global options that precede `--` moved to the front."""
    # Click takes an option of the group only before the command, where people don't expect it.
    hoisted: list[str] = []
    others: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        name, equals, _ = argument.partition("=")
        if argument == "--":
            # After it all is text, such as a question that quotes an option.
            others += [argument, *rest]
        elif name in GLOBAL_OPTIONS:
            hoisted.append(argument)
            # Without a value the option stays as it is, and Typer reports the missing one.
            value = None if equals else next(rest, None)
            hoisted += [] if value is None else [value]
        else:
            others.append(argument)
    return [*hoisted, *others]


def main() -> None:
    """Run the command line and exit with its code."""
    end_when_terminated()
    # At its import numpy starts one thread for each core, for matrices larger than any here.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Stored texts may hold characters that the terminal's encoding lacks.
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    arguments = hoist_global_options(sys.argv[1:])
    try:
        root(args=arguments, prog_name="memsense")
    except SystemExit:
        if not _is_hook(arguments):
            raise
        # To a coding agent an exit code of a hook may mean: stop the prompt.
        sys.exit(0)


def _is_hook(hoisted: Sequence[str]) -> bool:
    """Return whether the command is `hook`."""
    rest = iter(hoisted)
    for argument in rest:
        if argument in GLOBAL_OPTIONS:
            next(rest, None)
        elif not argument.startswith("-"):
            return argument == "hook"
    return False
