"""Databases of Cursor, opencode and Goose are read as they are, and left as they were."""

import json
import random
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from foreign_databases import PROGRAMS, connect, put, write_database

from memsense.errors import IngestError
from memsense.ingest import ReadOptions, ReadReport, expand_paths, read_source
from memsense.types import Conversation

ReadLog = Callable[..., tuple[list[Conversation], ReadReport]]

TEXTS = ("where is the boat?", "at the pier", "thanks <hook_context>x</hook_context>", "\U0001f6a4")
SAID = [
    ("user", "where is the boat?"),
    ("assistant", "at the pier"),
    ("user", "thanks"),
    ("assistant", "\U0001f6a4"),
]


def said(conversations: list[Conversation]) -> list[tuple[str, str]]:
    return [(m.role, m.text) for one in conversations for m in one.messages]


def look(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        path.name: (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(autouse=True)
def temporary(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where copies are made; empty after each reading."""
    folder = tmp_path_factory.mktemp("copies")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize("form", PROGRAMS)
def test_a_database_is_read_and_left_as_it_was(
    form: str, tmp_path: Path, temporary: Path, read_path: ReadLog
) -> None:
    write_database(tmp_path, form, *TEXTS)
    before = look(tmp_path)
    conversations, report = read_path(tmp_path)
    assert [(one.format, one.session_id, one.title) for one in conversations] == [
        (form, "ses_1", "a title")
    ]
    assert said(conversations) == SAID
    assert conversations[0].messages[0].at == datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC)
    assert len({m.external_id for m in conversations[0].messages}) == 4
    assert report.skip_counts["sidechain"] == 1
    assert report.injected_blocks == 1
    assert look(tmp_path) == before
    assert list(temporary.iterdir()) == []
    conversations, _ = read_path(tmp_path, options=ReadOptions(sidechains=True))
    assert sorted(one.session_id for one in conversations) == ["ses_1", "ses_2"]


@pytest.mark.parametrize("form", PROGRAMS)
def test_rows_that_are_only_in_the_write_ahead_log_are_read(
    form: str, tmp_path: Path, temporary: Path, read_path: ReadLog
) -> None:
    name, make, say = PROGRAMS[form]
    path = tmp_path / name
    with closing(connect(path, wal=True)) as program:
        make(program)
        say(program, "ses_1", 1, "user", "one")
        program.commit()
        say(program, "ses_1", 2, "assistant", "not committed yet")
        before = {known: size for known, (size, _) in look(tmp_path).items() if "-shm" not in known}
        conversations, _ = read_path(path)
        assert said(conversations) == [("user", "one")]
        after = {known: size for known, (size, _) in look(tmp_path).items() if "-shm" not in known}
        assert after == before
        program.commit()
        conversations, _ = read_path(path)
        assert said(conversations) == [("user", "one"), ("assistant", "not committed yet")]
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("form", PROGRAMS)
def test_a_program_may_write_while_its_database_is_read(form: str, tmp_path: Path) -> None:
    name, _, say = PROGRAMS[form]
    path = write_database(tmp_path, form, *TEXTS)
    (source,) = expand_paths([path])
    reading = read_source(source, ReadOptions())
    next(reading)
    with closing(sqlite3.connect(path, timeout=0)) as program:
        say(program, "ses_1", 5, "user", "more")
        program.commit()
    with pytest.raises(IngestError, match=f"{name}.*written to while it was read; run this again"):
        list(reading)
    assert len(next(read_source(source, ReadOptions())).messages) == 5


def test_a_transaction_under_way_in_the_file_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_database(tmp_path, "goose", *TEXTS)
    path.with_name("sessions.db-wal").write_bytes(b"\x00" * 64)
    path.with_name("sessions.db-journal").write_bytes(b"\x00" * 64)
    pauses: list[float] = []
    monkeypatch.setattr("memsense.db.foreign.time.sleep", pauses.append)
    (source,) = expand_paths([path])
    with pytest.raises(IngestError, match="does not stop changing"):
        list(read_source(source, ReadOptions()))
    assert len(pauses) == 4


def test_older_chats_of_cursor_are_read_too(tmp_path: Path, read_path: ReadLog) -> None:
    path = write_database(tmp_path, "cursor", "new")
    old = {
        "composerId": "old",
        "conversation": [
            {"bubbleId": "x", "type": 1, "text": "inline"},
            {"bubbleId": "y", "type": 2, "text": "", "thinking": {"text": "hm"}},
        ],
    }
    tab = {
        "tabId": "tab",
        "chatTitle": "a tab",
        "bubbles": [
            {"id": "p", "type": "user", "rawText": "raw", "text": "<p>raw</p>"},
            {"id": "q", "type": "ai", "rawText": "answer"},
        ],
    }
    with closing(connect(path)) as connection:
        put(connection, "composerData:old", old)
        key = "workbench.panel.aichat.view.aichat.chatdata"
        row = (key, json.dumps({"tabs": [tab]}))
        connection.execute("INSERT INTO ItemTable VALUES (?, ?)", row)
        connection.commit()
    conversations, report = read_path(path)
    assert {one.session_id: said([one]) for one in conversations} == {
        "old": [("user", "inline")],
        "ses_1": [("user", "new")],
        "tab": [("user", "raw"), ("assistant", "answer")],
    }
    assert report.skip_counts == {"thinking": 1, "tool call": 1, "sidechain": 1} | {
        "conversation without messages": 1
    }


def test_another_database_is_an_error_where_it_is_named_and_left_out_of_a_folder(
    tmp_path: Path, read_path: ReadLog
) -> None:
    with closing(connect(tmp_path / "other.db")) as connection:
        connection.execute("CREATE TABLE message (text TEXT)")
        connection.execute("INSERT INTO message VALUES ('hi')")
        connection.commit()
    write_database(tmp_path / "empty", "opencode")
    with pytest.raises(IngestError, match=r"SQLite database without conversations.*opencode"):
        read_path(tmp_path / "other.db")
    conversations, report = read_path(tmp_path)
    assert conversations == []
    assert report.skip_counts == {"database without a log": 1, "sidechain": 1} | {
        "conversation without messages": 1
    }


def test_a_live_database_of_another_program_is_not_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_path: ReadLog
) -> None:
    with closing(connect(tmp_path / "other.db", wal=True)) as program:
        program.execute("CREATE TABLE message (text TEXT)")
        program.execute("PRAGMA wal_checkpoint")
        program.execute("INSERT INTO message VALUES ('hi')")
        program.commit()
        monkeypatch.setattr("memsense.db.foreign.shutil.copyfile", None)
        _, report = read_path(tmp_path)
    assert report.skip_counts["database without a log"] == 1


@pytest.mark.parametrize("form", PROGRAMS)
def test_a_damaged_database_is_an_error_and_never_a_traceback(form: str, tmp_path: Path) -> None:
    path = write_database(tmp_path, form, *TEXTS)
    whole = path.read_bytes()
    chance = random.Random(form)
    damaged = [whole[: len(whole) * share // 16] for share in range(1, 16)]
    for _ in range(60):
        data = bytearray(whole)
        for _ in range(chance.randrange(1, 40)):
            data[chance.randrange(16, len(data))] = chance.randrange(256)
        damaged.append(bytes(data))
    for data in damaged:
        path.write_bytes(data)
        with suppress(IngestError):
            for source in expand_paths([path]):
                list(read_source(source, ReadOptions()))


@pytest.mark.parametrize("form", PROGRAMS)
def test_a_schema_of_another_version_is_told(form: str, tmp_path: Path, read_path: ReadLog) -> None:
    path = write_database(tmp_path, form, *TEXTS)
    told = {"opencode": "message.data", "goose": "messages.role", "cursor": "cursorDiskKV.value"}
    table, column = told[form].split(".")
    with closing(connect(path)) as connection:
        connection.execute(f"ALTER TABLE {table} RENAME COLUMN {column} TO other")
        connection.commit()
    with pytest.raises(IngestError, match=rf"{path.name}.*no (such )?column:? '?{column}"):
        read_path(path)


@pytest.mark.parametrize("form", PROGRAMS)
def test_a_column_may_hold_anything(form: str, tmp_path: Path, read_path: ReadLog) -> None:
    path = write_database(tmp_path, form, *TEXTS)
    column = {
        "opencode": "part SET data",
        "goose": "messages SET content_json",
        "cursor": "cursorDiskKV SET value",
    }[form]
    for value in (None, 7, 1.5, "", "{", "[1]", "null", b"\xff\xfe", '"x"', '{"text": 1}'):
        with closing(connect(path)) as connection:
            connection.execute(f"UPDATE {column} = ?", (value,))
            connection.commit()
        with suppress(IngestError):
            read_path(path)
