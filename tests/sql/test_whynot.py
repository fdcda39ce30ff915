"""why_not against a brute-force reference that computes the whole search again in plain Python."""

# pyright: reportPrivateUsage=false

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import psycopg
import pytest
from embedders import HashingEmbedder
from reference import Document, rank, read_documents, score_bm25f, score_cosine, words_of
from traced import WORDS, fill

from memsense import MemSense, Profile
from memsense.db.connection import Connection
from memsense.errors import NotFoundError
from memsense.explain.why_not import Verdict, judge
from memsense.search.profiles import Route
from memsense.search.recall.run import query_values, shape_of
from memsense.search.request import SearchRequest
from memsense.search.search import Search
from memsense.search.show import fetch_result
from memsense.store import traces
from memsense.types import Granularity

OpenMemory = Callable[..., MemSense]
ROUTES: tuple[Route, ...] = ("vec_full", "vec_user", "vec_assistant", "lexical")


@pytest.fixture
def store(database_url: str) -> Generator[psycopg.Connection[Any]]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@dataclass(frozen=True)
class Stored:
    """Stored fields of a chunk that MMR and the choice of sessions need."""

    chunk_id: int
    granularity: str
    session_id: str
    tags: frozenset[str]
    vector: np.ndarray[Any, np.dtype[np.float64]]


def read_stored(store: psycopg.Connection[Any], embedder: HashingEmbedder) -> dict[int, Stored]:
    rows = store.execute(
        "SELECT chunk_id, granularity, session_id, tags, task_tag, user_text, assistant_text,"
        " session_text FROM memsense.chunks"
    ).fetchall()
    found: dict[int, Stored] = {}
    for chunk_id, granularity, session_id, tags, task_tag, user, assistant, session in rows:
        text = session or "\n".join(part for part in (user, assistant) if part)
        vector = embedder.embed_query(text).astype(np.float16).astype(np.float64)
        labels = frozenset([*tags, task_tag] if task_tag else tags)
        found[chunk_id] = Stored(chunk_id, granularity, session_id, labels, vector)
    return found


