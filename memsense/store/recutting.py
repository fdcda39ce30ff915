"""Exchanges that were stored in longer parts than today's are cut again, a few at a time."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from memsense.db.connection import Connection
from memsense.db.queries import as_sql, fill
from memsense.db.rows import fetch_all
from memsense.draft.chunking import LARGEST_PART
from memsense.draft.parts import StoredTexts, cut_exchange
from memsense.draft.vectors import ChunkTexts
from memsense.store import reads, writes
from memsense.store.scopes import Follower, Namespace, Scope
from memsense.store.updating import draft_whole, share_score
from memsense.types import ChunkDraft

FILE = "recut.sql"

AT_ONCE = 16
"""Exchanges that are cut in one transaction, for which the memory's writes wait."""


def recut_exchanges(
    connection: Connection,
    namespace: Namespace,
    scope: Scope,
    embed: writes.Embed,
    follow: Callable[[Sequence[ChunkDraft]], Sequence[Follower]],
) -> int:
    """Cut some exchanges of a locked scope into parts of today's length; return how many.

    The first parts keep their ids, and all parts what a caller has set: facets, tags, the memory
    score. `follow` returns the followers of the write of an exchange.
    """
    values = {**scope.key, "longest": LARGEST_PART, "limit": AT_ONCE}
    statement = as_sql(fill("list_long", FILE, is_long=fill("is_long", FILE)))
    exchanges: list[tuple[str, int, list[int]]] = fetch_all(connection, statement, values)
    every_id = [chunk_id for *_, chunk_ids in exchanges for chunk_id in chunk_ids]
    chunks = {it.chunk_id: it for it in reads.fetch_chunks(connection, namespace, every_id)}
    rewritten: list[tuple[list[int], list[ChunkDraft], float]] = []
    for _, _, chunk_ids in exchanges:
        stored = [chunks[chunk_id] for chunk_id in chunk_ids]
        texts = StoredTexts(stored)
        whole = draft_whole(connection, scope, stored, texts, like=stored[0])
        drafts = cut_exchange(whole, texts, texts.chosen)
        rewritten.append((chunk_ids, drafts, stored[0].memory_score))
    every = [ChunkTexts.of(draft) for _, drafts, _ in rewritten for draft in drafts]
    embed.require(scope.models, every)
    for chunk_ids, drafts, memory_score in rewritten:
        followed = replace(scope, followers=follow(drafts))
        new = writes.overwrite_turns(connection, followed, chunk_ids, drafts, embed, event="recut")
        share_score(connection, scope, new, memory_score)
    for session_id in dict.fromkeys(session_id for session_id, *_ in exchanges):
        writes.refresh_session(connection, scope, session_id, embed)
    return len(exchanges)
