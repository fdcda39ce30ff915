"""Vectors that are not yet in the HNSW indexes: found at once, inserted by a job."""

import threading
from collections.abc import Callable, Generator
from typing import Any

import psycopg
import pytest
from embedders import HashingEmbedder
from plans import explain_recall, walk
from psycopg import sql

from memsense import MemSense
from memsense.config import Settings
from memsense.db import Pool
from memsense.db.connection import Connection
from memsense.db.migrate import downgrade, upgrade
from memsense.doctor.checkup import check_up
from memsense.search.profiles import BALANCED, ROUTES, VECTOR_ROUTES, Profile, Route
from memsense.search.recall import run as recall
from memsense.search.recall.run import RecallRequest, run_recall
from memsense.search.recall.statement import Indexed
from memsense.search.request import NO_FILTERS, Filters
from memsense.store import indexes, vectors
from memsense.store.indexes import INDEXED_TABLES
from memsense.text.lexemes import ask_lexemes
from memsense.types import Added

WORDS = ("lisbon", "cello", "garden", "train", "soup", "novel", "harbour", "violin", "snow")
CHUNKS = 54
NAMES = ("bo", "cy", "di", "ed")

OpenMemory = Callable[..., MemSense]

FRESH = "SELECT chunk_id FROM memsense.embeddings_full WHERE fresh ORDER BY chunk_id"
KINDS = "SELECT kind, scope_id FROM memsense.jobs"


@pytest.fixture
def settings(database_url: str) -> Settings:
    return Settings(database_url=database_url, index_threshold=20)


