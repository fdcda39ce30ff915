"""Pages of what is stored: chunks, sessions, users."""

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TypeVar

from memsense.client.context import Resource, no_chunk
from memsense.client.cursors import read_cursor, write_cursor
from memsense.db import run_read
from memsense.db.connection import Connection
from memsense.errors import InvalidInputError
from memsense.search.request import Filters
from memsense.store import listing
from memsense.store.life import Life, fetch_life
from memsense.store.listing import Order
from memsense.store.reads import fetch_history, fetch_shown, fetch_statistics
from memsense.store.scopes import Namespace, find_tenant
from memsense.store.statistics import MOST_PERIODS, PERIODS, Statistics
from memsense.store.statistics import fetch_statistics as fetch_searches
from memsense.store.supersession import list_changes, list_supersessions
from memsense.types import (
    ChangeState,
    Chunk,
    DayCount,
    Event,
    Granularity,
    Page,
    PossibleChange,
    ScopeStatistics,
    SessionSummary,
    Status,
    SupersededFact,
)

T = TypeVar("T")

LONGEST_GROWTH = 36_500
"""Maximum number of days that `growth` looks back."""


class Listing(Resource):
    """Reader of pages within one context."""

    def chunk(self, chunk_id: int) -> Chunk:
        """Return one chunk; raise NotFoundError if the namespace has none of that id."""
        chunks = self._require(lambda it, namespace: fetch_shown(it, namespace, [chunk_id]))
        if not chunks:
            raise no_chunk(chunk_id)
        return chunks[0]

    def chunks_by_id(self, chunk_ids: Sequence[int]) -> dict[int, Chunk]:
        """Return the chunks of these ids that exist."""
        if not chunk_ids:
            return {}
        chunks = self._read(lambda it, namespace: fetch_shown(it, namespace, chunk_ids))
        return {chunk.chunk_id: chunk for chunk in chunks}

    def superseded_facts(
        self, chunk_ids: Sequence[int], user_id: str | None
    ) -> list[SupersededFact]:
        """Return the changes in which these chunks stand, on either side."""
        if not chunk_ids:
            return []
        return self._read(
            lambda it, namespace: list_supersessions(it, namespace, chunk_ids, user_id)
        )

    def changes(
        self, user_id: str | None, state: ChangeState | None, *, limit: int, cursor: str | None
    ) -> Page[PossibleChange]:
        """Return a page of pairs that may tell a fact and its change, newest first."""
        behind = read_cursor("changes", cursor) if cursor is not None else None
        rows = self._read(
            lambda it, namespace: list_changes(
                it, namespace, user_id, state, behind=behind, limit=limit + 1
            )
        )
        return _page(rows, limit, lambda it: write_cursor("changes", it.newer_id, it.older_id))

    def statistics(self, user_id: str | None) -> list[ScopeStatistics]:
        """Return what each user's memory holds, or that of one user."""
        return self._read(lambda it, namespace: fetch_statistics(it, namespace, user_id))

    def history(self, chunk_id: int) -> list[Event]:
        """Return the events of a chunk; raise NotFoundError if the namespace has none."""
        events = self._require(lambda it, namespace: fetch_history(it, namespace, chunk_id))
        if events is None:
            raise no_chunk(chunk_id)
        return events

    def chunks(
        self,
        user_id: str | None,
        filters: Filters,
        *,
        granularity: Granularity,
        statuses: Sequence[Status],
        order: Order,
        limit: int,
        cursor: str | None,
        contains: str | None = None,
        as_of: datetime | None = None,
        only_rules: bool = False,
        chunk_ids: Sequence[int] | None = None,
    ) -> Page[Chunk]:
        """Return a page of chunks by event time; of all users if `user_id` is None.

        With `only_rules`, those in which the user states a standing rule; with `chunk_ids`, those.
        With `as_of`, the chunks that were active at that moment, as they were; the namespace must
        have kept its history since.
        """
        behind = listing.AfterChunk(*read_cursor(order, cursor)) if cursor is not None else None
        # One row more than the page says whether there is another page, without a count.
        rows = self._read(
            lambda it, namespace: listing.list_chunks(
                it,
                _select(namespace, user_id, filters),
                granularity=granularity,
                statuses=tuple(statuses),
                order=order,
                behind=behind,
                limit=limit + 1,
                contains=contains,
                as_of=as_of,
                only_rules=only_rules,
                chunk_ids=chunk_ids,
            )
        )
        return _page(rows, limit, lambda it: write_cursor(order, *listing.after_chunk(it)))

    def sessions(
        self, user_id: str | None, filters: Filters, *, limit: int, cursor: str | None
    ) -> Page[SessionSummary]:
        """Return a page of sessions, the one with the latest message first."""
        place = read_cursor("sessions", cursor) if cursor is not None else None
        behind = listing.AfterSession(*place) if place else None
        rows = self._read(
            lambda it, namespace: listing.list_sessions(
                it, _select(namespace, user_id, filters), behind=behind, limit=limit + 1
            )
        )
        return _page(rows, limit, lambda it: write_cursor("sessions", *listing.after_session(it)))

    def users(self, *, limit: int, cursor: str | None) -> Page[ScopeStatistics]:
        """Return a page of users, in the order of their ids."""
        after: str | None = read_cursor("users", cursor)[0] if cursor is not None else None
        rows = self._read(
            lambda it, namespace: fetch_statistics(
                it, namespace, None, after=after, limit=limit + 1
            )
        )
        return _page(rows, limit, lambda it: write_cursor("users", it.user_id))

    def life(self, user_id: str) -> Life:
        """Return the life of a user."""
        none = Life(user_id=user_id, weeks=(), lanes=())
        read = partial(fetch_life, user_id=user_id)
        return self._context.read_stored(read, none)

    def growth(self, days: int) -> list[DayCount]:
        """Return the number of exchanges stored on each of the last days that has any."""
        since = datetime.now(UTC) - timedelta(days=min(days, LONGEST_GROWTH))
        return self._read(lambda it, namespace: listing.count_by_day(it, namespace, since))

    def searches(
        self, since: datetime | None, until: datetime | None, step: int | None
    ) -> Statistics:
        """Return the statistics of the tenant's searches, in periods of `step` minutes."""
        until = until or datetime.now(UTC)
        since = since or until - timedelta(days=1)
        minutes = (until - since) / timedelta(minutes=1)
        if minutes <= 0:
            raise InvalidInputError(f"since: {since} is not before until: {until}")
        step = step or math.ceil(minutes / PERIODS)
        if minutes / step > MOST_PERIODS:
            raise InvalidInputError(f"step: {step} gives more than {MOST_PERIODS:,} periods")
        context = self._context
        context.search_meter.flush()

        def read(connection: Connection) -> Statistics:
            tenant_id = context.pool.tenant_id or find_tenant(connection, context.settings.tenant)
            return fetch_searches(connection, tenant_id, since, until, step)

        return run_read(context.pool, read)

    def matching_words(self, words: Sequence[str], lexemes: Sequence[str]) -> set[str]:
        """Return the words that have one of the lexemes."""
        return set(
            self._read(
                lambda it, namespace: list(
                    listing.list_matching_words(it, namespace, words, lexemes)
                )
            )
        )

    def _require(self, work: Callable[[Connection, Namespace], T]) -> T:
        """Return what `work` reads; raise NotFoundError if nothing is stored in the namespace."""
        require = self._context.require_namespace
        return self._context.read(lambda pool: run_read(pool, lambda it: work(it, require(it))))

    def _read(self, work: Callable[[Connection, Namespace], list[T]]) -> list[T]:
        namespace = self._context.look_up_namespace()
        if namespace is None:
            return []
        return self._context.read(lambda pool: run_read(pool, lambda it: work(it, namespace)))


def _select(namespace: Namespace, user_id: str | None, filters: Filters) -> listing.Selected:
    return listing.Selected(
        namespace=namespace, user_id=user_id, filters=filters.names, values=filters.parameters()
    )


def _page(rows: Sequence[T], limit: int, cursor: Callable[[T], str]) -> Page[T]:
    """Return the first `limit` rows, with a cursor if there are more."""
    items = rows[:limit]
    has_more = len(rows) > len(items) and bool(items)
    return Page(items, next_cursor=cursor(items[-1]) if has_more else None)
