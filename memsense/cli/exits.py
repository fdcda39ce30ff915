"""Ends of commands: exit codes, the error line, and signals.

SIGTERM and SIGHUP end a command as Ctrl-C does, so that it still stops the embedded server.
"""

import signal
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from types import FrameType

import typer

from memsense.errors import (
    ConfigurationError,
    ConnectionFailedError,
    InvalidInputError,
    MemSenseError,
    ModelMismatchError,
    QuotaExceededError,
    SchemaError,
    ServerTooOldError,
)

FAILED = 1
"""Nothing was found or usable, or the operation failed."""

UNUSABLE = 2
"""The call, the settings, the connection or the schema must be changed first."""

SIGNALLED = 128
"""Added to the signal's number, as shells do."""

INTERRUPTED = 130

_UNUSABLE = (
    ConfigurationError,
    ConnectionFailedError,
    InvalidInputError,
    ModelMismatchError,
    QuotaExceededError,
    SchemaError,
    ServerTooOldError,
)

# Windows has no SIGHUP.
_TERMINATING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


def exit_code(error: MemSenseError) -> int:
    """Return 2 if the caller must change something first, else 1."""
    return UNUSABLE if isinstance(error, _UNUSABLE) else FAILED


def one_line(error: MemSenseError) -> str:
    """Return the error as one line for people."""
    return f"memsense: {' '.join(str(error).split())}"


class TerminatedError(KeyboardInterrupt):
    """A request to end by a signal; a KeyboardInterrupt, so that code cleans up as for Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class EndingSignals:
    """A signal handler that ends the command by raising, and can raise a second time."""

    def __init__(self) -> None:
        self._number: int | None = None

    def __call__(self, number: int, _: FrameType | None) -> None:
        """Raise KeyboardInterrupt for SIGINT; for other signals TerminatedError, but only once."""
        self._number = number
        if number != signal.SIGINT:
            # A second SIGTERM would interrupt the shutdown of the embedded server.
            signal.signal(number, signal.SIG_IGN)
        self.raise_again()

    def raise_again(self) -> None:
        """Raise for the last signal once more, because a library may have swallowed the first."""
        if self._number is None:
            return
        if self._number == signal.SIGINT:
            raise KeyboardInterrupt
        raise TerminatedError(self._number)


def end_when_terminated() -> None:
    """Make SIGTERM and SIGHUP raise TerminatedError, unless they are ignored (nohup)."""
    _handle(_not_ignored(), EndingSignals())


def end_when_interrupted() -> EndingSignals:
    """Make SIGINT, too, raise KeyboardInterrupt, even if it was ignored (`end_when_terminated`)."""
    signals = EndingSignals()
    # A shell script starts its background commands with SIGINT ignored. Ctrl-C is how `ingest
    # --watch`, `worker` and `serve` are meant to end, so these commands listen to it all the same.
    _handle([signal.SIGINT, *_not_ignored()], signals)
    return signals


@contextmanager
def interrupts_left_to_child() -> Generator[None]:
    """Leave Ctrl-C to the child process, which gets it from the terminal, too."""

    def do_nothing(_number: int, _frame: FrameType | None) -> None:
        """Ignore the signal; SIG_IGN would do that as well, but the child would inherit it."""

    before = signal.signal(signal.SIGINT, do_nothing)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _not_ignored() -> list[signal.Signals]:
    return [number for number in _TERMINATING if signal.getsignal(number) != signal.SIG_IGN]


def _handle(numbers: Iterable[signal.Signals], handler: EndingSignals) -> None:
    for number in numbers:
        signal.signal(number, handler)


def confirm(question: str, *, yes: bool) -> None:
    """Ask before something is deleted for good; end the command with FAILED if the answer is no.

    Without a terminal to answer in, the command ends with UNUSABLE and names --yes.

    Args:
        question: The question, without a remark that the answer is final.
        yes: Don't ask.
    """
    # The question goes to stderr, so that --json has the receipt alone.
    if yes:
        return
    try:
        agreed = typer.confirm(f"{question} It can't be undone.", err=True)
    except typer.Abort:
        if sys.stdin.isatty():  # Ctrl-C
            raise
        typer.echo("\nnothing was done: add --yes to go on without being asked", err=True)
        raise typer.Exit(UNUSABLE) from None
    if not agreed:
        raise typer.Abort
