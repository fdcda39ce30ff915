"""The examination of a memory's size on disk, and of the planner's statistics."""

from collections.abc import Iterator

from memsense.db.connection import Connection
from memsense.db.rows import Named, fetch_all, fetch_one, fetch_value
from memsense.doctor.findings import FILE, Expected, Finding, info, warning

LEAST_ANALYSED = 1 << 20
"""Bytes; smaller tables are read whole, with or without the planner's statistics."""

LEAST_HUGE = 256 << 20
"""Bytes; measured, a memory of 90 MB gained 4% and one of 1.3 GB 7% (docs/beside/benchmarks.md)."""

UNIT_STEP = 1024


def in_units(count: int) -> str:
    """Return a number of bytes as text, in the largest unit that makes it at least 1."""
    for unit in ("bytes", "kB", "MB"):
        if count < UNIT_STEP:
            return f"{count} {unit}"
        count //= UNIT_STEP
    return f"{count} GB"


def examine_huge_pages(connection: Connection, _: Expected) -> Iterator[Finding]:
    """Advise huge pages for a large memory, unless the server has them."""
    settings = fetch_one(connection, "fetch_settings", file=FILE, of=Named)
    used: int = fetch_value(connection, "sum_sizes", file=FILE)
    yield from describe_huge_pages(used, settings["huge_pages"], settings["huge_pages_needed"])


def describe_huge_pages(used: int, status: str | None, needed: int | None) -> Iterator[Finding]:
    """Advise huge pages for a memory of `used` bytes, unless the server has them.

    `status` is PostgreSQL's huge_pages_status, None before PostgreSQL 17; `needed` is the number of
    huge pages that its shared memory takes, None if the system has none.
    """
    if used < LEAST_HUGE or status != "off" or needed is None:
        return
    yield info(
        "the server has no huge pages; searches of a large memory are faster with them",
        f"reserve them with 'sysctl vm.nr_hugepages={needed}' and restart the server",
    )


def examine_buffers(connection: Connection, _: Expected) -> Iterator[Finding]:
    """Compare the store's size with the server's buffers."""
    settings = fetch_one(connection, "fetch_settings", file=FILE, of=Named)
    used: int = fetch_value(connection, "sum_sizes", file=FILE)
    buffers = settings["shared_buffers"]
    text = f"the memory takes {in_units(used)}, shared_buffers is {in_units(buffers)}"
    # Beyond shared_buffers a search reads from the system's cache, or from the disk.
    if used > buffers:
        yield warning(text, "raise shared_buffers to at least the size of what is searched often")
    else:
        yield info(text)


def examine_analysis(connection: Connection, _: Expected) -> Iterator[Finding]:
    """Examine tables: those that need ANALYZE."""
    values = {"least_bytes": LEAST_ANALYSED}
    for table in fetch_all(connection, "list_unanalysed", values, FILE, of=Named):
        fault = "was never analysed" if table["rows"] < 0 else "has changed much since its analysis"
        yield warning(
            f"memsense.{table['name']} {fault}: the planner has to guess",
            f"run 'ANALYZE memsense.{table['name']}'",
        )
