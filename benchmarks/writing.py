"""Time of writes: one exchange added, its link backfilled, and bulk ingestion."""

import json
import tempfile
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.corpus import START, Corpus, generate_sessions
from benchmarks.original import Original
from benchmarks.peers import Peer
from benchmarks.stores import TENANT, Filling, write_prepared
from benchmarks.timing import Timing, summarise, time_calls
from memsense import MemSense
from memsense.db import Pool
from memsense.draft.facets.tagger import RuleTagger
from memsense.embed import Embedder, OnnxEmbedder

ADDED = 60
FIRST_ADDED_SESSION = 500_000  # behind the sessions that fill a store
INGESTED = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class AddRow:
    """Milliseconds to store one exchange in a store of `chunks`, with vectors prepared.

    `first` has no exchange before it; `following` also completes the one before: its context, its
    next-user text and vector. The difference is the backfill.
    """

    chunks: int
    first: Timing
    following: Timing
    original: Timing | None = None
    peers: dict[str, Timing] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the row as the results file has it."""
        return {
            "chunks": self.chunks,
            "memsense_ms": self.following.median,
            "memsense_p95_ms": self.following.p95,
            "first_of_session_ms": self.first.median,
            "backfill_ms": max(self.following.median - self.first.median, 0.0),
            "original_ms": self.original.median if self.original else None,
            "peers": {name: timing.median for name, timing in (self.peers or {}).items()},
        }


def time_adds(url: str, corpus: Corpus, user_id: str, *, seed: int) -> tuple[Timing, Timing]:
    """Time sessions of two exchanges each: milliseconds of the first one and of the second."""
    pool = Pool(url, min_size=1, max_size=1, timeout=30)
    times: dict[int, list[float]] = {0: [], 1: []}
    try:
        for number in range(ADDED):
            [session] = generate_sessions(
                corpus, user_id, 2, seed=seed + number, first=FIRST_ADDED_SESSION + number
            )
            for place, piece in enumerate(session.single_exchanges()):
                started = time.perf_counter()
                write_prepared(pool, piece)
                times[place].append(1000 * (time.perf_counter() - started))
    finally:
        pool.close()
    return summarise(times[0][5:]), summarise(times[1][5:])


def time_facets(corpus: Corpus) -> dict[str, float]:
    """Return the milliseconds to find the facets of an exchange, two messages of the corpus."""
    tagger = RuleTagger()
    exchanges = list(zip(corpus.messages[::2], corpus.messages[1::2], strict=False))

    def tag(exchange: tuple[str, str]) -> object:
        return tagger.tag(*exchange)

    return {"facets_ms": time_calls(tag, exchanges).median}


def time_original_adds(original: Original, corpus: Corpus) -> Timing:
    """Time the original's three statements for an exchange that follows another."""
    times: list[float] = []
    for number in range(ADDED):
        chunk_id = 10**12 + number
        started = time.perf_counter()
        original.add(
            chunk_id,
            corpus.messages[number],
            corpus.vectors[number],
            chunk_id - 1 if number else None,
        )
        times.append(1000 * (time.perf_counter() - started))
    return summarise(times[5:])


def time_peer_adds(peer: Peer, corpus: Corpus) -> Timing:
    """Time adds of one document at a time."""
    times: list[float] = []
    for number in range(ADDED):
        started = time.perf_counter()
        peer.add(10**12 + number, corpus.messages[number], corpus.vectors[number])
        times.append(1000 * (time.perf_counter() - started))
    return summarise(times[5:])


def time_ingest(url: str, corpus: Corpus) -> dict[str, float]:
    """Time `MemSense.ingest` of a log with the real embedder, and the embedder alone.

    Both run in one thread pool over the same texts, so that their difference is the cost of
    everything else.
    """
    embedder = _CountingEmbedder(OnnxEmbedder())
    with tempfile.TemporaryDirectory() as directory:
        path = write_log(Path(directory) / "log.jsonl", corpus)
        with MemSense.open(url, embedder=embedder, tenant=TENANT, namespace="ingest") as memory:
            started = time.perf_counter()
            report = memory.ingest(path, user_id="ada")
            seconds = time.perf_counter() - started
    started = time.perf_counter()
    for texts in embedder.calls:
        embedder.inner.embed(texts)
    alone = time.perf_counter() - started
    return {
        "exchanges": report.stored,
        "texts": sum(len(texts) for texts in embedder.calls),
        "exchanges_per_second": report.stored / seconds,
        "embedder_alone_exchanges_per_second": report.stored / alone,
        "added_to_embedding": seconds / alone - 1,
    }


class _CountingEmbedder:
    """Embedder that records the texts that it gets."""

    def __init__(self, inner: Embedder) -> None:
        self.inner = inner
        self.calls: list[list[str]] = []

    @property
    def model(self) -> str:
        return self.inner.model

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    def embed(self, texts: Any) -> Any:
        self.calls.append(list(texts))
        return self.inner.embed(texts)

    def embed_query(self, text: str) -> Any:
        return self.inner.embed_query(text)


def write_log(path: Path, corpus: Corpus, exchanges: int = INGESTED) -> Path:
    """Write a log of so many exchanges in sessions of twenty, each text distinct."""
    picks = np.random.default_rng(7).integers(len(corpus.messages), size=2 * exchanges).tolist()
    with path.open("w", encoding="utf-8") as file:
        for number, pick in enumerate(picks):
            message = {
                "session_id": f"s{number // 40:04d}",
                "id": f"m{number}",
                "role": ("user", "assistant")[number % 2],
                "content": f"{corpus.messages[pick]} #{number}",
                "timestamp": (START + timedelta(seconds=number)).isoformat(),
            }
            file.write(json.dumps(message) + "\n")
    return path


def bulk_as_dict(filling: Filling) -> dict[str, float]:
    """Return the chunks per second of a bulk write with vectors prepared."""
    return {
        "chunks": filling.chunks,
        "chunks_per_second": filling.chunks / filling.seconds,
        "us_per_chunk": 1e6 * filling.seconds / filling.chunks,
    }
