"""Views and functions over traces and the store, each number compared with Python."""

import math
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Generator
from pathlib import Path
from statistics import mean, median
from typing import Any, LiteralString, cast

import numpy as np
import psycopg
import pytest
from embedders import HashingEmbedder
from psycopg.rows import dict_row
from traced import fill, random_searches
from views_doc import FUNCTIONS, SHOWN, render
from views_doc import fill as fill_examples

from memsense import MemSense, SearchResult
from memsense.db import Pool
from memsense.search.profiles import BALANCED
from memsense.search.recall.run import RecallRequest, run_recall
from memsense.store.traces import Trace
from memsense.text.lexemes import ask_lexemes

OpenMemory = Callable[..., MemSense]
DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "views.md"


@pytest.fixture
def store(database_url: str) -> Generator[psycopg.Connection[Any]]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def traced(memory: MemSense) -> list[Trace]:
    """Record thirty searches over a filled store."""
    fill(memory, sessions=5)
    fill(memory, user_id="bob", sessions=2, mode="turn")
    found: list[Trace] = []
    for asked in random_searches(30, seed=77):
        result = memory.search(asked.question, **asked.options, trace=True)
        found.append(memory.traces.get(result.trace_id or ""))
    return found


def rows(store: psycopg.Connection[Any], query: str, *values: Any) -> list[dict[str, Any]]:
    cursor = store.cursor(row_factory=dict_row)
    return cursor.execute(cast("LiteralString", query), values).fetchall()


def test_recall_explain_adds_up_to_each_score(
    store: psycopg.Connection[Any], traced: list[Trace]
) -> None:
    found = rows(store, "SELECT * FROM memsense.recall_explain")
    assert len(found) == sum(len(hit.routes) for trace in traced for hit in trace.hits())
    hits: dict[tuple[Any, int], list[dict[str, Any]]] = defaultdict(list)
    for row in found:
        hits[row["trace_id"], row["hit_rank"]].append(row)
    for trace in traced:
        for hit in trace.hits():
            told = hits[trace.trace_id, hit.hit_rank or 0]
            assert {row["route"]: row["route_rank"] for row in told} == dict(
                zip(hit.routes, hit.ranks, strict=True)
            )
            total = sum(row["contribution"] for row in told)
            total += told[0]["turn_support"] + told[0]["term_sum"]
            assert total == pytest.approx(hit.final_score, abs=1e-9)
            assert all(row["question"] == trace.question for row in told)


def test_recall_candidates_holds_every_candidate(
    store: psycopg.Connection[Any], traced: list[Trace]
) -> None:
    found = rows(store, "SELECT * FROM memsense.recall_candidates ORDER BY trace_id, position")
    expected = sorted(
        (str(trace.trace_id), item.position, item.chunk_id, item.dropped_by, item.hit_rank)
        for trace in traced
        for item in trace.candidates
    )
    names = ("position", "chunk_id", "dropped_by", "hit_rank")
    assert [(str(row["trace_id"]), *(row[name] for name in names)) for row in found] == expected
    assert all(row["session_id"] for row in found)


def test_route_contribution_counts_the_hits_of_each_route(
    store: psycopg.Connection[Any], traced: list[Trace]
) -> None:
    found = rows(store, "SELECT * FROM memsense.route_contribution")
    for profile in {trace.profile_name for trace in traced}:
        hits = [hit for trace in traced if trace.profile_name == profile for hit in trace.hits()]
        score = sum(hit.final_score for hit in hits)
        given: Counter[str] = Counter()
        ranks: dict[str, list[int]] = defaultdict(list)
        for hit in hits:
            for route, rank in zip(hit.routes, hit.ranks, strict=True):
                ranks[route].append(rank)
                given[route] += hit.parts().get(route, 0.0)  # pyright: ignore[reportArgumentType]
        alone = Counter(hit.routes[0] for hit in hits if len(hit.routes) == 1)
        told = {row["route"]: row for row in found if row["profile_name"] == profile}
        assert told.keys() == ranks.keys()
        for route, row in told.items():
            assert row["hits"] == len(hits)
            assert row["hits_found"] == len(ranks[route])
            assert row["hits_it_alone_found"] == alone[route]
            assert row["mean_rank"] == pytest.approx(mean(ranks[route]))
            assert row["share_of_score"] == pytest.approx(given[route] / score)


