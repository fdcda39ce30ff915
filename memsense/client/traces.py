"""`memory.traces`: recorded searches, and what they would find under other constants."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

from pydantic import BeforeValidator

from memsense.client.context import Context
from memsense.client.cursors import read_cursor, write_cursor
from memsense.client.searches import Searches
from memsense.db import run_read, run_transaction
from memsense.errors import InvalidInputError, NotFoundError
from memsense.inputs import Id, Limit, Switch, Text, number, refused, takes
from memsense.search.hits import SearchResult
from memsense.search.profiles import GivenProfile, Profile
from memsense.search.request import SearchRequest
from memsense.search.search import Search
from memsense.store import traces as recorded
from memsense.types import Page

if TYPE_CHECKING:
    from memsense.explain.replay import Comparison, Replay


def _read_trace_id(value: object) -> UUID:
    try:
        if isinstance(value, str):
            return UUID(value)
    except ValueError:
        pass  # told as any other value that is none
    if isinstance(value, UUID):
        return value
    raise refused("must be the id of a trace", value)


def no_trace(trace_id: UUID) -> NotFoundError:
    """What is raised for a trace that the namespace doesn't have."""
    return NotFoundError(f"no trace {trace_id} in this namespace")


_TraceId = Annotated[UUID, BeforeValidator(_read_trace_id)]
_Milliseconds = Annotated[float, number(0, 1e9)]
_Days = Annotated[float, number(0, 1_000_000)]


class TracesResource:
    """Lists, shows, replays and prunes recorded searches."""

    def __init__(self, context: Context, searches: Searches) -> None:
        self._context = context
        self._searches = searches

    @takes(trace_id=_TraceId, profile=GivenProfile | None, as_of_then=Switch)
    def replay(
        self,
        trace_id: UUID | str,
        *,
        profile: str | Profile | None = None,
        as_of_then: bool = False,
        **overrides: object,
    ) -> "Replay":
        """A recorded search run again: its own constants, or `profile`'s, with `overrides` on top.

            memory.traces.replay(result.trace_id, lexical=1.5, mmr_lambda=1.0).moves

        Over an unchanged store and with nothing changed, the list is the recorded one exactly;
        `as_of_then` searches memory as it stood when the trace was recorded, whatever was written
        since, where the setting `history` has kept that.
        """
        trace = self.get(trace_id)
        return self._replay(trace, profile, overrides, _moment(trace) if as_of_then else None)

    @takes(count=Limit, profile=GivenProfile | None, user_id=Id | None)
    def compare(
        self,
        count: int = 20,
        *,
        profile: str | Profile | None = None,
        user_id: str | None = None,
        **overrides: object,
    ) -> "Comparison":
        """The last `count` recorded searches run again with other constants, newest first."""
        from memsense.explain.replay import Comparison

        summaries = self.list(limit=count, user_id=user_id)
        found = [self.get(summary.trace_id) for summary in summaries]
        return Comparison(replays=[self._replay(trace, profile, overrides) for trace in found])

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

        return replay_trace(trace, run, profile, overrides, as_of=as_of)

    @takes(
        limit=Limit,
        user_id=Id | None,
        empty=Switch,
        slower_than=_Milliseconds | None,
        cursor=Text | None,
    )
    def list(
        self,
        *,
        limit: int = 20,
        user_id: str | None = None,
        empty: bool = False,
        slower_than: float | None = None,
        cursor: str | None = None,
    ) -> Page[recorded.TraceSummary]:
        """A page of the recorded searches, newest first; its `next_cursor` asks for the next.

        Only those without hits if `empty`, or that took more milliseconds than `slower_than`.
        """
        behind = None if cursor is None else recorded.AfterTrace(*read_cursor("traces", cursor))
        self.flush()
        namespace = self._context.look_up_namespace()
        if namespace is None:
            return Page()
        found = run_read(
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
        return _page(found, limit)

    @takes(user_id=Id | None)
    def statistics(self, *, user_id: str | None = None) -> recorded.TraceStatistics:
        """How many searches are recorded, how many found nothing, and how long they took."""
        self.flush()
        namespace = self._context.look_up_namespace()
        if namespace is None:
            return recorded.NO_TRACES
        return run_read(
            self._context.pool,
            lambda it: recorded.fetch_trace_statistics(it, namespace, user_id),
        )

    @takes(trace_id=_TraceId)
    def get(self, trace_id: UUID | str) -> recorded.Trace:
        """A recorded search with all of its candidates; raises NotFoundError."""
        wanted = _read_trace_id(trace_id)
        self.flush()
        pool = self._context.pool
        namespace = run_read(pool, self._context.require_namespace)
        found = run_read(pool, lambda it: recorded.fetch_trace(it, namespace, wanted))
        if found is None:
            raise no_trace(wanted)
        return found

    @takes(days=_Days | None)
    def prune(self, days: float | None = None) -> int:
        """Delete traces older than `days` (default: the setting trace_days); how many went."""
        age = self._context.settings.trace_days if days is None else days
        self.flush()
        return run_transaction(
            self._context.pool,
            lambda it: recorded.prune_traces(it, self._context.require_namespace(it), days=age),
        )

    @property
    def failures(self) -> int:
        """How many of this object's searches were to be recorded and could not be."""
        return self._context.recorder.failed

    def flush(self) -> None:
        """Wait until the searches recorded so far are written (or have failed to be)."""
        self._context.recorder.flush()


def _page(found: Sequence[recorded.TraceSummary], limit: int) -> Page[recorded.TraceSummary]:
    """What is shown of one more than that, with a cursor if there is more."""
    shown = found[:limit]
    last = shown[-1] if len(found) > limit else None
    behind = last and write_cursor("traces", last.recorded_at, str(last.trace_id))
    return Page(shown, next_cursor=behind)


def _moment(trace: recorded.Trace) -> datetime:
    """When the trace's search read memory; raises InvalidInputError where that is not known."""
    if trace.recalled_at is None:
        raise InvalidInputError(
            f"trace {trace.trace_id} does not know as of when it read memory: it was recorded"
            " before that was kept"
        )
    return trace.recalled_at
