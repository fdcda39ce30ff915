"""MemSense: the one class that users of the Python API need."""

import random
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Self, Unpack
from uuid import UUID, uuid4

import psycopg

from memsense import migrate, store
from memsense.config import Settings, load_settings
from memsense.db import check_server, connect, database_errors, open_pool, read, transaction
from memsense.db.connection import Connection, Pool
from memsense.db.embedded import EmbeddedServer
from memsense.embed import CachedQueries, Embedder
from memsense.engine import searching
from memsense.engine.drafting import Annotations, Drafter
from memsense.engine.ingesting import (
    IngestJob,
    IngestReport,
    find_sources,
    plan_ingest,
    run_ingest,
)
from memsense.engine.known import KnownScopes
from memsense.engine.messages import clean_text, read_messages, read_time
from memsense.engine.models import open_named_embedder, open_reranker, open_tagger
from memsense.engine.replay import Comparison, Replay, read_trace_id, replay_trace
from memsense.engine.tracing import Recording, TraceRecorder, standing_values
from memsense.engine.vectors import BatchVectors, texts_of
from memsense.engine.whynot import Verdict, judge
from memsense.errors import InvalidInputError, NotFoundError
from memsense.facets import FACETS, FacetTagger
from memsense.hits import SearchResult
from memsense.ingest import ReadOptions
from memsense.profiles import Profile, get_profile
from memsense.recall import Filters
from memsense.rerankers import Reranker
from memsense.store import traces as recorded
from memsense.types import (
    Chunk,
    Event,
    Granularity,
    IngestMode,
    JsonValue,
    MemoryKind,
    ScopeStatistics,
    SessionDraft,
    SessionWrite,
)

PROMOTION = 0.15
"""How much promote and demote change a memory score."""


