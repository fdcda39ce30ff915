"""Token vectors of exchanges: written with them, and given to those that lack them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from memsense.db import Pool, run_read, run_transaction
from memsense.db.connection import Connection
from memsense.db.rows import copy_rows, execute, fetch_all, fetch_value, fetch_values, find_one
from memsense.embed import Tokens
from memsense.store.scopes import Namespace, Scope
from memsense.types import SessionDraft, join_sides
from memsense.write.vectors import BatchVectors, TokenText

FILE = "tokens.sql"
BATCH = 64
"""Exchanges embedded together: a few seconds of a processor's time."""


def insert_tokens(
    connection: Connection,
    scope: Scope,
    chunk_ids: Sequence[int],
    texts: Sequence[TokenText],
    vectors: BatchVectors,
) -> None:
    """Make and store the tokens of exchanges that have none, if there are any to be had."""
    if vectors.gives_tokens:
        put_tokens(connection, scope, chunk_ids, texts, vectors.tokens(texts))


def put_tokens(
    connection: Connection,
    scope: Scope,
    chunk_ids: Sequence[int],
    texts: Sequence[TokenText],
    found: Sequence[Tokens | None],
) -> None:
    """Store the tokens of exchanges that have none; what has none here goes without."""
    key = scope.tenant_id, scope.scope_id
    rows = (
        (
            *key,
            chunk_id,
            scope.model_id,
            int((tokens.starts < text.user_end).sum()),
            tokens.pieces.astype("<u2").tobytes(),
            tokens.signs.tobytes(),
        )
        for chunk_id, text, tokens in zip(chunk_ids, texts, found, strict=True)
        if tokens is not None
    )
    types = "int4", "int4", "int8", "int4", "int2", "bytea", "bytea"
    copy_rows(connection, "copy_tokens", types, rows, FILE)


def delete_tokens(connection: Connection, scope: Scope, chunk_ids: Sequence[int]) -> None:
    """Drop the tokens of chunks that change or go."""
    values = {
        "tenant_id": scope.tenant_id,
        "scope_id": scope.scope_id,
        "chunk_ids": list(chunk_ids),
    }
    execute(connection, "delete_tokens", values, FILE)


def fetch_last_text(connection: Connection, namespace: Namespace, draft: SessionDraft) -> str:
    """What was said last in the session that a draft continues; empty if it begins it."""
    values = {
        "tenant_id": namespace.tenant_id,
        "namespace_id": namespace.namespace_id,
        "user_id": draft.user_id,
        "session_id": draft.session_id,
    }
    found = find_one(connection, "fetch_last_text", values, FILE)
    return join_sides(*found) if found else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bare:
    """An active exchange without tokens, and the exchange before it."""

    chunk_id: int
    user_text: str
    assistant_text: str
    user_before: str | None
    assistant_before: str | None

    def text(self) -> TokenText:
        """What its tokens are made from."""
        context = join_sides(self.user_before or "", self.assistant_before or "")
        text = join_sides(self.user_text, self.assistant_text)
        return TokenText.of(text, self.assistant_text, context)


def fill_tokens(
    pool: Pool,
    namespace: Namespace,
    embed: Callable[[Sequence[TokenText]], Sequence[Tokens | None]],
    on_chunks: Callable[[int], object],
) -> int:
    """Give each active exchange of the namespace that has no tokens its own; returns how many.

    No connection is held while texts are embedded, and each batch is a transaction: what changes
    meanwhile is left to the write that changed it. `on_chunks` gets the size of each batch.
    """
    filled = 0
    for scope_id, batch in _bare_batches(pool, namespace):
        texts = [item.text() for item in batch]
        found = embed(texts)
        scope = Scope(
            tenant_id=namespace.tenant_id,
            scope_id=scope_id,
            language=namespace.language,
            model_id=namespace.model_id or 0,
        )
        kept = run_transaction(pool, partial(_put_unchanged, scope, batch, texts, found))
        filled += kept
        on_chunks(kept)
    return filled


def _put_unchanged(
    scope: Scope,
    batch: Sequence[_Bare],
    texts: Sequence[TokenText],
    found: Sequence[Tokens | None],
    connection: Connection,
) -> int:
    kept = _select_unchanged(connection, scope, batch)
    rows = [row for row, item in enumerate(batch) if item.chunk_id in kept]
    put_tokens(
        connection,
        scope,
        [batch[row].chunk_id for row in rows],
        [texts[row] for row in rows],
        [found[row] for row in rows],
    )
    return len(rows)


def _bare_batches(pool: Pool, namespace: Namespace) -> Iterator[tuple[int, list[_Bare]]]:
    key = {"tenant_id": namespace.tenant_id, "namespace_id": namespace.namespace_id}
    scope_ids: list[int] = run_read(
        pool, lambda it: fetch_values(it, "list_bare_scopes", key, FILE)
    )
    for scope_id in scope_ids:
        values = {"tenant_id": namespace.tenant_id, "scope_id": scope_id, "limit": BATCH}
        after = 0
        while batch := _fetch_bare(pool, {**values, "after": after}):
            yield scope_id, batch
            after = batch[-1].chunk_id


def _fetch_bare(pool: Pool, values: dict[str, Any]) -> list[_Bare]:
    return run_read(pool, lambda it: fetch_all(it, "fetch_bare_chunks", values, FILE, of=_Bare))


def _select_unchanged(connection: Connection, scope: Scope, batch: Sequence[_Bare]) -> set[int]:
    key = {"tenant_id": scope.tenant_id, "scope_id": scope.scope_id}
    fetch_value(connection, "lock_memory", key, FILE)
    values = {
        **key,
        "chunk_ids": [item.chunk_id for item in batch],
        "user_texts": [item.user_text for item in batch],
        "assistant_texts": [item.assistant_text for item in batch],
    }
    return set(fetch_values(connection, "select_unchanged", values, FILE))