class Reference:
    """Second computation of a search: the scores of every chunk."""

    def __init__(
        self,
        documents: Sequence[Document],
        stored: Mapping[int, Stored],
        scores: Mapping[Route, Mapping[int, float]],
        *,
        profile: Profile,
        top_k: int,
        granularity: str,
    ) -> None:
        self.profile, self.top_k, self.stored = profile, top_k, stored
        self.steps: dict[int, str] = {}
        searched = [
            item for item in documents if granularity != "turn" or item.granularity == "turn"
        ]
        for item in documents:
            if item not in searched:
                self.steps[item.chunk_id] = "scope"
        fused = self._fuse(searched, scores)
        pool = sorted(fused, key=lambda item: (-fused[item], item))
        pool = pool[: profile.candidate_limit(top_k)]
        for item in searched:
            if item.chunk_id not in fused:
                self.steps[item.chunk_id] = "no_route"
            elif item.chunk_id not in pool:
                self.steps[item.chunk_id] = "pool"
        self._choose(self._entries({item: fused[item] for item in pool}, granularity != "turn"))

    def _fuse(
        self, searched: Sequence[Document], scores: Mapping[Route, Mapping[int, float]]
    ) -> dict[int, float]:
        fused: dict[int, float] = defaultdict(float)
        ids = {item.chunk_id for item in searched}
        for route in ROUTES:
            if not self.profile.weights[route]:
                continue
            found = {item: score for item, score in scores[route].items() if item in ids}
            kept = sorted(found, key=lambda item: (-found[item], item))
            kept = kept[: self.profile.route_limit(self.top_k)]
            for kind in ("turn", "session"):
                ranked = rank(searched, {item: found[item] for item in kept}, kind)
                for place, item in enumerate(ranked, start=1):
                    fused[item] += self.profile.weights[route] / (self.profile.rrf_k + place)
        return dict(fused)

    def _entries(self, pool: Mapping[int, float], sessions: bool) -> dict[int, float]:
        """Return MMR's candidates with their scores; the others lost to one of their session."""
        memory = self.profile.memory_alpha * 0.5
        if not sessions:
            return {item: score + memory for item, score in pool.items()}
        members: dict[str, list[int]] = defaultdict(list)
        for item in pool:
            members[self.stored[item].session_id].append(item)
        entries: dict[int, float] = {}
        for ids in members.values():
            ordered = sorted(ids, key=lambda item: (-pool[item], item))
            turns = [item for item in ordered if self.stored[item].granularity == "turn"]
            whole = [item for item in ordered if self.stored[item].granularity == "session"]
            if self.profile.session_scoring == "best_turns":
                standing = turns[0] if turns else whole[0]
                entries[standing] = pool[standing] + memory
            else:
                standing = whole[0] if whole else turns[0]
                best = pool[turns[0]] if turns else 0.0
                support = min(
                    self.profile.turn_support_cap, self.profile.turn_support_coefficient * best
                )
                entries[standing] = (pool[standing] if whole else 0.0) + support + memory
            for item in ids:
                if item != standing:
                    self.steps[item] = "session"
        return entries

    def _choose(self, entries: Mapping[int, float]) -> None:
        chosen: list[int] = []
        relevance = self._relevance(entries)
        while len(chosen) < min(self.top_k, len(entries)):
            rest = [item for item in entries if item not in chosen]
            near = {item: self._nearest(item, chosen) for item in rest}
            fresh = [item for item in rest if near[item] < self.profile.duplicate_threshold]
            share = self.profile.mmr_lambda
            value = {item: share * relevance[item] - (1 - share) * near[item] for item in rest}
            order = relevance if not chosen else value
            best = max(fresh or rest, key=lambda item: (order[item], -self._place(entries, item)))
            for item in rest:
                duplicate = bool(fresh) and near[item] >= self.profile.duplicate_threshold
                surpassed = self._place(entries, item) >= min(self.top_k, len(entries))
                dropped = "outranked" if surpassed else "mmr"
                self.steps[item] = "duplicate" if duplicate else dropped
            self.steps[best] = "hit"
            chosen.append(best)

    def _place(self, entries: Mapping[int, float], item: int) -> int:
        return sorted(entries, key=lambda other: (-entries[other], other)).index(item)

    def _relevance(self, entries: Mapping[int, float]) -> dict[int, float]:
        if self.profile.relevance == "raw" or not entries:
            return dict(entries)
        low, high = min(entries.values()), max(entries.values())
        if low == high:
            return dict.fromkeys(entries, 1.0)
        return {item: (score - low) / (high - low) for item, score in entries.items()}

    def _nearest(self, item: int, chosen: Sequence[int]) -> float:
        return max([0.0, *(self._closeness(item, other) for other in chosen)])

    def _closeness(self, item: int, other: int) -> float:
        one, two = self.stored[item], self.stored[other]
        cosine = float(one.vector @ two.vector)
        union = one.tags | two.tags
        overlap = len(one.tags & two.tags) / len(union) if union else 0.0
        return max(cosine, self.profile.tag_redundancy * overlap)


def random_profile(source: random.Random) -> Profile:
    weights: dict[Route, float] = {route: source.choice([0.0, 0.5, 1.0, 2.0]) for route in ROUTES}
    weights["vec_full"] = 1.0
    return Profile(
        name="random",
        weights=weights,
        list_depth=1,
        candidate_factor=1,
        least_candidates=source.choice([15, 25]),
        route_factor=1,
        least_route_limit=source.choice([1, 20]),
        postings_budget=1_000_000,
        session_scoring=source.choice(["support", "best_turns"]),
        relevance=source.choice(["normalised", "raw"]),
        duplicate_threshold=source.choice([0.7, 0.94]),
        mmr_lambda=source.choice([0.5, 0.78]),
    )


