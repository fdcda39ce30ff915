"""Cost of a search, counted: statements, round trips, bytes, plan nodes, rows and buffers.

Times vary with the machine, these numbers only with the search. Each limit is a tenth above the
count at the time when it was set.
"""

import random
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from typing import Any

import psycopg
import pytest
from embedders import TokenHashingEmbedder
from plans import Node, explain_recall, rows_read, walk
from wire import counting_wire

from memsense import MemSense
from memsense.db import Pool
from memsense.search import search as searching
from memsense.search.recall.run import RecallRequest

EXCHANGES = 300
USERS = ("ada", "bob", "eve")
# Words of letters alone: one of letters and digits is several.
VOCABULARY = [
    "".join(f"{'bdgkmprstz'[int(digit)]}o" for digit in f"{number:04}") for number in range(2000)
]
QUESTION = f"{VOCABULARY[3]} {VOCABULARY[40]} {VOCABULARY[700]}"

ROUND_TRIPS = {"statements": 4, "parsed": 0, "round_trips": 2, "late_flushes": 0}
"""Recall and the texts of its hits, each in one round trip with the word whose rows it may see."""

CEILINGS: Mapping[str, Mapping[str, int]] = {
    "plain": {
        **ROUND_TRIPS,
        "bytes_sent": 1_900,
        "bytes_received": 251_000,
        "nodes": 212,
        "rows_read": 1_620,
        "buffers": 440,
    },
    "filtered": {
        **ROUND_TRIPS,
        "bytes_sent": 1_950,
        "bytes_received": 250_000,
        "nodes": 267,
        "rows_read": 1_150,
        "buffers": 1_450,
    },
    "sessions": {
        **ROUND_TRIPS,
        "bytes_sent": 2_200,
        "bytes_received": 680_000,
        "nodes": 220,
        "rows_read": 1_880,
        "buffers": 480,
    },
}

PLANNED = {"nodes", "rows_read", "buffers"}
"""Counts of the plan, which are those of PostgreSQL 18."""

OPTIONS: Mapping[str, dict[str, Any]] = {
    "plain": {},
    "filtered": {"session_ids": [f"s{number}" for number in range(6)]},
    "sessions": {"granularity": "session"},
}

HOW_TO_SEE = (
    "Recall's statement: memsense sql recall. Its plan: EXPLAIN (ANALYZE, BUFFERS) of it, or"
    " explain_recall in tests/sql/plans.py. What goes over the wire: tests/sql/wire.py. Where more"
    " is meant to be read, raise the ceiling in this file and say in the commit what it gains."
)


def tell_scans(plan: Node) -> str:
    """Return the tables that recall reads most rows of, and most buffers."""
    rows: Counter[str] = Counter()
    buffers: Counter[str] = Counter()
    for node in walk(plan):
        if name := node.get("Relation Name"):
            rows[name] += round(rows_read(node))
            buffers[name] += node["Shared Hit Blocks"] + node["Shared Read Blocks"]
    told = [
        f"{name} {count:,} rows, {buffers[name]:,} buffers" for name, count in rows.most_common(6)
    ]
    return "Recall reads most of: " + "; ".join(told)


def check(found: Mapping[str, int], ceilings: Mapping[str, int], told: str) -> None:
    """Fail with the counts that have grown."""
    assert found.keys() == ceilings.keys()
    grown = [
        f"{name} is {found[name]:,}, and was at most {most:,}"
        for name, most in ceilings.items()
        if found[name] > most
    ]
    assert not grown, f"A search costs more than it did: {', '.join(grown)}. {told}. {HOW_TO_SEE}"


