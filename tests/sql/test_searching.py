"""Searching: scopes, filters, the number of statements, and edge cases."""

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import psycopg
import pytest
from embedders import BrokenEmbedder, Vectors
from psycopg import sql

from memsense import MemSense
from memsense.db.queries import query
from memsense.errors import EmbeddingError, InvalidInputError, NotFoundError
from memsense.search.profiles import BALANCED, ROUTES
from memsense.types import Granularity

OpenMemory = Callable[..., MemSense]

MAY = datetime(2026, 5, 1, 12, tzinfo=UTC)
PROFILES = ["balanced", "memsense", "lexical", "semantic"]


def add(memory: MemSense, text: str, answer: str = "", **options: Any) -> int:
    at = options.pop("at", MAY)
    messages = [{"role": "user", "content": text, "at": at}]
    messages += [{"role": "assistant", "content": answer, "at": at}] if answer else []
    given: dict[str, Any] = {"user_id": "ada", "session_id": "one", "mode": "turn", **options}
    return memory.add(messages, **given)[0].chunk_id


def found(memory: MemSense, question: str = "tea in Lisbon", **options: Any) -> list[int]:
    given: dict[str, Any] = {"user_id": "ada", "top_k": 50, **options}
    hits = memory.search(question, **given)
    return sorted(hit.chunk_id for hit in hits)


