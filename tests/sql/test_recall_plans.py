"""Plans of recall over a committed, analysed corpus: indexes, rows and routes."""

import json
import random
import uuid
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from embedders import HashingEmbedder
from plans import Node, explain_recall, rows_read, walk
from psycopg import sql

from memsense import MemSense, Profile
from memsense.config import Settings
from memsense.db import Pool
from memsense.draft.drafting import Annotations
from memsense.search.profiles import BALANCED, PROFILES, VECTOR_ROUTES, Route
from memsense.search.question import analyse_question
from memsense.search.recall.optional import ask_optional
from memsense.search.recall.run import RecallRequest
from memsense.search.request import Filters
from memsense.text.lexemes import ask_lexemes, lexical_query

pytestmark = pytest.mark.one_server("its coordinator's plan does not show how a node runs its part")

USERS = 12
EXCHANGES = 300
SPELT = str.maketrans("0123456789", "bdfgkmprtv")
VOCABULARY = [f"word{n}".translate(SPELT) for n in range(2000)]
WORDS = (VOCABULARY[3], VOCABULARY[40], VOCABULARY[700])
FACETS = {"personal_info": "lives in Lisbon", "preferences": "likes tea", "events": "went to Porto"}
EVERY_ROUTE = PROFILES["memsense"].override(name="all", lexical_mode="bm25f", list_depth=25)

TABLE_OF: dict[Route, str] = {
    "vec_full": "embeddings_full",
    "vec_user": "embeddings_user",
    "vec_assistant": "embeddings_assistant",
    "vec_next_user": "embeddings_user",
    "facet_personal_info": "embeddings_personal_info",
    "facet_preferences": "embeddings_preferences",
    "facet_events": "embeddings_events",
}

# Memory of one user becomes that of others: the same rows under other numbers.
CLONE = """
WITH scope AS (
    INSERT INTO memsense.scopes (tenant_id, namespace_id, user_id)
    SELECT tenant_id, namespace_id, %(user_id)s FROM memsense.scopes WHERE user_id = 'user0'
    RETURNING scope_id
),
statistics AS (
    INSERT INTO memsense.scope_statistics
    SELECT s.tenant_id, scope.scope_id, granularity, chunk_count, user_length, assistant_length,
        tag_length, context_length
    FROM memsense.scope_statistics AS s, scope WHERE s.scope_id = 1
),
frequencies AS (
    INSERT INTO memsense.lexemes
    SELECT l.tenant_id, scope.scope_id, granularity, lexeme, document_frequency
    FROM memsense.lexemes AS l, scope WHERE l.scope_id = 1
),
copies AS (
    INSERT INTO memsense.chunks (tenant_id, scope_id, chunk_id, granularity, session_id, ordinal,
        last_ordinal, user_text, assistant_text, content_hash, dedup_window, tsv, user_length,
        assistant_length, context_length, tags, occurred_at, occurred_zone_known)
    SELECT c.tenant_id, scope.scope_id, chunk_id + %(offset)s, granularity, session_id, ordinal,
        last_ordinal, user_text, assistant_text, content_hash, dedup_window, tsv, user_length,
        assistant_length, context_length, tags, occurred_at, occurred_zone_known
    FROM memsense.chunks AS c, scope WHERE c.scope_id = 1
    RETURNING 1
)
INSERT INTO memsense.embeddings
    (tenant_id, scope_id, chunk_id, previous_chunk_id, route, granularity, model_id, embedding)
SELECT e.tenant_id, scope.scope_id, chunk_id + %(offset)s, previous_chunk_id + %(offset)s, route,
    granularity, model_id, embedding
FROM memsense.embeddings AS e, scope WHERE e.scope_id = 1
"""


def some_text(source: random.Random) -> str:
    weights = [1 / (n + 1) for n in range(len(VOCABULARY))]
    return " ".join(source.choices(VOCABULARY, weights, k=10))


