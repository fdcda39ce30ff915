"""Recognition of logs that are stored already, before anything of them is written."""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import islice

from memsense.db.connection import Connection
from memsense.db.rows import fetch_all
from memsense.draft.alignment import Alignment, LedgerRow, align, text_of, without_time
from memsense.draft.continuing import Continuation, Log, continue_log
from memsense.draft.drafting import Paired
from memsense.ingest.pairing import place_in_log
from memsense.store.scopes import Namespace, Scope, find_scope

CANDIDATES = 5
"""Stored logs that a log is compared with, those with most of its texts first."""

AT_ONCE = 500
"""Keys of contents that one statement looks up."""

LEAST_CHARACTERS = 20
"""Characters of a text that is looked for under any speaker and time."""


LOOKED_UP = 50
"""Long messages of a copy that are looked for without their times."""


def recognise(
    connection: Connection,
    namespace: Namespace,
    log: Log,
    joined_logs: Collection[str],
) -> tuple[Sequence[Paired], Continuation | None]:
    """Return what is new of a log's parts, in the stored sessions that they continue.

    The parts come back unchanged if all messages are known by their own keys, or nothing of the log
    is stored. `joined_logs` are the names of the logs that this file holds already: these are
    several conversations, however alike they are.
    """
    parts = log.parts
    memory = find_scope(connection, namespace.tenant_id, namespace.name, parts[0].user_id)
    if memory is None or not log.messages:
        return parts, None
    scope = Scope(tenant_id=namespace.tenant_id, scope_id=memory.scope_id)
    ledger = _Ledger(connection, scope, parts[0].conversation.format)
    own_ids = [part.conversation.session_id for part in parts]
    own_rows = ledger.read(own_ids)
    known_rows = log.find_known(own_rows)
    if all(known_rows):
        return parts, None
    # Its own name first, and the names by which it was recognised before; then what has its texts.
    aliases = ledger.find_aliases(own_ids)

    def candidates() -> Sequence[list[str]]:
        groups: dict[str, list[str]] = defaultdict(list)
        hits: Counter[str] = Counter()
        for session_id, count in [*((it, 0) for it in aliases), *ledger.search(log.keys, log)]:
            name = place_in_log(session_id)[0]
            if name not in joined_logs:
                groups[name].append(session_id)
                hits[name] += count
        return [groups[name] for name, _ in hits.most_common(CANDIDATES)]

    # What has a name by itself is no other log; what is known goes on in itself, but for copies.
    groups = [own_ids] if any(known_rows) else []
    if log.is_copy or (parts[0].conversation.log and not groups):
        groups = candidates()
    for session_ids in groups:
        result = ledger.align(log, session_ids)
        if result is None:
            continue
        alignment, rows = result
        if not any(row and not own for row, own in zip(alignment.rows, known_rows, strict=True)):
            continue
        filled = [row or own for row, own in zip(alignment.rows, known_rows, strict=True)]
        name = place_in_log(session_ids[0])[0]
        continuation = Continuation(
            source=parts[0].conversation.source,
            session_id=name,
            matched=alignment.matched,
            messages=len(rows),
        )
        rows = list({(row.session_id, row.message_key): row for row in (*rows, *own_rows)}.values())
        kinds = fetch_all(
            connection,
            "find_session_kinds",
            {**scope.key, "session_ids": sorted({row.session_id for row in rows})},
        )
        wholes = [session_id for session_id, has_turns, _ in kinds if not has_turns]
        continued = continue_log(log, replace(alignment, rows=filled), rows, name, wholes)
        return continued, None if name == log.name else continuation
    return parts, None


class _Ledger:
    """The ledger of a memory, for one format."""

    def __init__(self, connection: Connection, scope: Scope, log_format: str) -> None:
        self._connection = connection
        self._key = {**scope.key, "format": log_format}

    def read(self, session_ids: Sequence[str]) -> list[LedgerRow]:
        """Return the messages of sessions that have a content key."""
        values = {**self._key, "session_ids": list(session_ids)}
        rows = fetch_all(self._connection, "fetch_ledgers", values)
        return [
            LedgerRow(
                session_id=session_id,
                message_key=message_key,
                content_hash=content_hash,
                ordinal=ordinal,
                content_key=bytes(content_key or b""),
            )
            for session_id, message_key, content_hash, ordinal, content_key in rows
        ]

    def find_aliases(self, aliases: Sequence[str]) -> list[str]:
        """Return the sessions that were recognised under other names."""
        values = {**self._key, "aliases": list(aliases)}
        return [session_id for (session_id,) in fetch_all(self._connection, "find_aliases", values)]

    def search(self, keys: Sequence[bytes], log: Log) -> list[tuple[str, int]]:
        """Return the sessions that have messages of a log, and how many of them."""
        ranges = {(key, key) for key in keys}
        if log.is_copy:
            # The same as text, without times: its beginning is enough to find it.
            long = (
                key for key, size in zip(keys, log.sizes, strict=True) if size >= LEAST_CHARACTERS
            )
            ranges |= {(key, key) for key in map(without_time, islice(long, LOOKED_UP))}
        else:
            ranges |= {
                (text_of(key) + bytes(8), text_of(key) + b"\xff" * 8)
                for key, size in zip(log.keys, log.sizes, strict=True)
                if size >= LEAST_CHARACTERS
            }
        ordered = sorted(ranges)
        hits: Counter[str] = Counter()
        # In steps: the keys of a chat of 30,000 messages are two megabytes.
        for start in range(0, len(ordered), AT_ONCE):
            lows, highs = zip(*ordered[start : start + AT_ONCE], strict=True)
            values = {**self._key, "lows": list(lows), "highs": list(highs)}
            hits.update(dict(fetch_all(self._connection, "find_by_content", values)))
        return sorted(hits.items())

    def align(
        self, log: Log, session_ids: Sequence[str]
    ) -> tuple[Alignment, list[LedgerRow]] | None:
        """Return the alignment of a log with sessions of one stored log, and their rows."""
        rows = [row for row in self.read(session_ids) if row.content_key]
        alignment = align(rows, log.keys, log.sizes, is_copy=log.is_copy)
        if alignment is None or alignment.keys == log.keys:
            return alignment and (alignment, rows)
        # In the other's spelling, short parts of it are matched as well.
        name = place_in_log(session_ids[0])[0]
        more = {it for it, _ in self.search(alignment.keys, log) if place_in_log(it)[0] == name}
        rows = [row for row in self.read(sorted({*session_ids, *more})) if row.content_key]
        alignment = align(rows, log.keys, log.sizes, is_copy=log.is_copy)
        return alignment and (alignment, rows)