@contextmanager
def recorded_statements(monkeypatch: pytest.MonkeyPatch) -> Generator[list[str]]:
    """Record the statements that read memsense's tables, without those of connection setup."""
    statements: list[str] = []
    execute: Callable[..., Any] = psycopg.Cursor[Any].execute

    def record(cursor: psycopg.Cursor[Any], query: Any, *args: Any, **options: Any) -> Any:
        text = query.as_string(cursor) if isinstance(query, sql.Composable) else query
        text = text.decode() if isinstance(text, bytes) else text
        if "memsense." in text and "set_config('memsense.tenant'" not in text:
            statements.append(text)
        return execute(cursor, query, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(psycopg.Cursor, "execute", record)
        yield statements


def besides_texts(statements: list[str], searches: int = 1) -> list[str]:
    """Return the statements without those that read texts of near-duplicates, at most one per
    search.
    """
    compared = query("fetch_texts", "hits.sql").as_string()
    others = [text for text in statements if text != compared]
    assert len(statements) - len(others) <= searches
    return others


def test_a_search_of_a_known_scope_is_two_statements(
    memory: MemSense, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(memory, "I drink tea in Lisbon.", mode="hybrid")
    memory.search("tea", user_id="ada")
    cases: list[dict[str, Any]] = [{}, {"granularity": "turn"}, {"session_ids": ["one"]}]
    for options in cases:
        with recorded_statements(monkeypatch) as statements:
            assert memory.search("tea in Lisbon", user_id="ada", **options)
        assert len(statements) == 2
        assert "vec_full AS" in statements[0]
        assert "relation" in statements[1]


def test_a_search_that_finds_nothing_is_one_statement(
    memory: MemSense, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(memory, "I drink tea in Lisbon.")
    memory.search("tea", all_users=True)
    nothing: list[dict[str, Any]] = [{"until": "1999-01-01"}, {"since": "2999-01-01"}]
    for options in nothing:
        with recorded_statements(monkeypatch) as statements:
            assert not memory.search("tea", all_users=True, **options).hits
        assert len(statements) == 1, options


def test_names_that_nothing_has_are_looked_up_where_nothing_is_found(
    memory: MemSense, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(memory, "I drink tea in Lisbon.")
    memory.search("tea", user_id="ada")
    with recorded_statements(monkeypatch) as statements:
        assert memory.search("tea", user_id="ada", session_ids=["none"]).notes
    assert len(statements) == 2


def test_the_first_search_of_a_scope_looks_it_up_once_more(
    open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(open_memory(), "I drink tea in Lisbon.")
    add(open_memory(), "I drink tea in Porto.", user_id="ben")
    memory = open_memory()
    counts: list[int] = []
    for user_id in ("ada", "ben", "ben"):
        with recorded_statements(monkeypatch) as statements:
            memory.search("tea", user_id=user_id)
        counts.append(len(statements))
    # Tenant and namespace once a process, the scope once a user, then recall and hits alone.
    assert counts == [5, 3, 2]


def test_a_process_that_knew_of_no_session_chunks_reads_as_deep_as_one_that_sees_them(
    open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    pools = {"list_depth": 1, "candidate_factor": 1, "least_candidates": 1, "least_route_limit": 1}
    profile = BALANCED.override(name="shallow", granularity="session", session_depth=8, **pools)
    reader, writer = open_memory(), open_memory()
    add(writer, "I drink tea in Lisbon.")
    assert len(reader.search("tea", user_id="ada", profile=profile)) == 1
    for number in range(6):
        add(writer, f"tea number {number}", session_id=f"s{number}", mode="hybrid")
    writer.indexes.make_sessions()
    with recorded_statements(monkeypatch) as statements:
        hits = reader.search("tea", user_id="ada", top_k=4, profile=profile)
    assert len(statements) == 3
    fresh = open_memory().search("tea", user_id="ada", top_k=4, profile=profile)
    assert [hit.chunk_id for hit in hits] == [hit.chunk_id for hit in fresh]
    assert len(hits) == 4
    with recorded_statements(monkeypatch) as statements:
        reader.search("tea", user_id="ada", top_k=4, profile=profile)
    assert len(statements) == 2


def test_a_session_chunk_has_a_vector_of_its_whole_text_only(
    memory: MemSense, conn: psycopg.Connection
) -> None:
    add(memory, "I drink tea in Lisbon.", "Green or black?", mode="hybrid")
    memory.indexes.make_sessions()
    rows = conn.execute("SELECT granularity, route FROM memsense.embeddings").fetchall()
    assert {("session", "full"), ("turn", "user")} <= set(rows)
    assert {route for granularity, route in rows if granularity == "session"} == {"full"}
    with pytest.raises(psycopg.errors.CheckViolation):
        conn.execute("UPDATE memsense.embeddings SET granularity = 'session' WHERE route = 'user'")


def test_a_search_of_all_users_is_two_statements(
    memory: MemSense, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(memory, "I drink tea in Lisbon.")
    add(memory, "I drink tea in Porto.", user_id="ben")
    memory.search("tea", all_users=True)
    with recorded_statements(monkeypatch) as statements:
        assert {hit.chunk.user_id for hit in memory.search("tea", all_users=True)} == {"ada", "ben"}
    assert len(statements) == 2


@pytest.mark.parametrize("question", ["", "  \n", "nul \x00 byte"])
def test_a_question_that_cannot_be_searched_with_is_refused(
    memory: MemSense, question: str
) -> None:
    with pytest.raises(InvalidInputError, match="query (is empty|holds a NUL)"):
        memory.search(question, user_id="ada")


def test_a_question_that_is_too_long_is_refused_with_both_lengths(memory: MemSense) -> None:
    add(memory, "I drink tea in Lisbon.")
    with pytest.raises(InvalidInputError, match="8,001 characters; at most 8,000 are taken"):
        memory.search("x" * 8_001, user_id="ada")
    assert memory.search("x" * 8_000, user_id="ada")


def test_blanks_are_folded_and_take_up_none_of_a_questions_length(memory: MemSense) -> None:
    add(memory, "I drink tea in Lisbon.")
    result = memory.search(f"  who drinks{' ' * 50_000}tea\n \n in Lisbon?\n", user_id="ada")
    assert result.question["text"] == "who drinks tea\nin Lisbon?"
    plain = memory.search("who drinks tea\nin Lisbon?", user_id="ada")
    assert [(hit.chunk_id, hit.score) for hit in result] == [
        (hit.chunk_id, hit.score) for hit in plain
    ]


@pytest.mark.parametrize(
    "options",
    [
        {"top_k": 0},
        {"top_k": 1001},
        {"granularity": "word"},
        {"session_ids": "one"},
        {"tags": "travel"},
        {"since": "yesterday"},
    ],
)
def test_an_unusable_option_is_refused(memory: MemSense, options: dict[str, Any]) -> None:
    add(memory, "I drink tea in Lisbon.")
    with pytest.raises(InvalidInputError):
        memory.search("tea", user_id="ada", **options)


@pytest.mark.parametrize("profile", PROFILES)
def test_stop_words_alone_are_ranked_by_vectors_with_a_note(memory: MemSense, profile: str) -> None:
    chunk_id = add(memory, "I drink tea in Lisbon.")
    result = memory.search("what is it that you are", user_id="ada", profile=profile)
    if profile == "lexical":
        assert not result
    else:
        assert [hit.chunk_id for hit in result] == [chunk_id]
        assert all(route.route != "lexical" for route in result[0].explain.routes)
    if profile != "semantic":
        assert any("no searchable words" in note for note in result.notes)


@pytest.mark.parametrize("profile", PROFILES)
def test_nothing_in_scope_is_an_empty_result_with_a_note(memory: MemSense, profile: str) -> None:
    before = memory.search("tea", user_id="ada", profile=profile)
    add(memory, "I drink tea in Lisbon.")
    after = memory.search("tea", user_id="nobody", profile=profile)
    assert (len(before), len(after)) == (0, 0)
    assert all("nothing is stored" in result.notes[0] for result in (before, after))


def test_a_scope_whose_every_chunk_was_forgotten_is_empty(memory: MemSense) -> None:
    memory.forget(add(memory, "I drink tea in Lisbon.", mode="hybrid"))
    assert found(memory) == []


@pytest.mark.parametrize("profile", ["balanced", "memsense", "lexical"])
def test_a_chunk_without_vectors_is_still_found_by_its_words(
    memory: MemSense, database_url: str, profile: str
) -> None:
    ids = [add(memory, text, session_id=text) for text in ("Tea in Lisbon.", "Tea in Porto.")]
    with psycopg.connect(database_url) as conn:
        conn.execute("DELETE FROM memsense.embeddings WHERE chunk_id = %s", [ids[0]])
    result = memory.search("tea", user_id="ada", profile=profile)
    assert sorted(hit.chunk_id for hit in result) == ids
    [bare] = [hit for hit in result if hit.chunk_id == ids[0]]
    assert [route.route for route in bare.explain.routes] == ["lexical"]


def test_an_unusable_question_vector_fails_the_search(open_memory: OpenMemory) -> None:
    add(open_memory(), "I drink tea in Lisbon.")
    spoils: list[Callable[[Vectors], Vectors]] = [
        lambda v: v * np.nan,
        lambda v: v[:, 1:],
        lambda v: v * 0,
    ]
    for spoil in spoils:
        with pytest.raises(EmbeddingError):
            open_memory(embedder=BrokenEmbedder(spoil)).search("tea", user_id="ada")


def test_tenants_namespaces_and_users_never_see_each_other(open_memory: OpenMemory) -> None:
    memories = {
        (tenant, namespace): open_memory(tenant=tenant, namespace=namespace)
        for tenant in ("t1", "t2")
        for namespace in ("n1", "n2")
    }
    own: dict[tuple[str, str, str], int] = {}
    for (tenant, namespace), memory in memories.items():
        for user_id in ("ada", "ben"):
            key = tenant, namespace, user_id
            own[key] = add(memory, "I drink tea in Lisbon.", user_id=user_id, session_id="s")
    for (tenant, namespace), memory in memories.items():
        for user_id in ("ada", "ben"):
            assert found(memory, user_id=user_id) == [own[tenant, namespace, user_id]]
        both = [own[tenant, namespace, user_id] for user_id in ("ada", "ben")]
        assert found(memory, user_id=None, all_users=True) == sorted(both)
        others = set(own.values()) - set(both)
        for operation in (
            memory.get,
            memory.forget,
            memory.restore,
            memory.promote,
            memory.history,
        ):
            with pytest.raises(NotFoundError):
                operation(min(others))


class Filtered:
    """Store of 60 chunks in six sessions, of which each filter passes a known part."""

    def __init__(self, memory: MemSense) -> None:
        self.memory = memory
        self.chunks: dict[int, dict[str, Any]] = {}
        for n in range(60):
            fields = {
                "session_id": f"s{n % 6}",
                "agent_id": f"a{n % 5}",
                "at": MAY + timedelta(days=n),
                "tags": [f"t{n % 4}", "all"],
                "memory_kind": ("stable", "episodic")[n % 2],
                "metadata": {"n": n, "deep": {"part": n % 3}},
            }
            chunk_id = add(memory, f"I drink tea number {n} in Lisbon.", "Enjoy the tea.", **fields)
            self.chunks[chunk_id] = {**fields, "n": n}

    def expected(self, holds: Callable[[dict[str, Any]], bool]) -> list[int]:
        return sorted(chunk_id for chunk_id, fields in self.chunks.items() if holds(fields))


@pytest.fixture
def filtered(memory: MemSense) -> Filtered:
    return Filtered(memory)


def test_filters_hold_inside_every_route(filtered: Filtered) -> None:
    middle = MAY + timedelta(days=30)
    cases: list[tuple[dict[str, Any], Callable[[dict[str, Any]], bool]]] = [
        ({"session_ids": ["s1", "s2"]}, lambda c: c["session_id"] in ("s1", "s2")),
        ({"session_ids": []}, lambda _: False),
        ({"agent_id": "a3"}, lambda c: c["agent_id"] == "a3"),
        ({"since": middle}, lambda c: c["at"] >= middle),
        ({"until": middle}, lambda c: c["at"] < middle),
        ({"tags": ["t1", "none"]}, lambda c: "t1" in c["tags"]),
        ({"kinds": ["stable"]}, lambda c: c["memory_kind"] == "stable"),
        ({"metadata": {"deep": {"part": 2}}}, lambda c: c["metadata"]["deep"]["part"] == 2),
        (
            {"since": middle, "tags": ["t1"], "kinds": ["episodic"], "session_ids": ["s1", "s3"]},
            lambda c: c["at"] >= middle and c["n"] % 4 == 1 and c["n"] % 6 in (1, 3),
        ),
    ]
    # Pools so small that a filter applied after them would thin out the result.
    small = BALANCED.override(
        name="small",
        list_depth=1,
        least_candidates=1,
        candidate_factor=1,
        route_factor=1,
        least_route_limit=1,
    )
    for options, holds in cases:
        expected = filtered.expected(holds)
        assert found(filtered.memory, **options) == expected
        for route in ROUTES:
            if route.startswith("facet") or route in {"graph", "time"}:
                continue
            alone = small.override(**{name: float(name == route) for name in ROUTES})
            ids = found(filtered.memory, profile=alone, top_k=max(len(expected), 1), **options)
            known = [i for i in expected if route != "vec_next_user" or self_has_next(filtered, i)]
            assert len(ids) == len(known), (route, options)
            assert set(ids) <= set(expected)


def self_has_next(filtered: Filtered, chunk_id: int) -> bool:
    """Return whether the session has a later chunk, so that the chunk has a next-user vector."""
    return filtered.chunks[chunk_id]["n"] < 54


def test_excluded_chunks_and_messages_leave_room_for_others(memory: MemSense) -> None:
    ids = [
        memory.add(
            [{"role": "user", "content": f"tea {n}", "id": f"m{n}", "at": MAY}],
            user_id="ada",
            session_id=f"s{n}",
        )[0].chunk_id
        for n in range(6)
    ]
    turns = found(memory, exclude=[ids[0], "m3"], granularity="turn")
    assert turns == [ids[n] for n in (1, 2, 4, 5)]
    result = memory.search("tea", user_id="ada", exclude=[ids[0], "m3"], top_k=4)
    assert len(result) == 4


def test_an_excluded_session_chunk_is_not_shown_for_its_turns(memory: MemSense) -> None:
    messages = [
        {"role": role, "content": f"tea {n}", "id": f"m{n}", "at": MAY}
        for n, role in enumerate(["user", "assistant"] * 3)
    ]
    memory.add(messages, user_id="ada", session_id="one", mode="hybrid")
    [session] = memory.search("tea", user_id="ada", granularity="session")
    assert session.chunk.granularity == "session"
    [rest] = memory.search("tea", user_id="ada", exclude=["m0"], granularity="session")
    assert rest.chunk_id == session.chunk_id
    assert list(rest.message_ids) == ["m2", "m3", "m4", "m5"]
    assert not memory.search("tea", user_id="ada", exclude=[session.chunk_id])
    assert not memory.search("tea", user_id="ada", exclude=[session.chunk_id], granularity="turn")


def test_a_turn_is_shown_as_the_piece_of_its_session_that_holds_it(memory: MemSense) -> None:
    texts = [f"topic{n} " + "filler " * 520 for n in range(4)]
    long = "opening " + "words " * 1000 + " closing keyword"
    for n, text in enumerate([*texts, long]):
        add(memory, text, mode="hybrid", at=MAY + timedelta(hours=n))
    for question in ("topic0", "topic2", "keyword"):
        [hit] = memory.search(question, user_id="ada", granularity="session")
        assert hit.chunk.granularity == "session"
        assert question in hit.content


def test_turn_hits_bring_their_neighbours_and_sessions_none(memory: MemSense) -> None:
    ids = [add(memory, f"tea {n}", mode="hybrid", at=MAY + timedelta(hours=n)) for n in range(3)]
    by_id = {hit.chunk_id: hit for hit in memory.search("tea", user_id="ada", granularity="turn")}
    beside = [[(n.relation, n.chunk.chunk_id) for n in by_id[i].neighbors] for i in ids]
    assert beside == [
        [("next", ids[1])],
        [("previous", ids[0]), ("next", ids[2])],
        [("previous", ids[1])],
    ]
    [session] = memory.search("tea", user_id="ada", granularity="session")
    assert not session.neighbors


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("granularity", [None, "turn", "session"])
def test_the_parts_of_every_hit_add_up_to_its_score(
    memory: MemSense, profile: str, granularity: Granularity | None
) -> None:
    for n in range(12):
        add(
            memory,
            f"I like tea {n} and river {n % 3}",
            "So do I.",
            session_id=f"s{n % 4}",
            mode="hybrid",
        )
    result = memory.search("tea river", user_id="ada", profile=profile, granularity=granularity)
    assert result
    for hit in result:
        assert hit.score == pytest.approx(sum_of(hit.explain.parts()), abs=1e-9)
        assert hit.score == hit.explain.final_score


def sum_of(parts: Iterable[tuple[str, float]]) -> float:
    return sum(value for _, value in parts)
