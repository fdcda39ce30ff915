"""The coding agents themselves: each starts, or lists, the server that memsense puts into it.

`make test` installs Claude Code and Gemini CLI from npm, `make test-agents` also Codex and
opencode, of the versions that tests/npm names. The model that they ask is a scripted one on
loopback.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from pathlib import Path

import npm_tools
import pytest
from agent_sessions import KINDS, PREPARE, PROGRAMS, Agent
from scripted_model import ScriptedModel, scripted_model

from memsense import Chunk, MemSense
from memsense.hosts.places import HostName

CONNECTED: dict[HostName, str] = {
    "claude-code": "memsense mcp --user ada - ✔ Connected",
    "codex": "enabled",
    "gemini": "✓ memsense: ",
    "opencode": "✓ memsense",
}
"""What each says of a server that it has started; Codex starts none until it has a question."""

ROOT = Path(__file__).parents[2]
PATIENCE = 60
ATTEMPTS = 3
FACT = "My bicycle is red."
QUESTION = "What colour is my bicycle?"
INJECTED = ("memsense-context", "Memories of earlier conversations", "_context>")


def unless_missing(name: HostName) -> object:
    """The agent as a test's parameter, skipped where it isn't installed."""
    missing = npm_tools.why_missing(KINDS[name])
    return pytest.param(name, marks=pytest.mark.skipif(missing is not None, reason=missing or ""))


AGENTS = [unless_missing(name) for name in PROGRAMS]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A person's home, and a folder of it that Gemini CLI trusts."""
    made = tmp_path / "home"
    (made / ".gemini").mkdir(parents=True)
    trusted = {str(made): "TRUST_FOLDER"}
    (made / ".gemini" / "trustedFolders.json").write_text(json.dumps(trusted))
    return made


@pytest.fixture
def model() -> Generator[ScriptedModel]:
    """A model that listens."""
    with scripted_model() as listening:
        yield listening


@pytest.fixture
def agent(name: HostName, home: Path, model: ScriptedModel, database_url: str) -> Generator[Agent]:
    """An agent that knows memsense's server and hooks."""
    asked = PREPARE[name](home, model)
    env = {**environment(home, database_url), "MEMSENSE_USER": "ada", **asked}
    install(home, database_url, name, "--user", "ada", "--hooks")
    yield Agent(name=name, model=model, home=home, env=env)
    run(env, "hook", "--stop")


def environment(home: Path, url: str) -> dict[str, str]:
    return {"HOME": str(home), "USERPROFILE": str(home), "MEMSENSE_DATABASE_URL": url}


def install(home: Path, url: str, *arguments: str) -> None:
    run(environment(home, url), "install", *arguments)


def run(env: Mapping[str, str], *arguments: str) -> str:
    done = subprocess.run(
        [Path(sys.executable).with_name("memsense"), *arguments],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


def stored(url: str, said: str) -> list[Chunk]:
    """The memories, as soon as one of them holds what was said."""
    ends = time.monotonic() + PATIENCE
    with MemSense.open(url) as memory:
        while time.monotonic() < ends:
            found = memory.recent(user_id="ada", limit=100)
            if any(said in chunk.user_text for chunk in found):
                return found
            time.sleep(0.2)
    raise AssertionError(f"{said!r} was not taken in")


def asked_until_told(agent: Agent, prompt: str, told: str) -> str:
    """What the model is sent; a prompt that memory is too late for gets none, and is said again."""
    for _ in range(ATTEMPTS):
        sent = agent.say(prompt)
        if told in sent:
            return sent
    raise AssertionError(f"{told!r} is in no request")


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_starts_the_server_that_was_put_into_it(
    name: HostName, home: Path, database_url: str
) -> None:
    def listed() -> str:
        done = npm_tools.run_tool(
            KINDS[name],
            PROGRAMS[name],
            "mcp",
            "list",
            env=environment(home, database_url),
            cwd=home,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    install(home, database_url, name, "--user", "ada", "--database-url", database_url)
    told = listed()
    assert CONNECTED[name] in told
    assert "memsense" in told
    install(home, database_url, name, "--remove")
    assert "mcp --user ada" not in listed()
    assert list(home.rglob("*.before-memsense")) == []


@pytest.mark.parametrize("name", AGENTS)
def test_what_one_session_is_told_the_next_is_given_by_hooks_alone(
    agent: Agent, database_url: str
) -> None:
    assert FACT in agent.say(FACT)
    stored(database_url, FACT)
    sent = asked_until_told(agent, QUESTION, FACT)
    assert "<memsense-context>" in sent or "&lt;memsense-context&gt;" in sent
    for chunk in stored(database_url, QUESTION):
        assert chunk.user_text.strip('"') in {FACT, QUESTION}
        assert chunk.assistant_text == "Done."
        assert not any(mark in str(chunk) for mark in INJECTED)
        assert chunk.agent_id == agent.name


@pytest.mark.parametrize("name", [unless_missing("claude-code")])
def test_what_a_model_remembers_and_recalls_by_tools_is_stored_once(
    agent: Agent, database_url: str
) -> None:
    model = agent.model
    remembered = "My boat is green."
    model.tool, model.arguments = "mcp__memsense__remember", {"text": remembered}
    agent.say("Remember it.", "--allowedTools", model.tool)
    stored(database_url, remembered)
    model.tool, model.arguments = "mcp__memsense__recall", {"question": "boat"}
    sent = agent.say("Which colour has it?", "--allowedTools", model.tool)
    assert f"user: {remembered}" in sent
    found = stored(database_url, "Which colour has it?")
    assert [remembered in str(chunk) for chunk in found].count(True) == 1
    assert not any(mark in str(chunk) for chunk in found for mark in INJECTED)


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("claude-code", "plugin validate --strict .", "Validation passed"),
        ("claude-code", "plugin validate --strict integrations/claude-code", "Validation passed"),
        ("gemini", "extensions validate integrations/gemini", "successfully validated"),
        ("codex", "plugin marketplace add .", "Added marketplace `memsense`"),
    ],
)
def test_the_packages_pass_what_their_agents_check(
    name: HostName, arguments: str, said: str, home: Path
) -> None:
    if missing := npm_tools.why_missing(KINDS[name]):
        pytest.skip(missing)
    (home / ".codex").mkdir()
    done = npm_tools.run_tool(
        KINDS[name], PROGRAMS[name], *arguments.split(), env={"HOME": str(home)}, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert said in done.stdout + done.stderr
