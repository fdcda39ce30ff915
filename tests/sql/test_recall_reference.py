"""Numbers of recall.sql, compared with a second computation and with another library."""

import math
import random
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import psycopg
import pytest
from embedders import HashingEmbedder
from numpy.typing import NDArray
from reference import (
    Document,
    Scores,
    lexemes_of,
    rank,
    read_documents,
    score_bm25f,
    score_cosine,
    words_of,
)

from memsense import MemSense, Profile
from memsense.db import Pool
from memsense.fusion import reciprocal_rank_fusion
from memsense.search.profiles import BALANCED, ROUTES, VECTOR_ROUTES, Route
from memsense.search.recall.candidates import Candidate
from memsense.search.recall.run import RecallRequest, run_recall
from memsense.text.lexemes import ask_lexemes, index_lexemes, lexical_query
from tools.termcounts import MOST_CODED

OpenMemory = Callable[..., MemSense]
Floats = NDArray[np.float64]

WORDS = [
    "apple",
    "river",
    "lantern",
    "Lisbon",
    "guitar",
    "winter",
    "saffron",
    "bicycle",
    "ledger",
    "harbour",
    "violin",
    "tea",
    "market",
    "rain",
    "garden",
    "letter",
    "bridge",
    "coffee",
    "train",
    "window",
    "the",
    "of",
    "and",
    "it",
    "was",
    "my",
    "we",
    "she",
]
QUESTIONS = ["Lisbon harbour tea", "the violin and the winter bicycle", "saffron saffron rain"]

ODD_WEIGHTS = BALANCED.override(
    name="odd",
    **{route: 0.3 + 0.35 * n for n, route in enumerate(ROUTES)},
    least_candidates=1000,
    least_route_limit=1000,
    postings_budget=1_000_000,
    weight_user=1.3,
    weight_assistant=0.8,
    weight_tag=1.7,
)


def some_text(source: random.Random) -> str:
    return " ".join(source.choices(WORDS, k=source.choice([2, 6, 15, 60])))


def fill(memory: MemSense, *, answers: bool = True, n: int = 45) -> None:
    source = random.Random(11)
    for i in range(n):
        at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=i)
        sides = source.choice([("user", "assistant")] * 3 + [("user",)] + [("assistant",)])
        sides = sides if answers else ("user",)
        facets = source.choice([{}, {"events": some_text(source)}, {"preferences": "likes tea"}])
        memory.add(
            [{"role": side, "content": some_text(source), "at": at} for side in sides],
            user_id="ada",
            session_id=f"s{source.randrange(6)}",
            facets={"personal_info": some_text(source), **facets} if i % 3 else facets,
            tags=source.choice([(), ("river",), ("winter", "tea")]),
            task_tag=source.choice([None, "violin lesson"]),
        )


def ask(question: str, profile: Profile) -> RecallRequest:
    return RecallRequest(
        tenant_id=1,
        namespace="default",
        user_id="ada",
        granularities=("turn", "session"),
        model_id=1,
        query_vector=HashingEmbedder().embed_query(question),
        terms=ask_lexemes(question, "en", ()),
        query=lexical_query(question, "en", ()),
        profile=profile,
        top_k=8,
    )


@pytest.fixture(autouse=True)
def _english(monkeypatch: pytest.MonkeyPatch) -> None:
    # Words at random show no language.
    monkeypatch.setenv("MEMSENSE_LANGUAGE", "en")


@pytest.fixture
def recall_conn(database_url: str) -> Generator[psycopg.Connection[Any]]:
    pool = Pool(database_url, min_size=1, max_size=1, timeout=10)
    with closing(pool), pool.connection() as conn:
        yield conn


def reference_scores(
    conn: psycopg.Connection[Any], question: str, profile: Profile
) -> tuple[Sequence[Document], Scores]:
    documents = read_documents(conn)
    embedder = HashingEmbedder()
    scores: Scores = {r: score_cosine(documents, r, embedder, question) for r in VECTOR_ROUTES}
    scores["lexical"] = score_bm25f(documents, words_of(conn, question), profile)
    return documents, scores


