"""Keeps entities, mentions and edges in step with the chunks, in the writer's transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any

from psycopg.sql import SQL
from psycopg.types.json import Jsonb

from memsense.db.connection import Connection
from memsense.db.queries import as_sql, fill
from memsense.db.rows import execute, fetch_all, find_value
from memsense.graph.extraction import EntityExtractor, Mention, find_mentions
from memsense.store import Scope
from memsense.types import ChunkDraft, SessionDraft

FILE = "graph.sql"
REBUILD_STEP = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityUpkeep:
    """Follows the writes of one transaction; `found` is what drafts mention, by content hash."""

    found: Mapping[str, Sequence[Mention]] = field(default_factory=dict[str, Sequence[Mention]])

    @classmethod
    def of(cls, draft: SessionDraft, extractor: EntityExtractor) -> "EntityUpkeep":
        """For writing a session: its turns are read now, before the transaction begins."""
        chunks = [chunk for exchange in draft.exchanges for chunk in exchange.chunks]
        return cls(
            found={
                chunk.content_hash: _read_chunk(chunk, extractor, draft.speakers)
                for chunk in chunks
            }
        )

    def chunks_written(
        self,
        connection: Connection,
        scope: Scope,
        drafts: Sequence[ChunkDraft],
        chunk_ids: Sequence[int],
    ) -> None:
        """Add what the turns among the drafts mention."""
        turns = {
            chunk_id: _as_json(self.found.get(draft.content_hash, ()))
            for draft, chunk_id in zip(drafts, chunk_ids, strict=True)
            if draft.granularity == "turn"
        }
        if turns:
            execute(connection, _add_mentions("keep_found"), _found_values(scope, turns))

    def chunks_withdrawn(
        self, connection: Connection, scope: Scope, chunk_ids: Sequence[int]
    ) -> None:
        """Take the mentions of the chunks away."""
        values = {**_key(scope), "chunk_ids": list(chunk_ids)}
        execute(connection, "remove_mentions", values, FILE)

    def chunks_restored(
        self, connection: Connection, scope: Scope, chunk_ids: Sequence[int]
    ) -> None:
        """Add again what was found in the chunks when they were written."""
        _add_kept(connection, scope, chunk_ids)


def _read_chunk(
    chunk: ChunkDraft, extractor: EntityExtractor, speakers: Sequence[str]
) -> Sequence[Mention]:
    sides = (
        (chunk.own_user_text, chunk.user_speaker),
        (chunk.assistant_text, chunk.assistant_speaker),
    )
    return find_mentions(extractor, sides, speakers)


def _as_json(mentions: Sequence[Mention]) -> Jsonb:
    return Jsonb([asdict(mention) for mention in mentions])


def _key(scope: Scope) -> dict[str, Any]:
    return {"tenant_id": scope.tenant_id, "scope_id": scope.scope_id}


def _found_values(scope: Scope, found: Mapping[int, Jsonb]) -> dict[str, Any]:
    return {**_key(scope), "chunk_ids": list(found), "entities": list(found.values())}


@cache
def _add_mentions(source: str) -> SQL:
    return as_sql(fill("add_mentions", FILE, kept=fill(source, FILE)))


def _add_kept(connection: Connection, scope: Scope, chunk_ids: Sequence[int]) -> None:
    values = {**_key(scope), "chunk_ids": list(chunk_ids)}
    execute(connection, _add_mentions("find_kept"), values)


def rebuild_entities(connection: Connection, scope: Scope, extractor: EntityExtractor) -> int:
    """Read every turn chunk of a locked scope again; returns how many were read.

    All speakers of the scope are known to the extractor meanwhile.
    """
    for name in ("clear_mentions", "clear_edges", "clear_entities"):
        execute(connection, name, _key(scope), FILE)
    speakers = find_value(connection, "fetch_speakers", _key(scope), FILE)
    participants: Sequence[str] = speakers or ()
    read, after = 0, 0
    while turns := _fetch_turns(connection, scope, after):
        _read_again(connection, scope, turns, extractor, participants)
        read, after = read + len(turns), turns[-1][0]
    return read


def _fetch_turns(connection: Connection, scope: Scope, after: int) -> list[tuple[Any, ...]]:
    values = {**_key(scope), "after": after, "limit": REBUILD_STEP}
    return fetch_all(connection, "fetch_unread_turns", values, FILE)


def _read_again(
    connection: Connection,
    scope: Scope,
    turns: Sequence[tuple[Any, ...]],
    extractor: EntityExtractor,
    participants: Sequence[str],
) -> None:
    found = {
        chunk_id: _as_json(find_mentions(extractor, zip(texts, labels, strict=True), participants))
        for chunk_id, texts, labels in ((row[0], row[2:4], row[4:6]) for row in turns)
    }
    execute(connection, "keep_found", _found_values(scope, found), FILE)
    _add_kept(connection, scope, [row[0] for row in turns if row[1] == "active"])
