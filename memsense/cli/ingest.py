"""`memsense ingest` and `memsense formats`: logs in, memory and honest counts out."""

import glob
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

import typer

from memsense.cli.errors import FAILED, one_line
from memsense.cli.finding import Offer, offer_logs
from memsense.cli.options import ExpiresAt, Output, Ttl, offering
from memsense.cli.output import OutputForm, print_data
from memsense.cli.progress import ingest_progress
from memsense.cli.render import console, plain
from memsense.cli.signals import TerminatedError, end_when_interrupted
from memsense.cli.summary import print_summary
from memsense.cli.target import target_of
from memsense.cli.watching import add_up, check_watchable, watch_logs
from memsense.errors import IngestError
from memsense.ingest import READERS, DateOrder, ReadOptions
from memsense.ingest.readers.rows import FIELDS
from memsense.text.nearest import did_you_mean
from memsense.types import EmbedWhen, IngestMode
from memsense.write.drafting import Annotations
from memsense.write.ingest_run import IngestReport

if TYPE_CHECKING:
    from memsense.client.memory import MemSense

STDIN = "-"


def ingest(
    ctx: typer.Context,
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATHS", help="files, folders, patterns, archives, - for stdin"),
    ] = None,
    *,
    find: Annotated[
        bool,
        typer.Option(
            "--find", help="instead of PATHS: look where programs keep their logs, show, then ask"
        ),
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="with --find: store what is found without asking")
    ] = False,
    user: Annotated[
        str | None,
        typer.Option(
            "--user",
            "-u",
            metavar="NAME",
            help="whose memory; default: as the log says, else 'default'",
        ),
    ] = None,
    agent: Annotated[
        str | None, typer.Option(metavar="NAME", help="the agent that was talked to")
    ] = None,
    mode: Annotated[
        IngestMode, typer.Option(help="store exchanges, whole sessions, or both")
    ] = "turn",
    log_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            "-f",
            metavar="NAME",
            help="see `memsense formats`; default: detected; with --find: only its programs",
            autocompletion=offering(READERS),
        ),
    ] = None,
    user_speaker: Annotated[
        str | None,
        typer.Option(
            "--me",
            "--user-speaker",
            metavar="NAME",
            help="whose side is the user's where people talk to each other",
        ),
    ] = None,
    timezone: Annotated[
        str | None,
        typer.Option(metavar="ZONE", help="of times without one: Europe/Lisbon; default: unknown"),
    ] = None,
    date_order: Annotated[
        DateOrder | None, typer.Option(help="how to read 03/04/21; default: as the log shows")
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="FIELD=COLUMN",
            help=f"rows: which column is {', '.join(FIELDS)}; repeatable",
        ),
    ] = None,
    sidechains: Annotated[
        bool, typer.Option("--sidechains", help="keep what agents said to their sub-agents")
    ] = False,
    all_branches: Annotated[
        bool, typer.Option("--all-branches", help="keep abandoned branches of a chat, too")
    ] = False,
    guessed: Annotated[
        bool,
        typer.Option(
            "--guessed",
            help="in folders and archives, read what only looks like a conversation, too",
        ),
    ] = False,
    tag: Annotated[
        list[str] | None, typer.Option(help="give every memory this tag; repeatable")
    ] = None,
    task_tag: Annotated[str | None, typer.Option(help="the task that the logs are about")] = None,
    expires_at: ExpiresAt = None,
    ttl: Ttl = None,
    embed: Annotated[
        EmbedWhen | None,
        typer.Option(
            help="now, or what fails later; all later; or now or not at all (default: the setting)"
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", "-n", help="show what would be stored, and why; store nothing"),
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="exit code 1 if any record was skipped")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="then follow the files as they grow, until Ctrl-C")
    ] = False,
    output: Output = "table",
) -> None:
    """Read conversation logs into memory, once.

    \b
      memsense ingest conversations.json --user ada
      memsense ingest ~/.claude/projects --user ada --watch
      memsense ingest 'exports/*.zip' --dry-run
      memsense ingest chat.csv --map role=who --map content=said --timezone Europe/Lisbon
      cat log.jsonl | memsense ingest - --user ada --tag imported
      memsense ingest --find

    The same log again adds nothing, one that grew adds what is new, and an edited message
    replaces its memory. An interrupted run is resumed by running it again. --find lists the logs
    that programs keep on this machine; nothing is stored without a yes.

    Exit codes: 0 something stored or nothing new, 1 nothing usable or a log that failed (or, with
    --strict, something skipped), 2 wrong usage. Other logs go on when one fails.
    """
    paths = paths or []
    _check_paths(paths, find=find, yes=yes)
    form = _check_format(log_format)
    options = ReadOptions(
        format=None if find else form,
        user_speaker=user_speaker,
        timezone=_read_zone(timezone),
        date_order=date_order,
        columns=_read_columns(columns or ()),
        sidechains=sidechains,
        all_branches=all_branches,
        guessed=guessed,
    )
    arguments: dict[str, Any] = {
        "user_id": user,
        "mode": mode,
        "options": options,
        "annotations": Annotations(
            agent_id=agent,
            task_tag=task_tag,
            tags=tuple(tag or ()),
            expires_at=expires_at,
            ttl=ttl,
        ),
        "embed": embed,
        "dry_run": dry_run,
    }
    if watch:
        _check_watchable(paths, dry_run=dry_run)
        end_when_interrupted()
    with target_of(ctx).open() as memory:
        offer = None
        if find:
            offer = offer_logs(memory, arguments, form, output=output, yes=yes)
            paths = offer.accepted
        report = None
        if paths:
            report = run_with_progress(memory, paths, arguments, tolerant=watch)
            if watch:
                _follow(memory, paths, arguments, report)
    _print_report(report, offer, output, watched=watch)
    if report is not None:
        _end(report, strict=strict, watched=watch)