def test_recall_latency_gives_the_percentiles(
    store: psycopg.Connection[Any], traced: list[Trace]
) -> None:
    found = {
        row["profile_name"]: row for row in rows(store, "SELECT * FROM memsense.recall_latency")
    }
    for profile, row in found.items():
        timings = [trace.timings_ms for trace in traced if trace.profile_name == profile]
        totals = [timing["total"] for timing in timings]
        assert row["searches"] == len(timings)
        assert row["total_p50"] == pytest.approx(median(totals))
        assert row["total_p95"] == pytest.approx(np.percentile(totals, 95))
        assert row["total_p99"] == pytest.approx(np.percentile(totals, 99))
        for phase in ("embed", "recall", "rerank", "fetch"):
            assert row[f"{phase}_p50"] == pytest.approx(median(item[phase] for item in timings))


def test_never_recalled_are_the_active_chunks_that_were_no_hit(
    memory: MemSense, store: psycopg.Connection[Any], traced: list[Trace]
) -> None:
    memory.search("apple", user_id="ada", trace=True, exclude=[1])
    memory.traces.flush()
    late = [
        memory.add([{"role": "user", "content": text}], user_id="ada", session_id="late")[0]
        for text in ("A zebra.", "A quagga.")
    ]
    memory.forget(late[0].chunk_id)
    traces = [memory.traces.get(item.trace_id) for item in memory.traces.list(limit=100)]
    hits = {
        chunk_id
        for trace in traces
        for hit in trace.hits()
        for chunk_id in (hit.chunk_id, hit.shown_chunk_id)
    }
    seen = Counter(item.chunk_id for trace in traces for item in trace.candidates)
    active = rows(store, "SELECT chunk_id FROM memsense.chunks WHERE status = 'active'")
    found = rows(store, "SELECT * FROM memsense.never_recalled")
    assert {row["chunk_id"] for row in found} == {row["chunk_id"] for row in active} - hits
    assert all(row["times_candidate"] == seen[row["chunk_id"]] for row in found)
    assert len(traces) == len(traced) + 1


def test_duplicate_chunks_are_the_pairs_that_mmr_would_pass_over(
    memory: MemSense, store: psycopg.Connection[Any]
) -> None:
    fill(memory, sessions=6)
    fill(memory, user_id="bob", sessions=6)
    embedder = HashingEmbedder()
    texts = rows(
        store,
        "SELECT chunk_id, scope_id, granularity, coalesce(nullif(session_text, ''),"
        " concat_ws(E'\\n', user_text, assistant_text)) AS text FROM memsense.chunks",
    )
    vectors = {row["chunk_id"]: embedder.embed_query(row["text"]) for row in texts}
    expected = {
        (one["chunk_id"], other["chunk_id"]): float(
            vectors[one["chunk_id"]] @ vectors[other["chunk_id"]]
        )
        for one in texts
        for other in texts
        if one["chunk_id"] < other["chunk_id"]
        and (one["scope_id"], one["granularity"]) == (other["scope_id"], other["granularity"])
    }
    near = {pair: cosine for pair, cosine in expected.items() if cosine >= 0.94}
    found = rows(store, "SELECT * FROM memsense.duplicate_chunks")
    told = {(row["chunk_id"], row["duplicate_id"]): row["cosine"] for row in found}
    assert told.keys() == near.keys()
    assert len(told) > 2
    for pair, cosine in told.items():
        assert cosine == pytest.approx(near[pair], abs=2e-3)


