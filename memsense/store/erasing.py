"""Erases for good: a user, a session, a message or a chunk, with all that was made of its text.

In the caller's transaction, which ends with a look whether anything is left: then nothing is erased
and ErasureError says where. What is left behind is a receipt.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import cache
from hashlib import scrypt
from hmac import compare_digest
from secrets import token_bytes
from typing import Any, Literal, NamedTuple
from uuid import UUID

from psycopg.sql import SQL
from psycopg.types.json import Jsonb

from memsense.db.connection import Connection
from memsense.db.queries import as_sql, fill
from memsense.db.rows import (
    execute,
    fetch_all,
    fetch_one,
    fetch_value,
    fetch_values,
    find_one,
    find_value,
)
from memsense.errors import ErasureError, NotFoundError
from memsense.store import rows, writes
from memsense.store.marks import unmark_session
from memsense.store.past import scrub_past
from memsense.store.scopes import Follower, Namespace, Scope, lock_scope
from memsense.write.chunking import link_turns

FILE = "erase.sql"
ITEMS_FILE = "items.sql"
ACCESS_FILE = "access.sql"

Subject = Literal["user", "session", "message", "chunk", "expired"]

TABLES_OF_CHUNKS = (
    "jobs",
    "superseded_chunks",
    "past_chunks",
    "embeddings",
    "token_vectors",
    "mentions",
    "chunk_entities",
    "events",
    "chunks",
)
"""Every table whose rows say whose chunk they are, in the order in which they are deleted."""

TABLES_OF_SCOPES = (
    *TABLES_OF_CHUNKS,
    "edges",
    "entities",
    "lexemes",
    "scope_statistics",
    "stale_sessions",
    "ingested_messages",
    "scopes",
)
"""Every table whose rows say whose memory they are of; traces go by a way of their own."""

VOCABULARY = ("edges", "entities", "lexemes")
"""Tables of what all chunks of a memory share: a row goes with the last that needs it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What proves an erasure: no text and no id, only their salted hashes and what was deleted.

        receipt.is_about("ada")     # whether it was Ada's memory, or a session of that id, ...

    `counts` are the rows that were deleted, by table.
    """

    erasure_id: UUID
    namespace: str
    kind: Subject
    salt: bytes
    user_hash: bytes
    subject_hash: bytes
    counts: Mapping[str, int]
    erased_by: str
    erased_at: datetime

    def is_about(self, name: str) -> bool:
        """Whether this is the id of what was erased, or of the user whose it was."""
        found = hash_id(name, self.salt)
        return compare_digest(found, self.user_hash) or compare_digest(found, self.subject_hash)

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON; hashes in hexadecimal."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        hashes = {name: value.hex() for name, value in values.items() if isinstance(value, bytes)}
        counts = dict(self.counts)
        return {**values, **hashes, "erasure_id": str(self.erasure_id), "counts": counts}


def hash_id(name: str, salt: bytes) -> bytes:
    """The scrypt of an id, 32 bytes: dear to guess, though names and addresses are few."""
    return scrypt(name.encode(), salt=salt, n=16384, r=8, p=1, dklen=32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be erased: all of a user's memory, or one session, message or chunk of it, or
    chunks that have expired: what a log brought of these stays known, and does not come again."""

    user_id: str
    session_id: str | None = None
    message_id: str | None = None
    chunk_id: int | None = None
    expired: Sequence[int] = ()

    @property
    def kind(self) -> Subject:
        """What the narrowest id names."""
        if self.expired:
            return "expired"
        if self.chunk_id is not None:
            return "chunk"
        if self.message_id is not None:
            return "message"
        return "session" if self.session_id is not None else "user"

    @property
    def name(self) -> str:
        """That id."""
        given = {
            "user": self.user_id,
            "expired": self.user_id,
            "session": self.session_id,
            "message": self.message_id,
            "chunk": self.chunk_id,
        }
        return str(given[self.kind])


class _Found(NamedTuple):
    """A chunk that goes, and the exchanges of its session that go with it."""

    chunk_id: int
    session_id: str
    ordinal: int
    last_ordinal: int


def find_users(
    connection: Connection,
    namespace: Namespace,
    *,
    session_id: str | None = None,
    message_id: str | None = None,
) -> list[str]:
    """Who has a session or, if it is given, a message of this id."""
    values = {
        "tenant_id": namespace.tenant_id,
        "namespace": namespace.name,
        "session_id": session_id,
        "message_id": message_id,
    }
    name = "find_users_of_message" if message_id is not None else "find_users_of_session"
    return fetch_values(connection, name, values, FILE)


