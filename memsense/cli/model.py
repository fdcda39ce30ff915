"""`memsense model`: a change of the embedding model while searches and writes go on."""

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
    help="Change the embedding model while searches and writes go on, and go back.",
)

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="Name of the model, as 'model status' shows it.")
]
Dimension = Annotated[
    int | None,
    typer.Option(metavar="N", help="Dimension of its vectors, if several models have the name."),
]


@app.command("add")
def add(
    ctx: typer.Context,
    *,
    embedder: Annotated[str | None, typer.Option(metavar="KIND")] = None,
    model: Annotated[str | None, typer.Option(metavar="NAME")] = None,
    url: Annotated[str | None, typer.Option(metavar="URL")] = None,
    dimension: Annotated[int | None, typer.Option(metavar="N")] = None,
    languages: Annotated[str | None, typer.Option(metavar="CODES")] = None,
    later: bool = False,
    output: Output = "table",
) -> None:
    """Make vectors of another model for all stored texts; from now on each write makes both.

    \b
      memsense model add --embedder multilingual
      memsense model add --embedder openai --model nomic-embed-text --url http://localhost:11434/v1
      memsense model compare nomic-embed-text
      memsense model switch nomic-embed-text

    Searches go on with the model in use, which 'multilingual' helps with other languages than
    English. It takes as long as ingesting did; to resume an
    interrupted run, run it again. With --later a worker does it: 'memsense model status' shows the
    progress, 'memsense jobs list' the failures. API keys stay in the environment:
    MEMSENSE_EMBEDDING_API_KEY for MEMSENSE_EMBEDDING_URL, MEMSENSE_EMBEDDING_API_KEYS ({URL: key})
    for other servers.

    Args:
        embedder: onnx, multilingual or openai. Default: openai with --model or --url, else
            MEMSENSE_EMBEDDER.
        model: Name of the model at the server.
        url: Server with POST /embeddings, such as http://localhost:11434/v1.
        dimension: Dimension of its vectors. Default: the server's.
        languages: Languages that searches compare by it, English by the English model: such as
            de,fr, or '*'. Default: '*' for multilingual, else none until 'model switch'.
        later: Let background jobs ('memsense worker') make the vectors.
    """
    with target_of(ctx).open() as memory:
        # A model or a URL names a server, and all servers speak the API of OpenAI.
        kind: Any = embedder or ("openai" if model or url else None)
        codes: Any = languages if languages in (None, "*") else languages.split(",")
        added = memory.models.add(
            kind, model=model, url=url, dimension=dimension, languages=codes, later=later
        )
    if print_data(output, asdict(added)):
        return
    waiting = f", {added.lacking} to be made by jobs" if later and added.lacking else ""
    _print_line(
        f"{added.name} ({added.dimension}) is {added.state}: {added.vectors} vectors{waiting}"
    )


@app.command("status")
def status(ctx: typer.Context, *, output: Output = "table") -> None:
    """Show the models that the namespace has vectors of, and how many texts each lacks.

    \b
      memsense model status
    """
    with target_of(ctx).open() as memory:
        models = memory.models.status()
    if print_data(output, [asdict(item) for item in models]):
        return
    rows = table(
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
    for item in models:
        add_row(
            rows,
            item.name,
            item.dimension,
            item.state if item.state != "adding" else f"adding, {item.done_share:.0%}",
            item.vectors,
            item.lacking,
            item.unindexed,
            when(item.added_at),
            when(item.left_at),
        )
    console().print(rows)


@app.command("compare")
def compare(
    ctx: typer.Context,
    name: Name,
    *,
    count: Annotated[int, typer.Option("--last", metavar="N", min=1)] = 20,
    dimension: Dimension = None,
    gold: Annotated[Path | None, typer.Option(metavar="FILE", exists=True, dir_okay=False)] = None,
    output: Output = "table",
) -> None:
    """Run recorded searches again with the model in use and with this one, and compare the hits.

    \b
      memsense model compare nomic-embed-text --last 100
      memsense model compare nomic-embed-text --gold questions.jsonl

    Args:
        count: Number of recorded searches to run, the latest.
        gold: Questions with known answers, as JSON lines for 'memsense eval jsonl'.
    """
    with target_of(ctx).open() as memory:
        comparison = memory.models.compare(name, count, dimension=dimension)
        gains = _measure(memory, comparison, gold) if gold else ()
    if print_data(output, {**comparison.as_dict(), "gold": [gain.as_dict() for gain in gains]}):
        return
    _print_traces(comparison)
    if gains:
        # Imported here: the evaluation is of no use to the other commands of this module.
        from memsense.cli.measuring import print_differences

        print_differences(comparison.one, comparison.other, gains)


def _measure(
    memory: "MemSense", comparison: "ModelComparison", gold: Path
) -> "Sequence[Difference]":
    """Return the gain of the model on questions with known answers, over the stored memories."""
    from memsense.cli.progress import question_progress
    from memsense.evaluation import compare_models, gold_set, read_gold

    questions = gold_set(read_gold(gold), gold.name)
    with question_progress("asking", 2 * len(questions.questions)) as on_question:
        return compare_models(
            memory, questions, comparison.one, comparison.other, on_question=on_question
        )


def _print_traces(comparison: "ModelComparison") -> None:
    if not comparison.traces:
        _print_line("no search is recorded: search with --trace, or set MEMSENSE_TRACE_SAMPLE")
        return
    rows = table("question", "hits in common", "same first", right=("hits in common",))
    for item in comparison.traces:
        add_row(rows, item.question, f"{item.overlap:.0%}", "yes" if item.same_first else "no")
    to = console()
    to.print(rows)
    to.print(
        f"{len(comparison.traces)} searches, {comparison.one} against {comparison.other}:"
        f" {comparison.mean_overlap:.0%} of the hits in common, {comparison.same_first} with the"
        " same first hit"
    )


@app.command("switch")
def switch(
    ctx: typer.Context,
    name: Name,
    *,
    dimension: Dimension = None,
    incomplete: bool = False,
    output: Output = "table",
) -> None:
    """Make searches use this model from now on, in every process.

    \b
      memsense model switch nomic-embed-text

    New texts get vectors of both models until one is dropped, so 'memsense model back' is instant.

    Args:
        incomplete: Switch even if some texts lack vectors of the model.
    """
    with target_of(ctx).open() as memory:
        model = memory.models.switch(name, dimension=dimension, incomplete=incomplete)
    _print_model_in_use(model, output)


@app.command("back")
def back(ctx: typer.Context, *, output: Output = "table") -> None:
    """Make searches use the model from before the last switch.

    \b
      memsense model back
    """
    with target_of(ctx).open() as memory:
        model = memory.models.back()
    _print_model_in_use(model, output)


def _print_model_in_use(model: "ModelStatus", output: Any) -> None:
    if print_data(output, asdict(model)):
        return
    lacking = f"; {model.lacking} texts lack its vectors" if model.lacking else ""
    _print_line(f"searches use {model.name} ({model.dimension}){lacking}")


@app.command("drop")
def drop(
    ctx: typer.Context, name: Name, *, dimension: Dimension = None, output: Output = "table"
) -> None:
    """Delete the vectors of a model that searches don't use; this can't be undone.

    \b
      memsense model drop all-MiniLM-L6-v2-onnx-int8
    """
    with target_of(ctx).open() as memory:
        deleted = memory.models.drop(name, dimension=dimension)
    if print_data(output, {"name": name, "deleted": deleted}):
        return
    _print_line(f"{deleted} vectors of {name} are deleted")


def _print_line(text: str) -> None:
    console().print(Text(text))
