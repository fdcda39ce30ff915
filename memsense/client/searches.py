"""Runs searches: with the settings in force, within what is known, recorded when asked for."""

import random
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

from memsense import store, telemetry
from memsense.client.context import Context
from memsense.client.telling import tell_search
from memsense.client.writes import Writes
from memsense.db import run_read
from memsense.db.connection import Connection
from memsense.embed import Embedder
from memsense.errors import (
    ConfigurationError,
    EmbeddingError,
    ModelMismatchError,
)
from memsense.explain.recorder import Recording
from memsense.search.hits import SearchResult
from memsense.search.plan import SearchPlan, has_same_plan, prepare_search, update_scope
from memsense.search.profiles import Profile
from memsense.search.request import SearchRequest
from memsense.search.search import Search, run_searches
from memsense.search.settings import check_past, embedder_failure
from memsense.search.show import fetch_result, fetch_results, note_unknown_names
from memsense.store.past import fetch_kept_since, find_scope_then
from memsense.types import EmbeddingModel


class Searches:
    """Answers requests within one context."""

    def __init__(
        self, context: Context, writes: Writes, *, model: EmbeddingModel | None = None
    ) -> None:
        """With a `model`, searches use its vectors; without, those of the namespace's."""
        self._context = context
        self._writes = writes
        self._model = model

    def answer(
        self, requests: Sequence[SearchRequest], *, trace: bool | None
    ) -> list[SearchResult]:
        """The hits of requests with the same filters; recorded if `trace` says so, or for the share
        that the settings say."""
        context, started = self._context, time.perf_counter()
        with telemetry.operation("search_memory", context.store_id) as span:
            results = self._answer(requests, trace=trace)
            telemetry.record_search_time(time.perf_counter() - started)
            for _ in filter(lambda result: not result, results):
                telemetry.count_empty(context.store_id)
            if span.is_recording:
                tell_search(span, requests, results, with_text=context.settings.telemetry_text)
        return results

    def _answer(
        self, requests: Sequence[SearchRequest], *, trace: bool | None
    ) -> list[SearchResult]:
        context, started = self._context, time.perf_counter()
        with context.recorder.search_running():
            namespace = context.look_up_namespace()
            if namespace is None:
                note = "nothing is stored in this namespace yet"
                return [SearchResult(notes=[note]) for _ in requests]
            searches = self._run_each(namespace, requests)
            results = run_read(context.pool, lambda it: fetch_results(it, searches))
        total = 1000 * (time.perf_counter() - started)
        timed = [
            replace(result, timings_ms={**result.timings_ms, "total": total}) for result in results
        ]
        return [
            self._record(search, result) if self._is_traced(trace) else result
            for search, result in zip(searches, timed, strict=True)
        ]

    def fetch(self, search: Search) -> SearchResult:
        """The hits of a search that was run."""
        return run_read(self._context.pool, lambda it: fetch_result(it, search))

    def _run_each(
        self, namespace: store.Namespace, requests: Sequence[SearchRequest]
    ) -> list[Search]:
        """The searches of all requests, recalled in one round trip."""
        if len(requests) == 1:
            return [self.run(namespace, requests[0])]
        try:
            searches = self._run_plans([self._plan(namespace, request) for request in requests])
        except EmbeddingError:  # each alone, as far as the settings let words answer
            return [self.run(namespace, request) for request in requests]
        settled = [self._settle(namespace, search) for search in searches]
        return [self._with_sessions(namespace, search) for search in settled]

    def run(self, namespace: store.Namespace, request: SearchRequest) -> Search:
        """Search, with the session chunks that it waits for."""
        return self._with_sessions(namespace, self._run_current(namespace, request))

    def _with_sessions(self, namespace: store.Namespace, search: Search) -> Search:
        if not search.awaits_sessions:
            return search
        self._writes.make_sessions(search.request.user_id)
        return self._run_current(namespace, search.request)

    def _run_current(self, namespace: store.Namespace, request: SearchRequest) -> Search:
        """Search with the settings as they are now: again, if what was known of them is outdated.

        Recall itself reports their version, so that asking costs no statement.
        """
        try:
            search = self._run_plan(self._plan(namespace, request))
        except EmbeddingError as error:
            namespace = self._allow_unembedded(namespace, error)
            search = self._run_plan(self._plan(namespace, request, unembedded=str(error)))
        return self._settle(namespace, search)

    def _settle(self, namespace: store.Namespace, search: Search) -> Search:
        """The search, run again where it turns out that it was run with what is outdated."""
        plan, request = search.plan, search.request
        if search.state.scopes and search.state.settings_version != namespace.settings_version:
            newest = self._reload_namespace() or namespace
            profile = self._choose_profile(newest, request)
            if profile != plan.profile and not self._is_outdated(search):
                search = self._run_plan(replace(plan, profile=profile))
        search = self._follow_model(search)
        if search.state.waiting:
            self._context.wake_worker()
        if search.has_sessions_only:
            request = replace(request, granularity="session")
            search = self._run_plan(replace(search.plan, request=request))
            search.notes.append("only whole sessions are stored here: they are returned")
        if (project := request.filters.get("project")) is not None and not search.candidates:
            self._note_project(namespace, project, search)
        if not search.candidates:
            pool = self._context.pool
            search.notes += run_read(pool, lambda it: note_unknown_names(it, namespace, request))
        return search

    def rerun(self, namespace: store.Namespace, request: SearchRequest) -> Search:
        """Search just as the request says, whatever the settings are by now."""
        return self._follow_model(self._run_plan(self._plan(namespace, request)))

    def _is_outdated(self, search: Search) -> bool:
        """Whether the namespace is searched with another model than this search was."""
        in_use = search.state.model_id
        return (
            self._model is None and in_use is not None and in_use != search.recall_request.model_id
        )

    def _follow_model(self, search: Search) -> Search:
        """The search, run again with the model that is in use if it was run with another one.

        Vectors of the other one are read as long as they are there, and none of two models.
        """
        if not self._is_outdated(search):
            return search
        newest = self._reload_namespace()
        if newest is None:
            return search
        unembedded = search.plan.unembedded
        return self._run_plan(self._plan(newest, search.request, unembedded=unembedded))

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
        if not unembedded and self._model is None:
            namespace = self._context.with_embedder(namespace)
            embedder = self._context.embedders.of(namespace)
            store.check_model(namespace, embedder.model, embedder.dimension)
        return SearchPlan(
            request=request,
            tenant_id=namespace.tenant_id,
            namespace=namespace.name,
            model=self._model or namespace.in_use,
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
            hit_chunks={hit.explain.chunk_id: hit.chunk_id for hit in result},
            timings=result.timings_ms,
            notes=notes,
        )
        self._context.recorder.submit(recording)
        return replace(result, notes=notes, trace_id=trace_id)

    def _run_plan(self, plan: SearchPlan) -> Search:
        return self._run_plans([plan])[0]

    def _run_plans(self, plans: Sequence[SearchPlan]) -> list[Search]:
        """Search with what is known of the scope; once more if that turns out to be outdated."""
        known = [self._know(plan) for plan in plans]
        searches = self._run_knowing(list(zip(plans, known, strict=True)))
        return [
            self._update_known(each, search) for each, search in zip(known, searches, strict=True)
        ]

    def _run_knowing(
        self, given: Sequence[tuple[SearchPlan, store.KnownScope | None]]
    ) -> list[Search]:
        context = self._context
        prepared = [prepare_search(plan, known, self._embedder_of(plan)) for plan, known in given]
        return run_searches(context.pool, prepared, context.reranker)

    def _embedder_of(self, plan: SearchPlan) -> Embedder:
        if plan.model is None or plan.unembedded:
            return self._context.embedders.own
        return self._context.embedders.require(plan.model)

    def _update_known(self, known: store.KnownScope | None, search: Search) -> Search:
        plan = search.plan
        if known is None or plan.request.as_of is not None:
            return search
        if known == (newer := update_scope(known, search.state)):
            return search
        assert plan.request.user_id is not None
        self._context.known.put(plan.request.user_id, newer)
        if has_same_plan(plan, known, newer):
            return search  # an outdated `indexed` has cost this search time, never its answer
        return self._run_knowing([(plan, newer)])[0]

    def _know_then(self, plan: SearchPlan, as_of: datetime) -> store.KnownScope | None:
        """What was known of the scope; raises ConfigurationError where its past is not kept."""
        user_id, context = plan.request.user_id, self._context

        def fetch(connection: Connection) -> store.KnownScope | None:
            namespace = context.require_namespace(connection)
            check_past(fetch_kept_since(connection, namespace), as_of)
            if user_id is None:
                return None
            return find_scope_then(connection, plan.tenant_id, plan.namespace, user_id, as_of)

        return run_read(context.pool, fetch)

    def _know(self, plan: SearchPlan) -> store.KnownScope | None:
        if plan.request.as_of is not None:
            return self._know_then(plan, plan.request.as_of)
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
