"""Fit of the weights of `memory.context`: the chance of a passage, and the decision to be silent.

    python -m benchmarks.fits.fit_context locomo10.json beam100k.jsonl [--report]

Each file's conversations must be stored (`memsense eval locomo FILE --ingest`, `memsense eval beam
FILE`), in the namespaces that --locomo-namespace and --beam-namespace name. Both models are
logistic regressions, fitted by Newton's method with a small quadratic penalty; both kinds of
conversation weigh the same.

- Passages: does this side of a hit hold a gold turn? Fitted on LoCoMo 0-4 and BEAM 1-10. Prints
  weights for `memsense.search.passages`.
- Silence: is this a question of the gold set, or one of the prompts that concern nothing stored?
  Fitted on the same conversations and on every second prompt, by what the hits say alone: nearly
  every question of the gold sets names a speaker or asks about the user, so those two weights are
  set by hand. The threshold keeps --silent of the prompts that concern nothing silent, or
  --silent-words without token vectors. Prints weights for `memsense.search.silence`.

--report also measures silence on the other conversations and the other prompts.
"""

import argparse
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memsense import MemSense
from memsense.evaluation import gold_set, read_beam, read_locomo
from memsense.evaluation.context import MEMORIES, normalise, read_unrelated
from memsense.evaluation.gold import GoldSet
from memsense.search.hits import judged, source_of
from memsense.search.passages import side_features, side_text
from memsense.search.silence import (
    FOREIGN_WEIGHTS,
    WORD_WEIGHTS,
    Judged,
    is_small_talk,
    judge_features,
)

Values = NDArray[np.float64]

TUNED = {"locomo": "0-4", "beam": "1-10"}
BY_HAND = frozenset({"names", "personal", "asked"})
"""Weights of silence that are not fitted."""

HITS = 30
OVERLAP = 300
"""Characters of a side that stand in a gold turn which was split into parts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A question of the gold set, or a prompt that concerns nothing, with what it is judged by."""

    kind: str
    is_tuned: bool
    is_known: bool
    is_held_out: bool
    share_found: float
    is_small_talk: bool
    features: Mapping[str, Mapping[str, float]]


def fit(features: Values, labels: Values, weights: Values, penalty: float) -> Values:
    """Return the coefficients of a logistic regression; the first feature is the constant."""
    chosen = np.zeros(features.shape[1])
    ridge = penalty * np.eye(len(chosen))
    ridge[0, 0] = 1e-9
    for _ in range(100):
        chances = 1 / (1 + np.exp(-features @ chosen))
        gradient = features.T @ (weights * (labels - chances)) - ridge @ chosen
        curvature = (features * (weights * chances * (1 - chances))[:, np.newaxis]).T @ features
        step = np.linalg.solve(curvature + ridge, gradient)
        chosen += step
        if np.abs(step).max() < 1e-9:
            break
    return chosen


def passages_of(memory: MemSense, gold: GoldSet, tuned: str) -> Iterator[tuple[Values, bool]]:
    """Yield the features of each side of each hit, and whether it holds a gold turn."""
    for question in gold.questions:
        if question.split != tuned:
            continue
        result = memory.search(
            question.question,
            user_id=question.user_id,
            top_k=HITS,
            granularity="turn",
            asked_at=question.asked_at,
        )
        texts = [normalise(it.text) for it in question.gold_texts.values()]
        best = max((hit.score for hit in result), default=0.0)
        for place, hit in enumerate(result):
            has_gold = not question.gold_texts.keys().isdisjoint(hit.message_ids)
            for side, features in side_features(source_of(hit), hit.chunk, place, best):
                text = normalise(side_text(hit.chunk, side)) if has_gold else ""
                holds = any(it[:500] in text or text[:OVERLAP] in it for it in texts)
                yield np.array(features), has_gold and holds


def without_tokens(hits: Sequence[Judged]) -> list[Judged]:
    """Return the hits as a memory without token vectors has them."""
    return [replace(it, explain=replace(it.explain, matches=())) for it in hits]


def prompts_of(memory: MemSense, gold: GoldSet, kind: str) -> Iterator[Prompt]:
    """Yield the gold set's questions, and the unrelated prompts put to some of its memories."""
    splits = {question.user_id: question.split for question in gold.questions}
    draw = random.Random(0)
    asked = [(question.question, question.user_id, question, False) for question in gold.questions]
    unrelated = [
        (item.prompt, user_id, None, number % 2 == 1)
        for number, item in enumerate(read_unrelated())
        for user_id in draw.sample(sorted(splits), min(MEMORIES, len(splits)))
    ]
    for text, user_id, question, is_held_out in [*asked, *unrelated]:
        result = memory.search(text, user_id=user_id, top_k=HITS, granularity="turn")
        share = 0.0
        if question is not None:
            gold_ids = question.gold_texts.keys()
            messages = {name for hit in result for name in hit.message_ids}
            share = len(gold_ids & messages) / len(gold_ids)
        hits = judged(result)
        yield Prompt(
            kind=kind,
            is_tuned=splits[user_id] == TUNED[kind],
            is_known=question is not None,
            is_held_out=is_held_out,
            share_found=share,
            is_small_talk=is_small_talk(text),
            features={
                "tokens": judge_features(text, hits, result.question),
                "words": judge_features(text, without_tokens(hits), result.question),
            },
        )


