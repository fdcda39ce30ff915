"""Long exchanges: each part is found separately, and one of them is the hit."""

from collections.abc import Generator
from datetime import UTC, datetime
from typing import Any

import numpy as np
import psycopg
import pytest
from embedders import HashingEmbedder
from pgvector.psycopg import register_vector

from memsense.client.memory import MemSense
from memsense.search.hits import join_parts
from memsense.search.profiles import BALANCED

QUESTION = "How do I keep the Zanzibar clove orchard from rot?"
STEPS = ("drainage", "pruning", "copper", "mulch")

# The first part alone has a vector of the user's side. By ranks alone, without tokens, it would
# win over the part that has the question's words.
WORDS = {"coverage_weight": 0.15}


def answer() -> str:
    """Return an answer of four parts, each about another step."""
    said = (f"Zanzibar clove orchard rot and {step}. " for step in STEPS)
    return "\n\n".join((sentence * 20)[:800] for sentence in said)


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
    every = ask(memory, question, overrides={**WORDS, "one_per_exchange": False, "mmr_lambda": 1.0})
    of_orchard = [hit for hit in every if hit.session_id == "orchard"]
    assert len(of_orchard) == len(STEPS)
    result = ask(memory, question, overrides=WORDS)
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
    replay = memory.traces.replay(before.trace_id, overrides={"one_per_exchange": True})
    gone = [move.why for move in replay.moves if move.new_rank is None]
    assert len(gone) == len(STEPS) - 1
    assert all(why.startswith("left its exchange to chunk") for why in gone)


def test_why_not_does_not_blame_mmr_for_a_low_score(memory: MemSense) -> None:
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


def test_every_later_part_begins_as_the_user_did_and_a_hit_shows_it(memory: MemSense) -> None:
    parts = parts_of(memory)
    assert [chunk.part for chunk in parts] == [0, 1, 2, 3]
    assert {chunk.part_count for chunk in parts} == {4}
    assert [chunk.opening_length for chunk in parts] == [0, *[len(QUESTION) + 1] * 3]
    for chunk, step in zip(parts, STEPS, strict=True):
        assert chunk.content.count(QUESTION) == 1
        assert chunk.content.startswith(f"user: {QUESTION}")
        assert f"rot and {step}" in chunk.content
        assert chunk.own_user_text == ("" if chunk.part else QUESTION)
    result = ask(memory, "keep the orchard: mulch", overrides=WORDS)
    hit = next(hit for hit in result if hit.session_id == "orchard")
    assert (hit.chunk.part, QUESTION in hit.content, "mulch" in hit.content) == (3, True, True)
    assert hit.as_dict()["explain"]["part"] == {"number": 4, "of": 4}
    assert all(hit.explain.part is None for hit in result if hit.session_id == "tea")


def test_a_part_is_found_by_the_words_of_the_opening(memory: MemSense) -> None:
    result = ask(
        memory, "keep mulch", overrides={"vec_full": 0.0, "vec_user": 0.0, "vec_assistant": 0.0}
    )
    assert result[0].chunk.part == 3
    alone = memory.why_not("keep", parts_of(memory)[3].chunk_id, user_id="ada", granularity="turn")
    assert alone.step in ("part", "hit")


def test_the_opening_is_embedded_with_the_whole_part_and_not_as_its_user_side(
    memory: MemSense, database_url: str
) -> None:
    with psycopg.connect(database_url) as connection:
        found = connection.execute(
            "SELECT c.part, array_agg(e.route ORDER BY e.route)"
            " FROM memsense.chunks AS c JOIN memsense.embeddings AS e USING (chunk_id)"
            " WHERE c.session_id = 'orchard' AND c.granularity = 'turn' GROUP BY c.part ORDER BY 1"
        ).fetchall()
        pending = connection.execute("SELECT * FROM memsense.pending_embeddings").fetchall()
        register_vector(connection)
        (stored,) = connection.execute(
            "SELECT e.embedding FROM memsense.chunks AS c"
            " JOIN memsense.embeddings AS e USING (chunk_id)"
            " WHERE c.session_id = 'orchard' AND c.part = 3 AND e.route = 'full'"
            " AND c.granularity = 'turn'"
        ).fetchone() or (None,)
    assert found == [(0, ["assistant", "full", "user"])] + [
        (part, ["assistant", "full"]) for part in (1, 2, 3)
    ]
    assert pending == []
    last = parts_of(memory)[3]
    text = f"{last.user_text}\n{last.assistant_text}"
    (expected,) = HashingEmbedder().embed([text])
    assert stored is not None
    assert np.allclose(stored.to_numpy(), expected, atol=1e-3)


def test_the_neighbours_of_a_part_do_not_repeat_the_opening(memory: MemSense) -> None:
    result = ask(memory, "keep the orchard: copper", overrides=WORDS)
    hit = next(hit for hit in result if hit.session_id == "orchard")
    assert hit.chunk.part == 2
    shown = [hit.content, *(neighbor.chunk.content for neighbor in hit.neighbors)]
    assert [neighbor.chunk.part for neighbor in hit.neighbors] == [1, 3]
    assert [text.count(QUESTION) for text in shown] == [1, 0, 0]