def find_user(connection: Connection, tenant_id: int, scope_id: int) -> str:
    """The user whose scope it is."""
    return fetch_value(
        connection, "fetch_user", {"tenant_id": tenant_id, "scope_id": scope_id}, FILE
    )


def erase(
    connection: Connection,
    namespace: Namespace,
    wanted: Wanted,
    *,
    erasure_id: UUID,
    by: str,
    embed: writes.Embed,
    followers: Sequence[Follower] = (),
) -> Receipt:
    """Erase what is wanted and keep a receipt; NotFoundError where there is nothing of it.

    Done again under the same `erasure_id`, it gives the receipt that is there.
    """
    if found := find_receipt(connection, namespace, erasure_id):
        return found
    if wanted.kind == "user":
        counts = _erase_user(connection, namespace, wanted.user_id)
    else:
        counts = _erase_part(connection, namespace, wanted, embed, followers)
    if not counts.total():
        raise NotFoundError(f"nothing of {wanted.kind} {wanted.name!r} in {namespace.name!r}")
    salt = token_bytes(16)
    values = {
        "tenant_id": namespace.tenant_id,
        "erasure_id": erasure_id,
        "namespace_id": namespace.namespace_id,
        "kind": wanted.kind,
        "salt": salt,
        "user_hash": hash_id(wanted.user_id, salt),
        "subject_hash": hash_id(wanted.name, salt),
        "counts": Jsonb({name: count for name, count in sorted(counts.items()) if count}),
        "erased_by": by,
    }
    execute(connection, "insert_receipt", values, FILE)
    kept = find_receipt(connection, namespace, erasure_id)
    assert kept is not None
    return kept


# A whole user ------------------------------------------------------------------------------------


def _erase_user(connection: Connection, namespace: Namespace, user_id: str) -> Counter[str]:
    key = {
        "tenant_id": namespace.tenant_id,
        "namespace_id": namespace.namespace_id,
        "user_id": user_id,
    }
    scope_id: int | None = find_value(connection, "lock_known_scope", key, FILE)
    values = {**key, "namespace": namespace.name, "scope_id": scope_id}
    counts = _delete_traces(connection, "traces_of_user", values)
    counts["items"] = execute(connection, "delete_items_of_user", values, ITEMS_FILE)
    if scope_id is not None:
        session_ids: list[str] = fetch_values(connection, "list_sessions", values, FILE)
        counts["write_keys"] = execute(
            connection, "delete_keys", {**values, "chunk_ids": None}, FILE
        )
        for table in TABLES_OF_SCOPES:
            counts[table] = execute(connection, _of_table("delete_of_scope", table), values)
        _leave_projects(connection, namespace, session_ids, counts)
    counts["access_keys"] = execute(connection, "delete_keys_of_user", values, ACCESS_FILE)
    _check_user(connection, values)
    return counts


def _check_user(connection: Connection, values: Mapping[str, Any]) -> None:
    left = dict(fetch_all(connection, _count_all("count_of_scope", TABLES_OF_SCOPES), values))
    asked: dict[str, Any] = {**values, "whole_user": True, "chunk_ids": []}
    left["traces"] = fetch_value(connection, "count_traces_left", asked, FILE)
    _require_none(left)


# A part of a user's memory -----------------------------------------------------------------------


def _erase_part(
    connection: Connection,
    namespace: Namespace,
    wanted: Wanted,
    embed: writes.Embed,
    followers: Sequence[Follower],
) -> Counter[str]:
    scope = _lock_known(connection, namespace, wanted, followers)
    found = _find_chunks(connection, scope, wanted)
    whole = [wanted.session_id] if wanted.kind == "session" and wanted.session_id else []
    if not found and not any(_count_session(connection, scope, name).total() for name in whole):
        return Counter()
    rebuilt = _with_session_chunks(connection, scope, found, whole)
    values = {
        **_key(scope),
        "chunk_ids": sorted({item.chunk_id for item in found}),
        "session_ids": whole,
        "namespace": namespace.name,
        "namespace_id": namespace.namespace_id,
        "user_id": wanted.user_id,
    }
    items = _delete_items(connection, values)
    counts = _take_out(connection, scope, values)
    counts["items"] = items
    for session_id, ordinals in _ordinals(found).items():
        if wanted.kind != "expired":
            counts["ingested_messages"] += _delete_ledger(connection, scope, session_id, ordinals)
        if session_id not in whole:
            _mend(connection, scope, session_id, embed, session_id in rebuilt)
    for session_id in whole:
        counts += _forget_session(connection, scope, session_id)
    _leave_projects(connection, namespace, whole, counts)
    execute(connection, "drop_speakers", _key(scope), FILE)
    _check_part(connection, namespace, scope, found, whole)
    return counts


