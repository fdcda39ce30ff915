"""`memory.ttl`: rules by which memories expire, and the sweep of expired ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any
from uuid import uuid4

from memsense.client.context import Resource
from memsense.client.settings import change_settings
from memsense.db import run_read, run_transaction
from memsense.db.connection import Connection
from memsense.declaration import Facade, awaited, takes
from memsense.draft.expiry import ALL, SETTING
from memsense.errors import NotFoundError
from memsense.inputs import AnyDuration, Name, about, shorten
from memsense.parameters import Actor
from memsense.store import expiring
from memsense.store import settings as stored
from memsense.store.erasing import find_user
from memsense.store.expiring import Swept
from memsense.store.scopes import Namespace


@dataclass(frozen=True, slots=True, kw_only=True)
class TtlRule:
    """Time to live of new memories with a `tag`; without one, of all others."""

    tag: str | None
    ttl: timedelta
    changed_by: str
    changed_at: datetime


_RuleTag = Annotated[
    Name, about("The rule for memories with this tag; default: for all that have no rule.")
]


class TtlResource(Resource):
    """Store of the rules by which a namespace's memories expire.

        memory.ttl.set("90d")                   # what has no rule of its own
        memory.ttl.set("1d", tag="scratch")
        memory.ttl.sweep()

    The `ttl` of a call wins over the rules; of several tags, the shortest counts.
    """

    @takes
    def set(
        self,
        ttl: AnyDuration,
        *,
        tag: _RuleTag | None = None,
        existing: bool = False,
        by: Actor | None = None,
    ) -> int:
        """Set how long memories are stored.

        A memory that expires sooner stays as it is.

        Args:
            ttl: Time from storing to expiry: a timedelta, or a text such as "12h" or "30d".
            tag: The rule for memories with this tag; default: for all that have no rule.
            existing: Apply it to what is stored already, counted from when it was stored.
            by: Who does it, for the receipt or history; default: the operating system's user.

        Returns:
            The number of stored chunks that `existing` has dated.
        """
        assert isinstance(ttl, timedelta)
        self._change({tag or ALL: ttl.total_seconds()}, by)
        if not existing:
            return 0
        seconds = ttl.total_seconds()

        def date(connection: Connection) -> int:
            namespace = self._context.require_namespace(connection)
            return expiring.date_stored(connection, namespace, tag=tag, seconds=seconds)

        dated = run_transaction(self._context.pool, date)
        if dated:
            self._context.wake_worker()
        return dated

    @takes
    def unset(self, *, tag: _RuleTag | None = None, by: Actor | None = None) -> None:
        """Delete a rule. Memories that it has dated still expire.

        Args:
            tag: The rule for memories with this tag; default: for all that have no rule.
            by: Who does it, for the receipt or history; default: the operating system's user.

        Raises:
            NotFoundError: If there is no such rule.
        """
        self._change({tag or ALL: None}, by)

    def list(self) -> "Sequence[TtlRule]":
        """Return the rules, that of the namespace first."""

        def fetch(connection: Connection) -> Sequence[stored.StoredSetting]:
            namespace = self._context.reload_namespace(connection)
            return stored.fetch_settings(connection, namespace) if namespace else []

        rows = [row for row in run_read(self._context.pool, fetch) if row.name == SETTING]
        return [
            TtlRule(
                tag=None if tag == ALL else tag,
                ttl=timedelta(seconds=seconds),
                changed_by=row.changed_by,
                changed_at=row.changed_at,
            )
            for row in rows
            for tag, seconds in sorted(row.value.items())
        ]

    def sweep(self) -> Swept:
        """Delete what has expired in the whole namespace now, as the worker does by itself.

        It is erased, or forgotten where the setting `on_expiry` is "forget".
        """
        total, sweeper = Swept(), Sweeper(self._context)
        for scope_id in self._context.read_stored(expiring.list_expired_scopes, []):
            swept = sweeper.sweep(scope_id)
            total.add(swept)
            total.memories += bool(swept.chunks)
        return total

    def _change(self, changes: Mapping[str, float | None], by: str | None) -> None:
        def plan(namespace: Namespace) -> Sequence[stored.Change]:
            before: dict[str, Any] = dict(namespace.settings.get(SETTING) or {})
            if missing := [
                tag for tag, ttl in changes.items() if ttl is None and tag not in before
            ]:
                owner = f"tag {shorten(missing[0])}" if missing[0] != ALL else "the namespace"
                raise NotFoundError(f"{owner} has no rule; 'memsense ttl list' shows the rules")
            after = {tag: ttl for tag, ttl in {**before, **changes}.items() if ttl is not None}
            if after == before:
                return []
            return [
                stored.Change(
                    kind="setting", name=SETTING, before=before or None, after=after or None
                )
            ]

        change_settings(self._context, plan, by)


class AsyncTtlResource(Facade):
    """TtlResource for asyncio, each method awaited."""

    set = awaited(TtlResource.set)
    unset = awaited(TtlResource.unset)
    list = awaited(TtlResource.list)
    sweep = awaited(TtlResource.sweep)


class Sweeper(Resource):
    """Sweeper of expired memories of one context, each batch in a transaction of its own."""

    def sweep(self, scope_id: int) -> Swept:
        """Sweep everything in a memory that has expired."""
        total = Swept()
        while (batch := self._sweep_batch(scope_id)).chunks:
            total.add(batch)
        return total

    def _sweep_batch(self, scope_id: int) -> Swept:
        """Sweep one batch, and return what it erased or forgot."""
        context, erasure_id = self._context, uuid4()
        # Traces hold questions and texts. One that is still queued must be written first, so that
        # it is erased too instead of being stored afterwards.
        context.recorder.flush()
        vectors, followers = context.batch_vectors(), context.followers()
        users: list[str] = []

        def work(connection: Connection) -> Swept:
            namespace = context.require_namespace(connection)
            users[:] = [find_user(connection, namespace.tenant_id, scope_id)]
            return expiring.sweep(
                connection,
                namespace,
                scope_id,
                erasure_id=erasure_id,
                embed=vectors,
                followers=followers,
            )

        swept = context.run_write(work, vectors, if_possible=True)
        for user_id in users if swept.chunks else ():
            context.forget_user(user_id)
        return swept
