"""The doctor finds each planted fault, and none in a healthy store; repair corrects the counts."""

import json
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from counting import kept_frequencies, kept_statistics, recount
from embedders import HashingEmbedder
from psycopg import sql
from servers import TestServer
from traced import fill

from memsense import MemSense, load_settings
from memsense.client.job_kinds import KINDS
from memsense.db import Pool, migrate
from memsense.doctor import contents, sizes
from memsense.doctor.checks import describe_revision, examine_store
from memsense.doctor.checkup import check_up
from memsense.doctor.findings import Expected, Finding, Report, make_report
from memsense.doctor.indexes import build_memory
from memsense.doctor.plan import examine_plan
from memsense.doctor.server import examine_server
from memsense.doctor.sizes import describe_huge_pages
from memsense.errors import ConnectionFailedError
from memsense.search.profiles import BALANCED, ROUTES
from memsense.search.recall.optional import OPTIONAL_ROUTES
from memsense.store.indexes import INDEXED_TABLES

OpenMemory = Callable[..., MemSense]

EXPECTED = Expected(
    tenant="default",
    namespace="default",
    model="hashing",
    dimension=48,
    trace_days=30,
    index_threshold=8_000,
)


def fill_two(memory: MemSense) -> None:
    fill(memory, sessions=4)
    fill(memory, user_id="bob", sessions=2, mode="turn")


@contextmanager
def open_store(url: str, server: TestServer) -> Generator[psycopg.Connection[Any]]:
    """Yield a connection that memsense opened, whose changes are rolled back."""
    with Pool(url, min_size=1, max_size=1, timeout=10) as pool, pool.connection() as connection:
        connection.execute("ANALYZE")
        with connection.transaction(force_rollback=True):
            if server.is_cluster:  # so that a test may change a table, and read on
                connection.execute("SET LOCAL citus.multi_shard_modify_mode = 'sequential'")
            yield connection


@pytest.fixture(scope="module")
def filled_url(module_database_url: str) -> str:
    """Return the URL of a filled store that no test changes."""
    with MemSense.open(module_database_url, embedder=HashingEmbedder()) as memory:
        fill_two(memory)
    return module_database_url


@pytest.fixture
def store(filled_url: str, server: TestServer) -> Generator[psycopg.Connection[Any]]:
    """Yield a connection to a filled store; tests are rolled back."""
    with open_store(filled_url, server) as connection:
        yield connection


@pytest.fixture
def own_store(
    memory: MemSense, database_url: str, server: TestServer
) -> Generator[psycopg.Connection[Any]]:
    """Yield a connection to a filled store of the test's own, which it may change for good."""
    fill_two(memory)
    with open_store(database_url, server) as connection:
        yield connection


def examine(store: psycopg.Connection[Any], expected: Expected = EXPECTED) -> list[Finding]:
    state = migrate.read_state(store)
    findings = [
        *examine_server(store),
        describe_revision(state.current, state.head),
        *(examine_store(store, expected) if state.is_current else ()),
    ]
    return make_report(findings).problems()


def only(findings: list[Finding], check: str) -> Finding:
    """Return the only problem. Fail if there are others, or it has another check or no remedy."""
    assert [finding.check for finding in findings] == [check]
    assert findings[0].remedy
    return findings[0]


def test_a_healthy_store_has_no_problems(store: psycopg.Connection[Any]) -> None:
    assert examine(store) == []


def test_a_dropped_index_is_found(store: psycopg.Connection[Any]) -> None:
    store.execute("DROP INDEX memsense.chunks_scope_lexemes")
    finding = only(examine(store), "objects")
    assert finding.severity == "error"
    assert "chunks_scope_lexemes" in finding.text


def test_an_invalid_index_is_found(store: psycopg.Connection[Any]) -> None:
    store.execute(
        "CREATE INDEX embeddings_full_half ON memsense.embeddings_full"
        " USING hnsw ((embedding::halfvec(48)) halfvec_ip_ops)"
    )
    store.execute(
        "UPDATE pg_index SET indisvalid = false"
        " WHERE indexrelid = 'memsense.embeddings_full_half'::regclass"
    )
    finding = only(examine(store), "indexes")
    assert "embeddings_full_half" in finding.text
    assert "REINDEX" in finding.remedy


