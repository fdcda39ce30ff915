"""Recorder of searches, in the background: no answer waits for its trace or fails with it."""

import logging
import queue
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from memsense.db.connection import Connection
from memsense.errors import MemSenseError
from memsense.forking import renew_in_child
from memsense.search.profiles import ROUTES, Route
from memsense.search.rank.choose import Ranking
from memsense.search.rank.score import ScoreTerms
from memsense.search.search import Search
from memsense.search.settings import CALENDAR_SETTINGS
from memsense.timezones import name_zone
from memsense.types import Note

if TYPE_CHECKING:
    from memsense.store.traces import PackedCandidates, Trace

logger = logging.getLogger("memsense.traces")

LONGEST_QUEUE = 64
"""Maximum number of searches that wait to be written; each takes about 100 kB."""

QUIET = 0.02
"""Seconds without a search after which waiting traces are written."""

LONGEST_DELAY = 1.0
"""Seconds after which traces are written even if searches are running."""

PAUSE = 0.005
"""Seconds between two checks whether a search is running."""

_NO_VECTORS = np.zeros((0, 0), dtype=np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A search to be recorded; `hit_chunks` maps candidates to the chunks shown for them."""

    trace_id: UUID
    search: Search
    hit_chunks: Mapping[int, int]
    timings: Mapping[str, float]
    notes: list[Note]


class TraceRecorder:
    """Writer of recordings, one by one in a thread of its own, which starts with the first.

        recorder = TraceRecorder(lambda write: run_transaction(pool, write))
        with recorder.search_running():
            ...
        recorder.submit(recording)
        recorder.flush()

    It waits for a moment without searches, so that no search shares the processor with it. If there
    is no such moment for a second, or once half of the queue is full, it writes everything that
    waits in one go, which few searches meet. A recording that can't be written is logged, counted
    in `failed`, and noted in its result.
    """

    def __init__(self, run: Callable[[Callable[[Connection], None]], None]) -> None:
        """Take `run`, which calls its argument in a transaction, again if that is lost."""
        self._run_transaction = run
        self._last_search = 0.0
        self.written = 0
        self.failed = 0
        self._begin()
        renew_in_child(self._begin)

    def _begin(self) -> None:
        """Begin with an empty queue and no thread; a fork leaves what waits to the parent."""
        self._waiting: queue.Queue[tuple[float, Recording] | None] = queue.Queue(LONGEST_QUEUE)
        self._lock = threading.Lock()
        self._hurry = threading.Event()
        self._is_emptying = False
        self._thread: threading.Thread | None = None
        self._running = 0

    @contextmanager
    def search_running(self) -> Generator[None]:
        """Count a search, traced or not, as running while the block runs."""
        with self._lock:
            self._running += 1
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1
                self._last_search = time.monotonic()

    def submit(self, recording: Recording) -> bool:
        """Queue a recording; return False, with a note in its result, if too many wait already."""
        self._start()
        try:
            self._waiting.put_nowait((time.monotonic(), _without_vectors(recording)))
        except queue.Full:
            self._discard(recording, f"{LONGEST_QUEUE} traces are waiting to be written already")
            return False
        return True

    def flush(self) -> None:
        """Wait until everything submitted so far is written or discarded."""
        thread = self._thread
        self._hurry.set()
        while thread is not None and thread.is_alive() and self._waiting.unfinished_tasks:
            time.sleep(PAUSE)
        self._hurry.clear()

    def close(self) -> None:
        """Write the waiting recordings and end the thread."""
        self.flush()
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None and thread.is_alive():
            self._waiting.put(None)
            thread.join()

    def _start(self) -> None:
        # The thread starts with the first recording, and anew after `close`.
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._run, name="memsense-traces", daemon=True
                )
                self._thread.start()

    def _run(self) -> None:
        while (item := self._waiting.get()) is not None:
            try:
                submitted_at, recording = item
                while not self._is_due(submitted_at):
                    with self._lock:
                        is_quiet = time.monotonic() - self._last_search >= QUIET
                        if is_quiet and not self._running:
                            break
                    self._hurry.wait(PAUSE)
                self._write(recording)
            finally:
                self._waiting.task_done()
        self._waiting.task_done()

    def _is_due(self, submitted_at: float) -> bool:
        waiting = self._waiting.qsize()
        is_late = time.monotonic() - submitted_at >= LONGEST_DELAY
        is_due = is_late or self._hurry.is_set() or self._is_emptying
        is_due = is_due or waiting >= LONGEST_QUEUE // 2
        # What is due takes everything that waits along: one disturbance instead of many.
        self._is_emptying = is_due and waiting > 0
        return is_due

    def _write(self, recording: Recording) -> None:
        # Here and below: a search that is not recorded does without these modules.
        from memsense.store.traces import write_trace

        packed = pack_candidates(recording.search, recording.hit_chunks)
        try:
            trace = build_trace(recording)
            self._run_transaction(lambda it: write_trace(it, trace, packed))
        except MemSenseError as error:
            self._discard(recording, str(error))
        else:
            self.written += 1

    def _discard(self, recording: Recording, reason: str) -> None:
        self.failed += 1
        recording.notes.append(Note("trace", f"this search was not traced: {reason}"))
        logger.warning("trace %s was not written: %s", recording.trace_id, reason)


def _without_vectors(recording: Recording) -> Recording:
    """Return the recording without embeddings and tokens: most of its size, and in no trace."""
    search = recording.search
    candidates = replace(search.candidates, embeddings=_NO_VECTORS, tokens=None)
    terms = replace(search.ranking.terms, compared=None)
    ranking = replace(search.ranking, candidates=candidates, terms=terms)
    return replace(recording, search=replace(search, candidates=candidates, ranking=ranking))


def build_trace(recording: Recording) -> "Trace":
    """Return the part of a trace that is about the search as a whole."""
    from memsense.store.traces import Trace

    search, request = recording.search, recording.search.request
    question = search.describe_question()
    return Trace(
        tenant_id=search.plan.tenant_id,
        trace_id=recording.trace_id,
        namespace=search.plan.namespace,
        user_id=request.user_id,
        question=request.query,
        searched=search.question.search_text,
        names=question["names"],
        dates=question["dates"],
        lexemes=search.state.lexemes,
        top_k=request.top_k,
        min_score=request.min_score,
        granularity=request.granularity,
        returned="session" if search.sessions else "turn",
        filters=request.filters.as_dict(),
        asked_at=search.plan.asked_at.astimezone(UTC),
        profile_name=search.profile.name,
        profile=search.plan.profile.as_dict(),
        request_share=search.kind.share if search.kind else None,
        kind_by=search.kind.source if search.kind else None,
        timezone=name_zone(search.plan.asked_at),
        calendar={name: getattr(search.plan.calendar, name) for name in CALENDAR_SETTINGS},
        chunk_counts=search.state.counts,
        lexical_matches=search.state.lexical_matches,
        candidate_count=len(search.candidates),
        hit_count=len(recording.hit_chunks),
        timings_ms=recording.timings,
        recalled_at=request.as_of or search.state.recalled_at,
        notes=tuple(recording.notes),
    )


def pack_candidates(search: Search, hit_chunks: Mapping[int, int]) -> "PackedCandidates":
    """Return every candidate with its outcome, as columns; `hit_chunks` as in Recording."""
    from memsense.explain.outcomes import Fates, judge_candidates
    from memsense.store.traces import PackedCandidates

    candidates, profile, ranking = search.candidates, search.profile, search.ranking
    columns = np.flatnonzero(candidates.ranks.any(axis=0))
    routes: list[Route] = [ROUTES[column] for column in columns.tolist()]
    shares = term_shares(ranking.terms)
    fates = judge_candidates(ranking)
    hits = [ranking.terms.chunk_ids[ranking.entries[place].row] for place, _ in ranking.picks]
    return PackedCandidates(
        rrf_k=profile.rrf_k,
        rrf_weight=profile.rrf_weight,
        mmr_lambda=profile.mmr_lambda,
        routes=routes,
        weights=np.array([profile.weights[route] for route in routes], dtype=np.float64),
        terms=list(shares),
        scope_ids=candidates.scope_ids.astype(np.int32),
        chunk_ids=candidates.chunk_ids,
        are_sessions=candidates.is_session,
        ranks=candidates.ranks[:, columns].astype(np.int32),
        scores=candidates.scores[:, columns],
        memory_scores=candidates.memory_scores,
        term_shares=np.column_stack([np.empty((len(candidates), 0)), *shares.values()]),
        **{name: getattr(fates, name) for name in Fates.__slots__},
        shown_chunk_ids=np.array([hit_chunks.get(hit, 0) for hit in hits], dtype=np.int64),
        **_pack_support(ranking),
    )


def term_shares(terms: ScoreTerms) -> dict[str, NDArray[np.float64]]:
    """Return the share of each term in each candidate's score, (n,); NaN without such a term."""
    shares = {
        signal.name: np.where(signal.applies, signal.contributions(), np.nan)
        for signal in terms.signals
        if signal.applies.any()
    }
    for row, chunk_id in enumerate(terms.chunk_ids if terms.added else ()):
        if further := terms.added.get(chunk_id):
            column = shares.setdefault(further.name, np.full(len(terms.chunk_ids), np.nan))
            column[row] = further.contribution
    return shares


def _pack_support(ranking: Ranking) -> dict[str, NDArray[Any]]:
    """Return the columns of entries that other chunks of their session support."""
    supported = [(entry.row, entry.support) for entry in ranking.entries if entry.support]
    best = np.array(
        [-1 if item.best_turn is None else item.best_turn for _, item in supported], dtype=int
    )
    has_best, candidates = best >= 0, ranking.candidates
    return {
        "supported": np.array([row + 1 for row, _ in supported], dtype=np.int32),
        "session_rrf_scores": np.array(
            [item.session_rrf_score for _, item in supported], dtype=float
        ),
        "turn_supports": np.array([item.turn_support for _, item in supported], dtype=float),
        "supporting_turns": np.array(
            [item.supporting_turn_count for _, item in supported], dtype=np.int32
        ),
        "best_turns": np.where(has_best, candidates.chunk_ids[best], 0),
        "best_turn_rrf_scores": np.where(has_best, candidates.rrf_scores[best], 0.0),
    }
