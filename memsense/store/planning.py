"""The plan of a write: what of a draft is new, what replaces a stored exchange, what is known."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import chain, groupby

from memsense.db.connection import Connection
from memsense.db.rows import execute, fetch_all, fetch_value
from memsense.draft.chunking import DEDUP_SECONDS, format_ledger_key
from memsense.draft.expiry import has_expired
from memsense.store import rows
from memsense.store.scopes import Namespace, Scope, find_scope
from memsense.types import Chunk, ChunkDraft, Completion, ExchangeDraft, SessionDraft

ADDED = "api:add"
"""The source of what `add` stores. An exchange from a log grows through its log instead."""


class OutdatedDraftError(Exception):
    """A draft completes an exchange that has changed since: the caller makes a new draft."""


def find_awaiting(
    connection: Connection, namespace: Namespace, draft: SessionDraft
) -> Sequence[Chunk]:
    """Return the parts of the session's last exchange if it is active and has no answer yet."""
    values = {**namespace.key, "user_id": draft.user_id, "session_id": draft.session_id}
    last = fetch_all(connection, "find_awaiting", values, of=Chunk)
    # A long exchange is stored in parts; every one of them must still wait.
    is_awaiting = all(
        chunk.source == ADDED
        and chunk.status == "active"
        and chunk.user_text
        and not chunk.assistant_text
        for chunk in last
    )
    return last if is_awaiting else []


def check_awaiting(
    connection: Connection, scope: Scope, session_id: str, completion: Completion
) -> None:
    """Raise OutdatedDraftError unless the exchange is still the last and has no answer yet."""
    values = {
        **scope.key,
        "session_id": session_id,
        "ordinal": completion.ordinal,
        "chunk_ids": list(completion.chunk_ids),
        "user_text": completion.user_text,
    }
    # Its answer may have come, or its session gone on, since the draft was made.
    if not fetch_value(connection, "still_awaits", values):
        raise OutdatedDraftError


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_STRETCH = timedelta(seconds=DEDUP_SECONDS)


@dataclass(slots=True)
class Plan:
    """The exchanges of a draft by what a write does with them.

    `replacing` and `unchanged` are by ordinal; `touched` holds each ordinal that a replacing
    exchange has messages of. `known_ids` are the ids of chunks that the draft repeats. `unkeyed`
    has the content keys of messages whose entries in the ledger lack them.
    """

    appended: list[ExchangeDraft] = field(default_factory=list[ExchangeDraft])
    replacing: dict[int, ExchangeDraft] = field(default_factory=dict[int, ExchangeDraft])
    unchanged: dict[int, ExchangeDraft] = field(default_factory=dict[int, ExchangeDraft])
    touched: set[int] = field(default_factory=set[int])
    known_ids: list[int] = field(default_factory=list[int])
    repeated: int = 0
    unkeyed: dict[str, bytes] = field(default_factory=dict[str, bytes])


def name_exchange(exchange: ExchangeDraft) -> ExchangeDraft:
    """Return the exchange with a message key made from its content, for the ledger."""
    # Needed in mode `session`, where no turn chunk keeps the hash.
    first = exchange.chunks[0]
    key = format_ledger_key(first.content_hash, first.dedup_window)
    return replace(
        exchange, messages={key: first.occurred_at.isoformat()} if first.occurred_at else {}
    )


def plan_sessions(
    connection: Connection, scope: Scope, drafts: Sequence[SessionDraft]
) -> list[Plan]:
    """Return what a write of each draft has to do; the scope must be locked."""
    if drafts[0].format:
        return [_plan_by_ledger(connection, scope, draft) for draft in drafts]
    return _plan_by_content(connection, scope, drafts)


def read_ledger(
    connection: Connection, scope: Scope, draft: SessionDraft
) -> dict[str, tuple[str, int, bool]]:
    """Return content hash, ordinal and lack of a content key of this format's messages, by key."""
    values = {**scope.key, "session_id": draft.session_id, "format": draft.format}
    return {
        key: (content_hash, ordinal, lacks_key)
        for key, content_hash, ordinal, lacks_key in fetch_all(connection, "fetch_ledger", values)
    }


