"""Scope of a call: the user whose memory it works on, chosen by the command line or by a key."""

import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

import anyio
from anyio import to_thread

from memsense.config import Settings
from memsense.errors import ConfigurationError
from memsense.inputs import Checker, Id
from memsense.mcp.sdk import Request
from memsense.text.secrets import clean

# Importing the memory takes as long as importing the protocol. A host gets the list of tools first.
if TYPE_CHECKING:
    from memsense.client.aio import AsyncMemSense, AsyncUserMemory
    from memsense.store.access import KeyScope
    from memsense.types import Chunk

T = TypeVar("T")

PROJECT_HEADER = "Memsense-Project"
_read_project = Checker(Id | None, PROJECT_HEADER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """User, agent and session of a call, and what it may do.

    Args:
        user_id: Whose memory it is.
        agent_id: The agent that new memories are stored under.
        project: The project that is worked on: new memories are about it, and recalls prefer it.
        session_id: The session of new memories; by default one session for each day.
        trace: Record each recall; None records the share that the setting `trace_sample` says.
        timezone: Zone of the one who asks, for calls that name none.
        may: The scopes of the key.
    """

    user_id: str
    agent_id: str | None = None
    project: str | None = None
    session_id: str | None = None
    trace: bool | None = None
    timezone: str | None = None
    may: "Collection[KeyScope]" = ("read", "write", "forget")

    def project_apart(self, chunk: "Chunk") -> str:
        """Return the name of the other project that a memory is about; empty for none."""
        return "" if chunk.project in {None, self.project} else " ".join(str(chunk.project).split())

    def session_now(self) -> str:
        """Return the session for a memory that is stored now."""
        return self.session_id or f"mcp-{datetime.now(UTC):%Y-%m-%d}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """A user's memory, with the scope of one call.

    With `redacts`, secrets in what a model sends are replaced before anything is stored.
    `silence` is the chance below which a recall says that nothing is known.
    """

    memory: "AsyncUserMemory"
    scope: Scope
    namespace: str
    silence: float
    redacts: bool = True

    def clean(self, text: T) -> T:
        """Return a text of a model as it may be stored and recorded."""
        return clean(text, secrets=self.redacts)[0]

    def require(self, needed: "KeyScope") -> Self:
        """Return the access itself; raises ConfigurationError if the key lacks a scope."""
        if needed not in self.scope.may:
            raise ConfigurationError(
                f"this tool needs a key with the scope {needed!r}; yours has"
                f" {', '.join(self.scope.may) or 'none'}"
            )
        return self


class FindAccess(Protocol):
    """Function that returns the memory for a call, or raises a MemSenseError for the model.

    Over HTTP, `request.request_context.request` has the headers, which may hold a key.
    """

    async def __call__(self, request: Request) -> Access:
        """Return the access of the call."""
        ...


class OneScope:
    """The same access for every call, to a memory that the first call opens.

    So a host gets the list of tools at once. While the database is down, each call fails with a
    message that names the cause, and the next one tries again.

    Args:
        settings: The settings of the memory.
        scope: User and rights of all calls.
        memory: An open memory to use instead; it is closed with this object.
    """

    def __init__(self, settings: Settings, scope: Scope, memory: "AsyncMemSense | None" = None):
        self._memory = memory
        self._settings = settings
        self._scope = scope
        self._opening = anyio.Lock()

    async def __call__(self, request: Request | None = None) -> Access:
        """Return the access; raises the errors of `AsyncMemSense.open`.

        Over HTTP, the header Memsense-Project names the project of one host.
        """
        http = getattr(request.request_context, "request", None) if request else None
        project = read_project(http.headers) if http is not None else None
        scope = replace(self._scope, project=project) if project else self._scope
        async with self._opening:
            if self._memory is None:
                # In a thread: importing the memory would hold up the protocol's messages.
                self._memory = await to_thread.run_sync(_create_memory, self._settings)
            memory = await self._memory
        return Access(
            memory=memory.for_user(scope.user_id),
            scope=scope,
            namespace=self._settings.namespace,
            redacts=self._settings.redact != "off",
            silence=self._settings.silence,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the memory."""
        if self._memory is not None:
            await self._memory.close()


def _create_memory(settings: Settings) -> "AsyncMemSense":
    from memsense.client.aio import AsyncMemSense

    return AsyncMemSense.open(settings=settings)


def read_project(headers: Mapping[str, str]) -> str | None:
    """Return the project that a request's header names, or None.

    Raises InvalidInputError if it is no name of a project.
    """
    return _read_project(headers.get(PROJECT_HEADER))


def new_session_id() -> str:
    """Return a new session id, for one process: a host starts one for each conversation."""
    return f"mcp-{datetime.now(UTC):%Y-%m-%d-%H%M}-{secrets.token_hex(3)}"
