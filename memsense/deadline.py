"""Deadlines of whole calls: embedding, SQL, Python and retries share one limit of time."""

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import Generic, TypeVar

from memsense.errors import CallTimeoutError

T = TypeVar("T")

_ends_at: ContextVar[float | None] = ContextVar("deadline", default=None)

EMBEDDING_SHARE = 0.8
"""Share of the remaining time that an embedder may take: a write without vectors needs the rest."""


@contextmanager
def ending_within(seconds: float) -> Generator[None]:
    """Set the deadline of this thread or task inside the block; an earlier one stays in force."""
    ends_at = time.monotonic() + seconds
    earlier = _ends_at.get()
    token = _ends_at.set(ends_at if earlier is None else min(earlier, ends_at))
    try:
        yield
    finally:
        _ends_at.reset(token)


def remaining() -> float | None:
    """Return the seconds until the deadline of this call, at least 0; None if it has none."""
    ends_at = _ends_at.get()
    return None if ends_at is None else max(ends_at - time.monotonic(), 0.0)


def check_deadline() -> None:
    """Raise CallTimeoutError past the deadline."""
    if remaining() == 0:
        raise CallTimeoutError("the call has reached its timeout; nothing was written")


def run_with_deadline(work: Callable[[], T], name: str, share: float = 1.0) -> T:
    """Return the result of work that can't be interrupted, such as a request to a model's server.

    Without a deadline it runs here. With one it runs in a thread, which is left to itself beyond
    `share` of the remaining time: then this raises CallTimeoutError, which names the work.
    """
    seconds = remaining()
    if seconds is None:
        return work()
    outcome = _Outcome[T]()

    def run() -> None:
        with outcome:
            outcome.values.append(work())

    # No executor: the interpreter would wait for its threads at the end, however long they hang.
    thread = threading.Thread(target=copy_context().run, args=(run,), name=name, daemon=True)
    thread.start()
    if not outcome.is_there.wait(seconds * share):
        raise CallTimeoutError(
            f"{name} took longer than the {seconds * share:.3g} s that the call's timeout left it"
        )
    if outcome.error is not None:
        raise outcome.error
    return outcome.values[0]


class _Outcome(Generic[T]):
    """Value or error of work in another thread, which the caller's thread returns or raises."""

    def __init__(self) -> None:
        self.is_there = threading.Event()
        self.values: list[T] = []
        self.error: BaseException | None = None

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> bool:
        self.error = error
        self.is_there.set()
        return True
