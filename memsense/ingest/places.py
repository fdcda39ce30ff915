"""Where programs keep their logs, on each system; finds those that are on this one.

The one table of places: `memsense formats` shows it, `memsense ingest --find` looks there.
"""

import glob
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from memsense.environment import read_variable

System = Literal["macos", "linux", "windows"]

SYSTEMS: Final[tuple[System, ...]] = ("macos", "linux", "windows")

# What stands at the beginning of a place: a variable of the environment, else the folder here.
_DEFAULTS: Final[Mapping[str, str]] = {
    "XDG_CONFIG_HOME": "~/.config",
    "XDG_DATA_HOME": "~/.local/share",
    "APPDATA": "~/AppData/Roaming",
    "CLAUDE_CONFIG_DIR": "~/.claude",
    "CODEX_HOME": "~/.codex",
    "KIMI_SHARE_DIR": "~/.kimi",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A folder or file in which a program keeps its logs, as a pattern for each system.

    A pattern begins with `~` or with a variable in braces, and may hold `*`.
    """

    format: str
    program: str
    macos: str
    linux: str
    windows: str

    def pattern(self, system: System) -> str:
        """The pattern for the system."""
        return {"macos": self.macos, "linux": self.linux, "windows": self.windows}[system]

    def shown(self, system: System) -> str:
        """The place as people write it there: `~/.codex/sessions`, `%APPDATA%...`."""
        pattern = self.pattern(system)
        if pattern.startswith("{APPDATA}"):
            return pattern.replace("{APPDATA}", "%APPDATA%").replace("/", "\\")
        for name, default in _DEFAULTS.items():
            pattern = pattern.replace(f"{{{name}}}", default)
        return pattern


@dataclass(frozen=True, slots=True)
class Found:
    """A place of a program that is there, with the path of it on this machine."""

    place: Place
    path: Path


def _same(form: str, program: str, path: str) -> Place:
    """A place that is the same on all systems."""
    return Place(format=form, program=program, macos=path, linux=path, windows=path)


def _editor(form: str, program: str, path: str) -> Place:
    """A place in the folder of each program that is made like VS Code."""
    return Place(
        format=form,
        program=program,
        macos=f"~/Library/Application Support/{path}",
        linux=f"{{XDG_CONFIG_HOME}}/{path}",
        windows=f"{{APPDATA}}/{path}",
    )


_EXTENSIONS = "*/User/globalStorage"

PLACES: Final[tuple[Place, ...]] = (
    _same("claude_code", "Claude Code", "{CLAUDE_CONFIG_DIR}/projects"),
    _same("codex", "Codex CLI", "{CODEX_HOME}/sessions"),
    _same("codex", "Codex CLI", "{CODEX_HOME}/archived_sessions"),
    _same("gemini_cli", "Gemini CLI", "~/.gemini/tmp"),
    _same("qwen_code", "Qwen Code", "~/.qwen/projects/*/chats"),
    _same("droid", "Droid", "~/.factory/sessions"),
    _same("openclaw", "OpenClaw", "~/.openclaw/agents/*/sessions"),
    _same("openclaw", "OpenClaw", "~/.clawdbot/agents/*/sessions"),
    _same("openclaw", "pi", "~/.pi/agent/sessions"),
    _same("opencode", "opencode", "{XDG_DATA_HOME}/opencode/opencode.db"),
    _same("opencode", "opencode", "{XDG_DATA_HOME}/opencode/storage"),
    _same("cline", "Cline", "~/.cline/data/tasks"),
    _editor("cline", "Cline", f"{_EXTENSIONS}/saoudrizwan.claude-dev/tasks"),
    _editor("cline", "Roo Code", f"{_EXTENSIONS}/rooveterinaryinc.roo-cline/tasks"),
    _editor("cline", "Kilo Code", f"{_EXTENSIONS}/kilocode.kilo-code/tasks"),
    _same("copilot", "Copilot CLI", "~/.copilot/session-state"),
    _editor("copilot", "Copilot Chat", "Code*/User/workspaceStorage/*/chatSessions"),
    _editor("copilot", "Copilot Chat", "Code*/User/globalStorage/emptyWindowChatSessions"),
    _same("cursor", "Cursor", "~/.cursor/projects/*/agent-transcripts"),
    _editor("cursor", "Cursor", "Cursor/User/globalStorage/state.vscdb"),
    Place(
        format="goose",
        program="Goose",
        macos="{XDG_DATA_HOME}/goose/sessions",
        linux="{XDG_DATA_HOME}/goose/sessions",
        windows="{APPDATA}/Block/goose/data/sessions",
    ),
    _same("kimi", "Kimi CLI", "{KIMI_SHARE_DIR}/sessions"),
    _same("antigravity", "Antigravity", "~/.gemini/antigravity*/brain"),
    _same("grok", "Grok CLI", "~/.grok/sessions"),
    _same("openai_messages", "Continue", "~/.continue/sessions"),
)

# How to come by the logs of programs that keep none on the machine, or none in one place.
BY_HAND: Final[Mapping[str, str]] = {
    "aider": ".aider.chat.history.md in the folder of each project",
    "ai_sdk": "where the program that uses the library stores its messages",
    "chatgpt": "Settings, Data controls, Export data",
    "claude_ai": "Settings, Privacy, Export data",
    "cursor": "a chat's menu, Export transcript",
    "deepseek": "Settings, Data, Export data",
    "discord": "DiscordChatExporter, export as JSON",
    "gemini_cli": "AI Studio: a prompt's file in Google Drive",
    "gemini_takeout": "takeout.google.com: My Activity, Gemini Apps, JSON or HTML",
    "grok": "Settings, Data controls, Export account data",
    "imessage": "imessage-exporter --format txt",
    "langchain": "messages_to_dict, or the state of a graph as JSON",
    "langfuse": "a trace's or session's download, a table's or blob storage's export",
    "lobechat": "Settings, Data, Export",
    "locomo": "the data set's locomo10.json",
    "longmemeval": "the data set's longmemeval_*.json",
    "messenger": "Accounts Center, Download your information, JSON",
    "open_webui": "Open WebUI: Settings, Data controls, Export chats; LibreChat: a chat's Export",
    "openai_messages": "files of fine-tuning, batches and request logs",
    "openai_responses": "what the API took and gave, as JSON",
    "opencode": "opencode export",
    "rows": "any table with a role and a text in each row",
    "sharegpt": "data sets of conversations",
    "signal": "an export of signal-cli or sigtop as text",
    "slack": "Settings, Import/Export Data, Export",
    "telegram": "Telegram Desktop: a chat's menu, Export chat history, JSON",
    "text": "any prose, with --format text",
    "transcript": "any text of turns: Name: words",
    "whatsapp": "a chat's menu, Export chat",
}


def this_system() -> System:
    """The system that this process runs on."""
    known: dict[str, System] = {"darwin": "macos", "win32": "windows"}
    return known.get(sys.platform, "linux")


def places_of(form: str) -> list[Place]:
    """Where programs keep logs of the format."""
    return [place for place in PLACES if place.format == form]


def find_places(formats: Iterable[str] = (), system: System | None = None) -> list[Found]:
    """The places that are there, of these formats or of all; none twice."""
    chosen = set(formats)
    found: dict[Path, Found] = {}
    for place in PLACES:
        if not chosen or place.format in chosen:
            for path in _paths(place.pattern(system or this_system())):
                found.setdefault(path, Found(place, path))
    return list(found.values())


def _paths(pattern: str) -> Iterator[Path]:
    """The files and folders that a pattern stands for; nothing in it but its own `*` is one."""
    for name, default in _DEFAULTS.items():
        folder = read_variable(name) or default
        pattern = pattern.replace(f"{{{name}}}", glob.escape(folder))
    home = glob.escape(str(Path.home()))
    whole = home + pattern[1:] if pattern.startswith("~") else pattern
    yield from (Path(path) for path in sorted(glob.glob(whole)))  # noqa: PTH207
