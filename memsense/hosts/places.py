"""The hosts that memsense can be put into: where each keeps its servers, and in what form."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from memsense.environment import read_variable

NAME = "memsense"
"""What the server is called in every host."""

HostName = Literal["claude-code", "codex", "gemini", "opencode", "cursor"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """How a host starts the server."""

    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A host: the file of its person's servers, the member that holds one, and its form."""

    title: str
    file: Callable[[], Path]
    path: Sequence[str]
    entry: Callable[[Server], dict[str, Any]]
    form: Literal["jsonc", "toml"] = "jsonc"


def _folder(variable: str, default: str) -> Path:
    given = read_variable(variable)
    return Path(given) if given else Path.home() / default


def _claude_code_file() -> Path:
    given = read_variable("CLAUDE_CONFIG_DIR")
    return Path(given or Path.home()) / ".claude.json"


def _opencode_file() -> Path:
    folder = _folder("XDG_CONFIG_HOME", ".config") / "opencode"
    named = [folder / name for name in ("opencode.jsonc", "opencode.json", "config.json")]
    return next((path for path in named if path.exists()), folder / "opencode.json")


def _stdio(server: Server) -> dict[str, Any]:
    program, *arguments = server.command
    found: dict[str, Any] = {"command": program, "args": arguments}
    return found | ({"env": dict(server.environment)} if server.environment else {})


def _claude_code(server: Server) -> dict[str, Any]:
    return {"type": "stdio", **_stdio(server)}


def _opencode(server: Server) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "local", "command": list(server.command), "enabled": True}
    named = {"environment": dict(server.environment)} if server.environment else {}
    return found | named


HOSTS: Final[Mapping[HostName, Host]] = {
    "claude-code": Host(
        title="Claude Code",
        file=_claude_code_file,
        path=("mcpServers", NAME),
        entry=_claude_code,
    ),
    "codex": Host(
        title="Codex",
        file=lambda: _folder("CODEX_HOME", ".codex") / "config.toml",
        path=("mcp_servers", NAME),
        entry=_stdio,
        form="toml",
    ),
    "gemini": Host(
        title="Gemini CLI",
        file=lambda: _folder("GEMINI_CLI_HOME", "") / ".gemini" / "settings.json",
        path=("mcpServers", NAME),
        entry=_stdio,
    ),
    "opencode": Host(title="opencode", file=_opencode_file, path=("mcp", NAME), entry=_opencode),
    "cursor": Host(
        title="Cursor",
        file=lambda: Path.home() / ".cursor" / "mcp.json",
        path=("mcpServers", NAME),
        entry=_stdio,
    ),
}
