"""`memsense ingest`: reads conversation logs into memory and reports what it did."""

import glob
import sys
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from zoneinfo import ZoneInfo

import typer

from memsense.cli.exits import FAILED, TerminatedError, end_when_interrupted, one_line
from memsense.cli.logs import check_format, complete_formats, offer_logs, read_fields
from memsense.cli.options import Output, Selection, options_of
from memsense.cli.output import print_data
from memsense.cli.preview import print_audit, show_preview
from memsense.cli.progress import ingest_progress
from memsense.cli.render import console, plain
from memsense.cli.summary import print_summary
from memsense.cli.target import Target, target_of
from memsense.cli.watching import add_up, check_watchable, watch_logs
from memsense.draft.continuing import Continuation
from memsense.draft.drafting import Annotations
from memsense.draft.ingest_run import IngestReport, NothingIngestedError
from memsense.errors import IngestError, InvalidInputError, MemSenseError
from memsense.ingest import DateOrder, ReadOptions
from memsense.ingest.mapping.format_map import SUFFIX
from memsense.ingest.options import Gap
from memsense.inputs import Checker
from memsense.timezones import find_zone

if TYPE_CHECKING:
    from memsense.client.memory import MemSense

STDIN = "-"


# The other parameters of `add` are about one exchange or one call.
@options_of(
    "add",
    leave_out=("session_id mode facets memory_kind confidence metadata redact embed key".split()),
    into="labels",
)
# A mapping is given field by field.
@options_of("ingest", leave_out={"map"})
def ingest(
    ctx: typer.Context,
    paths: Annotated[list[str] | None, typer.Argument(metavar="PATHS")] = None,
    *,
    find: bool = False,
    yes: Annotated[bool, typer.Option("--yes", "-y")] = False,
    selection: Selection,
    log_format: Annotated[
        str | None, typer.Option("--format", "-f", metavar="NAME", autocompletion=complete_formats)
    ] = None,
    user_speaker: Annotated[
        str | None, typer.Option("--me", "--user-speaker", metavar="NAME")
    ] = None,
    timezone: Annotated[str | None, typer.Option(metavar="ZONE")] = None,
    date_order: DateOrder | None = None,
    exchange_gap: Annotated[str, typer.Option(metavar="DURATION")] = "6h",
    map_fields: Annotated[list[str] | None, typer.Option("--map", metavar="FIELD=PATH")] = None,
    preview: bool = False,
    tries: Annotated[bool, typer.Option("--try")] = False,
    sidechains: bool = False,
    all_branches: bool = False,
    exclude_folders: Annotated[
        list[str] | None, typer.Option("--exclude-folder", metavar="PATH")
    ] = None,
    guessed: bool = False,
    labels: Selection,
    strict: bool = False,
    watch: Annotated[bool, typer.Option("--watch", "-w")] = False,
    audit: bool = False,
    output: Output = "table",
) -> None:
    """Read conversation logs into memory; reading the same log again adds nothing.

    \b
      memsense ingest conversations.json --user ada
      memsense ingest ~/.claude/projects --user ada --watch
      memsense ingest 'exports/*.zip' --dry-run
      memsense ingest chat.csv --map role=who --map content=said --timezone Europe/Lisbon
      memsense ingest log.json --try
      memsense ingest log.json --map messages='$.events[*]' --map role=author --preview
      cat log.jsonl | memsense ingest - --user ada --tag imported
      memsense ingest --find
      memsense ingest ~/.claude/projects --audit

    A log that grew adds what is new, and an edited message replaces its memory. To resume an
    interrupted run, run it again. --find lists the logs that programs keep on this machine; it
    stores nothing without a yes.

    Exit codes: 0 stored, or nothing is new; 1 nothing usable or a log failed (with --strict:
    something was skipped); 2 wrong usage. When one log fails, the others are still read.

    Args:
        paths: Files, folders, patterns such as 'exports/*.zip', archives, or - for stdin.
        find: Instead of PATHS: look where programs keep their logs, list them, then ask.
        yes: With --find: store new exchanges without asking.
        log_format: Format of the logs: one of `memsense formats`, or a format's file (*.toml).
            Default: detected. With --find: only logs of this format.
        user_speaker: Speaker who is the user, in chats between people.
        timezone: Time zone of times without one, such as Europe/Lisbon. Default: unknown.
        date_order: Order of dates such as 03/04/21. Default: detected from the log.
        exchange_gap: Silence between two messages of one side that ends an exchange, such as 12h;
            0: none does.
        map_fields: Column or JSONPath of each field, or a format's file. Such as content=said,
            messages='$.events[*]' or walks.toml; the page 'Fields of a mapping' describes the
            fields. Repeatable.
        preview: Show the first conversations, what is kept and what is left out; store nothing.
        tries: Like --preview; a file in an unknown form is read by the mapping that fits best.
        sidechains: Keep what agents said to their sub-agents.
        all_branches: Keep abandoned branches of a chat.
        exclude_folders: Never read sessions of agents that worked in or below this folder, nor logs
            there. Repeatable.
        guessed: In folders and archives, also read files that only look like a conversation.
        strict: Exit with code 1 if any record was skipped.
        watch: Then follow the files as they grow, until Ctrl-C.
        audit: Store nothing: show which texts on disk would be left out, a person's words first.
    """
    paths = paths or []
    _check_paths(paths, find=find, yes=yes)
    check_format(log_format, has_map=bool(map_fields))
    options = ReadOptions(
        # With --find the format chooses among the programs, whose logs are still detected.
        format=None if find else log_format,
        user_speaker=user_speaker,
        timezone=_read_zone(timezone),
        date_order=date_order,
        exchange_gap=_read_gap(exchange_gap),
        map=_read_map(map_fields) if map_fields else None,
        sidechains=sidechains,
        all_branches=all_branches,
        guessed=guessed,
        exclude_folders=exclude_folders or (),
    )
    arguments: dict[str, Any] = {
        **selection,
        "options": options,
        "annotations": Annotations(**labels),
    }
    if preview or tries:
        if find or watch:
            raise typer.BadParameter(
                "--preview and --try need PATHS, and exclude --find and --watch"
            )
        # Reading needs no database; what the logs continue is known where there is one.
        continued = _find_continued(target_of(ctx), paths, arguments)
        show_preview(paths, options, continued, tries=tries, output=output)
        return
    if audit:
        if find or watch:
            raise typer.BadParameter("--audit takes PATHS, neither --find nor --watch")
        print_audit(paths, options, output)
        return
    dry_run = "dry_run" in selection
    if watch:
        if dry_run:
            raise typer.BadParameter("--watch and --dry-run exclude each other")
        check_watchable(paths)
        end_when_interrupted()
    offer, report = None, None
    with target_of(ctx).open() as memory:
        if find:
            offer = offer_logs(memory, arguments, log_format, output=output, yes=yes)
            paths = offer.paths
        if paths:
            try:
                report = run_with_progress(memory, paths, arguments, is_tolerant=watch)
            except NothingIngestedError as error:
                # A program that asks for JSON gets the counts and reasons as such.
                if output == "table":
                    raise
                report = error.report
            if watch:
                _follow(memory, paths, arguments, report)
    if output != "table":
        fields = report.as_dict() if report is not None else None
        print_data(output, fields if offer is None else offer.as_dict() | {"ingested": fields})
    elif report is not None:
        print_summary(console(), report, is_watched=watch)
    if report is not None:
        # A watch ends with 0 although a log failed meanwhile: Ctrl-C is how it is meant to end.
        has_failed = not watch and (not report.usable or bool(report.failed))
        # The unit "file" counts side files of an export, such as images: they hold no conversation.
        tallies = (tally for tally in report.read.skipped.values() if tally.unit != "file")
        has_skipped = bool(report.failed) or any(tally.count for tally in tallies)
        if has_failed or (strict and has_skipped):
            raise typer.Exit(FAILED)


