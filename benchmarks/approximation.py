"""Recall of the HNSW indexes of a large scope, against exact search."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np

from benchmarks.corpus import Corpus, question_embedder
from benchmarks.stores import NAMESPACE, open_namespace
from memsense.db import Pool, run_read
from memsense.search.plan import ChosenModels, SearchPlan, prepare_search
from memsense.search.profiles import BALANCED, ROUTES, VECTOR_ROUTES, Profile, Route
from memsense.search.recall.run import RecallRequest, run_recall
from memsense.search.recall.statement import Indexed
from memsense.search.request import SearchRequest
from memsense.search.search import run_searches
from memsense.store.scopes import KnownScope, Namespace, find_scope
from memsense.text.lexemes import ask_lexemes

DEPTH = 80
HITS = 10


@dataclass(frozen=True, slots=True)
class Setup:
    """Pool, scope and questions for both ways of searching."""

    pool: Pool
    corpus: Corpus
    namespace: Namespace
    known: KnownScope


def measure_approximation(url: str, corpus: Corpus, user_id: str) -> list[dict[str, object]]:
    """Measure the recall@80 of each route with a weight, and the overlap of the ten hits.

    The scope must be indexed. Both sides run the product's own query, with and without indexes.
    """
    pool = Pool(url, min_size=1, max_size=1, timeout=30)
    try:
        namespace = run_read(pool, open_namespace)
        known = run_read(pool, lambda it: find_scope(it, namespace.tenant_id, NAMESPACE, user_id))
        if known is None or not known.indexed:
            raise ValueError(f"{user_id} is not indexed")
        setup = Setup(pool, corpus, namespace, known)
        routes: list[Route] = [route for route in VECTOR_ROUTES if BALANCED.weights[route]]
        rows: list[dict[str, object]] = [
            {"": f"recall@{DEPTH} of {route}", "value": _route_recall(setup, route)}
            for route in routes
        ]
        return [*rows, {"": f"overlap of the best {HITS} hits", "value": _hit_overlap(setup)}]
    finally:
        pool.close()


def _one_route(route: Route) -> Profile:
    return BALANCED.override(name=route, **{name: float(name == route) for name in ROUTES})


def _route_recall(setup: Setup, route: Route) -> float:
    profile = _one_route(route)
    shares = [
        _share(
            _recalled(setup, profile, number, indexed=True),
            _recalled(setup, profile, number, indexed=False),
        )
        for number in range(len(setup.corpus.questions))
    ]
    return float(np.mean(shares))


def _recalled(setup: Setup, profile: Profile, number: int, *, indexed: bool) -> list[int]:
    """Return the DEPTH best of the route, read as deep as searches read it."""
    namespace = setup.namespace
    model_id, dimension = namespace.model_id or 0, namespace.dimension or 0
    place = Indexed(setup.known.scope_id, model_id, dimension)
    request = RecallRequest(
        tenant_id=namespace.tenant_id,
        namespace=NAMESPACE,
        user_id="ada",
        granularities=("turn", "session"),
        model_id=model_id,
        query_vector=setup.corpus.question_vectors[number],
        terms=ask_lexemes(setup.corpus.questions[number], "en", ()),
        profile=profile,
        top_k=8,
        indexed=place if indexed else None,
    )
    _, candidates = run_read(setup.pool, lambda it: run_recall(it, request))
    return candidates.chunk_ids[:DEPTH].tolist()


def _hit_overlap(setup: Setup) -> float:
    embedder = question_embedder(setup.corpus)
    shares: list[float] = []
    for question in setup.corpus.questions:
        plan = SearchPlan(
            request=SearchRequest(query=question, user_id="ada", top_k=HITS),
            tenant_id=setup.namespace.tenant_id,
            namespace=NAMESPACE,
            model=setup.namespace.in_use,
            profile=BALANCED,
            asked_at=datetime.now(UTC),
        )
        exact, approximate = (
            run_searches(
                setup.pool,
                [prepare_search(plan, known, ChosenModels(plan.model), lambda _: embedder)],
            )[0].ranked
            for known in (replace(setup.known, indexed=False), setup.known)
        )
        shares.append(
            _share(
                [item.candidate.chunk_id for item in approximate],
                [item.candidate.chunk_id for item in exact],
            )
        )
    return float(np.mean(shares))


def _share(result_ids: Sequence[int], exact_ids: Sequence[int]) -> float:
    return len(set(result_ids) & set(exact_ids)) / len(exact_ids) if exact_ids else 1.0