def test_embedding_versions_count_vectors_by_model(
    memory: MemSense, open_memory: OpenMemory, store: psycopg.Connection[Any]
) -> None:
    fill(memory, sessions=2)
    other = open_memory(namespace="work", embedder=HashingEmbedder(dimension=16, model="small"))
    fill(other, sessions=1, mode="turn")
    found = {
        (row["namespace"], row["route"]): row
        for row in rows(store, "SELECT * FROM memsense.embedding_versions")
    }
    assert found["default", "full"]["vectors"] == 12
    assert found["default", "user"]["vectors"] == 10
    assert found["work", "full"]["vectors"] == 5
    assert found["work", "full"]["model"] == "small"
    assert found["work", "full"]["dimension"] == 16
    assert all(row["is_current"] and row["wrong_width"] == 0 for row in found.values())
    store.execute("UPDATE memsense.models SET dimension = 17 WHERE name = 'small'")
    (wrong,) = rows(
        store,
        "SELECT wrong_width FROM memsense.embedding_versions"
        " WHERE namespace = 'work' AND route = 'full'",
    )
    assert wrong["wrong_width"] == 5


def test_index_health_lists_the_indexes_of_the_catalogue(store: psycopg.Connection[Any]) -> None:
    found = rows(store, "SELECT * FROM memsense.index_health")
    names = rows(store, "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'memsense'")
    assert {row["index_name"]: row["definition"] for row in found} == {
        row["indexname"]: row["indexdef"] for row in names
    }
    assert all(row["is_usable"] for row in found)
    assert {row["method"] for row in found} == {"btree", "gin"}


def test_lexeme_stats_are_those_of_bm25(memory: MemSense, store: psycopg.Connection[Any]) -> None:
    fill(memory, sessions=3)
    found = rows(store, "SELECT * FROM memsense.lexeme_stats WHERE granularity = 'turn'")
    chunks = rows(
        store,
        "SELECT tsvector_to_array(ts_filter(tsv, '{a,b,c}')) AS lexemes FROM memsense.chunks"
        " WHERE granularity = 'turn'",
    )
    counted = Counter(lexeme for chunk in chunks for lexeme in chunk["lexemes"])
    assert {row["lexeme"]: row["document_frequency"] for row in found} == counted
    for row in found:
        n, df = len(chunks), row["document_frequency"]
        assert row["chunk_count"] == n
        assert row["share"] == pytest.approx(df / n)
        assert row["idf"] == pytest.approx(math.log(1 + (n - df + 0.5) / (df + 0.5)))


def test_explain_runs_up_to_the_score_of_each_hit(
    store: psycopg.Connection[Any], traced: list[Trace]
) -> None:
    for trace in traced[:8]:
        told = rows(store, "SELECT * FROM memsense.explain(%s)", trace.trace_id)
        for hit in trace.hits():
            lines = [row for row in told if row["hit_rank"] == hit.hit_rank]
            *parts, total, step = lines
            assert (total["part"], step["part"]) == ("= final_score", "mmr")
            assert total["value"] == hit.final_score
            assert parts[-1]["running_total"] == pytest.approx(hit.final_score, abs=1e-9)
            assert step["value"] == hit.mmr_score
            named = {row["part"]: row["value"] for row in parts if row["value"]}
            expected = {name: value for name, value in hit.parts().items() if value}
            assert named == pytest.approx(expected)