@pytest.fixture
def memory(open_memory: OpenMemory, settings: Settings, connection: Connection) -> MemSense:
    """Return a memory with 54 indexed exchanges of ada's."""
    assert connection
    opened = open_memory(settings=settings)
    for number in range(CHUNKS // len(WORDS)):
        said = [
            {"role": role, "content": f"The {word} and the {WORDS[(i + number) % len(WORDS)]}."}
            for i, word in enumerate(WORDS)
            for role in ("user", "assistant")
        ]
        opened.add(said, user_id="ada", session_id=f"s{number}", mode="turn")
    opened.indexes.optimise()
    return opened


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


def add(memory: MemSense, text: str, **options: Any) -> Added:
    said = [{"role": "user", "content": text}, {"role": "assistant", "content": f"Yes, {text}"}]
    given: dict[str, Any] = {"user_id": "ada", "session_id": "later", **options}
    return memory.add(said, mode="turn", **given)


def fetch(connection: Connection, statement: Any) -> list[Any]:
    rows = connection.execute(statement).fetchall()
    return [row[0] if len(row) == 1 else row for row in rows]


def found(memory: MemSense, question: str) -> list[tuple[int, float]]:
    return [(hit.chunk.chunk_id, hit.score) for hit in memory.search(question, user_id="ada").hits]


def test_writes_to_an_indexed_memory_are_found_at_once_and_settled_by_one_job(
    memory: MemSense, connection: Connection
) -> None:
    added = [add(memory, f"a violin for {name}")[0].chunk_id for name in NAMES[:3]]
    assert fetch(connection, FRESH) == added
    assert fetch(connection, KINDS) == [("settle", 1)]
    before = found(memory, "a violin for bo")
    assert before[0][0] == added[0]
    assert memory.jobs.run().done == 1
    assert fetch(connection, FRESH) == fetch(connection, KINDS) == []
    assert found(memory, "a violin for bo") == before
    assert memory.indexes.optimise() == []


def test_a_memory_without_indexes_has_nothing_fresh(
    memory: MemSense, connection: Connection
) -> None:
    add(memory, "a violin for bo", user_id="grace")
    assert fetch(connection, FRESH) == fetch(connection, KINDS) == []


def request(
    *, ann: bool, route: Route, filters: Filters = NO_FILTERS, profile: Profile | None = None
) -> RecallRequest:
    pools = {"least_candidates": 20, "least_route_limit": 20}
    alone = BALANCED.override(**{name: float(name == route) for name in ROUTES}, **pools)
    return RecallRequest(
        tenant_id=1,
        namespace="default",
        user_id="ada",
        granularities=("turn", "session"),
        model_id=1,
        query_vector=HashingEmbedder().embed_query("the lisbon train"),
        terms=ask_lexemes("the lisbon train", "en", ()),
        profile=profile or alone,
        top_k=8,
        filters=filters,
        indexed=Indexed(1, 1, 48) if ann else None,
    )


@pytest.mark.parametrize(("few_least", "sessions"), [(0, ()), (0, ("s3", "s5")), (60, ("s3",))])
def test_fresh_and_settled_vectors_give_the_exact_answer_together(
    memory: MemSense,
    connection: Connection,
    monkeypatch: pytest.MonkeyPatch,
    few_least: int,
    sessions: tuple[str, ...],
) -> None:
    monkeypatch.setattr(recall, "FEW_LEAST", few_least)
    connection.execute("UPDATE memsense.embeddings SET fresh = true WHERE chunk_id % 3 = 0")
    assert memory
    filters = Filters(session_ids=list(sessions) or None)
    for route in VECTOR_ROUTES:
        _, exact = run_recall(connection, request(ann=False, route=route, filters=filters))
        _, approximate = run_recall(connection, request(ann=True, route=route, filters=filters))
        assert [(item.chunk_id, item.rrf_score) for item in approximate] == [
            (item.chunk_id, item.rrf_score) for item in exact
        ], route
        assert len(approximate) > 5 or route.startswith("facet")


def test_recall_reads_settled_vectors_from_hnsw_and_fresh_ones_from_their_own_index(
    memory: MemSense, connection: Connection
) -> None:
    add(memory, "a violin for bo")
    connection.execute("SET enable_seqscan = off; SET enable_bitmapscan = off")
    connection.execute("SET enable_sort = off")
    plan = explain_recall(connection, request(ann=True, route="vec_full", profile=BALANCED))
    used = {node["Index Name"] for node in walk(plan) if "Index Name" in node}
    assert {"embeddings_full_settled_model_1_scope_1", "embeddings_full_fresh"} <= used
    assert {"embeddings_user_settled_model_1_scope_1", "embeddings_user_fresh"} <= used


def test_a_limited_number_of_vectors_waits_and_further_ones_are_settled_at_once(
    memory: MemSense, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "FRESH_LIMIT", 2)
    added = [add(memory, f"a violin for {name}")[0].chunk_id for name in NAMES]
    assert fetch(connection, FRESH) == added[:2]
    assert [found(memory, f"a violin for {name}")[0][0] for name in NAMES] == added
    [change] = memory.indexes.optimise()
    assert (change.user_id, change.action) == ("ada", "settle")
    assert fetch(connection, FRESH) == []


def test_a_write_above_the_waiting_limit_is_settled_at_once(
    memory: MemSense, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "FRESH_LIMIT", 2)
    said = [
        {"role": role, "content": f"a violin for {name}"}
        for name in NAMES[:3]
        for role in ("user", "assistant")
    ]
    assert len(memory.add(said, user_id="ada", session_id="later", mode="turn")) == 3
    assert fetch(connection, FRESH) == fetch(connection, KINDS) == []


def test_settling_continues_during_a_write_and_ends_after_it(
    memory: MemSense, connection: Connection, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Vectors of a write at the end of a job are left to that job or to another one."""
    add(memory, "a violin for bo")
    settled = threading.Event()
    count = indexes.count_fresh

    def count_fresh(*args: Any) -> int:
        settled.set()
        return count(*args)

    monkeypatch.setattr(indexes, "count_fresh", count_fresh)
    with psycopg.connect(database_url) as writer:
        writer.execute("SELECT FROM memsense.scopes WHERE scope_id = 1 FOR NO KEY UPDATE")
        worker = threading.Thread(target=memory.jobs.run)
        worker.start()
        for _ in range(100):
            if not fetch(connection, FRESH):
                break
            settled.wait(0.05)
        assert fetch(connection, FRESH) == []
        assert not settled.is_set()
        writer.execute("UPDATE memsense.embeddings SET fresh = true WHERE chunk_id = 1")
        writer.commit()
    worker.join(10)
    assert settled.is_set()
    assert fetch(connection, FRESH) == fetch(connection, KINDS) == []


def test_settling_does_not_wait_for_writers_of_vectors(
    memory: MemSense, connection: Connection, database_url: str
) -> None:
    [added] = add(memory, "a violin for bo")
    with psycopg.connect(database_url) as other:
        other.execute(
            "SELECT FROM memsense.embeddings WHERE chunk_id = %s FOR UPDATE", [added.chunk_id]
        )
        assert memory.jobs.run().stopped_by == "its vectors are being changed"
        assert fetch(connection, FRESH) == [added.chunk_id]
    assert memory.jobs.run().done == 1
    assert fetch(connection, FRESH) == []


def test_a_settling_job_is_done_a_batch_at_a_time(
    memory: MemSense, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that is asked to stop stops between two batches, and the next continues."""
    monkeypatch.setattr(indexes, "SETTLED_AT_ONCE", 2)
    add(memory, "a violin for bo")
    fresh = "SELECT count(*) FROM memsense.embeddings WHERE fresh"
    [left] = fetch(connection, fresh)
    assert left == 3
    stop = threading.Event()
    settle = indexes.settle_vectors

    def settle_and_stop(*args: Any, **options: Any) -> int:
        stop.set()
        return settle(*args, **options)

    monkeypatch.setattr(indexes, "settle_vectors", settle_and_stop)
    memory.jobs.work(stop)
    assert fetch(connection, fresh) == [1]
    [job] = memory.jobs.list()
    assert (job.kind, job.status, job.attempts) == ("settle", "waiting", 0)
    assert memory.jobs.run().done == 1
    assert fetch(connection, fresh) == [0]


def test_forgotten_and_erased_chunks_with_fresh_vectors_are_not_found(
    memory: MemSense, connection: Connection
) -> None:
    [kept] = add(memory, "a violin for bo")
    [forgotten] = add(memory, "a violin for cy")
    [erased] = add(memory, "a violin for di", session_id="trash")
    memory.forget(forgotten.chunk_id)
    memory.erase(user_id="ada", session_id="trash")
    assert fetch(connection, FRESH) == [kept.chunk_id]
    hits = {chunk_id for chunk_id, _ in found(memory, "a violin for di")}
    assert kept.chunk_id in hits
    assert not {forgotten.chunk_id, erased.chunk_id} & hits
    assert memory.jobs.run().done == 1


def test_after_dropping_the_indexes_fresh_vectors_are_found_and_their_job_ends(
    memory: MemSense,
    connection: Connection,
    open_memory: OpenMemory,
    settings: Settings,
) -> None:
    [added] = add(memory, "a violin for bo")
    lowered = settings.model_copy(update={"index_threshold": 1000})
    [change] = open_memory(settings=lowered).indexes.optimise()
    assert change.action == "drop"
    assert found(memory, "a violin for bo")[0][0] == added.chunk_id
    add(memory, "a violin for cy")
    assert fetch(connection, FRESH) == [added.chunk_id]
    assert memory.jobs.run().done == 1
    assert fetch(connection, FRESH) == []


def use_old_indexes(connection: Connection) -> None:
    """Build indexes as an earlier version did: of all vectors, fresh or not."""
    for table in INDEXED_TABLES:
        connection.execute(f"DROP INDEX memsense.{table}_settled_model_1_scope_1")  # pyright: ignore[reportArgumentType, reportCallIssue]
        connection.execute(
            f"CREATE INDEX {table}_model_1_scope_1 ON memsense.{table} USING hnsw"  # pyright: ignore[reportArgumentType, reportCallIssue]
            " ((embedding::halfvec(48)) halfvec_ip_ops) WHERE scope_id = 1 AND model_id = 1"
        )
    connection.execute("UPDATE memsense.scopes SET keeps_fresh = false WHERE scope_id = 1")


def test_indexes_of_an_earlier_version_serve_and_take_all_in_until_they_are_built_anew(
    memory: MemSense,
    connection: Connection,
    open_memory: OpenMemory,
    settings: Settings,
) -> None:
    use_old_indexes(connection)
    [added] = add(memory, "a violin for bo")
    assert fetch(connection, FRESH) == fetch(connection, KINDS) == []
    connection.execute("SET enable_seqscan = off; SET enable_bitmapscan = off")
    connection.execute("SET enable_sort = off")
    plan = explain_recall(connection, request(ann=True, route="vec_full", profile=BALANCED))
    used = {node["Index Name"] for node in walk(plan) if "Index Name" in node}
    assert {"embeddings_full_model_1_scope_1", "embeddings_full_fresh"} <= used
    before = found(memory, "a violin for bo")
    assert before[0][0] == added.chunk_id

    told = settings.model_copy(update={"auto_index": True})
    assert open_memory(settings=told).jobs.run().done == 1
    names = "SELECT relname::text FROM pg_class WHERE relname LIKE 'embeddings%scope_1'"
    assert sorted(fetch(connection, names)) == sorted(
        f"{table}_settled_model_1_scope_1" for table in INDEXED_TABLES
    )
    assert found(memory, "a violin for bo") == before
    [added] = add(memory, "a violin for cy")
    assert fetch(connection, FRESH) == [added.chunk_id]


def test_doctor_reports_old_indexes_and_many_unsettled_vectors(
    memory: MemSense,
    connection: Connection,
    database_url: str,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def told() -> list[str]:
        report = check_up(database_url, settings=settings, embedder=HashingEmbedder())
        return [item.text for item in report.findings if item.check in {"indexing", "jobs"}]

    add(memory, "a violin for bo")
    connection.execute("UPDATE memsense.jobs SET run_at = now() - interval '1 hour'")
    assert told() == []
    connection.execute("UPDATE memsense.embeddings SET fresh = true WHERE chunk_id <= 30")
    monkeypatch.setattr("memsense.doctor.indexes.FRESH_LIMIT", 60)
    [text] = told()
    assert text.startswith("31 chunks of 'ada' wait to be added to its indexes")
    memory.jobs.run()
    assert told() == []
    use_old_indexes(connection)
    [text] = told()
    assert text.startswith("the indexes of 'ada' are of an earlier version")


def execute(url: str, statement: Any) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def test_an_indexed_memory_of_an_earlier_version_works_as_before_until_optimised(
    empty_database_url: str,
) -> None:
    """A downgrade and an upgrade make the database one of the earlier version."""
    url = empty_database_url
    upgrade(url)
    settings = Settings(database_url=url, index_threshold=5)

    with MemSense.open(settings=settings, embedder=HashingEmbedder()) as memory:
        for name in ("al", *NAMES, "fi"):
            add(memory, f"a violin for {name}")
        memory.indexes.optimise()
        add(memory, "a violin for gus")
    indexes = "SELECT indexdef FROM pg_indexes WHERE indexdef LIKE '%hnsw%' ORDER BY 1"
    built = [definition for (definition,) in execute(url, indexes)]
    downgrade(url, "0025")
    assert execute(url, "SELECT indexed FROM memsense.scopes") == [(False,)]
    assert execute(url, indexes) == []
    assert execute(url, "SELECT count(*) FROM memsense.jobs") == [(0,)]
    for definition in built:
        old = definition.replace("_settled_model", "_model").replace(" AND (NOT fresh)", "")
        execute(url, old)
    execute(url, "UPDATE memsense.scopes SET indexed = true")

    upgrade(url)
    assert len(execute(url, indexes)) == len(built) == 6
    fresh = "SELECT DISTINCT chunk_id FROM memsense.embeddings WHERE fresh"
    with MemSense.open(settings=settings, embedder=HashingEmbedder()) as memory:

        def best(name: str) -> int:
            return memory.search(f"a violin for {name}", user_id="ada").hits[0].chunk.chunk_id

        [hal] = add(memory, "a violin for hal")
        assert best("hal") == hal.chunk_id
        assert execute(url, fresh) == []
        [change] = memory.indexes.optimise()
        assert change.action == "repair"
        assert [definition for (definition,) in execute(url, indexes)] == built
        [ida] = add(memory, "a violin for ida")
        assert [best("hal"), best("ida")] == [hal.chunk_id, ida.chunk_id]
        assert execute(url, fresh) == [(ida.chunk_id,)]
