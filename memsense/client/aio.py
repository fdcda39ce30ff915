"""AsyncMemSense: MemSense for asyncio and trio, each method awaited.

A resource's asynchronous class is in the file of its blocking one.
"""

from collections.abc import Callable
from functools import cached_property, partial, wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec

from memsense.client.facade import OpenFacade
from memsense.client.memory import MemSense
from memsense.client.user_memory import UserEntities, UserMemory, UserProjects, UserTraces
from memsense.client.verbs import Memory
from memsense.declaration import Facade, awaited

if TYPE_CHECKING:
    from memsense.client.access_keys import AsyncAccessKeysResource
    from memsense.client.embedding_models import AsyncModelsResource
    from memsense.client.erasing import AsyncErasuresResource
    from memsense.client.histories import AsyncHistoriesResource
    from memsense.client.indexes import AsyncIndexesResource
    from memsense.client.items import AsyncItemsResource
    from memsense.client.jobs import AsyncJobsResource
    from memsense.client.profiles import AsyncProfilesResource
    from memsense.client.projects import AsyncProjectsResource
    from memsense.client.questions import AsyncQuestionsResource
    from memsense.client.settings import AsyncSettingsResource
    from memsense.client.traces import AsyncTracesResource
    from memsense.client.ttl import AsyncTtlResource
    from memsense.graph.resource import AsyncEntities

P = ParamSpec("P")


class AsyncUserProjects(Facade):
    """UserProjects for asyncio, each method awaited."""

    list = awaited(UserProjects.list)
    get = awaited(UserProjects.get)


class AsyncUserTraces(Facade):
    """UserTraces for asyncio, each method awaited."""

    replay = awaited(UserTraces.replay)
    compare = awaited(UserTraces.compare)
    list = awaited(UserTraces.list)
    statistics = awaited(UserTraces.statistics)
    get = awaited(UserTraces.get)


class AsyncUserEntities(Facade):
    """UserEntities for asyncio, each method awaited."""

    list = awaited(UserEntities.list)
    get = awaited(UserEntities.get)


class AsyncUserMemory(Facade):
    """UserMemory for asyncio, each method awaited."""

    @property
    def user_id(self) -> str:
        """Id of the user whose memory it is."""
        return self._sync.user_id

    @cached_property
    def traces(self) -> AsyncUserTraces:
        """The user's recorded searches."""
        return AsyncUserTraces(self._threads, self._sync.traces)

    @cached_property
    def entities(self) -> AsyncUserEntities:
        """People, places and things that the user's memory mentions."""
        return AsyncUserEntities(self._threads, self._sync.entities)

    @cached_property
    def projects(self) -> AsyncUserProjects:
        """The namespace's projects, as far as they hold memories of the user."""
        return AsyncUserProjects(self._threads, self._sync.projects)

    add = awaited(UserMemory.add)
    add_many = awaited(UserMemory.add_many)
    ingest = awaited(UserMemory.ingest)
    search = awaited(UserMemory.search)
    context = awaited(UserMemory.context)
    search_many = awaited(UserMemory.search_many)
    why_not = awaited(UserMemory.why_not)
    export_to = awaited(UserMemory.export_to)
    recent = awaited(UserMemory.recent)
    sessions = awaited(UserMemory.sessions)
    left_off = awaited(UserMemory.left_off)
    matching_words = awaited(UserMemory.matching_words)
    get = awaited(UserMemory.get)
    get_many = awaited(UserMemory.get_many)
    superseded_facts = awaited(UserMemory.superseded_facts)
    changes = awaited(UserMemory.changes)
    decide_change = awaited(UserMemory.decide_change)
    stats = awaited(UserMemory.stats)
    life = awaited(UserMemory.life)
    forget = awaited(UserMemory.forget)
    archive = awaited(UserMemory.archive)
    erase = awaited(UserMemory.erase)
    delete = awaited(UserMemory.delete)
    update = awaited(UserMemory.update)
    versions = awaited(UserMemory.versions)
    restore = awaited(UserMemory.restore)
    promote = awaited(UserMemory.promote)
    demote = awaited(UserMemory.demote)
    feedback = awaited(UserMemory.feedback)
    history = awaited(UserMemory.history)
    list = awaited(UserMemory.list)


