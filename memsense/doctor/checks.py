"""The examination of a database's schema and of everything that is stored in it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from memsense.config import Settings
from memsense.db import Pool, run_read
from memsense.db.connection import Connection
from memsense.db.rows import Named, fetch_all
from memsense.doctor.contents import (
    examine_drift,
    examine_erasures,
    examine_jobs,
    examine_languages,
    examine_models,
    examine_months,
    examine_parts,
    examine_retired,
    examine_secrets,
    examine_tokens,
    examine_traces,
    examine_vectors,
)
from memsense.doctor.exchanges import examine_exchanges
from memsense.doctor.findings import FILE, Expected, Finding, Report, error, info, make_report
from memsense.doctor.indexes import examine_indexes, examine_large
from memsense.doctor.objects import examine_objects
from memsense.doctor.sizes import examine_analysis, examine_buffers, examine_huge_pages
from memsense.embed import Embedder


def describe_revision(current: str | None, head: str) -> Finding:
    """Return the finding on the schema's revision: an error unless it is this version's."""
    if current == head:
        return info(f"the schema is at revision {head}", check="schema")
    if current is None:
        text, remedy = "the database has no memsense schema", "run 'memsense init'"
    elif current > head:
        text, remedy = f"the schema is at {current}, newer than {head}", "upgrade memsense"
    else:
        text = f"the schema is at {current}, this memsense needs {head}"
        remedy = "run 'memsense db upgrade'"
    return error(text, remedy, check="schema")


@dataclass(frozen=True, slots=True)
class Check:
    """A check of what is stored: its name in findings, and the function that yields them."""

    name: str
    examine: Callable[[Connection, Expected], Iterable[Finding]]


CHECKS = (
    Check("huge_pages", examine_huge_pages),
    Check("shared_buffers", examine_buffers),
    Check("analyse", examine_analysis),
    Check("objects", examine_objects),
    Check("indexes", examine_indexes),
    Check("indexing", examine_large),
    Check("embeddings", examine_vectors),
    Check("jobs", examine_jobs),
    Check("tokens", examine_tokens),
    Check("parts", examine_parts),
    Check("retired", examine_retired),
    Check("statistics", examine_drift),
    Check("language", examine_languages),
    Check("model", examine_models),
    Check("exchanges", examine_exchanges),
    Check("secrets", examine_secrets),
    Check("traces", examine_traces),
    Check("erasures", examine_erasures),
    Check("partitions", examine_months),
)
"""Checks in the order of a report."""


def examine_store(connection: Connection, expected: Expected) -> Iterator[Finding]:
    """Examine everything that needs the schema at this version's revision; only reads."""
    for check in CHECKS:
        for finding in check.examine(connection, expected):
            yield replace(finding, check=check.name)


def examine_tenant(pool: Pool, settings: Settings, embedder: Embedder) -> Report:
    """Return the findings on the pool's tenant, as far as the policies let it see."""
    expected = Expected.of(settings, embedder)
    return make_report(run_read(pool, lambda it: list(examine_store(it, expected))))


def list_sizes(pool: Pool) -> list[Named]:
    """Return the largest tables and indexes of the whole database: `name`, `kind`, `bytes`."""
    return run_read(pool, lambda it: fetch_all(it, "list_sizes", file=FILE, of=Named))
