"""Commands about single memories: add, show, change and rate them, take them out of searches."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from memsense.cli.exits import FAILED, one_line
from memsense.cli.options import ChunkId, ChunkIds, Output, Selection, help_of, options_of
from memsense.cli.output import OutputForm, print_data
from memsense.cli.render import add_row, console, plain, shorten, table, when
from memsense.cli.target import target_of
from memsense.draft.expiry import has_expired
from memsense.errors import NotFoundError
from memsense.types import Chunk

if TYPE_CHECKING:
    from memsense.client.memory import MemSense

EXCERPT = 240
MOST_DAYS = 36_500


STDIN = "-"


@options_of("add", leave_out={"messages", "mode", "facets", "key"})
def add(
    ctx: typer.Context,
    text: Annotated[str, typer.Argument(metavar="TEXT")],
    *,
    user_id: Annotated[
        str, typer.Option("--user", "-u", metavar="NAME", help=help_of("add", "user_id"))
    ],
    answer: Annotated[str | None, typer.Option(metavar="TEXT")] = None,
    at: Annotated[str | None, typer.Option(metavar="TIME")] = None,
    selection: Selection,
    output: Output = "table",
) -> None:
    """Store what a user said; `ingest` stores whole logs.

    \b
      memsense add "I like tea" --user ada
      memsense add "Which train to Porto?" --answer "The 10:40." -u ada --session trip

    Args:
        text: What the user said, or - to read it from stdin.
        answer: What was answered to it.
        at: When it was said, ISO 8601. Default: now.
    """
    question = sys.stdin.read() if text == STDIN else text
    if not question.strip():
        raise typer.BadParameter("is empty: write what was said", param_hint="TEXT")
    messages = [
        {"role": role, "content": content, "at": at}
        for role, content in (("user", question), ("assistant", answer))
        if content
    ]
    with target_of(ctx).open() as memory:
        added = memory.add(messages, user_id=user_id, **selection)
    if not print_data(output, [chunk.as_dict() for chunk in added]):
        for chunk in added:
            place = plain(f"in session {chunk.session_id} of {chunk.user_id}")
            typer.echo(f"chunk {chunk.chunk_id}: {place}")
    for note in added.notes:
        typer.echo(f"memsense: {note}", err=True)


def show(ctx: typer.Context, chunk: ChunkId, *, output: Output = "table") -> None:
    """Show one memory with all of its fields. Its status may be any.

    \b
      memsense show 42
    """
    with target_of(ctx).open() as memory:
        item = memory.get(chunk)
    if print_data(output, item.as_dict()):
        return
    fields = table("field", "value")
    for name, value in _shown_fields(item).items():
        add_row(fields, name, plain(str(value)))
    console().print(fields)
    if has_expired(item.expires_at, datetime.now(UTC)):
        text = f"Expired at {when(item.expires_at)}: its text is not shown."
    elif item.status == "deleted":
        text = f"Forgotten: its text is not shown. To undo: memsense restore {item.chunk_id}"
    else:
        text = plain(item.content)
    console().print(Text(text))


def _shown_fields(chunk: Chunk) -> Mapping[str, object]:
    """Return the fields to show: all but the texts and those that are empty."""
    ordinals = f"{chunk.ordinal}"
    if chunk.last_ordinal != chunk.ordinal:
        ordinals += f" to {chunk.last_ordinal}"
    if chunk.part_count > 1:
        ordinals += f", part {chunk.part + 1} of {chunk.part_count}"
    fields: dict[str, object] = {
        "chunk": chunk.chunk_id,
        "status": chunk.status,
        "granularity": chunk.granularity,
        "namespace": chunk.namespace,
        "user": chunk.user_id,
        "agent": chunk.agent_id,
        "session": chunk.session_id,
        "project": chunk.project,
        "exchange": ordinals,
        "occurred at": when(chunk.occurred_at, zone_known=chunk.occurred_zone_known),
        "recorded at": when(chunk.recorded_at),
        "expires at": when(chunk.expires_at) if chunk.expires_at else None,
        "messages": ", ".join(chunk.message_ids),
        "source": chunk.source,
        "kind": chunk.memory_kind,
        "memory score": f"{chunk.memory_score:g}",
        "confidence": f"{chunk.confidence:g}",
        "task tag": chunk.task_tag,
        "tags": ", ".join(chunk.tags),
        "personal info": chunk.personal_info,
        "preferences": chunk.preferences,
        "events": chunk.events,
        "found by rules": ", ".join(str(span["rule"]) for span in chunk.facet_spans),
        "said next": shorten(chunk.next_user_text or "", EXCERPT),
        "metadata": dict(chunk.metadata) or None,
    }
    return {name: value for name, value in fields.items() if value not in (None, "")}


def history(ctx: typer.Context, chunk: ChunkId, *, output: Output = "table") -> None:
    """Show everything that happened to a memory, oldest first.

    \b
      memsense history 42
    """
    with target_of(ctx).open() as memory:
        events = memory.history(chunk)
    if print_data(output, [asdict(event) for event in events]):
        return
    rows = table("event", "when", "what", "who", "detail", right=("event",))
    for event in events:
        detail = ", ".join(f"{name}: {value}" for name, value in event.detail.items())
        add_row(
            rows,
            event.event_id,
            when(event.recorded_at),
            event.kind,
            plain(event.actor or ""),
            plain(detail),
        )
    console().print(rows)


@options_of("stats")
def stats(
    ctx: typer.Context,
    *,
    selection: Selection,
    searches: Annotated[int | None, typer.Option(metavar="DAYS", min=1, max=MOST_DAYS)] = None,
    output: Output = "table",
) -> None:
    """Show statistics of each user's memory in the namespace, or of searches.

    \b
      memsense stats
      memsense stats --searches 7
      memsense --namespace demo stats --json

    Args:
        searches: Show the tenant's searches of so many days instead, recorded or not.
    """
    if searches is not None:
        _show_searches(ctx, searches, output)
        return
    with target_of(ctx).open() as memory:
        scopes = memory.stats(**selection)
    if print_data(output, [asdict(scope) for scope in scopes]):
        return
    if not scopes:
        console().print("Nothing is stored here yet.")
        return
    numbers = ("exchanges", "sessions", "session chunks", "inactive", "expiring", "expired")
    rows = table("user", *numbers, "from", "to", "language", "model", right=numbers)
    for scope in scopes:
        add_row(
            rows,
            plain(scope.user_id),
            scope.turns,
            scope.sessions,
            scope.session_chunks,
            scope.inactive,
            scope.expiring,
            scope.expired,
            when(scope.first_at, zone_known=False),
            when(scope.last_at, zone_known=False),
            scope.language,
            scope.model or "-",
        )
    console().print(rows)


def _show_searches(ctx: typer.Context, days: int, output: OutputForm) -> None:
    with target_of(ctx).open() as memory:
        statistics = memory.statistics(since=datetime.now(UTC) - timedelta(days=days))
    if print_data(output, asdict(statistics)):
        return
    if not statistics.total.searches:
        console().print("Nothing was searched for in this time.")
        return
    numbers = ("searches", "empty", "failed", "mean ms", "p50 ms", "p95 ms", "p99 ms")
    rows = table("time", *numbers, right=numbers)
    for item in (*(it for it in statistics.periods if it.searches), statistics.total):
        counts = (item.searches, item.empty, item.failed)
        times = (item.mean_ms, item.p50_ms, item.p95_ms, item.p99_ms)
        label = "total" if item is statistics.total else when(item.at)
        add_row(rows, label, *counts, *("-" if ms is None else f"{ms:.0f}" for ms in times))
    console().print(rows)
    rows = table("slowest", "ms", "characters", "profile", "filters", right=("ms", "characters"))
    for slow in statistics.slowest:
        filters = ", ".join(slow.filters)
        add_row(rows, when(slow.asked_at), f"{slow.ms:.0f}", slow.length, slow.profile, filters)
    console().print(rows)


@options_of("update", leave_out={"content", "if_version", "key"})
def update(
    ctx: typer.Context,
    chunk: ChunkId,
    *,
    user_text: Annotated[str | None, typer.Option(metavar="TEXT")] = None,
    assistant_text: Annotated[str | None, typer.Option(metavar="TEXT")] = None,
    facets: Annotated[list[str] | None, typer.Option("--facet", metavar="NAME=TEXT")] = None,
    selection: Selection,
    output: Output = "table",
) -> None:
    """Change a memory's text, facets, tags, metadata or times; the rest stays as it is.

    \b
      memsense update 42 --assistant-text "Noted: Porto since May." --tag home
      memsense update 42 --facet preferences= --at 2026-05-01

    To keep the old text, run 'memsense settings set history=on' beforehand.

    Args:
        user_text: New text of the user's side.
        assistant_text: New text of the answer.
        facets: New text of personal_info, preferences or events, such as 'preferences=likes tea';
            an empty text clears it. Repeatable.
    """
    sides = {"user": user_text, "assistant": assistant_text}
    texts = {side: text for side, text in sides.items() if text is not None}
    with target_of(ctx).open() as memory:
        updated = memory.update(
            chunk,
            content=texts or None,
            facets=_read_facets(facets) if facets else None,
            **selection,
        )
    if not print_data(output, updated.as_dict()):
        typer.echo(f"chunk {chunk}: updated")


def _read_facets(assignments: list[str]) -> dict[str, str]:
    pairs = [assignment.partition("=") for assignment in assignments]
    for name, equals, _ in pairs:
        if not equals:
            raise typer.BadParameter(
                f"{name!r} has no '='; write NAME=TEXT, such as preferences=tea",
                param_hint="--facet",
            )
    return {name: text for name, _, text in pairs}


@options_of("forget", leave_out={"key"})
def forget(
    ctx: typer.Context, chunks: ChunkIds, *, selection: Selection, output: Output = "table"
) -> None:
    """Take memories out of every search; nothing is deleted, `restore` brings them back.

    \b
      memsense forget 42 43 --reason "asked to"

    A session's chunk takes its exchanges along. A text that is added again is stored again.
    """
    _change(ctx, chunks, lambda memory, chunk: memory.forget(chunk, **selection), output)


@options_of("archive", leave_out={"key"})
def archive(
    ctx: typer.Context, chunks: ChunkIds, *, selection: Selection, output: Output = "table"
) -> None:
    """Take outdated memories out of every search; unlike forgotten ones they are still shown.

    \b
      memsense archive 42 --reason "moved since"
    """
    _change(ctx, chunks, lambda memory, chunk: memory.archive(chunk, **selection), output)


@options_of("restore", leave_out={"key"})
def restore(
    ctx: typer.Context, chunks: ChunkIds, *, selection: Selection, output: Output = "table"
) -> None:
    """Bring forgotten or archived memories back.

    \b
      memsense restore 42

    A session's chunk brings back the exchanges that it took along.
    """
    _change(ctx, chunks, lambda memory, chunk: memory.restore(chunk, **selection), output)


def promote(ctx: typer.Context, chunks: ChunkIds, *, output: Output = "table") -> None:
    """Raise the memory score of chunks by 0.15, at most to 1.

    \b
      memsense promote 42
    """
    _change(ctx, chunks, lambda memory, chunk: {"memory_score": memory.promote(chunk)}, output)


def demote(ctx: typer.Context, chunks: ChunkIds, *, output: Output = "table") -> None:
    """Lower the memory score of chunks by 0.15, at least to 0.

    \b
      memsense demote 42
    """
    _change(ctx, chunks, lambda memory, chunk: {"memory_score": memory.demote(chunk)}, output)


@options_of("feedback", leave_out={"key"})
def feedback(
    ctx: typer.Context,
    chunk: ChunkId,
    *,
    helpful: Annotated[
        bool,
        typer.Option(
            "--helpful/--unhelpful", help=help_of("feedback", "helpful"), show_default=False
        ),
    ],
    selection: Selection,
    output: Output = "table",
) -> None:
    """Record whether a memory helped; this goes into its history and changes no score.

    \b
      memsense feedback 42 --helpful --question "Where does Ines live?"
    """

    def record(memory: "MemSense", chunk_id: int) -> dict[str, Any]:
        memory.feedback(chunk_id, helpful=helpful, **selection)
        return {"helpful": helpful}

    _change(ctx, [chunk], record, output)


def _change(
    ctx: typer.Context,
    chunks: Sequence[int],
    change: Callable[["MemSense", int], dict[str, Any] | Sequence[int]],
    output: OutputForm,
) -> None:
    """Change each chunk in a transaction of its own; exit with 1 if some don't exist.

    `change` returns the fields to print, or the ids of the chunks that it changed.
    """
    changes: list[dict[str, Any]] = []
    missing: list[NotFoundError] = []
    with target_of(ctx).open() as memory:
        for chunk in chunks:
            try:
                result = change(memory, chunk)
                fields = result if isinstance(result, dict) else {"changed": list(result)}
                changes.append({"chunk_id": chunk, **fields})
            except NotFoundError as error:
                # The others are changed all the same; a script sees the exit code.
                missing.append(error)
    if not print_data(output, changes):
        for item in changes:
            typer.echo(f"chunk {item['chunk_id']}: {_describe_change(item)}")
    for error in missing:
        typer.echo(one_line(error), err=True)
    if missing:
        raise typer.Exit(FAILED)


def _describe_change(change: Mapping[str, Any]) -> str:
    if "memory_score" in change:
        return f"memory score is now {change['memory_score']:g}"
    if "helpful" in change:
        return f"recorded as {'helpful' if change['helpful'] else 'unhelpful'}"
    # A session takes its exchanges along, and a part of an exchange the other parts.
    return f"changed {', '.join(map(str, change['changed'])) or 'nothing'}"