@pytest.mark.parametrize(("user_id", "changed"), [("ada", False), ("ada", True), (None, False)])
def test_recall_lexical_agrees_with_the_recall_query(
    memory: MemSense,
    store: psycopg.Connection[Any],
    database_url: str,
    user_id: str | None,
    changed: bool,
) -> None:
    fill(memory, sessions=5)
    fill(memory, user_id="bob", sessions=3)
    constants = {
        "k1": 0.9,
        "b": 0.6,
        "weight_context": 0.7,
        "weight_tag": 1.4,
        "postings_budget": 3000,
        "weight_user": 1.3,
        "weight_assistant": 0.6,
    }
    profile = BALANCED.override(
        least_candidates=500, least_route_limit=500, **(constants if changed else {})
    )
    named = "".join(f", {name} => {value}" for name, value in constants.items() if changed)
    with Pool(database_url, min_size=1, max_size=1, timeout=10) as pool:
        for question in ("apple river", "the violin lesson", "tea tea garden's", "o'clock \\ x"):
            request = RecallRequest(
                tenant_id=1,
                namespace="default",
                user_id=user_id,
                granularities=("turn", "session"),
                model_id=1,
                query_vector=None,
                terms=ask_lexemes(question, "en", ()),
                profile=profile,
                top_k=10,
            )
            with pool.connection() as connection:
                _, candidates = run_recall(connection, request)
            expected = {
                item.chunk_id: (hit.rank, item.granularity, hit.score)
                for item in candidates
                for hit in item.routes
            }
            found = rows(
                store,
                f"SELECT * FROM memsense.recall_lexical('default', 'default', %s, %s, 500{named})",  # noqa: S608
                user_id,
                request.terms,
            )
            told = {row["chunk_id"]: (row["rank"], row["kind"], row["score"]) for row in found}
            assert told.keys() == expected.keys()
            for chunk_id, (rank, kind, score) in told.items():
                assert (rank, kind) == expected[chunk_id][:2]
                assert score == pytest.approx(expected[chunk_id][2], rel=1e-12)


def test_recall_lexical_keeps_tenants_apart_and_limits(
    memory: MemSense, open_memory: OpenMemory, store: psycopg.Connection[Any]
) -> None:
    fill(memory, sessions=2)
    fill(open_memory(tenant="other"), sessions=2)
    query = "SELECT chunk_id FROM memsense.recall_lexical(%s, 'default', 'ada', 'apple tea', 3)"
    one, other = (
        {row["chunk_id"] for row in rows(store, query, tenant)} for tenant in ("default", "other")
    )
    assert len(one) == len(other) == 3
    assert not one & other
    assert rows(store, query, "nobody") == []


def test_every_column_has_a_comment(store: psycopg.Connection[Any]) -> None:
    silent = rows(
        store,
        "SELECT c.relname, a.attname FROM pg_class AS c"
        " JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0"
        " WHERE c.relkind = 'v' AND c.relnamespace = 'memsense'::regnamespace"
        " AND coalesce(col_description(c.oid, a.attnum), obj_description(c.oid)) IS NULL",
    )
    assert silent == []


@pytest.mark.one_server("its functions take no argument from a table there")
def test_the_document_shows_every_view_and_function_as_it_is(
    memory: MemSense, store: psycopg.Connection[Any]
) -> None:
    fill_examples(memory)
    text = render(store)
    if os.environ.get("MEMSENSE_REWRITE"):
        DOCUMENT.write_text(text, encoding="utf-8")
    assert DOCUMENT.read_text(encoding="utf-8") == text
    views = rows(store, "SELECT viewname FROM pg_views WHERE schemaname = 'memsense'")
    assert {shown.name for shown in SHOWN} == {row["viewname"] for row in views}
    functions = rows(
        store,
        "SELECT proname FROM pg_proc WHERE pronamespace = 'memsense'::regnamespace"
        " AND proname NOT IN ('scope_lexemes', 'scope_tags', 'scope_spellings', 'spellings',"
        " 'claim_model')"
        " AND proname !~ '^count|^field_weights$|^harmonic_cuts$|^find_'",  # that recall calls
    )
    assert {shown.name.split("(")[0] for shown in FUNCTIONS} == {
        row["proname"] for row in functions
    }


def test_a_traced_result_is_found_in_the_views(
    memory: MemSense, store: psycopg.Connection[Any]
) -> None:
    fill(memory, sessions=2)
    result: SearchResult = memory.search("apple", user_id="ada", trace=True)
    memory.traces.flush()
    query = (
        "SELECT DISTINCT hit_rank, shown_chunk_id FROM memsense.recall_explain WHERE trace_id = %s"
    )
    found = rows(store, query, result.trace_id)
    told = {row["hit_rank"]: row["shown_chunk_id"] for row in found}
    assert told == {place: hit.chunk_id for place, hit in enumerate(result, start=1)}
