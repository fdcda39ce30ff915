"""Conversations in other programs' SQLite databases, as the JSON lines that readers take.

Each session is one line, in the form in which its program exports it: so a database and its export
are read by the same reader, and give the same messages.
"""

import io
import json
import sqlite3
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import pydantic_core

from memsense.db.foreign import MAGIC, Database, Snapshot
from memsense.ingest.values import identifier, mapping, objects, string
from memsense.types import JsonValue

DATABASE_SUFFIXES = frozenset({".db", ".sqlite", ".sqlite3", ".vscdb"})
SIGNATURE_BYTES = len(MAGIC)
PROGRAMS = "Cursor, opencode and Goose"

Session = dict[str, Any]


def is_database(head: bytes) -> bool:
    """Return whether a file with this beginning is an SQLite database."""
    return head.startswith(MAGIC)


class Sessions:
    """The sessions in a database, a JSON line each, to be opened like a file.

    A database of an unknown program, or without sessions, is an empty file.
    """

    def __init__(self, path: Path) -> None:
        self._database = Database(path)

    @contextmanager
    def open(self) -> Generator[BinaryIO]:
        """Open the lines as a stream of bytes."""
        # Another program's database is recognised by its tables before it is copied: it may be
        # large, and in use.
        tables = self._database.peek().keys()
        if tables and not any(set(needed) <= tables for needed in _PROGRAMS):
            yield io.BytesIO()
            return
        with self._database.open() as snapshot, closing(_lines(snapshot)) as lines:
            stream = _Stream(lines)
            yield cast("BinaryIO", stream)
        if stream.ended:
            self._database.drop()


class _Stream(io.RawIOBase):
    """A stream of bytes made of lines, which are produced as they are read."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self._lines = lines
        self._pending = b""
        self.ended = False

    def read(self, size: int = -1) -> bytes:
        """Read up to `size` bytes, or all."""
        pieces, length = [self._pending], len(self._pending)
        while not self.ended and (size < 0 or length < size):
            line = next(self._lines, b"")
            self.ended = not line
            pieces.append(line)
            length += len(line)
        data = b"".join(pieces)
        end = len(data) if size < 0 else size
        self._pending = data[end:]
        return data[:end]


def _lines(snapshot: Snapshot) -> Generator[bytes]:
    tables = snapshot.tables()
    try:
        for needed, sessions in _PROGRAMS.items():
            if not set(needed) <= tables:
                continue
            for session in sessions(snapshot):
                if session.get("messages") or session.get("conversation"):
                    yield json.dumps(session, default=_decode).encode() + b"\n"
    except KeyError as error:
        raise sqlite3.DatabaseError(f"it has no column {error}: an unknown version") from error


def _decode(value: object) -> str:
    """Return bytes as text: in SQLite a column of any type may hold them."""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _parse_column(text: object) -> JsonValue:
    """Return the JSON that a column holds, or None if it holds none."""
    if not isinstance(text, str | bytes):
        return None
    try:
        return cast("JsonValue", pydantic_core.from_json(text))
    except ValueError:
        return None


# opencode -----------------------------------------------------------------------------------------


# Columns that are read with `get` are missing in some versions of their program.


def _opencode(snapshot: Snapshot) -> Iterator[Session]:
    for row in snapshot.rows("list_opencode_sessions"):
        session_id = str(row["id"])
        parts: dict[str, list[JsonValue]] = {}
        for part in snapshot.rows("list_opencode_parts", session=session_id):
            parts.setdefault(part["message_id"], []).append(_parse_column(part["data"]))
        messages = [
            {
                "info": {**mapping(_parse_column(message["data"])), "id": message["id"]},
                "parts": parts.get(message["id"], []),
            }
            for message in snapshot.rows("list_opencode_messages", session=session_id)
        ]
        info = {
            "id": session_id,
            "parentID": row.get("parent_id"),
            "title": row.get("title"),
            "directory": row.get("directory"),
            "revert": _parse_column(row.get("revert")),
            "time": {"created": row.get("time_created")},
        }
        yield {"info": info, "messages": messages}


# Goose --------------------------------------------------------------------------------------------


def _goose(snapshot: Snapshot) -> Iterator[Session]:
    for row in snapshot.rows("list_goose_sessions"):
        session_id = str(row["id"])
        messages = [
            {
                "id": message.get("message_id") or str(message["id"]),
                "role": message["role"],
                "created": message["created_timestamp"],
                "content": _parse_column(message["content_json"]),
                "metadata": _parse_column(message.get("metadata_json")),
            }
            for message in snapshot.rows("list_goose_messages", session=session_id)
        ]
        yield {
            "id": session_id,
            "name": row.get("name"),
            "description": row.get("description"),
            "session_type": row.get("session_type"),
            "working_dir": row.get("working_dir"),
            "conversation": messages,
        }


# Cursor -------------------------------------------------------------------------------------------


def _cursor(snapshot: Snapshot) -> Iterator[Session]:
    # The range of keys that begin with "composerData:" (";" follows ":"), so that the index of the
    # keys finds them.
    for row in snapshot.rows("list_values", first="composerData:", last="composerData;"):
        composer = mapping(_parse_column(row["value"]))
        composer_id = identifier(composer.get("composerId")) or row["key"].partition(":")[2]
        if not composer:
            continue
        start = f"bubbleId:{composer_id}:"
        bubble_rows = snapshot.rows("list_values", first=start, last=f"bubbleId:{composer_id};")
        by_id = {r["key"].removeprefix(start): _parse_column(r["value"]) for r in bubble_rows}
        # The headers give the order of the messages. Older chats hold the messages themselves, by
        # id or as a list without headers.
        inline = mapping(composer.get("conversationMap"))
        headers = objects(composer.get("fullConversationHeadersOnly"))
        bubbles: list[JsonValue] = [
            {"bubbleId": bubble_id, **mapping(by_id.get(bubble_id) or inline.get(bubble_id))}
            for bubble_id in (string(header.get("bubbleId")) for header in headers)
        ]
        if not headers:
            bubbles = [*objects(composer.get("conversation"))]
        yield _composer(composer, composer_id, bubbles)


def _cursor_items(snapshot: Snapshot) -> Iterator[Session]:
    """Yield the chats that older versions kept in the database of each workspace."""
    for row in snapshot.rows("list_items"):
        value = mapping(_parse_column(row["value"]))
        for composer in objects(value.get("allComposers")):
            if conversation := objects(composer.get("conversation")):
                yield _composer(composer, string(composer.get("composerId")), [*conversation])
        for tab in objects(value.get("tabs")):
            bubbles: list[JsonValue] = [
                {
                    **bubble,
                    "bubbleId": bubble.get("id"),
                    "text": string(bubble.get("rawText")) or string(bubble.get("text")),
                }
                for bubble in objects(tab.get("bubbles"))
            ]
            composer = {**tab, "name": tab.get("chatTitle")}
            yield _composer(composer, string(tab.get("tabId")), bubbles)


def _composer(
    composer: Mapping[str, JsonValue], composer_id: str, bubbles: list[JsonValue]
) -> Session:
    return {
        "composerId": composer_id,
        "name": composer.get("name"),
        "createdAt": composer.get("createdAt"),
        "isBestOfNSubcomposer": composer.get("isBestOfNSubcomposer"),
        "conversation": bubbles,
    }


_PROGRAMS: Mapping[tuple[str, ...], Callable[[Snapshot], Iterator[Session]]] = {
    ("session", "message", "part"): _opencode,
    ("sessions", "messages", "schema_version"): _goose,
    ("cursorDiskKV",): _cursor,
    ("ItemTable",): _cursor_items,
}
