"""`memsense ingest --preview` names the stored sessions that logs continue."""

import json
import shlex
import zipfile
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


def test_a_file_in_an_unknown_form_is_tried_by_the_best_proposal(tmp_path: Path) -> None:
    log, nothing = tmp_path / "log.json", tmp_path / "numbers.json"
    said = [{"author": "NM"[n % 2], "said": text} for n, text in enumerate(TEXTS)]
    log.write_text(json.dumps({"talk": said, "id": 7}))
    nothing.write_text(json.dumps([{"a": 1}, {"a": 2}]))
    refused = command.run("", "ingest", str(log), "--preview")
    assert refused.returncode == 1
    assert "reads 4 messages of 1 session in its first rows, 100% of their text" in refused.stderr
    assert refused.stderr.rstrip().endswith("; --try shows it")
    # A pipe gets the same as a terminal, as nothing is stored.
    shown = command.run("", "ingest", str(log), "--try")
    assert shown.returncode == 0
    assert "On Friday." in shown.stdout
    stored_by = shown.stdout.rstrip().rpartition("\n")[2]
    assert stored_by.startswith(f"memsense ingest {log} --map 'messages=$.talk[*]'")
    data = json.loads(command.run("", "ingest", str(log), "--try", "--json").stdout)
    assert data["proposed"] == [stored_by]
    again = command.run("", *shlex.split(stored_by)[1:], "--preview", "--json")
    assert json.loads(again.stdout)["first"] == data["first"]
    # A file in a known form is read as ever, and numbers are no messages.
    log.write_text(json.dumps([{"role": "user", "content": TEXTS[0]}]))
    known = json.loads(command.run("", "ingest", str(log), "--try", "--json").stdout)
    assert known["proposed"] == []
    assert known["messages_kept"] == 1
    assert command.run("", "ingest", str(nothing), "--try").returncode == 1


def test_an_archive_of_an_evaluation_is_stored_with_exit_code_0(
    database_url: str, tmp_path: Path
) -> None:
    log = tmp_path / "sheds.eval"
    messages = [{"role": "user", "content": TEXTS[0]}, {"role": "assistant", "content": TEXTS[1]}]
    about = {"version": 2, "eval": {"task": "sheds"}}
    with zipfile.ZipFile(log, "w") as archive:
        for name in ("header.json", "_journal/start.json", "summaries.json", "reductions.json"):
            archive.writestr(name, json.dumps(about))
        sample = {"id": 1, "epoch": 1, "input": TEXTS[0], "messages": messages}
        archive.writestr("samples/1_epoch_1.json", json.dumps(sample))
    run = command.run(database_url, "ingest", str(log), "--user", "ada", "--json")
    report = json.loads(run.stdout)
    assert (run.returncode, report["stored"], report["failed"]) == (0, 1, [])
