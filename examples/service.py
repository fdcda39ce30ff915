"""Web service for many tenants: `uvicorn --app-dir examples service:app`, `memsense[server]`.

Each tenant has a key (`memsense --tenant acme key create --scope read,write`), which decides whose
rows PostgreSQL shows; the path names one of the tenant's users.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import Body, Depends, FastAPI, Header, HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse

from memsense import AsyncMemSense, load_settings
from memsense.client.aio import AsyncUserMemory
from memsense.client.tenants import Tenants
from memsense.errors import InvalidInputError


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
    """Open one pool of connections and one embedding model for all tenants."""
    with Tenants.open(load_settings()) as app.state.tenants:
        yield


async def refuse(_: Request, error: Exception) -> JSONResponse:
    """Answer wrong input, such as an empty question, with its reason."""
    return JSONResponse({"detail": str(error)}, 422)


app = FastAPI(lifespan=lifespan, exception_handlers={InvalidInputError: refuse})


async def memory_of(user: str, authorization: Annotated[str, Header()]) -> AsyncUserMemory:
    """Return the memory of a user of the tenant that the key belongs to."""
    tenants: Tenants = app.state.tenants
    key = await run_in_threadpool(tenants.verify, authorization.removeprefix("Bearer "))
    if key is None:
        raise HTTPException(401, "unknown access key")
    return AsyncMemSense.over(tenants.memory(key.tenant)).for_user(user)


Memory = Annotated[AsyncUserMemory, Depends(memory_of)]
Talk = Annotated[list[dict[str, str]] | str, Body()]


@app.post("/{user}/sessions/{session}")
async def add(memory: Memory, session: str, messages: Talk) -> dict[str, list[int]]:
    """Store the messages of a session, or what the user said."""
    added = await memory.add(messages, session_id=session)
    return {"chunk_ids": [chunk.chunk_id for chunk in added]}


@app.get("/{user}/context")
async def context(memory: Memory, question: str, max_tokens: int = 800) -> dict[str, str]:
    """Return the memories to put into a prompt about the question."""
    return {"context": str((await memory.search(question)).to_prompt(max_tokens=max_tokens))}
