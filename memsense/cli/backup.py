"""`memsense db backup` and `memsense db restore`: a whole database in one file."""

from pathlib import Path
from typing import Annotated

import typer

from memsense.cli.target import target_of
from memsense.db import dumping

File = Annotated[Path, typer.Argument(metavar="FILE", help="File of the backup.")]


def back_up(ctx: typer.Context, file: File) -> None:
    """Write the whole database to a file: all tenants, settings, keys, traces, jobs.

    \b
      memsense db backup memories.dump
      memsense db backup memories.dump --database-url postgresql://postgres@db.example/memories

    It runs the pg_dump that fits the server, as a superuser or the tables' owner. One tenant alone:
    memsense tenant backup.
    """
    with target_of(ctx).database() as url:
        tool = dumping.back_up(url, file)
    typer.echo(f"{file}: {file.stat().st_size} bytes, by {tool.path} {tool.major}")


def restore(ctx: typer.Context, file: File) -> None:
    """Restore a backup into a database that has no memsense schema yet.

    \b
      createdb memories
      memsense db restore memories.dump --database-url postgresql://postgres@db.example/memories

    Roles, policies and indexes are made as they were, and the schema is upgraded if it is older.
    """
    with target_of(ctx).database() as url:
        tool = dumping.restore(url, file)
    typer.echo(f"{file}: restored by {tool.path} {tool.major}; 'memsense doctor' examines it")
