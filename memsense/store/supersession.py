"""Links between exchanges: a newer one supersedes what an older one says."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from psycopg.types.json import Jsonb

from memsense.actor import current_actor
from memsense.db.connection import Connection
from memsense.db.queries import as_sql, fill
from memsense.db.rows import execute, fetch_all
from memsense.db.session import uses_lookups
from memsense.store.scopes import Scope
from memsense.write.supersession import PLAIN, THRESHOLD, Comparison, compare, rate

FILE = "supersessions.sql"

_LIMITS = {"most_words": 8, "most_holders": 8, "most_share": 0.05, "most_related": 8}
"""How many of the rarest words of an exchange are looked for, in how many exchanges or which share
of them a word may stand, and how many exchanges are compared with it.
"""


class Pair(NamedTuple):
    """Two exchanges of one user that share rare words."""

    older: int
    newer: int
    comparison: Comparison


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSupersession:
    """A stored link: one exchange supersedes another.

    Attributes:
        chunk_id: The newer exchange.
        older_id: The exchange that it supersedes.
        reason: The newer one's words of change.
        strength: Logit of the chance that it is so.
        found_at: When the link was found.
        occurred_at: When the newer one was said.
    """

    chunk_id: int
    older_id: int
    reason: str
    strength: float
    found_at: datetime
    occurred_at: datetime | None


def find_pairs(connection: Connection, scope: Scope, chunk_ids: Sequence[int]) -> Iterator[Pair]:
    """Yield these exchanges, each with those that share its rarest words, in their order of time.

    They need vectors of the scope's first model.
    """
    values = {
        **_key(scope),
        "model_id": scope.model_id,
        "chunk_ids": list(chunk_ids),
        **_LIMITS,
    }
    holders = fill("holders_looked_up" if uses_lookups(connection) else "holders", FILE)
    statement = as_sql(fill("find_related", FILE, holders=holders))
    for (
        one, other, shared, cosine, text, other_text, at, other_at,
        is_one_session, is_first, is_one_exchange,
    ) in fetch_all(connection, statement, values):  # fmt: skip
        # The parts of a long exchange don't supersede each other; without an order, nothing does.
        if is_one_session and is_one_exchange:
            continue
        if at == other_at and not is_one_session:
            continue
        is_older = at < other_at or (at == other_at and is_first)
        ids = (one, other) if is_older else (other, one)
        texts = (text, other_text) if is_older else (other_text, text)
        yield Pair(*ids, compare(*texts, cosine=cosine, shared=shared))


def link_statements(connection: Connection, scope: Scope, chunk_ids: Sequence[int]) -> None:
    """Store what these exchanges supersede, and what supersedes them; the scope must be locked.

    An exchange supersedes one other at most.
    """
    if not scope.models or not chunk_ids:
        return
    best: dict[int, tuple[float, int, str]] = {}
    for pair in find_pairs(connection, scope, chunk_ids):
        strength, reason = rate(pair.comparison.evidence), pair.comparison.reason
        if reason and strength > THRESHOLD:
            match = (strength, pair.older, reason)
            best[pair.newer] = max(best.get(pair.newer, match), match)
    if best:
        values = {
            **_key(scope),
            "chunk_ids": list(best),
            "older_ids": [older for _, older, _ in best.values()],
            "reasons": [reason for _, _, reason in best.values()],
            "strengths": [strength for strength, _, _ in best.values()],
        }
        new = fetch_all(connection, "insert_supersessions", values, FILE)
        _record(connection, scope, "superseded", new)


def unlink_statements(connection: Connection, scope: Scope, chunk_ids: Sequence[int]) -> None:
    """Delete the links of exchanges that change or leave; what they superseded stands again."""
    values = {**_key(scope), "chunk_ids": list(chunk_ids)}
    deleted = fetch_all(connection, "delete_supersessions", values, FILE)
    standing = [link for link in deleted if link[0] not in chunk_ids]
    _record(connection, scope, "reinstated", standing)


def _record(
    connection: Connection, scope: Scope, kind: str, links: Sequence[tuple[int, int, str, float]]
) -> None:
    """Append an event to the history of each older exchange whose link is plain enough."""
    for older_id, chunk_id, reason, strength in links:
        if strength > PLAIN:
            detail = {"by": chunk_id, "reason": reason}
            values = {"chunk_ids": [older_id], "kind": kind, "detail": Jsonb(detail)}
            execute(
                connection, "insert_events", {**_key(scope), **values, "actor": current_actor()}
            )


def _key(scope: Scope) -> dict[str, int]:
    return {"tenant_id": scope.tenant_id, "scope_id": scope.scope_id}


def list_supersessions(
    connection: Connection, tenant_id: int, scope_ids: Sequence[int], chunk_ids: Sequence[int]
) -> list[StoredSupersession]:
    """Return the links in which these exchanges stand, on either side."""
    values = {
        "tenant_id": tenant_id,
        "scope_ids": list(scope_ids),
        "chunk_ids": list(chunk_ids),
    }
    return fetch_all(connection, "list_supersessions", values, FILE, of=StoredSupersession)