def test_the_steps_of_random_searches_are_those_of_brute_force(
    memory: MemSense, store: psycopg.Connection[Any], is_long: bool
) -> None:
    searches = 200 if is_long else 50
    fill(memory)
    embedder = HashingEmbedder()
    documents, stored = read_documents(store), read_stored(store, embedder)
    source = random.Random(3)
    seen: Counter[str] = Counter()
    for _ in range(searches):
        question = " ".join(source.sample(WORDS, k=source.randint(1, 5)))
        profile, top_k = random_profile(source), source.randint(1, 6)
        granularity: Granularity = source.choice(["turn", "session", "session"])
        scores: dict[Route, dict[int, float]] = {
            route: score_cosine(documents, route, embedder, question)
            for route in ROUTES
            if route != "lexical"
        }
        scores["lexical"] = score_bm25f(documents, words_of(store, question), profile)
        reference = Reference(
            documents, stored, scores, profile=profile, top_k=top_k, granularity=granularity
        )
        request = SearchRequest(
            query=question, user_id="ada", top_k=top_k, granularity=granularity, profile=profile
        )
        candidates, verdicts = judge_all(memory, request, source)
        assert len(candidates) > 5
        for chunk_id, verdict in verdicts.items():
            expected = reference.steps[chunk_id]
            if verdict.step == "hit" and expected != "hit":
                # The session chunk in whose place a turn was ranked.
                assert stored[chunk_id].granularity == "session"
                continue
            assert (verdict.step, chunk_id) == (expected, chunk_id)
            seen[verdict.step] += 1
    assert seen.keys() == {
        "hit", "scope", "no_route", "pool", "duplicate", "mmr", "outranked", "session"
    }  # fmt: skip
    assert min(seen.values()) >= searches // 10


def standing_of(connection: Connection, search: Search, chunk_id: int) -> traces.Standing:
    asked = search.recall_request
    standing = traces.fetch_standing(
        connection, chunk_id, shape_of(asked).filters, query_values(asked)
    )
    assert standing is not None
    return standing


def judge_all(
    memory: MemSense, request: SearchRequest, source: random.Random
) -> tuple[set[int], dict[int, Verdict]]:
    """Return verdicts of the same search on every candidate and a few other chunks."""
    with memory._context.pool.connection() as connection:
        namespace = memory._context.require_namespace(connection)
        search = memory._searches.run(namespace, request)
        result = fetch_result(connection, search)
        candidates = {item.chunk_id for item in search.candidates}
        rows = connection.execute("SELECT chunk_id FROM memsense.chunks ORDER BY 1").fetchall()
        others = source.sample(sorted({row[0] for row in rows} - candidates), k=3)
        verdicts: dict[int, Verdict] = {}
        for chunk_id in (*candidates, *others):
            standing = standing_of(connection, search, chunk_id)
            verdicts[chunk_id] = judge(
                connection,
                search=search,
                result=result,
                chunk_id=chunk_id,
                standing=standing,
            )
    return candidates, verdicts


def test_why_not_reports_the_rank_of_a_hit(memory: MemSense) -> None:
    fill(memory)
    for granularity in ("turn", "session"):
        result = memory.search("apple river", user_id="ada", granularity=granularity)
        for place, hit in enumerate(result, start=1):
            verdict = memory.why_not(
                "apple river", hit.chunk_id, user_id="ada", granularity=granularity
            )
            assert verdict.step == "hit"
            assert verdict.numbers == {"hit_rank": place, "score": hit.score}


def test_the_filter_that_keeps_a_chunk_out_is_named(memory: MemSense) -> None:
    fill(memory)
    fill(memory, user_id="bob", sessions=1)
    result = memory.search("apple", user_id="ada", granularity="turn", top_k=1)
    chunk = result[0].chunk
    cases: dict[str, dict[str, Any]] = {
        "user_id": {"user_id": "bob"},
        "session_ids": {"session_ids": ["another"]},
        "agent_id": {"agent_id": "robot"},
        "since": {"since": "2027-01-01"},
        "until": {"until": "2025-01-01"},
        "tags": {"tags": ["unheard"]},
        "kinds": {"kinds": ["stable"] if chunk.memory_kind != "stable" else ["preference"]},
        "metadata": {"metadata": {"colour": "green"}},
        "exclude": {"exclude": [chunk.chunk_id]},
        "exclude_sessions": {"exclude_sessions": [chunk.session_id]},
    }
    for name, options in cases.items():
        given: dict[str, Any] = {"user_id": "ada", "granularity": "turn", **options}
        verdict = memory.why_not("apple", chunk.chunk_id, **given)
        assert verdict.step == "scope", name
        assert verdict.numbers["filters"] == [name]
        assert name in verdict.text


