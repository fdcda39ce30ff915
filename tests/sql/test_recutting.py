"""Exchanges of an earlier version are cut into parts of today's length, and nothing is lost."""

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import psycopg
import pytest
from counting import assert_counted
from embedders import TokenHashingEmbedder, Vectors

from memsense import MemSense
from memsense.config import load_settings
from memsense.doctor.checkup import check_up
from memsense.embed import Passage, Reading
from memsense.errors import EmbeddingError
from memsense.search.profiles import BALANCED
from memsense.store import recutting
from memsense.types import Chunk

OpenMemory = Callable[..., MemSense]

MAY = datetime(2026, 5, 1, 12, tzinfo=UTC)

CONTENTS = """
SELECT to_jsonb(c) - ARRAY['chunk_id', 'scope_id', 'recorded_at', 'content_hash', 'dedup_window'] AS chunk,
    ARRAY(SELECT e.route || e.embedding::text || coalesce(p.ordinal || '.' || p.part, '')
          FROM memsense.embeddings AS e
          LEFT JOIN memsense.chunks AS p ON p.chunk_id = e.previous_chunk_id
          WHERE e.scope_id = c.scope_id AND e.chunk_id = c.chunk_id ORDER BY e.route) AS vectors,
    ARRAY(SELECT t.pieces::text || t.signs::text FROM memsense.token_vectors AS t
          WHERE t.scope_id = c.scope_id AND t.chunk_id = c.chunk_id) AS tokens,
    ARRAY(SELECT m.name || m.kind FROM memsense.mentions AS m
          WHERE m.scope_id = c.scope_id AND m.chunk_id = c.chunk_id ORDER BY 1) AS mentions
FROM memsense.chunks AS c JOIN memsense.scopes AS s USING (scope_id) WHERE s.user_id = %s AND c.status = 'active'
ORDER BY c.granularity, c.ordinal, c.part
"""  # noqa: E501

STEPS = ("drains", "pruning", "copper", "mulch", "netting", "harvest")


