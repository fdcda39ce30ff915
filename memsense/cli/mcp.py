"""`memsense mcp`: the MCP server, for hosts that start it and for those that call it."""

import os
import signal
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from memsense.cli.errors import INTERRUPTED, SIGNALLED, one_line
from memsense.cli.target import target_of
from memsense.environment import default_user
from memsense.errors import ConfigurationError, InvalidInputError, MemSenseError
from memsense.inputs import Gate, Id

if TYPE_CHECKING:
    from memsense.mcp.scope import OneScope

DEFAULT_PORT = 8765


def mcp(
    ctx: typer.Context,
    *,
    user: Annotated[
        str | None,
        typer.Option(
            "--user", "-u", metavar="NAME", help="whose memory (or MEMSENSE_USER; default: yours)"
        ),
    ] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="NAME", help="under whose name is remembered")
    ] = None,
    session: Annotated[
        str | None,
        typer.Option(
            "--session",
            metavar="ID",
            help="where to remember; default: a session of this process, with --http one a day",
        ),
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="no tool that writes")] = False,
    trace: Annotated[
        bool, typer.Option("--trace", help="record every recall (memsense trace)")
    ] = False,
    http: Annotated[bool, typer.Option("--http", help="over HTTP, not stdin and stdout")] = False,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="with --http: an address of this machine alone")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="with --http; 0: any that is free")
    ] = DEFAULT_PORT,
) -> None:
    """Serve one user's memory to models, by the Model Context Protocol.

    \b
      memsense mcp --user ada
      memsense mcp --user ada --http --port 8765
      claude mcp add memsense -- memsense mcp --user ada

    Tools: recall, remember, why_not, recent, forget, restore, feedback. Whose memory it is, these
    options say, never the model. With --http one process serves any number of hosts at
    http://127.0.0.1:8765/mcp. docs/mcp.md has the configurations of hosts.
    """
    modules = _load()
    user = user or default_user()
    scope = modules["scope"].Scope(
        user_id=_read_id(user, "--user"),
        agent_id=None if agent is None else _read_id(agent, "--agent"),
        session_id=_session(modules, session, http=http),
        trace=trace or None,
        may=("read",) if read_only else ("read", "write", "forget"),
    )
    find: OneScope = modules["scope"].OneScope(target_of(ctx).settings(), scope)
    server = modules["server"].build_server(find, read_only=read_only)
    transports = modules["transports"]
    if not http:
        transports.serve_stdio(server, find, _tell, _leave)
        return
    with transports.listen(host, port) as listening:
        address = f"[{host}]" if ":" in host else host
        url = f"http://{address}:{listening.getsockname()[1]}{transports.PATH}"
        told = f"memsense: the memory of {user!r} at {url}, Ctrl-C ends"
        transports.serve_http(server, find, listening, lambda: typer.echo(told, err=True))


def _load() -> dict[str, Any]:
    """The modules of the server, which need its libraries."""
    names = ("scope", "server", "transports")
    try:
        return {name: import_module(f"memsense.mcp.{name}") for name in names}
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"the MCP server needs the package {error.name}: pip install 'memsense[mcp]'"
        ) from error


def _session(modules: dict[str, Any], given: str | None, *, http: bool) -> str | None:
    if given is not None:
        return _read_id(given, "--session")
    return None if http else modules["scope"].new_session_id()


def _read_id(value: str, option: str) -> str:
    try:
        return Gate(Id, option)(value)
    except InvalidInputError as error:
        raise ConfigurationError(str(error)) from error


def _tell(error: MemSenseError) -> None:
    typer.echo(one_line(error), err=True)


def _leave(number: int) -> NoReturn:
    """End as every command does at this signal; the thread that reads stdin can't be called off."""
    interrupted = number == signal.SIGINT
    typer.echo(f"memsense: {'interrupted' if interrupted else 'terminated'}", err=True)
    os._exit(INTERRUPTED if interrupted else SIGNALLED + number)
