"""Records searches in the background: the answer never waits for its trace, nor fails with it."""

import json
import logging
import queue
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from memsense.db.connection import Connection
from memsense.engine.outcomes import Outcome, trace_outcomes
from memsense.engine.searching import Search, SearchRequest, describe_question
from memsense.errors import MemSenseError
from memsense.explanation import Selection, SessionSupport, Term
from memsense.recall import Filters
from memsense.store.traces import CandidateRow, Trace, array_text, write_trace

logger = logging.getLogger("memsense.traces")

LONGEST_QUEUE = 64
"""Searches waiting to be written; each holds its candidates' vectors, about 300 kB."""

QUIET = 0.02
"""Seconds without a search after which waiting traces are written."""

LONGEST_DELAY = 1.0
"""Seconds after which a trace is written whether or not searches are running."""

PAUSE = 0.002
"""Seconds between two looks at what is going on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A search to be recorded; `shown` are the chunks of its hits, by candidate."""

    trace_id: UUID
    search: Search
    shown: Mapping[int, int]
    timings: Mapping[str, float]
    notes: list[str]


class TraceRecorder:
    """Writes recordings one by one in a thread of its own, which starts with the first.

        recorder = TraceRecorder(lambda: transaction(pool))
        with recorder.search_running():
            ...
        recorder.submit(recording)
        recorder.flush()

    It waits for a moment without searches, or a second, or until half of the queue is full, so
    that a search seldom shares the processor with it. A recording that can't be written is
    logged, counted in `failed`, and noted in its result.
    """

    def __init__(self, connect: Callable[[], AbstractContextManager[Connection]]) -> None:
        """`connect` gives a transaction per trace."""
        self._connect = connect
        self._waiting: queue.Queue[tuple[float, Recording] | None] = queue.Queue(LONGEST_QUEUE)
        self._lock = threading.Lock()
        self._hurry = threading.Event()
        self._thread: threading.Thread | None = None
        self._running = 0
        self._last_search = 0.0
        self.written = 0
        self.failed = 0

    @contextmanager
    def search_running(self) -> Generator[None]:
        """Tells that a search, traced or not, is running as long as the block does."""
        with self._lock:
            self._running += 1
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1
                self._last_search = time.monotonic()

    def submit(self, recording: Recording) -> bool:
        """Take a recording over; False, with a note in its result, when too many wait already."""
        self._start()
        try:
            self._waiting.put_nowait((time.monotonic(), recording))
        except queue.Full:
            self._give_up(recording, f"{LONGEST_QUEUE} traces are waiting to be written already")
            return False
        return True

    def flush(self) -> None:
        """Wait until everything submitted so far is written or given up."""
        thread = self._thread
        self._hurry.set()
        while thread is not None and thread.is_alive() and self._waiting.unfinished_tasks:
            time.sleep(PAUSE)
        self._hurry.clear()

    def close(self) -> None:
        """Write what waits and end the thread."""
        self.flush()
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None and thread.is_alive():
            self._waiting.put(None)
            thread.join()

    def _start(self) -> None:
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._run, name="memsense-traces", daemon=True
                )
                self._thread.start()

    def _run(self) -> None:
        while (item := self._waiting.get()) is not None:
            try:
                self._await_quiet(item[0])
                self._write(item[1])
            finally:
                self._waiting.task_done()
        self._waiting.task_done()

    def _await_quiet(self, submitted_at: float) -> None:
        while not self._is_quiet(time.monotonic()) and not self._is_due(submitted_at):
            self._hurry.wait(PAUSE)

    def _is_quiet(self, now: float) -> bool:
        with self._lock:
            return not self._running and now - self._last_search >= QUIET

    def _is_due(self, submitted_at: float) -> bool:
        late = time.monotonic() - submitted_at >= LONGEST_DELAY
        return late or self._hurry.is_set() or self._waiting.qsize() >= LONGEST_QUEUE // 2

    def _write(self, recording: Recording) -> None:
        try:
            with self._connect() as connection:
                write_trace(connection, build_trace(recording), build_rows(recording))
        except MemSenseError as error:
            self._give_up(recording, str(error))
        else:
            self.written += 1

    def _give_up(self, recording: Recording, reason: str) -> None:
        self.failed += 1
        recording.notes.append(f"this search was not traced: {reason}")
        logger.warning("trace %s was not written: %s", recording.trace_id, reason)