class Fickle(TokenHashingEmbedder):
    """Embedder that fails while it is down, and for texts with a word that it can't embed."""

    down = False
    poison = ""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors, or raise EmbeddingError."""
        self._check(texts)
        return super().embed(texts)

    def read(self, passages: Sequence[Passage]) -> list[Reading]:
        """Return vectors and tokens, or raise EmbeddingError."""
        self._check([passage.text for passage in passages])
        return super().read(passages)

    def _check(self, texts: Sequence[str]) -> None:
        if self.down or (self.poison and any(self.poison in text for text in texts)):
            raise EmbeddingError("no vectors")


class Watching(TokenHashingEmbedder):
    """Embedder that calls a function before it reads exchanges."""

    def on_read(self) -> None:
        """Do nothing, unless a test sets another function."""

    def read(self, passages: Sequence[Passage]) -> list[Reading]:
        """Return vectors and tokens."""
        self.on_read()
        return super().read(passages)


@pytest.fixture
def conn(database_url: str) -> Generator[psycopg.Connection[Any]]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def contents(conn: psycopg.Connection[Any], user_id: str) -> list[str]:
    return [repr(row) for row in conn.execute(CONTENTS, [user_id]).fetchall()]


def write_answer(number: int) -> str:
    """Return an answer of about 4,200 characters, each step in a paragraph of 700."""
    said = [f"I love {step} number {number}. " + f"Anna knows {step}. " * 40 for step in STEPS]
    return "\n\n".join(text[:700] for text in said)


def tell(memory: MemSense, user_id: str, *, session_id: str = "one", exchanges: int = 3) -> None:
    """Add long exchanges, each followed by a short one, with all that a caller may set."""
    for number in range(exchanges):
        memory.add(
            [
                {
                    "role": "user",
                    "name": "Anna",
                    "content": f"How do I keep orchard {number}? I live in Porto.",
                    "at": MAY + timedelta(hours=number),
                },
                {"role": "assistant", "content": write_answer(number)},
                {
                    "role": "user",
                    "name": "Anna",
                    "content": f"Thanks for the advice {number}.",
                    "at": MAY + timedelta(hours=number, minutes=1),
                },
                {"role": "assistant", "content": "You are welcome."},
            ],
            user_id=user_id,
            session_id=session_id,
            mode="hybrid",
            tags=[f"tag{number}"],
            metadata={"n": number},
            facets={"events": "planted an orchard"} if number == 1 else None,
        )
    memory.indexes.make_sessions()


@pytest.fixture
def as_before(
    older_lengths: Callable[[], AbstractContextManager[None]],
) -> Callable[[Callable[[], object]], None]:
    """Return a function that writes with the lengths of version 0.2.0."""

    def write(work: Callable[[], object]) -> None:
        with older_lengths():
            work()

    return write


Before = Callable[[Callable[[], object]], None]


def parts_of(memory: MemSense, user_id: str, ordinal: int) -> list[Chunk]:
    chunks = memory.recent(user_id=user_id, limit=200)
    return sorted([it for it in chunks if it.ordinal == ordinal], key=lambda it: it.part)


def leave_job(conn: psycopg.Connection[Any]) -> None:
    """Leave the job that the upgrade of a database leaves."""
    conn.execute(
        "INSERT INTO memsense.jobs (tenant_id, namespace_id, kind, scope_id)"
        " SELECT tenant_id, namespace_id, 'recut', scope_id FROM memsense.scopes"
    )


def test_a_recut_memory_is_as_if_it_had_been_stored_by_this_version(
    open_memory: OpenMemory, conn: psycopg.Connection[Any], as_before: Before
) -> None:
    memory = open_memory(embedder=TokenHashingEmbedder())
    as_before(lambda: tell(memory, "ada"))
    before = [parts_of(memory, "ada", ordinal) for ordinal in (0, 2, 4)]
    assert [len(parts) for parts in before] == [2, 2, 2]
    tell(memory, "bo")
    for user_id in ("ada", "bo"):
        memory.promote(parts_of(memory, user_id, 2)[0].chunk_id)
    leave_job(conn)
    done = memory.jobs.run()
    assert (done.failed, done.stopped_by) == (0, None)
    assert contents(conn, "ada") == contents(conn, "bo")
    assert_counted(conn)
    for ordinal, old in zip((0, 2, 4), before, strict=True):
        new = parts_of(memory, "ada", ordinal)
        assert len(new) > 4
        assert [it.chunk_id for it in new[:2]] == [it.chunk_id for it in old]
        assert "".join(it.assistant_text for it in new) == write_answer(ordinal // 2)
        assert memory.history(new[0].chunk_id)[-1].kind == "recut"
    assert memory.jobs.list() == []


def test_a_search_finds_the_same_or_more_before_during_and_after(
    open_memory: OpenMemory,
    conn: psycopg.Connection[Any],
    as_before: Before,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watching = Watching()
    memory, other = open_memory(embedder=watching), open_memory(embedder=TokenHashingEmbedder())
    as_before(lambda: tell(memory, "ada"))
    monkeypatch.setattr(recutting, "AT_ONCE", 1)
    questions = [f"{step} number {number}" for step in STEPS for number in range(3)]

    def find() -> tuple[int, list[bool]]:
        found: list[bool] = []
        for question in questions:
            hits = other.search(question, user_id="ada", top_k=3)
            found.append(any(hit.chunk.ordinal == 2 * int(question[-1]) for hit in hits))
        return len(other.recent(user_id="ada", limit=200)), found

    states = [find()]
    # The job embeds between its transactions, each of which cuts one exchange.
    watching.on_read = lambda: states.append(find())
    leave_job(conn)
    assert memory.jobs.run().failed == 0
    states.append(find())
    counts = [count for count, _ in states]
    assert counts == sorted(counts)
    assert len(set(counts)) == 4
    for (_, was), (_, now) in pairwise(states):
        lost = [it for it, one, other in zip(questions, was, now, strict=True) if one > other]
        assert lost == []
    assert all(states[-1][1])


def test_an_outage_leaves_the_exchanges_as_they_are_until_it_ends(
    open_memory: OpenMemory, conn: psycopg.Connection[Any], as_before: Before
) -> None:
    embedder = Fickle()
    memory = open_memory(embedder=embedder)
    as_before(lambda: tell(memory, "ada", exchanges=1))
    stored = contents(conn, "ada")
    leave_job(conn)
    embedder.down = True
    assert memory.jobs.run().stopped_by == "no vectors"
    assert contents(conn, "ada") == stored
    embedder.down = False
    assert memory.jobs.run().done == 1
    assert len(parts_of(memory, "ada", 0)) > 4


def test_a_text_that_cant_be_embedded_keeps_no_other_part_from_its_vectors(
    open_memory: OpenMemory, conn: psycopg.Connection[Any], as_before: Before
) -> None:
    embedder = Fickle()
    memory = open_memory(embedder=embedder)
    as_before(lambda: tell(memory, "ada", exchanges=1))
    leave_job(conn)
    embedder.poison = "copper"
    memory.jobs.run()
    parts = parts_of(memory, "ada", 0)
    assert len(parts) > 4
    bare = conn.execute(
        "SELECT DISTINCT chunk_id FROM memsense.pending_embeddings WHERE granularity = 'turn'"
    ).fetchall()
    assert {chunk_id for (chunk_id,) in bare} == {
        it.chunk_id for it in parts if "copper" in it.assistant_text
    }


def test_what_is_retired_or_expired_stays_as_it_is_and_a_restored_exchange_is_cut(
    open_memory: OpenMemory, conn: psycopg.Connection[Any], as_before: Before
) -> None:
    memory = open_memory(embedder=TokenHashingEmbedder())
    as_before(lambda: tell(memory, "ada"))
    first, second = (parts_of(memory, "ada", ordinal) for ordinal in (0, 2))
    memory.archive(first[0].chunk_id)
    memory.forget(second[0].chunk_id)
    conn.execute(
        "UPDATE memsense.chunks SET expires_at = now() - interval '1 hour' WHERE ordinal = 4"
    )
    leave_job(conn)
    memory.jobs.run(limit=1)
    assert conn.execute(
        "SELECT ordinal, count(*), max(part_count) FROM memsense.chunks"
        " WHERE granularity = 'turn' AND ordinal IN (0, 2, 4) GROUP BY 1 ORDER BY 1"
    ).fetchall() == [(0, 2, 2), (2, 2, 2), (4, 2, 2)]
    memory.restore(first[0].chunk_id)
    memory.jobs.run()
    assert len(parts_of(memory, "ada", 0)) > 4


def test_memory_as_of_a_moment_before_the_cut_holds_the_longer_parts(
    open_memory: OpenMemory, conn: psycopg.Connection[Any], as_before: Before
) -> None:
    memory = open_memory(embedder=TokenHashingEmbedder())
    memory.settings.set(history="on")
    as_before(lambda: tell(memory, "ada", exchanges=1))
    old = parts_of(memory, "ada", 0)
    [(then,)] = conn.execute("SELECT clock_timestamp()").fetchall()
    leave_job(conn)
    memory.jobs.run()
    [hit] = memory.search("mulch number 0", user_id="ada", top_k=1, as_of=then)
    assert hit.chunk.part_count == 2
    assert hit.chunk.assistant_text in {it.assistant_text for it in old}
    [hit] = memory.search("mulch number 0", user_id="ada", top_k=1)
    assert hit.chunk.part_count > 4
    assert memory.versions(old[0].chunk_id) == []


def test_the_doctor_counts_what_waits_and_leaves_jobs_for_it(
    open_memory: OpenMemory, database_url: str, as_before: Before
) -> None:
    memory = open_memory(embedder=TokenHashingEmbedder())
    as_before(lambda: tell(memory, "ada"))

    def examine(*, repair: bool = False) -> list[tuple[str, str, str]]:
        report = check_up(
            database_url,
            settings=load_settings(),
            profile=BALANCED,
            embedder=TokenHashingEmbedder(),
            repair=repair,
        )
        found = [it for it in report.findings if it.check in ("parts", "repair")]
        return [(it.severity, it.text.split(":")[0], it.remedy or "") for it in found]

    waiting = "3 long exchanges of default/default wait to be cut into shorter parts"
    remedy = "run 'memsense doctor --repair', then 'memsense worker'"
    assert examine() == [("warning", waiting, remedy)]
    assert examine(repair=True) == [
        ("info", "left 3 long exchanges of 1 memories to jobs", ""),
        ("info", waiting, "run 'memsense worker'"),
    ]
    memory.jobs.run()
    assert examine() == []


def test_an_import_of_an_earlier_versions_export_is_cut(
    open_memory: OpenMemory, as_before: Before, tmp_path: Path
) -> None:
    memory = open_memory(embedder=TokenHashingEmbedder())
    as_before(lambda: tell(memory, "ada", exchanges=1))
    memory.export_to(tmp_path / "ada.jsonl", user_id="ada")
    memory.erase(user_id="ada")
    memory.import_from(tmp_path / "ada.jsonl")
    assert len(parts_of(memory, "ada", 0)) == 2
    memory.jobs.run()
    assert len(parts_of(memory, "ada", 0)) > 4
