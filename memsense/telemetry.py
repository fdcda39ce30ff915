"""Spans and metrics by OpenTelemetry's conventions for GenAI and databases; the API's only user.

It does nothing, and imports nothing, unless the program itself has imported opentelemetry. No text
of a user's is told: no question, no memory, and of an error its kind alone.
"""

import sys
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from functools import cache, wraps
from typing import Any, Final, Literal, NamedTuple, ParamSpec, Protocol, TypeVar
from weakref import WeakKeyDictionary

from memsense.errors import DatabaseError

T = TypeVar("T")

_APIS: Final = ("opentelemetry.trace", "opentelemetry.metrics")

SCOPE: Final = "memsense"
"""What tracers and meters are asked for by."""

Operation = Literal["search_memory", "create_memory", "update_memory", "delete_memory"]
Phase = Literal["embed", "recall", "rank", "fetch"]
Value = str | int | float | bool

DATABASE: Final[Mapping[str, Value]] = {"db.system.name": "postgresql"}


class Jobs(Protocol):
    """How many jobs wait and are dead, and since when the oldest waits."""

    @property
    def waiting(self) -> int: ...  # noqa: D102
    @property
    def dead(self) -> int: ...  # noqa: D102
    @property
    def oldest_at(self) -> datetime | None: ...  # noqa: D102


class Telling:
    """An open span, or none: what is set then goes nowhere."""

    __slots__ = ("_span",)

    def __init__(self, span: Any = None) -> None:
        self._span = span

    @property
    def is_heard(self) -> bool:
        """Whether anybody records it, so that it is worth working out what to tell."""
        return self._span is not None and self._span.is_recording()

    def set(self, name: str, value: Value | None) -> None:
        """Tell one attribute, unless there is nothing to tell."""
        if self._span is not None and value is not None:
            self._span.set_attribute(name, value)


SILENT: Final = Telling()


P = ParamSpec("P")


def _unless_silent(
    nothing: T,
) -> Callable[[Callable[P, AbstractContextManager[T]]], Callable[P, AbstractContextManager[T]]]:
    """Spares a search its spans where nobody could hear of them; what they would give is given."""
    silence = nullcontext(nothing)

    def decorate(
        span: Callable[P, AbstractContextManager[T]],
    ) -> Callable[P, AbstractContextManager[T]]:
        @wraps(span)
        def opened(*args: P.args, **kwargs: P.kwargs) -> AbstractContextManager[T]:
            return silence if sys.modules.keys().isdisjoint(_APIS) else span(*args, **kwargs)

        return opened

    return decorate


class _Instruments(NamedTuple):
    database_seconds: Any
    search_seconds: Any
    empty_results: Any


@_unless_silent(SILENT)
@contextmanager
def operation(name: Operation, store_id: str) -> Generator[Telling]:
    """A span around what a caller asked of one memory, `tenant/namespace`."""
    told = {"gen_ai.operation.name": name, "gen_ai.memory.store.id": store_id}
    with _span(name, told) as span:
        yield span


@_unless_silent(None)
@contextmanager
def embedding(model: str) -> Generator[None]:
    """A span around the embedding of a question."""
    told = {"gen_ai.operation.name": "embeddings", "gen_ai.request.model": model}
    with _span(f"embeddings {model}", told), _timed("embed"):
        yield


@_unless_silent(None)
@contextmanager
def statement(name: Phase, *, size: int = 1) -> Generator[None]:
    """A span around a statement of a search, or several alike in one round trip.

    It has the statement's name, never its text.
    """
    told: dict[str, Value] = {**DATABASE, "db.query.summary": name}
    if size > 1:
        told = {**told, "db.query.summary": f"BATCH {name}", "db.operation.batch.size": size}
    with _span(name, told), _timed(name, told):
        yield


@_unless_silent(None)
@contextmanager
def ranking() -> Generator[None]:
    """A span around the ranking of what recall found."""
    with _span("rank", {}, is_client=False), _timed("rank"):
        yield


def count_empty(store_id: str) -> None:
    """Count a search that found nothing."""
    if instruments := _instruments():
        instruments.empty_results.add(1, {"gen_ai.memory.store.id": store_id})


def time_search(seconds: float) -> None:
    """Tell how long a whole search took."""
    if instruments := _instruments():
        instruments.search_seconds.record(seconds, {"memsense.phase": "total"})


# Jobs, which are asked for when metrics are collected ---------------------------------------------

_watched: WeakKeyDictionary[Any, tuple[str, Callable[[Any], Jobs]]] = WeakKeyDictionary()


def watch_jobs(owner: T, store_id: str, count: Callable[[T], Jobs]) -> None:
    """Tell of a memory's jobs whenever metrics are collected, as long as its owner lives."""
    _watched[owner] = store_id, count
    _instruments()


def forget_jobs(owner: object) -> None:
    """Tell no more of them."""
    _watched.pop(owner, None)


def _observe(read: Callable[[Jobs], float]) -> Callable[[Any], Any]:
    def observe(_: Any) -> Any:
        from opentelemetry.metrics import Observation

        for owner, (store_id, count) in list(_watched.items()):
            try:
                value = read(count(owner))
            except DatabaseError:
                continue
            yield Observation(value, {"gen_ai.memory.store.id": store_id})

    return observe


def _pending(jobs: Jobs) -> float:
    return jobs.waiting


def _dead(jobs: Jobs) -> float:
    return jobs.dead


def _age(jobs: Jobs) -> float:
    return (datetime.now(UTC) - jobs.oldest_at).total_seconds() if jobs.oldest_at else 0.0


GAUGES: Final = (
    ("memsense.jobs.pending", "{job}", _pending),
    ("memsense.jobs.oldest_age", "s", _age),
    ("memsense.jobs.dead", "{job}", _dead),
)


# The API -----------------------------------------------------------------------------------------


@contextmanager
def _span(name: str, told: Mapping[str, Value], *, is_client: bool = True) -> Generator[Telling]:
    if "opentelemetry.trace" not in sys.modules:
        yield SILENT
        return
    from opentelemetry.trace import SpanKind, Status, StatusCode

    kind = SpanKind.CLIENT if is_client else SpanKind.INTERNAL
    with _tracer().start_as_current_span(
        name, kind=kind, attributes=told, record_exception=False, set_status_on_exception=False
    ) as span:
        try:
            yield Telling(span)
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
    started, failed = time.perf_counter(), {}
    try:
        yield
    except BaseException as error:
        failed = {"error.type": type(error).__qualname__}
        raise
    finally:
        seconds = time.perf_counter() - started
        instruments.search_seconds.record(seconds, {"memsense.phase": phase, **failed})
        if database is not None:
            instruments.database_seconds.record(seconds, {**database, **failed})


@cache
def _tracer() -> Any:
    from opentelemetry.trace import get_tracer

    return get_tracer(SCOPE)


def _instruments() -> _Instruments | None:
    return _make_instruments() if "opentelemetry.metrics" in sys.modules else None


@cache
def _make_instruments() -> _Instruments:
    """Made once: the API hands them over to whichever provider the program sets, and when."""
    from opentelemetry.metrics import get_meter

    meter = get_meter(SCOPE)
    for name, unit, read in GAUGES:
        meter.create_observable_gauge(name, [_observe(read)], unit=unit)
    return _Instruments(
        meter.create_histogram("db.client.operation.duration", unit="s"),
        meter.create_histogram("memsense.search.duration", unit="s"),
        meter.create_counter("memsense.empty_results", unit="{search}"),
    )