def _join_stored(
    exchanges: Sequence[ExchangeDraft], ledger: Mapping[str, tuple[str, int, bool]]
) -> list[ExchangeDraft]:
    """Return the exchanges, with those joined that are pieces of one stored exchange.

    Earlier versions did not end an exchange at a gap. What they stored stays as it is, unless one
    of its messages changes or the log goes on in its last piece.
    """
    claims = Counter(
        ordinal
        for exchange in exchanges
        for ordinal in {ledger[key][1] for key in exchange.messages if key in ledger}
    )

    def place_of(exchange: ExchangeDraft) -> int | None:
        entries = [(ledger.get(key), value) for key, value in exchange.messages.items()]
        ordinals = {entry[1] for entry, value in entries if entry and entry[0] == value}
        has_all = all(entry and entry[0] == value for entry, value in entries)
        return ordinals.pop() if has_all and len(ordinals) == 1 else None

    joined: list[ExchangeDraft] = []
    for place, group in groupby(exchanges, place_of):
        first, *rest = group
        is_one = place is not None and claims[place] == 1 + len(rest)
        if is_one and rest and all(piece.follows_gap for piece in rest):
            chunks = chain(first.chunks, *(piece.chunks for piece in rest))
            first = replace(
                first,
                chunks=[replace(chunk, part=part) for part, chunk in enumerate(chunks)],
                messages=dict(chain(first.messages.items(), *(p.messages.items() for p in rest))),
                content_keys=dict(
                    chain.from_iterable(piece.content_keys.items() for piece in (first, *rest))
                ),
            )
            rest = []
        joined += [first, *rest]
    return joined


def _plan_by_ledger(connection: Connection, scope: Scope, draft: SessionDraft) -> Plan:
    """Plan by the ids of messages, as logs have them.

    An exchange keeps the place of its first known message, unless an earlier one took that place.
    """
    ledger = read_ledger(connection, scope, draft)
    exchanges = _join_stored(draft.exchanges, ledger)
    places = [
        sorted({ledger[key][1] for key in exchange.messages if key in ledger})
        for exchange in exchanges
    ]
    claims = Counter(chain.from_iterable(places))
    plan = Plan()
    for exchange, ordinals in zip(exchanges, places, strict=True):
        free = [o for o in ordinals if o not in plan.replacing and o not in plan.unchanged]
        is_unchanged = all(
            key in ledger and ledger[key][0] == content_hash
            for key, content_hash in exchange.messages.items()
        )
        if not free:
            plan.appended.append(exchange)
        elif len(ordinals) == 1 and claims[free[0]] == 1 and is_unchanged:
            plan.unchanged[free[0]] = exchange
            plan.unkeyed |= {
                key: value for key, value in exchange.content_keys.items() if ledger[key][2]
            }
        else:
            # Also without a changed text: messages may have moved from one exchange to another.
            plan.replacing[free[0]] = exchange
            plan.touched.update(ordinals)
    plan.repeated = len(plan.unchanged)
    return plan


def select_missing(
    connection: Connection, namespace: Namespace, draft: SessionDraft
) -> SessionDraft:
    """Return the draft with only those exchanges that the ledger lacks or has changed; no lock."""
    memory = find_scope(connection, namespace.tenant_id, namespace.name, draft.user_id)
    if memory is None or not draft.format:
        return draft
    scope = Scope(tenant_id=namespace.tenant_id, scope_id=memory.scope_id)
    plan = _plan_by_ledger(connection, scope, draft)
    return replace(draft, exchanges=[*plan.replacing.values(), *plan.appended])


