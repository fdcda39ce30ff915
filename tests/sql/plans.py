"""Plans that PostgreSQL really uses for recall: the generic ones of the prepared statement."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg import sql

from memsense.db.queries import as_sql
from memsense.db.session import GENERIC, Session, announce
from memsense.search.recall.run import RecallRequest, query_values, shape_of
from memsense.search.recall.statement import recall_text

_PARAMETER = re.compile(r"%\((\w+)\)s")

Node = dict[str, Any]


def explain_recall(conn: psycopg.Connection[Any], request: RecallRequest) -> Node:
    """Return the root node of a recall's plan, from EXPLAIN (ANALYZE, FORMAT JSON).

    It runs like a search: as memsense_app, under the policies. The connection must not have run a
    recall before. Skips the test on a Citus cluster.
    """
    if "MEMSENSE_TEST_CITUS_URL" in os.environ:
        pytest.skip("the plan of a cluster's coordinator does not show how a node runs its part")
    with conn.transaction():
        announce(conn, Session(tenant_id=request.tenant_id, role="memsense_app"), plans=GENERIC)
        return explain_prepared(conn, request, "ANALYZE, BUFFERS")


def explain_prepared(
    conn: psycopg.Connection[Any], request: RecallRequest, options: LiteralString = "VERBOSE"
) -> Node:
    """Return the root node of a recall's plan; the connection must not have run one before."""
    statement = as_sql(recall_text(shape_of(request)))
    values = query_values(request)
    conn.execute(statement, values, prepare=True)
    name, types = _find_prepared(conn)
    names = dict.fromkeys(_PARAMETER.findall(statement.as_string(conn)))
    arguments = [
        sql.SQL("{}::{}").format(sql.Literal(values[parameter]), sql.SQL(kind))
        for parameter, kind in zip(names, types, strict=True)
    ]
    row = conn.execute(
        sql.SQL("EXPLAIN ({}, FORMAT JSON) EXECUTE {} ({})").format(
            sql.SQL(options), sql.Identifier(name), sql.SQL(", ").join(arguments)
        )
    ).fetchone()
    assert row is not None
    return row[0][0]["Plan"]


def _find_prepared(conn: psycopg.Connection[Any]) -> tuple[str, Sequence[Any]]:
    [found] = conn.execute(
        "SELECT name, parameter_types::text[] FROM pg_prepared_statements"
        " WHERE statement LIKE '%fused AS MATERIALIZED%'"
    ).fetchall()
    return found


def walk(node: Mapping[str, Any]) -> Iterator[Node]:
    """Yield the node and everything below it."""
    yield dict(node)
    for child in node.get("Plans", ()):
        yield from walk(child)


def rows_read(node: Node) -> float:
    """Return how many rows a scan read, including those that its filter removed."""
    removed = node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
    return (node["Actual Rows"] + removed) * node["Actual Loops"]