def fit_silence(
    prompts: Sequence[Prompt],
    model: str,
    table: Mapping[str, float],
    *,
    silent: float,
    report: bool,
) -> None:
    """Print the weights of one model of silence, and with `report` what it does."""
    names = [name for name in table if name not in BY_HAND]
    features = np.array([[it.features[model].get(name, 0.0) for name in names] for it in prompts])
    is_known = np.array([it.is_known for it in prompts])
    shares = np.array([it.share_found for it in prompts])
    kinds = np.array([it.kind for it in prompts])
    used = np.array([it.is_tuned and not it.is_held_out and not it.is_small_talk for it in prompts])
    weights = np.zeros(len(prompts))
    for kind in TUNED:
        for label in (False, True):
            members = used & (kinds == kind) & (is_known == label)
            weights[members] = 1_000 / max(members.sum(), 1)
    chosen = fit(features[used], is_known[used].astype(float), weights[used], penalty=3.0)
    tuned = np.array([it.is_tuned for it in prompts])
    small_talk = np.array([it.is_small_talk for it in prompts])
    unrelated = tuned & ~is_known & ~np.array([it.is_held_out for it in prompts])
    # Small talk is silent anyway: of the rest, so many may speak.
    speaking = (1 - silent) * unrelated.sum() / max((unrelated & ~small_talk).sum(), 1)
    ordered = np.sort((features @ chosen)[unrelated & ~small_talk])
    threshold = float(ordered[min(int(len(ordered) * (1 - speaking)), len(ordered) - 1)])
    chosen[0] -= threshold
    print(model, {name: round(float(it), 3) for name, it in zip(names, chosen, strict=True)})
    by_hand = np.zeros(len(prompts))
    for name in ("names", "personal"):
        by_hand += table[name] * np.array([it.features[model].get(name, 0.0) for it in prompts])
    totals = np.where(small_talk, -np.inf, features @ chosen + by_hand)

    def lost_in(members: NDArray[np.bool_]) -> float:
        known = members & is_known
        return float((shares[known] * (totals[known] < 0)).sum() / shares[known].sum())

    held_out = np.array([it.is_held_out for it in prompts])
    for kind in TUNED if report else ():
        for label, members in (("tuned", tuned), ("others", ~tuned)):
            mine = members & (kinds == kind)
            is_silent = totals[mine & ~is_known & held_out] < 0
            print(f"  {kind} {label}: gold lost {lost_in(mine):.1%},", end=" ")
            print(f"silent on the other prompts {is_silent.mean():.1%}")


def main() -> None:
    """Fit both models, and print their weights."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("locomo", type=Path)
    parser.add_argument("beam", type=Path)
    parser.add_argument("--locomo-namespace", default="locomo")
    parser.add_argument("--beam-namespace", default="beam")
    parser.add_argument("--silent", type=float, default=0.99)
    parser.add_argument("--silent-words", type=float, default=0.95)
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    sets = {
        "locomo": (options.locomo_namespace, read_locomo(options.locomo)),
        "beam": (options.beam_namespace, gold_set(read_beam(options.beam), options.beam.stem)),
    }
    rows: list[tuple[str, Values, bool]] = []
    prompts: list[Prompt] = []
    for kind, (namespace, gold) in sets.items():
        with MemSense.open(namespace=namespace) as memory:
            rows += [(kind, *row) for row in passages_of(memory, gold, TUNED[kind])]
            prompts += prompts_of(memory, gold, kind)
    kinds = np.array([kind for kind, _, _ in rows])
    sizes = {kind: int((kinds == kind).sum()) for kind in TUNED}
    weights = np.array([len(rows) / (2 * sizes[kind]) for kind in kinds])
    labels = np.array([float(label) for _, _, label in rows])
    chosen = fit(np.array([features for _, features, _ in rows]), labels, weights, penalty=1.0)
    print("passages", [round(float(it), 3) for it in chosen])
    for model, table, silent in (
        ("tokens", FOREIGN_WEIGHTS, options.silent),
        ("words", WORD_WEIGHTS, options.silent_words),
    ):
        fit_silence(prompts, model, table, silent=silent, report=options.report)


if __name__ == "__main__":
    main()
