"""Distribution of the tables over a Citus cluster: small ones on every node, others by tenant."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter

from memsense.db.connection import connect
from memsense.db.failures import database_errors
from memsense.db.queries import query
from memsense.errors import ConfigurationError

FILE = "citus.sql"

EVERYWHERE = ("tenants", "models", "seals")
"""Small tables that every node has whole, since all tenants share them."""

FIRST = "namespaces"
"""The table that all others are placed beside, tenant by tenant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The tables that a call distributed: those on every node, and those by tenant, in order."""

    everywhere: Sequence[str]
    by_tenant: Sequence[str]


def spread(url: str) -> Spread:
    """Distribute the tables that are not distributed yet, in one transaction.

    The extension is created if it is missing. Raises ConfigurationError if the server has no Citus.
    """
    with connect(url) as connection, database_errors():
        row = connection.execute(query("find_citus", FILE)).fetchone()
        if row is None:
            raise ConfigurationError(
                "the server has no Citus: install it and put it first in shared_preload_libraries"
                " (docs/citus.md), or leave --citus out"
            )
        if row[0] is None:
            connection.execute(query("create_citus", FILE))
        with connection.transaction():
            connection.execute(query("let_local_references_go", FILE))
            rows = connection.execute(query("list_local_tables", FILE)).fetchall()
            local = [name for (name,) in rows]
            references = connection.execute(query("list_references", FILE)).fetchall()
            everywhere = [name for name in EVERYWHERE if name in local]
            for name in everywhere:
                connection.execute(query("create_reference_table", FILE), {"name": name})
            by_tenant = [name for name in in_order(local, references) if name not in EVERYWHERE]
            for name in by_tenant:
                # Beside one another, so that a tenant's rows are all on one node.
                beside = "none" if name == FIRST else f"memsense.{FIRST}"
                values = {"name": name, "colocate_with": beside}
                connection.execute(query("create_distributed_table", FILE), values)
            return Spread(everywhere=everywhere, by_tenant=by_tenant)


def in_order(names: Iterable[str], references: Iterable[tuple[str, str]]) -> list[str]:
    """Return the tables, each behind those it refers to: Citus takes no key to a local table."""
    graph: Mapping[str, set[str]] = {name: set() for name in sorted(names)}
    for child, parent in references:
        if child in graph and parent in graph:
            graph[child].add(parent)
    return list(TopologicalSorter(graph).static_order())
