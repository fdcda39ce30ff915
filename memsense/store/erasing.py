"""Erasure for good of a user, a session, a message or a chunk, with all that was made of its text.

It happens in the caller's transaction, which ends with a check for remaining rows: if there are
any, ErasureError names the tables and nothing is erased. Only a receipt remains.
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
from memsense.draft.chunking import link_turns
from memsense.errors import ErasureError, NotFoundError
from memsense.store import calls, rows, writes
from memsense.store.past import scrub_past
from memsense.store.scopes import Follower, Namespace, Scope, lock_scope
from memsense.store.sessions import unmark_session
from memsense.text.configurations import list_former_lexemes
from memsense.text.lexemes import list_lexemes

FILE = "erase.sql"
ITEMS_FILE = "items.sql"
ACCESS_FILE = "access.sql"

Subject = Literal["user", "session", "message", "chunk", "expired", "secrets"]

TABLES_OF_CHUNKS = (
    "jobs",
    "superseded_chunks",
    "supersessions",
    "past_chunks",
    "embeddings",
    "token_vectors",
    "mentions",
    "chunk_entities",
    "events",
    "chunks",
)
"""Every table whose rows belong to a chunk, in the order in which they are deleted."""

TABLES_OF_SCOPES = (
    *TABLES_OF_CHUNKS,
    "edges",
    "entities",
    "lexemes",
    "scope_statistics",
    "stale_sessions",
    "ingested_messages",
    "session_aliases",
    "calls",
    "scopes",
)
"""Every table whose rows belong to a user's memory. Traces have statements of their own."""

VOCABULARY = ("edges", "entities", "lexemes")
"""Tables that all chunks of a memory share: a row goes with the last chunk that needs it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Proof of an erasure: salted hashes of the erased ids, and counts of deleted rows.

        receipt.is_about("ada")     # True if it was Ada's memory, or a session of that id, ...

    It holds no text and no id. `counts` are the deleted rows by table, or the replaced
    secrets by kind. `purged_at`: since when no index file has words of it; `purged_full_at`: since
    when no file has any but those of the write-ahead log (`memsense db purge`).
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
    purged_at: datetime | None
    purged_full_at: datetime | None

    def is_about(self, name: str) -> bool:
        """Return whether this is the id that was erased, or the id of its user."""
        digest = hash_id(name, self.salt)
        return compare_digest(digest, self.user_hash) or compare_digest(digest, self.subject_hash)

    def is_of_user(self, name: str) -> bool:
        """Return whether what was erased was this user's."""
        return compare_digest(hash_id(name, self.salt), self.user_hash)

    def as_dict(self) -> dict[str, Any]:
        """Return all fields as plain values, ready for JSON; hashes in hexadecimal."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        hashes = {name: value.hex() for name, value in values.items() if isinstance(value, bytes)}
        counts = dict(self.counts)
        return {**values, **hashes, "erasure_id": str(self.erasure_id), "counts": counts}


def hash_id(name: str, salt: bytes) -> bytes:
    """Return the scrypt hash of an id, 32 bytes."""
    # Slow on purpose, some 0.05 s: names and mail addresses are few enough to guess them all.
    return scrypt(name.encode(), salt=salt, n=16384, r=8, p=1, dklen=32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A selection to erase: a user's memory, or one session, message or chunk of it.

    `expired` are chunks that have expired. The ledger goes on knowing what a log brought of these,
    so that reading the log again does not bring it back. `secrets` are those of all its texts.
    """

    user_id: str
    session_id: str | None = None
    message_id: str | None = None
    chunk_id: int | None = None
    expired: Sequence[int] = ()
    secrets: bool = False

    @property
    def kind(self) -> Subject:
        """The kind of thing that the narrowest id names."""
        if self.secrets:
            return "secrets"
        if self.expired:
            return "expired"
        if self.chunk_id is not None:
            return "chunk"
        if self.message_id is not None:
            return "message"
        return "session" if self.session_id is not None else "user"

    @property
    def name(self) -> str:
        """The narrowest id, as text."""
        ids = {
            "user": self.user_id,
            "expired": self.user_id,
            "secrets": self.user_id,
            "session": self.session_id,
            "message": self.message_id,
            "chunk": self.chunk_id,
        }
        return str(ids[self.kind])


class _Match(NamedTuple):
    """A chunk to delete, and the exchanges of its session that go with it."""

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
    """Return the users who have a session or, if `message_id` is set, a message of this id."""
    values = {**namespace.key, "session_id": session_id, "message_id": message_id}
    name = "find_users_of_message" if message_id is not None else "find_users_of_session"
    return fetch_values(connection, name, values, FILE)


