"""A description of how the server runs the routes of the recall query."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memsense.db.connection import Connection
from memsense.db.rows import fetch_value
from memsense.doctor.findings import FILE, Finding, info, warning
from memsense.search.recall.optional import OPTIONAL_ROUTES

SLOW_MS = 250
"""Milliseconds that the words of a question may take without their index before it is a warning."""

WASTED_ROWS = 10_000
"""Rows of other memories that a route may read in vain before it is a warning."""

COMPARED_ROWS = 10_000
"""Vectors of an indexed memory that a route may compare one by one before it is a warning."""

LOOKUPS = frozenset({"find_postings", "find_ranked"})
"""The functions that look up a question's words when tables are not read directly."""

WORD_INDEX = "chunks_scope_lexemes"

_OPTIONAL_STEPS: Mapping[str, str] = {name: route.step for name, route in OPTIONAL_ROUTES.items()}
_OPTIONAL_TABLES = {route.table for route in OPTIONAL_ROUTES.values()}


def are_words_indexed(connection: Connection) -> bool:
    """Return whether the transaction so far has scanned the text index."""
    return fetch_value(connection, "are_words_indexed", file=FILE)


def examine_plan(
    plan: Any,
    routes: Sequence[str],
    *,
    are_words_indexed: bool | None = None,
    has_vector_indexes: bool = False,
) -> Iterator[Finding]:
    """Describe each route's plan, from EXPLAIN (ANALYZE, FORMAT JSON) of the recall query.

    `are_words_indexed`: whether the functions that look words up used their index; None if the
    query has no such function. `has_vector_indexes`: whether the memory has HNSW indexes, which its
    vector routes should then use.
    """
    top = json.loads(plan) if isinstance(plan, str) else plan
    nodes = list(_walk(top[0]["Plan"]))
    yield info(f"recall of the largest memory took {top[0]['Execution Time']:.1f} ms", check="plan")
    for route in routes:
        root = _find_root(nodes, route)
        if root is not None:
            yield _describe_route(route, root, are_words_indexed, has_vector_indexes)
        # An optional route that the question doesn't call for is not in the statement.
        elif route not in OPTIONAL_ROUTES:
            yield info(f"{route}: not run", check="plan")


def _walk(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from _walk(child)
    # On Citus, the plan of the worker that ran the query, below the coordinator's.
    for task in node.get("Distributed Query", {}).get("Job", {}).get("Tasks", ()):
        for [remote] in task.get("Remote Plan", ()):
            yield from _walk(remote["Plan"])


def _find_root(nodes: Sequence[Mapping[str, Any]], route: str) -> Mapping[str, Any] | None:
    # Words are matched in a step of their own, which the route of that name only ranks. A route is
    # a subquery, or a CTE if it is read more than once.
    step = "matched" if route == "lexical" else _OPTIONAL_STEPS.get(route, route)
    for node in nodes:
        is_route = node.get("Subplan Name") == f"CTE {step}" or node.get("Alias") == step
        if is_route and any(_is_source(child) for child in _walk(node)):
            return node
    return None


def _is_source(node: Mapping[str, Any]) -> bool:
    name = node.get("Relation Name", "")
    has_rows = name.startswith(("embeddings_", "chunks")) or name in _OPTIONAL_TABLES
    # A condition that is false from the start reads nothing, and replaces its table in the plan.
    return (
        has_rows or node.get("Function Name") in LOOKUPS or node.get("One-Time Filter") == "false"
    )


def _describe_route(
    route: str,
    root: Mapping[str, Any],
    are_words_indexed: bool | None,
    has_vector_indexes: bool,
) -> Finding:
    source = next(node for node in _walk(root) if _is_source(node))
    name = source.get("Relation Name") or source.get("Function Name")
    if name is None or source.get("Actual Loops") == 0:
        return info(f"{route}: not run", check="plan")
    rows, wasted = source["Actual Rows"], source.get("Rows Removed by Filter", 0)
    # The plan of a function's own statements is not in the plan of the query.
    if "Function Name" in source:
        index = WORD_INDEX if are_words_indexed else None
    else:
        index = next((node["Index Name"] for node in _walk(source) if "Index Name" in node), None)
    way = f"by {index}" if index else "read whole"
    text = f"{route}: {name} {way}, {rows:.0f} rows, {root['Actual Total Time']:.1f} ms"
    if index is None and route == "lexical" and root["Actual Total Time"] > SLOW_MS:
        return warning(
            f"{text}: its index does not serve",
            "run 'ANALYZE'; if that does not help, see the findings on security",
            check="plan",
        )
    is_compared = name.startswith("embeddings_") and "_settled_model_" not in (index or "")
    if has_vector_indexes and is_compared and rows + wasted > COMPARED_ROWS:
        return warning(
            f"{text}: its HNSW index does not serve",
            "run 'ANALYZE'; if that does not help, run 'memsense db optimise'",
            check="plan",
        )
    if index is None and wasted > WASTED_ROWS:
        return warning(
            f"{text}, {wasted:.0f} rows of other memories read in vain",
            "run 'ANALYZE'; if that does not help, see the indexes above",
            check="plan",
        )
    return info(text, check="plan")
