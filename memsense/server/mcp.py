"""The MCP server at `/mcp?user=NAME`: the key says which tenant, the address which user of it.

A key of one user's says that, too. Both stand in the configuration of a host, where no model
reaches them.
"""

from fastapi import Request
from starlette.types import Receive, Scope, Send

from memsense.errors import MemSenseError
from memsense.inputs import Gate, Id
from memsense.mcp import scope as mcp_scope
from memsense.mcp.server import build_server
from memsense.mcp.transports import PATH, build_app
from memsense.server.callers import address_of, find_caller, state_of
from memsense.server.problems import ProblemError, tell_problem

__all__ = ["PATH", "KeyedMcp"]

BEARER = "bearer "
_read_user = Gate(Id, "user")
_read_agent = Gate(Id | None, "agent")


class KeyedMcp:
    """An ASGI application that lets those in who show a key, each to the user that it names."""

    def __init__(self) -> None:
        self._app = build_app(build_server(_find_access), asks_for_keys=True)
        self.router = self._app.router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive)
        try:
            request.state.mcp_access = await _admit(request)
        except (ProblemError, MemSenseError) as error:
            await tell_problem(error)(scope, receive, send)
            return
        await self._app(scope, receive, send)


async def _admit(request: Request) -> mcp_scope.Access:
    """What the request may work on; raises ProblemError, or InvalidInputError for a bad name."""
    told = request.headers.get("authorization", "")
    key = told[len(BEARER) :] if told.lower().startswith(BEARER) else None
    state = state_of(request)
    caller = await find_caller(state, key, address_of(request))
    user = request.query_params.get("user", caller.user_id)
    if user is None:
        raise ProblemError(422, f"whose memory is it? {PATH}?user=NAME")
    memory = caller.of_user(_read_user(user))
    opened = mcp_scope.Scope(
        user_id=memory.user_id,
        agent_id=_read_agent(request.query_params.get("agent")),
        may=[scope for scope in ("read", "write", "forget") if caller.may(scope)],
    )
    return mcp_scope.Access(
        memory=memory,
        scope=opened,
        namespace=state.tenants.settings.namespace,
    )


async def _find_access(request: mcp_scope.Request) -> mcp_scope.Access:
    given = request.request_context.request
    assert given is not None, "over HTTP each call has a request"
    return given.state.mcp_access
