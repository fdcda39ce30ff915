"""`memory.traces`: recorded searches, and what they would find under other constants."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

from pydantic import BeforeValidator

from memsense.client.context import Context
from memsense.client.searches import Searches
from memsense.db import run_read, run_transaction
from memsense.errors import NotFoundError
from memsense.inputs import Id, Limit, number, refused, takes
from memsense.search.hits import SearchResult
from memsense.search.profiles import GivenProfile, Profile
from memsense.search.request import SearchRequest
from memsense.search.search import Search
from memsense.store import traces as recorded

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


_TraceId = Annotated[UUID, BeforeValidator(_read_trace_id)]
_Days = Annotated[float, number(0, 1_000_000)]


class TracesResource:
    """Lists, shows, replays and prunes recorded searches."""

    def __init__(self, context: Context, searches: Searches) -> None:
        self._context = context
        self._searches = searches

    @takes(trace_id=_TraceId, profile=GivenProfile | None)
    def replay(
        self, trace_id: UUID | str, *, profile: str | Profile | None = None, **overrides: object
    ) -> "Replay":
        """A recorded search run again: its own constants, or `profile`'s, with `overrides` on top.

            memory.traces.replay(result.trace_id, lexical=1.5, mmr_lambda=1.0).moves

        Over an unchanged store and with nothing changed, the list is the recorded one exactly.
        """
        return self._replay(self.get(trace_id), profile, overrides)

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

        return replay_trace(trace, run, profile, overrides)

    @takes(limit=Limit, user_id=Id | None)
    def list(
        self, *, limit: int = 20, user_id: str | None = None
    ) -> Sequence[recorded.TraceSummary]:
        """The latest recorded searches, newest first."""
        self.flush()
        namespace = self._context.look_up_namespace()
        if namespace is None:
            return []
        return run_read(
            self._context.pool,
            lambda it: recorded.list_traces(it, namespace, limit=limit, user_id=user_id),
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
            raise NotFoundError(f"no trace {wanted} in namespace {namespace.name!r}")
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
