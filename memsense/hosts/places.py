"""Hosts that can start memsense's MCP server: the file of each, and the form of an entry in it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from memsense.environment import read_variable

NAME = "memsense"
"""The name of the server in every host."""

HostName = Literal["claude-code", "codex", "gemini", "opencode", "cursor"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """The command by which a host starts the server, and its environment variables."""

    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A host: its configuration file, the path of the server's entry in it, and the file's form."""

    title: str
    file: Callable[[], Path]
    path: Sequence[str]
    entry: Callable[[Server], dict[str, Any]]
    form: Literal["jsonc", "toml"] = "jsonc"


def config_folder(variable: str, default: str) -> Path:
    """Return the folder that an environment variable names, or the default below the home."""
    folder = read_variable(variable)
    return Path(folder) if folder else Path.home() / default


def _claude_code_file() -> Path:
    # By default the file is in the home itself, not in ~/.claude.
    folder = read_variable("CLAUDE_CONFIG_DIR")
    return Path(folder or Path.home()) / ".claude.json"


def _opencode_file() -> Path:
    # opencode reads all three names: edit the one that is there.
    folder = config_folder("XDG_CONFIG_HOME", ".config") / "opencode"
    paths = [folder / name for name in ("opencode.jsonc", "opencode.json", "config.json")]
    return next((path for path in paths if path.exists()), folder / "opencode.json")


def _stdio_entry(server: Server) -> dict[str, Any]:
    program, *arguments = server.command
    entry: dict[str, Any] = {"command": program, "args": arguments}
    return entry | ({"env": dict(server.environment)} if server.environment else {})


def _opencode_entry(server: Server) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": "local", "command": list(server.command), "enabled": True}
    return entry | ({"environment": dict(server.environment)} if server.environment else {})


HOSTS: Final[Mapping[HostName, Host]] = {
    "claude-code": Host(
        title="Claude Code",
        file=_claude_code_file,
        path=("mcpServers", NAME),
        entry=lambda server: {"type": "stdio", **_stdio_entry(server)},
    ),
    "codex": Host(
        title="Codex",
        file=lambda: config_folder("CODEX_HOME", ".codex") / "config.toml",
        path=("mcp_servers", NAME),
        entry=_stdio_entry,
        form="toml",
    ),
    "gemini": Host(
        title="Gemini CLI",
        file=lambda: config_folder("GEMINI_CLI_HOME", "") / ".gemini" / "settings.json",
        path=("mcpServers", NAME),
        entry=_stdio_entry,
    ),
    "opencode": Host(
        title="opencode", file=_opencode_file, path=("mcp", NAME), entry=_opencode_entry
    ),
    "cursor": Host(
        title="Cursor",
        file=lambda: Path.home() / ".cursor" / "mcp.json",
        path=("mcpServers", NAME),
        entry=_stdio_entry,
    ),
}
