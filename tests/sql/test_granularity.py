"""Granularity of a search: exchanges, or sessions with their best exchanges."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import psycopg
import pytest
from embedders import HashingEmbedder

from memsense import MemSense
from memsense.search.excerpt import ELLIPSIS
from memsense.search.profiles import BALANCED, PROFILES

OpenMemory = Callable[..., MemSense]
MAY = datetime(2026, 5, 1, 12, tzinfo=UTC)
ALLERGIES = {
    40: "I can't have peanuts, I am allergic to peanuts.",
    150: "By the way, I am allergic to penicillin.",
    260: "My doctor says that I am allergic to latex as well.",
}
TOPICS = ("the garden", "a train to Porto", "the football match", "dinner", "the new lamp")


def chat(count: int = 300) -> list[dict[str, Any]]:
    """Store one long chat about various things, with three allergies in it."""
    messages: list[dict[str, Any]] = []
    for turn in range(count):
        at = MAY + timedelta(minutes=turn)
        said = ALLERGIES.get(turn, f"Number {turn}: tell me about {TOPICS[turn % len(TOPICS)]}.")
        answer = f"Noted as {turn}, and here is what I know of {TOPICS[(turn + 1) % len(TOPICS)]}."
        messages += [
            {"id": f"u{turn}", "role": "user", "content": said, "at": at},
            {"id": f"a{turn}", "role": "assistant", "content": answer, "at": at},
        ]
    return messages


QUESTION = "What am I allergic to?"


@pytest.mark.parametrize("mode", [None, "turn", "hybrid"])
def test_a_long_chat_returns_every_allergy_in_it(memory: MemSense, mode: Any) -> None:
    given = {"mode": mode} if mode else {}
    memory.add(chat(), user_id="ines", session_id="chat", **given)
    hits = memory.search(QUESTION, user_id="ines")
    assert len(hits) == 8
    assert {hit.chunk.granularity for hit in hits} == {"turn"}
    said = "\n".join(hit.content for hit in hits)
    assert all(thing in said for thing in ("peanuts", "penicillin", "latex"))


@pytest.mark.parametrize("mode", ["turn", "hybrid"])
def test_a_session_is_shown_around_the_exchanges_that_brought_it_in(
    memory: MemSense, mode: Any
) -> None:
    memory.add(chat(), user_id="ines", session_id="chat", mode=mode)
    [hit] = memory.search(QUESTION, user_id="ines", granularity="session", content_budget=1500)
    assert hit.chunk.granularity == "session"
    assert {item.chunk.ordinal for item in hit.best} >= set(ALLERGIES)
    assert [item.score for item in hit.best] == sorted(
        (item.score for item in hit.best), reverse=True
    )
    assert hit.content_cut
    assert len(hit.content) <= 1500
    places = [hit.content.index(word) for word in ("peanuts", "penicillin", "latex")]
    assert places == sorted(places)
    assert hit.content.splitlines()[0] == ELLIPSIS
    assert hit.content.splitlines()[-1] == ELLIPSIS
    assert "Number 0:" not in hit.content
    shown = {line.split(": ", 1)[1] for line in hit.content.splitlines() if line != ELLIPSIS}
    by_text = {message["content"]: message["id"] for message in chat()}
    assert {by_text[text] for text in shown} == set(hit.message_ids)
    assert hit.score == pytest.approx(sum(value for _, value in hit.explain.parts()), abs=1e-9)


@pytest.mark.parametrize("mode", ["turn", "hybrid", "session"])
def test_no_hit_is_longer_than_the_budget(memory: MemSense, mode: Any) -> None:
    memory.add(chat(40), user_id="ines", session_id="chat", mode=mode)
    long = "words and " * 600
    memory.add(
        [{"role": "user", "content": f"{long} I am allergic to bees. {long}", "at": MAY}],
        user_id="ines",
        session_id="long",
        mode=mode,
    )
    granularities: list[Any] = ["turn", "session", None]
    for granularity, budget in product(granularities, (1, 2, 3, 40, 250, 700, 5000, 100_000)):
        hits = memory.search(
            QUESTION, user_id="ines", granularity=granularity, content_budget=budget
        )
        assert hits or (mode, granularity) == ("session", "turn")
        for hit in hits:
            assert len(hit.content) <= budget
            assert hit.content_cut == (ELLIPSIS in hit.content)
            assert budget < 250 or hit.content.replace(ELLIPSIS, "").strip()


def test_a_cut_text_is_the_stretch_that_the_question_asks_for(memory: MemSense) -> None:
    filler = "and so on " * 45
    memory.add(
        [{"role": "user", "content": f"{filler}I am allergic to bees. {filler}", "at": MAY}],
        user_id="ines",
        session_id="one",
    )
    [hit] = memory.search(QUESTION, user_id="ines", content_budget=100)
    assert hit.content_cut
    assert len(hit.content) <= 100
    assert "allergic to bees" in hit.content
    assert hit.content.startswith(ELLIPSIS)
    assert hit.content.endswith(ELLIPSIS)
    [whole] = memory.search(QUESTION, user_id="ines")
    assert not whole.content_cut
    assert whole.content == whole.chunk.content


def test_the_profile_says_what_comes_back(memory: MemSense) -> None:
    memory.add(chat(20), user_id="ines", session_id="chat", mode="hybrid")
    for name, profile in PROFILES.items():
        assert profile.granularity == ("session" if name == "memsense" else "turn")
        for granularity in (None, "turn", "session"):
            hits = memory.search("garden", user_id="ines", profile=name, granularity=granularity)
            kinds = {hit.chunk.granularity for hit in hits}
            assert kinds == {granularity or profile.granularity}
    own = BALANCED.override(name="own", granularity="session")
    [hit] = memory.search("garden", user_id="ines", profile=own)
    assert hit.chunk.granularity == "session"
    memory.settings.set(granularity="session")
    [hit] = memory.search("garden", user_id="ines")
    assert hit.chunk.granularity == "session"


def test_the_original_profile_returns_exchanges_where_no_session_is_stored(
    memory: MemSense,
) -> None:
    memory.add(chat(20), user_id="ines", session_id="chat", mode="turn")
    hits = memory.search("tell me about the garden", user_id="ines", profile="memsense")
    assert {hit.chunk.granularity for hit in hits} == {"turn"}
    [hit] = memory.search(
        "tell me about the garden", user_id="ines", profile="memsense", granularity="session"
    )
    assert hit.explain.session is not None
    assert hit.explain.session.session_rrf_score == 0
    assert hit.explain.session.turn_support > 0


def test_whole_sessions_are_returned_where_nothing_else_is_stored(memory: MemSense) -> None:
    memory.add(chat(20), user_id="ines", session_id="chat", mode="session")
    result = memory.search("garden", user_id="ines")
    assert {hit.chunk.granularity for hit in result} == {"session"}
    assert any("whole sessions" in note for note in result.notes)
    assert not memory.search("garden", user_id="ines", granularity="turn")


def test_sessions_with_and_without_session_chunks_rank_together(memory: MemSense) -> None:
    for number, mode in enumerate(("turn", "hybrid", "session") * 2):
        said = f"I am allergic to thing{number}."
        memory.add(
            [{"role": "user", "content": said, "at": MAY + timedelta(days=number)}],
            user_id="ines",
            session_id=f"s{number}",
            mode=mode,  # pyright: ignore[reportArgumentType]
        )
    hits = memory.search(QUESTION, user_id="ines", granularity="session")
    assert {hit.session_id for hit in hits} == {f"s{number}" for number in range(6)}
    for hit in hits:
        assert f"thing{hit.session_id[1:]}" in hit.content
        assert hit.chunk.granularity == "session"
        assert hit.score == pytest.approx(sum(v for _, v in hit.explain.parts()), abs=1e-9)


class CountingEmbedder(HashingEmbedder):
    """Embedder that counts the texts of writes."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed(self, texts: Any) -> Any:
        self.texts += texts
        return super().embed(texts)


