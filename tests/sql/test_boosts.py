"""Phrases, quotations and identifiers in recall: hits, scores and cost."""

import math
import re
from collections.abc import Callable, Generator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest
from counting import assert_counted
from embedders import HashingEmbedder
from plans import explain_recall, walk
from reference import read_documents, score_bm25f, words_of

from memsense import MemSense, Profile
from memsense.db import Pool
from memsense.search.hits import Hit
from memsense.search.profiles import BALANCED, PROFILES
from memsense.search.question import NO_WORDING, Wording, analyse_question
from memsense.search.recall.candidates import Candidates
from memsense.search.recall.run import RecallRequest, run_recall, shape_of
from memsense.search.recall.statement import recall_text
from memsense.text.lexemes import ask_lexemes

OpenMemory = Callable[..., MemSense]
START = datetime(2026, 5, 1, 12, tzinfo=UTC)

IDENTIFIED = BALANCED.override(name="identified", identifier_boost=0.5)
SHOULD = BALANCED.override(name="should", quoted="should", quoted_boost=0.5)
MUST = BALANCED.override(name="must", quoted="must")


def add(memory: MemSense, *texts: str, user_id: str = "ada", session_id: str = "one") -> list[int]:
    """Add one turn per text, a day apart; return their chunk ids."""
    messages = [
        {"role": "user", "content": text, "at": START + timedelta(days=day)}
        for day, text in enumerate(texts)
    ]
    given: dict[str, Any] = {"user_id": user_id, "session_id": session_id, "mode": "turn"}
    return [memory.add([message], **given)[0].chunk_id for message in messages]


def search(memory: MemSense, question: str, profile: Profile | str, **options: Any) -> list[Hit]:
    given: dict[str, Any] = {"user_id": "ada", "top_k": 50, **options}
    return list(memory.search(question, profile=profile, **given))


def found(memory: MemSense, question: str, profile: Profile | str, **options: Any) -> list[int]:
    return [hit.chunk_id for hit in search(memory, question, profile, **options)]


def boost_of(hit: Hit, name: str) -> tuple[float, float, str] | None:
    return next(
        (
            (term.value, term.contribution, term.because)
            for term in hit.explain.terms
            if term.name == name
        ),
        None,
    )


@pytest.fixture
def recall_conn(database_url: str) -> Generator[psycopg.Connection[Any]]:
    pool = Pool(database_url, min_size=1, max_size=1, timeout=10)
    with closing(pool), pool.connection() as conn:
        yield conn


def ask(question: str, profile: Profile, wording: Wording = NO_WORDING) -> RecallRequest:
    return RecallRequest(
        tenant_id=1,
        namespace="default",
        user_id="ada",
        granularities=("turn", "session"),
        model_id=1,
        query_vector=HashingEmbedder().embed_query(question),
        terms=ask_lexemes(question, "en", ()),
        profile=profile,
        top_k=8,
        wording=wording,
    )


def lexical_scores(candidates: Candidates) -> dict[int, float]:
    return {
        candidate.chunk_id: hit.score
        for candidate in candidates
        for hit in candidate.routes
        if hit.route == "lexical"
    }


TICKETS = [
    "ABC-123 is fixed in v2.0.",
    "The abc song is 123 seconds long.",
    "We closed ABC-124 and abc-123, see src/app/main.py.",
    "Nothing about tickets here, but #123 and app/main.py.",
    "The build failed again.",
    "Version 2.0 of the song.",
]


# Off: nothing changes.


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)
def test_shipped_profiles_ask_for_no_wording(memory: MemSense, profile: Profile) -> None:
    add(memory, *TICKETS)
    question = 'Is "ABC-123" in app/main.py?'
    plain = shape_of(ask("the ticket", profile))
    assert shape_of(ask(question, profile)) == plain
    text = recall_text(plain)
    assert "identifier" not in text
    assert not re.search(r"quoted|wordings|~\*", text)
    terms = {term.name for hit in search(memory, question, profile) for term in hit.explain.terms}
    assert not terms & {"phrase", "quoted", "identifier"}


