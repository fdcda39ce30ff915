"""Planted texts reach no terminal from any command that prints memories."""

import json

import pytest
from command import run
from steering import PLANTED, REAL, find_steering

from memsense import MemSense


@pytest.fixture
def filled_url(database_url: str) -> str:
    """Return the URL of a database with each planted text and each real sentence."""
    with MemSense.open(database_url, embedder=None) as memory:
        memory.add_many(
            [
                {
                    "session_id": f"s{number}",
                    "messages": [{"role": "user", "content": f"Note {number}: {text}"}],
                }
                for number, text in enumerate((*PLANTED.values(), *REAL))
            ],
            user_id="ada",
        )
    return database_url


def test_no_command_prints_what_steers_and_json_keeps_the_text(filled_url: str) -> None:
    env = {"COLUMNS": "4000"}
    commands = (
        ("recent", "--user", "ada", "--limit", "99"),
        ("list", "--user", "ada", "--limit", "99"),
        ("search", "note", "--user", "ada", "--top-k", "99"),
        ("context", "note", "--user", "ada", "--max-tokens", "20000", "--silence", "0"),
    )
    for command in commands:
        done = run(filled_url, *command, env=env)
        assert done.returncode == 0, done.stderr
        assert "after" in done.stdout
        assert not find_steering(done.stdout + done.stderr), command
    # A context has fifty memories at most, a list all of them.
    shown = run(filled_url, *commands[0], env=env).stdout
    assert [text for text in REAL if text not in shown] == []
    listed = json.loads(run(filled_url, *commands[1], "--json").stdout)
    texts = {row["content"].removeprefix("user: ").split(": ", 1)[1] for row in listed["items"]}
    assert {*PLANTED.values()} <= texts
