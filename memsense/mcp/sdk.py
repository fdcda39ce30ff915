"""The protocol's SDK, of its first or its second generation, under the names of the second.

The other packages of an environment decide which of them is installed: CrewAI needs `mcp` 1,
Strands accepts both. They have the same parts under other names, and their servers offer the same
tools; the second also speaks the newest revisions of the protocol. No other module of memsense
imports the SDK's server.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette

from memsense.declaration import unknown_argument

IS_FIRST = find_spec("mcp.server.mcpserver") is None
"""Whether `mcp` 1 is installed."""

if TYPE_CHECKING or not IS_FIRST:
    from mcp.server.mcpserver import Context, MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.server.mcpserver.prompts import Prompt
    from mcp.server.mcpserver.tools import Tool
    from mcp.server.transport_security import TransportSecuritySettings
    from mcp.shared.exceptions import MCPError
    from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, CallToolResult, ToolAnnotations
else:
    from mcp.server.fastmcp import Context
    from mcp.server.fastmcp import FastMCP as MCPServer
    from mcp.server.fastmcp.exceptions import ToolError
    from mcp.server.fastmcp.prompts import Prompt
    from mcp.server.fastmcp.tools import Tool
    from mcp.server.transport_security import TransportSecuritySettings
    from mcp.types import CallToolResult, ToolAnnotations

if TYPE_CHECKING:
    Request = Context[Any, Any]
else:
    # Before 2.3 the SDK turns a context into the annotated class, if that is another one than its
    # own, and loses the request.
    Request = Context

__all__ = [
    "CallToolResult",
    "CheckedPrompt",
    "Request",
    "Server",
    "Tool",
    "ToolError",
    "create_server",
    "http_app",
    "shown_error",
    "text_result",
    "tool_hints",
]

Server = MCPServer[Any]


def create_server(
    name: str, *, description: str, instructions: str, version: str, tools: Sequence[Tool]
) -> Server:
    """Return a server with these tools."""
    options: dict[str, Any] = {"instructions": instructions, "tools": list(tools)}
    if not IS_FIRST:
        options |= {"title": name, "description": description, "version": version}
    # The first generation warns of each request of a newer client, and of each refused argument.
    level = "CRITICAL" if IS_FIRST else "WARNING"
    server: Server = MCPServer(name, **options, log_level=level)
    if IS_FIRST:
        # The first generation would report the SDK's own version as the server's.
        server._mcp_server.version = version  # type: ignore[attr-defined]  # noqa: SLF001
    return server


def http_app(server: Server, path: str, security: Mapping[str, Any]) -> Starlette:
    """Return the server as an ASGI application that keeps no sessions.

    Args:
        server: The server.
        path: Path of its only route.
        security: Fields of `TransportSecuritySettings`.
    """
    options = {
        "streamable_http_path": path,
        "json_response": True,
        "stateless_http": True,
        "transport_security": TransportSecuritySettings(**security),
    }
    make: Callable[..., Starlette] = server.streamable_http_app
    if not IS_FIRST:
        return make(**options)
    for name, value in options.items():
        setattr(server.settings, name, value)
    return make()


def text_result(text: str, data: Mapping[str, Any] | None = None) -> CallToolResult:
    """Return the answer of a tool: a text, and the same as data where a call asked for it."""
    # Both generations read the protocol's own names; their Python names differ.
    fields = {"content": [{"type": "text", "text": text}], "structuredContent": data}
    return CallToolResult.model_validate(fields)


def tool_hints(title: str, *, reads: bool, destructive: bool, repeatable: bool) -> ToolAnnotations:
    """Return what a host may take for granted of a tool, such as that it need not ask first."""
    return ToolAnnotations.model_validate(
        {
            "title": title,
            "readOnlyHint": reads,
            "destructiveHint": destructive,
            "idempotentHint": repeatable,
            "openWorldHint": False,
        }
    )


def shown_error(text: str, *, is_callers: bool = True) -> Exception:
    """Return the error of a prompt or a resource whose text the host shows.

    Args:
        text: What is wrong, and what to do.
        is_callers: Whether another request would be answered.
    """
    # The second generation withholds the text of any other error, the first shows every text.
    if IS_FIRST:
        return ValueError(text)
    return MCPError(INVALID_PARAMS if is_callers else INTERNAL_ERROR, text)


class CheckedPrompt(Prompt):
    """Prompt that names an unknown or missing argument."""

    async def render(self, arguments: dict[str, Any] | None, context: Any) -> Any:
        """Return the messages; raises `shown_error` for an argument that it can't take."""
        declared = {it.name: it.required for it in self.arguments or ()}
        passed = arguments or {}
        for name in passed:
            if name not in declared:
                raise shown_error(str(unknown_argument(name, declared)))
        for name, is_required in declared.items():
            if is_required and name not in passed:
                raise shown_error(f"{name} is missing")
        return await super().render(arguments, context)
