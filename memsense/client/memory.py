"""MemSense: the one class that users of the Python API need."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar

import psycopg
from pydantic import InstanceOf

from memsense import store, telemetry
from memsense.client.changes import SCORE_STEP, Changes
from memsense.client.context import Context, no_chunk
from memsense.client.place import open_place
from memsense.client.searches import Searches
from memsense.client.writes import Writes
from memsense.config import Settings, load_settings
from memsense.db import run_read
from memsense.embed import Embedder
from memsense.inputs import (
    AsList,
    Callback,
    ChunkId,
    Gate,
    Id,
    Limit,
    Name,
    Names,
    Note,
    Switch,
    Text,
    having,
    say_whose,
    takes,
)
from memsense.search.hits import SearchResult
from memsense.search.profiles import PROFILES, GivenProfile, Profile
from memsense.search.rank.reranker import Reranker
from memsense.search.request import (
    DEFAULT_CONTENT_BUDGET,
    DEFAULT_TOP_K,
    Filters,
    SearchRequest,
)
from memsense.store.listing import Order
from memsense.types import (
    Added,
    Chunk,
    DayCount,
    EmbeddingModel,
    EmbedWhen,
    Event,
    Granularity,
    IngestMode,
    JsonValue,
    MemoryKind,
    Page,
    ScopeStatistics,
    SessionSummary,
    Status,
)

if TYPE_CHECKING:
    from memsense.client.access_keys import AccessKeysResource
    from memsense.client.embedding_models import ModelsResource
    from memsense.client.erasing import Erasing, ErasuresResource
    from memsense.client.histories import HistoriesResource
    from memsense.client.indexes import IndexesResource
    from memsense.client.items import ItemsResource
    from memsense.client.jobs import JobsResource
    from memsense.client.listing import Listing
    from memsense.client.own import UserMemory
    from memsense.client.profiles import ProfilesResource
    from memsense.client.projects import ProjectsResource
    from memsense.client.settings import SettingsResource
    from memsense.client.traces import TracesResource
    from memsense.client.transfer import ExportReport, ImportReport, Place, Transfer
    from memsense.client.ttl import TtlResource
    from memsense.client.updating import Updating
    from memsense.explain.why_not import Verdict
    from memsense.graph.extraction import EntityExtractor
    from memsense.graph.resource import Entities
    from memsense.ingest import ReadOptions
    from memsense.store.erasing import Receipt
    from memsense.store.jobs import JobCounts
    from memsense.store.versions import Version
    from memsense.write.drafting import Annotations
    from memsense.write.facets import FacetTagger
    from memsense.write.ingest_run import IngestReport

T = TypeVar("T")

DEFAULT_PAGE = 50
"""Items of a page."""

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
    its verbs it has the resources `settings`, `profiles`, `projects`, `traces`, `entities`,
    `models`, `indexes`, `erasures`, `ttl`, `jobs` and `access_keys`.
    """

    def __init__(self, context: Context, *, model: EmbeddingModel | None = None) -> None:
        """Use `MemSense.open`; this takes over what is open. Searches use the namespace's model,
        unless one is given.
        """
        self._context = context
        self._changes = Changes(context)
        self._writes = Writes(context)
        self._searches = Searches(context, self._writes, model=model)

    @classmethod
    @takes(
        url=Name | None,
        profile=GivenProfile | None,
        embedder=_Embedder | None,
        other_embedders=Sequence[_Embedder],
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
        other_embedders: Sequence[Embedder] = (),
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
        namespace's settings say. `other_embedders` are of models that the namespace has vectors of
        too, where the database doesn't say how to open them: see `models`.

        Raises ConnectionFailedError, ServerTooOldError, SchemaError, NotFoundError for an unknown
        `profile`, InvalidInputError, or ConfigurationError, each naming the remedy.
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
            other_embedders=other_embedders,
            tagger=tagger,
            extractor=extractor,
            reranker=reranker,
            server=server,
        )
        try:
            telemetry.watch_jobs(context, context.store_id, _count_jobs)
            _check_profile(context)
            if chosen.worker == "on":
                context.wake_worker()
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

    @takes(user_id=Id)
    def for_user(self, user_id: str) -> "UserMemory":
        """This memory for one user alone: no id reaches what is another's."""
        from memsense.client.own import UserMemory

        return UserMemory(self, self._context, user_id)

    @property
    def embedder(self) -> Embedder:
        """What turns texts into vectors, made at first use, with a cache of questions."""
        return self._context.embedder

    @property
    def pool_size(self) -> int:
        """How many threads may use it at once without waiting: the connections of its pool."""
        return self._context.settings.pool_max_size

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
    def erasures(self) -> "ErasuresResource":
        """The receipts of what was erased for good."""
        from memsense.client.erasing import ErasuresResource

        return ErasuresResource(self._context)

    @cached_property
    def _erasing(self) -> "Erasing":
        from memsense.client.erasing import Erasing

        return Erasing(self._context)

    @cached_property
    def _updating(self) -> "Updating":
        from memsense.client.updating import Updating

        return Updating(self._context)

    @cached_property
    def _transfer(self) -> "Transfer":
        from memsense.client.transfer import Transfer

        return Transfer(self._context)

    @cached_property
    def _listing(self) -> "Listing":
        from memsense.client.listing import Listing

        return Listing(self._context)

    @cached_property
    def models(self) -> "ModelsResource":
        """The embedding models: add another one, compare, go over to it, and back."""
        from memsense.client.embedding_models import ModelsResource

        return ModelsResource(self._context, self._writes)

    @cached_property
    def indexes(self) -> "IndexesResource":
        """The indexes of large memories, and the text index."""
        from memsense.client.indexes import IndexesResource

        return IndexesResource(self._context, self._writes)

    @cached_property
    def access_keys(self) -> "AccessKeysResource":
        """The keys by which programs reach this tenant's memory on a server."""
        from memsense.client.access_keys import AccessKeysResource

        return AccessKeysResource(self._context)

    @cached_property
    def histories(self) -> "HistoriesResource":
        """Sessions of frameworks, to the letter, whose words are remembered too."""
        from memsense.client.histories import HistoriesResource

        return HistoriesResource(self._context)

    @cached_property
    def items(self) -> "ItemsResource":
        """Values under keys, which frameworks keep beside conversations."""
        from memsense.client.items import ItemsResource

        return ItemsResource(self._context)

    @cached_property
    def ttl(self) -> "TtlResource":
        """How long memories are kept, by tag or all of them, and the sweep of what has expired."""
        from memsense.client.ttl import TtlResource

        return TtlResource(self._context)

    @cached_property
    def jobs(self) -> "JobsResource":
        """What writes have left for later, and the worker that does it."""
        from memsense.client.jobs import JobsResource

        return JobsResource(self._context)

    # A conversation in ---------------------------------------------------------------------------

    @takes(
        user_id=Id,
        session_id=Id,
        mode=IngestMode,
        embed=EmbedWhen | None,
        key=Name | None,
        connection=InstanceOf[psycopg.Connection] | None,
    )
    def add(
        self,
        messages: Iterable[object],
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
        expires_at: datetime | str | None = None,
        ttl: timedelta | str | None = None,
        embed: EmbedWhen | None = None,
        key: str | None = None,
        connection: psycopg.Connection[Any] | None = None,
    ) -> Added:
        """Store messages `{"role", "content", "id"?, "at"?, "name"?}` as exchanges, in order.

        Messages of OpenAI, Anthropic and LangChain, and any with a role and a content, do as well.

        All or nothing: one transaction, or a savepoint in the caller's `connection`. The same
        exchange within ten minutes of event time is stored once, and its first chunk returned,
        unless it is forgotten. An answer to what the call before added to the session makes one
        exchange with it.
        Facets (`personal_info`, `preferences`, `events`), tags and task_tag win over the rules'.
        From `expires_at` on, or so long after now as `ttl` says ("30d", "12h", a timedelta),
        nothing shows it any more, and a job sweeps it away; without either, the rules of `ttl`
        decide, and "never" says that none does.
        `embed` (default: the setting) is "now", which leaves to a job what the embedder fails to
        embed, "later", which leaves all to a job, or "strict", which then raises EmbeddingError
        and stores nothing. Words find at once what is left to a job; the result's `notes` tell.
        Run again under its `key`, it returns the same chunks. An id is a text of at most 500
        characters, or a whole number. Raises InvalidInputError, ConflictError for another's key.
        """
        from memsense.client.adding import give
        from memsense.write.drafting import Annotations

        annotations = Annotations(
            agent_id=agent_id,
            task_tag=task_tag,
            tags=tags,
            facets={} if facets is None else facets,
            memory_kind=memory_kind,
            confidence=confidence,
            metadata={} if metadata is None else metadata,
            expires_at=expires_at,
            ttl=ttl,
        )
        given = give(
            self._context,
            messages,
            user_id=user_id,
            session_id=session_id,
            mode=mode,
            annotations=annotations,
        )
        [added] = self._writes.add([given], embed=embed, joined=connection, key=key)
        return added

    @takes(
        user_id=Id | None,
        embed=EmbedWhen | None,
        key=Name | None,
        connection=InstanceOf[psycopg.Connection] | None,
    )
    def add_many(
        self,
        sessions: Iterable[Mapping[str, object]],
        *,
        user_id: str | None = None,
        embed: EmbedWhen | None = None,
        key: str | None = None,
        connection: psycopg.Connection[Any] | None = None,
    ) -> "list[Added]":
        """Store several sessions in one transaction, embedded in one batch; what each gave.

            memory.add_many([{"session_id": "mon", "messages": [...]},
                             {"session_id": "tue", "messages": [...], "tags": ["work"]}],
                            user_id="ada")

        Each has `messages`, `session_id` and what else `add` takes of a session; `user_id` is
        whose those are that name none. All or nothing. Raises as `add` does.
        """
        from memsense.client.adding import give_each

        given = give_each(self._context, sessions, user_id)
        if not given:
            return []
        return self._writes.add(given, embed=embed, joined=connection, key=key)

    @takes(
        user_id=Id | None,
        mode=IngestMode,
        embed=EmbedWhen | None,
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
        embed: EmbedWhen | None = None,
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
        told in the report. A failing embedder stops nothing: `embed` is as for `add`.
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
            select_missing=self._writes.missing,
            write=self._writes.write_draft,
            fetch_last_text=self._writes.said_before,
            make_vectors=lambda: self._context.batch_vectors(embed),
            on_bytes=on_bytes,
            on_session=on_session,
        )
        run = ingest_run.plan_ingest if dry_run else ingest_run.run_ingest
        return run(sources, job, report)

    # A question in, hits out ---------------------------------------------------------------------

    @takes(user_id=Id | None, all_users=Switch, trace=Switch | None)
    def search(
        self,
        query: str,
        *,
        top_k: int = DEFAULT_TOP_K,
        user_id: str | None = None,
        all_users: bool = False,
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
        as_of: datetime | str | None = None,
        profile: str | Profile | None = None,
        overrides: Mapping[str, object] | None = None,
        content_budget: int = DEFAULT_CONTENT_BUDGET,
        trace: bool | None = None,
    ) -> SearchResult:
        """The `top_k` memories that answer the question best, each with its arithmetic.

        Say whose memory: `user_id`, or `all_users=True` for everybody's in the namespace. Filters
        hold inside every route, so they never thin out the result: `project` stands for its
        sessions, `since` (inclusive) and `until` (exclusive) limit event time, `exclude` names
        chunks (int) or messages (str) that are in the prompt already, `tags` asks for one in
        common, `metadata` for containment. `asked_at` is the moment that "last week" in the
        question counts from (default: now). `granularity`: "turn" for exchanges, "session" for
        sessions, each with its `best` exchanges; without it, as the profile says: exchanges in all
        shipped ones but `memsense`. What scores below `min_score` is no hit, so that there may be
        none; a note then says what the best score was. A hit's `content` has `content_budget`
        characters at most, those around what the question asks for.

        `as_of` searches memory as it stood at that moment, by when things were stored and changed;
        it needs the setting `history` since before then. What is erased or expired is gone from the
        past, too.

        A `profile` (shipped, stored, or of your own) is taken as it is; without one, the
        namespace's settings decide, as they are at this moment. `overrides` changes single
        weights and constants of either, for this search alone. `trace` records the search for
        `traces` and the views (default: the share of searches that the setting trace_sample says).
        """
        request = SearchRequest.of(
            query=query,
            top_k=top_k,
            user_id=say_whose(user_id, all_users),
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
            as_of=as_of,
            profile=profile,
            overrides=overrides,
            content_budget=content_budget,
        )
        [result] = self._searches.answer([request], trace=trace)
        return result

    @takes(
        queries=Annotated[Sequence[object], AsList],
        user_id=Id | None,
        all_users=Switch,
        trace=Switch | None,
    )
    def search_many(
        self,
        queries: Sequence[str],
        *,
        user_id: str | None = None,
        all_users: bool = False,
        trace: bool | None = None,
        **options: Any,
    ) -> "list[SearchResult]":
        """Several questions about the same memory, with the options of `search`; their results.

        All are recalled in one round trip, and all texts are fetched in another.
        """
        whose = say_whose(user_id, all_users)
        requests = [SearchRequest.of(query=query, user_id=whose, **options) for query in queries]
        return self._searches.answer(requests, trace=trace) if requests else []

    @takes(chunk_id=ChunkId, user_id=Id | None, all_users=Switch)
    def why_not(
        self,
        query: str,
        chunk_id: int,
        *,
        top_k: int = DEFAULT_TOP_K,
        user_id: str | None = None,
        all_users: bool = False,
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
            user_id=say_whose(user_id, all_users),
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
        pool = self._context.pool
        namespace = run_read(pool, self._context.require_namespace)
        search = self._searches.run(namespace, request)
        result = self._searches.fetch(search)
        verdict = run_read(pool, lambda it: explain_absence(it, search, result, chunk_id))
        if verdict is None:
            raise no_chunk(chunk_id)
        return verdict

    # Out of the database, and in again -----------------------------------------------------------

    @takes(user_id=Id | None, all_users=Switch, vectors=Switch)
    def export_to(
        self,
        path: "Place",
        *,
        user_id: str | None = None,
        all_users: bool = False,
        vectors: bool = False,
    ) -> "ExportReport":
        """Write a user's memory, or with `all_users` everybody's, to a file of JSON lines,
        or of Parquet if its name ends in .parquet, which needs `memsense[parquet]`.

        With what became of it: status, score, history, what logs brought. Of what is forgotten only
        the place is written. With what the namespace has set and its stored profiles. `vectors`
        spares an import the embedding. docs/data.md has the forms.
        """
        whose = say_whose(user_id, all_users)
        return self._transfer.export_to(path, whose, vectors=vectors)

    @takes(settings=Switch | None, on_session=Callback)
    def import_from(
        self,
        path: "Place",
        *,
        settings: bool | None = None,
        on_session: "Callable[[ImportReport], object]" = lambda _: None,
    ) -> "ImportReport":
        """Store what `export_to` has written, here or elsewhere; a second time changes nothing.

        Each session is a transaction of its own, so an interrupted import is run again. What is
        stored already, and what was forgotten here, is left alone. Settings and stored profiles
        of the file are taken over where nobody has a memory yet, unless `settings` says so or not;
        what is set here stays. Raises IngestError, and ConfigurationError for settings that this
        memsense doesn't know.
        """
        return self._transfer.import_from(path, on_session, settings=settings)

    # What is stored ------------------------------------------------------------------------------

    @takes(
        limit=Limit,
        user_id=Id | None,
        all_users=Switch,
        agent_id=Id | None,
        session_id=Id | None,
        granularity=Granularity,
    )
    def recent(
        self,
        *,
        limit: int = 10,
        user_id: str | None = None,
        all_users: bool = False,
        agent_id: str | None = None,
        session_id: str | None = None,
        granularity: Granularity = "turn",
    ) -> list[Chunk]:
        """A user's latest chunks by event time, newest first; with `all_users` everybody's."""
        sessions = None if session_id is None else [session_id]
        return self._listing.chunks(
            say_whose(user_id, all_users),
            Filters(agent_id=agent_id, session_ids=sessions),
            granularity=granularity,
            statuses=["active"],
            order="newest",
            limit=limit,
            cursor=None,
        )

    @takes(user_id=Id | None, all_users=Switch, limit=Limit, cursor=Text | None)
    def sessions(
        self,
        *,
        user_id: str | None = None,
        all_users: bool = False,
        agent_id: str | None = None,
        project: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        tags: Sequence[str] | None = None,
        kinds: Sequence[MemoryKind] | None = None,
        limit: int = DEFAULT_PAGE,
        cursor: str | None = None,
    ) -> Page[SessionSummary]:
        """A page of a user's sessions, the one that was last talked in first; filters are as in
        `search`, and a session counts what passes them. The page's `next_cursor` asks for the next.
        """
        filters = Filters.read(
            agent_id=agent_id, project=project, since=since, until=until, tags=tags, kinds=kinds
        )
        whose = say_whose(user_id, all_users)
        return self._listing.sessions(whose, filters, limit=limit, cursor=cursor)

    @takes(limit=Limit, cursor=Text | None)
    def users(
        self, *, limit: int = DEFAULT_PAGE, cursor: str | None = None
    ) -> Page[ScopeStatistics]:
        """A page of the namespace's users by their ids, with what each memory holds."""
        return self._listing.users(limit=limit, cursor=cursor)

    @takes(days=Limit)
    def growth(self, *, days: int = 30) -> "Sequence[DayCount]":
        """How many exchanges were stored on each of the last days that has any, the latest first.

        Days are those of UTC; what was forgotten or archived since is not counted.
        """
        return self._listing.growth(days)

    @takes(words=Names, lexemes=Names)
    def matching_words(self, words: Sequence[str], lexemes: Sequence[str]) -> set[str]:
        """Those of the words that a text search for the lexemes finds, to be marked in a text.

        memory.matching_words(hit.content.split(), result.question["lexemes"])
        """
        return self._listing.matching_words(words, lexemes)

    @takes(chunk_id=ChunkId)
    def get(self, chunk_id: int) -> Chunk:
        """One chunk, whatever its status, a forgotten one without its texts, facets and tags; one
        that has expired, likewise.

        Raises NotFoundError.
        """
        found = run_read(
            self._context.pool,
            lambda it: store.fetch_shown(it, self._context.require_namespace(it), [chunk_id]),
        )
        if not found:
            raise no_chunk(chunk_id)
        return found[0]

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

    @takes(chunk_id=ChunkId, reason=Note | None, key=Name | None)
    def forget(
        self, chunk_id: int, *, reason: str | None = None, key: str | None = None
    ) -> list[int]:
        """Take a chunk out of every search and out of its neighbours' context; `restore` undoes it.

        A session chunk takes its turns along, a part of an exchange the other parts. What is said
        again is stored again. Returns the ids of the chunks that changed; run again under its
        `key`, the same ones.
        """
        return self._changes.retire(chunk_id, "deleted", reason, key)

    @takes(chunk_id=ChunkId, reason=Note | None, key=Name | None)
    def archive(
        self, chunk_id: int, *, reason: str | None = None, key: str | None = None
    ) -> list[int]:
        """As `forget`, for what is outdated rather than unwanted."""
        return self._changes.retire(chunk_id, "archived", reason, key)

    @takes(user_id=Id | None, session_id=Id | None, message_id=Id | None, by=Name | None)
    def erase(
        self,
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        message_id: str | None = None,
        by: str | None = None,
    ) -> "Receipt":
        """Erase for good, in this namespace: a user's whole memory, or a session or message of it.

            receipt = memory.erase(user_id="ada", by="data protection")

        Everything goes that holds the text or was made of it, recorded searches and history too, in
        one transaction that looks whether anything is left. A message goes with the exchange that
        holds it. `user_id` may be left out where only one user has such a session or message. What
        comes again is stored again. Returns the receipt that is kept; raises NotFoundError.
        """
        return self._erasing.erase(user_id, session_id, message_id, by)

    @takes(chunk_id=ChunkId, by=Name | None)
    def delete(self, chunk_id: int, *, by: str | None = None) -> "Receipt":
        """Erase a chunk for good, as `erase`; a session chunk takes its turns along, a part of an
        exchange the other parts, and each a forgotten copy of it."""
        return self._erasing.delete(chunk_id, by)

    @takes(chunk_id=ChunkId, reason=Note | None, key=Name | None)
    def update(
        self,
        chunk_id: int,
        *,
        content: str | Mapping[str, str] | None = None,
        facets: Mapping[str, str] | None = None,
        tags: Sequence[str] | None = None,
        metadata: Mapping[str, JsonValue] | None = None,
        occurred_at: datetime | str | None = None,
        expires_at: datetime | str | None = None,
        ttl: timedelta | str | None = None,
        reason: str | None = None,
        key: str | None = None,
    ) -> Chunk:
        """Change what an exchange says or what is known of it; the chunk as it is then.

            memory.update(42, content={"assistant": "Noted: Porto since May."}, tags=["home"])

        What is given takes the place of what was there; of `content` by side and of `facets`, only
        those that are named. Vectors, words, links and session chunks follow. Where the setting
        `history` is on, `versions` has what it said before. `ttl` counts from now; "never" takes an
        expiry away.
        """
        from memsense.client.updating import GivenUpdate

        given = GivenUpdate.read(
            facets=facets,
            tags=tags,
            metadata=metadata,
            occurred_at=occurred_at,
            expires_at=expires_at,
            ttl=ttl,
        )
        return self._updating.update(chunk_id, content, given, reason, key)

    @takes(chunk_id=ChunkId)
    def versions(self, chunk_id: int) -> "list[Version]":
        """What an exchange said before it was updated, or edited in its log, oldest first.

        Kept where the setting `history` was on at the time; of what is forgotten, nothing.
        """
        return self._updating.versions(chunk_id)

    @takes(chunk_id=ChunkId, reason=Note | None, key=Name | None)
    def restore(
        self, chunk_id: int, *, reason: str | None = None, key: str | None = None
    ) -> list[int]:
        """Bring a forgotten or archived chunk back; a session chunk with the turns it took along.

        A turn that was said again after it was forgotten stays away.
        """
        return self._changes.restore(chunk_id, reason, key)

    @takes(chunk_id=ChunkId, key=Name | None)
    def promote(self, chunk_id: int, *, key: str | None = None) -> float:
        """Raise a chunk's memory score by 0.15, at most to 1; returns the new score."""
        return self._changes.move_score(chunk_id, SCORE_STEP, key)

    @takes(chunk_id=ChunkId, key=Name | None)
    def demote(self, chunk_id: int, *, key: str | None = None) -> float:
        """Lower a chunk's memory score by 0.15, at least to 0; returns the new score."""
        return self._changes.move_score(chunk_id, -SCORE_STEP, key)

    @takes(
        chunk_id=ChunkId, helpful=Switch, question=Note | None, note=Note | None, key=Name | None
    )
    def feedback(
        self,
        chunk_id: int,
        *,
        helpful: bool,
        question: str | None = None,
        note: str | None = None,
        key: str | None = None,
    ) -> None:
        """Record whether a hit helped; it goes into the chunk's history and changes no score."""
        self._changes.record_feedback(
            chunk_id, helpful=helpful, question=question, note=note, key=key
        )

    @takes(chunk_id=ChunkId)
    def history(self, chunk_id: int) -> list[Event]:
        """Everything that happened to a chunk, oldest first; raises NotFoundError."""
        found = run_read(
            self._context.pool,
            lambda it: store.fetch_history(it, self._context.require_namespace(it), chunk_id),
        )
        if found is None:
            raise no_chunk(chunk_id)
        return found

    # Last, since its name hides Python's own from what follows in this class.
    @takes(
        user_id=Id | None,
        all_users=Switch,
        granularity=Granularity,
        statuses=Annotated[Sequence[Status], AsList],
        order=Order,
        limit=Limit,
        cursor=Text | None,
    )
    def list(
        self,
        *,
        user_id: str | None = None,
        all_users: bool = False,
        agent_id: str | None = None,
        session_ids: Sequence[str] | None = None,
        project: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        tags: Sequence[str] | None = None,
        kinds: Sequence[MemoryKind] | None = None,
        metadata: Mapping[str, JsonValue] | None = None,
        granularity: Granularity = "turn",
        statuses: Sequence[Status] = ("active",),
        order: Order = "newest",
        limit: int = DEFAULT_PAGE,
        cursor: str | None = None,
    ) -> Page[Chunk]:
        """A page of a user's chunks by event time; filters are as in `search`.

            page = memory.list(user_id="ada")
            more = memory.list(user_id="ada", cursor=page.next_cursor)  # unless that is None

        What is added meanwhile neither repeats nor hides an item. `statuses` may ask for archived
        and deleted (forgotten) ones as well, these without their texts. Raises InvalidInputError
        for a cursor of another list or order.
        """
        filters = Filters.read(
            agent_id=agent_id,
            session_ids=session_ids,
            project=project,
            since=since,
            until=until,
            tags=tags,
            kinds=kinds,
            metadata=metadata,
        )
        return self._listing.chunks(
            say_whose(user_id, all_users),
            filters,
            granularity=granularity,
            statuses=statuses,
            order=order,
            limit=limit,
            cursor=cursor,
        )


def _check_profile(context: Context) -> None:
    """Raise now, not at the first search, for a profile that nobody knows."""
    if isinstance(context.profile, str) and context.profile not in PROFILES:
        name, namespace = context.profile, context.look_up_namespace()
        run_read(context.pool, lambda it: context.find_profile(it, namespace, name))


def _count_jobs(context: Context) -> "JobCounts":
    from memsense.client.jobs import JobsResource

    return JobsResource(context).count()
