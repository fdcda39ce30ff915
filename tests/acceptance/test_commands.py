"""Behaviour of the command line that needs a process: signals, pipes, terminals, imports, psql.

`tests/cli/test_every_command.py` runs each command within its own process.
"""

import json
import os
import pty
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command import run_json
from logs import exchange, write_rows

from memsense import MemSense
from memsense.cli.app import COMMANDS

COMMAND = [sys.executable, "-W", "error", "-c", "from memsense.cli import main; main()"]
PATIENCE = 180
PASSWORD = "hunter2pw"
URL = f"postgresql://ada:{PASSWORD}@db.example:5433/memories"
PSQL = """#!/bin/sh
tr '\\0' '\\n' < /proc/$$/cmdline > "$RECORD/arguments"
env > "$RECORD/environment"
"""


def environment(url: str | None) -> dict[str, str]:
    """As of a pipe, which is 120 columns wide unless COLUMNS says otherwise."""
    set_aside = ("MEMSENSE_", "COLUMNS")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(set_aside)}
    return {**kept, "NO_COLOR": "1", **({"MEMSENSE_DATABASE_URL": url} if url else {})}


@pytest.fixture(scope="module")
def url(module_database_url: str) -> str:
    """A database with some memories."""
    with MemSense.open(module_database_url) as memory:
        for number in range(20):
            content = f"I keep {number} bees in Lisbon, and their honey is dark and sweet."
            memory.add([{"role": "user", "content": content}], user_id="ada", session_id="s")
        memory.add([{"role": "user", "content": "I leave."}], user_id="bob", session_id="s")
    return module_database_url


