"""Base of the asynchronous classes: threads of their own, and calls that can be cancelled."""

import math
from collections.abc import Callable, Generator
from functools import partial
from typing import Any, ParamSpec, Self, TypeVar, cast

import psycopg
from anyio import CancelScope, CapacityLimiter, get_cancelled_exc_class, to_thread

from memsense.db.calls import Call
from memsense.db.joining import joining
from memsense.declaration import Runner
from memsense.errors import InvalidInputError
from memsense.forking import renew_in_child

P = ParamSpec("P")
R = TypeVar("R")


class Threads:
    """Runner of calls in a limited number of threads; each call can be cancelled.

    It does not use asyncio's own threads: these are as many as the pool has connections, and other
    work of the program can't take them.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._renew()
        renew_in_child(self._renew)

    def _renew(self) -> None:
        # Other calls may hold places at a fork, which their threads would never give back here.
        self._limiter = CapacityLimiter(self._count)
        self._unlimited = CapacityLimiter(math.inf)

    async def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return the function's result. When the task is cancelled, its statement is, too.

        The cancelled task goes on once the call has ended and its connection is free. An
        asynchronous `connection` is used by the thread meanwhile.
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
                # Shielded, or the wait for the cancelled statement would itself be cancelled and
                # leave the connection busy.
                with CancelScope(shield=True):
                    await to_thread.run_sync(call.cancel, limiter=self._unlimited)
                raise


class OpenFacade:
    """Object that `async with` or `await` opens, and whose methods run in threads."""

    def __init__(self, open_sync: Callable[[], Any]) -> None:
        """Store the function that opens it. Use `AsyncMemSense.open`."""
        self._open_sync = open_sync
        self._opened: tuple[Runner, Any] | None = None

    @classmethod
    def over(cls, sync: Any, threads: Runner | None = None) -> Self:
        """Return an asynchronous view of an open object; closing either of them closes both.

        Its methods run in `threads`, which others may share, or in threads of its own.
        """
        facade = cls(lambda: sync)
        facade._opened = threads or Threads(sync.pool_size), sync
        return facade

    @property
    def _threads(self) -> Runner:
        return self._state()[0]

    @property
    def _sync(self) -> Any:
        return self._state()[1]

    def _state(self) -> tuple[Runner, Any]:
        if self._opened is None:
            raise InvalidInputError(
                "this memory is not open: `async with AsyncMemSense.open() as memory`,"
                " or `memory = await AsyncMemSense.open()`"
            )
        return self._opened

    async def _start(self) -> Self:
        """Open it once. A cancelled task opens it too, so that it can be closed afterwards."""
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