class AsyncMemory(OpenFacade):
    """Memory for asyncio, each method awaited."""

    @cached_property
    def traces(self) -> "AsyncTracesResource":
        """Recorded searches: show, replay, prune."""
        from memsense.client.traces import AsyncTracesResource

        return AsyncTracesResource(self._threads, self._sync.traces)

    @cached_property
    def entities(self) -> "AsyncEntities":
        """People, places and things that memories mention."""
        from memsense.graph.resource import AsyncEntities

        return AsyncEntities(self._threads, self._sync.entities)

    add = awaited(Memory.add)
    add_many = awaited(Memory.add_many)
    ingest = awaited(Memory.ingest)
    search = awaited(Memory.search)
    context = awaited(Memory.context)
    search_many = awaited(Memory.search_many)
    why_not = awaited(Memory.why_not)
    export_to = awaited(Memory.export_to)
    import_from = awaited(Memory.import_from)
    recent = awaited(Memory.recent)
    sessions = awaited(Memory.sessions)
    left_off = awaited(Memory.left_off)
    users = awaited(Memory.users)
    life = awaited(Memory.life)
    growth = awaited(Memory.growth)
    statistics = awaited(Memory.statistics)
    matching_words = awaited(Memory.matching_words)
    get = awaited(Memory.get)
    get_many = awaited(Memory.get_many)
    superseded_facts = awaited(Memory.superseded_facts)
    changes = awaited(Memory.changes)
    decide_change = awaited(Memory.decide_change)
    stats = awaited(Memory.stats)
    forget = awaited(Memory.forget)
    archive = awaited(Memory.archive)
    erase = awaited(Memory.erase)
    delete = awaited(Memory.delete)
    update = awaited(Memory.update)
    versions = awaited(Memory.versions)
    restore = awaited(Memory.restore)
    promote = awaited(Memory.promote)
    demote = awaited(Memory.demote)
    feedback = awaited(Memory.feedback)
    history = awaited(Memory.history)
    list = awaited(Memory.list)


def _opened_later(
    function: Callable[P, MemSense],
) -> "Callable[Concatenate[type[AsyncMemSense], P], AsyncMemSense]":
    """Return the function of a class that prepares what `async with` or `await` opens."""

    @wraps(vars(MemSense)["open"].__func__)  # with `cls`, which `classmethod` takes away again
    def open_later(
        cls: "type[AsyncMemSense]", /, *args: P.args, **kwargs: P.kwargs
    ) -> "AsyncMemSense":
        return cls(partial(function, *args, **kwargs))

    return open_later


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

    open = classmethod(_opened_later(MemSense.open))

    def for_user(self, user_id: str) -> AsyncUserMemory:
        """Return a view of one user's memory, from which no id reaches another user's.

        Args:
            user_id: Whose memory: an id of your own.
        """
        return AsyncUserMemory(self._threads, self._sync.for_user(user_id))

    @property
    def pool_size(self) -> int:
        """Number of threads that can work at once: the connections of the pool."""
        return self._sync.pool_size

    @cached_property
    def settings(self) -> "AsyncSettingsResource":
        """Settings that the namespace's searches use; they take effect while searches run."""
        from memsense.client.settings import AsyncSettingsResource

        return AsyncSettingsResource(self._threads, self._sync.settings)

    @cached_property
    def profiles(self) -> "AsyncProfilesResource":
        """Profiles: named sets of the constants that rank."""
        from memsense.client.profiles import AsyncProfilesResource

        return AsyncProfilesResource(self._threads, self._sync.profiles)

    @cached_property
    def projects(self) -> "AsyncProjectsResource":
        """Projects: named groups of sessions to search in."""
        from memsense.client.projects import AsyncProjectsResource

        return AsyncProjectsResource(self._threads, self._sync.projects)

    @cached_property
    def questions(self) -> "AsyncQuestionsResource":
        """Sets of questions, with the memories that are right or wrong for each."""
        from memsense.client.questions import AsyncQuestionsResource

        return AsyncQuestionsResource(self._threads, self._sync.questions)

    @cached_property
    def erasures(self) -> "AsyncErasuresResource":
        """Receipts of what was erased for good."""
        from memsense.client.erasing import AsyncErasuresResource

        return AsyncErasuresResource(self._threads, self._sync.erasures)

    @cached_property
    def models(self) -> "AsyncModelsResource":
        """Embedding models: add another one, compare, switch to it and back."""
        from memsense.client.embedding_models import AsyncModelsResource

        return AsyncModelsResource(self._threads, self._sync.models)

    @cached_property
    def indexes(self) -> "AsyncIndexesResource":
        """Vector indexes of large memories, and the text index."""
        from memsense.client.indexes import AsyncIndexesResource

        return AsyncIndexesResource(self._threads, self._sync.indexes)

    @cached_property
    def access_keys(self) -> "AsyncAccessKeysResource":
        """Access keys by which programs reach this tenant's memory over HTTP."""
        from memsense.client.access_keys import AsyncAccessKeysResource

        return AsyncAccessKeysResource(self._threads, self._sync.access_keys)

    @cached_property
    def histories(self) -> "AsyncHistoriesResource":
        """Sessions of agent frameworks, stored literally and remembered too."""
        from memsense.client.histories import AsyncHistoriesResource

        return AsyncHistoriesResource(self._threads, self._sync.histories)

    @cached_property
    def items(self) -> "AsyncItemsResource":
        """Values under keys, which agent frameworks store in addition to conversations."""
        from memsense.client.items import AsyncItemsResource

        return AsyncItemsResource(self._threads, self._sync.items)

    @cached_property
    def ttl(self) -> "AsyncTtlResource":
        """Rules for how long memories are stored, and the sweep of expired ones."""
        from memsense.client.ttl import AsyncTtlResource

        return AsyncTtlResource(self._threads, self._sync.ttl)

    @cached_property
    def jobs(self) -> "AsyncJobsResource":
        """Jobs that writes left for later, and the worker that does them."""
        from memsense.client.jobs import AsyncJobsResource

        return AsyncJobsResource(self._threads, self._sync.jobs)
