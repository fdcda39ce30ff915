"""Changes what a stored exchange says, or what is known of it, in the caller's transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any

from memsense.db.connection import Connection
from memsense.db.rows import execute, fetch_one
from memsense.errors import ConflictError, InvalidInputError
from memsense.inputs import Ttl
from memsense.store import reads, writes
from memsense.store.marks import unmark_session
from memsense.store.scopes import ChunkPlace, Namespace
from memsense.store.vectors import insert_embeddings
from memsense.store.versions import keep_versions
from memsense.types import Chunk, ChunkDraft, JsonValue
from memsense.write.chunking import LARGEST_CHUNK
from memsense.write.expiry import choose_expiry, has_expired
from memsense.write.facets import FACETS, Facets, FacetTagger

FILE = "update.sql"


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """What is to change of an exchange; None leaves it as it is.

    `content` is the text of the one side that says something, or texts by side (`user`,
    `assistant`). Of facets, only those that are given change; an empty one is none. A `ttl` counts
    from now.
    """

    content: str | Mapping[str, str] | None = None
    facets: Mapping[str, str] | None = None
    tags: Sequence[str] | None = None
    metadata: Mapping[str, JsonValue] | None = None
    occurred_at: datetime | None = None
    expires_at: datetime | None = None
    ttl: Ttl | None = None

    @property
    def names(self) -> list[str]:
        """What it changes."""
        named = {
            "content": self.content,
            "facets": self.facets,
            "tags": self.tags,
            "metadata": self.metadata,
            "occurred_at": self.occurred_at,
            "expires_at": self.expires_at or self.ttl,
        }
        return [name for name, value in named.items() if value is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """An update of a chunk as it was read, and what becomes of its texts and facets."""

    chunk: Chunk
    update: Update
    values: Mapping[str, Any]


def plan_update(chunk: Chunk, update: Update, tagger: FacetTagger) -> Planned:
    """Read the new text for facets, outside of any transaction; a tagger may ask a model.

    Facets that were found in the old text give way to those of the new one; those that a caller
    gave stay. Raises InvalidInputError for what can't be updated.
    """
    _check(chunk, update)
    return Planned(chunk=chunk, update=update, values=_changed_texts(chunk, update, tagger))


def draft_update(
    connection: Connection, namespace: Namespace, place: ChunkPlace, planned: Planned
) -> ChunkDraft:
    """The exchange as it will stand; raises ConflictError if it has changed meanwhile."""
    update = planned.update
    [chunk] = reads.fetch_chunks(connection, namespace, [place.chunk_id])
    if _own(chunk) != _own(planned.chunk):
        raise ConflictError(f"chunk {chunk.chunk_id} has changed meanwhile; look at it, try again")
    key = {
        "tenant_id": place.scope.tenant_id,
        "scope_id": place.scope.scope_id,
        "chunk_id": place.chunk_id,
    }
    content_hash, dedup_window = fetch_one(connection, "fetch_identity", key, FILE)
    values: dict[str, Any] = {
        item.name: getattr(chunk, item.name)
        for item in fields(ChunkDraft)
        if hasattr(chunk, item.name)
    }
    values |= planned.values
    if update.facets is not None:
        values |= {name: text or None for name, text in update.facets.items()}
    for name in ("tags", "metadata", "occurred_at"):
        if getattr(update, name) is not None:
            values[name] = getattr(update, name)
    if update.occurred_at is not None:
        values["occurred_zone_known"] = True
    values["expires_at"] = _find_expiry(place, chunk, update)
    return ChunkDraft(content_hash=content_hash, dedup_window=dedup_window, **values)


def _find_expiry(place: ChunkPlace, chunk: Chunk, update: Update) -> datetime | None:
    """As the update says; else as it was, or sooner by the rule of a tag that the update gives."""
    if update.expires_at is not None or update.ttl is not None:
        return choose_expiry(update.expires_at, update.ttl)
    tagged = place.scope.ttl.compute_tag_expiry(update.tags or (), datetime.now(UTC))
    return min(filter(None, (chunk.expires_at, tagged)), default=None)


def _own(chunk: Chunk) -> Chunk:
    """The chunk but for what changes by itself."""
    return replace(chunk, context="", next_user_text=None, memory_score=0)


def _check(chunk: Chunk, update: Update) -> None:
    if chunk.granularity == "session":
        raise InvalidInputError(
            f"chunk {chunk.chunk_id} is made of a session's exchanges: update one of these"
        )
    if chunk.status != "active":
        told = "forgotten" if chunk.status == "deleted" else chunk.status
        raise InvalidInputError(f"chunk {chunk.chunk_id} is {told}: restore it first")
    if has_expired(chunk.expires_at):
        raise InvalidInputError(f"chunk {chunk.chunk_id} has expired: add the exchange anew")
    if update.content is not None and chunk.part_count > 1:
        raise InvalidInputError(
            f"chunk {chunk.chunk_id} is one of {chunk.part_count} parts of a long exchange, whose"
            " text is not updated: delete it and add the exchange anew"
        )


def _changed_texts(chunk: Chunk, update: Update, tagger: FacetTagger) -> dict[str, Any]:
    if update.content is None:
        return {}
    texts = _by_side(chunk, update.content)
    user_text = texts.get("user", chunk.user_text)
    assistant_text = texts.get("assistant", chunk.assistant_text)
    if not (user_text.strip() or assistant_text.strip()):
        raise InvalidInputError("content is empty: delete the chunk instead")
    if len(user_text) + len(assistant_text) > LARGEST_CHUNK:
        raise InvalidInputError(
            f"content has more than {LARGEST_CHUNK:,} characters: delete the chunk and add the"
            " exchange anew"
        )
    found = tagger.tag(user_text, assistant_text)
    before = tagger.tag(chunk.user_text, chunk.assistant_text)
    names = [*FACETS, "memory_kind"]
    renewed = [name for name in names if getattr(chunk, name) == getattr(before, name)]
    return {
        "user_text": user_text,
        "assistant_text": assistant_text,
        "facet_spans": _spans(found),
        **{name: getattr(found, name) for name in renewed},
    }


def _by_side(chunk: Chunk, content: str | Mapping[str, str]) -> Mapping[str, str]:
    if not isinstance(content, str):
        return content
    if chunk.user_text and chunk.assistant_text:
        raise InvalidInputError(
            "content must say which side: the exchange has both, so give {'user': ...},"
            " {'assistant': ...} or both"
        )
    return {"assistant" if chunk.assistant_text else "user": content}


def _spans(found: Facets) -> list[Mapping[str, JsonValue]]:
    return [
        {
            "facet": span.facet,
            "rule": span.rule,
            "side": span.side,
            "start": span.start,
            "end": span.end,
        }
        for span in found.spans
    ]


def write_update(
    connection: Connection,
    place: ChunkPlace,
    draft: ChunkDraft,
    detail: Mapping[str, JsonValue],
    embed: writes.Embed,
) -> None:
    """Store the exchange over itself: words, vectors, links and session chunks follow."""
    scope, chunk_ids = place.scope, [place.chunk_id]
    embed(list(draft.texts().values()))
    keep_versions(connection, scope, chunk_ids)
    writes.withdraw(connection, scope, chunk_ids)
    writes.insert_chunks(connection, scope, [draft])
    date_exchange(connection, place, draft.expires_at)
    insert_embeddings(connection, scope, [draft], chunk_ids, embed, previous=[None])
    writes.record_events(connection, scope, "updated", chunk_ids, detail)
    writes.relink_session(connection, scope, place.session_id, embed, fresh=chunk_ids)
    if all(writes.find_session_kinds(connection, scope, place.session_id)):
        unmark_session(connection, scope, place.session_id)
        writes.rebuild_session_chunks(connection, scope, place.session_id, embed)


def date_exchange(connection: Connection, place: ChunkPlace, expires_at: datetime | None) -> None:
    """Let all parts of an exchange expire together."""
    values = {
        "tenant_id": place.scope.tenant_id,
        "scope_id": place.scope.scope_id,
        "session_id": place.session_id,
        "ordinal": place.ordinal,
        "expires_at": expires_at,
    }
    execute(connection, "date_exchange", values, FILE)
