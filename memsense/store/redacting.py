"""Redaction of stored texts: each secret gives way to its kind, in all that was made of it, too.

An exchange is written again as an update writes it, but no earlier version is kept of it.
"""

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple
from uuid import uuid4

from psycopg.sql import SQL

from memsense.db.connection import Connection
from memsense.db.queries import as_sql, fill
from memsense.db.rows import (
    execute,
    execute_many,
    fetch_all,
    fetch_batches,
    fetch_value,
    fetch_values,
    find_one,
    find_value,
)
from memsense.draft.chunking import exchange_hash
from memsense.draft.drafting import hash_content
from memsense.draft.facets.model import FacetTagger
from memsense.draft.parts import StoredTexts, cut_exchange
from memsense.draft.vectors import ChunkTexts
from memsense.ingest.pairing import message_hash
from memsense.store import erasing, reads, updating, writes
from memsense.store.scopes import Follower, Namespace, Scope, lock_scope
from memsense.text.lexemes import list_lexemes
from memsense.text.secrets import clean
from memsense.types import Chunk, ChunkDraft, Message, Role

FILE = "redact.sql"

PAGE = 500
"""Rows that are read at once."""

PLACE = ("session_id", "ordinal", "part")
"""The order in which exchanges are read."""

AT_ONCE = 16
"""Exchanges that are written in one transaction, for which the memory's writes wait."""


class Column(NamedTuple):
    """A column with texts, its type, and the part of `sql/redact.sql` that says whose they are."""

    table: str
    column: str
    type: str = "jsonb"
    of: str = "of_memories"


COLUMNS = (
    Column("superseded_chunks", "content"),
    Column("past_chunks", "chunk"),
    Column("events", "detail"),
    Column("supersessions", "reason", "text"),
    Column("supersessions", "evidence"),
    Column("jobs", "last_error", "text"),
    Column("jobs", "errors"),
    Column("items", "value", "jsonb", "of_items"),
    Column("traces", "question", "text", "of_traces"),
    Column("traces", "filters", "jsonb", "of_traces"),
)
"""Columns with texts outside of the exchanges."""

