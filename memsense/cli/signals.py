"""Ends a command at SIGTERM and SIGHUP as Ctrl-C does, so that it leaves the embedded server."""

import signal
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from types import FrameType

_TERMINATING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


class TerminatedError(KeyboardInterrupt):
    """A signal asks the command to end; a KeyboardInterrupt, for whoever cleans up after one."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Ending:
    """A signal handler that raises what ends the command, and says again that it did."""

    def __init__(self) -> None:
        self._number: int | None = None

    def __call__(self, number: int, _: FrameType | None) -> None:
        """Raise KeyboardInterrupt at SIGINT, else TerminatedError, but that only once."""
        self._number = number
        if number != signal.SIGINT:
            signal.signal(number, signal.SIG_IGN)  # leaving is under way
        self.raise_again()

    def raise_again(self) -> None:
        """Raise what the last signal raised, where a library has swallowed it."""
        if self._number is None:
            return
        if self._number == signal.SIGINT:
            raise KeyboardInterrupt
        raise TerminatedError(self._number)


def end_when_terminated() -> None:
    """From now on SIGTERM and SIGHUP raise TerminatedError, save those that are ignored (nohup)."""
    _handle(_heeded(), Ending())


def end_when_interrupted() -> Ending:
    """As `end_when_terminated`, and SIGINT raises KeyboardInterrupt even where it was ignored.

    A shell script starts what it puts in the background with SIGINT ignored.
    """
    ending = Ending()
    _handle([signal.SIGINT, *_heeded()], ending)
    return ending


@contextmanager
def interrupts_left_to_child() -> Generator[None]:
    """Within the block Ctrl-C is for the child alone, which gets it from the terminal, too."""
    before = signal.signal(signal.SIGINT, _do_nothing)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _do_nothing(_number: int, _frame: FrameType | None) -> None:
    """Not SIG_IGN, which the child would inherit."""


def _heeded() -> list[signal.Signals]:
    return [number for number in _TERMINATING if signal.getsignal(number) != signal.SIG_IGN]


def _handle(numbers: Iterable[signal.Signals], ending: Ending) -> None:
    for number in numbers:
        signal.signal(number, ending)