def test_watching_adds_what_a_growing_log_gets_and_ctrl_c_ends_it(url: str, tmp_path: Path) -> None:
    log = write_rows(tmp_path / "log.jsonl", exchange("w", 1, "I own a red kayak.", "Nice."))
    watching = subprocess.Popen(
        [*COMMAND, "--namespace", "watched", "ingest", str(tmp_path), "--watch", "--json"],
        env=environment(url),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert watching.stderr is not None
        assert "1 stored; watching" in watching.stderr.readline()
        time.sleep(1)
        with log.open("a") as file:
            rows = exchange("w", 2, "I sold the kayak to Mia.", "For how much?")
            file.writelines(json.dumps(row) + "\n" for row in rows)
        assert "log.jsonl: 1 stored, 0 replaced" in watching.stderr.readline()
        watching.send_signal(signal.SIGINT)
        output, errors = watching.communicate(timeout=PATIENCE)
    finally:
        watching.kill()
    assert (watching.returncode, errors) == (0, "memsense: stopped watching\n")
    assert json.loads(output)["stored"] == 2
    stats = run_json(url, "stats", "--namespace", "watched")
    assert stats[0]["turns"] == 2


def test_a_closed_pipe_is_no_traceback(url: str) -> None:
    with subprocess.Popen(
        [*COMMAND, "recent", "--all-users", "-n", "150", "--json"],
        env=environment(url),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""


def test_help_imports_nothing_heavy() -> None:
    heavy = ["numpy", "onnxruntime", "psycopg", "pydantic", "rich", "sqlalchemy", "watchfiles"]
    program = (
        "import sys\nfrom memsense.cli import main\nsys.argv = ['memsense', '--help']\n"
        f"try:\n    main()\nfinally:\n    print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
    assert "ingest" in done.stdout


def test_each_command_is_imported_before_any_other_module_of_memsense() -> None:
    # Within one process, an import that goes in a circle passes once another module came first.
    program = """
import sys
from importlib import import_module
from memsense.cli.app import COMMANDS
for module in {place.partition(":")[0] for place, _ in COMMANDS.values()}:
    for name in [name for name in sys.modules if name.partition(".")[0] == "memsense"]:
        del sys.modules[name]
    import_module(f"memsense.cli.{module}")
    print(module)
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert set(done.stdout.split()) == {place.partition(":")[0] for place, _ in COMMANDS.values()}


def test_the_python_api_is_imported_without_driver_numbers_and_search() -> None:
    heavy = """numpy onnxruntime psycopg pgvector tokenizers httpx sqlalchemy
        memsense.client.context memsense.db.pool memsense.search.hits
        memsense.search.search memsense.store"""
    program = "import sys\nfrom memsense import MemSense\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    modules = set(done.stdout.split())
    assert "memsense.client.verbs" in modules
    assert not modules & set(heavy.split())


def test_search_imports_nothing_that_only_writing_or_migrating_needs(url: str) -> None:
    heavy = """alembic sqlalchemy pydantic_settings dateutil watchfiles matplotlib pyarrow openai
        psutil filelock backports.zstd jsonpath tomlkit memsense.db.embedded memsense.evaluation
        memsense.client.writing memsense.store.writes memsense.store.traces memsense.draft.drafting
        memsense.draft.ingest_run memsense.explain.replay memsense.explain.outcomes
        memsense.draft.facets.rules memsense.ingest.readers memsense.graph.extraction.rules"""
    program = (
        "import sys\nfrom memsense.cli import main\n"
        "sys.argv = ['memsense', 'search', '-u', 'ada', 'bees']\n"
        "try:\n    main()\nfinally:\n    print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(url),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    modules = set(done.stderr.split())
    assert "memsense.search.recall.run" in modules
    assert not modules & set(heavy.split())


def test_psql_gets_the_password_by_its_environment(tmp_path: Path) -> None:
    program = tmp_path / "psql"
    program.write_text(PSQL)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    path = f"{tmp_path}:{os.environ['PATH']}"
    url = f"{URL}?sslmode=require&application_name=me"
    done = subprocess.run(
        [*COMMAND, "db", "psql", "-c", "SELECT 1"],
        env={**environment(url), "PATH": path, "RECORD": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    arguments = (tmp_path / "arguments").read_text().splitlines()
    assert PASSWORD not in "".join(arguments)
    assert arguments[-2:] == ["-c", "SELECT 1"]
    for part in ("user=ada", "host=db.example", "port=5433", "dbname=memories", "sslmode=require"):
        assert part in arguments[-3].split()
    variables = (tmp_path / "environment").read_text().splitlines()
    assert f"PGPASSWORD={PASSWORD}" in variables


@pytest.mark.parametrize(("answer", "stored"), [("n", 0), ("y", 1)])
def test_on_a_terminal_finding_logs_asks_before_it_stores(
    answer: str, stored: int, database_url: str, tmp_path: Path
) -> None:
    sessions = tmp_path / ".codex" / "sessions" / "2026"
    sessions.mkdir(parents=True)
    payloads = (
        ("session_meta", {"id": "s"}),
        ("event_msg", {"type": "user_message", "message": "where is the boat?"}),
        ("event_msg", {"type": "agent_message", "message": "at the pier"}),
    )
    lines = (json.dumps({"type": kind, "payload": payload}) for kind, payload in payloads)
    (sessions / "rollout-1.jsonl").write_text("\n".join(lines))
    ours, theirs = pty.openpty()
    os.write(ours, f"{answer}\n".encode())
    done = subprocess.run(
        [*COMMAND, "ingest", "--find"],
        env={**environment(database_url), "HOME": str(tmp_path)},
        stdin=theirs,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    os.close(theirs)
    os.close(ours)
    assert done.returncode == 0, done.stderr
    assert "Store 1 exchange?" in done.stderr
    assert len(run_json(database_url, "recent", "--all-users")) == stored


def test_a_worker_does_what_comes_until_it_is_interrupted(database_url: str) -> None:
    with MemSense.open(database_url) as memory:
        message = {"role": "user", "content": "I drink tea."}
        memory.add([message], user_id="ada", session_id="s", embed="later")
        worker = subprocess.Popen(
            [*COMMAND, "--database-url", database_url, "worker"],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "MEMSENSE_JOB_LEASE": "5"},
        )
        assert worker.stderr is not None
        assert "running jobs" in worker.stderr.readline()
        while memory.jobs.count().waiting + memory.jobs.count().running:
            assert worker.poll() is None
        worker.send_signal(signal.SIGINT)
        assert "stopped" in worker.communicate(timeout=60)[1]
        assert worker.returncode == 0
        assert memory.search("tea", user_id="ada").notes == []
