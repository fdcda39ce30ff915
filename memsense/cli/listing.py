"""Commands that list memories and sessions."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from memsense.cli.options import Output, Selection, help_of, options_of
from memsense.cli.output import OutputForm, print_data
from memsense.cli.render import add_row, console, plain, shorten, table, when
from memsense.cli.target import target_of
from memsense.text.projects import project_of
from memsense.types import Chunk, Page

EXCERPT = 240


@options_of("recent")
def recent(ctx: typer.Context, *, selection: Selection, output: Output = "table") -> None:
    """List the latest memories by the time they are about, newest first.

    \b
      memsense recent -n 5 --user ines
      memsense recent --all-users --session s01-20250203 --json
    """
    with target_of(ctx).open() as memory:
        chunks = memory.recent(**selection)
    if output != "table":
        print_data(output, [chunk.as_dict() for chunk in chunks])
    elif not chunks:
        console().print("Nothing is stored here yet.")
    else:
        _print_chunks(chunks)


@options_of("list")
def list_chunks(ctx: typer.Context, *, selection: Selection, output: Output = "table") -> None:
    """List memories by the time they are about, page by page.

    \b
      memsense list --user ines --tag work --since 2025-03-01
      memsense list --all-users --status archived --order oldest -n 200 --json

    JSON has the page's items and its next_cursor, which --cursor takes.
    """
    with target_of(ctx).open() as memory:
        page = memory.list(**selection)
    if output != "table":
        _print_page(output, page, [chunk.as_dict() for chunk in page])
    elif not page:
        console().print("Nothing here matches.")
    else:
        _print_chunks(page)
        _print_next_cursor(page)


@options_of("sessions")
def sessions(ctx: typer.Context, *, selection: Selection, output: Output = "table") -> None:
    """List sessions, the one with the latest exchange first, page by page.

    \b
      memsense sessions --user ines
      memsense sessions --all-users --since 2025-03-01 --tag work --json
    """
    with target_of(ctx).open() as memory:
        page = memory.sessions(**selection)
    if output != "table":
        _print_page(output, page, [asdict(session) for session in page])
    elif not page:
        console().print("Nothing here matches.")
    else:
        rows = table("session", "user", "exchanges", "from", "to", "begins", right=("exchanges",))
        for session in page:
            add_row(
                rows,
                plain(session.session_id),
                plain(session.user_id),
                session.exchanges,
                when(session.first_at, zone_known=False),
                when(session.last_at, zone_known=False),
                shorten(session.opening, EXCERPT),
            )
        console().print(rows)
        _print_next_cursor(page)


@options_of("left_off")
def left_off(
    ctx: typer.Context,
    *,
    user: Annotated[
        str, typer.Option("--user", "-u", metavar="NAME", help=help_of("left_off", "user_id"))
    ],
    project: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help=f"{help_of('left_off', 'project')} Default: the current folder's."
        ),
    ] = None,
    selection: Selection,
    output: Output = "table",
) -> None:
    """Show where the last session in a project ended: its open end, decisions and files.

    \b
      memsense left-off --user ada
      memsense left-off --user ada --project github.com/ada/looms --max-tokens 200
    """
    project = project or project_of(str(Path.cwd()))
    if project is None:
        raise typer.BadParameter("the current folder is no project: name one with --project")
    with target_of(ctx).open() as memory:
        prompt = memory.left_off(user_id=user, project=project, **selection)
    if output != "table":
        print_data(output, {"text": str(prompt), **prompt.as_dict()})
    elif not prompt:
        console().print(Text(f"Nothing is known of {plain(project)}."))
    else:
        typer.echo(plain(str(prompt)))


def _print_chunks(chunks: Sequence[Chunk]) -> None:
    """Print the first two lines of each chunk."""
    rows = table("chunk", "when", "user", "session", "memory", right=("chunk",))
    for chunk in chunks:
        add_row(
            rows,
            chunk.chunk_id,
            when(chunk.occurred_at, zone_known=chunk.occurred_zone_known),
            plain(chunk.user_id),
            plain(chunk.session_id),
            "\n".join(shorten(line, EXCERPT) for line in chunk.content.splitlines()[:2]),
        )
    console().print(rows)


def _print_page(output: OutputForm, page: Page[Any], items: list[Mapping[str, Any]]) -> None:
    # JSON lines and CSV have the items alone, without a place for the cursor.
    print_data(output, {"items": items, "next_cursor": page.next_cursor}, items)


def _print_next_cursor(page: Page[Any]) -> None:
    if page.next_cursor is not None:
        # Not wrapped, so that it can be copied from a narrow terminal.
        console().print(f"More: --cursor {page.next_cursor}", soft_wrap=True)
