"""What a host may read by its address: a memory, and a recorded search with its arithmetic."""

import json
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, ParamSpec

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError

from memsense.errors import InvalidInputError, MemSenseError, NotFoundError
from memsense.mcp.scope import FindAccess, Request

P = ParamSpec("P")
JSON = "application/json"


def tell_errors(function: Callable[P, Awaitable[str]]) -> Callable[P, Awaitable[str]]:
    """Let the host read what memsense says of a failure."""

    @wraps(function)
    async def told(*args: P.args, **kwargs: P.kwargs) -> str:
        try:
            return await function(*args, **kwargs)
        except (NotFoundError, InvalidInputError) as error:
            raise ResourceNotFoundError(str(error)) from error
        except MemSenseError as error:
            raise ResourceError(str(error)) from error

    return told


class Resources:
    """The resources over what `find` says that a call may read."""

    def __init__(self, find: FindAccess) -> None:
        self._find = find

    @tell_errors
    async def chunk(self, chunk_id: str, request: Request) -> str:
        """One memory, whole: its text, time, session, tags, facets and status."""
        access = (await self._find(request)).require("read")
        if not chunk_id.isdecimal():
            raise InvalidInputError(f"a chunk's id is a whole number, not {chunk_id!r}")
        return _as_json((await access.memory.get(int(chunk_id))).as_dict())

    @tell_errors
    async def trace(self, trace_id: str, request: Request) -> str:
        """A recorded recall: every candidate with its ranks, scores and what became of it."""
        access = (await self._find(request)).require("read")
        return _as_json((await access.memory.traces.get(trace_id)).as_dict())


def add_resources(server: MCPServer[Any], find: FindAccess) -> None:
    """Give the server its resources."""
    resources = Resources(find)
    server.resource("memsense://chunk/{chunk_id}", name="chunk", title="A memory", mime_type=JSON)(
        resources.chunk
    )
    server.resource(
        "memsense://trace/{trace_id}", name="trace", title="A recorded recall", mime_type=JSON
    )(resources.trace)


def _as_json(fields: dict[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=False, default=str)
