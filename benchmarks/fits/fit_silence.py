"""Fit of silence by kind of prompt: does the memory hold something about it?

    MEMSENSE_DATA_DIR=... MEMSENSE_MULTILINGUAL=off python -m benchmarks.fits.fit_silence

Reads the stored panel without the sets that are marked non-commercial. Known are prompts whose gold
is in ten hits. Unknown are the unrelated prompts of memsense.evaluation, those of made-work that
want silence, personal questions about what no store holds, all put to several memories, and, with
little weight, known prompts without their gold. Questions and requests are fitted apart, both with
token vectors and by words alone. The bias is shifted so that a chance of one half keeps 92% of the
unrelated requests silent; of the questions, 98% of the unrelated and 90% of the personal ones. With
small talk, which is always silent, that is more than 95% of all. SHIFTS are set by hand: with them
`python -m benchmarks.context_sets` still has 95% of the unrelated prompts silent, over all kinds. So
are the weights that NAMES leaves out: few prompts have what they weigh.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.context_sets import OWN_PERSONAL, ask_set
from benchmarks.fits.fit_context import fit, without_tokens
from memsense import MemSense
from memsense.evaluation.context import read_unrelated
from memsense.search.hits import judged
from memsense.search.silence import is_small_talk, judge_features
from memsense.text.prompts import searched

FOLDER = Path("../shared/eval/panel")
SHARES = {
    "made-work": 2.5,
    "made-pasted": 0.5,
    "made-agent": 1.0,
    "made-long": 1.0,
    "made-mentions": 0.7,
    "made-letters": 0.3,
    "realmem": 1.0,
    "lifebench-en": 0.3,
    "unrelated": 3.0,
    "want_silence": 2.0,
    "personal": 2.5,
    "removed": 0.5,
}
"""Weight of each group, however many prompts it has."""

UNKNOWN_STORES = ("made-work", "made-agent", "made-long", "made-mentions", "realmem")
NAMES = {
    ("question", True): "bias similarity tokens met coverage words proper weakest".split(),
    ("request", True): "bias similarity tokens met coverage words proper my".split(),
    ("question", False): "bias coverage words proper".split(),
    ("request", False): "bias coverage words proper my".split(),
}
LIMITS = {
    "question": {"unrelated": 0.98, "personal": 0.9},
    "request": {"unrelated": 0.92},
}


SHIFTS = {"question": 0.5, "request": 0.9}


class Prompt(NamedTuple):
    """A prompt with what the decision weighs, with and without token vectors."""

    group: str
    kind: str
    is_known: bool
    features: tuple[dict[str, float], dict[str, float]]


def collect() -> list[Prompt]:
    """Return all prompts with their features."""
    prompts: list[Prompt] = []

    def ask(
        memory: MemSense, group: str, text: str, is_known: Callable[[Any], bool], arguments: Any
    ) -> None:
        query = "\n".join(searched(text))
        result = memory.search(query, top_k=30, **arguments)
        if is_small_talk(query) or not result or result.question.get("language", "en") != "en":
            return
        hits = judged(result.hits)
        features = (
            judge_features(query, without_tokens(hits), result.question),
            judge_features(query, hits, result.question),
        )
        kind = result.question.get("kind", "question")
        known = is_known(result)
        if known or group in {"unrelated", "personal", "want_silence", "removed"}:
            prompts.append(Prompt(group, kind, known, features))

    for name in list(SHARES)[:8]:
        with MemSense.open(namespace=f"panel-{name}") as memory:
            for arguments, item, _ in ask_set(FOLDER, name):
                gold = set(item.gold_turn_ids)
                if item.want_silence:
                    ask(memory, "want_silence", item.text, lambda _: False, arguments)
                elif item.gold_ok and item.answerable:

                    def is_found(result: Any, gold: set[str] = gold) -> bool:
                        return any(gold & set(hit.message_ids) for hit in result[:10])

                    ask(memory, name, item.text, is_found, arguments)
                    if name in ("made-work", "made-pasted", "made-agent"):
                        excluded = {**arguments, "exclude": [*arguments["exclude"], *gold]}
                        ask(memory, "removed", item.text, lambda _: False, excluded)
    for name in UNKNOWN_STORES:
        user = next(iter(ask_set(FOLDER, name)))[0]["user_id"]
        with MemSense.open(namespace=f"panel-{name}") as memory:
            for group, texts in (
                ("unrelated", [item.prompt for item in read_unrelated()]),
                ("personal", OWN_PERSONAL),
            ):
                for text in texts:
                    ask(memory, group, text, lambda _: False, {"user_id": user})
    return prompts


def main() -> None:
    """Print the weights of each kind, and the share of each group that speaks."""
    prompts = collect()
    for (kind, with_tokens), names in NAMES.items():
        rows = [it for it in prompts if it.kind == kind]
        groups = np.array([it.group for it in rows])
        features = np.array([[it.features[with_tokens].get(n, 0.0) for n in names] for it in rows])
        labels = np.array([float(it.is_known) for it in rows])
        weights = np.zeros(len(rows))
        for group, share in SHARES.items():
            members = groups == group
            count = max(int(members.sum()), 1)
            weights[members] = 100 * share / count * min(1.0, count / 10)
        for label in (0.0, 1.0):
            weights[labels == label] *= 500 / weights[labels == label].sum()
        chosen = fit(features, labels, weights, penalty=3.0)
        totals = features @ chosen
        threshold = max(np.quantile(totals[groups == g], q) for g, q in LIMITS[kind].items())
        chosen[0] -= threshold - SHIFTS[kind]
        speak = {
            str(group): f"{(totals[groups == group] >= threshold).mean():.2f}"
            for group in dict.fromkeys(groups)
        }
        print(kind, "tokens" if with_tokens else "words", end=": ")
        print({name: round(float(it), 2) for name, it in zip(names, chosen, strict=True)})
        print(f"  speak: {speak}")


if __name__ == "__main__":
    main()