class MemSense:
    """An agent's memory in PostgreSQL.

        with MemSense.open() as memory:
            memory.add([{"role": "user", "content": "I moved to Lisbon."}],
                       user_id="ada", session_id="monday")
            hits = memory.search("Where does Ada live?", user_id="ada")

    Safe to share between threads. Everything happens within one tenant and one namespace.
    """

    def __init__(
        self,
        pool: Pool,
        *,
        settings: Settings,
        profile: Profile,
        embedder: Embedder | None = None,
        tagger: FacetTagger | None = None,
        reranker: Reranker | None = None,
        server: EmbeddedServer | None = None,
    ) -> None:
        """Use `MemSense.open`; this takes over an open pool and, if given, an embedded server."""
        self._pool = pool
        self._settings = settings
        self._profile = profile
        self._given_embedder = embedder
        self._tagger = tagger or open_tagger(settings)
        self._given_reranker = reranker
        self._server = server
        self._known = KnownScopes()
        self._namespace: store.Namespace | None = None
        self._recorder = TraceRecorder(lambda: transaction(pool))

    @classmethod
    def open(
        cls,
        url: str | None = None,
        *,
        profile: str | Profile | None = None,
        embedder: Embedder | None = None,
        tenant: str | None = None,
        namespace: str | None = None,
        settings: Settings | None = None,
        tagger: FacetTagger | None = None,
        reranker: Reranker | None = None,
    ) -> Self:
        """Connect to `url`, else to MEMSENSE_DATABASE_URL, else to the embedded server.

        The embedded server is started and its database prepared on first use; a database of
        yours needs `memsense init` once. Raises ConnectionFailedError, ServerTooOldError,
        SchemaError or ConfigurationError, each naming the remedy.
        """
        chosen = settings or load_settings()
        changes = {"database_url": url, "tenant": tenant, "namespace": namespace}
        chosen = chosen.model_copy(update={k: v for k, v in changes.items() if v is not None})
        ranking = profile or chosen.profile
        server = None if chosen.database_url else EmbeddedServer(chosen.data_dir)
        try:
            address = chosen.database_url or _start_embedded(server)
            _check_database(address)
            pool = open_pool(
                address,
                min_size=chosen.pool_min_size,
                max_size=chosen.pool_max_size,
                timeout=chosen.pool_timeout,
            )
        except BaseException:
            if server is not None:
                server.release()
            raise
        return cls(
            pool,
            settings=chosen,
            profile=get_profile(ranking) if isinstance(ranking, str) else ranking,
            embedder=embedder,
            tagger=tagger,
            reranker=reranker,
            server=server,
        )

    def close(self) -> None:
        """Write waiting traces and close; the embedded server stops when nobody else uses it."""
        self._recorder.close()
        self._pool.close()
        if self._server is not None:
            self._server.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @cached_property
    def embedder(self) -> Embedder:
        """What turns texts into vectors, made at first use, with a cache of questions."""
        inner = self._given_embedder or open_named_embedder(self._settings)
        size = self._settings.query_cache_size
        return CachedQueries(inner, size) if size else inner

    @cached_property
    def reranker(self) -> Reranker | None:
        """What reads question and texts together after fusion; None unless one was given or set."""
        return self._given_reranker or open_reranker(self._settings)

    # Writing

    def add(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        user_id: str,
        session_id: str,
        agent_id: str | None = None,
        mode: IngestMode = "hybrid",
        task_tag: str | None = None,
        tags: Sequence[str] = (),
        facets: Mapping[str, str] | None = None,
        memory_kind: MemoryKind | None = None,
        confidence: float = 1.0,
        metadata: Mapping[str, JsonValue] | None = None,
        conn: psycopg.Connection[Any] | None = None,
    ) -> list[Chunk]:
        """Store messages `{"role", "content", "id"?, "at"?, "name"?}` as exchanges, in order.

        All or nothing: one transaction, or a savepoint in the caller's `conn`. The same
        exchange within ten minutes of event time is stored once, and its first chunk returned.
        Facets (`personal_info`, `preferences`, `events`), tags and task_tag win over the rules'.
        """
        now = datetime.now(UTC)
        conversation = read_messages(messages, session_id=_name(session_id, "session_id"), now=now)
        annotations = Annotations(
            agent_id=agent_id,
            task_tag=task_tag,
            tags=tuple(tags),
            facets=_check_facets(facets or {}),
            memory_kind=memory_kind,
            confidence=_check_share(confidence, "confidence"),
            metadata=dict(metadata or {}),
        )
        drafter = Drafter(tagger=self._tagger, mode=mode, ledger=False, annotations=annotations)
        draft = drafter.draft(conversation, _name(user_id, "user_id"))
        vectors = BatchVectors(self.embedder)
        vectors.prepare(texts_of([draft]))
        if conn is not None:
            self._begin(conn)
        with transaction(self._pool, conn) as connection:
            namespace = self._open_namespace(connection)
            write = self._write(connection, namespace, draft, vectors)
            return store.fetch_chunks(connection, namespace, write.chunk_ids)

    def _begin(self, connection: psycopg.Connection[Any]) -> None:
        """Begin the caller's transaction, unless it has begun or the connection is in autocommit.

        Any first statement does; else the savepoint would become a transaction and be committed.
        """
        with database_errors():
            store.find_tenant(connection, self._settings.tenant)

    def ingest(
        self,
        *paths: str | Path,
        user_id: str | None = None,
        mode: IngestMode = "hybrid",
        options: ReadOptions | None = None,
        annotations: Annotations | None = None,
        dry_run: bool = False,
        on_start: Callable[[int], object] = lambda _: None,
        on_bytes: Callable[[int], object] = lambda _: None,
        on_session: Callable[[IngestReport], object] = lambda _: None,
    ) -> IngestReport:
        """Read logs of any known format (files, folders, globs, archives) into memory, once.

        What was ingested before is left alone, what grew is completed, what was edited is
        replaced; every session is a transaction of its own, so an interrupted run is resumed by
        running it again. `user_id` owns what is read, unless the log names a user of its own;
        without either it is "default". `dry_run` stores nothing. Raises IngestError.
        """
        report = IngestReport(dry_run=dry_run)
        sources = find_sources([str(path) for path in paths], report)
        on_start(sum(source.size or 0 for source in sources))
        reading = options or ReadOptions()
        drafter = Drafter(
            tagger=self._tagger,
            mode=mode,
            ledger=True,
            user_speaker=reading.user_speaker,
            annotations=annotations or Annotations(),
        )
        job = IngestJob(
            drafter=drafter,
            options=reading,
            user_id=user_id,
            missing=self._missing,
            write=self._write_draft,
            vectors=lambda: BatchVectors(self.embedder),
            on_bytes=on_bytes,
            on_session=on_session,
        )
        return (plan_ingest if dry_run else run_ingest)(sources, job, report)

    def _missing(self, draft: SessionDraft) -> SessionDraft:
        with read(self._pool) as connection:
            namespace = self._find_namespace(connection)
            return store.select_missing(connection, namespace, draft) if namespace else draft

    def _write_draft(self, draft: SessionDraft, vectors: BatchVectors) -> SessionWrite:
        with transaction(self._pool) as connection:
            return self._write(connection, self._open_namespace(connection), draft, vectors)

    def _write(
        self,
        connection: Connection,
        namespace: store.Namespace,
        draft: SessionDraft,
        vectors: BatchVectors,
    ) -> SessionWrite:
        scope = store.lock_scope(connection, namespace, draft.user_id)
        return store.write_session(connection, scope, draft, vectors)

    def _open_namespace(self, connection: Connection) -> store.Namespace:
        """The namespace for writing, made if new; only reads, which see it committed, keep it."""
        if self._namespace is not None and self._namespace.model_id is not None:
            store.check_model(self._namespace, self.embedder.model, self.embedder.dimension)
            return self._namespace
        return store.open_namespace(
            connection,
            tenant=self._settings.tenant,
            name=self._settings.namespace,
            language=self._settings.language,
            model=self.embedder.model,
            dimension=self.embedder.dimension,
        )

    def _find_namespace(self, connection: Connection) -> store.Namespace | None:
        """The namespace for reading; None before its first write."""
        if self._namespace is None:
            tenant_id = store.find_tenant(connection, self._settings.tenant)
            if tenant_id is not None:
                name = self._settings.namespace
                self._namespace = store.find_namespace(connection, tenant_id, name)
        return self._namespace

    # Searching

    def search(
        self,
        query: str,
        *,
        top_k: int = searching.DEFAULT_TOP_K,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_ids: Sequence[str] | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        granularity: searching.SearchGranularity = "auto",
        exclude: Sequence[int | str] = (),
        tags: Sequence[str] | None = None,
        kinds: Sequence[MemoryKind] | None = None,
        metadata: Mapping[str, JsonValue] | None = None,
        asked_at: datetime | str | None = None,
        profile: str | Profile | None = None,
        trace: bool | None = None,
    ) -> SearchResult:
        """The `top_k` memories that answer the question best, each with its arithmetic.

        Without `user_id`, every user of the namespace is searched. Filters hold inside every
        route, so they never thin out the result: `since` (inclusive) and `until` (exclusive)
        limit event time, `exclude` names chunks (int) or messages (str) that are in the prompt
        already, `tags` asks for one in common, `metadata` for containment. `asked_at` is the
        moment that "last week" in the question counts from (default: now). `granularity`:
        "turn", "session", or "auto": sessions where session chunks are stored. `trace` records
        the search for `trace`, `replay` and the views (default: the share of searches
        that the setting trace_sample says).
        """
        options = searching.SearchOptions(
            top_k=top_k,
            user_id=user_id,
            agent_id=agent_id,
            session_ids=session_ids,
            since=since,
            until=until,
            granularity=granularity,
            exclude=exclude,
            tags=tags,
            kinds=kinds,
            metadata=metadata,
            asked_at=asked_at,
            profile=profile,
        )
        filters = _read_filters(query, options)
        started = time.perf_counter()
        with self._recorder.search_running(), read(self._pool) as connection:
            namespace = self._find_namespace(connection)
            if namespace is None:
                return SearchResult(notes=["nothing is stored in this namespace yet"])
            request = self._make_request(namespace, query, options, filters)
            search = self._run_search(connection, request)
            result = searching.fetch_result(connection, search)
        total = 1000 * (time.perf_counter() - started)
        result = replace(result, timings_ms={**result.timings_ms, "total": total})
        return self._record(search, result) if self._is_traced(trace) else result

    def _make_request(
        self,
        namespace: store.Namespace,
        query: str,
        options: searching.SearchOptions,
        filters: Filters,
    ) -> searching.SearchRequest:
        store.check_model(namespace, self.embedder.model, self.embedder.dimension)
        return searching.SearchRequest(
            query=clean_text(query),
            tenant_id=namespace.tenant_id,
            namespace=namespace.name,
            user_id=options.get("user_id"),
            top_k=options.get("top_k", searching.DEFAULT_TOP_K),
            granularity=options.get("granularity", "auto"),
            filters=filters,
            profile=self._choose_profile(options.get("profile")),
            asked_at=read_time(options.get("asked_at"), "asked_at") or datetime.now(UTC),
        )

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

    def _choose_profile(self, profile: str | Profile | None) -> Profile:
        if profile is None:
            return self._profile
        return get_profile(profile) if isinstance(profile, str) else profile

    def _run_search(
        self, connection: Connection, request: searching.SearchRequest
    ) -> searching.Search:
        """Search with what is known of the scope; once more if that turns out to be outdated."""
        known = self._know(connection, request)
        search = searching.run_search(connection, request, known, self.embedder, self.reranker)
        state = search.state
        if known is None or (state.speakers, state.promoted) == (known.speakers, known.promoted):
            return search
        assert request.user_id is not None
        known = replace(known, speakers=state.speakers, promoted=state.promoted)
        self._known.put(request.user_id, known)
        if searching.analyse(request, known) == search.question:
            return search  # an outdated `promoted` has cost this search time, never its answer
        return searching.run_search(connection, request, known, self.embedder, self.reranker)

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

    # Explaining

    def why_not(
        self, query: str, chunk_id: int, **options: Unpack[searching.SearchOptions]
    ) -> Verdict:
        """Why a search with these options does not return a chunk, or as which hit it does.

        The first step that lost it decides. Raises NotFoundError for a chunk that is not in
        this namespace.
        """
        filters = _read_filters(query, options)
        with read(self._pool) as connection:
            namespace = self._require_namespace(connection)
            request = self._make_request(namespace, query, options, filters)
            search = self._run_search(connection, request)
            result = searching.fetch_result(connection, search)
            values = standing_values(request, filters)
            standing = recorded.fetch_standing(connection, namespace, chunk_id, values)
            if standing is None:
                raise _no_chunk(chunk_id)
            return judge(
                connection,
                self.embedder,
                search=search,
                result=result,
                chunk_id=chunk_id,
                standing=standing,
            )

    def replay(
        self, trace_id: UUID | str, *, profile: str | Profile | None = None, **overrides: object
    ) -> Replay:
        """A recorded search run again: its own constants, or `profile`'s, with `overrides` on top.

            memory.replay(result.trace_id, lexical=1.5, mmr_lambda=1.0).moves

        Over an unchanged store and with nothing changed, the list is the recorded one exactly.
        """
        trace = self.trace(trace_id)
        chosen = None if profile is None else self._choose_profile(profile)
        with read(self._pool) as connection:
            return self._replay(connection, trace, chosen, overrides)

    def compare_traces(
        self,
        count: int = 20,
        *,
        profile: str | Profile | None = None,
        user_id: str | None = None,
        **overrides: object,
    ) -> Comparison:
        """The last `count` recorded searches run again with other constants, newest first."""
        summaries = self.traces(limit=count, user_id=user_id)
        chosen = None if profile is None else self._choose_profile(profile)
        found = [self.trace(summary.trace_id) for summary in summaries]
        with read(self._pool) as connection:
            return Comparison(
                replays=[self._replay(connection, trace, chosen, overrides) for trace in found]
            )

    def _replay(
        self,
        connection: Connection,
        trace: recorded.Trace,
        profile: Profile | None,
        overrides: Mapping[str, object],
    ) -> Replay:
        namespace = self._require_namespace(connection)
        store.check_model(namespace, self.embedder.model, self.embedder.dimension)

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

    # Reading

    def recent(
        self,
        *,
        limit: int = 10,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_id: str | None = None,
        granularity: Granularity = "turn",
    ) -> list[Chunk]:
        """The latest chunks by event time, newest first."""
        if limit < 1:
            raise InvalidInputError(f"limit must be at least 1, not {limit}")
        with read(self._pool) as connection:
            namespace = self._find_namespace(connection)
            if namespace is None:
                return []
            return store.fetch_recent(
                connection,
                namespace,
                limit=limit,
                user_id=user_id,
                agent_id=agent_id,
                session_id=session_id,
                granularity=granularity,
            )

    def get(self, chunk_id: int) -> Chunk:
        """One chunk, whatever its status; raises NotFoundError."""
        with read(self._pool) as connection:
            found = store.fetch_chunks(connection, self._require_namespace(connection), [chunk_id])
        if not found:
            raise _no_chunk(chunk_id)
        return found[0]

    def history(self, chunk_id: int) -> list[Event]:
        """Everything that happened to a chunk, oldest first; raises NotFoundError."""
        with transaction(self._pool) as connection:
            place = self._find_place(connection, chunk_id)
            scope = place.scope
            return store.fetch_history(connection, scope.tenant_id, scope.scope_id, chunk_id)

    def stats(self, *, user_id: str | None = None) -> list[ScopeStatistics]:
        """What each user's memory in this namespace holds."""
        with read(self._pool) as connection:
            namespace = self._find_namespace(connection)
            return store.fetch_statistics(connection, namespace, user_id) if namespace else []

    def optimise(
        self, on_change: Callable[[store.Promotion], object] = lambda _: None
    ) -> list[store.Promotion]:
        """Give large users' memories HNSW indexes of their own, and take them from shrunken ones.

        The rule is `store.should_promote` with the setting `promotion_threshold`. Takes minutes for
        100,000 chunks; searches and writes go on meanwhile. Returns what was changed.
        """
        with read(self._pool) as connection:
            namespace = self._find_namespace(connection)
            if namespace is None:
                return []
            threshold = self._settings.promotion_threshold
            return store.optimise(connection, namespace, threshold, on_change)

    # Changing what is stored

    def forget(self, chunk_id: int, *, reason: str | None = None) -> list[int]:
        """Take a chunk out of every search and out of its neighbours' context; `restore` undoes it.

        A session chunk takes its turns along. Returns the ids of the chunks that changed.
        """
        return self._retire(chunk_id, "deleted", reason)

    def archive(self, chunk_id: int, *, reason: str | None = None) -> list[int]:
        """As `forget`, for what is outdated rather than unwanted."""
        return self._retire(chunk_id, "archived", reason)

    def _retire(self, chunk_id: int, status: Any, reason: str | None) -> list[int]:
        with self._changing(chunk_id) as (connection, _, place):
            return store.retire(connection, place, status, reason, BatchVectors(self.embedder))

    def restore(self, chunk_id: int, *, reason: str | None = None) -> list[int]:
        """Bring a forgotten or archived chunk back, its turns included."""
        with self._changing(chunk_id) as (connection, namespace, place):
            vectors = BatchVectors(self.embedder)
            return store.restore(connection, namespace, place, reason, vectors)

    def promote(self, chunk_id: int) -> float:
        """Raise a chunk's memory score by 0.15, at most to 1; returns the new score."""
        with self._changing(chunk_id) as (connection, _, place):
            return store.change_memory_score(connection, place, PROMOTION)

    def demote(self, chunk_id: int) -> float:
        """Lower a chunk's memory score by 0.15, at least to 0; returns the new score."""
        with self._changing(chunk_id) as (connection, _, place):
            return store.change_memory_score(connection, place, -PROMOTION)

    def feedback(
        self, chunk_id: int, *, helpful: bool, question: str | None = None, note: str | None = None
    ) -> None:
        """Record whether a hit helped; it goes into the chunk's history and changes no score."""
        with self._changing(chunk_id) as (connection, _, place):
            store.record_feedback(connection, place, helpful, question, note)

    @contextmanager
    def _changing(
        self, chunk_id: int
    ) -> Generator[tuple[Connection, store.Namespace, store.ChunkPlace]]:
        with transaction(self._pool) as connection:
            place = self._find_place(connection, chunk_id)
            yield connection, self._require_namespace(connection), place

    def _find_place(self, connection: Connection, chunk_id: int) -> store.ChunkPlace:
        return store.find_chunk_scope(connection, self._require_namespace(connection), chunk_id)

    def _require_namespace(self, connection: Connection) -> store.Namespace:
        namespace = self._find_namespace(connection)
        if namespace is None:
            raise NotFoundError(f"nothing is stored in namespace {self._settings.namespace!r} yet")
        return namespace


