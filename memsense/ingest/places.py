"""The places where programs keep their logs on each system, and those that exist on this one.

The one table of places: `memsense formats` shows it, `memsense ingest --find` looks there.
"""

import glob
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from memsense.environment import read_variable

System = Literal["macos", "linux", "windows"]

SYSTEMS: Final[tuple[System, ...]] = ("macos", "linux", "windows")

# The beginning of a place: a variable of the environment, or this folder where it is not set.
_DEFAULTS: Final[Mapping[str, str]] = {
    "XDG_CONFIG_HOME": "~/.config",
    "XDG_DATA_HOME": "~/.local/share",
    "APPDATA": "~/AppData/Roaming",
    "CLAUDE_CONFIG_DIR": "~/.claude",
    "CODEX_HOME": "~/.codex",
    "KIMI_SHARE_DIR": "~/.kimi",
    "KIMI_CODE_HOME": "~/.kimi-code",
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
        """Return the pattern for the system."""
        return {"macos": self.macos, "linux": self.linux, "windows": self.windows}[system]

    def display(self, system: System) -> str:
        """Return the place as people write it there: `~/.codex/sessions`, `%APPDATA%...`."""
        pattern = self.pattern(system)
        if pattern.startswith("{APPDATA}"):
            return pattern.replace("{APPDATA}", "%APPDATA%").replace("/", "\\")
        for name, default in _DEFAULTS.items():
            pattern = pattern.replace(f"{{{name}}}", default)
        return pattern


@dataclass(frozen=True, slots=True)
class FoundPlace:
    """A program's place that exists on this machine, with its path here."""

    place: Place
    path: Path


def _everywhere(form: str, program: str, path: str) -> Place:
    """Return a place that is the same on all systems."""
    return Place(format=form, program=program, macos=path, linux=path, windows=path)


def _editor(form: str, program: str, path: str) -> Place:
    """Return a place in the settings folder of each editor that is made like VS Code."""
    return Place(
        format=form,
        program=program,
        macos=f"~/Library/Application Support/{path}",
        linux=f"{{XDG_CONFIG_HOME}}/{path}",
        windows=f"{{APPDATA}}/{path}",
    )


_EXTENSIONS = "*/User/globalStorage"

PLACES: Final[tuple[Place, ...]] = (
    _everywhere("claude_code", "Claude Code", "{CLAUDE_CONFIG_DIR}/projects"),
    _everywhere("codex", "Codex CLI", "{CODEX_HOME}/sessions"),
    _everywhere("codex", "Codex CLI", "{CODEX_HOME}/archived_sessions"),
    _everywhere("gemini_cli", "Gemini CLI", "~/.gemini/tmp"),
    _everywhere("qwen_code", "Qwen Code", "~/.qwen/projects/*/chats"),
    _everywhere("droid", "Droid", "~/.factory/sessions"),
    _everywhere("openclaw", "OpenClaw", "~/.openclaw/agents/*/sessions"),
    _everywhere("openclaw", "OpenClaw", "~/.clawdbot/agents/*/sessions"),
    _everywhere("openclaw", "pi", "~/.pi/agent/sessions"),
    _everywhere("openclaw", "Oh My Pi", "~/.omp/agent/sessions"),
    _everywhere("opencode", "opencode", "{XDG_DATA_HOME}/opencode/opencode.db"),
    _everywhere("opencode", "opencode", "{XDG_DATA_HOME}/opencode/storage"),
    _everywhere("cline", "Cline", "~/.cline/data/tasks"),
    _everywhere("openai_messages", "Cline", "~/.cline/data/sessions"),
    _editor("cline", "Cline", f"{_EXTENSIONS}/saoudrizwan.claude-dev/tasks"),
    _editor("cline", "Roo Code", f"{_EXTENSIONS}/rooveterinaryinc.roo-cline/tasks"),
    _editor("cline", "Kilo Code", f"{_EXTENSIONS}/kilocode.kilo-code/tasks"),
    _everywhere("copilot", "Copilot CLI", "~/.copilot/session-state"),
    _editor("copilot", "Copilot Chat", "Code*/User/workspaceStorage/*/chatSessions"),
    _editor("copilot", "Copilot Chat", "Code*/User/globalStorage/emptyWindowChatSessions"),
    _everywhere("cursor", "Cursor", "~/.cursor/projects/*/agent-transcripts"),
    _editor("cursor", "Cursor", "Cursor/User/globalStorage/state.vscdb"),
    Place(
        format="goose",
        program="Goose",
        macos="{XDG_DATA_HOME}/goose/sessions",
        linux="{XDG_DATA_HOME}/goose/sessions",
        windows="{APPDATA}/Block/goose/data/sessions",
    ),
    _everywhere("kimi", "Kimi CLI", "{KIMI_SHARE_DIR}/sessions"),
    _everywhere("kimi", "Kimi Code", "{KIMI_CODE_HOME}/sessions"),
    _everywhere("antigravity", "Antigravity", "~/.gemini/antigravity*/brain"),
    _everywhere("grok", "Grok CLI", "~/.grok/sessions"),
    _everywhere("openai_messages", "Continue", "~/.continue/sessions"),
    _everywhere("openai_messages", "Amp", "{XDG_DATA_HOME}/amp/threads"),
    _everywhere("rows", "Mistral Vibe", "~/.vibe/logs/session"),
)

# The way to get the logs of programs that keep none on the machine, or none in one place.
BY_HAND: Final[Mapping[str, str]] = {
    "aider": ".aider.chat.history.md in the folder of each project",
    "ai_sdk": "where the program that uses the library stores its messages",
    "chatgpt": "Settings, Data controls, Export data",
    "claude_ai": "Settings, Privacy, Export data",
    "cursor": "a chat's menu, Export transcript",
    "deepseek": "Settings, Data, Export data",
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
    "specstory": ".specstory/history in the folder of each project",
    "text": "any prose, with --format text",
    "transcript": "any text of turns: Name: words",
    "whatsapp": "a chat's menu, Export chat",
}


def this_system() -> System:
    """Return the system that this process runs on."""
    systems: dict[str, System] = {"darwin": "macos", "win32": "windows"}
    return systems.get(sys.platform, "linux")


def places_of(form: str) -> list[Place]:
    """Return the places of the format's logs."""
    return [place for place in PLACES if place.format == form]


def find_places(formats: Iterable[str] = (), system: System | None = None) -> list[FoundPlace]:
    """Return the places of programs' logs that exist on this machine, none twice.

    Args:
        formats: Formats whose places to look for; none means all.
        system: System whose places to look for; by default the one that this process runs on.
    """
    wanted_formats = set(formats)
    home = glob.escape(str(Path.home()))
    places: dict[Path, FoundPlace] = {}
    for place in PLACES:
        if wanted_formats and place.format not in wanted_formats:
            continue
        pattern = place.pattern(system or this_system())
        # Only the table's own `*` is a wildcard: a folder's name may hold brackets.
        for name, default in _DEFAULTS.items():
            folder = read_variable(name) or default
            pattern = pattern.replace(f"{{{name}}}", glob.escape(folder))
        if pattern.startswith("~"):
            pattern = home + pattern[1:]
        for path in map(Path, sorted(glob.glob(pattern))):  # noqa: PTH207
            places.setdefault(path, FoundPlace(place, path))
    return list(places.values())
