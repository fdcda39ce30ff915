"""Long questions over the bundled sample log, with the packaged model; and their rarest words."""

import random
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib.resources import as_file, files
from typing import Any

import pytest
from embedders import HashingEmbedder
from traced import fill

from memsense import MemSense
from memsense.embed import OnnxEmbedder
from memsense.search.hits import SearchResult
from memsense.text.lexemes import ask_lexemes

OpenMemory = Callable[..., MemSense]
LENGTH = 3_000
# Of what the log is about as well: the readings of gauges, a server, a move and a dog.
SENTENCES = (
    "The pumping station reported falling pressure during the whole of the night shift.",
    "Readings of the upper gauges arrived late, since the modem was started again twice.",
    "After the restart the database needed forty minutes until every index was warm.",
    "The team agreed to write the summary before the meeting with the authorities.",
    "The tenants left the old boxes in the cellar, so the new pipes waited outside.",
    "A contractor asked for the keys, and the dog of the caretaker would not let him in.",
    "The invoice for the valves came twice, and the second one was cancelled by telephone.",
    "Costs stay within the budget of the quarter if the crane is sent back on Friday.",
    "The school next door complained about the noise and got a date for the end of it.",
    "Maps of the district were printed in large sheets and hung up in the corridor.",
)
QUESTIONS = {
    "Who has to sign off on the quantiles?": "s06-m11",
    "What is Joost allergic to?": "s03-m01",
    "What is the booking code of our flights to Japan?": "s27-m09",
    "Which shoe size did I buy in Gohlis?": "s04-m11",
    "Remind me what the physio is called.": "s13-m07",
}


@pytest.fixture(scope="module")
def sample(module_database_url: str) -> Iterator[MemSense]:
    """Yield the memory of the bundled sample log."""
    log = files("memsense") / "data" / "sample_conversation.jsonl"
    with MemSense.open(module_database_url, embedder=OnnxEmbedder()) as opened:
        with as_file(log) as path:
            opened.ingest(path, user_id="ines")
        yield opened


def pasted(length: int = LENGTH, *, seed: int = 1) -> str:
    """Return lines of a report and of a log."""
    source, text = random.Random(seed), ""
    while len(text) < length:
        minute = source.randrange(60)
        text += f"{source.choice(SENTENCES)} {source.choice(SENTENCES)}\n"
        text += f"2026-02-11 03:{minute:02}:09 WARN [loader] batch {minute}41 took {minute}89 ms\n"
    return text[:length]