def some_log(source: random.Random) -> list[list[dict[str, str]]]:
    """Return sessions of 20 exchanges, with a natural distribution of words."""
    weights = [1 / (number + 1) for number in range(len(VOCABULARY))]
    return [
        [
            {"role": role, "content": " ".join(source.choices(VOCABULARY, weights, k=12))}
            for _ in range(20)
            for role in ("user", "assistant")
        ]
        for _ in range(EXCHANGES // 20)
    ]


@pytest.fixture(autouse=True, scope="module")
def _english() -> Generator[None]:
    # Words that are made up show no language.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMSENSE_LANGUAGE", "en")
        yield


@pytest.fixture(scope="module")
def stored_url(module_database_url: str) -> str:
    """Return the URL of a store with the same memory of three users, vacuumed and analysed."""
    source = random.Random(7)
    log = some_log(source)
    embedder = TokenHashingEmbedder(dimension=384)
    with MemSense.open(module_database_url, embedder=embedder) as memory:
        for user in USERS:
            for number, messages in enumerate(log):
                memory.add(messages, user_id=user, session_id=f"s{number}", mode="turn")
    with psycopg.connect(module_database_url, autocommit=True) as connection:
        connection.execute("VACUUM (ANALYZE)")
    return module_database_url


def count_said(url: str, options: Mapping[str, Any]) -> dict[str, int]:
    """Count the traffic of one search after warm-up."""
    with (
        counting_wire(url) as (wired_url, wire),
        MemSense.open(wired_url, embedder=TokenHashingEmbedder(dimension=384)) as memory,
    ):
        for _ in range(10):  # every connection of the pool has prepared its statements
            memory.search(QUESTION, user_id="bob", **options)
        before = wire.counts
        found = memory.search(QUESTION, user_id="bob", **options)
        assert len(found) == 8
        return wire.counts.since(before)


@pytest.fixture
def explained(
    stored_url: str, monkeypatch: pytest.MonkeyPatch, options: Mapping[str, Any]
) -> Generator[Node]:
    """Yield the plan of a search's recall."""
    asked: list[RecallRequest] = []
    run = searching.run_recalls

    def note(connection: Any, requests: Sequence[RecallRequest]) -> Any:
        asked.extend(requests)
        return run(connection, requests)

    monkeypatch.setattr(searching, "run_recalls", note)
    with MemSense.open(stored_url, embedder=TokenHashingEmbedder(dimension=384)) as memory:
        memory.search(QUESTION, user_id="bob", **options)
    with (
        closing(Pool(stored_url, min_size=1, max_size=1, timeout=10)) as pool,
        pool.connection() as connection,
    ):
        yield explain_recall(connection, asked[-1])


@pytest.mark.parametrize(("name", "options"), OPTIONS.items(), ids=OPTIONS)
def test_a_search_costs_no_more_than_it_did(
    stored_url: str, explained: Node, name: str, options: Mapping[str, Any]
) -> None:
    scans = [node for node in walk(explained) if "Relation Name" in node]
    found = {
        **count_said(stored_url, options),
        "nodes": sum(1 for _ in walk(explained)),
        "rows_read": round(sum(map(rows_read, scans))),
        "buffers": explained["Shared Hit Blocks"] + explained["Shared Read Blocks"],
    }
    ceilings = CEILINGS[name]
    with psycopg.connect(stored_url) as connection:
        (page_cost,) = connection.execute("SHOW random_page_cost").fetchone() or ("",)
        if connection.info.server_version < 180000 or page_cost != "1.1":
            # Their planners read a table as small as this one from end to end.
            ceilings = {key: ceilings[key] for key in ceilings.keys() - PLANNED}
            found = {key: found[key] for key in ceilings}
    check(found, ceilings, tell_scans(explained))


def test_a_grown_count_is_reported_with_how_to_find_the_cause() -> None:
    with pytest.raises(AssertionError, match="rows_read is 1,200, and was at most 1,000") as told:
        check({"rows_read": 1200, "buffers": 5}, {"rows_read": 1000, "buffers": 5}, "Most: chunks")
    assert "Most: chunks" in str(told.value)
    assert "memsense sql recall" in str(told.value)
    assert "buffers is" not in str(told.value)
