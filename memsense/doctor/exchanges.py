"""Examination of single exchanges, and its repair: what is stored with a text must fit to it.

By default the newest of each namespace are examined; `memsense doctor --deep` examines all.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from psycopg.types.json import Jsonb

from memsense.actor import current_actor
from memsense.db.connection import Connection
from memsense.db.rows import Named, execute, fetch_all
from memsense.doctor.findings import FILE, Expected, Finding, Severity, info
from memsense.draft.chunking import exchange_hash
from memsense.graph.extraction.model import find_mentions
from memsense.graph.extraction.rules import RuleExtractor
from memsense.graph.upkeep import relink_entities
from memsense.store.scopes import Scope
from memsense.store.tokens import lock_memory
from memsense.store.writes import relink_session

SAMPLED = 50
"""Chunks of a namespace that are examined without `--deep`."""

STEP = 1_000

TOLERANCE = 0.01
"""Largest distance of a stored vector's length from 1: that of its numbers of 16 bits is .001."""

_BEGINNINGS = {"added", "imported", "replaced", "updated", "recut", "redacted"}
"""Kinds of events that a chunk can begin with."""

_HASH = re.compile(r"[0-9a-f]{64}")
_NUMBER = re.compile(r"#\d+$")
"""Number of a message's id that a log has several times."""

_LONGEST_ID = 500
"""Bytes of an id up to which the ledger has it as it is."""


_REPAIR = "doctor --repair"

_FAULTS: Mapping[str, tuple[Severity, str, str]] = {
    "unscaled": (
        "error",
        "have vectors whose length is not 1: searches rank them wrongly",
        _REPAIR,
    ),
    "previous": (
        "error",
        "are not linked to the exchange before them: searches by what was said next miss that one",
        _REPAIR,
    ),
    "entities": ("warning", "are not linked to the entities that were found in them", _REPAIR),
    "hash": ("error", "have another hash than their content, which could be stored twice", _REPAIR),
    "history": ("warning", "have no event of how they came in their history", _REPAIR),
    "ledger": (
        "error",
        "came from a log, and the ledger lacks messages of them: the log can be stored twice",
        "erase --user {user_id} --session {session_id}",
    ),
    "rules": ("info", "name other entities than today's rules find in them", "entities rebuild"),
}
"""Severity of each fault, the end of a sentence that begins with a number of chunks, and the
command that mends it.
"""


@dataclass(frozen=True, slots=True)
class _Fault:
    """A fault of one chunk, with the value that mends it if there is one."""

    kind: str
    chunk: Named
    value: Any = None


def _list_faults(connection: Connection, namespace: Named, *, deep: bool) -> Iterator[_Fault]:
    """Yield the faults of the chunks of a namespace, the newest first."""
    values = {**namespace, "limit": STEP if deep else SAMPLED, "tolerance": TOLERANCE}
    before = None
    while rows := fetch_all(
        connection, "sample_exchanges", {**values, "before": before}, FILE, of=Named
    ):
        for row in rows:
            yield from _examine(row)
        before = rows[-1]["chunk_id"]
        if not deep:
            return


def _examine(chunk: Named) -> Iterator[_Fault]:
    if chunk["is_unscaled"]:
        yield _Fault("unscaled", chunk)
    if chunk["has_history"] and not _BEGINNINGS.intersection(chunk["events"]):
        yield _Fault("history", chunk)
    hashes = _hashes_of(chunk)
    if not _HASH.fullmatch(chunk["content_hash"]) or (
        hashes and chunk["content_hash"] not in hashes
    ):
        yield _Fault("hash", chunk, next(iter(hashes), None))
    if chunk["granularity"] == "session":
        return
    if chunk["is_misled"]:
        yield _Fault("previous", chunk)
    if chunk["part"] == 0 and _lacks_messages(chunk):
        yield _Fault("ledger", chunk)
    sides = tuple(
        (chunk[f"{side}_text"], chunk[f"{side}_speaker"]) for side in ("user", "assistant")
    )
    # A write gives the rules the speakers of its session, and a rebuild those of the memory.
    by_rules = [find_mentions(RuleExtractor(), sides, names) for names in (chunk["speakers"], ())]
    stored = {item["key"] for item in chunk["entities"] or ()}
    if chunk["entities"] is None or stored != set(chunk["mentioned"]):
        yield _Fault("entities", chunk, by_rules[0] if chunk["entities"] is None else None)
    elif stored not in [{mention.key for mention in mentions} for mentions in by_rules]:
        yield _Fault("rules", chunk)


def _lacks_messages(chunk: Named) -> bool:
    """Return whether a log's exchange has messages that the ledger does not know."""
    form = chunk["source"].split(":")[0] if chunk["source"] else "api"
    keys = {_NUMBER.sub("", key) for name, key, _ in chunk["ledger"] if name == form}
    keys |= {key for name, key, _ in chunk["ledger"] if name == form}
    # An import that brought it without its messages has a row of its own.
    if form == "api" or (not keys and chunk["ledger"]):
        return False
    named = {it for it in chunk["message_ids"] if len(it.encode()) <= _LONGEST_ID}
    return not keys or not named <= keys