def find_user(connection: Connection, tenant_id: int, scope_id: int) -> str:
    """Return the user whose memory a scope is."""
    return fetch_value(
        connection, "fetch_user", {"tenant_id": tenant_id, "scope_id": scope_id}, FILE
    )


def erase(
    connection: Connection,
    namespace: Namespace,
    target: Target,
    *,
    erasure_id: UUID,
    by: str,
    embed: writes.Embed,
    followers: Sequence[Follower] = (),
) -> Receipt:
    """Erase the target and store a receipt; raise NotFoundError if there is nothing to erase.

    A call that is repeated under the same `erasure_id` returns the receipt of the first.
    """
    if receipt := find_receipt(connection, namespace, erasure_id):
        return receipt
    if target.kind == "user":
        counts = _erase_user(connection, namespace, target.user_id)
    else:
        counts = _erase_part(connection, namespace, target, embed, followers)
    if not counts.total():
        raise NotFoundError(
            f"namespace {namespace.name!r} has nothing of {target.kind} {target.name!r};"
            " check the id"
        )
    add_to_receipt(connection, namespace, target, erasure_id=erasure_id, counts=counts, by=by)
    receipt = find_receipt(connection, namespace, erasure_id)
    assert receipt is not None
    return receipt


# A whole user ------------------------------------------------------------------------------------


def _erase_user(connection: Connection, namespace: Namespace, user_id: str) -> Counter[str]:
    """Delete everything that a namespace holds of a user; return the deleted rows by table."""
    key = {**namespace.key, "user_id": user_id}
    scope_id: int | None = find_value(connection, "lock_known_scope", key, FILE)
    values = {**key, "namespace": namespace.name, "scope_id": scope_id}
    # A user without a memory may still have asked questions, which traces hold, and have items.
    counts = delete_traces(connection, "traces_of_user", values)
    counts["items"] = execute(connection, "delete_items_of_user", values, ITEMS_FILE)
    if scope_id is not None:
        # Read before the chunks go: projects name sessions by their ids alone.
        session_ids: list[str] = fetch_values(connection, "list_sessions", values, FILE)
        # Also before: a key of a write belongs to the user whose chunks its result names.
        counts["write_keys"] = execute(
            connection, "delete_keys", {**values, "chunk_ids": None}, FILE
        )
        execute(connection, "move_calls_to_no_user", values, calls.FILE)
        for table in TABLES_OF_SCOPES:
            counts[table] = execute(connection, _of_table("delete_of_scope", table), values)
        _leave_projects(connection, namespace, session_ids, counts)
    counts["access_keys"] = execute(connection, "delete_keys_of_user", values, ACCESS_FILE)
    remaining = dict(fetch_all(connection, _count_all("count_of_scope", TABLES_OF_SCOPES), values))
    # A process may have added calls since, for which no lock is taken. They have the number of a
    # memory that is gone, which names no user.
    del remaining["calls"]
    of_user: dict[str, Any] = {**values, "whole_user": True, "chunk_ids": []}
    remaining["traces"] = fetch_value(connection, "count_traces_left", of_user, FILE)
    _require_none(remaining)
    return counts


# A part of a user's memory -----------------------------------------------------------------------


def _erase_part(
    connection: Connection,
    namespace: Namespace,
    target: Target,
    embed: writes.Embed,
    followers: Sequence[Follower],
) -> Counter[str]:
    """Delete a session, a message or chunks of a memory; return the deleted rows by table."""
    key = {**namespace.key, "user_id": target.user_id}
    # `lock_scope` would create a memory for a user who has none.
    if find_value(connection, "lock_known_scope", key, FILE) is None:
        raise NotFoundError(
            f"namespace {namespace.name!r} has nothing of user {target.user_id!r}; check the id"
        )
    scope = lock_scope(connection, namespace, target.user_id, followers=followers)
    matches = _find_chunks(connection, scope, target)
    whole = [target.session_id] if target.kind == "session" and target.session_id else []
    # A session without chunks may still stand in the ledger of what was ingested.
    if not matches and not any(_count_session(connection, scope, name).total() for name in whole):
        return Counter()
    ordinals: dict[str, set[int]] = {}
    for match in matches:
        exchanges = range(match.ordinal, match.last_ordinal + 1)
        ordinals.setdefault(match.session_id, set()).update(exchanges)
    # Asked before the chunks go, which is what tells whether the session chunks of a session were
    # made from its turns and have to be made again.
    kinds = writes.find_session_kinds(connection, scope, sorted(ordinals.keys() - set(whole)))
    rebuilt = {session_id for session_id, has in kinds.items() if all(has)}
    values = {
        **scope.key,
        "chunk_ids": sorted({match.chunk_id for match in matches}),
        "session_ids": whole,
        "namespace": namespace.name,
        "namespace_id": namespace.namespace_id,
        "user_id": target.user_id,
    }
    # The histories that frameworks keep as items: of whole sessions, and of the chunks' messages,
    # which are found by their chunks and so go first.
    items = execute(connection, "delete_items_of_sessions", values, ITEMS_FILE)
    items += execute(connection, "delete_items_of_chunks", values, ITEMS_FILE)
    counts = _take_out(connection, scope, values)
    counts["items"] = items
    for session_id, numbers in ordinals.items():
        if target.kind != "expired":
            # What has expired stays in the ledger, so that reading its log again stores nothing.
            ledger = {**scope.key, "session_id": session_id, "ordinals": sorted(numbers)}
            deleted = execute(connection, "delete_ledger_of_exchanges", ledger, FILE)
            counts["ingested_messages"] += deleted
        if session_id not in whole:
            mend(connection, scope, session_id, embed, rebuild=session_id in rebuilt)
    for session_id in whole:
        ledger = {**scope.key, "session_id": session_id}
        deleted = execute(connection, "delete_ledger_of_session", ledger, FILE)
        counts["ingested_messages"] += deleted
        counts["session_aliases"] += execute(connection, "delete_aliases_of_session", ledger, FILE)
        counts["stale_sessions"] += unmark_session(connection, scope, session_id)
    _leave_projects(connection, namespace, whole, counts)
    execute(connection, "drop_speakers", scope.key, FILE)
    _check_part(connection, namespace, scope, matches, whole)
    return counts