def place(question: str, where: str) -> str:
    text = pasted()
    if where == "first":
        return f"{question}\n\n{text}"
    middle = text.index("\n", len(text) // 2) if where == "middle" else len(text)
    return f"{text[:middle]}\n{question}\n{text[middle:]}"


def assert_adds_up(result: SearchResult) -> None:
    assert result.hits
    for hit in result:
        assert sum(value for _, value in hit.explain.parts()) == pytest.approx(hit.score, abs=1e-9)


def listed(result: SearchResult) -> list[tuple[int, float]]:
    return [(hit.chunk_id, hit.score) for hit in result]


def count_words(result: SearchResult) -> int:
    """Return the number of words that the lexemes of the answer's question are spellings of."""
    literal = ask_lexemes(result.question["searched"], "en", ["en"])
    words = dict(re.findall(r"'([^']+)':(\d+)", literal))
    # A lexeme of the memory that is near to a word of the question is none of its spellings.
    return len({words[lexeme] for lexeme in result.question["lexemes"] if lexeme in words})


def is_exact(memory: MemSense, question: str) -> bool:
    """Return whether the replay of a traced search gives the same hits with the same scores."""
    result = memory.search(question, user_id="ines", trace=True)
    replay = memory.traces.replay(result.trace_id or "")
    assert [hit.score for hit in replay.new] == [hit.score for hit in result]
    return replay.is_unchanged and {move.why for move in replay.moves} == {"unchanged"}


@pytest.mark.parametrize("where", ["first", "middle", "last"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_the_fact_is_found_beside_a_pasted_text(
    sample: MemSense, question: str, where: str
) -> None:
    # An order in the middle of a text is a part of the text.
    if where == "middle" and not question.endswith("?"):
        return
    prompt = place(question, where)
    result = sample.search(prompt, user_id="ines", top_k=5)
    assert QUESTIONS[question] in {message for hit in result for message in hit.message_ids}
    assert result.question["text"] == prompt.strip().replace("\n\n", "\n")
    assert_adds_up(result)
    # It is the answer to the question alone, with the scores that this has.
    alone = sample.search(question, user_id="ines", top_k=5)
    assert listed(result) == listed(alone)
    assert result.question["searched"] == alone.question["searched"]
    assert {**result.question, "text": question} == alone.question


def test_several_questions_in_a_long_prompt_are_searched_for_together(sample: MemSense) -> None:
    first, second = list(QUESTIONS)[:2]
    result = sample.search(f"{first}\n{pasted()}\n{second}", user_id="ines", top_k=8)
    message_ids = {message for hit in result for message in hit.message_ids}
    assert {QUESTIONS[first], QUESTIONS[second]} <= message_ids


STORY = f"""{pasted(2_000)}
All of this took so long that there was half an hour left for dinner. Ines is vegetarian and can't
stand coriander, Joost is allergic to walnuts, and Fenna eats miso udon if the mushrooms are
invisible. So it became udon with miso again, in thirty minutes, with mushrooms cut so small that
they could not be seen, without walnuts on top and without coriander. Everybody had a second
plate, and the kitchen smelt of miso and mushrooms until the next morning, when the boxes went."""
"""A long text in which nothing asks: its last paragraph is about one exchange of the log."""

DINNER = STORY[2_001:].replace("\n", " ").replace(".", " and")
ASKING = "\n".join(
    [
        *(" and ".join(SENTENCES[at : at + 5]).replace(".", "") + "?" for at in (0, 5)),
        f"{DINNER[:250]}?",
        f"{DINNER[250:]}?",
    ]
)
"""Long sentences that ask: more than the model reads at once. The last is about that exchange."""


def test_of_a_long_text_without_a_question_both_ends_are_searched(sample: MemSense) -> None:
    result = sample.search(STORY, user_id="ines", top_k=5)
    assert result.question["searched"] == f"{STORY[:200]}\n{STORY[-200:]}"
    assert "s03-m01" in {message for hit in result for message in hit.message_ids}
    assert_adds_up(result)


def test_of_long_sentences_that_ask_the_rarest_words_are_searched_for(sample: MemSense) -> None:
    result = sample.search(ASKING, user_id="ines", top_k=5)
    assert "s03-m01" in {message for hit in result for message in hit.message_ids}
    assert count_words(result) == 32
    assert result.question["left_out"]
    assert_adds_up(result)


@pytest.mark.parametrize("text", [ASKING, place("What is Joost allergic to?", "last")])
def test_the_first_hits_of_many_are_those_of_few(sample: MemSense, text: str) -> None:
    every = listed(sample.search(text, user_id="ines", top_k=20))
    assert len(every) == 20
    for top_k in (1, 3, 8, 19):
        assert listed(sample.search(text, user_id="ines", top_k=top_k)) == every[:top_k]


@pytest.mark.parametrize("text", [ASKING, place("What is Joost allergic to?", "middle")])
@pytest.mark.parametrize("granularity", ["turn", "session"])
def test_a_replay_of_a_long_prompt_is_exact(sample: MemSense, text: str, granularity: str) -> None:
    assert is_exact(sample, text)
    result = sample.search(text, user_id="ines", granularity=granularity, trace=True)  # pyright: ignore[reportArgumentType]
    replay = sample.traces.replay(result.trace_id or "")
    assert replay.is_unchanged
    assert listed(result) == [(hit.chunk_id, hit.score) for hit in replay.new]
    assert_adds_up(result)


def test_why_not_judges_a_long_question(sample: MemSense) -> None:
    [first, *_, last] = sample.search(ASKING, user_id="ines", top_k=20).hits
    verdict = sample.why_not(ASKING, first.chunk_id, user_id="ines", top_k=5)
    assert (verdict.step, verdict.numbers["hit_rank"]) == ("hit", 1)
    verdict = sample.why_not(ASKING, last.chunk_id, user_id="ines", top_k=5)
    assert verdict.step in ("outranked", "mmr")
    # One that fusion did not keep.
    overrides = {"list_depth": 1, "least_candidates": 8, "least_route_limit": 8}
    options: dict[str, Any] = {"user_id": "ines", "top_k": 4, "overrides": overrides}
    result = sample.search(ASKING, trace=True, **options)
    candidates = {it.chunk_id for it in sample.traces.get(result.trace_id or "").candidates}
    wide = sample.search(ASKING, user_id="ines", top_k=100, trace=True)
    every = sample.traces.get(wide.trace_id or "").candidates
    beyond = [it for it in every if it.chunk_id not in candidates and it.granularity == "turn"]
    assert len(beyond) > 20
    for candidate in beyond[::10]:
        verdict = sample.why_not(ASKING, candidate.chunk_id, **options)
        assert verdict.step in ("no_route", "pool")
        ranks = dict(zip(candidate.routes, candidate.ranks, strict=True))
        assert verdict.numbers["places"] == ranks


class ShortEmbedder(HashingEmbedder):
    """HashingEmbedder that reads ten words."""

    def reads_whole(self, text: str) -> bool:
        """Return whether a text has at most ten words."""
        return len(text.split()) <= 10


TEXT = (
    f"The river is cold. {'The sea and a lantern in winter. ' * 20}Who drinks coffee with pepper?"
)


@pytest.mark.parametrize("granularity", ["turn", "session"])
def test_a_long_question_about_a_moment_of_the_past_is_cut_as_well(
    open_memory: OpenMemory, granularity: Any
) -> None:
    memory = open_memory(embedder=ShortEmbedder())
    memory.settings.set(history="on")
    fill(memory)
    now = memory.search(TEXT, user_id="ada", granularity=granularity)
    then = memory.search(TEXT, user_id="ada", granularity=granularity, as_of=datetime.now(UTC))
    assert then.question["searched"] == "Who drinks coffee with pepper?"
    assert now.question == then.question
    assert listed(now) == listed(then)


TREES = "alder birch cedar elm fig hazel larch linden oak palm rowan teak".split()


@pytest.fixture
def words(open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch) -> MemSense:
    """Return a memory in which alder is in 1 exchange, birch in 2, and so on to teak in 12."""
    # Names of trees alone show no language.
    monkeypatch.setenv("MEMSENSE_LANGUAGE", "en")
    memory = open_memory()
    for number in range(12):
        content = " ".join(TREES[number:])
        memory.add([{"role": "user", "content": content}], user_id="ada", session_id=f"s{number}")
    return memory


ALL_WORDS = " ".join([*reversed(TREES), "baobab", "sequoia"])


def test_the_rarest_words_that_the_memory_has_are_searched_for(words: MemSense) -> None:
    result = words.search(ALL_WORDS, user_id="ada", overrides={"question_words": 3})
    assert sorted(result.question["lexemes"]) == ["alder", "birch", "cedar"]
    assert len(result.question["left_out"]) == 11
    whole = words.search(ALL_WORDS, user_id="ada")
    assert "left_out" not in whole.question
    assert {*result.question["left_out"], *result.question["lexemes"]} == {
        *whole.question["lexemes"]
    }
    # Words that no memory has come last.
    most = words.search(ALL_WORDS, user_id="ada", overrides={"question_words": 13})
    assert sorted(most.question["left_out"]) == ["sequoia"]


@pytest.mark.parametrize("everybody", [False, True])
@pytest.mark.parametrize("profile", ["balanced", "lexical"])
def test_the_rarest_words_score_as_a_question_of_them_alone(
    words: MemSense, profile: str, everybody: bool
) -> None:
    if everybody:
        words.add([{"role": "user", "content": "teak rowan"}], user_id="bob", session_id="s")
    whose = {"all_users": True} if everybody else {"user_id": "ada"}

    def by_words(question: str, **overrides: int) -> dict[int, tuple[float, float]]:
        result = words.search(
            question,
            profile=profile,
            overrides=overrides,
            top_k=20,
            **whose,  # pyright: ignore[reportArgumentType]
        )
        lexical = {
            hit.chunk_id: [item.score for item in hit.explain.routes if item.route == "lexical"]
            for hit in result
        }
        coverage = {hit.chunk_id: hit.explain.coverage for hit in result}
        return {key: (scores[0], coverage[key]) for key, scores in lexical.items() if scores}

    rarest = by_words(ALL_WORDS, question_words=3)
    assert rarest == by_words("alder birch cedar")
    assert len(rarest) == 3


def test_words_are_left_out_only_where_any_word_may_match(words: MemSense) -> None:
    result = words.search(
        ALL_WORDS, user_id="ada", profile="memsense", overrides={"question_words": 3}
    )
    assert len(result.question["lexemes"]) == 14
    assert "left_out" not in result.question


def test_an_embedder_that_does_not_say_what_it_reads_embeds_the_question_as_a_whole(
    memory: MemSense,
) -> None:
    fill(memory)
    result = memory.search(f"{pasted()}\nWhere is the lantern?", user_id="ada")
    assert len(result.question["searched"]) > LENGTH
    assert count_words(result) == 32
