"""The part of `MemSense` that searches: with the settings in force, recorded when asked for."""

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

from memsense import store
from memsense.client.context import Opened
from memsense.db import read
from memsense.db.connection import Connection
from memsense.errors import (
    ConfigurationError,
    EmbeddingError,
    InvalidInputError,
    ModelMismatchError,
    NotFoundError,
)
from memsense.explain.recorder import Recording
from memsense.search import search as searching
from memsense.search.hits import SearchResult
from memsense.search.profiles import Profile
from memsense.search.recall.run import Filters
from memsense.search.settings import embedder_failure, find_profile, tuned_profile
from memsense.types import JsonValue, MemoryKind
from memsense.write.messages import clean_text, read_time


class Searcher(Opened):
    """Asks memory."""

    _tuned: tuple[store.Namespace, Profile] | None = None

    def search(
        self,
        query: str,
        *,
        top_k: int = searching.DEFAULT_TOP_K,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_ids: Sequence[str] | None = None,
        project: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        granularity: searching.SearchGranularity = "auto",
        exclude: Sequence[int | str] = (),
        tags: Sequence[str] | None = None,
        kinds: Sequence[MemoryKind] | None = None,
        metadata: Mapping[str, JsonValue] | None = None,
        asked_at: datetime | str | None = None,
        profile: str | Profile | None = None,
        overrides: Mapping[str, object] | None = None,
        trace: bool | None = None,
    ) -> SearchResult:
        """The `top_k` memories that answer the question best, each with its arithmetic.

        Without `user_id`, every user of the namespace is searched. Filters hold inside every
        route, so they never thin out the result: `project` stands for its sessions, `since`
        (inclusive) and `until` (exclusive) limit event time, `exclude` names chunks (int) or
        messages (str) that are in the prompt already, `tags` asks for one in common, `metadata`
        for containment. `asked_at` is the moment that "last week" in the question counts from
        (default: now). `granularity`: "turn", "session", or "auto": sessions where session
        chunks are stored.

        A `profile` (shipped, stored, or of your own) is taken as it is; without one, the
        namespace's settings decide, as they are at this moment. `overrides` changes single
        weights and constants of either, for this search alone. `trace` records the search for
        `trace`, `replay` and the views (default: the share of searches that the setting
        trace_sample says).
        """
        options = searching.SearchOptions(
            top_k=top_k,
            user_id=user_id,
            agent_id=agent_id,
            session_ids=session_ids,
            project=project,
            since=since,
            until=until,
            granularity=granularity,
            exclude=exclude,
            tags=tags,
            kinds=kinds,
            metadata=metadata,
            asked_at=asked_at,
            profile=profile,
            overrides=overrides,
        )
        filters = read_filters(query, options)
        started = time.perf_counter()
        with self._recorder.search_running(), read(self._pool) as connection:
            namespace = self._find_namespace(connection)
            if namespace is None:
                return SearchResult(notes=["nothing is stored in this namespace yet"])
            search = self._search(connection, namespace, query, options, filters)
            result = searching.fetch_result(connection, search)
        total = 1000 * (time.perf_counter() - started)
        result = replace(result, timings_ms={**result.timings_ms, "total": total})
        return self._record(search, result) if self._is_traced(trace) else result

    def _search(
        self,
        connection: Connection,
        namespace: store.Namespace,
        query: str,
        options: searching.SearchOptions,
        filters: Filters,
    ) -> searching.Search:
        """Search with the settings as they are now: again, if what was known of them is outdated.

        Recall itself reports their version, so that asking costs no statement.
        """
        try:
            request = self._make_request(connection, namespace, query, options, filters)
            search = self._run_search(connection, request)
        except EmbeddingError as error:
            namespace = self._allow_unembedded(connection, namespace, error)
            request = self._make_request(
                connection, namespace, query, options, filters, unembedded=str(error)
            )
            search = self._run_search(connection, request)
        if search.state.scopes and search.state.settings_version != namespace.settings_version:
            newest = self._reload_namespace(connection) or namespace
            profile = self._choose_profile(connection, newest, options)
            if profile != request.profile:
                search = self._run_search(connection, replace(request, profile=profile))
        if filters.project is not None and not search.candidates:
            self._note_project(connection, namespace, filters.project, search)
        return search

    def _allow_unembedded(
        self, connection: Connection, namespace: store.Namespace, error: EmbeddingError
    ) -> store.Namespace:
        """The namespace as it is now, if its settings let words alone answer; else raises."""
        newest = self._reload_namespace(connection) or namespace
        if isinstance(error, ModelMismatchError) or embedder_failure(newest) != "lexical":
            raise error
        return newest

    def _note_project(
        self,
        connection: Connection,
        namespace: store.Namespace,
        name: str,
        search: searching.Search,
    ) -> None:
        """Tell an unknown project (NotFoundError) and an empty one (a note) from no hits."""
        from memsense.store import projects

        if not projects.fetch_project(connection, namespace, name).session_ids:
            search.notes.append(f"project {name!r} has no sessions yet")

    def _make_request(
        self,
        connection: Connection,
        namespace: store.Namespace,
        query: str,
        options: searching.SearchOptions,
        filters: Filters,
        *,
        unembedded: str = "",
    ) -> searching.SearchRequest:
        profile = self._choose_profile(connection, namespace, options)
        if unembedded and not profile.weights["lexical"]:
            raise EmbeddingError(f"{unembedded}; profile {profile.name!r} has no weight for words")
        if not unembedded:
            store.check_model(namespace, self.embedder.model, self.embedder.dimension)
        return searching.SearchRequest(
            query=clean_text(query),
            tenant_id=namespace.tenant_id,
            namespace=namespace.name,
            user_id=options.get("user_id"),
            top_k=options.get("top_k", searching.DEFAULT_TOP_K),
            granularity=options.get("granularity", "auto"),
            filters=filters,
            profile=profile,
            asked_at=read_time(options.get("asked_at"), "asked_at") or datetime.now(UTC),
            unembedded=unembedded,
        )

    def _choose_profile(
        self,
        connection: Connection,
        namespace: store.Namespace,
        options: searching.SearchOptions,
    ) -> Profile:
        """The call's own profile, else that of `open`, else the settings'; then its overrides."""
        profile = options.get("profile") or self._profile
        if profile is None:
            profile = self._find_tuned(connection, namespace)
        elif isinstance(profile, str):
            profile = self._find_profile(connection, namespace, profile)
        return profile.vary(options.get("overrides") or {})

    def _find_tuned(self, connection: Connection, namespace: store.Namespace) -> Profile:
        """The profile of the namespace's settings; what can't be used may be mended by now."""
        try:
            return self._tune(namespace)
        except ConfigurationError:
            return self._tune(self._reload_namespace(connection) or namespace)

    def _tune(self, namespace: store.Namespace) -> Profile:
        """The profile of the namespace's settings, worked out once per version of them."""
        known = self._tuned
        if known is None or known[0] is not namespace:
            known = (namespace, tuned_profile(namespace, self._settings.profile))
            self._tuned = known
        return known[1]

    def _find_profile(
        self, connection: Connection, namespace: store.Namespace | None, name: str
    ) -> Profile:
        """The shipped or stored profile, which may be newer than what is known."""
        try:
            return find_profile(namespace, name)
        except NotFoundError:
            return find_profile(self._reload_namespace(connection), name)

    def _is_traced(self, wanted: bool | None) -> bool:
        if wanted is None:
            return random.random() < self._settings.trace_sample  # noqa: S311 (sampling)
        return wanted

    def _record(self, search: searching.Search, result: SearchResult) -> SearchResult:
        """Hand the search over to the recorder; the result's notes will tell if that fails."""
        trace_id, notes = uuid4(), list(result.notes)
        recording = Recording(
            trace_id=trace_id,
            search=search,
            shown={hit.explain.chunk_id: hit.chunk_id for hit in result},
            timings=result.timings_ms,
            notes=notes,
        )
        self._recorder.submit(recording)
        return replace(result, notes=notes, trace_id=trace_id)

    def _run_search(
        self, connection: Connection, request: searching.SearchRequest
    ) -> searching.Search:
        """Search with what is known of the scope; once more if that turns out to be outdated."""
        known = self._know(connection, request)
        search = searching.run_search(connection, request, known, self.embedder, self.reranker)
        if known is None or known == (newer := searching.update_known(known, search.state)):
            return search
        assert request.user_id is not None
        self._known.put(request.user_id, newer)
        if searching.asks_alike(request, known, newer):
            return search  # an outdated `promoted` has cost this search time, never its answer
        return searching.run_search(connection, request, newer, self.embedder, self.reranker)

    def _know(
        self, connection: Connection, request: searching.SearchRequest
    ) -> store.KnownScope | None:
        if request.user_id is None:
            return None
        known = self._known.get(request.user_id)
        if known is None:
            known = store.find_scope(
                connection, request.tenant_id, request.namespace, request.user_id
            )
            if known is not None:
                self._known.put(request.user_id, known)
        return known


def read_filters(query: str, options: searching.SearchOptions) -> Filters:
    """The filters of a search, everything that can be checked without a database checked."""
    top_k, granularity = (
        options.get("top_k", searching.DEFAULT_TOP_K),
        options.get("granularity", "auto"),
    )
    searching.check_request(query, top_k, granularity)
    exclude = options.get("exclude", ())
    return Filters(
        session_ids=_texts(options.get("session_ids"), "session_ids"),
        project=options.get("project"),
        agent_id=options.get("agent_id"),
        since=read_time(options.get("since"), "since"),
        until=read_time(options.get("until"), "until"),
        tags=_texts(options.get("tags"), "tags"),
        kinds=_texts(options.get("kinds"), "kinds"),
        metadata=options.get("metadata"),
        exclude_chunks=[item for item in exclude if isinstance(item, int)] or None,
        exclude_messages=[item for item in exclude if isinstance(item, str)] or None,
    )


def _texts(values: Sequence[str] | None, what: str) -> Sequence[str] | None:
    if isinstance(values, str):
        raise InvalidInputError(f"{what} must be a list of texts, not one text")
    return values
