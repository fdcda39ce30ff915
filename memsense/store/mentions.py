"""Mentions: what chunks say of entities, kept in step with the chunks by every write."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from memsense.db.connection import Connection
from memsense.db.rows import execute
from memsense.store.scopes import Scope
from memsense.types import Mention

FILE = "entities.sql"


def as_json(mentions: Sequence[Mention]) -> list[dict[str, Any]]:
    """The mentions as a chunk's row keeps them."""
    return [asdict(mention) for mention in mentions]


def count_mentions(
    connection: Connection, scope: Scope, chunk_ids: Sequence[int], *, sign: int
) -> None:
    """Add what was found in chunks to the entities (sign 1), or take it away (-1)."""
    values = {
        "tenant_id": scope.tenant_id,
        "scope_id": scope.scope_id,
        "chunk_ids": list(chunk_ids),
    }
    execute(connection, "add_mentions" if sign > 0 else "remove_mentions", values, FILE)
