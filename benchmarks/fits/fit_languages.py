"""Fit of silence for prompts in other languages than English.

    python -m benchmarks.fits.fit_languages made-languages.jsonl.gz

The panel's set made-languages must be stored (`python -m benchmarks.panel store made-languages`).
Its questions are known; unrelated_languages.jsonl beside this file has prompts that concern nothing
in it, written by other hands than the set. The languages that the model doesn't know get weights of
words alone: a logistic regression over the largest coverage. Its threshold keeps --known of the
questions answered. The others get the weight `foreign` of TOKEN_WEIGHTS: the largest that keeps all
of their questions answered but for a margin of 0.15. Both are printed with what they silence.

A memory that the model of the extra `multilingual` has vectors of gets the weights of that model: a
regression over the largest similarity and coverage, whose threshold keeps 99% of the questions.
"""

import argparse
import gzip
import json
import math
from pathlib import Path

import numpy as np

from benchmarks.fits.fit_context import fit
from memsense import MemSense
from memsense.search.hits import judged
from memsense.search.silence import MODEL_WEIGHTS, TOKEN_WEIGHTS, judge_features

UNRELATED = Path(__file__).with_name("unrelated_languages.jsonl")
MARGIN = 0.15


def main() -> None:
    """Fit the weights, and print them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("panel_set", type=Path)
    parser.add_argument("--namespace", default="panel-made-languages")
    parser.add_argument("--known", type=float, default=0.97)
    options = parser.parse_args()
    unrelated = [json.loads(line) for line in UNRELATED.read_text(encoding="utf-8").splitlines()]
    rows = []
    models: set[str] = set()
    with (
        gzip.open(options.panel_set, "rt", encoding="utf-8") as lines,
        MemSense.open(namespace=options.namespace) as memory,
    ):
        for line in lines:
            stored = json.loads(line)
            user_id = stored["conversation_id"]
            language = user_id.rsplit("-", 1)[-1]
            questions = [it for it in stored["questions"] if "same-language" in it["category"]]
            prompts = [(it["text"], True) for it in questions]
            prompts += [(it["prompt"], False) for it in unrelated if it["language"] == language]
            for text, is_known in prompts:
                result = memory.search(text, user_id=user_id, top_k=30, granularity="turn")
                features = judge_features(text, judged(result), result.question)
                rows.append((language, is_known, "tokens" in features, features))
                models.add(result[0].explain.model if result else "")
    if models & MODEL_WEIGHTS.keys():
        known = np.array([is_known for _, is_known, _, _ in rows])
        names = ("bias", "similarity", "coverage")
        columns = np.array([[features[name] for name in names] for *_, features in rows])
        weights = np.where(known, 1 / known.sum(), 1 / (~known).sum()) * 100
        fitted = fit(columns, known.astype(float), weights, penalty=0.01)
        totals = columns @ fitted
        threshold = np.quantile(totals[known], 0.01)
        fitted[0] -= threshold
        print(models, dict(zip(names, fitted.round(2).tolist(), strict=True)))
        print(f"  unrelated: {(totals[~known] < threshold).sum()} of {(~known).sum()} silent")
        return
    # A prompt without hits has coverage 0, whatever its language.
    unknown = {language for language, is_known, has_tokens, _ in rows if is_known and not has_tokens}
    own = [row for row in rows if row[0] in unknown]
    known = np.array([is_known for _, is_known, _, _ in own])
    coverage = np.array([features["coverage"] for *_, features in own])
    weights = np.where(known, 1 / known.sum(), 1 / (~known).sum()) * 100
    columns = np.stack((np.ones(len(own)), coverage), axis=1)
    _, slope = fit(columns, known.astype(float), weights, penalty=0.01)
    threshold = float(np.quantile(coverage[known], 1 - options.known))
    bias = float(-slope * threshold)
    print("words", {"bias": round(bias, 2), "coverage": round(float(slope), 2)})
    totals = {
        is_known: [
            math.fsum(weight * row[3].get(name, 0.0) for name, weight in TOKEN_WEIGHTS.items())
            for row in rows
            if row[0] not in unknown and row[1] == is_known
        ]
        for is_known in (True, False)
    }
    foreign = min(0.0, MARGIN - min(totals[True]))
    print("tokens", {"foreign": round(foreign, 2)})
    for language in sorted(unknown):
        for is_known in (True, False):
            spoken = [row[3]["coverage"] >= threshold for row in own if row[:2] == (language, is_known)]
            print(f"  {language}, {'known' if is_known else 'unrelated'}:", end=" ")
            print(f"{sum(spoken)} of {len(spoken)} answered")
    for is_known, values in totals.items():
        spoken = [value + foreign >= 0 for value in values]
        print(f"  others, {'known' if is_known else 'unrelated'}: {sum(spoken)} of {len(spoken)} answered")


if __name__ == "__main__":
    main()
