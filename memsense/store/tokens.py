"""Token vectors of exchanges: written with them, and given to those that lack them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from memsense.db import Pool, run_read, run_transaction
from memsense.db.connection import Connection
from memsense.db.rows import execute, fetch_all, fetch_value, fetch_values
from memsense.embed import Tokens
from memsense.store.jobs import EMBED, enqueue_chunks
from memsense.store.scopes import Namespace, Scope
from memsense.types import EmbeddingModel, SessionDraft, join_sides
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
    """Make and store the tokens of exchanges that have none, if there are any to be had.

    Exchanges whose tokens lack are left to a job.
    """
    for model, given in vectors.iter_models(scope.models):
        if given is None or not given.has_tokens:
            continue
        found = given.tokens(texts)
        put_tokens(connection, scope, chunk_ids, texts, found, model=model)
        lacking = [key for key, tokens in zip(chunk_ids, found, strict=True) if tokens is None]
        enqueue_chunks(connection, scope, EMBED, lacking, model=model)


def put_tokens(
    connection: Connection,
    scope: Scope,
    chunk_ids: Sequence[int],
    texts: Sequence[TokenText],
    found: Sequence[Tokens | None],
    *,
    model: EmbeddingModel,
) -> None:
    """Store the tokens of exchanges that have none; what has none here goes without."""
    rows = [
        (chunk_id, int((tokens.starts < text.user_end).sum()), tokens)
        for chunk_id, text, tokens in zip(chunk_ids, texts, found, strict=True)
        if tokens is not None
    ]
    if not rows:
        return
    values = {
        "tenant_id": scope.tenant_id,
        "scope_id": scope.scope_id,
        "model_id": model.model_id,
        "chunk_ids": [chunk_id for chunk_id, _, _ in rows],
        "user_pieces": [user_pieces for _, user_pieces, _ in rows],
        "pieces": [tokens.pieces.astype("<u2").tobytes() for _, _, tokens in rows],
        "signs": [tokens.signs.tobytes() for _, _, tokens in rows],
    }
    execute(connection, "insert_tokens", values, FILE)


def delete_tokens(connection: Connection, scope: Scope, chunk_ids: Sequence[int]) -> None:
    """Drop the tokens of chunks that change or go."""
    values = {
        "tenant_id": scope.tenant_id,
        "scope_id": scope.scope_id,
        "chunk_ids": list(chunk_ids),
    }
    execute(connection, "delete_tokens", values, FILE)


def fetch_last_texts(
    connection: Connection, namespace: Namespace, drafts: Sequence[SessionDraft]
) -> list[str]:
    """What was said last in the session that each draft continues; empty if it begins it."""
    values = {
        "tenant_id": namespace.tenant_id,
        "namespace_id": namespace.namespace_id,
        "user_ids": [draft.user_id for draft in drafts],
        "session_ids": [draft.session_id for draft in drafts],
    }
    said = [""] * len(drafts)
    for place, user_text, assistant_text in fetch_all(connection, "fetch_last_texts", values, FILE):
        said[place - 1] = join_sides(user_text, assistant_text)
    return said


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
    model: EmbeddingModel,
    embed: Callable[[Sequence[TokenText]], Sequence[Tokens | None]],
    on_chunks: Callable[[int], object],
) -> int:
    """Give each active exchange of the namespace that has no tokens of the model its own; returns
    how many.

    No connection is held while texts are embedded, and each batch is a transaction: what changes
    meanwhile is left to the write that changed it. `on_chunks` gets the size of each batch.
    """
    filled = 0
    for scope_id, batch in _bare_batches(pool, namespace, model):
        texts = [item.text() for item in batch]
        found = embed(texts)
        scope = Scope(
            tenant_id=namespace.tenant_id,
            scope_id=scope_id,
            language=namespace.language,
            models=[model],
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
        model=scope.models[0],
    )
    return len(rows)


def _bare_batches(
    pool: Pool, namespace: Namespace, model: EmbeddingModel
) -> Iterator[tuple[int, list[_Bare]]]:
    key = {"tenant_id": namespace.tenant_id, "model_id": model.model_id}
    values = {**key, "namespace_id": namespace.namespace_id}
    scope_ids: list[int] = run_read(
        pool, lambda it: fetch_values(it, "list_bare_scopes", values, FILE)
    )
    for scope_id in scope_ids:
        values = {**key, "scope_id": scope_id, "limit": BATCH}
        after = 0
        while batch := _fetch_bare(pool, {**values, "after": after}):
            yield scope_id, batch
            after = batch[-1].chunk_id


def _fetch_bare(pool: Pool, values: dict[str, Any]) -> list[_Bare]:
    return run_read(pool, lambda it: fetch_all(it, "fetch_bare_chunks", values, FILE, of=_Bare))


def lock_memory(connection: Connection, scope: Scope) -> dict[str, int]:
    """Lock a memory as every write does; gives its key."""
    key = {"tenant_id": scope.tenant_id, "scope_id": scope.scope_id}
    fetch_value(connection, "lock_memory", key, FILE)
    return key


def _select_unchanged(connection: Connection, scope: Scope, batch: Sequence[_Bare]) -> set[int]:
    key = lock_memory(connection, scope)
    values = {
        **key,
        "model_id": scope.model_id,
        "chunk_ids": [item.chunk_id for item in batch],
        "user_texts": [item.user_text for item in batch],
        "assistant_texts": [item.assistant_text for item in batch],
    }
    return set(fetch_values(connection, "select_unchanged", values, FILE))
