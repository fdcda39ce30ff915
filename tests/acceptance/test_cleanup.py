"""A test run that is ended from outside leaves no process and no file behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[2]
PATIENCE = 120

TEST = """
import os
import time
from pathlib import Path


def test_it_waits_to_be_ended(server_url: str) -> None:
    assert server_url
    Path("started").write_text(os.environ["MEMSENSE_TEST_RUN_DIR"])
    time.sleep(600)
"""


def processes_of(run_dir: str) -> Iterator[str]:
    """Yield the command lines of the run's processes."""
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if any(run_dir in text for text in (*process.cmdline(), *process.environ().values())):
                yield " ".join(process.cmdline())


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_nothing_running(
    tmp_path: Path, workers: str, number: signal.Signals
) -> None:
    (tmp_path / "test_waits.py").write_text(TEST)
    started = tmp_path / "started"
    # The fixtures are those of every test: the folder's own conftest is not found from elsewhere.
    options = ["-p", "conftest", "-n", workers, "-c", str(ROOT / "pyproject.toml")]
    variables = {name: value for name, value in os.environ.items() if "MEMSENSE" not in name}
    run = subprocess.Popen(
        [sys.executable, "-m", "pytest", *options, "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=tmp_path,
        env={**variables, "PYTHONPATH": str(ROOT / "tests")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    deadline = time.monotonic() + PATIENCE
    while not started.exists() or not (run_dir := started.read_text()):
        assert run.poll() is None, run.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.05)
    # Docker's server, where there is one, is no process of ours.
    if (Path(run_dir) / "postgres").exists():
        assert any("postgres" in command for command in processes_of(run_dir))
    run.send_signal(number)
    assert run.wait(PATIENCE) == -number
    while remaining := [*processes_of(run_dir)]:
        assert time.monotonic() < deadline + PATIENCE, remaining
        time.sleep(0.1)
    assert not Path(run_dir).exists()
    assert run.stdout is not None
    run.stdout.close()
