"""Exchanges a second of one core: `memsense ingest` of real conversations, beside another checkout.

    python -m benchmarks.ingest_speed locomo10.json [--beam] [--conversations 1] [--rounds 3]
        [--before DIRECTORY] [--url URL]

The first conversations of the file become one log, which each checkout ingests by the command line
into a database of its own. Told is the median over rounds of the processor time of the whole
command, its start included and the server's apart, since the model takes nearly all of it. The
checkouts take turns.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from benchmarks.search_cost import new_database
from memsense.db.embedded import EmbeddedServer
from memsense.evaluation import read_beam

HERE = Path(__file__).parents[1]

Turn = tuple[str, str, str]
"""A message: its session, its role and its text."""


def read_turns(path: Path, *, is_beam: bool, conversations: int) -> Iterator[Turn]:
    """Yield the messages of the first conversations, each with its session and its role."""
    if is_beam:
        for conversation in read_beam(path)[:conversations]:
            for session in conversation.sessions:
                name = f"{conversation.conversation_id}-{session.session_id}"
                yield from ((name, turn.role, turn.content) for turn in session.turns)
        return
    samples: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    for sample in samples[:conversations]:
        said: dict[str, Any] = sample["conversation"]
        sessions = [name for name, value in said.items() if isinstance(value, list)]
        for name in sessions:
            for turn in said[name]:
                role = "user" if turn["speaker"] == said["speaker_a"] else "assistant"
                yield f"{sample['sample_id']}-{name}", role, turn["text"]


def write_log(turns: Iterable[Turn], log: Path) -> None:
    """Write each message as a line."""
    with log.open("w", encoding="utf-8") as file:
        for number, (session, role, text) in enumerate(turns):
            line = {"session_id": session, "id": f"m{number}", "role": role, "content": text}
            file.write(json.dumps(line) + "\n")


def start(checkout: Path, url: str, *arguments: str) -> "subprocess.Popen[str]":
    """Start a command of memsense on a database, with a checkout's packages."""
    return subprocess.Popen(
        [sys.executable, "-m", "memsense", *arguments],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout), "MEMSENSE_DATABASE_URL": url},
        stdout=subprocess.PIPE,
        text=True,
    )


def finish(process: "subprocess.Popen[str]") -> str:
    """Wait for a command; return what it printed."""
    told, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"{process.args} failed")
    return told


def start_ingest(checkout: Path, log: Path, url: str) -> "subprocess.Popen[str]":
    """Start `memsense ingest` of the log into an empty database, with a schema of the checkout."""
    finish(start(checkout, url, "init"))
    return start(checkout, url, "ingest", str(log), "--user", "ada", "--json")


def ingest(checkout: Path, log: Path, url: str) -> tuple[int, float]:
    """Ingest the log; return exchanges and seconds of the ingest's processor time."""
    process = start_ingest(checkout, log, url)
    before = os.times()
    stored = json.loads(finish(process))["stored"]
    after = os.times()
    seconds = (after.children_user - before.children_user) + (
        after.children_system - before.children_system
    )
    return stored, seconds


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("file", type=Path, help="conversations of LoCoMo")
    parser.add_argument("--beam", action="store_true", help="the file holds BEAM's instead")
    parser.add_argument("--conversations", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--before", type=Path, help="a checkout of another commit")
    parser.add_argument("--url", help="a server on which databases may be created; default: own")
    options = parser.parse_args()
    checkouts = {"ours": HERE, **({"before": options.before} if options.before else {})}
    rates: dict[str, list[float]] = {name: [] for name in checkouts}
    with tempfile.TemporaryDirectory(prefix="memsense-ingest-") as directory:
        log = Path(directory) / "log.jsonl"
        turns = read_turns(options.file, is_beam=options.beam, conversations=options.conversations)
        write_log(turns, log)
        own = None if options.url else EmbeddedServer(Path(directory))
        with own or nullcontext():
            server_url = own.url if own else options.url
            for number in range(options.rounds):
                for name, checkout in checkouts.items():
                    database = f"memsense_ingest_{name}_{number}"
                    with new_database(server_url, database) as url:
                        exchanges, seconds = ingest(checkout, log, url)
                    rates[name].append(exchanges / seconds)
    medians = {name: statistics.median(values) for name, values in rates.items()}
    ratio = medians["ours"] / medians["before"] if options.before else None
    print(json.dumps({"exchanges_per_core_second": medians, "ratio": ratio}, indent=1))


if __name__ == "__main__":
    main()
