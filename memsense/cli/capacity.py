"""`memsense db capacity` and `db partition`: what many users need, and tables that only grow."""

from dataclasses import asdict
from importlib import import_module
from typing import Annotated

import typer

from memsense.cli.exits import confirm
from memsense.cli.options import Output, Yes
from memsense.cli.output import print_data
from memsense.cli.render import add_row, console, table
from memsense.cli.target import target_of

_GB = 1_000_000_000


def plan(
    ctx: typer.Context,
    *,
    users: Annotated[int | None, typer.Option(metavar="N")] = None,
    exchanges: Annotated[int | None, typer.Option(metavar="N")] = None,
    active: Annotated[int | None, typer.Option(metavar="N")] = None,
    searches: Annotated[float, typer.Option(metavar="N")] = 0.0,
    adds: Annotated[float, typer.Option(metavar="N")] = 0.0,
    machine_memory: Annotated[int, typer.Option(metavar="GB", min=1)] = 64,
    cores: Annotated[int, typer.Option(metavar="N", min=1)] = 16,
    output: Output = "table",
) -> None:
    """Work out the disk, memory and cores that so many users need, and when to spread them.

    \b
      memsense db capacity
      memsense db capacity --users 100000 --exchanges 2000 --active 5000 --searches 200 --adds 50

    The bytes of an exchange are measured in this store if it has 1,000 exchanges or more; otherwise
    they are those of the guide 'How to plan capacity'.

    Args:
        users: Users. Default: those of this store.
        exchanges: Exchanges of each user. Default: the mean of this store.
        active: Users who are active at the same time. Default: this store's share of users who
            stored something within a day; all if it has none.
        searches: Searches a second, of all users together.
        adds: Adds a second, of all users together.
        machine_memory: Memory that one server may have.
        cores: Cores that one server may have.
    """
    target = target_of(ctx)
    capacity = import_module("memsense.doctor.capacity")
    with target.database() as url:
        it = capacity.plan_capacity(
            url,
            target.settings(),
            users=users,
            exchanges=exchanges,
            active_users=active,
            searches=searches,
            adds=adds,
            machine=capacity.Machine(memory=machine_memory * _GB, cores=cores),
        )
    if print_data(output, asdict(it)):
        return
    load, measured = it.load, it.measured
    rows = table("what", "amount", "from", right=("amount",))
    mean = round(measured.exchanges / measured.users) if measured.users else 0
    stored = f"{measured.users:,} users with {mean:,} exchanges each"
    add_row(rows, "stored here", _size(measured.bytes + measured.index_bytes), stored)
    if measured.trace_bytes:
        add_row(rows, "recorded searches", _size(measured.trace_bytes), "not counted below")
    planned = f"{load.users:,} users with {load.exchanges:,} exchanges each"
    each = f"{planned}, {it.exchange_bytes:,} bytes an exchange ({it.exchange_bytes_from})"
    add_row(rows, "disk", _size(it.disk), each)
    if it.indexed_users:
        indexes = f"{it.indexed_users:,} of these users, {it.index_bytes:,} bytes an exchange"
        size = _size(it.indexed_users * load.exchanges * it.index_bytes)
        add_row(rows, "  of it HNSW indexes", size, f"{indexes} ({it.index_bytes_from})")
    active_text = f"{load.active_users:,} active users, {capacity.ACTIVE_BYTES:,} bytes an exchange"
    add_row(rows, "memory", _size(it.memory), active_text)
    search_text = f"{load.searches:g} searches a second of {it.search_ms:.1f} ms"
    add_row(rows, "cores for searches", f"{it.search_cores:.1f}", search_text)
    add_text = f"{load.adds:g} adds a second of {capacity.ADD_MS:g} ms"
    add_row(rows, "cores for adds", f"{it.add_cores:.1f}", add_text)
    to = console()
    to.print(rows)
    machines = f", {it.nodes} machines" if it.nodes > 1 else ""
    to.print(f"Advice: {it.advice}{machines}")
    for reason in it.reasons:
        to.print(f"- {reason}")


def _size(count: int) -> str:
    """Return decimal units, as the sizes of disks and machines are given."""
    amount = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if amount < 1000:  # noqa: PLR2004 (a thousand)
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def partition(
    ctx: typer.Context,
    *,
    ahead: Annotated[int, typer.Option(min=0, max=60, metavar="N")] = 3,
    keep_traces: Annotated[float | None, typer.Option(min=0, metavar="DAYS")] = None,
    keep_events: Annotated[float | None, typer.Option(min=0, metavar="DAYS")] = None,
    keep_history: Annotated[float | None, typer.Option(min=0, metavar="DAYS")] = None,
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

    Args:
        ahead: Months after this one to prepare.
        keep_traces: Drop recorded searches older than this.
        keep_events: Drop events of the history older than this.
        keep_history: Drop earlier states of memory older than this.
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
