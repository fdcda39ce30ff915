"""Import of an export's sessions, each stored once: the ledger and the contents recognise it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby

from psycopg.types.json import Jsonb

from memsense.db.connection import Connection
from memsense.db.rows import execute, fetch_all, fetch_value, fetch_values
from memsense.draft.expiry import has_expired
from memsense.draft.exported import FORMAT, ExportedChunk, LedgerEntry
from memsense.errors import IngestError
from memsense.store import writes
from memsense.store.scopes import Namespace, Scope
from memsense.store.sessions import mark_session
from memsense.store.vectors import insert_embeddings

FILE = "export.sql"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedSession:
    """The chunks of one session: its exchanges in order, then its session chunks."""

    user_id: str
    session_id: str
    speakers: Sequence[str]
    chunks: Sequence[ExportedChunk]


@dataclass(slots=True)
class Imported:
    """Counts of exchanges (or of session chunks that stand alone): stored, repeated, skipped."""

    stored: int = 0
    repeated: int = 0
    skipped: int = 0


@dataclass(slots=True)
class _Placed:
    """The chunks to write, each with its new ordinal, and the new ids by those of the export."""

    chunks: list[tuple[ExportedChunk, int]] = field(default_factory=list[tuple[ExportedChunk, int]])
    ids: dict[int, int] = field(default_factory=dict[int, int])


def holds_memories(connection: Connection, namespace: Namespace) -> bool:
    """Return whether any user has a memory in the namespace."""
    return fetch_value(connection, "holds_memories", namespace.key, FILE)


def import_session(
    connection: Connection, scope: Scope, session: ExportedSession, embed: writes.Embed
) -> Imported:
    """Store what the memory doesn't have of a session; the scope must be locked.

    An empty session is made as it was, with its ordinals and session chunks. In any other, new
    exchanges go behind the last one, and the session chunks are made anew.
    """
    chunks = _without_repeats(session)
    session = replace(session, chunks=_withhold_expired(chunks, scope.now))
    exchanges = [
        list(parts)
        for _, parts in groupby(
            (chunk for chunk in session.chunks if chunk.granularity == "turn"),
            key=lambda chunk: chunk.ordinal,
        )
    ]
    whole = [chunk for chunk in session.chunks if chunk.granularity == "session"]
    key = {**scope.key, "session_id": session.session_id}
    first = writes.next_ordinals(connection, scope, [session.session_id])[session.session_id]
    # Known is what an import has brought before, and what the memory holds anyway, by content.
    contents = {
        **key,
        "format": FORMAT,
        "content_hashes": [chunk.content_hash for chunk in session.chunks if chunk.part == 0],
        "dedup_windows": [chunk.dedup_window for chunk in session.chunks if chunk.part == 0],
    }
    known_keys = {
        message_key for message_key, *_ in fetch_all(connection, "fetch_ledger", contents)
    }
    known_keys |= set(fetch_values(connection, "find_stored_contents", contents, FILE))
    new: list[list[ExportedChunk]] = []
    for parts in exchanges:
        if parts[0].key not in known_keys:
            known_keys.add(parts[0].key)  # a damaged export may hold it twice
            new.append(parts)
    imported = Imported(stored=len(new), repeated=len(exchanges) - len(new))
    placed = _Placed()
    for number, parts in enumerate(new, first):
        # An empty session gets the ordinals of the export, which may have gaps; in one that has
        # exchanges already, the new ones go behind the last.
        ordinal = number if first else parts[0].ordinal
        placed.chunks += [(chunk, ordinal) for chunk in parts]
    if whole and first == 0:
        placed.chunks += [(chunk, chunk.ordinal) for chunk in whole]
        imported.stored += 0 if exchanges else len(whole)
    elif whole and exchanges and new:
        # Session chunks of the export cover other exchanges than this session now has.
        mark_session(connection, scope, session.session_id)
    elif not exchanges:
        imported.repeated = sum(chunk.key in known_keys for chunk in whole)
        imported.skipped = len(whole) - imported.repeated
    if placed.chunks:
        _write(connection, scope, session, placed, embed)
    if changes := [it.model_dump(mode="json") for chunk in session.chunks for it in chunk.changes]:
        execute(connection, "insert_decided", {**scope.key, "changes": Jsonb(changes)}, FILE)
    return imported


def _without_repeats(session: ExportedSession) -> list[ExportedChunk]:
    """Return the chunks of a session; raise IngestError if two of them claim one place."""
    placed: dict[tuple[str, int, int], ExportedChunk] = {}
    for chunk in session.chunks:
        other = placed.setdefault((chunk.granularity, chunk.ordinal, chunk.part), chunk)
        if other != chunk:
            raise IngestError(
                f"chunks {other.chunk} and {chunk.chunk} of the export have the same place in"
                f" session {session.session_id!r}: ordinal {chunk.ordinal}, part {chunk.part}"
            )
    return list(placed.values())


def _withhold_expired(chunks: Sequence[ExportedChunk], now: datetime) -> list[ExportedChunk]:
    """Return the chunks; what has expired since the export keeps its place and loses its text."""
    expired = {
        chunk.ordinal
        for chunk in chunks
        if chunk.granularity == "turn" and has_expired(chunk.expires_at, now)
    }

    def is_expired(chunk: ExportedChunk) -> bool:
        # A session chunk repeats the text of its exchanges: one that has expired is enough.
        covered = range(chunk.ordinal, chunk.last_ordinal + 1)
        return has_expired(chunk.expires_at, now) or any(ordinal in expired for ordinal in covered)

    return [chunk.as_forgotten() if is_expired(chunk) else chunk for chunk in chunks]


def _write(
    connection: Connection,
    scope: Scope,
    session: ExportedSession,
    placed: _Placed,
    embed: writes.Embed,
) -> None:
    """Write the placed chunks with their history and their ledger."""
    # Retired chunks first: the same content in the same window of time is stored once, so that a
    # forgotten copy must be out of the way before its active one is written.
    for status in ("deleted", "archived"):
        retired = [item for item in placed.chunks if item[0].status == status]
        if retired:
            drafts = [chunk.draft(ordinal) for chunk, ordinal in retired]
            chunk_ids = writes.insert_chunks(connection, scope, drafts)
            writes.withdraw(connection, scope, chunk_ids)
            values = {**scope.key, "chunk_ids": chunk_ids, "status": status}
            execute(connection, "set_status", values)
            placed.ids |= _by_old_id(retired, chunk_ids)
    active = [item for item in placed.chunks if item[0].status == "active"]
    turns = [item for item in active if item[0].granularity == "turn"]
    if turns:
        drafts = [chunk.draft(ordinal) for chunk, ordinal in turns]
        chunk_ids = writes.append_turns(connection, scope, drafts, embed)
        placed.ids |= _by_old_id(turns, chunk_ids)
    whole = [item for item in active if item[0].granularity == "session"]
    if whole:
        drafts = [chunk.draft(ordinal) for chunk, ordinal in whole]
        chunk_ids = writes.insert_chunks(connection, scope, drafts)
        no_one = [None] * len(drafts)
        insert_embeddings(connection, scope, drafts, chunk_ids, embed, previous=no_one)
        placed.ids |= _by_old_id(whole, chunk_ids)
    if turns and any(chunk.granularity == "session" for chunk, _ in placed.chunks):
        mark_session(connection, scope, session.session_id)
    _write_past(connection, scope, placed)
    _write_ledger(connection, scope, session.session_id, placed)
    speakers = {**scope.key, "speakers": list(session.speakers)}
    execute(connection, "add_speakers", speakers)


def _by_old_id(
    items: Sequence[tuple[ExportedChunk, int]], chunk_ids: Sequence[int]
) -> dict[int, int]:
    """Return the new ids of chunks by the ids that they have in the export."""
    return {chunk.chunk: new_id for (chunk, _), new_id in zip(items, chunk_ids, strict=True)}


def _write_past(connection: Connection, scope: Scope, placed: _Placed) -> None:
    """Store scores, times and history as they were exported, and an event for the import."""
    chunks = [chunk for chunk, _ in placed.chunks]
    chunk_ids = [placed.ids[chunk.chunk] for chunk in chunks]
    scores = {
        **scope.key,
        "chunk_ids": chunk_ids,
        "memory_scores": [chunk.memory_score for chunk in chunks],
        "recorded": [chunk.recorded_at for chunk in chunks],
    }
    execute(connection, "set_imported", scores, FILE)
    past = [
        (chunk_id, event)
        for chunk, chunk_id in zip(chunks, chunk_ids, strict=True)
        for event in chunk.history
    ]
    details: list[Jsonb] = []
    for _, event in past:
        detail = dict(event.detail)
        # Another chunk, such as the session chunk with which a turn was retired, has another number
        # here.
        for name in ("session_chunk", "older", "newer"):
            old_id = detail.pop(name, 0)
            if (chunk_id := placed.ids.get(old_id)) is not None:
                detail[name] = chunk_id
        details.append(Jsonb(detail))
    history = {
        **scope.key,
        "chunk_ids": [chunk_id for chunk_id, _ in past],
        "kinds": [event.kind for _, event in past],
        "details": details,
        "actors": [event.actor for _, event in past],
        "recorded": [event.recorded_at for _, event in past],
    }
    execute(connection, "insert_history", history, FILE)
    writes.record_events(connection, scope, "imported", chunk_ids)


def _write_ledger(connection: Connection, scope: Scope, session_id: str, placed: _Placed) -> None:
    """Record the messages that logs brought of the exchanges, and that an import brought them."""
    rows: list[tuple[LedgerEntry, int]] = []
    for chunk, ordinal in placed.chunks:
        if chunk.part == 0:
            own = LedgerEntry(format=FORMAT, key=chunk.key, hash=chunk.content_hash, ordinal=0)
            rows.append((own, ordinal))
        rows += [(item, ordinal + item.ordinal - chunk.ordinal) for item in chunk.ledger]
    values = {
        **scope.key,
        "session_id": session_id,
        "formats": [item.format for item, _ in rows],
        "message_keys": [item.key for item, _ in rows],
        "content_hashes": [item.hash for item, _ in rows],
        "ordinals": [ordinal for _, ordinal in rows],
    }
    execute(connection, "insert_ledger", values, FILE)
