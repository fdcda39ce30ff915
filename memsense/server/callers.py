"""Who asks: the key that a request shows, its tenant, its scopes, and its memory.

A key of one user's has that user's memory and no other: what the whole tenant's alone can do is not
there to be called, and each route that needs it says so by `whole`.
"""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from memsense.client.aio import AsyncMemSense, AsyncUserMemory
from memsense.inputs import shorten
from memsense.server.limits import whole_seconds
from memsense.server.problems import ProblemError
from memsense.server.state import ServerState
from memsense.store.access import SCOPES, KeyScope

NO_KEY = "show a key: 'Authorization: Bearer ms_...'; 'memsense key create' makes one"
CHALLENGE = {"WWW-Authenticate": 'Bearer realm="memsense"'}

bearer = HTTPBearer(
    auto_error=False, scheme_name="key", description="a key of `memsense key create`"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Whoever shows a key: acts for its tenant, or one user of it, within its scopes.

    `name` goes into receipts.
    """

    tenant: str
    name: str
    scopes: frozenset[KeyScope]
    memory: AsyncMemSense | AsyncUserMemory

    @property
    def user_id(self) -> str | None:
        """Whose memory the key opens; None for the whole tenant's."""
        return self.memory.user_id if isinstance(self.memory, AsyncUserMemory) else None

    def whole(self) -> AsyncMemSense:
        """The whole tenant's memory; raises ProblemError for a key of one user's."""
        if isinstance(self.memory, AsyncUserMemory):
            raise ProblemError(403, f"this is about the whole tenant, and {self._opens()}")
        return self.memory

    def whose(self, user_id: str | None, *, all_users: bool = False) -> dict[str, Any]:
        """The keywords that say whose memory a call is about, as far as the request said it.

        Raises ProblemError where a key of one user's is to open another's, or everybody's.
        """
        own = self.user_id
        if own is None:
            return {"user_id": user_id} | ({"all_users": True} if all_users else {})
        if all_users:
            raise ProblemError(403, f"all_users is everybody, and {self._opens()}")
        if user_id is not None and user_id != own:
            raise ProblemError(403, f"{shorten(user_id)} is another user, and {self._opens()}")
        return {}

    def narrowed(self, user_id: str | None) -> AsyncMemSense | AsyncUserMemory:
        """The memory that the key opens, or that of one user in it; raises ProblemError."""
        self.whose(user_id)
        return self.memory if user_id is None else self.of_user(user_id)

    def of_user(self, user_id: str) -> AsyncUserMemory:
        """One user's memory; raises ProblemError where the key is another's."""
        self.whose(user_id)
        memory = self.memory
        return memory if isinstance(memory, AsyncUserMemory) else memory.for_user(user_id)

    def may(self, scope: KeyScope) -> bool:
        """Whether the key opens that."""
        return scope in self.scopes

    def _opens(self) -> str:
        return f"the key opens the memory of {shorten(self.user_id)} alone"


def state_of(request: Request) -> ServerState:
    """What all requests share."""
    return request.app.state.server


async def find_caller(state: ServerState, key: str | None, address: str) -> Caller:
    """Who shows this key; raises ProblemError for none, a wrong one, and one too busy."""
    if not state.options.needs_key:
        tenant = state.tenants.settings.tenant
        _take_turn(state, "local")
        memory = await state.memory(tenant)
        return Caller(tenant=tenant, name="local", scopes=frozenset(SCOPES), memory=memory)
    if key is None:
        raise ProblemError(401, NO_KEY, CHALLENGE)
    found = await state.verify(key)
    if found is None:  # whoever shows a right one waits for nobody else's wrong ones
        if seconds := state.wrong_keys.take(address):
            raise _too_many("too many wrong keys were shown", seconds)
        raise ProblemError(401, f"the key opens nothing; {NO_KEY}", CHALLENGE)
    _take_turn(state, f"{found.tenant}/{found.key_id}")
    memory = await state.memory(found.tenant)
    return Caller(
        tenant=found.tenant,
        name=f"{found.name} ({found.key_id})",
        scopes=frozenset(found.scopes),
        memory=memory if found.user_id is None else memory.for_user(found.user_id),
    )


def _take_turn(state: ServerState, bucket: str) -> None:
    if seconds := state.requests.take(bucket):
        raise _too_many("this key asks too often", seconds)


def _too_many(what: str, seconds: float) -> ProblemError:
    wait = whole_seconds(seconds)
    return ProblemError(429, f"{what}: wait {wait} s", {"Retry-After": wait})


def address_of(request: Request) -> str:
    """Where the request comes from, as the connection says."""
    return request.client.host if request.client else "unknown"


def require(scope: KeyScope) -> Callable[..., Coroutine[Any, Any, Caller]]:
    """A dependency: the caller, whose key must have this scope."""

    async def find(
        request: Request,
        shown: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)] = None,
    ) -> Caller:
        key = shown.credentials if shown else None
        caller = await find_caller(state_of(request), key, address_of(request))
        require_scope(caller, scope)
        return caller

    return find


def require_scope(caller: Caller, scope: KeyScope) -> None:
    """Raise ProblemError unless the caller's key has this scope."""
    if not caller.may(scope):
        has = ", ".join(name for name in SCOPES if caller.may(name))
        never = ", which no key of one user's has" if scope == "admin" and caller.user_id else ""
        raise ProblemError(403, f"this needs the scope {scope}{never}; the key has {has}")


Reader = Annotated[Caller, Depends(require("read"))]
Writer = Annotated[Caller, Depends(require("write"))]
Forgetter = Annotated[Caller, Depends(require("forget"))]
Admin = Annotated[Caller, Depends(require("admin"))]
"""Of the whole tenant: a key of one user's never has this scope."""
