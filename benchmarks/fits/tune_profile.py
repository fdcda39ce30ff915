"""Fit of the weights of profile `balanced` on two kinds of conversations at once.

    python -m benchmarks.fits.tune_profile locomo10.json beam100k.jsonl [--report]

Each file's conversations must be stored (`memsense eval locomo FILE --ingest`, `memsense eval beam
FILE`), in the namespaces that --locomo-namespace and --beam-namespace name. Recall runs once a
question; what each route and each signal gives every candidate is kept, and the score that they add
up to is fitted by a listwise softmax (Cao et al. 2007): the cross-entropy between the candidates'
scores and the exchanges that hold gold messages, mean over the questions of a kind, both kinds with
equal weight. A penalty holds the weights near those that are shipped, so that none moves for a gain
within noise. From there each weight is moved alone while the mean of T@5, T@10 and T@20 rises
(coordinate ascent), in an order that a seed shuffles; the mean of several seeds is the result,
since each of them alone fits noise. Fitted on LoCoMo 0-4 and BEAM 1-10; the other conversations are
looked at with --report alone.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize  # pyright: ignore[reportMissingTypeStubs]

from memsense.config import load_settings
from memsense.db import Pool, run_read
from memsense.db.connection import Connection
from memsense.embed import open_embedder
from memsense.evaluation import GoldQuestion, gold_set, read_beam, read_locomo
from memsense.metrics import recall_at
from memsense.search.plan import SearchPlan
from memsense.search.profiles import BALANCED, ROUTES, Profile, Route
from memsense.search.request import SearchRequest
from memsense.search.plan import prepare_search
from memsense.search.search import Search, run_searches
from memsense.store.scopes import KnownScope
from memsense.store.scopes import find_scope
from memsense.store.scopes import find_tenant
from memsense.store.scopes import fetch_namespace

Values = NDArray[np.float64]

TENANT = "default"
# The other conversations are for reporting, and no constant may be chosen by them.
TUNED = {"locomo": "0-4", "beam": "1-10"}
DEPTHS = (5, 10, 20)
TEMPERATURE = 0.1
"""Score that multiplies a candidate's chance by e: it sets the scale of the fitted weights."""

SIGNALS: Sequence[str] = (
    "coverage", "similarity", "date", "tokens", "tokens_speaker", "tokens_around", "tokens_session",
)  # fmt: skip
USED: Sequence[Route] = tuple(route for route in ROUTES if BALANCED.weights[route])
NAMES: Sequence[str] = (*USED, *SIGNALS)
CONSTANTS: Mapping[str, str] = {
    **{name: f"{name}_weight" for name in SIGNALS},
    "tokens_session": "tokens_whole_weight",
}
"""The profile's constant of each signal."""

LARGEST = 5.0
"""Largest weight that a fit may find; the least is 0."""

STRAYING = 0.15
"""Points of recall that it costs to move a weight by its own size: less is within noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One question with its n candidates.

    `signals` is (n, routes and signals); `relevant` says which hold gold messages.
    """

    split: str
    gold: frozenset[str]
    signals: Values
    relevant: NDArray[np.bool_]
    chunk_ids: NDArray[np.int64]
    exchanges: Sequence[int]
    messages: Sequence[frozenset[str]]


def gather(
    pool: Pool, namespace: str, questions: Sequence[GoldQuestion], profile: Profile
) -> Iterator[Sample]:
    """Return every question with the values of each route and signal for its candidates."""
    embedder = open_embedder()
    tenant_id = run_read(pool, lambda it: find_tenant(it, TENANT))
    if tenant_id is None:
        raise SystemExit("nothing is stored: run 'memsense eval' on the files first")
    place = run_read(pool, lambda it: fetch_namespace(it, tenant_id, namespace))
    found = run_read(
        pool, lambda it: it.execute("SELECT chunk_id, message_ids FROM memsense.chunks").fetchall()
    )
    messages = {chunk_id: frozenset(message_ids) for chunk_id, message_ids in found}
    known = {
        user_id: run_read(pool, partial(_find_scope, tenant_id, namespace, user_id))
        for user_id in {gold.user_id for gold in questions}
    }
    for gold in questions:
        plan = SearchPlan(
            request=SearchRequest(query=gold.question, user_id=gold.user_id, top_k=max(DEPTHS), prompt_kind="question"),
            tenant_id=tenant_id,
            namespace=namespace,
            model=place.in_use,
            profile=profile,
            asked_at=gold.asked_at or datetime.now(UTC),
        )
        search = run_searches(pool, [prepare_search(plan, known[gold.user_id], embedder)])[0]
        yield _read_search(search, gold, messages)


