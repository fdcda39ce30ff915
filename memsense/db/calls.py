"""A call that another thread may cancel: its statement ends, and it gets no further connection."""

import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from threading import Event, Lock, Timer
from typing import Protocol, TypeVar

import psycopg

from memsense.deadline import ending_within
from memsense.errors import CallTimeoutError, DatabaseError

T = TypeVar("T")

_PAUSE = 0.05
_current: ContextVar["Call | None"] = ContextVar("call", default=None)


class Cancellable(Protocol):
    """Connection whose statement can be cancelled, or another thing that a call waits for."""

    def cancel_safe(self, *, timeout: float = ...) -> None:
        """End the wait, now or soon."""
        ...


class CallCancelled(BaseException):
    """The end of a cancelled call, raised when it next asks for a connection."""


class Call:
    """Work of one thread (`call.run(work)`), which another thread may cancel (`call.cancel()`)."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._awaited: list[Cancellable] = []
        self._has_begun = False
        self._is_cancelled = False
        self._done = Event()

    def run(self, work: Callable[[], T]) -> T:
        """Return the result of `work`; raise CallCancelled if the call has been cancelled."""
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
        """Cancel the running statement, and wait until the call has ended."""
        with self._lock:
            self._is_cancelled = True
            if not self._has_begun:
                return
        # Again and again: a statement may begin just after the one before it was cancelled.
        while not self._done.is_set():
            with self._lock:
                for awaited in self._awaited:
                    # A server that is away ends the statement by itself.
                    with suppress(psycopg.Error):
                        awaited.cancel_safe(timeout=1.0)
            self._done.wait(_PAUSE)

    @contextmanager
    def holding(self, awaited: Cancellable) -> Generator[None]:
        """Cancel the connection's statements, or the wait, with the call inside the block."""
        with self._lock:
            if self._is_cancelled:
                raise CallCancelled
            self._awaited.append(awaited)
        try:
            yield
        finally:
            with self._lock:
                self._awaited.remove(awaited)


def current_call() -> Call | None:
    """Return the call of this thread, None if it has none."""
    return _current.get()


def run_in_time(work: Callable[[], T], seconds: float) -> T:
    """Return the result of `work`; cancel it and raise CallTimeoutError if it takes longer."""
    call = _current.get() or Call()
    ends_at, has_ended = time.monotonic() + seconds, Event()

    def end() -> None:
        has_ended.set()
        call.cancel()

    timer = Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        with ending_within(seconds):
            return work() if call is _current.get() else call.run(work)
    except (CallCancelled, DatabaseError) as error:
        is_unknown = isinstance(error, DatabaseError) and error.committed is not False
        # On a busy machine the error may come before the timer's thread runs.
        is_late = has_ended.is_set() or time.monotonic() >= ends_at
        if not is_late or is_unknown:
            raise
        raise CallTimeoutError(
            f"the call took longer than its timeout of {seconds:g} s; nothing was written"
        ) from error
    finally:
        timer.cancel()


_NO_CALL: AbstractContextManager[None] = nullcontext()


def held_by_call(awaited: Cancellable) -> AbstractContextManager[None]:
    """Cancel what is awaited inside the block with the current call, if there is one."""
    call = _current.get()
    return _NO_CALL if call is None else call.holding(awaited)
