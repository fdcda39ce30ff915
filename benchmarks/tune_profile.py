"""Chooses the constants of profile `balanced` on LoCoMo conversations 0-4.

    python benchmarks/tune_profile.py ../shared/eval/locomo10.json --database-url URL

Recall runs once per question with every route and wide pools; every setting is then judged on the
ranks and raw scores that came back, through memsense's own rerank. Coordinate ascent: each constant
in turn takes the value of its grid with the best objective, until a whole round changes nothing.
The database must hold the file (memsense ingest). Conversations 5-9 are only looked at for the
final report, with --report.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memsense.config import load_settings
from memsense.db import Pool, open_pool, read
from memsense.db.connection import Connection
from memsense.embed import open_embedder
from memsense.evaluation import read_locomo
from memsense.evaluation.gold import GoldQuestion
from memsense.evaluation.metrics import recall_at, reciprocal_rank
from memsense.search.profiles import BALANCED, ROUTES, Profile
from memsense.search.question import Question
from memsense.search.rank.ranking import rank_candidates
from memsense.search.recall.candidates import Candidate, Candidates, RouteHit
from memsense.search.request import SearchRequest
from memsense.search.search import SearchPlan, run_search
from memsense.store import find_scope, find_tenant

WIDE = 10_000
TENANT = NAMESPACE = "default"
GRID: Mapping[str, Sequence[float]] = {
    "lexical": (1.0, 1.5, 2.0, 2.5, 3.0),
    "vec_full": (0.5, 0.75, 1.0, 1.5),
    "vec_user": (0.25, 0.5, 0.75, 1.0),
    "vec_assistant": (0.25, 0.5, 0.75, 1.0),
    "vec_next_user": (0.0, 0.1, 0.2),
    "facet_personal_info": (0.0, 0.1, 0.2, 0.4),
    "facet_preferences": (0.0, 0.1, 0.2, 0.4),
    "facet_events": (0.0, 0.1, 0.2, 0.4),
    "coverage_weight": (0.0, 0.2, 0.5, 0.8, 1.25),
    "similarity_weight": (0.0, 0.2, 0.4, 0.6, 1.0),
    "speaker_bonus": (0.0, 0.05, 0.1, 0.15),
    "event_weight": (0.0, 0.05, 0.1, 0.2),
    "date_weight": (0.0, 0.1, 0.2, 0.3, 0.4),
    "neighbour_weight": (0.0, 0.1, 0.15, 0.2),
    "second_turn_weight": (0.0, 0.1, 0.2),
    "mmr_lambda": (0.7, 0.78, 0.9, 1.0),
}
POOLS = (50, 100, 200)


@dataclass(frozen=True, slots=True)
class Recalled:
    """One question with everything that any route found for it."""

    gold: GoldQuestion
    question: Question
    candidates: Sequence[Candidate]
    ceiling: Mapping[str, float]


def recall_all(pool: Pool, questions: Sequence[GoldQuestion]) -> Iterator[Recalled]:
    """Every question's candidates with pools wide enough to hold whole conversations."""
    wide = BALANCED.override(
        name="wide",
        least_candidates=WIDE,
        least_route_limit=WIDE,
        **dict.fromkeys(ROUTES, 1.0),
    )
    vectors: dict[int, NDArray[np.float32] | None] = {}
    embedder = open_embedder()
    with read(pool) as connection:
        tenant_id = find_tenant(connection, TENANT)
    if tenant_id is None:
        raise SystemExit("nothing is stored: run 'memsense ingest' on the file first")
    for gold in questions:
        with read(pool) as connection:
            known = find_scope(connection, tenant_id, NAMESPACE, gold.user_id)
        plan = SearchPlan(
            request=SearchRequest(query=gold.question, user_id=gold.user_id, top_k=20),
            tenant_id=tenant_id,
            namespace=NAMESPACE,
            profile=wide,
            asked_at=datetime.now(UTC),
        )
        search = run_search(pool, plan, known, embedder)
        shared = [
            replace(item, embedding=vectors.setdefault(item.chunk_id, item.embedding))
            for item in search.candidates
        ]
        yield Recalled(gold, search.question, shared, search.state.ceiling)


def read_messages(connection: Connection) -> dict[int, tuple[str, ...]]:
    """The message ids of every chunk."""
    found = connection.execute("SELECT chunk_id, message_ids FROM memsense.chunks")
    return {chunk_id: tuple(message_ids) for chunk_id, message_ids in found}


