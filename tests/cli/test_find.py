"""`memsense ingest --find`: what is on the machine is shown; nothing is stored without a yes."""

import json
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import command
import pytest

CODEX = (
    {"type": "session_meta", "payload": {"id": "s"}},
    {"type": "event_msg", "payload": {"type": "user_message", "message": "where is the boat?"}},
    {"type": "event_msg", "payload": {"type": "agent_message", "message": "at the pier"}},
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a session of Codex and an empty folder of Gemini CLI."""
    sessions = tmp_path / ".codex" / "sessions" / "2026"
    sessions.mkdir(parents=True)
    lines = "".join(json.dumps(line) + "\n" for line in CODEX)
    (sessions / "rollout-1.jsonl").write_text(lines)
    (tmp_path / ".gemini" / "tmp").mkdir(parents=True)
    return tmp_path


def run(url: str, home: Path, *arguments: str) -> CompletedProcess[str]:
    return command.run(url, "ingest", "--find", *arguments, env={"HOME": str(home)})


def run_json(url: str, home: Path, *arguments: str) -> dict[str, Any]:
    done = run(url, home, "--json", *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def counts(told: dict[str, Any]) -> list[tuple[str, int, int, int]]:
    return [(f["program"], f["logs"], f["exchanges"], f["new"]) for f in told["found"]]


def test_what_is_found_is_shown_and_stored_only_with_a_yes(database_url: str, home: Path) -> None:
    done = run(database_url, home)
    assert done.returncode == 0
    assert "Codex CLI" in done.stdout
    assert "~/.codex/sessions" in done.stdout
    assert "no logs in it" in done.stdout
    assert "nothing is stored yet; --yes" in done.stderr
    found = [("Codex CLI", 1, 1, 1), ("Gemini CLI", 0, 0, 0)]
    told = run_json(database_url, home)
    assert (counts(told), told["ingested"]) == (found, None)
    told = run_json(database_url, home, "--yes", "--dry-run")
    assert (counts(told), told["ingested"]) == (found, None)
    told = run_json(database_url, home, "--yes")
    assert (counts(told), told["ingested"]["stored"]) == (found, 1)
    told = run_json(database_url, home, "--yes")
    assert counts(told)[0] == ("Codex CLI", 1, 1, 0)
    assert told["ingested"] is None


def test_a_format_limits_what_is_looked_for(database_url: str, home: Path) -> None:
    told = run_json(database_url, home, "--format", "codex")
    assert [find["program"] for find in told["found"]] == ["Codex CLI"]
    done = run(database_url, home, "--format", "claude_code")
    assert done.returncode == 1
    assert "no program keeps logs in format claude_code" in done.stderr


def test_a_wrong_call_names_the_remedy(database_url: str, home: Path) -> None:
    done = run(database_url, home, "chat.json")
    assert (done.returncode, "leave PATHS out" in done.stderr) == (2, True)
    done = command.run(None, "ingest")
    assert (done.returncode, "--find" in done.stderr) == (2, True)
