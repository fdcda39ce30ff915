"""`memsense sql`: the SQL statements of a search, as memsense sends them."""

from typing import Annotated, Literal

import typer

from memsense.cli.app import new_app
from memsense.cli.values import read_choices
from memsense.search.profiles import VECTOR_ROUTES
from memsense.search.recall.optional import OPTIONAL_ROUTES
from memsense.search.recall.statement import CONDITIONS, Indexed, Shape, Whose, recall_text
from memsense.text.configurations import AUTO, choose_language, read_language
from memsense.text.lexemes import ask_lexemes

app = new_app(help="Print the SQL that memsense runs.", no_args_is_help=True)


@app.callback()
def group() -> None:
    """Print the SQL that memsense runs."""


@app.command("recall")
def recall(
    *,
    all_users: Annotated[
        bool, typer.Option("--all-users", help="Statement of a search over all users.")
    ] = False,
    indexed: Annotated[
        tuple[int, int, int] | None,
        typer.Option(
            "--indexed",
            metavar="SCOPE MODEL DIMENSION",
            help="Statement for the memory of this scope_id, whose vectors of this model_id and"
            " dimension have HNSW indexes, such as 17 1 384.",
        ),
    ] = None,
    two_models: Annotated[
        bool,
        typer.Option(
            "--two-models", help="Read vectors of two models, each text's of that of its language."
        ),
    ] = False,
    other_indexed: Annotated[
        tuple[int, int] | None,
        typer.Option(
            "--other-indexed",
            metavar="MODEL DIMENSION",
            help="The second model of --two-models, with --indexed.",
        ),
    ] = None,
    lexical: Annotated[
        Literal["bm25f", "ts_rank"], typer.Option(help="Lexical mode of the profile.")
    ] = "bm25f",
    filters: Annotated[
        list[str] | None,
        typer.Option(
            "--filter",
            metavar="NAME",
            help=f"Add a filter. Repeatable. There are {', '.join(CONDITIONS)}.",
        ),
    ] = None,
    filtered: Annotated[bool, typer.Option("--filtered", help="Add every filter.")] = False,
    routes: Annotated[
        list[str] | None,
        typer.Option(
            "--route",
            metavar="NAME",
            help=f"Add an optional route. Repeatable. There are {', '.join(OPTIONAL_ROUTES)}.",
        ),
    ] = None,
    identified: Annotated[
        bool, typer.Option("--identified", help="Add the field for identifiers.")
    ] = False,
    tokens: Annotated[
        bool, typer.Option("--tokens", help="Return the best candidates' token vectors.")
    ] = False,
    worded: Annotated[
        bool,
        typer.Option("--worded", help="Return which patterns of the question each text holds."),
    ] = False,
    superseding: Annotated[
        bool,
        typer.Option(
            "--superseding", help="Let take part what superseded a candidate, as most searches do."
        ),
    ] = False,
    rarest: Annotated[
        bool, typer.Option("--rarest", help="Look for the rarest words of a long question alone.")
    ] = False,
    windows: Annotated[
        int, typer.Option("--windows", min=1, help="Number of vectors of the question.")
    ] = 1,
    turns_only: Annotated[
        bool, typer.Option("--turns-only", help="Leave session chunks out, as most searches do.")
    ] = False,
    silent: Annotated[
        list[str] | None,
        typer.Option(
            "--without",
            metavar="ROUTE",
            help="Leave a vector route out, as for a weight of 0. Repeatable. There are"
            f" {', '.join(VECTOR_ROUTES)}.",
        ),
    ] = None,
    expired: Annotated[
        bool,
        typer.Option(
            "--lapsed/--none-lapsed", help="Whether memories of the scope may have expired."
        ),
    ] = True,
    lookups: Annotated[
        bool,
        typer.Option(
            "--lookups", help="Use functions that reach the GIN indexes below row-level security."
        ),
    ] = False,
) -> None:
    """Print the recall statement as a search sends it; sql/recall.sql explains its parameters.

    \b
      memsense sql recall
      memsense sql recall --filtered --all-users
      memsense sql recall --filter since --filter tags --worded
      memsense sql recall --indexed 17 1 384
    """
    if indexed is not None and all_users:
        raise typer.BadParameter(
            "an index holds one user's memory, not --all-users", param_hint="--indexed"
        )
    whose: Whose = "all_users" if all_users else "one_user"
    shape = Shape(
        whose=whose if indexed is None else Indexed(*indexed, other_indexed),
        two_models=two_models,
        lexical=lexical,
        filters=CONDITIONS
        if filtered
        else tuple(read_choices(filters or (), CONDITIONS, "filter", option="--filter")),
        optional=tuple(
            read_choices(routes or (), tuple(OPTIONAL_ROUTES), "route", option="--route")
        ),
        silent=tuple(read_choices(silent or (), VECTOR_ROUTES, "route", option="--without")),
        identified=identified,
        worded=worded,
        tokens=tokens,
        superseding=superseding,
        rarest=rarest,
        windows=windows,
        turns_only=turns_only,
        hides_expired=expired,
        lookups=lookups,
    )
    # As it is sent: ready for EXPLAIN in psql, once its parameters are filled in.
    typer.echo(recall_text(shape))


@app.command("lexemes")
def lexemes(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="A question in plain words.")],
    *,
    language: Annotated[
        str, typer.Option(metavar="CODE", help="Its language; auto: as it is recognised.")
    ] = AUTO,
) -> None:
    """Print the lexemes of a question, as the function memsense.recall_lexical takes them.

    \b
      memsense sql lexemes "Where is Müller?" --language de
    """
    code = choose_language(question, "en", read_language(language))
    typer.echo(ask_lexemes(question, code, ()))
