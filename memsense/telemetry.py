"""Spans and metrics by OpenTelemetry's conventions for GenAI and databases; the API's only user.

It does nothing, and imports nothing, unless the program itself has imported opentelemetry. It
records no text of a user: no question, no memory, and only the type of an error.
"""

import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from functools import cache, wraps
from typing import Any, Final, Literal, NamedTuple, ParamSpec, Protocol, TypeVar
from weakref import WeakKeyDictionary

from memsense.errors import DatabaseError

T = TypeVar("T")

_APIS: Final = ("opentelemetry.trace", "opentelemetry.metrics")

SCOPE: Final = "memsense"
"""Instrumentation scope: the name of memsense's tracer and meter."""

Operation = Literal["search_memory", "create_memory", "update_memory", "delete_memory"]
Phase = Literal["embed", "recall", "rank", "fetch"]
Value = str | int | float | bool

DATABASE: Final[Mapping[str, Value]] = {"db.system.name": "postgresql"}


class Jobs(Protocol):
    """Numbers of waiting and of dead jobs, and the time of the oldest waiting one."""

    @property
    def waiting(self) -> int: ...  # noqa: D102
    @property
    def dead(self) -> int: ...  # noqa: D102
    @property
    def oldest_at(self) -> datetime | None: ...  # noqa: D102


class Span:
    """Open span of OpenTelemetry, or a no-op if there is none."""

    __slots__ = ("_span",)

    def __init__(self, span: Any = None) -> None:
        self._span = span

    @property
    def is_recording(self) -> bool:
        """True if the span is recorded, so that attributes are worth computing."""
        return self._span is not None and self._span.is_recording()

    def set(self, name: str, value: Value | None) -> None:
        """Set one attribute; None sets nothing."""
        if self._span is not None and value is not None:
            self._span.set_attribute(name, value)


NO_SPAN: Final = Span()


P = ParamSpec("P")


def _skip_without_api(
    value: T,
) -> Callable[[Callable[P, AbstractContextManager[T]]], Callable[P, AbstractContextManager[T]]]:
    """Replace a span by a no-op that yields `value`, unless the program uses OpenTelemetry."""
    # One shared object: a search opens five spans, and a generator for each would cost it time.
    no_op = nullcontext(value)

    def decorate(
        span: Callable[P, AbstractContextManager[T]],
    ) -> Callable[P, AbstractContextManager[T]]:
        @wraps(span)
        def opened(*args: P.args, **kwargs: P.kwargs) -> AbstractContextManager[T]:
            return no_op if sys.modules.keys().isdisjoint(_APIS) else span(*args, **kwargs)

        return opened

    return decorate


class _Instruments(NamedTuple):
    database_seconds: Any
    search_seconds: Any
    empty_results: Any


@_skip_without_api(NO_SPAN)
@contextmanager
def operation(name: Operation, store_id: str) -> Generator[Span]:
    """Open a span around a caller's operation on one memory, `tenant/namespace`."""
    attributes = {"gen_ai.operation.name": name, "gen_ai.memory.store.id": store_id}
    with _span(name, attributes) as span:
        yield span


@_skip_without_api(None)
@contextmanager
def embedding(model: str) -> Generator[None]:
    """Open a span around the embedding of a question."""
    attributes = {"gen_ai.operation.name": "embeddings", "gen_ai.request.model": model}
    with _span(f"embeddings {model}", attributes), _timed("embed"):
        yield


@_skip_without_api(None)
@contextmanager
def statement(name: Phase, *, size: int = 1) -> Generator[None]:
    """Open a span around a statement of a search, or around `size` of them in one round trip.

    It has the statement's name, never its text.
    """
    attributes: dict[str, Value] = {**DATABASE, "db.query.summary": name}
    if size > 1:
        # The conventions' form for a batch of equal statements.
        attributes["db.query.summary"] = f"BATCH {name}"
        attributes["db.operation.batch.size"] = size
    with _span(name, attributes), _timed(name, attributes):
        yield


@_skip_without_api(None)
@contextmanager
def ranking() -> Generator[None]:
    """Open a span around the ranking of the candidates."""
    with _span("rank", {}, is_client=False), _timed("rank"):
        yield


