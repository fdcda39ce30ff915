"""Meter of calls: counted in this process, added to the database's sums in the background."""

import logging
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from memsense.config import Settings
from memsense.db import Pool, run_transaction
from memsense.errors import (
    ConnectionFailedError,
    InvalidInputError,
    MemSenseError,
    OutcomeUnknownError,
)
from memsense.forking import renew_in_child
from memsense.inputs import LONGEST_ID, Checker, Id
from memsense.store.calls import CallKey, CallSum, add_calls

R = TypeVar("R")

logger = logging.getLogger("memsense.metering")

FLUSH_SECONDS = 10.0
"""Seconds between two flushes; a process that is killed loses at most the calls since the last."""

MOST_SUMS = 10_000
"""Maximum number of sums that wait to be written; each takes about 0.3 kB."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC).date()
_DAY_SECONDS = 86_400

_is_counting: ContextVar[bool] = ContextVar("is_counting", default=False)

_read_user = Checker(Id, "user_id")

_Key = tuple[str, str, str | int | None, str, int]
"""Tenant, namespace, user as the call passed it, verb, and days since 1970."""


class CallMeter:
    """Counter of calls, for all tenants and namespaces that share its connections.

        meter = CallMeter(pool)
        hits = meter.count(settings, "search", "ada", function, memory, args, kwargs)
        meter.close()

    A call costs an addition in this process. A thread, which starts with the first call, writes the
    sums every ten seconds: for each tenant one upsert. If the server is away, they wait for the
    next time; `lost` counts the calls that found no room meanwhile.
    """

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
        self._sums: dict[_Key, CallSum] = {}
        self._thread: threading.Thread | None = None

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

    def flush(self) -> None:
        """Write the sums so far; what can't be written now waits for the next flush."""
        with self._flushing:
            with self._lock:
                waiting, self._sums = self._sums, {}
            by_tenant: dict[str, dict[_Key, CallSum]] = {}
            for key, item in waiting.items():
                by_tenant.setdefault(key[0], {})[key] = item
            is_away = False
            for tenant, sums in by_tenant.items():
                if not is_away:
                    try:
                        self._write(tenant, sums)
                        continue
                    except OutcomeUnknownError as error:
                        # Written again, they might count twice.
                        logger.warning("calls of tenant %r may be lost: %s", tenant, error)
                        self.lost += sum(item.calls for item in sums.values())
                        continue
                    except MemSenseError as error:
                        logger.warning("calls of tenant %r wait to be written: %s", tenant, error)
                        # Each further tenant would wait for a connection, too.
                        is_away = isinstance(error, ConnectionFailedError)
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

    def _add(self, key: _Key, item: CallSum) -> None:
        with self._lock:
            total = self._sums.get(key)
            if total is not None:
                total.add(item)
            elif len(self._sums) < MOST_SUMS:
                self._sums[key] = item
            else:
                self.lost += item.calls
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
                logger.warning("%d calls were not metered", self.lost - lost)
                lost = self.lost

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

        def write(connection: Any) -> None:
            # A tenant that has never stored anything has no row, and nothing to be metered.
            if pool.tenant_id is not None:
                add_calls(connection, pool.tenant_id, counted)

        run_transaction(pool, write)
