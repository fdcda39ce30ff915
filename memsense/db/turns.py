"""Turns of writers: of this process's writes to one memory, one at a time holds a connection."""

import threading
import time
from collections.abc import Collection, Generator
from contextlib import ExitStack, contextmanager
from weakref import WeakValueDictionary

from memsense.deadline import remaining
from memsense.forking import renew_in_child


class Turns:
    """Locks of memories within this process, by the ids of their users.

    A write locks its memory in the database. If all waited there, a dozen writes to one memory
    would hold every connection of the pool while one of them works, and searches would wait too.
    The database's lock still decides: these only keep the queue out of the pool.
    """

    def __init__(self) -> None:
        self._renew()
        renew_in_child(self._renew)

    def _renew(self) -> None:
        self._guard = threading.Lock()
        # A lock is forgotten with the last write that waits for it.
        self._locks: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()

    @contextmanager
    def of(self, users: Collection[str], seconds: float) -> Generator[None]:
        """Wait for other writes to these memories, at most `seconds` or the call's time."""
        left = remaining()
        until = time.monotonic() + (seconds if left is None else min(seconds, left))
        with ExitStack() as stack:
            # In one order, so that two writes to several memories don't wait for each other.
            for user_id in sorted(users):
                with self._guard:
                    lock = self._locks.get(user_id) or threading.Lock()
                    self._locks[user_id] = lock
                if lock.acquire(timeout=max(until - time.monotonic(), 0)):
                    stack.callback(lock.release)
            yield
