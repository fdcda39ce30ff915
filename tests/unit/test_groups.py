"""Groups of writes: order, size, failures, and writes that are given up."""

import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from waiting import wait_until

from memsense.db.calls import Call, CallCancelled
from memsense.db.groups import MOST_WRITES, Groups
from memsense.deadline import ending_within
from memsense.errors import (
    CallTimeoutError,
    ConnectionFailedError,
    NotFoundError,
    OutcomeUnknownError,
)


class Store:
    """Store of numbers whose first write waits until it is released."""

    def __init__(self) -> None:
        self.groups = Groups[int, str]()
        self.released = threading.Event()
        self.transactions: list[list[int]] = []
        self.errors: list[BaseException] = []
        self.alone: set[int] = set()
        self.waited: list[int] = []

    def write(self, number: int) -> str:
        return self.groups.run(
            "ada", number, fits=self._fits, together=self._together,
            alone=lambda has_waited: self._write_alone(number, has_waited),
        )  # fmt: skip

    def _fits(self, _: Sequence[int], other: int) -> bool:
        return other not in self.alone

    def _together(self, numbers: Sequence[int]) -> list[str]:
        if self.errors:
            raise self.errors.pop()
        if -1 in numbers:
            raise NotFoundError("-1")
        self.transactions.append([*numbers])
        return [f"stored {number}" for number in numbers]

    def _write_alone(self, number: int, has_waited: bool) -> str:
        assert self.released.wait(60)
        if number < 0:
            raise NotFoundError(str(number))
        self.waited += [number] if has_waited else []
        self.transactions.append([number])
        return f"stored {number} alone"

    def count(self) -> int:
        return len(self.groups._queues.get("ada", ()))  # pyright: ignore[reportPrivateUsage]


@contextmanager
def queued(store: Store, calls: Sequence[Callable[[], Any]]) -> Generator[list[Future[Any]]]:
    """Run calls in threads: the first is under way, and the others wait behind it in order."""
    with ThreadPoolExecutor(len(calls)) as threads:
        running: list[Future[Any]] = []
        for number, call in enumerate(calls, start=1):
            running.append(threads.submit(call))
            wait_until(lambda n=number: store.count() == n, f"call {number} in the queue")
        try:
            yield running
        finally:
            store.released.set()
    assert store.count() == 0


def write_all(store: Store, numbers: Sequence[int]) -> list[Any]:
    calls = [lambda number=number: store.write(number) for number in numbers]
    with queued(store, calls) as running:
        pass
    return [one.exception() or one.result() for one in running]


def test_writes_that_wait_are_stored_together_in_their_order_up_to_a_number() -> None:
    store = Store()
    numbers = range(MOST_WRITES + 3)
    results = write_all(store, numbers)
    first, *others = numbers
    assert store.transactions == [[first], others[:MOST_WRITES], others[MOST_WRITES:]]
    assert results == ["stored 0 alone", *(f"stored {number}" for number in others)]


def test_a_write_that_fits_no_other_is_stored_alone_in_its_place() -> None:
    store = Store()
    store.alone = {3}
    write_all(store, range(6))
    assert store.transactions == [[0], [1, 2], [3, 4, 5]]


def test_writes_of_a_group_that_fails_are_run_alone_in_their_order() -> None:
    store = Store()
    results = write_all(store, [0, 1, -1, 3])
    assert store.transactions == [[0], [1], [3]]
    assert isinstance(results[2], NotFoundError)
    assert store.waited == [1, 3]


@pytest.mark.parametrize("error", [ConnectionFailedError("away"), OutcomeUnknownError("lost")])
def test_a_lost_connection_fails_every_write_of_the_group(error: ConnectionFailedError) -> None:
    store = Store()
    store.errors = [error]
    results = write_all(store, range(4))
    assert store.transactions == [[0]]
    assert [(type(one), str(one)) for one in results[1:]] == [(type(error), str(error))] * 3
    assert len({id(one) for one in results[1:]}) == 3


def test_a_leader_whose_deadline_was_too_short_for_a_connection_fails_alone() -> None:
    store = Store()
    store.errors = [ConnectionFailedError("none was free in a second")]

    def write_in_time() -> str:
        with ending_within(60):
            return store.write(1)

    calls = [lambda: store.write(0), write_in_time, lambda: store.write(2), lambda: store.write(3)]
    with queued(store, calls) as running:
        pass
    assert isinstance(running[1].exception(), ConnectionFailedError)
    assert store.transactions == [[0], [2, 3]]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), CallCancelled()])
def test_whoever_interrupts_the_leader_hurts_no_other(error: BaseException) -> None:
    store = Store()
    store.errors = [error]
    results = write_all(store, range(4))
    is_interrupted = isinstance(error, KeyboardInterrupt)
    assert store.transactions == [[0], *([] if is_interrupted else [[1]]), [2], [3]]
    assert isinstance(results[1], KeyboardInterrupt) == is_interrupted


def test_a_write_that_waits_ends_at_its_deadline() -> None:
    store = Store()

    def write_late() -> str:
        with ending_within(0):
            return store.write(1)

    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(store.write, 0)
        wait_until(store.count, "a leader")
        with pytest.raises(CallTimeoutError, match="nothing was written"):
            write_late()
        store.released.set()
        first.result()
    assert store.transactions == [[0]]


def test_a_write_that_waits_is_cancelled_with_its_call() -> None:
    store, call = Store(), Call()
    calls = [
        lambda: store.write(0),
        lambda: call.run(lambda: store.write(1)),
        lambda: store.write(2),
    ]
    with queued(store, calls) as running:
        call.cancel()
        with pytest.raises(CallCancelled):
            running[1].result()
    assert store.transactions == [[0], [2]]


def test_writes_of_several_memories_do_not_wait_for_each_other() -> None:
    groups, both = Groups[int, str](), threading.Barrier(2)

    def write(user_id: str) -> str:
        def store(has_waited: bool) -> str:
            both.wait(60)
            return f"{user_id} {has_waited}"

        return groups.run(
            user_id, 0, fits=lambda _, other: other == 0, together=lambda _: [], alone=store
        )

    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(write, ["ada", "ben"])) == ["ada False", "ben False"]
