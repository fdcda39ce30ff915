"""Packages for coding agents in integrations/, as `memsense install --hooks` would write them.

`MEMSENSE_REWRITE=1 pytest tests/unit/test_packages.py` writes them anew.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

import memsense
from memsense.hooks.agents import TASKS
from memsense.hosts.hooks import (
    EVENTS,
    GEMINI_EVENTS,
    HookCommand,
    format_json,
    hooks_document,
    opencode_plugin,
)

ROOT = Path(__file__).parents[2]
DESCRIPTION = "Memory of earlier conversations, recalled before each prompt, and why."
SERVER: Mapping[str, Any] = {"memsense": {"command": "memsense", "args": ["mcp"]}}
# Plugins have versions of three numbers: those of the release that comes next.
VERSION = Version(memsense.__version__).base_version
ABOUT: Mapping[str, Any] = {"name": "memsense", "version": VERSION}
TOLD: Mapping[str, Any] = {**ABOUT, "description": DESCRIPTION}
AUTHOR: Mapping[str, Any] = {"name": "memsense"}


def hooks(agent: str, *, seconds: int = 5) -> str:
    return format_json(hooks_document(EVENTS, f"memsense hook {agent}", seconds))


PACKAGES = {
    ".claude-plugin/marketplace.json": format_json(
        {
            "name": "memsense",
            "description": "memsense for Claude Code",
            "owner": AUTHOR,
            "plugins": [
                {
                    "name": "memsense",
                    "source": "./integrations/claude-code",
                    "description": DESCRIPTION,
                }
            ],
        }
    ),
    "integrations/claude-code/.claude-plugin/plugin.json": format_json(
        {**TOLD, "author": AUTHOR, "license": "Apache-2.0"}
    ),
    "integrations/claude-code/hooks/hooks.json": hooks("claude-code"),
    "integrations/claude-code/.mcp.json": format_json({"mcpServers": SERVER}),
    "integrations/codex/.codex-plugin/plugin.json": format_json(
        {
            **TOLD,
            "author": AUTHOR,
            "license": "Apache-2.0",
            "hooks": "./hooks/hooks.json",
            "mcpServers": "./.mcp.json",
        }
    ),
    "integrations/codex/hooks/hooks.json": hooks("codex"),
    "integrations/codex/.mcp.json": format_json({"mcpServers": SERVER}),
    ".agents/plugins/marketplace.json": format_json(
        {
            "name": "memsense",
            "interface": {"displayName": "memsense"},
            "plugins": [
                {
                    "name": "memsense",
                    "source": {"source": "local", "path": "./integrations/codex"},
                    "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"},
                    "category": "Productivity",
                }
            ],
        }
    ),
    "integrations/gemini/gemini-extension.json": format_json({**TOLD, "mcpServers": SERVER}),
    "integrations/gemini/hooks/hooks.json": format_json(
        hooks_document(GEMINI_EVENTS, "memsense hook gemini", 5000)
    ),
    "integrations/opencode/memsense.js": opencode_plugin(
        HookCommand(words=["memsense", "hook", "opencode"], environment={})
    ),
}


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_holds_what_install_would_write(name: str) -> None:
    file = ROOT / name
    if os.environ.get("MEMSENSE_REWRITE"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(PACKAGES[name])
    assert file.read_text() == PACKAGES[name]


def test_every_installed_event_is_known_to_the_hook() -> None:
    wired = {*EVENTS, *GEMINI_EVENTS}
    assert wired <= set(TASKS)
    plugin = json.dumps(PACKAGES["integrations/opencode/memsense.js"])
    assert all(event in plugin for event in set(TASKS) - wired)
