"""`--watch` detects every log that changes, also in folders that are created later."""

import os
import queue
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

LOG = '{"messages": [{"role": "user", "content": "hi"}]}\n'
PATIENCE = 60
WATCH = """
import sys
from memsense.cli import watching
watching.DEBOUNCE_MS, watching.RESCAN_MS = 100, 500
changes = watching.watch_logs([sys.argv[1]])
print("watching", flush=True)
for changed in changes:
    print(*changed, sep="\\n", flush=True)
"""


def write(path: Path, text: str = LOG) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.fixture
def lines(tmp_path: Path) -> "Iterator[queue.Queue[str]]":
    """Yield the output of a process that watches the folder `logs`, after its first line."""
    write(tmp_path / "logs" / "old" / "old.jsonl")
    found: queue.Queue[str] = queue.Queue()
    command = [sys.executable, "-c", WATCH, str(tmp_path / "logs")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def tell() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            found.put(line.strip())

    thread = threading.Thread(target=tell)
    thread.start()
    assert found.get(timeout=PATIENCE) == "watching"
    yield found
    process.kill()
    process.wait()
    thread.join()
    assert process.stdout is not None
    process.stdout.close()


def seen_until(lines: "queue.Queue[str]", *wanted: str) -> set[str]:
    """Return the reported logs, once the expected ones are among them."""
    names: set[str] = set()
    while not names.issuperset(wanted):
        names.add(Path(lines.get(timeout=PATIENCE)).name)
    return names


def test_logs_in_folders_that_come_later_are_seen(
    tmp_path: Path, lines: "queue.Queue[str]"
) -> None:
    logs, aside = tmp_path / "logs", tmp_path / "aside"
    write(logs / "made" / "deep" / "made.jsonl")
    write(aside / "copied" / "deep" / "copied.jsonl")
    write(aside / "moved" / "deep" / "moved.jsonl")
    shutil.copytree(aside / "copied", logs / "copied")
    (aside / "moved").rename(logs / "moved")
    write(logs / "new.jsonl")
    seen = seen_until(lines, "made.jsonl", "copied.jsonl", "moved.jsonl", "new.jsonl")
    assert "old.jsonl" not in seen


def test_a_log_grows_in_a_folder_that_was_moved_in(
    tmp_path: Path, lines: "queue.Queue[str]"
) -> None:
    write(tmp_path / "aside" / "deep" / "moved.jsonl")
    (tmp_path / "aside").rename(tmp_path / "logs" / "moved")
    seen_until(lines, "moved.jsonl")
    with (tmp_path / "logs" / "moved" / "deep" / "moved.jsonl").open("a") as log:
        log.write(LOG)
    assert seen_until(lines, "moved.jsonl") == {"moved.jsonl"}


def test_a_log_that_was_replaced_or_written_again_is_seen(
    tmp_path: Path, lines: "queue.Queue[str]"
) -> None:
    other = write(tmp_path / "aside" / "old.jsonl", LOG + LOG)
    os.replace(other, tmp_path / "logs" / "old" / "old.jsonl")  # noqa: PTH105
    assert seen_until(lines, "old.jsonl") == {"old.jsonl"}


def test_a_database_whose_rows_go_to_its_write_ahead_log_alone_is_seen(
    tmp_path: Path, lines: "queue.Queue[str]"
) -> None:
    program = sqlite3.connect(tmp_path / "logs" / "state.vscdb")
    program.execute("PRAGMA journal_mode = WAL")
    program.execute("CREATE TABLE cursorDiskKV (key TEXT, value BLOB)")
    program.execute("PRAGMA wal_checkpoint")
    program.commit()
    seen_until(lines, "state.vscdb")
    while not lines.empty():
        lines.get()
    before = (tmp_path / "logs" / "state.vscdb").stat().st_mtime_ns
    program.execute("INSERT INTO cursorDiskKV VALUES ('a', 'b')")
    program.commit()
    assert (tmp_path / "logs" / "state.vscdb").stat().st_mtime_ns == before
    assert seen_until(lines, "state.vscdb") == {"state.vscdb"}
    program.close()
