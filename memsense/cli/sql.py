"""`memsense sql`: the statements that memsense runs, as it runs them."""

from typing import Annotated, Literal

import typer

from memsense import queries
from memsense.cli.app import new_app

FILTERS = ("session", "project", "agent", "since", "until", "tags", "kinds", "metadata", "exclude")

app = new_app(help="Print the SQL that memsense runs.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """Print the SQL that memsense runs."""


@app.command("recall")
def recall(
    *,
    all_users: Annotated[
        bool, typer.Option("--all-users", help="of a search that names no user")
    ] = False,
    filtered: Annotated[bool, typer.Option("--filtered", help="with every filter in use")] = False,
    filters: Annotated[
        list[str] | None,
        typer.Option("--filter", metavar="NAME", help=f"with one of {', '.join(FILTERS)}"),
    ] = None,
    lexical: Annotated[
        Literal["bm25f", "ts_rank"], typer.Option(help="the profile's lexical mode")
    ] = "bm25f",
    ann: Annotated[
        bool, typer.Option("--ann", help="of a promoted scope, whose vectors have an HNSW index")
    ] = False,
) -> None:
    """Print the recall query as one search sends it; its header names the parameters.

    \b
      memsense sql recall
      memsense sql recall --filtered --all-users
      memsense sql recall --filter since --filter tags
    """
    chosen = list(FILTERS) if filtered else _check_filters(filters or [])
    flags = {lexical, "ann" if ann else "exact", *(f"by_{name}" for name in chosen)}
    if chosen:
        flags.add("filtered")
    if not all_users:
        flags.add("one_user")
    typer.echo(queries.recall_text(frozenset(flags)))


def _check_filters(names: list[str]) -> list[str]:
    for name in names:
        if name not in FILTERS:
            raise typer.BadParameter(
                f"no filter named {name!r}; there are {', '.join(FILTERS)}", param_hint="--filter"
            )
    return names
