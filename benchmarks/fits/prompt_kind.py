"""Fit of memsense/data/minilm/prompt_kind.npy: is a prompt a question or a request?

    python -m benchmarks.fits.prompt_kind                  # prints the error rates
    python -m benchmarks.fits.prompt_kind --panel FOLDER   # fits and writes the file before

A logistic regression over the vector of the prompt, with an L2 penalty of 5 on its weights. It is
fitted on one half of tests/data/prompts.jsonl, 1,560 prompts that were written for it, and with
the weight 0.6 on up to 100 prompts of each of five sets whose licences allow it. The other half of
the file, 300 prompts, was written by somebody who had not seen the first, and decides nothing.
"""

import argparse
import gzip
import json
import random
from collections import Counter
from pathlib import Path

import numpy as np

from memsense.embed import OnnxEmbedder
from memsense.embed.onnx import DATA, MODEL
from memsense.search.question import analyse_question
from memsense.search.question.kind import read_kind

PROMPTS = Path(__file__).parents[2] / "tests" / "data" / "prompts.jsonl"
WEIGHTS = DATA / "prompt_kind.npy"
PENALTY = 5.0
SETS = {
    "molweni": "question", "qmsum": "question", "lifebench-en": "question",
    "realmem": "request", "made-work": "request",
}  # fmt: skip
SET_WEIGHT = 0.6
SET_PROMPTS = 100
# Vectors have length 1: their numbers are small, and the penalty is one on these larger ones.
SCALE = 8.0


def sample(folder: Path, name: str) -> list[str]:
    """Return some prompts of a set, the same ones each time."""
    with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        asked = [it for line in lines for it in json.loads(line)["questions"]]
    prompts = [it["text"] for it in asked if it.get("gold_ok") and it.get("answerable")]
    random.Random(1).shuffle(prompts)
    return prompts[:SET_PROMPTS]


def fit(vectors: np.ndarray, is_request: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the weights and the bias that maximise the penalised likelihood, (d + 1,)."""
    inputs = np.column_stack([SCALE * vectors, np.ones(len(vectors))])
    penalty = PENALTY * np.eye(inputs.shape[1])
    penalty[-1, -1] = 1e-6
    weights = np.zeros(inputs.shape[1])
    for _ in range(50):  # Newton's method
        chances = 1 / (1 + np.exp(-inputs @ weights))
        gradient = inputs.T @ (counts * (chances - is_request)) + penalty @ weights
        spread = counts * chances * (1 - chances)
        curvature = inputs.T @ (inputs * spread[:, None]) + penalty
        step = np.linalg.solve(curvature, gradient)
        weights -= step
        if np.abs(step).max() < 1e-9:
            break
    return np.append(SCALE * weights[:-1], weights[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--panel", type=Path, help="folder of the sets; without it nothing is fitted"
    )
    options = parser.parse_args()
    with PROMPTS.open(encoding="utf-8") as lines:
        prompts = [json.loads(line) for line in lines]
    embedder = OnnxEmbedder()
    vectors = np.stack([embedder.embed_query(prompt["text"]) for prompt in prompts])
    if options.panel:
        texts = [(it["text"], it["kind"], 1.0) for it in prompts if it["half"] == "train"]
        for name, kind in SETS.items():
            texts += [(text, kind, SET_WEIGHT) for text in sample(options.panel, name)]
        inputs = np.stack([embedder.embed_query(text) for text, _, _ in texts])
        is_request = np.array([kind == "request" for _, kind, _ in texts], dtype=float)
        counts = np.array([count for _, _, count in texts])
        np.save(WEIGHTS, fit(inputs, is_request, counts).astype(np.float32))
    for source, model in (("vector", MODEL), ("words", "")):
        counts: Counter[tuple[str, str, str, bool]] = Counter()
        for prompt, vector in zip(prompts, vectors, strict=True):
            kind = read_kind(analyse_question(prompt["text"]), vector, model).kind
            for field in (prompt["field"], "all"):
                counts[prompt["half"], prompt["kind"], field, kind == "request"] += 1
        for half, kind, field in sorted({key[:3] for key in counts}):
            taken, others = counts[half, kind, field, True], counts[half, kind, field, False]
            share = 100 * taken / (taken + others)
            print(f"{source:8}{half:7}{kind:10}{field:28}read as requests: {share:5.1f}%")


if __name__ == "__main__":
    main()
