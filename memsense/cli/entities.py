"""`memsense entities`: the names, titles and identifiers that memory mentions."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from memsense.cli.app import new_app
from memsense.cli.options import AllUsers, AnyUser, Output, User
from memsense.cli.output import print_data
from memsense.cli.render import add_row, console, plain, shorten, table, when
from memsense.cli.target import target_of
from memsense.cli.values import check_user_scope
from memsense.graph.extraction.model import EntityKind

if TYPE_CHECKING:
    from memsense.graph.reading import Entity
    from memsense.graph.resource import EntityView

EXCERPT = 160

Kind = Annotated[EntityKind | None, typer.Option("--kind", help="Only entities of this kind.")]
Limit = Annotated[int, typer.Option("--limit", "-n", metavar="N", help="Maximum number of items.")]

app = new_app(help="List and show what memory mentions.", invoke_without_command=True)


@app.callback()
def entities(
    ctx: typer.Context,
    *,
    user: User = None,
    all_users: AllUsers = False,
    kind: Kind = None,
    limit: Limit = 50,
    output: Output = "table",
) -> None:
    """List the entities that memory mentions, the most frequent first.

    \b
      memsense entities --user ines --kind name -n 20
      memsense entities show Leipzig --picture leipzig.svg
      memsense entities rebuild

    Names, quoted titles, identifiers and speakers, found by rules when memories were stored.
    """
    if ctx.invoked_subcommand is not None:
        return
    check_user_scope(user, all_users=all_users)
    with target_of(ctx).open() as memory:
        results = memory.entities.list(user_id=user, all_users=all_users, kind=kind, limit=limit)
    if print_data(output, [_entity_fields(entity) for entity in results]):
        return
    if not results:
        console().print("No entities are stored here; 'memsense entities rebuild' looks again.")
        return
    rows = table("entity", "kind", "mentions", "chunks", "user", right=("mentions", "chunks"))
    for entity in results:
        add_row(
            rows,
            plain(entity.name),
            entity.kind,
            entity.mentions,
            entity.chunks,
            plain(entity.user_id),
        )
    console().print(rows)


def _entity_fields(entity: "Entity") -> dict[str, Any]:
    """Return the fields of an entity that JSON has; numbers of the database are left out."""
    names = ("user_id", "key", "name", "kind", "mentions", "chunks")
    return {name: getattr(entity, name) for name in names}


@app.command("show")
def show(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME")],
    *,
    user: User = None,
    all_users: AllUsers = False,
    limit: Limit = 10,
    picture: Annotated[Path | None, typer.Option(metavar="FILE")] = None,
    output: Output = "table",
) -> None:
    """Show an entity: the memories that mention it most, and what else they mention.

    \b
      memsense entities show "Leipzig" --user ines
      memsense entities show WAT-517 --all-users -n 25 --picture wat.png

    Args:
        name: The entity's name, in upper or lower case.
        picture: Draw its neighbourhood: .svg or .png (memsense[pictures]).
    """
    check_user_scope(user, all_users=all_users)
    # Checked before the search: a missing library or a wrong ending is an error at once.
    if picture is not None:
        from memsense.graph.picture import check_picture

        check_picture(picture)
    with target_of(ctx).open() as memory:
        view = memory.entities.get(name, user_id=user, all_users=all_users, limit=limit)
    if picture is not None:
        from memsense.graph.picture import draw_neighbourhood

        draw_neighbourhood(picture, view)
        typer.echo(f"wrote {picture}", err=True)
    if output != "table":
        # Ids mean nothing outside the database, so edges name their ends by key.
        keys = {view.entity.entity_id: view.entity.key}
        keys.update((near.entity_id, near.key) for near in view.neighbours)
        fields = {
            **_entity_fields(view.entity),
            "mentioned_in": [asdict(mention) for mention in view.mentions],
            "neighbours": [
                {"key": near.key, "name": near.name, "kind": near.kind, "weight": near.weight}
                for near in view.neighbours
            ],
            "edges": [
                {"between": [keys[one], keys[other]], "weight": weight}
                for one, other, weight in view.edges
            ],
        }
        print_data(output, fields, fields["mentioned_in"])
    else:
        _print_view(view)


def _print_view(view: "EntityView") -> None:
    entity = view.entity
    console().print(
        Text(
            f"{plain(entity.name)} ({entity.kind}): {entity.mentions} mentions"
            f" in {entity.chunks} memories of {plain(entity.user_id)}"
        )
    )
    mentioned = table("chunk", "when", "mentions", "memory", right=("chunk", "mentions"))
    for mention, chunk in zip(view.mentions, view.chunks, strict=True):
        moment = when(chunk.occurred_at, zone_known=chunk.occurred_zone_known)
        text = shorten(chunk.content, EXCERPT)
        add_row(mentioned, chunk.chunk_id, moment, mention.mentions, text)
    console().print(mentioned)
    if view.neighbours:
        others = table("mentioned with it", "kind", "memories", right=("memories",))
        for near in view.neighbours:
            add_row(others, plain(near.name), near.kind, near.weight)
        console().print(others)


@app.command("rebuild")
def rebuild(ctx: typer.Context, *, user: AnyUser = None, output: Output = "table") -> None:
    """Find the entities of everything stored again; one transaction a user.

    \b
      memsense entities rebuild --user ines

    For memories that were stored before memsense kept entities.
    """
    rebuilt: list[dict[str, Any]] = []

    def report_user(user_id: str, chunks: int) -> None:
        rebuilt.append({"user_id": user_id, "chunks": chunks})
        if output == "table":
            typer.echo(f"{plain(user_id)}: read {chunks} memories")

    with target_of(ctx).open() as memory:
        memory.entities.rebuild(user_id=user, on_user=report_user)
    if output != "table":
        print_data(output, rebuilt)
