"""Updates of a stored exchange: its text, facets, tags, metadata and dates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any

from memsense.db.connection import Connection
from memsense.db.rows import execute, fetch_one
from memsense.draft.chunking import LARGEST_CHUNK
from memsense.draft.expiry import has_expired, read_lifetime
from memsense.draft.facets import FACETS, FacetTagger
from memsense.draft.vectors import ChunkTexts
from memsense.errors import ConflictError, InvalidInputError
from memsense.inputs import Ttl
from memsense.store import reads, writes
from memsense.store.scopes import ChunkPlace, Namespace
from memsense.store.sessions import unmark_session
from memsense.store.vectors import insert_embeddings
from memsense.store.versions import keep_versions
from memsense.types import Chunk, ChunkDraft, JsonValue

FILE = "update.sql"


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """A change of an exchange; fields that are None stay as they are.

    `content` is the text of the one side that says something, or texts by side (`user`,
    `assistant`). Only the facets that are given change; an empty text removes one. A `ttl` counts
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
        """The names of the fields that it changes."""
        values = {
            "content": self.content,
            "facets": self.facets,
            "tags": self.tags,
            "metadata": self.metadata,
            "occurred_at": self.occurred_at,
            "expires_at": self.expires_at or self.ttl,
        }
        return [name for name, value in values.items() if value is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """An update of a chunk as it was read, with its new texts and facets."""

    chunk: Chunk
    update: Update
    values: Mapping[str, Any]


def plan_update(chunk: Chunk, update: Update, tagger: FacetTagger) -> Planned:
    """Return the new texts and facets of an update, worked out outside of any transaction.

    The tagger that reads the new text for facets may ask a model. Facets that were found in the old
    text are replaced by those of the new one; those that a caller gave stay. Raises
    InvalidInputError for what can't be updated.
    """
    _check(chunk, update)
    if update.content is None:
        return Planned(chunk=chunk, update=update, values={})
    texts = update.content
    if isinstance(texts, str):
        if chunk.user_text and chunk.assistant_text:
            raise InvalidInputError(
                "content must say which side: the exchange has both, so give {'user': ...},"
                " {'assistant': ...} or both"
            )
        texts = {"assistant" if chunk.assistant_text else "user": texts}
    user_text = texts.get("user", chunk.user_text)
    assistant_text = texts.get("assistant", chunk.assistant_text)
    if not (user_text.strip() or assistant_text.strip()):
        raise InvalidInputError("content is empty: delete the chunk instead")
    if len(user_text) + len(assistant_text) > LARGEST_CHUNK:
        raise InvalidInputError(
            f"content has more than {LARGEST_CHUNK:,} characters: delete the chunk and add the"
            " exchange again"
        )
    # Facets that the tagger finds in the old text are its own; any others a caller gave, and they
    # stay.
    new = tagger.tag(user_text, assistant_text)
    old = tagger.tag(chunk.user_text, chunk.assistant_text)
    names = [*FACETS, "memory_kind"]
    renewed = [name for name in names if getattr(chunk, name) == getattr(old, name)]
    spans = [
        {
            "facet": span.facet,
            "rule": span.rule,
            "side": span.side,
            "start": span.start,
            "end": span.end,
        }
        for span in new.spans
    ]
    values = {
        "user_text": user_text,
        "assistant_text": assistant_text,
        "facet_spans": spans,
        **{name: getattr(new, name) for name in renewed},
    }
    return Planned(chunk=chunk, update=update, values=values)


def draft_update(
    connection: Connection, namespace: Namespace, place: ChunkPlace, planned: Planned
) -> ChunkDraft:
    """Return the updated exchange as a draft; raise ConflictError if it has changed meanwhile."""
    update = planned.update
    [chunk] = reads.fetch_chunks(connection, namespace, [place.chunk_id])
    # The text was read and tagged outside of this transaction.
    if _own(chunk) != _own(planned.chunk):
        raise ConflictError(
            f"chunk {chunk.chunk_id} has changed since it was read; read it again, then update"
        )
    if has_expired(chunk.expires_at, place.scope.now):
        raise InvalidInputError(f"chunk {chunk.chunk_id} has expired: add the exchange again")
    # An update keeps what the exchange is recognised by: its log, read again, leaves it alone.
    key = {**place.scope.key, "chunk_id": place.chunk_id}
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
    if update.expires_at is not None or update.ttl is not None:
        lifetime = read_lifetime(update.ttl)
        values["expires_at"] = place.scope.now + lifetime if lifetime else update.expires_at
    else:
        # As it was, or sooner by the rule of a tag that the update gives.
        by_tag = place.scope.ttl.compute_tag_expiry(update.tags or (), place.scope.now)
        values["expires_at"] = min(filter(None, (chunk.expires_at, by_tag)), default=None)
    return ChunkDraft(content_hash=content_hash, dedup_window=dedup_window, **values)


def _own(chunk: Chunk) -> Chunk:
    """Return the chunk without what changes by itself."""
    return replace(chunk, context="", next_user_text=None, memory_score=0)


def _check(chunk: Chunk, update: Update) -> None:
    """Raise InvalidInputError if the chunk can't be updated so."""
    if chunk.granularity == "session":
        raise InvalidInputError(
            f"chunk {chunk.chunk_id} is made of a session's exchanges: update one of these"
        )
    if chunk.status != "active":
        status = "forgotten" if chunk.status == "deleted" else chunk.status
        raise InvalidInputError(f"chunk {chunk.chunk_id} is {status}: restore it first")
    if update.content is not None and chunk.part_count > 1:
        raise InvalidInputError(
            f"chunk {chunk.chunk_id} is one of {chunk.part_count} parts of a long exchange, whose"
            " text can't be updated: delete it and add the exchange again"
        )


def write_update(
    connection: Connection,
    place: ChunkPlace,
    draft: ChunkDraft,
    detail: Mapping[str, JsonValue],
    embed: writes.Embed,
) -> None:
    """Store the exchange over itself, with its words, vectors, links and session chunks."""
    scope, chunk_ids = place.scope, [place.chunk_id]
    # Before the first write, because it ends the transaction if a text is not embedded yet.
    embed([ChunkTexts.of(draft)])
    keep_versions(connection, scope, chunk_ids)
    writes.withdraw(connection, scope, chunk_ids)
    writes.insert_chunks(connection, scope, [draft])
    date_exchange(connection, place, draft.expires_at)
    insert_embeddings(connection, scope, [draft], chunk_ids, embed, previous=[None])
    writes.record_events(connection, scope, "updated", chunk_ids, detail)
    writes.relink_session(connection, scope, place.session_id)
    if all(writes.find_session_kinds(connection, scope, place.session_id)):
        unmark_session(connection, scope, place.session_id)
        writes.rebuild_session_chunks(connection, scope, place.session_id, embed)


def date_exchange(connection: Connection, place: ChunkPlace, expires_at: datetime | None) -> None:
    """Set the expiry of all parts of an exchange, which expire together."""
    values = {
        **place.scope.key,
        "session_id": place.session_id,
        "ordinal": place.ordinal,
        "expires_at": expires_at,
    }
    execute(connection, "date_exchange", values, FILE)
