"""AsyncMemSense: MemSense for asyncio and trio, each method awaited.

Written from the classes that block, and held equal to them: tests/unit/test_async_source.py.
"""

from functools import cached_property, partial
from typing import TYPE_CHECKING

from memsense.client.facade import Facade, OpenFacade
from memsense.client.memory import DEFAULT_PAGE, MemSense
from memsense.graph.resource import DEFAULT_LISTED, DEFAULT_SHOWN
from memsense.search.request import DEFAULT_CONTENT_BUDGET, DEFAULT_TOP_K

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime, timedelta
    from pathlib import Path
    from typing import Any, Literal, Self
    from uuid import UUID

    import psycopg

    from memsense import store
    from memsense.client.embedding_models import ModelComparison, ModelStatus
    from memsense.client.histories import Said
    from memsense.client.profiles import KnownProfile
    from memsense.client.transfer import ExportReport, ImportReport, Place
    from memsense.client.ttl import TtlRule
    from memsense.client.worker import JobsDone
    from memsense.config import Settings
    from memsense.embed import Embedder
    from memsense.explain.replay import Comparison, Replay
    from memsense.explain.why_not import Verdict
    from memsense.graph.extraction import EntityExtractor, EntityKind
    from memsense.graph.reading import Entity
    from memsense.graph.resource import EntityView
    from memsense.ingest import ReadOptions
    from memsense.search.hits import SearchResult
    from memsense.search.profiles import Profile
    from memsense.search.rank.reranker import Reranker
    from memsense.search.settings import SettingsInForce
    from memsense.store import projects
    from memsense.store import settings as stored
    from memsense.store import traces as recorded
    from memsense.store.access import AccessKey, KeyScope, NewKey
    from memsense.store.erasing import Receipt
    from memsense.store.expiring import Swept
    from memsense.store.items import Item, ItemOperation, VectorModel
    from memsense.store.jobs import Job, JobCounts, JobStatus
    from memsense.store.listing import Order
    from memsense.store.projects import Project
    from memsense.store.reindexing import Reindexing
    from memsense.store.traces import Trace, TraceStatistics, TraceSummary
    from memsense.store.versions import Version
    from memsense.types import (
        Added,
        Chunk,
        DayCount,
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
    from memsense.write.drafting import Annotations
    from memsense.write.facets import FacetTagger
    from memsense.write.ingest_run import IngestReport


class AsyncSettingsResource(Facade):
    """As SettingsResource, each method awaited."""

    async def show(self) -> "SettingsInForce":
        """Every setting as the next search of this object uses it, and where it comes from."""
        return await self._threads.run(self._sync.show)

    async def set(
        self, *, by: "str | None" = None, expected_version: "int | None" = None, **changes: "object"
    ) -> "SettingsInForce":
        """Set what the namespace's searches use from the next one on, in every process.

            memory.settings.set(profile="vector_heavy", lexical=1.5)

        `profile` is the name of a shipped or stored profile; a route's weight (0 to 5) or any
        constant of `Profile` applies on top of it; `embedder_failure` ("error" or "lexical")
        says what a search does whose question can't be embedded, `history` ("off" or "on") whether
        what an update replaces is kept, `on_expiry` ("erase" or "forget") what becomes of what has
        expired. `by` goes into the history
        (default: the user of the operating system). All or nothing. Raises ConfigurationError,
        or ConflictError if the settings are no longer those of `expected_version`.
        """
        return await self._threads.run(
            self._sync.set, by=by, expected_version=expected_version, **changes
        )

    async def reset(
        self, *names: "str", by: "str | None" = None, expected_version: "int | None" = None
    ) -> "SettingsInForce":
        """Take back what was set, by name or, without names, all of it."""
        return await self._threads.run(
            self._sync.reset, *names, by=by, expected_version=expected_version
        )

    async def history(self, *, limit: "int" = 100) -> "Sequence[stored.RecordedChange]":
        """The latest changes of settings and stored profiles, newest first: who, when and what."""
        return await self._threads.run(self._sync.history, limit=limit)


class AsyncProfilesResource(Facade):
    """As ProfilesResource, each method awaited."""

    async def list(self) -> "Sequence[KnownProfile]":
        """The profiles that a search may name: the shipped ones, then the namespace's own."""
        return await self._threads.run(self._sync.list)

    async def get(self, name: "str | None" = None) -> "Profile":
        """The shipped or stored profile of that name, without a name the one in force.

        Raises NotFoundError.
        """
        return await self._threads.run(self._sync.get, name)

    async def create(
        self,
        name: "str",
        base: "str | Profile" = "balanced",
        *,
        by: "str | None" = None,
        **changes: "object",
    ) -> "Profile":
        """Store a profile under a name of its own: `base` with some weights and constants changed.

            memory.profiles.create("mine", base="vector_heavy", lexical=1.5, mmr_lambda=1.0)

        All of its constants are kept, so that it ranks alike under a later release. Raises
        ConfigurationError, NotFoundError for an unknown base, or InvalidInputError for a name
        that is taken.
        """
        return await self._threads.run(self._sync.create, name, base, by=by, **changes)

    async def delete(self, name: "str", *, by: "str | None" = None) -> "None":
        """Delete a stored profile; raises InvalidInputError while the setting `profile` names it.

        NotFoundError for an unknown one.
        """
        return await self._threads.run(self._sync.delete, name, by=by)


class AsyncProjectsResource(Facade):
    """As ProjectsResource, each method awaited."""

    async def create(self, name: "str", session_ids: "Sequence[str]" = ()) -> "Project":
        """A new project of these sessions, which needn't hold anything yet.

            memory.projects.create("kitchen", ["monday", "friday"])
            memory.search("Which colour?", user_id="ada", project="kitchen")

        Raises InvalidInputError if the name is taken.
        """
        return await self._threads.run(self._sync.create, name, session_ids)

    async def add(self, name: "str", session_ids: "Sequence[str]") -> "Project":
        """Put sessions into a project; returns it as it is then. Raises NotFoundError."""
        return await self._threads.run(self._sync.add, name, session_ids)

    async def remove(self, name: "str", session_ids: "Sequence[str]") -> "Project":
        """Take sessions out of a project; returns it as it is then. Raises NotFoundError."""
        return await self._threads.run(self._sync.remove, name, session_ids)

    async def delete(self, name: "str") -> "None":
        """Dissolve a project; its sessions stay. Raises NotFoundError."""
        return await self._threads.run(self._sync.delete, name)

    async def list(self) -> "Sequence[Project]":
        """The namespace's projects, by name."""
        return await self._threads.run(self._sync.list)

    async def get(self, name: "str") -> "Project":
        """The project of that name; raises NotFoundError."""
        return await self._threads.run(self._sync.get, name)


class AsyncTracesResource(Facade):
    """As TracesResource, each method awaited."""

    async def replay(
        self,
        trace_id: "UUID | str",
        *,
        profile: "str | Profile | None" = None,
        as_of_then: "bool" = False,
        **overrides: "object",
    ) -> "Replay":
        """A recorded search run again: its own constants, or `profile`'s, with `overrides` on top.

            memory.traces.replay(result.trace_id, lexical=1.5, mmr_lambda=1.0).moves

        Over an unchanged store and with nothing changed, the list is the recorded one exactly;
        `as_of_then` searches memory as it stood when the trace was recorded, whatever was written
        since, where the setting `history` has kept that.
        """
        return await self._threads.run(
            self._sync.replay, trace_id, profile=profile, as_of_then=as_of_then, **overrides
        )

    async def compare(
        self,
        count: "int" = 20,
        *,
        profile: "str | Profile | None" = None,
        user_id: "str | None" = None,
        **overrides: "object",
    ) -> "Comparison":
        """The last `count` recorded searches run again with other constants, newest first."""
        return await self._threads.run(
            self._sync.compare, count, profile=profile, user_id=user_id, **overrides
        )

    async def list(
        self,
        *,
        limit: "int" = 20,
        user_id: "str | None" = None,
        empty: "bool" = False,
        slower_than: "float | None" = None,
        cursor: "str | None" = None,
    ) -> "Page[recorded.TraceSummary]":
        """A page of the recorded searches, newest first; its `next_cursor` asks for the next.

        Only those without hits if `empty`, or that took more milliseconds than `slower_than`.
        """
        return await self._threads.run(
            self._sync.list,
            limit=limit,
            user_id=user_id,
            empty=empty,
            slower_than=slower_than,
            cursor=cursor,
        )

    async def statistics(self, *, user_id: "str | None" = None) -> "recorded.TraceStatistics":
        """How many searches are recorded, how many found nothing, and how long they took."""
        return await self._threads.run(self._sync.statistics, user_id=user_id)

    async def get(self, trace_id: "UUID | str") -> "recorded.Trace":
        """A recorded search with all of its candidates; raises NotFoundError."""
        return await self._threads.run(self._sync.get, trace_id)

    async def prune(self, days: "float | None" = None) -> "int":
        """Delete traces older than `days` (default: the setting trace_days); how many went."""
        return await self._threads.run(self._sync.prune, days)

    @property
    def failures(self) -> "int":
        """How many of this object's searches were to be recorded and could not be."""
        return self._sync.failures

    async def flush(self) -> "None":
        """Wait until the searches recorded so far are written (or have failed to be)."""
        return await self._threads.run(self._sync.flush)


class AsyncEntities(Facade):
    """As Entities, each method awaited."""

    async def list(
        self,
        *,
        user_id: "str | None" = None,
        all_users: "bool" = False,
        kind: "EntityKind | None" = None,
        limit: "int" = DEFAULT_LISTED,
    ) -> "list[Entity]":
        """What a user's memory mentions most often; with `all_users`, each user's own entities."""
        return await self._threads.run(
            self._sync.list, user_id=user_id, all_users=all_users, kind=kind, limit=limit
        )

    async def get(
        self,
        name: "str",
        *,
        user_id: "str | None" = None,
        all_users: "bool" = False,
        limit: "int" = DEFAULT_SHOWN,
    ) -> "EntityView":
        """The entity of that name, in any spelling of its key: a user's, or with `all_users` that
        of the user who mentions it most.

        Raises NotFoundError, which lists similar names.
        """
        return await self._threads.run(
            self._sync.get, name, user_id=user_id, all_users=all_users, limit=limit
        )

    async def rebuild(
        self,
        *,
        user_id: "str | None" = None,
        on_user: "Callable[[str, int], object]" = lambda _user, _chunks: None,
    ) -> "int":
        """Find the entities of everything stored again; returns the number of chunks read.

        For stores older than entities, and after a change of extractor. One transaction a user,
        whose writes wait meanwhile; `on_user` gets the user and the number of their chunks.
        """
        return await self._threads.run(self._sync.rebuild, user_id=user_id, on_user=on_user)


class AsyncIndexesResource(Facade):
    """As IndexesResource, each method awaited."""

    async def make_sessions(self, user_id: "str | None" = None) -> "int":
        """Make the session chunks that writes in mode "hybrid" left open; of how many sessions.

        A search of sessions makes those it needs by itself, the first time.
        """
        return await self._threads.run(self._sync.make_sessions, user_id)

    async def optimise(
        self, on_change: "Callable[[store.IndexChange], object]" = lambda _: None
    ) -> "list[store.IndexChange]":
        """Give large users' memories HNSW indexes of their own, and take them from shrunken ones.

        The rule is `store.should_index` with the setting `index_threshold`. Takes minutes for
        100,000 chunks; searches and writes go on meanwhile. Returns what was changed.
        """
        return await self._threads.run(self._sync.optimise, on_change)

    async def fill_tokens(self, *, on_chunks: "Callable[[int], object]" = lambda _: None) -> "int":
        """Give the exchanges that were stored without token vectors theirs; returns how many.

        Searches and writes go on meanwhile, and a broken-off run is completed by the next one.
        `on_chunks` gets the size of each batch. Raises ConfigurationError if the embedder has no
        token vectors, or the settings leave them out.
        """
        return await self._threads.run(self._sync.fill_tokens, on_chunks=on_chunks)

    async def rebuild(
        self,
        language: "str | None" = None,
        *,
        on_chunks: "Callable[[int], object]" = lambda _: None,
    ) -> "Reindexing":
        """Make the text index of all memories anew, in the text-search configuration `language`
        if one is given, which the namespace then keeps.

        One transaction: searches use the old index until it is done, and keep it if it fails;
        writes wait. `on_chunks` gets the number of chunks of each batch. Raises InvalidInputError
        for a language that the server doesn't know, NotFoundError before anything is stored.
        """
        return await self._threads.run(self._sync.rebuild, language, on_chunks=on_chunks)


class AsyncErasuresResource(Facade):
    """As ErasuresResource, each method awaited."""

    async def list(self, *, limit: "int" = 100, about: "str | None" = None) -> "Sequence[Receipt]":
        """The latest receipts of the namespace, the latest first.

            memory.erasures.list(about="ada")

        `about` leaves those that are about this user, session, message or chunk: a receipt holds
        no id, but knows its own again. That takes some 0.1 s a receipt.
        """
        return await self._threads.run(self._sync.list, limit=limit, about=about)


class AsyncHistoriesResource(Facade):
    """As HistoriesResource, each method awaited."""

    async def append(
        self,
        collection: "str",
        said: "Sequence[Said]",
        *,
        user_id: "str",
        session_id: "str",
        agent_id: "str | None" = None,
    ) -> "None":
        """Add items at the end, in one transaction with the memories of what they say."""
        return await self._threads.run(
            self._sync.append,
            collection,
            said,
            user_id=user_id,
            session_id=session_id,
            agent_id=agent_id,
        )

    async def read(
        self, collection: "str", *, user_id: "str", session_id: "str", limit: "int | None" = None
    ) -> "list[dict[str, Any]]":
        """The session's items in order, or the latest so many of them."""
        return await self._threads.run(
            self._sync.read, collection, user_id=user_id, session_id=session_id, limit=limit
        )

    async def pop(
        self, collection: "str", *, user_id: "str", session_id: "str"
    ) -> "dict[str, Any] | None":
        """Take the latest item away, out of memory too, and return it; None where there is none."""
        return await self._threads.run(
            self._sync.pop, collection, user_id=user_id, session_id=session_id
        )

    async def clear(self, collection: "str", *, user_id: "str", session_id: "str") -> "None":
        """Erase the session, in memory too; a receipt is kept."""
        return await self._threads.run(
            self._sync.clear, collection, user_id=user_id, session_id=session_id
        )


class AsyncItemsResource(Facade):
    """As ItemsResource, each method awaited."""

    async def run(
        self,
        collection: "str",
        operations: "Sequence[ItemOperation]",
        *,
        model: "VectorModel | None" = None,
        omit_expired: "bool" = False,
    ) -> "list[Any]":
        """Do all of it in one transaction; returns what each operation found, in order.

            memory.items.run("app", [PutItem(path=["users"], key="ada", value={"age": 36})])

        Reads see what was there before the writes, and of several writes of one key the last
        counts. `model` names what made the vectors; those of another one are not compared.
        """
        return await self._threads.run(
            self._sync.run, collection, operations, model=model, omit_expired=omit_expired
        )

    async def tail(
        self, collection: "str", path: "Sequence[str]", *, limit: "int | None" = None
    ) -> "list[Item]":
        """The latest so many items at a path, oldest first; without a limit all of them."""
        return await self._threads.run(self._sync.tail, collection, path, limit=limit)

    async def pop(self, collection: "str", path: "Sequence[str]") -> "Item | None":
        """Take away the latest item at a path, and return it; None where there is none."""
        return await self._threads.run(self._sync.pop, collection, path)

    async def clear(self, collection: "str", path: "Sequence[str]") -> "int":
        """Delete all items at a path; returns how many."""
        return await self._threads.run(self._sync.clear, collection, path)

    async def sweep(self, collection: "str") -> "int":
        """Delete the collection's items that have expired; returns how many."""
        return await self._threads.run(self._sync.sweep, collection)


class AsyncJobsResource(Facade):
    """As JobsResource, each method awaited."""

    async def list(
        self, status: "JobStatus | None" = None, *, kind: "str | None" = None, limit: "int" = 100
    ) -> "list[Job]":
        """The jobs, those that are due next first, the dead ones last.

        "waiting", "running" or "dead" ones alone, or of one `kind`. A dead job names its chunk and
        says what each of its attempts met.
        """
        return await self._threads.run(self._sync.list, status, kind=kind, limit=limit)

    async def count(self) -> "JobCounts":
        """How many jobs wait, run and are dead, and since when the oldest waits."""
        return await self._threads.run(self._sync.count)

    async def retry(self, job_ids: "Sequence[int] | None" = None) -> "list[int]":
        """Let these jobs be done now, without ids all dead ones; returns the ids.

        A dead one has all its attempts again. Raises NotFoundError for a job that is none.
        """
        return await self._threads.run(self._sync.retry, job_ids)

    async def drop(self, job_ids: "Sequence[int] | None" = None) -> "list[int]":
        """Give these jobs up, without ids all dead ones; returns the ids.

        Their chunks stay as they are: words find them. Raises NotFoundError for a job that is none.
        """
        return await self._threads.run(self._sync.drop, job_ids)

    async def run(self, *, limit: "int | None" = None) -> "JobsDone":
        """Do what is due, here and now, `limit` jobs at most.

        A text that can't be embedded fails and waits longer each time; after its last attempt it
        is dead. While the embedder is down nothing fails: the result says why it stopped.
        """
        return await self._threads.run(self._sync.run, limit=limit)

    async def work(self, stop: "threading.Event") -> "None":
        """Do jobs as they come until `stop` is set, or an exception such as KeyboardInterrupt
        comes: then the leases at hand are given back.
        """
        return await self._threads.run(self._sync.work, stop)

    async def start(self) -> "None":
        """Do jobs in a thread of this process until the memory is closed.

        The embedded use does so by itself when something is left for later.
        """
        return await self._threads.run(self._sync.start)


class AsyncAccessKeysResource(Facade):
    """As AccessKeysResource, each method awaited."""

    async def create(
        self,
        scopes: "Sequence[KeyScope]" = ("read",),
        *,
        name: "str" = "unnamed",
        user_id: "str | None" = None,
        expires_at: "datetime | str | None" = None,
        by: "str | None" = None,
    ) -> "NewKey":
        """Make a key; its `text` is shown now and never again.

            key = memory.access_keys.create(["read", "write"], name="chat", expires_at="2027-01-01")
            print(key.text)

        It opens all of the tenant's memory, or with a `user_id` that user's alone: "read" to search
        and look, "write" to add, rate and give feedback, "forget" to forget and restore, "admin" to
        erase, and for jobs and health; a key of one user's can't have "admin".
        """
        return await self._threads.run(
            self._sync.create, scopes, name=name, user_id=user_id, expires_at=expires_at, by=by
        )

    async def list(self) -> "Sequence[AccessKey]":
        """The tenant's keys, the oldest first, with those that were revoked or have expired."""
        return await self._threads.run(self._sync.list)

    async def revoke(self, key_id: "str") -> "AccessKey":
        """Let a key open nothing from now on, for good; raises NotFoundError."""
        return await self._threads.run(self._sync.revoke, key_id)


class AsyncTtlResource(Facade):
    """As TtlResource, each method awaited."""

    async def set(
        self,
        ttl: "timedelta | str",
        *,
        tag: "str | None" = None,
        existing: "bool" = False,
        by: "str | None" = None,
    ) -> "int":
        """Keep what is stored from now on so long: a timedelta, or a text such as "45s", "90m",
        "12h", "30d" or "4w".

        With `existing` what is stored already, too, counted from when it was stored: what is older
        has expired at once. What expires sooner anyway stays as it is. Returns how many chunks that
        dated.
        """
        return await self._threads.run(self._sync.set, ttl, tag=tag, existing=existing, by=by)

    async def unset(self, *, tag: "str | None" = None, by: "str | None" = None) -> "None":
        """Take a rule away; what is dated already still expires. Raises NotFoundError."""
        return await self._threads.run(self._sync.unset, tag=tag, by=by)

    async def list(self) -> "Sequence[TtlRule]":
        """The rules, that of the namespace first."""
        return await self._threads.run(self._sync.list)

    async def sweep(self) -> "Swept":
        """Sweep what has expired of the whole namespace now, as the worker does by itself.

        Erases it, or forgets it where the setting `on_expiry` is "forget".
        """
        return await self._threads.run(self._sync.sweep)


class AsyncModelsResource(Facade):
    """As ModelsResource, each method awaited."""

    async def status(self) -> "Sequence[ModelStatus]":
        """The namespace's models, the one that searches use first; counts all that is stored."""
        return await self._threads.run(self._sync.status)

    async def add(
        self,
        embedder: "Literal['onnx', 'openai'] | Embedder | None" = None,
        *,
        model: "str | None" = None,
        url: "str | None" = None,
        dimension: "int | None" = None,
        later: "bool" = False,
        on_texts: "Callable[[int], object]" = lambda _: None,
    ) -> "ModelStatus":
        """Give all that is stored vectors of another model, and each write from now on too.

        "openai" and "onnx" name an embedder that every process can open by itself, as the database
        tells it; a server's key is MEMSENSE_EMBEDDING_API_KEY at MEMSENSE_EMBEDDING_URL, and what
        MEMSENSE_EMBEDDING_API_KEYS says elsewhere. An embedder of your own must be given to every
        process as one of `other_embedders`. Without either it is the one this was opened with.

        Takes as long as ingesting did; searches and writes go on, and a broken-off run is completed
        by the next one. With `later` it is left to jobs: a worker does them, and `status` tells how
        far it is. `on_texts` gets the size of each batch. Raises NotFoundError before
        anything is stored, EmbeddingError if the model fails.
        """
        return await self._threads.run(
            self._sync.add,
            embedder,
            model=model,
            url=url,
            dimension=dimension,
            later=later,
            on_texts=on_texts,
        )

    async def switch(
        self, name: "str", *, dimension: "int | None" = None, incomplete: "bool" = False
    ) -> "ModelStatus":
        """Let searches use this model from now on, in every process, by one update.

        The model before goes on to get its vectors, for `back`, until it is dropped. Raises
        InvalidInputError while texts lack vectors of the model or large memories its indexes,
        unless `incomplete` says so; NotFoundError for a model that was never added.
        """
        return await self._threads.run(
            self._sync.switch, name, dimension=dimension, incomplete=incomplete
        )

    async def back(self) -> "ModelStatus":
        """Let searches use the model that they used before; its vectors are there.

        Raises NotFoundError if there is none, or it was dropped.
        """
        return await self._threads.run(self._sync.back)

    async def drop(self, name: "str", *, dimension: "int | None" = None) -> "int":
        """Delete the vectors of a model that searches don't use; returns how many there were.

        Searches and writes go on, and a broken-off run is completed by the next one. Raises
        InvalidInputError for the model in use, NotFoundError for one that was never added.
        """
        return await self._threads.run(self._sync.drop, name, dimension=dimension)

    async def compare(
        self, name: "str", count: "int" = 20, *, dimension: "int | None" = None
    ) -> "ModelComparison":
        """The last `count` recorded searches run again with the model in use and with this one.

        `trial` gives both to `memsense.evaluation`, for questions whose answers are known.
        """
        return await self._threads.run(self._sync.compare, name, count, dimension=dimension)


class AsyncUserTraces(Facade):
    """As UserTraces, each method awaited."""

    async def list(self, **options: "Any") -> "Page[TraceSummary]":
        """As `MemSense.traces.list`, with its options."""
        return await self._threads.run(self._sync.list, **options)

    async def statistics(self) -> "TraceStatistics":
        """As `MemSense.traces.statistics`."""
        return await self._threads.run(self._sync.statistics)

    async def get(self, trace_id: "UUID | str") -> "Trace":
        """As `MemSense.traces.get`."""
        return await self._threads.run(self._sync.get, trace_id)

    async def replay(
        self,
        trace_id: "UUID | str",
        *,
        profile: "str | Profile | None" = None,
        as_of_then: "bool" = False,
        **overrides: "object",
    ) -> "Replay":
        """As `MemSense.traces.replay`."""
        return await self._threads.run(
            self._sync.replay, trace_id, profile=profile, as_of_then=as_of_then, **overrides
        )

    async def compare(
        self, count: "int" = 20, *, profile: "str | Profile | None" = None, **overrides: "object"
    ) -> "Comparison":
        """As `MemSense.traces.compare`."""
        return await self._threads.run(self._sync.compare, count, profile=profile, **overrides)


class AsyncUserEntities(Facade):
    """As UserEntities, each method awaited."""

    async def list(self, **options: "Any") -> "list[Entity]":
        """As `MemSense.entities.list`, with its options."""
        return await self._threads.run(self._sync.list, **options)

    async def get(self, name: "str", **options: "Any") -> "EntityView":
        """As `MemSense.entities.get`, with its options."""
        return await self._threads.run(self._sync.get, name, **options)


class AsyncUserProjects(Facade):
    """As UserProjects, each method awaited."""

    async def list(self) -> "Sequence[projects.Project]":
        """As `MemSense.projects.list`."""
        return await self._threads.run(self._sync.list)

    async def get(self, name: "str") -> "projects.Project":
        """As `MemSense.projects.get`."""
        return await self._threads.run(self._sync.get, name)


class AsyncUserMemory(Facade):
    """As UserMemory, each method awaited."""

    @property
    def user_id(self) -> str:
        """Whose memory it is."""
        return self._sync.user_id

    @cached_property
    def traces(self) -> "AsyncUserTraces":
        """The user's recorded searches."""
        return AsyncUserTraces(self._threads, self._sync.traces)

    @cached_property
    def entities(self) -> "AsyncUserEntities":
        """What the user's memory mentions."""
        return AsyncUserEntities(self._threads, self._sync.entities)

    @cached_property
    def projects(self) -> "AsyncUserProjects":
        """The namespace's pools of sessions, as far as they hold the user's."""
        return AsyncUserProjects(self._threads, self._sync.projects)

    async def add(
        self, messages: "Iterable[object]", *, session_id: "str", **options: "Any"
    ) -> "Added":
        """As `MemSense.add`, with its options."""
        return await self._threads.run(self._sync.add, messages, session_id=session_id, **options)

    async def add_many(
        self, sessions: "Iterable[Mapping[str, object]]", **options: "Any"
    ) -> "list[Added]":
        """As `MemSense.add_many`, with its options."""
        return await self._threads.run(self._sync.add_many, sessions, **options)

    async def ingest(self, *paths: "str | Path", **options: "Any") -> "IngestReport":
        """As `MemSense.ingest`, with its options: all becomes this user's, whoever a log names."""
        return await self._threads.run(self._sync.ingest, *paths, **options)

    async def search(self, query: "str", **options: "Any") -> "SearchResult":
        """As `MemSense.search`, with its options."""
        return await self._threads.run(self._sync.search, query, **options)

    async def search_many(self, queries: "Sequence[str]", **options: "Any") -> "list[SearchResult]":
        """As `MemSense.search_many`, with its options."""
        return await self._threads.run(self._sync.search_many, queries, **options)

    async def why_not(self, query: "str", chunk_id: "int", **options: "Any") -> "Verdict":
        """As `MemSense.why_not`, with its options."""
        return await self._threads.run(self._sync.why_not, query, chunk_id, **options)

    async def matching_words(self, words: "Sequence[str]", lexemes: "Sequence[str]") -> "set[str]":
        """As `MemSense.matching_words`: it reads the words that it is given, and no memory."""
        return await self._threads.run(self._sync.matching_words, words, lexemes)

    async def recent(self, **options: "Any") -> "list[Chunk]":
        """As `MemSense.recent`, with its options."""
        return await self._threads.run(self._sync.recent, **options)

    async def sessions(self, **options: "Any") -> "Page[SessionSummary]":
        """As `MemSense.sessions`, with its options."""
        return await self._threads.run(self._sync.sessions, **options)

    async def stats(self) -> "list[ScopeStatistics]":
        """As `MemSense.stats`."""
        return await self._threads.run(self._sync.stats)

    async def export_to(self, path: "Place", *, vectors: "bool" = False) -> "ExportReport":
        """As `MemSense.export_to`."""
        return await self._threads.run(self._sync.export_to, path, vectors=vectors)

    async def erase(self, **options: "Any") -> "Receipt":
        """As `MemSense.erase`, with its options: without any, all of the user's memory."""
        return await self._threads.run(self._sync.erase, **options)

    async def get(self, chunk_id: "int") -> "Chunk":
        """As `MemSense.get`."""
        return await self._threads.run(self._sync.get, chunk_id)

    async def forget(
        self, chunk_id: "int", *, reason: "str | None" = None, key: "str | None" = None
    ) -> "list[int]":
        """As `MemSense.forget`."""
        return await self._threads.run(self._sync.forget, chunk_id, reason=reason, key=key)

    async def archive(
        self, chunk_id: "int", *, reason: "str | None" = None, key: "str | None" = None
    ) -> "list[int]":
        """As `MemSense.archive`."""
        return await self._threads.run(self._sync.archive, chunk_id, reason=reason, key=key)

    async def delete(self, chunk_id: "int", *, by: "str | None" = None) -> "Receipt":
        """As `MemSense.delete`."""
        return await self._threads.run(self._sync.delete, chunk_id, by=by)

    async def update(self, chunk_id: "int", **options: "Any") -> "Chunk":
        """As `MemSense.update`, with its options."""
        return await self._threads.run(self._sync.update, chunk_id, **options)

    async def versions(self, chunk_id: "int") -> "list[Version]":
        """As `MemSense.versions`."""
        return await self._threads.run(self._sync.versions, chunk_id)

    async def restore(
        self, chunk_id: "int", *, reason: "str | None" = None, key: "str | None" = None
    ) -> "list[int]":
        """As `MemSense.restore`."""
        return await self._threads.run(self._sync.restore, chunk_id, reason=reason, key=key)

    async def promote(self, chunk_id: "int", *, key: "str | None" = None) -> "float":
        """As `MemSense.promote`."""
        return await self._threads.run(self._sync.promote, chunk_id, key=key)

    async def demote(self, chunk_id: "int", *, key: "str | None" = None) -> "float":
        """As `MemSense.demote`."""
        return await self._threads.run(self._sync.demote, chunk_id, key=key)

    async def feedback(
        self,
        chunk_id: "int",
        *,
        helpful: "bool",
        question: "str | None" = None,
        note: "str | None" = None,
        key: "str | None" = None,
    ) -> "None":
        """As `MemSense.feedback`."""
        return await self._threads.run(
            self._sync.feedback, chunk_id, helpful=helpful, question=question, note=note, key=key
        )

    async def history(self, chunk_id: "int") -> "list[Event]":
        """As `MemSense.history`."""
        return await self._threads.run(self._sync.history, chunk_id)

    async def list(self, **options: "Any") -> "Page[Chunk]":
        """As `MemSense.list`, with its options."""
        return await self._threads.run(self._sync.list, **options)


class AsyncMemSense(OpenFacade):
    """An agent's memory in PostgreSQL, for asyncio and trio.

        async with AsyncMemSense.open() as memory:
            await memory.add([{"role": "user", "content": "I moved to Lisbon."}],
                             user_id="ada", session_id="monday")
            hits = await memory.search("Where does Ada live?", user_id="ada")

    `memory = await AsyncMemSense.open()` leaves it to you to `await memory.close()`. Methods and
    resources are those of MemSense, each method awaited. They run in threads of the memory's own,
    as many at once as its pool has connections; callbacks are called there. Cancelling a task
    cancels its statement, and frees its connection before the task goes on.
    """

    @classmethod
    def open(
        cls,
        url: "str | None" = None,
        *,
        profile: "str | Profile | None" = None,
        embedder: "Embedder | None" = None,
        other_embedders: "Sequence[Embedder]" = (),
        tenant: "str | None" = None,
        namespace: "str | None" = None,
        settings: "Settings | None" = None,
        tagger: "FacetTagger | None" = None,
        extractor: "EntityExtractor | None" = None,
        reranker: "Reranker | None" = None,
    ) -> "Self":
        """Connect to `url`, else to MEMSENSE_DATABASE_URL, else to the embedded server.

        The embedded server is started and its database prepared on first use; a database of
        yours needs `memsense init` once. A `profile` given here is taken as it is, whatever the
        namespace's settings say. `other_embedders` are of models that the namespace has vectors of
        too, where the database doesn't say how to open them: see `models`.

        Raises ConnectionFailedError, ServerTooOldError, SchemaError, NotFoundError for an unknown
        `profile`, InvalidInputError, or ConfigurationError, each naming the remedy.
        """
        return cls(
            partial(
                MemSense.open,
                url,
                profile=profile,
                embedder=embedder,
                other_embedders=other_embedders,
                tenant=tenant,
                namespace=namespace,
                settings=settings,
                tagger=tagger,
                extractor=extractor,
                reranker=reranker,
            )
        )

    def for_user(self, user_id: "str") -> "AsyncUserMemory":
        """This memory for one user alone: no id reaches what is another's."""
        return AsyncUserMemory(self._threads, self._sync.for_user(user_id))

    @property
    def pool_size(self) -> "int":
        """How many threads may use it at once without waiting: the connections of its pool."""
        return self._sync.pool_size

    @cached_property
    def settings(self) -> "AsyncSettingsResource":
        """What the namespace's searches use, changed while they go on."""
        return AsyncSettingsResource(self._threads, self._sync.settings)

    @cached_property
    def profiles(self) -> "AsyncProfilesResource":
        """The named sets of constants that a search may rank by."""
        return AsyncProfilesResource(self._threads, self._sync.profiles)

    @cached_property
    def projects(self) -> "AsyncProjectsResource":
        """Named pools of sessions to search in."""
        return AsyncProjectsResource(self._threads, self._sync.projects)

    @cached_property
    def traces(self) -> "AsyncTracesResource":
        """Recorded searches: to look at, to run again, to prune."""
        return AsyncTracesResource(self._threads, self._sync.traces)

    @cached_property
    def entities(self) -> "AsyncEntities":
        """What memory mentions."""
        return AsyncEntities(self._threads, self._sync.entities)

    @cached_property
    def erasures(self) -> "AsyncErasuresResource":
        """The receipts of what was erased for good."""
        return AsyncErasuresResource(self._threads, self._sync.erasures)

    @cached_property
    def models(self) -> "AsyncModelsResource":
        """The embedding models: add another one, compare, go over to it, and back."""
        return AsyncModelsResource(self._threads, self._sync.models)

    @cached_property
    def indexes(self) -> "AsyncIndexesResource":
        """The indexes of large memories, and the text index."""
        return AsyncIndexesResource(self._threads, self._sync.indexes)

    @cached_property
    def access_keys(self) -> "AsyncAccessKeysResource":
        """The keys by which programs reach this tenant's memory on a server."""
        return AsyncAccessKeysResource(self._threads, self._sync.access_keys)

    @cached_property
    def histories(self) -> "AsyncHistoriesResource":
        """Sessions of frameworks, to the letter, whose words are remembered too."""
        return AsyncHistoriesResource(self._threads, self._sync.histories)

    @cached_property
    def items(self) -> "AsyncItemsResource":
        """Values under keys, which frameworks keep beside conversations."""
        return AsyncItemsResource(self._threads, self._sync.items)

    @cached_property
    def ttl(self) -> "AsyncTtlResource":
        """How long memories are kept, by tag or all of them, and the sweep of what has expired."""
        return AsyncTtlResource(self._threads, self._sync.ttl)

    @cached_property
    def jobs(self) -> "AsyncJobsResource":
        """What writes have left for later, and the worker that does it."""
        return AsyncJobsResource(self._threads, self._sync.jobs)

    async def add(
        self,
        messages: "Iterable[object]",
        *,
        user_id: "str",
        session_id: "str",
        agent_id: "str | None" = None,
        mode: "IngestMode" = "turn",
        task_tag: "str | None" = None,
        tags: "Sequence[str]" = (),
        facets: "Mapping[str, str] | None" = None,
        memory_kind: "MemoryKind | None" = None,
        confidence: "float" = 1.0,
        metadata: "Mapping[str, JsonValue] | None" = None,
        expires_at: "datetime | str | None" = None,
        ttl: "timedelta | str | None" = None,
        embed: "EmbedWhen | None" = None,
        key: "str | None" = None,
        connection: "psycopg.Connection[Any] | psycopg.AsyncConnection[Any] | None" = None,
    ) -> "Added":
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
        return await self._threads.run(
            self._sync.add,
            messages,
            user_id=user_id,
            session_id=session_id,
            agent_id=agent_id,
            mode=mode,
            task_tag=task_tag,
            tags=tags,
            facets=facets,
            memory_kind=memory_kind,
            confidence=confidence,
            metadata=metadata,
            expires_at=expires_at,
            ttl=ttl,
            embed=embed,
            key=key,
            connection=connection,
        )

    async def add_many(
        self,
        sessions: "Iterable[Mapping[str, object]]",
        *,
        user_id: "str | None" = None,
        embed: "EmbedWhen | None" = None,
        key: "str | None" = None,
        connection: "psycopg.Connection[Any] | psycopg.AsyncConnection[Any] | None" = None,
    ) -> "list[Added]":
        """Store several sessions in one transaction, embedded in one batch; what each gave.

            memory.add_many([{"session_id": "mon", "messages": [...]},
                             {"session_id": "tue", "messages": [...], "tags": ["work"]}],
                            user_id="ada")

        Each has `messages`, `session_id` and what else `add` takes of a session; `user_id` is
        whose those are that name none. All or nothing. Raises as `add` does.
        """
        return await self._threads.run(
            self._sync.add_many,
            sessions,
            user_id=user_id,
            embed=embed,
            key=key,
            connection=connection,
        )

    async def ingest(
        self,
        *paths: "str | Path",
        user_id: "str | None" = None,
        mode: "IngestMode" = "turn",
        options: "ReadOptions | None" = None,
        annotations: "Annotations | None" = None,
        embed: "EmbedWhen | None" = None,
        dry_run: "bool" = False,
        on_start: "Callable[[int], object]" = lambda _: None,
        on_bytes: "Callable[[int], object]" = lambda _: None,
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
        return await self._threads.run(
            self._sync.ingest,
            *paths,
            user_id=user_id,
            mode=mode,
            options=options,
            annotations=annotations,
            embed=embed,
            dry_run=dry_run,
            on_start=on_start,
            on_bytes=on_bytes,
            on_session=on_session,
        )

    async def search(
        self,
        query: "str",
        *,
        top_k: "int" = DEFAULT_TOP_K,
        user_id: "str | None" = None,
        all_users: "bool" = False,
        agent_id: "str | None" = None,
        session_ids: "Sequence[str] | None" = None,
        project: "str | None" = None,
        since: "datetime | str | None" = None,
        until: "datetime | str | None" = None,
        granularity: "Granularity | None" = None,
        min_score: "float | None" = None,
        exclude: "Sequence[int | str]" = (),
        tags: "Sequence[str] | None" = None,
        kinds: "Sequence[MemoryKind] | None" = None,
        metadata: "Mapping[str, JsonValue] | None" = None,
        asked_at: "datetime | str | None" = None,
        as_of: "datetime | str | None" = None,
        profile: "str | Profile | None" = None,
        overrides: "Mapping[str, object] | None" = None,
        content_budget: "int" = DEFAULT_CONTENT_BUDGET,
        trace: "bool | None" = None,
    ) -> "SearchResult":
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
        return await self._threads.run(
            self._sync.search,
            query,
            top_k=top_k,
            user_id=user_id,
            all_users=all_users,
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
            trace=trace,
        )

    async def search_many(
        self,
        queries: "Sequence[str]",
        *,
        user_id: "str | None" = None,
        all_users: "bool" = False,
        trace: "bool | None" = None,
        **options: "Any",
    ) -> "list[SearchResult]":
        """Several questions about the same memory, with the options of `search`; their results.

        All are recalled in one round trip, and all texts are fetched in another.
        """
        return await self._threads.run(
            self._sync.search_many,
            queries,
            user_id=user_id,
            all_users=all_users,
            trace=trace,
            **options,
        )

    async def why_not(
        self,
        query: "str",
        chunk_id: "int",
        *,
        top_k: "int" = DEFAULT_TOP_K,
        user_id: "str | None" = None,
        all_users: "bool" = False,
        agent_id: "str | None" = None,
        session_ids: "Sequence[str] | None" = None,
        project: "str | None" = None,
        since: "datetime | str | None" = None,
        until: "datetime | str | None" = None,
        granularity: "Granularity | None" = None,
        min_score: "float | None" = None,
        exclude: "Sequence[int | str]" = (),
        tags: "Sequence[str] | None" = None,
        kinds: "Sequence[MemoryKind] | None" = None,
        metadata: "Mapping[str, JsonValue] | None" = None,
        asked_at: "datetime | str | None" = None,
        profile: "str | Profile | None" = None,
        overrides: "Mapping[str, object] | None" = None,
    ) -> "Verdict":
        """Why a search with these options does not return a chunk, or as which hit it does.

        The first step that lost it decides. Raises NotFoundError for a chunk that is not in
        this namespace.
        """
        return await self._threads.run(
            self._sync.why_not,
            query,
            chunk_id,
            top_k=top_k,
            user_id=user_id,
            all_users=all_users,
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

    async def export_to(
        self,
        path: "Place",
        *,
        user_id: "str | None" = None,
        all_users: "bool" = False,
        vectors: "bool" = False,
    ) -> "ExportReport":
        """Write a user's memory, or with `all_users` everybody's, to a file of JSON lines,
        or of Parquet if its name ends in .parquet, which needs `memsense[parquet]`.

        With what became of it: status, score, history, what logs brought. Of what is forgotten only
        the place is written. With what the namespace has set and its stored profiles. `vectors`
        spares an import the embedding. docs/data.md has the forms.
        """
        return await self._threads.run(
            self._sync.export_to, path, user_id=user_id, all_users=all_users, vectors=vectors
        )

    async def import_from(
        self,
        path: "Place",
        *,
        settings: "bool | None" = None,
        on_session: "Callable[[ImportReport], object]" = lambda _: None,
    ) -> "ImportReport":
        """Store what `export_to` has written, here or elsewhere; a second time changes nothing.

        Each session is a transaction of its own, so an interrupted import is run again. What is
        stored already, and what was forgotten here, is left alone. Settings and stored profiles
        of the file are taken over where nobody has a memory yet, unless `settings` says so or not;
        what is set here stays. Raises IngestError, and ConfigurationError for settings that this
        memsense doesn't know.
        """
        return await self._threads.run(
            self._sync.import_from, path, settings=settings, on_session=on_session
        )

    async def recent(
        self,
        *,
        limit: "int" = 10,
        user_id: "str | None" = None,
        all_users: "bool" = False,
        agent_id: "str | None" = None,
        session_id: "str | None" = None,
        granularity: "Granularity" = "turn",
    ) -> "list[Chunk]":
        """A user's latest chunks by event time, newest first; with `all_users` everybody's."""
        return await self._threads.run(
            self._sync.recent,
            limit=limit,
            user_id=user_id,
            all_users=all_users,
            agent_id=agent_id,
            session_id=session_id,
            granularity=granularity,
        )

    async def sessions(
        self,
        *,
        user_id: "str | None" = None,
        all_users: "bool" = False,
        agent_id: "str | None" = None,
        project: "str | None" = None,
        since: "datetime | str | None" = None,
        until: "datetime | str | None" = None,
        tags: "Sequence[str] | None" = None,
        kinds: "Sequence[MemoryKind] | None" = None,
        limit: "int" = DEFAULT_PAGE,
        cursor: "str | None" = None,
    ) -> "Page[SessionSummary]":
        """A page of a user's sessions, the one that was last talked in first; filters are as in
        `search`, and a session counts what passes them. The page's `next_cursor` asks for the next.
        """
        return await self._threads.run(
            self._sync.sessions,
            user_id=user_id,
            all_users=all_users,
            agent_id=agent_id,
            project=project,
            since=since,
            until=until,
            tags=tags,
            kinds=kinds,
            limit=limit,
            cursor=cursor,
        )

    async def users(
        self, *, limit: "int" = DEFAULT_PAGE, cursor: "str | None" = None
    ) -> "Page[ScopeStatistics]":
        """A page of the namespace's users by their ids, with what each memory holds."""
        return await self._threads.run(self._sync.users, limit=limit, cursor=cursor)

    async def growth(self, *, days: "int" = 30) -> "Sequence[DayCount]":
        """How many exchanges were stored on each of the last days that has any, the latest first.

        Days are those of UTC; what was forgotten or archived since is not counted.
        """
        return await self._threads.run(self._sync.growth, days=days)

    async def matching_words(self, words: "Sequence[str]", lexemes: "Sequence[str]") -> "set[str]":
        """Those of the words that a text search for the lexemes finds, to be marked in a text.

        memory.matching_words(hit.content.split(), result.question["lexemes"])
        """
        return await self._threads.run(self._sync.matching_words, words, lexemes)

    async def get(self, chunk_id: "int") -> "Chunk":
        """One chunk, whatever its status, a forgotten one without its texts, facets and tags; one
        that has expired, likewise.

        Raises NotFoundError.
        """
        return await self._threads.run(self._sync.get, chunk_id)

    async def stats(self, *, user_id: "str | None" = None) -> "list[ScopeStatistics]":
        """What each user's memory in this namespace holds."""
        return await self._threads.run(self._sync.stats, user_id=user_id)

    async def forget(
        self, chunk_id: "int", *, reason: "str | None" = None, key: "str | None" = None
    ) -> "list[int]":
        """Take a chunk out of every search and out of its neighbours' context; `restore` undoes it.

        A session chunk takes its turns along, a part of an exchange the other parts. What is said
        again is stored again. Returns the ids of the chunks that changed; run again under its
        `key`, the same ones.
        """
        return await self._threads.run(self._sync.forget, chunk_id, reason=reason, key=key)

    async def archive(
        self, chunk_id: "int", *, reason: "str | None" = None, key: "str | None" = None
    ) -> "list[int]":
        """As `forget`, for what is outdated rather than unwanted."""
        return await self._threads.run(self._sync.archive, chunk_id, reason=reason, key=key)

    async def erase(
        self,
        *,
        user_id: "str | None" = None,
        session_id: "str | None" = None,
        message_id: "str | None" = None,
        by: "str | None" = None,
    ) -> "Receipt":
        """Erase for good, in this namespace: a user's whole memory, or a session or message of it.

            receipt = memory.erase(user_id="ada", by="data protection")

        Everything goes that holds the text or was made of it, recorded searches and history too, in
        one transaction that looks whether anything is left. A message goes with the exchange that
        holds it. `user_id` may be left out where only one user has such a session or message. What
        comes again is stored again. Returns the receipt that is kept; raises NotFoundError.
        """
        return await self._threads.run(
            self._sync.erase, user_id=user_id, session_id=session_id, message_id=message_id, by=by
        )

    async def delete(self, chunk_id: "int", *, by: "str | None" = None) -> "Receipt":
        """Erase a chunk for good, as `erase`; a session chunk takes its turns along, a part of an
        exchange the other parts, and each a forgotten copy of it.
        """
        return await self._threads.run(self._sync.delete, chunk_id, by=by)

    async def update(
        self,
        chunk_id: "int",
        *,
        content: "str | Mapping[str, str] | None" = None,
        facets: "Mapping[str, str] | None" = None,
        tags: "Sequence[str] | None" = None,
        metadata: "Mapping[str, JsonValue] | None" = None,
        occurred_at: "datetime | str | None" = None,
        expires_at: "datetime | str | None" = None,
        ttl: "timedelta | str | None" = None,
        reason: "str | None" = None,
        key: "str | None" = None,
    ) -> "Chunk":
        """Change what an exchange says or what is known of it; the chunk as it is then.

            memory.update(42, content={"assistant": "Noted: Porto since May."}, tags=["home"])

        What is given takes the place of what was there; of `content` by side and of `facets`, only
        those that are named. Vectors, words, links and session chunks follow. Where the setting
        `history` is on, `versions` has what it said before. `ttl` counts from now; "never" takes an
        expiry away.
        """
        return await self._threads.run(
            self._sync.update,
            chunk_id,
            content=content,
            facets=facets,
            tags=tags,
            metadata=metadata,
            occurred_at=occurred_at,
            expires_at=expires_at,
            ttl=ttl,
            reason=reason,
            key=key,
        )

    async def versions(self, chunk_id: "int") -> "list[Version]":
        """What an exchange said before it was updated, or edited in its log, oldest first.

        Kept where the setting `history` was on at the time; of what is forgotten, nothing.
        """
        return await self._threads.run(self._sync.versions, chunk_id)

    async def restore(
        self, chunk_id: "int", *, reason: "str | None" = None, key: "str | None" = None
    ) -> "list[int]":
        """Bring a forgotten or archived chunk back; a session chunk with the turns it took along.

        A turn that was said again after it was forgotten stays away.
        """
        return await self._threads.run(self._sync.restore, chunk_id, reason=reason, key=key)

    async def promote(self, chunk_id: "int", *, key: "str | None" = None) -> "float":
        """Raise a chunk's memory score by 0.15, at most to 1; returns the new score."""
        return await self._threads.run(self._sync.promote, chunk_id, key=key)

    async def demote(self, chunk_id: "int", *, key: "str | None" = None) -> "float":
        """Lower a chunk's memory score by 0.15, at least to 0; returns the new score."""
        return await self._threads.run(self._sync.demote, chunk_id, key=key)

    async def feedback(
        self,
        chunk_id: "int",
        *,
        helpful: "bool",
        question: "str | None" = None,
        note: "str | None" = None,
        key: "str | None" = None,
    ) -> "None":
        """Record whether a hit helped; it goes into the chunk's history and changes no score."""
        return await self._threads.run(
            self._sync.feedback, chunk_id, helpful=helpful, question=question, note=note, key=key
        )

    async def history(self, chunk_id: "int") -> "list[Event]":
        """Everything that happened to a chunk, oldest first; raises NotFoundError."""
        return await self._threads.run(self._sync.history, chunk_id)

    async def list(
        self,
        *,
        user_id: "str | None" = None,
        all_users: "bool" = False,
        agent_id: "str | None" = None,
        session_ids: "Sequence[str] | None" = None,
        project: "str | None" = None,
        since: "datetime | str | None" = None,
        until: "datetime | str | None" = None,
        tags: "Sequence[str] | None" = None,
        kinds: "Sequence[MemoryKind] | None" = None,
        metadata: "Mapping[str, JsonValue] | None" = None,
        granularity: "Granularity" = "turn",
        statuses: "Sequence[Status]" = ("active",),
        order: "Order" = "newest",
        limit: "int" = DEFAULT_PAGE,
        cursor: "str | None" = None,
    ) -> "Page[Chunk]":
        """A page of a user's chunks by event time; filters are as in `search`.

            page = memory.list(user_id="ada")
            more = memory.list(user_id="ada", cursor=page.next_cursor)  # unless that is None

        What is added meanwhile neither repeats nor hides an item. `statuses` may ask for archived
        and deleted (forgotten) ones as well, these without their texts. Raises InvalidInputError
        for a cursor of another list or order.
        """
        return await self._threads.run(
            self._sync.list,
            user_id=user_id,
            all_users=all_users,
            agent_id=agent_id,
            session_ids=session_ids,
            project=project,
            since=since,
            until=until,
            tags=tags,
            kinds=kinds,
            metadata=metadata,
            granularity=granularity,
            statuses=statuses,
            order=order,
            limit=limit,
            cursor=cursor,
        )
