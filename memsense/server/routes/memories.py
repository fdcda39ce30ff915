"""Routes of memories, sessions, projects and users: store, list, change and erase memories."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query

from memsense.client.memory import MemSense
from memsense.declaration import parameters_of
from memsense.server.answers import (
    AddedMemories,
    Changed,
    ErasureReceipt,
    History,
    HistoryEntry,
    KeptVersion,
    LeftOff,
    Memory,
    MemoryPage,
    Project,
    ProjectList,
    Scored,
    Session,
    SessionPage,
    User,
    UserPage,
    Versions,
)
from memsense.server.callers import Admin, Forgetter, Reader, Writer
from memsense.server.problems import ProblemError
from memsense.server.problems import problem_responses as problems
from memsense.server.requests import (
    LARGEST_LIST,
    AllUsers,
    ChunkCursor,
    FeedbackBody,
    Id,
    IdempotencyKey,
    Limit,
    MemoryPath,
    NewMemories,
    ReasonBody,
    SessionCursor,
    UpdateBody,
    UserCursor,
    UserId,
    text_of,
)
from memsense.types import Granularity, MemoryKind, Status

router = APIRouter(prefix="/v1", tags=["memories"])

_LEFT_OFF = parameters_of(MemSense.left_off)


@router.post("/memories", status_code=201, responses=problems(409))
async def add_memories(
    body: NewMemories, caller: Writer, idempotency_key: IdempotencyKey = None
) -> AddedMemories:
    """Store messages as exchanges: all of them or none, and each exchange once."""
    arguments = caller.with_user(body.arguments())
    added = await caller.memory.add(**arguments, key=idempotency_key)
    memories = [Memory.of(chunk) for chunk in added]
    return AddedMemories(
        memories=memories, notes=added.notes, deferred=added.deferred, redacted=added.redacted
    )


@router.get("/memories", responses=problems())
async def list_memories(
    caller: Reader,
    *,
    user_id: UserId = None,
    all_users: AllUsers = False,
    agent_id: Annotated[Id | None, Query(description=text_of("agent_id"))] = None,
    session_id: Annotated[
        list[Id] | None, Query(max_length=LARGEST_LIST, description=text_of("session_ids"))
    ] = None,
    project: Annotated[Id | None, Query(description=text_of("project"))] = None,
    since: Annotated[datetime | None, Query(description=text_of("since"))] = None,
    until: Annotated[datetime | None, Query(description=text_of("until"))] = None,
    tag: Annotated[
        list[Id] | None, Query(max_length=LARGEST_LIST, description=text_of("tags"))
    ] = None,
    kind: Annotated[
        list[MemoryKind] | None, Query(max_length=LARGEST_LIST, description=text_of("kinds"))
    ] = None,
    granularity: Annotated[Granularity, Query(description=text_of("granularity"))] = "turn",
    status: Annotated[Sequence[Status], Query(max_length=3, description=text_of("statuses"))] = (
        "active",
    ),
    limit: Limit = 50,
    cursor: ChunkCursor = None,
) -> MemoryPage:
    """List memories by event time, latest first."""
    page = await caller.memory.list(
        **caller.whose(user_id, all_users=all_users),
        agent_id=agent_id,
        session_ids=session_id,
        project=project,
        since=since,
        until=until,
        tags=tag,
        kinds=kind,
        granularity=granularity,
        statuses=status,
        limit=limit,
        cursor=cursor,
    )
    memories = [Memory.of(chunk) for chunk in page]
    return MemoryPage(memories=memories, next_cursor=page.next_cursor)


@router.get("/sessions", responses=problems())
async def list_sessions(
    caller: Reader,
    *,
    user_id: UserId = None,
    all_users: AllUsers = False,
    limit: Limit = 50,
    cursor: SessionCursor = None,
) -> SessionPage:
    """List sessions by the time of their last exchange, latest first."""
    whose = caller.whose(user_id, all_users=all_users)
    page = await caller.memory.sessions(**whose, limit=limit, cursor=cursor)
    sessions = [Session.of(item) for item in page]
    return SessionPage(sessions=sessions, next_cursor=page.next_cursor)


@router.get("/projects", responses=problems())
async def list_projects(caller: Reader, *, user_id: UserId = None) -> ProjectList:
    """List the projects that memories are about and the pools of sessions: one user's, or all."""
    projects = await caller.narrowed(user_id).projects.list()
    return ProjectList(projects=[Project.of(item) for item in projects])


@router.get("/left-off", responses=problems())
async def left_off(
    caller: Reader,
    *,
    user_id: UserId = None,
    project: Annotated[Id, Query(description=text_of("project", _LEFT_OFF))],
    max_tokens: Annotated[
        int, Query(ge=1, le=10_000, description=text_of("max_tokens", _LEFT_OFF))
    ] = 300,
    exclude_sessions: Annotated[
        list[Id] | None,
        Query(max_length=LARGEST_LIST, description=text_of("exclude_sessions", _LEFT_OFF)),
    ] = None,
) -> LeftOff:
    """Return where the last session in a project ended, as a text for a prompt."""
    if user_id is None and caller.user_id is None:
        raise ProblemError(422, "name the user: user_id=NAME")
    prompt = await caller.memory.left_off(
        **caller.whose(user_id),
        project=project,
        max_tokens=max_tokens,
        exclude_sessions=exclude_sessions or (),
    )
    return LeftOff(text=str(prompt), chunk_ids=list(prompt.chunk_ids), tokens=prompt.tokens)


