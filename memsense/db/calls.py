"""A call that another thread may cancel: its statement ends, and it gets no further connection."""

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from threading import Event, Lock
from typing import TypeVar

import psycopg

from memsense.db.connection import Connection

T = TypeVar("T")

_PAUSE = 0.05
_current: ContextVar["Call | None"] = ContextVar("call", default=None)


class CallCancelled(BaseException):
    """Ends a cancelled call at the next connection that it asks for."""


class Call:
    """What one thread does for a caller elsewhere, who may lose interest in it.

    call = Call()
    result = call.run(work)  # in one thread
    call.cancel()  # in another one
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._held: list[Connection] = []
        self._has_begun = False
        self._is_cancelled = False
        self._done = Event()

    def run(self, work: Callable[[], T]) -> T:
        """What `work` gives; raises CallCancelled where it begins or goes on too late."""
        with self._lock:
            if self._is_cancelled:
                raise CallCancelled
            self._has_begun = True
        token = _current.set(self)
        try:
            return work()
        finally:
            _current.reset(token)
            self._done.set()

    def cancel(self) -> None:
        """Cancel the statement that runs, and wait until the call has ended."""
        with self._lock:
            self._is_cancelled = True
            if not self._has_begun:
                return
        while not self._done.is_set():
            with self._lock:
                for connection in self._held:
                    _cancel(connection)
            self._done.wait(_PAUSE)

    @contextmanager
    def holding(self, connection: Connection) -> Generator[None]:
        """Meanwhile the connection's statements are the call's, and cancelled with it."""
        with self._lock:
            if self._is_cancelled:
                raise CallCancelled
            self._held.append(connection)
        try:
            yield
        finally:
            with self._lock:
                self._held.remove(connection)


_NOBODYS: AbstractContextManager[None] = nullcontext()


def held_by_call(connection: Connection) -> AbstractContextManager[None]:
    """Meanwhile the connection is the current call's, if there is one."""
    call = _current.get()
    return _NOBODYS if call is None else call.holding(connection)


def _cancel(connection: Connection) -> None:
    """Ask the server to end the statement; one that is away ends it by itself."""
    try:
        connection.cancel_safe(timeout=1.0)
    except psycopg.Error:
        return
