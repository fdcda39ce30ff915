"""`memory.traces`: recorded searches, and what they would find under other constants."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

from pydantic import BeforeValidator

from memsense.client.context import Context
from memsense.client.searches import Searches
from memsense.db import read, transaction
from memsense.db.connection import Connection
from memsense.errors import NotFoundError
from memsense.inputs import Id, Limit, number, refused, takes
from memsense.search.hits import SearchResult
from memsense.search.profiles import GivenProfile, Profile
from memsense.search.request import SearchRequest
from memsense.search.search import Search, fetch_result
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
        trace = self.get(trace_id)
        with read(self._context.pool) as connection:
            return self._replay(connection, trace, profile, overrides)

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
        with read(self._context.pool) as connection:
            return Comparison(
                replays=[self._replay(connection, trace, profile, overrides) for trace in found]
            )

    def _replay(
        self,
        connection: Connection,
        trace: recorded.Trace,
        profile: str | Profile | None,
        overrides: Mapping[str, object],
    ) -> "Replay":
        from memsense.explain.replay import replay_trace

        namespace = self._context.require_namespace(connection)
        if isinstance(profile, str):
            profile = self._context.find_profile(connection, namespace, profile)

        def run(request: SearchRequest) -> tuple[Search, SearchResult]:
            search = self._searches.rerun(connection, namespace, request)
            return search, fetch_result(connection, search)

        return replay_trace(trace, run, profile, overrides)

    @takes(limit=Limit, user_id=Id | None)
    def list(
        self, *, limit: int = 20, user_id: str | None = None
    ) -> Sequence[recorded.TraceSummary]:
        """The latest recorded searches, newest first."""
        self.flush()
        with read(self._context.pool) as connection:
            namespace = self._context.find_namespace(connection)
            if namespace is None:
                return []
            return recorded.list_traces(connection, namespace, limit=limit, user_id=user_id)

    @takes(trace_id=_TraceId)
    def get(self, trace_id: UUID | str) -> recorded.Trace:
        """A recorded search with all of its candidates; raises NotFoundError."""
        wanted = _read_trace_id(trace_id)
        self.flush()
        with read(self._context.pool) as connection:
            namespace = self._context.require_namespace(connection)
            found = recorded.fetch_trace(connection, namespace, wanted)
        if found is None:
            raise NotFoundError(f"no trace {wanted} in namespace {namespace.name!r}")
        return found

    @takes(days=_Days | None)
    def prune(self, days: float | None = None) -> int:
        """Delete traces older than `days` (default: the setting trace_days); how many went."""
        age = self._context.settings.trace_days if days is None else days
        self.flush()
        with transaction(self._context.pool) as connection:
            return recorded.prune_traces(
                connection, self._context.require_namespace(connection), days=age
            )

    @property
    def failures(self) -> int:
        """How many of this object's searches were to be recorded and could not be."""
        return self._context.recorder.failed

    def flush(self) -> None:
        """Wait until the searches recorded so far are written (or have failed to be)."""
        self._context.recorder.flush()
