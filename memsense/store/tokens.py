"""Token vectors of exchanges."""

from collections.abc import Sequence

from memsense.db.connection import Connection
from memsense.db.rows import execute, fetch_value
from memsense.draft.vectors import ChunkTexts
from memsense.embed import Tokens
from memsense.store.scopes import Scope
from memsense.types import EmbeddingModel

FILE = "tokens.sql"


def put_tokens(
    connection: Connection,
    scope: Scope,
    chunk_ids: Sequence[int],
    chunks: Sequence[ChunkTexts],
    tokens: Sequence[Tokens | None],
    *,
    model: EmbeddingModel,
) -> int:
    """Store the tokens of exchanges that have none yet; return how many.

    None means that there are none to store.
    """
    rows = [
        (chunk_id, int((item.starts < chunk.user_end).sum()), item)
        for chunk_id, chunk, item in zip(chunk_ids, chunks, tokens, strict=True)
        if item is not None
    ]
    if not rows:
        return 0
    # Little-endian on every machine: other processes read these bytes.
    values = {
        **scope.key,
        "model_id": model.model_id,
        "chunk_ids": [chunk_id for chunk_id, _, _ in rows],
        "user_pieces": [user_pieces for _, user_pieces, _ in rows],
        "pieces": [item.pieces.astype("<u2").tobytes() for _, _, item in rows],
        "signs": [item.signs.tobytes() for _, _, item in rows],
    }
    execute(connection, "insert_tokens", values, FILE)
    return len(rows)


def delete_tokens(connection: Connection, scope: Scope, chunk_ids: Sequence[int]) -> None:
    """Delete the tokens of chunks that change or are deleted."""
    values = {**scope.key, "chunk_ids": list(chunk_ids)}
    execute(connection, "delete_tokens", values, FILE)


def lock_memory(connection: Connection, scope: Scope) -> dict[str, int]:
    """Lock a memory as every write does; return its key."""
    key = {**scope.key}
    fetch_value(connection, "lock_memory", key, FILE)
    return key
