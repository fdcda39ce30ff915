"""Commands that write memory to a file, and read it back."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from memsense.cli.options import Output, Selection, options_of
from memsense.cli.output import print_data
from memsense.cli.target import target_of
from memsense.text.secrets import summary

STREAM = "-"


@options_of("export_to")
def export(
    ctx: typer.Context,
    path: Annotated[str, typer.Argument(metavar="FILE")],
    *,
    selection: Selection,
    output: Output = "table",
) -> None:
    """Write a user's memory, or everybody's, to a file of JSON lines.

    A FILE that ends in .parquet is written as Parquet, for analysis; `import` reads JSON lines
    only. The guide 'How to export and import' describes the fields.

    \b
      memsense export ada.jsonl --user ada
      memsense export - --all-users --vectors | zstd > all.jsonl.zst
      memsense export all.parquet --all-users

    Forgotten memories are written without their texts.

    Args:
        path: File to write; - for stdout.
    """
    place: str | IO[Any] = sys.stdout if path == STREAM else path
    with target_of(ctx).open() as memory:
        report = memory.export_to(place, **selection)
    if path == STREAM:
        # A report on stdout would end up in the export.
        return
    if not print_data(output, asdict(report)):
        typer.echo(f"{report.chunks:,} chunks of {_count(report.users, 'user')} written to {path}")


def import_file(
    ctx: typer.Context,
    path: Annotated[str, typer.Argument(metavar="FILE")],
    *,
    settings: Annotated[bool | None, typer.Option("--settings/--no-settings")] = None,
    output: Output = "table",
) -> None:
    """Store the contents of a file that `export` has written; a second time changes nothing.

    \b
      memsense --namespace copy import ada.jsonl

    Each session is a transaction of its own: to resume an interrupted import, run it again.

    Args:
        path: File that `export` has written; - for stdin.
        settings: Take over settings of the file that are not set here. Default: only if the
            namespace is empty.
    """
    place: str | Path | IO[Any] = sys.stdin if path == STREAM else path
    with target_of(ctx).open() as memory:
        report = memory.import_from(place, settings=settings)
    if print_data(output, report.as_dict()):
        return
    stored = f"{report.stored:,} exchanges of {_count(len(report.users), 'user')} stored"
    repeated = f", {report.repeated:,} were known" if report.repeated else ""
    skipped = (
        f", {report.skipped:,} session chunks left out: their sessions have changed here"
        if report.skipped
        else ""
    )
    typer.echo(f"{stored}{repeated}{skipped}")
    if report.redacted:
        typer.echo(summary(report.redacted))
    if report.settings_taken:
        typer.echo(f"settings taken over: {', '.join(report.settings_taken)}")
    if report.settings_left:
        names = ", ".join(report.settings_left)
        typer.echo(f"settings that differ in the file, not taken over: {names}")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
