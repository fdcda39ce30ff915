"""Says in words how the server runs the routes of the recall query."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memsense.db.connection import Connection
from memsense.db.rows import Named, fetch_value, find_one
from memsense.doctor.findings import FILE, Finding
from memsense.search.recall.optional import OPTIONAL_ROUTES

SLOW_MS = 250
"""What a question's words may take without their index before their plan is worth a warning."""

WASTED_ROWS = 10_000
"""Rows of others that a route may read in vain before its plan is worth a warning."""

LOOKUPS = frozenset({"find_postings", "find_ranked"})
"""The functions that the words of a question are looked up by, where tables are not read."""

WORD_INDEX = "chunks_scope_lexemes"

_OPTIONAL_TABLES = {route.table for route in OPTIONAL_ROUTES.values()}


def find_largest_scope(connection: Connection) -> dict[str, Any] | None:
    """The largest memory, with a text and a vector to try recall with; None where there is none."""
    return find_one(connection, "find_largest_scope", file=FILE, of=Named)


def are_words_indexed(connection: Connection) -> bool:
    """Whether the transaction so far has scanned the text index."""
    return fetch_value(connection, "are_words_indexed", file=FILE)


def examine_plan(
    plan: Any, routes: Sequence[str], *, are_words_indexed: bool | None = None
) -> Iterator[Finding]:
    """Each route's plan in words, from EXPLAIN (ANALYZE, FORMAT JSON) of the recall query.

    `are_words_indexed`: whether the functions that look words up used their index; None where
    there is no such function in the query.
    """
    top = json.loads(plan) if isinstance(plan, str) else plan
    nodes = list(_walk(top[0]["Plan"]))
    yield Finding(
        check="plan",
        severity="info",
        text=f"recall of the largest memory took {top[0]['Execution Time']:.1f} ms",
    )
    for route in routes:
        root = _root_of(nodes, route)
        if root is not None:
            yield _describe_route(route, root, are_words_indexed)
        elif route not in OPTIONAL_ROUTES:
            yield _not_run(route)


def _walk(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from _walk(child)


def _root_of(nodes: Sequence[Mapping[str, Any]], route: str) -> Mapping[str, Any] | None:
    names = {"CTE matched"} if route == "lexical" else set[str]()
    for node in nodes:
        is_route = node.get("Subplan Name") in names or node.get("Alias") == route
        if is_route and any(_is_source(child) for child in _walk(node)):
            return node
    return None


def _is_source(node: Mapping[str, Any]) -> bool:
    name = node.get("Relation Name", "")
    has_rows = name.startswith(("embeddings_", "chunks")) or name in _OPTIONAL_TABLES
    return (
        has_rows or node.get("Function Name") in LOOKUPS or node.get("One-Time Filter") == "false"
    )


def _not_run(route: str) -> Finding:
    return Finding(check="plan", severity="info", text=f"{route}: not run")


def _describe_route(route: str, root: Mapping[str, Any], are_words_indexed: bool | None) -> Finding:
    source = next(node for node in _walk(root) if _is_source(node))
    name = source.get("Relation Name") or source.get("Function Name")
    if name is None or source.get("Actual Loops") == 0:
        return _not_run(route)
    rows, wasted = source["Actual Rows"], source.get("Rows Removed by Filter", 0)
    if "Function Name" in source:
        index = WORD_INDEX if are_words_indexed else None
    else:
        index = next((node["Index Name"] for node in _walk(source) if "Index Name" in node), None)
    way = f"by {index}" if index else "read whole"
    text = f"{route}: {name} {way}, {rows:.0f} rows, {root['Actual Total Time']:.1f} ms"
    if index is None and route == "lexical" and root["Actual Total Time"] > SLOW_MS:
        return Finding(
            check="plan",
            severity="warning",
            text=f"{text}: its index does not serve",
            remedy="run 'ANALYZE'; if that does not help, see what is found about security",
        )
    if index is None and wasted > WASTED_ROWS:
        return Finding(
            check="plan",
            severity="warning",
            text=f"{text}, {wasted:.0f} rows of others read in vain",
            remedy="run 'ANALYZE'; if that does not help, see the indexes above",
        )
    return Finding(check="plan", severity="info", text=text)