def _find_chunks(connection: Connection, scope: Scope, target: Target) -> list[_Match]:
    """Return every chunk to delete; a session chunk once for each of its exchanges that goes."""
    values = {
        **scope.key,
        "session_id": target.session_id,
        "message_id": target.message_id,
        "chunk_id": target.chunk_id,
        "chunk_ids": list(target.expired),
    }
    rows_of_target = fetch_all(connection, f"select_{target.kind}", values, FILE)
    matches = [_Match(*row) for row in rows_of_target]
    if target.kind == "session" or not matches:
        return matches
    # The same text is elsewhere too: in other parts of an exchange, in session chunks, and in
    # forgotten copies.
    values = {**scope.key, "chunk_ids": [match.chunk_id for match in matches]}
    copies = fetch_all(connection, "select_beside", values, FILE)
    return [*matches, *(_Match(*row) for row in copies)]


def _take_out(connection: Connection, scope: Scope, values: Mapping[str, Any]) -> Counter[str]:
    """Delete the chunks, all that is made of them, and the traces that mention them."""
    retired = fetch_all(connection, "fetch_retired_texts", values, FILE)
    values = {**values, "retired_lexemes": list_retired(retired, scope)}
    chunk_rows = _count_all("count_of_chunks", TABLES_OF_CHUNKS)
    counts = Counter(dict(fetch_all(connection, chunk_rows, values)))
    vocabulary = _count_all("count_of_scope", VOCABULARY)
    before = Counter(dict(fetch_all(connection, vocabulary, values)))
    # Withdrawn first: the statistics are counted from the chunks while these are still there, and
    # a trace goes if nothing that remains has the word that it asked for.
    writes.withdraw(connection, scope, fetch_values(connection, "select_active", values, FILE))
    counts += delete_traces(connection, "traces_of_chunks", values)
    counts["write_keys"] = execute(connection, "delete_keys", values, FILE)
    for table in TABLES_OF_CHUNKS:
        execute(connection, _of_table("delete_of_chunks", table), values)
    counts["events"] += execute(connection, "delete_lost_events", values, FILE)
    before.subtract(dict(fetch_all(connection, vocabulary, values)))
    return counts + before


def list_retired(texts: Iterable[tuple[str, str | None]], scope: Scope) -> list[str]:
    """Return the lexemes that questions may have asked for of texts that are in no index."""
    lexemes: set[str] = set()
    for text, language in texts:
        lexemes.update(list_lexemes(text, language or scope.last_language))
        if language is None:
            lexemes.update(list_former_lexemes(text, scope.language))
    return sorted(lexemes)


def mend(
    connection: Connection, scope: Scope, session_id: str, embed: writes.Embed, *, rebuild: bool
) -> None:
    """Remove from the rest of a session everything it repeats of the erased exchanges."""
    execute(connection, "clear_links", {**scope.key, "session_id": session_id}, FILE)
    # Without history: the versions that it would keep hold what is being erased.
    scope = replace(scope, history=False)
    writes.relink_session(connection, scope, session_id)
    if rebuild:
        unmark_session(connection, scope, session_id)
        writes.rebuild_session_chunks(connection, scope, session_id, embed)
    scrub_past(connection, scope, session_id)


