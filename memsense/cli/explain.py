"""The commands that explain: why not this one, what if, what was recorded, is the store well."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer
from rich.text import Text

from memsense.cli.app import new_app
from memsense.cli.asking import check_whose, read_selection
from memsense.cli.options import (
    Agent,
    AllUsers,
    AnyUser,
    AsJson,
    AskedAt,
    Changes,
    ChunkId,
    Exclude,
    Granular,
    Kinds,
    Metadata,
    MinScore,
    Output,
    ProfileName,
    Project,
    Sessions,
    Since,
    Tags,
    TopK,
    Until,
    User,
    Without,
)
from memsense.cli.output import print_data
from memsense.cli.ranking import read_overrides
from memsense.cli.render import add_row, console, plain, print_json, shorten, table, when
from memsense.cli.render_explain import (
    as_html,
    as_markdown,
    build_page,
    print_page,
)
from memsense.cli.target import Target, check_profile, target_of
from memsense.errors import NotFoundError
from memsense.search.request import DEFAULT_TOP_K
from memsense.write.expiry import has_expired

if TYPE_CHECKING:
    from memsense.client.memory import MemSense
    from memsense.doctor.findings import Report
    from memsense.explain.replay import Comparison, Replay
    from memsense.store.traces import Trace

TraceId = Annotated[str, typer.Argument(metavar="TRACE", help="a trace's id, as searches show it")]
Format = Annotated[
    Literal["text", "markdown", "json", "html"],
    typer.Option("--format", "-f", help="for a terminal, a document, a program or a browser"),
]
_STYLES = {"error": "bold red", "warning": "yellow", "info": "dim"}


def why_not(
    ctx: typer.Context,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="the question asked")],
    chunk_id: ChunkId,
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
    exclude: Exclude = None,
    top_k: TopK = DEFAULT_TOP_K,
    granularity: Granular = None,
    min_score: MinScore = None,
    asked_at: AskedAt = None,
    profile: ProfileName = None,
    changes: Changes = None,
    without: Without = None,
    output: Output = "table",
) -> None:
    """Say why a question does not return a memory: the first step that lost it, with its numbers.

    \b
      memsense why-not "What is Ines allergic to?" 42 --user ines
      memsense why-not "tea or coffee" 42 --all-users --since 2025-03-01 --profile lexical --json
    """
    target = target_of(ctx)
    check_whose(user, all_users=all_users)
    selection = read_selection(kinds, metadata, exclude)
    overrides = read_overrides(changes or (), without or ())
    with target.open(for_few=True) as memory:
        check_profile(memory, profile)
        verdict = memory.why_not(
            question,
            chunk_id,
            top_k=top_k,
            user_id=user,
            all_users=all_users,
            agent_id=agent,
            session_ids=session_ids or None,
            project=project,
            since=since,
            until=until,
            granularity=granularity,
            min_score=min_score,
            tags=tags or None,
            **selection,
            asked_at=asked_at,
            profile=profile,
            overrides=overrides,
        )
    if output != "table":
        print_data(output, verdict.as_dict())
        return
    to = console()
    to.print(Text(f"Chunk {verdict.chunk_id}: {plain(verdict.text)}.", style="bold"))
    for name, value in verdict.numbers.items():
        to.print(Text(f"  {name}: {_number(value)}", style="dim"))


def _number(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.5f}"
    if isinstance(value, Mapping):
        found = cast("Mapping[str, object]", value)
        return ", ".join(f"{name} {_number(item)}" for name, item in found.items()) or "none"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(_number(item) for item in cast("Sequence[object]", value))
    return "none" if value is None else str(value)


def replay(
    ctx: typer.Context,
    trace_id: TraceId,
    *,
    profile: ProfileName = None,
    changes: Changes = None,
    without: Without = None,
    as_of_then: Annotated[
        bool,
        typer.Option("--as-of-then", help="over memory as it stood when it was recorded"),
    ] = False,
    output: Output = "table",
) -> None:
    """Run a recorded search again, as it was or with other constants; show what moved and why.

    \b
      memsense replay 0b4c… --profile lexical
      memsense replay 0b4c… --set lexical=1.5 --without facet_events
      memsense replay 0b4c… --as-of-then
    """
    overrides = read_overrides(changes or (), without or ())
    with target_of(ctx).open(for_few=True) as memory:
        check_profile(memory, profile)
        found = memory.traces.replay(trace_id, profile=profile, as_of_then=as_of_then, **overrides)
    if output != "table":
        fields = found.as_dict()
        print_data(output, fields, fields["moves"])
    else:
        _print_replay(found)


def _print_replay(found: "Replay") -> None:
    to = console()
    to.print(Text(plain(found.question), style="bold"))
    changed = ", ".join(f"{name} {old} -> {new}" for name, (old, new) in found.changed.items())
    to.print(Text(f"  changed: {changed or 'nothing'}", style="dim"))
    made = table("now", "before", "chunk", "score", "was", "why", right=("now", "before", "score"))
    for move in found.moves:
        add_row(
            made,
            move.new_rank or "-",
            move.old_rank or "-",
            move.chunk_id,
            "" if move.new_score is None else f"{move.new_score:.4f}",
            "" if move.old_score is None else f"{move.old_score:.4f}",
            move.why,
            style=None if move.new_rank else "dim",
        )
    to.print(made)
    told = "the same list" if found.is_unchanged else f"{100 * found.overlap:.0f}% of it is kept"
    to.print(f"{told}: {found.old_profile} -> {found.new_profile}")
    for note in found.notes:
        to.print(Text(f"note: {plain(note)}", style="yellow"))


def compare(
    ctx: typer.Context,
    *,
    count: Annotated[int, typer.Option("--count", "-n", metavar="N", help="how many traces")] = 20,
    user: AnyUser = None,
    profile: ProfileName = None,
    changes: Changes = None,
    without: Without = None,
    output: Output = "table",
) -> None:
    """Run the last recorded searches again with other constants; show how the lists change.

    \b
      memsense compare -n 50 --profile semantic
    """
    overrides = read_overrides(changes or (), without or ())
    with target_of(ctx).open() as memory:
        check_profile(memory, profile)
        found = memory.traces.compare(count, profile=profile, user_id=user, **overrides)
    if output != "table":
        fields = found.as_dict()
        print_data(output, fields, fields["replays"])
    else:
        _print_comparison(found)


def _print_comparison(found: "Comparison") -> None:
    to = console()
    if not found.replays:
        to.print("No traces: record searches with 'memsense search --trace'.")
        return
    made = table("kept", "first hit", "question", "trace", right=("kept",))
    for item in found.replays:
        first = [hits[0].chunk_id if hits else "-" for hits in (item.old, item.new)]
        told = f"{first[0]}" if first[0] == first[1] else f"{first[0]} -> {first[1]}"
        add_row(made, f"{100 * item.overlap:.0f}%", told, shorten(item.question, 60), item.trace_id)
    to.print(made)
    to.print(
        f"{len(found.replays)} traces: {found.unchanged} unchanged, {found.same_first} with the"
        f" same first hit, {100 * found.mean_overlap:.0f}% of the hits kept"
    )


trace = new_app(no_args_is_help=True, help="Look at recorded searches; delete old ones.")


@trace.command("list")
def list_traces(
    ctx: typer.Context,
    *,
    limit: Annotated[int, typer.Option("--limit", "-n", help="how many at most")] = 20,
    user: AnyUser = None,
    output: Output = "table",
) -> None:
    """List recorded searches, the latest first."""
    with target_of(ctx).open() as memory:
        found = memory.traces.list(limit=limit, user_id=user)
    if output != "table":
        names = found[0].__slots__ if found else ()
        print_data(
            output,
            [
                {**{name: getattr(item, name) for name in names}, "trace_id": str(item.trace_id)}
                for item in found
            ],
        )
        return
    if not found:
        console().print("No traces: record searches with 'memsense search --trace'.")
        return
    made = table("when", "ms", "hits", "of", "question", "trace", right=("ms", "hits"))
    for item in found:
        add_row(
            made,
            when(item.recorded_at),
            f"{item.total_ms:.0f}",
            f"{item.hit_count}/{item.candidate_count}",
            item.user_id or "everybody",
            shorten(item.question, 60),
            item.trace_id,
        )
    console().print(made)


@trace.command("show")
def show_trace(
    ctx: typer.Context, trace_id: TraceId, *, output: Format = "text", as_json: AsJson = False
) -> None:
    """Show a recorded search: each hit's arithmetic, and why the others are no hits.

    \b
      memsense trace show 0b4c… --format html > why.html
    """
    with target_of(ctx).open() as memory:
        found = memory.traces.get(trace_id)
        texts = _texts_of(memory, found)
    if as_json or output == "json":
        print_json(found.as_dict())
        return
    page = build_page(found, texts)
    if output == "text":
        print_page(console(), page)
    else:
        typer.echo((as_html if output == "html" else as_markdown)(page), nl=False)


def _texts_of(memory: "MemSense", found: "Trace") -> dict[int, str]:
    texts: dict[int, str] = {}
    for hit in found.hits():
        shown = hit.shown_chunk_id or hit.chunk_id
        try:
            chunk = memory.get(shown)
            has_gone = chunk.expires_at if has_expired(chunk.expires_at) else None
            texts[shown] = f"expired at {when(has_gone)}" if has_gone else chunk.content
        except NotFoundError:
            texts[shown] = "this chunk is gone"
    return texts


@trace.command("prune")
def prune_traces(
    ctx: typer.Context,
    *,
    days: Annotated[
        float | None, typer.Option(min=0, help="older than this; default: MEMSENSE_TRACE_DAYS")
    ] = None,
) -> None:
    """Delete old traces."""
    with target_of(ctx).open() as memory:
        count = memory.traces.prune(days)
    console().print(f"{count} {'trace' if count == 1 else 'traces'} deleted.")


def doctor(
    ctx: typer.Context,
    *,
    repair: Annotated[
        bool, typer.Option("--repair", help="recount statistics, clear what retired chunks left")
    ] = False,
    output: Output = "table",
) -> None:
    """Examine the database: versions, settings, indexes, vectors, statistics, query plans.

    The exit code is 0 for a healthy one, 1 with warnings, 2 with errors.

    \b
      memsense doctor --repair
    """
    report = _examine(target_of(ctx), repair=repair)
    if output != "table":
        fields = report.as_dict()
        print_data(output, fields, fields["findings"])
    else:
        _print_report(report)
    if report.exit_code:
        raise typer.Exit(report.exit_code)


def _examine(target: Target, *, repair: bool) -> "Report":
    settings = target.settings()
    checkup = import_module("memsense.doctor.checkup")
    with target.database() as url:
        return checkup.check_up(url, settings=settings, repair=repair)


def _print_report(report: "Report") -> None:
    to = console()
    made = table("", "check", "found", "remedy")
    for item in report.findings:
        severity = Text(item.severity, style=_STYLES[item.severity])
        add_row(made, severity, item.check, plain(item.text), plain(item.remedy))
    to.print(made)
    problems = report.problems()
    to.print(f"{len(problems)} problems found." if problems else "The database is healthy.")
