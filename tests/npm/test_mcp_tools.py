"""Others' tests of the MCP server: the protocol's conformance suite, and its inspector.

`make npm-mcp` installs them, of the versions that tests/npm/mcp/package-lock.json names.
"""

import json
import os
import re
from collections.abc import Generator
from pathlib import Path
from typing import Any

import npm_tools
import pytest
from mcp_processes import COMMAND, http_server

from memsense import MemSense

SECONDS = os.environ.get("MEMSENSE_MCP_SECONDS", "3")
"""Of load; `make test-mcp` takes longer."""

SCENARIOS = (
    "server-initialize",
    "ping",
    "tools-list",
    "resources-list",
    "prompts-list",
    "dns-rebinding-protection",
)
"""Those that need no tools of the suite's own."""

pytestmark = pytest.mark.skipif(
    npm_tools.why_missing("mcp") is not None, reason=npm_tools.why_missing("mcp") or "nothing"
)


@pytest.fixture(scope="module")
def url(module_database_url: str) -> str:
    """A database with some memories of Ada's."""
    with MemSense.open(module_database_url) as memory:
        for number in range(20):
            said = [{"role": "user", "content": f"I keep {number} bees in Lisbon."}]
            memory.add(said, user_id="ada", session_id="monday")
    return module_database_url


@pytest.fixture(scope="module")
def address(url: str) -> Generator[str]:
    """The address of a server over it."""
    with http_server(url) as found:
        yield found


def inspect(*arguments: str, code: int = 0) -> str:
    done = npm_tools.run_tool("mcp", "inspector", "--cli", *arguments)
    assert done.returncode == code, done.stderr
    return done.stdout


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_conformance_suite_finds_no_fault(address: str, scenario: str, tmp_path: Path) -> None:
    done = npm_tools.run_tool(
        "mcp",
        "conformance",
        "server",
        "--url",
        address,
        "--scenario",
        scenario,
        "-o",
        str(tmp_path),
    )
    told = done.stdout + done.stderr
    assert done.returncode == 0, told
    passed = re.search(r"Passed: (\d+)/(\d+), 0 failed, 0 warnings", told)
    assert passed, told
    assert passed[1] == passed[2] != "0"


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_every_tools_schema_is_portable(address: str, era: str) -> None:
    told = inspect(
        "--server-url", address, "--protocol-era", era, "--method", "tools/list", "--strict"
    )
    assert len(json.loads(told)["tools"]) == 7


def test_the_inspector_starts_a_server_and_reads_a_memory(url: str) -> None:
    command = [*COMMAND, "--user", "ada"]
    told = inspect(
        *("-e", f"MEMSENSE_DATABASE_URL={url}"),
        *("--method", "resources/read", "--uri", "memsense://chunk/1", "--", *command),
    )
    [content] = json.loads(told)["contents"]
    assert json.loads(content["text"])["user_text"] == "I keep 0 bees in Lisbon."


def test_fifty_calls_at_once_are_all_answered(address: str) -> None:
    told = inspect(
        *("--server-url", address, "--method", "tools/call", "--tool-name", "recall"),
        *("--tool-arg", "question=How many bees does Ada keep?"),
        *("--load", "--load-concurrency", "50", "--load-duration", SECONDS),
    )
    summary: dict[str, Any] = json.loads(told)
    assert summary["requests"] >= 50
    assert summary["ok"] == summary["requests"]
    assert summary["errors"] == summary["toolErrors"] == 0
