"""One run: builds the stores, one after another, and measures everything on each."""

import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import approximation, searching, stores, writing
from benchmarks.corpus import Corpus
from benchmarks.original import Original
from benchmarks.peers import load_documents, open_peers, size_of
from benchmarks.timing import Timing, join
from memsense.db import Pool, run_autocommit
from memsense.search.profiles import Profile
from memsense.store import indexes

USER = "ada"
# Indexes pay from about 8,000 chunks on (docs/beside/benchmarks.md, "HNSW breadth by size").
INDEX_THRESHOLD = 8_000
ROUNDS = 3


@dataclass(slots=True)
class Run:
    """Measurements of a run so far; `rows` become the lists of the results file."""

    server_url: str
    corpus: Corpus
    write: Callable[[str], object] = print
    started: float = field(default_factory=time.perf_counter)
    search: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    add: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    disk: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    ann: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    ingest: dict[str, Any] = field(default_factory=dict[str, Any])

    def print_progress(self, text: str) -> None:
        """Print a line of progress with the minutes since the start."""
        self.write(f"{(time.perf_counter() - self.started) / 60:5.1f} min  {text}")


@dataclass(frozen=True, slots=True)
class _Others:
    """Times of the others on one store, and of memsense in turn with them."""

    memsense: Timing
    parts: dict[str, float]
    floor: Timing
    original: Timing
    original_add: Timing
    original_bytes: int
    searches: dict[str, Timing]
    adds: dict[str, Timing]
    sizes: dict[str, int]


def measure_user(run: Run, chunks: int) -> None:
    """Measure one user with `chunks` chunks: search, add and disk of memsense and of the others."""
    with stores.new_database(run.server_url, f"memsense_bench_{chunks}") as url:
        run.print_progress(f"{chunks:,} chunks: filling")
        filling = stores.fill_user(url, run.corpus, USER, chunks)
        stores.settle(url)
        run.ingest[f"write {chunks:,} chunks, us each"] = 1e6 * filling.seconds / chunks
        memsense_bytes = sum(stores.sizes(url).values())
        exact, _ = _search(run, url)
        if chunks >= INDEX_THRESHOLD:
            run.print_progress(f"{chunks:,} chunks: indexing")
            _index(run, url)
            run.ann = approximation.measure_approximation(url, run.corpus, USER)
        run.print_progress(f"{chunks:,} chunks: the others")
        others = _measure_others(run, url)
        row = searching.SearchRow(
            chunks=chunks,
            users=1,
            memsense=others.memsense,
            parts=others.parts,
            all_routes=_search(run, url, searching.ALL_ROUTES)[0],
            with_graph=_search(run, url, searching.WITH_GRAPH)[0],
            exact=exact,
            original=others.original,
            numpy=others.floor,
            peers=others.searches,
        )
        run.search.append(row.as_dict())
        first, following = writing.time_adds(url, run.corpus, USER, seed=chunks)
        add = writing.AddRow(
            chunks=chunks,
            first=first,
            following=following,
            original=others.original_add,
            peers=others.adds,
        )
        run.add.append(add.as_dict())
        run.disk.append(
            {
                "chunks": chunks,
                "users": 1,
                "memsense_bytes": memsense_bytes,
                "hnsw_bytes": stores.index_size(url),
                "original_bytes": others.original_bytes,
                "peers": others.sizes,
            }
        )


def _search(run: Run, url: str, profile: Profile | None = None) -> tuple[Timing, dict[str, float]]:
    with searching.open_memory(url, run.corpus) as memory:
        return searching.time_memsense(memory, run.corpus, [USER], profile)


def _index(run: Run, url: str) -> None:
    started = time.perf_counter()
    pool = Pool(url, min_size=1, max_size=1, timeout=30)
    try:
        run_autocommit(
            pool,
            lambda it: indexes.optimise(it, stores.open_namespace(it), INDEX_THRESHOLD, most=1),
        )
    finally:
        pool.close()
    run.ingest["indexing, seconds"] = time.perf_counter() - started