@router.get("/users", responses=problems())
async def list_users(caller: Reader, *, limit: Limit = 50, cursor: UserCursor = None) -> UserPage:
    """List the tenant's users by their ids, with the size of each memory."""
    page = await caller.whole().users(limit=limit, cursor=cursor)
    return UserPage(users=[User.of(item) for item in page], next_cursor=page.next_cursor)


@router.get("/memories/{chunk_id}", responses=problems(404))
async def get_memory(chunk_id: MemoryPath, caller: Reader, user_id: UserId = None) -> Memory:
    """Return one memory, whatever its status; a forgotten one has no texts."""
    return Memory.of(await caller.narrowed(user_id).get(chunk_id))


@router.get("/memories/{chunk_id}/history", responses=problems(404))
async def get_history(chunk_id: MemoryPath, caller: Reader, user_id: UserId = None) -> History:
    """Return a memory's history, oldest event first."""
    events = await caller.narrowed(user_id).history(chunk_id)
    return History(events=[HistoryEntry.of(event) for event in events])


@router.get("/memories/{chunk_id}/versions", responses=problems(404))
async def get_versions(chunk_id: MemoryPath, caller: Reader, user_id: UserId = None) -> Versions:
    """Return a memory's former contents, oldest first."""
    versions = await caller.narrowed(user_id).versions(chunk_id)
    return Versions(versions=[KeptVersion.of(version) for version in versions])


@router.patch("/memories/{chunk_id}", responses=problems(404, 409))
async def update_memory(
    chunk_id: MemoryPath,
    body: UpdateBody,
    caller: Writer,
    user_id: UserId = None,
    idempotency_key: IdempotencyKey = None,
) -> Memory:
    """Change a memory's texts or its attributes."""
    memory = caller.narrowed(user_id)
    return Memory.of(await memory.update(chunk_id, **body.arguments(), key=idempotency_key))


@router.delete("/memories/{chunk_id}", responses=problems(404))
async def delete_memory(
    chunk_id: MemoryPath, caller: Admin, user_id: UserId = None
) -> ErasureReceipt:
    """Erase a memory for good, with everything that was derived from it, and return the receipt."""
    receipt = await caller.narrowed(user_id).delete(chunk_id, by=caller.name)
    return ErasureReceipt.of(receipt.as_dict())


@router.post("/memories/{chunk_id}/archive", responses=problems(404, 409))
async def archive_memory(
    chunk_id: MemoryPath,
    caller: Forgetter,
    body: ReasonBody | None = None,
    user_id: UserId = None,
    idempotency_key: IdempotencyKey = None,
) -> Changed:
    """Remove an outdated memory from all searches; restoring undoes it."""
    memory, arguments = caller.narrowed(user_id), (body or ReasonBody()).arguments()
    return Changed(chunk_ids=await memory.archive(chunk_id, **arguments, key=idempotency_key))


@router.post("/memories/{chunk_id}/forget", responses=problems(404, 409))
async def forget_memory(
    chunk_id: MemoryPath,
    caller: Forgetter,
    body: ReasonBody | None = None,
    user_id: UserId = None,
    idempotency_key: IdempotencyKey = None,
) -> Changed:
    """Remove a memory from all searches; restoring undoes it."""
    memory, arguments = caller.narrowed(user_id), (body or ReasonBody()).arguments()
    return Changed(chunk_ids=await memory.forget(chunk_id, **arguments, key=idempotency_key))


@router.post("/memories/{chunk_id}/restore", responses=problems(404, 409))
async def restore_memory(
    chunk_id: MemoryPath,
    caller: Forgetter,
    body: ReasonBody | None = None,
    user_id: UserId = None,
    idempotency_key: IdempotencyKey = None,
) -> Changed:
    """Bring a forgotten or archived memory back."""
    memory, arguments = caller.narrowed(user_id), (body or ReasonBody()).arguments()
    return Changed(chunk_ids=await memory.restore(chunk_id, **arguments, key=idempotency_key))


@router.post("/memories/{chunk_id}/promote", responses=problems(404, 409))
async def promote_memory(
    chunk_id: MemoryPath,
    caller: Writer,
    user_id: UserId = None,
    idempotency_key: IdempotencyKey = None,
) -> Scored:
    """Raise a memory's score by 0.15, at most to 1."""
    score = await caller.narrowed(user_id).promote(chunk_id, key=idempotency_key)
    return Scored(chunk_id=chunk_id, memory_score=score)


@router.post("/memories/{chunk_id}/demote", responses=problems(404, 409))
async def demote_memory(
    chunk_id: MemoryPath,
    caller: Writer,
    user_id: UserId = None,
    idempotency_key: IdempotencyKey = None,
) -> Scored:
    """Lower a memory's score by 0.15, at least to 0."""
    score = await caller.narrowed(user_id).demote(chunk_id, key=idempotency_key)
    return Scored(chunk_id=chunk_id, memory_score=score)


@router.post("/memories/{chunk_id}/feedback", status_code=204, responses=problems(404, 409))
async def give_feedback(
    chunk_id: MemoryPath,
    body: FeedbackBody,
    caller: Writer,
    user_id: UserId = None,
    idempotency_key: IdempotencyKey = None,
) -> None:
    """Record whether a memory helped; it changes no score."""
    await caller.narrowed(user_id).feedback(chunk_id, **body.arguments(), key=idempotency_key)
