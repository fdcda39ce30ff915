"""`memsense ingest --preview` names the stored sessions that logs continue."""

import json
from pathlib import Path

import command

TEXTS = ("Which boards are for the shed?", "Twelve of oak.", "When do they come?", "On Friday.")


def test_a_preview_says_which_session_a_log_continues(database_url: str, tmp_path: Path) -> None:
    lines = [f"18.03.26, 19:{n:02} - {'NM'[n % 2]}: {text}" for n, text in enumerate(TEXTS)]
    first, second = tmp_path / "chat.txt", tmp_path / "chat (1).txt"
    for path in (first, second):
        path.write_text("\n".join(lines))
    fresh = command.run(database_url, "ingest", str(first), "--preview", "--json")
    assert json.loads(fresh.stdout)["continued"] == []
    assert command.run(database_url, "ingest", str(first), "--user", "ada").returncode == 0
    call = ("ingest", str(second), "--user", "ada", "--preview")
    [continued] = json.loads(command.run(database_url, *call, "--json").stdout)["continued"]
    assert (continued["matched"], continued["messages"]) == (4, 4)
    shown = " ".join(command.run(database_url, *call).stdout.split())
    assert "/chat' (4 of its 4 messages are in it)" in shown
    apart = command.run(database_url, *call, "--new-session", "--json")
    assert json.loads(apart.stdout)["continued"] == []
    # Another user has no such session.
    other = command.run(database_url, *call[:3], "grace", *call[4:], "--json")
    assert json.loads(other.stdout)["continued"] == []
    # Without a database, a preview is of the log alone.
    lost = command.run("postgresql://127.0.0.1:1/none", *call, "--json")
    assert json.loads(lost.stdout)["continued"] == []
