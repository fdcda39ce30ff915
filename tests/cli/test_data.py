"""Erasing, exporting and importing from the command line."""

import json
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from command import run

from memsense.actor import current_actor, user_name


def read(done: CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_words_are_added_by_a_command_and_found_by_another(database_url: str) -> None:
    [tea] = read(run(database_url, "add", "I like tea", "--user", "ada", "--json"))
    [trip] = read(
        run(
            database_url,
            *("add", "-", "-u", "ada", "--answer", "The 10:40.", "--session", "trip"),
            *("--at", "2026-05-01", "--tag", "travel", "--json"),
            stdin="Which train to Porto?",
        )
    )
    assert (tea["user_text"], tea["session_id"]) == ("I like tea", tea["occurred_at"][:10])
    assert (trip["session_id"], trip["assistant_text"], trip["tags"]) == (
        "trip",
        "The 10:40.",
        ["travel"],
    )
    assert trip["occurred_at"].startswith("2026-05-01")
    done = run(database_url, "add", "I like tea", "--user", "ada")
    assert done.stdout == f"chunk {tea['chunk_id']}: in session {tea['session_id']} of ada\n"
    found = read(run(database_url, "search", "tea", "--user", "ada", "--json"))
    assert found["hits"][0]["chunk_id"] == tea["chunk_id"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("", "--user", "ada"), "TEXT: is empty: write what was said"),
        (("-", "--user", "ada"), "TEXT: is empty: write what was said"),
        (("I like tea",), "Missing option '--user'"),
        (("I like tea", "--user", " "), "user_id is empty"),
        (("I like tea", "--user", "ada", "--at", "soon"), "at must be an ISO 8601 time"),
    ],
)
def test_a_command_that_adds_nothing_says_why(
    database_url: str, arguments: tuple[str, ...], words: str
) -> None:
    done = run(database_url, "add", *arguments)
    assert (done.returncode, words in done.stderr) == (2, True), done.stderr


