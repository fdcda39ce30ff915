"""The conversations in other programs' SQLite databases, as the JSON lines that readers take.

Each session is one line in the form in which its program exports it, so that a database and an
export of it are read by the same reader, and give the same messages.
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

DATABASE_SUFFIXES = frozenset({".db", ".vscdb"})
SIGNATURE_BYTES = len(MAGIC)
PROGRAMS = "Cursor, opencode and Goose"

Session = dict[str, Any]


def is_database(head: bytes) -> bool:
    """Whether a file that begins so is an SQLite database."""
    return head.startswith(MAGIC)


class Sessions:
    """The sessions in a database, as a source's opener gives them: a JSON line each.

    Nothing comes of a database of a program that is not known, or that holds none.
    """

    def __init__(self, path: Path) -> None:
        self._database = Database(path)

    @contextmanager
    def open(self) -> Generator[BinaryIO]:
        """The lines as a stream of bytes; a database of others is not copied to learn that."""
        tables = self._database.peek()
        if tables and not any(set(needed) <= tables for needed in _PROGRAMS):
            yield io.BytesIO()
            return
        with self._database.open() as snapshot, closing(_lines(snapshot)) as lines:
            stream = _Stream(lines)
            yield cast("BinaryIO", stream)
        if stream.ended:
            self._database.drop()


class _Stream(io.RawIOBase):
    """Lines as a stream of bytes, made as they are read."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self._lines = lines
        self._pending = b""
        self.ended = False

    def read(self, size: int = -1) -> bytes:
        """As a file's read."""
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
            if set(needed) <= tables:
                for session in filter(_holds_messages, sessions(snapshot)):
                    yield json.dumps(session, default=_as_text).encode() + b"\n"
    except KeyError as error:
        raise sqlite3.DatabaseError(f"it has no column {error}: an unknown version") from error


def _as_text(value: object) -> str:
    """Bytes where a text is expected."""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _holds_messages(session: Session) -> bool:
    return bool(session.get("messages") or session.get("conversation"))


def _value(text: object) -> JsonValue:
    """The JSON that a column holds; None where it holds none."""
    if not isinstance(text, str | bytes):
        return None
    try:
        return cast("JsonValue", pydantic_core.from_json(text))
    except ValueError:
        return None


# opencode -----------------------------------------------------------------------------------------


def _opencode(snapshot: Snapshot) -> Iterator[Session]:
    for row in snapshot.rows("list_opencode_sessions"):
        known = str(row["id"])
        parts: dict[str, list[JsonValue]] = {}
        for part in snapshot.rows("list_opencode_parts", session=known):
            parts.setdefault(part["message_id"], []).append(_value(part["data"]))
        told = [
            {
                "info": {**mapping(_value(message["data"])), "id": message["id"]},
                "parts": parts.get(message["id"], []),
            }
            for message in snapshot.rows("list_opencode_messages", session=known)
        ]
        info = {
            "id": known,
            "parentID": row.get("parent_id"),
            "title": row.get("title"),
            "revert": _value(row.get("revert")),
            "time": {"created": row.get("time_created")},
        }
        yield {"info": info, "messages": told}


# Goose --------------------------------------------------------------------------------------------


def _goose(snapshot: Snapshot) -> Iterator[Session]:
    for row in snapshot.rows("list_goose_sessions"):
        known = str(row["id"])
        told = [
            {
                "id": message.get("message_id") or str(message["id"]),
                "role": message["role"],
                "created": message["created_timestamp"],
                "content": _value(message["content_json"]),
                "metadata": _value(message.get("metadata_json")),
            }
            for message in snapshot.rows("list_goose_messages", session=known)
        ]
        yield {
            "id": known,
            "name": row.get("name"),
            "description": row.get("description"),
            "session_type": row.get("session_type"),
            "conversation": told,
        }


# Cursor -------------------------------------------------------------------------------------------


def _cursor(snapshot: Snapshot) -> Iterator[Session]:
    for row in snapshot.rows("list_values", first="composerData:", last="composerData;"):
        composer = mapping(_value(row["value"]))
        known = identifier(composer.get("composerId")) or row["key"].partition(":")[2]
        if composer:
            yield _composer(composer, known, list(_bubbles(snapshot, composer, known)))


def _bubbles(
    snapshot: Snapshot, composer: Mapping[str, JsonValue], known: str
) -> Iterator[JsonValue]:
    """The messages in the order of their headers; older chats hold them themselves."""
    start = f"bubbleId:{known}:"
    rows = snapshot.rows("list_values", first=start, last=f"bubbleId:{known};")
    stored = {row["key"].removeprefix(start): _value(row["value"]) for row in rows}
    inline = mapping(composer.get("conversationMap"))
    headers = objects(composer.get("fullConversationHeadersOnly"))
    if not headers:
        yield from objects(composer.get("conversation"))
    for header in headers:
        bubble = string(header.get("bubbleId"))
        yield {"bubbleId": bubble, **mapping(stored.get(bubble) or inline.get(bubble))}


def _composer(composer: Mapping[str, JsonValue], known: str, bubbles: list[JsonValue]) -> Session:
    return {
        "composerId": known,
        "name": composer.get("name"),
        "createdAt": composer.get("createdAt"),
        "isBestOfNSubcomposer": composer.get("isBestOfNSubcomposer"),
        "conversation": bubbles,
    }


def _cursor_items(snapshot: Snapshot) -> Iterator[Session]:
    """The chats that older versions kept in the database of each workspace."""
    for row in snapshot.rows("list_items"):
        value = _value(row["value"])
        for composer in objects(mapping(value).get("allComposers")):
            told = [*objects(composer.get("conversation"))]
            if told:
                yield _composer(composer, string(composer.get("composerId")), [*told])
        for tab in objects(mapping(value).get("tabs")):
            bubbles: list[JsonValue] = [
                {**bubble, "bubbleId": bubble.get("id"), "text": _words(bubble)}
                for bubble in objects(tab.get("bubbles"))
            ]
            named = {**tab, "name": tab.get("chatTitle")}
            yield _composer(named, string(tab.get("tabId")), bubbles)


def _words(bubble: Mapping[str, JsonValue]) -> str:
    return string(bubble.get("rawText")) or string(bubble.get("text"))


_PROGRAMS: Mapping[tuple[str, ...], Callable[[Snapshot], Iterator[Session]]] = {
    ("session", "message", "part"): _opencode,
    ("sessions", "messages", "schema_version"): _goose,
    ("cursorDiskKV",): _cursor,
    ("ItemTable",): _cursor_items,
}
