"""Token vectors: written with exchanges, updated with them, filled in later, and left out."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import psycopg
import pytest
from embedders import HashingEmbedder, TokenHashingEmbedder

from memsense import MemSense
from memsense.config import Settings
from memsense.doctor.checkup import check_up
from memsense.embed import Passage
from memsense.search.explanation import Term
from memsense.search.hits import Hit, SearchResult
from memsense.search.profiles import BALANCED, TOKEN_WEIGHTS

OpenMemory = Callable[..., MemSense]
STORED = (
    "SELECT c.chunk_id, t.user_pieces, length(t.pieces) / 2, t.signs"
    " FROM memsense.token_vectors AS t JOIN memsense.chunks AS c USING (chunk_id)"
    " ORDER BY c.ordinal, c.part"
)


def exchange(user: str, assistant: str) -> list[Mapping[str, str]]:
    return [{"role": "user", "content": user}, {"role": "assistant", "content": assistant}]


@pytest.fixture
def embedder() -> TokenHashingEmbedder:
    return TokenHashingEmbedder()


@pytest.fixture
def memory(open_memory: OpenMemory, embedder: TokenHashingEmbedder) -> MemSense:
    return open_memory(embedder=embedder)


def stored(url: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as conn:
        return conn.execute(STORED).fetchall()


def expected(text: str) -> bytes:
    [reading] = TokenHashingEmbedder().read([Passage(text)])
    return reading.tokens.signs.tobytes()


def tell(memory: MemSense) -> list[int]:
    """Add three exchanges of one session; return their chunks."""
    said = [("tea is green", "it is hot"), ("and the pot", "it is blue"), ("buy milk", "")]
    return [
        memory.add(exchange(*sides), user_id="ada", session_id="s")[0].chunk_id for sides in said
    ]


TEXTS = ["tea is green\nit is hot", "and the pot\nit is blue", "buy milk"]


def test_each_exchange_is_read_once_for_its_tokens_and_all_its_vectors(
    memory: MemSense, embedder: TokenHashingEmbedder, database_url: str
) -> None:
    tell(memory)
    rows = stored(database_url)
    assert [row[1:3] for row in rows] == [(3, 6), (3, 6), (2, 2)]
    assert [row[3] for row in rows] == [expected(text) for text in TEXTS]
    assert (embedder.passages, embedder.embedded) == (TEXTS, [])


def test_a_log_is_read_once(
    memory: MemSense, embedder: TokenHashingEmbedder, database_url: str, tmp_path: Any
) -> None:
    lines = [
        f'{{"session_id": "s", "id": "m{n}", "role": "{("user", "assistant")[n % 2]}",'
        f' "content": "word{n} said", "timestamp": "2026-05-07T10:{n:02}:00Z"}}\n'
        for n in range(8)
    ]
    log = tmp_path / "log.jsonl"
    log.write_text("".join(lines[:4]))
    memory.ingest(log, user_id="ada")
    log.write_text("".join(lines))
    memory.ingest(log, user_id="ada")
    rows = stored(database_url)
    assert len(rows) == len(embedder.passages) == 4
    assert rows[3][3] == expected("word6 said\nword7 said")


def test_a_forgotten_exchange_loses_its_tokens_and_gets_them_back(
    memory: MemSense, database_url: str
) -> None:
    chunks = tell(memory)
    before = stored(database_url)
    memory.forget(chunks[1])
    rows = stored(database_url)
    assert [row[0] for row in rows] == [chunks[0], chunks[2]]
    assert rows[1][3] == expected("buy milk")
    memory.restore(chunks[1])
    assert stored(database_url) == before


def test_an_edited_exchange_gets_tokens_of_its_new_text(
    memory: MemSense, database_url: str, tmp_path: Any
) -> None:
    line = (
        '{{"session_id": "s", "id": "m{n}", "role": "{role}", "content": "{text}",'
        ' "timestamp": "2026-05-07T10:0{n}:00Z"}}\n'
    )
    log = tmp_path / "log.jsonl"
    for first in ("green tea", "black coffee"):
        texts = [("user", first), ("assistant", "yes"), ("user", "the pot"), ("assistant", "no")]
        log.write_text(
            "".join(line.format(n=n, role=role, text=text) for n, (role, text) in enumerate(texts))
        )
        memory.ingest(log, user_id="ada")
    assert [row[3] for row in stored(database_url)] == [
        expected("black coffee\nyes"),
        expected("the pot\nno"),
    ]


def test_no_tokens_are_stored_where_the_settings_or_the_embedder_say_so(
    open_memory: OpenMemory, database_url: str
) -> None:
    embedder = TokenHashingEmbedder()
    tell(open_memory(embedder=embedder, settings=Settings(token_vectors=False)))
    assert (stored(database_url), embedder.passages) == ([], TEXTS)
    other = open_memory(embedder=HashingEmbedder(), namespace="other")
    tell(other)
    assert stored(database_url) == []
    assert other.search("green tea", user_id="ada")


def test_a_store_without_tokens_is_filled_as_it_would_have_been_written(
    open_memory: OpenMemory, database_url: str
) -> None:
    memory = open_memory(embedder=TokenHashingEmbedder())
    chunks = tell(memory)
    whole = stored(database_url)
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("DELETE FROM memsense.token_vectors WHERE chunk_id <> %s", [chunks[2]])
    sizes: list[int] = []
    assert memory.indexes.fill_tokens(on_chunks=sizes.append) == sum(sizes) == 2
    assert stored(database_url) == whole
    assert memory.indexes.fill_tokens() == 0


PLAIN: dict[str, object] = dict.fromkeys((*TOKEN_WEIGHTS, "current_weight"), 0.0)
TOKENS: dict[str, object] = {
    "tokens_weight": 1.0,
    "tokens_around_weight": 0.4,
    "tokens_session_weight": 0.3,
    "tokens_whole_weight": 0.2,
}


def filled(memory: MemSense) -> list[int]:
    """Add thirty exchanges in three sessions; return their chunks."""
    return [
        memory.add(
            exchange(f"word{n} tea", f"answer{n % 4} pot{n}?"),
            user_id="ada",
            session_id=f"s{n % 3}",
        )[0].chunk_id
        for n in range(30)
    ]


def terms_of(hit: Hit) -> dict[str, Term]:
    return {term.name: term for term in hit.explain.terms}


@pytest.mark.parametrize("granularity", ["turn", "session"])
def test_tokens_are_terms_and_every_part_adds_up(memory: MemSense, granularity: Any) -> None:
    filled(memory)
    result = memory.search(
        "word7 and pot7 tea", user_id="ada", granularity=granularity, top_k=5, overrides=TOKENS
    )
    assert result.notes == []
    for hit in result:
        assert sum(value for _, value in hit.explain.parts()) == pytest.approx(hit.score, abs=1e-9)
        value = terms_of(hit)["tokens"].value
        matches = hit.explain.matches
        assert sum(match.share * match.similarity for match in matches) == pytest.approx(
            value, abs=1e-6
        )
        assert [match.asked for match in matches] == ["word7", "and", "pot7", "tea"]
        sides = hit.explain.sides
        assert sides is not None
        # A token is on one side: the whole is at least the better side.
        assert max(sides.user or -1, sides.assistant or -1) <= value + 1e-6
    assert {"tokens_around", "tokens_session"} <= set(terms_of(result[0]))
    best = max(result, key=lambda hit: terms_of(hit)["tokens"].value)
    assert "word7" in best.content
    assert hit_as_json(result)["hits"][0]["explain"]["matches"][0]["asked"] == "word7"


def test_as_many_words_are_compared_as_the_profile_says(memory: MemSense) -> None:
    filled(memory)
    question = " ".join(f"word{n}" for n in range(80))

    def compared(**overrides: int) -> list[str]:
        result = memory.search(question, user_id="ada", overrides={**TOKENS, **overrides})
        return [match.asked for match in result[0].explain.matches]

    assert len(compared()) == BALANCED.question_tokens
    assert len(compared(question_tokens=80)) == 80
    assert len(compared(question_tokens=3)) == 3
    assert set(compared(question_tokens=3)) < set(compared())


def hit_as_json(result: SearchResult) -> Any:
    return json.loads(json.dumps(result.as_dict(), default=str))


def test_weights_of_zero_ask_for_no_tokens(memory: MemSense) -> None:
    filled(memory)
    result = memory.search("word7 tea", user_id="ada", overrides=PLAIN, granularity="turn")
    assert not {"tokens", "tokens_around", "tokens_session"} & set(terms_of(result[0]))
    assert list(result[0].explain.matches) == []


def test_chunks_without_tokens_get_the_value_expected_from_their_score(
    memory: MemSense, database_url: str
) -> None:
    chunks = filled(memory)
    asked: dict[str, Any] = {
        "user_id": "ada",
        "granularity": "turn",
        "top_k": 30,
        "overrides": TOKENS,
    }
    before = [hit.chunk_id for hit in memory.search("word7 tea", **asked)]
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("DELETE FROM memsense.token_vectors WHERE chunk_id = %s", [before[0]])
    result = memory.search("word7 tea", **asked)
    hit = next(hit for hit in result if hit.chunk_id == before[0])
    values = [terms_of(other)["tokens"].value for other in result]
    assert "not compared" in terms_of(hit)["tokens"].because
    assert min(values) <= terms_of(hit)["tokens"].value <= max(values)
    assert list(hit.explain.matches) == []
    assert hit.explain.sides is None
    assert [hit.chunk_id for hit in result].index(before[0]) < 3
    assert len(result) == len(chunks)


def test_a_store_without_any_tokens_is_searched_as_without_the_terms(
    memory: MemSense, database_url: str
) -> None:
    filled(memory)
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("DELETE FROM memsense.token_vectors")
    asked: dict[str, Any] = {"user_id": "ada", "granularity": "turn"}
    with_terms = memory.search("word7 tea", **asked)
    without = memory.search("word7 tea", overrides=PLAIN, **asked)
    assert ["memsense db fill" in note for note in with_terms.notes] == [True]
    assert without.notes == []
    assert [(hit.chunk_id, hit.score) for hit in with_terms] == [
        (hit.chunk_id, hit.score) for hit in without
    ]


def test_why_not_traces_and_replays_know_the_terms(memory: MemSense) -> None:
    chunks = filled(memory)
    asked: dict[str, Any] = {
        "user_id": "ada",
        "granularity": "turn",
        "top_k": 3,
        "overrides": TOKENS,
    }
    result = memory.search("word7 and pot7", trace=True, **asked)
    hits = {hit.chunk_id for hit in result}
    absent = next(chunk for chunk in chunks if chunk not in hits)
    verdict = memory.why_not("word7 and pot7", absent, **asked)
    assert verdict.step in ("mmr", "outranked", "duplicate")
    assert result.trace_id is not None
    trace = memory.traces.get(result.trace_id)
    assert {"tokens", "tokens_around"} <= set(trace.hits()[0].terms)
    assert memory.traces.replay(result.trace_id).is_unchanged


def test_doctor_counts_what_has_no_tokens_and_drops_those_of_retired_chunks(
    memory: MemSense, database_url: str
) -> None:
    chunks = tell(memory)
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("DELETE FROM memsense.token_vectors WHERE chunk_id = %s", [chunks[0]])
        conn.execute(
            "UPDATE memsense.chunks SET status = 'deleted' WHERE chunk_id = %s", [chunks[1]]
        )
    report = check_up(database_url, settings=Settings(), embedder=TokenHashingEmbedder())
    [finding] = [item for item in report.findings if item.check == "tokens"]
    assert (finding.severity, finding.text[:11]) == ("warning", "1 exchanges")
    assert finding.remedy == "run 'memsense db fill'"
    check_up(database_url, settings=Settings(), embedder=TokenHashingEmbedder(), repair=True)
    assert [row[0] for row in stored(database_url)] == [chunks[2]]


def test_doctor_says_that_an_embedder_gives_no_tokens(memory: MemSense, database_url: str) -> None:
    tell(memory)
    report = check_up(database_url, settings=Settings(), embedder=HashingEmbedder())
    [finding] = [item for item in report.findings if item.check == "tokens"]
    assert finding.severity == "info"
    assert "makes no token vectors" in finding.text