def _print_report(
    report: IngestReport | None, offer: Offer | None, output: OutputForm, *, watched: bool
) -> None:
    if output == "table":
        if report is not None:
            print_summary(console(), report, watched=watched)
        return
    told = report.as_dict() if report is not None else None
    print_data(output, told if offer is None else offer.as_dict() | {"ingested": told})


def _end(report: IngestReport, *, strict: bool, watched: bool) -> None:
    """Raise typer.Exit where the run failed."""
    has_failed = not report.usable or bool(report.failed)
    if (has_failed and not watched) or (strict and _anything_left_out(report)):
        raise typer.Exit(FAILED)


def run_with_progress(
    memory: "MemSense", paths: Sequence[str], arguments: dict[str, Any], *, tolerant: bool = False
) -> IngestReport:
    """Ingest under a progress bar; `tolerant` tells an IngestError and goes on."""
    with ingest_progress() as progress:
        try:
            return memory.ingest(
                *paths,
                **arguments,
                on_start=progress.start,
                on_bytes=progress.read,
                on_session=progress.written,
            )
        except IngestError as error:
            if not tolerant:
                raise
            typer.echo(one_line(error), err=True)
            return IngestReport()


def _follow(
    memory: "MemSense", paths: Sequence[str], arguments: dict[str, Any], report: IngestReport
) -> None:
    """Ingest what changes until Ctrl-C; the report grows."""
    changes = watch_logs(paths)
    options: ReadOptions = arguments["options"]
    arguments = arguments | {"options": options.model_copy(update={"roots": tuple(paths)})}
    try:
        typer.echo(f"memsense: {report.stored} stored; watching, Ctrl-C ends", err=True)
        for changed in changes:
            more = run_with_progress(memory, changed, arguments, tolerant=True)
            add_up(report, more)
            if more.stored or more.replaced:
                names = ", ".join(Path(path).name for path in changed)
                typer.echo(
                    f"{datetime.now().astimezone():%H:%M:%S} {plain(names)}:"
                    f" {more.stored} stored, {more.replaced} replaced",
                    err=True,
                )
    except TerminatedError:
        raise
    except KeyboardInterrupt:
        typer.echo("memsense: stopped watching", err=True)


def _anything_left_out(report: IngestReport) -> bool:
    """Whether a record or conversation was skipped, or a log not read; side files are none."""
    skipped = (tally for tally in report.read.skipped.values() if tally.unit != "file")
    return bool(report.failed) or any(tally.count for tally in skipped)


def _check_paths(paths: Sequence[str], *, find: bool, yes: bool) -> None:
    if find and paths:
        raise typer.BadParameter("--find looks by itself: leave PATHS out", param_hint="PATHS")
    if yes and not find:
        raise typer.BadParameter("--yes answers what --find asks; without it, nothing is asked")
    if not find and not paths:
        raise typer.BadParameter(
            "name a file or folder, or let --find look for logs", param_hint="PATHS"
        )
    for path in paths:
        if path != STDIN and not Path(path).exists() and not _matches(path):
            raise typer.BadParameter(f"{path}: no such file or folder", param_hint="PATHS")
    if list(paths).count(STDIN) and sys.stdin.isatty():
        typer.echo("memsense: reading from the terminal; end with Ctrl-D", err=True)


def _matches(pattern: str) -> bool:
    """Whether it is a pattern that something matches."""
    return glob.has_magic(pattern) and any(glob.iglob(pattern, recursive=True))  # noqa: PTH207


def _check_watchable(paths: Sequence[str], *, dry_run: bool) -> None:
    if dry_run:
        raise typer.BadParameter("--watch and --dry-run exclude each other")
    check_watchable(paths)


def _check_format(name: str | None) -> str | None:
    if name is not None and name not in READERS:
        raise typer.BadParameter(
            f"no format is called {name!r}; there are {', '.join(READERS)}"
            f"{did_you_mean(name, READERS)}",
            param_hint="--format",
        )
    return name


def _read_zone(name: str | None) -> ZoneInfo | None:
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise typer.BadParameter(
            f"no time zone {name!r}; write it like Europe/Lisbon", param_hint="--timezone"
        ) from error


def _read_columns(pairs: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in pairs:
        field, equals, column = pair.partition("=")
        if not equals or not column or field not in FIELDS:
            raise typer.BadParameter(
                f"{pair!r} is not FIELD=COLUMN with a field of {', '.join(FIELDS)}",
                param_hint="--map",
            )
        found[field] = column
    return found
