"""MemSense: the one class that users of the Python API need."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar

import psycopg
from pydantic import InstanceOf

from memsense import store
from memsense.client.context import Context, no_chunk
from memsense.client.place import open_place
from memsense.client.searches import Searches
from memsense.client.writes import Writes
from memsense.config import Settings, load_settings
from memsense.db import run_read, run_transaction
from memsense.db.connection import Connection
from memsense.embed import Embedder
from memsense.inputs import (
    Callback,
    ChunkId,
    Gate,
    Id,
    Limit,
    Name,
    Note,
    Switch,
    having,
    takes,
)
from memsense.search.hits import SearchResult
from memsense.search.profiles import PROFILES, GivenProfile, Profile
from memsense.search.rank.reranker import Reranker
from memsense.search.request import DEFAULT_CONTENT_BUDGET, DEFAULT_TOP_K, SearchRequest
from memsense.types import (
    Chunk,
    Event,
    Granularity,
    IngestMode,
    JsonValue,
    MemoryKind,
    ScopeStatistics,
)
from memsense.write.messages import read_messages
from memsense.write.vectors import exchanges_of, texts_of

if TYPE_CHECKING:
    from memsense.client.indexes import IndexesResource
    from memsense.client.profiles import ProfilesResource
    from memsense.client.projects import ProjectsResource
    from memsense.client.settings import SettingsResource
    from memsense.client.traces import TracesResource
    from memsense.explain.why_not import Verdict
    from memsense.graph.extraction import EntityExtractor
    from memsense.graph.resource import Entities
    from memsense.ingest import ReadOptions
    from memsense.write.drafting import Annotations
    from memsense.write.facets import FacetTagger
    from memsense.write.ingest_run import IngestReport

T = TypeVar("T")

SCORE_STEP = 0.15
"""How much promote and demote change a memory score."""

_Embedder = Annotated[Any, having("model", "dimension", "embed", "embed_query")]
_Tagger = Annotated[Any, having("name", "tag")]
_Extractor = Annotated[Any, having("name", "extract")]
_Reranker = Annotated[Any, having("name", "rerank")]

_read_tenant = Gate(Id, "tenant")
_read_namespace = Gate(Id, "namespace")


class MemSense:
    """An agent's memory in PostgreSQL.

        with MemSense.open() as memory:
            memory.add([{"role": "user", "content": "I moved to Lisbon."}],
                       user_id="ada", session_id="monday")
            hits = memory.search("Where does Ada live?", user_id="ada")

    Safe to share between threads. Everything happens within one tenant and one namespace. Beside
    its verbs it has the resources `settings`, `profiles`, `projects`, `traces`, `entities` and
    `indexes`.
    """

    def __init__(self, context: Context) -> None:
        """Use `MemSense.open`; this takes over what is open."""
        self._context = context
        self._writes = Writes(context)
        self._searches = Searches(context, self._writes)

    @classmethod
    @takes(
        url=Name | None,
        profile=GivenProfile | None,
        embedder=_Embedder | None,
        settings=InstanceOf[Settings] | None,
        tagger=_Tagger | None,
        extractor=_Extractor | None,
        reranker=_Reranker | None,
    )
    def open(
        cls,
        url: str | None = None,
        *,
        profile: str | Profile | None = None,
        embedder: Embedder | None = None,
        tenant: str | None = None,
        namespace: str | None = None,
        settings: Settings | None = None,
        tagger: "FacetTagger | None" = None,
        extractor: "EntityExtractor | None" = None,
        reranker: Reranker | None = None,
    ) -> Self:
        """Connect to `url`, else to MEMSENSE_DATABASE_URL, else to the embedded server.

        The embedded server is started and its database prepared on first use; a database of
        yours needs `memsense init` once. A `profile` given here is taken as it is, whatever the
        namespace's settings say. Raises ConnectionFailedError, ServerTooOldError, SchemaError,
        NotFoundError for an unknown `profile`, InvalidInputError, or ConfigurationError, each
        naming the remedy.
        """
        chosen = settings or load_settings()
        changes = {
            "database_url": chosen.database_url if url is None else url,
            "tenant": _read_tenant(chosen.tenant if tenant is None else tenant),
            "namespace": _read_namespace(chosen.namespace if namespace is None else namespace),
        }
        chosen = chosen.model_copy(update=changes)
        pool, server = open_place(chosen)
        context = Context(
            pool,
            settings=chosen,
            profile=profile,
            embedder=embedder,
            tagger=tagger,
            extractor=extractor,
            reranker=reranker,
            server=server,
        )
        try:
            _check_profile(context)
        except BaseException:
            context.close()
            raise
        return cls(context)

    def close(self) -> None:
        """Write waiting traces and close; the embedded server stops when nobody else uses it."""
        self._context.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def embedder(self) -> Embedder:
        """What turns texts into vectors, made at first use, with a cache of questions."""
        return self._context.embedder

    # What stands beside the verbs ----------------------------------------------------------------

    @cached_property
    def settings(self) -> "SettingsResource":
        """What the namespace's searches use, changed while they go on."""
        from memsense.client.settings import SettingsResource

        return SettingsResource(self._context)

    @cached_property
    def profiles(self) -> "ProfilesResource":
        """The named sets of constants that a search may rank by."""
        from memsense.client.profiles import ProfilesResource

        return ProfilesResource(self._context)

    @cached_property
    def projects(self) -> "ProjectsResource":
        """Named pools of sessions to search in."""
        from memsense.client.projects import ProjectsResource

        return ProjectsResource(self._context)

    @cached_property
    def traces(self) -> "TracesResource":
        """Recorded searches: to look at, to run again, to prune."""
        from memsense.client.traces import TracesResource

        return TracesResource(self._context, self._searches)

    @cached_property
    def entities(self) -> "Entities":
        """What memory mentions."""
        from memsense.graph.resource import Entities

        context = self._context
        return Entities(
            pool=context.pool,
            find_namespace=context.find_namespace,
            require_namespace=context.require_namespace,
            extractor=context.extractor,
        )

    @cached_property
    def indexes(self) -> "IndexesResource":
        """The indexes of large memories, and the text index."""
        from memsense.client.indexes import IndexesResource

        return IndexesResource(self._context, self._writes)

    # A conversation in ---------------------------------------------------------------------------

    @takes(
        user_id=Id,
        session_id=Id,
        mode=IngestMode,
        conn=InstanceOf[psycopg.Connection] | None,
    )
    def add(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        user_id: str,
        session_id: str,
        agent_id: str | None = None,
        mode: IngestMode = "turn",
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
        exchange within ten minutes of event time is stored once, and its first chunk returned,
        unless it is forgotten.
        Facets (`personal_info`, `preferences`, `events`), tags and task_tag win over the rules'.
        An id is a text of at most 500 characters, or a whole number. Raises InvalidInputError.
        """
        from memsense.write.drafting import Annotations, Drafter

        now = datetime.now(UTC)
        conversation = read_messages(messages, session_id=session_id, now=now)
        annotations = Annotations(
            agent_id=agent_id,
            task_tag=task_tag,
            tags=tags,
            facets={} if facets is None else facets,
            memory_kind=memory_kind,
            confidence=confidence,
            metadata={} if metadata is None else metadata,
        )
        drafter = Drafter(
            tagger=self._context.tagger,
            mode=mode,
            ledger=False,
            annotations=annotations,
        )
        draft = drafter.draft(conversation, user_id)
        vectors = self._context.batch_vectors()
        known = vectors.gives_tokens and conn is None
        exchanges = exchanges_of(draft, self._writes.said_before(draft)) if known else ()
        vectors.prepare(texts_of([draft]), exchanges)
        return self._writes.add(draft, vectors, conn)

    @takes(
        user_id=Id | None,
        mode=IngestMode,
        dry_run=Switch,
        on_start=Callback,
        on_bytes=Callback,
        on_session=Callback,
    )
    def ingest(
        self,
        *paths: str | Path,
        user_id: str | None = None,
        mode: IngestMode = "turn",
        options: "ReadOptions | None" = None,
        annotations: "Annotations | None" = None,
        dry_run: bool = False,
        on_start: Callable[[int], object] = lambda _: None,
        on_bytes: Callable[[int], object] = lambda _: None,
        on_session: "Callable[[IngestReport], object]" = lambda _: None,
    ) -> "IngestReport":
        """Read logs of any known format (files, folders, globs, archives) into memory, once.

        What was ingested before is left alone, what grew is completed, what was edited is
        replaced; every session is a transaction of its own, so an interrupted run is resumed by
        running it again. `user_id` owns what is read, unless the log names a user of its own;
        without either it is "default". `dry_run` stores nothing. Raises IngestError.

        What a log holds that can't be used, such as a message without a usable id, is left out and
        told in the report.
        """
        from memsense.ingest import ReadOptions
        from memsense.write import ingest_run
        from memsense.write.drafting import Annotations, Drafter

        reading = Gate(InstanceOf[ReadOptions] | None, "options")(options) or ReadOptions()
        given = Gate(InstanceOf[Annotations] | None, "annotations")(annotations) or Annotations()
        report = ingest_run.IngestReport(dry_run=dry_run)
        sources = ingest_run.find_sources(ingest_run.read_paths(paths), report, reading)
        on_start(sum(source.size or 0 for source in sources))
        drafter = Drafter(
            tagger=self._context.tagger,
            mode=mode,
            ledger=True,
            user_speaker=reading.user_speaker,
            annotations=given,
        )
        job = ingest_run.IngestJob(
            drafter=drafter,
            options=reading,
            user_id=user_id,
            missing=self._writes.missing,
            write=self._writes.write_draft,
            said_before=self._writes.said_before,
            vectors=self._context.batch_vectors,
            on_bytes=on_bytes,
            on_session=on_session,
        )
        run = ingest_run.plan_ingest if dry_run else ingest_run.run_ingest
        return run(sources, job, report)

    # A question in, hits out ---------------------------------------------------------------------

    @takes(trace=Switch | None)
    def search(
        self,
        query: str,
        *,
        top_k: int = DEFAULT_TOP_K,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_ids: Sequence[str] | None = None,
        project: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        granularity: Granularity | None = None,
        min_score: float | None = None,
        exclude: Sequence[int | str] = (),
        tags: Sequence[str] | None = None,
        kinds: Sequence[MemoryKind] | None = None,
        metadata: Mapping[str, JsonValue] | None = None,
        asked_at: datetime | str | None = None,
        profile: str | Profile | None = None,
        overrides: Mapping[str, object] | None = None,
        content_budget: int = DEFAULT_CONTENT_BUDGET,
        trace: bool | None = None,
    ) -> SearchResult:
        """The `top_k` memories that answer the question best, each with its arithmetic.

        Without `user_id`, every user of the namespace is searched. Filters hold inside every
        route, so they never thin out the result: `project` stands for its sessions, `since`
        (inclusive) and `until` (exclusive) limit event time, `exclude` names chunks (int) or
        messages (str) that are in the prompt already, `tags` asks for one in common, `metadata`
        for containment. `asked_at` is the moment that "last week" in the question counts from
        (default: now). `granularity`: "turn" for exchanges, "session" for sessions, each with its
        `best` exchanges; without it, as the profile says: exchanges in all shipped ones but
        `memsense`. What scores below `min_score` is no hit, so that there may be none; a note then
        says what the best score was. A hit's `content` has `content_budget` characters at most,
        those around what the question asks for.

        A `profile` (shipped, stored, or of your own) is taken as it is; without one, the
        namespace's settings decide, as they are at this moment. `overrides` changes single
        weights and constants of either, for this search alone. `trace` records the search for
        `traces` and the views (default: the share of searches that the setting trace_sample says).
        """
        request = SearchRequest.of(
            query=query,
            top_k=top_k,
            user_id=user_id,
            agent_id=agent_id,
            session_ids=session_ids,
            project=project,
            since=since,
            until=until,
            granularity=granularity,
            min_score=min_score,
            exclude=exclude,
            tags=tags,
            kinds=kinds,
            metadata=metadata,
            asked_at=asked_at,
            profile=profile,
            overrides=overrides,
            content_budget=content_budget,
        )
        return self._searches.answer(request, trace=trace)

    @takes(chunk_id=ChunkId)
    def why_not(
        self,
        query: str,
        chunk_id: int,
        *,
        top_k: int = DEFAULT_TOP_K,
        user_id: str | None = None,
        agent_id: str | None = None,
        session_ids: Sequence[str] | None = None,
        project: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        granularity: Granularity | None = None,
        min_score: float | None = None,
        exclude: Sequence[int | str] = (),
        tags: Sequence[str] | None = None,
        kinds: Sequence[MemoryKind] | None = None,
        metadata: Mapping[str, JsonValue] | None = None,
        asked_at: datetime | str | None = None,
        profile: str | Profile | None = None,
        overrides: Mapping[str, object] | None = None,
    ) -> "Verdict":
        """Why a search with these options does not return a chunk, or as which hit it does.

        The first step that lost it decides. Raises NotFoundError for a chunk that is not in
        this namespace.
        """
        from memsense.explain.why_not import explain_absence

        request = SearchRequest.of(
            query=query,
            top_k=top_k,
            user_id=user_id,
            agent_id=agent_id,
            session_ids=session_ids,
            project=project,
            since=since,
            until=until,
            granularity=granularity,
            min_score=min_score,
            exclude=exclude,
            tags=tags,
            kinds=kinds,
            metadata=metadata,
            asked_at=asked_at,
            profile=profile,
            overrides=overrides,
        )
        self._searches.make_awaited(request)
        pool = self._context.pool
        namespace = run_read(pool, self._context.require_namespace)
        search = self._searches.run(namespace, request)
        result = self._searches.fetch(search)
        verdict = run_read(pool, lambda it: explain_absence(it, search, result, chunk_id))
        if verdict is None:
            raise no_chunk(chunk_id)
        return verdict

    # What is stored ------------------------------------------------------------------------------

    @takes(
        limit=Limit,
        user_id=Id | None,
        agent_id=Id | None,
        session_id=Id | None,
        granularity=Granularity,
    )
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
        namespace = self._context.look_up_namespace()
        if namespace is None:
            return []
        return run_read(
            self._context.pool,
            lambda it: store.fetch_recent(
                it,
                namespace,
                limit=limit,
                user_id=user_id,
                agent_id=agent_id,
                session_id=session_id,
                granularity=granularity,
            ),
        )

    @takes(chunk_id=ChunkId)
    def get(self, chunk_id: int) -> Chunk:
        """One chunk, whatever its status, a forgotten one without its texts, facets and tags.

        Raises NotFoundError.
        """
        found = run_read(
            self._context.pool,
            lambda it: store.fetch_chunks(it, self._context.require_namespace(it), [chunk_id]),
        )
        if not found:
            raise no_chunk(chunk_id)
        return store.withhold_forgotten(found[0])

    @takes(user_id=Id | None)
    def stats(self, *, user_id: str | None = None) -> list[ScopeStatistics]:
        """What each user's memory in this namespace holds."""
        namespace = self._context.look_up_namespace()
        if namespace is None:
            return []
        return run_read(
            self._context.pool, lambda it: store.fetch_statistics(it, namespace, user_id)
        )

    # What becomes of it --------------------------------------------------------------------------

    @takes(chunk_id=ChunkId, reason=Note | None)
    def forget(self, chunk_id: int, *, reason: str | None = None) -> list[int]:
        """Take a chunk out of every search and out of its neighbours' context; `restore` undoes it.

        A session chunk takes its turns along, a part of an exchange the other parts. What is said
        again is stored again. Returns the ids of the chunks that changed.
        """
        return self._retire(chunk_id, "deleted", reason)

    @takes(chunk_id=ChunkId, reason=Note | None)
    def archive(self, chunk_id: int, *, reason: str | None = None) -> list[int]:
        """As `forget`, for what is outdated rather than unwanted."""
        return self._retire(chunk_id, "archived", reason)

    def _retire(self, chunk_id: int, status: Any, reason: str | None) -> list[int]:
        vectors = self._context.batch_vectors()

        def retire(
            connection: Connection, _: store.Namespace, place: store.ChunkPlace
        ) -> list[int]:
            return store.retire(connection, place, status, reason, vectors)

        return vectors.complete_if_possible(lambda: self._change(chunk_id, retire))

    @takes(chunk_id=ChunkId, reason=Note | None)
    def restore(self, chunk_id: int, *, reason: str | None = None) -> list[int]:
        """Bring a forgotten or archived chunk back; a session chunk with the turns it took along.

        A turn that was said again after it was forgotten stays away.
        """
        vectors = self._context.batch_vectors()
        return vectors.complete(
            lambda: self._change(
                chunk_id,
                lambda it, namespace, place: store.restore(it, namespace, place, reason, vectors),
            )
        )

    @takes(chunk_id=ChunkId)
    def promote(self, chunk_id: int) -> float:
        """Raise a chunk's memory score by 0.15, at most to 1; returns the new score."""
        return self._change(
            chunk_id, lambda it, _, place: store.change_memory_score(it, place, SCORE_STEP)
        )

    @takes(chunk_id=ChunkId)
    def demote(self, chunk_id: int) -> float:
        """Lower a chunk's memory score by 0.15, at least to 0; returns the new score."""
        return self._change(
            chunk_id, lambda it, _, place: store.change_memory_score(it, place, -SCORE_STEP)
        )

    @takes(chunk_id=ChunkId, helpful=Switch, question=Note | None, note=Note | None)
    def feedback(
        self, chunk_id: int, *, helpful: bool, question: str | None = None, note: str | None = None
    ) -> None:
        """Record whether a hit helped; it goes into the chunk's history and changes no score."""
        self._change(
            chunk_id, lambda it, _, place: store.record_feedback(it, place, helpful, question, note)
        )

    @takes(chunk_id=ChunkId)
    def history(self, chunk_id: int) -> list[Event]:
        """Everything that happened to a chunk, oldest first; raises NotFoundError."""

        def fetch(
            connection: Connection, _: store.Namespace, place: store.ChunkPlace
        ) -> list[Event]:
            scope = place.scope
            return store.fetch_history(connection, scope.tenant_id, scope.scope_id, chunk_id)

        return self._change(chunk_id, fetch)

    def _change(
        self,
        chunk_id: int,
        change: Callable[[Connection, store.Namespace, store.ChunkPlace], T],
    ) -> T:
        """What `change` gives, in a transaction that holds the chunk's scope."""
        followers = self._context.followers()

        def work(connection: Connection) -> T:
            namespace = self._context.require_namespace(connection)
            place = store.find_chunk_scope(connection, namespace, chunk_id, followers=followers)
            return change(connection, namespace, place)

        return run_transaction(self._context.pool, work)


def _check_profile(context: Context) -> None:
    """Raise now, not at the first search, for a profile that nobody knows."""
    if isinstance(context.profile, str) and context.profile not in PROFILES:
        name, namespace = context.profile, context.look_up_namespace()
        run_read(context.pool, lambda it: context.find_profile(it, namespace, name))
