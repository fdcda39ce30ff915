"""Parts of a user's view that are written by hand: it refuses other users and hides their ids.

`user_memory.py` holds the view's methods, generated from the verbs with these rules: a verb with
`user_id` gets the view's user, a chunk or trace id must be the user's, a project must hold one of
the user's sessions, and notes about other users' names are left out of results.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar
from uuid import UUID

from memsense.client.context import Context, no_chunk
from memsense.client.traces import TracesResource, no_trace
from memsense.client.verbs import Memory
from memsense.db import run_read
from memsense.errors import InvalidInputError, NotFoundError
from memsense.inputs import shorten
from memsense.search.hits import SearchResult
from memsense.search.prompt import Prompt
from memsense.store import projects
from memsense.store.traces import Trace
from memsense.text.nearest import did_you_mean
from memsense.types import Chunk


class OneUser:
    """Base of the views: the user, and the refusal of arguments that name another."""

    user_id: str

    def _refuse_argument(self, name: str) -> None:
        """Raise InvalidInputError for an argument that would choose another user's memory."""
        if name in {"user_id", "all_users"}:
            raise InvalidInputError(
                f"this is the memory of {shorten(self.user_id)} alone: leave {name} out"
            )


class UserView(OneUser):
    """Base of `UserMemory`: checks that ids are the user's own."""

    def __init__(self, memory: Memory, context: Context, user_id: str) -> None:
        """Use `MemSense.for_user`."""
        self._memory = memory
        self._context = context
        self.user_id = user_id

    def _fetch(self, chunk_id: int) -> Chunk:
        chunk = self._memory.get(chunk_id)
        if chunk.user_id != self.user_id:
            raise no_chunk(chunk_id)
        return chunk

    def _own(self, chunk_id: int) -> int:
        """Return the id if the chunk is the user's; a chunk never changes its owner."""
        return self._fetch(chunk_id).chunk_id

    def _own_or_deleted(self, chunk_id: int, key: str | None) -> int:
        """Return the id if the chunk is the user's, or was until a `delete` under this key."""
        try:
            return self._own(chunk_id)
        except NotFoundError:
            from memsense.client.erasing import Erasing

            # A retry, whose first call has taken the chunk away: its receipt says whose it was.
            receipt = Erasing(self._context).find_deleted(chunk_id, key)
            if receipt is None or not receipt.is_of_user(self.user_id):
                raise
            return chunk_id

    def _only_own(self, chunks: Mapping[int, Chunk]) -> dict[int, Chunk]:
        """Return the chunks that are the user's."""
        return {key: chunk for key, chunk in chunks.items() if chunk.user_id == self.user_id}

    def _check_project(self, name: str | None) -> None:
        if name is not None:
            find_projects(self._context, self.user_id, name)

    def _own_sessions(
        self, sessions: Iterable[Mapping[str, object]]
    ) -> Sequence[Mapping[str, object]]:
        """Return sessions for `add_many`, each owned by this user; others are refused."""
        own: list[Mapping[str, object]] = []
        for item in sessions:
            # A wrong item is refused by `add_many` itself, which names its number.
            is_session = isinstance(item, Mapping)  # pyright: ignore[reportUnnecessaryIsInstance]
            if is_session and item.get("user_id") not in (None, self.user_id):
                self._refuse_argument("user_id")
            own.append({**item, "user_id": self.user_id} if is_session else item)
        return own


class UserTracesView(OneUser):
    """Base of `UserTraces`: checks that recorded searches are the user's own."""

    def __init__(self, traces: TracesResource, user_id: str) -> None:
        self._traces = traces
        self.user_id = user_id

    def _fetch(self, trace_id: UUID | str) -> Trace:
        trace = self._traces.get(trace_id)
        if trace.user_id != self.user_id:
            raise no_trace(trace.trace_id)
        return trace

    def _own(self, trace_id: UUID | str) -> UUID:
        return self._fetch(trace_id).trace_id


class UserProjectsView(OneUser):
    """Base of `UserProjects`: projects that hold sessions of the user, with those sessions."""

    def __init__(self, context: Context, user_id: str) -> None:
        self._context = context
        self.user_id = user_id


def find_projects(context: Context, user_id: str, name: str | None) -> Sequence[projects.Project]:
    """Return the projects with sessions of a user, or the named one.

    Raises NotFoundError for a name that no such project has.
    """
    namespace = context.look_up_namespace()
    rows: Sequence[projects.Project] = ()
    if namespace is not None:
        rows = run_read(
            context.pool, lambda it: projects.list_projects(it, namespace, user_id=user_id)
        )
    if name is None:
        return rows
    chosen = [row for row in rows if row.name == name]
    if not chosen:
        hint = did_you_mean(name, [row.name for row in rows])
        raise NotFoundError(f"no project {name!r} with sessions of {shorten(user_id)}{hint}")
    return chosen


_Noted = TypeVar("_Noted", SearchResult, Trace, Prompt)


def without_others(answer: _Noted) -> _Noted:
    """Return the answer without notes that suggest the names of other users."""
    notes = [note for note in answer.notes if note.kind != "unknown user"]
    if isinstance(answer, Prompt):
        answer.notes = notes
        return answer
    return replace(answer, notes=notes)