def write_corpus(url: str, folder: Path) -> None:
    source = random.Random(7)
    lines = [
        json.dumps({"session_id": f"s{n // 25}", "role": role, "content": some_text(source)})
        for n in range(EXCHANGES)
        for role in ("user", "assistant")
    ]
    (folder / "log.jsonl").write_text("\n".join(lines))
    with MemSense.open(url, embedder=HashingEmbedder(), settings=Settings(language="en")) as memory:
        facets = Annotations(facets=FACETS)
        memory.ingest(folder / "log.jsonl", user_id="user0", mode="turn", annotations=facets)
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("UPDATE memsense.chunks SET tags = '{rare}' WHERE chunk_id % 50 = 0")
        conn.execute(
            "UPDATE memsense.chunks SET occurred_at = timestamptz '2024-01-01T00:00Z'"
            " + substr(session_id, 2)::integer * interval '1 day' + ordinal * interval '30 minutes'"
        )
        for n in range(1, USERS):
            conn.execute(CLONE, {"user_id": f"user{n}", "offset": n * 100_000})
        conn.execute(TOKENS)
        conn.execute("VACUUM ANALYZE")


TOKENS = """
INSERT INTO memsense.token_vectors
SELECT tenant_id, scope_id, chunk_id, model_id, 1,
    decode(repeat('00', 140), 'hex'), decode(repeat('00', 420), 'hex')
FROM memsense.embeddings_full
"""