def test_erasing_asks_first_and_prints_a_receipt_that_is_kept(
    database_url: str, tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    lines = [
        {"session_id": session, "id": session, "role": "user", "content": f"Tea in {session}."}
        for session in ("monday", "tuesday")
    ]
    log.write_text("\n".join(map(json.dumps, lines)))
    read(run(database_url, "ingest", str(log), "--user", "ada", "--json"))
    asked = run(database_url, "erase", "--user", "ada", "--session", "monday", stdin="n\n")
    assert asked.returncode == 1
    assert "Erase session 'monday' of user 'ada' for good? It can't be undone." in asked.stderr
    unanswered = run(database_url, "erase", "--user", "ada")
    assert (unanswered.returncode, "nothing was done: add --yes" in unanswered.stderr) == (2, True)
    chunks = read(run(database_url, "recent", "--all-users", "--json"))
    assert {chunk["session_id"] for chunk in chunks} == {"monday", "tuesday"}
    receipt = read(
        run(
            database_url,
            *("erase", "--user", "ada", "--session", "monday", "--by", "me", "--json"),
            stdin="y\n",
        )
    )
    assert receipt["kind"] == "session"
    assert receipt["erased_by"] == "me"
    assert receipt["counts"]["chunks"] == 1
    [left] = read(run(database_url, "recent", "--all-users", "--json"))
    assert left["session_id"] == "tuesday"
    [deleted] = read(run(database_url, "delete", str(left["chunk_id"]), "--yes", "--json"))
    assert deleted["kind"] == "chunk"
    assert read(run(database_url, "erasures", "--json")) == [deleted, receipt]
    assert read(run(database_url, "erasures", "--about", "monday", "--json")) == [receipt]
    table = run(database_url, "erasures", "--about", "ada")
    assert receipt["erasure_id"] in table.stdout
    again = run(database_url, "delete", str(left["chunk_id"]), "--yes")
    assert again.returncode == 1
    assert again.stderr.startswith("memsense: no chunk")
    nothing = run(database_url, "erase", "--yes")
    assert nothing.returncode == 2
    assert "say what to erase" in nothing.stderr


def test_an_export_goes_through_a_pipe_into_another_namespace(
    database_url: str, tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps({"session_id": "s", "role": "user", "content": "Tea at five."}))
    read(run(database_url, "ingest", str(log), "--user", "ada", "--json"))
    assert run(database_url, "settings", "set", "lexical=1.5").returncode == 0
    written = run(database_url, "export", "-", "--user", "ada", "--vectors")
    assert written.returncode == 0
    assert [next(iter(json.loads(line))) for line in written.stdout.splitlines()] == [
        "memsense_export",
        "user",
        "chunk",
        "chunks",
    ]
    into = (database_url, "--namespace", "copy", "import", "-", "--json")
    counts = {"users": 1, "sessions": 1, "stored": 1, "repeated": 0, "skipped": 0}
    settings: dict[str, Any] = {"settings_taken": ["lexical"], "settings_left": [], "redacted": {}}
    assert read(run(*into, stdin=written.stdout)) == {**counts, **settings}
    again = read(run(*into, stdin=written.stdout))
    assert (again["stored"], again["repeated"]) == (0, 1)
    path = tmp_path / "out.jsonl"
    told = read(
        run(database_url, "--namespace", "copy", "export", str(path), "--all-users", "--json")
    )
    assert told == {"users": 1, "chunks": 1}
    assert "Tea at five." in path.read_text()
    rows = tmp_path / "out.parquet"
    rows.write_bytes(b"PAR1 PAR1")
    refused = run(database_url, "import", str(rows))
    assert refused.returncode == 1
    assert "Parquet is written and not read" in refused.stderr
    broken = run(database_url, "import", "-", stdin="hello\n")
    assert broken.returncode == 1
    assert "no export of memsense" in broken.stderr
    unsaid = run(database_url, "export", str(path))
    assert unsaid.returncode == 2


def test_a_memory_is_updated_from_the_command_line(database_url: str, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps({"session_id": "s", "role": "user", "content": "Tea at five."}))
    read(run(database_url, "ingest", str(log), "--user", "ada", "--json"))
    [chunk] = read(run(database_url, "recent", "--user", "ada", "--json"))
    number = str(chunk["chunk_id"])
    options = ("--user-text", "Tea at six.", "--tag", "tea", "--metadata", '{"sure": true}')
    facets = ("--facet", "events=tea at six", "--at", "2026-05-01")
    changed = read(run(database_url, "update", number, *options, *facets, "--json"))
    assert changed["user_text"] == "Tea at six."
    assert changed["tags"] == ["tea"]
    assert changed["metadata"] == {"sure": True}
    assert changed["events"] == "tea at six"
    assert changed["occurred_at"].startswith("2026-05-01")
    told = run(database_url, "update", number, "--tag", "cake")
    assert told.stdout == f"chunk {number}: updated\n"
    for wrong in (("--facet", "events"), ("--metadata", "{"), ()):
        assert run(database_url, "update", number, *wrong).returncode == 2


def test_the_history_names_the_person_at_the_command_line(
    database_url: str, tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps({"session_id": "s", "role": "user", "content": "I drink tea."}))
    read(run(database_url, "ingest", str(log), "--user", "ada", "--json"))
    [chunk] = read(run(database_url, "recent", "--user", "ada", "--json"))
    chunk_id = str(chunk["chunk_id"])
    read(run(database_url, "promote", chunk_id, "--json"))
    events = read(run(database_url, "history", chunk_id, "--json"))
    actor = f"cli:{user_name()}"
    assert [(it["kind"], it["actor"]) for it in events] == [("added", actor), ("promoted", actor)]
    assert actor in run(database_url, "history", chunk_id).stdout
    assert current_actor() == f"python:{user_name()}"  # the command's name ended with it
