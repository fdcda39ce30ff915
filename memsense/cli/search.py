"""`memsense search`: a question in, explained hits out, a block each."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from memsense.cli.options import Output, Question, Selection, help_of, options_of
from memsense.cli.output import OutputForm, print_data
from memsense.cli.render import add_row, console, excerpt, plain, print_json, shorten, table, when
from memsense.cli.target import check_profile, target_of

if TYPE_CHECKING:
    from memsense.search.hits import Hit, SearchResult
    from memsense.search.prompt import PromptFormat

EXCERPT = 320
NEIGHBOR_EXCERPT = 100
INDENT = 3


@options_of("search")
def search(
    ctx: typer.Context,
    question: Question,
    *,
    selection: Selection,
    prompt: Annotated[int | None, typer.Option(metavar="N", min=1)] = None,
    prompt_format: Literal["markdown", "xml", "messages"] = "markdown",
    explain: Annotated[bool, typer.Option("--explain", "-e")] = False,
    neighbors: Annotated[bool, typer.Option()] = True,
    output: Output = "table",
) -> None:
    """Ask a question; show the memories that answer it, best first.

    \b
      memsense search "What is Ines allergic to?" --user ines
      memsense search "the trip to Porto" -u ines --since 2025-03-01 -k 3 -g session --explain
      memsense search "tea or coffee" --all-users --set lexical=1.5 --without vec_user
      memsense search "what she eats" -u ines -k 20 --prompt 800

    A search without hits prints "Nothing found."; its exit code is 0 all the same.

    Args:
        prompt: Print text for a prompt instead, of N tokens at most.
        prompt_format: Form of the text of --prompt.
        explain: Show the arithmetic of each hit.
        neighbors: Show the exchange before and after each hit.
    """
    with target_of(ctx).open() as memory:
        check_profile(memory, selection.get("profile"))
        result = memory.search(question, **selection)
    if prompt is not None:
        _print_prompt(result, prompt, prompt_format, output)
    elif output == "table":
        explained = len(result.hits) if explain else 0
        print_result(console(), result, explained=explained, neighbors=neighbors)
    else:
        fields = result.as_dict()
        if not neighbors:
            for hit in fields["hits"]:
                hit.pop("neighbors")
        rows = [{"rank": rank, **hit} for rank, hit in enumerate(fields["hits"], 1)]
        print_data(output, fields, _flat_rows(rows) if output == "csv" else rows)


@options_of("context")
def context(
    ctx: typer.Context,
    prompt: Annotated[str, typer.Argument(metavar="PROMPT", help=help_of("context", "prompt"))],
    *,
    project: Annotated[
        str | None, typer.Option(metavar="NAME", help=help_of("context", "project"))
    ] = None,
    selection: Selection,
    explain: Annotated[bool, typer.Option("--explain", "-e")] = False,
    output: Output = "table",
) -> None:
    """Show what a model would be given of memory for a prompt: a short text, or nothing.

    \b
      memsense context "Which walnuts can she eat?" --user ines
      memsense context "What is left to do?" -u ines --project github.com/ines/looms -e
      memsense context "Write a haiku." -u ines --silence 0 --max-tokens 300

    If nothing known concerns the prompt, the text is empty; notes say so on standard error.

    Args:
        explain: Show why each line is there, and why others are not.
    """
    with target_of(ctx).open() as memory:
        check_profile(memory, selection.get("profile"))
        text = memory.context(prompt, project=project, **selection)
    if print_data(output, {"text": str(text), **text.as_dict(explain=explain)}):
        return
    if text:
        typer.echo(plain(str(text)))
    for note in text.notes:
        typer.echo(f"note: {note}", err=True)
    if explain and text:
        rows = table("chunk", "side", "chance", "why", right=("chunk", "chance"))
        for line in text.lines:
            chance = "" if line.chance is None else f"{line.chance:.1%}"
            add_row(rows, line.chunk_id, line.side, chance, line.because)
        for chunk_id, reason in text.omitted.items():
            add_row(rows, chunk_id, "", "", f"left out: {reason}")
        console().print(rows)


def _flat_rows(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows for CSV: without neighbours, and of the arithmetic only the parts."""
    return [
        {
            **{name: value for name, value in row.items() if name not in {"neighbors", "explain"}},
            "parts": row["explain"]["parts"],
        }
        for row in rows
    ]


