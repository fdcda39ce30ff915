"""Each variant of recall.sql parses, names its tenant wherever it reads, and is printable."""

import itertools
import re
from collections.abc import Iterator

import psycopg
import pytest
from embedders import HashingEmbedder
from pgvector.psycopg import register_vector
from psycopg import sql

from memsense.profiles import BALANCED
from memsense.queries import query, recall_query, recall_text, statement_names
from memsense.recall import RecallRequest, query_values

FILTERS = (
    "by_session", "by_agent", "by_since", "by_until", "by_tags", "by_kinds", "by_metadata",
    "by_exclude",
)  # fmt: skip
BASES = [
    frozenset({scan, mode, *one_user})
    for scan in ("exact", "ann")
    for mode in ("bm25f", "ts_rank")
    for one_user in ((), ("one_user",))
]


def filter_sets() -> Iterator[frozenset[str]]:
    for n in range(len(FILTERS) + 1):
        for chosen in itertools.combinations(FILTERS, n):
            yield frozenset(chosen) | ({"filtered"} if chosen else set())


def variants() -> list[frozenset[str]]:
    """Every base with no, each and all filters; and one base with every pair of filters."""
    few = [chosen for chosen in filter_sets() if len(chosen) in (0, 2, len(FILTERS) + 1)]
    pairs = [chosen for chosen in filter_sets() if len(chosen) == 3]
    return [base | chosen for base in BASES for chosen in few] + [BASES[1] | two for two in pairs]


def common_table_expressions(text: str) -> dict[str, str]:
    """The body of each CTE by its name."""
    return dict(
        re.findall(
            r"^(?:WITH )?(\w+) AS (?:(?:NOT )?MATERIALIZED )?\(\n(.*?)^\)",
            text,
            re.MULTILINE | re.DOTALL,
        )
    )


def test_every_variant_parses(conn: psycopg.Connection) -> None:
    register_vector(conn)
    values = query_values(
        RecallRequest(
            tenant_id=1,
            namespace="default",
            user_id="ada",
            granularities=("turn",),
            query_vector=HashingEmbedder().embed_query("tea"),
            terms="tea",
            profile=BALANCED,
            top_k=8,
        )
    )
    conn.execute("SET geqo_threshold = 2")
    for flags in variants():
        text = recall_query(flags, 1, 48)
        conn.execute(sql.SQL("EXPLAIN {}").format(text), values)


@pytest.mark.parametrize("base", BASES, ids=lambda flags: "-".join(sorted(flags)))
def test_each_cte_that_reads_a_table_names_the_tenant(base: frozenset[str]) -> None:
    text = recall_text(base | {"filtered", *FILTERS})
    tables = re.compile(r"\b(?:FROM|JOIN) memsense\.\w+(?: AS (\w+))?")
    bodies = common_table_expressions(text)
    assert len(bodies) > 10
    for name, body in bodies.items():
        for alias in tables.findall(body):
            column = f"{alias}.tenant_id" if alias else "tenant_id"
            assert re.search(rf"(?<![.\w]){re.escape(column)} = %\(tenant_id\)s", body), name
    assert sum(len(tables.findall(body)) for body in bodies.values()) == len(tables.findall(text))


def test_every_statement_of_the_store_names_the_tenant() -> None:
    without = {
        "find_tenant",
        "ensure_tenant",
        "ensure_model",
        "find_model",
        "find_language",
        "list_languages",
    }
    named = {name for name in statement_names() if "tenant_id" in query(name).as_string()}
    assert set(statement_names()) - named == without - {"find_tenant"}


def test_a_variant_shows_no_marker_and_no_other_variants_lines() -> None:
    for flags in variants():
        text = recall_text(flags)
        assert "--:" not in text
        assert ("AS filtered" in text or "FROM filtered" in text) == ("filtered" in flags)
        assert ("ts_rank_cd(" in text) == ("ts_rank" in flags)
        assert ("{scope_id}" in text) == ("ann" in flags)
