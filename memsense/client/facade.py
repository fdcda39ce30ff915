"""What the asynchronous classes share: threads of their own, and calls that can be cancelled."""

import math
from collections.abc import Callable, Generator
from functools import partial
from typing import Any, ParamSpec, Self, TypeVar, cast

import psycopg
from anyio import CancelScope, CapacityLimiter, get_cancelled_exc_class, to_thread

from memsense.db.calls import Call
from memsense.db.joining import joining
from memsense.errors import InvalidInputError

P = ParamSpec("P")
R = TypeVar("R")


class Threads:
    """Runs calls in threads, so many at once, each of which can be cancelled.

    Not asyncio's own threads: these are as many as the pool has connections, and nobody else's
    work takes them.
    """

    def __init__(self, count: int) -> None:
        self._limiter = CapacityLimiter(count)
        self._unlimited = CapacityLimiter(math.inf)

    async def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """What the function gives. When the task is cancelled, its statement is, too.

        The cancelled task goes on once the call has ended and its connection is free. An
        asynchronous `connection` is lent to the thread meanwhile.
        """
        owner = kwargs.get("connection")
        if isinstance(owner, psycopg.AsyncConnection):
            async with joining(cast("psycopg.AsyncConnection[Any]", owner)) as joined:
                return await self._run(partial(function, *args, **{**kwargs, "connection": joined}))
        return await self._run(partial(function, *args, **kwargs))

    async def _run(self, work: Callable[[], R]) -> R:
        call = Call()
        async with self._limiter:
            try:
                return await to_thread.run_sync(
                    call.run, work, abandon_on_cancel=True, limiter=self._unlimited
                )
            except get_cancelled_exc_class():
                with CancelScope(shield=True):
                    await to_thread.run_sync(call.cancel, limiter=self._unlimited)
                raise


class Facade:
    """An object whose methods run in threads."""

    def __init__(self, threads: Threads, sync: Any) -> None:
        """Use `AsyncMemSense`; this is what its resources are made from."""
        self._threads = threads
        self._sync = sync


class OpenFacade:
    """What is opened, by `async with` or `await`, before its methods run in threads."""

    def __init__(self, open_sync: Callable[[], Any]) -> None:
        """Use `AsyncMemSense.open`."""
        self._open_sync = open_sync
        self._opened: tuple[Threads, Any] | None = None

    @classmethod
    def over(cls, sync: Any, threads: Threads | None = None) -> Self:
        """What is open already, awaited too: whichever of the two is closed, both are.

        Its methods run in these threads, which others may share, else in threads of its own.
        """
        made = cls(lambda: sync)
        made._opened = threads or Threads(sync.pool_size), sync
        return made

    @property
    def _threads(self) -> Threads:
        return self._state()[0]

    @property
    def _sync(self) -> Any:
        return self._state()[1]

    def _state(self) -> tuple[Threads, Any]:
        if self._opened is None:
            raise InvalidInputError(
                "this memory is not open: `async with AsyncMemSense.open() as memory`,"
                " or `memory = await AsyncMemSense.open()`"
            )
        return self._opened

    async def _start(self) -> Self:
        """Open it, once. It is opened even if the task is cancelled meanwhile: closing follows."""
        if self._opened is None:
            sync = await to_thread.run_sync(self._open_sync, limiter=CapacityLimiter(1))
            self._opened = Threads(sync.pool_size), sync
        return self

    def __await__(self) -> Generator[Any, Any, Self]:
        return self._start().__await__()

    async def __aenter__(self) -> Self:
        return await self._start()

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Write waiting traces and close, also in a task that was cancelled."""
        if self._opened is not None:
            with CancelScope(shield=True):
                await to_thread.run_sync(self._sync.close, limiter=CapacityLimiter(1))
