"""Fit of the weights of profile `balanced` over the panel: conversations of many kinds.

    python -m benchmarks.panel store
    python -m benchmarks.fits.tune_profile --seeds 4
    python -m benchmarks.fits.tune_profile --leave-out

Each question is recalled once, and what each route and each signal gives every candidate is kept.
Weights are then tried without the database: a pass over 4,488 questions takes a second. From START
each weight is moved alone (coordinate ascent) while the objective rises, in an order that a seed
shuffles; the mean of several seeds is the result, since each of them alone fits noise. The
objective is the mean over sets of T@5 and T@10, less what a set stays behind the best of the plain
rankings, less a fall of the sets that lead, less a penalty for straying. LoCoMo 5-9 and BEAM 11-20
are shown and not fitted. MMR is left out: means over sets are within 0.2 points of a search's.
`--leave-out` shows what each weight is worth on every set.
"""

import argparse
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.panel_asking import name_namespace
from benchmarks.panel_sets import Memory, PanelSet, find_sets
from memsense import MemSense
from memsense.cli.target import Target
from memsense.db import Pool, run_read
from memsense.embed import open_embedder
from memsense.inputs import read_local_time
from memsense.search.plan import SearchPlan, prepare_search
from memsense.search.profiles import BALANCED, ROUTES, Profile
from memsense.search.request import Filters, SearchRequest
from memsense.search.search import run_searches
from memsense.store.scopes import fetch_namespace, find_scope, find_tenant

Values = NDArray[np.float64]

REPORTED = ("locomo-5-9", "beam-11-20")
LEADING = ("locomo-0-4", "beam-1-10", "lifebench-en", "molweni", "qmsum", "made-long")
PLAIN: Mapping[str, float] = {
    "beam-1-10": 82.9, "made-agent": 58.3, "made-long": 82.0, "made-mentions": 93.3,
    "made-work": 60.0, "molweni": 63.2, "prefeval": 84.9, "qmsum": 69.5, "realmem": 56.7,
}  # fmt: skip
"""T@10 of the best plain ranking (`benchmarks.panel ask`) on sets where one comes near."""

USED = tuple(route for route in ROUTES if BALANCED.weights[route])
SIGNALS = {
    "coverage": "coverage_weight", "similarity": "similarity_weight", "date": "date_weight",
    "tokens": "tokens_weight", "tokens_speaker": "tokens_speaker_weight",
    "tokens_around": "tokens_around_weight", "tokens_session": "tokens_whole_weight",
    "current": "current_weight",
}  # fmt: skip
"""The profile's constant of each signal."""

FITTED = (
    "vec_full", "vec_user", "lexical", "date_weight", "tokens_weight", "tokens_speaker_weight",
    "tokens_around_weight", "tokens_whole_weight", "request_words", "request_similarity",
)  # fmt: skip
STRAYING = 0.15
"""Points that it costs to move a weight by its own size: less is within noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One question with its n candidates.

    `signals` is (n, routes and signals); `gold` (n, groups) says which candidates hold a turn of
    each group of gold; `share` is that of a request.
    """

    set: str
    share: float
    signals: Values
    gold: NDArray[np.bool_]
    exchanges: NDArray[np.int64]
    chunk_ids: NDArray[np.int64]


def gather(
    url: str, prefix: str, panel_set: PanelSet, memories: Sequence[Memory]
) -> Iterator[Sample]:
    """Yield every question of a set with the values of each route and signal."""
    embedder, namespace = open_embedder(), name_namespace(prefix, panel_set)
    with Pool(url, min_size=1, max_size=1, timeout=10) as pool:
        tenant_id = run_read(pool, lambda it: find_tenant(it, "default"))
        assert tenant_id is not None
        place = run_read(pool, lambda it: fetch_namespace(it, tenant_id, namespace))
        rows = run_read(
            pool,
            lambda it: it.execute("SELECT chunk_id, message_ids FROM memsense.chunks").fetchall(),
        )
        messages = {chunk_id: frozenset(ids) for chunk_id, ids in rows}
        for memory in memories:
            user_id = memory.user_id
            scope = run_read(pool, lambda it: find_scope(it, tenant_id, namespace, user_id))
            for question in memory.questions:
                if question.wants_silence:
                    continue
                hidden = Filters(
                    exclude=question.hidden_turns, exclude_sessions=question.hidden_sessions
                )
                request = SearchRequest(
                    query=question.text, user_id=user_id, top_k=50, filters=hidden
                )
                plan = SearchPlan(
                    request=request,
                    tenant_id=tenant_id,
                    namespace=namespace,
                    model=place.in_use,
                    profile=BALANCED,
                    asked_at=read_local_time(question.asked_at or datetime.now(UTC)),
                )
                prepared = prepare_search(plan, scope, embedder)
                search = run_searches(pool, [prepared])[0]
                candidates, nothing = search.candidates, np.zeros(len(search.candidates))
                ranks = candidates.ranks[:, [ROUTES.index(route) for route in USED]]
                shares = np.where(ranks > 0, 1 / (BALANCED.rrf_k + ranks), 0.0)
                found = {
                    signal.name: np.where(signal.applies, signal.values, 0.0)
                    for signal in search.ranking.terms.signals
                }
                signals = [found.get(name, nothing) for name in SIGNALS]
                texts = [messages[chunk_id] for chunk_id in candidates.chunk_ids.tolist()]
                yield Sample(
                    set=panel_set.name,
                    share=prepared.kind.share if prepared.kind else 0.0,
                    signals=np.column_stack([shares, *signals]),
                    gold=np.array(
                        [[not ids.isdisjoint(group) for group in question.gold] for ids in texts]
                    ),
                    exchanges=np.array(candidates.exchange_numbers),
                    chunk_ids=candidates.chunk_ids,
                )


