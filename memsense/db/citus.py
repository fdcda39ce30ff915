"""Distribution of the tables over a Citus cluster: small ones on every node, others by tenant."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import pairwise

from memsense.db.connection import Connection, connect
from memsense.db.failures import database_errors
from memsense.db.queries import as_sql, query
from memsense.errors import ConfigurationError

FILE = "citus.sql"

EVERYWHERE = ("tenants", "models", "seals")
"""Small tables that every node has whole, since all tenants share them."""

FIRST = "namespaces"
"""The table that all others are placed with, tenant by tenant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The tables that a call distributed: those on every node, and those by tenant, in order."""

    everywhere: Sequence[str]
    by_tenant: Sequence[str]


def spread(url: str) -> Spread:
    """Distribute further tables in one transaction; raise ConfigurationError if it can't."""
    with connect(url) as connection, database_errors():
        row = connection.execute(query("find_citus", FILE)).fetchone()
        if row is None:
            raise ConfigurationError(
                "the server has no Citus: install it and put it first in shared_preload_libraries"
                " (the guide 'How to run on a Citus cluster'), or leave --citus out"
            )
        if row[0] is None:
            connection.execute(query("create_citus", FILE))
        refuse_worker(connection)
        if connection.execute(query("find_owner", FILE)).fetchone() != (None,):
            # Made by another database, or before this one had Citus, it may not log in.
            connection.execute(query("create_roles", FILE))
        if _is_sealed(connection):
            raise ConfigurationError(
                "the tenants of this database are sealed, and the nodes of a Citus cluster use no"
                " row-level security: run 'memsense db seal --undo' first"
            )
        with connection.transaction():
            connection.execute(query("set_on_every_node", FILE))
            tables = spread_local(connection)
            connection.execute(query("grant_models", FILE))
            return tables


def _is_sealed(connection: Connection) -> bool:
    """Return whether tenants are sealed; an earlier schema has no table of seals."""
    for name in ("has_seals", "find_seals"):
        if connection.execute(query(name, FILE)).fetchone() != (True,):
            return False
    return True


def spread_local(connection: Connection) -> Spread:
    """Distribute the tables that are not distributed yet, in the caller's transaction."""
    connection.execute(query("prepare_session", FILE))
    rows = connection.execute(query("list_local_tables", FILE)).fetchall()
    local = [name for (name,) in rows]
    references = connection.execute(query("list_references", FILE)).fetchall()
    everywhere = [name for name in EVERYWHERE if name in local]
    for name in everywhere:
        connection.execute(query("create_reference_table", FILE), {"name": name})
    by_tenant = [name for name in in_order(local, references) if name not in EVERYWHERE]
    # Before those that refer to nothing, which are placed with it as well.
    by_tenant.sort(key=lambda name: name != FIRST)
    for name in by_tenant:
        # Colocated, so that a tenant's rows are all on one node.
        colocate_with = "none" if name == FIRST else f"memsense.{FIRST}"
        values = {"name": name, "colocate_with": colocate_with}
        connection.execute(query("create_distributed_table", FILE), values)
    return Spread(everywhere=everywhere, by_tenant=by_tenant)


def refuse_worker(connection: Connection) -> None:
    """Raise ConfigurationError on a worker node, which has no revision of the schema."""
    row = None
    if is_installed(connection):
        row = connection.execute(query("find_group", FILE)).fetchone()
    if row is not None and row[0] > 0:
        raise ConfigurationError(
            f"{connection.info.host}:{connection.info.port} is a worker node of a Citus cluster;"
            " connect to its coordinator"
        )


def is_installed(connection: Connection) -> bool:
    """Return whether the database has the extension."""
    return connection.execute(query("knows_nodes", FILE)).fetchone() == (True,)


def is_spread(connection: Connection) -> bool:
    """Return whether the schema's tables are distributed."""
    if not is_installed(connection):
        return False
    return connection.execute(query("is_spread", FILE)).fetchone() == (True,)