def count_empty(store_id: str) -> None:
    """Count a search without hits."""
    if instruments := _instruments():
        instruments.empty_results.add(1, {"gen_ai.memory.store.id": store_id})


def record_search_time(seconds: float) -> None:
    """Record the duration of a whole search."""
    if instruments := _instruments():
        instruments.search_seconds.record(seconds, {"memsense.phase": "total"})


# Jobs, counted when metrics are collected ---------------------------------------------------------

# Weak keys: a memory that was dropped without being closed must not be counted, nor kept alive.
_watched: WeakKeyDictionary[Any, tuple[str, Callable[[Any], Jobs]]] = WeakKeyDictionary()


def watch_jobs(owner: T, store_id: str, count: Callable[[T], Jobs]) -> None:
    """Report a memory's jobs whenever metrics are collected, until its owner is gone."""
    _watched[owner] = store_id, count
    _instruments()


def unwatch_jobs(owner: object) -> None:
    """Stop reporting the jobs of a memory."""
    _watched.pop(owner, None)


def _observe(read: Callable[[Jobs], float]) -> Callable[[Any], Any]:
    def observe(_: Any) -> Any:
        from opentelemetry.metrics import Observation

        for owner, (store_id, count) in list(_watched.items()):
            try:
                value = read(count(owner))
            except DatabaseError:
                # A database that is down must not stop the program's other metrics.
                continue
            yield Observation(value, {"gen_ai.memory.store.id": store_id})

    return observe


def _read_age(jobs: Jobs) -> float:
    return (datetime.now(UTC) - jobs.oldest_at).total_seconds() if jobs.oldest_at else 0.0


GAUGES: Final[Sequence[tuple[str, str, Callable[[Jobs], float]]]] = (
    ("memsense.jobs.pending", "{job}", lambda jobs: jobs.waiting),
    ("memsense.jobs.oldest_age", "s", _read_age),
    ("memsense.jobs.dead", "{job}", lambda jobs: jobs.dead),
)
"""Name, unit and reader of each gauge."""


# The API -----------------------------------------------------------------------------------------


@contextmanager
def _span(name: str, attributes: Mapping[str, Value], *, is_client: bool = True) -> Generator[Span]:
    if "opentelemetry.trace" not in sys.modules:
        yield NO_SPAN
        return
    from opentelemetry.trace import SpanKind, Status, StatusCode

    kind = SpanKind.CLIENT if is_client else SpanKind.INTERNAL
    # The text of an error may quote a user's words, so OpenTelemetry must not record it. Only its
    # type is set, below.
    with _tracer().start_as_current_span(
        name,
        kind=kind,
        attributes=attributes,
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            yield Span(span)
        except BaseException as error:
            span.set_attribute("error.type", type(error).__qualname__)
            span.set_status(Status(StatusCode.ERROR))
            raise


@contextmanager
def _timed(phase: Phase, database: Mapping[str, Value] | None = None) -> Generator[None]:
    instruments = _instruments()
    if instruments is None:
        yield
        return
    started, error_type = time.perf_counter(), {}
    try:
        yield
    except BaseException as error:
        error_type = {"error.type": type(error).__qualname__}
        raise
    finally:
        seconds = time.perf_counter() - started
        instruments.search_seconds.record(seconds, {"memsense.phase": phase, **error_type})
        if database is not None:
            instruments.database_seconds.record(seconds, {**database, **error_type})


@cache
def _tracer() -> Any:
    from opentelemetry.trace import get_tracer

    return get_tracer(SCOPE)


def _instruments() -> _Instruments | None:
    return _make_instruments() if "opentelemetry.metrics" in sys.modules else None


@cache
def _make_instruments() -> _Instruments:
    """Make the instruments, once for the process."""
    # The API's own instruments pass on to the provider that the program sets, also if it sets it
    # later; so they may be made before.
    from opentelemetry.metrics import get_meter

    meter = get_meter(SCOPE)
    for name, unit, read in GAUGES:
        meter.create_observable_gauge(name, [_observe(read)], unit=unit)
    return _Instruments(
        meter.create_histogram("db.client.operation.duration", unit="s"),
        meter.create_histogram("memsense.search.duration", unit="s"),
        meter.create_counter("memsense.empty_results", unit="{search}"),
    )
