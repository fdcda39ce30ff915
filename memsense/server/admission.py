"""Admission of requests: a bounded number runs at once, shared fairly between the callers.

It comes before the threads: a caller that sends more than its share waits in its own queue, and
does not delay the others. Queues and waits are bounded; what does not fit is refused at once, with
the time after which to try again.
"""

import asyncio
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

ACTIVE_SECONDS = 2.0
"""Time after its last request in which a caller still has its share kept free."""

HALF_LIFE = 5.0
"""Seconds after which a second of use counts half."""

MOST_CALLERS = 10_000


class TooBusyError(Exception):
    """A request that is not admitted. `is_own` says whether its caller's own requests are why."""

    def __init__(self, message: str, *, is_own: bool, retry_after: float) -> None:
        super().__init__(message)
        self.is_own = is_own
        self.retry_after = retry_after


class _Waiter:
    """A request that waits in its event loop, and that any thread may wake."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._future: asyncio.Future[None] = self._loop.create_future()

    async def wait(self, seconds: float) -> bool:
        """Wait until it is woken; return False if that takes longer."""
        done, _ = await asyncio.wait([self._future], timeout=seconds)
        return bool(done)

    def wake(self) -> None:
        """End the wait."""
        self._loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        if not self._future.done():
            self._future.set_result(None)


@dataclass(slots=True)
class _Caller:
    """State of a caller: what runs, what waits, and how much it has used of late."""

    running: int = 0
    waiting: dict[_Waiter, None] = field(default_factory=dict[_Waiter, None])
    used: float = 0.0
    used_at: float = 0.0
    seen_at: float = -math.inf

    def use_at(self, now: float) -> float:
        """Return the seconds of use, those long ago counted less."""
        return self.used * 0.5 ** ((now - self.used_at) / HALF_LIFE)


class Admission:
    """Slots for requests, given to the caller that has the fewest and has used the least.

    Args:
        slots: Requests that run at once.
        queue: Requests of one caller that may wait.
        queues: Requests of all callers that may wait.
        patience: Seconds that a request may wait.
        clock: Returns seconds; tests pass their own.
    """

    def __init__(
        self,
        slots: int,
        *,
        queue: int,
        queues: int,
        patience: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._slots = slots
        self._queue = queue
        self._queues = queues
        self._patience = patience
        self._clock = clock
        self._running = 0
        self._waiting = 0
        # In order of use, so that the first idle one is the one to drop.
        self._callers: OrderedDict[str, _Caller] = OrderedDict()
        self._queued: dict[str, _Caller] = {}
        self._lock = threading.Lock()

    async def enter(self, name: str) -> None:
        """Wait for a slot; raise TooBusyError if the queues are full, or it takes too long."""
        with self._lock:
            caller = self._caller(name)
            caller.seen_at = self._clock()
            if not caller.waiting and self._may_run(caller):
                self._admit(caller)
                return
            if len(caller.waiting) >= self._queue:
                raise TooBusyError(
                    f"{self._queue} requests of this key wait already", is_own=True, retry_after=1
                )
            if self._waiting >= self._queues:
                raise TooBusyError("the server is busy", is_own=False, retry_after=1)
            waiter = _Waiter()
            caller.waiting[waiter] = None
            self._queued[name] = caller
            self._waiting += 1
        try:
            was_woken = await waiter.wait(self._patience)
        except asyncio.CancelledError:
            if not self._withdraw(name, waiter):
                self.leave(name, 0)
            raise
        if not was_woken and self._withdraw(name, waiter):
            raise TooBusyError(
                f"the request has waited for {self._patience:g} s",
                is_own=caller.running > 0,
                retry_after=1,
            )

    def leave(self, name: str, seconds: float) -> None:
        """Free a slot that was in use for so long."""
        with self._lock:
            caller, now = self._caller(name), self._clock()
            caller.used, caller.used_at = caller.use_at(now) + seconds, now
            caller.running -= 1
            self._running -= 1
            self._wake()

    def _caller(self, name: str) -> _Caller:
        caller = self._callers.setdefault(name, _Caller())
        self._callers.move_to_end(name)
        if len(self._callers) > MOST_CALLERS:
            # Made-up keys and addresses must not fill the memory.
            oldest, state = next(iter(self._callers.items()))
            if not state.running and not state.waiting:
                del self._callers[oldest]
        return caller

    def _may_run(self, caller: _Caller) -> bool:
        """Return whether a slot is free for the caller.

        While others are active, one caller has no more than its share, even if slots are free:
        what the others send next finds one at once.
        """
        if self._running >= self._slots:
            return False
        now = self._clock()
        active = sum(
            1
            for other in self._recent()
            if other is caller or other.running or now - other.seen_at < ACTIVE_SECONDS
        )
        return caller.running < max(1, self._slots // max(1, active))

    def _recent(self) -> list[_Caller]:
        # The latest only: more callers than slots have a share of one slot each.
        callers: list[_Caller] = []
        for name in reversed(self._callers):
            callers.append(self._callers[name])
            if len(callers) >= self._slots:
                break
        return callers

    def _admit(self, caller: _Caller) -> None:
        caller.running += 1
        self._running += 1

    def _wake(self) -> None:
        """Admit those who wait, as many as may run."""
        now = self._clock()
        order = sorted(
            (caller.running, caller.use_at(now), name) for name, caller in self._queued.items()
        )
        for _, _, name in order:
            caller = self._queued[name]
            while caller.waiting and self._may_run(caller):
                waiter = next(iter(caller.waiting))
                self._remove(name, waiter)
                self._admit(caller)
                waiter.wake()

    def _remove(self, name: str, waiter: _Waiter) -> None:
        caller = self._queued[name]
        del caller.waiting[waiter]
        self._waiting -= 1
        if not caller.waiting:
            del self._queued[name]

    def _withdraw(self, name: str, waiter: _Waiter) -> bool:
        """Take a waiter out of its queue; return False if it got a slot just now."""
        with self._lock:
            is_queued = name in self._queued and waiter in self._queued[name].waiting
            if is_queued:
                self._remove(name, waiter)
        return is_queued