def assert_fused(
    candidates: Sequence[Candidate], documents: Sequence[Document], scores: Scores, profile: Profile
) -> None:
    """Fail unless ranks, raw scores and rrf_scores equal the reference's, for all chunks."""
    expected: dict[int, dict[Route, int]] = {}
    fused: dict[int, float] = {}
    for granularity in ("turn", "session"):
        lists: dict[Route, list[int]] = {
            route: rank(documents, scores[route], granularity) for route in scores
        }
        for route, ids in lists.items():
            for position, chunk_id in enumerate(ids, start=1):
                expected.setdefault(chunk_id, {})[route] = position
        weights = [profile.weights[route] for route in lists]
        for found in reciprocal_rank_fusion(list(lists.values()), k=profile.rrf_k, weights=weights):
            fused[found.item] = found.score
    assert {item.chunk_id for item in candidates} == expected.keys() == fused.keys()
    for item in candidates:
        assert {hit.route: hit.rank for hit in item.routes} == expected[item.chunk_id]
        for hit in item.routes:
            precision = 1e-9 if hit.route == "lexical" else 1e-5
            assert hit.score == pytest.approx(scores[hit.route][item.chunk_id], abs=precision)
        parts = expected[item.chunk_id].items()
        total = math.fsum(profile.weights[r] / (profile.rrf_k + place) for r, place in parts)
        assert item.rrf_score == pytest.approx(total, abs=1e-9)
        assert item.rrf_score == pytest.approx(fused[item.chunk_id], abs=1e-9)
    order = [(-item.rrf_score, item.chunk_id) for item in candidates]
    assert order == sorted(order)


@pytest.mark.parametrize("question", QUESTIONS)
def test_ranks_scores_and_fusion_equal_the_reference(
    memory: MemSense, recall_conn: psycopg.Connection[Any], question: str
) -> None:
    fill(memory)
    state, candidates = run_recall(recall_conn, ask(question, ODD_WEIGHTS))
    documents, scores = reference_scores(recall_conn, question, ODD_WEIGHTS)
    assert_fused(candidates, documents, scores, ODD_WEIGHTS)
    assert {hit.route for item in candidates for hit in item.routes} == set(scores)
    assert state.lexical_matches == len(scores["lexical"])
    assert state.counts == Counter(document.granularity for document in documents)


def test_a_memory_without_answers_equals_the_reference(
    memory: MemSense, recall_conn: psycopg.Connection[Any]
) -> None:
    fill(memory, answers=False)
    _, candidates = run_recall(recall_conn, ask("Lisbon tea", ODD_WEIGHTS))
    documents, scores = reference_scores(recall_conn, "Lisbon tea", ODD_WEIGHTS)
    assert_fused(candidates, documents, scores, ODD_WEIGHTS)


