"""Fit of silence for prompts in other languages than English.

    python -m benchmarks.fits.fit_languages
    MEMSENSE_MULTILINGUAL=off python -m benchmarks.fits.fit_languages

personal_languages.jsonl beside this file has sixteen facts of one person in six languages, each
with a question that shares few words with it; unrelated_languages.jsonl has prompts that concern
nothing of that. The facts are stored in the namespace `fit-languages`.

Slopes are set by hand: nearly every known question ends with a mark, so that a regression would
leave little to the hits. For each set of weights in use this prints how many of its known prompts
are answered and of its unrelated ones are not, by the weights as they are and with the bias that
makes the sum of both shares largest.
"""

import json
import math
from pathlib import Path

import numpy as np

from memsense import MemSense
from memsense.search.hits import judged
from memsense.search.silence import judge

FOLDER = Path(__file__).parent


def read(name: str) -> list[dict[str, str]]:
    """Return the rows of a file beside this one."""
    return [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]


def main() -> None:
    """Store the facts, ask, and print."""
    facts, unrelated = read("personal_languages.jsonl"), read("unrelated_languages.jsonl")
    totals: dict[str, dict[bool, list[float]]] = {}
    with MemSense.open(namespace="fit-languages") as memory:
        for number, row in enumerate(facts):
            memory.add(
                [{"role": "user", "content": row["text"]}],
                user_id=f"person-{row['language']}",
                session_id=f"s{number}",
                mode="turn",
                key=f"fit/{number}",
            )
        prompts = [(row["language"], row["question"], True) for row in facts]
        prompts += [(row["language"], row["prompt"], False) for row in unrelated]
        for language, text, is_known in prompts:
            result = memory.search(text, user_id=f"person-{language}", top_k=30, granularity="turn")
            terms = judge(text, judged(result), result.question).terms
            # A prompt without hits is silent, whatever its weights.
            total = math.fsum(term.contribution for term in terms) if terms else -math.inf
            bias = f"weights with bias {terms[0].weight}" if terms else "no hits"
            group = totals.setdefault(bias, {True: [], False: []})
            group[is_known].append(total)
    for name, group in totals.items():
        known, other = np.array(group[True]), np.array(group[False])

        def shares(shift: float, known: np.ndarray = known, other: np.ndarray = other) -> str:
            answered, silent = (known + shift >= 0).sum(), (other + shift < 0).sum()
            return f"{answered} of {len(known)} answered, {silent} of {len(other)} silent"

        print(f"{name}: {shares(0)}")
        finite = [-it for it in (*group[True], *group[False]) if math.isfinite(it)]
        if finite:
            best = max(
                finite, key=lambda it: (known + it >= 0).mean() + (other + it < 0).mean()
            )
            print(f"  with {best:+.2f}: {shares(best)}")


if __name__ == "__main__":
    main()
