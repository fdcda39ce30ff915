"""Callers of the API: the key of a request, with its tenant, scopes and memory.

A key that is bound to one user opens only that user's memory. A route that works on the whole
tenant asks for it by `Caller.whole`, which refuses such a key.
"""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import Depends, Header, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from memsense.actor import act_as, format_actor
from memsense.client.aio import AsyncMemSense, AsyncUserMemory
from memsense.client.memory import MemSense
from memsense.client.user_memory import UserMemory
from memsense.inputs import Checker, Name, shorten
from memsense.server.guards import format_retry_after
from memsense.server.problems import ProblemError
from memsense.server.state import ServerState
from memsense.store.access import SCOPES, KeyScope

NO_KEY = "send a key: 'Authorization: Bearer ms_...'; 'memsense key create' creates one"
NAMESPACE_HEADER = "Memsense-Namespace"
CHALLENGE = {"WWW-Authenticate": 'Bearer realm="memsense"'}

bearer = HTTPBearer(
    auto_error=False, scheme_name="key", description="a key that `memsense key create` has printed"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The owner of a key, who acts for its tenant, or for one user of it, within its scopes.

    `name` identifies the key in receipts of erasures. `bound` is the namespace that a key is
    limited to. `blocking` is the memory for threads of the server's own.
    """

    tenant: str
    namespace: str
    bound: str | None
    name: str
    scopes: frozenset[KeyScope]
    memory: AsyncMemSense | AsyncUserMemory
    blocking: MemSense | UserMemory

    @property
    def user_id(self) -> str | None:
        """The user that the key is bound to, or None for a key to the whole tenant."""
        return self.memory.user_id if isinstance(self.memory, AsyncUserMemory) else None

    def whole(self) -> AsyncMemSense:
        """Return the whole tenant's memory; raises ProblemError for a key of one user."""
        if isinstance(self.memory, AsyncUserMemory):
            raise ProblemError(403, f"this concerns the whole tenant, but {self._limits()}")
        return self.memory

    def refuse_bound(self) -> None:
        """Raise ProblemError for a key of one namespace."""
        if self.bound is not None:
            raise ProblemError(
                403,
                f"this concerns all namespaces, but the key opens only {shorten(self.bound)}",
            )

    def whose(self, user_id: str | None, *, all_users: bool = False) -> dict[str, Any]:
        """Return the arguments of a call that say whose memory it works on.

        Raises ProblemError if a key of one user asks for another user's memory, or everybody's.
        """
        own = self.user_id
        if own is None:
            return {"user_id": user_id} | ({"all_users": True} if all_users else {})
        if all_users:
            raise ProblemError(403, f"all_users means every user's memory, but {self._limits()}")
        if user_id is not None and user_id != own:
            raise ProblemError(403, f"{shorten(user_id)} is another user, but {self._limits()}")
        # The memory of such a key is a UserMemory already, whose methods take no user.
        return {}

    def with_user(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return a body's arguments with those of `whose` in place of its user.

        Raises ProblemError as `whose` does.
        """
        user_id = arguments.pop("user_id")
        all_users = arguments.pop("all_users", False)
        return arguments | self.whose(user_id, all_users=all_users)

    def narrowed(self, user_id: str | None) -> AsyncMemSense | AsyncUserMemory:
        """Return the key's memory, or that of one user in it; raises ProblemError."""
        self.whose(user_id)
        return self.memory if user_id is None else self.of_user(user_id)

    def of_user(self, user_id: str) -> AsyncUserMemory:
        """Return one user's memory; raises ProblemError if the key is bound to another user."""
        self.whose(user_id)
        memory = self.memory
        return memory if isinstance(memory, AsyncUserMemory) else memory.for_user(user_id)

    def may(self, scope: KeyScope) -> bool:
        """Return whether the key has the scope."""
        return scope in self.scopes

    def _limits(self) -> str:
        return f"the key opens only the memory of {shorten(self.user_id)}"


def state_of(request: Request) -> ServerState:
    """Return the state that all requests share."""
    return request.app.state.server


async def find_caller(request: Request, key: str | None, namespace: str | None) -> Caller:
    """Return the caller with this key, who is the actor of this task from now on.

    The memory is that of `namespace`, else of the key's own, else of the server's.

    Raises ProblemError if the key is missing, wrong, bound to another namespace, or sends too many
    requests.
    """
    state = state_of(request)
    settings = state.tenants.settings
    if not state.options.needs_key:
        _take_token(request, "local")
        act_as(format_actor("key", "none"))
        own = state.tenants.memory(settings.tenant, namespace)
        return Caller(
            tenant=settings.tenant, namespace=namespace or settings.namespace, bound=None,
            name="local", scopes=frozenset(SCOPES), blocking=own,
            memory=AsyncMemSense.over(own, state.threads),
        )  # fmt: skip
    if key is None:
        raise ProblemError(401, NO_KEY, CHALLENGE)
    opened = await state.open(key, namespace)
    if opened is None:
        # Counted after the check: a caller with a valid key is never delayed by the wrong keys
        # that others send from the same address, such as a proxy's.
        if seconds := state.wrong_keys.take(address_of(request)):
            raise _too_many("too many wrong keys from this address", seconds)
        raise ProblemError(401, f"the key is wrong, expired or revoked; {NO_KEY}", CHALLENGE)
    access_key, whole = opened
    _take_token(request, f"{access_key.tenant}/{access_key.key_id}")
    bound = access_key.namespace
    if bound is not None and namespace not in (None, bound):
        raise ProblemError(
            403,
            f"{shorten(namespace)} is another namespace, but the key opens only {shorten(bound)}",
        )
    act_as(format_actor("key", access_key.key_id))
    memory, user_id = AsyncMemSense.over(whole, state.threads), access_key.user_id
    return Caller(
        tenant=access_key.tenant,
        namespace=bound or namespace or settings.namespace,
        bound=bound,
        name=f"{access_key.name} ({access_key.key_id})",
        scopes=frozenset(access_key.scopes),
        memory=memory if user_id is None else memory.for_user(user_id),
        blocking=whole if user_id is None else whole.for_user(user_id),
    )


def _take_token(request: Request, bucket: str) -> None:
    buckets = state_of(request).requests
    seconds = buckets.take(bucket)
    # The gate adds them to the answer, also to an error.
    request.state.rate_limit = buckets.fields(bucket)
    if seconds:
        raise _too_many("this key sends too many requests", seconds)


def _too_many(reason: str, seconds: float) -> ProblemError:
    wait = format_retry_after(seconds)
    return ProblemError(429, f"{reason}: wait {wait} s", {"Retry-After": wait})


def address_of(request: Request) -> str:
    """Return the address that the connection comes from."""
    return request.client.host if request.client else "unknown"


Namespace = Annotated[
    str | None,
    Header(
        alias=NAMESPACE_HEADER,
        description="The namespace to work in, percent-encoded as in addresses; default: that of"
        " the key, else of the server.",
    ),
]


def read_namespace(request: Request) -> str | None:
    """Return the namespace that a request's header names; raises InvalidInputError."""
    value = request.headers.get(NAMESPACE_HEADER)
    # Its bytes are UTF-8 where a client sends them as they are; the server reads them as Latin-1.
    return None if value is None else _read_name(unquote(value.encode("latin-1")))


_read_name = Checker(Name, NAMESPACE_HEADER)


async def names_of(request: Request, caller: Caller) -> list[str]:
    """Return the names of the namespaces that the caller may choose."""
    if caller.bound is not None or caller.user_id is not None:
        return [caller.namespace]
    state = state_of(request)
    names = await state.threads.run(state.tenants.namespaces, caller.tenant)
    return sorted({*names, caller.namespace})


def require(scope: KeyScope) -> Callable[..., Coroutine[Any, Any, Caller]]:
    """Return a dependency that finds the caller, whose key must have the scope."""

    async def find(
        request: Request,
        credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)] = None,
        _namespace: Namespace = None,
    ) -> Caller:
        key = credentials.credentials if credentials else None
        caller = await find_caller(request, key, read_namespace(request))
        require_scope(caller, scope)
        return caller

    return find


def require_scope(caller: Caller, scope: KeyScope) -> None:
    """Raise ProblemError unless the caller's key has the scope."""
    if not caller.may(scope):
        scopes = ", ".join(name for name in SCOPES if caller.may(name))
        limit = "user" if caller.user_id is not None else caller.bound and "namespace"
        is_impossible = scope == "admin" and limit
        hint = f", which a key of one {limit} can't have" if is_impossible else ""
        raise ProblemError(403, f"this needs the scope {scope}{hint}; the key has {scopes}")


Reader = Annotated[Caller, Depends(require("read"))]
Writer = Annotated[Caller, Depends(require("write"))]
Admin = Annotated[Caller, Depends(require("admin"))]
"""Only keys to the whole tenant have this scope."""
