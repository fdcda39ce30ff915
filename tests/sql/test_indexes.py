"""HNSW indexes of large scopes: searches use them, and interrupted builds are finished."""

from collections.abc import Callable, Generator
from itertools import product

import numpy as np
import psycopg
import pytest
from embedders import HashingEmbedder
from plans import explain_recall, walk
from psycopg import sql

from memsense import MemSense, load_settings
from memsense.db import Pool
from memsense.db.connection import Connection
from memsense.errors import DatabaseError
from memsense.search.profiles import BALANCED, ROUTES, VECTOR_ROUTES, Profile
from memsense.search.recall import run as recall
from memsense.search.recall.run import RecallRequest, run_recall
from memsense.search.recall.statement import Indexed
from memsense.search.request import Filters
from memsense.store import indexes
from memsense.store.indexes import (
    INDEXED_TABLES,
    ScopeSize,
    choose_indexed,
    optimise,
    should_index,
)
from memsense.store.scopes import KnownScope, Namespace, find_namespace, find_scope, find_tenant
from memsense.text.lexemes import ask_lexemes

WORDS = (
    "lisbon",
    "cello",
    "garden",
    "train",
    "soup",
    "novel",
    "harbour",
    "violin",
    "market",
    "snow",
)
CHUNKS = 120