def test_identifiers_count_towards_no_length_and_no_frequency(
    memory: MemSense, database_url: str
) -> None:
    first, *_ = add(memory, *TICKETS)
    memory.add(
        [{"role": "user", "content": f"{TICKETS[0]} {TICKETS[2]}", "at": START}],
        user_id="ada",
        session_id="two",
        mode="hybrid",
    )
    with psycopg.connect(database_url, autocommit=True) as conn:
        assert_counted(conn)
        row = conn.execute(
            "SELECT tsvector_to_array(tsv) FROM memsense.chunks WHERE chunk_id = %s", [first]
        ).fetchone()
        assert row is not None
        assert {"=abc-123", "=v2.0"} <= set(row[0])
        memory.forget(first)
        assert_counted(conn)
        memory.restore(first)
        assert_counted(conn)


def test_without_the_boost_bm25f_is_what_the_texts_words_make_it(
    memory: MemSense, recall_conn: psycopg.Connection[Any]
) -> None:
    add(memory, *TICKETS)
    question = "Is ABC-123 in app/main.py of v2.0?"
    _, candidates = run_recall(recall_conn, ask(question, BALANCED))
    documents = read_documents(recall_conn)
    expected = score_bm25f(documents, words_of(recall_conn, question), BALANCED)
    assert lexical_scores(candidates) == pytest.approx(expected)


# Identifiers.


def test_the_identifier_field_adds_its_own_idf_to_bm25f(
    memory: MemSense, recall_conn: psycopg.Connection[Any]
) -> None:
    ids = add(memory, *TICKETS)
    question = "Is ABC-123 in app/main.py of v9.9?"
    wording = Wording(identifiers=analyse_question(question).identifiers)
    state, candidates = run_recall(recall_conn, ask(question, IDENTIFIED, wording))
    plain, _ = run_recall(recall_conn, ask(question, BALANCED))
    words = score_bm25f(read_documents(recall_conn), words_of(recall_conn, question), IDENTIFIED)

    def idf(frequency: int) -> float:
        return math.log(1 + (len(ids) - frequency + 0.5) / (frequency + 0.5))

    # Two texts hold the ticket, two the file, none the version.
    fields = {ids[0]: idf(2), ids[2]: 2 * idf(2), ids[3]: idf(2)}
    expected = {i: words.get(i, 0.0) + 0.5 * fields.get(i, 0.0) for i in {*words, *fields}}
    assert lexical_scores(candidates) == pytest.approx(expected)
    total = 2 * idf(2) + idf(0)
    assert state.ceiling["turn"] == pytest.approx(plain.ceiling["turn"] + 0.5 * total)
    shares = {i: candidates.wordings[i].identifier_share for i in candidates.wordings}
    assert shares == pytest.approx({i: field / total for i, field in fields.items()})
    assert {i: candidates.wordings[i].identifiers for i in candidates.wordings} == {
        ids[0]: (0,),
        ids[2]: (0, 1),
        ids[3]: (1,),
    }


@pytest.mark.parametrize("mode", ["bm25f", "ts_rank"])
def test_an_identifier_is_found_whole_in_either_case(memory: MemSense, mode: str) -> None:
    ids = add(memory, *TICKETS)
    profile = IDENTIFIED.override(lexical_mode=mode)
    for question in ("What about abc-123?", "What about ABC-123?"):
        hits = search(memory, question, profile)
        boosted = {hit.chunk_id: boost_of(hit, "identifier") for hit in hits}
        held = {chunk_id for chunk_id, boost in boosted.items() if boost}
        assert held == {ids[0], ids[2]}
        assert boosted[ids[0]] == (1.0, 0.5, "the text holds abc-123")
        assert {hit.chunk_id for hit in hits[:2]} == held


COMMIT = "a1b2c3d4e5f60718293a4b5c6d7e8f9012345678"
"""A hash, which is one word: the question for its first characters matches no word."""


def test_an_identifier_that_no_word_matches_is_found(memory: MemSense) -> None:
    target, _ = add(memory, f"Look into {COMMIT} first.", "Nothing else to say.")
    profile = PROFILES["lexical"]
    assert found(memory, COMMIT[:9], profile) == []
    boosted = profile.override(identifier_boost=1.0)
    [hit] = search(memory, COMMIT[:9], boosted)
    assert hit.chunk_id == target
    assert [(route.route, route.rank) for route in hit.explain.routes] == [("lexical", 1)]


