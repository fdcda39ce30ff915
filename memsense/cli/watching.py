"""Follows growing logs: says which files changed, and adds up what was ingested of them."""

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

import typer
from watchfiles import Change, watch

from memsense.cli.signals import Ending, end_when_interrupted
from memsense.ingest import expand_paths
from memsense.write.ingest_run import IngestReport

DEBOUNCE_MS = 1500
"""A file that is being written is read once it has been quiet for so long."""


def check_watchable(paths: Sequence[str]) -> None:
    """Raise typer.BadParameter for what can't grow: stdin and patterns."""
    for path in paths:
        if not Path(path).exists():
            raise typer.BadParameter(
                f"{path}: --watch needs files or folders that exist", param_hint="PATHS"
            )


def watch_logs(paths: Sequence[str]) -> Iterator[list[str]]:
    """The logs among the paths that changed, whenever some did; ends only with an interrupt.

    Interrupts count from this call on. A file is watched through its folder, because editors and
    agents replace files.
    """
    return _watch(paths, end_when_interrupted())


def _watch(paths: Sequence[str], ending: Ending) -> Iterator[list[str]]:
    logging.getLogger("watchfiles").addHandler(logging.NullHandler())  # it tells of Ctrl-C
    folders = {path if path.is_dir() else path.parent for path in map(_absolute, paths)}
    for changes in watch(*folders, debounce=DEBOUNCE_MS, raise_interrupt=False):
        changed = {Path(path) for change, path in changes if change is not Change.deleted}
        if logs := [str(path) for path in _logs(paths) if path in changed]:
            yield logs
    ending.raise_again()  # watchfiles tells an interrupt by stopping


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


def _logs(paths: Sequence[str]) -> Iterator[Path]:
    """The files that `ingest` would read; a file that a folder's walk leaves out is none."""
    for source in expand_paths(paths):
        if source.path is not None:
            yield _absolute(source.path)


def _absolute(path: str | Path) -> Path:
    return Path(path).resolve()