def test_doctor_recommends_indexes_for_a_large_memory(
    store: psycopg.Connection[Any],
) -> None:
    row = store.execute(
        "SELECT max(chunks) FROM (SELECT sum(chunk_count) AS chunks FROM memsense.scope_statistics"
        " GROUP BY tenant_id, scope_id) AS by_scope"
    ).fetchone()
    assert row is not None
    for threshold, expected in ((int(row[0]), 1), (int(row[0]) + 1, 0)):
        examined = replace(EXPECTED, index_threshold=threshold)
        found = [f for f in examine_store(store, examined) if f.check == "indexing"]
        assert len(found) == expected
        assert all("memsense db optimise" in finding.remedy for finding in found)


def test_doctor_tells_of_large_memories_beyond_the_limit_of_indexed_users(
    store: psycopg.Connection[Any],
) -> None:
    examined = replace(EXPECTED, index_threshold=1, index_users=0)
    [finding] = [f for f in examine_store(store, examined) if f.check == "indexing"]
    assert finding.severity == "info"
    assert "at most 0 users (index_users) have HNSW indexes" in finding.text


def test_doctor_reports_the_memory_that_building_indexes_takes(
    store: psycopg.Connection[Any],
) -> None:
    store.execute("UPDATE memsense.scope_statistics SET chunk_count = 5660")
    needed = -(-build_memory(2 * 5660, 48) >> 20)  # of turns and of sessions
    for memory, is_told in ((needed - 1, True), (needed, False)):
        store.execute(f"SET LOCAL maintenance_work_mem = '{memory}MB'")  # pyright: ignore[reportArgumentType, reportCallIssue]
        examined = replace(EXPECTED, index_threshold=2 * 5660)
        found = [f for f in examine_store(store, examined) if f.check == "indexing"]
        assert found
        for finding in found:
            assert (f"maintenance_work_mem = '{needed}MB'" in finding.remedy) is is_told


@pytest.mark.parametrize("dimension", [48, 384])
def test_the_estimated_index_memory_is_what_pgvector_takes(
    store: psycopg.Connection[Any], dimension: int
) -> None:
    told: list[str] = []
    store.add_notice_handler(lambda notice: told.append(notice.message_primary or ""))
    store.execute(
        sql.SQL(
            "CREATE TEMPORARY TABLE many AS SELECT"
            " (SELECT array_agg(random() + 0 * (number + place))"
            " FROM generate_series(1, {dimension}) AS place)::halfvec({dimension}) AS vector"
            " FROM generate_series(1, 3000) AS number"
        ).format(dimension=sql.Literal(dimension))
    )
    store.execute("SET LOCAL maintenance_work_mem = '1MB'")
    store.execute("SET LOCAL max_parallel_maintenance_workers = 0")
    store.execute("CREATE INDEX ON many USING hnsw (vector halfvec_ip_ops) WITH (m = 16)")
    [held] = [int(found[1]) for text in told if (found := re.search(r"after (\d+) tuples", text))]
    assert build_memory(held, dimension) == pytest.approx(1 << 20, rel=0.1)


@pytest.mark.parametrize("condition", ["model_id = 1", "true"])
def test_an_indexed_memory_without_an_index_of_any_route_is_found(
    store: psycopg.Connection[Any], condition: str
) -> None:
    store.execute(
        "UPDATE memsense.scopes SET indexed = true, keeps_fresh = true WHERE user_id = 'ada'"
    )
    row = store.execute("SELECT scope_id FROM memsense.scopes WHERE user_id = 'ada'").fetchone()
    assert row is not None
    missing = list(INDEXED_TABLES)
    while missing:
        finding = only(examine(store), "indexes")
        assert "'ada'" in finding.text
        assert finding.text.endswith(f"no usable HNSW index on {', '.join(missing)}")
        table = missing.pop()
        store.execute(
            f"CREATE INDEX ada_{table} ON memsense.{table} USING hnsw"  # pyright: ignore[reportArgumentType, reportCallIssue]
            f" ((embedding::halfvec(48)) halfvec_ip_ops) WHERE scope_id = {row[0]} AND {condition}"
        )
    assert examine(store) == []


def test_an_index_of_another_models_vectors_is_not_used(
    open_memory: OpenMemory, own_store: psycopg.Connection[Any]
) -> None:
    open_memory(settings=load_settings(index_threshold=1)).indexes.optimise()
    [definition] = own_store.execute(
        "SELECT indexdef FROM pg_indexes"
        " WHERE indexname LIKE 'embeddings_user_settled_model_1_scope_%' ORDER BY indexname LIMIT 1"
    ).fetchone() or [""]
    name = definition.split()[2]
    own_store.execute(f"DROP INDEX memsense.{name}")  # pyright: ignore[reportArgumentType, reportCallIssue]
    own_store.execute(definition.replace("model_id = 1", "model_id = 2"))  # pyright: ignore[reportArgumentType, reportCallIssue]
    finding = only(examine(own_store), "indexes")
    assert finding.text.endswith("no usable HNSW index on embeddings_user")