def test_a_chunk_keeps_its_identifiers_through_everything_that_indexes_it_anew(
    memory: MemSense,
) -> None:
    profile = PROFILES["lexical"].override(identifier_boost=1.0)
    target, after = add(memory, f"Look into {COMMIT} first.", "And then sleep.")
    assert found(memory, COMMIT[:9], profile) == [target]  # after `after` has changed its context
    memory.forget(after)
    assert found(memory, COMMIT[:9], profile) == [target]
    memory.forget(target)
    assert found(memory, COMMIT[:9], profile) == []
    memory.restore(target)
    assert found(memory, COMMIT[:9], profile) == [target]
    memory.indexes.rebuild()
    assert found(memory, COMMIT[:9], profile) == [target]


def test_identifiers_are_indexed_in_session_chunks_and_answers(memory: MemSense) -> None:
    memory.add(
        [
            {"role": "user", "content": "Where is the error?", "at": START},
            {"role": "assistant", "content": "In lib/parser.rs, as #4711 says.", "at": START},
        ],
        user_id="ada",
        session_id="one",
        mode="hybrid",
    )
    profile = PROFILES["lexical"].override(identifier_boost=1.0)
    for granularity in ("turn", "session"):
        [hit] = search(memory, "parser.rs", profile, granularity=granularity)
        assert boost_of(hit, "identifier") == (1.0, 1.0, "the text holds parser.rs")


def test_another_users_identifiers_are_neither_found_nor_counted(memory: MemSense) -> None:
    add(memory, "See ABC-123.")
    add(memory, *["See ABC-123."] * 3, user_id="ben")
    hits = search(memory, "ABC-123", IDENTIFIED)
    assert len(hits) == 1
    before = hits[0].explain.routes
    add(memory, "ABC-123 once more.", user_id="ben")
    assert search(memory, "ABC-123", IDENTIFIED)[0].explain.routes == before


def test_filters_hold_for_identifiers(memory: MemSense) -> None:
    add(memory, "See ABC-123.")
    [other] = add(memory, "ABC-123 again.", session_id="two")
    assert found(memory, "ABC-123", IDENTIFIED, session_ids=["two"]) == [other]


# The phrase.


def test_a_text_that_holds_the_question_is_boosted_whatever_its_case_and_blanks(
    memory: MemSense,
) -> None:
    texts = [
        "blue lantern of the house",
        "They sold the Blue\n  LANTERN of the house yesterday.",
        "the house of the lantern is blue",
        "the blue lanterns of the houses",
    ]
    ids = add(memory, *texts)
    profile = BALANCED.override(phrase_boost=0.75)
    hits = search(memory, "The blue lantern of the house?", profile)
    held = {hit.chunk_id: boost_of(hit, "phrase") for hit in hits}
    assert held.pop(ids[1]) == (1.0, 0.75, "the text holds the question word for word")
    assert hits[0].chunk_id == ids[1]
    assert set(held.values()) == {None}


def test_a_phrase_does_not_run_from_one_side_into_the_other(memory: MemSense) -> None:
    memory.add(
        [
            {"role": "user", "content": "I like the blue", "at": START},
            {"role": "assistant", "content": "lantern best.", "at": START},
        ],
        user_id="ada",
        session_id="one",
        mode="turn",
    )
    [hit] = search(memory, "blue lantern", BALANCED.override(phrase_boost=1.0))
    assert boost_of(hit, "phrase") is None


# Quotations.

QUOTING = 'Who said "blue lantern" and \u201cdon\u2019t panic\u201d?'


def test_quoted_texts_are_boosted_by_their_share(memory: MemSense) -> None:
    ids = add(
        memory,
        "Don't panic about the blue lantern.",
        "A Blue Lantern.",
        "Blueish lanterns, no panic.",
    )
    hits = {hit.chunk_id: boost_of(hit, "quoted") for hit in search(memory, QUOTING, SHOULD)}
    assert hits == {
        ids[0]: (1.0, 0.5, "the text holds \u201cblue lantern\u201d, \u201cdon\u2019t panic\u201d"),
        ids[1]: (0.5, 0.25, "the text holds \u201cblue lantern\u201d"),
        ids[2]: None,
    }


