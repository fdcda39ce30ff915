"""Ingesting logs again: by two processes, after a kill, after they grew, after edits."""

import json
import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from counting import assert_counted
from embedders import HashingEmbedder

from memsense import MemSense
from memsense.errors import InvalidInputError
from memsense.ingest import ReadOptions
from memsense.types import IngestMode

OpenMemory = Callable[..., MemSense]
Line = dict[str, Any]

INGEST = """
import sys
from embedders import HashingEmbedder
from memsense import MemSense

url, path, mode = sys.argv[1:]
with MemSense.open(url, embedder=HashingEmbedder()) as memory:
    print("ready", flush=True)
    sys.stdin.readline()
    memory.ingest(path, user_id="ada", mode=mode, on_session=lambda _: print("session", flush=True))
print("done", flush=True)
"""
PATIENCE = 60

# A memory without the numbers that depend on what else was written, and when.
CONTENTS = (
    """
    SELECT session_id, granularity, ordinal, last_ordinal, part, user_text, assistant_text,
        session_text, next_user_text, context, tsv::text, status, message_ids, events,
        content_hash, user_length, assistant_length, context_length
    FROM memsense.chunks JOIN memsense.scopes USING (tenant_id, scope_id)
    WHERE user_id = %(user)s AND status = 'active'
    ORDER BY 1, 2, 3, 5
    """,
    """
    SELECT c.session_id, c.granularity, c.ordinal, c.part, e.route, e.embedding::text,
        p.ordinal, p.part
    FROM memsense.embeddings AS e
    JOIN memsense.chunks AS c USING (tenant_id, scope_id, chunk_id)
    JOIN memsense.scopes AS s USING (tenant_id, scope_id)
    LEFT JOIN memsense.chunks AS p ON p.chunk_id = e.previous_chunk_id
    WHERE user_id = %(user)s
    ORDER BY 1, 2, 3, 4, 5
    """,
    """
    SELECT granularity, lexeme, document_frequency
    FROM memsense.lexemes JOIN memsense.scopes USING (tenant_id, scope_id)
    WHERE user_id = %(user)s
    ORDER BY 1, 2
    """,
    """
    SELECT granularity, chunk_count, user_length, assistant_length, tag_length, context_length
    FROM memsense.scope_statistics JOIN memsense.scopes USING (tenant_id, scope_id)
    WHERE user_id = %(user)s
    ORDER BY 1
    """,
    """
    SELECT session_id, message_key, content_hash, ordinal
    FROM memsense.ingested_messages JOIN memsense.scopes USING (tenant_id, scope_id)
    WHERE user_id = %(user)s
    ORDER BY 1, 2
    """,
)


def contents(url: str, user: str) -> list[list[tuple[Any, ...]]]:
    """Return all contents of the user, once the session chunks are made."""
    with MemSense.open(url, embedder=HashingEmbedder()) as memory:
        memory.indexes.make_sessions()
    with psycopg.connect(url) as conn:
        assert_counted(conn)
        return [conn.execute(query, {"user": user}).fetchall() for query in CONTENTS]


def some_lines(sessions: int, exchanges: int, *, ids: bool = True, seed: int = 5) -> list[Line]:
    source = random.Random(seed)
    words = [
        "apple",
        "river",
        "lantern",
        "Lisbon",
        "guitar",
        "winter",
        "saffron",
        "bicycle",
        "ledger",
        "harbour",
        "tea",
    ]
    lines: list[Line] = []
    for session in range(sessions):
        for n in range(exchanges):
            for role in ("user", "assistant"):
                text = f"{session}.{n} " + " ".join(source.choices(words, k=source.choice([4, 30])))
                line = {"session_id": f"s{session}", "role": role, "content": text}
                lines.append({**line, "id": f"{session}-{n}-{role}"} if ids else line)
    return lines


def write(path: Path, lines: Sequence[Line]) -> Path:
    path.write_text("\n".join(json.dumps(line) for line in lines))
    return path


def start(url: str, path: Path, mode: str = "hybrid") -> subprocess.Popen[str]:
    """Start a process that ingests the file once it reads a line of input."""
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", INGEST, url, str(path), mode],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line == "ready\n", process.communicate(timeout=PATIENCE)[1]
    return process


