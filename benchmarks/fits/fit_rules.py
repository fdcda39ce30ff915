"""Fit of the scorer of standing rules; writes memsense/data/minilm/standing_rules.npy.

    python -m benchmarks.fits.fit_rules
    python -m benchmarks.fits.fit_rules SENTENCES

tests/data/rule_sentences.jsonl has sentences with `rule`, true or false: two of three are no rules,
most of these written to look like one. Sentences that people write about other things are taken from
sets of the panel (benchmarks/panel.py) whose licences allow it; few of them are rules, so that all
count as none, at a lower weight. Two logistic regressions are fitted, with the vectors of the
built-in English model and with the cues alone. The bias of each is shifted so that, in ten folds, at
most 5% of the look-alikes and of the panel's sentences count as rules. With a file of SENTENCES
that nobody looked at while the scorer was written (`text`, and `rule` or `is_rule`), nothing is
fitted: its recall and its share of wrong rules are printed, by the file of weights as it is.
"""

import gzip
import json
import random
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memsense.draft.facets.standing import (
    LEAST_BY_CUES,
    load_weights,
    own_sentences,
    read_cues,
)
from memsense.embed import OnnxEmbedder

SENTENCES = Path(__file__).parents[2] / "tests" / "data" / "rule_sentences.jsonl"
WEIGHTS = Path(__file__).parents[2] / "memsense" / "data" / "minilm" / "standing_rules.npy"
PANEL = Path(__file__).parents[3] / "shared" / "eval" / "panel"
SETS = ("lifebench-en", "molweni", "qmsum", "made-work", "made-long")
A_SET = 300
"""Sentences of each set of the panel."""

BACKGROUND = 0.15
"""Weight of such a sentence."""

VECTOR_SCALE, CUE_SCALE, PENALTY = 5.0, 2.0, 3.0
MOST_WRONG = 0.05

Floats = NDArray[np.float64]


def read(path: Path) -> tuple[list[str], NDArray[np.bool_]]:
    """Return the sentences of a file, and whether each is a rule."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    labels = [str(row["rule"] if "rule" in row else row["is_rule"]) == "True" for row in rows]
    return [row["text"] for row in rows], np.array(labels)


def read_panel() -> list[str]:
    """Return sentences that people say in the panel's conversations."""
    chosen: list[str] = []
    for name in SETS:
        sentences: dict[str, None] = {}
        with gzip.open(PANEL / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            for line in lines:
                for session in json.loads(line)["sessions"]:
                    for turn in session["turns"]:
                        if turn["role"] != "assistant":
                            text = turn["text"]
                            places = own_sentences(text)
                            sentences.update((text[start:end], None) for start, end in places)
        chosen += random.Random(1).sample(list(sentences), min(A_SET, len(sentences)))
    return chosen


def fit(features: Floats, is_rule: NDArray[np.bool_], counts: Floats) -> Floats:
    """Return the weights of a ridge-penalised logistic regression, that of the last column free."""
    weights = np.zeros(features.shape[1])
    penalty = PENALTY * np.eye(len(weights))
    penalty[-1, -1] = 1e-9
    for _ in range(60):
        chances = 1 / (1 + np.exp(-features @ weights))
        slope = features.T @ (counts * (is_rule - chances)) - penalty @ weights
        curve = (features * (counts * chances * (1 - chances))[:, None]).T @ features + penalty
        weights += np.linalg.solve(curve, slope)
    return weights


def find_shift(
    features: Floats, is_rule: NDArray[np.bool_], counts: Floats, name: str
) -> float:
    """Return the log odds above which few others are, in ten folds; print the recall there."""
    folds = np.random.default_rng(1).permutation(len(features)) % 10
    scores = np.zeros(len(features))
    for fold in range(10):
        inside = folds != fold
        weights = fit(features[inside], is_rule[inside], counts[inside])
        scores[~inside] = features[~inside] @ weights
    rules, alike = scores[is_rule], scores[~is_rule & (counts == 1)]
    panel = scores[counts < 1]
    shift = max(
        float(np.quantile(alike, 1 - MOST_WRONG)), float(np.quantile(panel, 1 - MOST_WRONG))
    )
    print(
        f"{name}: AUC {(rules[:, None] > alike[None]).mean():.3f} against look-alikes, recall"
        f" {(rules > shift).mean():.2f}, wrong {(alike > shift).mean():.3f} of look-alikes and"
        f" {(panel > shift).mean():.3f} of the panel's sentences"
    )
    return shift


def main() -> None:
    """Fit and write, or measure."""
    texts, is_rule = read(Path(sys.argv[1]) if len(sys.argv) > 1 else SENTENCES)
    background = [] if len(sys.argv) > 1 else read_panel()
    counts = np.array([1.0] * len(texts) + [BACKGROUND] * len(background))
    is_rule = np.append(is_rule, np.zeros(len(background), bool))
    texts += background
    vectors, cues = OnnxEmbedder().embed(texts).astype(np.float64), read_cues(texts)
    if len(sys.argv) > 1:
        both, alone = load_weights()
        by_cues = cues @ alone[-cues.shape[1] :]
        for name, scores in (
            ("vectors and cues", np.hstack([vectors, cues]) @ both),
            ("cues alone", by_cues),
        ):
            found = (scores > 0) & (by_cues > LEAST_BY_CUES)
            recall, wrong = found[is_rule].mean(), found[~is_rule].mean()
            print(f"{name}: recall {recall:.3f}, wrong {wrong:.3f}")
        return
    scale = np.full(cues.shape[1], CUE_SCALE)
    scale[-1] = 1.0
    weights = np.zeros((2, vectors.shape[1] + cues.shape[1]))
    for row, name, features in (
        (0, "vectors and cues", np.hstack([VECTOR_SCALE * (vectors - vectors.mean(0)), scale * cues])),
        (1, "cues alone", scale * cues),
    ):
        fitted = fit(features, is_rule, counts)
        fitted[-1] -= find_shift(features, is_rule, counts, name)
        fitted[-cues.shape[1] :] *= scale
        if row == 0:
            fitted[: vectors.shape[1]] *= VECTOR_SCALE
            fitted[-1] -= vectors.mean(0) @ fitted[: vectors.shape[1]]
        weights[row, -len(fitted) :] = fitted
    np.save(WEIGHTS, weights.astype(np.float32))


if __name__ == "__main__":
    main()
