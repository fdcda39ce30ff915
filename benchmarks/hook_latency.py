"""Latency of a coding agent's hook: the process that an agent waits for before each prompt.

    python -m benchmarks.hook_latency --database-url postgresql://...

Ingests the bundled sample conversation into a tenant of its own, which it removes at the end, and
calls the installed command `memsense hook` as an agent does, by turns with interpreters that do
nothing. Prints milliseconds of wall and of processor time of the process, and then how long a
prompt waits that comes first: after nothing, which starts the daemon, and after a session's start.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.timing import summarise
from benchmarks.trace_overhead import SAMPLE, remove
from memsense import MemSense, load_settings

QUESTION = "Which walnuts is Ines allergic to?"
PROGRAM = str(Path(sys.executable).with_name("memsense"))
COMMANDS = {
    "hook": [PROGRAM, "hook", "claude-code"],
    "python": [sys.executable, "-c", "pass"],
    "python -I -S": [sys.executable, "-I", "-S", "-c", "pass"],
}
PAUSE = 3.0
"""Seconds for the daemon to end, and for a session's start to open the memory."""


def event(name: str) -> bytes:
    """Return a hook's event, of a session of its own: a session gets no memory twice."""
    session = uuid.uuid4().hex
    document = {"hook_event_name": name, "session_id": session, "prompt": QUESTION, "cwd": "/"}
    return json.dumps(document).encode()


def run(
    command: Sequence[str], environment: Mapping[str, str], name: str = "UserPromptSubmit"
) -> tuple[float, float, bool]:
    """Return the milliseconds of wall and processor time of the process, and if it answered."""
    started = time.perf_counter()
    process = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(event(name))
        process.stdin.close()
    except BrokenPipeError:
        pass  # an interpreter that does nothing may end before
    answer = process.stdout.read()
    # The usage of this process alone: a daemon that it has started lives on.
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - started
    return 1000 * wall, 1000 * (usage.ru_utime + usage.ru_stime), bool(answer)


def measure_warm(environment: Mapping[str, str], runs: int) -> dict[str, dict[str, float]]:
    """Return the times of the hook with an open memory and of idle interpreters, by turns."""
    times: dict[str, list[tuple[float, float, bool]]] = {name: [] for name in COMMANDS}
    for _ in range(runs):
        for name, command in COMMANDS.items():
            times[name].append(run(command, environment))
    figures: dict[str, dict[str, float]] = {}
    for name, rows in times.items():
        wall = summarise([wall for wall, _, _ in rows])
        busy = summarise([busy for _, busy, _ in rows])
        figures[name] = {
            "wall_median_ms": round(wall.median, 1),
            "wall_p95_ms": round(wall.p95, 1),
            "cpu_median_ms": round(busy.median, 1),
            "cpu_p95_ms": round(busy.p95, 1),
            "answered": sum(answered for _, _, answered in rows) / runs,
        }
    floor = figures["python"]
    figures["hook / python"] = {
        name: round(figures["hook"][name] / floor[name], 2)
        for name in floor
        if name.endswith("_ms")
    }
    return figures


def measure_first(environment: Mapping[str, str], runs: int) -> dict[str, dict[str, float]]:
    """Return how long the first prompt waits, and the share of these prompts that got an answer."""
    rows: dict[str, list[tuple[float, bool]]] = {"after nothing": [], "after SessionStart": []}
    for _ in range(runs):
        for name, waits in rows.items():
            stop(environment)
            time.sleep(PAUSE)
            if name == "after SessionStart":
                run(COMMANDS["hook"], environment, "SessionStart")
                time.sleep(PAUSE)
            wall, _, answered = run(COMMANDS["hook"], environment)
            waits.append((wall, answered))
    return {
        name: {
            "wall_median_ms": round(statistics.median(wall for wall, _ in waits)),
            "slowest_wall_ms": round(max(wall for wall, _ in waits)),
            "answered": sum(answered for _, answered in waits) / runs,
        }
        for name, waits in rows.items()
    }


def stop(environment: Mapping[str, str]) -> None:
    """End the daemon."""
    subprocess.run([PROGRAM, "hook", "--stop"], env=environment, check=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--database-url", required=True)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--first-runs", type=int, default=10)
    options = parser.parse_args(arguments)
    tenant = f"hook-latency-{uuid.uuid4().hex[:8]}"
    with tempfile.TemporaryDirectory() as home:
        environment = {
            **os.environ,
            "MEMSENSE_DATABASE_URL": options.database_url,
            "MEMSENSE_TENANT": tenant,
            "MEMSENSE_USER": "ada",
            "XDG_STATE_HOME": home,
        }
        try:
            with MemSense.open(
                settings=load_settings(database_url=options.database_url, tenant=tenant)
            ) as memory:
                memory.ingest(SAMPLE, user_id="ada")
            run(COMMANDS["hook"], environment, "SessionStart")
            time.sleep(PAUSE)
            figures = {
                "warm": measure_warm(environment, options.runs),
                "first prompt": measure_first(environment, options.first_runs),
                "load average": os.getloadavg(),
            }
        finally:
            stop(environment)
            remove(options.database_url, tenant)
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
