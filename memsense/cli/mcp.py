"""`memsense mcp`: the MCP server, over stdin and stdout or over HTTP."""

import os
import signal
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from memsense.actor import act_as, format_actor
from memsense.cli.exits import INTERRUPTED, SIGNALLED, one_line
from memsense.cli.target import target_of
from memsense.environment import default_user
from memsense.errors import ConfigurationError, InvalidInputError, MemSenseError
from memsense.inputs import Checker, Id
from memsense.text.projects import project_of
from memsense.timezones import find_machine_zone

if TYPE_CHECKING:
    from memsense.mcp.scope import OneScope

DEFAULT_PORT = 8765


def mcp(
    ctx: typer.Context,
    *,
    user: Annotated[str | None, typer.Option("--user", "-u", metavar="NAME")] = None,
    agent: Annotated[str | None, typer.Option(metavar="NAME")] = None,
    project: Annotated[str | None, typer.Option(metavar="NAME")] = None,
    session: Annotated[str | None, typer.Option(metavar="ID")] = None,
    read_only: bool = False,
    trace: bool = False,
    http: bool = False,
    host: Annotated[str, typer.Option(metavar="ADDRESS")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535)] = DEFAULT_PORT,
) -> None:
    """Serve one user's memory to models, by the Model Context Protocol.

    \b
      memsense mcp --user ada
      memsense mcp --user ada --http --port 8765
      claude mcp add memsense -- memsense mcp --user ada

    Tools: recall, remember, why_not, recent, forget, restore, feedback. These options choose the
    user; the model can't. With --http one process serves any number of hosts, at
    http://127.0.0.1:8765/mcp. The guide 'How to give a model memory over MCP' has the configuration
    of each host.

    Args:
        user: User whose memory to serve. Default: MEMSENSE_USER, else your login name.
        agent: Agent under whose name to store memories.
        project: Project that stored memories are about and that recalls prefer. Default: that of
            the folder of this process; with --http of the header Memsense-Project.
        session: Session in which to store memories. Default: a new one; with --http one for each
            day.
        read_only: Offer no tool that writes.
        trace: Record every recall, for 'memsense trace'.
        http: Serve over HTTP instead of stdin and stdout.
        host: With --http: address to listen on, of this machine.
        port: With --http: port; 0: any free one.
    """
    # The server's packages are an extra (memsense[mcp]), which may not be installed.
    try:
        names = ("scope", "server", "transports")
        modules = {name: import_module(f"memsense.mcp.{name}") for name in names}
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"the MCP server needs the package {error.name}: pip install 'memsense[mcp]'"
        ) from error
    # One process of stdin and stdout is one conversation; over HTTP it serves many of them.
    if session is not None:
        session = _read_id(session, "--session")
    elif not http:
        session = modules["scope"].new_session_id()
    if project is not None:
        project = _read_id(project, "--project")
    elif not http:
        project = project_of(str(Path.cwd()))
    user = user or default_user()
    scope = modules["scope"].Scope(
        user_id=_read_id(user, "--user"),
        agent_id=None if agent is None else _read_id(agent, "--agent"),
        project=project,
        session_id=session,
        trace=trace or None,
        timezone=find_machine_zone(),
        may=("read",) if read_only else ("read", "write", "forget"),
    )
    act_as(format_actor("mcp"))
    find: OneScope = modules["scope"].OneScope(target_of(ctx).settings(), scope)
    server = modules["server"].build_server(find, read_only=read_only)
    transports = modules["transports"]
    if not http:
        transports.serve_stdio(server, find, _print_error, _leave)
        return
    with transports.listen(host, port) as listening:
        # A URL has an IPv6 address in brackets. Port 0 is only known once the socket listens.
        address = f"[{host}]" if ":" in host else host
        url = f"http://{address}:{listening.getsockname()[1]}{transports.PATH}"
        text = f"memsense: serving the memory of {user!r} at {url}; Ctrl-C ends it"
        transports.serve_http(server, find, listening, lambda: typer.echo(text, err=True))


def _read_id(value: str, option: str) -> str:
    """Check an id as MemSense does; raise ConfigurationError that names the option."""
    try:
        return Checker(Id, option)(value)
    except InvalidInputError as error:
        raise ConfigurationError(str(error)) from error


def _print_error(error: MemSenseError) -> None:
    typer.echo(one_line(error), err=True)


def _leave(number: int) -> NoReturn:
    """End the process at a signal with the exit code of other commands."""
    is_interrupt = number == signal.SIGINT
    typer.echo(f"memsense: {'interrupted' if is_interrupt else 'terminated'}", err=True)
    # Not sys.exit: the thread that reads stdin can't be interrupted, and Python would wait for it.
    os._exit(INTERRUPTED if is_interrupt else SIGNALLED + number)