def fuse(recalled: Recalled, profile: Profile, pool: int) -> list[Candidate]:
    """The candidates that recall would return with this profile and pool size."""
    fused: list[Candidate] = []
    for candidate in recalled.candidates:
        hits = tuple(hit for hit in candidate.routes if _is_kept(hit, profile, pool))
        if hits:
            score = sum(profile.weights[hit.route] / (profile.rrf_k + hit.rank) for hit in hits)
            fused.append(replace(candidate, routes=hits, rrf_score=score))
    fused.sort(key=lambda item: (-item.rrf_score, item.chunk_id))
    return fused[:pool]


def _is_kept(hit: RouteHit, profile: Profile, pool: int) -> bool:
    return hit.rank <= pool and profile.weights[hit.route] > 0


def measure(
    recalled: Sequence[Recalled],
    profile: Profile,
    pool: int,
    messages: Mapping[int, tuple[str, ...]],
) -> dict[str, float]:
    """Mean session R@1/5/10 and MRR, and turn R@5/10/20.

    `pool` is that of searches for turns; those for sessions read `session_depth` times as deep.
    """
    rows = [_measure_one(item, profile, pool, messages) for item in recalled]
    return {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}


def _measure_one(
    item: Recalled, profile: Profile, pool: int, messages: Mapping[int, tuple[str, ...]]
) -> dict[str, float]:
    candidates = fuse(item, profile, pool * profile.session_depth)
    turns = [found for found in fuse(item, profile, pool) if found.granularity == "turn"]
    rank = partial(rank_candidates, profile=profile, question=item.question, ceiling=item.ceiling)
    by_session = rank(Candidates.of(candidates), top_k=10, sessions=True).chosen
    by_turn = rank(Candidates.of(turns), top_k=20, sessions=False).chosen
    sessions = [(found.candidate.session_id,) for found in by_session]
    covered = [messages[found.candidate.chunk_id] for found in by_turn]
    gold = item.gold
    return {
        **{f"session R@{k}": recall_at(sessions, gold.gold_sessions, k) for k in (1, 5, 10)},
        "session MRR": reciprocal_rank(sessions, gold.gold_sessions),
        **{f"T@{k}": recall_at(covered, gold.gold_messages, k) for k in (5, 10, 20)},
    }


def objective(measured: Mapping[str, float]) -> float:
    """What is maximised: the mean of session R@5, R@10, MRR and T@5, T@10, T@20."""
    chosen = [value for name, value in measured.items() if name != "session R@1"]
    return float(np.mean(chosen))


def ascend(
    recalled: Sequence[Recalled], pool: int, messages: Mapping[int, tuple[str, ...]], rounds: int
) -> Profile:
    """Coordinate ascent from the shipped profile."""
    profile = BALANCED
    best = objective(measure(recalled, profile, pool, messages))
    for number in range(rounds):
        before = best
        for name, values in GRID.items():
            for value in values:
                tried = profile.override(**{name: value})
                reached = objective(measure(recalled, tried, pool, messages))
                if reached > best + 1e-5:
                    profile, best = tried, reached
                    print(f"round {number}: {name} = {value:g} -> {best:.4f}", flush=True)
        if best == before:
            break
    return profile


def main() -> None:
    """Tune on conversations 0-4; with --report, show conversations 5-9 as well."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("locomo", type=Path)
    parser.add_argument("--database-url")
    parser.add_argument("--rounds", type=int, default=2, help="0: only measure what is shipped")
    parser.add_argument("--every", type=int, default=1, help="tune on every n-th question")
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    gold = read_locomo(options.locomo)
    pool = BALANCED.least_route_limit
    address = options.database_url or load_settings().database_url
    if address is None:
        raise SystemExit("give --database-url or set MEMSENSE_DATABASE_URL")
    with open_pool(address, min_size=1, max_size=1, timeout=10) as pooled:
        with read(pooled) as conn:
            messages = read_messages(conn)
        tuning = [item for item in gold.questions if item.split == "0-4"][:: options.every]
        recalled = list(recall_all(pooled, tuning))
        profile = ascend(recalled, pool, messages, options.rounds)
        print(json.dumps(profile.as_dict(), indent=2))
        for size in POOLS:
            print("0-4", f"pool {size}", _percent(measure(recalled, profile, size, messages)))
        if options.report:
            recalled = list(recall_all(pooled, [i for i in gold.questions if i.split == "5-9"]))
            print("5-9", f"pool {pool}", _percent(measure(recalled, profile, pool, messages)))


def _percent(measured: Mapping[str, float]) -> str:
    return " ".join(f"{name} {100 * value:.1f}" for name, value in measured.items())


if __name__ == "__main__":
    main()