def create_roles(connection: Connection) -> None:
    """Create the roles of `memsense init --roles` on every node, if the database has Citus.

    Citus creates roles on the workers together with those of the coordinator, which may have them
    already, of another database. The tables' owner must be able to log in where shards are moved.
    Not in a transaction, whose new roles other nodes would wait for.
    """
    if is_installed(connection):
        connection.execute(query("create_roles", FILE))


def run_spread(connection: Connection, text: str) -> None:
    """Run a revision over distributed tables: its new tables are distributed as well.

    Citus refuses references of a new table, which is local, to distributed ones; they are added
    once the table is distributed.
    """
    references: list[tuple[str, str]] = []

    def without_references(table: re.Match[str]) -> str:
        name, body = table["name"], table["body"]
        for column, reference in _OF_COLUMN.findall(body):
            references.append((name, f"FOREIGN KEY ({column}) {reference}"))
        references.extend((name, constraint) for constraint in _OF_TABLE.findall(body))
        body = _OF_TABLE_AND_COMMA.sub("", _OF_COLUMN_ALONE.sub("", body))
        return f"CREATE TABLE {name} ({body}\n)"

    connection.execute(query("prepare_session", FILE))
    # One by one: Citus sends a worker the whole text that contains a statement.
    for statement in split_statements(_CREATE_TABLE.sub(without_references, text)):
        table = _ALTER_TABLE.match(statement)
        # Nor does Citus change a constraint together with anything else.
        changes = _NEXT_CHANGE.split(statement[table.end() :]) if table else [statement]
        for change in changes:
            connection.execute(as_sql(f"{table[0]} {change}" if table else change))
    if _CREATE_TABLE.search(text):
        spread_local(connection)
    for name, reference in references:
        connection.execute(as_sql(f"ALTER TABLE {name} ADD {reference}"))


def split_statements(text: str) -> list[str]:
    """Return the statements of a text, without the semicolons between them."""
    ends = [match.start() for match in _TOKEN.finditer(text) if match[0] == ";"]
    pieces = [text[start:end] for start, end in pairwise([0, *ends, len(text)])]
    return [piece.strip(";\n ") for piece in pieces if _COMMENT.sub("", piece).strip(";\n ")]


_COMMENT = re.compile(r"--[^\n]*")
_TOKEN = re.compile(r"\$\$.*?\$\$|'[^']*'|--[^\n]*|;", re.DOTALL)
_CREATE_TABLE = re.compile(
    r"CREATE TABLE (?P<name>memsense\.[a-z_]+) \((?P<body>(?:(?!\n\)|CREATE TABLE).)*+)\n\)",
    re.DOTALL,
)
_ALTER_TABLE = re.compile(r"(?:--[^\n]*\n)*ALTER TABLE memsense\.[a-z_]+\s")
_NEXT_CHANGE = re.compile(r",\n +(?=(?:ADD|DROP) )")
_REFERENCE = r"REFERENCES memsense\.[a-z_]+(?: \([a-z_, ]+\))?(?: ON DELETE [A-Z]+)?"
_OF_TABLE = re.compile(rf"^ +(FOREIGN KEY \([a-z_, ]+\) {_REFERENCE})", re.MULTILINE)
_OF_TABLE_AND_COMMA = re.compile(rf",\n +FOREIGN KEY \([a-z_, ]+\) {_REFERENCE}")
_OF_COLUMN = re.compile(rf"^ +([a-z_]+) [a-z ]+(?:NOT NULL )?({_REFERENCE})", re.MULTILINE)
_OF_COLUMN_ALONE = re.compile(rf"(?<=[a-zA-Z]) {_REFERENCE}(?=,?$)", re.MULTILINE)


def in_order(names: Iterable[str], references: Iterable[tuple[str, str]]) -> list[str]:
    """Return the tables, each behind those it refers to: Citus takes no key to a local table."""
    graph: Mapping[str, set[str]] = {name: set() for name in sorted(names)}
    for child, parent in references:
        if child in graph and parent in graph:
            graph[child].add(parent)
    return list(TopologicalSorter(graph).static_order())
