"""Later changes of a stored chunk: it is forgotten, archived, restored, promoted or rated."""

from collections.abc import Sequence
from typing import NamedTuple

from memsense.db.connection import Connection
from memsense.db.rows import execute, fetch_all, fetch_values
from memsense.draft.chunking import DEDUP_SECONDS, is_long
from memsense.draft.expiry import has_expired
from memsense.draft.vectors import ChunkTexts
from memsense.errors import InvalidInputError
from memsense.store import reads, writes
from memsense.store.jobs import enqueue_recutting
from memsense.store.past import keep_past
from memsense.store.scopes import ChunkPlace, Namespace
from memsense.types import Status


class _Covered(NamedTuple):
    """A chunk that a place stands for, and the session chunk that it was last retired with."""

    chunk_id: int
    status: str
    retired_with: int | None


def _covered(connection: Connection, place: ChunkPlace) -> list[_Covered]:
    """Return the turns that a place stands for.

    For a session chunk these are the turns that it covers, for a turn all parts of its exchange.
    """
    itself = [_Covered(place.chunk_id, place.status, place.chunk_id)]
    values = {
        **place.scope.key,
        "session_id": place.session_id,
        "ordinal": place.ordinal,
        "last_ordinal": place.last_ordinal,
    }
    turns = fetch_all(connection, "fetch_covered", values)
    if place.granularity == "turn":
        # The parts of an exchange are retired together: each of them went with the place.
        return [_Covered(chunk_id, status, place.chunk_id) for chunk_id, status, _ in turns]
    return [_Covered(*row) for row in turns] or itself


def _find_said_again(
    connection: Connection, place: ChunkPlace, chunk_ids: Sequence[int]
) -> set[int]:
    """Return those of the turns that would be stored twice if none of them were forgotten."""
    values = {**place.scope.key, "chunk_ids": list(chunk_ids), "window_seconds": DEDUP_SECONDS}
    return set(fetch_values(connection, "find_said_again", values))


def retire(
    connection: Connection,
    place: ChunkPlace,
    status: Status,
    reason: str | None,
    embed: writes.Embed,
) -> list[int]:
    """Archive a chunk or delete it softly; return the ids whose status changed.

    A session chunk takes its active turns along, and if it is deleted its archived ones too; a part
    of an exchange takes the other parts. In the same transaction the text leaves every index and
    every neighbour's context.
    """
    changed = [item for item in _covered(connection, place) if item.status != status]
    forgotten = [item.chunk_id for item in changed if item.status == "deleted"]
    if forgotten:
        # A forgotten turn is archived only if it is named itself, not with its session, and not if
        # its text was said again: there would be two.
        of_session = place.granularity == "session"
        spared = {chunk_id for chunk_id in forgotten if of_session and chunk_id != place.chunk_id}
        spared |= _find_said_again(connection, place, forgotten)
        changed = [item for item in changed if item.chunk_id not in spared]
    if not changed:
        return []
    # The others have left the indexes when they were archived.
    writes.withdraw(
        connection, place.scope, [item.chunk_id for item in changed if item.status == "active"]
    )
    chunk_ids = [item.chunk_id for item in changed]
    execute(connection, "set_status", {**place.scope.key, "chunk_ids": chunk_ids, "status": status})
    detail = {"reason": reason} if reason else {}
    # The turns that go along name the session chunk in their history: restoring it restores these.
    with_place = [
        item.chunk_id
        for item in changed
        if place.granularity == "session"
        and item.chunk_id != place.chunk_id
        and (item.status == "active" or item.retired_with == place.chunk_id)
    ]
    alone = sorted({*chunk_ids}.difference(with_place))
    writes.record_events(connection, place.scope, status, alone, detail)
    with_detail = {**detail, "session_chunk": place.chunk_id}
    writes.record_events(connection, place.scope, status, with_place, with_detail)
    writes.refresh_session(connection, place.scope, place.session_id, embed)
    return chunk_ids


def restore(
    connection: Connection,
    namespace: Namespace,
    place: ChunkPlace,
    reason: str | None,
    embed: writes.Embed,
) -> list[int]:
    """Make a retired chunk active again, with its vectors, statistics and neighbours.

    A session chunk brings back the turns that were retired with it, and no others. What was said
    again meanwhile, or has expired, stays away. Returns the ids whose status changed.
    """
    retired = [
        item.chunk_id
        for item in _covered(connection, place)
        if item.status != "active" and item.retired_with == place.chunk_id
    ]
    said_again = _find_said_again(connection, place, retired)
    chunks = [
        chunk
        for chunk in reads.fetch_chunks(connection, namespace, retired)
        if chunk.chunk_id not in said_again
    ]
    drafts = [
        (chunk.chunk_id, chunk.as_draft(content_hash=""))
        for chunk in chunks
        if not has_expired(chunk.expires_at, place.scope.now)
    ]
    if chunks and not drafts:
        raise InvalidInputError(f"chunk {place.chunk_id} has expired: it can't be restored")
    restored = [chunk_id for chunk_id, _ in drafts]
    embed.require(place.scope.models, [ChunkTexts.of(draft) for _, draft in drafts])
    scope = place.scope
    for chunk_id, draft in drafts:
        keep_past(connection, scope, [chunk_id])
        [named] = writes.name_languages(scope, [draft])
        terms = writes.index_terms(named, named.language or "")
        values = {**scope.key, **terms, "language": named.language, "chunk_id": chunk_id}
        execute(connection, "reactivate", values)
        writes.count_statistics(connection, scope, [chunk_id], sign=1)
        for follower in scope.followers:
            follower.chunks_restored(connection, scope, [chunk_id])
        writes.insert_embeddings(connection, scope, [draft], [chunk_id], embed, previous=[None])
    if any(is_long(draft) for _, draft in drafts):
        enqueue_recutting(connection, scope)
    if restored:
        detail = {"reason": reason} if reason else {}
        writes.record_events(connection, scope, "restored", restored, detail)
        writes.refresh_session(connection, place.scope, place.session_id, embed)
    return restored


def change_memory_score(connection: Connection, place: ChunkPlace, change: float) -> float:
    """Raise or lower a chunk's memory score, clamped to [0, 1]; return the new score.

    A session chunk changes its turns too, since they carry its score in recall; a part of an
    exchange changes the other parts.
    """
    chunk_ids = sorted({place.chunk_id, *(item.chunk_id for item in _covered(connection, place))})
    keep_past(connection, place.scope, chunk_ids)
    values = {**place.scope.key, "chunk_ids": chunk_ids, "change": change}
    scores = dict(fetch_all(connection, "change_memory_score", values))
    kind = "promoted" if change > 0 else "demoted"
    detail = {"change": change}
    writes.record_events(connection, place.scope, kind, chunk_ids, detail)
    return scores[place.chunk_id]


def record_feedback(
    connection: Connection, place: ChunkPlace, helpful: bool, question: str | None, note: str | None
) -> None:
    """Store what a user of a hit said about it; no score changes."""
    detail = {"helpful": helpful, "question": question, "note": note}
    answers = {name: value for name, value in detail.items() if value is not None}
    writes.record_events(connection, place.scope, "feedback", [place.chunk_id], answers)
