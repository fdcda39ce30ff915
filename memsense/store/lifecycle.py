"""What happens to a stored chunk later: forgotten, archived, restored, promoted, rated."""

from typing import Any

from psycopg.types.json import Jsonb

from memsense.db.connection import Connection
from memsense.db.rows import execute, fetch_all, find_one
from memsense.errors import InvalidInputError
from memsense.store import reads, writes
from memsense.store.scopes import ChunkPlace, Namespace
from memsense.types import Chunk, ChunkDraft, Status

LONGEST_NOTE = 10_000


def _key(place: ChunkPlace) -> dict[str, Any]:
    return {"tenant_id": place.scope.tenant_id, "scope_id": place.scope.scope_id}


def _covered(connection: Connection, place: ChunkPlace) -> list[tuple[int, str]]:
    """The turns a place stands for: what a session chunk covers, else the place itself."""
    if place.granularity == "turn":
        return [(place.chunk_id, place.status)]
    values = {
        **_key(place),
        "session_id": place.session_id,
        "ordinal": place.ordinal,
        "last_ordinal": place.last_ordinal,
    }
    return fetch_all(connection, "fetch_covered", values) or [(place.chunk_id, place.status)]


def retire(
    connection: Connection,
    place: ChunkPlace,
    status: Status,
    reason: str | None,
    embed: writes.Embed,
) -> list[int]:
    """Archive or delete (softly) a chunk; a session chunk takes its turns along.

    The text leaves every index and every neighbour's context in the same transaction.
    Returns the ids whose status changed.
    """
    turns = _covered(connection, place)
    active = [chunk_id for chunk_id, found in turns if found == "active"]
    changed = [chunk_id for chunk_id, found in turns if found != status]
    if not changed:
        return []
    writes.withdraw(connection, place.scope, active)
    values = {**_key(place), "chunk_ids": changed, "status": status}
    execute(connection, "set_status", values)
    detail = {"reason": reason} if reason else {}
    writes.record_events(connection, place.scope, status, changed, detail)
    _refresh_session(connection, place, embed)
    return changed


def _refresh_session(connection: Connection, place: ChunkPlace, embed: writes.Embed) -> None:
    writes.relink_session(connection, place.scope, place.session_id)
    values = {**_key(place), "session_id": place.session_id}
    has_turns = find_one(connection, "session_has_turns", values)
    has_sessions = find_one(connection, "session_has_session_chunks", values)
    if has_turns and has_sessions:
        writes.rebuild_session_chunks(connection, place.scope, place.session_id, embed)


def restore(
    connection: Connection,
    namespace: Namespace,
    place: ChunkPlace,
    reason: str | None,
    embed: writes.Embed,
) -> list[int]:
    """Make a retired chunk active again, with its vectors, statistics and neighbours.

    Returns the ids whose status changed.
    """
    inactive = [chunk_id for chunk_id, status in _covered(connection, place) if status != "active"]
    for chunk in reads.fetch_chunks(connection, namespace, inactive):
        _reactivate(connection, place, chunk, embed)
    if inactive:
        detail = {"reason": reason} if reason else {}
        writes.record_events(connection, place.scope, "restored", inactive, detail)
        _refresh_session(connection, place, embed)
    return inactive


def _reactivate(
    connection: Connection, place: ChunkPlace, chunk: Chunk, embed: writes.Embed
) -> None:
    draft = ChunkDraft(
        content_hash="",
        **{name: getattr(chunk, name) for name in ChunkDraft.__slots__ if hasattr(chunk, name)},
    )
    terms = {
        **writes.index_terms(draft),
        "language": place.scope.language,
        "chunk_id": chunk.chunk_id,
    }
    execute(connection, "reactivate", {**_key(place), **terms})
    writes.count_statistics(connection, place.scope, [chunk.chunk_id], sign=1)
    for follower in place.scope.followers:
        follower.chunks_restored(connection, place.scope, [chunk.chunk_id])
    writes.insert_embeddings(
        connection, place.scope, [draft], [chunk.chunk_id], embed, previous=[None]
    )


def change_memory_score(connection: Connection, place: ChunkPlace, change: float) -> float:
    """Raise or lower a chunk's memory score, clamped to [0, 1]; returns the new score.

    A session chunk takes its turns along, since they carry its score in recall.
    """
    chunk_ids = sorted({place.chunk_id, *(chunk_id for chunk_id, _ in _covered(connection, place))})
    values = {**_key(place), "chunk_ids": chunk_ids, "change": change}
    scores = dict(fetch_all(connection, "change_memory_score", values))
    kind = "promoted" if change > 0 else "demoted"
    detail = {"change": change}
    writes.record_events(connection, place.scope, kind, chunk_ids, detail)
    return scores[place.chunk_id]


def record_feedback(
    connection: Connection, place: ChunkPlace, helpful: bool, question: str | None, note: str | None
) -> None:
    """Keep what a user of a hit said about it; changes no score."""
    if note is not None and len(note) > LONGEST_NOTE:
        raise InvalidInputError(f"a note may have {LONGEST_NOTE} characters at most")
    detail = {"helpful": helpful, "question": question, "note": note}
    values = {
        **_key(place),
        "kind": "feedback",
        "chunk_ids": [place.chunk_id],
        "detail": Jsonb({name: value for name, value in detail.items() if value is not None}),
    }
    execute(connection, "insert_events", values)
