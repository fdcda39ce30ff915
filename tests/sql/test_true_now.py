"""Changed facts: the statement that the question's tense asks for, and the link between the two."""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from importlib.resources import as_file, files

import pytest

from memsense import MemSense, Supersession
from memsense.embed import OnnxEmbedder
from memsense.search.hits import Hit

OpenMemory = Callable[..., MemSense]
SAID = (
    ("old", 2024, "I work at Acme as an accountant.", "Noted. Which accounts do you keep?"),
    ("tea", 2024, "What is a good temperature for green tea?", "Seventy degrees."),
    ("cat", 2024, "I have a cat called Miso.", "A fine name for a cat."),
    ("new", 2025, "I quit Acme and started at Globex as an accountant.", "Congratulations."),
    ("dog", 2025, "I also have a dog called Bolt now.", "Cat and dog, then."),
)


def exchange(user: str, assistant: str, year: int) -> list[Mapping[str, str]]:
    at = datetime(year, 3, 1, tzinfo=UTC).isoformat()
    return [
        {"role": "user", "content": user, "timestamp": at},
        {"role": "assistant", "content": assistant, "timestamp": at},
    ]


@pytest.fixture
def memory(open_memory: OpenMemory) -> MemSense:
    return open_memory(embedder=OnnxEmbedder())


@pytest.fixture(scope="module")
def sample(module_database_url: str) -> Iterator[MemSense]:
    """Yield the memory of the bundled sample log."""
    log = files("memsense") / "data" / "sample_conversation.jsonl"
    with MemSense.open(module_database_url, embedder=OnnxEmbedder()) as opened:
        with as_file(log) as path:
            opened.ingest(path, user_id="ines")
        yield opened


@pytest.fixture
def chunks(memory: MemSense) -> dict[str, int]:
    """Return the chunk of each exchange of Ada, by its name."""
    return {
        name: memory.add(exchange(user, assistant, year), user_id="ada", session_id=name)[
            0
        ].chunk_id
        for name, year, user, assistant in SAID
    }


def ask(memory: MemSense, question: str) -> dict[int, Hit]:
    return {hit.chunk_id: hit for hit in memory.search(question, user_id="ada", top_k=5)}


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("Where do I work?", "new"),
        ("Where does Ada work?", "new"),
        ("Where does she work?", "new"),
        ("Where did I work originally?", "old"),
        ("What was my job at first?", "old"),
        ("Where did I work before I got to Globex?", "old"),
        ("What did I do for work until the start at Globex?", "old"),
    ],
)
def test_the_tense_of_the_question_says_which_statement_is_first(
    memory: MemSense, chunks: dict[str, int], question: str, first: str
) -> None:
    assert next(iter(ask(memory, question))) == chunks[first]


def test_the_term_says_why_and_the_parts_add_up(memory: MemSense, chunks: dict[str, int]) -> None:
    hits = ask(memory, "Where do I work as an accountant?")
    for hit in hits.values():
        assert sum(value for _, value in hit.explain.parts()) == pytest.approx(hit.score, abs=1e-9)
    lifted = [
        (hit.chunk_id, term.because)
        for hit in hits.values()
        for term in hit.explain.terms
        if term.name == "current"
    ]
    reason = f"newer than chunk {chunks['old']} about the same (ended: “quit” acme)"
    assert lifted == [(chunks["new"], reason)]


def test_hits_say_what_superseded_them(memory: MemSense, chunks: dict[str, int]) -> None:
    hits = ask(memory, "Where do I work?")
    at = datetime(2025, 3, 1, tzinfo=UTC)
    assert hits[chunks["old"]].superseded_by == Supersession(
        chunk_id=chunks["new"], at=at, reason="ended: “quit” acme"
    )
    assert hits[chunks["new"]].supersedes == Supersession(
        chunk_id=chunks["old"], at=at, reason="ended: “quit” acme"
    )
    assert hits[chunks["new"]].superseded_by is None
    as_dict = hits[chunks["old"]].as_dict()["superseded_by"]
    assert as_dict == {"chunk_id": chunks["new"], "at": at, "reason": "ended: “quit” acme"}


