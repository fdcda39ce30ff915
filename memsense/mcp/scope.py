"""Whose memory a call works on: said by who starts the server, or by a key; never by the model."""

import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol, Self

import anyio
from anyio import to_thread
from mcp.server.mcpserver import Context

from memsense.config import Settings
from memsense.errors import ConfigurationError

if TYPE_CHECKING:  # the memory takes as long to import as the protocol: a host has its tools first
    from memsense.client.aio import AsyncMemSense, AsyncUserMemory
    from memsense.store.access import KeyScope

Request = Context[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a call may see, and under which names it remembers.

    Without a `session_id`, what is remembered goes to a session a day. `trace` records each recall
    (None: the share of them that the setting trace_sample says). `may` is what a key opens.
    """

    user_id: str
    agent_id: str | None = None
    session_id: str | None = None
    trace: bool | None = None
    may: "Collection[KeyScope]" = ("read", "write", "forget")

    def session_now(self) -> str:
        """The session that what is remembered now belongs to."""
        return self.session_id or f"mcp-{datetime.now(UTC):%Y-%m-%d}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """A user's memory as one call has it."""

    memory: "AsyncUserMemory"
    scope: Scope
    namespace: str

    def require(self, needed: "KeyScope") -> Self:
        """This, if it may be used so; raises ConfigurationError."""
        if needed not in self.scope.may:
            raise ConfigurationError(
                f"this needs a key that opens {needed!r}, and the one at hand opens"
                f" {', '.join(self.scope.may) or 'nothing'}"
            )
        return self


class FindAccess(Protocol):
    """Says what a call may work on; raises a MemSenseError, which the model is told.

    `request.request_context.request` is the request of HTTP, whose headers may hold a key.
    """

    async def __call__(self, request: Request) -> Access:
        """The access of this call."""
        ...


class OneScope:
    """The same access for every call, to a memory that is opened at the first of them.

    A host has its list of tools at once, then, and a database that is down is an answer that says
    so, until it is up.
    """

    def __init__(self, settings: Settings, scope: Scope, memory: "AsyncMemSense | None" = None):
        """A memory of your own is closed with this, too."""
        self._memory = memory
        self._settings = settings
        self._scope = scope
        self._opening = anyio.Lock()

    async def __call__(self, request: Request | None = None) -> Access:  # noqa: ARG002
        """The access of any call; raises the errors of `AsyncMemSense.open`."""
        async with self._opening:
            if self._memory is None:
                self._memory = await to_thread.run_sync(_unopened, self._settings)
            memory = await self._memory
        return Access(
            memory=memory.for_user(self._scope.user_id),
            scope=self._scope,
            namespace=self._settings.namespace,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the memory."""
        if self._memory is not None:
            await self._memory.close()


def _unopened(settings: Settings) -> "AsyncMemSense":
    from memsense.client.aio import AsyncMemSense

    return AsyncMemSense.open(settings=settings)


def new_session_id() -> str:
    """A session for what one process is told: a host starts one for each conversation."""
    return f"mcp-{datetime.now(UTC):%Y-%m-%d-%H%M}-{secrets.token_hex(3)}"