def turn(number: int) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": f"tea number {number}", "at": MAY + timedelta(hours=number)}
    ]


def session_chunks(conn: psycopg.Connection[Any]) -> list[str]:
    rows = conn.execute(
        "SELECT session_text FROM memsense.chunks WHERE granularity = 'session'"
        " AND status = 'active' ORDER BY session_id, ordinal"
    ).fetchall()
    conn.rollback()
    return [text for (text,) in rows]


def test_an_added_turn_does_not_pay_for_its_session(
    open_memory: OpenMemory, database_url: str
) -> None:
    embedder = CountingEmbedder()
    memory = open_memory(embedder=embedder)
    with psycopg.connect(database_url) as conn:
        for number in range(10):
            memory.add(turn(number), user_id="ada", session_id="one", mode="hybrid")
        assert not [text for text in embedder.texts if text.count("number") > 1]
        assert session_chunks(conn) == []
        embedder.texts.clear()
        [hit] = memory.search("tea", user_id="ada", granularity="session")
        assert hit.chunk.granularity == "session"
        [whole] = session_chunks(conn)
        assert [text for text in embedder.texts if "number 9" in text] == [whole]
        embedder.texts.clear()
        memory.search("tea", user_id="ada", granularity="session")
        assert embedder.texts == []
        memory.add(turn(10), user_id="ada", session_id="one")  # it goes on as it began
        assert session_chunks(conn) == [whole]
        assert memory.indexes.make_sessions() == 1
        assert memory.indexes.make_sessions() == 0
        [longer] = session_chunks(conn)
        assert longer == f"{whole}\nuser: tea number 10"


def test_by_default_a_turn_is_all_that_is_stored(memory: MemSense, database_url: str) -> None:
    memory.add(turn(1), user_id="ada", session_id="one")
    memory.search("tea", user_id="ada", granularity="session")
    with psycopg.connect(database_url) as conn:
        assert session_chunks(conn) == []
        assert conn.execute("SELECT count(*) FROM memsense.stale_sessions").fetchone() == (0,)


