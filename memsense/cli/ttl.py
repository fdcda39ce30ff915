"""`memsense ttl`: how long memories are kept."""

from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from memsense.cli.app import new_app
from memsense.cli.options import Output
from memsense.cli.output import print_data
from memsense.cli.render import add_row, console, plain, table, when
from memsense.cli.target import target_of

if TYPE_CHECKING:
    from memsense.client.ttl import TtlRule

app = new_app(
    no_args_is_help=True, help="How long memories are kept, by tag or all; sweep what has expired."
)

Tag = Annotated[
    str | None,
    typer.Option("--tag", metavar="TAG", help="of memories with this tag; default: all others"),
]
By = Annotated[
    str | None, typer.Option("--by", metavar="NAME", help="who; default: the system's user")
]


@app.command("list")
def list_rules(ctx: typer.Context, *, output: Output = "table") -> None:
    """List the rules by which memories expire.

    \b
      memsense ttl list
    """
    with target_of(ctx).open() as memory:
        found = memory.ttl.list()
    if output != "table":
        print_data(output, [_as_data(rule) for rule in found])
        return
    if not found:
        console().print("No rules: memories are kept. 'memsense ttl set 90d' makes one.")
        return
    made = table("memories", "kept for", "set by", "since")
    for rule in found:
        whose = "all others" if rule.tag is None else f"with tag {plain(rule.tag)}"
        add_row(made, whose, tell_ttl(rule.ttl), plain(rule.changed_by), when(rule.changed_at))
    console().print(made)


def _as_data(rule: "TtlRule") -> dict[str, object]:
    return {**asdict(rule), "ttl": rule.ttl.total_seconds()}


def tell_ttl(ttl: timedelta) -> str:
    """The duration in its largest whole unit, as `memsense ttl set` reads it."""
    seconds = round(ttl.total_seconds())
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds and seconds % length == 0:
            return f"{seconds // length}{unit}"
    return f"{ttl.total_seconds():g}s"


@app.command("set")
def set_rule(
    ctx: typer.Context,
    ttl: Annotated[str, typer.Argument(metavar="TTL", help="such as 45s, 90m, 12h, 30d, 4w")],
    *,
    tag: Tag = None,
    existing: Annotated[
        bool,
        typer.Option("--existing", help="what is stored already, too, since it was stored"),
    ] = False,
    by: By = None,
    output: Output = "table",
) -> None:
    """Keep what is stored from now on so long; with --tag, what has this tag.

    \b
      memsense ttl set 90d
      memsense ttl set 1d --tag scratch
      memsense ttl set 30d --existing

    What a call says of its own wins; of several tags, the shortest. With --existing, what is older
    has expired at once. Nothing shows what has expired; a worker then erases it, or forgets it
    after 'memsense settings set on_expiry=forget'.
    """
    with target_of(ctx).open() as memory:
        dated = memory.ttl.set(ttl, tag=tag, existing=existing, by=by)
    if output != "table":
        print_data(output, {"tag": tag, "ttl": ttl, "dated": dated})
        return
    whose = "memories" if tag is None else f"memories with tag {plain(tag)}"
    told = f"; {dated} stored ones expire by it" if existing else ""
    console().print(Text(f"{whose} are kept for {ttl} from now on{told}"))


@app.command("unset")
def unset_rule(ctx: typer.Context, *, tag: Tag = None, by: By = None) -> None:
    """Take a rule away; what is dated already still expires.

    \b
      memsense ttl unset --tag scratch
    """
    with target_of(ctx).open() as memory:
        memory.ttl.unset(tag=tag, by=by)
    whose = "memories" if tag is None else f"memories with tag {plain(tag)}"
    console().print(Text(f"{whose} have no rule any more"))


@app.command("sweep")
def sweep(ctx: typer.Context, *, output: Output = "table") -> None:
    """Sweep what has expired now, as 'memsense worker' does by itself.

    \b
      memsense ttl sweep
    """
    with target_of(ctx).open() as memory:
        done = memory.ttl.sweep()
    if output != "table":
        print_data(output, {**asdict(done), "receipts": [str(item) for item in done.receipts]})
        return
    what = "forgotten" if done.forgotten else "erased"
    memories = "1 memory" if done.memories == 1 else f"{done.memories} users' memories"
    told = f"{done.chunks} {what}, of {memories}" if done.chunks else "nothing has expired"
    console().print(Text(told))
