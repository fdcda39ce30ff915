"""AsyncMemSense: MemSense for asyncio and trio, each method awaited.

DO NOT EDIT: `make generate` writes this file from the blocking classes.
"""

from functools import cached_property, partial
from typing import TYPE_CHECKING

from memsense.client.facade import Facade, OpenFacade
from memsense.client.memory import MemSense
from memsense.declaration import knows_arguments

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime, timedelta
    from pathlib import Path
    from typing import Any, Literal, Self
    from uuid import UUID

    from psycopg import AsyncConnection, Connection

    from memsense import store
    from memsense.client.embedding_models import ModelComparison, ModelStatus
    from memsense.client.histories import Said
    from memsense.client.profiles import KnownProfile
    from memsense.client.questions import LabelledQuestion, QuestionSet, SetComparison
    from memsense.client.transfer import ExportReport, ImportReport, Place
    from memsense.client.ttl import TtlRule
    from memsense.client.worker import JobsDone
    from memsense.config import Settings
    from memsense.embed.base import Embedder
    from memsense.explain.replay import Comparison, Replay
    from memsense.explain.why_not import Verdict
    from memsense.graph.extraction.model import EntityExtractor
    from memsense.graph.reading import Entity
    from memsense.graph.resource import EntityView
    from memsense.ingest import ReadOptions
    from memsense.search.hits import SearchResult
    from memsense.search.profiles import Profile
    from memsense.search.prompt import Prompt
    from memsense.search.rank.reranker import Reranker
    from memsense.search.settings import SettingsInForce
    from memsense.store import settings as stored
    from memsense.store import traces as recorded
    from memsense.store.access import AccessKey, NewKey
    from memsense.store.erasing import Receipt
    from memsense.store.expiring import Swept
    from memsense.store.indexes import IndexChange
    from memsense.store.items import GetItem, Item, ListPaths, PutItem, SearchItems, VectorModel
    from memsense.store.jobs import Job, JobCounts
    from memsense.store.projects import Project
    from memsense.store.reindexing import Reindexing
    from memsense.store.versions import Version
    from memsense.types import (
        Added,
        Chunk,
        DayCount,
        Event,
        Page,
        ScopeStatistics,
        SessionSummary,
        SupersededFact,
    )
    from memsense.write.drafting import Annotations
    from memsense.write.facets.model import FacetTagger
    from memsense.write.ingest_run import IngestReport


class AsyncSettingsResource(Facade):
    """SettingsResource for asyncio, each method awaited."""

    @knows_arguments
    async def show(self) -> "SettingsInForce":
        """Return every setting as the next search uses it, and where it comes from."""
        return await self._threads.run(self._sync.show)

    @knows_arguments
    async def set(
        self, *, by: "str | None" = None, expected_version: "int | None" = None, **changes: "object"
    ) -> "SettingsInForce":
        """Set what the namespace's searches use from the next one on, in every process.

            memory.settings.set(profile="vector_heavy", lexical=1.5)

        All or nothing.

        Args:
            by: Who does it, for the receipt or history; default: the operating system's user.
            expected_version: Version that the settings must still have, as `show` reports it;
                default: any.
            changes: Settings by name. `profile`: a shipped or stored profile. A route's weight (0
                to 5) or a constant of `Profile`: replaces the profile's. `embedder_failure`:
                "error" or "lexical", for questions that can't be embedded. `history`: "on" keeps
                what an update replaces. `on_expiry`: "erase" or "forget". `user_quota`: the most
                exchanges of each user, 0 for no limit. `on_quota`: "refuse" or "archive".

        Raises:
            ConfigurationError: For an unknown setting, or a value that it can't have.
            ConflictError: If the settings are no longer those of `expected_version`.
        """
        return await self._threads.run(
            self._sync.set, by=by, expected_version=expected_version, **changes
        )

    @knows_arguments
    async def reset(
        self, *names: "str", by: "str | None" = None, expected_version: "int | None" = None
    ) -> "SettingsInForce":
        """Return settings to their defaults.

        Args:
            names: Names of settings; none for all of them.
            by: Who does it, for the receipt or history; default: the operating system's user.
            expected_version: Version that the settings must still have, as `show` reports it;
                default: any.
        """
        return await self._threads.run(
            self._sync.reset, *names, by=by, expected_version=expected_version
        )

    @knows_arguments
    async def history(self, *, limit: "int" = 100) -> "Sequence[stored.RecordedChange]":
        """Return the latest changes of settings and stored profiles: who, when and what.

        Args:
            limit: Maximum number of items.
        """
        return await self._threads.run(self._sync.history, limit=limit)


class AsyncProfilesResource(Facade):
    """ProfilesResource for asyncio, each method awaited."""

    @knows_arguments
    async def list(self) -> "Sequence[KnownProfile]":
        """Return the profiles that a search may name: shipped ones, then the namespace's own."""
        return await self._threads.run(self._sync.list)

    @knows_arguments
    async def get(self, name: "str | None" = None) -> "Profile":
        """Return a profile, by default the one that searches use.

        Args:
            name: Name of a shipped or stored profile; default: in force.

        Raises:
            NotFoundError: For an unknown profile.
        """
        return await self._threads.run(self._sync.get, name)

    @knows_arguments
    async def create(
        self,
        name: "str",
        base: "str | Profile" = "balanced",
        *,
        by: "str | None" = None,
        **changes: "object",
    ) -> "Profile":
        """Store a profile under a name: another profile with some constants changed.

            memory.profiles.create("mine", base="vector_heavy", lexical=1.5, mmr_lambda=1.0)

        All its constants are stored, so that it ranks the same under a later release.

        Args:
            name: Name of the new profile.
            base: Profile to start from.
            by: Who does it, for the receipt or history; default: the operating system's user.
            changes: Weights of routes (0 to 5) and constants of `Profile` by name.

        Raises:
            ConfigurationError: For an unknown constant, or a value out of its range.
            NotFoundError: For an unknown base.
            InvalidInputError: If the name is taken.
        """
        return await self._threads.run(self._sync.create, name, base, by=by, **changes)

    @knows_arguments
    async def delete(self, name: "str", *, by: "str | None" = None) -> "None":
        """Delete a stored profile.

        Args:
            name: Name of a stored profile.
            by: Who does it, for the receipt or history; default: the operating system's user.

        Raises:
            InvalidInputError: While the setting `profile` names it.
            NotFoundError: For an unknown profile.
        """
        return await self._threads.run(self._sync.delete, name, by=by)


class AsyncProjectsResource(Facade):
    """ProjectsResource for asyncio, each method awaited."""

    @knows_arguments
    async def create(self, name: "str", session_ids: "Sequence[str]" = ()) -> "Project":
        """Create a pool of these sessions, which may be empty still.

            memory.projects.create("kitchen", ["monday", "friday"])
            memory.search("Which colour?", user_id="ada", project="kitchen")

        Args:
            name: Name of the new project.
            session_ids: Ids of sessions; they needn't hold anything yet.

        Raises:
            InvalidInputError: If the name is taken.
        """
        return await self._threads.run(self._sync.create, name, session_ids)

    @knows_arguments
    async def add(self, name: "str", session_ids: "Sequence[str]") -> "Project":
        """Put sessions into a project, and return the changed project.

        Args:
            name: Name of the project.
            session_ids: Ids of sessions; they needn't hold anything yet.

        Raises:
            NotFoundError: For an unknown project.
        """
        return await self._threads.run(self._sync.add, name, session_ids)

    @knows_arguments
    async def remove(self, name: "str", session_ids: "Sequence[str]") -> "Project":
        """Take sessions out of a project, and return the changed project.

        Args:
            name: Name of the project.
            session_ids: Ids of sessions; they needn't hold anything yet.

        Raises:
            NotFoundError: For an unknown project.
        """
        return await self._threads.run(self._sync.remove, name, session_ids)

    @knows_arguments
    async def delete(self, name: "str") -> "None":
        """Delete a project; its sessions stay.

        Args:
            name: Name of the project.

        Raises:
            NotFoundError: For an unknown project.
        """
        return await self._threads.run(self._sync.delete, name)

    @knows_arguments
    async def list(self) -> "Sequence[Project]":
        """Return the projects of both kinds by name, with what a search in each reaches."""
        return await self._threads.run(self._sync.list)

    @knows_arguments
    async def get(self, name: "str") -> "Project":
        """Return the project of that name.

        Args:
            name: Name of the project.

        Raises:
            NotFoundError: For an unknown project.
        """
        return await self._threads.run(self._sync.get, name)


class AsyncTracesResource(Facade):
    """TracesResource for asyncio, each method awaited."""

    @knows_arguments
    async def replay(
        self,
        trace_id: "UUID | str",
        *,
        profile: "str | Profile | None" = None,
        overrides: "Mapping[str, object] | None" = None,
        as_of_then: "bool" = False,
    ) -> "Replay":
        """Run a recorded search again, as it was or with other constants.

            memory.traces.replay(result.trace_id, overrides={"lexical": 1.5}).moves

        Over an unchanged store and with nothing changed, the list is the recorded one exactly.

        Args:
            trace_id: Id of a recorded search, as its result has it.
            profile: A profile or its name to rank by; default: the recorded constants.
            overrides: Weights of routes (0 to 5) and constants of the profile to change for this
                call alone, such as {"lexical": 1.5}.
            as_of_then: Search memory as it stood when the trace was recorded, where the setting
                `history` has kept that.

        Raises:
            NotFoundError: If the namespace has no such trace.
        """
        return await self._threads.run(
            self._sync.replay, trace_id, profile=profile, overrides=overrides, as_of_then=as_of_then
        )

    @knows_arguments
    async def compare(
        self,
        count: "int" = 20,
        *,
        profile: "str | Profile | None" = None,
        overrides: "Mapping[str, object] | None" = None,
        user_id: "str | None" = None,
    ) -> "Comparison":
        """Run the latest recorded searches again with other constants.

        Args:
            count: Number of recorded searches, the latest first.
            profile: A profile or its name to rank by; default: the recorded constants.
            overrides: Weights of routes (0 to 5) and constants of the profile to change for this
                call alone, such as {"lexical": 1.5}.
            user_id: Only this user's; default: all users'.
        """
        return await self._threads.run(
            self._sync.compare, count, profile=profile, overrides=overrides, user_id=user_id
        )

    @knows_arguments
    async def list(
        self,
        *,
        limit: "int" = 20,
        user_id: "str | None" = None,
        empty: "bool" = False,
        slower_than: "float | None" = None,
        cursor: "str | None" = None,
    ) -> "Page[recorded.TraceSummary]":
        """Return a page of the recorded searches, the latest first.

        Args:
            limit: Maximum number of items.
            user_id: Only this user's; default: all users'.
            empty: Only searches without hits.
            slower_than: Only searches that took more milliseconds than this.
            cursor: `next_cursor` of the page before; default: the first page.
        """
        return await self._threads.run(
            self._sync.list,
            limit=limit,
            user_id=user_id,
            empty=empty,
            slower_than=slower_than,
            cursor=cursor,
        )

    @knows_arguments
    async def statistics(self, *, user_id: "str | None" = None) -> "recorded.TraceStatistics":
        """Return how many searches are recorded, how many found nothing, and their times.

        Args:
            user_id: Only this user's; default: all users'.
        """
        return await self._threads.run(self._sync.statistics, user_id=user_id)

    @knows_arguments
    async def get(self, trace_id: "UUID | str") -> "recorded.Trace":
        """Return a recorded search with all of its candidates.

        Args:
            trace_id: Id of a recorded search, as its result has it.

        Raises:
            NotFoundError: If the namespace has no such trace.
        """
        return await self._threads.run(self._sync.get, trace_id)

    @knows_arguments
    async def prune(self, days: "float | None" = None) -> "int":
        """Delete old traces, and return how many there were.

        Args:
            days: Age in days above which traces go; default: the setting `trace_days`.
        """
        return await self._threads.run(self._sync.prune, days)

    @property
    def failures(self) -> "int":
        """Return how many of this object's searches could not be recorded."""
        return self._sync.failures

    @knows_arguments
    async def flush(self) -> "None":
        """Wait until the searches recorded so far are written, or their writing has failed."""
        return await self._threads.run(self._sync.flush)


class AsyncQuestionsResource(Facade):
    """QuestionsResource for asyncio, each method awaited."""

    @knows_arguments
    async def label(
        self,
        question: "str",
        chunk_id: "int",
        *,
        right: "bool",
        user_id: "str | None" = None,
        set_name: "str" = "questions",
        by: "str | None" = None,
    ) -> "None":
        """Label a memory as right or wrong for a question; a later label replaces it.

        Args:
            question: The question, as `search` takes it.
            chunk_id: The memory's chunk id, as searches and lists show it.
            right: True if the memory answers the question, False if not.
            user_id: Whose memory the question is asked of; default: all users'.
            set_name: Name of the set of questions.
            by: Who does it, for the receipt or history; default: the operating system's user.

        Raises:
            NotFoundError: If the namespace has no such chunk.
            InvalidInputError: If the chunk is another user's.
        """
        return await self._threads.run(
            self._sync.label,
            question,
            chunk_id,
            right=right,
            user_id=user_id,
            set_name=set_name,
            by=by,
        )

    @knows_arguments
    async def unlabel(
        self,
        question: "str",
        chunk_id: "int",
        *,
        user_id: "str | None" = None,
        set_name: "str" = "questions",
    ) -> "None":
        """Remove the label that a memory has for a question, if it has one.

        Args:
            question: The question, as `search` takes it.
            chunk_id: The memory's chunk id, as searches and lists show it.
            user_id: Whose memory the question is asked of; default: all users'.
            set_name: Name of the set of questions.
        """
        return await self._threads.run(
            self._sync.unlabel, question, chunk_id, user_id=user_id, set_name=set_name
        )

    @knows_arguments
    async def labels(
        self, question: "str", *, user_id: "str | None" = None, set_name: "str" = "questions"
    ) -> "dict[int, bool]":
        """Return whether each labelled memory is right for a question, by its chunk id.

        Args:
            question: The question, as `search` takes it.
            user_id: Whose memory the question is asked of; default: all users'.
            set_name: Name of the set of questions.
        """
        return await self._threads.run(
            self._sync.labels, question, user_id=user_id, set_name=set_name
        )

    @knows_arguments
    async def list(self, set_name: "str" = "questions") -> "list[LabelledQuestion]":
        """Return the questions of a set with their labels, the earliest label first.

        Args:
            set_name: Name of the set of questions.
        """
        return await self._threads.run(self._sync.list, set_name)

    @knows_arguments
    async def sets(self) -> "Sequence[QuestionSet]":
        """Return the sets of questions by name."""
        return await self._threads.run(self._sync.sets)

    @knows_arguments
    async def remove(
        self, question: "str", *, user_id: "str | None" = None, set_name: "str" = "questions"
    ) -> "int":
        """Remove a question from its set, and return how many labels it had.

        Args:
            question: The question, as `search` takes it.
            user_id: Whose memory the question is asked of; default: all users'.
            set_name: Name of the set of questions.
        """
        return await self._threads.run(
            self._sync.remove, question, user_id=user_id, set_name=set_name
        )

    @knows_arguments
    async def compare(
        self,
        set_name: "str" = "questions",
        *,
        before: "str | Profile | None" = None,
        after: "str | Profile | None" = None,
        overrides: "Mapping[str, object] | None" = None,
        top_k: "int" = 10,
    ) -> "SetComparison":
        """Ask all questions of a set with two rankings, and compare what they find.

            memory.questions.compare(overrides={"lexical": 1.5}).after.ndcg

        The searches are not recorded.

        Args:
            set_name: Name of the set of questions.
            before: A profile or its name; default: the one in force.
            after: A profile or its name to compare it with; default: `before`.
            overrides: Weights of routes (0 to 5) and constants of the profile to change for this
                call alone, such as {"lexical": 1.5}.
            top_k: Hits of each question that count, up to 1,000.

        Raises:
            NotFoundError: For an unknown profile.
        """
        return await self._threads.run(
            self._sync.compare,
            set_name,
            before=before,
            after=after,
            overrides=overrides,
            top_k=top_k,
        )