def _find_continued(
    target: Target, paths: Sequence[str], arguments: dict[str, Any]
) -> Sequence[Continuation]:
    has_memory = target.settings().database_url or target.embedded_server().status().version
    if STDIN in paths or not has_memory:
        return []
    try:
        with target.open() as memory:
            arguments = {**arguments, "dry_run": True}
            return memory.ingest(*paths, **arguments).continued
    except MemSenseError:
        return []


def run_with_progress(
    memory: "MemSense",
    paths: Sequence[str],
    arguments: dict[str, Any],
    *,
    is_tolerant: bool = False,
) -> IngestReport:
    """Ingest under a progress bar; if `is_tolerant`, print an IngestError instead of raising it."""
    with ingest_progress() as progress:
        try:
            return memory.ingest(
                *paths,
                **arguments,
                on_start=progress.start,
                on_bytes=progress.note_bytes,
                on_session=progress.note_report,
            )
        except IngestError as error:
            if not is_tolerant:
                raise
            typer.echo(one_line(error), err=True)
            return IngestReport()


def _follow(
    memory: "MemSense", paths: Sequence[str], arguments: dict[str, Any], report: IngestReport
) -> None:
    """Ingest logs that change until Ctrl-C, and add each pass to the report."""
    changes = watch_logs(paths)
    # The roots keep a log's name what it was in the first pass, where its folder was named.
    options: ReadOptions = arguments["options"]
    arguments = arguments | {"options": options.model_copy(update={"roots": tuple(paths)})}
    try:
        typer.echo(f"memsense: {report.stored} stored; watching, Ctrl-C ends", err=True)
        for changed in changes:
            more = run_with_progress(memory, changed, arguments, is_tolerant=True)
            add_up(report, more)
            if more.stored or more.replaced:
                names = ", ".join(Path(path).name for path in changed)
                typer.echo(
                    f"{datetime.now().astimezone():%H:%M:%S} {plain(names)}:"
                    f" {more.stored} stored, {more.replaced} replaced",
                    err=True,
                )
    except TerminatedError:
        # It is a KeyboardInterrupt, too, but must end in its own exit code.
        raise
    except KeyboardInterrupt:
        typer.echo("memsense: stopped watching", err=True)


