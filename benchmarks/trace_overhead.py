"""What recording costs a search: the ratio of median latencies with tracing on and off, in one run.

    python -m benchmarks.trace_overhead --database-url postgresql://...

Ingests the bundled sample conversation into a namespace of its own, which it removes at the end.
Blocks of questions are asked twice, once traced and once not, in random order, so that whatever
else the machine does meets both alike; no trace is being written when a block begins. Bursts are
what one agent does; the sustained load has one search running at every moment, and every one of
them recorded, which the sampling rate is there to avoid.
"""

import argparse
import json
import random
import statistics
import time
import uuid
from collections.abc import Sequence
from pathlib import Path

from memsense import MemSense, load_settings
from memsense.db import connect

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "memsense" / "data" / "sample_conversation.jsonl"
WARM = 20


def read_words() -> list[str]:
    """Words of the sample to make questions of."""
    lines = SAMPLE.read_text(encoding="utf-8").splitlines()
    return sorted({word for line in lines for word in line.split() if word.isalpha()})


def ask(memory: MemSense, question: str, *, trace: bool) -> float:
    started = time.perf_counter()
    memory.search(question, trace=trace)
    return 1000 * (time.perf_counter() - started)


def measure(memory: MemSense, searches: int, block: int) -> dict[str, float]:
    """Medians in milliseconds, and their ratio, over blocks of `block` searches without a pause."""
    source, words = random.Random(1), read_words()
    questions = [" ".join(source.sample(words, k=6)) + "?" for _ in range(searches)]
    for question in questions[:WARM]:
        ask(memory, question, trace=True)
    taken: dict[bool, list[float]] = {True: [], False: []}
    for start in range(0, searches, block):
        for trace in source.sample([True, False], k=2):
            memory.flush_traces()
            for question in questions[start : start + block]:
                taken[trace].append(ask(memory, question, trace=trace))
    memory.flush_traces()
    on, off = statistics.median(taken[True]), statistics.median(taken[False])
    return {"on_ms": round(on, 2), "off_ms": round(off, 2), "ratio": round(on / off, 4)}


def remove(url: str, tenant: str) -> None:
    """Delete the benchmark's tenant with all that is in it."""
    with connect(url) as connection:
        for table in (
            "trace_candidates",
            "traces",
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
    parser.add_argument("--searches", type=int, default=200)
    chosen = parser.parse_args(arguments)
    tenant = f"benchmark-{uuid.uuid4().hex[:8]}"
    # Each question is embedded anew, as a question that was not asked before would be.
    settings = load_settings(database_url=chosen.database_url, tenant=tenant, query_cache_size=0)
    try:
        with MemSense.open(settings=settings) as memory:
            memory.ingest(SAMPLE)
            found = {
                "bursts_of_10": measure(memory, chosen.searches, block=10),
                "sustained": measure(memory, chosen.searches, block=chosen.searches // 2),
                "failed": memory.trace_failures,
            }
    finally:
        remove(chosen.database_url, tenant)
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