def test_a_replay_s_new_list_says_what_superseded_its_hits(
    memory: MemSense, chunks: dict[str, int]
) -> None:
    result = memory.search("Where do I work?", user_id="ada", top_k=5, trace=True)
    assert result.trace_id
    memory.traces.flush()
    replay = memory.traces.replay(result.trace_id)
    marks = {it.chunk_id: it.superseded_by for it in replay.new if it.superseded_by}
    assert marks == {it.chunk_id: it.superseded_by for it in result if it.superseded_by}
    assert marks.keys() == {chunks["old"]}
    [plain] = [it for it in replay.as_dict()["new"] if it["chunk_id"] == chunks["old"]]
    assert plain["superseded_by"]["chunk_id"] == chunks["new"]


def test_why_not_says_what_superseded_a_memory(memory: MemSense, chunks: dict[str, int]) -> None:
    verdict = memory.why_not("Where do I work?", chunks["old"], user_id="ada", top_k=1)
    assert verdict.step == "outranked"
    assert verdict.text.endswith(
        f"superseded by chunk {chunks['new']} on 2025-03-01 (ended: “quit” acme)"
    )
    assert verdict.numbers["superseded_by"] == chunks["new"]


def test_facts_beside_each_other_have_no_link(memory: MemSense, chunks: dict[str, int]) -> None:
    hits = ask(memory, "Which pets do I have?")
    assert {chunks["cat"], chunks["dog"]} <= hits.keys()
    assert hits[chunks["cat"]].superseded_by is None
    assert hits[chunks["dog"]].supersedes is None


def test_the_sentence_that_matters_decides_in_a_long_message(memory: MemSense) -> None:
    chatter = "The team met twice this week, and the room was cold. We drew boxes on the wall."
    said = {
        "old": f"{chatter} The dashboard's test coverage is 61 percent. Please write a plan.",
        "new": f"{chatter} The dashboard's test coverage has improved to 74 percent. What is next?",
    }
    ids: dict[str, int] = {}
    for year, (name, text) in enumerate(said.items(), 2024):
        [stored] = memory.add(exchange(text, "A plan.", year), user_id="ada", session_id=name)
        ids[name] = stored.chunk_id
    assert next(iter(ask(memory, "What is the dashboard's test coverage?"))) == ids["new"]


def test_parts_of_one_long_exchange_do_not_replace_each_other(memory: MemSense) -> None:
    text = "I moved to Bergen now, and I no longer rent. " * 120
    added = memory.add(exchange(text, "Congratulations.", 2025), user_id="ada", session_id="long")
    assert len(added) > 1
    hits = memory.search(
        "Where do I live?", user_id="ada", top_k=5, overrides={"one_per_exchange": False}
    )
    assert len(hits) > 1
    assert all(hit.superseded_by is None and hit.supersedes is None for hit in hits)
    assert "current" not in {term.name for hit in hits for term in hit.explain.terms}


@pytest.mark.parametrize("question", ["Which nut makes Joost ill?", "What is Joost allergic to?"])
def test_a_newer_memory_of_the_same_person_is_no_news_of_everything(
    sample: MemSense, question: str
) -> None:
    first = sample.search(question, user_id="ines")[0]
    assert "allergic to walnuts" in first.content


def test_a_stored_link_lifts_no_statement_that_says_little_about_the_question(
    sample: MemSense,
) -> None:
    first = sample.search("Which language is Ines learning?", user_id="ines")[0]
    assert "I started learning Japanese" in first.content


def test_forgetting_the_newer_statement_undoes_the_link(
    memory: MemSense, chunks: dict[str, int]
) -> None:
    memory.forget(chunks["new"])
    hits = ask(memory, "Where do I work?")
    assert next(iter(hits)) == chunks["old"]
    assert hits[chunks["old"]].superseded_by is None


def test_without_the_term_there_is_no_link(memory: MemSense, chunks: dict[str, int]) -> None:
    result = memory.search(
        "Where do I work?", user_id="ada", top_k=5, overrides={"current_weight": 0.0}
    )
    assert {hit.chunk_id for hit in result} >= {chunks["old"], chunks["new"]}
    assert all(hit.superseded_by is None and hit.supersedes is None for hit in result)
    assert "current" not in {term.name for hit in result for term in hit.explain.terms}
