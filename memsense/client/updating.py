"""Updates of stored exchanges, and their earlier versions."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Annotated, Any
from uuid import uuid4

from memsense.client.changes import naming_key
from memsense.client.context import Resource, no_chunk
from memsense.client.spans import traced
from memsense.db import run_read
from memsense.db.connection import Connection
from memsense.draft.expiry import check_expiry
from memsense.errors import InvalidInputError
from memsense.inputs import Checker, Text, mapping_of
from memsense.store.keys import WriteKey, write_once
from memsense.store.reads import fetch_chunks
from memsense.store.scopes import find_chunk_scope
from memsense.store.updating import Update, draft_update, fetch_exchange, plan_update, write_update
from memsense.store.versions import Version, list_versions
from memsense.types import Chunk, ChunkDraft, ExchangeDraft, SessionDraft

SIDES = ("user", "assistant")


_read_text = Checker(Text, "content")
_read_sides = Checker(Annotated[Mapping[str, Text], mapping_of(*SIDES)], "content")


def read_update(
    *,
    content: str | Mapping[str, str] | None,
    facets: Mapping[str, str] | None,
    tags: Sequence[str] | None,
    metadata: Mapping[str, Any] | None,
    occurred_at: datetime | None,
    expires_at: datetime | None,
    ttl: timedelta | str | None,
    if_version: str | None,
) -> Update:
    """Return the changes that the checked arguments of `Memory.update` ask for.

    Raise InvalidInputError if they change nothing.
    """
    if content is not None:
        # One checker for each form, not one of their union: its error would list the faults of
        # both forms, and the caller used only one.
        content = (_read_sides if isinstance(content, Mapping) else _read_text)(content)
    update = Update(
        content=content, facets=facets, tags=tags, metadata=metadata, occurred_at=occurred_at,
        expires_at=expires_at, ttl=ttl, if_version=if_version,
    )  # fmt: skip
    check_expiry(update.expires_at, update.ttl)
    if not update.names:
        raise InvalidInputError(
            "say what to change: content, facets, tags, metadata, occurred_at, expires_at or ttl"
        )
    return update


class Updating(Resource):
    """Writer that updates exchanges within one context."""

    @traced("update_memory", lambda _: 1)
    def update(self, chunk_id: int, update: Update, reason: str | None, key: str | None) -> Chunk:
        """Change an exchange, and return the chunk as it is afterwards."""
        context = self._context
        reason = context.clean(reason)
        changes = {
            name: context.clean(getattr(update, name))
            for name in ("content", "facets", "tags", "metadata")
        }
        update = replace(update, **changes)
        vectors = context.batch_vectors()
        parts = run_read(
            context.pool, lambda it: fetch_exchange(it, context.require_namespace(it), chunk_id)
        )
        if not parts:
            raise no_chunk(chunk_id)
        planned = plan_update(parts, chunk_id, update, context.tagger)

        key = key or str(uuid4())
        write_key = WriteKey.of(key, "update", chunk_id, repr(update), reason)
        detail = {"changed": update.names, **({"reason": reason} if reason else {})}

        def work(connection: Connection) -> Chunk:
            namespace = context.require_namespace(connection)
            # By the first part, whose id stays: a shorter text may leave the last ones over.
            place = find_chunk_scope(connection, namespace, parts[0].chunk_id)

            def change() -> None:
                drafts = draft_update(connection, namespace, place, planned)
                followers = context.followers(as_session(drafts))
                scope = replace(place.scope, followers=followers)
                written = replace(place, scope=scope)
                write_update(connection, written, parts, drafts, detail, embed=vectors)

            write_once(connection, namespace, [place.user_id], write_key, change)
            stored = fetch_exchange(connection, namespace, place.chunk_id)
            return next((it for it in stored if it.chunk_id == chunk_id), stored[-1])

        with naming_key(key):
            changed = context.run_write(work, vectors, users={parts[0].user_id})
        if changed.expires_at is not None:
            context.wake_worker()
        return changed

    def versions(self, chunk_id: int) -> list[Version]:
        """Return the earlier versions that were stored of an exchange."""

        def fetch(connection: Connection) -> list[Version]:
            namespace = self._context.require_namespace(connection)
            if not fetch_chunks(connection, namespace, [chunk_id]):
                raise no_chunk(chunk_id)
            return list_versions(connection, namespace, chunk_id)

        return run_read(self._context.pool, fetch)


def as_session(parts: Sequence[ChunkDraft]) -> SessionDraft:
    """Return an exchange as a session of its own, which is what followers of a write take."""
    names = (parts[0].user_speaker, parts[0].assistant_speaker)
    return SessionDraft(
        user_id="",
        session_id=parts[0].session_id,
        exchanges=[ExchangeDraft(chunks=parts)],
        speakers=[name for name in names if name],
    )
