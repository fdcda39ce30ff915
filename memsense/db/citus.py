"""Spreads the tables over a Citus cluster by tenant: small ones everywhere, the others together."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter

from memsense.db.connection import Connection, connect
from memsense.db.failures import database_errors
from memsense.db.queries import query
from memsense.errors import ConfigurationError

FILE = "citus.sql"

EVERYWHERE = ("tenants", "models")
"""Small tables that every node has whole, since all tenants share them."""

FIRST = "namespaces"
"""The table beside which every other one keeps its tenants."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """What was spread: tables that every node has, and tables by tenant, in their order."""

    everywhere: Sequence[str]
    by_tenant: Sequence[str]


def spread(url: str) -> Spread:
    """Spread what is not spread yet, in one transaction; the extension is created if it is new.

    Raises ConfigurationError if the server has no Citus.
    """
    with connect(url) as connection, database_errors():
        _require_citus(connection)
        with connection.transaction():
            return _spread(connection)


def _require_citus(connection: Connection) -> None:
    found = connection.execute(query("find_citus", FILE)).fetchone()
    if found is None:
        raise ConfigurationError(
            "the server has no Citus: install it and put it first in shared_preload_libraries"
            " (docs/citus.md), or leave --citus out"
        )
    if found[0] is None:
        connection.execute(query("create_citus", FILE))


def _spread(connection: Connection) -> Spread:
    connection.execute(query("let_local_references_go", FILE))
    local = [name for (name,) in connection.execute(query("list_local_tables", FILE)).fetchall()]
    pairs = connection.execute(query("list_references", FILE)).fetchall()
    everywhere = [name for name in EVERYWHERE if name in local]
    for name in everywhere:
        connection.execute(query("create_reference_table", FILE), {"name": name})
    by_tenant = [name for name in in_order(local, pairs) if name not in EVERYWHERE]
    for name in by_tenant:
        beside = "none" if name == FIRST else f"memsense.{FIRST}"
        values = {"name": name, "colocate_with": beside}
        connection.execute(query("create_distributed_table", FILE), values)
    return Spread(everywhere=everywhere, by_tenant=by_tenant)


def in_order(names: Iterable[str], references: Iterable[tuple[str, str]]) -> list[str]:
    """The tables, each behind those that it refers to: Citus takes no key to a local table."""
    graph: Mapping[str, set[str]] = {name: set() for name in sorted(names)}
    for child, parent in references:
        if child in graph and parent in graph:
            graph[child].add(parent)
    return list(TopologicalSorter(graph).static_order())
