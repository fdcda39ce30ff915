"""Fit of the weights by which `current` judges that a newer statement replaces an older one.

    python -m benchmarks.true_now --half even
    python -m benchmarks.true_now --plain
    python -m benchmarks.fits.fit_current beam100k.jsonl

It asks the questions about the even half of tests/data/changed_facts.jsonl and about the bundled
sample (stored by the first two commands), and those of BEAM 1-10 (stored by `memsense eval beam
FILE`), and takes every pair of candidates that the term compares. A pair is right if the lifted
statement is wanted and the other one is superseded, and wrong if something else rises above either
of them. A logistic regression with a ridge penalty is fitted, each weight with the sign that its
evidence has by its meaning.
With --folds it prints how often the wanted statement comes first if whole pairs of facts are left
out of the fit (cross-validation), for each threshold.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize  # pyright: ignore[reportMissingTypeStubs]

from benchmarks.true_now import ASKED_AT, CASES, DATA, read_lines
from memsense.config import load_settings
from memsense.db import Pool, Pool, run_read
from memsense.embed import open_embedder
from memsense.evaluation import gold_set, read_beam
from memsense.search.plan import SearchPlan
from memsense.search.profiles import BALANCED
from memsense.search.rank.current import WEIGHTS, Evidence, match_candidates
from memsense.search.request import SearchRequest
from memsense.search.plan import prepare_search
from memsense.search.search import run_searches
from memsense.store.scopes import find_scope
from memsense.store.scopes import find_tenant
from memsense.store.scopes import fetch_namespace

Values = NDArray[np.float64]

TUNED = "1-10"
AGAINST = ("usual", "climb", "between", "addition", "story", "asks", "owner", "named")
"""Evidence whose weight may not be above 0; all other weights but two may not be below it."""

COUNTS = {"BEAM": 0.5, "sample": 4.0}
"""How much a pair of some groups counts: there are more of BEAM's, and few of the sample's."""

FREE = ("bias", "early")
THRESHOLDS = (-1.0, -0.5, 0.0, 0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question and the messages that it wants, by side; `wanted` names the sides."""

    namespace: str
    user_id: str
    question: str
    asked_at: datetime | None
    case: str
    group: str
    wanted: frozenset[str]
    sides: Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A question with its best candidates: their scores, their sides, and the pairs' evidence."""

    asked: Asked
    scores: Sequence[float]
    sides: Sequence[str]
    pairs: Mapping[tuple[int, int], Evidence] = field(
        default_factory=dict[tuple[int, int], Evidence]
    )


def read_changes(half: str) -> Iterator[Asked]:
    """Yield the questions about the English pairs of one half of the changed facts."""
    for row in read_lines(CASES):
        if row["kind"] == "filler" or row["id"] % 2 != (half == "odd") or row["language"] != "en":
            continue
        for question in row["questions"]:
            wants = question["wants"]
            kind = "no change" if row["kind"] == "no_change" else f"change, {wants}"
            yield Asked(
                namespace=f"true-now-{half}",
                user_id=row["user_id"],
                question=question["question"],
                asked_at=ASKED_AT,
                case=f"pair {row['id']}",
                group=f"{kind}{', later ones' if row['id'] >= 200 else ''}",
                wanted=frozenset(("old", "new") if wants == "both" else (wants,)),
                sides={side: frozenset([f"{side}{row['id']}-user"]) for side in ("old", "new")},
            )


def read_sample() -> Iterator[Asked]:
    """Yield the questions about the bundled sample, in which hardly a fact changes."""
    for row in read_lines(DATA / "sample_questions.jsonl"):
        yield Asked(
            namespace="true-now-sample",
            user_id="ines",
            question=row["question"],
            asked_at=None,
            case=row["question"],
            group="sample",
            wanted=frozenset(["gold"]),
            sides={"gold": frozenset(row["gold_message_ids"])},
        )


