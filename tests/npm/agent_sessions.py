"""Sessions of the coding agents themselves, in a home of a test's own, with a scripted model."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import npm_tools
from scripted_model import ScriptedModel

from memsense.hosts.places import HostName

PROGRAMS: Mapping[HostName, str] = {
    "claude-code": "claude",
    "codex": "codex",
    "gemini": "gemini",
    "opencode": "opencode",
}
KINDS: Mapping[HostName, npm_tools.Kind] = {
    "claude-code": "agents",
    "gemini": "agents",
    "codex": "more-agents",
    "opencode": "more-agents",
}
"""What brings each from npm."""

CODEX = """\
model = "scripted"
model_provider = "scripted"

[model_providers.scripted]
name = "scripted"
base_url = "{}/v1"
wire_api = "responses"
"""


def _claude(home: Path, model: ScriptedModel) -> Mapping[str, str]:  # noqa: ARG001
    return {
        "ANTHROPIC_BASE_URL": model.address,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "ENABLE_TOOL_SEARCH": "false",  # offer every tool in the request
    }


def _codex(home: Path, model: ScriptedModel) -> Mapping[str, str]:
    write(home / ".codex" / "config.toml", CODEX.format(model.address))
    return {}


def _gemini(home: Path, model: ScriptedModel) -> Mapping[str, str]:
    chosen = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    write(home / ".gemini" / "settings.json", json.dumps(chosen))
    write(home / ".gemini" / "trustedFolders.json", json.dumps({str(home): "TRUST_FOLDER"}))
    return {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": model.address}


def _opencode(home: Path, model: ScriptedModel) -> Mapping[str, str]:
    provider = {
        "npm": "@ai-sdk/anthropic",
        "name": "scripted",
        "options": {"baseURL": f"{model.address}/v1", "apiKey": "none"},
        "models": {"scripted": {"name": "scripted"}},
    }
    chosen = {"model": "scripted/scripted", "autoupdate": False, "provider": {"scripted": provider}}
    write(home / ".config" / "opencode" / "opencode.json", json.dumps(chosen))
    return {}


PREPARE: Mapping[HostName, Callable[[Path, ScriptedModel], Mapping[str, str]]] = {
    "claude-code": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "opencode": _opencode,
}
"""Writes what lets an agent ask the scripted model; the rest is its environment."""

CALLS: Mapping[HostName, tuple[str, ...]] = {
    "claude-code": ("-p",),
    "codex": ("exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"),
    "gemini": ("-m", "gemini-2.5-flash", "-p"),
    "opencode": ("run",),
}
"""How a session of one prompt is begun."""


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@dataclass(frozen=True, kw_only=True)
class Agent:
    """A coding agent in a person's home."""

    name: HostName
    model: ScriptedModel
    home: Path
    env: Mapping[str, str]

    def say(self, prompt: str, *options: str, folder: Path | None = None) -> str:
        """Return what the model is sent in a session of its own, as JSON.

        The agent works in the home, unless `folder` names another place.
        """
        self.model.requests.clear()
        done = npm_tools.run_tool(
            KINDS[self.name],
            PROGRAMS[self.name],
            *CALLS[self.name],
            prompt,
            *options,
            env=self.env,
            cwd=folder or self.home,
        )
        assert done.returncode == 0, done.stderr
        assert "Done." in done.stdout
        return json.dumps(self.model.requests)


def make_repository(folder: Path, remote: str) -> Path:
    """Create a folder that a repository's remote names, and return it."""
    write(
        folder / ".git" / "config",
        f'[core]\n\trepositoryformatversion = 0\n[remote "origin"]\n\turl = {remote}\n',
    )
    write(folder / ".git" / "HEAD", "ref: refs/heads/main\n")
    for name in ("objects", "refs"):
        (folder / ".git" / name).mkdir()
    return folder
