"""Upkeep of entities, mentions and edges, in the transaction that writes the chunks."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from psycopg.types.json import Jsonb

from memsense.db.connection import Connection
from memsense.db.rows import execute, execute_together, fetch_all, fetch_values, find_value
from memsense.graph.extraction.model import EntityExtractor, Mention, find_mentions
from memsense.store.scopes import Scope
from memsense.types import ChunkDraft, SessionDraft

FILE = "graph.sql"
REBUILD_STEP = 1000

_CLEAR = ("clear_mentions", "clear_edges", "clear_entities")
_ADD_MENTIONS = ("count_entities", "insert_mentions", "count_edges")


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityUpkeep:
    """Follower of a transaction's writes; `mentions` are those of the drafts, by content hash."""

    mentions: Mapping[str, Sequence[Mention]] = field(default_factory=dict[str, Sequence[Mention]])

    @classmethod
    def of(cls, drafts: Sequence[SessionDraft], extractor: EntityExtractor) -> "EntityUpkeep":
        """Make the follower for writing sessions."""
        # The texts are read now, so that the transaction does not hold its locks meanwhile.
        return cls(
            mentions={
                chunk.content_hash: find_mentions(
                    extractor,
                    (
                        (chunk.own_user_text, chunk.user_speaker),
                        (chunk.assistant_text, chunk.assistant_speaker),
                    ),
                    draft.speakers,
                )
                for draft in drafts
                for exchange in draft.exchanges
                for chunk in exchange.chunks
            }
        )

    def chunks_written(
        self,
        connection: Connection,
        scope: Scope,
        drafts: Sequence[ChunkDraft],
        chunk_ids: Sequence[int],
    ) -> None:
        """Add the mentions of the turn chunks among the drafts."""
        turns = {
            # By content hash, since drafts get their places only inside the transaction.
            chunk_id: _as_json(self.mentions.get(draft.content_hash, ()))
            for draft, chunk_id in zip(drafts, chunk_ids, strict=True)
            if draft.granularity == "turn"
        }
        if turns:
            values = _list_values(scope, turns)
            execute_together(connection, ["keep_found", *_ADD_MENTIONS], values, FILE)

    def chunks_withdrawn(
        self, connection: Connection, scope: Scope, chunk_ids: Sequence[int]
    ) -> None:
        """Remove the mentions of the chunks; `chunk_entities` keeps them for a restore."""
        values = {**scope.key, "chunk_ids": list(chunk_ids)}
        execute(connection, "remove_mentions", values, FILE)

    def chunks_restored(
        self, connection: Connection, scope: Scope, chunk_ids: Sequence[int]
    ) -> None:
        """Add the mentions again that were found in the chunks when they were written."""
        values = {**scope.key, "chunk_ids": list(chunk_ids)}
        execute_together(connection, _ADD_MENTIONS, values, FILE)


def _as_json(mentions: Sequence[Mention]) -> Jsonb:
    return Jsonb([asdict(mention) for mention in mentions])


def _list_values(scope: Scope, entities: Mapping[int, Jsonb]) -> dict[str, Any]:
    return {**scope.key, "chunk_ids": list(entities), "entities": list(entities.values())}


def relink_entities(
    connection: Connection, scope: Scope, unread: Mapping[int, Sequence[Mention]]
) -> None:
    """Make mentions and edges of a locked scope again, of the mentions that its chunks keep.

    Args:
        connection: Connection in a transaction.
        scope: The scope.
        unread: Mentions of chunks that keep none, by chunk id.
    """
    entities = {chunk_id: _as_json(mentions) for chunk_id, mentions in unread.items()}
    execute(connection, "keep_found", _list_values(scope, entities), FILE)
    for name in _CLEAR:
        execute(connection, name, scope.key, FILE)
    active = {**scope.key, "chunk_ids": fetch_values(connection, "list_read", scope.key, FILE)}
    execute_together(connection, _ADD_MENTIONS, active, FILE)


def rebuild_entities(connection: Connection, scope: Scope, extractor: EntityExtractor) -> int:
    """Find the entities of a locked scope's exchanges again; return the number of chunks."""
    for name in _CLEAR:
        execute(connection, name, scope.key, FILE)
    speakers = find_value(connection, "fetch_speakers", scope.key, FILE)
    participants: Sequence[str] = speakers or ()
    count, after = 0, 0
    # In steps by id, so that a large memory is never read into this process as a whole.
    while True:
        values = {**scope.key, "after": after, "limit": REBUILD_STEP}
        turns = fetch_all(connection, "fetch_unread_turns", values, FILE)
        if not turns:
            return count
        entities = {
            chunk_id: _as_json(
                find_mentions(extractor, list(zip(texts, labels, strict=True)), participants)
            )
            for chunk_id, texts, labels in ((row[0], row[2:4], row[4:6]) for row in turns)
        }
        # Inactive chunks keep what is found, too, for a restore; only active ones count.
        execute(connection, "keep_found", _list_values(scope, entities), FILE)
        active = {**scope.key, "chunk_ids": [row[0] for row in turns if row[1] == "active"]}
        execute_together(connection, _ADD_MENTIONS, active, FILE)
        count, after = count + len(turns), turns[-1][0]
