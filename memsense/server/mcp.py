"""MCP server at `/mcp?user=NAME`: the key names the tenant, the address one of its users.

A key of one user names both. Key and address stand in the host's configuration, out of a model's
reach.
"""

from fastapi import Request
from starlette.types import Receive, Scope, Send

from memsense.actor import act_as, current_actor
from memsense.errors import MemSenseError
from memsense.inputs import Checker, Id
from memsense.mcp import scope as mcp_scope
from memsense.mcp.server import build_server
from memsense.mcp.transports import PATH, build_app
from memsense.server.callers import find_caller, read_namespace, state_of
from memsense.server.problems import ProblemError, problem_response

__all__ = ["PATH", "KeyedMcp"]

BEARER = "bearer "
_read_user = Checker(Id, "user")
_read_agent = Checker(Id | None, "agent")


class KeyedMcp:
    """ASGI application that serves MCP to requests with a key."""

    def __init__(self) -> None:
        self._app = build_app(build_server(_find_access), asks_for_keys=True)
        self.router = self._app.router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive)
        try:
            # The SDK hands this request on to the tools: see _find_access.
            request.state.mcp_access = await _authorize(request)
            request.state.actor = current_actor()
        except (ProblemError, MemSenseError) as error:
            await problem_response(error)(scope, receive, send)
            return
        await self._app(scope, receive, send)


async def _authorize(request: Request) -> mcp_scope.Access:
    """Return the memory that a request may use; raises ProblemError or InvalidInputError."""
    header = request.headers.get("authorization", "")
    key = header[len(BEARER) :] if header.lower().startswith(BEARER) else None
    settings = state_of(request).tenants.settings
    caller = await find_caller(request, key, read_namespace(request))
    user = request.query_params.get("user", caller.user_id)
    if user is None:
        raise ProblemError(422, f"name the user in the address: {PATH}?user=NAME")
    memory = caller.of_user(_read_user(user))
    mcp_access_scope = mcp_scope.Scope(
        user_id=memory.user_id,
        agent_id=_read_agent(request.query_params.get("agent")),
        project=mcp_scope.read_project(request.headers),
        may=[scope for scope in ("read", "write", "forget") if caller.may(scope)],
    )
    return mcp_scope.Access(
        memory=memory,
        scope=mcp_access_scope,
        namespace=caller.namespace,
        redacts=settings.redact != "off",
        silence=settings.silence,
    )


async def _find_access(request: mcp_scope.Request) -> mcp_scope.Access:
    http_request = request.request_context.request
    assert http_request is not None, "over HTTP each call has a request"
    act_as(http_request.state.actor)  # the SDK may run the tool in another task than the request
    return http_request.state.mcp_access