@pytest.fixture
def namespace(memory: MemSense, connection: Connection) -> Namespace:
    """Return the namespace of a memory with 120 chunks of ada's and 3 of grace's."""
    for number in range(CHUNKS // 10):
        messages = [
            {
                "role": role,
                "content": f"The {WORDS[i]} and the {WORDS[(i + number) % 10]} {number}.",
            }
            for i in range(10)
            for role in ("user", "assistant")
        ]
        memory.add(messages, user_id="ada", session_id=f"s{number}", mode="turn")
    messages = [{"role": "user", "content": f"A {word}."} for word in WORDS[:3]]
    memory.add(messages, user_id="grace", session_id="s", mode="turn")
    tenant_id = find_tenant(connection, "default")
    assert tenant_id is not None
    found = find_namespace(connection, tenant_id, "default")
    assert found is not None
    return found


@pytest.fixture
def connection(database_url: str) -> Generator[Connection]:
    pool = Pool(database_url, min_size=1, max_size=1, timeout=10)
    with pool.connection() as opened:
        yield opened
        for (name,) in opened.execute(
            "SELECT relname::text FROM pg_class WHERE relname LIKE 'embeddings%scope%'"
        ).fetchall():
            opened.execute(sql.SQL("DROP INDEX memsense.{}").format(sql.Identifier(name)))
    pool.close()


def scope_indexes(connection: Connection) -> dict[str, bool]:
    rows = connection.execute(
        "SELECT c.relname::text, i.indisvalid FROM pg_index AS i"
        " JOIN pg_class AS c ON c.oid = i.indexrelid WHERE c.relname LIKE '%scope%'"
        " AND c.relname LIKE 'embeddings%'"
    )
    return dict(rows.fetchall())


def indexed_users(connection: Connection) -> list[str]:
    rows = connection.execute("SELECT user_id FROM memsense.scopes WHERE indexed")
    return [user_id for (user_id,) in rows]


EVERYTHING = Filters()


def request(
    namespace: Namespace,
    known: KnownScope,
    *,
    ann: bool,
    filters: Filters = EVERYTHING,
    profile: Profile = BALANCED,
) -> RecallRequest:
    return RecallRequest(
        tenant_id=namespace.tenant_id,
        namespace=namespace.name,
        user_id="ada",
        granularities=("turn", "session"),
        model_id=namespace.model_id,
        query_vector=HashingEmbedder().embed_query("the lisbon train"),
        terms=ask_lexemes("the lisbon train", "en", ()),
        profile=profile,
        top_k=8,
        filters=filters,
        indexed=Indexed(known.scope_id, 1, namespace.dimension or 0) if ann else None,
    )


def find_known(connection: Connection, namespace: Namespace) -> KnownScope:
    known = find_scope(connection, namespace.tenant_id, namespace.name, "ada")
    assert known is not None
    return known


def test_the_rule_is_the_threshold_and_an_indexed_scope_stays_so_until_it_has_halved() -> None:
    assert not should_index(19_999, 20_000)
    assert should_index(20_000, 20_000)
    assert should_index(10_000, 20_000, indexed=True)
    assert not should_index(9_999, 20_000, indexed=True)


def test_only_scopes_above_the_threshold_get_an_index_a_route(
    connection: Connection, namespace: Namespace
) -> None:
    changes = optimise(connection, namespace, 100, most=64)
    assert [(change.user_id, change.action) for change in changes] == [("ada", "build")]
    assert indexed_users(connection) == ["ada"]
    assert len(scope_indexes(connection)) == len(INDEXED_TABLES)
    assert all(scope_indexes(connection).values())


def test_optimising_again_changes_nothing(connection: Connection, namespace: Namespace) -> None:
    optimise(connection, namespace, 100, most=64)
    assert optimise(connection, namespace, 100, most=64) == []


def how_built(connection: Connection) -> set[str]:
    rows = connection.execute(
        "SELECT array_to_string(reloptions, ', ') FROM pg_class"
        " WHERE relkind = 'i' AND relname LIKE 'embeddings%scope%'"
    )
    return {options for (options,) in rows.fetchall()}


def test_writes_look_less_far_for_neighbours_than_the_building_did(
    connection: Connection, namespace: Namespace, memory: MemSense
) -> None:
    optimise(connection, namespace, 100, most=64)
    assert how_built(connection) == {"m=16, ef_construction=64"}
    said = [{"role": "user", "content": "the lisbon train"}]
    [added] = memory.add(said, user_id="ada", session_id="later")
    hits = memory.search("the lisbon train", user_id="ada")
    assert added.chunk_id in {hit.chunk.chunk_id for hit in hits}


def test_an_index_of_an_earlier_version_is_eased_by_the_next_run(
    connection: Connection, namespace: Namespace
) -> None:
    optimise(connection, namespace, 100, most=64)
    name = sql.Identifier(min(scope_indexes(connection)))
    connection.execute(sql.SQL("ALTER INDEX memsense.{} SET (ef_construction = 200)").format(name))
    assert len(how_built(connection)) == 2
    assert optimise(connection, namespace, 100, most=64) == []
    assert how_built(connection) == {"m=16, ef_construction=64"}


def test_easing_does_not_wait_behind_a_transaction_that_reads(
    connection: Connection, namespace: Namespace, database_url: str
) -> None:
    optimise(connection, namespace, 100, most=64)
    name = sql.Identifier(min(scope_indexes(connection)))
    connection.execute(sql.SQL("ALTER INDEX memsense.{} SET (ef_construction = 200)").format(name))
    with psycopg.connect(database_url) as other:
        other.execute("SELECT count(*) FROM memsense.embeddings WHERE scope_id = 1")
        assert optimise(connection, namespace, 100, most=64) == []
        assert len(how_built(connection)) == 2
    optimise(connection, namespace, 100, most=64)
    assert len(how_built(connection)) == 1


def test_the_indexes_of_a_scope_that_shrank_are_dropped(
    connection: Connection, namespace: Namespace
) -> None:
    optimise(connection, namespace, 100, most=64)
    [change] = optimise(connection, namespace, 1000, most=64)
    assert (change.user_id, change.action, change.chunks) == ("ada", "drop", CHUNKS)
    assert indexed_users(connection) == []
    assert scope_indexes(connection) == {}


def test_an_index_that_a_crash_left_invalid_is_rebuilt(
    connection: Connection, namespace: Namespace
) -> None:
    optimise(connection, namespace, 100, most=64)
    broken = min(scope_indexes(connection))
    connection.execute(
        "UPDATE pg_index SET indisvalid = false WHERE indexrelid = %s::text::regclass",
        (f"memsense.{broken}",),
    )
    [change] = optimise(connection, namespace, 100, most=64)
    assert change.action == "repair"
    assert all(scope_indexes(connection).values())


def test_indexing_that_broke_off_leaves_exact_search_and_is_finished_by_the_next(
    connection: Connection, namespace: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(indexes, "INDEXED_TABLES", (*INDEXED_TABLES[:2], "no_such_table"))
        with pytest.raises(psycopg.errors.UndefinedTable):
            optimise(connection, namespace, 100, most=64)
    assert indexed_users(connection) == []
    assert len(scope_indexes(connection)) == 2
    [change] = optimise(connection, namespace, 100, most=64)
    assert change.action == "build"
    assert len(scope_indexes(connection)) == len(INDEXED_TABLES)


def test_leftovers_of_interrupted_indexing_are_dropped_when_the_scope_is_small_again(
    connection: Connection, namespace: Namespace
) -> None:
    optimise(connection, namespace, 100, most=64)
    connection.execute("UPDATE memsense.scopes SET indexed = false")
    [change] = optimise(connection, namespace, 1000, most=64)
    assert change.action == "clean"
    assert scope_indexes(connection) == {}


def test_only_one_optimisation_runs_at_a_time(
    connection: Connection, namespace: Namespace, database_url: str
) -> None:
    lock = "SELECT pg_advisory_lock(hashtext('memsense indexing'))"
    with psycopg.connect(database_url, autocommit=True) as other:
        other.execute(lock)
        with pytest.raises(DatabaseError, match="another optimisation is running"):
            optimise(connection, namespace, 100, most=64)
    assert indexed_users(connection) == []


def test_an_indexed_scope_is_searched_through_its_indexes(
    connection: Connection, namespace: Namespace
) -> None:
    optimise(connection, namespace, 100, most=64)
    known = find_known(connection, namespace)
    assert known.indexed
    connection.execute(
        "SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off"
    )
    plan = explain_recall(connection, request(namespace, known, ann=True))
    used = {node["Index Name"] for node in walk(plan) if "Index Name" in node}
    assert f"embeddings_full_settled_model_1_scope_{known.scope_id}" in used
    assert f"embeddings_user_settled_model_1_scope_{known.scope_id}" in used


def test_a_small_indexed_scope_gives_the_exact_answer(
    connection: Connection, namespace: Namespace
) -> None:
    optimise(connection, namespace, 100, most=64)
    known = find_known(connection, namespace)
    _, exact = run_recall(connection, request(namespace, known, ann=False))
    _, approximate = run_recall(connection, request(namespace, known, ann=True))
    assert [item.chunk_id for item in approximate] == [item.chunk_id for item in exact]
    assert np.array_equal(approximate.ranks, exact.ranks)
    assert approximate.scores == pytest.approx(exact.scores, abs=1e-5)


def test_filters_give_the_exact_answer_whether_few_or_many_chunks_pass(
    connection: Connection, namespace: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    optimise(connection, namespace, 100, most=64)
    known = find_known(connection, namespace)
    pools = {"least_candidates": 200, "least_route_limit": 200}
    sessions = ["s3", "s7", "s8"]
    filters = Filters(session_ids=sessions)
    # In one memory: storing and indexing it takes longer than all of these questions.
    for route, few_least, ann in product(VECTOR_ROUTES, (0, 60), (False, True)):
        monkeypatch.setattr(recall, "FEW_LEAST", few_least)
        alone = BALANCED.override(**{name: float(name == route) for name in ROUTES}, **pools)
        _, everything = run_recall(connection, request(namespace, known, ann=False, profile=alone))
        asked = request(namespace, known, ann=ann, filters=filters, profile=alone)
        _, found = run_recall(connection, asked)
        expected = [item.chunk_id for item in everything if item.session_id in sessions]
        assert [item.chunk_id for item in found] == expected, (route, few_least, ann)
        assert expected or route.startswith("facet")


@pytest.mark.one_server("the node that scans the index keeps the setting")
@pytest.mark.parametrize(("chunks", "factor"), [(300, 1.0), (100_000, 2.0), (25_600_000, 4.0)])
def test_each_route_sets_its_own_breadth_of_search_for_the_one_statement(
    connection: Connection, namespace: Namespace, chunks: int, factor: float
) -> None:
    def breadth() -> int:
        [[value]] = connection.execute("SHOW hnsw.ef_search").fetchall()
        return int(value)

    optimise(connection, namespace, 100, most=64)
    asked = request(namespace, find_known(connection, namespace), ann=True)
    before = breadth()
    with connection.transaction(force_rollback=True):
        counted = "UPDATE memsense.scope_statistics SET chunk_count = %s WHERE granularity = 'turn'"
        connection.execute(counted, [chunks])
        run_recall(connection, asked)
        last = breadth()
    assert last == factor * asked.route_limit != before
    run_recall(connection, asked)
    assert breadth() == before


def test_indexes_that_know_no_model_are_replaced(
    connection: Connection, namespace: Namespace
) -> None:
    scope_id = find_known(connection, namespace).scope_id
    for table in INDEXED_TABLES:
        connection.execute(
            f"CREATE INDEX {table}_scope_{scope_id} ON memsense.{table} USING hnsw"  # pyright: ignore[reportArgumentType, reportCallIssue]
            f" ((embedding::halfvec(48)) halfvec_ip_ops) WHERE scope_id = {scope_id}"
        )
    connection.execute("UPDATE memsense.scopes SET indexed = true WHERE user_id = 'ada'")
    [change] = optimise(connection, namespace, 100, most=64)
    assert change.action == "repair"
    expected = {f"{table}_settled_model_1_scope_{scope_id}": True for table in INDEXED_TABLES}
    assert scope_indexes(connection) == expected


@pytest.mark.parametrize("ann", [False, True])
def test_recall_reads_the_vectors_of_the_questions_model_alone(
    connection: Connection, namespace: Namespace, ann: bool
) -> None:
    optimise(connection, namespace, 100, most=64)
    known = find_known(connection, namespace)
    profiles = [
        BALANCED.override(**{name: float(name == route) for name in ROUTES})
        for route in VECTOR_ROUTES
    ]
    filters = [EVERYTHING, Filters(session_ids=["s3"])]

    def recalled() -> list[list[tuple[int, float, list[float]]]]:
        found: list[list[tuple[int, float, list[float]]]] = []
        for profile in profiles:
            for given in filters:
                asked = request(namespace, known, ann=ann, filters=given, profile=profile)
                _, candidates = run_recall(connection, asked)
                found.append(
                    [
                        (item.chunk_id, item.rrf_score, item.embedding.tolist())
                        for item in candidates
                        if item.embedding is not None
                    ]
                )
        return found

    before = recalled()
    connection.execute("INSERT INTO memsense.models (name, dimension) VALUES ('other', 3)")
    connection.execute(
        "INSERT INTO memsense.embeddings (tenant_id, scope_id, chunk_id, previous_chunk_id, route,"
        " granularity, model_id, embedding) SELECT tenant_id, scope_id, chunk_id,"
        " previous_chunk_id, route, granularity, 2, '[1,0,0]' FROM memsense.embeddings"
    )
    assert recalled() == before


def test_recall_reports_whether_the_scope_is_indexed(
    connection: Connection, namespace: Namespace
) -> None:
    known = find_known(connection, namespace)
    state, _ = run_recall(connection, request(namespace, known, ann=False))
    assert not state.indexed
    optimise(connection, namespace, 100, most=64)
    state, _ = run_recall(connection, request(namespace, known, ann=False))
    assert state.indexed


def test_searches_work_when_another_process_dropped_the_indexes(
    memory: MemSense, connection: Connection, namespace: Namespace
) -> None:
    optimise(connection, namespace, 100, most=64)
    before = [hit.chunk.chunk_id for hit in memory.search("lisbon train", user_id="ada").hits]
    optimise(connection, namespace, 1000, most=64)
    after = [hit.chunk.chunk_id for hit in memory.search("lisbon train", user_id="ada").hits]
    assert after == before


def test_exclusions_hold_in_a_search_through_the_indexes(
    memory: MemSense, connection: Connection, namespace: Namespace
) -> None:
    optimise(connection, namespace, 100, most=64)
    first = memory.search("lisbon train", user_id="ada").hits
    excluded = [hit.chunk.chunk_id for hit in first]
    second = memory.search("lisbon train", user_id="ada", exclude=excluded).hits
    assert len(second) == len(first)
    assert not {hit.chunk.chunk_id for hit in second} & set(excluded)


def test_the_largest_memories_have_the_indexes_where_there_are_more_than_the_limit() -> None:
    def size(scope_id: int, chunks: int, *, indexed: bool = False) -> ScopeSize:
        return ScopeSize(
            scope_id=scope_id, user_id="u", indexed=indexed, keeps_fresh=indexed, chunks=chunks
        )

    scopes = [size(1, 100), size(2, 300), size(3, 200), size(4, 20)]
    assert choose_indexed(scopes, 50, 2) == {2, 3}
    assert choose_indexed(scopes, 50, 9) == {1, 2, 3}
    assert choose_indexed(scopes, 50, 0) == choose_indexed(scopes, 50, -3) == set()
    # Who has indexes keeps them until another memory is twice as large.
    scopes = [size(1, 100, indexed=True), size(2, 199), size(3, 150)]
    assert choose_indexed(scopes, 50, 1) == {1}
    assert choose_indexed([*scopes, size(5, 201)], 50, 1) == {5}


def test_a_limit_evicts_the_smaller_memory_and_keeps_what_other_namespaces_have(
    open_memory: Callable[..., MemSense], connection: Connection
) -> None:
    def open_one(namespace: str, most: int) -> MemSense:
        settings = load_settings(index_threshold=2, index_users=most)
        return open_memory(namespace=namespace, settings=settings)

    def fill(memory: MemSense, user_id: str, chunks: int) -> None:
        for number in range(chunks):
            memory.add(
                f"{user_id} has {number} lamps", user_id=user_id, session_id="s", mode="turn"
            )

    def changes(memory: MemSense) -> list[tuple[str, str]]:
        return [(change.action, change.user_id) for change in memory.indexes.optimise()]

    first = open_one("one", 2)
    for user_id, chunks in (("ada", 2), ("bo", 3), ("cy", 4)):
        fill(first, user_id, chunks)
    assert changes(first) == [("build", "cy"), ("build", "bo")]
    before = [(hit.chunk_id, hit.score) for hit in first.search("lamps", user_id="bo")]
    assert changes(first) == []
    # Another namespace has no room, until the limit is higher.
    other = open_one("two", 2)
    fill(other, "di", 9)
    assert changes(other) == []
    assert changes(open_one("two", 3)) == [("build", "di")]
    # The indexes of others count: the largest memory of this one keeps the only place.
    fill(first, "ada", 20)
    assert changes(first) == [("drop", "cy"), ("drop", "bo"), ("build", "ada")]
    assert sorted(indexed_users(connection)) == ["ada", "di"]
    # Without indexes the answer stays as it was.
    assert [(hit.chunk_id, hit.score) for hit in first.search("lamps", user_id="bo")] == before
