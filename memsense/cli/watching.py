"""Follows growing logs: says which files changed, and adds up what was ingested of them."""

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import typer
from watchfiles import watch

from memsense.cli.signals import Ending, end_when_interrupted
from memsense.errors import IngestError
from memsense.ingest import expand_paths
from memsense.write.ingest_run import IngestReport

DEBOUNCE_MS = 1500
"""A file that is being written is read once it has been quiet for so long."""

RESCAN_MS = 5_000
"""How often the logs are looked at even where the system tells of no change."""

Look: TypeAlias = tuple[int, int]
"""When a log was written last (ns), and its bytes."""


def check_watchable(paths: Sequence[str]) -> None:
    """Raise typer.BadParameter for what can't grow: stdin and patterns."""
    for path in paths:
        if not Path(path).exists():
            raise typer.BadParameter(
                f"{path}: --watch needs files or folders that exist", param_hint="PATHS"
            )


def watch_logs(paths: Sequence[str]) -> Iterator[list[str]]:
    """The logs among the paths that changed, whenever some did; ends only with an interrupt.

    Changes and interrupts count from this call on. A file is watched through its folder, because
    editors and agents replace files. The system's word that something changed is only the occasion
    to look: what a folder brings with it that is made, copied or moved in later is found, too.
    """
    return _watch(paths, _look(paths), end_when_interrupted())


def _watch(paths: Sequence[str], seen: dict[str, Look], ending: Ending) -> Iterator[list[str]]:
    logging.getLogger("watchfiles").addHandler(logging.NullHandler())  # it tells of Ctrl-C
    folders = {path if path.is_dir() else path.parent for path in map(_absolute, paths)}
    for _ in watch(
        *folders,
        debounce=DEBOUNCE_MS,
        rust_timeout=RESCAN_MS,
        yield_on_timeout=True,
        raise_interrupt=False,
    ):
        now = _look(paths, seen)
        changed = [path for path, look in now.items() if seen.get(path) != look]
        seen = now
        if changed:
            yield changed
    ending.raise_again()  # watchfiles tells an interrupt by stopping


def _look(paths: Sequence[str], before: dict[str, Look] | None = None) -> dict[str, Look]:
    """The logs that `ingest` would read, with time and size; those before where none can be told.

    A file that a folder's walk leaves out is none; an archive may be half written.
    """
    try:
        found = [source.path for source in expand_paths(paths) if source.path is not None]
        return {str(_absolute(path)): _look_at(path) for path in found}
    except (IngestError, OSError):
        return dict(before or {})


def _look_at(path: Path) -> Look:
    """What changes with a log; of a database, the log of its writes beside it may alone do so."""
    beside = path.with_name(f"{path.name}-wal")
    stats = [one.stat() for one in (path, beside) if one == path or one.is_file()]
    return max(stat.st_mtime_ns for stat in stats), sum(stat.st_size for stat in stats)


def add_up(total: IngestReport, more: IngestReport) -> None:
    """Add what a later pass wrote to the total.

    A pass reads a grown file from its beginning again: what else it counted is known already.
    """
    total.stored += more.stored
    total.replaced += more.replaced
    total.exchanges += more.stored
    total.users |= more.users
    total.failed = list(dict.fromkeys([*total.failed, *more.failed]))
    total.read.detected |= more.read.detected


def _absolute(path: str | Path) -> Path:
    return Path(path).resolve()
