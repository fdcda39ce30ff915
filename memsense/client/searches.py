"""Searches of a memory: with the settings in force, the scope's state, and recording."""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC
from typing import TYPE_CHECKING
from uuid import uuid4

from memsense import telemetry
from memsense.client.context import Context, no_chunk
from memsense.client.spans import describe_search
from memsense.db import Pool, run_read
from memsense.db.connection import Connection
from memsense.embed import Embedder
from memsense.errors import ConfigurationError, EmbeddingError, ModelMismatchError
from memsense.search.hits import SearchResult
from memsense.search.neighbours import add_neighbours, plan_anchor
from memsense.search.plan import (
    EVERYONE,
    PreparedSearch,
    SearchPlan,
    choose_models,
    has_same_plan,
    prepare_search,
    update_scope,
)
from memsense.search.profiles import Profile
from memsense.search.request import SearchRequest
from memsense.search.search import Search, run_searches
from memsense.search.settings import check_past, choose_calendar, embedder_failure
from memsense.search.show import fetch_result, fetch_results, note_other_types, note_unknown_names
from memsense.store.past import fetch_kept_since, find_scope_then
from memsense.store.scopes import KnownScope, Namespace, check_model, find_every_scope, find_scope
from memsense.types import EmbeddingModel, Note

if TYPE_CHECKING:
    from memsense.client.writing import Writes
    from memsense.explain.why_not import Verdict


