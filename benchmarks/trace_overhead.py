"""Cost of recording a search: the ratio of median latencies with tracing on and off, in one run.

    python -m benchmarks.trace_overhead --database-url postgresql://...

Ingests the bundled sample conversation into a namespace of its own, which it removes at the end.
Blocks of questions are asked twice, once traced and once not, in random order, so that whatever
else the machine does meets both alike; no trace is being written when a block begins. `ratio` is
that of the medians of all searches, `paired_ratio` the median over the blocks of theirs, which
suffers less when the machine is busy. Bursts are what one agent does. The sustained load has one
search running at every moment, and every one of them recorded; the searches at the start of a
block, before the first traces are written, don't count. The processor time of a trace is that of
the blocks with tracing, their traces written, less that of those without; the server's is known
only where it runs on the same machine.
"""

import argparse
import json
import random
import statistics
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from memsense import MemSense, load_settings
from memsense.db import connect
from memsense.explain.recorder import LONGEST_QUEUE

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "memsense" / "data" / "sample_conversation.jsonl"
WARM = 20


class Load(NamedTuple):
    """Searches without a pause: how many in a block, and how many at its start don't count."""

    block: int
    skip: int = 0


BURSTS = Load(10)
# Longer than the queue of traces that wait to be written, so that writing them is measured, too.
SUSTAINED = Load(2 * LONGEST_QUEUE, LONGEST_QUEUE // 2)


def read_words() -> list[str]:
    """Return words of the sample to make questions of."""
    lines = SAMPLE.read_text(encoding="utf-8").splitlines()
    return sorted({word for line in lines for word in line.split() if word.isalpha()})


def ask(memory: MemSense, question: str, *, trace: bool) -> float:
    started = time.perf_counter()
    memory.search(question, trace=trace, all_users=True)
    return 1000 * (time.perf_counter() - started)


@dataclass
class Meter:
    """Processor milliseconds of this process, and of the server's processes for this database."""

    url: str

    def read(self) -> tuple[float, float]:
        with connect(self.url) as connection:
            backends = connection.execute(
                "SELECT pid FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            ).fetchall()
        files = [Path(f"/proc/{pid}/schedstat") for (pid,) in backends]
        server = sum(int(file.read_text().split()[0]) for file in files if file.exists())
        return 1000 * time.process_time(), server / 1e6


def measure(memory: MemSense, meter: Meter, searches: int, load: Load) -> dict[str, float]:
    """Return medians in milliseconds, their ratios, and the processor time that a trace takes."""
    source, words = random.Random(1), read_words()
    questions = [" ".join(source.sample(words, k=6)) + "?" for _ in range(searches)]
    for question in questions[:WARM]:
        ask(memory, question, trace=True)
    elapsed: dict[bool, list[list[float]]] = {True: [], False: []}
    spent = {True: np.zeros(2), False: np.zeros(2)}
    for start in range(0, searches, load.block):
        for trace in source.sample([True, False], k=2):
            memory.traces.flush()
            before = np.array(meter.read())
            batch = questions[start : start + load.block]
            times = [ask(memory, question, trace=trace) for question in batch]
            memory.traces.flush()
            spent[trace] += np.array(meter.read()) - before
            elapsed[trace].append(times[load.skip :])
    pairs = [
        statistics.median(on) / statistics.median(off)
        for on, off in zip(*elapsed.values(), strict=True)
        if on
    ]
    on, off = (statistics.median(chain.from_iterable(blocks)) for blocks in elapsed.values())
    client, server = (spent[True] - spent[False]) / searches
    return {
        "on_ms": round(on, 2),
        "off_ms": round(off, 2),
        "ratio": round(on / off, 4),
        "paired_ratio": round(statistics.median(pairs), 4),
        "p95_ratio": round(_p95(elapsed[True]) / _p95(elapsed[False]), 4),
        "client_ms_per_trace": round(client, 2),
        "server_ms_per_trace": round(server, 2),
    }


def _p95(blocks: Sequence[Sequence[float]]) -> float:
    return statistics.quantiles(chain.from_iterable(blocks), n=20)[-1]


def remove(url: str, tenant: str) -> None:
    """Delete the benchmark's tenant with everything in it."""
    with connect(url) as connection:
        for table in (
            "packed_candidates",
            "traces",
            "mentions",
            "chunk_entities",
            "edges",
            "entities",
            "embeddings",
            "events",
            "ingested_messages",
            "lexemes",
            "scope_statistics",
            "chunks",
            "scopes",
            "namespaces",
            "tenants",
        ):
            connection.execute(
                f"DELETE FROM memsense.{table} WHERE tenant_id ="  # noqa: S608  # pyright: ignore[reportArgumentType, reportCallIssue]
                " (SELECT tenant_id FROM memsense.tenants WHERE name = %s)",
                [tenant],
            )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database-url", required=True)
    parser.add_argument("--searches", type=int, default=400)
    options = parser.parse_args(arguments)
    tenant = f"benchmark-{uuid.uuid4().hex[:8]}"
    # Each question is embedded anew, as a question that was not asked before would be.
    settings = load_settings(database_url=options.database_url, tenant=tenant, query_cache_size=0)
    try:
        with MemSense.open(settings=settings) as memory:
            memory.ingest(SAMPLE)
            meter = Meter(options.database_url)
            result = {
                "bursts_of_10": measure(memory, meter, options.searches, BURSTS),
                "sustained": measure(memory, meter, options.searches, SUSTAINED),
                "failed": memory.traces.failures,
            }
    finally:
        remove(options.database_url, tenant)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