def _print_prompt(
    result: "SearchResult", max_tokens: int, prompt_format: "PromptFormat", output: OutputForm
) -> None:
    """Print the memories as text for a prompt, and nothing else; messages are printed as JSON."""
    # Two calls, because the type of the result depends on the literal.
    prompt = (
        result.to_prompt(max_tokens=max_tokens, format="messages")
        if prompt_format == "messages"
        else result.to_prompt(max_tokens=max_tokens, format=prompt_format)
    )
    if output != "table":
        print_data(output, {"prompt": prompt, **prompt.as_dict()})
    elif isinstance(prompt, str):
        typer.echo(prompt)
    else:
        print_json(prompt)


def print_result(
    to: Console, result: "SearchResult", *, explained: int = 0, neighbors: bool = True
) -> None:
    """Print the hits, the first `explained` ones with their arithmetic, and the notes."""
    # Not at the top: it imports numpy and psycopg, which `search --help` does not need.
    from memsense.search.explanation import arithmetic_table, score_text

    ranks = {hit.explain.chunk_id: rank for rank, hit in enumerate(result.hits, 1)}
    words = result.question.get("lexemes", ())
    for rank, hit in enumerate(result.hits, 1):
        to.print(_heading(f"{rank}. {score_text(hit.score)}", hit))
        text = _hit_text(hit, words, neighbors=neighbors)
        to.print(Padding(text, (0, 0, 0, INDENT), expand=False))
        if rank <= explained:
            to.print(arithmetic_table(hit.explain, ranks))
        else:
            routes = ", ".join(f"{route.route} {route.rank}" for route in hit.explain.routes)
            # A session may be a hit for its exchanges alone, which no route found as a whole.
            found_by = Text(f"found by {routes or 'its exchanges'}", style="dim")
            to.print(Padding(found_by, (0, 0, 0, INDENT), expand=False))
        to.print()
    if not result.hits:
        to.print("Nothing found.")
    for note in result.notes:
        to.print(Text(f"note: {plain(note)}", style="yellow"))
    if result.hits:
        to.print(Text(_summary(result), style="dim"))
    if result.trace_id:
        to.print(Text(f"trace {result.trace_id}", style="dim"))


def _heading(rank_and_score: str, hit: "Hit") -> Text:
    chunk = hit.chunk
    heading = Text()
    heading.append(rank_and_score, style="bold")
    heading.append(f"  chunk {hit.chunk_id}", style="bold")
    heading.append(f"  {when(chunk.occurred_at, zone_known=chunk.occurred_zone_known)}")
    heading.append(f"  {plain(hit.session_id)}", style="cyan")
    # The user of a log that names none says nothing.
    if chunk.user_id != "default":
        heading.append(f"  {plain(chunk.user_id)}", style="dim")
    return heading


def _hit_text(hit: "Hit", words: Sequence[str], *, neighbors: bool) -> Text:
    """Return an excerpt of the hit, between those of its neighbours."""
    chunks = {item.relation: item.chunk for item in hit.neighbors} if neighbors else {}
    text = Text()
    if "previous" in chunks:
        before = shorten(chunks["previous"].content, NEIGHBOR_EXCERPT)
        text.append(f"before: {before}\n", style="dim")
    text.append(excerpt(hit.content, words, EXCERPT))
    if "next" in chunks:
        after = shorten(chunks["next"].content, NEIGHBOR_EXCERPT)
        text.append(f"\nafter: {after}", style="dim")
    if hit.superseded_by is not None:
        text.append(f"\nsuperseded by {hit.superseded_by.describe()}", style="yellow")
    if hit.supersedes is not None:
        text.append(f"\nsupersedes chunk {hit.supersedes.chunk_id}", style="dim")
    return text


def _summary(result: "SearchResult") -> str:
    milliseconds = result.timings_ms.get("recall", 0.0)
    searched = result.question.get("searched", "")
    hits = "1 hit" if len(result.hits) == 1 else f"{len(result.hits)} hits"
    if result.question.get("kind") == "request":
        hits += f", read as a request ({result.question['request_chance']:.0%})"
    text = f"{hits}, profile {result.profile}, recall query {milliseconds:.0f} ms"
    if searched and searched != result.question.get("text"):
        text += f"; searched: {shorten(searched, 60)}"
    if dates := result.question.get("dates"):
        text += f"; dates: {', '.join(dates)}"
    return text