class AsyncEntities(Facade):
    """Entities for asyncio, each method awaited."""

    @knows_arguments
    async def list(
        self,
        *,
        user_id: "str | None" = None,
        all_users: "bool" = False,
        kind: "Literal['speaker', 'self', 'name', 'title', 'identifier', 'file', 'host', 'handle', 'tag'] | None" = None,
        limit: "int" = 50,
    ) -> "list[Entity]":
        """Return what a user's memory mentions most often; of all users, each one's own.

        Args:
            user_id: Whose memory to read: an id of your own. Required without `all_users`.
            all_users: Read the memory of all users in the namespace.
            kind: Only entities of this kind, such as "name".
            limit: Maximum number of items.
        """
        return await self._threads.run(
            self._sync.list, user_id=user_id, all_users=all_users, kind=kind, limit=limit
        )

    @knows_arguments
    async def get(
        self,
        name: "str",
        *,
        user_id: "str | None" = None,
        all_users: "bool" = False,
        limit: "int" = 10,
    ) -> "EntityView":
        """Return an entity with its mentions and neighbours.

        With `all_users` it is that of the user who mentions it most.

        Args:
            name: Name of the entity, in any spelling.
            user_id: Whose memory to read: an id of your own. Required without `all_users`.
            all_users: Read the memory of all users in the namespace.
            limit: Maximum number of mentions and of neighbours.

        Raises:
            NotFoundError: For an unknown name; lists similar ones.
        """
        return await self._threads.run(
            self._sync.get, name, user_id=user_id, all_users=all_users, limit=limit
        )

    @knows_arguments
    async def rebuild(
        self,
        *,
        user_id: "str | None" = None,
        on_user: "Callable[[str, int], object]" = lambda _user, _chunks: None,
    ) -> "int":
        """Find the entities of everything stored again.

        For stores older than entities, and after a change of extractor. Each user is one
        transaction, for which that user's writes wait.

        Args:
            user_id: Only this user's; default: all users'.
            on_user: Called after each user with the id and the number of their chunks.

        Returns:
            The number of chunks that were read.
        """
        return await self._threads.run(self._sync.rebuild, user_id=user_id, on_user=on_user)


class AsyncIndexesResource(Facade):
    """IndexesResource for asyncio, each method awaited."""

    @knows_arguments
    async def make_sessions(self, user_id: "str | None" = None) -> "int":
        """Make the session chunks that writes in mode "hybrid" left for later.

        A search for sessions makes those that it needs by itself.

        Args:
            user_id: Only this user's sessions; default: all users'.

        Returns:
            The number of sessions.
        """
        return await self._threads.run(self._sync.make_sessions, user_id)

    @knows_arguments
    async def optimise(
        self, on_change: "Callable[[IndexChange], object]" = lambda _: None
    ) -> "list[store.IndexChange]":
        """Build HNSW indexes for large users' memories, and drop those of memories that shrank.

        The rule is `store.choose_indexed` with the settings `index_threshold` and `index_users`:
        the largest memories, if there are more than that. It takes minutes for 100,000 chunks;
        searches and writes go on meanwhile.

        Args:
            on_change: Called after each index is built or dropped.

        Returns:
            The changes.
        """
        return await self._threads.run(self._sync.optimise, on_change)

    @knows_arguments
    async def fill_tokens(self, *, on_chunks: "Callable[[int], object]" = lambda _: None) -> "int":
        """Compute token vectors for exchanges that were stored without them.

        Searches and writes go on meanwhile; an interrupted run is completed by the next one.

        Args:
            on_chunks: Called after each batch with its number of exchanges.

        Returns:
            The number of exchanges.

        Raises:
            ConfigurationError: If the embedder has no token vectors, or the settings turn them off.
        """
        return await self._threads.run(self._sync.fill_tokens, on_chunks=on_chunks)

    @knows_arguments
    async def link_facts(
        self,
        *,
        user_id: "str | None" = None,
        on_user: "Callable[[str, int], object]" = lambda _user, _links: None,
    ) -> "int":
        """Find the changed facts of memories that were stored without links between them.

        Memories from before version 0031 of the schema have none. A memory that is known to
        supersede another one keeps that link. Each user is one transaction, for which that user's
        writes wait: about a second for 1,000 exchanges.

        Args:
            user_id: Only this user's memories; default: all users'.
            on_user: Called after each user with the id and the number of new links.

        Returns:
            The number of new links.

        Raises:
            NotFoundError: If nothing is stored for the user.
        """
        return await self._threads.run(self._sync.link_facts, user_id=user_id, on_user=on_user)

    @knows_arguments
    async def rebuild(
        self,
        language: "str | None" = None,
        *,
        on_chunks: "Callable[[int], object]" = lambda _: None,
    ) -> "Reindexing":
        """Rebuild the text index of all memories, for example in another language.

        One transaction: searches use the old index until it is done, and keep it if it fails;
        writes wait.

        Args:
            language: Text-search configuration to use from now on; default: the present one.
            on_chunks: Called after each batch with its number of chunks.

        Raises:
            InvalidInputError: For a language that the server doesn't know.
            NotFoundError: Before anything is stored.
        """
        return await self._threads.run(self._sync.rebuild, language, on_chunks=on_chunks)


class AsyncErasuresResource(Facade):
    """ErasuresResource for asyncio, each method awaited."""

    @knows_arguments
    async def list(self, *, limit: "int" = 100, about: "str | None" = None) -> "Sequence[Receipt]":
        """Return the receipts of the namespace, the latest first.

        memory.erasures.list(about="ada")

        Args:
            limit: Maximum number of items.
            about: Only receipts about this user, session, message or chunk. A receipt holds no id
                but recognises its own, in about 0.1 s.
        """
        return await self._threads.run(self._sync.list, limit=limit, about=about)

    @knows_arguments
    async def everywhere(self, user_id: "str", *, by: "str | None" = None) -> "Sequence[Receipt]":
        """Erase a user's memory in every namespace of the tenant, for good.

        Each namespace is one transaction with a receipt of its own, stored there. After an error,
        call it again: it goes on with what is left.

        Args:
            user_id: Whose memory to erase: an id of your own.
            by: Who does it, for the receipt or history; default: the operating system's user.

        Returns:
            The receipts, one for each namespace that held something of the user.

        Raises:
            NotFoundError: If no namespace holds anything of the user.
        """
        return await self._threads.run(self._sync.everywhere, user_id, by=by)

    @knows_arguments
    async def get(self, erasure_id: "UUID | str") -> "Receipt":
        """Return the receipt of an erasure.

        Args:
            erasure_id: Id of an erasure, as its receipt has it.

        Raises:
            NotFoundError: If the namespace has no such receipt.
        """
        return await self._threads.run(self._sync.get, erasure_id)


class AsyncHistoriesResource(Facade):
    """HistoriesResource for asyncio, each method awaited."""

    @knows_arguments
    async def append(
        self,
        collection: "str",
        said: "Sequence[Said]",
        *,
        user_id: "str",
        session_id: "str",
        agent_id: "str | None" = None,
    ) -> "None":
        """Append items to a session, in one transaction with the memories of what they say.

        Args:
            collection: Name of the application's own part, such as langgraph; others don't see it.
            said: Items to append, made by `Said.of`.
            user_id: Whose memory it becomes: an id of your own, up to 500 characters.
            session_id: The conversation that it belongs to: an id of your own.
            agent_id: The agent that the conversation was with.
        """
        return await self._threads.run(
            self._sync.append,
            collection,
            said,
            user_id=user_id,
            session_id=session_id,
            agent_id=agent_id,
        )

    @knows_arguments
    async def read(
        self, collection: "str", *, user_id: "str", session_id: "str", limit: "int | None" = None
    ) -> "list[dict[str, Any]]":
        """Return the session's items in order.

        Args:
            collection: Name of the application's own part, such as langgraph; others don't see it.
            user_id: Whose memory it becomes: an id of your own, up to 500 characters.
            session_id: The conversation that it belongs to: an id of your own.
            limit: Only the latest so many items; default: all.
        """
        return await self._threads.run(
            self._sync.read, collection, user_id=user_id, session_id=session_id, limit=limit
        )

    @knows_arguments
    async def pop(
        self, collection: "str", *, user_id: "str", session_id: "str"
    ) -> "dict[str, Any] | None":
        """Remove the session's latest item, from memory too, and return it; None if it is empty.

        Args:
            collection: Name of the application's own part, such as langgraph; others don't see it.
            user_id: Whose memory it becomes: an id of your own, up to 500 characters.
            session_id: The conversation that it belongs to: an id of your own.
        """
        return await self._threads.run(
            self._sync.pop, collection, user_id=user_id, session_id=session_id
        )

    @knows_arguments
    async def clear(self, collection: "str", *, user_id: "str", session_id: "str") -> "None":
        """Erase the session, in memory too; a receipt stays.

        Args:
            collection: Name of the application's own part, such as langgraph; others don't see it.
            user_id: Whose memory it becomes: an id of your own, up to 500 characters.
            session_id: The conversation that it belongs to: an id of your own.
        """
        return await self._threads.run(
            self._sync.clear, collection, user_id=user_id, session_id=session_id
        )


class AsyncItemsResource(Facade):
    """ItemsResource for asyncio, each method awaited."""

    @knows_arguments
    async def run(
        self,
        collection: "str",
        operations: "Sequence[PutItem | GetItem | SearchItems | ListPaths]",
        *,
        model: "VectorModel | None" = None,
        omit_expired: "bool" = False,
    ) -> "list[Any]":
        """Run operations in one transaction.

            memory.items.run("app", [PutItem(path=["users"], key="ada", value={"age": 36})])

        Reads see what was there before the writes; of several writes of one key the last counts.

        Args:
            collection: Name of the application's own part, such as langgraph; others don't see it.
            operations: Reads and writes, such as `PutItem`.
            model: Model of the vectors; vectors of another model are not compared.
            omit_expired: Leave out items that have expired.

        Returns:
            The result of each operation, in order.
        """
        return await self._threads.run(
            self._sync.run, collection, operations, model=model, omit_expired=omit_expired
        )

    @knows_arguments
    async def tail(
        self, collection: "str", path: "Sequence[str]", *, limit: "int | None" = None
    ) -> "list[Item]":
        """Return the items at a path, oldest first.

        Args:
            collection: Name of the application's own part, such as langgraph; others don't see it.
            path: Labels from the outermost inwards.
            limit: Only the latest so many items; default: all.
        """
        return await self._threads.run(self._sync.tail, collection, path, limit=limit)

    @knows_arguments
    async def pop(self, collection: "str", path: "Sequence[str]") -> "Item | None":
        """Remove the latest item at a path, and return it; None if there is none.

        Args:
            collection: Name of the application's own part, such as langgraph; others don't see it.
            path: Labels from the outermost inwards.
        """
        return await self._threads.run(self._sync.pop, collection, path)

    @knows_arguments
    async def clear(self, collection: "str", path: "Sequence[str]") -> "int":
        """Delete all items at a path, and return how many there were.

        Args:
            collection: Name of the application's own part, such as langgraph; others don't see it.
            path: Labels from the outermost inwards.
        """
        return await self._threads.run(self._sync.clear, collection, path)

    @knows_arguments
    async def sweep(self, collection: "str") -> "int":
        """Delete the collection's expired items, and return how many there were.

        Args:
            collection: Name of the application's own part, such as langgraph; others don't see it.
        """
        return await self._threads.run(self._sync.sweep, collection)


class AsyncJobsResource(Facade):
    """JobsResource for asyncio, each method awaited."""

    @knows_arguments
    async def list(
        self,
        status: "Literal['waiting', 'running', 'dead'] | None" = None,
        *,
        kind: "str | None" = None,
        limit: "int" = 100,
    ) -> "list[Job]":
        """Return the jobs, those due next first, dead ones last.

        A dead job names its chunk and the error of each of its attempts.

        Args:
            status: Only jobs that are "waiting", "running" or "dead".
            kind: Only jobs of this kind, such as "embed".
            limit: Maximum number of items.
        """
        return await self._threads.run(self._sync.list, status, kind=kind, limit=limit)

    @knows_arguments
    async def count(self) -> "JobCounts":
        """Return how many jobs wait, run and are dead, and since when the oldest waits."""
        return await self._threads.run(self._sync.count)

    @knows_arguments
    async def retry(self, job_ids: "Sequence[int] | None" = None) -> "list[int]":
        """Make jobs due now, and return their ids. A dead job gets all its attempts again.

        Args:
            job_ids: Ids of jobs; default: all dead ones.

        Raises:
            NotFoundError: For an id that no job has.
        """
        return await self._threads.run(self._sync.retry, job_ids)

    @knows_arguments
    async def drop(self, job_ids: "Sequence[int] | None" = None) -> "list[int]":
        """Delete jobs, and return their ids. Their chunks stay and are found by words.

        Args:
            job_ids: Ids of jobs; default: all dead ones.

        Raises:
            NotFoundError: For an id that no job has.
        """
        return await self._threads.run(self._sync.drop, job_ids)

    @knows_arguments
    async def run(self, *, limit: "int | None" = None) -> "JobsDone":
        """Do the jobs that are due, in this thread.

        A text that can't be embedded fails and waits longer each time; after its last attempt the
        job is dead. While the embedder is down no job fails: the result says why it stopped.

        Args:
            limit: Maximum number of jobs; default: all.
        """
        return await self._threads.run(self._sync.run, limit=limit)

    @knows_arguments
    async def work(self, stop: "threading.Event") -> "None":
        """Do jobs as they come until `stop` is set.

        After an exception such as KeyboardInterrupt, jobs in hand are given back.

        Args:
            stop: Event that ends it.
        """
        return await self._threads.run(self._sync.work, stop)

    @knows_arguments
    async def start(self) -> "None":
        """Do jobs in a thread of this process until the memory is closed.

        With the embedded server this happens by itself when a write leaves a job.
        """
        return await self._threads.run(self._sync.start)


class AsyncAccessKeysResource(Facade):
    """AccessKeysResource for asyncio, each method awaited."""

    @knows_arguments
    async def create(
        self,
        scopes: "Sequence[Literal['read', 'write', 'forget', 'admin']]" = ("read",),
        *,
        name: "str" = "unnamed",
        user_id: "str | None" = None,
        expires_at: "datetime | str | None" = None,
        by: "str | None" = None,
    ) -> "NewKey":
        """Create a key; its `text` is returned now and never again.

        key = memory.access_keys.create(["read", "write"], name="chat", expires_at="2027-01-01")
        print(key.text)

        Args:
            scopes: What the key allows: "read" to search and list, "write" to add, rate and give
                feedback, "forget" to forget and restore, "admin" to erase and to see jobs and
                health.
            name: Label, so that you recognise the key in lists.
            user_id: Limit the key to this user's memory; it can't have "admin" then.
            expires_at: When it expires; default: never.
            by: Who does it, for the receipt or history; default: the operating system's user.
        """
        return await self._threads.run(
            self._sync.create, scopes, name=name, user_id=user_id, expires_at=expires_at, by=by
        )

    @knows_arguments
    async def list(self) -> "Sequence[AccessKey]":
        """Return the tenant's keys, the oldest first, revoked and expired ones included."""
        return await self._threads.run(self._sync.list)

    @knows_arguments
    async def revoke(self, key_id: "str") -> "AccessKey":
        """Revoke a key for good, and return it.

        Args:
            key_id: Id of the key, as `list` shows it.

        Raises:
            NotFoundError: For an id that no key has.
        """
        return await self._threads.run(self._sync.revoke, key_id)