def _find_scope(
    tenant_id: int, namespace: str, user_id: str, connection: Connection
) -> KnownScope | None:
    return find_scope(connection, tenant_id, namespace, user_id)


def _read_search(
    search: Search, gold: GoldQuestion, messages: Mapping[int, frozenset[str]]
) -> Sample:
    candidates = search.candidates
    columns = [ROUTES.index(route) for route in USED]
    ranks = candidates.ranks[:, columns]
    shares = np.where(ranks > 0, 1 / (BALANCED.rrf_k + ranks), 0.0)
    arguments = {
        signal.name: np.where(signal.applies, signal.values, 0.0)
        for signal in search.ranking.terms.signals
    }
    nothing = np.zeros(len(candidates))
    signals = np.column_stack([arguments.get(name, nothing) for name in SIGNALS])
    messages_of = [messages[chunk_id] for chunk_id in candidates.chunk_ids.tolist()]
    return Sample(
        split=gold.split,
        gold=frozenset(gold.gold_messages),
        signals=np.hstack([shares, signals]),
        relevant=np.array([bool(ids & gold.gold_messages) for ids in messages_of]),
        chunk_ids=candidates.chunk_ids,
        exchanges=candidates.exchange_numbers.tolist(),
        messages=messages_of,
    )


def loss(
    weights: Values, kinds: Sequence[Sequence[Sample]], start: Values, penalty: float
) -> tuple[float, Values]:
    """Return the mean cross-entropy over the kinds with the penalty, and its gradient."""
    difference = weights - start
    total, gradient = penalty * float(difference @ difference), 2 * penalty * difference
    for sample in kinds:
        counted = [item for item in sample if item.relevant.any() and not item.relevant.all()]
        for item in counted:
            value, slope = _loss_of(item, weights)
            total += value / len(counted) / len(kinds)
            gradient += slope / len(counted) / len(kinds)
    return total, gradient


def _loss_of(sample: Sample, weights: Values) -> tuple[float, Values]:
    logits = sample.signals @ weights / TEMPERATURE
    logits -= logits.max()
    chances = np.exp(logits)
    chances /= chances.sum()
    target = sample.relevant / sample.relevant.sum()
    away = (chances - target) / TEMPERATURE
    return -float(target @ np.log(np.maximum(chances, 1e-300))), away @ sample.signals


def measure(sample: Sequence[Sample], weights: Values) -> dict[str, float]:
    """Return T@5, T@10 and T@20 in percent, one hit an exchange, without MMR."""
    found = [_ranked(item, weights) for item in sample]
    return {
        f"T@{depth}": 100
        * float(np.mean([recall_at(r, a.gold, depth) for r, a in zip(found, sample, strict=True)]))
        for depth in DEPTHS
    }


def _ranked(sample: Sample, weights: Values) -> list[frozenset[str]]:
    scores = sample.signals @ weights
    best: dict[int, frozenset[str]] = {}
    order: list[int] = np.lexsort((sample.chunk_ids, -scores)).tolist()
    for row in order:
        best.setdefault(sample.exchanges[row], sample.messages[row])
    return list(best.values())


def shipped() -> Values:
    """Return the weights of profile `balanced`, in the order of NAMES."""
    routes = [BALANCED.weights[route] for route in USED]
    others = [getattr(BALANCED, CONSTANTS[name]) for name in SIGNALS]
    return np.array([*routes, *others], dtype=np.float64)


