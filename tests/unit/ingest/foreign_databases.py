"""Small databases of the programs that keep their conversations in SQLite, after their schemas."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

Json = dict[str, Any]
START = 1767225600


def connect(path: Path, *, wal: bool = False) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    # A test's file need not survive a power cut, and its disk has other things to do.
    connection.execute("PRAGMA synchronous = OFF")
    if wal:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
    return connection


# opencode


def make_opencode(connection: sqlite3.Connection) -> None:
    connection.executescript(
        """
        CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, title TEXT,
            revert TEXT, time_created INTEGER, time_updated INTEGER);
        CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER,
            data TEXT);
        CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);
        """
    )
    session = ("ses_1", "p", None, "a title", None, START * 1000, START * 1000)
    connection.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?)", session)
    connection.execute(
        "INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?)",
        ("ses_2", "p", "ses_1", "a helper", None, START * 1000, START * 1000),
    )
    say_opencode(connection, "ses_2", 9, "user", "side work")
    connection.commit()


def say_opencode(
    connection: sqlite3.Connection, session: str, number: int, role: str, text: str
) -> None:
    at = (START + number) * 1000
    known = f"msg_{number}"
    data = json.dumps({"role": role, "time": {"created": at}})
    connection.execute("INSERT INTO message VALUES (?, ?, ?, ?)", (known, session, at, data))
    parts: list[Json] = [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": text}]
    for place, part in enumerate(parts):
        row = (f"prt_{number}_{place}", known, session, json.dumps(part))
        connection.execute("INSERT INTO part VALUES (?, ?, ?, ?)", row)


# Goose


def make_goose(connection: sqlite3.Connection) -> None:
    connection.executescript(
        """
        CREATE TABLE schema_version (version INTEGER PRIMARY KEY);
        CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, description TEXT,
            session_type TEXT, working_dir TEXT, created_at TIMESTAMP);
        CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, role TEXT,
            content_json TEXT, created_timestamp INTEGER, metadata_json TEXT);
        INSERT INTO sessions VALUES ('ses_1', 'a title', '', 'user', '/', '2026-01-01 00:00:00');
        INSERT INTO sessions VALUES ('ses_2', 'x', '', 'sub_agent', '/', '2026-01-01 00:00:01');
        """
    )
    say_goose(connection, "ses_2", 9, "user", "side work")
    connection.commit()


def say_goose(
    connection: sqlite3.Connection, session: str, number: int, role: str, text: str
) -> None:
    content = json.dumps([{"type": "text", "text": text}])
    row = (session, role, content, START + number, json.dumps({"userVisible": True}))
    connection.execute(
        "INSERT INTO messages (session_id, role, content_json, created_timestamp, metadata_json)"
        " VALUES (?, ?, ?, ?, ?)",
        row,
    )


# Cursor


def make_cursor(connection: sqlite3.Connection) -> None:
    connection.executescript(
        """
        CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
        CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
        INSERT INTO cursorDiskKV VALUES ('composerData:empty', '{"composerId": "empty"}');
        INSERT INTO cursorDiskKV VALUES ('composerData:null', NULL);
        """
    )
    chat = {"composerId": "ses_2", "isBestOfNSubcomposer": True}
    put(connection, "composerData:ses_2", chat | {"fullConversationHeadersOnly": []})
    say_cursor(connection, "ses_2", 9, "user", "side work")
    chat = {"composerId": "ses_1", "name": "a title", "createdAt": START * 1000}
    put(connection, "composerData:ses_1", chat | {"fullConversationHeadersOnly": []})
    say_cursor(connection, "ses_1", 0, "tool", "")
    connection.commit()


def put(connection: sqlite3.Connection, key: str, value: Json) -> None:
    row = (key, json.dumps(value).encode())
    connection.execute("INSERT INTO cursorDiskKV VALUES (?, ?)", row)


def say_cursor(
    connection: sqlite3.Connection, session: str, number: int, role: str, text: str
) -> None:
    """Later messages get ids that sort before earlier ones: the headers alone tell the order."""
    key = f"composerData:{session}"
    (value,) = connection.execute("SELECT value FROM cursorDiskKV WHERE key = ?", (key,)).fetchone()
    chat = json.loads(value)
    known = f"b{99 - number}"
    kind = 1 if role == "user" else 2
    chat["fullConversationHeadersOnly"].append({"bubbleId": known, "type": kind})
    put(connection, key, chat)
    bubble: Json = {"type": kind, "text": text, "createdAt": f"2026-01-01T00:00:{number:02}.000Z"}
    if role == "tool":
        bubble["toolFormerData"] = {"name": "read_file"}
    put(connection, f"bubbleId:{session}:{known}", bubble)


Say = Callable[[sqlite3.Connection, str, int, str, str], None]

PROGRAMS: dict[str, tuple[str, Callable[[sqlite3.Connection], None], Say]] = {
    "opencode": ("opencode.db", make_opencode, say_opencode),
    "goose": ("sessions.db", make_goose, say_goose),
    "cursor": ("state.vscdb", make_cursor, say_cursor),
}


def write_database(folder: Path, form: str, *texts: str) -> Path:
    """A database with one session of these texts, by turns the user's and the agent's."""
    name, make, say = PROGRAMS[form]
    path = folder / name
    with closing(connect(path)) as connection:
        make(connection)
        for number, text in enumerate(texts, 1):
            say(connection, "ses_1", number, "user" if number % 2 else "assistant", text)
        connection.commit()
    return path