class AsyncTtlResource(Facade):
    """TtlResource for asyncio, each method awaited."""

    @knows_arguments
    async def set(
        self,
        ttl: "timedelta | str",
        *,
        tag: "str | None" = None,
        existing: "bool" = False,
        by: "str | None" = None,
    ) -> "int":
        """Set how long memories are stored.

        A memory that expires sooner by its own `ttl` or another tag stays as it is.

        Args:
            ttl: Time from storing to expiry: a timedelta, or a text such as "12h" or "30d".
            tag: The rule for memories with this tag; default: for all that have no rule.
            existing: Apply it to what is stored already, counted from when it was stored; what is
                older expires at once.
            by: Who does it, for the receipt or history; default: the operating system's user.

        Returns:
            The number of stored chunks that `existing` has dated.
        """
        return await self._threads.run(self._sync.set, ttl, tag=tag, existing=existing, by=by)

    @knows_arguments
    async def unset(self, *, tag: "str | None" = None, by: "str | None" = None) -> "None":
        """Delete a rule. Memories that it has dated still expire.

        Args:
            tag: The rule for memories with this tag; default: for all that have no rule.
            by: Who does it, for the receipt or history; default: the operating system's user.

        Raises:
            NotFoundError: If there is no such rule.
        """
        return await self._threads.run(self._sync.unset, tag=tag, by=by)

    @knows_arguments
    async def list(self) -> "Sequence[TtlRule]":
        """Return the rules, that of the namespace first."""
        return await self._threads.run(self._sync.list)

    @knows_arguments
    async def sweep(self) -> "Swept":
        """Delete what has expired in the whole namespace now, as the worker does by itself.

        It is erased, or forgotten where the setting `on_expiry` is "forget".
        """
        return await self._threads.run(self._sync.sweep)