def fit(kinds: Sequence[Sequence[Sample]], penalty: float) -> Values:
    """Return the weights of the least loss."""
    start = shipped()
    bounds = [(0.0, LARGEST)] * len(NAMES)
    minimize: Any = optimize.minimize  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    found = minimize(
        loss, start, args=(kinds, start, penalty), jac=True, method="L-BFGS-B", bounds=bounds
    )
    return found.x


def climb(kinds: Sequence[Sequence[Sample]], start: Values, seed: int) -> Values:
    """Return the weights after a coordinate ascent of the mean recall from `start`."""
    scale = np.maximum(np.abs(start), 0.3)

    def worth(weights: Values) -> float:
        recalls = [np.mean(list(measure(sample, weights).values())) for sample in kinds]
        return float(np.mean(recalls) - STRAYING * (((weights - start) / scale) ** 2).sum())

    draw = np.random.default_rng(seed)
    weights, best = start.copy(), worth(start)
    step = np.maximum(0.3 * np.abs(start), 0.2)
    while step.max() > 0.03:
        places: list[int] = draw.permutation(len(weights)).tolist()
        for place in places:
            for sign in (1, -1):
                moved = weights.copy()
                moved[place] = min(max(moved.item(place) + sign * step.item(place), 0.0), LARGEST)
                if (value := worth(moved)) > best:
                    weights, best = moved, value
                    break
        step *= 0.6
    return weights


def main() -> None:
    """Gather, fit, and print the gain on each kind."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("locomo", type=Path)
    parser.add_argument("beam", type=Path)
    parser.add_argument("--locomo-namespace", default="locomo")
    parser.add_argument("--beam-namespace", default="beam")
    parser.add_argument("--database-url")
    parser.add_argument("--penalty", type=float, nargs="+", default=[0.01])
    parser.add_argument("--seeds", type=int, default=0, help="number of coordinate ascents")
    parser.add_argument("--depth", type=int, default=BALANCED.tokens_depth, help="tokens_depth")
    parser.add_argument("--report", action="store_true", help="show the other conversations too")
    options = parser.parse_args()
    gold = {
        "locomo": read_locomo(options.locomo),
        "beam": gold_set(read_beam(options.beam), options.beam.stem),
    }
    probe = BALANCED.override(tokens_depth=options.depth)
    address = options.database_url or load_settings().database_url
    if address is None:
        raise SystemExit("give --database-url or set MEMSENSE_DATABASE_URL")
    kinds: dict[str, list[Sample]] = {}
    with Pool(address, min_size=1, max_size=1, timeout=10) as pool:
        for kind, found in gold.items():
            questions = [q for q in found.questions if options.report or q.split == TUNED[kind]]
            namespace = getattr(options, f"{kind}_namespace")
            kinds[kind] = list(gather(pool, namespace, questions, probe))
    tuned = [[a for a in sample if a.split == TUNED[kind]] for kind, sample in kinds.items()]
    _print("shipped", kinds, shipped())
    for penalty in options.penalty:
        weights = fit(tuned, penalty)
        if options.seeds:
            climbed = [climb(tuned, weights, seed) for seed in range(options.seeds)]
            weights = np.mean(climbed, axis=0)
        _print(f"penalty {penalty:g}", kinds, weights)
        print(json.dumps({n: round(w, 3) for n, w in zip(NAMES, weights.tolist(), strict=True)}))


def _print(name: str, kinds: Mapping[str, Sequence[Sample]], weights: Values) -> None:
    for kind, sample in kinds.items():
        for split in sorted({item.split for item in sample}):
            measured = measure([item for item in sample if item.split == split], weights)
            summary = " ".join(f"{depth} {value:.1f}" for depth, value in measured.items())
            print(f"{name:16} {kind} {split:6} {summary}", flush=True)


if __name__ == "__main__":
    main()