def test_with_must_only_texts_that_hold_every_quotation_take_part(memory: MemSense) -> None:
    first, *_ = add(memory, "Don't panic about the blue lantern.", "A Blue Lantern.", "No panic.")
    result = memory.search(QUOTING, user_id="ada", profile=MUST)
    assert [hit.chunk_id for hit in result] == [first]
    [note] = result.notes
    assert note.startswith("only memories that hold \u201cblue lantern\u201d and \u201cdon")
    assert all(route.rank == 1 for route in result[0].explain.routes)


def test_a_required_quotation_does_not_thin_out_the_result(memory: MemSense) -> None:
    """The hits that hold it are worse than all others by every route."""
    add(memory, *["What did Ada say about tea in Lisbon?"] * 3, session_id="noise")
    lines = [f"What did Ada say about tea in Lisbon, {n}?" for n in range(60)]
    add(memory, *lines, session_id="more")
    wanted = add(memory, *[f"Grandfather saw a blue lantern, {n}." for n in range(10)])
    question = 'What did Ada say about tea in Lisbon, "blue lantern"?'
    profile = MUST.override(
        list_depth=1, least_candidates=8, least_route_limit=8, candidate_factor=1
    )
    hits = search(memory, question, profile, top_k=8)
    assert len(hits) == 8
    assert {hit.chunk_id for hit in hits} <= set(wanted)


@pytest.mark.parametrize(
    ("quoted", "text", "holds"),
    [
        ("to be or not to be", "He said: to be or not to be.", True),
        ("to be or not to be", "He is not to be seen.", False),
        ("cat", "My category.", False),
        ("example", "See example.com for more.", True),
        ("example.com", "See example.com for more.", True),
        ("C++", "I write C++ code.", True),
        ("100%", "It is 100% sure.", True),
        ("東京", "私は東京に住んでいる。", True),
        ("it's", "It\u2019s raining.", True),
        ("(sic)", "Thay (sic) went.", True),
        ("back\\slash", "a back\\slash b", True),
        ("o'clock", "At five o'clock.", True),
        ("Straße", "In der straße.", True),
    ],
)
@pytest.mark.parametrize("user_id", ["ada", None])
def test_a_required_quotation_is_read_word_for_word(
    memory: MemSense, quoted: str, text: str, holds: bool, user_id: str | None
) -> None:
    [target] = add(memory, text)
    add(memory, "Something else altogether.")
    whose = {"user_id": user_id, "all_users": user_id is None}
    hits = found(memory, f"Who said \u201c{quoted}\u201d?", MUST, **whose)
    assert hits == ([target] if holds else [])


def test_without_a_quotation_must_asks_for_nothing(memory: MemSense) -> None:
    ids = add(memory, "A blue lantern.", "No lantern.")
    result = memory.search("lantern", user_id="ada", profile=MUST)
    assert {hit.chunk_id for hit in result} == set(ids)
    assert result.notes == []


def test_required_quotations_equal_a_search_by_hand(memory: MemSense) -> None:
    source = Random(3)
    words = ["blue", "lantern", "the", "of", "tea", "Lisbon", "is", "green"]
    texts = [" ".join(source.choices(words, k=source.randint(3, 9))) for _ in range(40)]
    ids = add(memory, *texts)
    for _ in range(20):
        quoted = " ".join(source.choices(words, k=source.randint(1, 3)))
        expected = {
            chunk_id
            for chunk_id, text in zip(ids, texts, strict=True)
            if f" {quoted.lower()} " in f" {text.lower()} "
        }
        assert set(found(memory, f'Where is "{quoted}"?', MUST)) == expected, quoted


# Together.