_ROLES: Final[Sequence[Role]] = ("user", "assistant", "other")
_DIGEST = re.compile(r"[0-9a-f]{64}(?=[#@]|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Redacted:
    """An exchange without its secrets: its parts as stored and anew, and the secrets by kind.

    `messages` are the changes of the ledger, as values of the statement `rename_message`.
    """

    parts: Sequence[Chunk]
    drafts: Sequence[ChunkDraft]
    counts: Counter[str]
    messages: Sequence[Mapping[str, Any]] = ()
    followers: Sequence[Follower] = ()


def list_exchanges(
    connection: Connection, namespace: Namespace, values: Mapping[str, Any]
) -> list[list[Chunk]]:
    """Return a page of a memory's exchanges, each with its parts; a session chunk is one."""
    ids = fetch_values(connection, "list_exchanges", {**values, "limit": PAGE}, FILE)
    every = [chunk_id for own in ids for chunk_id in own]
    chunks = {it.chunk_id: it for it in reads.fetch_chunks(connection, namespace, every)}
    exchanges = [[chunks[it] for it in own if it in chunks] for own in ids]
    return [parts for parts in exchanges if parts]


def redact_exchange(
    parts: Sequence[Chunk], tagger: FacetTagger | None, kinds: Collection[str]
) -> Redacted | None:
    """Return an exchange without its secrets, None if it has none; without a tagger, only counted.

    The tagger may ask a model, so that no transaction should be open.
    """
    first, texts = parts[0], StoredTexts(parts)
    sides = [texts.user_text, texts.assistant_text, first.session_text, first.task_tag]
    named = [list(first.tags), dict(first.metadata), texts.chosen]
    ((user_text, assistant_text, session_text, task_tag), named), counts = clean(
        [sides, named], secrets=kinds, passages=False
    )
    if not counts or tagger is None:
        return Redacted(parts=parts, drafts=(), counts=counts) if counts else None
    tags, metadata, chosen = named
    draft = replace(
        first.as_draft(content_hash=""),
        user_text=user_text, assistant_text=assistant_text, session_text=session_text,
        task_tag=task_tag, tags=tags, metadata=metadata, language=None,
    )  # fmt: skip
    is_session = first.granularity == "session"
    drafts = [draft] if is_session else cut_exchange(draft, tagger, chosen)
    return Redacted(parts=parts, drafts=drafts, counts=counts)


def identify(connection: Connection, scope: Scope, redacted: Redacted) -> Redacted:
    """Return it with the hashes by which it is recognised, which tell nothing of a secret either.

    What `add` brought has the hash of its text without secrets. The ledger keeps the ids of a log's
    messages and the keys of their contents; the log, read again, writes the exchange anew.
    """
    first = redacted.parts[0]
    key = {**scope.key, "chunk_id": first.chunk_id}
    # Without a row it has been erased since it was read, as the write will notice.
    identity, window = find_one(connection, "fetch_identity", key, updating.FILE) or ("", 0)
    session = {**scope.key, "session_id": first.session_id}
    place = {**session, "ordinal": first.ordinal, "last_ordinal": first.last_ordinal}
    unchanged = _hash_messages(_list_sides(redacted.drafts))
    messages: list[dict[str, Any]] = []
    entries: list[tuple[str, str]] = []
    log = (first.source or "").split(":")[0]
    for name, message_key, content_hash in fetch_all(connection, "list_messages", place, FILE):
        new_key, new_hash = message_key, content_hash
        digest = _DIGEST.match(message_key)
        if content_hash not in unchanged:
            # The entries of `add` have a time in the hash's place.
            new_hash = "" if name else content_hash
            if digest and message_key not in first.message_ids:
                new_key = _random() + message_key[digest.end() :]
            new = {"new_key": new_key, "new_hash": new_hash}
            messages.append({**session, "format": name, "message_key": message_key, **new})
        entries += [(new_key, new_hash)] if name == log else []
    if first.granularity == "turn":
        is_added = identity == _hash_added(redacted.parts)
        added = _hash_added(redacted.drafts) if is_added else _random()
        identity = exchange_hash(first.session_id, log, sorted(entries)) if entries else added
    drafts = [
        replace(
            draft,
            content_hash=exchange_hash(identity, place) if place else identity,
            dedup_window=window,
        )
        for place, draft in enumerate(redacted.drafts)
    ]
    return replace(redacted, drafts=drafts, messages=messages)


def _random() -> str:
    return exchange_hash(str(uuid4()))


def _list_sides(parts: Sequence[Chunk | ChunkDraft]) -> list[Message]:
    """Return the sides of an exchange as messages; of a session chunk its lines."""
    first = parts[0]
    lines = [line.partition(": ") for line in first.session_text.split("\n")]
    sides: list[tuple[Role, str | None, str]] = [
        ("user", first.user_speaker, "".join(it.own_user_text for it in parts)),
        ("assistant", first.assistant_speaker, "".join(it.assistant_text for it in parts)),
        *(("other", name, text) for name, _, text in lines),
    ]
    return [Message(role=role, speaker=name, text=text) for role, name, text in sides if text]


def _hash_messages(sides: Sequence[Message]) -> set[str]:
    """Return the hashes of the messages that the sides may consist of."""
    return {
        message_hash(Message(role=role, speaker=speaker, text=text))
        for side in sides
        for text in (side.text, *side.text.split("\n\n"))
        for role in _ROLES
        for speaker in (None, side.speaker)
    }


def _hash_added(parts: Sequence[Chunk | ChunkDraft]) -> str:
    """Return the hash that `add` gives to an exchange of one message a side."""
    sides, ids = _list_sides(parts), parts[0].message_ids
    if len(ids) == len(sides):
        sides = [replace(it, external_id=id_) for it, id_ in zip(sides, ids, strict=True)]
    return hash_content(parts[0].session_id, sides)


def write_exchanges(
    user_id: str,
    exchanges: Sequence[Redacted],
    connection: Connection,
    namespace: Namespace,
    embed: writes.Embed,
) -> tuple[bool, Counter[str]]:
    """Write a user's redacted exchanges over the stored ones; return whether, and what they held.

    If one has changed since it was read, nothing is written.
    """
    key = {**namespace.key, "user_id": user_id}
    # `lock_scope` would create a memory for a user who was erased meanwhile.
    if find_value(connection, "lock_known_scope", key, erasing.FILE) is None:
        return False, Counter()
    # Without history, whose versions would hold the secrets.
    scope = replace(lock_scope(connection, namespace, user_id), history=False)
    for it in exchanges:
        stored = updating.fetch_exchange(connection, namespace, it.parts[0].chunk_id)
        if [part.version for part in stored] != [part.version for part in it.parts]:
            return False, Counter()
    embed.require(scope.models, [ChunkTexts.of(draft) for it in exchanges for draft in it.drafts])
    for it in exchanges:
        _write_exchange(connection, replace(scope, followers=it.followers), it, embed)
    session_ids = sorted({it.parts[0].session_id for it in exchanges})
    for session_id, has in writes.find_session_kinds(connection, scope, session_ids).items():
        erasing.mend(connection, scope, session_id, embed, rebuild=all(has))
    old = [(_join(part), part.language) for it in exchanges for part in it.parts]
    new = [(_join(draft), it.parts[0].language) for it in exchanges for draft in it.drafts]
    lost = {*erasing.list_retired(old, scope)} - {*erasing.list_retired(new, scope)}
    ids = [part.chunk_id for it in exchanges for part in it.parts]
    values = {**scope.key, **key, "chunk_ids": ids}
    execute(connection, "delete_keys", values, erasing.FILE)
    # Searches that asked for a word of a secret.
    values |= {"chunk_ids": [], "session_ids": [], "retired_lexemes": sorted(lost)}
    erasing.delete_traces(connection, "traces_of_chunks", values)
    return True, sum((it.counts for it in exchanges), Counter[str]())


def _write_exchange(
    connection: Connection, scope: Scope, redacted: Redacted, embed: writes.Embed
) -> None:
    parts, drafts = redacted.parts, redacted.drafts
    own = {**scope.key, "chunk_ids": [part.chunk_id for part in parts]}
    execute(connection, "delete_past", own, FILE)
    execute_many(connection, "rename_message", redacted.messages, FILE)
    identity = {"content_hash": drafts[0].content_hash, "dedup_window": drafts[0].dedup_window}
    if fetch_value(connection, "is_repeated", {**own, **identity}, FILE):
        # Texts that differed by their secrets alone are one now, and stay two.
        drafts = [replace(draft, dedup_window=-parts[0].chunk_id) for draft in drafts]
    active = [part.chunk_id for part in parts if part.status == "active"]
    writes.withdraw(connection, scope, active)
    chunk_ids = writes.insert_chunks(connection, scope, drafts, event="redacted")
    writes.delete_chunks(connection, scope, {*own["chunk_ids"]} - {*chunk_ids})
    updating.share_score(connection, scope, chunk_ids, parts[0].memory_score)
    status = parts[0].status
    if status == "active":
        no_one = [None] * len(drafts)  # mending sets whose next-user vectors these are
        writes.insert_embeddings(connection, scope, drafts, chunk_ids, embed, previous=no_one)
    else:
        # Forgotten or archived again, with the entities of its new text.
        writes.withdraw(connection, scope, chunk_ids)
        execute(connection, "set_status", {**own, "chunk_ids": chunk_ids, "status": status})


def _join(chunk: Chunk | ChunkDraft) -> str:
    texts = (chunk.user_text, chunk.assistant_text, chunk.session_text, chunk.task_tag or "")
    return " ".join((*texts, *chunk.tags))


class Change(NamedTuple):
    """A value with secrets as it is stored and without them, its secrets by kind, and its rows."""

    before: str
    after: str
    counts: Counter[str]
    rows: int


def find_values(
    connection: Connection, column: Column, values: Mapping[str, Any], kinds: Collection[str]
) -> list[Change]:
    """Return the values of a column that hold secrets; the transaction reads all of them."""
    changes: list[Change] = []
    is_json = column.type == "jsonb"
    for batch in fetch_batches(connection, _fill("list_values", column), values, size=PAGE):
        for before, rows in batch:
            value = json.loads(before) if is_json else before
            after, counts = clean(value, secrets=kinds, passages=False)
            if counts:
                after = json.dumps(after) if is_json else after
                changes.append(Change(before, after, counts, rows))
    return changes


def write_value(
    column: Column, values: Mapping[str, Any], change: Change, connection: Connection, *_: object
) -> tuple[None, Counter[str]]:
    """Replace a value in all rows that have it; return None, and the secrets by kind."""
    parameters = {**values, "before": change.before, "after": change.after}
    names = ["replace_value"]
    if column.table == "traces":
        names = ["delete_candidates", "delete_value"]
    elif column.table == "past_chunks":
        # What the memory says now is shown in place of a state that can't be searched any more.
        names = ["delete_value"]
    elif column.table == "items":
        lost = {*list_lexemes(change.before, "en")} - {*list_lexemes(change.after, "en")}
        parameters["lexemes"] = sorted(lost)
        names = ["delete_vectors", "forget_words", "replace_value"]
    rows = [execute(connection, _fill(name, column), parameters) for name in names][-1]
    return None, Counter({kind: count * rows for kind, count in change.counts.items() if rows})


def _fill(name: str, column: Column) -> SQL:
    holes = {**column._asdict(), "of": fill(column.of, FILE)}
    return as_sql(fill(name, FILE, **holes))