def test_an_invalid_index_of_a_large_memory_is_not_used(
    open_memory: OpenMemory, own_store: psycopg.Connection[Any]
) -> None:
    indexing = open_memory(settings=load_settings(index_threshold=1))
    indexing.indexes.optimise()
    assert examine(own_store) == []
    row = own_store.execute("SELECT scope_id FROM memsense.scopes WHERE user_id = 'ada'").fetchone()
    assert row is not None
    own_store.execute(
        "UPDATE pg_index SET indisvalid = false"
        " WHERE indexrelid ="
        " format('memsense.embeddings_user_settled_model_1_scope_%%s', %s::integer)::regclass",
        row,
    )
    found = [finding.text for finding in examine(own_store)]
    assert len(found) == 2
    assert any(text.endswith("no usable HNSW index on embeddings_user") for text in found)


def test_stale_document_frequencies_are_found_and_repaired(store: psycopg.Connection[Any]) -> None:
    store.execute("UPDATE memsense.lexemes SET document_frequency = document_frequency + 1")
    store.execute("DELETE FROM memsense.lexemes WHERE lexeme = 'appl'")
    findings = examine(store)
    assert {finding.check for finding in findings} == {"statistics"}
    assert len(findings) == 2
    assert contents.repair(store, EXPECTED)
    assert examine(store) == []
    assert (kept_statistics(store), kept_frequencies(store)) == recount(store)


def test_stale_counts_are_found_and_repaired(store: psycopg.Connection[Any]) -> None:
    store.execute("UPDATE memsense.scope_statistics SET user_length = user_length + 7")
    findings = examine(store)
    assert {finding.check for finding in findings} == {"statistics"}
    contents.repair(store, EXPECTED)
    assert examine(store) == []
    assert (kept_statistics(store), kept_frequencies(store)) == recount(store)


def test_repairing_a_healthy_store_changes_nothing(store: psycopg.Connection[Any]) -> None:
    before = (kept_statistics(store), kept_frequencies(store))
    assert contents.repair(store, EXPECTED) == []
    assert (kept_statistics(store), kept_frequencies(store)) == before


def test_an_old_revision_is_found(store: psycopg.Connection[Any]) -> None:
    store.execute("UPDATE memsense.alembic_version SET version_num = '0001'")
    finding = only(examine(store), "schema")
    assert finding.severity == "error"
    assert "memsense db upgrade" in finding.remedy


def test_doctor_distinguishes_a_newer_revision_from_a_missing_schema(
    store: psycopg.Connection[Any],
) -> None:
    store.execute("UPDATE memsense.alembic_version SET version_num = '9999'")
    assert "upgrade memsense" in only(examine(store), "schema").remedy
    assert "memsense init" in describe_revision(None, "0002").remedy


def test_chunks_indexed_by_the_words_of_another_language_are_found(
    store: psycopg.Connection[Any],
) -> None:
    store.execute("UPDATE memsense.chunks SET language = 'de' WHERE chunk_id IN (1, 2)")
    # The numbers of chunks by language are off as well.
    finding, _ = sorted(examine(store), key=lambda it: it.check)
    assert finding.check == "language"
    assert finding.text.startswith("2 of the newest 50 chunks of default/default are not indexed")
    assert finding.remedy == "run 'memsense db reindex'"


def test_missing_vectors_are_found(store: psycopg.Connection[Any]) -> None:
    store.execute(
        "DELETE FROM memsense.embeddings_user WHERE chunk_id IN"
        " (SELECT chunk_id FROM memsense.embeddings_user ORDER BY chunk_id LIMIT 3)"
    )
    finding = only(examine(store), "embeddings")
    assert finding.severity == "warning"
    assert finding.text.startswith("3 chunks")
    store.execute("DELETE FROM memsense.embeddings_full")
    assert {item.severity for item in examine(store) if item.check == "embeddings"} == {
        "error",
        "warning",
    }


def test_vectors_of_another_model_are_found(store: psycopg.Connection[Any]) -> None:
    store.execute("INSERT INTO memsense.models (name, dimension) VALUES ('other', 48)")
    store.execute(
        "UPDATE memsense.embeddings_full SET model_id ="
        " (SELECT model_id FROM memsense.models WHERE name = 'other')"
    )
    lacking, foreign = examine(store)
    assert (lacking.check, foreign.check) == ("embeddings", "model")
    assert "have no full vector" in lacking.text
    assert "of other" in foreign.text


