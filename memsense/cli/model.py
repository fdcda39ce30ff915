"""`memsense model`: another embedding model, taken while searches and writes go on."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from memsense.cli.app import new_app
from memsense.cli.options import Output
from memsense.cli.output import print_data
from memsense.cli.render import add_row, console, table, when
from memsense.cli.target import target_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memsense.client.embedding_models import ModelComparison, ModelStatus
    from memsense.client.memory import MemSense
    from memsense.evaluation import Difference

app = new_app(
    no_args_is_help=True,
    help="Take another embedding model while searches and writes go on, and go back.",
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="the model's name, as 'status' shows it")]
Dimension = Annotated[
    int | None,
    typer.Option(metavar="N", help="its vectors' length, where several models have the name"),
]


@app.command("add")
def add(
    ctx: typer.Context,
    *,
    embedder: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="onnx or openai; without it: MEMSENSE_EMBEDDER's"),
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="the model's name at the server")
    ] = None,
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="the server, which speaks POST /embeddings")
    ] = None,
    dimension: Annotated[
        int | None, typer.Option(metavar="N", help="its vectors' length; without it, the server's")
    ] = None,
    later: Annotated[
        bool, typer.Option("--later", help="leave it to jobs, which 'memsense worker' does")
    ] = False,
    output: Output = "table",
) -> None:
    """Give all that is stored vectors of another model; each write makes both from now on.

    \b
      memsense model add --embedder openai --model nomic-embed-text --url http://localhost:11434/v1
      memsense model compare nomic-embed-text
      memsense model switch nomic-embed-text

    Searches go on with the model in use. Takes as long as ingesting did; a broken-off run is
    completed by the next one. With --later it is a worker's: 'memsense model status' shows how far
    it is, 'memsense jobs list' what stands in its way. Keys stay in the environment:
    MEMSENSE_EMBEDDING_API_KEY for MEMSENSE_EMBEDDING_URL, MEMSENSE_EMBEDDING_API_KEYS ({URL: key})
    for others.
    """
    with target_of(ctx).open() as memory:
        kind: Any = embedder or ("openai" if model or url else None)
        added = memory.models.add(kind, model=model, url=url, dimension=dimension, later=later)
    if output != "table":
        print_data(output, asdict(added))
        return
    waiting = f", {added.lacking} to be made by jobs" if later and added.lacking else ""
    _tell(f"{added.name} ({added.dimension}) is {added.state}: {added.vectors} vectors{waiting}")


@app.command("status")
def status(ctx: typer.Context, *, output: Output = "table") -> None:
    """Show the models that the namespace has vectors of, and how complete each is.

    \b
      memsense model status
    """
    with target_of(ctx).open() as memory:
        found = memory.models.status()
    if output != "table":
        print_data(output, [asdict(item) for item in found])
        return
    made = table(
        "model",
        "dimension",
        "state",
        "vectors",
        "lacking",
        "unindexed",
        "added",
        "left",
        right=("dimension", "vectors", "lacking", "unindexed"),
    )
    for item in found:
        add_row(
            made,
            item.name,
            item.dimension,
            item.state if item.state != "adding" else f"adding, {item.done_share:.0%}",
            item.vectors,
            item.lacking,
            item.unindexed,
            when(item.added_at),
            when(item.left_at),
        )
    console().print(made)


@app.command("compare")
def compare(
    ctx: typer.Context,
    name: Name,
    *,
    count: Annotated[
        int, typer.Option("--last", metavar="N", min=1, help="how many recorded searches")
    ] = 20,
    dimension: Dimension = None,
    gold: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="questions whose answers are known: JSONL, as 'memsense eval jsonl' takes it",
        ),
    ] = None,
    output: Output = "table",
) -> None:
    """Run recorded searches again with the model in use and with this one; gold questions too.

    \b
      memsense model compare nomic-embed-text --last 100
      memsense model compare nomic-embed-text --gold questions.jsonl
    """
    with target_of(ctx).open() as memory:
        found = memory.models.compare(name, count, dimension=dimension)
        gains = _measure(memory, found, gold) if gold else ()
    if output != "table":
        print_data(output, {**found.as_dict(), "gold": [gain.as_dict() for gain in gains]})
        return
    _print_traces(found)
    if gains:
        from memsense.cli.measuring import print_differences

        print_differences(found.one, found.other, gains)


def _measure(memory: "MemSense", found: "ModelComparison", gold: Path) -> "Sequence[Difference]":
    """What the model gains on questions whose answers are known, asked of what is stored."""
    from memsense.cli.progress import question_progress
    from memsense.evaluation import compare_models, gold_set, read_gold

    questions = gold_set(read_gold(gold), gold.name)
    with question_progress("asking", 2 * len(questions.questions)) as on_question:
        return compare_models(memory, questions, found.one, found.other, on_question=on_question)


def _print_traces(found: "ModelComparison") -> None:
    if not found.traces:
        _tell("no search is recorded: search with --trace, or set MEMSENSE_TRACE_SAMPLE")
        return
    made = table("question", "hits in common", "same first", right=("hits in common",))
    for item in found.traces:
        add_row(made, item.question, f"{item.overlap:.0%}", "yes" if item.same_first else "no")
    to = console()
    to.print(made)
    to.print(
        f"{len(found.traces)} searches, {found.one} against {found.other}: {found.mean_overlap:.0%}"
        f" of the hits in common, {found.same_first} with the same first hit"
    )


@app.command("switch")
def switch(
    ctx: typer.Context,
    name: Name,
    *,
    dimension: Dimension = None,
    incomplete: Annotated[
        bool, typer.Option("--incomplete", help="even where texts lack vectors of it")
    ] = False,
    output: Output = "table",
) -> None:
    """Let searches use this model from now on, in every process.

    \b
      memsense model switch nomic-embed-text

    Both models get vectors until one is dropped, so that 'memsense model back' is instant.
    """
    with target_of(ctx).open() as memory:
        done = memory.models.switch(name, dimension=dimension, incomplete=incomplete)
    _tell_in_use(done, output)


@app.command("back")
def back(ctx: typer.Context, *, output: Output = "table") -> None:
    """Let searches use the model that they used before the last switch.

    \b
      memsense model back
    """
    with target_of(ctx).open() as memory:
        done = memory.models.back()
    _tell_in_use(done, output)


def _tell_in_use(done: "ModelStatus", output: Any) -> None:
    if output != "table":
        print_data(output, asdict(done))
        return
    lacking = f"; {done.lacking} texts lack its vectors" if done.lacking else ""
    _tell(f"searches use {done.name} ({done.dimension}){lacking}")


@app.command("drop")
def drop(
    ctx: typer.Context, name: Name, *, dimension: Dimension = None, output: Output = "table"
) -> None:
    """Delete the vectors of a model that searches don't use; there is no way back then.

    \b
      memsense model drop all-MiniLM-L6-v2-onnx-int8
    """
    with target_of(ctx).open() as memory:
        deleted = memory.models.drop(name, dimension=dimension)
    if output != "table":
        print_data(output, {"name": name, "deleted": deleted})
        return
    _tell(f"{deleted} vectors of {name} are deleted")


def _tell(text: str) -> None:
    console().print(Text(text))