def _start_embedded(server: EmbeddedServer | None) -> str:
    assert server is not None
    address = server.start()
    if migrate.schema_state(address).current is None:
        migrate.upgrade(address)
    return address


def _check_database(address: str) -> None:
    with connect(address) as connection:
        check_server(connection)
        migrate.require_current(connection)


def _name(value: str, what: str) -> str:
    if not value.strip():
        raise InvalidInputError(f"{what} is empty")
    return clean_text(value)


def _read_filters(query: str, options: searching.SearchOptions) -> Filters:
    """The filters of a search, everything that can be checked without a database checked."""
    top_k, granularity = (
        options.get("top_k", searching.DEFAULT_TOP_K),
        options.get("granularity", "auto"),
    )
    searching.check_request(query, top_k, granularity)
    exclude = options.get("exclude", ())
    return Filters(
        session_ids=_texts(options.get("session_ids"), "session_ids"),
        agent_id=options.get("agent_id"),
        since=read_time(options.get("since"), "since"),
        until=read_time(options.get("until"), "until"),
        tags=_texts(options.get("tags"), "tags"),
        kinds=_texts(options.get("kinds"), "kinds"),
        metadata=options.get("metadata"),
        exclude_chunks=[item for item in exclude if isinstance(item, int)],
        exclude_messages=[item for item in exclude if isinstance(item, str)],
    )


def _texts(values: Sequence[str] | None, what: str) -> Sequence[str] | None:
    if isinstance(values, str):
        raise InvalidInputError(f"{what} must be a list of texts, not one text")
    return values


def _check_facets(facets: Mapping[str, str]) -> Mapping[str, str]:
    if unknown := facets.keys() - set(FACETS):
        raise InvalidInputError(f"no facet {', '.join(sorted(unknown))}; there are {FACETS}")
    return facets


def _check_share(value: float, what: str) -> float:
    if not 0 <= value <= 1:
        raise InvalidInputError(f"{what} must be between 0 and 1, not {value}")
    return value


def _no_chunk(chunk_id: int) -> NotFoundError:
    return NotFoundError(f"no chunk {chunk_id} in this namespace")