def test_a_prompt_quotes_the_whole_exchange_of_a_part(memory: MemSense) -> None:
    story = "My grandfather planted the orchard of vanilla in 1931. " * 8
    memory.add(
        [
            {"role": "user", "content": story + "Which birds live there?"},
            {"role": "assistant", "content": "No bird does. " * 150 + "Only the kiwi sings."},
        ],
        user_id="ada", session_id="birds",
    )  # fmt: skip
    result = ask(memory, "Only the kiwi sings", overrides=WORDS, top_k=1)
    assert result[0].chunk.part > 0
    assert story not in result[0].content
    assert [part.part for part in result[0].parts] == [
        part for part in range(result[0].chunk.part_count) if part != result[0].chunk.part
    ]
    prompt = result.to_prompt(max_tokens=400)
    assert f"{story}Which birds live there?" in prompt
    assert "Only the kiwi sings." in prompt
    assert prompt.chunk_ids == (result[0].chunk_id,)


def test_of_a_very_long_exchange_the_first_part_and_those_near_the_hit_are_quoted(
    memory: MemSense,
) -> None:
    text = " ".join(f"Line {number} of the log of the ship." for number in range(600))
    memory.add([{"role": "user", "content": f"{text} The ship sank."}], user_id="ada")
    (hit,) = ask(memory, "When was it that the ship sank?", top_k=1, content_budget=1500)
    assert hit.chunk.part == hit.chunk.part_count - 1 > 9
    near = [hit.chunk.part - 2, hit.chunk.part - 1]
    assert sorted(part.part for part in hit.parts) in ([0, *near], [0, *near[1:]])
    whole = join_parts(hit.chunk, hit.parts).user_text
    assert whole.startswith("Line 0 of the log")
    assert whole.endswith("The ship sank.")
    assert whole.count("\n…\n") == 1


def test_no_prompt_quotes_parts_that_a_filter_or_an_update_has_taken_away(
    memory: MemSense,
) -> None:
    memory.settings.set(history="on")
    before = datetime.now(UTC)
    parts = parts_of(memory)
    memory.update(parts[0].chunk_id, content={"user": "How do I keep the orchard dry?"})
    question = "copper against rot in the Zanzibar orchard"
    for options in ({}, {"since": datetime(2000, 1, 1, tzinfo=UTC)}):
        prompt = ask(memory, question, overrides=WORDS, **options).to_prompt()
        assert QUESTION not in prompt
        assert "keep the orchard dry" in prompt
    assert QUESTION in ask(memory, question, overrides=WORDS, as_of=before).to_prompt()


def test_a_session_says_the_opening_once(memory: MemSense) -> None:
    for since in (None, datetime(2000, 1, 1, tzinfo=UTC)):
        result = memory.search(
            "Zanzibar clove orchard", user_id="ada", granularity="session", since=since
        )
        texts = [hit.content for hit in result if hit.session_id == "orchard"]
        assert sum(text.count(QUESTION) for text in texts) <= 1
    chunks = memory.recent(user_id="ada", session_id="orchard", limit=50)
    contexts = [chunk.context for chunk in chunks]
    assert sum(text.count(QUESTION) for text in contexts) == 1
    assert all(chunk.next_user_text is None for chunk in chunks)


@pytest.mark.parametrize("part", [0, 2])
def test_forgetting_a_part_forgets_the_exchange_and_restoring_brings_it_back(
    memory: MemSense, part: int
) -> None:
    ids = [chunk.chunk_id for chunk in parts_of(memory)]
    before = [(chunk.content, chunk.context) for chunk in parts_of(memory)]
    assert memory.forget(ids[part]) == ids
    assert parts_of(memory) == []
    assert not [hit for hit in ask(memory, QUESTION) if "Zanzibar" in f"{hit}"]
    assert memory.archive(ids[3]) == ids
    assert memory.restore(ids[1]) == ids
    assert [(chunk.content, chunk.context) for chunk in parts_of(memory)] == before
    (kept,) = [hit for hit in ask(memory, QUESTION) if hit.session_id == "orchard"]
    assert kept.chunk_id in ids


def test_promoting_a_part_promotes_its_exchange(memory: MemSense) -> None:
    ids = [chunk.chunk_id for chunk in parts_of(memory)]
    memory.promote(ids[2])
    assert [chunk.memory_score for chunk in parts_of(memory)] == pytest.approx([0.65] * 4)


def test_an_excluded_part_takes_its_exchange_along(memory: MemSense) -> None:
    ids = [chunk.chunk_id for chunk in parts_of(memory)]
    for granularity in ("turn", "session"):
        result = memory.search(QUESTION, user_id="ada", exclude=[ids[0]], granularity=granularity)
        assert "Zanzibar" not in f"{result.hits}"
    verdict = memory.why_not(QUESTION, ids[1], user_id="ada", exclude=[ids[0]])
    assert (verdict.step, verdict.numbers["filters"]) == ("scope", ["exclude"])


def test_reindexing_keeps_the_words_of_the_opening(memory: MemSense, database_url: str) -> None:
    texts = "SELECT chunk_id, tsv, user_length FROM memsense.chunks ORDER BY chunk_id"
    with psycopg.connect(database_url) as connection:
        before = connection.execute(texts).fetchall()
    memory.indexes.rebuild()
    with psycopg.connect(database_url) as connection:
        assert connection.execute(texts).fetchall() == before