def _check_paths(paths: Sequence[str], *, find: bool, yes: bool) -> None:
    if find and paths:
        raise typer.BadParameter(
            "--find chooses the paths itself: leave PATHS out", param_hint="PATHS"
        )
    if yes and not find:
        raise typer.BadParameter("--yes goes with --find; without --find nothing is asked")
    if not find and not paths:
        raise typer.BadParameter(
            "name a file or folder, or let --find look for logs", param_hint="PATHS"
        )
    for path in paths:
        if path == STDIN or Path(path).exists():
            continue
        has_match = glob.has_magic(path) and any(glob.iglob(path, recursive=True))  # noqa: PTH207
        if not has_match:
            raise typer.BadParameter(f"{path}: no such file or folder", param_hint="PATHS")
    if list(paths).count(STDIN) and sys.stdin.isatty():
        typer.echo("memsense: reading from the terminal; end with Ctrl-D", err=True)


def _read_zone(name: str | None) -> ZoneInfo | None:
    if name is None:
        return None
    try:
        return find_zone(name)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--timezone") from error


def _read_gap(text: str) -> timedelta:
    try:
        return Checker(Gap, "--exchange-gap")(text)
    except InvalidInputError as error:
        raise typer.BadParameter(str(error)) from error


def _read_map(texts: Sequence[str]) -> str | dict[str, str | Sequence[str]]:
    is_file = len(texts) == 1 and "=" not in texts[0] and texts[0].endswith(SUFFIX)
    return texts[0] if is_file else read_fields(texts)