def read_chats(path: Path, namespace: str, split: str) -> Iterator[Asked]:
    """Yield BEAM's questions of a split; those about an update want the update."""
    parts: dict[str, Mapping[str, Sequence[str]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        for question in json.loads(line)["questions"]:
            parts[question["text"]] = question.get("gold_parts") or {}
    for gold in gold_set(read_beam(path), path.stem).questions:
        sides = parts[gold.question]
        is_update = {"original_info", "updated_info"} <= sides.keys()
        if gold.split == split:
            yield Asked(
                namespace=namespace,
                user_id=gold.user_id,
                question=gold.question,
                asked_at=gold.asked_at,
                case=gold.user_id,
                group="BEAM, update" if is_update else "BEAM",
                wanted=frozenset(["new"]) if is_update else frozenset(["gold"]),
                sides={
                    "old": frozenset(sides["original_info"]),
                    "new": frozenset(sides["updated_info"]),
                }
                if is_update
                else {"gold": frozenset(gold.gold_messages)},
            )


def judge(pool: Pool, questions: Sequence[Asked]) -> Iterator[Judged]:
    """Search for every question, and yield what the term `current` compares."""
    embedder = open_embedder()
    tenant_id = run_read(pool, lambda it: find_tenant(it, "default"))
    if tenant_id is None:
        raise SystemExit("nothing is stored: run 'benchmarks.true_now' and 'memsense eval' first")
    found = run_read(
        pool, lambda it: it.execute("SELECT chunk_id, message_ids FROM memsense.chunks").fetchall()
    )
    messages = {chunk_id: frozenset(message_ids) for chunk_id, message_ids in found}
    for asked in questions:
        read_namespace = partial(fetch_namespace, tenant_id=tenant_id, name=asked.namespace)
        place = run_read(pool, read_namespace)
        plan = SearchPlan(
            request=SearchRequest(query=asked.question, user_id=asked.user_id, top_k=20, prompt_kind="question"),
            tenant_id=tenant_id,
            namespace=asked.namespace,
            model=place.in_use,
            profile=BALANCED,
            asked_at=asked.asked_at or datetime.now(UTC),
        )
        read_scope = partial(
            find_scope, tenant_id=tenant_id, namespace=asked.namespace, user_id=asked.user_id
        )
        scope = run_read(pool, read_scope)
        search = run_searches(pool, [prepare_search(plan, scope, embedder)])[0]
        current = search.ranking.terms.current
        if current is None:
            continue
        rows = [current.rows[place] for place in current.pool]
        sides: list[str] = []
        for row in rows:
            ids = messages[search.candidates.chunk_ids.item(row)]
            sides.append(next((side for side, its in asked.sides.items() if its & ids), ""))
        yield Judged(
            asked=asked,
            scores=[current.scores.item(row) for row in rows],
            sides=sides,
            pairs=current.judged,
        )


def label(item: Judged) -> Iterator[tuple[Evidence, bool, float]]:
    """Yield each pair that matters with whether the lift is right, and its weight."""
    wanted = item.asked.wanted
    for (above, below), evidence in item.pairs.items():
        high, low = item.sides[above], item.sides[below]
        if high and high not in wanted and low in wanted:
            yield evidence, True, 1.0
        elif (high and not low) or (high in wanted and low not in wanted):
            # Nothing else replaces either statement, the superseded one included.
            yield evidence, False, 1.0
        elif low not in wanted and any(side in wanted for side in item.sides[above + 1 : below]):
            yield evidence, False, 0.5


def fit(items: Sequence[Judged], penalty: float) -> Values:
    """Return the weights of the least loss, those of unused evidence being 0."""
    rows = [
        (evidence, is_right, weight * COUNTS.get(item.asked.group.partition(",")[0], 1.0))
        for item in items
        for evidence, is_right, weight in label(item)
    ]
    evidence = np.array([row for row, _, _ in rows], dtype=np.float64)
    signs = np.array([1.0 if is_right else -1.0 for _, is_right, _ in rows])
    weights = np.array([weight for _, _, weight in rows])
    # The penalty is on a weight by the spread of its evidence, and not on the two that are free.
    spread = evidence.std(axis=0)
    spread[[Evidence._fields.index(name) for name in FREE]] = 0.0

    def loss(values: Values) -> tuple[float, Values]:
        margins = signs * (evidence @ values)
        slope = -weights * signs / (1 + np.exp(margins))
        scaled = penalty * spread**2 * values
        total = float(weights @ np.logaddexp(0, -margins) + scaled @ values)
        return total, evidence.T @ slope + 2 * scaled

    bounds = [
        (None, None) if name in FREE else (None, 0.0) if name in AGAINST else (0.0, None)
        for name in Evidence._fields
    ]
    minimize: Any = optimize.minimize  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return minimize(loss, np.zeros(len(spread)), jac=True, method="L-BFGS-B", bounds=bounds).x


def is_right(item: Judged, weights: Values, threshold: float) -> bool | None:
    """Return whether the wanted statement comes first, or both in the first 8; None if unknown."""
    scores = list(item.scores)
    strengths = {pair: float(np.dot(evidence, weights)) for pair, evidence in item.pairs.items()}
    profile = BALANCED.override(current_threshold=threshold)
    for above, below in match_candidates(strengths, scores, profile).items():
        scores[below] = max(scores[below], item.scores[above] + BALANCED.current_margin)
    order = sorted(range(len(scores)), key=lambda index: -scores[index])
    ranks: dict[str, int] = {}
    for rank, index in enumerate(order, 1):
        ranks.setdefault(item.sides[index], rank)
    last = len(scores) + 1
    old, new = ranks.get("old", last), ranks.get("new", last)
    if "gold" in item.asked.wanted:
        # What stood first by the other terms must stay there.
        return item.sides[order[0]] == "gold" if item.sides[:1] == ["gold"] else None
    if len(item.asked.wanted) > 1:
        return max(old, new) <= 8
    return new < old if "new" in item.asked.wanted else old < new


def print_groups(items: Sequence[Judged], predict: Callable[[Judged], bool | None]) -> None:
    """Print the share of right answers in each group of questions."""
    groups: defaultdict[str, list[bool]] = defaultdict(list)
    for item in items:
        answer = predict(item)
        if answer is not None:
            groups[item.asked.group].append(answer)
    for name, answers in sorted(groups.items()):
        print(f"  {name:28} {len(answers):4} {100 * np.mean(answers):5.1f}%")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("beam", type=Path, nargs="?")
    parser.add_argument("--beam-namespace", default="beam")
    parser.add_argument("--database-url")
    parser.add_argument("--penalty", type=float, default=1.0)
    parser.add_argument("--folds", type=int, default=0)
    options = parser.parse_args()
    address = options.database_url or load_settings().database_url
    if address is None:
        raise SystemExit("give --database-url or set MEMSENSE_DATABASE_URL")
    questions = [*read_changes("even"), *read_sample()]
    if options.beam:
        questions += read_chats(options.beam, options.beam_namespace, TUNED)
    with Pool(address, min_size=1, max_size=1, timeout=10) as pool:
        items = list(judge(pool, questions))
    if options.folds:
        cases = sorted({item.asked.case for item in items})
        np.random.default_rng(0).shuffle(cases)
        fold: dict[str, int] = {case: number % options.folds for number, case in enumerate(cases)}
        fitted: list[Values] = [
            fit([item for item in items if fold[item.asked.case] != number], options.penalty)
            for number in range(options.folds)
        ]
        for threshold in THRESHOLDS:

            def predict(item: Judged, at: float = threshold) -> bool | None:
                return is_right(item, fitted[fold[item.asked.case]], at)

            print(f"left out of the fit, threshold {threshold:g}")
            print_groups(items, predict)
    print("shipped weights")
    print_groups(items, lambda item: is_right(item, np.array(WEIGHTS), BALANCED.current_threshold))
    weights = fit(items, options.penalty)
    print(json.dumps(dict(zip(Evidence._fields, np.round(weights, 2).tolist(), strict=True))))


if __name__ == "__main__":
    main()