def _leave_projects(
    connection: Connection, namespace: Namespace, session_ids: Sequence[str], counts: Counter[str]
) -> None:
    """Take sessions that no user has any more out of their projects."""
    values = {**namespace.key, "session_ids": list(session_ids)}
    counts["project_sessions"] += execute(connection, "delete_sessions_of_projects", values, FILE)


def _check_part(
    connection: Connection,
    namespace: Namespace,
    scope: Scope,
    matches: Sequence[_Match],
    whole: Sequence[str],
) -> None:
    """Raise ErasureError if any row of the erased chunks, or any text of theirs, remains."""
    chunk_ids = sorted({match.chunk_id for match in matches})
    values = {**scope.key, "namespace": namespace.name, "chunk_ids": chunk_ids}
    chunk_rows = _count_all("count_of_chunks", TABLES_OF_CHUNKS)
    remaining = Counter(dict(fetch_all(connection, chunk_rows, values)))
    of_chunks = {**values, "whole_user": False, "user_id": None}
    remaining["traces"] = fetch_value(connection, "count_traces_left", of_chunks, FILE)
    for session_id in {match.session_id for match in matches}.difference(whole):
        # A turn repeats some of its neighbours' text: each must now name the neighbours it has.
        key = {**scope.key, "session_id": session_id}
        turns = rows.read_turns(fetch_all(connection, "fetch_turns", key))
        links = link_turns([item.turn for item in turns])
        stale = sum(item.link != link for item, link in zip(turns, links, strict=True))
        inactive: int = fetch_value(connection, "count_links_left", key, FILE)
        remaining["links"] += stale + inactive
    for session_id in whole:
        remaining.update(_count_session(connection, scope, session_id))
    _require_none(remaining)


def _count_session(connection: Connection, scope: Scope, session_id: str) -> Counter[str]:
    """Return how many rows of a session each table holds."""
    key = {**scope.key, "session_id": session_id}
    return Counter(dict(fetch_all(connection, "count_session_left", key, FILE)))


# What both share ---------------------------------------------------------------------------------


@cache
def _of_table(part: str, table: str) -> SQL:
    return as_sql(fill(part, FILE, table=table))


@cache
def _count_all(part: str, tables: tuple[str, ...]) -> SQL:
    return as_sql("\nUNION ALL\n".join(fill(part, FILE, table=table) for table in tables))


def delete_traces(connection: Connection, part: str, values: Mapping[str, Any]) -> Counter[str]:
    """Delete the traces that a part of `sql/erase.sql` selects; return the deleted rows."""
    statement = as_sql(fill("delete_traces", FILE, doomed=fill(part, FILE)))
    candidates, traces = fetch_one(connection, statement, values)
    return Counter({"packed_candidates": candidates, "traces": traces})


def _require_none(counts: Mapping[str, int]) -> None:
    """Raise ErasureError, which ends the transaction, unless all counts are 0."""
    rows_left = {name: count for name, count in counts.items() if count}
    if rows_left:
        text = ", ".join(f"{count} in {name}" for name, count in sorted(rows_left.items()))
        raise ErasureError(f"nothing was erased, because rows would remain: {text}")


# Receipts ----------------------------------------------------------------------------------------


def add_to_receipt(
    connection: Connection,
    namespace: Namespace,
    target: Target,
    *,
    erasure_id: UUID,
    counts: Counter[str],
    by: str,
) -> None:
    """Store the receipt of an erasure; one of several transactions adds its counts to it."""
    receipt = find_receipt(connection, namespace, erasure_id)
    total = counts + Counter(receipt.counts if receipt else {})
    values = {
        "tenant_id": namespace.tenant_id,
        "erasure_id": erasure_id,
        "counts": Jsonb({name: count for name, count in sorted(total.items()) if count}),
    }
    if receipt is not None:
        execute(connection, "update_receipt", values, FILE)
        return
    # A salt for each receipt: the hashes of two receipts can't be compared, so that they don't
    # reveal that one person was erased twice.
    salt = token_bytes(16)
    values |= {
        "namespace_id": namespace.namespace_id,
        "kind": target.kind,
        "salt": salt,
        "user_hash": hash_id(target.user_id, salt),
        "subject_hash": hash_id(target.name, salt),
        "erased_by": by,
    }
    execute(connection, "insert_receipt", values, FILE)


def find_receipt(connection: Connection, namespace: Namespace, erasure_id: UUID) -> Receipt | None:
    """Return the receipt of that id, or None if there is none."""
    values = {"tenant_id": namespace.tenant_id, "erasure_id": erasure_id}
    return find_one(connection, "fetch_receipt", values, FILE, of=Receipt)


def list_receipts(connection: Connection, namespace: Namespace, limit: int) -> list[Receipt]:
    """Return the latest receipts of a namespace, newest first."""
    values = {**namespace.key, "limit": limit}
    return fetch_all(connection, "list_receipts", values, FILE, of=Receipt)
