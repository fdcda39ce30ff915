"""The commands that write memory to a file, and read it back."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from memsense.cli.options import AllUsers, Output, User
from memsense.cli.output import print_data
from memsense.cli.target import target_of

STREAM = "-"


def export(
    ctx: typer.Context,
    path: Annotated[str, typer.Argument(metavar="FILE", help="the file to write; - for stdout")],
    *,
    user: User = None,
    all_users: AllUsers = False,
    vectors: Annotated[
        bool, typer.Option("--vectors", help="with vectors, which an import then needn't make")
    ] = False,
    output: Output = "table",
) -> None:
    """Write a user's memory, or everybody's, to a file of JSON lines (docs/data.md).

    A FILE that ends in .parquet is Parquet, for analysing; an import reads JSON lines alone.

    \b
      memsense export ada.jsonl --user ada
      memsense export - --all-users --vectors | zstd > all.jsonl.zst
      memsense export all.parquet --all-users

    Of what is forgotten only the place is written.
    """
    place: str | IO[Any] = sys.stdout if path == STREAM else path
    with target_of(ctx).open() as memory:
        report = memory.export_to(place, user_id=user, all_users=all_users, vectors=vectors)
    if path == STREAM:
        return
    if output != "table":
        print_data(output, asdict(report))
    else:
        typer.echo(f"{report.chunks:,} chunks of {_count(report.users, 'user')} written to {path}")


def import_file(
    ctx: typer.Context,
    path: Annotated[
        str, typer.Argument(metavar="FILE", help="what `export` has written; - for stdin")
    ],
    *,
    settings: Annotated[
        bool | None,
        typer.Option(
            "--settings/--no-settings",
            help="take over what is set in the file and not here; without either, where nobody has"
            " a memory yet",
        ),
    ] = None,
    output: Output = "table",
) -> None:
    """Store what `export` has written, here or elsewhere; a second time changes nothing.

    \b
      memsense --namespace copy import ada.jsonl

    Each session is a transaction of its own, so that an interrupted import is run again.
    """
    place: str | Path | IO[Any] = sys.stdin if path == STREAM else path
    with target_of(ctx).open() as memory:
        report = memory.import_from(place, settings=settings)
    if output != "table":
        print_data(output, report.as_dict())
        return
    told = f"{report.stored:,} exchanges of {_count(len(report.users), 'user')} stored"
    known = f", {report.repeated:,} were known" if report.repeated else ""
    skipped = (
        f", {report.skipped:,} session chunks left out: their sessions hold something else by now"
        if report.skipped
        else ""
    )
    typer.echo(f"{told}{known}{skipped}")
    if report.settings_taken:
        typer.echo(f"set as where it came from: {', '.join(report.settings_taken)}")
    if report.settings_left:
        typer.echo(f"set otherwise there, not taken over: {', '.join(report.settings_left)}")


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
