"""Fit of the weights by which a write judges that an exchange supersedes an earlier one.

    python -m benchmarks.true_now --half even
    python -m benchmarks.fits.fit_supersession

The first command stores the pairs of tests/data/changed_facts.jsonl with even ids. The fit
compares each exchange with those that share its rarest words, as a write does: the old and the new
statement of a changed fact are right, every other pair is wrong. It prints the weights of a
logistic regression with a ridge penalty, and how many changes it finds at which precision if whole
facts are left out of the fit. BEAM 1-10 and LoCoMo 0-4 are taken along if their files are named, so
that it learns what real chats look like. With --half odd it reports on the other half, with the
weights of the package.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize  # pyright: ignore[reportMissingTypeStubs]

from benchmarks.true_now import CASES, read_lines
from memsense.config import load_settings
from memsense.db import Pool, Pool, run_read
from memsense.evaluation import gold_set, read_beam, read_locomo
from memsense.store.scopes import find_tenant
from memsense.store.scopes import Scope, fetch_namespace
from memsense.store.supersession import find_pairs
from memsense.draft.supersession import THRESHOLD, WEIGHTS, Evidence

Values = NDArray[np.float64]

FOLDS = 5
CHATS = 0.3
"""How much a wrong pair of a chat counts: there are many, and some of them are right after all."""

PRECISIONS = (0.98, 0.95, 0.9, 0.8)
AGAINST = ("addition", "asks", "after_question", "length")
"""Evidence whose weight may not be above 0; no other weight but the bias may be below it."""


@dataclass(slots=True, kw_only=True)
class Gold:
    """What is known of a namespace's exchanges.

    Attributes:
        namespace: Its name.
        users: The users to take; None for all.
        facts: The fact that a message tells of.
        changes: The message that another one supersedes, by the newer one; each behind its user.
    """

    namespace: str
    users: AbstractSet[str] | None
    facts: dict[str, str] = field(default_factory=dict[str, str])
    changes: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The pairs in which one exchange is the newer one; `right` is the place of the right one.

    `fact` names the changed fact that it tells of, or the exchange itself.
    """

    fact: str
    is_change: bool
    evidence: Sequence[Evidence]
    right: int | None
    weight: float


def read_facts(half: str) -> Gold:
    """Return the changed facts of one half; what else its users say supersedes nothing."""
    gold = Gold(namespace="", users=None)
    for row in read_lines(CASES):
        if row["kind"] == "filler" or row["id"] % 2 != (half == "odd") or row["language"] != "en":
            continue
        for side in ("old", "new"):
            gold.facts[f"{side}{row['id']}-user"] = f"fact {row['id']}"
        if row["kind"] == "change":
            new, old = (f"{row['user_id']} {side}{row['id']}-user" for side in ("new", "old"))
            gold.changes[new] = old
    return gold


def read_chats(path: Path, namespace: str) -> Gold:
    """Return the users of BEAM 1-10, with the messages that update what another one says."""
    users: set[str] = set()
    gold = Gold(namespace=namespace, users=users)
    texts: dict[str, Mapping[str, Sequence[str]]] = {
        question["text"]: question.get("gold_parts") or {}
        for line in path.read_text(encoding="utf-8").splitlines()
        for question in json.loads(line)["questions"]
    }
    for question in gold_set(read_beam(path), path.stem).questions:
        if question.split == "1-10":
            users.add(question.user_id)
            parts = texts[question.question]
            for new in parts.get("updated_info", ()):
                for old in parts.get("original_info", ()):
                    gold.changes[f"{question.user_id} {new}"] = f"{question.user_id} {old}"
    return gold


def read_talks(path: Path, namespace: str) -> Gold:
    """Return the users of LoCoMo 0-4, in whose talks hardly a fact changes."""
    questions = read_locomo(path).questions
    users = {question.user_id for question in questions if question.split == "0-4"}
    return Gold(namespace=namespace, users=users)


def judge(pool: Pool, gold: Gold) -> list[Judged]:
    """Return every exchange of the users with what it might supersede."""
    tenant_id = run_read(pool, lambda it: find_tenant(it, "default"))
    if tenant_id is None:
        raise SystemExit("nothing is stored: run 'python -m benchmarks.true_now' first")
    place = run_read(pool, partial(fetch_namespace, tenant_id=tenant_id, name=gold.namespace))
    chunks = run_read(
        pool,
        lambda it: it.execute(
            "SELECT s.user_id, c.scope_id, c.chunk_id, c.message_ids FROM memsense.chunks AS c"
            " JOIN memsense.scopes AS s USING (tenant_id, scope_id)"
            " WHERE c.tenant_id = %s AND s.namespace_id = %s AND c.granularity = 'turn'"
            " ORDER BY c.scope_id, c.chunk_id",
            [tenant_id, place.namespace_id],
        ).fetchall(),
    )
    messages = {chunk_id: names for _, _, chunk_id, names in chunks}
    judged: list[Judged] = []
    for user_id, scope_id in sorted({row[:2] for row in chunks}):
        if gold.users is not None and user_id not in gold.users:
            continue
        scope = Scope(
            tenant_id=tenant_id, scope_id=scope_id, language=place.language, models=place.models
        )
        ids = [chunk_id for _, its_scope, chunk_id, _ in chunks if its_scope == scope_id]
        pairs = run_read(pool, lambda it, of=scope, its=ids: list(find_pairs(it, of, its)))
        by_newer: defaultdict[int, dict[int, Evidence]] = defaultdict(dict)
        for pair in pairs:
            if pair.comparison.reason:
                by_newer[pair.newer][pair.older] = pair.comparison.evidence
        for chunk_id in ids:
            names = [f"{user_id} {name}" for name in messages[chunk_id]]
            olds = {gold.changes[name] for name in names if name in gold.changes}
            own = by_newer[chunk_id]
            rights = [
                number
                for number, older in enumerate(own)
                if olds & {f"{user_id} {name}" for name in messages[older]}
            ]
            facts = [gold.facts[name] for name in messages[chunk_id] if name in gold.facts]
            judged.append(
                Judged(
                    fact=facts[0] if facts else f"{user_id} {chunk_id}",
                    is_change=bool(olds),
                    evidence=list(own.values()),
                    right=rights[0] if rights else None,
                    weight=1.0 if rights or gold.facts else CHATS,
                )
            )
    return judged