def begin(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


@pytest.mark.parametrize("mode", ["hybrid", pytest.param("session", marks=pytest.mark.full)])
def test_two_processes_ingesting_one_file_store_it_once(
    memory: MemSense, database_url: str, tmp_path: Path, mode: IngestMode
) -> None:
    path = write(tmp_path / "log.jsonl", some_lines(12, 12))
    processes = [start(database_url, path, mode) for _ in range(2)]
    for process in processes:
        begin(process)
    for process in processes:
        output, errors = process.communicate(timeout=PATIENCE)
        assert (process.returncode, errors) == (0, "")
        assert output.endswith("done\n")
    memory.ingest(path, user_id="alone", mode=mode)
    assert contents(database_url, "ada") == contents(database_url, "alone")


@pytest.mark.parametrize("shape", [(8, 20, 3), pytest.param((2, 300, 1), marks=pytest.mark.full)])
def test_a_killed_ingest_is_completed_by_running_it_again(
    memory: MemSense, database_url: str, tmp_path: Path, shape: tuple[int, int, int]
) -> None:
    sessions, exchanges, kill_after = shape
    path = write(tmp_path / "log.jsonl", some_lines(sessions, exchanges))
    process = start(database_url, path, "hybrid")
    begin(process)
    assert process.stdout is not None
    for _ in range(kill_after):
        assert process.stdout.readline() == "session\n"
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGKILL
    with psycopg.connect(database_url) as conn:
        assert_counted(conn)
    report = memory.ingest(path, user_id="ada", mode="hybrid")
    assert report.stored + report.repeated == sessions * exchanges
    assert report.stored > 0
    assert report.repeated > 0
    memory.ingest(path, user_id="alone", mode="hybrid")
    assert contents(database_url, "ada") == contents(database_url, "alone")


@pytest.mark.parametrize("mode", ["turn", "hybrid", "session"])
@pytest.mark.parametrize("ids", [True, False])
def test_reading_a_file_again_changes_nothing(
    memory: MemSense, database_url: str, tmp_path: Path, mode: IngestMode, ids: bool
) -> None:
    path = write(tmp_path / "log.jsonl", some_lines(2, 6, ids=ids))
    memory.ingest(path, user_id="ada", mode=mode)
    before = contents(database_url, "ada")
    report = memory.ingest(path, user_id="ada", mode=mode)
    assert (report.stored, report.replaced, report.repeated) == (0, 0, 12)
    assert contents(database_url, "ada") == before


@pytest.mark.parametrize("mode", ["turn", "hybrid", "session"])
@pytest.mark.parametrize("grown", [(1, False), (9, True), (9, False), (10, True), (23, True)])
def test_a_file_that_grew_ends_as_if_it_was_read_once(
    memory: MemSense, database_url: str, tmp_path: Path, mode: IngestMode, grown: tuple[int, bool]
) -> None:
    cut, ids = grown
    lines = some_lines(1, 12, ids=ids)
    memory.ingest(write(tmp_path / "log.jsonl", lines[:cut]), user_id="ada", mode=mode)
    memory.ingest(write(tmp_path / "log.jsonl", lines), user_id="ada", mode=mode)
    memory.ingest(tmp_path / "log.jsonl", user_id="alone", mode=mode)
    assert contents(database_url, "ada") == contents(database_url, "alone")


@pytest.mark.parametrize("mode", ["turn", "hybrid", "session"])
@pytest.mark.parametrize("text", ["short", "saffron winter " * 400], ids=["shorter", "longer"])
def test_an_edited_message_replaces_its_exchange(
    memory: MemSense, database_url: str, tmp_path: Path, mode: IngestMode, text: str
) -> None:
    lines = some_lines(1, 12)
    path = tmp_path / "log.jsonl"
    memory.ingest(write(path, lines), user_id="ada", mode=mode)
    lines[10]["content"] = "changed: " + text
    report = memory.ingest(write(path, lines), user_id="ada", mode=mode)
    assert (report.stored, report.replaced, report.repeated) == (0, 1, 11)
    memory.ingest(path, user_id="alone", mode=mode)
    assert contents(database_url, "ada") == contents(database_url, "alone")
    lines[10]["content"] = some_lines(1, 12)[10]["content"]
    memory.ingest(write(path, lines), user_id="ada", mode=mode)
    memory.ingest(path, user_id="alone", mode=mode)
    assert contents(database_url, "ada") == contents(database_url, "alone")


def test_a_replacement_keeps_the_chunks_id_and_is_in_its_history(
    memory: MemSense, tmp_path: Path
) -> None:
    lines = some_lines(1, 4)
    path = tmp_path / "log.jsonl"
    memory.ingest(write(path, lines), user_id="ada")
    before = {c.ordinal: c.chunk_id for c in memory.recent(user_id="ada")}
    memory.promote(before[1])
    lines[2]["content"] = "changed altogether"
    memory.ingest(write(path, lines), user_id="ada")
    chunk = memory.get(before[1])
    assert chunk.user_text == "changed altogether"
    assert chunk.memory_score == pytest.approx(0.65)
    assert memory.get(before[0]).next_user_text == "changed altogether"
    assert "changed altogether" in memory.get(before[2]).context
    assert [event.kind for event in memory.history(before[1])] == ["added", "promoted", "replaced"]


@pytest.mark.parametrize("mode", ["turn", "hybrid", "session"])
def test_forgotten_exchanges_stay_forgotten_when_their_log_is_read_again(
    memory: MemSense, database_url: str, tmp_path: Path, mode: IngestMode
) -> None:
    lines = [{**line, "content": f"secret {line['content']}"} for line in some_lines(1, 3)]
    path = tmp_path / "log.jsonl"
    memory.ingest(write(path, lines), user_id="ada", mode=mode)
    granularity = "session" if mode == "session" else "turn"
    for chunk in memory.recent(limit=100, user_id="ada", granularity=granularity):
        memory.forget(chunk.chunk_id)
    lines[2]["content"] = "secret, but edited"
    lines.append({**lines[0], "content": "a new beginning", "id": "new"})
    memory.ingest(write(path, lines), user_id="ada", mode=mode)
    hits = memory.search("secret beginning", user_id="ada")
    assert hits
    assert all("secret" not in hit.content for hit in hits)
    contents(database_url, "ada")


def spoken(lines: Sequence[Line]) -> list[str]:
    return sorted(line["content"] for line in lines)


def stored_texts(memory: MemSense) -> list[str]:
    """Return every stored message, split at the blank lines that join messages of one side."""
    chunks = memory.recent(limit=1000, user_id="ada")
    sides = [side for chunk in chunks for side in (chunk.user_text, chunk.assistant_text) if side]
    return sorted(text for side in sides for text in side.split("\n\n"))


def edits() -> dict[str, Callable[[list[Line]], list[Line]]]:
    """Yield edits that move messages from one exchange to another."""
    extra = {"session_id": "s0", "role": "user", "content": "inserted", "id": "extra"}
    answer = {**extra, "role": "assistant", "content": "answered", "id": "extra2"}
    return {
        "an exchange inserted": lambda lines: [*lines[:4], extra, answer, *lines[4:]],
        "an exchange split in two": lambda lines: [*lines[:3], answer, extra, *lines[3:]],
        "two exchanges merged": lambda lines: [
            {**line, "role": "user" if n == 3 else line["role"]} for n, line in enumerate(lines)
        ],
        "an answer put first": lambda lines: [answer, *lines],
        "two exchanges swapped": lambda lines: [*lines[:2], *lines[4:6], *lines[2:4], *lines[6:]],
    }


@pytest.mark.parametrize("edit", list(edits()))
def test_messages_that_move_between_exchanges_are_neither_lost_nor_doubled(
    memory: MemSense, database_url: str, tmp_path: Path, edit: str
) -> None:
    original = some_lines(1, 6)
    edited = edits()[edit](original)
    path = tmp_path / "log.jsonl"
    for lines in (original, edited, edited):
        memory.ingest(write(path, lines), user_id="ada")
        assert stored_texts(memory) == spoken(lines)
        contents(database_url, "ada")
    again = memory.ingest(path, user_id="ada")
    assert (again.stored, again.replaced) == (0, 0)
    # Back again: a log is a source and not the truth, so what it no longer holds may stay.
    memory.ingest(write(path, original), user_id="ada")
    assert set(spoken(original)) <= set(stored_texts(memory))
    contents(database_url, "ada")
    again = memory.ingest(path, user_id="ada")
    assert (again.stored, again.replaced) == (0, 0)


def diary() -> list[Line]:
    """Return notes of three days without answers, then a question of the fourth with its answer."""
    return [
        {
            "session_id": "s0",
            "role": role,
            "content": f"{text} of day {day}",
            "id": text,
            "timestamp": f"2026-03-{day:02d}T12:00:00+00:00",
        }
        for role, text, day in (
            ("user", "a note", 1),
            ("user", "a walk", 2),
            ("user", "a meal", 3),
            ("user", "a question", 4),
            ("assistant", "an answer", 4),
            ("user", "thanks", 4),
        )
    ]


def test_notes_of_several_days_in_one_session_have_their_own_days(
    memory: MemSense, tmp_path: Path
) -> None:
    memory.ingest(write(tmp_path / "log.jsonl", diary()), user_id="ada")
    stored = memory.recent(limit=100, user_id="ada")
    days = [chunk.occurred_at.day for chunk in reversed(stored) if chunk.occurred_at]
    assert days == [1, 2, 3, 4, 4]
    names = ("role", "content", "id", "timestamp")
    memory.add([{name: line[name] for name in names} for line in diary()], user_id="bob")
    added = memory.recent(limit=100, user_id="bob")
    assert [chunk.occurred_at for chunk in added] == [chunk.occurred_at for chunk in stored]


def test_the_notes_of_a_month_in_one_call_are_of_their_days(memory: MemSense) -> None:
    noons = [datetime(2026, 3, day, 12, tzinfo=UTC) for day in range(1, 32)]
    evenings = [noon + timedelta(hours=5) for noon in noons[:27]]
    notes = [
        {"role": "user", "content": f"A note of {at:%Y-%m-%d}.", "at": at.isoformat()}
        for at in sorted([*noons, *evenings])
    ]
    assert len(notes) == 58
    memory.add(notes, user_id="ada")
    for chunk in memory.recent(limit=100, user_id="ada"):
        assert chunk.occurred_at is not None
        assert set(re.findall(r"[0-9-]{10}", chunk.user_text)) == {f"{chunk.occurred_at:%Y-%m-%d}"}
    assert len(memory.recent(limit=100, user_id="ada")) == 31
    assert len(memory.add(notes, user_id="bob", exchange_gap="4h")) == 58
    [whole] = memory.add_many([{"messages": notes, "exchange_gap": "0"}], user_id="eve")
    assert {chunk.occurred_at for chunk in whole} == {noons[0]}
    with pytest.raises(InvalidInputError, match="exchange_gap must be .*, or 0 for none"):
        memory.add(notes, user_id="ada", exchange_gap="soon")


@pytest.mark.parametrize("mode", ["turn", "hybrid", "session"])
def test_what_was_stored_without_gaps_stays_until_its_messages_change(
    memory: MemSense, database_url: str, tmp_path: Path, mode: IngestMode
) -> None:
    path = write(tmp_path / "log.jsonl", diary())
    off = ReadOptions(exchange_gap=timedelta(0))
    memory.ingest(path, user_id="ada", mode=mode, options=off)
    before = contents(database_url, "ada")
    report = memory.ingest(path, user_id="ada", mode=mode)
    assert (report.stored, report.replaced, report.repeated) == (0, 0, 2)
    assert contents(database_url, "ada") == before
    # The log goes on: the exchange of the notes stays, the last one is completed.
    more = {"role": "assistant", "content": "welcome", "id": "last"}
    longer = [*diary(), {**diary()[-1], **more}]
    report = memory.ingest(write(path, longer), user_id="ada", mode=mode)
    assert (report.stored, report.replaced, report.repeated) == (0, 1, 1)
    memory.ingest(path, user_id="alone", mode=mode, options=off)
    if mode != "session":  # there the session is written anew from the log
        assert contents(database_url, "ada") == contents(database_url, "alone")
    longer[1]["content"] = "changed"
    report = memory.ingest(write(path, longer), user_id="ada", mode=mode)
    assert (report.stored, report.replaced, report.repeated) == (3, 1, 1)
    again = memory.ingest(path, user_id="ada", mode=mode)
    assert (again.stored, again.replaced) == (0, 0)


def test_a_dry_run_stores_nothing_and_counts_what_is_new(
    memory: MemSense, database_url: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "log.jsonl", some_lines(1, 6))
    assert memory.ingest(path, user_id="ada", dry_run=True).stored == 6
    assert contents(database_url, "ada")[0] == []
    memory.ingest(path, user_id="ada")
    report = memory.ingest(path, user_id="ada", dry_run=True)
    assert (report.stored, report.repeated) == (0, 6)


@pytest.mark.one_server("its tables lie on the nodes, whose autovacuum analyses them")
def test_a_new_store_is_analysed_once_its_first_log_is_read(
    open_memory: OpenMemory, conn: psycopg.Connection, tmp_path: Path
) -> None:
    never = "SELECT count(*) FROM pg_class WHERE relname = 'chunks' AND reltuples < 0"
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps({"role": "user", "content": "I moved to Lisbon."}) + "\n")
    memory = open_memory(embedder=HashingEmbedder())
    memory.add("I drink tea", user_id="ada")
    assert conn.execute(never).fetchone() == (1,)
    memory.ingest(log, user_id="ada", dry_run=True)
    assert conn.execute(never).fetchone() == (1,)
    memory.ingest(log, user_id="ada")
    assert conn.execute(never).fetchone() == (0,)
