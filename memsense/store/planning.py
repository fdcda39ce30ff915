"""What of a draft is new, what replaces a stored exchange, and what is known already."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any

from memsense.db.connection import Connection
from memsense.db.rows import execute, fetch_all
from memsense.store import rows
from memsense.store.awaiting import check_awaiting
from memsense.store.scopes import Namespace, Scope, find_scope
from memsense.types import ChunkDraft, ExchangeDraft, SessionDraft
from memsense.write.chunking import DEDUP_SECONDS, format_ledger_key
from memsense.write.expiry import has_expired

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_STRETCH = timedelta(seconds=DEDUP_SECONDS)


@dataclass(slots=True)
class Plan:
    """Which exchanges of a draft are new, which replace a stored one, and what the rest is.

    `replacing` and `kept` go by ordinal; `touched` holds every ordinal that a replacing exchange
    has messages of. `known` are the ids of chunks that the draft repeats.
    """

    appended: list[ExchangeDraft] = field(default_factory=list[ExchangeDraft])
    replacing: dict[int, ExchangeDraft] = field(default_factory=dict[int, ExchangeDraft])
    kept: dict[int, ExchangeDraft] = field(default_factory=dict[int, ExchangeDraft])
    touched: set[int] = field(default_factory=set[int])
    known: list[int] = field(default_factory=list[int])
    repeated: int = 0


def _key(scope: Scope) -> dict[str, Any]:
    return {"tenant_id": scope.tenant_id, "scope_id": scope.scope_id}


def name_exchange(exchange: ExchangeDraft) -> ExchangeDraft:
    """The exchange as the ledger knows it where no turn chunk keeps its hash."""
    first = exchange.chunks[0]
    key = format_ledger_key(first.content_hash, first.dedup_window)
    return replace(
        exchange, messages={key: first.occurred_at.isoformat()} if first.occurred_at else {}
    )


def plan_session(connection: Connection, scope: Scope, draft: SessionDraft) -> Plan:
    """What a write of the draft has to do; the scope must be locked."""
    if draft.format:
        return _plan_by_ledger(connection, scope, draft)
    return _plan_by_content(connection, scope, draft)


def read_ledger(
    connection: Connection, scope: Scope, draft: SessionDraft
) -> dict[str, tuple[str, int]]:
    """Content hash and ordinal of every message of the session that this format has brought."""
    values = {**_key(scope), "session_id": draft.session_id, "format": draft.format}
    return {
        key: (content_hash, ordinal)
        for key, content_hash, ordinal in fetch_all(connection, "fetch_ledger", values)
    }


def _plan_by_ledger(connection: Connection, scope: Scope, draft: SessionDraft) -> Plan:
    """An exchange stands where its first known message stood, if no earlier one took that place."""
    ledger = read_ledger(connection, scope, draft)
    places = [
        sorted({ledger[key][1] for key in exchange.messages if key in ledger})
        for exchange in draft.exchanges
    ]
    claims = Counter(chain.from_iterable(places))
    plan = Plan()
    for exchange, ordinals in zip(draft.exchanges, places, strict=True):
        free = [o for o in ordinals if o not in plan.replacing and o not in plan.kept]
        if not free:
            plan.appended.append(exchange)
        elif len(ordinals) == 1 and claims[free[0]] == 1 and _unchanged(exchange, ledger):
            plan.kept[free[0]] = exchange
        else:
            plan.replacing[free[0]] = exchange
            plan.touched.update(ordinals)
    plan.repeated = len(plan.kept)
    return plan


def select_missing(
    connection: Connection, namespace: Namespace, draft: SessionDraft
) -> SessionDraft:
    """The draft with only those exchanges that the ledger does not know as they are; no lock."""
    known = find_scope(connection, namespace.tenant_id, namespace.name, draft.user_id)
    if known is None or not draft.format:
        return draft
    scope = Scope(
        tenant_id=namespace.tenant_id,
        scope_id=known.scope_id,
        language=known.language,
    )
    plan = _plan_by_ledger(connection, scope, draft)
    return replace(draft, exchanges=[*plan.replacing.values(), *plan.appended])


def _unchanged(exchange: ExchangeDraft, ledger: Mapping[str, tuple[str, int]]) -> bool:
    return all(
        key in ledger and ledger[key][0] == content_hash
        for key, content_hash in exchange.messages.items()
    )


def _plan_by_content(connection: Connection, scope: Scope, draft: SessionDraft) -> Plan:
    found = _find_repeats(connection, scope, draft)
    repeats = {position - 1 for position, _ in found}
    fresh = drop_repeats(
        exchange for index, exchange in enumerate(draft.exchanges) if index not in repeats
    )
    plan = Plan(
        known=list(dict.fromkeys(chunk_id for _, chunk_id in found)),
        repeated=len(draft.exchanges) - len(fresh),
    )
    for exchange in fresh:
        if exchange.completes is None:
            plan.appended.append(exchange)
        else:
            check_awaiting(connection, scope, draft.session_id, exchange.completes)
            plan.replacing[exchange.completes.ordinal] = exchange
    return plan


def _find_repeats(
    connection: Connection, scope: Scope, draft: SessionDraft
) -> list[tuple[int, int]]:
    """Position from 1 and chunk of every exchange that is stored already.

    One that completes another is known by its answer as well: it may have come before.
    """
    firsts = [(at, item.chunks[0]) for at, item in enumerate(draft.exchanges, start=1)]
    firsts += [
        (at, item.completes.answer)
        for at, item in enumerate(draft.exchanges, start=1)
        if item.completes
    ]
    values = {
        **_key(scope),
        "session_id": draft.session_id,
        "content_hashes": [chunk.content_hash for _, chunk in firsts],
        "occurred": [chunk.occurred_at for _, chunk in firsts],
        "windows": [chunk.dedup_window for _, chunk in firsts],
        "window_seconds": DEDUP_SECONDS,
    }
    repeated = fetch_all(connection, "find_repeats", values)
    if expired := [chunk_id for _, chunk_id, is_expired in repeated if is_expired]:
        execute(connection, "set_aside", {**_key(scope), "chunk_ids": expired})
    found: list[tuple[int, int]] = [
        (firsts[position - 1][0], chunk_id)
        for position, chunk_id, is_expired in repeated
        if not is_expired
    ]
    if draft.mode == "session":
        found += _find_repeats_in_session_chunks(connection, scope, draft)
    return found


def _find_repeats_in_session_chunks(
    connection: Connection, scope: Scope, draft: SessionDraft
) -> list[tuple[int, int]]:
    """As find_repeats: position from 1 and session chunk of every known exchange."""
    ledger = read_ledger(connection, scope, draft)
    known = {
        position: ordinal
        for position, exchange in enumerate(draft.exchanges, start=1)
        if (ordinal := _known_ordinal(exchange.chunks[0], ledger)) is not None
    }
    stored = rows.read_session_chunks(connection, scope, draft.session_id) if known else []
    holders: dict[int, list[int]] = {}
    for item in stored:
        if item.status == "deleted" or has_expired(item.draft.expires_at):
            continue
        for ordinal in range(item.draft.ordinal, item.draft.last_ordinal + 1):
            holders.setdefault(ordinal, []).append(item.chunk_id)
    return [
        (position, chunk_id)
        for position, ordinal in known.items()
        for chunk_id in holders.get(ordinal, ())
    ]


def _known_ordinal(chunk: ChunkDraft, ledger: Mapping[str, tuple[str, int]]) -> int | None:
    for window in (chunk.dedup_window - 1, chunk.dedup_window, chunk.dedup_window + 1):
        found = ledger.get(format_ledger_key(chunk.content_hash, window))
        if found and _is_near(chunk.occurred_at, datetime.fromisoformat(found[0])):
            return found[1]
    return None


def _is_near(one: datetime | None, other: datetime | None) -> bool:
    if one is None or other is None:
        return False
    return abs((one - other).total_seconds()) < DEDUP_SECONDS


def drop_repeats(exchanges: Iterable[ExchangeDraft]) -> list[ExchangeDraft]:
    """The exchanges but for those of which an earlier kept one, less than ten minutes away, has the
    content.

    Kept ones of equal content are ten minutes apart: each stretch of that length has one at most.
    """
    kept: list[ExchangeDraft] = []
    times: dict[tuple[str, int], datetime] = {}
    for exchange in exchanges:
        content, at = exchange.chunks[0].content_hash, exchange.chunks[0].occurred_at
        if at is not None:
            stretch = (at - _EPOCH) // _STRETCH
            beside = (times.get((content, stretch + step)) for step in (-1, 0, 1))
            if any(_is_near(at, other) for other in beside):
                continue
            times[content, stretch] = at
        kept.append(exchange)
    return kept
