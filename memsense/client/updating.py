"""What `update` does: a stored exchange changed, and what it said before."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, cast
from uuid import uuid4

from pydantic import BeforeValidator

from memsense import store
from memsense.client.changes import naming_key
from memsense.client.context import Context, no_chunk
from memsense.client.telling import told_as
from memsense.db import run_read
from memsense.db.connection import Connection
from memsense.errors import InvalidInputError
from memsense.inputs import Gate, Input, Metadata, Names, Text, Time, Ttl, refused, shorten
from memsense.store.keys import WriteKey, write_once
from memsense.store.updating import Update, draft_update, plan_update, write_update
from memsense.store.versions import Version, list_versions
from memsense.types import Chunk, ChunkDraft, ExchangeDraft, SessionDraft
from memsense.write.expiry import check_expiry
from memsense.write.facets import FACETS

SIDES = ("user", "assistant")


def _only(*known: str) -> BeforeValidator:
    """Takes mappings with these keys alone."""

    def read(value: object) -> object:
        if not isinstance(value, Mapping):
            raise refused("must be a mapping", value)
        given = dict(cast("Mapping[object, object]", value))
        if unknown := [key for key in given if key not in known]:
            told = ", ".join(map(shorten, unknown))
            raise ValueError(f"has no {told}; there are {', '.join(known)}")
        return given

    return BeforeValidator(read)


def _read_content(value: object) -> str | Mapping[str, str]:
    """A text, or texts by side: an error tells of the one that is meant."""
    is_by_side = isinstance(value, Mapping)
    return _read_sides(cast("object", value)) if is_by_side else _read_text(value)


_read_text = Gate(Text, "content")
_read_sides = Gate(Annotated[Mapping[str, Text], _only(*SIDES)], "content")


class GivenUpdate(Input):
    """What a caller wants changed; None leaves it."""

    facets: Annotated[Mapping[str, Text], _only(*FACETS)] | None = None
    tags: Names | None = None
    metadata: Metadata | None = None
    occurred_at: Time | None = None
    expires_at: Time | None = None
    ttl: Ttl | None = None


class Updating:
    """Updates exchanges within one context."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @told_as("update_memory", lambda _: 1)
    def update(
        self,
        chunk_id: int,
        content: object,
        given: GivenUpdate,
        reason: str | None,
        key: str | None,
    ) -> Chunk:
        """Change an exchange; the chunk as it is then."""
        context, update = self._context, _read_update(content, given)
        vectors = context.batch_vectors()
        found = run_read(
            context.pool,
            lambda it: store.fetch_chunks(it, context.require_namespace(it), [chunk_id]),
        )
        if not found:
            raise no_chunk(chunk_id)
        planned = plan_update(found[0], update, context.tagger)

        key = key or str(uuid4())
        write_key = WriteKey.of(key, "update", chunk_id, repr(update), reason)
        detail = {"changed": update.names, **({"reason": reason} if reason else {})}

        def work(connection: Connection) -> Chunk:
            namespace = context.require_namespace(connection)
            place = store.find_chunk_scope(connection, namespace, chunk_id)

            def change() -> None:
                draft = draft_update(connection, namespace, place, planned)
                scope = replace(place.scope, followers=context.followers(_as_session(draft)))
                write_update(connection, replace(place, scope=scope), draft, detail, vectors)

            write_once(connection, namespace, [place.user_id], write_key, change)
            return store.fetch_chunks(connection, namespace, [chunk_id])[0]

        with naming_key(key):
            changed = context.run_write(work, vectors)
        if changed.expires_at is not None:
            context.wake_worker()
        return changed

    def versions(self, chunk_id: int) -> list[Version]:
        """What was kept of an exchange's past."""

        def fetch(connection: Connection) -> list[Version]:
            namespace = self._context.require_namespace(connection)
            if not store.fetch_chunks(connection, namespace, [chunk_id]):
                raise no_chunk(chunk_id)
            return list_versions(connection, namespace, chunk_id)

        return run_read(self._context.pool, fetch)


def _read_update(content: object, given: GivenUpdate) -> Update:
    update = Update(
        content=None if content is None else _read_content(content),
        facets=given.facets,
        tags=given.tags,
        metadata=given.metadata,
        occurred_at=given.occurred_at,
        expires_at=given.expires_at,
        ttl=given.ttl,
    )
    check_expiry(update.expires_at, update.ttl)
    if not update.names:
        raise InvalidInputError(
            "say what to change: content, facets, tags, metadata, occurred_at, expires_at or ttl"
        )
    return update


def _as_session(draft: ChunkDraft) -> SessionDraft:
    """The exchange alone, as what follows a write reads it."""
    speakers = [name for name in (draft.user_speaker, draft.assistant_speaker) if name]
    return SessionDraft(
        user_id="",
        session_id=draft.session_id,
        exchanges=[ExchangeDraft(chunks=[draft])],
        speakers=speakers,
    )
