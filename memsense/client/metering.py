"""Meters of calls and searches: counted in this process, added to the database's sums in the
background.
"""

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from heapq import heappush, heapreplace
from typing import Any, ClassVar, Generic, TypeVar

from memsense.config import Settings
from memsense.db import Pool, run_transaction
from memsense.db.connection import Connection
from memsense.deadline import ending_within
from memsense.errors import (
    CallTimeoutError,
    ConnectionFailedError,
    InvalidInputError,
    MemSenseError,
    OutcomeUnknownError,
)
from memsense.forking import renew_in_child
from memsense.inputs import LONGEST_ID, Checker, Id
from memsense.search.hits import SearchResult
from memsense.search.request import SearchRequest
from memsense.store.calls import CallKey, CallSum, add_calls
from memsense.store.statistics import (
    SLOWEST,
    SearchSum,
    SlowSearch,
    add_searches,
    drop_old_searches,
)

R = TypeVar("R")

logger = logging.getLogger("memsense.metering")

FLUSH_SECONDS = 10.0
"""Seconds between two flushes; a process that is killed loses at most the calls since the last."""

WRITE_SECONDS = 2.0
"""Maximum duration of a tenant's write: a process that closes waits no longer for a lost server."""

MOST_SUMS = 10_000
"""Maximum number of sums that wait to be written; each takes about 0.3 kB."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC).date()
_DAY_SECONDS = 86_400

_is_counting: ContextVar[bool] = ContextVar("is_counting", default=False)

_read_user = Checker(Id, "user_id")

_Key = tuple[str, str, str | int | None, str, int]
"""Tenant, namespace, user as the call passed it, verb, and days since 1970."""


K = TypeVar("K", bound=tuple[Any, ...])
S = TypeVar("S", CallSum, SearchSum)


class Meter(ABC, Generic[K, S]):
    """Sums for all tenants and namespaces that share connections; keys begin with the tenant.

    A count costs an addition in this process. A thread, which starts with the first one, writes the
    sums every ten seconds: for each tenant one transaction. If the server is away, they wait for
    the next time; `lost` counts what found no room meanwhile.
    """

    counted: ClassVar[str]

    def __init__(self, pool: Pool) -> None:
        """Take the pool that sums are written through; the caller closes it after the meter."""
        self._pool = pool
        self.lost = 0
        self._begin()
        renew_in_child(self._begin)

    def _begin(self) -> None:
        """Begin without sums and without a thread: a fork leaves both to the parent."""
        self._lock = threading.Lock()
        self._flushing = threading.Lock()
        self._stop = threading.Event()
        self._sums: dict[K, S] = {}
        self._thread: threading.Thread | None = None

    def flush(self) -> None:
        """Write the sums so far; what can't be written now waits for the next flush."""
        with self._flushing:
            with self._lock:
                waiting, self._sums = self._sums, {}
            by_tenant: dict[str, dict[K, S]] = {}
            for key, item in waiting.items():
                by_tenant.setdefault(key[0], {})[key] = item
            is_away = False
            for tenant, sums in by_tenant.items():
                if not is_away:
                    try:
                        with ending_within(WRITE_SECONDS):
                            self._write(tenant, sums)
                        continue
                    except OutcomeUnknownError as error:
                        # Written again, they might count twice.
                        logger.warning(
                            "%s of tenant %r may be lost: %s", self.counted, tenant, error
                        )
                        self.lost += sum(item.count for item in sums.values())
                        continue
                    except MemSenseError as error:
                        logger.warning(
                            "%s of tenant %r wait to be written: %s", self.counted, tenant, error
                        )
                        # Each further tenant would wait for a connection, too.
                        is_away = isinstance(error, ConnectionFailedError | CallTimeoutError)
                for key, item in sums.items():
                    self._add(key, item)

    def close(self) -> None:
        """Write the sums and end the thread."""
        self._stop.set()
        thread = self._thread
        if thread is not None:
            thread.join()
        if self._sums:
            self.flush()

    def _add(self, key: K, item: S) -> None:
        with self._lock:
            total = self._sums.get(key)
            if total is not None:
                total.add(item)
            elif len(self._sums) < MOST_SUMS:
                self._sums[key] = item
            else:
                self.lost += item.count
            if self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(
                    target=self._run, args=(self._stop,), name="memsense-metering", daemon=True
                )
                self._thread.start()

    def _run(self, stop: threading.Event) -> None:
        lost = self.lost
        while not stop.wait(FLUSH_SECONDS):
            self.flush()
            if self.lost > lost:
                logger.warning("%d %s were not metered", self.lost - lost, self.counted)
                lost = self.lost

    @abstractmethod
    def _write(self, tenant: str, sums: dict[K, S]) -> None:
        """Add a tenant's sums to those in the database, in one transaction."""