class AsyncModelsResource(Facade):
    """ModelsResource for asyncio, each method awaited."""

    @knows_arguments
    async def status(self) -> "Sequence[ModelStatus]":
        """Return the namespace's models, the one in use first; counts everything stored."""
        return await self._threads.run(self._sync.status)

    @knows_arguments
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
        """Compute vectors of another model for everything stored, and for each write from now on.

        It takes as long as ingesting did; searches and writes go on, and an interrupted run is
        completed by the next one.

        Args:
            embedder: "openai" or "onnx", which every process can open by itself, or an embedder of
                your own, which every process must pass in `other_embedders`; default: the one that
                this memory was opened with.
            model: Name of the model, for "openai" and "onnx".
            url: Address of the embedding server. Its key is MEMSENSE_EMBEDDING_API_KEY at
                MEMSENSE_EMBEDDING_URL, or an entry of MEMSENSE_EMBEDDING_API_KEYS.
            dimension: Dimension of its vectors; default: the model's.
            later: Leave the work to jobs; `status` shows their progress.
            on_texts: Called after each batch with its number of texts.

        Raises:
            NotFoundError: Before anything is stored.
            EmbeddingError: If the model fails.
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

    @knows_arguments
    async def switch(
        self, name: "str", *, dimension: "int | None" = None, incomplete: "bool" = False
    ) -> "ModelStatus":
        """Let searches use this model from now on, in every process, by one update.

        The model used before still gets vectors of new writes, for `back`, until it is dropped.

        Args:
            name: Name of the model, as `status` shows it.
            dimension: Dimension, where the namespace has two models of that name.
            incomplete: Switch even while texts lack vectors or large memories lack indexes.

        Raises:
            InvalidInputError: If vectors or indexes are missing and `incomplete` is false.
            NotFoundError: For a model that was never added.
        """
        return await self._threads.run(
            self._sync.switch, name, dimension=dimension, incomplete=incomplete
        )

    @knows_arguments
    async def back(self) -> "ModelStatus":
        """Let searches use the model that they used before; its vectors are there.

        Raises:
            NotFoundError: If there is none, or it was dropped.
        """
        return await self._threads.run(self._sync.back)

    @knows_arguments
    async def drop(self, name: "str", *, dimension: "int | None" = None) -> "int":
        """Delete the vectors of a model that searches don't use, and return how many there were.

        Searches and writes go on; an interrupted run is completed by the next one.

        Args:
            name: Name of the model, as `status` shows it.
            dimension: Dimension, where the namespace has two models of that name.

        Raises:
            InvalidInputError: For the model in use.
            NotFoundError: For a model that was never added.
        """
        return await self._threads.run(self._sync.drop, name, dimension=dimension)

    @knows_arguments
    async def compare(
        self, name: "str", count: "int" = 20, *, dimension: "int | None" = None
    ) -> "ModelComparison":
        """Run recorded searches again with the model in use and with this one.

        For questions whose answers are known, `trial` gives both to `memsense.evaluation`.

        Args:
            name: Name of the model, as `status` shows it.
            count: Number of recorded searches, the latest first.
            dimension: Dimension, where the namespace has two models of that name.
        """
        return await self._threads.run(self._sync.compare, name, count, dimension=dimension)


class AsyncUserProjects(Facade):
    """UserProjects for asyncio, each method awaited."""

    @knows_arguments
    async def list(self) -> "Sequence[Project]":
        """Return the projects by name."""
        return await self._threads.run(self._sync.list)

    @knows_arguments
    async def get(self, name: "str") -> "Project":
        """Return the project of that name.

        Args:
            name: Name of the project.

        Raises:
            NotFoundError: If it holds no memory of the user.
        """
        return await self._threads.run(self._sync.get, name)


class AsyncUserTraces(Facade):
    """UserTraces for asyncio, each method awaited."""

    @knows_arguments
    async def replay(
        self,
        trace_id: "UUID | str",
        *,
        profile: "str | Profile | None" = None,
        overrides: "Mapping[str, object] | None" = None,
        as_of_then: "bool" = False,
    ) -> "Replay":
        """Run a recorded search again, as it was or with other constants.

            memory.traces.replay(result.trace_id, overrides={"lexical": 1.5}).moves

        Over an unchanged store and with nothing changed, the list is the recorded one exactly.

        Args:
            trace_id: Id of a recorded search, as its result has it.
            profile: A profile or its name to rank by; default: the recorded constants.
            overrides: Weights of routes (0 to 5) and constants of the profile to change for this
                call alone, such as {"lexical": 1.5}.
            as_of_then: Search memory as it stood when the trace was recorded, where the setting
                `history` has kept that.

        Raises:
            NotFoundError: If the namespace has no such trace.
        """
        return await self._threads.run(
            self._sync.replay, trace_id, profile=profile, overrides=overrides, as_of_then=as_of_then
        )

    @knows_arguments
    async def compare(
        self,
        count: "int" = 20,
        *,
        profile: "str | Profile | None" = None,
        overrides: "Mapping[str, object] | None" = None,
    ) -> "Comparison":
        """Run the latest recorded searches again with other constants.

        Args:
            count: Number of recorded searches, the latest first.
            profile: A profile or its name to rank by; default: the recorded constants.
            overrides: Weights of routes (0 to 5) and constants of the profile to change for this
                call alone, such as {"lexical": 1.5}.
        """
        return await self._threads.run(
            self._sync.compare, count, profile=profile, overrides=overrides
        )

    @knows_arguments
    async def list(
        self,
        *,
        limit: "int" = 20,
        empty: "bool" = False,
        slower_than: "float | None" = None,
        cursor: "str | None" = None,
    ) -> "Page[recorded.TraceSummary]":
        """Return a page of the recorded searches, the latest first.

        Args:
            limit: Maximum number of items.
            empty: Only searches without hits.
            slower_than: Only searches that took more milliseconds than this.
            cursor: `next_cursor` of the page before; default: the first page.
        """
        return await self._threads.run(
            self._sync.list, limit=limit, empty=empty, slower_than=slower_than, cursor=cursor
        )

    @knows_arguments
    async def statistics(self) -> "recorded.TraceStatistics":
        """Return how many searches are recorded, how many found nothing, and their times."""
        return await self._threads.run(self._sync.statistics)

    @knows_arguments
    async def get(self, trace_id: "UUID | str") -> "recorded.Trace":
        """Return a recorded search with all of its candidates.

        Args:
            trace_id: Id of a recorded search, as its result has it.

        Raises:
            NotFoundError: If the namespace has no such trace.
        """
        return await self._threads.run(self._sync.get, trace_id)


class AsyncUserEntities(Facade):
    """UserEntities for asyncio, each method awaited."""

    @knows_arguments
    async def list(
        self,
        *,
        kind: "Literal['speaker', 'self', 'name', 'title', 'identifier', 'file', 'host', 'handle', 'tag'] | None" = None,
        limit: "int" = 50,
    ) -> "list[Entity]":
        """Return what a user's memory mentions most often; of all users, each one's own.

        Args:
            kind: Only entities of this kind, such as "name".
            limit: Maximum number of items.
        """
        return await self._threads.run(self._sync.list, kind=kind, limit=limit)

    @knows_arguments
    async def get(self, name: "str", *, limit: "int" = 10) -> "EntityView":
        """Return an entity with its mentions and neighbours.

        With `all_users` it is that of the user who mentions it most.

        Args:
            name: Name of the entity, in any spelling.
            limit: Maximum number of mentions and of neighbours.

        Raises:
            NotFoundError: For an unknown name; lists similar ones.
        """
        return await self._threads.run(self._sync.get, name, limit=limit)


class AsyncUserMemory(Facade):
    """UserMemory for asyncio, each method awaited."""

    @property
    def user_id(self) -> str:
        """Id of the user whose memory it is."""
        return self._sync.user_id

    @cached_property
    def traces(self) -> "AsyncUserTraces":
        """The user's recorded searches."""
        return AsyncUserTraces(self._threads, self._sync.traces)

    @cached_property
    def entities(self) -> "AsyncUserEntities":
        """People, places and things that the user's memory mentions."""
        return AsyncUserEntities(self._threads, self._sync.entities)

    @cached_property
    def projects(self) -> "AsyncUserProjects":
        """The namespace's projects, as far as they hold memories of the user."""
        return AsyncUserProjects(self._threads, self._sync.projects)

    @knows_arguments
    async def add(
        self,
        messages: "str | Mapping[str, object] | Iterable[object]",
        *,
        session_id: "str | None" = None,
        agent_id: "str | None" = None,
        project: "str | None" = None,
        mode: "Literal['turn', 'session', 'hybrid']" = "turn",
        task_tag: "str | None" = None,
        tags: "Sequence[str]" = (),
        facets: "Mapping[str, str] | None" = None,
        memory_kind: "Literal['stable', 'preference', 'episodic', 'ephemeral'] | None" = None,
        confidence: "float" = 1.0,
        metadata: "Mapping[str, Any] | None" = None,
        expires_at: "datetime | str | None" = None,
        ttl: "timedelta | str | None" = None,
        redact: "bool | None" = None,
        embed: "Literal['now', 'later', 'strict'] | None" = None,
        key: "str | None" = None,
        timeout: "float | None" = None,
        connection: "Connection[Any] | AsyncConnection[Any] | None" = None,
    ) -> "Added":
        """Store what was said: a sentence of the user's, or messages of one session, in order.

            memory.add("I like tea", user_id="ada")
            memory.add([{"role": "user", "content": "I moved to Lisbon."},
                        {"role": "assistant", "content": "How do you like it?"}],
                       user_id="ada", session_id="monday")

        Without a `session_id`, the session is the day on which the first message was said, in UTC,
        such as "2026-05-04"; so name the sessions of conversations that go on past midnight.

        All or nothing: one transaction. The same exchange within ten minutes of event time is
        stored once, and its first chunk is returned, unless that was forgotten. An answer to the
        question with which the call before ended completes that exchange.

        Args:
            messages: A text that the user said, or messages: dicts with `role` and `content`, and
                optionally `id`, `at` (time) and `name`; messages of OpenAI, Anthropic and LangChain
                are accepted too.
            session_id: The conversation that it belongs to: an id of your own; default: the day.
            agent_id: The agent that the conversation was with.
            project: The project that it is about, such as a repository's address or a folder;
                `search` can be limited to it.
            mode: What to store: "turn" for exchanges, "session" for whole sessions, "hybrid" for
                both.
            task_tag: Label of the task; it replaces the one that the rules find.
            tags: Labels to store with it; they replace those of the rules.
            facets: Texts of the facets `personal_info`, `preferences` and `events`; they replace
                those that the rules find.
            memory_kind: How lasting it is: "stable", "preference", "episodic" or "ephemeral";
                default: by rules.
            confidence: How certain it is, from 0 to 1.
            metadata: A JSON object of your own, returned with hits and usable as a filter.
            expires_at: When it expires: no search finds it afterwards, and a job deletes it.
            ttl: How long from now until it expires: a timedelta or a text such as "12h" or "30d";
                "never" overrides the namespace's rules.
            redact: Replace secrets, such as keys and passwords, by their kind before anything is
                stored; default: as MEMSENSE_REDACT says.
            embed: When to compute vectors: "now" (a failing embedder leaves them to a job), "later"
                (always a job), or "strict" (a failing embedder raises EmbeddingError and nothing is
                stored); default: the setting MEMSENSE_EMBED.
            key: Idempotency key: a call repeated under its key within seven days is done once.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
            connection: A psycopg connection of yours: the write then joins its transaction, in a
                savepoint, and is visible when you commit.

        Returns:
            The stored chunks. `notes` say what else there is to know, such as vectors that a job
            will compute later; `deferred` counts those. `redacted` counts by kind what was not
            stored: secrets, and passages in `<private>`.

        Raises:
            InvalidInputError: If a message or an argument can't be used.
            ConflictError: If another write was done under the same `key`.
            EmbeddingError: If `embed` is "strict" and the embedder fails.
            QuotaExceededError: If the user would have more exchanges than the namespace allows.
        """
        return await self._threads.run(
            self._sync.add,
            messages,
            session_id=session_id,
            agent_id=agent_id,
            project=project,
            mode=mode,
            task_tag=task_tag,
            tags=tags,
            facets=facets,
            memory_kind=memory_kind,
            confidence=confidence,
            metadata=metadata,
            expires_at=expires_at,
            ttl=ttl,
            redact=redact,
            embed=embed,
            key=key,
            timeout=timeout,
            connection=connection,
        )

    @knows_arguments
    async def add_many(
        self,
        sessions: "Iterable[Mapping[str, object]]",
        *,
        redact: "bool | None" = None,
        embed: "Literal['now', 'later', 'strict'] | None" = None,
        key: "str | None" = None,
        timeout: "float | None" = None,
        connection: "Connection[Any] | AsyncConnection[Any] | None" = None,
    ) -> "list[Added]":
        """Store several sessions in one transaction, embedded in one batch.

            memory.add_many([{"session_id": "mon", "messages": [...]},
                             {"session_id": "tue", "messages": [...], "tags": ["work"]}],
                            user_id="ada")

        Args:
            sessions: Dicts with `messages`, and any other argument of `add` that belongs to a
                session, such as `session_id`.
            redact: Replace secrets, such as keys and passwords, by their kind before anything is
                stored; default: as MEMSENSE_REDACT says.
            embed: When to compute vectors: "now" (a failing embedder leaves them to a job), "later"
                (always a job), or "strict" (a failing embedder raises EmbeddingError and nothing is
                stored); default: the setting MEMSENSE_EMBED.
            key: Idempotency key: a call repeated under its key within seven days is done once.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
            connection: A psycopg connection of yours, as in `add`.

        Returns:
            The result of each session, in order.

        Raises:
            InvalidInputError: If a session can't be used; names its number. Nothing is stored.
            QuotaExceededError: If a user would have more exchanges than the namespace allows.
                Nothing is stored.
        """
        return await self._threads.run(
            self._sync.add_many,
            sessions,
            redact=redact,
            embed=embed,
            key=key,
            timeout=timeout,
            connection=connection,
        )

    @knows_arguments
    async def ingest(
        self,
        *paths: "str | Path",
        mode: "Literal['turn', 'session', 'hybrid']" = "turn",
        map: "str | Path | Mapping[str, str | Sequence[str]] | None" = None,
        options: "ReadOptions | None" = None,
        annotations: "Annotations | None" = None,
        redact: "bool | None" = None,
        embed: "Literal['now', 'later', 'strict'] | None" = None,
        dry_run: "bool" = False,
        on_start: "Callable[[int], object]" = lambda _: None,
        on_bytes: "Callable[[int], object]" = lambda _: None,
        on_session: "Callable[[IngestReport], object]" = lambda _: None,
    ) -> "IngestReport":
        """Read conversation logs of any known format into memory, each exchange once.

        What was ingested before is left alone, logs that grew are completed, and edited messages
        are replaced. Every session is a transaction, so an interrupted run is resumed by running
        it again. What can't be used, such as a message without an id, is left out and counted.

        Args:
            paths: Files, folders, globs and archives.
            mode: What to store: "turn" for exchanges, "session" for whole sessions, "hybrid" for
                both.
            map: Where the files keep what memory needs: columns or JSONPaths by field, or a
                format's file.
            options: How to read: format, time zone, speakers.
            annotations: What to store with everything that is read, such as tags or a ttl.
            redact: Replace secrets, such as keys and passwords, by their kind before anything is
                stored; default: as MEMSENSE_REDACT says.
            embed: When to compute vectors: "now" (a failing embedder leaves them to a job), "later"
                (always a job), or "strict" (a failing embedder raises EmbeddingError and nothing is
                stored); default: the setting MEMSENSE_EMBED.
            dry_run: Read and count, but store nothing.
            on_start: Called once with the number of bytes to read.
            on_bytes: Called with the number of bytes read since the last call.
            on_session: Called after each session with the report so far.

        Returns:
            What was stored, left out and refused, with reasons.

        Raises:
            IngestError: If nothing of the paths can be read.
        """
        return await self._threads.run(
            self._sync.ingest,
            *paths,
            mode=mode,
            map=map,
            options=options,
            annotations=annotations,
            redact=redact,
            embed=embed,
            dry_run=dry_run,
            on_start=on_start,
            on_bytes=on_bytes,
            on_session=on_session,
        )

    @knows_arguments
    async def search(
        self,
        query: "str",
        *,
        top_k: "int" = 8,
        agent_id: "str | None" = None,
        session_ids: "Sequence[str] | None" = None,
        project: "str | None" = None,
        since: "datetime | str | None" = None,
        until: "datetime | str | None" = None,
        granularity: "Literal['turn', 'session'] | None" = None,
        min_score: "float | None" = None,
        exclude: "Sequence[int | str]" = (),
        exclude_sessions: "Sequence[str]" = (),
        tags: "Sequence[str] | None" = None,
        kinds: "Sequence[Literal['stable', 'preference', 'episodic', 'ephemeral']] | None" = None,
        metadata: "Mapping[str, Any] | None" = None,
        asked_at: "datetime | str | None" = None,
        as_of: "datetime | str | None" = None,
        profile: "str | Profile | None" = None,
        overrides: "Mapping[str, object] | None" = None,
        content_budget: "int" = 5000,
        trace: "bool | None" = None,
        timeout: "float | None" = None,
    ) -> "SearchResult":
        """Return the memories that best answer a question, best first.

            result = memory.search("Where does Ada live?", user_id="ada", top_k=4)

        Filters apply inside every route, before ranking: memories that don't pass them take no
        places among the hits.

        Args:
            query: The question in plain words, at most 8,000 characters.
            top_k: Maximum number of hits, up to 1,000.
            agent_id: Only memories of conversations with this agent.
            session_ids: Only memories of these sessions.
            project: Only memories of this project: about it, or of a session in the pool of that
                name.
            since: Only memories of events from this time on, ISO 8601.
            until: Only memories of events before this time, ISO 8601.
            granularity: Kind of hits: "turn" for exchanges, "session" for whole sessions; default:
                the profile's, which is "turn" in all shipped profiles but `memsense`.
            min_score: Lowest score of a hit; the answer may then be empty, and says so.
            exclude: Chunk ids (int) and message ids (str) to leave out, for example what the prompt
                has already. A session leaves with its exchanges, a part of an exchange with the
                other parts.
            exclude_sessions: Sessions to leave out, for example the one that the prompt belongs to.
            tags: Only memories with at least one of these tags.
            kinds: Only memories of these kinds: "stable", "preference", "episodic", "ephemeral".
            metadata: Only memories whose metadata contains this JSON object.
            asked_at: Moment that "last week" in the question counts from; default: now.
            as_of: Search memory as it stood at this moment; needs the setting `history` to have
                been on. What was erased or has expired since is gone from the past too.
            profile: A profile or the name of one, used as it is; default: the namespace's settings.
            overrides: Weights of routes (0 to 5) and constants of the profile to change for this
                call alone, such as {"lexical": 1.5}.
            content_budget: Maximum characters of a hit's text; longer texts are cut around what the
                question asks for.
            trace: Record the search for `traces` and the views; default: a share of searches, by
                the setting `trace_sample`.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Returns:
            Hits whose scores add up from their explanations, and notes about the answer as a
            whole. Empty if nothing passes the filters and `min_score`.

        Raises:
            InvalidInputError: If an argument is out of range; names the argument.
            NotFoundError: For an unknown profile or project.
            RecallTimeoutError: If the setting `recall_timeout` is exceeded.
        """
        return await self._threads.run(
            self._sync.search,
            query,
            top_k=top_k,
            agent_id=agent_id,
            session_ids=session_ids,
            project=project,
            since=since,
            until=until,
            granularity=granularity,
            min_score=min_score,
            exclude=exclude,
            exclude_sessions=exclude_sessions,
            tags=tags,
            kinds=kinds,
            metadata=metadata,
            asked_at=asked_at,
            as_of=as_of,
            profile=profile,
            overrides=overrides,
            content_budget=content_budget,
            trace=trace,
            timeout=timeout,
        )

    @knows_arguments
    async def context(
        self,
        prompt: "str",
        *,
        max_tokens: "int" = 1000,
        project: "str | None" = None,
        silence: "float | None" = None,
        card: "bool" = True,
        agent_id: "str | None" = None,
        session_ids: "Sequence[str] | None" = None,
        since: "datetime | str | None" = None,
        until: "datetime | str | None" = None,
        exclude: "Sequence[int | str]" = (),
        exclude_sessions: "Sequence[str]" = (),
        tags: "Sequence[str] | None" = None,
        kinds: "Sequence[Literal['stable', 'preference', 'episodic', 'ephemeral']] | None" = None,
        metadata: "Mapping[str, Any] | None" = None,
        asked_at: "datetime | str | None" = None,
        as_of: "datetime | str | None" = None,
        profile: "str | Profile | None" = None,
        overrides: "Mapping[str, object] | None" = None,
        format: "Literal['markdown', 'xml']" = "markdown",
        tokenizer: "Any | None" = None,
        trace: "bool | None" = None,
        timeout: "float | None" = None,
    ) -> "Prompt":
        """Return what a model should know of memory for a prompt, as a short text, or nothing.

            context = memory.context("Which walnuts can she eat?", user_id="ada")
            messages.append({"role": "user", "content": context})

        Lasting statements about the user come first, then the passages with the best chance to
        matter, in the order of time: what the user said, and of an answer the stretch that meets
        the prompt. If nothing known concerns the prompt, the text is empty; small talk is not even
        searched for. Readers of logs remove the whole text again.

        Args:
            prompt: The prompt, at most 8,000 characters.
            max_tokens: Maximum length of the text, in tokens.
            project: The project that the prompt belongs to: memories of others come only if the
                prompt surely asks for them, under the project's name.
            silence: Chance, from 0 to 1, that something known concerns the prompt below which
                nothing is returned; 0 returns what fits of any prompt. Default: the setting
                MEMSENSE_SILENCE, which is 0.5.
            card: Begin with who the user is and what they wish, if the budget is of 800 tokens or
                more.
            agent_id: Only memories of conversations with this agent.
            session_ids: Only memories of these sessions.
            since: Only memories of events from this time on, ISO 8601.
            until: Only memories of events before this time, ISO 8601.
            exclude: Chunk ids (int) and message ids (str) to leave out, for example what the prompt
                has already. A session leaves with its exchanges, a part of an exchange with the
                other parts.
            exclude_sessions: Sessions to leave out, for example the one that the prompt belongs to.
            tags: Only memories with at least one of these tags.
            kinds: Only memories of these kinds: "stable", "preference", "episodic", "ephemeral".
            metadata: Only memories whose metadata contains this JSON object.
            asked_at: Moment that "last week" in the question counts from; default: now.
            as_of: Search memory as it stood at this moment; needs the setting `history` to have
                been on. What was erased or has expired since is gone from the past too.
            profile: A profile or the name of one, used as it is; default: the namespace's settings.
            overrides: Weights of routes (0 to 5) and constants of the profile to change for this
                call alone, such as {"lexical": 1.5}.
            format: Layout of the text: "markdown" or "xml".
            tokenizer: Counter of tokens: a function of a text, or an object with `encode`; default:
                an estimate of memsense's own.
            trace: Record the search for `traces` and the views; default: a share of searches, by
                the setting `trace_sample`.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Returns:
            The text with `chunk_ids`, `lines` (what each quotation is from, and why it is there),
            `omitted` (why the other hits are not), `tokens` and `notes`.

        Raises:
            InvalidInputError: If an argument is out of range; names the argument.
            NotFoundError: For an unknown profile.
            RecallTimeoutError: If the setting `recall_timeout` is exceeded.
        """
        return await self._threads.run(
            self._sync.context,
            prompt,
            max_tokens=max_tokens,
            project=project,
            silence=silence,
            card=card,
            agent_id=agent_id,
            session_ids=session_ids,
            since=since,
            until=until,
            exclude=exclude,
            exclude_sessions=exclude_sessions,
            tags=tags,
            kinds=kinds,
            metadata=metadata,
            asked_at=asked_at,
            as_of=as_of,
            profile=profile,
            overrides=overrides,
            format=format,
            tokenizer=tokenizer,
            trace=trace,
            timeout=timeout,
        )

    @knows_arguments
    async def search_many(
        self,
        queries: "Sequence[str]",
        *,
        top_k: "int" = 8,
        agent_id: "str | None" = None,
        session_ids: "Sequence[str] | None" = None,
        project: "str | None" = None,
        since: "datetime | str | None" = None,
        until: "datetime | str | None" = None,
        granularity: "Literal['turn', 'session'] | None" = None,
        min_score: "float | None" = None,
        exclude: "Sequence[int | str]" = (),
        exclude_sessions: "Sequence[str]" = (),
        tags: "Sequence[str] | None" = None,
        kinds: "Sequence[Literal['stable', 'preference', 'episodic', 'ephemeral']] | None" = None,
        metadata: "Mapping[str, Any] | None" = None,
        asked_at: "datetime | str | None" = None,
        as_of: "datetime | str | None" = None,
        profile: "str | Profile | None" = None,
        overrides: "Mapping[str, object] | None" = None,
        content_budget: "int" = 5000,
        trace: "bool | None" = None,
        timeout: "float | None" = None,
    ) -> "list[SearchResult]":
        """Answer several questions about the same memory, with the options of `search`.

        All questions are recalled in one round trip to the server, and all texts are fetched in
        another.

        Args:
            queries: The questions, each as `search` takes it.
            top_k: Maximum number of hits, up to 1,000.
            agent_id: Only memories of conversations with this agent.
            session_ids: Only memories of these sessions.
            project: Only memories of this project: about it, or of a session in the pool of that
                name.
            since: Only memories of events from this time on, ISO 8601.
            until: Only memories of events before this time, ISO 8601.
            granularity: Kind of hits: "turn" for exchanges, "session" for whole sessions; default:
                the profile's, which is "turn" in all shipped profiles but `memsense`.
            min_score: Lowest score of a hit; the answer may then be empty, and says so.
            exclude: Chunk ids (int) and message ids (str) to leave out, for example what the prompt
                has already. A session leaves with its exchanges, a part of an exchange with the
                other parts.
            exclude_sessions: Sessions to leave out, for example the one that the prompt belongs to.
            tags: Only memories with at least one of these tags.
            kinds: Only memories of these kinds: "stable", "preference", "episodic", "ephemeral".
            metadata: Only memories whose metadata contains this JSON object.
            asked_at: Moment that "last week" in the question counts from; default: now.
            as_of: Search memory as it stood at this moment; needs the setting `history` to have
                been on. What was erased or has expired since is gone from the past too.
            profile: A profile or the name of one, used as it is; default: the namespace's settings.
            overrides: Weights of routes (0 to 5) and constants of the profile to change for this
                call alone, such as {"lexical": 1.5}.
            content_budget: Maximum characters of a hit's text; longer texts are cut around what the
                question asks for.
            trace: Record the search for `traces` and the views; default: a share of searches, by
                the setting `trace_sample`.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Returns:
            The result of each question, in order.
        """
        return await self._threads.run(
            self._sync.search_many,
            queries,
            top_k=top_k,
            agent_id=agent_id,
            session_ids=session_ids,
            project=project,
            since=since,
            until=until,
            granularity=granularity,
            min_score=min_score,
            exclude=exclude,
            exclude_sessions=exclude_sessions,
            tags=tags,
            kinds=kinds,
            metadata=metadata,
            asked_at=asked_at,
            as_of=as_of,
            profile=profile,
            overrides=overrides,
            content_budget=content_budget,
            trace=trace,
            timeout=timeout,
        )

    @knows_arguments
    async def why_not(
        self,
        query: "str",
        chunk_id: "int",
        *,
        top_k: "int" = 8,
        agent_id: "str | None" = None,
        session_ids: "Sequence[str] | None" = None,
        project: "str | None" = None,
        since: "datetime | str | None" = None,
        until: "datetime | str | None" = None,
        granularity: "Literal['turn', 'session'] | None" = None,
        min_score: "float | None" = None,
        exclude: "Sequence[int | str]" = (),
        exclude_sessions: "Sequence[str]" = (),
        tags: "Sequence[str] | None" = None,
        kinds: "Sequence[Literal['stable', 'preference', 'episodic', 'ephemeral']] | None" = None,
        metadata: "Mapping[str, Any] | None" = None,
        asked_at: "datetime | str | None" = None,
        as_of: "datetime | str | None" = None,
        profile: "str | Profile | None" = None,
        overrides: "Mapping[str, object] | None" = None,
        timeout: "float | None" = None,
    ) -> "Verdict":
        """Explain why a search with these options does not return a memory, or as which hit.

        Args:
            query: The question in plain words, at most 8,000 characters.
            chunk_id: The memory's chunk id, as searches and lists show it.
            top_k: Maximum number of hits, up to 1,000.
            agent_id: Only memories of conversations with this agent.
            session_ids: Only memories of these sessions.
            project: Only memories of this project: about it, or of a session in the pool of that
                name.
            since: Only memories of events from this time on, ISO 8601.
            until: Only memories of events before this time, ISO 8601.
            granularity: Kind of hits: "turn" for exchanges, "session" for whole sessions; default:
                the profile's, which is "turn" in all shipped profiles but `memsense`.
            min_score: Lowest score of a hit; the answer may then be empty, and says so.
            exclude: Chunk ids (int) and message ids (str) to leave out, for example what the prompt
                has already. A session leaves with its exchanges, a part of an exchange with the
                other parts.
            exclude_sessions: Sessions to leave out, for example the one that the prompt belongs to.
            tags: Only memories with at least one of these tags.
            kinds: Only memories of these kinds: "stable", "preference", "episodic", "ephemeral".
            metadata: Only memories whose metadata contains this JSON object.
            asked_at: Moment that "last week" in the question counts from; default: now.
            as_of: Search memory as it stood at this moment; needs the setting `history` to have
                been on. What was erased or has expired since is gone from the past too.
            profile: A profile or the name of one, used as it is; default: the namespace's settings.
            overrides: Weights of routes (0 to 5) and constants of the profile to change for this
                call alone, such as {"lexical": 1.5}.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Returns:
            The first step of the search that lost the memory, in words and numbers.

        Raises:
            NotFoundError: If the namespace has no such chunk.
        """
        return await self._threads.run(
            self._sync.why_not,
            query,
            chunk_id,
            top_k=top_k,
            agent_id=agent_id,
            session_ids=session_ids,
            project=project,
            since=since,
            until=until,
            granularity=granularity,
            min_score=min_score,
            exclude=exclude,
            exclude_sessions=exclude_sessions,
            tags=tags,
            kinds=kinds,
            metadata=metadata,
            asked_at=asked_at,
            as_of=as_of,
            profile=profile,
            overrides=overrides,
            timeout=timeout,
        )

    @knows_arguments
    async def export_to(self, path: "Place", *, vectors: "bool" = False) -> "ExportReport":
        """Write a user's memory, or everybody's, to a file.

        The file holds status, score, history and what logs brought, the namespace's settings and
        its stored profiles; a forgotten memory is in it without texts: docs/guides/export.md.

        Args:
            path: A path or an open file. The format is JSON lines, or Parquet if the name ends in
                .parquet (needs `memsense[parquet]`).
            vectors: Write the vectors too, so that an import need not embed the texts again.
        """
        return await self._threads.run(self._sync.export_to, path, vectors=vectors)

    @knows_arguments
    async def recent(
        self,
        *,
        limit: "int" = 10,
        agent_id: "str | None" = None,
        session_id: "str | None" = None,
        granularity: "Literal['turn', 'session']" = "turn",
        timeout: "float | None" = None,
    ) -> "list[Chunk]":
        """Return a user's latest memories by event time, newest first.

        Args:
            limit: Maximum number of items.
            agent_id: Only memories of conversations with this agent.
            session_id: Only memories of this session.
            granularity: "turn" for exchanges, "session" for sessions.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
        """
        return await self._threads.run(
            self._sync.recent,
            limit=limit,
            agent_id=agent_id,
            session_id=session_id,
            granularity=granularity,
            timeout=timeout,
        )

    @knows_arguments
    async def sessions(
        self,
        *,
        agent_id: "str | None" = None,
        project: "str | None" = None,
        since: "datetime | str | None" = None,
        until: "datetime | str | None" = None,
        tags: "Sequence[str] | None" = None,
        kinds: "Sequence[Literal['stable', 'preference', 'episodic', 'ephemeral']] | None" = None,
        limit: "int" = 50,
        cursor: "str | None" = None,
        timeout: "float | None" = None,
    ) -> "Page[SessionSummary]":
        """Return a page of a user's sessions, the one with the latest exchange first.

        A session counts the exchanges that pass the filters, and is listed if there are any.

        Args:
            agent_id: Only memories of conversations with this agent.
            project: Only memories of this project: about it, or of a session in the pool of that
                name.
            since: Only memories of events from this time on, ISO 8601.
            until: Only memories of events before this time, ISO 8601.
            tags: Only memories with at least one of these tags.
            kinds: Only memories of these kinds: "stable", "preference", "episodic", "ephemeral".
            limit: Maximum number of items.
            cursor: `next_cursor` of the page before; default: the first page.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
        """
        return await self._threads.run(
            self._sync.sessions,
            agent_id=agent_id,
            project=project,
            since=since,
            until=until,
            tags=tags,
            kinds=kinds,
            limit=limit,
            cursor=cursor,
            timeout=timeout,
        )

    @knows_arguments
    async def left_off(
        self,
        *,
        project: "str",
        max_tokens: "int" = 300,
        exclude_sessions: "Sequence[str]" = (),
        timeout: "float | None" = None,
    ) -> "Prompt":
        """Return where the last session in a project ended, as a text for a prompt.

        The last exchange with what it left open, decisions, and the files that were named, all by
        rules; each line has its memory's id. Nothing is embedded or searched.

        Args:
            project: The project: a repository's address, a folder, or another name of one.
            max_tokens: Maximum length of the text, in tokens.
            exclude_sessions: Sessions to leave out, for example the one that goes on.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Returns:
            A text in the tags that readers of logs remove again; empty if the user's memory has
            nothing about the project. It has `chunk_ids` and `tokens`.
        """
        return await self._threads.run(
            self._sync.left_off,
            project=project,
            max_tokens=max_tokens,
            exclude_sessions=exclude_sessions,
            timeout=timeout,
        )

    @knows_arguments
    async def matching_words(self, words: "Sequence[str]", lexemes: "Sequence[str]") -> "set[str]":
        """Return the words that a text search for the lexemes matches, to highlight them.

        memory.matching_words(hit.content.split(), result.question["lexemes"])

        Args:
            words: Words of a text.
            lexemes: Lexemes, as `result.question["lexemes"]` has them.
        """
        return await self._threads.run(self._sync.matching_words, words, lexemes)

    @knows_arguments
    async def get(self, chunk_id: "int", *, timeout: "float | None" = None) -> "Chunk":
        """Return one memory, whatever its status.

        One that was forgotten or has expired comes without texts, facets and tags.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Raises:
            NotFoundError: If the namespace has no such chunk.
        """
        return await self._threads.run(self._sync.get, chunk_id, timeout=timeout)

    @knows_arguments
    async def get_many(
        self, chunk_ids: "Sequence[int]", *, timeout: "float | None" = None
    ) -> "dict[int, Chunk]":
        """Return memories by id, whatever their status; ids that do not exist are left out.

        One that was forgotten or has expired comes without texts, facets and tags.

        Args:
            chunk_ids: Chunk ids, in any order.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
        """
        return await self._threads.run(self._sync.get_many, chunk_ids, timeout=timeout)

    @knows_arguments
    async def superseded_facts(
        self, chunk_ids: "Sequence[int]", *, timeout: "float | None" = None
    ) -> "list[SupersededFact]":
        """Return the changed facts among these memories: the older statement and the newer one.

            for fact in memory.superseded_facts([hit.chunk_id for hit in hits]):
                print(f"{fact.newer_id} replaced {fact.older_id}: {fact.reason}")

        The changes are those that memsense noticed when the newer memory was written; forgetting
        either memory undoes one.

        Args:
            chunk_ids: Chunk ids, in any order.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
        """
        return await self._threads.run(self._sync.superseded_facts, chunk_ids, timeout=timeout)

    @knows_arguments
    async def stats(self, *, timeout: "float | None" = None) -> "list[ScopeStatistics]":
        """Return what each user's memory in this namespace holds.

        Args:
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
        """
        return await self._threads.run(self._sync.stats, timeout=timeout)

    @knows_arguments
    async def forget(
        self,
        chunk_id: "int",
        *,
        reason: "str | None" = None,
        key: "str | None" = None,
        timeout: "float | None" = None,
    ) -> "list[int]":
        """Take a memory out of every search and out of its neighbours' context.

        `restore` undoes it. A session takes its exchanges along, a part of an exchange the other
        parts. What is said again later is stored again.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            reason: Why, for the memory's history; up to 10,000 characters.
            key: Idempotency key: a call repeated under its key within seven days is done once.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Returns:
            The ids of the chunks that changed.

        Raises:
            NotFoundError: If the namespace has no such chunk.
        """
        return await self._threads.run(
            self._sync.forget, chunk_id, reason=reason, key=key, timeout=timeout
        )

    @knows_arguments
    async def archive(
        self,
        chunk_id: "int",
        *,
        reason: "str | None" = None,
        key: "str | None" = None,
        timeout: "float | None" = None,
    ) -> "list[int]":
        """Take an outdated memory out of every search; the same as `forget`, with its own status.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            reason: Why, for the memory's history; up to 10,000 characters.
            key: Idempotency key: a call repeated under its key within seven days is done once.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Returns:
            The ids of the chunks that changed.

        Raises:
            NotFoundError: If the namespace has no such chunk.
        """
        return await self._threads.run(
            self._sync.archive, chunk_id, reason=reason, key=key, timeout=timeout
        )

    @knows_arguments
    async def erase(
        self,
        *,
        session_id: "str | None" = None,
        message_id: "str | None" = None,
        by: "str | None" = None,
        timeout: "float | None" = None,
        key: "str | None" = None,
    ) -> "Receipt":
        """Erase for good: a user's whole memory in this namespace, a session or a message.

            receipt = memory.erase(user_id="ada", by="data protection")

        Everything that holds the text or was made from it goes, recorded searches and history
        included, in one transaction that checks that nothing is left. What is said again later is
        stored again.

        Args:
            session_id: Erase this session only.
            message_id: Erase only the exchange that holds this message.
            by: Who does it, for the receipt or history; default: the operating system's user.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
            key: Idempotency key: a call repeated under its key returns the receipt of the first, as
                long as the receipt is stored.

        Returns:
            The receipt, which the namespace keeps.

        Raises:
            NotFoundError: If there is nothing to erase.
            ConflictError: If the key belongs to another erasure.
        """
        return await self._threads.run(
            self._sync.erase,
            session_id=session_id,
            message_id=message_id,
            by=by,
            timeout=timeout,
            key=key,
        )

    @knows_arguments
    async def delete(
        self,
        chunk_id: "int",
        *,
        by: "str | None" = None,
        timeout: "float | None" = None,
        key: "str | None" = None,
    ) -> "Receipt":
        """Erase one memory for good, as `erase` does.

        A session takes its exchanges along, a part of an exchange the other parts. Forgotten
        copies of them are erased, too.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            by: Who does it, for the receipt or history; default: the operating system's user.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
            key: Idempotency key: a call repeated under its key returns the receipt of the first, as
                long as the receipt is stored.

        Returns:
            The receipt, which the namespace keeps.

        Raises:
            NotFoundError: If the namespace has no such chunk.
            ConflictError: If the key belongs to another erasure.
        """
        return await self._threads.run(self._sync.delete, chunk_id, by=by, timeout=timeout, key=key)

    @knows_arguments
    async def update(
        self,
        chunk_id: "int",
        *,
        content: "str | Mapping[str, str] | None" = None,
        facets: "Mapping[str, str] | None" = None,
        tags: "Sequence[str] | None" = None,
        metadata: "Mapping[str, Any] | None" = None,
        occurred_at: "datetime | str | None" = None,
        expires_at: "datetime | str | None" = None,
        ttl: "timedelta | str | None" = None,
        reason: "str | None" = None,
        key: "str | None" = None,
        timeout: "float | None" = None,
    ) -> "Chunk":
        """Change what an exchange says or what is known of it.

            memory.update(42, content={"assistant": "Noted: Porto since May."}, tags=["home"])

        What is passed replaces what was stored; the rest stays. Vectors, words, links and session
        chunks follow. Where the setting `history` is on, `versions` keeps the former text.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            content: New texts by side, {"user": ..., "assistant": ...}; a plain text where the
                exchange has one side only.
            facets: Texts of the facets `personal_info`, `preferences` and `events`; they replace
                those that the rules find.
            tags: Labels that replace the present ones.
            metadata: JSON object that replaces the present one.
            occurred_at: When it was said or happened; ISO 8601 texts are accepted.
            expires_at: When it expires: no search finds it afterwards, and a job deletes it.
            ttl: How long from now until it expires: a timedelta or a text such as "12h" or "30d";
                "never" overrides the namespace's rules.
            reason: Why, for the memory's history; up to 10,000 characters.
            key: Idempotency key: a call repeated under its key within seven days is done once.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Returns:
            The changed chunk.

        Raises:
            InvalidInputError: If nothing is to be changed, or a value can't be used.
            NotFoundError: If the namespace has no such chunk.
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
            timeout=timeout,
        )

    @knows_arguments
    async def versions(self, chunk_id: "int", *, timeout: "float | None" = None) -> "list[Version]":
        """Return what an exchange said before it was updated, or edited in its log, oldest first.

        Versions are kept while the setting `history` is on; a forgotten memory has none.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Raises:
            NotFoundError: If the namespace has no such chunk.
        """
        return await self._threads.run(self._sync.versions, chunk_id, timeout=timeout)

    @knows_arguments
    async def restore(
        self,
        chunk_id: "int",
        *,
        reason: "str | None" = None,
        key: "str | None" = None,
        timeout: "float | None" = None,
    ) -> "list[int]":
        """Bring a forgotten or archived memory back; a session with the exchanges it took along.

        An exchange that was said again after it was forgotten stays away.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            reason: Why, for the memory's history; up to 10,000 characters.
            key: Idempotency key: a call repeated under its key within seven days is done once.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Returns:
            The ids of the chunks that changed.

        Raises:
            NotFoundError: If the namespace has no such chunk.
            QuotaExceededError: If the user would have more exchanges than the namespace allows.
        """
        return await self._threads.run(
            self._sync.restore, chunk_id, reason=reason, key=key, timeout=timeout
        )

    @knows_arguments
    async def promote(
        self, chunk_id: "int", *, key: "str | None" = None, timeout: "float | None" = None
    ) -> "float":
        """Raise a memory's score by 0.15, at most to 1, and return the new score.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            key: Idempotency key: a call repeated under its key within seven days is done once.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
        """
        return await self._threads.run(self._sync.promote, chunk_id, key=key, timeout=timeout)

    @knows_arguments
    async def demote(
        self, chunk_id: "int", *, key: "str | None" = None, timeout: "float | None" = None
    ) -> "float":
        """Lower a memory's score by 0.15, at least to 0, and return the new score.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            key: Idempotency key: a call repeated under its key within seven days is done once.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
        """
        return await self._threads.run(self._sync.demote, chunk_id, key=key, timeout=timeout)

    @knows_arguments
    async def feedback(
        self,
        chunk_id: "int",
        *,
        helpful: "bool",
        question: "str | None" = None,
        note: "str | None" = None,
        key: "str | None" = None,
        timeout: "float | None" = None,
    ) -> "None":
        """Record whether a hit helped. It goes into the memory's history and changes no score.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            helpful: Whether the memory helped to answer.
            question: The question that it was returned for.
            note: What was good or wrong about it.
            key: Idempotency key: a call repeated under its key within seven days is done once.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
        """
        return await self._threads.run(
            self._sync.feedback,
            chunk_id,
            helpful=helpful,
            question=question,
            note=note,
            key=key,
            timeout=timeout,
        )

    @knows_arguments
    async def history(self, chunk_id: "int", *, timeout: "float | None" = None) -> "list[Event]":
        """Return everything that happened to a memory, oldest first.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Raises:
            NotFoundError: If the namespace has no such chunk.
        """
        return await self._threads.run(self._sync.history, chunk_id, timeout=timeout)

    @knows_arguments
    async def list(
        self,
        *,
        agent_id: "str | None" = None,
        session_ids: "Sequence[str] | None" = None,
        project: "str | None" = None,
        since: "datetime | str | None" = None,
        until: "datetime | str | None" = None,
        tags: "Sequence[str] | None" = None,
        kinds: "Sequence[Literal['stable', 'preference', 'episodic', 'ephemeral']] | None" = None,
        metadata: "Mapping[str, Any] | None" = None,
        granularity: "Literal['turn', 'session']" = "turn",
        statuses: "Sequence[Literal['active', 'archived', 'deleted']]" = ("active",),
        order: "Literal['newest', 'oldest']" = "newest",
        limit: "int" = 50,
        cursor: "str | None" = None,
        timeout: "float | None" = None,
    ) -> "Page[Chunk]":
        """Return a page of a user's memories by event time.

            page = memory.list(user_id="ada")
            more = memory.list(user_id="ada", cursor=page.next_cursor)  # unless that is None

        What is added meanwhile neither repeats nor hides an item.

        Args:
            agent_id: Only memories of conversations with this agent.
            session_ids: Only memories of these sessions.
            project: Only memories of this project: about it, or of a session in the pool of that
                name.
            since: Only memories of events from this time on, ISO 8601.
            until: Only memories of events before this time, ISO 8601.
            tags: Only memories with at least one of these tags.
            kinds: Only memories of these kinds: "stable", "preference", "episodic", "ephemeral".
            metadata: Only memories whose metadata contains this JSON object.
            granularity: "turn" for exchanges, "session" for sessions.
            statuses: Which to list: "active", "archived", "deleted" (forgotten, without texts).
            order: "newest" or "oldest" event time first.
            limit: Maximum number of items.
            cursor: `next_cursor` of the page before; default: the first page.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Raises:
            InvalidInputError: For the cursor of another list or order.
        """
        return await self._threads.run(
            self._sync.list,
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
            timeout=timeout,
        )


class AsyncMemory(OpenFacade):
    """Memory for asyncio, each method awaited."""

    @cached_property
    def traces(self) -> "AsyncTracesResource":
        """Recorded searches: show, replay, prune."""
        return AsyncTracesResource(self._threads, self._sync.traces)

    @cached_property
    def entities(self) -> "AsyncEntities":
        """People, places and things that memories mention."""
        return AsyncEntities(self._threads, self._sync.entities)

    @knows_arguments
    async def add(
        self,
        messages: "str | Mapping[str, object] | Iterable[object]",
        *,
        user_id: "str",
        session_id: "str | None" = None,
        agent_id: "str | None" = None,
        project: "str | None" = None,
        mode: "Literal['turn', 'session', 'hybrid']" = "turn",
        task_tag: "str | None" = None,
        tags: "Sequence[str]" = (),
        facets: "Mapping[str, str] | None" = None,
        memory_kind: "Literal['stable', 'preference', 'episodic', 'ephemeral'] | None" = None,
        confidence: "float" = 1.0,
        metadata: "Mapping[str, Any] | None" = None,
        expires_at: "datetime | str | None" = None,
        ttl: "timedelta | str | None" = None,
        redact: "bool | None" = None,
        embed: "Literal['now', 'later', 'strict'] | None" = None,
        key: "str | None" = None,
        timeout: "float | None" = None,
        connection: "Connection[Any] | AsyncConnection[Any] | None" = None,
    ) -> "Added":
        """Store what was said: a sentence of the user's, or messages of one session, in order.

            memory.add("I like tea", user_id="ada")
            memory.add([{"role": "user", "content": "I moved to Lisbon."},
                        {"role": "assistant", "content": "How do you like it?"}],
                       user_id="ada", session_id="monday")

        Without a `session_id`, the session is the day on which the first message was said, in UTC,
        such as "2026-05-04"; so name the sessions of conversations that go on past midnight.

        All or nothing: one transaction. The same exchange within ten minutes of event time is
        stored once, and its first chunk is returned, unless that was forgotten. An answer to the
        question with which the call before ended completes that exchange.

        Args:
            messages: A text that the user said, or messages: dicts with `role` and `content`, and
                optionally `id`, `at` (time) and `name`; messages of OpenAI, Anthropic and LangChain
                are accepted too.
            user_id: Whose memory it becomes: an id of your own, up to 500 characters.
            session_id: The conversation that it belongs to: an id of your own; default: the day.
            agent_id: The agent that the conversation was with.
            project: The project that it is about, such as a repository's address or a folder;
                `search` can be limited to it.
            mode: What to store: "turn" for exchanges, "session" for whole sessions, "hybrid" for
                both.
            task_tag: Label of the task; it replaces the one that the rules find.
            tags: Labels to store with it; they replace those of the rules.
            facets: Texts of the facets `personal_info`, `preferences` and `events`; they replace
                those that the rules find.
            memory_kind: How lasting it is: "stable", "preference", "episodic" or "ephemeral";
                default: by rules.
            confidence: How certain it is, from 0 to 1.
            metadata: A JSON object of your own, returned with hits and usable as a filter.
            expires_at: When it expires: no search finds it afterwards, and a job deletes it.
            ttl: How long from now until it expires: a timedelta or a text such as "12h" or "30d";
                "never" overrides the namespace's rules.
            redact: Replace secrets, such as keys and passwords, by their kind before anything is
                stored; default: as MEMSENSE_REDACT says.
            embed: When to compute vectors: "now" (a failing embedder leaves them to a job), "later"
                (always a job), or "strict" (a failing embedder raises EmbeddingError and nothing is
                stored); default: the setting MEMSENSE_EMBED.
            key: Idempotency key: a call repeated under its key within seven days is done once.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
            connection: A psycopg connection of yours: the write then joins its transaction, in a
                savepoint, and is visible when you commit.

        Returns:
            The stored chunks. `notes` say what else there is to know, such as vectors that a job
            will compute later; `deferred` counts those. `redacted` counts by kind what was not
            stored: secrets, and passages in `<private>`.

        Raises:
            InvalidInputError: If a message or an argument can't be used.
            ConflictError: If another write was done under the same `key`.
            EmbeddingError: If `embed` is "strict" and the embedder fails.
            QuotaExceededError: If the user would have more exchanges than the namespace allows.
        """
        return await self._threads.run(
            self._sync.add,
            messages,
            user_id=user_id,
            session_id=session_id,
            agent_id=agent_id,
            project=project,
            mode=mode,
            task_tag=task_tag,
            tags=tags,
            facets=facets,
            memory_kind=memory_kind,
            confidence=confidence,
            metadata=metadata,
            expires_at=expires_at,
            ttl=ttl,
            redact=redact,
            embed=embed,
            key=key,
            timeout=timeout,
            connection=connection,
        )

    @knows_arguments
    async def add_many(
        self,
        sessions: "Iterable[Mapping[str, object]]",
        *,
        user_id: "str | None" = None,
        redact: "bool | None" = None,
        embed: "Literal['now', 'later', 'strict'] | None" = None,
        key: "str | None" = None,
        timeout: "float | None" = None,
        connection: "Connection[Any] | AsyncConnection[Any] | None" = None,
    ) -> "list[Added]":
        """Store several sessions in one transaction, embedded in one batch.

            memory.add_many([{"session_id": "mon", "messages": [...]},
                             {"session_id": "tue", "messages": [...], "tags": ["work"]}],
                            user_id="ada")

        Args:
            sessions: Dicts with `messages`, and any other argument of `add` that belongs to a
                session, such as `session_id`.
            user_id: Owner of the sessions that name no `user_id` themselves.
            redact: Replace secrets, such as keys and passwords, by their kind before anything is
                stored; default: as MEMSENSE_REDACT says.
            embed: When to compute vectors: "now" (a failing embedder leaves them to a job), "later"
                (always a job), or "strict" (a failing embedder raises EmbeddingError and nothing is
                stored); default: the setting MEMSENSE_EMBED.
            key: Idempotency key: a call repeated under its key within seven days is done once.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
            connection: A psycopg connection of yours, as in `add`.

        Returns:
            The result of each session, in order.

        Raises:
            InvalidInputError: If a session can't be used; names its number. Nothing is stored.
            QuotaExceededError: If a user would have more exchanges than the namespace allows.
                Nothing is stored.
        """
        return await self._threads.run(
            self._sync.add_many,
            sessions,
            user_id=user_id,
            redact=redact,
            embed=embed,
            key=key,
            timeout=timeout,
            connection=connection,
        )

    @knows_arguments
    async def ingest(
        self,
        *paths: "str | Path",
        user_id: "str | None" = None,
        mode: "Literal['turn', 'session', 'hybrid']" = "turn",
        map: "str | Path | Mapping[str, str | Sequence[str]] | None" = None,
        options: "ReadOptions | None" = None,
        annotations: "Annotations | None" = None,
        redact: "bool | None" = None,
        embed: "Literal['now', 'later', 'strict'] | None" = None,
        dry_run: "bool" = False,
        on_start: "Callable[[int], object]" = lambda _: None,
        on_bytes: "Callable[[int], object]" = lambda _: None,
        on_session: "Callable[[IngestReport], object]" = lambda _: None,
    ) -> "IngestReport":
        """Read conversation logs of any known format into memory, each exchange once.

        What was ingested before is left alone, logs that grew are completed, and edited messages
        are replaced. Every session is a transaction, so an interrupted run is resumed by running
        it again. What can't be used, such as a message without an id, is left out and counted.

        Args:
            paths: Files, folders, globs and archives.
            user_id: Owner of what the logs hold, unless a log names its own; default: "default".
            mode: What to store: "turn" for exchanges, "session" for whole sessions, "hybrid" for
                both.
            map: Where the files keep what memory needs: columns or JSONPaths by field, or a
                format's file.
            options: How to read: format, time zone, speakers.
            annotations: What to store with everything that is read, such as tags or a ttl.
            redact: Replace secrets, such as keys and passwords, by their kind before anything is
                stored; default: as MEMSENSE_REDACT says.
            embed: When to compute vectors: "now" (a failing embedder leaves them to a job), "later"
                (always a job), or "strict" (a failing embedder raises EmbeddingError and nothing is
                stored); default: the setting MEMSENSE_EMBED.
            dry_run: Read and count, but store nothing.
            on_start: Called once with the number of bytes to read.
            on_bytes: Called with the number of bytes read since the last call.
            on_session: Called after each session with the report so far.

        Returns:
            What was stored, left out and refused, with reasons.

        Raises:
            IngestError: If nothing of the paths can be read.
        """
        return await self._threads.run(
            self._sync.ingest,
            *paths,
            user_id=user_id,
            mode=mode,
            map=map,
            options=options,
            annotations=annotations,
            redact=redact,
            embed=embed,
            dry_run=dry_run,
            on_start=on_start,
            on_bytes=on_bytes,
            on_session=on_session,
        )

    @knows_arguments
    async def search(
        self,
        query: "str",
        *,
        top_k: "int" = 8,
        user_id: "str | None" = None,
        all_users: "bool" = False,
        agent_id: "str | None" = None,
        session_ids: "Sequence[str] | None" = None,
        project: "str | None" = None,
        since: "datetime | str | None" = None,
        until: "datetime | str | None" = None,
        granularity: "Literal['turn', 'session'] | None" = None,
        min_score: "float | None" = None,
        exclude: "Sequence[int | str]" = (),
        exclude_sessions: "Sequence[str]" = (),
        tags: "Sequence[str] | None" = None,
        kinds: "Sequence[Literal['stable', 'preference', 'episodic', 'ephemeral']] | None" = None,
        metadata: "Mapping[str, Any] | None" = None,
        asked_at: "datetime | str | None" = None,
        as_of: "datetime | str | None" = None,
        profile: "str | Profile | None" = None,
        overrides: "Mapping[str, object] | None" = None,
        content_budget: "int" = 5000,
        trace: "bool | None" = None,
        timeout: "float | None" = None,
    ) -> "SearchResult":
        """Return the memories that best answer a question, best first.

            result = memory.search("Where does Ada live?", user_id="ada", top_k=4)

        Filters apply inside every route, before ranking: memories that don't pass them take no
        places among the hits.

        Args:
            query: The question in plain words, at most 8,000 characters.
            top_k: Maximum number of hits, up to 1,000.
            user_id: Whose memory to read: an id of your own. Required without `all_users`.
            all_users: Read the memory of all users in the namespace.
            agent_id: Only memories of conversations with this agent.
            session_ids: Only memories of these sessions.
            project: Only memories of this project: about it, or of a session in the pool of that
                name.
            since: Only memories of events from this time on, ISO 8601.
            until: Only memories of events before this time, ISO 8601.
            granularity: Kind of hits: "turn" for exchanges, "session" for whole sessions; default:
                the profile's, which is "turn" in all shipped profiles but `memsense`.
            min_score: Lowest score of a hit; the answer may then be empty, and says so.
            exclude: Chunk ids (int) and message ids (str) to leave out, for example what the prompt
                has already. A session leaves with its exchanges, a part of an exchange with the
                other parts.
            exclude_sessions: Sessions to leave out, for example the one that the prompt belongs to.
            tags: Only memories with at least one of these tags.
            kinds: Only memories of these kinds: "stable", "preference", "episodic", "ephemeral".
            metadata: Only memories whose metadata contains this JSON object.
            asked_at: Moment that "last week" in the question counts from; default: now.
            as_of: Search memory as it stood at this moment; needs the setting `history` to have
                been on. What was erased or has expired since is gone from the past too.
            profile: A profile or the name of one, used as it is; default: the namespace's settings.
            overrides: Weights of routes (0 to 5) and constants of the profile to change for this
                call alone, such as {"lexical": 1.5}.
            content_budget: Maximum characters of a hit's text; longer texts are cut around what the
                question asks for.
            trace: Record the search for `traces` and the views; default: a share of searches, by
                the setting `trace_sample`.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Returns:
            Hits whose scores add up from their explanations, and notes about the answer as a
            whole. Empty if nothing passes the filters and `min_score`.

        Raises:
            InvalidInputError: If an argument is out of range; names the argument.
            NotFoundError: For an unknown profile or project.
            RecallTimeoutError: If the setting `recall_timeout` is exceeded.
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
            exclude_sessions=exclude_sessions,
            tags=tags,
            kinds=kinds,
            metadata=metadata,
            asked_at=asked_at,
            as_of=as_of,
            profile=profile,
            overrides=overrides,
            content_budget=content_budget,
            trace=trace,
            timeout=timeout,
        )

    @knows_arguments
    async def context(
        self,
        prompt: "str",
        *,
        max_tokens: "int" = 1000,
        user_id: "str | None" = None,
        all_users: "bool" = False,
        project: "str | None" = None,
        silence: "float | None" = None,
        card: "bool" = True,
        agent_id: "str | None" = None,
        session_ids: "Sequence[str] | None" = None,
        since: "datetime | str | None" = None,
        until: "datetime | str | None" = None,
        exclude: "Sequence[int | str]" = (),
        exclude_sessions: "Sequence[str]" = (),
        tags: "Sequence[str] | None" = None,
        kinds: "Sequence[Literal['stable', 'preference', 'episodic', 'ephemeral']] | None" = None,
        metadata: "Mapping[str, Any] | None" = None,
        asked_at: "datetime | str | None" = None,
        as_of: "datetime | str | None" = None,
        profile: "str | Profile | None" = None,
        overrides: "Mapping[str, object] | None" = None,
        format: "Literal['markdown', 'xml']" = "markdown",
        tokenizer: "Any | None" = None,
        trace: "bool | None" = None,
        timeout: "float | None" = None,
    ) -> "Prompt":
        """Return what a model should know of memory for a prompt, as a short text, or nothing.

            context = memory.context("Which walnuts can she eat?", user_id="ada")
            messages.append({"role": "user", "content": context})

        Lasting statements about the user come first, then the passages with the best chance to
        matter, in the order of time: what the user said, and of an answer the stretch that meets
        the prompt. If nothing known concerns the prompt, the text is empty; small talk is not even
        searched for. Readers of logs remove the whole text again.

        Args:
            prompt: The prompt, at most 8,000 characters.
            max_tokens: Maximum length of the text, in tokens.
            user_id: Whose memory to read: an id of your own. Required without `all_users`.
            all_users: Read the memory of all users in the namespace.
            project: The project that the prompt belongs to: memories of others come only if the
                prompt surely asks for them, under the project's name.
            silence: Chance, from 0 to 1, that something known concerns the prompt below which
                nothing is returned; 0 returns what fits of any prompt. Default: the setting
                MEMSENSE_SILENCE, which is 0.5.
            card: Begin with who the user is and what they wish, if the budget is of 800 tokens or
                more.
            agent_id: Only memories of conversations with this agent.
            session_ids: Only memories of these sessions.
            since: Only memories of events from this time on, ISO 8601.
            until: Only memories of events before this time, ISO 8601.
            exclude: Chunk ids (int) and message ids (str) to leave out, for example what the prompt
                has already. A session leaves with its exchanges, a part of an exchange with the
                other parts.
            exclude_sessions: Sessions to leave out, for example the one that the prompt belongs to.
            tags: Only memories with at least one of these tags.
            kinds: Only memories of these kinds: "stable", "preference", "episodic", "ephemeral".
            metadata: Only memories whose metadata contains this JSON object.
            asked_at: Moment that "last week" in the question counts from; default: now.
            as_of: Search memory as it stood at this moment; needs the setting `history` to have
                been on. What was erased or has expired since is gone from the past too.
            profile: A profile or the name of one, used as it is; default: the namespace's settings.
            overrides: Weights of routes (0 to 5) and constants of the profile to change for this
                call alone, such as {"lexical": 1.5}.
            format: Layout of the text: "markdown" or "xml".
            tokenizer: Counter of tokens: a function of a text, or an object with `encode`; default:
                an estimate of memsense's own.
            trace: Record the search for `traces` and the views; default: a share of searches, by
                the setting `trace_sample`.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Returns:
            The text with `chunk_ids`, `lines` (what each quotation is from, and why it is there),
            `omitted` (why the other hits are not), `tokens` and `notes`.

        Raises:
            InvalidInputError: If an argument is out of range; names the argument.
            NotFoundError: For an unknown profile.
            RecallTimeoutError: If the setting `recall_timeout` is exceeded.
        """
        return await self._threads.run(
            self._sync.context,
            prompt,
            max_tokens=max_tokens,
            user_id=user_id,
            all_users=all_users,
            project=project,
            silence=silence,
            card=card,
            agent_id=agent_id,
            session_ids=session_ids,
            since=since,
            until=until,
            exclude=exclude,
            exclude_sessions=exclude_sessions,
            tags=tags,
            kinds=kinds,
            metadata=metadata,
            asked_at=asked_at,
            as_of=as_of,
            profile=profile,
            overrides=overrides,
            format=format,
            tokenizer=tokenizer,
            trace=trace,
            timeout=timeout,
        )

    @knows_arguments
    async def search_many(
        self,
        queries: "Sequence[str]",
        *,
        top_k: "int" = 8,
        user_id: "str | None" = None,
        all_users: "bool" = False,
        agent_id: "str | None" = None,
        session_ids: "Sequence[str] | None" = None,
        project: "str | None" = None,
        since: "datetime | str | None" = None,
        until: "datetime | str | None" = None,
        granularity: "Literal['turn', 'session'] | None" = None,
        min_score: "float | None" = None,
        exclude: "Sequence[int | str]" = (),
        exclude_sessions: "Sequence[str]" = (),
        tags: "Sequence[str] | None" = None,
        kinds: "Sequence[Literal['stable', 'preference', 'episodic', 'ephemeral']] | None" = None,
        metadata: "Mapping[str, Any] | None" = None,
        asked_at: "datetime | str | None" = None,
        as_of: "datetime | str | None" = None,
        profile: "str | Profile | None" = None,
        overrides: "Mapping[str, object] | None" = None,
        content_budget: "int" = 5000,
        trace: "bool | None" = None,
        timeout: "float | None" = None,
    ) -> "list[SearchResult]":
        """Answer several questions about the same memory, with the options of `search`.

        All questions are recalled in one round trip to the server, and all texts are fetched in
        another.

        Args:
            queries: The questions, each as `search` takes it.
            top_k: Maximum number of hits, up to 1,000.
            user_id: Whose memory to read: an id of your own. Required without `all_users`.
            all_users: Read the memory of all users in the namespace.
            agent_id: Only memories of conversations with this agent.
            session_ids: Only memories of these sessions.
            project: Only memories of this project: about it, or of a session in the pool of that
                name.
            since: Only memories of events from this time on, ISO 8601.
            until: Only memories of events before this time, ISO 8601.
            granularity: Kind of hits: "turn" for exchanges, "session" for whole sessions; default:
                the profile's, which is "turn" in all shipped profiles but `memsense`.
            min_score: Lowest score of a hit; the answer may then be empty, and says so.
            exclude: Chunk ids (int) and message ids (str) to leave out, for example what the prompt
                has already. A session leaves with its exchanges, a part of an exchange with the
                other parts.
            exclude_sessions: Sessions to leave out, for example the one that the prompt belongs to.
            tags: Only memories with at least one of these tags.
            kinds: Only memories of these kinds: "stable", "preference", "episodic", "ephemeral".
            metadata: Only memories whose metadata contains this JSON object.
            asked_at: Moment that "last week" in the question counts from; default: now.
            as_of: Search memory as it stood at this moment; needs the setting `history` to have
                been on. What was erased or has expired since is gone from the past too.
            profile: A profile or the name of one, used as it is; default: the namespace's settings.
            overrides: Weights of routes (0 to 5) and constants of the profile to change for this
                call alone, such as {"lexical": 1.5}.
            content_budget: Maximum characters of a hit's text; longer texts are cut around what the
                question asks for.
            trace: Record the search for `traces` and the views; default: a share of searches, by
                the setting `trace_sample`.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Returns:
            The result of each question, in order.
        """
        return await self._threads.run(
            self._sync.search_many,
            queries,
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
            exclude_sessions=exclude_sessions,
            tags=tags,
            kinds=kinds,
            metadata=metadata,
            asked_at=asked_at,
            as_of=as_of,
            profile=profile,
            overrides=overrides,
            content_budget=content_budget,
            trace=trace,
            timeout=timeout,
        )

    @knows_arguments
    async def why_not(
        self,
        query: "str",
        chunk_id: "int",
        *,
        top_k: "int" = 8,
        user_id: "str | None" = None,
        all_users: "bool" = False,
        agent_id: "str | None" = None,
        session_ids: "Sequence[str] | None" = None,
        project: "str | None" = None,
        since: "datetime | str | None" = None,
        until: "datetime | str | None" = None,
        granularity: "Literal['turn', 'session'] | None" = None,
        min_score: "float | None" = None,
        exclude: "Sequence[int | str]" = (),
        exclude_sessions: "Sequence[str]" = (),
        tags: "Sequence[str] | None" = None,
        kinds: "Sequence[Literal['stable', 'preference', 'episodic', 'ephemeral']] | None" = None,
        metadata: "Mapping[str, Any] | None" = None,
        asked_at: "datetime | str | None" = None,
        as_of: "datetime | str | None" = None,
        profile: "str | Profile | None" = None,
        overrides: "Mapping[str, object] | None" = None,
        timeout: "float | None" = None,
    ) -> "Verdict":
        """Explain why a search with these options does not return a memory, or as which hit.

        Args:
            query: The question in plain words, at most 8,000 characters.
            chunk_id: The memory's chunk id, as searches and lists show it.
            top_k: Maximum number of hits, up to 1,000.
            user_id: Whose memory to read: an id of your own. Required without `all_users`.
            all_users: Read the memory of all users in the namespace.
            agent_id: Only memories of conversations with this agent.
            session_ids: Only memories of these sessions.
            project: Only memories of this project: about it, or of a session in the pool of that
                name.
            since: Only memories of events from this time on, ISO 8601.
            until: Only memories of events before this time, ISO 8601.
            granularity: Kind of hits: "turn" for exchanges, "session" for whole sessions; default:
                the profile's, which is "turn" in all shipped profiles but `memsense`.
            min_score: Lowest score of a hit; the answer may then be empty, and says so.
            exclude: Chunk ids (int) and message ids (str) to leave out, for example what the prompt
                has already. A session leaves with its exchanges, a part of an exchange with the
                other parts.
            exclude_sessions: Sessions to leave out, for example the one that the prompt belongs to.
            tags: Only memories with at least one of these tags.
            kinds: Only memories of these kinds: "stable", "preference", "episodic", "ephemeral".
            metadata: Only memories whose metadata contains this JSON object.
            asked_at: Moment that "last week" in the question counts from; default: now.
            as_of: Search memory as it stood at this moment; needs the setting `history` to have
                been on. What was erased or has expired since is gone from the past too.
            profile: A profile or the name of one, used as it is; default: the namespace's settings.
            overrides: Weights of routes (0 to 5) and constants of the profile to change for this
                call alone, such as {"lexical": 1.5}.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Returns:
            The first step of the search that lost the memory, in words and numbers.

        Raises:
            NotFoundError: If the namespace has no such chunk.
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
            exclude_sessions=exclude_sessions,
            tags=tags,
            kinds=kinds,
            metadata=metadata,
            asked_at=asked_at,
            as_of=as_of,
            profile=profile,
            overrides=overrides,
            timeout=timeout,
        )

    @knows_arguments
    async def export_to(
        self,
        path: "Place",
        *,
        user_id: "str | None" = None,
        all_users: "bool" = False,
        vectors: "bool" = False,
    ) -> "ExportReport":
        """Write a user's memory, or everybody's, to a file.

        The file holds status, score, history and what logs brought, the namespace's settings and
        its stored profiles; a forgotten memory is in it without texts: docs/guides/export.md.

        Args:
            path: A path or an open file. The format is JSON lines, or Parquet if the name ends in
                .parquet (needs `memsense[parquet]`).
            user_id: Whose memory to read: an id of your own. Required without `all_users`.
            all_users: Read the memory of all users in the namespace.
            vectors: Write the vectors too, so that an import need not embed the texts again.
        """
        return await self._threads.run(
            self._sync.export_to, path, user_id=user_id, all_users=all_users, vectors=vectors
        )

    @knows_arguments
    async def import_from(
        self,
        path: "Place",
        *,
        settings: "bool | None" = None,
        on_session: "Callable[[ImportReport], object]" = lambda _: None,
    ) -> "ImportReport":
        """Store what `export_to` has written, here or elsewhere; a second run changes nothing.

        Each session is a transaction, so an interrupted import is completed by running it again.
        What is stored already, and what was forgotten here, is left alone.

        Args:
            path: A path or an open file.
            settings: Whether to take over the file's settings and profiles; default: only while the
                namespace holds no memory. Settings that are set here stay.
            on_session: Called after each session with the report so far.

        Raises:
            IngestError: If the file can't be read.
            ConfigurationError: If the file has settings that this version doesn't know.
            QuotaExceededError: If a user would have more exchanges than the namespace allows; the
                sessions before stay.
        """
        return await self._threads.run(
            self._sync.import_from, path, settings=settings, on_session=on_session
        )

    @knows_arguments
    async def recent(
        self,
        *,
        limit: "int" = 10,
        user_id: "str | None" = None,
        all_users: "bool" = False,
        agent_id: "str | None" = None,
        session_id: "str | None" = None,
        granularity: "Literal['turn', 'session']" = "turn",
        timeout: "float | None" = None,
    ) -> "list[Chunk]":
        """Return a user's latest memories by event time, newest first.

        Args:
            limit: Maximum number of items.
            user_id: Whose memory to read: an id of your own. Required without `all_users`.
            all_users: Read the memory of all users in the namespace.
            agent_id: Only memories of conversations with this agent.
            session_id: Only memories of this session.
            granularity: "turn" for exchanges, "session" for sessions.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
        """
        return await self._threads.run(
            self._sync.recent,
            limit=limit,
            user_id=user_id,
            all_users=all_users,
            agent_id=agent_id,
            session_id=session_id,
            granularity=granularity,
            timeout=timeout,
        )

    @knows_arguments
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
        kinds: "Sequence[Literal['stable', 'preference', 'episodic', 'ephemeral']] | None" = None,
        limit: "int" = 50,
        cursor: "str | None" = None,
        timeout: "float | None" = None,
    ) -> "Page[SessionSummary]":
        """Return a page of a user's sessions, the one with the latest exchange first.

        A session counts the exchanges that pass the filters, and is listed if there are any.

        Args:
            user_id: Whose memory to read: an id of your own. Required without `all_users`.
            all_users: Read the memory of all users in the namespace.
            agent_id: Only memories of conversations with this agent.
            project: Only memories of this project: about it, or of a session in the pool of that
                name.
            since: Only memories of events from this time on, ISO 8601.
            until: Only memories of events before this time, ISO 8601.
            tags: Only memories with at least one of these tags.
            kinds: Only memories of these kinds: "stable", "preference", "episodic", "ephemeral".
            limit: Maximum number of items.
            cursor: `next_cursor` of the page before; default: the first page.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
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
            timeout=timeout,
        )

    @knows_arguments
    async def left_off(
        self,
        *,
        user_id: "str",
        project: "str",
        max_tokens: "int" = 300,
        exclude_sessions: "Sequence[str]" = (),
        timeout: "float | None" = None,
    ) -> "Prompt":
        """Return where the last session in a project ended, as a text for a prompt.

        The last exchange with what it left open, decisions, and the files that were named, all by
        rules; each line has its memory's id. Nothing is embedded or searched.

        Args:
            user_id: Whose memory to read: an id of your own.
            project: The project: a repository's address, a folder, or another name of one.
            max_tokens: Maximum length of the text, in tokens.
            exclude_sessions: Sessions to leave out, for example the one that goes on.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Returns:
            A text in the tags that readers of logs remove again; empty if the user's memory has
            nothing about the project. It has `chunk_ids` and `tokens`.
        """
        return await self._threads.run(
            self._sync.left_off,
            user_id=user_id,
            project=project,
            max_tokens=max_tokens,
            exclude_sessions=exclude_sessions,
            timeout=timeout,
        )

    @knows_arguments
    async def users(
        self, *, limit: "int" = 50, cursor: "str | None" = None
    ) -> "Page[ScopeStatistics]":
        """Return a page of the namespace's users by id, with what each memory holds.

        Args:
            limit: Maximum number of items.
            cursor: `next_cursor` of the page before; default: the first page.
        """
        return await self._threads.run(self._sync.users, limit=limit, cursor=cursor)

    @knows_arguments
    async def growth(self, *, days: "int" = 30) -> "Sequence[DayCount]":
        """Return how many exchanges were stored on each day, the latest first.

        Days are those of UTC; days without any are left out, and so is what was forgotten or
        archived since.

        Args:
            days: How many days to look back.
        """
        return await self._threads.run(self._sync.growth, days=days)

    @knows_arguments
    async def matching_words(self, words: "Sequence[str]", lexemes: "Sequence[str]") -> "set[str]":
        """Return the words that a text search for the lexemes matches, to highlight them.

        memory.matching_words(hit.content.split(), result.question["lexemes"])

        Args:
            words: Words of a text.
            lexemes: Lexemes, as `result.question["lexemes"]` has them.
        """
        return await self._threads.run(self._sync.matching_words, words, lexemes)

    @knows_arguments
    async def get(self, chunk_id: "int", *, timeout: "float | None" = None) -> "Chunk":
        """Return one memory, whatever its status.

        One that was forgotten or has expired comes without texts, facets and tags.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Raises:
            NotFoundError: If the namespace has no such chunk.
        """
        return await self._threads.run(self._sync.get, chunk_id, timeout=timeout)

    @knows_arguments
    async def get_many(
        self, chunk_ids: "Sequence[int]", *, timeout: "float | None" = None
    ) -> "dict[int, Chunk]":
        """Return memories by id, whatever their status; ids that do not exist are left out.

        One that was forgotten or has expired comes without texts, facets and tags.

        Args:
            chunk_ids: Chunk ids, in any order.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
        """
        return await self._threads.run(self._sync.get_many, chunk_ids, timeout=timeout)

    @knows_arguments
    async def superseded_facts(
        self,
        chunk_ids: "Sequence[int]",
        *,
        user_id: "str | None" = None,
        timeout: "float | None" = None,
    ) -> "list[SupersededFact]":
        """Return the changed facts among these memories: the older statement and the newer one.

            for fact in memory.superseded_facts([hit.chunk_id for hit in hits]):
                print(f"{fact.newer_id} replaced {fact.older_id}: {fact.reason}")

        The changes are those that memsense noticed when the newer memory was written; forgetting
        either memory undoes one.

        Args:
            chunk_ids: Chunk ids, in any order.
            user_id: Only this user's; default: all users'.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
        """
        return await self._threads.run(
            self._sync.superseded_facts, chunk_ids, user_id=user_id, timeout=timeout
        )

    @knows_arguments
    async def stats(
        self, *, user_id: "str | None" = None, timeout: "float | None" = None
    ) -> "list[ScopeStatistics]":
        """Return what each user's memory in this namespace holds.

        Args:
            user_id: Only this user's; default: all users'.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
        """
        return await self._threads.run(self._sync.stats, user_id=user_id, timeout=timeout)

    @knows_arguments
    async def forget(
        self,
        chunk_id: "int",
        *,
        reason: "str | None" = None,
        key: "str | None" = None,
        timeout: "float | None" = None,
    ) -> "list[int]":
        """Take a memory out of every search and out of its neighbours' context.

        `restore` undoes it. A session takes its exchanges along, a part of an exchange the other
        parts. What is said again later is stored again.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            reason: Why, for the memory's history; up to 10,000 characters.
            key: Idempotency key: a call repeated under its key within seven days is done once.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Returns:
            The ids of the chunks that changed.

        Raises:
            NotFoundError: If the namespace has no such chunk.
        """
        return await self._threads.run(
            self._sync.forget, chunk_id, reason=reason, key=key, timeout=timeout
        )

    @knows_arguments
    async def archive(
        self,
        chunk_id: "int",
        *,
        reason: "str | None" = None,
        key: "str | None" = None,
        timeout: "float | None" = None,
    ) -> "list[int]":
        """Take an outdated memory out of every search; the same as `forget`, with its own status.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            reason: Why, for the memory's history; up to 10,000 characters.
            key: Idempotency key: a call repeated under its key within seven days is done once.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Returns:
            The ids of the chunks that changed.

        Raises:
            NotFoundError: If the namespace has no such chunk.
        """
        return await self._threads.run(
            self._sync.archive, chunk_id, reason=reason, key=key, timeout=timeout
        )

    @knows_arguments
    async def erase(
        self,
        *,
        user_id: "str | None" = None,
        session_id: "str | None" = None,
        message_id: "str | None" = None,
        by: "str | None" = None,
        timeout: "float | None" = None,
        key: "str | None" = None,
    ) -> "Receipt":
        """Erase for good: a user's whole memory in this namespace, a session or a message.

            receipt = memory.erase(user_id="ada", by="data protection")

        Everything that holds the text or was made from it goes, recorded searches and history
        included, in one transaction that checks that nothing is left. What is said again later is
        stored again.

        Args:
            user_id: Whose memory; needed unless only one user has that session or message.
            session_id: Erase this session only.
            message_id: Erase only the exchange that holds this message.
            by: Who does it, for the receipt or history; default: the operating system's user.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
            key: Idempotency key: a call repeated under its key returns the receipt of the first, as
                long as the receipt is stored.

        Returns:
            The receipt, which the namespace keeps.

        Raises:
            NotFoundError: If there is nothing to erase.
            ConflictError: If the key belongs to another erasure.
        """
        return await self._threads.run(
            self._sync.erase,
            user_id=user_id,
            session_id=session_id,
            message_id=message_id,
            by=by,
            timeout=timeout,
            key=key,
        )

    @knows_arguments
    async def delete(
        self,
        chunk_id: "int",
        *,
        by: "str | None" = None,
        timeout: "float | None" = None,
        key: "str | None" = None,
    ) -> "Receipt":
        """Erase one memory for good, as `erase` does.

        A session takes its exchanges along, a part of an exchange the other parts. Forgotten
        copies of them are erased, too.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            by: Who does it, for the receipt or history; default: the operating system's user.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
            key: Idempotency key: a call repeated under its key returns the receipt of the first, as
                long as the receipt is stored.

        Returns:
            The receipt, which the namespace keeps.

        Raises:
            NotFoundError: If the namespace has no such chunk.
            ConflictError: If the key belongs to another erasure.
        """
        return await self._threads.run(self._sync.delete, chunk_id, by=by, timeout=timeout, key=key)

    @knows_arguments
    async def update(
        self,
        chunk_id: "int",
        *,
        content: "str | Mapping[str, str] | None" = None,
        facets: "Mapping[str, str] | None" = None,
        tags: "Sequence[str] | None" = None,
        metadata: "Mapping[str, Any] | None" = None,
        occurred_at: "datetime | str | None" = None,
        expires_at: "datetime | str | None" = None,
        ttl: "timedelta | str | None" = None,
        reason: "str | None" = None,
        key: "str | None" = None,
        timeout: "float | None" = None,
    ) -> "Chunk":
        """Change what an exchange says or what is known of it.

            memory.update(42, content={"assistant": "Noted: Porto since May."}, tags=["home"])

        What is passed replaces what was stored; the rest stays. Vectors, words, links and session
        chunks follow. Where the setting `history` is on, `versions` keeps the former text.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            content: New texts by side, {"user": ..., "assistant": ...}; a plain text where the
                exchange has one side only.
            facets: Texts of the facets `personal_info`, `preferences` and `events`; they replace
                those that the rules find.
            tags: Labels that replace the present ones.
            metadata: JSON object that replaces the present one.
            occurred_at: When it was said or happened; ISO 8601 texts are accepted.
            expires_at: When it expires: no search finds it afterwards, and a job deletes it.
            ttl: How long from now until it expires: a timedelta or a text such as "12h" or "30d";
                "never" overrides the namespace's rules.
            reason: Why, for the memory's history; up to 10,000 characters.
            key: Idempotency key: a call repeated under its key within seven days is done once.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Returns:
            The changed chunk.

        Raises:
            InvalidInputError: If nothing is to be changed, or a value can't be used.
            NotFoundError: If the namespace has no such chunk.
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
            timeout=timeout,
        )

    @knows_arguments
    async def versions(self, chunk_id: "int", *, timeout: "float | None" = None) -> "list[Version]":
        """Return what an exchange said before it was updated, or edited in its log, oldest first.

        Versions are kept while the setting `history` is on; a forgotten memory has none.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Raises:
            NotFoundError: If the namespace has no such chunk.
        """
        return await self._threads.run(self._sync.versions, chunk_id, timeout=timeout)

    @knows_arguments
    async def restore(
        self,
        chunk_id: "int",
        *,
        reason: "str | None" = None,
        key: "str | None" = None,
        timeout: "float | None" = None,
    ) -> "list[int]":
        """Bring a forgotten or archived memory back; a session with the exchanges it took along.

        An exchange that was said again after it was forgotten stays away.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            reason: Why, for the memory's history; up to 10,000 characters.
            key: Idempotency key: a call repeated under its key within seven days is done once.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Returns:
            The ids of the chunks that changed.

        Raises:
            NotFoundError: If the namespace has no such chunk.
            QuotaExceededError: If the user would have more exchanges than the namespace allows.
        """
        return await self._threads.run(
            self._sync.restore, chunk_id, reason=reason, key=key, timeout=timeout
        )

    @knows_arguments
    async def promote(
        self, chunk_id: "int", *, key: "str | None" = None, timeout: "float | None" = None
    ) -> "float":
        """Raise a memory's score by 0.15, at most to 1, and return the new score.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            key: Idempotency key: a call repeated under its key within seven days is done once.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
        """
        return await self._threads.run(self._sync.promote, chunk_id, key=key, timeout=timeout)

    @knows_arguments
    async def demote(
        self, chunk_id: "int", *, key: "str | None" = None, timeout: "float | None" = None
    ) -> "float":
        """Lower a memory's score by 0.15, at least to 0, and return the new score.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            key: Idempotency key: a call repeated under its key within seven days is done once.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
        """
        return await self._threads.run(self._sync.demote, chunk_id, key=key, timeout=timeout)

    @knows_arguments
    async def feedback(
        self,
        chunk_id: "int",
        *,
        helpful: "bool",
        question: "str | None" = None,
        note: "str | None" = None,
        key: "str | None" = None,
        timeout: "float | None" = None,
    ) -> "None":
        """Record whether a hit helped. It goes into the memory's history and changes no score.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            helpful: Whether the memory helped to answer.
            question: The question that it was returned for.
            note: What was good or wrong about it.
            key: Idempotency key: a call repeated under its key within seven days is done once.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.
        """
        return await self._threads.run(
            self._sync.feedback,
            chunk_id,
            helpful=helpful,
            question=question,
            note=note,
            key=key,
            timeout=timeout,
        )

    @knows_arguments
    async def history(self, chunk_id: "int", *, timeout: "float | None" = None) -> "list[Event]":
        """Return everything that happened to a memory, oldest first.

        Args:
            chunk_id: The memory's chunk id, as searches and lists show it.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Raises:
            NotFoundError: If the namespace has no such chunk.
        """
        return await self._threads.run(self._sync.history, chunk_id, timeout=timeout)

    @knows_arguments
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
        kinds: "Sequence[Literal['stable', 'preference', 'episodic', 'ephemeral']] | None" = None,
        metadata: "Mapping[str, Any] | None" = None,
        granularity: "Literal['turn', 'session']" = "turn",
        statuses: "Sequence[Literal['active', 'archived', 'deleted']]" = ("active",),
        order: "Literal['newest', 'oldest']" = "newest",
        limit: "int" = 50,
        cursor: "str | None" = None,
        timeout: "float | None" = None,
    ) -> "Page[Chunk]":
        """Return a page of a user's memories by event time.

            page = memory.list(user_id="ada")
            more = memory.list(user_id="ada", cursor=page.next_cursor)  # unless that is None

        What is added meanwhile neither repeats nor hides an item.

        Args:
            user_id: Whose memory to read: an id of your own. Required without `all_users`.
            all_users: Read the memory of all users in the namespace.
            agent_id: Only memories of conversations with this agent.
            session_ids: Only memories of these sessions.
            project: Only memories of this project: about it, or of a session in the pool of that
                name.
            since: Only memories of events from this time on, ISO 8601.
            until: Only memories of events before this time, ISO 8601.
            tags: Only memories with at least one of these tags.
            kinds: Only memories of these kinds: "stable", "preference", "episodic", "ephemeral".
            metadata: Only memories whose metadata contains this JSON object.
            granularity: "turn" for exchanges, "session" for sessions.
            statuses: Which to list: "active", "archived", "deleted" (forgotten, without texts).
            order: "newest" or "oldest" event time first.
            limit: Maximum number of items.
            cursor: `next_cursor` of the page before; default: the first page.
            timeout: Seconds that the whole call may take: embedding, SQL and retries; default: any.

        Raises:
            InvalidInputError: For the cursor of another list or order.
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
            timeout=timeout,
        )


