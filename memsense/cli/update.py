"""The command that changes a memory."""

import json
from typing import Annotated, Any

import typer

from memsense.cli.options import ChunkId, ExpiresAt, Output, Reason, Ttl
from memsense.cli.output import print_data
from memsense.cli.target import target_of


def update(
    ctx: typer.Context,
    chunk: ChunkId,
    *,
    user_text: Annotated[
        str | None, typer.Option("--user-text", metavar="TEXT", help="what the user said instead")
    ] = None,
    assistant_text: Annotated[
        str | None,
        typer.Option("--assistant-text", metavar="TEXT", help="what was answered instead"),
    ] = None,
    facets: Annotated[
        list[str] | None,
        typer.Option(
            "--facet",
            metavar="NAME=TEXT",
            help="personal_info, preferences or events; empty: none; repeatable",
        ),
    ] = None,
    tags: Annotated[
        list[str] | None,
        typer.Option("--tag", metavar="TAG", help="in place of its tags; repeatable"),
    ] = None,
    metadata: Annotated[
        str | None, typer.Option(metavar="JSON", help="an object in place of its metadata")
    ] = None,
    occurred_at: Annotated[
        str | None, typer.Option("--at", metavar="TIME", help="when it happened, ISO 8601")
    ] = None,
    expires_at: ExpiresAt = None,
    ttl: Ttl = None,
    reason: Reason = None,
    output: Output = "table",
) -> None:
    """Change what an exchange says or what is known of it; only what is given changes.

    \b
      memsense update 42 --assistant-text "Noted: Porto since May." --tag home
      memsense update 42 --facet preferences= --at 2026-05-01

    With 'memsense settings set history=on' beforehand, what it said before is kept.
    """
    sides = {"user": user_text, "assistant": assistant_text}
    texts = {side: text for side, text in sides.items() if text is not None}
    with target_of(ctx).open() as memory:
        found = memory.update(
            chunk,
            content=texts or None,
            facets=_read_facets(facets) if facets else None,
            tags=tags,
            metadata=_read_object(metadata) if metadata is not None else None,
            occurred_at=occurred_at,
            expires_at=expires_at,
            ttl=ttl,
            reason=reason,
        )
    if output != "table":
        print_data(output, found.as_dict())
    else:
        typer.echo(f"chunk {chunk}: updated")


def _read_facets(given: list[str]) -> dict[str, str]:
    pairs = [item.partition("=") for item in given]
    if wrong := [name for name, equals, _ in pairs if not equals]:
        raise typer.BadParameter(f"--facet {wrong[0]}: write NAME=TEXT")
    return {name: text for name, _, text in pairs}


def _read_object(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"--metadata is no JSON: {error}") from error
