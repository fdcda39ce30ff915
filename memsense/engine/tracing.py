"""Records searches in the background: the answer never waits for its trace, nor fails with it."""

import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from memsense.db.connection import Connection
from memsense.engine.outcomes import Outcome, trace_outcomes
from memsense.engine.searching import Search, SearchRequest, describe_question
from memsense.errors import MemSenseError
from memsense.recall import Filters
from memsense.store.traces import Trace, write_trace

logger = logging.getLogger("memsense.traces")

LONGEST_QUEUE = 64
"""Searches waiting to be written; each holds its candidates' vectors, about 300 kB."""

FLUSH_PAUSE = 0.001
"""Seconds between two looks at the queue."""


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
        recorder.submit(recording)
        recorder.flush()

    A recording that can't be written is logged, counted in `failed`, and noted in its result.
    """

    def __init__(self, connect: Callable[[], AbstractContextManager[Connection]]) -> None:
        """`connect` gives a transaction per trace."""
        self._connect = connect
        self._waiting: queue.Queue[Recording | None] = queue.Queue(LONGEST_QUEUE)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self.written = 0
        self.failed = 0

    def submit(self, recording: Recording) -> bool:
        """Take a recording over; False, with a note in its result, when too many wait already."""
        self._start()
        try:
            self._waiting.put_nowait(recording)
        except queue.Full:
            self._give_up(recording, f"{LONGEST_QUEUE} traces are waiting to be written already")
            return False
        return True

    def flush(self) -> None:
        """Wait until everything submitted so far is written or given up."""
        thread = self._thread
        while thread is not None and thread.is_alive() and self._waiting.unfinished_tasks:
            time.sleep(FLUSH_PAUSE)

    def close(self) -> None:
        """Write what waits and end the thread."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
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
        while (recording := self._waiting.get()) is not None:
            try:
                self._write(recording)
            finally:
                self._waiting.task_done()
        self._waiting.task_done()

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


def build_rows(recording: Recording) -> list[dict[str, Any]]:
    """A row per candidate, as plain values."""
    return [_as_row(outcome, recording.shown) for outcome in trace_outcomes(recording.search)]


def _as_row(outcome: Outcome, shown: Mapping[int, int]) -> dict[str, Any]:
    candidate, selection, routes = outcome.candidate, outcome.selection, outcome.routes
    given = [item.contribution for item in routes]
    row: dict[str, Any] = {
        "position": outcome.position,
        "scope_id": candidate.scope_id,
        "chunk_id": candidate.chunk_id,
        "granularity": candidate.granularity,
        "routes": [item.route for item in routes],
        "ranks": [item.rank for item in routes],
        "scores": [item.score for item in routes],
        "weights": [item.weight for item in routes],
        "contributions": given,
        "rrf_score": sum(given),
        "memory_score": candidate.memory_score,
        "base_score": outcome.base_score,
        "turn_support": outcome.session.turn_support if outcome.session else 0.0,
        "terms": {term.name: term.contribution for term in outcome.terms},
        "final_score": outcome.final_score,
        "score_rank": outcome.score_rank,
        "hit_rank": outcome.hit_rank,
        "dropped_by": outcome.dropped_by,
        "lost_to": outcome.lost_to,
    }
    if outcome.hit_rank is not None:
        row["shown_chunk_id"] = shown.get(candidate.chunk_id)
    if selection is not None:
        row |= {
            "relevance": selection.relevance,
            "redundancy": selection.max_redundancy,
            "redundant_to": selection.against,
            "mmr_score": selection.mmr_score,
        }
    if outcome.session is not None:
        support = outcome.session
        row["session"] = {
            "session_rrf_score": support.session_rrf_score,
            "turn_support": support.turn_support,
            "supporting_turn_count": support.supporting_turn_count,
            "best_turn": support.best_turn,
            "best_turn_rrf_score": support.best_turn_rrf_score,
        }
    return row


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
