"""`memory.traces`: recorded searches, and their replays with other constants."""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, cast
from uuid import UUID

from memsense.client.context import Context
from memsense.client.cursors import read_cursor, write_cursor
from memsense.client.searches import Searches
from memsense.db import run_read, run_transaction
from memsense.declaration import Facade, awaited, takes
from memsense.errors import InvalidInputError, NotFoundError
from memsense.inputs import Limit, about, number
from memsense.parameters import Cursor, OnlyUserId, PageSize, TraceId
from memsense.search.hits import SearchResult
from memsense.search.profiles import GivenProfile, Profile
from memsense.search.request import Filters, Overrides, SearchRequest
from memsense.search.search import Search
from memsense.store import traces as recorded
from memsense.types import Page

if TYPE_CHECKING:
    from memsense.explain.replay import Comparison, Replay


def no_trace(trace_id: UUID) -> NotFoundError:
    """Return the error for a trace that the namespace doesn't have."""
    return NotFoundError(f"no trace {trace_id} in this namespace")


_ReplayProfile = Annotated[
    GivenProfile, about("A profile or its name to rank by; default: the recorded constants.")
]


class TracesResource:
    """Store of recorded searches: lists, shows, replays and prunes them."""

    def __init__(
        self,
        context: Context,
        searches: Searches,
        read_filters: Callable[[Mapping[str, Any]], Filters],
    ) -> None:
        self._context = context
        self._searches = searches
        self._read_filters = read_filters

    @takes
    def replay(
        self,
        trace_id: TraceId,
        *,
        profile: _ReplayProfile | None = None,
        overrides: Overrides | None = None,
        as_of_then: bool = False,
    ) -> "Replay":
        """Run a recorded search again, as it was or with other constants.

            memory.traces.replay(result.trace_id, overrides={"lexical": 1.5}).moves

        Over an unchanged store with the recorded constants, the list is the recorded one.

        Args:
            trace_id: Id of a recorded search, as its result has it.
            profile: A profile or its name to rank by; default: the recorded constants.
            overrides: Weights of routes (0 to 5) and constants of the profile to change for this
                call alone, such as {"lexical": 1.5}.
            as_of_then: Search memory as it stood then, where the setting `history` has kept that.

        Raises:
            NotFoundError: If the namespace has no such trace.
        """
        trace = self.get(trace_id)
        return self._replay(
            trace, profile, overrides or {}, _recall_time(trace) if as_of_then else None
        )

    @takes
    def compare(
        self,
        count: Limit = 20,
        *,
        profile: _ReplayProfile | None = None,
        overrides: Overrides | None = None,
        user_id: OnlyUserId | None = None,
    ) -> "Comparison":
        """Run the latest recorded searches again with other constants.

        Args:
            count: Number of recorded searches, the latest first.
            profile: A profile or its name to rank by; default: the recorded constants.
            overrides: Weights of routes (0 to 5) and constants of the profile to change for this
                call alone, such as {"lexical": 1.5}.
            user_id: Only this user's; default: all users'.
        """
        from memsense.explain.replay import Comparison

        summaries = self.list(limit=count, user_id=user_id)
        traces = [self.get(summary.trace_id) for summary in summaries]
        return Comparison(
            replays=[self._replay(trace, profile, overrides or {}) for trace in traces]
        )

    def _replay(
        self,
        trace: recorded.Trace,
        profile: str | Profile | None,
        overrides: Mapping[str, object],
        as_of: datetime | None = None,
    ) -> "Replay":
        from memsense.explain.replay import replay_trace

        context = self._context
        namespace = run_read(context.pool, context.require_namespace)
        if isinstance(profile, str):
            name = profile
            profile = run_read(context.pool, lambda it: context.find_profile(it, namespace, name))

        def run(request: SearchRequest) -> tuple[Search, SearchResult]:
            search = self._searches.rerun(namespace, request)
            return search, self._searches.fetch(search)

        filters = self._read_filters(trace.filters)
        return replay_trace(trace, run, profile, overrides, filters=filters, as_of=as_of)

    @takes
    def list(
        self,
        *,
        limit: PageSize = 20,
        user_id: OnlyUserId | None = None,
        empty: bool = False,
        slower_than: Annotated[float, number(0, 1e9)] | None = None,
        cursor: Cursor | None = None,
    ) -> Page[recorded.TraceSummary]:
        """Return a page of the recorded searches, the latest first.

        Args:
            limit: Maximum number of items.
            user_id: Only this user's; default: all users'.
            empty: Only searches without hits.
            slower_than: Only searches that took more milliseconds than this.
            cursor: `next_cursor` of the page before; default: the first page.
        """
        behind = None if cursor is None else recorded.AfterTrace(*read_cursor("traces", cursor))
        self.flush()
        namespace = self._context.look_up_namespace()
        if namespace is None:
            return Page()
        # One row more than the page says whether there is another page, without a count.
        rows = run_read(
            self._context.pool,
            lambda it: recorded.list_traces(
                it,
                namespace,
                limit=limit + 1,
                user_id=user_id,
                empty=empty,
                slower_than=slower_than,
                behind=behind,
            ),
        )
        summaries = rows[:limit]
        last = summaries[-1] if len(rows) > limit else None
        next_cursor = last and write_cursor("traces", last.recorded_at, str(last.trace_id))
        return Page(summaries, next_cursor=next_cursor)

    @takes
    def statistics(self, *, user_id: OnlyUserId | None = None) -> recorded.TraceStatistics:
        """Return how many searches are recorded, how many found nothing, and their times.

        `memory.statistics` has those of all searches, recorded or not.

        Args:
            user_id: Only this user's; default: all users'.
        """
        self.flush()
        return self._context.read_stored(
            partial(recorded.fetch_trace_statistics, user_id=user_id), recorded.NO_TRACES
        )

    @takes
    def get(self, trace_id: TraceId) -> recorded.Trace:
        """Return a recorded search with all of its candidates.

        Args:
            trace_id: Id of a recorded search, as its result has it.

        Raises:
            NotFoundError: If the namespace has no such trace.
        """
        id_ = cast("UUID", trace_id)  # `takes` has turned a text into a UUID
        self.flush()  # the trace of a search that just ended may still be queued
        pool = self._context.pool
        namespace = run_read(pool, self._context.require_namespace)
        trace = run_read(pool, lambda it: recorded.fetch_trace(it, namespace, id_))
        if trace is None:
            raise no_trace(id_)
        return trace

    @takes
    def prune(self, days: Annotated[float, number(0, 1_000_000)] | None = None) -> int:
        """Delete old traces, and return how many there were.

        Args:
            days: Age in days above which traces go; default: the setting `trace_days`.
        """
        age = self._context.settings.trace_days if days is None else days
        self.flush()
        return run_transaction(
            self._context.pool,
            lambda it: recorded.prune_traces(it, self._context.require_namespace(it), days=age),
        )

    @property
    def failures(self) -> int:
        """Return how many of this object's searches could not be recorded."""
        return self._context.recorder.failed

    def flush(self) -> None:
        """Wait until the searches recorded so far are written, or their writing has failed."""
        self._context.recorder.flush()


class AsyncTracesResource(Facade):
    """TracesResource for asyncio, each method awaited."""

    replay = awaited(TracesResource.replay)
    compare = awaited(TracesResource.compare)
    list = awaited(TracesResource.list)
    statistics = awaited(TracesResource.statistics)
    get = awaited(TracesResource.get)
    prune = awaited(TracesResource.prune)
    flush = awaited(TracesResource.flush)

    @property
    def failures(self) -> int:
        """Return how many of this object's searches could not be recorded."""
        return self._sync.failures


def _recall_time(trace: recorded.Trace) -> datetime:
    """Return when the trace's search read memory; raise InvalidInputError if it isn't recorded."""
    if trace.recalled_at is None:
        raise InvalidInputError(
            f"trace {trace.trace_id} does not know as of when it read memory: it was recorded"
            " before that was kept"
        )
    return trace.recalled_at
