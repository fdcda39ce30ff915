"""Cost of a chat that is added turn by turn, and of an ingested log, by mode.

    python -m benchmarks.live_adds [--turns 60] [--exchanges 600] [--modes turn hybrid]

Processor time is that of this process and of the server's processes for it, so that it does not
depend on what else the machine does; it is read from /proc, on the machine of the server.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.corpus import START, Corpus, load_corpus
from benchmarks.writing import write_log
from memsense import MemSense
from memsense.db.embedded import EmbeddedServer
from memsense.embed import OnnxEmbedder
from memsense.types import IngestMode

MODES: Sequence[IngestMode] = ("turn", "hybrid", "session")
# A tick is 10 ms on most systems: the sums over a whole run are exact enough, single calls are not.
TICKS = os.sysconf("SC_CLK_TCK")
SIZE = """
    SELECT sum(pg_total_relation_size(c.oid))::bigint
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = 'memsense' AND c.relkind = 'r'
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Processor milliseconds of a live turn and of an ingested exchange, and its bytes on disk."""

    mode: str
    turn_ms: float
    exchange_ms: float
    exchange_bytes: float


def main() -> None:
    """Measure each mode in a fresh database; print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.live_adds", description=__doc__)
    parser.add_argument("--turns", type=int, default=60, help="turns of the live chat")
    parser.add_argument("--exchanges", type=int, default=600, help="exchanges of the log")
    parser.add_argument("--modes", nargs="*", choices=MODES, default=MODES)
    options = parser.parse_args()
    embedder = OnnxEmbedder()
    corpus = load_corpus(embedder)
    print("| mode | processor ms a live turn | ms an ingested exchange | bytes an exchange |")
    print("| --- | ---: | ---: | ---: |")
    for mode in options.modes:
        with (
            tempfile.TemporaryDirectory(prefix="memsense-bench-") as directory,
            EmbeddedServer(Path(directory)) as server,
        ):
            cost = measure(server.url, corpus, mode, options.turns, options.exchanges)
        cells = f"{cost.turn_ms:.1f} | {cost.exchange_ms:.1f} | {cost.exchange_bytes:,.0f}"
        print(f"| {cost.mode} | {cells} |", flush=True)


def measure(url: str, corpus: Corpus, mode: IngestMode, turns: int, exchanges: int) -> Cost:
    """Return the cost of one mode, in a database of its own."""
    from memsense.db.migrate import upgrade

    upgrade(url)
    with (
        MemSense.open(url, embedder=OnnxEmbedder(), namespace="live") as memory,
        psycopg.connect(url, autocommit=True) as conn,
    ):
        _add(memory, corpus, mode, 0, "warm")
        live = time_processors(
            conn, lambda: [_add(memory, corpus, mode, n, "chat") for n in range(turns)]
        )
    empty = _size(url)
    with (
        tempfile.TemporaryDirectory() as directory,
        MemSense.open(url, embedder=OnnxEmbedder(), namespace="log") as memory,
        psycopg.connect(url, autocommit=True) as conn,
    ):
        path = write_log(Path(directory) / "log.jsonl", corpus, exchanges)
        log = time_processors(conn, lambda: memory.ingest(path, user_id="ada", mode=mode))
    return Cost(
        mode=mode,
        turn_ms=1000 * live / turns,
        exchange_ms=1000 * log / exchanges,
        exchange_bytes=(_size(url) - empty) / exchanges,
    )


def time_processors(conn: psycopg.Connection[Any], run: Callable[[], object]) -> float:
    """Return the processor seconds of this process and of the server's other connections."""
    before, started = _backend_seconds(conn), time.process_time()
    run()
    own = time.process_time() - started
    after = _backend_seconds(conn)
    return own + sum(seconds - before.get(pid, 0.0) for pid, seconds in after.items())


def _backend_seconds(conn: psycopg.Connection[Any]) -> dict[int, float]:
    rows = conn.execute(
        "SELECT pid FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    ).fetchall()
    return {pid: _seconds(pid) for (pid,) in rows}


def _seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def _add(memory: MemSense, corpus: Corpus, mode: IngestMode, number: int, session: str) -> None:
    at = START + timedelta(minutes=number)
    texts = corpus.messages[2 * number : 2 * number + 2]
    messages = [
        {"role": role, "content": text, "at": at}
        for role, text in zip(("user", "assistant"), texts, strict=True)
    ]
    memory.add(messages, user_id="ada", session_id=session, mode=mode)


def _size(url: str) -> int:
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("VACUUM")
        row = conn.execute(SIZE).fetchone()
    assert row is not None
    return row[0]


if __name__ == "__main__":
    main()