def test_the_parts_of_a_boosted_score_add_up(memory: MemSense) -> None:
    add(memory, *TICKETS, 'He said "blue lantern" of ABC-123')
    profile = IDENTIFIED.override(phrase_boost=0.3, quoted="should", quoted_boost=0.2)
    hits = search(memory, 'He said "blue lantern" of ABC-123?', profile)
    assert {term.name for term in hits[0].explain.terms} >= {"phrase", "quoted", "identifier"}
    for hit in hits:
        parts = [value for _, value in hit.explain.parts()]
        assert math.fsum(parts) == pytest.approx(hit.score, abs=1e-9)


def test_boosts_may_be_set_for_one_search_or_for_all(memory: MemSense) -> None:
    ids = add(memory, *TICKETS)
    overrides = {"identifier_boost": 0.5}
    [first, *_] = memory.search("abc-123", user_id="ada", overrides=overrides)
    assert boost_of(first, "identifier")
    memory.settings.set(identifier_boost=0.5)
    by_setting = memory.search("abc-123", user_id="ada")
    assert boost_of(by_setting[0], "identifier")
    assert by_setting[0].chunk_id in (ids[0], ids[2])


# Plans.


@pytest.fixture
def many(database_url: str, open_memory: OpenMemory, tmp_path: Path) -> str:
    """Store 2,000 exchanges of one user; one in a hundred mentions a ticket or a lantern."""
    source = Random(5)
    words = [f"word{n}" for n in range(500)]
    lines: list[str] = []
    for n in range(2000):
        text = " ".join(source.choices(words, k=12))
        if n % 100 == 0:
            text += f" ABC-{n} blue lantern"
        lines.append(f'{{"session_id": "s{n // 20}", "role": "user", "content": "{text}"}}')
    (tmp_path / "log.jsonl").write_text("\n".join(lines))
    open_memory().ingest(tmp_path / "log.jsonl", user_id="ada", mode="turn")
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("VACUUM ANALYZE memsense.chunks")
    return database_url


def test_identifiers_and_required_quotations_are_looked_up_in_the_index(many: str) -> None:
    question = 'word1 "blue lantern" ABC-300'
    wording = Wording(required=["blue lantern"], identifiers=["abc-300"])
    pool = Pool(many, min_size=1, max_size=1, timeout=10)
    with closing(pool), pool.connection() as conn:
        plan = explain_recall(conn, ask(question, MUST.override(identifier_boost=1.0), wording))
    for name in ("CTE filtered", "CTE identifier_matches"):
        [part] = [node for node in walk(plan) if node.get("Subplan Name") == name]
        indexes = {node.get("Index Name") for node in walk(part)}
        assert "chunks_scope_lexemes" in indexes, name
        assert not any(
            node["Node Type"] == "Seq Scan" and node.get("Relation Name") == "chunks"
            for node in walk(part)
        )


def test_why_not_names_a_quotation_that_a_chunk_does_not_hold(memory: MemSense) -> None:
    held, other = add(memory, "A blue lantern.", "A green lantern.")
    question = 'Who had a "blue lantern"?'
    verdict = memory.why_not(question, other, user_id="ada", profile=MUST)
    assert verdict.step == "scope"
    assert verdict.numbers == {"filters": ["quoted"]}
    assert memory.why_not(question, held, user_id="ada", profile=MUST).step == "hit"
    assert memory.why_not(question, other, user_id="ada").step == "hit"


def test_a_quotation_within_a_host_name_is_a_word_for_why_not_too(memory: MemSense) -> None:
    [target] = add(memory, "See example.com for more.")
    for quoted, step in (("example", "hit"), ("exam", "scope")):
        verdict = memory.why_not(f'Where is "{quoted}"?', target, user_id="ada", profile=MUST)
        assert verdict.step == step


def test_a_boosted_search_is_recorded_and_replayed_as_it_was(memory: MemSense) -> None:
    add(memory, *TICKETS)
    profile = IDENTIFIED.override(phrase_boost=0.3, quoted="should")
    question = "ABC-123 is fixed in v2.0?"
    result = memory.search(question, user_id="ada", profile=profile, trace=True)
    assert result.trace_id is not None
    first = memory.traces.get(result.trace_id).hits()[0]
    assert {"phrase", "identifier"} <= first.terms.keys()
    assert memory.traces.replay(result.trace_id).is_unchanged
