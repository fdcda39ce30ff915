"""Time of search: memsense beside the original's query, the numpy floor and the peers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpus import Corpus, question_embedder
from benchmarks.floor import Floor
from benchmarks.original import Original
from benchmarks.peers import Peer
from benchmarks.stores import NAMESPACE, TENANT
from benchmarks.timing import Timing, time_calls
from memsense import MemSense
from memsense.config import Settings
from memsense.embed import CachedQueries, Embedder
from memsense.search.profiles import BALANCED, ROUTES, Profile

Question = tuple[str, NDArray[np.float32]]
ALL_ROUTES = BALANCED.override(
    name="all routes", **{route: BALANCED.weights[route] or 1.0 for route in ROUTES}
)


WITH_GRAPH = BALANCED.override(name="with graph", graph=1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRow:
    """Milliseconds per search of one store: medians, and the 95th percentile of memsense."""

    chunks: int
    users: int
    memsense: Timing
    all_routes: Timing | None = None
    with_graph: Timing | None = None
    exact: Timing | None = None
    original: Timing | None = None
    numpy: Timing | None = None
    peers: dict[str, Timing] = field(default_factory=dict[str, Timing])
    parts: dict[str, float] = field(default_factory=dict[str, float])
    notes: dict[str, float] = field(default_factory=dict[str, float])

    def as_dict(self) -> dict[str, Any]:
        """Return the row as the results file has it."""
        return {
            "chunks": self.chunks,
            "users": self.users,
            "memsense_ms": self.memsense.median,
            "memsense_p95_ms": self.memsense.p95,
            "memsense_parts_ms": self.parts,
            "memsense_all_routes_ms": _median(self.all_routes),
            "memsense_with_graph_ms": _median(self.with_graph),
            "memsense_exact_ms": _median(self.exact),
            "original_ms": _median(self.original),
            "numpy_ms": _median(self.numpy),
            "peers": {name: timing.median for name, timing in self.peers.items()},
            **self.notes,
        }


def _median(timing: Timing | None) -> float | None:
    return timing.median if timing else None


def open_memory(url: str, corpus: Corpus, settings: Settings | None = None) -> MemSense:
    """Open a memory with the vectors of the corpus's questions prepared."""
    embedder = question_embedder(corpus)
    return MemSense.open(
        url, embedder=embedder, tenant=TENANT, namespace=NAMESPACE, settings=settings
    )


def time_memsense(
    memory: MemSense, corpus: Corpus, users: Sequence[str], profile: Profile | None = None
) -> tuple[Timing, dict[str, float]]:
    """Time whole searches, embedding apart; return the median of each of their parts, too.

    The users take turns; each is searched once beforehand, so that only warm searches are timed.
    """
    searches = [(question, users[i % len(users)]) for i, question in enumerate(corpus.questions)]
    parts: list[Mapping[str, float]] = []

    def search(item: tuple[str, str]) -> None:
        question, user_id = item
        parts.append(memory.search(question, user_id=user_id, profile=profile).timings_ms)

    timing = time_calls(search, searches, warm=max(5, len(users)))
    samples = parts[-timing.calls :]
    return timing, {name: float(np.median([part[name] for part in samples])) for name in samples[0]}


def time_original(original: Original, corpus: Corpus, user_id: str) -> Timing:
    """Time the original's query alone, without its server."""

    def search(question: Question) -> object:
        return original.search(*question, user_id)

    return time_calls(search, _list_questions(corpus), warm=1, seconds=10)


def time_floor(url: str, corpus: Corpus, user_id: str, profile: Profile = BALANCED) -> Timing:
    """Time the vector routes of the profile by numpy."""
    floor = Floor(url, profile, user_id)
    return time_calls(floor.search, list(corpus.question_vectors), seconds=5)


def time_peer(peer: Peer, corpus: Corpus) -> Timing:
    """Time the peer's own best search."""

    def search(question: Question) -> object:
        return peer.search(*question)

    return time_calls(search, _list_questions(corpus), seconds=15)


def _list_questions(corpus: Corpus) -> list[Question]:
    return list(zip(corpus.questions, corpus.question_vectors, strict=True))


def time_embedding(embedder: Embedder, corpus: Corpus) -> dict[str, float]:
    """Return the milliseconds to embed a question, and to find it in the cache of questions."""
    cached = CachedQueries(embedder)
    questions = corpus.questions[:100]
    return {
        "embed_ms": time_calls(embedder.embed_query, questions).median,
        "first_ms": time_calls(cached.embed_query, questions, warm=0).median,
        "cached_ms": time_calls(cached.embed_query, questions, warm=0).median,
    }
