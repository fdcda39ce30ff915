"""Redaction of what is stored, for `memory.erasures.redact`."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from uuid import UUID, uuid4

from memsense.actor import user_name
from memsense.client.context import Context
from memsense.client.updating import as_session
from memsense.db import run_read, run_transaction
from memsense.db.connection import Connection
from memsense.db.rows import fetch_all
from memsense.draft.vectors import BatchVectors
from memsense.errors import NotFoundError
from memsense.store import erasing, redacting
from memsense.store.redacting import AT_ONCE, COLUMNS, FILE, Column
from memsense.store.scopes import Namespace, Scope
from memsense.types import Chunk


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """Result of a redaction: the number of secrets by kind, and the id of its receipt.

    There is no receipt if nothing was replaced, as in a dry run.
    """

    redacted: Mapping[str, int]
    erasure_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Redacting:
    """One redaction of a user's memory, or of everybody's without `user_id`.

    A batch is a transaction: what a killed redaction left is left to the next one.
    """

    context: Context
    namespace: Namespace
    user_id: str | None
    kinds: frozenset[str]
    dry_run: bool
    by: str | None
    erasure_id: UUID = field(default_factory=uuid4)
    counts: Counter[str] = field(default_factory=Counter[str])

    def redact(self, on_progress: Callable[[int, int], object]) -> Redaction:
        """Redact memories, items and recorded searches."""
        pool, values = self.context.pool, {**self.namespace.key, "user_id": self.user_id}
        # A search whose trace is still queued would be stored afterwards.
        self.context.recorder.flush()
        memories: list[tuple[str, int, int]] = run_read(
            pool, lambda it: fetch_all(it, "list_memories", values, FILE)
        )
        if not self.dry_run:
            # An exchange that is written again takes its past and some searches along, uncounted.
            first = [it for it in COLUMNS if it.table in {"past_chunks", "traces"}]
            self._redact_columns(first)
        done, total = 0, sum(chunks for *_, chunks in memories)
        for user_id, scope_id, _ in memories:
            scope = Scope(tenant_id=self.namespace.tenant_id, scope_id=scope_id)
            # Session chunks last: those that the exchanges leave over keep their old texts.
            for granularity in ("turn", "session"):
                page = {**scope.key, "granularity": granularity, "session_id": "", "ordinal": -1}
                page["part"] = 0
                list_page = partial(redacting.list_exchanges, namespace=self.namespace, values=page)
                while exchanges := run_read(pool, list_page):
                    if self._redact_page(user_id, scope, exchanges):
                        last = exchanges[-1][0]
                        page |= {name: getattr(last, name) for name in redacting.PLACE}
                        done += sum(map(len, exchanges))
                        on_progress(min(done, total), total)
            self.context.forget_user(user_id)
        self._redact_columns(COLUMNS)
        if self.user_id is not None and not memories and not self.counts:
            raise NotFoundError(f"nothing is stored of user {self.user_id!r} here; check the id")
        redacted = dict(sorted(self.counts.items()))
        is_done = redacted and not self.dry_run
        return Redaction(redacted=redacted, erasure_id=self.erasure_id if is_done else None)

    def _redact_columns(self, columns: Sequence[Column]) -> None:
        """Redact columns outside of exchanges, each value in a transaction."""
        values = {**self.namespace.key, "user_id": self.user_id}
        for column in columns:
            find = partial(redacting.find_values, column=column, values=values, kinds=self.kinds)
            for change in run_transaction(self.context.pool, find):
                if self.dry_run:
                    self.counts.update([*change.counts.elements()] * change.rows)
                else:
                    self._transact(partial(redacting.write_value, column, values, change))

    def _redact_page(
        self, user_id: str, scope: Scope, exchanges: Sequence[Sequence[Chunk]]
    ) -> bool:
        """Redact exchanges; return False if some have changed since they were read."""
        context = self.context
        tagger = None if self.dry_run else context.tagger
        every = [redacting.redact_exchange(it, tagger, self.kinds) for it in exchanges]
        rows = [it for it in every if it is not None]
        if self.dry_run:
            self.counts.update(sum((it.counts for it in rows), Counter[str]()))
            return True
        # Hashes and entities are made before a transaction takes its locks.
        rows = run_read(
            context.pool, lambda it: [redacting.identify(it, scope, one) for one in rows]
        )
        rows = [replace(it, followers=context.followers(as_session(it.drafts))) for it in rows]
        batches = [rows[start : start + AT_ONCE] for start in range(0, len(rows), AT_ONCE)]
        write = redacting.write_exchanges
        return all(self._transact(partial(write, user_id, batch), user_id) for batch in batches)

    def _transact(
        self,
        work: Callable[[Connection, Namespace, BatchVectors], tuple[Any, Counter[str]]],
        *users: str,
    ) -> Any:
        """Do a part of the redaction in one transaction, together with its receipt."""
        context, vectors = self.context, self.context.batch_vectors()
        target = erasing.Target(user_id=self.user_id or "", secrets=True)

        def write(connection: Connection) -> tuple[Any, Counter[str]]:
            namespace = context.require_namespace(connection)
            result, counts = work(connection, namespace, vectors)
            if counts and not self.dry_run:
                by = self.by or user_name()
                erasing.add_to_receipt(
                    connection, namespace, target, erasure_id=self.erasure_id, counts=counts, by=by
                )
            return result, counts

        result, counts = context.run_write(write, vectors, users=users, if_possible=True)
        self.counts.update(counts)
        return result
