"""Examines what one tenant has stored, over its own connections: what its policies let it see."""

from memsense.config import Settings
from memsense.db import Pool, run_read
from memsense.db.rows import Named, fetch_all
from memsense.doctor.checks import examine_store
from memsense.doctor.findings import FILE, Expected, Report, make_report
from memsense.embed import Embedder


def examine_tenant(pool: Pool, settings: Settings, embedder: Embedder) -> Report:
    """The findings on the tenant of the pool, without those on the server and its plans."""
    expected = Expected.of(settings, embedder)
    return make_report(run_read(pool, lambda it: list(examine_store(it, expected))))


def list_sizes(pool: Pool) -> list[Named]:
    """The largest tables and indexes of the whole database: `name`, `kind`, `bytes`."""
    return run_read(pool, lambda it: fetch_all(it, "list_sizes", file=FILE, of=Named))
