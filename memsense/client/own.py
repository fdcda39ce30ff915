"""`memory.for_user("ada")`: one user's memory, from which no id reaches another user's.

It has what a user may do and nothing else: what the namespace shares (settings, profiles, indexes,
and which sessions a project pools) is changed by who holds the whole memory.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from memsense.client.context import Context, no_chunk
from memsense.client.traces import no_trace
from memsense.db import run_read
from memsense.errors import InvalidInputError, NotFoundError
from memsense.inputs import ChunkId, Name, Note, Switch, shorten, takes
from memsense.search.hits import SearchResult
from memsense.search.profiles import Profile
from memsense.store import projects
from memsense.store.traces import Trace, TraceStatistics, TraceSummary
from memsense.types import Added, Chunk, Event, Page, ScopeStatistics, SessionSummary

if TYPE_CHECKING:
    from memsense.client.memory import MemSense
    from memsense.client.transfer import ExportReport, Place
    from memsense.explain.replay import Comparison, Replay
    from memsense.explain.why_not import Verdict
    from memsense.graph.reading import Entity
    from memsense.graph.resource import EntityView
    from memsense.store.erasing import Receipt
    from memsense.store.versions import Version
    from memsense.write.ingest_run import IngestReport


class UserMemory:
    """One user's memory: what is another user's is not there.

        ada = memory.for_user("ada")
        ada.add([{"role": "user", "content": "I moved to Lisbon."}], session_id="monday")
        hits = ada.search("Where do I live?")

    Its methods are those of `MemSense`, for this user: a chunk or a trace of another user's raises
    NotFoundError as if there were none, another `user_id` or `all_users` InvalidInputError. It is
    closed with the memory that it was made from.
    """

    def __init__(self, memory: "MemSense", context: Context, user_id: str) -> None:
        """Use `MemSense.for_user`."""
        self._memory = memory
        self._context = context
        self.user_id = user_id

    # What stands beside the verbs ----------------------------------------------------------------

    @cached_property
    def traces(self) -> "UserTraces":
        """The user's recorded searches."""
        return UserTraces(self._memory, self.user_id)

    @cached_property
    def entities(self) -> "UserEntities":
        """What the user's memory mentions."""
        return UserEntities(self._memory, self.user_id)

    @cached_property
    def projects(self) -> "UserProjects":
        """The namespace's pools of sessions, as far as they hold the user's."""
        return UserProjects(self._context, self.user_id)

    # In and out ----------------------------------------------------------------------------------

    def add(self, messages: Iterable[object], *, session_id: str, **options: Any) -> Added:
        """As `MemSense.add`, with its options."""
        return self._memory.add(messages, session_id=session_id, **self._whose(options))

    def add_many(self, sessions: Iterable[Mapping[str, object]], **options: Any) -> "list[Added]":
        """As `MemSense.add_many`, with its options."""
        own = [
            self._whose(it) if isinstance(it, Mapping) else it  # pyright: ignore[reportUnnecessaryIsInstance]
            for it in sessions
        ]
        return self._memory.add_many(own, **self._whose(options))

    def ingest(self, *paths: str | Path, **options: Any) -> "IngestReport":
        """As `MemSense.ingest`, with its options: all becomes this user's, whoever a log names."""
        return self._memory.ingest(*paths, **self._whose(options))

    def search(self, query: str, **options: Any) -> SearchResult:
        """As `MemSense.search`, with its options."""
        result = self._memory.search(query, **self._selection(options))
        return replace(result, notes=_of_nobody_else(result.notes))

    def search_many(self, queries: Sequence[str], **options: Any) -> "list[SearchResult]":
        """As `MemSense.search_many`, with its options."""
        found = self._memory.search_many(queries, **self._selection(options))
        return [replace(result, notes=_of_nobody_else(result.notes)) for result in found]

    @takes(chunk_id=ChunkId)
    def why_not(self, query: str, chunk_id: int, **options: Any) -> "Verdict":
        """As `MemSense.why_not`, with its options."""
        selection = self._selection(options)
        return self._memory.why_not(query, self._own(chunk_id), **selection)

    def matching_words(self, words: Sequence[str], lexemes: Sequence[str]) -> set[str]:
        """As `MemSense.matching_words`: it reads the words that it is given, and no memory."""
        return self._memory.matching_words(words, lexemes)

    def recent(self, **options: Any) -> list[Chunk]:
        """As `MemSense.recent`, with its options."""
        return self._memory.recent(**self._whose(options))

    def sessions(self, **options: Any) -> Page[SessionSummary]:
        """As `MemSense.sessions`, with its options."""
        return self._memory.sessions(**self._selection(options))

    def stats(self) -> list[ScopeStatistics]:
        """As `MemSense.stats`."""
        return self._memory.stats(user_id=self.user_id)

    def export_to(self, path: "Place", *, vectors: bool = False) -> "ExportReport":
        """As `MemSense.export_to`."""
        return self._memory.export_to(path, user_id=self.user_id, vectors=vectors)

    def erase(self, **options: Any) -> "Receipt":
        """As `MemSense.erase`, with its options: without any, all of the user's memory."""
        return self._memory.erase(**self._whose(options))

    # Single memories -----------------------------------------------------------------------------

    @takes(chunk_id=ChunkId)
    def get(self, chunk_id: int) -> Chunk:
        """As `MemSense.get`."""
        found = self._memory.get(chunk_id)
        if found.user_id != self.user_id:
            raise no_chunk(chunk_id)
        return found

    @takes(chunk_id=ChunkId, reason=Note | None, key=Name | None)
    def forget(
        self, chunk_id: int, *, reason: str | None = None, key: str | None = None
    ) -> list[int]:
        """As `MemSense.forget`."""
        return self._memory.forget(self._own(chunk_id), reason=reason, key=key)

    @takes(chunk_id=ChunkId, reason=Note | None, key=Name | None)
    def archive(
        self, chunk_id: int, *, reason: str | None = None, key: str | None = None
    ) -> list[int]:
        """As `MemSense.archive`."""
        return self._memory.archive(self._own(chunk_id), reason=reason, key=key)

    @takes(chunk_id=ChunkId, by=Name | None)
    def delete(self, chunk_id: int, *, by: str | None = None) -> "Receipt":
        """As `MemSense.delete`."""
        return self._memory.delete(self._own(chunk_id), by=by)

    @takes(chunk_id=ChunkId)
    def update(self, chunk_id: int, **options: Any) -> Chunk:
        """As `MemSense.update`, with its options."""
        return self._memory.update(self._own(chunk_id), **options)

    @takes(chunk_id=ChunkId)
    def versions(self, chunk_id: int) -> "list[Version]":
        """As `MemSense.versions`."""
        return self._memory.versions(self._own(chunk_id))

    @takes(chunk_id=ChunkId, reason=Note | None, key=Name | None)
    def restore(
        self, chunk_id: int, *, reason: str | None = None, key: str | None = None
    ) -> list[int]:
        """As `MemSense.restore`."""
        return self._memory.restore(self._own(chunk_id), reason=reason, key=key)

    @takes(chunk_id=ChunkId, key=Name | None)
    def promote(self, chunk_id: int, *, key: str | None = None) -> float:
        """As `MemSense.promote`."""
        return self._memory.promote(self._own(chunk_id), key=key)

    @takes(chunk_id=ChunkId, key=Name | None)
    def demote(self, chunk_id: int, *, key: str | None = None) -> float:
        """As `MemSense.demote`."""
        return self._memory.demote(self._own(chunk_id), key=key)

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
        """As `MemSense.feedback`."""
        own = self._own(chunk_id)
        self._memory.feedback(own, helpful=helpful, question=question, note=note, key=key)

    @takes(chunk_id=ChunkId)
    def history(self, chunk_id: int) -> list[Event]:
        """As `MemSense.history`."""
        return self._memory.history(self._own(chunk_id))

    def _own(self, chunk_id: int) -> int:
        """The id, if it is the user's: whose a chunk is never changes."""
        return self.get(chunk_id).chunk_id

    def _whose(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options of a call, for this user; raises InvalidInputError for another's."""
        return only(self.user_id, options)

    def _selection(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """As `_whose`; raises NotFoundError for a project that holds nothing of the user's."""
        chosen = self._whose(options)
        if chosen.get("project") is not None:
            self.projects.get(chosen["project"])
        return chosen

    # Last, since its name hides Python's own from what follows in this class.
    def list(self, **options: Any) -> Page[Chunk]:
        """As `MemSense.list`, with its options."""
        return self._memory.list(**self._selection(options))


def only(user_id: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with this user; raises InvalidInputError where they mean another's memory."""
    asked = options.get("user_id")
    if (asked is not None and asked != user_id) or options.get("all_users"):
        meant = "everybody's" if asked is None else shorten(asked)
        raise InvalidInputError(f"this is the memory of {shorten(user_id)} alone, not {meant}")
    return {**options, "user_id": user_id}


def _of_nobody_else(notes: Sequence[str]) -> list[str]:
    """The notes but for the one that tells which other users have a name like this one's."""
    return [note for note in notes if not note.startswith("no user ")]


class UserTraces:
    """Lists, shows and replays one user's recorded searches."""

    def __init__(self, memory: "MemSense", user_id: str) -> None:
        self._traces = memory.traces
        self._user_id = user_id

    def list(self, **options: Any) -> Page[TraceSummary]:
        """As `MemSense.traces.list`, with its options."""
        return self._traces.list(**only(self._user_id, options))

    def statistics(self) -> TraceStatistics:
        """As `MemSense.traces.statistics`."""
        return self._traces.statistics(user_id=self._user_id)

    def get(self, trace_id: UUID | str) -> Trace:
        """As `MemSense.traces.get`."""
        found = self._traces.get(trace_id)
        if found.user_id != self._user_id:
            raise no_trace(found.trace_id)
        return replace(found, notes=_of_nobody_else(found.notes))

    def replay(
        self,
        trace_id: UUID | str,
        *,
        profile: str | Profile | None = None,
        as_of_then: bool = False,
        **overrides: object,
    ) -> "Replay":
        """As `MemSense.traces.replay`."""
        own = self.get(trace_id).trace_id
        return self._traces.replay(own, profile=profile, as_of_then=as_of_then, **overrides)

    def compare(
        self, count: int = 20, *, profile: str | Profile | None = None, **overrides: object
    ) -> "Comparison":
        """As `MemSense.traces.compare`."""
        chosen: dict[str, Any] = only(self._user_id, overrides)
        return self._traces.compare(count, profile=profile, **chosen)


class UserEntities:
    """Shows what one user's memory mentions."""

    def __init__(self, memory: "MemSense", user_id: str) -> None:
        self._entities = memory.entities
        self._user_id = user_id

    def list(self, **options: Any) -> "list[Entity]":
        """As `MemSense.entities.list`, with its options."""
        return self._entities.list(**only(self._user_id, options))

    def get(self, name: str, **options: Any) -> "EntityView":
        """As `MemSense.entities.get`, with its options."""
        return self._entities.get(name, **only(self._user_id, options))


class UserProjects:
    """Shows the projects that hold sessions of one user's, with those sessions alone."""

    def __init__(self, context: Context, user_id: str) -> None:
        self._context = context
        self._user_id = user_id

    def list(self) -> Sequence[projects.Project]:
        """As `MemSense.projects.list`."""
        return self._find(None)

    @takes(name=Name)
    def get(self, name: str) -> projects.Project:
        """As `MemSense.projects.get`."""
        found = self._find(name)
        if not found:
            raise NotFoundError(f"no project {name!r} with sessions of {shorten(self._user_id)}")
        return found[0]

    def _find(self, name: str | None) -> Sequence[projects.Project]:
        namespace = self._context.look_up_namespace()
        if namespace is None:
            return []
        return run_read(
            self._context.pool,
            lambda it: projects.list_projects_of(it, namespace, self._user_id, name),
        )
