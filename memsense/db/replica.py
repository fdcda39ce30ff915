"""A standby that answers reads, as long as it has what its primary had written a moment ago."""

import logging
import time
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import TypeVar

from memsense.db.pool import Pool, run_read
from memsense.db.rows import fetch_value
from memsense.errors import ConnectionFailedError

T = TypeVar("T")

logger = logging.getLogger("memsense.replica")

_FILE = "transactions.sql"

_REST_SECONDS = 5.0
"""How long a server that could not be reached is left alone."""


@dataclass(frozen=True, slots=True)
class _Mark:
    """Place in the primary's log, when it was asked for, and whether the standby has reached it.

    `commits` is the number of transactions that this process had ended by then.
    """

    commits: int
    asked_at: float
    place: str
    is_reached: bool


@dataclass(slots=True)
class _State:
    """State of the two servers, for all tenants of a process; times are monotonic seconds."""

    mark: _Mark | None = None
    rests_until: float = 0.0
    primary_rests_until: float = 0.0


class Replica:
    """Connections to a standby, which answers reads in place of its primary.

    It answers as long as it has replayed all that this process has committed, and all that the
    primary had written at most `longest_lag` seconds ago. So a process reads its own writes, and
    those of others after that time. Until it has caught up, and while it is away, the primary
    answers; while the primary is away, the standby answers with what it has.
    """

    def __init__(self, pool: Pool, *, longest_lag: float) -> None:
        """Take over an open pool of connections to the standby; `longest_lag` is in seconds."""
        self._pool = pool
        self._longest_lag = longest_lag
        self._state = _State()

    def for_tenant(self, tenant: str) -> "Replica":
        """Return the same standby for another tenant; closing it does nothing."""
        other = copy(self)
        other.__dict__["_pool"] = self._pool.for_tenant(tenant)
        return other

    def close(self) -> None:
        """Close its connections."""
        self._pool.close()

    def read(self, primary: Pool, work: Callable[[Pool], T]) -> T:
        """Return what `work` reads from the standby's pool, or if it is lost, the primary's."""
        if time.monotonic() >= self._state.rests_until:
            try:
                if self._has_caught_up(primary):
                    return work(self._pool)
            except ConnectionFailedError as error:
                self._state.rests_until = time.monotonic() + _REST_SECONDS
                logger.warning("the replica is left alone for %g s: %s", _REST_SECONDS, error)
        return work(primary)

    def _has_caught_up(self, primary: Pool) -> bool:
        """Return whether the standby has replayed what it must have.

        Threads that ask at once may each ask the servers, which changes no answer.
        """
        state, now, commits = self._state, time.monotonic(), primary.commits
        mark = state.mark
        if mark is None or mark.commits != commits or now - mark.asked_at > self._longest_lag:
            if now < state.primary_rests_until:
                return True
            try:
                place = run_read(primary, lambda it: fetch_value(it, "fetch_written", file=_FILE))
            except ConnectionFailedError as error:
                state.primary_rests_until = time.monotonic() + _REST_SECONDS
                logger.warning("the replica answers, as its primary does not: %s", error)
                return True
            mark = _Mark(commits, now, place, is_reached=False)
        if not mark.is_reached:
            values = {"place": mark.place}
            is_reached = run_read(
                self._pool, lambda it: fetch_value(it, "has_replayed", values, _FILE)
            )
            mark = replace(mark, is_reached=is_reached)
        state.mark = mark
        return mark.is_reached
