"""Statements about one fact: which pairs are worth judging by every word."""

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from memsense.search.profiles import BALANCED
from memsense.search.question import analyse_question
from memsense.search.rank.current import Current, rate
from memsense.search.recall.candidates import Candidate, Candidates

FACTS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "changed_facts.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
    if '"old"' in line
]
POOL = 12


class Texts:
    """The user's words of candidates, each read whole."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts

    @property
    def have_text(self) -> np.ndarray:
        return np.ones(len(self._texts), dtype=bool)

    def read(self, places: Sequence[int]) -> list[tuple[str, str]]:
        return [(self._texts[place], self._texts[place]) for place in places]


def compare(question: str, seed: int) -> Current:
    """Return the comparison of both statements of a few facts, in a random order."""
    rng = np.random.default_rng(seed)
    facts = [FACTS[place] for place in rng.integers(len(FACTS), size=POOL // 2)]
    pairs = [fact[side] for fact in facts for side in ("old", "new")]
    messages = [pairs[place] for place in rng.permutation(len(pairs))]
    # Vectors that are all alike leave the judgement to the words.
    vectors = rng.standard_normal((len(messages), 8)) * 0.2 + 1
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    candidates = Candidates.of(
        [
            Candidate(
                chunk_id=place + 1,
                rrf_score=1 / (place + 16),
                routes=(),
                scope_id=1,
                granularity="turn",
                session_id=f"s{place}",
                ordinal=0,
                part=0,
                memory_score=0.0,
                tags=frozenset(),
                occurred_at=datetime.fromisoformat(one["at"]),
                user_speaker=None,
                assistant_speaker=None,
                embedding=vectors[place].astype(np.float32),
            )
            for place, one in enumerate(messages)
        ]
    )
    return Current(
        candidates=candidates,
        profile=BALANCED.override(current_depth=6),
        question=analyse_question(question),
        rows=list(range(len(messages))),
        messages=Texts([one["user"] for one in messages]),
        scores=np.linspace(1, 0.5, len(messages)),
    )


@pytest.mark.parametrize(
    "question",
    [
        "Where do I live now?",
        "Which laptop do I have?",
        "Where did I live before I came to Grenoble?",
        "What does Nadia's sister do?",
    ],
)
def test_pairs_that_are_not_judged_by_every_word_are_those_below_every_threshold(
    question: str,
) -> None:
    least = min(BALANCED.current_threshold, BALANCED.current_link_threshold)
    judged = above = 0
    for seed in range(30):
        current = compare(question, seed)
        expected = {pair: rate(evidence) for pair, evidence in current.judged.items()}
        plain = {pair: strength for pair, strength in expected.items() if strength > least}
        assert plain.items() <= current.strengths.items()
        assert current.strengths.items() <= expected.items()
        judged += len(expected) - len(current.strengths)
        above += len(plain)
    assert judged > above > 0