def test_words_repeated_more_often_than_ts_rank_is_coded_for_equal_the_reference(
    memory: MemSense, recall_conn: psycopg.Connection[Any]
) -> None:
    fill(memory)
    for count in (MOST_CODED - 1, MOST_CODED, MOST_CODED + 1, 40, 80):
        messages = [
            {"role": "user", "content": "Lisbon " + "tea " * count},
            {"role": "assistant", "content": "rain " + "Lisbon tea " * (count // 2)},
            {"role": "user", "content": f"tea rain {count}"},
        ]
        memory.add(messages, user_id="ada", session_id=f"again {count}", tags=["tea"])
    _, candidates = run_recall(recall_conn, ask("Lisbon tea rain", ODD_WEIGHTS))
    documents, scores = reference_scores(recall_conn, "Lisbon tea rain", ODD_WEIGHTS)
    assert_fused(candidates, documents, scores, ODD_WEIGHTS)


def test_changes_leave_numbers_that_equal_the_reference(
    memory: MemSense, recall_conn: psycopg.Connection[Any]
) -> None:
    fill(memory)
    turns = [chunk.chunk_id for chunk in memory.recent(limit=100, all_users=True)]
    for chunk_id in turns[::3]:
        memory.forget(chunk_id)
    for chunk_id in turns[::6]:
        memory.restore(chunk_id)
    _, candidates = run_recall(recall_conn, ask("Lisbon tea rain", ODD_WEIGHTS))
    documents, scores = reference_scores(recall_conn, "Lisbon tea rain", ODD_WEIGHTS)
    assert_fused(candidates, documents, scores, ODD_WEIGHTS)


def test_the_and_query_ranks_by_ts_rank_cd_over_the_chunks_own_text(
    memory: MemSense, recall_conn: psycopg.Connection[Any]
) -> None:
    fill(memory)
    only = ODD_WEIGHTS.override(
        **{r: float(r == "lexical") for r in ROUTES}, lexical_mode="ts_rank"
    )
    _, candidates = run_recall(recall_conn, ask("Lisbon tea", only))
    chunks = recall_conn.execute(
        "SELECT chunk_id, session_text || user_text, assistant_text,"
        " concat_ws(' ', task_tag, array_to_string(tags, ' ')) FROM memsense.chunks"
    ).fetchall()
    expected: dict[int, float] = {}
    for chunk_id, *sides in chunks:
        row = recall_conn.execute(
            "SELECT ts_rank_cd(own, asked)::float8 FROM (SELECT setweight(%s::tsvector, 'A')"
            " || setweight(%s::tsvector, 'B') || setweight(%s::tsvector, 'C') AS own) AS text,"
            " to_tsquery('simple', 'lisbon & tea') AS asked WHERE own @@ asked",
            [index_lexemes(side, "en") for side in sides],
        ).fetchone()
        if row:
            expected[chunk_id] = row[0]
    assert {
        item.chunk_id: item.routes[0].score for item in candidates if item.routes
    } == pytest.approx(expected)
    assert len(expected) > 3


@pytest.mark.parametrize("field", ["user", "assistant", "tag", "context"])
def test_a_field_without_weight_finds_nothing(
    memory: MemSense, recall_conn: psycopg.Connection[Any], field: str
) -> None:
    fill(memory)
    only = ODD_WEIGHTS.override(
        **{r: float(r == "lexical") for r in ROUTES}, **{f"weight_{field}": 0.0}
    )
    _, candidates = run_recall(recall_conn, ask("Lisbon tea winter", only))
    documents, scores = reference_scores(recall_conn, "Lisbon tea winter", only)
    found = {item.chunk_id: item.routes[0].score for item in candidates if item.routes}
    assert found == pytest.approx(scores["lexical"], abs=1e-9)
    texts = {item.chunk_id: item.fields for item in documents}
    others = {"user", "assistant", "tag", "context"} - {field}
    lexemes = lexemes_of(recall_conn, "Lisbon tea winter")
    assert all(any(texts[i][name][x] for name in others for x in lexemes) for i in found)


def test_bm25f_on_one_field_is_bm25s_bm25(
    memory: MemSense, recall_conn: psycopg.Connection[Any]
) -> None:
    bm25s = pytest.importorskip("bm25s", reason="needs bm25s: make setup-all")
    source = random.Random(3)
    for n in range(80):
        memory.add(
            [{"role": "user", "content": some_text(source)}],
            user_id="ada",
            session_id=f"s{n}",
            mode="turn",
        )
    only = ODD_WEIGHTS.override(
        **{r: float(r == "lexical") for r in ROUTES}, weight_context=0.0, weight_user=1.0
    )
    documents = read_documents(recall_conn)
    index = bm25s.BM25(method="lucene", k1=only.k1, b=only.b)
    corpus = [list(item.fields["user"].elements()) for item in documents]
    index.index(corpus, show_progress=False)
    for question in QUESTIONS[:2]:
        _, candidates = run_recall(recall_conn, ask(question, only))
        # bm25s leaves out the factor k1 + 1, and counts in float32.
        plain: Floats = index.get_scores(list(lexemes_of(recall_conn, question)))
        scores = plain * (only.k1 + 1)
        best = [int(i) for i in np.argsort(-scores, kind="stable")[:10]]
        assert [item.chunk_id for item in candidates[:10]] == [documents[i].chunk_id for i in best]
        for item, i in zip(candidates, best, strict=False):
            assert item.routes[0].score == pytest.approx(float(scores[i]), rel=1e-5)


def test_lengths_may_count_in_full_though_a_field_is_empty(
    memory: MemSense, recall_conn: psycopg.Connection[Any]
) -> None:
    fill(memory)
    full = ODD_WEIGHTS.override(**{r: float(r == "lexical") for r in ROUTES}, b=1.0)
    documents, scores = reference_scores(recall_conn, "Lisbon tea winter", full)
    assert any(not item.lengths[field] for item in documents for field in ("assistant", "tag"))
    _, candidates = run_recall(recall_conn, ask("Lisbon tea winter", full))
    found = {item.chunk_id: item.routes[0].score for item in candidates if item.routes}
    assert found
    assert found == pytest.approx({i: scores["lexical"][i] for i in found}, abs=1e-9)


def test_a_common_word_outside_the_budget_still_scores(
    memory: MemSense, recall_conn: psycopg.Connection[Any]
) -> None:
    fill(memory)
    tight = ODD_WEIGHTS.override(**{r: float(r == "lexical") for r in ROUTES}, postings_budget=1)
    question = "Lisbon tea rain"
    _, scores = reference_scores(recall_conn, question, tight)
    _, candidates = run_recall(recall_conn, ask(question, tight))
    # Others are there for being pairs of these.
    candidates = [item for item in candidates if item.routes]
    assert 0 < len(candidates) < len(scores["lexical"])
    for item in candidates:
        expected = scores["lexical"][item.chunk_id]
        assert item.routes[0].score == pytest.approx(expected, abs=1e-9)
