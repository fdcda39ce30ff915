"""`memsense db partition`: months of the tables that only grow, created ahead and dropped."""

from dataclasses import asdict
from importlib import import_module
from typing import Annotated

import typer

from memsense.cli.exits import confirm
from memsense.cli.options import Output, Yes
from memsense.cli.output import print_data
from memsense.cli.render import add_row, console, table
from memsense.cli.target import target_of


def partition(
    ctx: typer.Context,
    *,
    ahead: Annotated[
        int, typer.Option(min=0, max=60, metavar="N", help="Months after this one to prepare.")
    ] = 3,
    keep_traces: Annotated[
        float | None,
        typer.Option(min=0, metavar="DAYS", help="Drop recorded searches older than this."),
    ] = None,
    keep_events: Annotated[
        float | None,
        typer.Option(min=0, metavar="DAYS", help="Drop events of the history older than this."),
    ] = None,
    keep_history: Annotated[
        float | None,
        typer.Option(min=0, metavar="DAYS", help="Drop earlier states of memory older than this."),
    ] = None,
    yes: Yes = False,
    output: Output = "table",
) -> None:
    """Divide traces, events and history by month, and drop old months.

    \b
      memsense db partition
      memsense db partition --keep-traces 90 --keep-events 730 --yes

    Run it once a month as the tables' owner. It drops a month when all of it is older than the
    limit, at once and for all tenants; older rows without a month of their own are deleted. Without
    a limit everything stays. Memory itself is never dropped.
    """
    limits = {"traces": keep_traces, "events": keep_events, "history": keep_history}
    keep = {kind: days for kind, days in limits.items() if days is not None}
    if keep:
        named = ", ".join(f"{kind} older than {days:g} days" for kind, days in keep.items())
        confirm(f"Drop {named}, of all tenants?", yes=yes)
    partitions = import_module("memsense.db.partitions")
    with target_of(ctx).database() as url:
        report = partitions.partition(url, ahead=ahead, keep=keep)
    if print_data(output, asdict(report)):
        return
    rows = table("partition", "from", "to", "")
    news = {it.name: "created" for it in report.created}
    for it in report.partitions:
        begins, ends = (f"{at:%Y-%m-%d}" if at else "" for at in (it.begins_at, it.ends_at))
        add_row(rows, it.name, begins or "the other months", ends, news.get(it.name, ""))
    to = console()
    to.print(rows)
    for it in report.dropped:
        to.print(f"dropped {it.name}")
    for name, count in report.deleted.items():
        if count:
            to.print(f"deleted {count:,} rows of {name} from before the first month")
