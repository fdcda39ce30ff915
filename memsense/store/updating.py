"""Updates of a stored exchange: its text, facets, tags, metadata and dates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from memsense.db.connection import Connection
from memsense.db.rows import execute, fetch_one, fetch_values
from memsense.draft.expiry import has_expired, read_lifetime
from memsense.draft.facets.model import Facets, FacetTagger
from memsense.draft.parts import StoredTexts, cut_exchange
from memsense.draft.vectors import ChunkTexts
from memsense.errors import ConflictError, InvalidInputError, VersionConflictError
from memsense.inputs import Ttl
from memsense.store import reads, writes
from memsense.store.scopes import ChunkPlace, Namespace, Scope
from memsense.store.versions import EDIT_DAYS, keep_versions
from memsense.types import Chunk, ChunkDraft, JsonValue

FILE = "update.sql"


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """A change of an exchange; fields that are None stay as they are.

    `content` is the text of the one side that says something, or texts by side (`user`,
    `assistant`). Only the facets that are given change; an empty text removes one. A `ttl` counts
    from now. Nothing changes unless the chunk has the version `if_version`.
    """

    content: str | Mapping[str, str] | None = None
    facets: Mapping[str, str] | None = None
    tags: Sequence[str] | None = None
    metadata: Mapping[str, JsonValue] | None = None
    occurred_at: datetime | None = None
    expires_at: datetime | None = None
    ttl: Ttl | None = None
    # Not a part of the change, by which its key is recognised.
    if_version: str | None = field(default=None, repr=False)

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
    """An update of an exchange as it was read.

    `parts` are all parts of the exchange, `chunk` is the one to change. `replaced` holds the part's
    new texts, the user's and the assistant's, and their facets; None if the text stays.
    """

    parts: Sequence[Chunk]
    chunk: Chunk
    update: Update
    replaced: tuple[str, str, Facets] | None = None


def fetch_exchange(connection: Connection, namespace: Namespace, chunk_id: int) -> list[Chunk]:
    """Return the parts of the exchange that a chunk belongs to, in order; a session chunk alone."""
    key = {**namespace.key, "chunk_id": chunk_id}
    chunk_ids: list[int] = fetch_values(connection, "list_parts", key, FILE)
    parts = reads.fetch_chunks(connection, namespace, chunk_ids)
    return sorted(parts, key=lambda chunk: chunk.part)


def plan_update(
    parts: Sequence[Chunk], chunk_id: int, update: Update, tagger: FacetTagger
) -> Planned:
    """Return an update with the facets of its new text, worked out outside of any transaction.

    The tagger that reads the new text for facets may ask a model. Raises InvalidInputError for what
    can't be updated.
    """
    chunk = next(part for part in parts if part.chunk_id == chunk_id)
    _check(chunk)
    if update.content is None:
        return Planned(parts=parts, chunk=chunk, update=update)
    own_text = chunk.own_user_text
    texts = update.content
    if isinstance(texts, str):
        if own_text and chunk.assistant_text:
            raise InvalidInputError(
                "content must say which side: the exchange has both, so give {'user': ...},"
                " {'assistant': ...} or both"
            )
        texts = {"assistant" if chunk.assistant_text else "user": texts}
    opening = chunk.user_text[: chunk.opening_length]
    user_text = texts.get("user", chunk.user_text)
    # Who edits what `get` returned of a later part edits it with the opening in front. The own text
    # of a user who repeats it begins with the opening, too, as often as counted here but for once.
    begins = opening
    while opening and chunk.user_text.startswith(begins + opening):
        begins += opening
    if user_text.startswith(begins):
        user_text = user_text[len(opening) :]
    assistant_text = texts.get("assistant", chunk.assistant_text)
    others = [part for part in parts if part is not chunk]
    has_others = any(part.own_user_text.strip() or part.assistant_text.strip() for part in others)
    if not (user_text.strip() or assistant_text.strip() or has_others):
        raise InvalidInputError("content is empty: delete the chunk instead")
    if others:
        place = parts.index(chunk)
        user_texts = [part.own_user_text for part in parts]
        user_text = _set_apart(user_text, user_texts, place)
        assistant_texts = [part.assistant_text for part in parts]
        assistant_text = _set_apart(assistant_text, assistant_texts, place)
    replaced = user_text, assistant_text, tagger.tag(user_text, assistant_text)
    return Planned(parts=parts, chunk=chunk, update=update, replaced=replaced)


def _set_apart(text: str, texts: Sequence[str], place: int) -> str:
    """Return a new text of one side of a part, with blanks between its words and its neighbours'.

    `texts` are those of all parts; the one at `place` is to be replaced. Its blanks at the end are
    kept. If it was empty, line breaks are put around the new one.
    """
    old = texts[place]
    if old or not text:
        return text.rstrip() + old[len(old.rstrip()) :]
    before, after = "".join(texts[:place]), "".join(texts[place + 1 :])
    is_joined = before[-1:].strip() and text[:1].strip()
    joins_next = after[:1].strip() and text[-1:].strip()
    return ("\n" if is_joined else "") + text + ("\n" if joins_next else "")


def check_version(chunks: Sequence[Chunk], if_version: str | None) -> None:
    """Raise VersionConflictError unless the chunk, if there is one, has the version."""
    versions = [chunk.version for chunk in chunks]
    if if_version is not None and if_version not in versions:
        raise VersionConflictError(
            f"the memory has version {''.join(versions) or 'none'} by now, not {if_version}; read"
            " it again, then decide"
        )


def draft_update(
    connection: Connection, namespace: Namespace, place: ChunkPlace, planned: Planned
) -> list[ChunkDraft]:
    """Return the parts of the updated exchange; raise ConflictError if it has changed meanwhile."""
    update, chunk = planned.update, planned.chunk
    # The text was read and tagged outside of this transaction.
    stored = fetch_exchange(connection, namespace, place.chunk_id)
    check_version([part for part in stored if part.chunk_id == chunk.chunk_id], update.if_version)
    if [_own(part) for part in stored] != [_own(part) for part in planned.parts]:
        raise ConflictError(
            f"chunk {chunk.chunk_id} has changed since it was read; read it again, then update"
        )
    if has_expired(chunk.expires_at, place.scope.now):
        raise InvalidInputError(f"chunk {chunk.chunk_id} has expired: add the exchange again")
    replaced = {chunk.chunk_id: planned.replaced} if planned.replaced else {}
    texts = StoredTexts(planned.parts, replaced)
    values: dict[str, Any] = {}
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
    facets = {name: text or None for name, text in (update.facets or {}).items()}
    whole = draft_whole(connection, place.scope, planned.parts, texts, like=chunk)
    return cut_exchange(replace(whole, **values), texts, {**texts.chosen, **facets})


def draft_whole(
    connection: Connection,
    scope: Scope,
    parts: Sequence[Chunk],
    texts: StoredTexts,
    *,
    like: Chunk,
) -> ChunkDraft:
    """Return a stored exchange as one draft with its whole text.

    It keeps what the exchange is recognised by: its log, read again, leaves it alone. All other
    values are those of `like`, one of its parts.
    """
    key = {**scope.key, "chunk_id": parts[0].chunk_id}
    content_hash, dedup_window = fetch_one(connection, "fetch_identity", key, FILE)
    whole = replace(
        like, user_text=texts.user_text, assistant_text=texts.assistant_text, language=None
    )
    return whole.as_draft(content_hash=content_hash, dedup_window=dedup_window)


def _own(chunk: Chunk) -> Chunk:
    """Return the chunk without what changes by itself."""
    return replace(chunk, context="", next_user_text=None, memory_score=0)


def _check(chunk: Chunk) -> None:
    """Raise InvalidInputError if the chunk can't be updated."""
    if chunk.granularity == "session":
        raise InvalidInputError(
            f"chunk {chunk.chunk_id} is made of a session's exchanges: update one of these"
        )
    if chunk.status != "active":
        status = "forgotten" if chunk.status == "deleted" else chunk.status
        raise InvalidInputError(f"chunk {chunk.chunk_id} is {status}: restore it first")


def write_update(
    connection: Connection,
    place: ChunkPlace,
    parts: Sequence[Chunk],
    drafts: Sequence[ChunkDraft],
    detail: Mapping[str, JsonValue],
    *,
    embed: writes.Embed,
) -> list[int]:
    """Store an exchange over its parts, with words, vectors, links and session chunks.

    Return the ids of its new parts.
    """
    stored = [part.chunk_id for part in parts]
    embed.require(place.scope.models, [ChunkTexts.of(draft) for draft in drafts])
    keep_versions(connection, place.scope, stored, days=EDIT_DAYS)
    chunk_ids = writes.overwrite_turns(
        connection, place.scope, stored, drafts, embed, event="updated", detail=detail
    )
    share_score(connection, place.scope, chunk_ids, parts[0].memory_score)
    writes.refresh_session(connection, place.scope, place.session_id, embed)
    return chunk_ids


def share_score(
    connection: Connection, scope: Scope, chunk_ids: Sequence[int], memory_score: float
) -> None:
    """Give all parts of an exchange its memory score, also those that are new."""
    values = {**scope.key, "chunk_ids": list(chunk_ids), "memory_score": memory_score}
    execute(connection, "share_score", values, FILE)
