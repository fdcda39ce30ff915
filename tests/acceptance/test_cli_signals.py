"""How commands end when they are told to: what they leave running, and their exit codes."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from memsense.db.embedded import EmbeddedServer

COMMAND = [sys.executable, "-W", "error", "-c", "from memsense.cli import main; main()"]
IGNORING = ["sh", "-c", 'trap "" "$0"; exec "$@"']
PATIENCE = 120
ROW = {"session_id": "s", "id": "1", "role": "user", "content": "I own a red kayak."}


@pytest.fixture(scope="module")
def started_dir(cluster_dir: Path) -> Path:
    """A cluster that exists, so that no test waits for it to be made."""
    with EmbeddedServer(cluster_dir):
        return cluster_dir


@pytest.fixture
def data_dir(started_dir: Path) -> Generator[Path]:
    yield started_dir
    EmbeddedServer(started_dir).stop()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(ROW) + "\n")
    return path


@contextmanager
def running(
    data_dir: Path, *arguments: str | Path, under: Sequence[str] = ()
) -> Generator[subprocess.Popen[str]]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMSENSE_")}
    process = subprocess.Popen(
        [*under, *COMMAND, *map(str, arguments)],
        env={**kept, "NO_COLOR": "1", "MEMSENSE_DATA_DIR": str(data_dir)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=restore_interrupts,  # noqa: PLW1509 (no thread runs here)
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def restore_interrupts() -> None:
    """As at a terminal, however these tests were started."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def read_until(process: subprocess.Popen[str], words: str) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if words in line:
            return
    pytest.fail(f"it never said {words!r}")


def asleep(data_dir: Path) -> tuple[str | Path, ...]:
    """A command whose statement is at work once the file is there."""
    touch = f"\\! touch {data_dir}/asleep"
    return ("db", "psql", "-q", "-c", touch, "-c", "SELECT pg_sleep(60)")


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    path.unlink()


@pytest.mark.parametrize(
    ("number", "code", "said"),
    [
        (signal.SIGTERM, 143, "memsense: terminated\n"),
        (signal.SIGHUP, 129, "memsense: terminated\n"),
    ],
)
def test_a_command_that_is_terminated_stops_the_server_that_it_started(
    data_dir: Path, number: int, code: int, said: str
) -> None:
    with running(data_dir, *asleep(data_dir)) as process:
        wait_for(data_dir / "asleep")
        process.send_signal(number)
        _, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (code, said)
    assert not EmbeddedServer(data_dir).status().running


def test_a_command_terminated_while_its_server_starts_leaves_none(data_dir: Path) -> None:
    with running(data_dir, "recent", "--all-users") as process:
        while not (data_dir / "cluster" / "postmaster.pid").exists():
            assert process.poll() is None
        process.terminate()
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 143
    assert not EmbeddedServer(data_dir).status().running


def test_a_server_that_others_use_outlives_a_terminated_command(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        with running(data_dir, *asleep(data_dir)) as process:
            wait_for(data_dir / "asleep")
            process.terminate()
            process.communicate(timeout=PATIENCE)
        assert server.status().running


@pytest.mark.parametrize("under", [(), (*IGNORING, "INT")], ids=["heeded", "ignored"])
@pytest.mark.parametrize(
    ("number", "code", "said"),
    [
        (signal.SIGINT, 0, "memsense: stopped watching\n"),
        (signal.SIGTERM, 143, "memsense: terminated\n"),
    ],
)
def test_watching_ends_and_stops_its_server_even_with_interrupts_ignored(
    data_dir: Path, log: Path, under: Sequence[str], number: int, code: int, said: str
) -> None:
    with running(data_dir, "ingest", log, "--watch", "--json", under=under) as process:
        read_until(process, "watching, Ctrl-C ends")
        process.send_signal(number)
        output, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (code, said)
    assert bool(output) == (code == 0)
    assert not EmbeddedServer(data_dir).status().running


def test_a_hang_up_that_is_ignored_ends_nothing(data_dir: Path, log: Path) -> None:
    with running(data_dir, "ingest", log, "--watch", under=(*IGNORING, "HUP")) as process:
        read_until(process, "watching, Ctrl-C ends")
        process.send_signal(signal.SIGHUP)
        time.sleep(1)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 0


def test_ctrl_c_in_psql_is_psqls(data_dir: Path) -> None:
    touch = f"\\! touch {data_dir}/asleep"
    command = ("db", "psql", "-Atc", touch, "-c", "SELECT 'slept' FROM pg_sleep(2)")
    with running(data_dir, *command) as process:
        wait_for(data_dir / "asleep")
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, output, errors) == (0, "slept\n", "")
