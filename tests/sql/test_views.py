"""Debugging views agree with Python, and each of their columns has a comment."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, LiteralString, cast

import psycopg
import pytest
from psycopg.rows import dict_row

from memsense import Chunk, MemSense
from memsense.search.profiles import ROUTES

VIEWS = (
    "recall_routes",
    "chunk_overview",
    "session_timeline",
    "route_coverage",
    "pending_embeddings",
)
MAY = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
def filled(memory: MemSense) -> MemSense:
    """Store two users, three sessions, facets and sides of every kind, and one forgotten chunk."""
    for n in range(9):
        sides = (("user", "assistant"), ("user",), ("assistant",))[n % 3]
        place = " in Porto" if n % 4 == 0 else ""
        memory.add(
            [
                {
                    "role": side,
                    "content": f"{side} says tea {n}{place}",
                    "at": MAY + timedelta(days=n),
                }
                for side in sides
            ],
            user_id="ada" if n < 6 else "ben",
            session_id=f"s{n // 3}",
            facets={"events": f"tea {n}"} if n % 2 else {"preferences": "tea"},
            tags=["tea"],
            mode="hybrid",
        )
    memory.indexes.make_sessions()
    memory.forget(memory.recent(user_id="ada", session_id="s1")[0].chunk_id)
    return memory


def rows(url: str, query: str) -> list[dict[str, Any]]:
    with psycopg.connect(url) as conn:
        cursor = conn.cursor(row_factory=dict_row)
        return cursor.execute(cast("LiteralString", query)).fetchall()


def chunks_of(memory: MemSense, user_id: str) -> list[Chunk]:
    """Return the user's active chunks."""
    return [
        chunk
        for granularity in ("turn", "session")
        for chunk in memory.recent(limit=100, user_id=user_id, granularity=granularity)
    ]


def routes_of(chunk: Chunk) -> set[str]:
    """Return the routes that can find a chunk, from its texts."""
    if chunk.granularity == "session":
        return {"vec_full", "lexical"}
    texts = {
        "vec_full": "always",
        "lexical": "always",
        "vec_user": chunk.user_text,
        "vec_assistant": chunk.assistant_text,
        "vec_next_user": chunk.next_user_text,
        "facet_personal_info": chunk.personal_info,
        "facet_preferences": chunk.preferences,
        "facet_events": chunk.events,
        "graph": "Porto" in chunk.content,
        "time": chunk.occurred_at,
    }
    return {route for route, text in texts.items() if text}


def test_the_views_are_there_and_no_others(conn: psycopg.Connection[Any]) -> None:
    found = conn.execute("SELECT viewname FROM pg_views WHERE schemaname = 'memsense'").fetchall()
    assert {name for (name,) in found} >= set(VIEWS)


def test_every_view_and_column_has_a_comment(conn: psycopg.Connection[Any]) -> None:
    found = conn.execute(
        "SELECT c.relname, a.attname, col_description(c.oid, a.attnum), obj_description(c.oid)"
        " FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0"
        " WHERE c.relnamespace = 'memsense'::regnamespace AND c.relkind = 'v'"
    ).fetchall()
    assert {view for view, *_ in found} >= set(VIEWS)
    assert [(view, name) for view, name, comment, _ in found if not comment] == []
    assert [view for view, _, _, comment in found if not comment] == []


def test_recall_routes_equal_the_routes_of_the_chunks_texts(
    filled: MemSense, database_url: str
) -> None:
    found = {
        (row["chunk_id"], row["route"]): row
        for row in rows(database_url, "SELECT * FROM memsense.recall_routes")
    }
    chunks = [chunk for user in ("ada", "ben") for chunk in chunks_of(filled, user)]
    assert found.keys() == {(c.chunk_id, route) for c in chunks for route in routes_of(c)}
    for (_, route), row in found.items():
        assert row["model"] == (None if route in {"lexical", "graph", "time"} else "hashing")
        assert (row["tenant"], row["namespace"]) == ("default", "default")


def test_route_coverage_is_the_share_of_chunks_per_scope_and_route(
    filled: MemSense, database_url: str
) -> None:
    found = rows(database_url, "SELECT * FROM memsense.route_coverage")
    assert len(found) == 2 * 2 * len(ROUTES)
    for row in found:
        chunks = [
            chunk
            for chunk in chunks_of(filled, row["user_id"])
            if chunk.granularity == row["granularity"]
        ]
        having = sum(row["route"] in routes_of(chunk) for chunk in chunks)
        assert (row["chunks"], row["chunks_with_route"]) == (len(chunks), having)
        assert float(row["share"]) == round(having / len(chunks), 4)


