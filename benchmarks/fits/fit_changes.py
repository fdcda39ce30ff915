"""Fit of the weights by which a newer statement is judged to replace an older one.

    python -m benchmarks.fits.fit_changes

It searches for every question about the facts and pairs of even ids (benchmarks/true_now.py stores
them) and takes every pair of candidates that the term `current` compares, then all pairs of their
best candidates without the question, as a write compares them. The two statements of a question are
right or wrong as labelled, all other pairs are wrong and count less. A logistic regression with a
ridge penalty is fitted, each weight with the sign that its evidence has by its meaning. Whoever is
not the user changes nothing of the user's: such evidence has a weight of -3 at most. It prints the
weights, and by kind of the odd ids, which are not fitted on, how many pairs pass each threshold.
It fails if fewer than 9 of 10 marks of labelled pairs are right.
"""

import argparse
import json
from collections import defaultdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np
from scipy import optimize

from benchmarks.true_now import SHARED, read_cases
from memsense.cli.target import Target
from memsense.db import Pool, run_read
from memsense.draft.supersession import (
    COUNTER_SIGNS,
    UNASKED,
    WEIGHTS,
    Evidence,
    compare,
    rate,
)
from memsense.embed import open_embedder
from memsense.search.plan import SearchPlan, choose_models, prepare_search
from memsense.search.profiles import BALANCED
from memsense.search.request import SearchRequest
from memsense.search.search import run_searches
from memsense.text.changes import read_statement
from memsense.store.scopes import fetch_namespace, find_scope, find_tenant

OWN, NEAR, REST = 3.0, 0.4, 0.1
"""How much a labelled pair counts, one of a labelled statement with another one, and the rest."""

AGAINST = (*COUNTER_SIGNS, "lost", "climb", "after_question")
FREE = ("bias", "early")
LIMITS = {"owner": -3.0, "hearsay": -3.0, "asks": -3.0, "exception": -3.0}
THRESHOLDS = {
    "pair": BALANCED.current_pair_threshold,
    "lift": BALANCED.current_threshold,
    "mark": BALANCED.current_link_threshold,
}


def judge(pool, embedder, cases):
    """Yield each case with its compared pairs: sides, chunks and comparison, with and without
    the question.
    """
    tenant_id = run_read(pool, lambda it: find_tenant(it, "default"))
    rows = run_read(
        pool, lambda it: it.execute("SELECT chunk_id, message_ids FROM memsense.chunks").fetchall()
    )
    messages = {chunk_id: frozenset(ids) for chunk_id, ids in rows}
    for case in cases:
        place = run_read(
            pool, partial(fetch_namespace, tenant_id=tenant_id, name=case.namespace)
        )
        plan = SearchPlan(
            request=SearchRequest(
                query=case.question, user_id=case.user_id, top_k=20, prompt_kind="question"
            ),
            tenant_id=tenant_id,
            namespace=case.namespace,
            model=place.in_use,
            profile=BALANCED,
            asked_at=case.asked_at or datetime.now(UTC),
        )
        scope = run_read(
            pool,
            partial(
                find_scope, tenant_id=tenant_id, namespace=case.namespace, user_id=case.user_id
            ),
        )
        chosen = choose_models(plan, scope)
        prepared = prepare_search(plan, scope, chosen, lambda _: embedder)
        current = run_searches(pool, [prepared])[0].ranking.terms.current
        if current is None:
            continue
        ids = [current._ids[place] for place in current.pool]
        sides = [
            next((side for side, its in case.sides.items() if its & messages[key]), "")
            for key in ids
        ]
        asked = [
            ((sides[above], sides[below]), (ids[above], ids[below]), comparison)
            for (above, below), comparison in current.judged.items()
        ]
        unasked = []
        read = [read_statement(text) for text in current.messages.read(current.pool)]
        statement_of = dict(zip(current.pool, read, strict=True))
        for one in range(min(6, len(ids))):
            for other in range(one + 1, len(ids)):
                older, newer = current.pool[one], current.pool[other]
                if not current._is_before(older, newer):
                    older, newer = newer, older
                if not current._is_before(older, newer):
                    continue
                statements = statement_of[older], statement_of[newer]
                if statements[0].words & statements[1].words:
                    cosine = current._cosine(older, newer)
                    comparison = compare(*statements, None, cosine=cosine)
                    unasked.append(((sides[one], sides[other]), (ids[one], ids[other]), comparison))
        yield case, asked, unasked