def _measure_others(run: Run, url: str) -> _Others:
    documents = load_documents(url, USER)
    searches: dict[str, Timing] = {}
    adds: dict[str, Timing] = {}
    sizes: dict[str, int] = {}
    with tempfile.TemporaryDirectory(prefix="memsense-bench-") as directory:
        for peer in open_peers(Path(directory)):
            started = time.perf_counter()
            peer.fill(documents)
            run.print_progress(f"{peer.name}: filled in {time.perf_counter() - started:.0f} s")
            sizes[peer.name] = size_of(Path(directory) / type(peer).__name__)
            searches[peer.name] = searching.time_peer(peer, run.corpus)
            adds[peer.name] = writing.time_peer_adds(peer, run.corpus)
    with closing(Original(url)) as original:
        original.fill()
        size = original.size()
        stores.settle(url)
        run.print_progress("the original: filled")
        rounds = [_Round.take(run, url, original) for _ in range(ROUNDS)]
        return _Others(
            memsense=join([one.memsense for one in rounds]),
            parts=_middle([one.parts for one in rounds]),
            floor=join([one.floor for one in rounds]),
            original=join([one.original for one in rounds]),
            original_add=writing.time_original_adds(original, run.corpus),
            original_bytes=size,
            searches=searches,
            adds=adds,
            sizes=sizes,
        )


@dataclass(frozen=True, slots=True)
class _Round:
    """One of the turns that memsense, the floor and the original take, since machines vary."""

    memsense: Timing
    parts: dict[str, float]
    floor: Timing
    original: Timing

    @classmethod
    def take(cls, run: Run, url: str, original: Original) -> "_Round":
        """Run all three, one after another."""
        memsense, parts = _search(run, url)
        floor = searching.time_floor(url, run.corpus, USER)
        return cls(memsense, parts, floor, searching.time_original(original, run.corpus, USER))


def _middle(rounds: Sequence[dict[str, float]]) -> dict[str, float]:
    """Return the median of each part over the rounds."""
    return {name: median(one[name] for one in rounds) for name in rounds[0]}


def measure_users(run: Run, users: int, chunks: int) -> None:
    """Measure users with `chunks` chunks each: the same user as alone, and a hundred in turn."""
    with stores.new_database(run.server_url, "memsense_bench_users") as url:
        stores.fill_user(url, run.corpus, USER, chunks)
        stores.settle(url)
        alone, _ = _search(run, url)
        run.print_progress(f"{users:,} users: copying")
        stores.copy_user(url, USER, users - 1)
        stores.settle(url)
        run.print_progress(f"{users:,} users: searching")
        timing, parts = _search(run, url)
        step = max(1, (users - 1) // 100)
        everybody = [USER, *(f"{USER}-{number}" for number in range(1, users, step))]
        with searching.open_memory(url, run.corpus) as memory:
            turns, _ = searching.time_memsense(memory, run.corpus, everybody)
        row = searching.SearchRow(
            chunks=chunks,
            users=users,
            memsense=timing,
            parts=parts,
            notes={
                "same_user_alone_ms": alone.median,
                "to_same_user_alone": timing.median / alone.median,
                "a_hundred_users_in_turn_ms": turns.median,
            },
        )
        run.search.append(row.as_dict())
        run.disk.append(
            {
                "chunks": chunks,
                "users": users,
                "memsense_bytes": sum(stores.sizes(url).values()),
                "hnsw_bytes": 0,
                "original_bytes": None,
                "peers": {},
            }
        )


def measure_ingest(run: Run) -> None:
    """Measure bulk ingestion of a log with the real embedder, and the facets of an exchange."""
    run.ingest |= writing.time_facets(run.corpus)
    with stores.new_database(run.server_url, "memsense_bench_ingest") as url:
        run.ingest |= writing.time_ingest(url, run.corpus)
