"""The coding agents themselves: each starts, or lists, the server that memsense puts into it.

`make test` installs Claude Code and Gemini CLI from npm, `make test-agents` also Codex and
opencode, of the versions that tests/npm names. The model that they ask is a scripted one on
loopback.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from pathlib import Path

import npm_tools
import pytest
from agent_sessions import KINDS, PREPARE, PROGRAMS, Agent, make_repository
from scripted_model import ScriptedModel, scripted_model

from memsense import Chunk, MemSense
from memsense.db.embedded import EmbeddedServer
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
PROJECTS = {
    "looms": "git@github.com:ada/looms.git",
    "boats": "https://github.com/ada/boats.git",
}
LOOM_FACT = "The gateway of the Vega loom listens on port 8443."
LOOM_QUESTION = "On which port does the gateway of the Vega loom listen?"
BOAT_FACT = "The Orion boat's engine takes 15W-40 oil."
SMALL_TALK = ("thanks!", "ok, go on", "Write a haiku about autumn rain.")
# In two parts, so that scanners of repositories pass over them.
KEY = "AKIA" + "Q7RM2LX9" * 2
PASSWORD = "Tulips" + "-7431-Quay"
SECRETS = f"My AWS key is {KEY}, and the database password is {PASSWORD}."
SECRETS_QUESTION = "What is my AWS key, and what is the database password?"
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


def stored(url: str, said: str, *, is_answered: bool = True) -> list[Chunk]:
    """The memories, as soon as one of them holds what was said, and an answer if it gets one.

    A hook may run before the agent has written the answer; the next one completes the exchange.
    """
    ends = time.monotonic() + PATIENCE
    with MemSense.open(url) as memory:
        while time.monotonic() < ends:
            found = memory.recent(user_id="ada", limit=100)
            said_now = [chunk for chunk in found if said in chunk.user_text]
            if any(chunk.assistant_text or not is_answered for chunk in said_now):
                return found
            time.sleep(0.2)
    raise AssertionError(f"{said!r} was not taken in")


def pg_dump(url: str) -> str:
    """Return a dump of the database as text."""
    own = Path(os.environ["MEMSENSE_TEST_RUN_DIR"]) / "postgres"  # where it is the embedded server
    psql = EmbeddedServer(own).psql_command() if own.exists() else None
    program = shutil.which("pg_dump", path=str(Path(psql[0]).parent) if psql else None)
    if program is None:
        pytest.skip("no pg_dump beside the server")
    done = subprocess.run([program, url], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


def asked_until_told(agent: Agent, prompt: str, told: str, *, folder: Path | None = None) -> str:
    """What the model is sent; a prompt that memory is too late for gets none, and is said again."""
    for _ in range(ATTEMPTS):
        sent = agent.say(prompt, folder=folder)
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
    told = ""
    for _ in range(ATTEMPTS):  # Gemini CLI gives a server 5 s, which a busy machine may exceed
        told = listed()
        if CONNECTED[name] in told:
            break
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


@pytest.fixture
def folders(home: Path) -> dict[str, Path]:
    """Two repositories in the home, with remotes of their own."""
    return {name: make_repository(home / name, remote) for name, remote in PROJECTS.items()}


PROJECT_AGENTS = [unless_missing("claude-code"), unless_missing("codex")]


@pytest.mark.parametrize("name", PROJECT_AGENTS)
def test_small_talk_in_one_project_is_given_nothing_of_another(
    agent: Agent, folders: Mapping[str, Path], database_url: str
) -> None:
    agent.say(LOOM_FACT, folder=folders["looms"])
    stored(database_url, LOOM_FACT)
    agent.say(BOAT_FACT, folder=folders["boats"])
    stored(database_url, BOAT_FACT)
    for prompt in SMALL_TALK:
        sent = agent.say(prompt, folder=folders["boats"])
        assert prompt in sent
        assert "Vega" not in sent
        assert "8443" not in sent


@pytest.mark.parametrize("name", PROJECT_AGENTS)
def test_a_question_finds_another_project_and_no_secret_even_first_after_a_pause(
    agent: Agent, folders: Mapping[str, Path], database_url: str
) -> None:
    agent.say(f"{LOOM_FACT} {SECRETS}", folder=folders["looms"])
    for chunk in stored(database_url, LOOM_FACT):
        assert chunk.project == "github.com/ada/looms"
    # The daemon ends, as after a pause: the prompt of the next session is its first.
    run(agent.env, "hook", "--stop")
    elsewhere = agent.say(LOOM_QUESTION, folder=folders["boats"])
    assert LOOM_FACT in elsewhere
    asked = asked_until_told(agent, SECRETS_QUESTION, "[redacted:aws-key]", folder=folders["looms"])
    dumped = pg_dump(database_url)
    assert "[redacted:aws-key]" in dumped
    for secret in (KEY, PASSWORD):
        assert secret not in elsewhere
        assert secret not in asked
        assert secret not in dumped


@pytest.mark.parametrize("name", [unless_missing("claude-code")])
def test_what_a_model_remembers_and_recalls_by_tools_is_stored_once(
    agent: Agent, database_url: str
) -> None:
    model = agent.model
    remembered = "My boat is green."
    model.tool, model.arguments = "mcp__memsense__remember", {"text": remembered}
    agent.say("Remember it.", "--allowedTools", model.tool)
    stored(database_url, remembered, is_answered=False)
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