def test_a_retired_chunk_is_not_active(memory: MemSense) -> None:
    fill(memory, sessions=2)
    chunk_id = memory.search("apple", user_id="ada", granularity="turn")[0].chunk_id
    memory.archive(chunk_id)
    verdict = memory.why_not("apple", chunk_id, user_id="ada", granularity="turn")
    assert verdict.step == "inactive"
    assert verdict.numbers == {"status": "archived"}


def test_a_missing_vector_is_named_by_its_route(
    memory: MemSense, store: psycopg.Connection[Any]
) -> None:
    memory.add(
        [
            {"role": "user", "content": "apple"},
            {"role": "assistant", "content": "river"},
            {"role": "user", "content": "lantern"},
        ],
        user_id="ada",
        session_id="s",
        mode="turn",
    )
    (chunk_id, *_) = [chunk.chunk_id for chunk in memory.recent(user_id="ada")][::-1]
    store.execute(
        "DELETE FROM memsense.embeddings WHERE chunk_id = %s AND route <> 'user'", [chunk_id]
    )
    profile = Profile(
        name="few", list_depth=1, least_candidates=1, candidate_factor=1, least_route_limit=1
    )
    verdict = memory.why_not("lantern", chunk_id, user_id="ada", top_k=1, profile=profile)
    assert verdict.step == "not_embedded"
    assert verdict.numbers["routes"] == ["vec_full", "vec_assistant"]


def test_why_not_reports_misses_of_an_approximate_index(memory: MemSense) -> None:
    fill(memory, sessions=2)
    with memory._context.pool.connection() as connection:
        namespace = memory._context.require_namespace(connection)
        request = SearchRequest(query="apple", user_id="ada", granularity="turn", top_k=2)
        search = memory._searches.run(namespace, request)
        result = fetch_result(connection, search)
        missed = search.candidates[-1].chunk_id
        # As HNSW does when it does not reach a chunk.
        search.candidates = search.candidates[:-1]
        standing = standing_of(connection, search, missed)
        assert missed not in {hit.chunk_id for hit in result}
        verdict = judge(
            connection,
            search=search,
            result=result,
            chunk_id=missed,
            standing=standing,
        )
    assert verdict.step == "index"
    assert verdict.numbers["position"] <= verdict.numbers["pool"]


def test_the_numbers_of_the_cut_are_those_of_the_search(memory: MemSense) -> None:
    fill(memory)
    profile = Profile(
        name="few", list_depth=1, least_candidates=5, candidate_factor=1, least_route_limit=60
    )
    result = memory.search(
        "apple river", user_id="ada", profile=profile, top_k=5, granularity="turn", trace=True
    )
    trace = memory.traces.get(result.trace_id or "")
    cut = trace.candidates[-1].rrf_score
    found = 0
    for chunk in memory.recent(user_id="ada", limit=60):
        options: dict[str, Any] = {"profile": profile, "top_k": 5, "granularity": "turn"}
        verdict = memory.why_not("apple river", chunk.chunk_id, user_id="ada", **options)
        if verdict.step == "pool":
            found += 1
            assert verdict.numbers["cut"] == pytest.approx(cut, abs=1e-12)
            assert verdict.numbers["short_by"] >= 0
            assert verdict.numbers["position"] > 5
    assert found > 10


def test_a_chunk_of_another_namespace_is_not_found(
    memory: MemSense, open_memory: OpenMemory
) -> None:
    fill(memory, sessions=1)
    chunk_id = memory.recent(user_id="ada")[0].chunk_id
    other = open_memory(namespace="work")
    fill(other, sessions=1)
    with pytest.raises(NotFoundError):
        other.why_not("apple", chunk_id, all_users=True)
    with pytest.raises(NotFoundError):
        memory.why_not("apple", 10**12, all_users=True)
