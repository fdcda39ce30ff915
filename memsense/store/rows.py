"""Rows of the database as the values that the write path works with."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from memsense.db.connection import Connection
from memsense.db.rows import execute, fetch_all
from memsense.draft.chunking import Link, Turn
from memsense.store.past import keep_past
from memsense.store.scopes import Scope
from memsense.text.lexemes import index_lexemes
from memsense.types import ChunkDraft


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """A turn chunk with what it repeats of its neighbours; a later part without its opening."""

    chunk_id: int
    turn: Turn
    link: Link


@dataclass(frozen=True, slots=True)
class StoredSessionChunk:
    """A session chunk as the draft that would make it."""

    chunk_id: int
    status: str
    draft: ChunkDraft


def read_turns(database_rows: Iterable[tuple[Any, ...]]) -> list[StoredTurn]:
    """Return the turns of the rows of fetch_turns or of one session of
    fetch_last_turns, in the same order."""
    return [
        StoredTurn(
            row[0],
            Turn(
                ordinal=row[1],
                part=row[2],
                user_text=row[3],
                assistant_text=row[4],
                user_speaker=row[5],
                assistant_speaker=row[6],
                agent_id=row[7],
                occurred_at=row[8],
                occurred_zone_known=row[9],
                message_ids=tuple(row[10]),
                source=row[11],
                project=row[14],
                language=row[15],
            ),
            Link(row[12], row[13]),
        )
        for row in database_rows
    ]


def read_session_chunks(
    connection: Connection, scope: Scope, session_id: str
) -> list[StoredSessionChunk]:
    """Return the session chunks of a session, of any status, in order."""
    values = {**scope.key, "session_id": session_id}
    return [
        StoredSessionChunk(
            row[0],
            row[6],
            ChunkDraft(
                granularity="session",
                session_id=session_id,
                ordinal=row[1],
                last_ordinal=row[2],
                part=row[3],
                session_text=row[4],
                message_ids=tuple(row[5]),
                memory_kind="episodic",
                agent_id=row[7],
                occurred_at=row[8],
                occurred_zone_known=row[9],
                source=row[10],
                content_hash=row[11],
                expires_at=row[12],
                project=row[13],
                language=row[14],
            ),
        )
        for row in fetch_all(connection, "fetch_session_chunks", values)
    ]


def relink(
    connection: Connection, scope: Scope, links: Sequence[tuple[int, Link, str | None]]
) -> None:
    """Store what turns, each with its id and its language, repeat of their neighbours."""
    if not links:
        return
    chunk_ids = [chunk_id for chunk_id, _, _ in links]
    keep_past(connection, scope, chunk_ids)
    values = {
        **scope.key,
        "chunk_ids": chunk_ids,
        "next_user_texts": [link.next_user_text for _, link, _ in links],
        "contexts": [link.context for _, link, _ in links],
        "context_terms": [
            index_lexemes(link.context, language or scope.last_language)
            for _, link, language in links
        ],
    }
    execute(connection, "relink_turns", values)
