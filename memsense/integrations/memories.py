"""Memories that an adapter accepts: a memory, its asyncio view, or one user's view of either.

Also the metadata of a hit in the form that all adapters use.
"""

# ruff: noqa: SLF001 (an adapter stores histories and items, which a user's view does not offer)
# pyright: reportPrivateUsage=false

from collections.abc import Callable
from functools import cached_property
from typing import Any, Final, ParamSpec, TypeVar, cast, get_args

from anyio import NoEventLoopError
from anyio.lowlevel import current_token

from memsense.client.aio import AsyncMemSense, AsyncUserMemory
from memsense.client.memory import MemSense
from memsense.client.user_memory import UserMemory
from memsense.errors import InvalidInputError
from memsense.inputs import shorten
from memsense.search.hits import Hit, SearchResult

P = ParamSpec("P")
R = TypeVar("R")

AnyMemory = MemSense | AsyncMemSense | UserMemory | AsyncUserMemory
"""A memory that adapters accept."""

_KINDS: Final = get_args(AnyMemory)


class AdaptedMemory:
    """A memory of any kind with both its faces, blocking and awaited, and its one user, if any.

        adapted = AdaptedMemory(memory.for_user("ada"))
        adapted.blocking.search("Where do I live?", user_id=adapted.choose_user(None))

    An asynchronous memory may be passed before it is opened.

    Attributes:
        user_id: The user of a view; None for the memory of all users.
    """

    def __init__(self, memory: AnyMemory) -> None:
        # Callers without a type checker would otherwise see an AttributeError at the first call.
        if not isinstance(cast("object", memory), _KINDS):
            raise InvalidInputError(
                "memory must be a MemSense, an AsyncMemSense or what for_user of either returns,"
                f" not {shorten(memory)}"
            )
        self._memory = memory
        self._is_async = isinstance(memory, AsyncMemSense | AsyncUserMemory)
        is_view = isinstance(memory, UserMemory | AsyncUserMemory)
        self.user_id: str | None = memory.user_id if is_view else None

    @cached_property
    def whole(self) -> MemSense:
        """The blocking memory of all users that it is, or that it is a view of."""
        match self._memory:
            case MemSense():
                return self._memory
            case AsyncMemSense():
                return self._memory._sync
            case UserMemory():
                return self._memory._owner.whole
            case AsyncUserMemory():
                return self._memory._sync._owner.whole

    @cached_property
    def awaited(self) -> AsyncMemSense:
        """The same memory for asyncio; it uses the threads of the one that was passed, if any."""
        if isinstance(self._memory, AsyncMemSense):
            return self._memory
        if isinstance(self._memory, AsyncUserMemory):
            return AsyncMemSense.over(self.whole, self._memory._threads)
        return AsyncMemSense.over(self.whole)

    @property
    def blocking(self) -> MemSense:
        """The same memory for a blocking call.

        Raises InvalidInputError if the caller chose an asynchronous memory, so that its event loop
        is not blocked, and then calls a blocking method within an event loop.
        """
        if self._is_async and _runs_event_loop():
            raise InvalidInputError(
                "this would block the event loop, and the memory is an asynchronous one: await the"
                " adapter's asynchronous method (ainvoke, aretrieve, abatch ...), or pass a"
                " MemSense, whose calls may block"
            )
        return self.whole

    @property
    def redacts(self) -> bool:
        """Return whether secrets are replaced in what a program stores by itself, as from logs."""
        return bool(self.whole._context.redacts(logs=True))

    async def run(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Return what a blocking function returns, called in a thread of the memory's."""
        return await self.awaited._threads.run(function, *args, **kwargs)

    def choose_user(self, user_id: str | None) -> str:
        """Return the user that a call is about: the one that it names, or that of the view.

        Raises InvalidInputError if there is none, or if it is not the view's.
        """
        if self.user_id is None:
            if user_id is None:
                raise InvalidInputError(
                    'pass user_id="ada", or the memory of one user: memory.for_user("ada")'
                )
            return user_id
        if user_id not in (None, self.user_id):
            raise InvalidInputError(
                f"this is the memory of {shorten(self.user_id)} alone, not of {shorten(user_id)}:"
                " leave user_id out, or pass the memory that for_user was called on"
            )
        return self.user_id


def _runs_event_loop() -> bool:
    """Return whether asyncio or trio runs an event loop in this thread."""
    try:
        current_token()
    except NoEventLoopError:
        return False
    return True


_FIELDS = (
    "chunk_id",
    "score",
    "score_kind",
    "session_id",
    "user_id",
    "agent_id",
    "granularity",
    "message_ids",
    "memory_kind",
    "tags",
    "content_cut",
)


def hit_metadata(hit: Hit, result: SearchResult) -> dict[str, Any]:
    """Return the hit without its text, as values that JSON can hold.

    `explain` has every term of the score, `table` the same as text; `trace_id` names the recorded
    search, or is None.
    """
    fields = hit.as_dict()
    at = fields["occurred_at"]
    return {
        **{name: fields[name] for name in _FIELDS},
        # A framework may write metadata as JSON, which has no type for a time.
        "occurred_at": at.isoformat() if at else None,
        "explain": fields["explain"],
        "table": hit.explain.table(),
        "profile": result.profile,
        "trace_id": str(result.trace_id) if result.trace_id else None,
    }