def measure(samples: Sequence[Sample], profile: Profile) -> dict[str, tuple[float, float]]:
    """Return each set's T@5 and T@10 in percent, one hit an exchange, without MMR."""

    @cache
    def weigh(share: float) -> Values:
        own = profile.for_request(share) if share else profile
        routes = [own.weights[route] for route in USED]
        return np.array([*routes, *(getattr(own, name) for name in SIGNALS.values())])

    found: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for sample in samples:
        order = np.lexsort((sample.chunk_ids, -(sample.signals @ weigh(sample.share))))
        firsts = np.unique(sample.exchanges[order], return_index=True)[1]
        gold = sample.gold[order[np.sort(firsts)]]
        found[sample.set].append((gold[:5].any(axis=0).mean(), gold[:10].any(axis=0).mean()))
    return {
        name: tuple((100 * np.mean(values, axis=0)).tolist()) for name, values in found.items()
    }


def judge(
    samples: Sequence[Sample],
    profile: Profile,
    start: Profile,
    before: Mapping[str, tuple[float, float]],
) -> float:
    """Return the objective; `before` are the recalls of the profile to start from."""
    after = measure(samples, profile)
    mean = float(np.mean(list(after.values())))
    behind = sum(max(0.0, least - 1 - after[name][1]) for name, least in PLAIN.items())
    falls = [max(0.0, b - a) for name in LEADING for b, a in zip(before[name], after[name])]
    old, new = start.constants(), profile.constants()
    strayed = sum(((new[name] - old[name]) / max(old[name], 0.3)) ** 2 for name in FITTED)
    return mean - 0.05 * behind - 0.125 * sum(falls) - STRAYING * strayed


def climb(samples: Sequence[Sample], start: Profile, seed: int) -> Profile:
    """Return the profile after a coordinate ascent of the objective from `start`."""
    draw, profile, before = np.random.default_rng(seed), start, measure(samples, start)
    best = judge(samples, start, start, before)
    step = {name: max(0.3 * start.constants()[name], 0.1) for name in FITTED}
    for _ in range(4):
        for name in draw.permutation(FITTED).tolist():
            for sign in draw.permutation([1, -1]).tolist():
                value = max(0.0, profile.constants()[name] + sign * step[name])
                largest = 1.0 if name == "request_words" else 5.0
                moved = profile.override(**{name: min(value, largest)})
                if (worth := judge(samples, moved, start, before)) > best:
                    profile, best = moved, worth
                    break
        step = {name: 0.6 * size for name, size in step.items()}
    return profile


def show(name: str, recalls: Mapping[str, tuple[float, float]]) -> None:
    """Print the recalls of every set, and their mean."""
    mean = np.mean(list(recalls.values()), axis=0)
    line = " ".join(f"{key} {t5:.1f}/{t10:.1f}" for key, (t5, t10) in sorted(recalls.items()))
    print(f"{name}: mean {mean[0]:.2f}/{mean[1]:.2f} | {line}", flush=True)


def main() -> None:
    """Gather, fit, and print every set."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--prefix", default="panel", help="beginning of the namespaces' names")
    parser.add_argument("--seeds", type=int, default=0, help="number of coordinate ascents")
    parser.add_argument("--leave-out", action="store_true", help="try without each weight")
    options = parser.parse_args()
    folder, locomo, beam = (
        Path(os.environ[f"MEMSENSE_{name}"]) for name in ("PANEL_DIR", "LOCOMO", "BEAM")
    )
    with Target().database() as url:
        MemSense.open().close()
        samples = [
            sample
            for item in find_sets(folder, locomo, beam).values()
            for sample in gather(url, options.prefix, item, item.read())
        ]
    tuned = [sample for sample in samples if sample.set not in REPORTED]
    show("shipped", measure(samples, BALANCED))
    if options.leave_out:
        for name in (*USED, *SIGNALS.values()):
            if BALANCED.constants()[name]:
                show(f"without {name}", measure(samples, BALANCED.override(**{name: 0.0})))
    climbed = [climb(tuned, BALANCED, seed) for seed in range(options.seeds)]
    for profile in climbed:
        print({name: round(profile.constants()[name], 3) for name in FITTED}, flush=True)
    if climbed:
        means = {name: np.mean([it.constants()[name] for it in climbed]).item() for name in FITTED}
        print({name: round(value, 3) for name, value in means.items()})
        show("fitted", measure(samples, BALANCED.override(**means)))


if __name__ == "__main__":
    main()