class AsyncMemSense(AsyncMemory):
    """An agent's memory in PostgreSQL, for asyncio and trio.

        async with AsyncMemSense.open() as memory:
            await memory.add([{"role": "user", "content": "I moved to Lisbon."}],
                             user_id="ada", session_id="monday")
            hits = await memory.search("Where does Ada live?", user_id="ada")

    After `memory = await AsyncMemSense.open()` you call `await memory.close()` yourself. Methods
    and resources are those of MemSense, each method awaited. They run in threads of the memory's
    own, as many at once as its pool has connections; callbacks are called there. Cancelling a task
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
        """Connect to a database, or start the embedded server.

        Args:
            url: Address of a database that `memsense init` has prepared; default:
                MEMSENSE_DATABASE_URL, else the embedded server, which is started at first use.
            profile: A profile or the name of one, used whatever the namespace's settings say.
            embedder: Turns texts into vectors; default: as the settings say.
            other_embedders: Embedders of other models that the namespace has vectors of, where the
                database doesn't say how to open them: see `models`.
            tenant: Whose database rows; default: MEMSENSE_TENANT.
            namespace: Part of the tenant's memory; default: MEMSENSE_NAMESPACE.
            settings: Settings; default: read from the environment.
            tagger: Finds facets in what is added; default: by rules.
            extractor: Finds entities in what is added; default: by rules.
            reranker: Reads question and texts together after fusion; default: none.

        Raises:
            ConnectionFailedError: If the server can't be reached.
            ServerTooOldError: If the server is older than memsense supports, or lacks pgvector.
            SchemaError: If the schema is missing or of another version; names the command to run.
            NotFoundError: For an unknown `profile`.
            ConfigurationError: If a setting can't be used.
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
        """Return a view of one user's memory, from which no id reaches another user's.

        Args:
            user_id: Whose memory: an id of your own.
        """
        return AsyncUserMemory(self._threads, self._sync.for_user(user_id))

    @property
    def pool_size(self) -> "int":
        """Number of threads that can work at once: the connections of the pool."""
        return self._sync.pool_size

    @cached_property
    def settings(self) -> "AsyncSettingsResource":
        """Settings that the namespace's searches use; they take effect while searches run."""
        return AsyncSettingsResource(self._threads, self._sync.settings)

    @cached_property
    def profiles(self) -> "AsyncProfilesResource":
        """Profiles: named sets of the constants that rank."""
        return AsyncProfilesResource(self._threads, self._sync.profiles)

    @cached_property
    def projects(self) -> "AsyncProjectsResource":
        """Projects: named groups of sessions to search in."""
        return AsyncProjectsResource(self._threads, self._sync.projects)

    @cached_property
    def questions(self) -> "AsyncQuestionsResource":
        """Sets of questions, with the memories that are right or wrong for each."""
        return AsyncQuestionsResource(self._threads, self._sync.questions)

    @cached_property
    def erasures(self) -> "AsyncErasuresResource":
        """Receipts of what was erased for good."""
        return AsyncErasuresResource(self._threads, self._sync.erasures)

    @cached_property
    def models(self) -> "AsyncModelsResource":
        """Embedding models: add another one, compare, switch to it and back."""
        return AsyncModelsResource(self._threads, self._sync.models)

    @cached_property
    def indexes(self) -> "AsyncIndexesResource":
        """Vector indexes of large memories, and the text index."""
        return AsyncIndexesResource(self._threads, self._sync.indexes)

    @cached_property
    def access_keys(self) -> "AsyncAccessKeysResource":
        """Access keys by which programs reach this tenant's memory over HTTP."""
        return AsyncAccessKeysResource(self._threads, self._sync.access_keys)

    @cached_property
    def histories(self) -> "AsyncHistoriesResource":
        """Sessions of agent frameworks, stored literally and remembered too."""
        return AsyncHistoriesResource(self._threads, self._sync.histories)

    @cached_property
    def items(self) -> "AsyncItemsResource":
        """Values under keys, which agent frameworks store beside conversations."""
        return AsyncItemsResource(self._threads, self._sync.items)

    @cached_property
    def ttl(self) -> "AsyncTtlResource":
        """Rules for how long memories are stored, and the sweep of expired ones."""
        return AsyncTtlResource(self._threads, self._sync.ttl)

    @cached_property
    def jobs(self) -> "AsyncJobsResource":
        """Jobs that writes left for later, and the worker that does them."""
        return AsyncJobsResource(self._threads, self._sync.jobs)
