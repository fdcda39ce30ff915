"""Commands that list memories and sessions."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal, get_args

import typer

from memsense.cli.options import (
    KINDS,
    Agent,
    AllUsers,
    Kinds,
    Metadata,
    Output,
    Project,
    Sessions,
    Since,
    Tags,
    Until,
    User,
    complete_from,
)
from memsense.cli.output import OutputForm, print_data
from memsense.cli.render import add_row, console, plain, shorten, table, when
from memsense.cli.target import target_of
from memsense.cli.values import check_user_scope, read_choices, read_object
from memsense.types import Chunk, Granularity, Page, Status

STATUSES: tuple[Status, ...] = get_args(Status)
EXCERPT = 240

_Limit = Annotated[
    int, typer.Option("--limit", "-n", min=1, metavar="N", help="how many a page has at most")
]
_Cursor = Annotated[
    str | None, typer.Option(metavar="CURSOR", help="what the page before gave as the next")
]


def recent(
    ctx: typer.Context,
    *,
    limit: Annotated[int, typer.Option("--limit", "-n", help="how many at most")] = 10,
    user: User = None,
    all_users: AllUsers = False,
    agent: Agent = None,
    session: Annotated[str | None, typer.Option(metavar="ID", help="of this session only")] = None,
    granularity: Annotated[
        Granularity, typer.Option("--granularity", "-g", help="exchanges, or whole sessions")
    ] = "turn",
    output: Output = "table",
) -> None:
    """List the latest memories by the time they are about, newest first.

    \b
      memsense recent -n 5 --user ines
      memsense recent --all-users --session s01-20250203 --json
    """
    check_user_scope(user, all_users=all_users)
    with target_of(ctx).open() as memory:
        chunks = memory.recent(
            limit=limit,
            user_id=user,
            all_users=all_users,
            agent_id=agent,
            session_id=session,
            granularity=granularity,
        )
    if output != "table":
        print_data(output, [chunk.as_dict() for chunk in chunks])
    elif not chunks:
        console().print("Nothing is stored here yet.")
    else:
        _print_chunks(chunks)


def list_chunks(
    ctx: typer.Context,
    *,
    user: User = None,
    all_users: AllUsers = False,
    agent: Agent = None,
    session_ids: Sessions = None,
    project: Project = None,
    since: Since = None,
    until: Until = None,
    tags: Tags = None,
    kinds: Kinds = None,
    metadata: Metadata = None,
    status: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STATUS",
            autocompletion=complete_from(STATUSES),
            help="active, archived or deleted (forgotten); repeatable; default: active",
        ),
    ] = None,
    granularity: Annotated[
        Granularity, typer.Option("--granularity", "-g", help="exchanges, or whole sessions")
    ] = "turn",
    order: Annotated[
        Literal["newest", "oldest"], typer.Option(help="which come first, by event time")
    ] = "newest",
    limit: _Limit = 50,
    cursor: _Cursor = None,
    output: Output = "table",
) -> None:
    """List memories by the time they are about, page by page.

    \b
      memsense list --user ines --tag work --since 2025-03-01
      memsense list --all-users --status archived --order oldest -n 200 --json

    JSON has the page's items and its next_cursor, which --cursor takes.
    """
    check_user_scope(user, all_users=all_users)
    with target_of(ctx).open() as memory:
        page = memory.list(
            user_id=user,
            all_users=all_users,
            agent_id=agent,
            session_ids=session_ids or None,
            project=project,
            since=since,
            until=until,
            tags=tags or None,
            kinds=read_choices(kinds or (), KINDS, "kind", option="--kind") or None,
            metadata=None if metadata is None else read_object(metadata, option="--metadata"),
            granularity=granularity,
            statuses=read_choices(status or ["active"], STATUSES, "status", option="--status"),
            order=order,
            limit=limit,
            cursor=cursor,
        )
    if output != "table":
        _print_page(output, page, [chunk.as_dict() for chunk in page])
    elif not page:
        console().print("Nothing here matches.")
    else:
        _print_chunks(page)
        _print_next_cursor(page)


def sessions(
    ctx: typer.Context,
    *,
    user: User = None,
    all_users: AllUsers = False,
    agent: Agent = None,
    project: Project = None,
    since: Since = None,
    until: Until = None,
    tags: Tags = None,
    kinds: Kinds = None,
    limit: _Limit = 50,
    cursor: _Cursor = None,
    output: Output = "table",
) -> None:
    """List sessions, the one that was last talked in first, page by page.

    \b
      memsense sessions --user ines
      memsense sessions --all-users --since 2025-03-01 --tag work --json
    """
    check_user_scope(user, all_users=all_users)
    with target_of(ctx).open() as memory:
        page = memory.sessions(
            user_id=user,
            all_users=all_users,
            agent_id=agent,
            project=project,
            since=since,
            until=until,
            tags=tags or None,
            kinds=read_choices(kinds or (), KINDS, "kind", option="--kind") or None,
            limit=limit,
            cursor=cursor,
        )
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
    print_data(output, {"items": items, "next_cursor": page.next_cursor}, items)


def _print_next_cursor(page: Page[Any]) -> None:
    if page.next_cursor is not None:
        # Not wrapped, so that it can be copied from a narrow terminal.
        console().print(f"More: --cursor {page.next_cursor}", soft_wrap=True)