def test_a_default_search_makes_no_session_chunk(memory: MemSense, database_url: str) -> None:
    memory.add(turn(1), user_id="ada", session_id="one", mode="hybrid")
    memory.search("tea", user_id="ada")
    with psycopg.connect(database_url) as conn:
        assert session_chunks(conn) == []
        memory.search("tea", user_id="ada", profile="memsense")
        assert len(session_chunks(conn)) == 1


def test_why_not_makes_what_the_search_would_have_made(memory: MemSense) -> None:
    memory.add(turn(1), user_id="ada", session_id="one", mode="hybrid")
    [chunk] = memory.recent(user_id="ada")
    verdict = memory.why_not("tea", chunk.chunk_id, user_id="ada", granularity="session")
    assert verdict.step == "hit"
    assert len(memory.recent(user_id="ada", granularity="session")) == 1


def test_forgotten_exchanges_are_in_no_session_chunk_made_later(memory: MemSense) -> None:
    for number in range(3):
        memory.add(turn(number), user_id="ada", session_id="one", mode="hybrid")
    gone = memory.recent(user_id="ada")[1]
    memory.search("tea", user_id="ada", granularity="session")
    memory.add(turn(3), user_id="ada", session_id="one", mode="hybrid")
    memory.forget(gone.chunk_id)
    [kept] = memory.recent(user_id="ada", granularity="session")
    assert "number 1" not in kept.content
    assert "number 3" in kept.content
    assert memory.indexes.make_sessions() == 0


def test_a_trace_of_a_version_that_had_auto_is_replayed_as_it_was(
    memory: MemSense, database_url: str
) -> None:
    memory.add(chat(20), user_id="ines", session_id="chat", mode="hybrid")
    result = memory.search("garden", user_id="ines", granularity="session", trace=True)
    memory.traces.flush()
    with psycopg.connect(database_url) as conn:
        conn.execute("UPDATE memsense.traces SET granularity = 'auto'")
        conn.execute("UPDATE memsense.traces SET profile = profile - 'granularity'")
    assert result.trace_id is not None
    assert memory.traces.get(result.trace_id).granularity == "auto"
    assert memory.traces.replay(result.trace_id).is_unchanged


@pytest.mark.parametrize("profile", ["balanced", "memsense"])
def test_a_trace_of_a_search_that_left_it_open_is_replayed(memory: MemSense, profile: str) -> None:
    memory.add(chat(20), user_id="ines", session_id="chat", mode="hybrid")
    result = memory.search("tell me about the garden", user_id="ines", profile=profile, trace=True)
    assert result.trace_id is not None
    trace = memory.traces.get(result.trace_id)
    assert trace.granularity is None
    assert trace.returned == ("session" if profile == "memsense" else "turn")
    assert memory.traces.replay(result.trace_id).is_unchanged


def test_a_session_that_only_its_turns_brought_in_may_stand_with_its_first_session_chunk(
    memory: MemSense,
) -> None:
    # Few rows a route: words find the exchange, whose session chunk is behind the other session's.
    near = PROFILES["memsense"].override(
        name="few",
        list_depth=1,
        least_candidates=2,
        candidate_factor=1,
        least_route_limit=2,
        route_factor=1,
    )
    memory.add(chat(), user_id="ines", session_id="chat", mode="hybrid")
    search: dict[str, Any] = {"user_id": "ines", "granularity": "session", "top_k": 2}
    [found] = memory.search(QUESTION, profile=near.override(session_chunks="found"), **search)
    [whole] = memory.search(QUESTION, profile=near, **search)
    assert found.explain.session is not None
    assert whole.explain.session is not None
    assert found.explain.session.session_rrf_score == whole.explain.session.session_rrf_score == 0
    assert whole.explain.session.turn_support == found.explain.session.turn_support
    [stored] = [
        chunk
        for chunk in memory.list(user_id="ines", granularity="session", limit=100)
        if chunk.ordinal == 0
    ]
    assert whole.explain.chunk_id == stored.chunk_id != found.explain.chunk_id


def test_ranks_are_counted_over_exchanges_and_sessions_apart_or_together(
    memory: MemSense,
) -> None:
    memory.add(chat(20), user_id="ines", session_id="chat", mode="hybrid")
    memory.add(chat(10), user_id="ines", session_id="other", mode="hybrid")

    def ranks_of_best_turns(ranks: str) -> set[tuple[str, int]]:
        profile = PROFILES["memsense"].override(name=ranks, ranks=ranks)
        hits = memory.search(
            "Tell me about dinner.", user_id="ines", granularity="session", profile=profile
        )
        routes = [route for hit in hits for route in hit.explain.routes]
        return {(route.route, route.rank) for route in routes if route.route == "vec_full"}

    apart, together = ranks_of_best_turns("apart"), ranks_of_best_turns("together")
    assert apart == {("vec_full", 1), ("vec_full", 2)}
    # Single exchanges about dinner are nearer than whole sessions, and take the first ranks.
    assert min(rank for _, rank in together) > 1
