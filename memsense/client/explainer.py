"""The part of `MemSense` that explains: why not this one, what was recorded, what if."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Unpack
from uuid import UUID

from memsense import store
from memsense.client.context import no_chunk
from memsense.client.searcher import Searcher, read_filters
from memsense.db import read, transaction
from memsense.db.connection import Connection
from memsense.errors import InvalidInputError, NotFoundError
from memsense.search import search as searching
from memsense.search.hits import SearchResult
from memsense.search.profiles import Profile
from memsense.search.recall.run import query_values, shape_of
from memsense.store import traces as recorded

if TYPE_CHECKING:
    from memsense.explain.replay import Comparison, Replay
    from memsense.explain.why_not import Verdict


class Explainer(Searcher):
    """Gives reasons for what a search returned."""

    def why_not(
        self, query: str, chunk_id: int, **options: Unpack[searching.SearchOptions]
    ) -> "Verdict":
        """Why a search with these options does not return a chunk, or as which hit it does.

        The first step that lost it decides. Raises NotFoundError for a chunk that is not in
        this namespace.
        """
        from memsense.explain.why_not import judge

        filters = read_filters(query, options)
        with read(self._pool) as connection:
            namespace = self._require_namespace(connection)
            search = self._search(connection, namespace, query, options, filters)
            result = searching.fetch_result(connection, search)
            standing = recorded.fetch_standing(
                connection, chunk_id, shape_of(search.asked).filters, query_values(search.asked)
            )
            if standing is None:
                raise no_chunk(chunk_id)
            return judge(
                connection,
                search=search,
                result=result,
                chunk_id=chunk_id,
                standing=standing,
            )

    def replay(
        self, trace_id: UUID | str, *, profile: str | Profile | None = None, **overrides: object
    ) -> "Replay":
        """A recorded search run again: its own constants, or `profile`'s, with `overrides` on top.

            memory.replay(result.trace_id, lexical=1.5, mmr_lambda=1.0).moves

        Over an unchanged store and with nothing changed, the list is the recorded one exactly.
        """
        trace = self.trace(trace_id)
        with read(self._pool) as connection:
            return self._replay(connection, trace, profile, overrides)

    def compare_traces(
        self,
        count: int = 20,
        *,
        profile: str | Profile | None = None,
        user_id: str | None = None,
        **overrides: object,
    ) -> "Comparison":
        """The last `count` recorded searches run again with other constants, newest first."""
        from memsense.explain.replay import Comparison

        summaries = self.traces(limit=count, user_id=user_id)
        found = [self.trace(summary.trace_id) for summary in summaries]
        with read(self._pool) as connection:
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

        namespace = self._require_namespace(connection)
        store.check_model(namespace, self.embedder.model, self.embedder.dimension)
        if isinstance(profile, str):
            profile = self._find_profile(connection, namespace, profile)

        def run(request: searching.SearchRequest) -> tuple[searching.Search, SearchResult]:
            search = self._run_search(connection, request)
            return search, searching.fetch_result(connection, search)

        return replay_trace(trace, run, profile, overrides)

    def traces(self, *, limit: int = 20, user_id: str | None = None) -> list[recorded.TraceSummary]:
        """The latest recorded searches, newest first."""
        if limit < 1:
            raise InvalidInputError(f"limit must be at least 1, not {limit}")
        self.flush_traces()
        with read(self._pool) as connection:
            namespace = self._find_namespace(connection)
            if namespace is None:
                return []
            return recorded.list_traces(connection, namespace, limit=limit, user_id=user_id)

    def trace(self, trace_id: UUID | str) -> recorded.Trace:
        """A recorded search with all of its candidates; raises NotFoundError."""
        from memsense.explain.replay import read_trace_id

        wanted = read_trace_id(trace_id)
        self.flush_traces()
        with read(self._pool) as connection:
            namespace = self._require_namespace(connection)
            found = recorded.fetch_trace(connection, namespace, wanted)
        if found is None:
            raise NotFoundError(f"no trace {wanted} in namespace {namespace.name!r}")
        return found

    def prune_traces(self, days: float | None = None) -> int:
        """Delete traces older than `days` (default: the setting trace_days); how many went."""
        age = self._settings.trace_days if days is None else days
        if not age >= 0:
            raise InvalidInputError(f"days must not be negative, not {age}")
        self.flush_traces()
        with transaction(self._pool) as connection:
            return recorded.prune_traces(connection, self._require_namespace(connection), days=age)

    @property
    def trace_failures(self) -> int:
        """How many of this object's searches were to be recorded and could not be."""
        return self._recorder.failed

    def flush_traces(self) -> None:
        """Wait until the searches recorded so far are written (or have failed to be)."""
        self._recorder.flush()
