"""Commands that explain searches: why a memory is no hit, and recorded searches run again."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer
from rich.text import Text

from memsense.cli.app import new_app
from memsense.cli.options import AsJson, ChunkId, Output, Question, Selection, options_of
from memsense.cli.output import print_data
from memsense.cli.render import add_row, console, plain, print_json, shorten, table, when
from memsense.cli.target import check_profile, target_of
from memsense.draft.expiry import has_expired
from memsense.errors import NotFoundError

if TYPE_CHECKING:
    from memsense.client.memory import MemSense
    from memsense.store.traces import Trace

NO_TRACES = "No traces: record searches with 'memsense search --trace'."

TraceId = Annotated[
    str, typer.Argument(metavar="TRACE", help="Id of a recorded search, as searches show it.")
]
Format = Annotated[
    Literal["text", "markdown", "json", "html"],
    typer.Option(
        "--format", "-f", help="Format for a terminal, a document, a program or a browser."
    ),
]


@options_of("why_not")
def why_not(
    ctx: typer.Context,
    question: Question,
    chunk_id: ChunkId,
    *,
    selection: Selection,
    output: Output = "table",
) -> None:
    """Say why a question does not return a memory: the step that dropped it, with its numbers.

    \b
      memsense why-not "What is Ines allergic to?" 42 --user ines
      memsense why-not "tea or coffee" 42 --all-users --since 2025-03-01 --profile lexical --json
    """
    with target_of(ctx).open() as memory:
        check_profile(memory, selection.get("profile"))
        verdict = memory.why_not(question, chunk_id, **selection)
    if print_data(output, verdict.as_dict()):
        return
    to = console()
    to.print(Text(f"Chunk {verdict.chunk_id}: {plain(verdict.text)}.", style="bold"))
    for name, value in verdict.numbers.items():
        to.print(Text(f"  {name}: {_format_value(value)}", style="dim"))


def _format_value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.5f}"
    if isinstance(value, Mapping):
        items = cast("Mapping[str, object]", value).items()
        return ", ".join(f"{name} {_format_value(item)}" for name, item in items) or "none"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(_format_value, cast("Sequence[object]", value)))
    return "none" if value is None else str(value)


@options_of("traces.replay")
def replay(
    ctx: typer.Context, trace_id: TraceId, *, selection: Selection, output: Output = "table"
) -> None:
    """Run a recorded search again, unchanged or with other constants; show what moved and why.

    \b
      memsense replay 0b4c… --profile lexical
      memsense replay 0b4c… --set lexical=1.5 --without facet_events
      memsense replay 0b4c… --as-of-then
    """
    with target_of(ctx).open() as memory:
        check_profile(memory, selection.get("profile"))
        result = memory.traces.replay(trace_id, **selection)
    if output != "table":
        fields = result.as_dict()
        print_data(output, fields, fields["moves"])
        return
    to = console()
    to.print(Text(plain(result.question), style="bold"))
    constants = ", ".join(f"{name} {old} -> {new}" for name, (old, new) in result.changed.items())
    to.print(Text(f"  changed: {constants or 'nothing'}", style="dim"))
    rows = table("now", "before", "chunk", "score", "was", "why", right=("now", "before", "score"))
    for move in result.moves:
        add_row(
            rows,
            move.new_rank or "-",
            move.old_rank or "-",
            move.chunk_id,
            "" if move.new_score is None else f"{move.new_score:.4f}",
            "" if move.old_score is None else f"{move.old_score:.4f}",
            move.why,
            style=None if move.new_rank else "dim",
        )
    to.print(rows)
    overlap = f"{100 * result.overlap:.0f}% of it is kept"
    summary = "the same list" if result.is_unchanged else overlap
    to.print(f"{summary}: {result.old_profile} -> {result.new_profile}")
    for note in result.notes:
        to.print(Text(f"note: {plain(note)}", style="yellow"))


@options_of("traces.compare")
def compare(ctx: typer.Context, *, selection: Selection, output: Output = "table") -> None:
    """Run the latest recorded searches again with other constants; show how their hits change.

    \b
      memsense compare -n 50 --profile semantic
    """
    with target_of(ctx).open() as memory:
        check_profile(memory, selection.get("profile"))
        comparison = memory.traces.compare(**selection)
    if output != "table":
        fields = comparison.as_dict()
        print_data(output, fields, fields["replays"])
        return
    to = console()
    if not comparison.replays:
        to.print(NO_TRACES)
        return
    rows = table("kept", "first hit", "question", "trace", right=("kept",))
    for item in comparison.replays:
        old, new = (hits[0].chunk_id if hits else "-" for hits in (item.old, item.new))
        first = f"{old}" if old == new else f"{old} -> {new}"
        overlap = f"{100 * item.overlap:.0f}%"
        add_row(rows, overlap, first, shorten(item.question, 60), item.trace_id)
    to.print(rows)
    to.print(
        f"{len(comparison.replays)} traces: {comparison.unchanged} unchanged,"
        f" {comparison.same_first} with the same first hit,"
        f" {100 * comparison.mean_overlap:.0f}% of the hits kept"
    )


trace = new_app(no_args_is_help=True, help="List and show recorded searches; delete old ones.")


@trace.command("list")
@options_of("traces.list", leave_out={"cursor"})
def list_traces(ctx: typer.Context, *, selection: Selection, output: Output = "table") -> None:
    """List recorded searches, the latest first.

    \b
      memsense trace list --user ada
    """
    with target_of(ctx).open() as memory:
        traces = memory.traces.list(**selection)
    if output != "table":
        items = [{**asdict(item), "trace_id": str(item.trace_id)} for item in traces]
        print_data(output, items)
        return
    if not traces:
        console().print(NO_TRACES)
        return
    rows = table("when", "ms", "hits", "of", "question", "trace", right=("ms", "hits"))
    for item in traces:
        add_row(
            rows,
            when(item.recorded_at),
            f"{item.total_ms:.0f}",
            f"{item.hit_count}/{item.candidate_count}",
            item.user_id or "everybody",
            shorten(item.question, 60),
            item.trace_id,
        )
    console().print(rows)


@trace.command("show")
def show_trace(
    ctx: typer.Context, trace_id: TraceId, *, output: Format = "text", as_json: AsJson = False
) -> None:
    """Show a recorded search: the arithmetic of each hit, and why other candidates are no hits.

    \b
      memsense trace show 0b4c… --format html > why.html
    """
    # Not at the top: it imports numpy, which `why-not --help` does without.
    from memsense.cli.render_explain import as_html, as_markdown, build_page, print_page

    with target_of(ctx).open() as memory:
        recorded = memory.traces.get(trace_id)
        texts = _read_texts(memory, recorded)
    if as_json or output == "json":
        print_json(recorded.as_dict())
        return
    page = build_page(recorded, texts)
    if output == "text":
        print_page(console(), page)
    else:
        typer.echo((as_html if output == "html" else as_markdown)(page), nl=False)


def _read_texts(memory: "MemSense", recorded: "Trace") -> dict[int, str]:
    """Return the text of each hit's chunk, by its id."""
    texts: dict[int, str] = {}
    for hit in recorded.hits():
        # A trace holds ids alone; an expired or erased text is not shown.
        chunk_id = hit.shown_chunk_id or hit.chunk_id
        try:
            chunk = memory.get(chunk_id)
            is_expired = has_expired(chunk.expires_at, datetime.now(UTC))
            texts[chunk_id] = (
                f"expired at {when(chunk.expires_at)}" if is_expired else chunk.content
            )
        except NotFoundError:
            texts[chunk_id] = "this chunk is gone"
    return texts


@trace.command("prune")
def prune_traces(
    ctx: typer.Context, *, days: Annotated[float | None, typer.Option(min=0, metavar="DAYS")] = None
) -> None:
    """Delete old recorded searches.

    \b
      memsense trace prune --days 30

    Args:
        days: Delete traces older than this many days. Default: MEMSENSE_TRACE_DAYS.
    """
    with target_of(ctx).open() as memory:
        count = memory.traces.prune(days)
    console().print(f"{count} {'trace' if count == 1 else 'traces'} deleted.")
