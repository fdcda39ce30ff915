"""Kinds of prompt: requests are ranked by other constants, and every explanation says so."""

import pytest
from traced import fill

from memsense import MemSense
from memsense.errors import InvalidInputError
from memsense.search.profiles import BALANCED, read_profile

TEXT = "recommend a garden with apple trees near the river"


def test_a_request_is_read_by_its_words_and_named_in_the_answer(memory: MemSense) -> None:
    fill(memory)
    result = memory.search(TEXT, user_id="ada")
    assert result.question["kind"] == "request"
    assert result.question["kind_by"] == "words"
    assert result.question["request_chance"] > 0.5
    plain = memory.search("where is the garden with apple trees", user_id="ada")
    assert plain.question["kind"] == "question"
    assert plain.question["request_chance"] < 0.5


def test_the_caller_can_say_the_kind(memory: MemSense) -> None:
    fill(memory)
    ranked = {
        kind: memory.search(TEXT, user_id="ada", prompt_kind=kind, overrides={"mmr_lambda": 1.0})
        for kind in ("question", "request")
    }
    for kind, result in ranked.items():
        assert result.question["kind"] == kind
        assert result.question["kind_by"] == "caller"
        assert result.question["request_chance"] == float(kind == "request")
        for hit in result:
            assert sum(value for _, value in hit.explain.parts()) == pytest.approx(hit.score)
    words = {
        kind: {
            item.rank: item.contribution
            for hit in result
            for item in hit.explain.routes
            if item.route == "lexical"
        }
        for kind, result in ranked.items()
    }
    both = words["question"].keys() & words["request"].keys()
    assert both
    for rank in both:
        assert words["request"][rank] == pytest.approx(
            BALANCED.request_words * words["question"][rank]
        )
    [similarity] = {
        term.weight
        for hit in ranked["request"]
        for term in hit.explain.terms
        if term.name == "similarity"
    }
    assert similarity == BALANCED.similarity_weight + BALANCED.request_similarity
    many = memory.search_many([TEXT, TEXT], user_id="ada", prompt_kind="question")
    assert [result.question["kind"] for result in many] == ["question", "question"]


def test_another_kind_is_refused(memory: MemSense) -> None:
    with pytest.raises(InvalidInputError, match="prompt_kind"):
        memory.search(TEXT, user_id="ada", prompt_kind="order")  # pyright: ignore[reportArgumentType]


def test_a_profile_that_ranks_all_prompts_alike_reads_no_kind(memory: MemSense) -> None:
    fill(memory)
    for profile in ("memsense", "lexical"):
        result = memory.search(TEXT, user_id="ada", profile=profile, prompt_kind="request")
        assert result.profile == profile
        assert "kind" not in result.question


@pytest.mark.parametrize("kind", ["question", "request"])
def test_a_trace_keeps_the_share_of_a_request_and_a_replay_ranks_by_it(
    memory: MemSense, kind: str
) -> None:
    fill(memory)
    result = memory.search(TEXT, user_id="ada", prompt_kind=kind, trace=True)  # pyright: ignore[reportArgumentType]
    assert result.trace_id
    trace = memory.traces.get(result.trace_id)
    assert trace.profile_name == result.profile
    assert trace.profile == BALANCED.as_dict()
    assert (trace.kind, trace.kind_by) == (kind, "caller")
    assert trace.request_share == float(kind == "request")
    replay = memory.traces.replay(result.trace_id)
    assert replay.is_unchanged
    assert replay.changed == {}
    changed = memory.traces.replay(result.trace_id, overrides={"lexical": 0.0})
    direct = memory.search(TEXT, user_id="ada", prompt_kind=kind, overrides={"lexical": 0.0})  # pyright: ignore[reportArgumentType]
    assert [hit.chunk_id for hit in changed.new] == [hit.chunk_id for hit in direct]
    assert [hit.score for hit in changed.new] == [hit.score for hit in direct]


def test_a_profile_made_of_a_recorded_request_ranks_questions_as_before(memory: MemSense) -> None:
    fill(memory)
    result = memory.search(TEXT, user_id="ada", prompt_kind="request", trace=True)
    assert result.trace_id
    assert read_profile(memory.traces.get(result.trace_id).profile) == BALANCED


def test_why_not_ranks_by_the_kind(memory: MemSense) -> None:
    fill(memory)
    for kind in ("question", "request"):
        result = memory.search(TEXT, user_id="ada", prompt_kind=kind, top_k=3)
        for place, hit in enumerate(result, start=1):
            verdict = memory.why_not(TEXT, hit.chunk_id, user_id="ada", prompt_kind=kind, top_k=3)
            assert verdict.numbers["hit_rank"] == place


def test_the_first_hits_of_a_longer_list_are_the_same_for_a_request(memory: MemSense) -> None:
    fill(memory)
    long = memory.search(TEXT, user_id="ada", prompt_kind="request", top_k=20)
    for top_k in (1, 5, 10):
        short = memory.search(TEXT, user_id="ada", prompt_kind="request", top_k=top_k)
        assert [hit.chunk_id for hit in short] == [hit.chunk_id for hit in long][:top_k]