class CallMeter(Meter[_Key, CallSum]):
    """Counter of calls.

    meter = CallMeter(pool)
    hits = meter.count(settings, "search", "ada", function, memory, args, kwargs)
    meter.close()
    """

    counted = "calls"

    def count(  # noqa: PLR0917 (called for each verb: keywords would cost it time)
        self,
        settings: Settings,
        verb: str,
        user_id: Any,
        function: Callable[..., R],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> R:
        """Return the function's result, counted unless it is called within another counted call."""
        if _is_counting.get():
            return function(*args, **kwargs)
        token = _is_counting.set(True)
        failures, started = 1, time.perf_counter()
        try:
            result = function(*args, **kwargs)
            failures = 0
            return result
        finally:
            elapsed = time.perf_counter() - started
            _is_counting.reset(token)
            # By this process's clock: after an outage, calls still belong to the day that they
            # were made on, and no statement has to ask for it.
            day = int(time.time()) // _DAY_SECONDS
            # Arguments are not checked yet: what can't be an id must not be kept as one.
            is_id = isinstance(user_id, int) or (
                isinstance(user_id, str) and len(user_id) <= LONGEST_ID
            )
            key = settings.tenant, settings.namespace, user_id if is_id else None, verb, day
            self._add(key, CallSum(1, failures, 1000 * elapsed))

    def _write(self, tenant: str, sums: dict[_Key, CallSum]) -> None:
        """Add a tenant's sums to those in the database, in one transaction."""
        counted: dict[CallKey, CallSum] = {}
        for (_, namespace, user, verb, day), item in sums.items():
            try:
                user_id = None if user is None else str(_read_user(user))
            except InvalidInputError:
                user_id = None  # the call failed by it
            key = CallKey(namespace, user_id, verb, _EPOCH + timedelta(days=day))
            counted.setdefault(key, CallSum()).add(item)
        pool = self._pool.for_tenant(tenant)

        def write(connection: Connection) -> None:
            # A tenant that has never stored anything has no row, and nothing to be metered.
            if pool.tenant_id is not None:
                add_calls(connection, pool.tenant_id, counted)

        run_transaction(pool, write)


class SearchMeter(Meter[tuple[str, int], SearchSum]):
    """Counter of searches by minute, which also keeps each day's slowest.

    meter = SearchMeter(pool, days=90)
    meter.count("acme", requests, results, ms=12.5)
    meter.close()
    """

    counted = "searches"

    def __init__(self, pool: Pool, *, days: float) -> None:
        """Take the pool, and the age in days above which written sums are deleted."""
        super().__init__(pool)
        self._days = days

    def _begin(self) -> None:
        super()._begin()
        self._slowest: dict[str, tuple[int, list[float]]] = {}
        self._dropped_on: dict[str, int] = {}

    def count(
        self,
        tenant: str,
        requests: Sequence[SearchRequest],
        results: Sequence[SearchResult] | None,
        ms: float,
    ) -> None:
        """Count searches that took so many ms each; None as results means that they failed."""
        now = time.time()
        item = SearchSum()
        for place, request in enumerate(requests):
            result = results[place] if results is not None else None
            item.count_search(None if result is None else len(result), ms)
            if result is not None and self._is_slow(tenant, int(now) // _DAY_SECONDS, ms):
                slow = SlowSearch(
                    asked_at=datetime.fromtimestamp(now, UTC) + timedelta(microseconds=place),
                    ms=ms,
                    length=len(request.query),
                    profile=result.profile,
                    filters=[*request.filters.values],
                )
                item.slow.append(slow)
        self._add((tenant, int(now) // 60), item)

    def _is_slow(self, tenant: str, day: int, ms: float) -> bool:
        """Return whether a search is among the slowest of its day that this process has counted."""
        with self._lock:
            counted_on, slowest = self._slowest.get(tenant, (day, list[float]()))
            if counted_on != day:
                slowest = []
            self._slowest[tenant] = day, slowest
            if len(slowest) < SLOWEST:
                heappush(slowest, ms)
            elif ms > slowest[0]:
                heapreplace(slowest, ms)
            else:
                return False
            return True

    def _write(self, tenant: str, sums: dict[tuple[str, int], SearchSum]) -> None:
        minutes = {
            datetime.fromtimestamp(60 * minute, UTC): item for (_, minute), item in sums.items()
        }
        pool, today = self._pool.for_tenant(tenant), int(time.time()) // _DAY_SECONDS

        def write(connection: Connection) -> None:
            # A tenant that has never stored anything has no row, and nothing to be counted.
            if pool.tenant_id is not None:
                add_searches(connection, pool.tenant_id, minutes)
                if self._dropped_on.get(tenant) != today:
                    drop_old_searches(connection, pool.tenant_id, self._days)

        run_transaction(pool, write)
        self._dropped_on[tenant] = today