def test_an_embedder_that_is_not_the_namespaces_is_found(store: psycopg.Connection[Any]) -> None:
    expected = replace(EXPECTED, model="another")
    finding = only(examine(store, expected), "model")
    assert "another (48)" in finding.text
    elsewhere = replace(EXPECTED, namespace="work", model="another")
    assert examine(store, elsewhere) == []


def test_leftovers_of_retired_chunks_are_found_and_repaired(
    store: psycopg.Connection[Any],
) -> None:
    store.execute("UPDATE memsense.chunks SET status = 'deleted' WHERE chunk_id = 1")
    findings = examine(store)
    assert {finding.check for finding in findings} == {"retired", "statistics", "exchanges"}
    contents.repair(store, EXPECTED)
    assert examine(store) == []
    assert store.execute("SELECT FROM memsense.embeddings WHERE chunk_id = 1").fetchall() == []


def test_an_active_chunk_outside_the_word_index_is_found(store: psycopg.Connection[Any]) -> None:
    store.execute("UPDATE memsense.chunks SET tsv = NULL WHERE chunk_id = 1")
    assert {"retired", "statistics"} == {finding.check for finding in examine(store)}


def test_too_little_work_mem_is_found(store: psycopg.Connection[Any]) -> None:
    store.execute("SET LOCAL work_mem = '256kB'")
    assert "256 kB" in only(examine(store), "work_mem").text


def test_doctor_reports_how_many_huge_pages_a_large_memory_needs(
    store: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "LEAST_HUGE", 0)
    row = store.execute(
        "SELECT current_setting('huge_pages_status', true),"
        " current_setting('shared_memory_size_in_huge_pages')::integer"
    ).fetchone()
    assert row
    status, needed = row
    told = [f for f in examine_store(store, EXPECTED) if f.check == "huge_pages"]
    assert len(told) == (status == "off" and needed > 0)
    for finding in told:
        assert f"={needed}'" in finding.remedy


@pytest.mark.parametrize(
    ("used", "status", "needed", "told"),
    [
        (1 << 30, "off", 1500, 1),
        (1 << 30, "on", 1500, 0),
        (1 << 30, None, 1500, 0),
        (1 << 30, "off", None, 0),
        (1 << 20, "off", 1500, 0),
    ],
)
def test_huge_pages_are_advised_where_they_help(
    used: int, status: str | None, needed: int | None, told: int
) -> None:
    findings = list(describe_huge_pages(used, status, needed))
    assert [finding.severity for finding in findings] == ["info"] * told


def test_a_large_table_that_was_never_analysed_is_found(store: psycopg.Connection[Any]) -> None:
    store.execute(
        "CREATE TABLE memsense.grown AS SELECT repeat('x', 900) FROM generate_series(1, 1500)"
    )
    finding = only(examine(store), "analyse")
    assert "memsense.grown" in finding.text
    assert finding.remedy == "run 'ANALYZE memsense.grown'"


def test_old_traces_are_mentioned_but_no_problem(store: psycopg.Connection[Any]) -> None:
    store.execute(
        "INSERT INTO memsense.traces SELECT tenant_id, gen_random_uuid(), NULL, 'default', NULL,"
        " 'q', 'q', '{}', '{}', '{}', 3, 'auto', 'turn', '{}', now(), 'p', '{}', '{}', 0, 0, 0,"
        " '{}', '{}', now() - interval '31 days' FROM memsense.tenants"
    )
    found = [item for item in examine_store(store, EXPECTED) if item.check == "traces"]
    assert [item.severity for item in found] == ["info"]
    assert "prune" in found[0].remedy


@contextmanager
def filled(open_memory: OpenMemory) -> Generator[MemSense]:
    memory = open_memory()
    fill(memory, sessions=3)
    yield memory


def test_a_check_up_reports_the_plan_of_each_route(
    open_memory: OpenMemory, database_url: str
) -> None:
    with filled(open_memory):
        report = check_up(
            database_url, settings=load_settings(), profile=BALANCED, embedder=HashingEmbedder()
        )
    assert report.problems() == []
    assert (report.severity, report.exit_code) == ("info", 0)
    assert all(item.check for item in report.findings)
    plans = [item.text for item in report.findings if item.check == "plan"]
    assert "recall of the largest memory took" in plans[0]
    assert [text.split(":")[0] for text in plans[1:]] == [
        route for route in ROUTES if route not in OPTIONAL_ROUTES
    ]
    assert any(text.startswith("lexical: chunks") for text in plans)
    assert any(text.startswith("vec_full: embeddings_full") for text in plans)
    json.dumps(report.as_dict())