def _delete_ledger(
    connection: Connection, scope: Scope, session_id: str, ordinals: Iterable[int]
) -> int:
    ledger = {**_key(scope), "session_id": session_id, "ordinals": sorted(ordinals)}
    return execute(connection, "delete_ledger_of_exchanges", ledger, FILE)


def _lock_known(
    connection: Connection, namespace: Namespace, wanted: Wanted, followers: Sequence[Follower]
) -> Scope:
    key = {
        "tenant_id": namespace.tenant_id,
        "namespace_id": namespace.namespace_id,
        "user_id": wanted.user_id,
    }
    if find_value(connection, "lock_known_scope", key, FILE) is None:
        raise NotFoundError(f"nothing of user {wanted.user_id!r} in {namespace.name!r}")
    return lock_scope(connection, namespace, wanted.user_id, followers=followers)


def _find_chunks(connection: Connection, scope: Scope, wanted: Wanted) -> list[_Found]:
    """Every chunk that goes, a session chunk once for each of its exchanges that does."""
    values = {
        **_key(scope),
        "session_id": wanted.session_id,
        "message_id": wanted.message_id,
        "chunk_id": wanted.chunk_id,
        "chunk_ids": list(wanted.expired),
    }
    found = _fetch_found(connection, f"select_{wanted.kind}", values)
    if wanted.kind == "session" or not found:
        return found
    beside = {**_key(scope), "chunk_ids": [item.chunk_id for item in found]}
    return [*found, *_fetch_found(connection, "select_beside", beside)]


def _fetch_found(connection: Connection, name: str, values: Mapping[str, Any]) -> list[_Found]:
    return [_Found(*row) for row in fetch_all(connection, name, values, FILE)]


def _with_session_chunks(
    connection: Connection, scope: Scope, found: Sequence[_Found], whole: Sequence[str]
) -> set[str]:
    """The sessions, but for those that go wholly, whose session chunks are made of their turns."""
    return {
        session_id
        for session_id in {item.session_id for item in found}.difference(whole)
        if all(writes.find_session_kinds(connection, scope, session_id))
    }


def _take_out(connection: Connection, scope: Scope, values: Mapping[str, Any]) -> Counter[str]:
    """Delete the chunks and what is made of them, and the traces that tell of them."""
    values = {**values, "language": scope.language}
    counted = _count_all("count_of_chunks", TABLES_OF_CHUNKS)
    counts = Counter(dict(fetch_all(connection, counted, values)))
    vocabulary = _count_all("count_of_scope", VOCABULARY)
    before = Counter(dict(fetch_all(connection, vocabulary, values)))
    writes.withdraw(connection, scope, fetch_values(connection, "select_active", values, FILE))
    counts += _delete_traces(connection, "traces_of_chunks", values)
    counts["write_keys"] = execute(connection, "delete_keys", values, FILE)
    for table in TABLES_OF_CHUNKS:
        execute(connection, _of_table("delete_of_chunks", table), values)
    counts["events"] += execute(connection, "delete_lost_events", values, FILE)
    before.subtract(dict(fetch_all(connection, vocabulary, values)))
    return counts + before


def _delete_items(connection: Connection, values: Mapping[str, Any]) -> int:
    """Delete what frameworks' histories keep of whole sessions, and of the chunks' messages."""
    of_sessions = execute(connection, "delete_items_of_sessions", values, ITEMS_FILE)
    return of_sessions + execute(connection, "delete_items_of_chunks", values, ITEMS_FILE)


def _ordinals(found: Iterable[_Found]) -> dict[str, set[int]]:
    """The exchanges that go, by session."""
    ordinals: dict[str, set[int]] = {}
    for item in found:
        gone = range(item.ordinal, item.last_ordinal + 1)
        ordinals.setdefault(item.session_id, set()).update(gone)
    return ordinals


def _mend(
    connection: Connection, scope: Scope, session_id: str, embed: writes.Embed, rebuild: bool
) -> None:
    """Let what is left of a session know of nothing that is gone."""
    execute(connection, "clear_links", {**_key(scope), "session_id": session_id}, FILE)
    scope = replace(scope, history=False)  # what is mended here held what is erased
    writes.relink_session(connection, scope, session_id, embed)
    if rebuild:
        unmark_session(connection, scope, session_id)
        writes.rebuild_session_chunks(connection, scope, session_id, embed)
    scrub_past(connection, scope, session_id)


