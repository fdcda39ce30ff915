"""Index entries of stored texts, made again by language: some at a time, while searches go on."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from psycopg.types.json import Jsonb

from memsense.db import Pool, run_transaction
from memsense.db.connection import Connection
from memsense.db.rows import Named, execute, fetch_all, fetch_values
from memsense.store import writes
from memsense.store.erasing import find_user
from memsense.store.scopes import LEXEMES_VERSION, Namespace, Scope, lock_scope
from memsense.text.configurations import read_language
from memsense.types import ChunkDraft, Granularity

FILE = "reindex.sql"

AT_ONCE = 500
"""Chunks whose entries are made in one transaction, for which the memory's writes wait."""

_RECOUNT = (
    "clear_lexemes",
    "clear_counts",
    "recount_lexemes",
    "recount_chunks",
    "recount_languages",
)
_TEXTS = (
    "granularity", "session_id", "ordinal", "part", "user_text", "assistant_text", "session_text",
    "task_tag", "tags", "context", "language",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Reindexing:
    """The result of a re-indexing: how many memories and chunks, in which language or "auto"."""

    language: str
    scopes: int
    chunks: int


def reindex(
    pool: Pool,
    namespace: Namespace,
    language: str | None = None,
    on_chunks: Callable[[int], object] = lambda _: None,
) -> Reindexing:
    """Make the index entries of a namespace's active chunks again, and recount its statistics.

    With a `language`, the namespace uses it from now on. Searches and writes go on meanwhile; what
    was indexed when it is interrupted stays so. `on_chunks` gets each batch's number of chunks.

    Raises:
        InvalidInputError: For an unknown language.
    """
    code = None if language is None else read_language(language)
    scope_ids = run_transaction(pool, partial(_begin, namespace=namespace, language=code))
    language_in_use, count = namespace.language, 0
    for scope_id in scope_ids:
        for relex in (_relex_turns, _relex_sessions, _relex_past):
            last = 0
            while True:
                batch = partial(
                    _relex_batch, namespace=namespace, scope_id=scope_id, relex=relex, after=last
                )
                language_in_use, ids = run_transaction(pool, batch)
                if not ids:
                    break
                last = ids[-1]
                if relex is not _relex_past:
                    count += len(ids)
                    on_chunks(len(ids))
        finish = partial(_finish, namespace=namespace, scope_id=scope_id)
        run_transaction(pool, finish)
    return Reindexing(language=language_in_use, scopes=len(scope_ids), chunks=count)


def _begin(connection: Connection, namespace: Namespace, language: str | None) -> list[int]:
    """Set the language, if one is given, and return the ids of the memories to index."""
    key = namespace.key
    # A user who is being added refers to the namespace, and may have read the former language.
    execute(connection, "lock_for_reindex", key, FILE)
    if language is not None:
        execute(connection, "set_language", {**key, "language": language}, FILE)
    return fetch_values(connection, "list_scopes", key, FILE)


def _relex_batch(
    connection: Connection,
    namespace: Namespace,
    scope_id: int,
    relex: Callable[[Connection, Scope, int], list[int]],
    after: int,
) -> tuple[str, list[int]]:
    # The language is read under the lock: a write that waits for it uses the new one.
    scope = _lock(connection, namespace, scope_id)
    return scope.language, relex(connection, scope, after)


def _finish(connection: Connection, namespace: Namespace, scope_id: int) -> None:
    finish_relexing(connection, _lock(connection, namespace, scope_id))


def _lock(connection: Connection, namespace: Namespace, scope_id: int) -> Scope:
    return lock_scope(connection, namespace, find_user(connection, namespace.tenant_id, scope_id))


def relex_memory(connection: Connection, scope: Scope) -> bool:
    """Make some of the entries of version 1 of a locked memory again; return True if none is left.

    Until then the memory has entries of both versions, and is searched for the words of both.
    """
    for relex in (_relex_turns, _relex_sessions, _relex_past):
        if relex(connection, scope, None):
            return False
    finish_relexing(connection, scope)
    return True


def finish_relexing(connection: Connection, scope: Scope) -> None:
    """Recount a memory's statistics and note that all its entries are of this version."""
    values = {"tenant_id": scope.tenant_id, "scope_ids": [scope.scope_id]}
    for name in _RECOUNT:
        execute(connection, name, values, FILE)
    # Languages may be others than those by which the models share the texts.
    execute(connection, "mark_beside", scope.key)
    execute(connection, "set_version", {**scope.key, "version": LEXEMES_VERSION}, FILE)


def _relex_turns(connection: Connection, scope: Scope, after: int | None) -> list[int]:
    return _relex_chunks(connection, scope, "turn", after)


def _relex_sessions(connection: Connection, scope: Scope, after: int | None) -> list[int]:
    return _relex_chunks(connection, scope, "session", after)


def _relex_chunks(
    connection: Connection, scope: Scope, granularity: Granularity, after: int | None
) -> list[int]:
    """Make the entries of some chunks again and return their ids: of those that have none of this
    version, or of all `after` an id.
    """
    values = {**scope.key, "granularity": granularity, "after": after, "limit": AT_ONCE}
    rows = fetch_all(connection, "fetch_texts", values, FILE, of=Named)
    if not rows:
        return []
    chunk_ids: list[int] = [row["chunk_id"] for row in rows]
    entries = _index(connection, scope, [{**row, "granularity": granularity} for row in rows])
    chunks = [
        {"chunk_id": chunk_id, **entry} for chunk_id, entry in zip(chunk_ids, entries, strict=True)
    ]
    # Subtracted by the old entries and added by the new ones: a search between two batches finds
    # the frequencies of what is stored.
    writes.count_statistics(connection, scope, chunk_ids, sign=-1)
    execute(connection, "write_entries", {**scope.key, "chunks": Jsonb(chunks)}, FILE)
    writes.count_statistics(connection, scope, chunk_ids, sign=1)
    return sorted(chunk_ids)


def _relex_past(connection: Connection, scope: Scope, after: int | None) -> list[int]:
    """Make the entries of some past states again; return their ids as `_relex_chunks` does."""
    values = {**scope.key, "after": after, "limit": AT_ONCE}
    rows = fetch_all(connection, "fetch_past", values, FILE, of=Named)
    if not rows:
        return []
    chunks: list[dict[str, Any]] = [row["chunk"] for row in rows]
    texts = [{**it, "language": None, "former_language": it.get("language")} for it in chunks]
    entries = _index(connection, scope, texts)
    chunks = [chunk | entry for chunk, entry in zip(chunks, entries, strict=True)]
    written = {
        **scope.key,
        "chunk_ids": [row["chunk_id"] for row in rows],
        "past_ids": [row["past_id"] for row in rows],
        "chunks": [Jsonb(chunk) for chunk in chunks],
    }
    execute(connection, "write_past", written, FILE)
    return sorted(row["past_id"] for row in rows)


def _index(
    connection: Connection, scope: Scope, texts: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the columns of these texts' index entries."""
    languages: list[str] = []
    entries: list[dict[str, Any]] = []
    for place, text in enumerate(texts):
        draft = ChunkDraft(
            last_ordinal=text["ordinal"], content_hash="", **{name: text[name] for name in _TEXTS}
        )
        # What is too short to show its language keeps the one that it has.
        default = text["former_language"] or scope.last_language
        languages.append(writes.find_language(scope, draft, default))
        entries.append({"place": place, **writes.index_terms(draft, languages[-1])})
    values = {"entries": Jsonb(entries)}
    composed = fetch_all(connection, "compose_entries", values, FILE, of=Named)
    return [
        {**columns, "language": language}
        for columns, language in zip(composed, languages, strict=True)
    ]
