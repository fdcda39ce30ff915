"""Progress bars on stderr, only where that is a terminal."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from memsense.cli.render import console

if TYPE_CHECKING:
    from memsense.write.ingest_run import IngestReport


class IngestProgress:
    """Shows how much of the bytes has become memory, the rate, and the time left.

    Its methods are the callbacks of `MemSense.ingest`. Reading runs ahead of writing, so the
    bar advances by the share of the exchanges read so far that are written.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task = progress.add_task("reading", total=None, exchanges=0, rate="")
        self._bytes = 0
        self._shown = 0.0

    def start(self, total: int) -> None:
        """The bytes there are to read."""
        self._progress.update(self._task, total=total or None)

    def read(self, done: int) -> None:
        """The bytes read so far."""
        self._bytes = done

    def written(self, report: "IngestReport") -> None:
        """What is stored so far."""
        written = report.stored + report.replaced + report.repeated
        share = written / report.exchanges if report.exchanges else 0.0
        self._shown = max(self._shown, self._bytes * min(share, 1.0))
        elapsed = self._task_state().elapsed or 0.0
        self._progress.update(
            self._task,
            description="storing",
            completed=self._shown,
            exchanges=written,
            rate=f"{written / elapsed:.0f}/s" if elapsed > 0 else "",
        )

    def _task_state(self) -> Task:
        return self._progress.tasks[self._task]


@contextmanager
def ingest_progress() -> Generator[IngestProgress]:
    """A bar for an ingest run, gone when the block ends."""
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
    """A bar for questions or other units; the block calls what it gets after each one."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f} of {task.total:.0f} {task.fields[unit]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with _progress(*columns) as progress:
        task = progress.add_task(label, total=total, unit=unit)
        yield lambda: progress.advance(task)


def _progress(*columns: ProgressColumn) -> Progress:
    shown = sys.stderr.isatty()
    return Progress(*columns, console=console(stderr=True), transient=True, disable=not shown)
