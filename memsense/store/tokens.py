"""Token vectors of exchanges: written with them, or made later for those that lack them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

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
    """Make and store the tokens of exchanges that have none, for each model that makes tokens.

    Exchanges whose tokens could not be made are left to a job.
    """
    for model, own_vectors in vectors.iter_models(scope.models):
        if own_vectors is None or not own_vectors.has_tokens:
            continue
        tokens = own_vectors.tokens(texts)
        put_tokens(connection, scope, chunk_ids, texts, tokens, model=model)
        lacking = [key for key, item in zip(chunk_ids, tokens, strict=True) if item is None]
        enqueue_chunks(connection, scope, EMBED, lacking, model=model)


def put_tokens(
    connection: Connection,
    scope: Scope,
    chunk_ids: Sequence[int],
    texts: Sequence[TokenText],
    tokens: Sequence[Tokens | None],
    *,
    model: EmbeddingModel,
) -> None:
    """Store the tokens of exchanges that have none yet; None means that there are none to store."""
    rows = [
        (chunk_id, int((item.starts < text.user_end).sum()), item)
        for chunk_id, text, item in zip(chunk_ids, texts, tokens, strict=True)
        if item is not None
    ]
    if not rows:
        return
    # Little-endian, whatever the machine: other processes read these bytes.
    values = {
        "tenant_id": scope.tenant_id,
        "scope_id": scope.scope_id,
        "model_id": model.model_id,
        "chunk_ids": [chunk_id for chunk_id, _, _ in rows],
        "user_pieces": [user_pieces for _, user_pieces, _ in rows],
        "pieces": [item.pieces.astype("<u2").tobytes() for _, _, item in rows],
        "signs": [item.signs.tobytes() for _, _, item in rows],
    }
    execute(connection, "insert_tokens", values, FILE)


def delete_tokens(connection: Connection, scope: Scope, chunk_ids: Sequence[int]) -> None:
    """Delete the tokens of chunks that change or are deleted."""
    values = {
        "tenant_id": scope.tenant_id,
        "scope_id": scope.scope_id,
        "chunk_ids": list(chunk_ids),
    }
    execute(connection, "delete_tokens", values, FILE)


def fetch_last_texts(
    connection: Connection, namespace: Namespace, drafts: Sequence[SessionDraft]
) -> list[str]:
    """Return the last text of the session that each draft continues; empty for a new session."""
    values = {
        "tenant_id": namespace.tenant_id,
        "namespace_id": namespace.namespace_id,
        "user_ids": [draft.user_id for draft in drafts],
        "session_ids": [draft.session_id for draft in drafts],
    }
    texts = [""] * len(drafts)
    for place, user_text, assistant_text in fetch_all(connection, "fetch_last_texts", values, FILE):
        texts[place - 1] = join_sides(user_text, assistant_text)
    return texts


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bare:
    """An active exchange without tokens, and the exchange before it."""

    chunk_id: int
    user_text: str
    assistant_text: str
    user_before: str | None
    assistant_before: str | None

    def text(self) -> TokenText:
        """Return the text that its tokens are made from."""
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
    """Make the tokens of a model for each active exchange that has none; return how many.

    No connection is held while texts are embedded, and each batch is a transaction: what changes
    meanwhile is left to the write that changes it. `on_chunks` gets the size of each batch.
    """
    key = {"tenant_id": namespace.tenant_id, "model_id": model.model_id}
    of_namespace = {**key, "namespace_id": namespace.namespace_id}
    scope_ids: list[int] = run_read(
        pool, lambda it: fetch_values(it, "list_bare_scopes", of_namespace, FILE)
    )

    def fetch_bare(connection: Connection, scope_id: int, after: int) -> list[_Bare]:
        values = {**key, "scope_id": scope_id, "limit": BATCH, "after": after}
        return fetch_all(connection, "fetch_bare_chunks", values, FILE, of=_Bare)

    filled = 0
    for scope_id in scope_ids:
        scope = Scope(
            tenant_id=namespace.tenant_id,
            scope_id=scope_id,
            language=namespace.language,
            models=[model],
        )
        after = 0
        while batch := run_read(pool, partial(fetch_bare, scope_id=scope_id, after=after)):
            texts = [item.text() for item in batch]
            tokens = embed(texts)
            put = partial(_put_unchanged, scope=scope, batch=batch, texts=texts, tokens=tokens)
            stored = run_transaction(pool, put)
            filled += stored
            on_chunks(stored)
            after = batch[-1].chunk_id
    return filled


def _put_unchanged(
    connection: Connection,
    scope: Scope,
    batch: Sequence[_Bare],
    texts: Sequence[TokenText],
    tokens: Sequence[Tokens | None],
) -> int:
    """Store the tokens of exchanges that have not changed since they were read; return how many."""
    # Under the lock of writes: what changed since it was read got its tokens from its write.
    key = lock_memory(connection, scope)
    values = {
        **key,
        "model_id": scope.model_id,
        "chunk_ids": [item.chunk_id for item in batch],
        "user_texts": [item.user_text for item in batch],
        "assistant_texts": [item.assistant_text for item in batch],
    }
    unchanged = set(fetch_values(connection, "select_unchanged", values, FILE))
    rows = [row for row, item in enumerate(batch) if item.chunk_id in unchanged]
    put_tokens(
        connection,
        scope,
        [batch[row].chunk_id for row in rows],
        [texts[row] for row in rows],
        [tokens[row] for row in rows],
        model=scope.models[0],
    )
    return len(rows)


def lock_memory(connection: Connection, scope: Scope) -> dict[str, int]:
    """Lock a memory as every write does; return its key."""
    key = {"tenant_id": scope.tenant_id, "scope_id": scope.scope_id}
    fetch_value(connection, "lock_memory", key, FILE)
    return key