def _hashes_of(chunk: Named) -> list[str]:
    """Return the hashes that the chunk can have; none if its content does not say.

    An exchange that was added keeps its hash when it is updated, and one of several messages a side
    does not show where one ends.
    """
    session, part = chunk["session_id"], chunk["part"]
    if chunk["granularity"] == "session":
        return [exchange_hash("session", session, chunk["ordinal"], part)]
    if not chunk["is_whole"]:
        return []
    if part:
        first = chunk["first_hash"] or ""
        return [exchange_hash(first, part)] if _HASH.fullmatch(first) else []
    form = chunk["source"].split(":")[0] if chunk["source"] else ""
    if form != "api":
        rows = sorted((key, value) for name, key, value in chunk["ledger"] if name == form)
        return [exchange_hash(session, form, rows)] if rows and not _lacks_messages(chunk) else []
    sides = [
        (roles, chunk[f"{side}_speaker"], chunk[f"whole_{side}"])
        for side, roles in (("user", ("user", "other")), ("assistant", ("assistant", "other")))
        if chunk[f"whole_{side}"]
    ]
    ids: list[str | None] = chunk["message_ids"] or [None] * len(sides)
    if (
        len(ids) != len(sides)
        or "updated" in chunk["events"]
        or not chunk["has_history"]
        or any("\n\n" in text for *_, text in sides)
    ):
        return []
    return [
        exchange_hash(
            session,
            [
                (role, speaker, message_id, text)
                for role, (_, speaker, text), message_id in zip(roles, sides, ids, strict=True)
            ],
        )
        for roles in product(*(roles for roles, *_ in sides))
    ]


def examine_exchanges(connection: Connection, expected: Expected) -> Iterator[Finding]:
    """Examine exchanges: vectors, links, hashes, history and ledger."""
    for namespace in fetch_all(connection, "list_namespaces", file=FILE, of=Named):
        faulty: dict[str, dict[int, Named]] = {kind: {} for kind in _FAULTS}
        for fault in _list_faults(connection, namespace, deep=expected.deep):
            faulty[fault.kind][fault.chunk["chunk_id"]] = fault.chunk
        for kind, chunks in faulty.items():
            if not chunks:
                continue
            severity, text, verb = _FAULTS[kind]
            newest = next(iter(chunks.values()))
            names = {name: shlex.quote(str(newest[name])) for name in ("user_id", "session_id")}
            remedy = f"run '{expected.command(verb.format(**names), namespace)}'"
            yield Finding(
                severity=severity,
                text=f"{len(chunks)} chunks of {namespace['tenant']}/{namespace['namespace']} (such"
                f" as {', '.join(map(str, [*chunks][:5]))}) {text}",
                remedy=f"{remedy}, and ingest the log again" if kind == "ledger" else remedy,
                fix=verb == _REPAIR,
            )
    for place in fetch_all(connection, "count_orphans", file=FILE, of=Named):
        yield info(
            f"{place['messages']} messages in the ledger of"
            f" {place['tenant']}/{place['namespace']} are of exchanges that are not stored: right"
            " after an expiry, so that their logs do not bring them back"
        )


def repair_exchanges(connection: Connection, expected: Expected) -> Iterator[Finding]:
    """Mend what does not fit to the exchanges, in the caller's transaction."""
    for namespace in fetch_all(connection, "list_namespaces", file=FILE, of=Named):
        by_scope: dict[int, list[_Fault]] = {}
        for fault in _list_faults(connection, namespace, deep=expected.deep):
            if _FAULTS[fault.kind][2] == _REPAIR:
                by_scope.setdefault(fault.chunk["scope_id"], []).append(fault)
        for scope_id, faults in sorted(by_scope.items()):
            scope = Scope(tenant_id=namespace["tenant_id"], scope_id=scope_id)
            lock_memory(connection, scope)
            _repair_memory(connection, scope, faults)
            text = (
                f"mended {len({it.chunk['chunk_id'] for it in faults})} chunks of memory {scope_id}"
            )
            yield info(text)


def _repair_memory(connection: Connection, scope: Scope, faults: Sequence[_Fault]) -> None:
    by_kind: dict[str, list[_Fault]] = {kind: [] for kind in _FAULTS}
    for fault in faults:
        by_kind[fault.kind].append(fault)
    ids = {kind: [it.chunk["chunk_id"] for it in group] for kind, group in by_kind.items()}
    # They are missing then, and get their jobs with all others that are.
    unscaled = {**scope.key, "chunk_ids": ids["unscaled"], "tolerance": TOLERANCE}
    execute(connection, "drop_unscaled", unscaled, FILE)
    for fault in by_kind["hash"]:
        values = {**scope.key, "chunk_id": fault.chunk["chunk_id"], "content_hash": fault.value}
        if fault.value:
            execute(connection, "correct_hash", values, FILE)
    for session_id in sorted({it.chunk["session_id"] for it in by_kind["previous"]}):
        relink_session(connection, scope, session_id)
    if lacking := by_kind["history"]:
        history = {
            **scope.key,
            "chunk_ids": ids["history"],
            "kinds": ["added"] * len(lacking),
            "details": [Jsonb({"by": "doctor"})] * len(lacking),
            "actors": [current_actor()] * len(lacking),
            "recorded": [it.chunk["recorded_at"] for it in lacking],
        }
        execute(connection, "insert_history", history, "export.sql")
    if unlinked := by_kind["entities"]:
        unread = {it.chunk["chunk_id"]: it.value for it in unlinked if it.value is not None}
        relink_entities(connection, scope, unread)
