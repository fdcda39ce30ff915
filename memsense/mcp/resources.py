"""Resources that a host can read by their address: a memory, and a recorded search."""

import json
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, ParamSpec

from memsense.errors import InvalidInputError, MemSenseError, NotFoundError
from memsense.mcp.scope import FindAccess
from memsense.mcp.sdk import Request, Server, shown_error

P = ParamSpec("P")
JSON = "application/json"


def pass_errors_on(function: Callable[P, Awaitable[str]]) -> Callable[P, Awaitable[str]]:
    """Turn a MemSenseError into an error whose text the host shows."""

    @wraps(function)
    async def wrapper(*args: P.args, **kwargs: P.kwargs) -> str:
        try:
            return await function(*args, **kwargs)
        except MemSenseError as error:
            is_callers = isinstance(error, NotFoundError | InvalidInputError)
            raise shown_error(str(error), is_callers=is_callers) from error

    return wrapper


class Resources:
    """Resources of the memory that `find` returns for a call."""

    def __init__(self, find: FindAccess) -> None:
        self._find = find

    @pass_errors_on
    async def chunk(self, chunk_id: str, request: Request) -> str:
        """Return one memory in full: its text, time, session, tags, facets and status."""
        access = (await self._find(request)).require("read")
        if not chunk_id.isdecimal():
            raise InvalidInputError(f"the id of a chunk must be a whole number, not {chunk_id!r}")
        return _as_json((await access.memory.get(int(chunk_id))).as_dict())

    @pass_errors_on
    async def trace(self, trace_id: str, request: Request) -> str:
        """Return a recorded recall: every candidate with its ranks, scores and outcome."""
        access = (await self._find(request)).require("read")
        return _as_json((await access.memory.traces.get(trace_id)).as_dict())


def add_resources(server: Server, find: FindAccess) -> None:
    """Add the resources to the server."""
    resources = Resources(find)
    server.resource("memsense://chunk/{chunk_id}", name="chunk", title="A memory", mime_type=JSON)(
        resources.chunk
    )
    server.resource(
        "memsense://trace/{trace_id}", name="trace", title="A recorded recall", mime_type=JSON
    )(resources.trace)


def _as_json(fields: dict[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=False, default=str)
