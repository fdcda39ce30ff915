"""Processor time of reading a chat again under another name, compared with its first read.

    python -m benchmarks.read_again [--lines 30000] [--rounds 2]

Vectors are left to a job, so that no model takes part. Each round has a user of its own: the first
read, the read under another name, and that of the second file again.
"""

import argparse
import random
import tempfile
import time
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path

import psutil

from memsense import MemSense
from memsense.db.embedded import EmbeddedServer
from memsense.db.migrate import upgrade


def write_chat(path: Path, count: int) -> None:
    """Write a chat of two people in WhatsApp's form, with a silence about every 20 lines."""
    source = random.Random(7)
    words = (
        "oak board saw blade shed mill glue clamp varnish drill plane chisel bench order".split()
    )
    at = datetime(2020, 1, 1, 8)  # noqa: DTZ001 (a chat names no zone)
    lines: list[str] = []
    for _ in range(count):
        at += timedelta(minutes=source.choice([1] * 19 + [600]))
        text = " ".join(source.choices(words, k=source.choice([1, 4, 12])))
        lines.append(f"{at:%d.%m.%y, %H:%M} - {source.choice(['Nils', 'Marta'])}: {text}")
    path.write_text("\n".join(lines))


def spent(pid: int) -> float:
    """Return the seconds of processor of this process and of the server, with ended backends."""
    server = psutil.Process(pid)
    times = server.cpu_times()
    seconds = time.process_time() + sum(times)
    for child in server.children(recursive=True):
        own = child.cpu_times()
        seconds += own.user + own.system
    return seconds


def main() -> None:
    """Print the seconds of each read, and their ratio to the first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=30_000)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memsense-again-") as folder:
        Path(folder).chmod(0o755)
        with ExitStack() as stack:
            server = stack.enter_context(EmbeddedServer(Path(folder) / "data"))
            upgrade(server.url)
            memory = stack.enter_context(MemSense.open(server.url))
            pid = server.status().pid
            assert pid is not None
            names = ("chat.txt", "chat (1).txt", "chat (1).txt")
            for name in set(names):
                write_chat(Path(folder) / name, options.lines)
            for number in range(options.rounds):
                seconds: list[float] = []
                for name in names:
                    before = spent(pid)
                    report = memory.ingest(
                        Path(folder) / name, user_id=f"user{number}", embed="later"
                    )
                    seconds.append(spent(pid) - before)
                    print(
                        f"{name}: {seconds[-1]:.1f} s, {report.stored} stored, "
                        f"{report.repeated} repeated, {report.continued}"
                    )
                ratios = ", ".join(f"{it / seconds[0]:.2f}" for it in seconds[1:])
                print(f"round {number + 1}: {ratios} of the first read")


if __name__ == "__main__":
    main()
