"""Progress bars on stderr, shown only on a terminal."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from memsense.cli.render import console

if TYPE_CHECKING:
    from memsense.draft.ingest_run import IngestReport


class IngestProgress:
    """Progress of an ingest run: the share of the bytes stored, the rate, and the time left.

    Its methods are the callbacks of `MemSense.ingest`.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("reading", total=None, exchanges=0, rate="")
        self._bytes = 0
        self._position = 0.0

    def start(self, total: int) -> None:
        """Set the number of bytes to read."""
        # Without a known size, as for stdin, the bar moves without an end.
        self._progress.update(self._task, total=total or None)

    def note_bytes(self, count: int) -> None:
        """Note the number of bytes read so far."""
        self._bytes = count
        # A session is stored when all of its log is read: until then the bar shows the reading.
        if not self._position:
            self._progress.update(self._task, completed=count)

    def note_report(self, report: "IngestReport") -> None:
        """Advance the bar to the report's state."""
        stored = report.stored + report.replaced + report.repeated
        # Reading runs ahead of writing: the bar shows the bytes read, times the share of the
        # exchanges read so far that are written. It never goes back when more is read.
        share = stored / report.exchanges if report.exchanges else 0.0
        self._position = max(self._position, self._bytes * min(share, 1.0))
        elapsed = self._progress.tasks[self._task].elapsed or 0.0
        self._progress.update(
            self._task,
            description="storing",
            completed=self._position,
            exchanges=stored,
            rate=f"{stored / elapsed:.0f}/s" if elapsed > 0 else "",
        )


@contextmanager
def ingest_progress() -> Generator[IngestProgress]:
    """Show a bar for an ingest run, which disappears when the block ends."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[exchanges]} exchanges {task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with _progress(*columns) as progress:
        yield IngestProgress(progress)


@contextmanager
def question_progress(
    label: str, total: int, unit: str = "questions"
) -> Generator[Callable[[], None]]:
    """Show a bar for questions or other units; yield a function to call after each unit."""
    with count_progress(label, unit, total) as (progress, task):
        yield lambda: progress.advance(task)


@contextmanager
def count_progress(label: str, unit: str, total: int = 0) -> Generator[tuple[Progress, TaskID]]:
    """Show a bar for units of a number that may become known later; yield it and its task."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f} of {task.total:.0f} {task.fields[unit]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with _progress(*columns) as progress:
        yield progress, progress.add_task(label, total=total, unit=unit)


def _progress(*columns: ProgressColumn) -> Progress:
    # In a log file the bar's control characters would be noise.
    is_terminal = sys.stderr.isatty()
    return Progress(*columns, console=console(stderr=True), transient=True, disable=not is_terminal)
