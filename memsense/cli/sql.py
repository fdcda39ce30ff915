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
    all_users: bool = False,
    indexed: Annotated[
        tuple[int, int, int] | None, typer.Option(metavar="SCOPE MODEL DIMENSION")
    ] = None,
    two_models: bool = False,
    other_indexed: Annotated[
        tuple[int, int] | None, typer.Option(metavar="MODEL DIMENSION")
    ] = None,
    lexical: Literal["bm25f", "ts_rank"] = "bm25f",
    filters: Annotated[
        list[str] | None,
        typer.Option(
            "--filter",
            metavar="NAME",
            help=f"Add a filter. Repeatable. There are {', '.join(CONDITIONS)}.",
        ),
    ] = None,
    filtered: bool = False,
    routes: Annotated[
        list[str] | None,
        typer.Option(
            "--route",
            metavar="NAME",
            help=f"Add an optional route. Repeatable. There are {', '.join(OPTIONAL_ROUTES)}.",
        ),
    ] = None,
    identified: bool = False,
    tokens: bool = False,
    worded: bool = False,
    superseding: bool = False,
    rarest: bool = False,
    turns_only: bool = False,
    silent: Annotated[
        list[str] | None,
        typer.Option(
            "--without",
            metavar="ROUTE",
            help="Leave a vector route out, as for a weight of 0. Repeatable. There are"
            f" {', '.join(VECTOR_ROUTES)}.",
        ),
    ] = None,
    expired: Annotated[bool, typer.Option("--lapsed/--none-lapsed")] = True,
    lookups: bool = False,
) -> None:
    """Print the recall statement as a search sends it; sql/recall.sql explains its parameters.

    \b
      memsense sql recall
      memsense sql recall --filtered --all-users
      memsense sql recall --filter since --filter tags --worded
      memsense sql recall --indexed 17 1 384

    Args:
        all_users: Statement of a search over all users.
        indexed: Statement for the memory of this scope_id, whose vectors of this model_id and
            dimension have HNSW indexes, such as 17 1 384.
        two_models: Read vectors of two models, each text's of that of its language.
        other_indexed: The second model of --two-models, with --indexed.
        lexical: Lexical mode of the profile.
        filtered: Add every filter.
        identified: Add the field for identifiers.
        tokens: Return the best candidates' token vectors.
        worded: Return which patterns of the question each text holds.
        superseding: Let take part what superseded a candidate, as most searches do.
        rarest: Look for the rarest words of a long question alone.
        turns_only: Leave session chunks out, as most searches do.
        expired: Whether memories of the scope may have expired.
        lookups: Use functions that reach the GIN indexes below row-level security.
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
        turns_only=turns_only,
        hides_expired=expired,
        lookups=lookups,
    )
    # As it is sent: ready for EXPLAIN in psql, once its parameters are filled in.
    typer.echo(recall_text(shape))


@app.command("lexemes")
def lexemes(
    question: Annotated[str, typer.Argument(metavar="QUESTION")],
    *,
    language: Annotated[str, typer.Option(metavar="CODE")] = AUTO,
) -> None:
    """Print the lexemes of a question, as the function memsense.recall_lexical takes them.

    \b
      memsense sql lexemes "Where is Müller?" --language de

    Args:
        question: A question in plain words.
        language: Its language; auto: as it is recognised.
    """
    code = choose_language(question, "en", read_language(language))
    typer.echo(ask_lexemes(question, code, ()))