def build_trace(recording: Recording) -> Trace:
    """What the trace says of the search as a whole."""
    search, request = recording.search, recording.search.request
    question = describe_question(search)
    return Trace(
        tenant_id=request.tenant_id,
        trace_id=recording.trace_id,
        namespace=request.namespace,
        user_id=request.user_id,
        question=request.query,
        searched=search.question.search_text,
        names=question["names"],
        dates=question["dates"],
        lexemes=search.state.lexemes,
        top_k=request.top_k,
        granularity=request.granularity,
        returned="session" if search.sessions else "turn",
        filters=filters_as_dict(request.filters),
        asked_at=request.asked_at,
        profile_name=request.profile.name,
        profile=request.profile.as_dict(),
        chunk_counts=search.state.counts,
        lexical_matches=search.state.lexical_matches,
        candidate_count=len(search.candidates),
        hit_count=len(recording.shown),
        timings_ms=recording.timings,
        notes=tuple(recording.notes),
    )


def build_rows(recording: Recording) -> list[CandidateRow]:
    """A row per candidate, in the order of TraceCandidate's fields."""
    return [_as_row(outcome, recording.shown) for outcome in trace_outcomes(recording.search)]


def _as_row(outcome: Outcome, shown: Mapping[int, int]) -> CandidateRow:
    candidate, routes = outcome.candidate, outcome.routes
    given = [item.contribution for item in routes]
    is_hit = outcome.hit_rank is not None
    return (
        outcome.position,
        candidate.scope_id,
        candidate.chunk_id,
        candidate.granularity,
        array_text([item.route for item in routes]),
        array_text([item.rank for item in routes]),
        array_text([item.score for item in routes]),
        array_text([item.weight for item in routes]),
        array_text(given),
        sum(given),
        candidate.memory_score,
        outcome.base_score,
        outcome.session.turn_support if outcome.session else 0.0,
        _terms_text(outcome.terms),
        _session_text(outcome.session),
        outcome.final_score,
        outcome.score_rank,
        *_selection_cells(outcome.selection),
        outcome.hit_rank,
        shown.get(candidate.chunk_id) if is_hit else None,
        outcome.dropped_by,
        outcome.lost_to,
    )


def _terms_text(terms: Sequence[Term]) -> str:
    """A JSON object; the names are this project's own and need no escaping."""
    return "{" + ",".join([f'"{term.name}":{float(term.contribution)!r}' for term in terms]) + "}"


def _selection_cells(step: Selection | None) -> CandidateRow:
    if step is None:
        return None, None, None, None
    return step.relevance, step.max_redundancy, step.against, step.mmr_score


def _session_text(support: SessionSupport | None) -> str | None:
    if support is None:
        return None
    return json.dumps(
        {
            "session_rrf_score": support.session_rrf_score,
            "turn_support": support.turn_support,
            "supporting_turn_count": support.supporting_turn_count,
            "best_turn": support.best_turn,
            "best_turn_rrf_score": support.best_turn_rrf_score,
        }
    )


def filters_as_dict(filters: Filters) -> dict[str, Any]:
    """The filters in use, as JSON holds them; `read_filters` undoes it."""
    given = {name: value for name, value in asdict(filters).items() if value is not None}
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in given.items()
    }


def read_filters(stored: Mapping[str, Any]) -> Filters:
    """The filters of a trace."""
    values: dict[str, Any] = dict(stored)
    for name in values.keys() & {"since", "until"}:
        values[name] = datetime.fromisoformat(values[name])
    return Filters(**values)


FILTER_FLAGS = (
    "by_session",
    "by_agent",
    "by_since",
    "by_until",
    "by_tags",
    "by_kinds",
    "by_metadata",
    "by_exclude",
)


def standing_values(request: SearchRequest, filters: Filters) -> dict[str, Any]:
    """What `fetch_standing` needs to know of a search."""
    used = filters.flags()
    granularities = ["turn"] if request.granularity == "turn" else ["turn", "session"]
    return {
        **filters.values(),
        **{name: name in used for name in FILTER_FLAGS},
        "user_id": request.user_id,
        "granularities": granularities,
    }
