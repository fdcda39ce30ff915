"""`memsense sql`: the statements that memsense runs, as it runs them."""

from collections.abc import Sequence
from typing import Annotated, Literal, TypeVar

import typer

from memsense.cli.app import new_app
from memsense.search.profiles import VECTOR_ROUTES, Route
from memsense.search.recall.optional import OPTIONAL_ROUTES
from memsense.search.recall.statement import FILTER_NAMES, Indexed, Shape, Whose, recall_text
from memsense.text.nearest import did_you_mean

Name = TypeVar("Name", str, Route)

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
    indexed: Annotated[
        tuple[int, int, int] | None,
        typer.Option(
            "--indexed",
            metavar="SCOPE MODEL DIMENSION",
            help="of the memory of this scope_id, whose vectors of the model_id have HNSW indexes",
        ),
    ] = None,
    lexical: Annotated[
        Literal["bm25f", "ts_rank"], typer.Option(help="the profile's lexical mode")
    ] = "bm25f",
    filters: Annotated[
        list[str] | None,
        typer.Option("--filter", metavar="NAME", help=f"with one of {', '.join(FILTER_NAMES)}"),
    ] = None,
    filtered: Annotated[bool, typer.Option("--filtered", help="with every filter in use")] = False,
    routes: Annotated[
        list[str] | None,
        typer.Option(
            "--route",
            metavar="NAME",
            help=f"with an optional route, one of {', '.join(OPTIONAL_ROUTES)}",
        ),
    ] = None,
    identified: Annotated[
        bool, typer.Option("--identified", help="with a field for identifiers")
    ] = False,
    tokens: Annotated[
        bool, typer.Option("--tokens", help="giving the best candidates' token vectors")
    ] = False,
    worded: Annotated[
        bool, typer.Option("--worded", help="telling what candidates hold word for word")
    ] = False,
    turns_only: Annotated[
        bool, typer.Option("--turns-only", help="without session chunks, as most searches are")
    ] = False,
    silent: Annotated[
        list[str] | None,
        typer.Option(
            "--without",
            metavar="ROUTE",
            help="without a vector route, as where it has no weight: any of"
            f" {', '.join(VECTOR_ROUTES)}",
        ),
    ] = None,
    lapsed: Annotated[
        bool,
        typer.Option(
            "--lapsed/--none-lapsed",
            help="where something may have expired, or nothing has",
        ),
    ] = True,
    lookups: Annotated[
        bool,
        typer.Option("--lookups", help="where functions ask the GIN indexes beneath policies"),
    ] = False,
) -> None:
    """Print the recall statement as a search sends it; sql/recall.sql tells its parameters.

    \b
      memsense sql recall
      memsense sql recall --filtered --all-users
      memsense sql recall --filter since --filter tags --worded
      memsense sql recall --indexed 17 1 384
    """
    shape = Shape(
        whose=_whose(indexed, all_users=all_users),
        lexical=lexical,
        filters=FILTER_NAMES if filtered else tuple(_check("filter", filters or [], FILTER_NAMES)),
        optional=tuple(_check("route", routes or [], tuple(OPTIONAL_ROUTES))),
        silent=tuple(_check("without", silent or [], VECTOR_ROUTES)),
        identified=identified,
        worded=worded,
        tokens=tokens,
        turns_only=turns_only,
        lapsed=lapsed,
        lookups=lookups,
    )
    typer.echo(recall_text(shape))


def _whose(indexed: tuple[int, int, int] | None, *, all_users: bool) -> Whose:
    if indexed is None:
        return "all_users" if all_users else "one_user"
    if all_users:
        raise typer.BadParameter(
            "an index holds one user's memory, not --all-users", param_hint="--indexed"
        )
    return Indexed(*indexed)


def _check(option: str, names: list[str], known: Sequence[Name]) -> list[Name]:
    what = "filter" if option == "filter" else "route"
    for name in names:
        if name not in known:
            raise typer.BadParameter(
                f"no {what} named {name!r}; there are {', '.join(known)}"
                f"{did_you_mean(name, known)}",
                param_hint=f"--{option}",
            )
    return [name for name in known if name in names]
