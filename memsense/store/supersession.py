"""Pairs of exchanges that may tell a fact and its change."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from psycopg.types.json import Jsonb

from memsense.actor import current_actor
from memsense.db.connection import Connection
from memsense.db.queries import as_sql, fill
from memsense.db.rows import execute, fetch_all
from memsense.db.session import uses_lookups
from memsense.draft.supersession import LEAST_LOGIT, UNASKED, Comparison, compare_messages, rate
from memsense.store.conditions import SCOPES, is_shown, join_expiry
from memsense.store.scopes import Namespace, Scope
from memsense.types import ChangeState, PossibleChange, SupersededFact

FILE = "supersessions.sql"

_LIMITS = {
    "most_words": 8,
    "least_holders": 8,
    "most_share": 0.05,
    "most_holders": 100,
    "most_related": 8,
}
"""How many of the rarest words of an exchange are looked for, in which share of all exchanges a
word may stand, between which numbers of them, and how many exchanges are compared with it.
"""


_STEP: Final = 500
"""Number of exchanges that one statement compares with the others of a whole memory."""


class Link(NamedTuple):
    """A link to an exchange that a newer one may supersede, with its proof and evidence."""

    strength: float
    older: int
    comparison: Comparison


class Pair(NamedTuple):
    """Two exchanges of one user that share rare words; `stored` is the one that was compared."""

    older: int
    newer: int
    comparison: Comparison
    stored: int


def find_pairs(
    connection: Connection, scope: Scope, chunk_ids: Sequence[int], *, in_order: bool = False
) -> Iterator[Pair]:
    """Yield these exchanges, each with those that share its rarest words, in their order of time.

    They need vectors of the scope's first model. With `in_order`, each is compared as if those
    behind it had not been stored yet.
    """
    values = {**scope.key, "model_id": scope.model_id, "chunk_ids": list(chunk_ids), **_LIMITS}
    values["in_order"] = in_order
    statement = fill(
        "find_related",
        FILE,
        holders=fill("holders_looked_up" if uses_lookups(connection) else "holders", FILE),
        exchange=fill("exchange", FILE, chunk_id="chunk_id"),
        other_exchange=fill("exchange", FILE, chunk_id="other_id"),
    )
    for (
        one, other, cosine, text, other_text, at, other_at,
        is_one_session, is_first, is_one_exchange,
    ) in fetch_all(connection, as_sql(statement), values):  # fmt: skip
        # The parts of a long exchange don't supersede each other; without an order, nothing does.
        if is_one_session and is_one_exchange:
            continue
        if at == other_at and not is_one_session:
            continue
        is_older = at < other_at or (at == other_at and is_first)
        ids = (one, other) if is_older else (other, one)
        texts = (text, other_text) if is_older else (other_text, text)
        yield Pair(*ids, compare_messages(*texts, cosine=cosine), stored=one)


def link_statements(connection: Connection, scope: Scope, chunk_ids: Sequence[int]) -> None:
    """Store what these exchanges supersede, and what supersedes them; the scope must be locked.

    Each exchange brings an exchange one link at most, as if they were stored one by one, in the
    order of their ids.
    """
    if scope.models and chunk_ids:
        links = _find_links(connection, scope, chunk_ids, in_order=True)
        _store_links(connection, scope, links)


def link_memory(connection: Connection, scope: Scope, *, again: bool = False) -> int:
    """Store what exchanges supersede that have no link yet; return the number of new links.

    The scope must be locked. If `again`, links without a decision are made anew.
    """
    if not scope.models:
        return 0
    exchanges = fetch_all(connection, "list_linkable", scope.key, FILE)
    chunk_ids = [chunk_id for chunk_id, _ in exchanges]
    if again:
        unlink_statements(connection, scope, chunk_ids)
        exchanges = fetch_all(connection, "list_linkable", scope.key, FILE)
    linked = {chunk_id for chunk_id, is_linked in exchanges if is_linked}
    links = _find_links(connection, scope, chunk_ids)
    new = {key: link for key, link in links.items() if key[0] not in linked}
    return _store_links(connection, scope, new)


def _find_links(
    connection: Connection, scope: Scope, chunk_ids: Sequence[int], *, in_order: bool = False
) -> dict[tuple[int, int], Link]:
    """Return by its id for each exchange the strongest link to one that it supersedes.

    With `in_order`, by the id of the exchange that brought it, too: each brings its own.
    """
    best: dict[tuple[int, int], Link] = {}
    for start in range(0, len(chunk_ids), _STEP):
        for pair in find_pairs(
            connection, scope, chunk_ids[start : start + _STEP], in_order=in_order
        ):
            strength = rate(pair.comparison.evidence, UNASKED)
            if strength > LEAST_LOGIT:
                key = pair.newer, pair.stored if in_order else 0
                match = Link(strength, pair.older, pair.comparison)
                best[key] = max(best.get(key, match), match)
    return best


def _store_links(
    connection: Connection, scope: Scope, links: Mapping[tuple[int, int], Link]
) -> int:
    """Store links by their newer exchanges; return how many are new."""
    if not links:
        return 0
    values = {
        **scope.key,
        "chunk_ids": [newer for newer, _ in links],
        "older_ids": [link.older for link in links.values()],
        "reasons": [link.comparison.proof for link in links.values()],
        "strengths": [link.strength for link in links.values()],
        "evidence": [
            Jsonb(
                {name: value for name, value in link.comparison.evidence._asdict().items() if value}
            )
            for link in links.values()
        ],
    }
    return len(fetch_all(connection, "insert_supersessions", values, FILE))


def unlink_statements(connection: Connection, scope: Scope, chunk_ids: Sequence[int]) -> None:
    """Delete the links of exchanges that change or leave, except those that were decided."""
    execute(connection, "delete_found", {**scope.key, "chunk_ids": list(chunk_ids)}, FILE)


def decide_pair(
    connection: Connection,
    scope: Scope,
    older_id: int,
    newer_id: int,
    *,
    state: ChangeState,
    reason: str | None,
) -> None:
    """Store a decision about two exchanges, with an event in the history of both."""
    actor = current_actor()
    values = {
        **scope.key,
        "older_id": older_id,
        "newer_id": newer_id,
        "state": state,
        "reason": reason,
        "actor": actor,
    }
    execute(connection, "decide_pair", values, FILE)
    detail = {"older": older_id, "newer": newer_id, "decision": state, "reason": reason}
    event = {
        "chunk_ids": [older_id, newer_id],
        "kind": "change decided",
        "detail": Jsonb({name: value for name, value in detail.items() if value is not None}),
        "actor": actor,
    }
    execute(connection, "insert_events", {**scope.key, **event})


def list_changes(
    connection: Connection,
    namespace: Namespace,
    user_id: str | None,
    state: ChangeState | None,
    *,
    behind: tuple[int, int] | None,
    limit: int,
) -> list[PossibleChange]:
    """Return a page of pairs, the newest first, those behind a newer and an older exchange."""
    before_newer, before_older = behind or (None, None)
    values = {
        **namespace.key,
        "user_id": user_id,
        "state": state,
        "before_newer": before_newer,
        "before_older": before_older,
        "limit": limit,
    }
    return fetch_all(connection, as_sql(_fill_listing("list_changes")), values, of=PossibleChange)


def list_supersessions(
    connection: Connection,
    namespace: Namespace,
    chunk_ids: Sequence[int],
    user_id: str | None = None,
) -> list[SupersededFact]:
    """Return the confirmed links in which these exchanges stand, on either side."""
    values = {**namespace.key, "user_id": user_id, "chunk_ids": list(chunk_ids)}
    return fetch_all(
        connection, as_sql(_fill_listing("list_supersessions")), values, of=SupersededFact
    )


def _fill_listing(name: str) -> str:
    """Return the text of a statement that lists pairs whose exchanges are both shown."""
    return fill(
        name,
        FILE,
        steps=join_expiry(SCOPES),
        is_newer_shown=is_shown("l.chunk_id"),
        is_older_shown=is_shown("l.older_id"),
    )
