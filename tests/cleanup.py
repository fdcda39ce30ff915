"""Remover of what a test run leaves behind, however it ended: processes and temporary files.

`python cleanup.py RUN_DIR` waits for the end of its input, which the run holds open. It then ends
every process that has the run's directory in its environment or command line, PostgreSQL at once
and the others after a chance to end by themselves, and deletes the directory.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

PATIENCE = 10
"""Seconds for processes to end by themselves."""


def find_processes(run_dir: str) -> Iterator[psutil.Process]:
    """Yield the run's processes, which also are its workers and the servers that tests started."""
    for process in psutil.process_iter():
        with suppress(psutil.Error):  # ended meanwhile, or another user's
            texts = [*process.cmdline(), *process.environ().values()]
            if process.pid != os.getpid() and any(run_dir in text for text in texts):
                yield process


def end_processes(run_dir: str) -> None:
    """End the run's processes, workers first: a worker may be starting a server."""
    processes = list(find_processes(run_dir))
    for process in processes:
        with suppress(psutil.Error):
            # PostgreSQL's shutdown without a checkpoint: nobody needs the data.
            is_server = process.name() == "postgres"
            process.send_signal(signal.SIGQUIT if is_server else signal.SIGTERM)
    _, remaining = psutil.wait_procs(processes, timeout=PATIENCE)
    for process in remaining:
        with suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(remaining, timeout=PATIENCE)


def main(run_dir: str) -> None:
    """Wait for the end of the run, then remove what it left."""
    sys.stdin.read()
    container = Path(run_dir) / "container"
    if container.exists():
        command = ["docker", "rm", "--force", "--volumes", container.read_text()]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    # A second look finds the server that a worker started while it was ended.
    for _ in range(2):
        end_processes(run_dir)
    shutil.rmtree(run_dir)


if __name__ == "__main__":
    main(sys.argv[1])