@pytest.fixture(scope="module")
def corpus_url(
    server_url: str, template_database: str, tmp_path_factory: pytest.TempPathFactory
) -> Generator[str]:
    """Yield the URL of a database that holds the corpus."""
    names = {
        "name": sql.Identifier(f"memsense_plans_{uuid.uuid4().hex[:12]}"),
        "template": sql.Identifier(template_database),
    }
    url = urlunsplit(urlsplit(server_url)._replace(path="/" + names["name"].as_string()[1:-1]))
    with psycopg.connect(server_url, autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {name} TEMPLATE {template}").format(**names))
        write_corpus(url, tmp_path_factory.mktemp("corpus"))
        yield url
        admin.execute(sql.SQL("DROP DATABASE {name} WITH (FORCE)").format(**names))


@pytest.fixture
def corpus(corpus_url: str) -> Generator[psycopg.Connection]:
    """Yield a new connection, set up as recall's are."""
    pool = Pool(corpus_url, min_size=1, max_size=1, timeout=10)
    with closing(pool), pool.connection() as conn:
        yield conn


def request(profile: Profile, filters: Filters | None = None, user: str = "user5") -> RecallRequest:
    question = " ".join(WORDS)
    return RecallRequest(
        tenant_id=1,
        namespace="default",
        user_id=user,
        granularities=("turn", "session"),
        model_id=1,
        query_vector=HashingEmbedder().embed_query(question),
        terms=ask_lexemes(question, "en", ()),
        query=lexical_query(question, "en", ()),
        profile=profile,
        top_k=8,
        filters=filters or Filters(),
    )


def route_node(plan: Node, route: Route) -> Node:
    return next(node for node in walk(plan) if node.get("Alias") == route)


def scans_of(node: Node, table: str) -> list[Node]:
    return [item for item in walk(node) if item.get("Relation Name") == table]


@pytest.mark.parametrize("route", list(TABLE_OF))
def test_a_vector_route_reads_its_scope_by_index_and_returns_its_full_list(
    corpus: psycopg.Connection, route: Route
) -> None:
    plan = route_node(explain_recall(corpus, request(EVERY_ROUTE)), route)
    [scan] = scans_of(plan, TABLE_OF[route])
    assert "Scan" in scan["Node Type"]
    assert scan["Node Type"] != "Seq Scan"
    conditions = " ".join(node.get("Index Cond", "") for node in walk(scan))
    assert "tenant_id" in conditions
    assert "scope_id" in conditions
    assert rows_read(scan) <= EXCHANGES
    [limit] = [node for node in walk(plan) if node["Node Type"] == "Limit"]
    assert limit["Actual Rows"] == EVERY_ROUTE.route_limit(8) == 200


def test_tokens_are_read_by_index_and_of_the_best_candidates_alone(
    corpus: psycopg.Connection,
) -> None:
    plan = explain_recall(corpus, replace(request(EVERY_ROUTE), token_limit=32))
    [scan] = scans_of(plan, "token_vectors")
    assert "token_vectors_pkey" in {node.get("Index Name") for node in walk(scan)}
    assert rows_read(scan) == 32


def count_postings(conn: psycopg.Connection, *queries: str) -> int:
    """Count the user's chunks that contain each of these, a chunk once for each."""
    row = conn.execute(
        "SELECT count(*) FROM memsense.chunks AS c"
        " JOIN unnest(%s::tsquery[]) AS asked (query) ON c.tsv @@ asked.query"
        " WHERE c.scope_id = 6",
        [list(queries)],
    ).fetchone()
    assert row is not None
    return row[0]


def lexical_scans(plan: Node) -> list[Node]:
    found = [n for n in walk(plan) if n.get("Index Name") == "chunks_scope_lexemes"]
    assert found
    return found


@pytest.mark.parametrize(
    ("budget", "queries"),
    [(10_000, WORDS), (1, [WORDS[2], f"{WORDS[2]} & {WORDS[0]}", f"{WORDS[2]} & {WORDS[1]}"])],
    ids=["all words drive", "the rarest drives"],
)
def test_bm25f_reads_the_postings_of_each_word_among_the_chunks_that_hold_a_driver(
    corpus: psycopg.Connection, budget: int, queries: Sequence[str]
) -> None:
    plan = explain_recall(corpus, request(EVERY_ROUTE.override(postings_budget=budget)))
    scans = lexical_scans(plan)
    # EXPLAIN gives the mean of the loops to two places, and before PostgreSQL 18 to none.
    is_rounded = corpus.info.server_version < 180000
    slack = sum(scan["Actual Loops"] for scan in scans if scan["Actual Loops"] > 1) / 2
    difference = sum(map(rows_read, scans)) - count_postings(corpus, *queries)
    assert abs(difference) <= (slack if is_rounded else 0.5)


def test_near_lexemes_are_looked_up_by_index_and_only_for_words_that_the_memory_lacks(
    corpus: psycopg.Connection,
) -> None:
    def reads(question: str) -> list[Node]:
        terms = ask_lexemes(question, "en", ())
        plan = explain_recall(corpus, replace(request(EVERY_ROUTE), terms=terms))
        near = [node for node in walk(plan) if node.get("Subplan Name") == "CTE nearby"]
        scans = [node for item in near for node in walk(item)]
        return [node for node in scans if node.get("Index Name", "").startswith("lexemes_")]

    known = reads(" ".join(WORDS))
    assert [node["Actual Loops"] for node in known] == [0] * len(known)
    unknown = reads(f"{WORDS[0]} lanternpost")
    assert [node["Index Name"] for node in unknown] == [
        "lexemes_pkey",
        "lexemes_reversed",
        "lexemes_pkey",
    ]
    # Two halves of the word, and what neither half begins or ends with: two swapped letters in
    # its middle and the shortest parts of a compound.
    assert [node["Actual Loops"] for node in unknown] == [1, 1, 4]
    # A range of the vocabulary, which has 2,000 words for each of twelve users.
    assert sum(map(rows_read, unknown)) < 100


def test_ts_rank_reads_the_scopes_own_postings_once(corpus: psycopg.Connection) -> None:
    plan = explain_recall(corpus, request(EVERY_ROUTE.override(lexical_mode="ts_rank")))
    assert sum(map(rows_read, lexical_scans(plan))) == count_postings(corpus, " | ".join(WORDS))


@pytest.mark.parametrize("profile", [*PROFILES.values(), EVERY_ROUTE], ids=lambda p: p.name)
def test_a_search_reads_no_other_users_rows(corpus: psycopg.Connection, profile: Profile) -> None:
    plan = explain_recall(corpus, request(profile))
    tables = {"chunks", *TABLE_OF.values()}
    scans = [node for node in walk(plan) if node.get("Relation Name") in tables]
    assert scans
    most = max(EXCHANGES, count_postings(corpus, *WORDS))
    for scan in scans:
        assert rows_read(scan) <= most, scan


@pytest.mark.parametrize(
    "filters",
    [Filters(session_ids=["s3"]), Filters(exclude=[500_001], tags=["none"])],
    ids=["session", "exclude"],
)
def test_a_filtered_search_reads_no_other_users_rows(
    corpus: psycopg.Connection, filters: Filters
) -> None:
    plan = explain_recall(corpus, request(EVERY_ROUTE, filters))
    tables = {"chunks", *TABLE_OF.values()}
    most = max(EXCHANGES, count_postings(corpus, *WORDS))
    for scan in (node for node in walk(plan) if node.get("Relation Name") in tables):
        assert rows_read(scan) <= most, scan


def test_a_filter_by_tags_reads_only_the_users_own_chunks_with_that_tag(
    corpus: psycopg.Connection,
) -> None:
    plan = explain_recall(corpus, request(EVERY_ROUTE, Filters(tags=["rare"])))
    [bitmap] = [node for node in walk(plan) if node.get("Index Name") == "chunks_scope_tags"]
    tagged = corpus.execute(
        "SELECT count(*) FROM memsense.chunks WHERE scope_id = 6 AND tags && '{rare}'"
    ).fetchone()
    assert tagged is not None
    assert bitmap["Actual Rows"] * bitmap["Actual Loops"] == tagged[0] > 0


@pytest.mark.parametrize("route", VECTOR_ROUTES)
def test_a_vector_route_of_weight_zero_is_left_out(
    corpus: psycopg.Connection, route: Route
) -> None:
    plan = explain_recall(corpus, request(EVERY_ROUTE.override(**{route: 0.0})))
    found = {node.get("Alias") for node in walk(plan)} & {*VECTOR_ROUTES}
    assert found == {*VECTOR_ROUTES} - {route}


ASKED_AT = datetime(2024, 2, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("question", "most"),
    [("What did I do on 3 January 2024?", 25), ("Where did I walk last month?", 100)],
    ids=["day", "month"],
)
def test_the_time_route_reads_the_chunks_of_its_days_in_the_order_of_their_index(
    corpus: psycopg.Connection, question: str, most: int
) -> None:
    asked = analyse_question(question, asked_at=ASKED_AT)
    plan = explain_recall(
        corpus, replace(request(BALANCED), optional=ask_optional(asked, BALANCED))
    )
    [found] = [node for node in walk(plan) if node.get("Subplan Name") == "CTE time_within"]
    [scan] = scans_of(found, "chunks")
    assert scan["Index Name"] == "chunks_occurred_at"
    assert "occurred_at" in scan["Index Cond"]
    # Of a month, as many as a stretch finds: the newest.
    assert rows_read(scan) == pytest.approx(most, abs=5)
    # The limit of a stretch ends its scan: nothing is sorted between them.
    limits = [node for node in walk(found) if node["Node Type"] == "Limit"]
    assert "Sort" not in {node["Node Type"] for node in walk(limits[-1])}
    [vectors] = scans_of(route_node(plan, "time"), "embeddings_full")
    # Of a month, those with the question's words are added.
    assert rows_read(vectors) <= EXCHANGES


@pytest.mark.parametrize("mode", ["bm25f", "ts_rank"])
def test_a_lexical_route_of_weight_zero_is_never_started(
    corpus: psycopg.Connection, mode: str
) -> None:
    plan = explain_recall(corpus, request(EVERY_ROUTE.override(lexical=0.0, lexical_mode=mode)))
    assert {node["Actual Loops"] for node in lexical_scans(plan)} == {0}


def test_the_default_profile_runs_only_the_routes_that_it_weighs(
    corpus: psycopg.Connection,
) -> None:
    plan = explain_recall(corpus, request(BALANCED))
    found = {node.get("Alias") for node in walk(plan)} & {*VECTOR_ROUTES}
    assert found == {route for route in VECTOR_ROUTES if BALANCED.weights[route]}


def test_expired_chunks_are_looked_up_by_an_index_and_cost_nothing_if_none_exist(
    corpus: psycopg.Connection,
) -> None:
    plan = explain_recall(corpus, request(EVERY_ROUTE))
    [scan] = [node for node in walk(plan) if node.get("Index Name") == "chunks_expires_at"]
    assert (rows_read(scan), scan["Actual Loops"]) == (0, 1)
    beside = [
        node
        for name in ("hidden", "bereft")
        for node in walk(next(n for n in walk(plan) if n.get("Subplan Name") == f"CTE {name}"))
        if node.get("Relation Name") == "chunks"
    ]
    assert [node["Actual Loops"] for node in beside] == [0, 0, 0]
