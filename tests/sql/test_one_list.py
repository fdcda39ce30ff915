"""A search has one list: the hits of a smaller top_k are the first hits of a larger one."""

import random
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import pytest
from embedders import TokenHashingEmbedder

from memsense import MemSense
from memsense.search.hits import SearchResult
from memsense.search.profiles import BALANCED, PROFILES
from memsense.types import Granularity

OpenMemory = Callable[..., MemSense]
START = datetime(2026, 5, 1, 12, tzinfo=UTC)
WORDS = (
    "tea pot garden rose train lisbon kiln clay ticket violin dinner lamp river bridge ski soup"
    " novel chess paint camera tent oven bread coffee bicycle museum letter guitar puzzle market"
).split()
QUESTIONS = (
    "Which tea did Ann buy for the garden?",
    "train to lisbon in May 2026",
    "When did Ben paint the bridge?",
    'Who said "clay and kiln"?',
    "violin dinner soup bread coffee museum market novel chess",
    "zeppelin",
)
FILTERS: tuple[Mapping[str, Any], ...] = (
    {"user_id": "ada"},
    {"all_users": True},
    {"user_id": "ada", "since": START + timedelta(days=3), "tags": ["long"]},
    {"user_id": "ada", "min_score": 0.4},
)
LONGEST = 50
LENGTHS = (1, 5, 20)
LIMITED = BALANCED.override(name="limited", max_per_session=3, min_sessions=6)
DIVERSE = BALANCED.override(name="diverse", mmr_lambda=0.5, duplicate_threshold=0.7)


@pytest.fixture
def memory(open_memory: OpenMemory) -> MemSense:
    """Store sessions of random words: some exchanges are repeated, some are long."""
    draw = random.Random(5)
    memory = open_memory(embedder=TokenHashingEmbedder())
    before = ""
    for session in range(16):
        messages: list[dict[str, Any]] = []
        for turn in range(12):
            said = [" ".join(draw.choices(WORDS, k=draw.choice([4, 9, 30]))) for _ in range(2)]
            texts = [before or said[0] if draw.random() < 0.15 else said[0], said[1]]
            before = texts[0]
            at = START + timedelta(days=session, minutes=turn)
            for role, name, text in zip(("user", "assistant"), ("Ann", "Ben"), texts, strict=True):
                messages.append({"role": role, "name": name, "content": f"{text}.", "at": at})
        memory.add(
            messages,
            user_id="ada" if session % 4 else "bo",
            session_id=f"s{session}",
            mode="hybrid",
            tags=["long"] if session % 2 else [],
        )
    return memory


def check_beginning(found: SearchResult, longest: SearchResult, case: object) -> None:
    """Check that `found` is the beginning of `longest`, up to the last bits of a sum."""
    assert [hit.chunk_id for hit in found] == [hit.chunk_id for hit in longest][: len(found)], case
    for one, other in zip(found, longest, strict=False):
        assert one.content == other.content, case
        assert one.score == pytest.approx(other.score, abs=1e-12), case
        parts, others = dict(one.explain.parts()), dict(other.explain.parts())
        assert parts == pytest.approx(others, abs=1e-12), case
        steps = one.explain.selection, other.explain.selection
        assert steps[0] is not None
        assert steps[1] is not None
        assert steps[0].against == steps[1].against, case
        assert steps[0].mmr_score == pytest.approx(steps[1].mmr_score, abs=1e-9), case


@pytest.mark.parametrize("granularity", ["turn", "session"])
def test_a_smaller_top_k_gives_the_first_hits_of_a_larger_one(
    memory: MemSense, granularity: Granularity, is_long: bool
) -> None:
    lengths: list[int] = []
    cases = list(product(QUESTIONS, FILTERS))
    # The original's pools depend on top_k, and so do those of its profile.
    shipped = [profile for name, profile in PROFILES.items() if name != "memsense"]
    profiles = (*shipped, PROFILES["memsense"].override(list_depth=50), LIMITED, DIVERSE)
    for number, profile in enumerate(profiles):
        # A third for each profile, another one each time.
        part = cases if is_long else cases[number % 3 :: 3]
        for question, scope in part:
            asked: dict[str, Any] = {"profile": profile, "granularity": granularity, **scope}
            longest = memory.search(question, top_k=LONGEST, **asked)
            lengths.append(len(longest))
            for top_k in LENGTHS:
                found = memory.search(question, top_k=top_k, **asked)
                assert len(found) == min(top_k, len(longest))
                check_beginning(found, longest, (profile.name, question, scope, top_k))
    assert max(lengths) > (20 if granularity == "turn" else 8)
