"""Supersessions found when an exchange is written: stored, used by searches, and undone."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from embedders import TokenHashingEmbedder

from memsense import MemSense
from memsense.errors import NotFoundError
from memsense.store.scopes import find_namespace, lock_scope
from memsense.store.supersession import find_pairs

OpenMemory = Callable[..., MemSense]

OLD = "I drive a red Volvo to the office."
NEW = "I sold the red Volvo, now I drive a Skoda to the office."
PROOF = "ended: “sold” red"
FILLERS = ["The soup was too salty.", "My sister plays the cello.", "We planted tomatoes."]


@pytest.fixture
def cars(open_memory: OpenMemory) -> MemSense:
    """A memory in which one fact has changed."""
    memory = open_memory(embedder=TokenHashingEmbedder())
    say(memory, OLD, 2024)
    for filler in FILLERS:
        say(memory, filler, 2025)
    say(memory, NEW, 2026)
    return memory


def say(memory: MemSense, text: str, year: int, user_id: str = "ada", **options: Any) -> int:
    at = datetime(year, 3, 1, tzinfo=UTC)
    message = {"role": "user", "content": text, "at": at}
    (chunk,) = memory.add([message], user_id=user_id, session_id=text[:20], **options)
    return chunk.chunk_id


def links(conn: psycopg.Connection, user_id: str = "ada") -> list[tuple[str, str, str]]:
    """Return the stored links: the older text, the newer one, and the reason."""
    return conn.execute(
        "SELECT older.user_text, newer.user_text, l.reason FROM memsense.supersessions AS l"
        " JOIN memsense.scopes AS s USING (tenant_id, scope_id)"
        " JOIN memsense.chunks AS older ON older.tenant_id = l.tenant_id"
        " AND older.scope_id = l.scope_id AND older.chunk_id = l.older_id"
        " JOIN memsense.chunks AS newer ON newer.tenant_id = l.tenant_id"
        " AND newer.scope_id = l.scope_id AND newer.chunk_id = l.chunk_id"
        " WHERE s.user_id = %s ORDER BY 1, 2",
        [user_id],
    ).fetchall()


@pytest.mark.usefixtures("cars")
def test_an_exchange_that_replaces_a_fact_is_linked_to_it_with_its_words(
    conn: psycopg.Connection,
) -> None:
    assert links(conn) == [(OLD, NEW, PROOF)]


def test_what_is_written_earlier_in_time_but_later_in_fact_is_linked_too(
    open_memory: OpenMemory, conn: psycopg.Connection
) -> None:
    memory = open_memory(embedder=TokenHashingEmbedder())
    say(memory, NEW, 2026)
    for filler in FILLERS:
        say(memory, filler, 2025)
    say(memory, OLD, 2024)
    assert links(conn) == [(OLD, NEW, PROOF)]


@pytest.mark.parametrize(
    "later",
    [
        "I also drive a blue Volvo at the weekend.",
        "Does a red Volvo drive well in snow?",
        "Ich fahre mit dem roten Volvo ins Kino.",
    ],
)
def test_what_tells_of_no_change_is_not_said_to_supersede(
    open_memory: OpenMemory, later: str
) -> None:
    memory = open_memory(embedder=TokenHashingEmbedder())
    old = say(memory, OLD, 2024)
    for filler in FILLERS:
        say(memory, filler, 2025)
    say(memory, later, 2026)
    assert [event.kind for event in memory.history(old)] == ["added"]


def test_users_do_not_supersede_each_other(
    open_memory: OpenMemory, conn: psycopg.Connection
) -> None:
    memory = open_memory(embedder=TokenHashingEmbedder())
    say(memory, OLD, 2024)
    say(memory, NEW, 2026, user_id="ben")
    assert links(conn) == links(conn, "ben") == []


def test_hits_name_what_superseded_them_by_decision_and_the_current_one_stands_first(
    cars: MemSense,
) -> None:
    ids = find_ids(cars)
    cars.decide_change(ids[OLD], ids[NEW], "confirmed")
    first, second, *_ = cars.search("Which car do I drive?", user_id="ada")
    assert (first.chunk.user_text, second.chunk.user_text) == (NEW, OLD)
    assert second.superseded_by is not None
    assert (second.superseded_by.chunk_id, second.superseded_by.reason) == (
        first.chunk.chunk_id,
        PROOF,
    )
    assert first.supersedes is not None
    assert first.supersedes.chunk_id == second.chunk.chunk_id


def test_a_question_about_the_past_finds_the_old_statement_first(cars: MemSense) -> None:
    first, *_ = cars.search("Which car did I drive before the Skoda?", user_id="ada")
    assert first.chunk.user_text == OLD


def test_forgetting_either_undoes_the_link_and_restoring_makes_it_again(
    cars: MemSense, conn: psycopg.Connection
) -> None:
    new = cars.search("Skoda", user_id="ada")[0].chunk.chunk_id
    old = cars.search("red Volvo drive office", user_id="ada")
    old_id = next(hit.chunk.chunk_id for hit in old if hit.chunk.user_text == OLD)
    cars.forget(new)
    assert links(conn) == []
    hit = cars.search("Which car do I drive?", user_id="ada")[0]
    assert (hit.chunk.user_text, hit.superseded_by) == (OLD, None)
    cars.restore(new)
    assert links(conn) == [(OLD, NEW, PROOF)]
    cars.forget(old_id)
    assert links(conn) == []


def test_an_update_that_takes_the_change_back_undoes_the_link(
    cars: MemSense, conn: psycopg.Connection
) -> None:
    new = cars.search("Skoda", user_id="ada")[0].chunk.chunk_id
    cars.update(new, content="The Skoda of my neighbour is green.")
    assert links(conn) == []


def find_ids(memory: MemSense, user_id: str = "ada") -> dict[str, int]:
    """Return the chunk of each text."""
    return {chunk.user_text: chunk.chunk_id for chunk in memory.list(user_id=user_id)}


def test_a_rejected_change_lifts_and_marks_nothing_and_stays_rejected(cars: MemSense) -> None:
    ids = find_ids(cars)
    cars.decide_change(ids[OLD], ids[NEW], "rejected", reason="two cars")
    cars.indexes.link_facts(again=True)
    cars.forget(ids[NEW])
    cars.restore(ids[NEW])
    (change,) = cars.changes(user_id="ada")
    assert (change.older_text, change.newer_text) == (OLD, NEW)
    assert (change.state, change.reason) == ("rejected", "two cars")
    hits = cars.search("Which car do I drive?", user_id="ada")
    assert all(hit.superseded_by is None and hit.newer_statement is None for hit in hits)
    assert not any(dict(hit.explain.parts()).get("current") for hit in hits)
    for text in (OLD, NEW):
        (event,) = [it for it in cars.history(ids[text]) if it.kind == "change decided"]
        assert event.detail["decision"] == "rejected"
    assert cars.superseded_facts([ids[OLD]]) == []
    say(cars, "The red Volvo was a car for the office.", 2026)
    decided = {(it.older_id, it.newer_id): it.state for it in cars.changes(user_id="ada")}
    assert decided[ids[OLD], ids[NEW]] == "rejected"


@pytest.mark.parametrize("linked", [False, True])
def test_a_decision_travels_with_an_export(
    cars: MemSense, open_memory: OpenMemory, tmp_path: Path, *, linked: bool
) -> None:
    ids = find_ids(cars)
    cars.decide_change(ids[OLD], ids[NEW], "rejected", reason="two cars")
    cars.decide_change(ids[FILLERS[0]], ids[NEW], "set")
    cars.export_to(tmp_path / "cars.jsonl", all_users=True)
    other = open_memory(embedder=TokenHashingEmbedder(), namespace="other")
    if linked:
        say(other, OLD, 2024)
        say(other, NEW, 2026)
    other.import_from(tmp_path / "cars.jsonl")
    other.indexes.link_facts(again=True)
    states = {(it.older_text, it.newer_text): (it.state, it.reason) for it in other.changes()}
    assert states == {(OLD, NEW): ("rejected", "two cars"), (FILLERS[0], NEW): ("set", "")}
    cars.import_from(tmp_path / "cars.jsonl")
    assert {it.state for it in cars.changes()} == {"rejected", "set"}


def test_a_change_that_somebody_names_lifts_and_marks(cars: MemSense) -> None:
    ids = find_ids(cars)
    cello, tomatoes = FILLERS[1:]
    for text in (cello, tomatoes):
        assert cars.superseded_facts([ids[text]]) == []
    cars.decide_change(ids[cello], ids[tomatoes], "set", reason="she stopped")
    (fact,) = cars.for_user("ada").superseded_facts([ids[cello]])
    assert (fact.newer_id, fact.reason, fact.strength) == (ids[tomatoes], "she stopped", 0)
    question = "What does my sister play, the cello?"
    first, second, *_ = cars.search(question, user_id="ada")
    assert (first.chunk_id, second.chunk_id) == (ids[tomatoes], ids[cello])
    assert second.superseded_by is not None
    assert second.superseded_by.chunk_id == ids[tomatoes]
    assert [it.state for it in cars.changes(state="set")] == ["set"]


def test_changes_come_in_pages_and_of_one_user(cars: MemSense) -> None:
    ids = find_ids(cars)
    cars.decide_change(ids[FILLERS[0]], ids[FILLERS[1]], "set")
    page = cars.changes(user_id="ada", limit=1)
    rest = cars.changes(user_id="ada", limit=1, cursor=page.next_cursor)
    assert {(it.older_id, it.newer_id) for it in (*page, *rest)} == {
        (ids[FILLERS[0]], ids[FILLERS[1]]),
        (ids[OLD], ids[NEW]),
    }
    assert rest.next_cursor is None
    assert cars.changes(user_id="ben") == []


def test_both_memories_of_a_decision_are_of_one_user(cars: MemSense) -> None:
    ids = find_ids(cars)
    other = say(cars, OLD, 2024, user_id="ben")
    for older, newer in ((other, ids[NEW]), (ids[OLD], other), (ids[OLD], ids[OLD])):
        with pytest.raises(NotFoundError):
            cars.decide_change(older, newer, "confirmed")
    with pytest.raises(NotFoundError):
        cars.for_user("ben").decide_change(ids[OLD], ids[NEW], "confirmed")


def test_what_a_candidate_superseded_takes_part_beyond_the_limit(cars: MemSense) -> None:
    limits = {"candidate_factor": 1, "list_depth": 1, "least_candidates": 1, "route_factor": 1}
    question = "Which red Volvo was it, I mean before the Skoda, that I had?"
    alone = {**limits, "current_weight": 0}
    (hit,) = cars.search(question, user_id="ada", top_k=1, overrides=alone)
    assert hit.chunk.user_text == NEW
    (hit,) = cars.search(question, user_id="ada", top_k=1, overrides=limits)
    assert hit.chunk.user_text == OLD


def test_changed_facts_are_listed_by_the_ids_of_either_side_and_for_their_user_alone(
    cars: MemSense,
) -> None:
    ids = find_ids(cars)
    assert cars.superseded_facts([ids[OLD]]) == []
    cars.decide_change(ids[OLD], ids[NEW], "confirmed")
    (fact,) = cars.superseded_facts([ids[OLD]])
    assert (fact.older_id, fact.newer_id, fact.reason) == (ids[OLD], ids[NEW], PROOF)
    assert fact.superseded_at == datetime(2026, 3, 1, tzinfo=UTC)
    assert cars.for_user("ada").superseded_facts([ids[NEW]]) == [fact]
    assert cars.superseded_facts([ids[FILLERS[0]]]) == cars.superseded_facts([]) == []
    assert cars.for_user("ben").superseded_facts([*ids.values()]) == []
    assert cars.superseded_facts([*ids.values()], user_id="ben") == []


def test_a_changed_fact_is_not_listed_once_one_of_its_memories_has_expired(
    open_memory: OpenMemory, conn: psycopg.Connection
) -> None:
    memory = open_memory(embedder=TokenHashingEmbedder())
    old = say(memory, OLD, 2024)
    for filler in FILLERS:
        say(memory, filler, 2025)
    new = say(memory, NEW, 2026, expires_at=datetime(2999, 1, 1, tzinfo=UTC))
    memory.decide_change(old, new, "set")
    assert [fact.newer_id for fact in memory.superseded_facts([old])] == [new]
    conn.execute(
        "UPDATE memsense.chunks SET expires_at = now() - interval '1 second' WHERE chunk_id = %s",
        [new],
    )
    conn.commit()
    assert memory.superseded_facts([old]) == memory.superseded_facts([new]) == []


def test_an_exchange_that_gets_its_vectors_later_is_linked_then(
    open_memory: OpenMemory, conn: psycopg.Connection
) -> None:
    memory = open_memory(embedder=TokenHashingEmbedder())
    say(memory, OLD, 2024)
    for filler in FILLERS:
        say(memory, filler, 2025)
    say(memory, NEW, 2026, embed="later")
    assert links(conn) == []
    memory.jobs.run()
    assert links(conn) == [(OLD, NEW, PROOF)]


def test_the_view_shows_both_exchanges_and_the_reason(
    cars: MemSense, conn: psycopg.Connection
) -> None:
    ids = find_ids(cars)
    cars.decide_change(ids[OLD], ids[NEW], "confirmed")
    rows = conn.execute(
        "SELECT user_id, older_text, newer_text, reason FROM memsense.superseded_facts"
        " WHERE tenant = 'default'"
    ).fetchall()
    assert rows == [("ada", OLD, NEW, PROOF)]


def test_memories_without_links_get_them_later_and_keep_those_that_they_have(
    cars: MemSense, conn: psycopg.Connection
) -> None:
    say(cars, OLD, 2024, user_id="ben")
    say(cars, "I gave the red Volvo to my son and drive nothing to the office.", 2025)
    say(cars, NEW, 2026, user_id="ben")
    before = links(conn)
    assert cars.indexes.link_facts() == 0
    conn.execute("DELETE FROM memsense.supersessions")
    conn.commit()
    assert cars.indexes.link_facts(user_id="ben") == 1
    assert (links(conn), links(conn, "ben")) == ([], [(OLD, NEW, PROOF)])
    reported: list[tuple[str, int]] = []
    cars.indexes.link_facts(on_user=lambda user, count: reported.append((user, count)))
    assert reported == [("ada", len(links(conn))), ("ben", 0)]
    assert {newer for _, newer, _ in links(conn)} == {newer for _, newer, _ in before}
    with pytest.raises(NotFoundError, match="'carl'"):
        cars.indexes.link_facts(user_id="carl")


@pytest.mark.one_server("its tables lie on the nodes, which count what they read")
def test_an_add_reads_few_rows_of_a_store_that_was_never_analysed(module_database_url: str) -> None:
    with MemSense.open(module_database_url, embedder=TokenHashingEmbedder()) as memory:
        for number in range(150):
            text = f"I keep {number} bees and hive {number // 3} near the orchard."
            say(memory, text, 1900 + number)
        for start in (0, 120, 240, 360, 480, 60):
            say(memory, " ".join(f"bee{start + number}" for number in range(120)), 2060 + start)
    with psycopg.connect(module_database_url) as conn:
        (tenant_id,) = conn.execute("SELECT tenant_id FROM memsense.tenants").fetchone() or (0,)
        namespace = find_namespace(conn, tenant_id, "default")
        assert namespace is not None
        scope = lock_scope(conn, namespace, "ada")
        newest = conn.execute("SELECT max(chunk_id) FROM memsense.chunks").fetchone()
        assert newest is not None
        reads = "SELECT sum(idx_tup_fetch + seq_tup_read) FROM pg_stat_xact_user_tables"
        before = conn.execute(reads).fetchone() or (0,)
        pairs = list(find_pairs(conn, scope, list(newest)))
        after = conn.execute(reads).fetchone() or (0,)
    assert pairs
    # A scan of the memory for each of eight words, some more on PostgreSQL 16, and each word of
    # the newest exchange; joined with itself the memory would be 22,500 rows, and the vocabulary
    # read for each word 290,000.
    assert after[0] - before[0] < 20 * 150