def test_chunk_overview_shows_each_chunk_as_python_does(
    filled: MemSense, database_url: str
) -> None:
    found = {
        row["chunk_id"]: row for row in rows(database_url, "SELECT * FROM memsense.chunk_overview")
    }
    stored = rows(database_url, "SELECT chunk_id FROM memsense.chunks")
    assert found.keys() == {row["chunk_id"] for row in stored}
    names = [
        "content",
        "namespace",
        "user_id",
        "agent_id",
        "session_id",
        "granularity",
        "ordinal",
        "last_ordinal",
        "part",
        "task_tag",
        "tags",
        "memory_kind",
        "personal_info",
        "preferences",
        "events",
        "memory_score",
        "confidence",
        "status",
        "occurred_at",
        "recorded_at",
        "message_ids",
        "source",
        "metadata",
        "next_user_text",
        "context",
    ]
    for chunk_id, row in found.items():
        chunk = filled.get(chunk_id)
        if chunk.status == "deleted":  # what it says is shown to whoever may read the table alone
            assert (row["status"], chunk.content) == ("deleted", "")
            continue
        assert {name: row[name] for name in names} == {name: getattr(chunk, name) for name in names}


def test_chunk_overview_names_the_active_neighbours(filled: MemSense, database_url: str) -> None:
    found = {
        row["chunk_id"]: row for row in rows(database_url, "SELECT * FROM memsense.chunk_overview")
    }
    for user in ("ada", "ben"):
        turns = [chunk for chunk in chunks_of(filled, user) if chunk.granularity == "turn"]
        turns.sort(key=lambda chunk: (chunk.session_id, chunk.ordinal))
        for one, other in pairwise(turns):
            linked = one.session_id == other.session_id
            assert found[one.chunk_id]["next_chunk_id"] == (other.chunk_id if linked else None)
            assert found[other.chunk_id]["previous_chunk_id"] == (one.chunk_id if linked else None)
    inactive = [row for row in found.values() if row["status"] != "active"]
    assert inactive
    assert {(row["previous_chunk_id"], row["next_chunk_id"]) for row in inactive} == {(None, None)}


def test_session_timeline_counts_each_session(filled: MemSense, database_url: str) -> None:
    found = rows(database_url, "SELECT * FROM memsense.session_timeline ORDER BY session_id")
    assert [(row["user_id"], row["session_id"], row["inactive"]) for row in found] == [
        ("ada", "s0", 0),
        ("ada", "s1", 1),
        ("ben", "s2", 0),
    ]
    for row in found:
        chunks = [c for c in chunks_of(filled, row["user_id"]) if c.session_id == row["session_id"]]
        kinds = Counter(chunk.granularity for chunk in chunks)
        assert (row["turns"], row["session_chunks"]) == (kinds["turn"], kinds["session"])
        times = [chunk.occurred_at for chunk in chunks if chunk.occurred_at]
        assert (row["first_at"], row["last_at"]) == (min(times), max(times))
        turns = sorted((c for c in chunks if c.granularity == "turn"), key=lambda c: c.ordinal)
        characters = sum(len(turn.user_text) + len(turn.assistant_text) for turn in turns)
        assert row["turn_characters"] == characters
        assert row["opening"] == next(turn.user_text for turn in turns if turn.user_text)


def test_pending_embeddings_name_every_missing_vector(filled: MemSense, database_url: str) -> None:
    assert rows(database_url, "SELECT * FROM memsense.pending_embeddings") == []
    deleted = rows(
        database_url,
        "DELETE FROM memsense.embeddings WHERE route IN ('user', 'full', 'events')"
        " RETURNING chunk_id, route",
    )
    pending = rows(database_url, "SELECT chunk_id, route, text FROM memsense.pending_embeddings")
    assert {(row["chunk_id"], row["route"]) for row in pending} == {
        (row["chunk_id"], row["route"]) for row in deleted
    }
    for row in pending:
        chunk = filled.get(row["chunk_id"])
        whole = chunk.session_text or "\n".join(
            filter(None, (chunk.user_text, chunk.assistant_text))
        )
        texts = {"full": whole, "user": chunk.user_text, "events": chunk.events}
        assert row["text"] == texts[row["route"]]
