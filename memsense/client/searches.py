"""Runs searches: with the settings in force, within what is known, recorded when asked for."""

import random
import time
from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

from memsense import store
from memsense.client.context import Context
from memsense.client.writes import Writes
from memsense.db import run_read
from memsense.errors import (
    ConfigurationError,
    EmbeddingError,
    ModelMismatchError,
)
from memsense.explain.recorder import Recording
from memsense.search import search as searching
from memsense.search.absence import absence_notes
from memsense.search.hits import SearchResult
from memsense.search.profiles import Profile
from memsense.search.request import SearchRequest
from memsense.search.search import Search, SearchPlan
from memsense.search.settings import embedder_failure


class Searches:
    """Answers requests within one context."""

    def __init__(self, context: Context, writes: Writes) -> None:
        self._context = context
        self._writes = writes

    def answer(self, request: SearchRequest, *, trace: bool | None) -> SearchResult:
        """The hits, recorded if `trace` says so, or for the share that the settings say."""
        context, started = self._context, time.perf_counter()
        with context.recorder.search_running():
            namespace = context.look_up_namespace()
            if namespace is None:
                return SearchResult(notes=["nothing is stored in this namespace yet"])
            search = self.run(namespace, request)
            if search.awaits_sessions:
                self._writes.make_sessions(request.user_id)
                search = self.run(namespace, request)
            result = self.fetch(search)
        total = 1000 * (time.perf_counter() - started)
        result = replace(result, timings_ms={**result.timings_ms, "total": total})
        return self._record(search, result) if self._is_traced(trace) else result

    def make_awaited(self, request: SearchRequest) -> None:
        """Make the session chunks that a search with this request would make first."""
        namespace = self._context.look_up_namespace()
        if namespace is None:
            return
        wanted = request.granularity or self._choose_profile(namespace, request).granularity
        if wanted == "session":
            self._writes.make_sessions(request.user_id)

    def fetch(self, search: Search) -> SearchResult:
        """The hits of a search that was run."""
        return run_read(self._context.pool, lambda it: searching.fetch_result(it, search))

    def run(self, namespace: store.Namespace, request: SearchRequest) -> Search:
        """Search with the settings as they are now: again, if what was known of them is outdated.

        Recall itself reports their version, so that asking costs no statement.
        """
        try:
            plan = self._plan(namespace, request)
            search = self._run_plan(plan)
        except EmbeddingError as error:
            namespace = self._allow_unembedded(namespace, error)
            plan = self._plan(namespace, request, unembedded=str(error))
            search = self._run_plan(plan)
        if search.state.scopes and search.state.settings_version != namespace.settings_version:
            newest = self._reload_namespace() or namespace
            profile = self._choose_profile(newest, request)
            if profile != plan.profile:
                search = self._run_plan(replace(plan, profile=profile))
        if searching.holds_sessions_only(search):
            request = request.model_copy(update={"granularity": "session"})
            search = self._run_plan(replace(search.plan, request=request))
            search.notes.append("only whole sessions are stored here: they are returned")
        if request.filters.project is not None and not search.candidates:
            self._note_project(namespace, request.filters.project, search)
        if not search.candidates:
            pool = self._context.pool
            search.notes += run_read(pool, lambda it: absence_notes(it, namespace, request))
        return search

    def rerun(self, namespace: store.Namespace, request: SearchRequest) -> Search:
        """Search just as the request says, whatever the settings are by now."""
        return self._run_plan(self._plan(namespace, request))

    def _allow_unembedded(
        self, namespace: store.Namespace, error: EmbeddingError
    ) -> store.Namespace:
        """The namespace as it is now, if its settings let words alone answer; else raises."""
        newest = self._reload_namespace() or namespace
        if isinstance(error, ModelMismatchError) or embedder_failure(newest) != "lexical":
            raise error
        return newest

    def _note_project(self, namespace: store.Namespace, name: str, search: Search) -> None:
        """Tell an unknown project (NotFoundError) and an empty one (a note) from no hits."""
        from memsense.store import projects

        found = run_read(self._context.pool, lambda it: projects.fetch_project(it, namespace, name))
        if not found.session_ids:
            search.notes.append(f"project {name!r} has no sessions yet")

    def _plan(
        self, namespace: store.Namespace, request: SearchRequest, *, unembedded: str = ""
    ) -> SearchPlan:
        profile = self._choose_profile(namespace, request)
        if unembedded and not profile.weights["lexical"]:
            raise EmbeddingError(f"{unembedded}; profile {profile.name!r} has no weight for words")
        if not unembedded:
            embedder = self._context.embedder
            store.check_model(namespace, embedder.model, embedder.dimension)
        return SearchPlan(
            request=request,
            tenant_id=namespace.tenant_id,
            namespace=namespace.name,
            profile=profile,
            asked_at=request.asked_at or datetime.now(UTC),
            unembedded=unembedded,
            recall_timeout=self._context.settings.recall_timeout,
        )

    def _choose_profile(self, namespace: store.Namespace, request: SearchRequest) -> Profile:
        """The call's own profile, else that of `open`, else the settings'; then its overrides."""
        profile = request.profile or self._context.profile
        if profile is None:
            profile = self._find_tuned(namespace)
        elif isinstance(profile, str):
            name = profile
            profile = run_read(
                self._context.pool, lambda it: self._context.find_profile(it, namespace, name)
            )
        return profile.vary(request.overrides)

    def _find_tuned(self, namespace: store.Namespace) -> Profile:
        """The profile of the namespace's settings; what can't be used may be mended by now."""
        try:
            return self._context.tune(namespace)
        except ConfigurationError:
            return self._context.tune(self._reload_namespace() or namespace)

    def _reload_namespace(self) -> store.Namespace | None:
        return run_read(self._context.pool, self._context.reload_namespace)

    def _is_traced(self, wanted: bool | None) -> bool:
        if wanted is None:
            return random.random() < self._context.settings.trace_sample  # noqa: S311 (sampling)
        return wanted

    def _record(self, search: Search, result: SearchResult) -> SearchResult:
        """Hand the search over to the recorder; the result's notes will tell if that fails."""
        trace_id, notes = uuid4(), list(result.notes)
        recording = Recording(
            trace_id=trace_id,
            search=search,
            shown={hit.explain.chunk_id: hit.chunk_id for hit in result},
            timings=result.timings_ms,
            notes=notes,
        )
        self._context.recorder.submit(recording)
        return replace(result, notes=notes, trace_id=trace_id)

    def _run_plan(self, plan: SearchPlan) -> Search:
        """Search with what is known of the scope; once more if that turns out to be outdated."""
        context, user_id = self._context, plan.request.user_id
        known = self._know(plan)
        search = searching.run_search(context.pool, plan, known, context.embedder, context.reranker)
        if known is None or known == (newer := searching.update_known(known, search.state)):
            return search
        assert user_id is not None
        context.known.put(user_id, newer)
        if searching.asks_alike(plan, known, newer):
            return search  # an outdated `indexed` has cost this search time, never its answer
        return searching.run_search(context.pool, plan, newer, context.embedder, context.reranker)

    def _know(self, plan: SearchPlan) -> store.KnownScope | None:
        user_id, known = plan.request.user_id, None
        if user_id is not None:
            known = self._context.known.get(user_id)
            if known is None:
                known = run_read(
                    self._context.pool,
                    lambda it: store.find_scope(it, plan.tenant_id, plan.namespace, user_id),
                )
                if known is not None:
                    self._context.known.put(user_id, known)
        return known
