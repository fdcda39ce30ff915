"""Writes what an export holds of a session, once: the ledger and the contents know it again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from psycopg.types.json import Jsonb

from memsense.db.connection import Connection
from memsense.db.rows import execute, fetch_all, fetch_value, fetch_values
from memsense.store import writes
from memsense.store.marks import mark_session
from memsense.store.scopes import Namespace, Scope
from memsense.store.vectors import insert_embeddings
from memsense.write.expiry import has_expired
from memsense.write.exported import FORMAT, ExportedChunk, LedgerEntry

FILE = "export.sql"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedSession:
    """The chunks of one session, its exchanges in order and then its session chunks."""

    user_id: str
    session_id: str
    speakers: Sequence[str]
    chunks: Sequence[ExportedChunk]


@dataclass(slots=True)
class Imported:
    """How many exchanges (or session chunks that stand alone) were stored, known, or left out."""

    stored: int = 0
    repeated: int = 0
    skipped: int = 0


@dataclass(slots=True)
class _Placed:
    """The chunks that are written, each with its ordinal and the id that it got."""

    chunks: list[tuple[ExportedChunk, int]] = field(default_factory=list[tuple[ExportedChunk, int]])
    ids: dict[int, int] = field(default_factory=dict[int, int])


def holds_memories(connection: Connection, namespace: Namespace) -> bool:
    """Whether anybody has a memory in the namespace."""
    key = {"tenant_id": namespace.tenant_id, "namespace_id": namespace.namespace_id}
    return fetch_value(connection, "holds_memories", key, FILE)


def import_session(
    connection: Connection, scope: Scope, session: ExportedSession, embed: writes.Embed
) -> Imported:
    """Store what the memory doesn't know of a session; the scope must be locked.

    An empty session is made as it was, ordinals and session chunks too; else what is new stands
    behind the last exchange, and session chunks are made anew.
    """
    session = replace(session, chunks=_withhold(session.chunks))
    exchanges = [
        list(parts)
        for _, parts in groupby(
            (chunk for chunk in session.chunks if chunk.granularity == "turn"),
            key=lambda chunk: chunk.ordinal,
        )
    ]
    whole = [chunk for chunk in session.chunks if chunk.granularity == "session"]
    key = {**_key(scope), "session_id": session.session_id}
    first: int = fetch_value(connection, "next_ordinal", key)
    known = _find_known(connection, scope, session)
    fresh = [parts for parts in exchanges if parts[0].key not in known]
    done = Imported(stored=len(fresh), repeated=len(exchanges) - len(fresh))
    placed = _place(fresh, first)
    if whole and first == 0:
        placed.chunks += [(chunk, chunk.ordinal) for chunk in whole]
        done.stored += 0 if exchanges else len(whole)
    elif whole and exchanges and fresh:
        mark_session(connection, scope, session.session_id)
    elif not exchanges:
        done.repeated = sum(chunk.key in known for chunk in whole)
        done.skipped = len(whole) - done.repeated
    if placed.chunks:
        _write(connection, scope, session, placed, embed)
    return done


def _withhold(chunks: Sequence[ExportedChunk]) -> list[ExportedChunk]:
    """The chunks; what has expired since they were exported is no more than a place."""
    gone = {
        chunk.ordinal
        for chunk in chunks
        if chunk.granularity == "turn" and has_expired(chunk.expires_at)
    }

    def is_gone(chunk: ExportedChunk) -> bool:
        covered = range(chunk.ordinal, chunk.last_ordinal + 1)
        return has_expired(chunk.expires_at) or any(ordinal in gone for ordinal in covered)

    return [chunk.as_forgotten() if is_gone(chunk) else chunk for chunk in chunks]


def _key(scope: Scope) -> dict[str, Any]:
    return {"tenant_id": scope.tenant_id, "scope_id": scope.scope_id}


def _find_known(connection: Connection, scope: Scope, session: ExportedSession) -> set[str]:
    """The keys of what an import has brought before, or what stands in the memory anyway."""
    firsts = [chunk for chunk in session.chunks if chunk.part == 0]
    values = {
        **_key(scope),
        "session_id": session.session_id,
        "format": FORMAT,
        "content_hashes": [chunk.content_hash for chunk in firsts],
        "dedup_windows": [chunk.dedup_window for chunk in firsts],
    }
    brought = {key for key, *_ in fetch_all(connection, "fetch_ledger", values)}
    return brought | set(fetch_values(connection, "find_stored_contents", values, FILE))


def _place(exchanges: Sequence[Sequence[ExportedChunk]], first: int) -> _Placed:
    placed = _Placed()
    for number, parts in enumerate(exchanges, first):
        ordinal = number if first else parts[0].ordinal
        placed.chunks += [(chunk, ordinal) for chunk in parts]
    return placed


def _write(
    connection: Connection,
    scope: Scope,
    session: ExportedSession,
    placed: _Placed,
    embed: writes.Embed,
) -> None:
    """Retired ones first: what is forgotten must not stand in the way of what says the same."""
    for status in ("deleted", "archived"):
        retired = [item for item in placed.chunks if item[0].status == status]
        placed.ids |= _write_retired(connection, scope, retired, status)
    active = [item for item in placed.chunks if item[0].status == "active"]
    turns = [item for item in active if item[0].granularity == "turn"]
    if turns:
        drafts = [chunk.draft(ordinal) for chunk, ordinal in turns]
        chunk_ids = writes.append_turns(connection, scope, session.session_id, drafts, embed)
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
    speakers = {**_key(scope), "speakers": list(session.speakers)}
    execute(connection, "add_speakers", speakers)


def _by_old_id(
    items: Sequence[tuple[ExportedChunk, int]], chunk_ids: Sequence[int]
) -> dict[int, int]:
    return {chunk.chunk: made for (chunk, _), made in zip(items, chunk_ids, strict=True)}


def _write_retired(
    connection: Connection, scope: Scope, items: Sequence[tuple[ExportedChunk, int]], status: str
) -> dict[int, int]:
    if not items:
        return {}
    drafts = [chunk.draft(ordinal) for chunk, ordinal in items]
    chunk_ids = writes.insert_chunks(connection, scope, drafts)
    writes.withdraw(connection, scope, chunk_ids)
    execute(connection, "set_status", {**_key(scope), "chunk_ids": chunk_ids, "status": status})
    return _by_old_id(items, chunk_ids)


def _write_past(connection: Connection, scope: Scope, placed: _Placed) -> None:
    """Scores, times and history as they were, and that the chunks came by an import."""
    chunks = [chunk for chunk, _ in placed.chunks]
    chunk_ids = [placed.ids[chunk.chunk] for chunk in chunks]
    scores = {
        **_key(scope),
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
    history = {
        **_key(scope),
        "chunk_ids": [chunk_id for chunk_id, _ in past],
        "kinds": [event.kind for _, event in past],
        "details": [Jsonb(_renumber(event.detail, placed.ids)) for _, event in past],
        "recorded": [event.recorded_at for _, event in past],
    }
    execute(connection, "insert_history", history, FILE)
    writes.record_events(connection, scope, "imported", chunk_ids)


def _renumber(detail: Mapping[str, Any], ids: Mapping[int, int]) -> dict[str, Any]:
    """A session chunk that a turn was retired with has another number here."""
    changed = {name: value for name, value in detail.items() if name != "session_chunk"}
    if (found := ids.get(detail.get("session_chunk", 0))) is not None:
        changed["session_chunk"] = found
    return changed


def _write_ledger(connection: Connection, scope: Scope, session_id: str, placed: _Placed) -> None:
    """What logs brought of the exchanges, and that an import has brought them."""
    rows: list[tuple[LedgerEntry, int]] = []
    for chunk, ordinal in placed.chunks:
        if chunk.part == 0:
            own = LedgerEntry(format=FORMAT, key=chunk.key, hash=chunk.content_hash, ordinal=0)
            rows.append((own, ordinal))
        rows += [(item, ordinal + item.ordinal - chunk.ordinal) for item in chunk.ledger]
    values = {
        **_key(scope),
        "session_id": session_id,
        "formats": [item.format for item, _ in rows],
        "message_keys": [item.key for item, _ in rows],
        "content_hashes": [item.hash for item, _ in rows],
        "ordinals": [ordinal for _, ordinal in rows],
    }
    execute(connection, "insert_ledger", values, FILE)
