"""Groups of writes: those that wait for one memory in this process are stored together."""

from collections.abc import Callable, Sequence
from copy import copy
from enum import Enum, auto
from threading import Event, Lock
from typing import Generic, TypeVar

from memsense.db.calls import CallCancelled, held_by_call
from memsense.deadline import check_deadline, remaining
from memsense.errors import ConnectionFailedError, MemSenseError, OutcomeUnknownError
from memsense.forking import renew_in_child

W = TypeVar("W")
T = TypeVar("T")

MOST_WRITES = 16
"""Writes of a group: the first of them waits for the last."""


class ApartError(Exception):
    """Writes of several calls can't be one transaction: each must be run alone."""


class _State(Enum):
    WAITS = auto()
    RUNS = auto()
    LEADS = auto()
    ENDED = auto()


class _Ticket(Generic[W, T]):
    """A write's place in the queue of its memory, for the thread that waits for it."""

    def __init__(self, write: W) -> None:
        self.write = write
        self.state = _State.WAITS
        self.has_waited = False
        self.is_alone = False
        self.is_cancelled = False
        self.news = Event()
        self.results: list[T] = []
        self.error: ConnectionFailedError | None = None

    def enter(self, state: _State) -> None:
        self.state = state
        self.news.set()

    def cancel_safe(self, *, timeout: float = 0) -> None:  # noqa: ARG002 (as a connection's)
        """Leave the queue, unless the write is under way."""
        self.is_cancelled = True
        self.news.set()


class Groups(Generic[W, T]):
    """Queues of the writes to each memory; one that finds its queue empty leads.

    The leader stores its own write and those that wait behind it, in one transaction and in the
    order of their arrival. If that fails, each of them is run alone by its own thread, so that one
    bad write hurts no other.
    """

    def __init__(self) -> None:
        self._renew()
        renew_in_child(self._renew)

    def _renew(self) -> None:
        self._guard = Lock()
        self._queues: dict[str, list[_Ticket[W, T]]] = {}

    def run(
        self,
        user_id: str,
        write: W,
        *,
        fits: Callable[[Sequence[W], W], bool],
        together: Callable[[Sequence[W]], Sequence[T]],
        alone: Callable[[bool], T],
    ) -> T:
        """Return the result of a write to this user's memory, stored in its turn.

        Args:
            user_id: The user.
            write: The write.
            fits: Whether a write may join others in one transaction.
            together: Stores several writes in one transaction, and returns their results.
            alone: Stores this one; takes whether others came first.

        Raises:
            CallTimeoutError: If the call's deadline comes first; nothing is written then.
        """
        ticket = _Ticket[W, T](write)
        with self._guard:
            queue = self._queues.setdefault(user_id, [])
            queue.append(ticket)
            if queue[0] is ticket:
                ticket.state = _State.LEADS
        try:
            if ticket.state is not _State.LEADS:
                self._wait(ticket, queue)
            if ticket.state is _State.LEADS:
                return self._lead(ticket, queue, fits, together, alone)
        finally:
            self._leave(ticket, user_id, queue)
        if ticket.error is not None:
            raise ticket.error
        return ticket.results[0]

    def _wait(self, ticket: _Ticket[W, T], queue: list[_Ticket[W, T]]) -> None:
        """Wait until a leader has stored the write, or until it leads itself."""
        ticket.has_waited = True
        with held_by_call(ticket):
            while True:
                ticket.news.wait(remaining() if ticket.state is _State.WAITS else None)
                with self._guard:
                    ticket.news.clear()
                    if ticket.state in {_State.LEADS, _State.ENDED}:
                        return
                    if ticket.state is _State.RUNS or not (ticket.is_cancelled or remaining() == 0):
                        continue
                    queue.remove(ticket)
                    break
        if ticket.is_cancelled:
            raise CallCancelled
        check_deadline()

    def _lead(
        self,
        ticket: _Ticket[W, T],
        queue: list[_Ticket[W, T]],
        fits: Callable[[Sequence[W], W], bool],
        together: Callable[[Sequence[W]], Sequence[T]],
        alone: Callable[[bool], T],
    ) -> T:
        group = [ticket]
        with self._guard:
            for other in queue[1:MOST_WRITES]:
                writes = [it.write for it in group]
                if ticket.is_alone or other.is_alone or not fits(writes, other.write):
                    break
                other.enter(_State.RUNS)
                group.append(other)
        if len(group) == 1:
            return alone(ticket.has_waited)
        try:
            results = together([it.write for it in group])
        except (MemSenseError, ApartError, CallCancelled) as error:
            self._return_writes(group[1:], error)
            if isinstance(error, ConnectionFailedError):
                raise
        except BaseException as error:
            self._return_writes(group[1:], error)
            raise
        else:
            with self._guard:
                queue[:] = [it for it in queue if it is ticket or it not in group]
                for other, result in zip(group[1:], results[1:], strict=True):
                    other.results.append(result)
                    other.enter(_State.ENDED)
            return results[0]
        return alone(ticket.has_waited)

    def _return_writes(self, others: Sequence[_Ticket[W, T]], error: BaseException) -> None:
        """Let each write be run alone; if the server is away, fail it as the group failed."""
        is_lost = isinstance(error, ConnectionFailedError)
        # A leader with a deadline has waited less than others may.
        is_final = isinstance(error, OutcomeUnknownError) or (is_lost and remaining() is None)
        with self._guard:
            for other in others:
                other.is_alone = not is_lost
                other.error = copy(error) if is_lost and is_final else None
                other.enter(_State.ENDED if is_final else _State.WAITS)

    def _leave(self, ticket: _Ticket[W, T], user_id: str, queue: list[_Ticket[W, T]]) -> None:
        """Take a write out of the queue, and let the one that is first now lead."""
        with self._guard:
            if ticket in queue:
                queue.remove(ticket)
            if not queue:
                if self._queues.get(user_id) is queue:
                    del self._queues[user_id]
            elif queue[0].state is _State.WAITS:
                queue[0].enter(_State.LEADS)