class Searches:
    """Searcher within one context."""

    def __init__(
        self,
        context: Context,
        writes: "Callable[[], Writes]",
        *,
        model: EmbeddingModel | None = None,
        pool: Pool | None = None,
    ) -> None:
        """Use the vectors of `model` if one is given, else those of the namespace's model.

        `writes` is called where session chunks have to be made first. Memories are read from
        `pool`, by default the context's own.
        """
        self._context = context
        self._pool = pool or context.pool
        self._writes = writes
        self._model = model

    def _on(self, pool: Pool) -> "Searches":
        return Searches(self._context, self._writes, model=self._model, pool=pool)

    def answer(
        self, requests: Sequence[SearchRequest], *, trace: bool | None, counts: bool = True
    ) -> list[SearchResult]:
        """Return the results of requests with the same filters.

        They are recorded if `trace` is true, and a share of them if it is None, by the setting
        `trace_sample`. Unless `counts` is false, they are in the statistics of searches.
        """
        context, started = self._context, time.perf_counter()
        answered: list[SearchResult] | None = None
        # Recorded searches and spans hold the question.
        requests = [replace(it, query=context.clean(it.query) or "[private]") for it in requests]
        try:
            with telemetry.operation("search_memory", context.store_id) as span:
                with context.recorder.search_running():
                    results = context.read(lambda it: self._on(it).find(requests, trace=trace))
                answered = results
                telemetry.record_search_time(time.perf_counter() - started)
                for result in results:
                    if not result.hits:
                        telemetry.count_empty(context.store_id)
                if span.is_recording:
                    describe_search(
                        span, requests, results, with_text=context.settings.telemetry_text
                    )
        finally:
            if counts:
                each = 1000 * (time.perf_counter() - started) / len(requests)
                context.search_meter.count(context.settings.tenant, requests, answered, each)
        return results

    def find(self, requests: Sequence[SearchRequest], *, trace: bool | None) -> list[SearchResult]:
        """Return the results of requests, all read from this searcher's pool."""
        context, started = self._context, time.perf_counter()
        namespace = context.look_up_namespace()
        if namespace is None:
            for request in requests:
                self._choose_profile(None, request)  # a wrong name is refused all the same
            note = Note("empty", "nothing is stored in this namespace yet")
            return [SearchResult(notes=[note]) for _ in requests]
        if len(requests) == 1:
            searches = [self.run(namespace, requests[0])]
        else:
            try:
                # All questions are recalled in one round trip.
                searches = self._run_plans([self._plan(namespace, it) for it in requests])
            except EmbeddingError:
                # One by one, because words alone may answer some of the questions.
                searches = [self.run(namespace, request) for request in requests]
            else:
                searches = [self._settle(namespace, search) for search in searches]
                searches = [self._with_sessions(namespace, search) for search in searches]
        results = run_read(self._pool, lambda it: fetch_results(it, searches))
        total = 1000 * (time.perf_counter() - started)
        answers: list[SearchResult] = []
        for search, result in zip(searches, results, strict=True):
            answer = replace(result, timings_ms={**result.timings_ms, "total": total})
            is_traced = trace
            if is_traced is None:
                is_traced = random.random() < context.settings.trace_sample  # noqa: S311 (sampling)
            answers.append(self._record(search, answer) if is_traced else answer)
        return answers

    def fetch(self, search: Search) -> SearchResult:
        """Return the hits of a search that was run."""
        return run_read(self._pool, lambda it: fetch_result(it, search))

    def run(self, namespace: Namespace, request: SearchRequest) -> Search:
        """Run a search, and make the session chunks that it needs first."""
        return self._with_sessions(namespace, self._run_current(namespace, request))

    def rerun(self, namespace: Namespace, request: SearchRequest) -> Search:
        """Run a search just as the request says, even if the settings have changed since."""
        return self._follow_model(self._run_plans([self._plan(namespace, request)])[0])

    def explain_absence(self, request: SearchRequest, chunk_id: int) -> "Verdict":
        """Return why a chunk is no hit of a request; raise NotFoundError if there is none."""
        from memsense.explain.why_not import explain_absence

        def explain(pool: Pool) -> "Verdict | None":
            searcher = self._on(pool)
            search = searcher.run(run_read(pool, self._context.require_namespace), request)
            result = searcher.fetch(search)
            return run_read(pool, lambda it: explain_absence(it, search, result, chunk_id))

        verdict = self._context.read(explain)
        if verdict is None:
            raise no_chunk(chunk_id)
        return verdict

    def _with_sessions(self, namespace: Namespace, search: Search) -> Search:
        if not search.awaits_sessions:
            return search
        self._writes().make_sessions(search.request.user_id)
        return self._run_current(namespace, search.request)

    def _run_current(self, namespace: Namespace, request: SearchRequest) -> Search:
        try:
            [search] = self._run_plans([self._plan(namespace, request)])
        except EmbeddingError as error:
            # The namespace may let words alone answer, by a setting that is newer than ours.
            namespace = self._reload_namespace() or namespace
            if isinstance(error, ModelMismatchError) or embedder_failure(namespace) != "lexical":
                raise
            [search] = self._run_plans([self._plan(namespace, request, unembedded=str(error))])
        return self._settle(namespace, search)

    def _settle(self, namespace: Namespace, search: Search) -> Search:
        """Return the search, run again if it turns out that its settings or model were outdated.

        Recall itself reports the settings' version and the model in use, so that checking them
        costs no statement of its own.
        """
        plan, request = search.plan, search.request
        if search.state.scopes and search.state.settings_version != namespace.settings_version:
            newest = self._reload_namespace() or namespace
            profile = self._choose_profile(newest, request)
            now = plan.asked_at.astimezone(UTC)
            asked_at, calendar = choose_calendar(newest, request, now)
            is_outdated = (profile, calendar) != (plan.profile, plan.calendar)
            if is_outdated and not self._has_other_model(search):
                plan = replace(plan, profile=profile, asked_at=asked_at, calendar=calendar)
                [search] = self._run_plans([plan])
        search = self._follow_model(search)
        if search.state.waiting:
            self._context.wake_worker()
        if search.has_sessions_only:
            request = replace(request, granularity="session")
            [search] = self._run_plans([replace(search.plan, request=request)])
            text = "only whole sessions are stored here: they are returned"
            search.notes.append(Note("sessions", text))
        if search.candidates:
            return search
        # Say why there are no hits: an unknown project is an error, an empty one a note.
        pool = self._pool
        if (project := request.filters.project) is not None:
            from memsense.store import projects

            row = run_read(
                pool,
                lambda it: projects.check_project(it, namespace, project, user_id=request.user_id),
            )
            if not row.session_ids and not row.sessions:
                search.notes.append(Note("empty", f"project {project!r} has no sessions yet"))
        search.notes += note_unknown_names(pool, namespace, request)
        search.notes += note_other_types(pool, namespace, request)
        return search

    def _has_other_model(self, search: Search) -> bool:
        """Return whether the namespace is searched with another model than this search used."""
        in_use, used = search.state.model_id, search.plan.model
        used_id = used.model_id if used else None
        return self._model is None and in_use is not None and in_use != used_id

    def _follow_model(self, search: Search) -> Search:
        """Return the search, run again with the model in use if that has changed meanwhile.

        Vectors of the former model are compared while they exist; those of two models never are.
        """
        if not self._has_other_model(search):
            return search
        newest = self._reload_namespace()
        if newest is None:
            return search
        plan = self._plan(newest, search.request, unembedded=search.plan.unembedded)
        return self._run_plans([plan])[0]

    def _plan(
        self, namespace: Namespace, request: SearchRequest, *, unembedded: str = ""
    ) -> SearchPlan:
        profile = self._choose_profile(namespace, request)
        asked_at, calendar = choose_calendar(namespace, request)
        if unembedded and not profile.weights["lexical"]:
            raise EmbeddingError(f"{unembedded}; profile {profile.name!r} has no weight for words")
        if not unembedded and self._model is None:
            namespace = self._context.with_embedder(namespace)
            embedder = self._context.embedders.of(namespace)
            check_model(namespace, embedder.model, embedder.dimension)
        return SearchPlan(
            request=request,
            tenant_id=namespace.tenant_id,
            namespace=namespace.name,
            model=self._model or namespace.in_use,
            second=None if self._model or unembedded else self._context.find_second(namespace),
            profile=profile,
            asked_at=asked_at,
            calendar=calendar,
            language=namespace.language,
            unembedded=unembedded,
            recall_timeout=self._context.settings.recall_timeout,
        )

    def _choose_profile(self, namespace: Namespace | None, request: SearchRequest) -> Profile:
        """Return the call's profile, else that of `open`, else the settings', with overrides."""
        context = self._context
        profile = request.profile or context.profile
        if isinstance(profile, str):
            name = profile
            profile = run_read(self._pool, lambda it: context.find_profile(it, namespace, name))
        elif profile is None:
            try:
                profile = context.tune(namespace)
            except ConfigurationError:
                # Settings that can't be used may have been corrected by another process.
                profile = context.tune(self._reload_namespace() or namespace)
        return profile.vary(request.overrides)

    def _reload_namespace(self) -> Namespace | None:
        return run_read(self._context.pool, self._context.reload_namespace)

    def _record(self, search: Search, result: SearchResult) -> SearchResult:
        """Hand the search to the recorder, which adds a note to the result if it fails."""
        from memsense.explain.recorder import Recording

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

    # Running plans with the state of their scopes ------------------------------------------------

    def _run_plans(self, plans: Sequence[SearchPlan]) -> list[Search]:
        """Run searches with the known state of their scopes.

        The state (speakers, index, tokens) is cached; recall reports the current one, and a
        search whose plan would have been another with it is run once more.
        """
        states = [self._scope_state(plan) for plan in plans]
        searches = self._run_with_states(list(zip(plans, states, strict=True)))
        for at, (plan, state) in enumerate(zip(plans, states, strict=True)):
            user_id = plan.request.user_id
            if state is None or plan.request.as_of is not None:
                continue
            newer = update_scope(state, searches[at].state)
            if newer == state:
                continue
            self._context.scope_states.put(user_id or EVERYONE, newer)
            # An outdated `indexed` costs a search time, but never changes its answer.
            if not has_same_plan(plan, state, newer):
                [searches[at]] = self._run_with_states([(plan, newer)])
        return searches

    def _run_with_states(
        self, pairs: Sequence[tuple[SearchPlan, KnownScope | None]]
    ) -> list[Search]:
        embedders = self._context.embedders
        prepared: list[PreparedSearch] = []
        for plan, state in pairs:

            def find_embedder(
                model: EmbeddingModel | None, unembedded: str = plan.unembedded
            ) -> Embedder:
                if model is None or unembedded:
                    return embedders.own
                return embedders.require(model)

            chosen = choose_models(plan, state)
            search = prepare_search(plan, state, chosen, find_embedder)
            if anchor := plan_anchor(search):
                [matches] = self._run_with_states([(anchor, state)])
                search = add_neighbours(self._pool, search, matches)
            prepared.append(search)
        return run_searches(self._pool, prepared, self._context.reranker)

    def _scope_state(self, plan: SearchPlan) -> KnownScope | None:
        """Return the known state of the user's scope, or of all users'; None for a new user.

        Raises ConfigurationError if `as_of` lies before the history that is stored.
        """
        user_id, as_of, context = plan.request.user_id, plan.request.as_of, self._context
        if as_of is not None:

            def fetch_past(connection: Connection) -> KnownScope | None:
                namespace = context.require_namespace(connection)
                check_past(fetch_kept_since(connection, namespace), as_of)
                if user_id is None:
                    return find_every_scope(connection, plan.tenant_id, plan.namespace)
                return find_scope_then(connection, plan.tenant_id, plan.namespace, user_id, as_of)

            return run_read(self._pool, fetch_past)
        state = context.scope_states.get(user_id or EVERYONE)
        if state is None:
            state = run_read(
                self._pool,
                lambda it: (
                    find_every_scope(it, plan.tenant_id, plan.namespace)
                    if user_id is None
                    else find_scope(it, plan.tenant_id, plan.namespace, user_id)
                ),
            )
            if state is not None:
                context.scope_states.put(user_id or EVERYONE, state)
        return state
