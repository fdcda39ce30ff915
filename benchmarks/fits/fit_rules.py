"""Fit of the scorer of standing rules; writes memsense/data/minilm/standing_rules.npy.

    python -m benchmarks.fits.fit_rules
    python -m benchmarks.fits.fit_rules SENTENCES

rule_voices.jsonl, beside this file, has sentences in many voices (a backend coder, a chef, a doctor's
office), with `rule`, true or false: most of the others are written to look like rules.
tests/data/rule_sentences.jsonl has more of few writers. Sentences that people write about other
things are taken from sets of the panel (benchmarks/panel.py) whose licences allow it; few of them are
rules, so that all count as none, at a lower weight. Two logistic regressions are fitted, with the
vectors of the built-in English model and with the cues alone. The bias of each is shifted so that,
in five folds of voices, 4% of the look-alikes of unknown voices count as rules. With a file of
SENTENCES that nobody looked at while the scorer was written (`text`, and `rule` or `is_rule`),
nothing is fitted: its recall and its share of wrong rules are printed, by the file of weights as it
is.
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
    PAIRS,
    load_weights,
    own_sentences,
    read_cues,
)
from memsense.embed import OnnxEmbedder

VOICES = Path(__file__).parent / "rule_voices.jsonl"
SENTENCES = Path(__file__).parents[2] / "tests" / "data" / "rule_sentences.jsonl"
WEIGHTS = Path(__file__).parents[2] / "memsense" / "data" / "minilm" / "standing_rules.npy"
PANEL = Path(__file__).parents[3] / "shared" / "eval" / "panel"
SETS = ("lifebench-en", "molweni", "qmsum", "made-work", "made-long")
A_SET = 300
"""Sentences of each set of the panel."""

BACKGROUND = 0.6
"""Weight of such a sentence."""

VECTOR_SCALE, PAIR_SCALE, CUE_SCALE, PENALTY = 4.0, 6.0, 2.0, 5.0
MOST_WRONG = 0.04
FOLDS = 5

Floats = NDArray[np.float64]


def read(paths: list[Path]) -> tuple[list[str], NDArray[np.bool_], NDArray[np.str_]]:
    """Return the sentences of files, whether each is a rule, and whose it is, "" if not known."""
    lines = [line for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    rows = [json.loads(line) for line in lines]
    labels = [str(row["rule"] if "rule" in row else row["is_rule"]) == "True" for row in rows]
    voices = [row.get("voice", "") for row in rows]
    return [row["text"] for row in rows], np.array(labels), np.array(voices)


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
    """Return the weights of a ridge-penalised logistic regression, that of the last column free.

    The curvature is at most that at even chances, so that one inverse serves all of the steps.
    """
    features, counts = features.astype(np.float32), counts.astype(np.float32)
    penalty = np.full(features.shape[1], PENALTY, np.float32)
    penalty[-1] = 1e-3
    curve = (features * (counts / 4)[:, None]).T @ features
    curve[np.diag_indices(len(curve))] += penalty
    inverse = np.linalg.inv(curve)
    weights = last = np.zeros(len(penalty), np.float32)
    for step in range(80):
        ahead = weights + (step / (step + 3)) * (weights - last)
        chances = 1 / (1 + np.exp(-np.clip(features @ ahead, -30, 30)))
        slope = (counts * (is_rule - chances)).astype(np.float32) @ features - penalty * ahead
        last, weights = weights, ahead + inverse @ slope
    return weights.astype(np.float64)


def find_shift(
    features: Floats, is_rule: NDArray[np.bool_], counts: Floats, voices: NDArray[np.str_], name: str
) -> tuple[float, float]:
    """Return the log odds above which few others of unknown voices are, and 99% of their rules.

    Each voice is in one fold, so that no sentence is scored by weights of its own voice.
    """
    names = np.unique(voices)
    fold_of = dict(zip(names, np.random.default_rng(0).permutation(len(names)) % FOLDS, strict=True))
    folds = np.array([fold_of[voice] for voice in voices])
    # Sentences without a voice of their own are spread: they choose no threshold.
    unnamed = voices == ""
    folds[unnamed] = np.random.default_rng(1).integers(0, FOLDS, unnamed.sum())
    scores = np.zeros(len(features))
    for fold in range(FOLDS):
        inside = folds != fold
        scores[~inside] = features[~inside] @ fit(features[inside], is_rule[inside], counts[inside])
    rules, alike = scores[is_rule & ~unnamed], scores[~is_rule & ~unnamed]
    panel = scores[counts < 1]
    shift = float(np.quantile(alike, 1 - MOST_WRONG))
    print(
        f"{name}: AUC {(rules[:, None] > alike[None]).mean():.3f} against look-alikes, recall"
        f" {(rules > shift).mean():.3f}, wrong {(alike > shift).mean():.3f} of look-alikes and"
        f" {(panel > shift).mean():.3f} of the panel's sentences"
    )
    return shift, float(np.quantile(rules, 0.01))


def main() -> None:
    """Fit and write, or measure."""
    paths = [Path(sys.argv[1])] if len(sys.argv) > 1 else [VOICES, SENTENCES]
    background = [] if len(sys.argv) > 1 else read_panel()
    texts, is_rule, voices = read(paths)
    counts = np.array([1.0] * len(texts) + [BACKGROUND] * len(background))
    is_rule = np.append(is_rule, np.zeros(len(background), bool))
    voices = np.append(voices, [""] * len(background))
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
    scale[:PAIRS], scale[-1] = PAIR_SCALE, 1.0
    weights = np.zeros((2, vectors.shape[1] + cues.shape[1]))
    for row, name, features in (
        (0, "vectors and cues", np.hstack([VECTOR_SCALE * (vectors - vectors.mean(0)), scale * cues])),
        (1, "cues alone", scale * cues),
    ):
        shift, lowest = find_shift(features, is_rule, counts, voices, name)
        fitted = fit(features, is_rule, counts)
        fitted[-1] -= shift
        fitted[-cues.shape[1] :] *= scale
        if row == 0:
            fitted[: vectors.shape[1]] *= VECTOR_SCALE
            fitted[-1] -= vectors.mean(0) @ fitted[: vectors.shape[1]]
        weights[row, -len(fitted) :] = fitted
    print(f"99% of the rules are above {lowest - shift:.2f} by the cues alone")
    np.save(WEIGHTS, weights.astype(np.float32))


if __name__ == "__main__":
    main()