def test_a_check_up_repairs_on_request(open_memory: OpenMemory, database_url: str) -> None:
    settings = load_settings()
    with filled(open_memory), psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("UPDATE memsense.scope_statistics SET chunk_count = 99")

        def run(*, repair: bool) -> Report:
            return check_up(
                database_url,
                settings=settings,
                profile=BALANCED,
                embedder=HashingEmbedder(),
                repair=repair,
            )

        assert run(repair=False).exit_code == 2
        repaired = run(repair=True)
        assert repaired.exit_code == 0
        assert any(item.check == "repair" for item in repaired.findings)
        assert (kept_statistics(connection), kept_frequencies(connection)) == recount(connection)


def test_an_empty_database_raises_an_error_that_names_init(empty_database_url: str) -> None:
    report = check_up(
        empty_database_url, settings=load_settings(), profile=BALANCED, embedder=HashingEmbedder()
    )
    assert report.exit_code == 2
    assert {item.check for item in report.problems()} <= {"schema", "pgvector"}
    assert any("memsense init" in item.remedy for item in report.problems())


def test_a_server_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ConnectionFailedError):
        check_up(
            "postgresql://nobody@127.0.0.1:1/none",
            settings=load_settings(),
            profile=BALANCED,
            embedder=HashingEmbedder(),
        )


def test_a_wasteful_plan_is_a_warning() -> None:
    scan = {
        "Node Type": "Seq Scan",
        "Relation Name": "embeddings_full",
        "Alias": "embeddings_full",
        "Actual Rows": 100.0,
        "Rows Removed by Filter": 250_000,
        "Actual Total Time": 80.0,
    }
    root = {
        "Node Type": "Subquery Scan",
        "Alias": "vec_full",
        "Actual Rows": 100.0,
        "Actual Total Time": 81.0,
        "Plans": [scan],
    }
    plan = [{"Plan": root, "Execution Time": 90.0}]
    told, route = examine_plan(plan, ["vec_full"])
    assert told.severity == "info"
    assert route.severity == "warning"
    assert "250000 rows of other memories" in route.text


@pytest.mark.parametrize("kind", [*KINDS, "unheard-of"])
def test_doctor_reports_a_job_without_a_worker_with_its_effect(
    store: psycopg.Connection[Any], kind: str
) -> None:
    effect = (
        KINDS[kind].waiting if kind in KINDS else "they are of a kind that a newer memsense does"
    )
    store.execute(
        "INSERT INTO memsense.jobs (tenant_id, namespace_id, kind, scope_id, run_at)"
        " SELECT tenant_id, namespace_id, %s, scope_id, now() - interval '1 hour'"
        " FROM memsense.scopes WHERE user_id = 'ada'",
        [kind],
    )
    found = examine(store)
    if effect:
        assert only(found, "jobs").text.endswith(f" UTC: {effect}")
    else:
        # The check "indexing" reports memories whose vectors have waited for too long.
        assert (kind, found) == ("settle", [])


@pytest.mark.parametrize(
    ("tenant", "namespace", "here", "options"),
    [
        ("default", "default", "default", ""),
        ("default", "notes", "default", " --namespace notes"),
        ("default", "notes", "notes", " --namespace notes"),
        ("default", "default", "notes", " --namespace default"),
        ("acme", "my notes", "default", " --tenant acme --namespace 'my notes'"),
    ],
)
def test_a_remedy_names_the_namespace_that_it_is_for(
    store: psycopg.Connection[Any], tenant: str, namespace: str, here: str, options: str
) -> None:
    store.execute("UPDATE memsense.tenants SET name = %s", [tenant])
    store.execute("UPDATE memsense.namespaces SET name = %s", [namespace])
    store.execute(
        "INSERT INTO memsense.jobs (tenant_id, namespace_id, kind, scope_id, run_at)"
        " SELECT tenant_id, namespace_id, 'embed', scope_id, now() - interval '1 hour'"
        " FROM memsense.scopes WHERE user_id = 'ada'"
    )
    finding = only(examine(store, replace(EXPECTED, namespace=here)), "jobs")
    assert finding.remedy == f"run 'memsense{options} worker'"