def _forget_session(connection: Connection, scope: Scope, session_id: str) -> Counter[str]:
    """What is known of a session beside its chunks."""
    values = {**_key(scope), "session_id": session_id}
    ledger = execute(connection, "delete_ledger_of_session", values, FILE)
    marked = unmark_session(connection, scope, session_id)
    return Counter({"ingested_messages": ledger, "stale_sessions": int(marked)})


def _leave_projects(
    connection: Connection, namespace: Namespace, session_ids: Sequence[str], counts: Counter[str]
) -> None:
    values = {
        "tenant_id": namespace.tenant_id,
        "namespace_id": namespace.namespace_id,
        "session_ids": list(session_ids),
    }
    counts["project_sessions"] += execute(connection, "delete_sessions_of_projects", values, FILE)


def _check_part(
    connection: Connection,
    namespace: Namespace,
    scope: Scope,
    found: Sequence[_Found],
    whole: Sequence[str],
) -> None:
    chunk_ids = sorted({item.chunk_id for item in found})
    values = {**_key(scope), "namespace": namespace.name, "chunk_ids": chunk_ids}
    counted = _count_all("count_of_chunks", TABLES_OF_CHUNKS)
    left = Counter(dict(fetch_all(connection, counted, values)))
    asked = {**values, "whole_user": False, "user_id": None}
    left["traces"] = fetch_value(connection, "count_traces_left", asked, FILE)
    for session_id in {item.session_id for item in found}.difference(whole):
        left["links"] += _count_stale_links(connection, scope, session_id)
    for session_id in whole:
        left.update(_count_session(connection, scope, session_id))
    _require_none(left)


def _count_session(connection: Connection, scope: Scope, session_id: str) -> Counter[str]:
    key = {**_key(scope), "session_id": session_id}
    return Counter(dict(fetch_all(connection, "count_session_left", key, FILE)))


def _count_stale_links(connection: Connection, scope: Scope, session_id: str) -> int:
    """Turns of a session that know of another neighbour than they have."""
    key = {**_key(scope), "session_id": session_id}
    turns = rows.read_turns(fetch_all(connection, "fetch_turns", key))
    links = link_turns([item.turn for item in turns])
    stale = sum(item.link != link for item, link in zip(turns, links, strict=True))
    inactive: int = fetch_value(connection, "count_links_left", key, FILE)
    return stale + inactive


# What both share ---------------------------------------------------------------------------------


def _key(scope: Scope) -> dict[str, Any]:
    return {"tenant_id": scope.tenant_id, "scope_id": scope.scope_id}


@cache
def _of_table(part: str, table: str) -> SQL:
    return as_sql(fill(part, FILE, table=table))


@cache
def _count_all(part: str, tables: tuple[str, ...]) -> SQL:
    return as_sql("\nUNION ALL\n".join(fill(part, FILE, table=table) for table in tables))


def _delete_traces(connection: Connection, part: str, values: Mapping[str, Any]) -> Counter[str]:
    candidates, traces = fetch_one(connection, _deletion_of_traces(part), values)
    return Counter({"packed_candidates": candidates, "traces": traces})


@cache
def _deletion_of_traces(part: str) -> SQL:
    return as_sql(fill("delete_traces", FILE, doomed=fill(part, FILE)))


def _require_none(left: Mapping[str, int]) -> None:
    found = {name: count for name, count in left.items() if count}
    if found:
        told = ", ".join(f"{count} in {name}" for name, count in sorted(found.items()))
        raise ErasureError(f"nothing was erased, for rows would have been left: {told}")


# Receipts ----------------------------------------------------------------------------------------


def find_receipt(connection: Connection, namespace: Namespace, erasure_id: UUID) -> Receipt | None:
    """The receipt of that id, None if there is none."""
    values = {"tenant_id": namespace.tenant_id, "erasure_id": erasure_id}
    return find_one(connection, "fetch_receipt", values, FILE, of=Receipt)


def list_receipts(connection: Connection, namespace: Namespace, limit: int) -> list[Receipt]:
    """The latest receipts of a namespace, the latest first."""
    values = {
        "tenant_id": namespace.tenant_id,
        "namespace_id": namespace.namespace_id,
        "limit": limit,
    }
    return fetch_all(connection, "list_receipts", values, FILE, of=Receipt)