def fit(rows, penalty):
    """Return the weights of the least loss; a row has the evidence, whether it is right, and how
    much it counts.
    """
    evidence = np.array([row for row, _, _ in rows], dtype=np.float64)
    signs = np.array([1.0 if is_right else -1.0 for _, is_right, _ in rows])
    counts = np.array([count for _, _, count in rows])
    spread = evidence.std(axis=0)

    def loss(values):
        margins = signs * (evidence @ values)
        slope = -counts * signs / (1 + np.exp(margins))
        scaled = penalty * spread**2 * values
        total = float(counts @ np.logaddexp(0, -margins) + scaled @ values)
        return total, evidence.T @ slope + 2 * scaled

    bounds = [
        (-1.5, 0.0) if name == "same_value"
        else (None, None) if name in FREE
        else (None, LIMITS.get(name, 0.0)) if name in AGAINST
        else (0.0, None)
        for name in Evidence._fields
    ]
    start = np.zeros(len(spread))
    values = optimize.minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return {name: round(float(it), 2) for name, it in zip(Evidence._fields, values, strict=True)}


def label(case, pairs):
    for sides, _, comparison in pairs:
        if all(sides) and sides[0] != sides[1]:
            yield comparison.evidence, case.changes, OWN * (0.7 if case.set == "facts" else 1.0)
        else:
            yield comparison.evidence, False, NEAR if any(sides) else REST


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--namespace", default="true-now", help="beginning of the namespaces")
    parser.add_argument("--penalty", type=float, default=1.0)
    parser.add_argument("--shared", type=Path, default=SHARED)
    options = parser.parse_args()
    options.database_url, options.sets = None, ["facts", "pairs"]
    judged = {}
    for half in ("even", "odd"):
        options.half = half
        cases = read_cases(options)
        cases = [it for it in cases if "languages" not in it.kind and "German" not in it.kind]
        with Target().database() as url, Pool(url, min_size=1, max_size=1, timeout=10) as pool:
            judged[half] = list(judge(pool, open_embedder(), cases))
    for name, column in (("WEIGHTS", 1), ("UNASKED", 2)):
        rows = [row for it in judged["even"] for row in label(it[0], it[column])]
        print(name, json.dumps(fit(rows, options.penalty)))
    right = wrong = 0
    counts = defaultdict(lambda: defaultdict(int))
    for case, asked, unasked in judged["odd"]:
        for weights, pairs in ((WEIGHTS, asked), (UNASKED, unasked)):
            for sides, _, comparison in pairs:
                is_own = all(sides) and sides[0] != sides[1]
                kind = f"{case.set}, {case.kind}" if is_own else f"{case.set}, near"
                group = counts[("asked" if weights is WEIGHTS else "unasked"), kind]
                group["pairs"] += 1
                logit = rate(comparison.evidence, weights)
                for name, least in THRESHOLDS.items():
                    may_rise = comparison.is_about_same and not comparison.is_ruled_out
                    passes = logit > least and (name == "pair" or may_rise)
                    passes = passes and (name != "mark" or bool(comparison.proof))
                    group[name] += passes
                    # Statements of other pairs may change each other, too: they count as neither.
                    if name == "mark" and weights is WEIGHTS and is_own:
                        right += passes and case.changes
                        wrong += passes and not case.changes
    for (way, kind), group in sorted(counts.items()):
        print(way, "|", kind, "|", dict(group))
    print(f"marks: {right} right, {wrong} wrong")
    if right < 9 * wrong:
        raise SystemExit("fewer than 9 of 10 marks are right")


if __name__ == "__main__":
    main()
