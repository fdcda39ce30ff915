"""Fit of memsense/data/minilm/prompt_kind.npy: is a prompt a question or a request?

    python -m benchmarks.fits.prompt_kind            # fits, writes the file, prints the error rates
    python -m benchmarks.fits.prompt_kind --check    # prints the error rates of the stored file

A logistic regression over the vector of the prompt, with an L2 penalty of 10 on its weights. It is
fitted on one half of tests/data/prompts.jsonl, 1,484 prompts that were written for it; the other
half, 300 prompts, was written by somebody who had not seen the first, and decides nothing.
"""

import argparse
import json
from collections import Counter
from pathlib import Path

import numpy as np

from memsense.embed import OnnxEmbedder
from memsense.embed.onnx import DATA, MODEL
from memsense.search.question.kind import read_kind

PROMPTS = Path(__file__).parents[2] / "tests" / "data" / "prompts.jsonl"
WEIGHTS = DATA / "prompt_kind.npy"
PENALTY = 10.0
# Vectors have length 1: their numbers are small, and the penalty is one on these larger ones.
SCALE = 8.0


def fit(vectors: np.ndarray, is_request: np.ndarray) -> np.ndarray:
    """Return the weights and the bias that maximise the penalised likelihood, (d + 1,)."""
    inputs = np.column_stack([SCALE * vectors, np.ones(len(vectors))])
    penalty = PENALTY * np.eye(inputs.shape[1])
    penalty[-1, -1] = 1e-6
    weights = np.zeros(inputs.shape[1])
    for _ in range(50):  # Newton's method
        chances = 1 / (1 + np.exp(-inputs @ weights))
        gradient = inputs.T @ (chances - is_request) + penalty @ weights
        curvature = inputs.T @ (inputs * (chances * (1 - chances))[:, None]) + penalty
        step = np.linalg.solve(curvature, gradient)
        weights -= step
        if np.abs(step).max() < 1e-9:
            break
    return np.append(SCALE * weights[:-1], weights[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    with PROMPTS.open(encoding="utf-8") as lines:
        prompts = [json.loads(line) for line in lines]
    embedder = OnnxEmbedder()
    vectors = np.stack([embedder.embed_query(prompt["text"]) for prompt in prompts])
    if not options.check:
        train = np.array([prompt["half"] == "train" for prompt in prompts])
        is_request = np.array([prompt["kind"] == "request" for prompt in prompts], dtype=float)
        np.save(WEIGHTS, fit(vectors[train], is_request[train]).astype(np.float32))
    for source, model in (("vector", MODEL), ("words", "")):
        counts: Counter[tuple[str, str, str, bool]] = Counter()
        for prompt, vector in zip(prompts, vectors, strict=True):
            kind = read_kind(prompt["text"], vector, model).kind
            for field in (prompt["field"], "all"):
                counts[prompt["half"], prompt["kind"], field, kind == "request"] += 1
        for half, kind, field in sorted({key[:3] for key in counts}):
            taken, others = counts[half, kind, field, True], counts[half, kind, field, False]
            share = 100 * taken / (taken + others)
            print(f"{source:8}{half:7}{kind:10}{field:28}read as requests: {share:5.1f}%")


if __name__ == "__main__":
    main()