def fit(items: Sequence[Judged], penalty: float) -> Values:
    """Return the weights of the least loss."""
    rows = [
        (it, number == item.right, item.weight)
        for item in items
        for number, it in enumerate(item.evidence)
    ]
    evidence = np.array([row for row, _, _ in rows], dtype=np.float64)
    signs = np.array([1.0 if is_right else -1.0 for _, is_right, _ in rows])
    counts = np.array([weight for _, _, weight in rows])
    free = np.array([name != "bias" for name in Evidence._fields], dtype=np.float64)

    def loss(values: Values) -> tuple[float, Values]:
        margins = signs * (evidence @ values)
        slope = -counts * signs / (1 + np.exp(margins))
        total = float(counts @ np.logaddexp(0, -margins) + penalty * (free * values**2).sum())
        return total, evidence.T @ slope + 2 * penalty * free * values

    bounds = [
        (None, None) if name == "bias" else (None, 0.0) if name in AGAINST else (0.0, None)
        for name in Evidence._fields
    ]
    minimize: Any = optimize.minimize  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return minimize(loss, np.zeros(len(free)), jac=True, method="L-BFGS-B", bounds=bounds).x


def report(items: Sequence[Judged], weights: Sequence[Values]) -> None:
    """Print how many changes are found at which precision; each item has weights of its own."""
    found: list[tuple[float, bool]] = []
    for item, own in zip(items, weights, strict=True):
        if item.evidence:
            logits = np.array(item.evidence) @ own
            best = int(logits.argmax())
            found.append((float(logits[best]), best == item.right))
    found.sort(reverse=True)
    changes = max(sum(item.is_change for item in items), 1)
    right = np.cumsum([is_right for _, is_right in found])
    for precision in PRECISIONS:
        enough = np.flatnonzero(right / np.arange(1, len(found) + 1) >= precision)
        last = int(enough[-1]) if len(enough) else 0
        print(
            f"  precision {precision:.2f}: {100 * right[last] / changes:.1f}% of {changes} changes,"
            f" from {found[last][0]:.2f} on"
        )
    above = [is_right for logit, is_right in found if logit > THRESHOLD]
    print(
        f"  at the threshold {THRESHOLD:g}: {100 * sum(above) / changes:.1f}% found,"
        f" {sum(above)} of {len(above)} links right, of {len(items)} exchanges"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--half", choices=("even", "odd"), default="even", help="of the ids")
    parser.add_argument("--database-url", help="default: the settings'")
    parser.add_argument("--namespace", default="true-now", help="beginning of the namespaces")
    parser.add_argument("--penalty", type=float, default=0.3)
    parser.add_argument("--beam", type=Path, help="BEAM's file, stored by 'memsense eval beam'")
    parser.add_argument("--beam-namespace", default="eval-beam100k")
    parser.add_argument("--locomo", type=Path, help="LoCoMo's, stored by 'memsense eval locomo'")
    parser.add_argument("--locomo-namespace", default="eval-locomo10")
    options = parser.parse_args()
    address = options.database_url or load_settings().database_url
    if address is None:
        raise SystemExit("give --database-url or set MEMSENSE_DATABASE_URL")
    gold = read_facts(options.half)
    gold.namespace = f"{options.namespace}-{options.half}"
    groups = {"changed facts": gold}
    if options.half == "even":
        if options.beam:
            groups["BEAM 1-10"] = read_chats(options.beam, options.beam_namespace)
        if options.locomo:
            groups["LoCoMo 0-4"] = read_talks(options.locomo, options.locomo_namespace)
    with Pool(address, min_size=1, max_size=1, timeout=10) as pool:
        judged = {name: judge(pool, gold) for name, gold in groups.items()}
    print("weights of the package")
    for name, items in judged.items():
        print(name)
        report(items, [np.array(WEIGHTS)] * len(items))
    if options.half == "odd":
        return
    items = [item for group in judged.values() for item in group]
    facts = sorted({item.fact for item in items})
    np.random.default_rng(0).shuffle(facts)
    fold = {fact: number % FOLDS for number, fact in enumerate(facts)}
    fitted = [
        fit([item for item in items if fold[item.fact] != number], options.penalty)
        for number in range(FOLDS)
    ]
    print("left out of the fit")
    for name, group in judged.items():
        print(name)
        report(group, [fitted[fold[item.fact]] for item in group])
    weights = fit(items, options.penalty)
    print(json.dumps(dict(zip(Evidence._fields, np.round(weights, 2).tolist(), strict=True))))


if __name__ == "__main__":
    main()
