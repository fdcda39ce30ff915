"""`memsense changes`: pairs of memories that may tell a fact and its change."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from memsense.cli.app import new_app
from memsense.cli.options import AnyUser, Output
from memsense.cli.output import print_data
from memsense.cli.render import add_row, console, plain, shorten, table
from memsense.cli.target import target_of

if TYPE_CHECKING:
    from memsense.types import ChangeState

app = new_app(no_args_is_help=True, help="List changed facts, and decide what has changed.")

TEXT_SHOWN = 60

ChunkId = Annotated[int, typer.Argument(metavar="CHUNK", min=1)]
Reason = Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why.")]


@app.command("list")
def list_changes(
    ctx: typer.Context,
    *,
    user: AnyUser = None,
    state: Annotated[str | None, typer.Option(metavar="STATE")] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1)] = 20,
    output: Output = "table",
) -> None:
    """List pairs of memories that may tell a fact and its change.

    \b
      memsense changes list --user ines --state found

    Args:
        state: Only found, confirmed, rejected or set.
        limit: Most pairs.
    """
    with target_of(ctx).open() as memory:
        chosen = cast("ChangeState | None", state)  # the verb checks it
        changes = memory.changes(user_id=user, state=chosen, limit=limit)
    if print_data(output, [asdict(change) for change in changes]):
        return
    rows = table("older", "said", "newer", "said", "state", "reason", right=("older", "newer"))
    for it in changes:
        older, newer = (plain(shorten(text, TEXT_SHOWN)) for text in (it.older_text, it.newer_text))
        add_row(rows, str(it.older_id), older, str(it.newer_id), newer, it.state, plain(it.reason))
    console().print(rows if changes else "No pairs.")


def _add_decision(name: str, decision: Literal["confirmed", "rejected", "set"], says: str) -> None:
    def decide(ctx: typer.Context, older: ChunkId, newer: ChunkId, reason: Reason = None) -> None:
        with target_of(ctx).open() as memory:
            memory.decide_change(older, newer, decision, reason=reason)
        typer.echo(f"{older} -> {newer}: {decision}")

    decide.__doc__ = f"""{says}

    \b
      memsense changes {name} 42 57 --reason "she has said so"
    """
    app.command(name)(decide)


_add_decision("reject", "rejected", "Say that the newer memory does not replace the older one.")
_add_decision("confirm", "confirmed", "Say that the newer memory replaces the older one.")
_add_decision("set", "set", "Say so of a pair that memsense did not find.")
