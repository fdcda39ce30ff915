"""`memsense hook` as an agent calls it: what it answers, what it takes in, how it fails."""

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psutil
import psycopg
import pytest
from psycopg import sql

from memsense import MemSense

PROGRAM = Path(sys.executable).with_name("memsense")
PATIENCE = 120
SOON = 15.0
"""Seconds: a hook gives up after two, and would otherwise hang; a busy machine needs the rest."""

NOWHERE = "postgresql://ada@127.0.0.1:9/memory"
PROMPT = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": "What is my cat?"}
FACT = "My cat is a Siamese called Miso."


class Hooks:
    """The hooks of one home and database."""

    def __init__(self, home: Path, url: str) -> None:
        self.home = home
        kept = {name: it for name, it in os.environ.items() if not name.startswith("MEMSENSE_")}
        own = {"HOME": str(home), "MEMSENSE_USER": "ada", "MEMSENSE_DATABASE_URL": url}
        self.env = {**kept, **own, "XDG_STATE_HOME": str(home / "state")}
        self.seconds = 0.0

    def call(
        self, event: object, *options: str, agent: str = "claude-code"
    ) -> subprocess.CompletedProcess[str]:
        """One call; `seconds` is how long it took."""
        begun = time.monotonic()
        done = subprocess.run(
            [PROGRAM, "hook", agent, *options],
            input=event if isinstance(event, str) else json.dumps(event),
            env=self.env,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        self.seconds = time.monotonic() - begun
        return done

    def answered(self, event: Mapping[str, Any], *options: str, agent: str = "claude-code") -> str:
        """What a call gives once memory is open."""
        ends = time.monotonic() + PATIENCE
        while time.monotonic() < ends:
            done = self.call(event, *options, agent=agent)
            assert done.returncode == 0
            if not done.stderr:
                return done.stdout
            time.sleep(0.2)
        raise AssertionError(f"no answer: {self.log()}")

    def quickest(self, event: object, *options: str) -> subprocess.CompletedProcess[str]:
        """The quickest of three calls: other tests may keep the machine busy."""
        calls: list[tuple[float, subprocess.CompletedProcess[str]]] = []
        for _ in range(3):
            done = self.call(event, *options)
            assert done.returncode == 0
            calls.append((self.seconds, done))
        self.seconds, done = min(calls, key=lambda call: call[0])
        return done

    def log(self) -> str:
        """What the process that answers had to say."""
        return "".join(path.read_text() for path in self.home.glob("state/memsense/hooks/*/log"))

    def waiting(self) -> list[Path]:
        """The sessions that are still to be taken in."""
        return list(self.home.glob("state/memsense/hooks/*/queue/*.json"))

    def stop(self) -> None:
        self.call("", "--stop")


@pytest.fixture
def make_hooks(tmp_path: Path) -> Generator[Callable[[str], Hooks]]:
    """Hooks for a database; the process that answers them is ended."""
    made: list[Hooks] = []

    def make(url: str) -> Hooks:
        made.append(Hooks(tmp_path, url))
        return made[-1]

    yield make
    for hooks in made:
        hooks.stop()


@pytest.fixture
def hooks(make_hooks: Callable[[str], Hooks], database_url: str) -> Hooks:
    """Hooks for a database that holds a fact of ada's."""
    with MemSense.open(database_url) as memory:
        memory.add([{"role": "user", "content": FACT}], user_id="ada", session_id="before")
        memory.add([{"role": "user", "content": "My cat is a dog."}], user_id="bob", session_id="b")
    return make_hooks(database_url)


def context(told: str) -> str:
    """The memories in an answer."""
    return json.loads(told)["hookSpecificOutput"]["additionalContext"] if told else ""


def texts(url: str, expected: int) -> list[str]:
    """What ada said, as soon as so many memories hold it."""
    ends = time.monotonic() + PATIENCE
    found: list[str] = []
    with MemSense.open(url) as memory:
        while time.monotonic() < ends and len(found) < expected:
            found = [chunk.user_text for chunk in memory.recent(user_id="ada", limit=50)]
            time.sleep(0.1)
    assert len(found) == expected
    return found


def transcript(file: Path, *said: str) -> dict[str, Any]:
    """A log of Claude Code's, with an answer to each thing said, and the event that names it."""
    lines: list[dict[str, Any]] = []
    for number, text in enumerate(said):
        for role, content in (("user", text), ("assistant", f"Noted: {number}.")):
            parent = lines[-1]["uuid"] if lines else None
            lines.append(
                {
                    "type": role,
                    "uuid": f"{role}-{number}",
                    "parentUuid": parent,
                    "sessionId": "s2",
                    "timestamp": f"2026-11-01T10:{number:02}:00Z",
                    "message": {"role": role, "content": content},
                }
            )
    file.write_text("\n".join(map(json.dumps, lines)))
    return {"hook_event_name": "Stop", "session_id": "s2", "transcript_path": str(file)}


def test_a_session_whose_log_names_no_folder_is_about_that_of_the_event(
    hooks: Hooks, database_url: str, tmp_path: Path
) -> None:
    own, other = transcript(tmp_path / "own.jsonl", "The loom is red."), tmp_path / "other.jsonl"
    hooks.call({**own, "cwd": "/work/looms"})
    lines = [json.loads(line) for line in (tmp_path / "own.jsonl").read_text().splitlines()]
    moved = [line | {"cwd": "/work/boats", "sessionId": "s3"} for line in lines]
    other.write_text("\n".join(map(json.dumps, moved)))
    hooks.call({**own, "session_id": "s3", "transcript_path": str(other), "cwd": "/work/looms"})
    texts(database_url, 3)
    with MemSense.open(database_url) as memory:
        about = {chunk.session_id: chunk.project for chunk in memory.recent(user_id="ada")}
    assert about == {"before": None, "s2": "/work/looms", "s3": "/work/boats"}


def test_a_secret_reaches_neither_the_database_nor_the_log(
    hooks: Hooks, database_url: str, tmp_path: Path
) -> None:
    key = "AKIA" + "Q7RM2LX9" * 2  # in two parts, so that scanners of repositories pass over it
    said = f"My AWS key is {key}. <private>My cat is ill.</private>"
    prompt = {"hook_event_name": "UserPromptSubmit", "session_id": "s2", "prompt": said}
    hooks.env["MEMSENSE_TRACE_SAMPLE"] = "1"
    hooks.answered(prompt)
    hooks.call(transcript(tmp_path / "log.jsonl", said))
    assert "My AWS key is [redacted:aws-key]." in texts(database_url, 2)
    ends = time.monotonic() + PATIENCE
    counted = "1 secret redacted: 1 aws-key; 1 private passage left out"
    while counted not in hooks.log() and time.monotonic() < ends:
        time.sleep(0.1)
    assert counted in hooks.log()
    assert key not in hooks.log()
    with psycopg.connect(database_url) as conn:
        tables = conn.execute(
            "SELECT format('SELECT t::text FROM %I.%I AS t', schemaname, tablename) FROM pg_tables"
            " WHERE schemaname = 'memsense'"
        ).fetchall()
        rows = [row for (query,) in tables for (row,) in conn.execute(query).fetchall()]
    assert "[redacted:aws-key]" in str(rows)
    assert key not in str(rows)
    assert "cat is ill" not in str(rows)


def test_a_prompt_gets_the_memories_that_answer_it_each_once(hooks: Hooks) -> None:
    told = hooks.answered(PROMPT)
    assert json.loads(told)["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    assert context(told).startswith("<memsense-context>")
    assert f"user: {FACT}" in context(told)
    assert "dog" not in told
    assert hooks.answered(PROMPT) == ""
    assert FACT in hooks.answered({**PROMPT, "session_id": "s3"})
    hooks.answered({"hook_event_name": "SessionStart", "session_id": "s1", "source": "compact"})
    assert FACT in hooks.answered(PROMPT)


# A hook that has a moment while the memory is open, and as long as a busy machine takes to open it.
PATIENT = ("--timeout", "0.1", "--opening-timeout", str(PATIENCE))


@pytest.mark.parametrize("before", ["nothing", "a session's start", "an idle daemon's end"])
def test_the_first_prompt_waits_until_the_memory_is_open(hooks: Hooks, before: str) -> None:
    if before == "a session's start":
        # It returns at once; the prompt follows while the daemon still opens the memory.
        hooks.call({"hook_event_name": "SessionStart", "session_id": "s1", "source": "startup"})
    if before == "an idle daemon's end":
        hooks.answered({**PROMPT, "session_id": "s0"})
        hooks.stop()
        while list(hooks.home.glob("state/memsense/hooks/*/socket")):
            time.sleep(0.1)
    done = hooks.call(PROMPT, *PATIENT)
    assert (done.returncode, done.stderr) == (0, "")
    assert FACT in context(done.stdout)
    # It counts as given: the daemon knew how long the hook would wait.
    assert hooks.answered(PROMPT) == ""


def test_a_session_starts_with_where_the_last_one_in_its_project_ended(
    hooks: Hooks, database_url: str, tmp_path: Path
) -> None:
    folder = tmp_path / "boat"
    folder.mkdir()
    event = {**transcript(tmp_path / "log.jsonl", "The rudder of the boat is still loose.")}
    hooks.call({**event, "cwd": str(folder)})
    texts(database_url, 2)
    start = {"hook_event_name": "SessionStart", "session_id": "s7", "cwd": str(folder)}
    assert hooks.answered({**start, "source": "resume"}) == ""
    assert hooks.answered({**start, "source": "compact"}) == ""
    assert hooks.answered({**start, "source": "startup", "cwd": "/"}) == ""
    (tmp_path / "other").mkdir()
    assert hooks.answered({**start, "source": "startup", "cwd": str(tmp_path / "other")}) == ""
    answer = hooks.answered({**start, "source": "startup"}, *PATIENT)
    assert json.loads(answer)["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    assert "The rudder of the boat is still loose." in context(answer)
    assert context(answer).startswith("<memsense-context")
    # The session has it now: a prompt does not get it again.
    asked = {**PROMPT, "session_id": "s7", "prompt": "What is loose on the boat?"}
    assert "rudder" not in hooks.answered(asked)
    assert "rudder" in hooks.answered({**start, "source": "clear"})


def test_without_time_for_the_opening_the_first_prompt_gets_nothing(hooks: Hooks) -> None:
    done = hooks.call(PROMPT, "--timeout", "0.05", "--opening-timeout", "0")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("memsense: ")
    assert FACT in hooks.answered(PROMPT)


def test_a_session_s_start_searches_so_that_the_first_prompt_is_quick(hooks: Hooks) -> None:
    hooks.call({"hook_event_name": "SessionStart", "session_id": "s1", "source": "startup"})
    ends = time.monotonic() + PATIENCE
    while "the memory is open" not in hooks.log() and time.monotonic() < ends:
        time.sleep(0.1)
    assert FACT in hooks.answered(PROMPT, "--opening-timeout", "0")


def test_each_agent_is_answered_in_its_own_form(hooks: Hooks) -> None:
    before = {**PROMPT, "hook_event_name": "BeforeAgent", "session_id": "g"}
    told = json.loads(hooks.answered(before, agent="gemini"))
    assert told["hookSpecificOutput"]["hookEventName"] == "BeforeAgent"
    asked = {**PROMPT, "hook_event_name": "chat.message", "session_id": "o"}
    assert FACT in json.loads(hooks.answered(asked, agent="opencode"))["context"]
    assert FACT in context(hooks.answered({**PROMPT, "session_id": "c"}, agent="codex"))


def test_the_budget_holds_and_nothing_is_asked_for_a_command(hooks: Hooks) -> None:
    assert hooks.answered({**PROMPT, "prompt": "/clear"}) == ""
    assert hooks.answered({**PROMPT, "prompt": "  "}) == ""
    assert hooks.answered(PROMPT, "--max-tokens", "10") == ""
    given = "<hook_context>What is my cat?</hook_context>"
    assert hooks.answered({**PROMPT, "prompt": given}) == ""
    assert hooks.answered({**PROMPT, "agent_id": "helper"}) == ""
    assert FACT in hooks.answered(PROMPT)


def test_a_session_is_taken_in_as_it_grows_once(
    hooks: Hooks, database_url: str, tmp_path: Path
) -> None:
    file = tmp_path / "session.jsonl"
    injected = f"<memsense-context>\n> user: {FACT}\n</memsense-context>"
    first = f"{injected}\nMy boat is green."
    done = hooks.call(transcript(file, first))
    assert (done.returncode, done.stdout) == (0, "")
    assert set(texts(database_url, 2)) == {"My boat is green.", FACT}
    hooks.call(transcript(file, first, "It lies in Faro."))
    hooks.call({**transcript(file, first, "It lies in Faro."), "hook_event_name": "SessionEnd"})
    assert set(texts(database_url, 3)) == {"It lies in Faro.", "My boat is green.", FACT}
    assert not hooks.waiting()


def test_a_session_is_not_told_what_it_holds_itself(
    hooks: Hooks, database_url: str, tmp_path: Path
) -> None:
    hooks.call(transcript(tmp_path / "session.jsonl", "My boat is green."))
    texts(database_url, 2)
    asked = {**PROMPT, "prompt": "What colour has my boat?"}
    assert "green" in hooks.answered(asked)
    own = hooks.answered({**asked, "session_id": "s2"})
    assert "green" not in own
    assert FACT in hooks.answered({**PROMPT, "session_id": "s2"})


def test_what_a_database_that_is_down_could_not_take_is_taken_later(
    make_hooks: Callable[[str], Hooks], server_url: str, template_database: str, tmp_path: Path
) -> None:
    name = f"memsense_test_{uuid.uuid4().hex[:12]}"
    url = urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))
    hooks = make_hooks(url)
    hooks.call(transcript(tmp_path / "session.jsonl", "My boat is green."))
    ends = time.monotonic() + PATIENCE
    while "ingestion is retried later" not in hooks.log() and time.monotonic() < ends:
        time.sleep(0.1)
    assert len(hooks.waiting()) == 1
    names = {"name": sql.Identifier(name), "template": sql.Identifier(template_database)}
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {name} TEMPLATE {template}").format(**names))
        try:
            assert texts(url, 1) == ["My boat is green."]
            hooks.stop()
        finally:
            connection.execute(sql.SQL("DROP DATABASE {name} WITH (FORCE)").format(**names))
    assert not hooks.waiting()


def test_with_the_database_down_a_prompt_goes_on_within_a_second(
    make_hooks: Callable[[str], Hooks],
) -> None:
    hooks = make_hooks(NOWHERE)
    done = hooks.quickest(PROMPT)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("memsense: ")
    assert hooks.seconds < SOON
    hooks.quickest({**PROMPT, "hook_event_name": "Stop", "transcript_path": "/nowhere.jsonl"})
    assert hooks.seconds < SOON


@pytest.mark.parametrize(
    "event",
    ["", "no JSON", "[]", "{}", '{"hook_event_name": 1}', "\x00", '{"hook_event_name": "New"}'],
)
def test_what_no_agent_says_stops_none(make_hooks: Callable[[str], Hooks], event: str) -> None:
    hooks = make_hooks(NOWHERE)
    done = hooks.quickest(event)
    assert (done.returncode, done.stdout) == (0, "")
    assert hooks.seconds < SOON


def test_wrong_use_and_a_home_without_room_stop_no_agent(
    make_hooks: Callable[[str], Hooks], tmp_path: Path
) -> None:
    hooks = make_hooks(NOWHERE)
    assert hooks.call(PROMPT, "--no-such-option").returncode == 0
    assert hooks.call(PROMPT, "--max-tokens", "many").returncode == 0
    assert hooks.call(PROMPT, agent="nobody").returncode == 0
    (tmp_path / "state").write_text("a file where the folder should be")
    done = hooks.quickest(PROMPT)
    assert (done.returncode, done.stdout) == (0, "")
    assert hooks.seconds < SOON


def _works_in(process: psutil.Process, folder: Path) -> bool:
    with suppress(psutil.Error):
        return process.cwd() == str(folder)
    return False


def test_a_process_that_hangs_is_not_waited_for(hooks: Hooks) -> None:
    hooks.answered(PROMPT)
    (folder,) = hooks.home.glob("state/memsense/hooks/*")
    (held,) = [one for one in psutil.process_iter() if _works_in(one, folder)]
    held.suspend()
    try:
        done = hooks.quickest({**PROMPT, "session_id": "s9"})
        assert done.stdout == ""
        assert "timed out" in done.stderr or "no answer in time" in done.stderr
        assert hooks.seconds < SOON
    finally:
        held.resume()


def test_the_process_ends_when_nobody_asks(hooks: Hooks) -> None:
    begun = time.monotonic()
    done = subprocess.run(
        [PROGRAM, "hook", "--serve", "--idle", "0.5"],
        env=hooks.env,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b"")
    assert time.monotonic() - begun < PATIENCE / 2
    assert not list(hooks.home.glob("state/memsense/hooks/*/socket"))


def test_nobody_else_may_look_into_the_folder(hooks: Hooks) -> None:
    hooks.answered(PROMPT)
    (folder,) = hooks.home.glob("state/memsense/hooks/*")
    assert folder.stat().st_mode & 0o077 == 0
    assert (folder / "log").stat().st_mode & 0o077 == 0
