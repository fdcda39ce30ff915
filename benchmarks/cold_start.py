"""Cost of one `memsense search` from the shell: wall and processor time of the whole process.

    python -m benchmarks.cold_start --database-url postgresql://...

Ingests the bundled sample conversation into a tenant of its own, which it removes at the end, and
asks one question again and again, each time in a new process; between them an interpreter that
does nothing, which is the floor. Prints medians, and the modules that took longest to import.
"""

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping, Sequence

from benchmarks.trace_overhead import SAMPLE, remove
from memsense import MemSense, load_settings

QUESTION = "Which walnuts is Ines allergic to?"
USER = "ines"
COMMAND = "from memsense.cli import main; main()"
SEARCH = ["-c", COMMAND, "search", QUESTION, "--user", USER]
LARGEST = (
    "import resource, subprocess, sys; "
    "subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True); "
    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
)
SLOWEST = 10
_IMPORTED = re.compile(r"import time:\s+\d+ \|\s+(\d+) \|\s+(\S+)")


def run(arguments: Sequence[str], environment: Mapping[str, str]) -> tuple[float, float]:
    """Return the milliseconds of wall and of processor time that the process took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments], env=environment, stdout=subprocess.DEVNULL, check=True
    )
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return 1000 * wall, 1000 * busy


def measure(environment: Mapping[str, str], runs: int) -> dict[str, dict[str, float]]:
    """Return the medians of the search, the import and the idle interpreter, run by turns.

    `largest_mb` is the most memory that a search has resident.
    """
    commands = {
        "search": SEARCH,
        "import": ["-c", "from memsense import MemSense"],
        "python": ["-c", "pass"],
    }
    measured: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for arguments in commands.values():
        run(arguments, environment)  # writes the .pyc files and fills the page cache
    for _ in range(runs):
        for name, arguments in commands.items():
            measured[name].append(run(arguments, environment))
    # Measured by a small process: a child counts the memory of the parent that it was forked from.
    used = subprocess.run(
        [sys.executable, "-c", LARGEST, sys.executable, *SEARCH],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    figures: dict[str, dict[str, float]] = {
        name: {
            "wall_ms": round(statistics.median(wall for wall, _ in times)),
            "cpu_ms": round(statistics.median(cpu for _, cpu in times)),
            "slowest_wall_ms": round(max(wall for wall, _ in times)),
            "runs": len(times),
        }
        for name, times in measured.items()
    }
    figures["search"]["largest_mb"] = round(int(used.stdout) / 1024)
    return figures


def slowest_imports(environment: Mapping[str, str]) -> dict[str, float]:
    """Return the milliseconds of a search's slowest imports, each with what it imports in turn."""
    process = subprocess.run(
        [sys.executable, "-X", "importtime", *SEARCH],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    imports = {name: int(us) / 1000 for us, name in _IMPORTED.findall(process.stderr)}
    ordered = sorted(imports.items(), key=lambda item: -item[1])
    return {name: round(ms) for name, ms in ordered[:SLOWEST]}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--database-url", required=True)
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args(arguments)
    tenant = f"cold-start-{uuid.uuid4().hex[:8]}"
    environment = {
        **os.environ,
        "MEMSENSE_DATABASE_URL": options.database_url,
        "MEMSENSE_TENANT": tenant,
    }
    try:
        with MemSense.open(
            settings=load_settings(database_url=options.database_url, tenant=tenant)
        ) as memory:
            memory.ingest(SAMPLE, user_id=USER)
        figures = {
            **measure(environment, options.runs),
            "slowest_imports_ms": slowest_imports(environment),
        }
    finally:
        remove(options.database_url, tenant)
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