def _plan_by_content(
    connection: Connection, scope: Scope, drafts: Sequence[SessionDraft]
) -> list[Plan]:
    """Plan by equal content within ten minutes of event time, as `add` does it without ids."""
    firsts: list[tuple[int, int, ChunkDraft]] = []
    for number, draft in enumerate(drafts):
        for position, item in enumerate(draft.exchanges, start=1):
            firsts.append((number, position, item.chunks[0]))
            # What completes another is known by its answer as well: it may have come before.
            if item.completes:
                firsts.append((number, position, item.completes.answer))
    values = {
        **scope.key,
        "session_ids": [drafts[number].session_id for number, _, _ in firsts],
        "content_hashes": [chunk.content_hash for _, _, chunk in firsts],
        "occurred": [chunk.occurred_at for _, _, chunk in firsts],
        "windows": [chunk.dedup_window for _, _, chunk in firsts],
        "window_seconds": DEDUP_SECONDS,
    }
    rows_of_repeats: list[tuple[int, int, bool]] = fetch_all(connection, "find_repeats", values)
    # An expired text does not keep out the same text that is added again.
    if expired := [chunk_id for _, chunk_id, is_expired in rows_of_repeats if is_expired]:
        execute(connection, "set_aside", {**scope.key, "chunk_ids": expired})
    repeats: list[list[tuple[int, int]]] = [[] for _ in drafts]
    for place, chunk_id, is_expired in rows_of_repeats:
        if not is_expired:
            number, position, _ = firsts[place - 1]
            repeats[number].append((position, chunk_id))
    plans: list[Plan] = []
    for draft, own in zip(drafts, repeats, strict=True):
        if draft.mode == "session":
            own.extend(_find_repeats_in_session_chunks(connection, scope, draft))
        positions = {position for position, _ in own}
        numbered = enumerate(draft.exchanges, start=1)
        new = drop_repeats(item for position, item in numbered if position not in positions)
        plan = Plan(
            known_ids=list(dict.fromkeys(chunk_id for _, chunk_id in own)),
            repeated=len(draft.exchanges) - len(new),
        )
        for exchange in new:
            if exchange.completes is None:
                plan.appended.append(exchange)
            else:
                check_awaiting(connection, scope, draft.session_id, exchange.completes)
                plan.replacing[exchange.completes.ordinal] = exchange
        plans.append(plan)
    return plans


def _find_repeats_in_session_chunks(
    connection: Connection, scope: Scope, draft: SessionDraft
) -> list[tuple[int, int]]:
    """Return position (from 1) and session chunk of every exchange that the ledger knows.

    Mode `session` stores no turns, whose hashes would say what is stored already.
    """
    ledger = read_ledger(connection, scope, draft)
    ordinals: dict[int, int] = {}
    for position, exchange in enumerate(draft.exchanges, start=1):
        chunk = exchange.chunks[0]
        # Windows are as long as repeats may be apart: a repeat may lie in an adjacent one.
        for window in (chunk.dedup_window - 1, chunk.dedup_window, chunk.dedup_window + 1):
            entry = ledger.get(format_ledger_key(chunk.content_hash, window))
            if entry and _is_near(chunk.occurred_at, datetime.fromisoformat(entry[0])):
                ordinals[position] = entry[1]
                break
    stored = rows.read_session_chunks(connection, scope, draft.session_id) if ordinals else []
    holders: dict[int, list[int]] = {}
    for item in stored:
        if item.status == "deleted" or has_expired(item.draft.expires_at, scope.now):
            continue
        for ordinal in range(item.draft.ordinal, item.draft.last_ordinal + 1):
            holders.setdefault(ordinal, []).append(item.chunk_id)
    return [
        (position, chunk_id)
        for position, ordinal in ordinals.items()
        for chunk_id in holders.get(ordinal, ())
    ]


def _is_near(one: datetime | None, other: datetime | None) -> bool:
    if one is None or other is None:
        return False
    return abs((one - other).total_seconds()) < DEDUP_SECONDS


def drop_repeats(exchanges: Iterable[ExchangeDraft]) -> list[ExchangeDraft]:
    """Return the exchanges without those that repeat an earlier one less than ten minutes away."""
    distinct: list[ExchangeDraft] = []
    times: dict[tuple[str, int], datetime] = {}
    for exchange in exchanges:
        content, at = exchange.chunks[0].content_hash, exchange.chunks[0].occurred_at
        if at is not None:
            # Kept ones of equal content are ten minutes apart, so each stretch of that length has
            # one at most, and only the two next to it can hold one that is nearer.
            stretch = (at - _EPOCH) // _STRETCH
            adjacent = (times.get((content, stretch + step)) for step in (-1, 0, 1))
            if any(_is_near(at, other) for other in adjacent):
                continue
            times[content, stretch] = at
        distinct.append(exchange)
    return distinct
