"""The commands about single memories: look at them, retire them, rate them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from memsense.cli.asking import check_whose
from memsense.cli.errors import FAILED, one_line
from memsense.cli.options import (
    Agent,
    AllUsers,
    AnyUser,
    ChunkId,
    ChunkIds,
    Output,
    Reason,
    User,
)
from memsense.cli.output import OutputForm, print_data
from memsense.cli.render import add_row, console, plain, shorten, table, when
from memsense.cli.target import target_of
from memsense.errors import NotFoundError
from memsense.types import Chunk, Event, Granularity, ScopeStatistics
from memsense.write.expiry import has_expired

if TYPE_CHECKING:
    from memsense.client.memory import MemSense

EXCERPT = 240


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
    check_whose(user, all_users=all_users)
    with target_of(ctx).open() as memory:
        found = memory.recent(
            limit=limit,
            user_id=user,
            all_users=all_users,
            agent_id=agent,
            session_id=session,
            granularity=granularity,
        )
    if output != "table":
        print_data(output, [chunk.as_dict() for chunk in found])
    elif not found:
        console().print("Nothing is stored here yet.")
    else:
        print_chunks(found)


def print_chunks(chunks: Sequence[Chunk]) -> None:
    """Print a line or two of each chunk."""
    made = table("chunk", "when", "user", "session", "memory", right=("chunk",))
    for chunk in chunks:
        add_row(
            made,
            chunk.chunk_id,
            when(chunk.occurred_at, zone_known=chunk.occurred_zone_known),
            plain(chunk.user_id),
            plain(chunk.session_id),
            "\n".join(shorten(line, EXCERPT) for line in chunk.content.splitlines()[:2]),
        )
    console().print(made)


def show(ctx: typer.Context, chunk: ChunkId, *, output: Output = "table") -> None:
    """Show one memory, whatever its status, with everything known of it.

    \b
      memsense show 42
    """
    with target_of(ctx).open() as memory:
        found = memory.get(chunk)
    if output != "table":
        print_data(output, found.as_dict())
        return
    made = table("field", "value")
    for name, value in _shown_fields(found).items():
        add_row(made, name, plain(str(value)))
    console().print(made)
    console().print(Text(_told_content(found)))


def _told_content(chunk: Chunk) -> str:
    if has_expired(chunk.expires_at):
        return f"Expired at {when(chunk.expires_at)}: what it said is not shown."
    if chunk.status == "deleted":
        return f"Forgotten: what it said is not shown; memsense restore {chunk.chunk_id} undoes it."
    return plain(chunk.content)


def _told_part(chunk: Chunk) -> str:
    return f", part {chunk.part + 1} of {chunk.part_count}" if chunk.part_count > 1 else ""


def _shown_fields(chunk: Chunk) -> Mapping[str, object]:
    """What is worth a line: everything but the texts, and nothing that is empty."""
    exchanges = f"{chunk.ordinal}" + (
        f" to {chunk.last_ordinal}" if chunk.last_ordinal != chunk.ordinal else ""
    )
    fields: dict[str, object] = {
        "chunk": chunk.chunk_id,
        "status": chunk.status,
        "granularity": chunk.granularity,
        "namespace": chunk.namespace,
        "user": chunk.user_id,
        "agent": chunk.agent_id,
        "session": chunk.session_id,
        "exchange": exchanges + _told_part(chunk),
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
    if output != "table":
        print_data(output, [asdict(event) for event in events])
    else:
        _print_history(events)


def _print_history(events: Sequence[Event]) -> None:
    made = table("event", "when", "what", "detail", right=("event",))
    for event in events:
        detail = ", ".join(f"{name}: {value}" for name, value in event.detail.items())
        add_row(made, event.event_id, when(event.recorded_at), event.kind, plain(detail))
    console().print(made)


def stats(ctx: typer.Context, *, user: AnyUser = None, output: Output = "table") -> None:
    """Show what each user's memory in the namespace holds.

    \b
      memsense stats
      memsense --namespace demo stats --json
    """
    with target_of(ctx).open() as memory:
        found = memory.stats(user_id=user)
    if output != "table":
        print_data(output, [asdict(scope) for scope in found])
    elif not found:
        console().print("Nothing is stored here yet.")
    else:
        _print_stats(found)


def _print_stats(scopes: Sequence[ScopeStatistics]) -> None:
    numbers = ("exchanges", "sessions", "session chunks", "inactive", "expiring", "expired")
    made = table("user", *numbers, "from", "to", "language", "model", right=numbers)
    for scope in scopes:
        add_row(
            made,
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
    console().print(made)


def forget(
    ctx: typer.Context, chunks: ChunkIds, *, reason: Reason = None, output: Output = "table"
) -> None:
    """Take memories out of every search; nothing is lost, `restore` brings them back.

    \b
      memsense forget 42 43 --reason "asked to"

    A session's chunk takes its exchanges along. What is said again is stored again.
    """
    _change(
        ctx, chunks, lambda memory, chunk: _changed(memory.forget(chunk, reason=reason)), output
    )


def archive(
    ctx: typer.Context, chunks: ChunkIds, *, reason: Reason = None, output: Output = "table"
) -> None:
    """As `forget`, for what is outdated rather than unwanted.

    \b
      memsense archive 42 --reason "moved since"
    """
    _change(
        ctx, chunks, lambda memory, chunk: _changed(memory.archive(chunk, reason=reason)), output
    )


def restore(
    ctx: typer.Context, chunks: ChunkIds, *, reason: Reason = None, output: Output = "table"
) -> None:
    """Bring forgotten or archived memories back; a session with the exchanges it took along.

    \b
      memsense restore 42
    """
    _change(
        ctx, chunks, lambda memory, chunk: _changed(memory.restore(chunk, reason=reason)), output
    )


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


def feedback(
    ctx: typer.Context,
    chunk: ChunkId,
    *,
    helpful: Annotated[
        bool, typer.Option("--helpful/--unhelpful", help="whether it helped", show_default=False)
    ],
    question: Annotated[str | None, typer.Option(help="the question it was found for")] = None,
    note: Annotated[str | None, typer.Option(help="anything else")] = None,
    output: Output = "table",
) -> None:
    """Record whether a memory helped; it goes into the history and changes no score.

    \b
      memsense feedback 42 --helpful --question "Where does Ines live?"
    """

    def record(memory: "MemSense", chunk_id: int) -> dict[str, Any]:
        memory.feedback(chunk_id, helpful=helpful, question=question, note=note)
        return {"helpful": helpful}

    _change(ctx, [chunk], record, output)


def _changed(chunk_ids: Sequence[int]) -> dict[str, Any]:
    return {"changed": list(chunk_ids)}


def _change(
    ctx: typer.Context,
    chunks: Sequence[int],
    change: Callable[["MemSense", int], dict[str, Any]],
    output: OutputForm,
) -> None:
    """Change each chunk in a transaction of its own; those that aren't there end in exit code 1."""
    done: list[dict[str, Any]] = []
    missing: list[NotFoundError] = []
    with target_of(ctx).open() as memory:
        for chunk in chunks:
            try:
                done.append({"chunk_id": chunk, **change(memory, chunk)})
            except NotFoundError as error:
                missing.append(error)
    if output != "table":
        print_data(output, done)
    else:
        for result in done:
            typer.echo(_told(result))
    for error in missing:
        typer.echo(one_line(error), err=True)
    if missing:
        raise typer.Exit(FAILED)


def _told(result: Mapping[str, Any]) -> str:
    chunk = f"chunk {result['chunk_id']}"
    if "memory_score" in result:
        return f"{chunk}: memory score is now {result['memory_score']:g}"
    if "helpful" in result:
        return f"{chunk}: recorded as {'helpful' if result['helpful'] else 'unhelpful'}"
    changed: Sequence[int] = result["changed"]
    return f"{chunk}: changed {', '.join(map(str, changed)) or 'nothing'}"
