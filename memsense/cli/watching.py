"""Following of growing logs: which files changed, and the sum of what was ingested."""

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import typer
from watchfiles import watch

from memsense.cli.exits import EndingSignals, end_when_interrupted
from memsense.draft.ingest_run import IngestReport
from memsense.errors import IngestError
from memsense.ingest import expand_paths

DEBOUNCE_MS = 1500
"""Milliseconds without a change after which a file that is being written is read."""

RESCAN_MS = 5_000
"""Milliseconds between looks at the logs if the system reports no change."""

FileState: TypeAlias = tuple[int, int]
"""Time of a log's last write, in nanoseconds, and its size in bytes."""


def check_watchable(paths: Sequence[str]) -> None:
    """Raise typer.BadParameter for stdin and patterns, which can't be watched."""
    for path in paths:
        if not Path(path).exists():
            raise typer.BadParameter(
                f"{path}: --watch needs files or folders that exist", param_hint="PATHS"
            )


def watch_logs(paths: Sequence[str]) -> Iterator[list[str]]:
    """Yield the logs among the paths that changed, whenever some did, until an interrupt.

    Changes and interrupts count from this call on, not from the first iteration.
    """
    return _watch(paths, _read_states(paths), end_when_interrupted())


def _watch(
    paths: Sequence[str], states: dict[str, FileState], signals: EndingSignals
) -> Iterator[list[str]]:
    # watchfiles logs a warning at Ctrl-C, which Python would print without a handler.
    logging.getLogger("watchfiles").addHandler(logging.NullHandler())
    # A file is watched through its folder, because editors and agents replace files.
    folders = {path if path.is_dir() else path.parent for path in map(_absolute, paths)}
    for _ in watch(
        *folders,
        debounce=DEBOUNCE_MS,
        rust_timeout=RESCAN_MS,
        yield_on_timeout=True,
        raise_interrupt=False,
    ):
        # The system's report is only the occasion to look: it omits files inside a folder that
        # is copied or moved in.
        new_states = _read_states(paths, states)
        changed = [path for path, state in new_states.items() if states.get(path) != state]
        states = new_states
        if changed:
            yield changed
    # At an interrupt watchfiles stops without raising.
    signals.raise_again()


def _read_states(
    paths: Sequence[str], before: dict[str, FileState] | None = None
) -> dict[str, FileState]:
    """Return the state of each log that `ingest` would read; `before` if that fails."""
    try:
        logs = [source.path for source in expand_paths(paths) if source.path is not None]
        return {str(_absolute(path)): _read_state(path) for path in logs}
    except (IngestError, OSError):
        # An archive may be half written, or a file may have just been deleted.
        return dict(before or {})


def _read_state(path: Path) -> FileState:
    # While a program writes to an SQLite database, only its write-ahead log may change.
    write_ahead_log = path.with_name(f"{path.name}-wal")
    stats = [file.stat() for file in (path, write_ahead_log) if file == path or file.is_file()]
    return max(stat.st_mtime_ns for stat in stats), sum(stat.st_size for stat in stats)


def add_up(total: IngestReport, more: IngestReport) -> None:
    """Add the writes of a later pass to the total."""
    # A pass reads a grown file from its beginning again, so its other counts include old records.
    total.stored += more.stored
    total.replaced += more.replaced
    total.exchanges += more.stored
    total.users |= more.users
    for reason, tally in more.failures.items():
        for place, _ in tally.examples:
            total.fail(place, reason)
    total.read.detected |= more.read.detected


def _absolute(path: str | Path) -> Path:
    return Path(path).resolve()
