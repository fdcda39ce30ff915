"""`memsense ttl`: rules for how long memories are kept."""

from dataclasses import asdict
from datetime import timedelta
from typing import Annotated

import typer
from rich.text import Text

from memsense.cli.app import new_app
from memsense.cli.options import Output
from memsense.cli.output import print_data
from memsense.cli.render import add_row, console, plain, table, when
from memsense.cli.target import target_of

app = new_app(no_args_is_help=True, help="Set how long memories are kept; sweep expired ones.")

Tag = Annotated[
    str | None,
    typer.Option(
        "--tag", metavar="TAG", help="Memories with this tag. Default: those without a rule."
    ),
]
By = Annotated[
    str | None,
    typer.Option("--by", metavar="NAME", help="Name of the person. Default: your login name."),
]


@app.command("list")
def list_rules(ctx: typer.Context, *, output: Output = "table") -> None:
    """List the rules by which memories expire.

    \b
      memsense ttl list
    """
    with target_of(ctx).open() as memory:
        rules = memory.ttl.list()
    if print_data(output, [{**asdict(rule), "ttl": rule.ttl.total_seconds()} for rule in rules]):
        return
    if not rules:
        console().print("No rules: memories are kept. 'memsense ttl set 90d' makes one.")
        return
    rows = table("memories", "kept for", "set by", "since")
    for rule in rules:
        scope = "all others" if rule.tag is None else f"with tag {plain(rule.tag)}"
        add_row(rows, scope, format_ttl(rule.ttl), plain(rule.changed_by), when(rule.changed_at))
    console().print(rows)


def format_ttl(ttl: timedelta) -> str:
    """Return the duration in its largest whole unit, as `memsense ttl set` reads it."""
    seconds = round(ttl.total_seconds())
    # 90d rather than 7776000s, so that it can be compared with what was set.
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds and seconds % length == 0:
            return f"{seconds // length}{unit}"
    return f"{ttl.total_seconds():g}s"


@app.command("set")
def set_rule(
    ctx: typer.Context,
    ttl: Annotated[str, typer.Argument(metavar="TTL")],
    *,
    tag: Tag = None,
    existing: bool = False,
    by: By = None,
    output: Output = "table",
) -> None:
    """Set how long new memories are kept; with --tag, those with this tag.

    \b
      memsense ttl set 90d
      memsense ttl set 1d --tag scratch
      memsense ttl set 30d --existing

    A --ttl or --expires-at of a call wins; of several tags, the shortest duration. With
    --existing, what is older expires at once. No search shows expired memories; a worker erases
    them, or forgets them after 'memsense settings set on_expiry=forget'.

    Args:
        ttl: Duration, such as 45s, 90m, 12h, 30d or 4w.
        existing: Also for what is stored already, counted from when it was stored.
    """
    with target_of(ctx).open() as memory:
        dated = memory.ttl.set(ttl, tag=tag, existing=existing, by=by)
    if print_data(output, {"tag": tag, "ttl": ttl, "dated": dated}):
        return
    text = f"; {dated} stored ones expire by it" if existing else ""
    console().print(Text(f"{_scope(tag)} are kept for {ttl} from now on{text}"))


@app.command("unset")
def unset_rule(ctx: typer.Context, *, tag: Tag = None, by: By = None) -> None:
    """Remove a rule; memories that have an expiry by it keep that.

    \b
      memsense ttl unset --tag scratch
    """
    with target_of(ctx).open() as memory:
        memory.ttl.unset(tag=tag, by=by)
    console().print(Text(f"{_scope(tag)} have no rule any more"))


def _scope(tag: str | None) -> str:
    return "memories" if tag is None else f"memories with tag {plain(tag)}"


@app.command("sweep")
def sweep(ctx: typer.Context, *, output: Output = "table") -> None:
    """Erase or forget expired memories now; 'memsense worker' does it by itself.

    \b
      memsense ttl sweep
    """
    with target_of(ctx).open() as memory:
        done = memory.ttl.sweep()
    if print_data(output, {**asdict(done), "receipts": [str(item) for item in done.receipts]}):
        return
    action = "forgotten" if done.forgotten else "erased"
    memories = "1 memory" if done.memories == 1 else f"{done.memories} users' memories"
    text = f"{done.chunks} {action}, of {memories}" if done.chunks else "nothing has expired"
    console().print(Text(text))
