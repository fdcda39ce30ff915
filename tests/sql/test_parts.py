"""Long exchanges: their parts are found each for itself, and one of them is the hit."""

from collections.abc import Generator
from typing import Any

import pytest

from memsense.client.memory import MemSense
from memsense.search.profiles import BALANCED
from tests.sql.embedders import HashingEmbedder

QUESTION = "How do I keep the Zanzibar clove orchard from rot?"
STEPS = ("drainage", "pruning", "copper", "mulch")


def answer() -> str:
    """An answer of four parts, each about a step of its own."""
    said = (f"Zanzibar clove orchard rot and {step}. " for step in STEPS)
    return "\n\n".join((sentence * 90)[:3600] for sentence in said)


@pytest.fixture
def memory(database_url: str) -> Generator[MemSense]:
    with MemSense.open(database_url, embedder=HashingEmbedder()) as opened:
        opened.add(
            [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": answer()}],
            user_id="ada", session_id="orchard",
        )  # fmt: skip
        for number in range(6):
            opened.add(
                [
                    {"role": "user", "content": f"Clove tea number {number}?"},
                    {"role": "assistant", "content": f"Brew {number} cloves."},
                ],
                user_id="ada", session_id="tea",
            )  # fmt: skip
        yield opened


def ask(memory: MemSense, question: str, **options: Any) -> Any:
    return memory.search(question, user_id="ada", granularity="turn", **options)


def parts_of(memory: MemSense) -> list[Any]:
    chunks = memory.recent(user_id="ada", session_id="orchard", limit=50)
    return sorted(chunks, key=lambda chunk: chunk.part)


def test_an_exchange_gives_one_hit_and_it_is_the_part_that_scores_best(memory: MemSense) -> None:
    question = "copper against rot in the Zanzibar orchard"
    every = ask(memory, question, overrides={"one_per_exchange": False, "mmr_lambda": 1.0})
    of_orchard = [hit for hit in every if hit.session_id == "orchard"]
    assert len(of_orchard) == len(STEPS)
    result = ask(memory, question)
    (kept,) = [hit for hit in result if hit.session_id == "orchard"]
    assert kept.chunk_id == of_orchard[0].chunk_id
    assert "copper" in kept.content
    assert kept.score == pytest.approx(of_orchard[0].score)
    assert len(result) == 1 + 6


def test_sessions_are_ranked_as_before_whatever_is_kept_of_an_exchange(memory: MemSense) -> None:
    kept, all_parts = (
        memory.search(
            "copper against rot", user_id="ada", granularity="session",
            overrides={"one_per_exchange": chosen},
        )
        for chosen in (True, False)
    )  # fmt: skip
    assert [(hit.chunk_id, hit.score) for hit in kept] == [
        (hit.chunk_id, hit.score) for hit in all_parts
    ]


def test_why_not_names_the_part_that_ranks_above(memory: MemSense) -> None:
    question = "copper against rot in the Zanzibar orchard"
    result = ask(memory, question, trace=True)
    (kept,) = [hit for hit in result if hit.session_id == "orchard"]
    others = [chunk for chunk in parts_of(memory) if chunk.chunk_id != kept.chunk_id]
    assert len(others) == len(STEPS) - 1
    for chunk in others:
        verdict = memory.why_not(question, chunk.chunk_id, user_id="ada", granularity="turn")
        assert verdict.step == "part"
        assert f"chunk {kept.chunk_id}, part {kept.chunk.part + 1}, which is hit 1" in verdict.text
        assert verdict.numbers["represented_by"] == kept.chunk_id
        assert verdict.numbers["part"] == chunk.part + 1
    trace = memory.traces.get(result.trace_id)
    dropped = {item.chunk_id: item for item in trace.candidates if not item.hit_rank}
    for chunk in others:
        item = dropped[chunk.chunk_id]
        assert (item.dropped_by, item.lost_to, item.score_rank) == ("part", kept.chunk_id, None)


def test_a_replay_says_to_which_part_a_hit_left_its_exchange(memory: MemSense) -> None:
    before = ask(memory, "copper against rot", trace=True, overrides={"one_per_exchange": False})
    replay = memory.traces.replay(before.trace_id, one_per_exchange=True)
    gone = [move.why for move in replay.moves if move.new_rank is None]
    assert len(gone) == len(STEPS) - 1
    assert all(why.startswith("left its exchange to chunk") for why in gone)


def test_what_is_outranked_by_score_is_not_laid_to_mmr(memory: MemSense) -> None:
    profile = BALANCED.override(mmr_lambda=1.0, duplicate_threshold=2.0)
    result = ask(memory, "clove tea number 3", top_k=2, profile=profile)
    assert len(result) == 2
    shown = {hit.chunk_id for hit in result}
    others = [
        chunk.chunk_id
        for chunk in memory.recent(user_id="ada", session_id="tea", limit=50)
        if chunk.chunk_id not in shown
    ]
    verdicts = [
        memory.why_not(
            "clove tea number 3", chunk_id, user_id="ada", granularity="turn", top_k=2,
            profile=profile,
        )
        for chunk_id in others
    ]  # fmt: skip
    assert {verdict.step for verdict in verdicts} == {"outranked"}
