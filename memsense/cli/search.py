"""`memsense search`: a question in, explained hits out, a block each."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from memsense.cli.asking import check_whose, read_selection
from memsense.cli.options import (
    Agent,
    AllUsers,
    AskedAt,
    AsOf,
    Changes,
    ContentBudget,
    Exclude,
    Granular,
    Kinds,
    Metadata,
    MinScore,
    Output,
    ProfileName,
    Project,
    Prompt,
    PromptForm,
    Sessions,
    Since,
    Tags,
    TopK,
    Until,
    User,
    Without,
)
from memsense.cli.output import OutputForm, print_data
from memsense.cli.ranking import read_overrides
from memsense.cli.render import console, excerpt, plain, print_json, shorten, when
from memsense.cli.target import check_profile, target_of
from memsense.search.explanation import arithmetic_table, score_text
from memsense.search.request import DEFAULT_CONTENT_BUDGET, DEFAULT_TOP_K

if TYPE_CHECKING:
    from memsense.search.hits import Hit, SearchResult
    from memsense.search.prompt import PromptFormat

EXCERPT = 320
NEIGHBOR_EXCERPT = 100
INDENT = 3


def search(
    ctx: typer.Context,
    question: Annotated[
        str, typer.Argument(metavar="QUESTION", help="the question, in plain words")
    ],
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
    content_budget: ContentBudget = DEFAULT_CONTENT_BUDGET,
    prompt: Prompt = None,
    prompt_format: PromptForm = "markdown",
    asked_at: AskedAt = None,
    as_of: AsOf = None,
    profile: ProfileName = None,
    changes: Changes = None,
    without: Without = None,
    explain: Annotated[
        bool, typer.Option("--explain", "-e", help="show the arithmetic of each hit")
    ] = False,
    trace: Annotated[
        bool, typer.Option("--trace", help="record the search for 'trace show' and 'replay'")
    ] = False,
    neighbors: Annotated[
        bool, typer.Option(help="show the exchange before and after each hit")
    ] = True,
    output: Output = "table",
) -> None:
    """Ask a question; show the memories that answer it, best first.

    \b
      memsense search "What is Ines allergic to?" --user ines
      memsense search "the trip to Porto" -u ines --since 2025-03-01 -k 3 -g session --explain
      memsense search "tea or coffee" --all-users --set lexical=1.5 --without vec_user
      memsense search "what she eats" -u ines -k 20 --prompt 800

    An answer without hits says so and is no error: the exit code is 0.
    """
    target = target_of(ctx)
    check_whose(user, all_users=all_users)
    selection = read_selection(kinds, metadata, exclude)
    overrides = read_overrides(changes or (), without or ())
    with target.open(for_few=True) as memory:
        check_profile(memory, profile)
        result = memory.search(
            question,
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
            as_of=as_of,
            profile=profile,
            overrides=overrides,
            content_budget=content_budget,
            trace=trace or None,
        )
    if prompt is not None:
        print_prompt(result, prompt, prompt_format, output)
    elif output != "table":
        fields = _result_fields(result, neighbors=neighbors)
        print_data(output, fields, _rows(fields, output))
    else:
        explained = len(result.hits) if explain else 0
        print_result(console(), result, explained=explained, neighbors=neighbors)


def print_prompt(
    result: "SearchResult", max_tokens: int, form: "PromptFormat", output: OutputForm
) -> None:
    """The memories as text for a prompt, nothing but it; messages are JSON."""
    told = (
        result.to_prompt(max_tokens=max_tokens, format="messages")
        if form == "messages"
        else result.to_prompt(max_tokens=max_tokens, format=form)
    )
    if output != "table":
        print_data(output, {"prompt": told, **told.as_dict()})
    elif isinstance(told, str):
        typer.echo(told)
    else:
        print_json(told)


def print_result(
    to: Console, result: "SearchResult", *, explained: int = 0, neighbors: bool = True
) -> None:
    """The hits, the first `explained` ones with their arithmetic, and the notes."""
    ranks = {hit.explain.chunk_id: rank for rank, hit in enumerate(result.hits, 1)}
    words = result.question.get("lexemes", ())
    for rank, hit in enumerate(result.hits, 1):
        to.print(_heading(rank, hit))
        memory = _memory(hit, words, neighbors=neighbors)
        to.print(Padding(memory, (0, 0, 0, INDENT), expand=False))
        if rank <= explained:
            to.print(arithmetic_table(hit.explain, ranks))
        else:
            to.print(Padding(Text(_found_by(hit), style="dim"), (0, 0, 0, INDENT), expand=False))
        to.print()
    if not result.hits:
        to.print("Nothing found.")
    for note in result.notes:
        to.print(Text(f"note: {plain(note)}", style="yellow"))
    if result.hits:
        to.print(Text(_told(result), style="dim"))
    if result.trace_id:
        to.print(Text(f"trace {result.trace_id}", style="dim"))


def _result_fields(result: "SearchResult", *, neighbors: bool) -> dict[str, Any]:
    fields = result.as_dict()
    if not neighbors:
        for hit in fields["hits"]:
            hit.pop("neighbors")
    return fields


def _rows(fields: Mapping[str, Any], output: OutputForm) -> list[dict[str, Any]]:
    """The hits with their ranks; of neighbours and arithmetic a CSV row has only the parts."""
    hits: list[dict[str, Any]] = fields["hits"]
    if output == "csv":
        lists = {"neighbors", "explain"}
        hits = [
            {**{name: hit[name] for name in hit if name not in lists}, **_parts(hit)}
            for hit in hits
        ]
    return [{"rank": rank, **hit} for rank, hit in enumerate(hits, 1)]


def _parts(hit: Mapping[str, Any]) -> dict[str, Any]:
    return {"parts": hit["explain"]["parts"]}


def _heading(rank: int, hit: "Hit") -> Text:
    chunk = hit.chunk
    told = Text()
    told.append(f"{rank}. {score_text(hit.score)}", style="bold")
    told.append(f"  chunk {hit.chunk_id}", style="bold")
    told.append(f"  {when(chunk.occurred_at, zone_known=chunk.occurred_zone_known)}")
    told.append(f"  {plain(hit.session_id)}", style="cyan")
    if chunk.user_id != "default":
        told.append(f"  {plain(chunk.user_id)}", style="dim")
    return told


def _found_by(hit: "Hit") -> str:
    routes = ", ".join(f"{route.route} {route.rank}" for route in hit.explain.routes)
    return f"found by {routes}" if routes else "found by its exchanges"


def _memory(hit: "Hit", words: Sequence[str], *, neighbors: bool) -> Text:
    told = Text()
    shown = {item.relation: item.chunk for item in hit.neighbors} if neighbors else {}
    if "previous" in shown:
        told.append(
            f"before: {shorten(shown['previous'].content, NEIGHBOR_EXCERPT)}\n", style="dim"
        )
    told.append(excerpt(hit.content, words, EXCERPT))
    if "next" in shown:
        told.append(f"\nafter: {shorten(shown['next'].content, NEIGHBOR_EXCERPT)}", style="dim")
    return told


def _told(result: "SearchResult") -> str:
    took = result.timings_ms.get("recall", 0.0)
    searched = result.question.get("searched", "")
    hits = "1 hit" if len(result.hits) == 1 else f"{len(result.hits)} hits"
    told = f"{hits}, profile {result.profile}, recall query {took:.0f} ms"
    if searched and searched != result.question.get("text"):
        told += f"; searched: {shorten(searched, 60)}"
    if dates := result.question.get("dates"):
        told += f"; dates: {', '.join(dates)}"
    return told
