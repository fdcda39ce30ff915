"""`/v1/memories` and `/v1/sessions`: what is stored, and what becomes of it."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query

from memsense.server.answers import (
    AddedMemories,
    Changed,
    ErasureReceipt,
    History,
    HistoryEntry,
    KeptVersion,
    Memory,
    MemoryPage,
    Scored,
    Session,
    SessionPage,
    User,
    UserPage,
    Versions,
)
from memsense.server.callers import Admin, Forgetter, Reader, Writer
from memsense.server.cursors import ChunkCursor, Limit, SessionCursor, UserCursor
from memsense.server.problems import documented
from memsense.server.requests import (
    MOST_ITEMS,
    AllUsers,
    ChunkId,
    FeedbackBody,
    Id,
    IdempotencyKey,
    NewMemories,
    OfUser,
    ReasonBody,
    UpdateBody,
)
from memsense.types import Granularity, MemoryKind, Status

router = APIRouter(prefix="/v1", tags=["memories"])


@router.post("/memories", status_code=201, responses=documented(409))
async def add_memories(
    body: NewMemories, caller: Writer, idempotency_key: IdempotencyKey = None
) -> AddedMemories:
    """Store messages as exchanges: all or nothing, and each exchange once."""
    options = body.options() | caller.whose(body.user_id)
    added = await caller.memory.add(**options, key=idempotency_key)
    memories = [Memory.of(chunk) for chunk in added]
    return AddedMemories(memories=memories, notes=added.notes, deferred=added.deferred)


@router.get("/memories", responses=documented())
async def list_memories(
    caller: Reader,
    *,
    user_id: OfUser = None,
    all_users: AllUsers = False,
    agent_id: Annotated[Id | None, Query()] = None,
    session_id: Annotated[list[Id] | None, Query(max_length=MOST_ITEMS)] = None,
    project: Annotated[Id | None, Query()] = None,
    since: Annotated[datetime | None, Query(description="from this time on")] = None,
    until: Annotated[datetime | None, Query(description="before this time")] = None,
    tag: Annotated[
        list[Id] | None, Query(max_length=MOST_ITEMS, description="one in common")
    ] = None,
    kind: Annotated[list[MemoryKind] | None, Query(max_length=MOST_ITEMS)] = None,
    granularity: Granularity = "turn",
    status: Annotated[list[Status], Query(max_length=3)] = ["active"],  # noqa: B006 (read only)
    limit: Limit = 50,
    cursor: ChunkCursor = None,
) -> MemoryPage:
    """Memories by event time, the latest first."""
    found = await caller.memory.list(
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
    memories = [Memory.of(chunk) for chunk in found]
    return MemoryPage(memories=memories, next_cursor=found.next_cursor)


@router.get("/sessions", responses=documented())
async def list_sessions(
    caller: Reader,
    *,
    user_id: OfUser = None,
    all_users: AllUsers = False,
    limit: Limit = 50,
    cursor: SessionCursor = None,
) -> SessionPage:
    """Sessions by the time of their last exchange, the latest first."""
    whose = caller.whose(user_id, all_users=all_users)
    found = await caller.memory.sessions(**whose, limit=limit, cursor=cursor)
    sessions = [Session.of(item) for item in found]
    return SessionPage(sessions=sessions, next_cursor=found.next_cursor)


@router.get("/users", responses=documented())
async def list_users(caller: Reader, *, limit: Limit = 50, cursor: UserCursor = None) -> UserPage:
    """The tenant's users by their ids, with what each memory holds."""
    found = await caller.whole().users(limit=limit, cursor=cursor)
    return UserPage(users=[User.of(item) for item in found], next_cursor=found.next_cursor)


@router.get("/memories/{chunk_id}", responses=documented(404))
async def get_memory(chunk_id: ChunkId, caller: Reader, user_id: OfUser = None) -> Memory:
    """One memory, whatever its status, a forgotten one without its texts."""
    return Memory.of(await caller.narrowed(user_id).get(chunk_id))


@router.get("/memories/{chunk_id}/history", responses=documented(404))
async def get_history(chunk_id: ChunkId, caller: Reader, user_id: OfUser = None) -> History:
    """Everything that happened to a memory, oldest first."""
    events = await caller.narrowed(user_id).history(chunk_id)
    return History(events=[HistoryEntry.of(event) for event in events])


@router.get("/memories/{chunk_id}/versions", responses=documented(404))
async def get_versions(chunk_id: ChunkId, caller: Reader, user_id: OfUser = None) -> Versions:
    """What a memory said before it was changed, oldest first."""
    versions = await caller.narrowed(user_id).versions(chunk_id)
    return Versions(versions=[KeptVersion.of(version) for version in versions])


@router.patch("/memories/{chunk_id}", responses=documented(404, 409))
async def update_memory(
    chunk_id: ChunkId,
    body: UpdateBody,
    caller: Writer,
    user_id: OfUser = None,
    idempotency_key: IdempotencyKey = None,
) -> Memory:
    """Change what a memory says, or what is known of it."""
    memory = caller.narrowed(user_id)
    return Memory.of(await memory.update(chunk_id, **body.options(), key=idempotency_key))


@router.delete("/memories/{chunk_id}", responses=documented(404))
async def delete_memory(chunk_id: ChunkId, caller: Admin, user_id: OfUser = None) -> ErasureReceipt:
    """Erase a memory for good, with everything made of it; the receipt proves it."""
    receipt = await caller.narrowed(user_id).delete(chunk_id, by=caller.name)
    return ErasureReceipt.model_validate(receipt.as_dict())


@router.post("/memories/{chunk_id}/archive", responses=documented(404, 409))
async def archive_memory(
    chunk_id: ChunkId,
    caller: Forgetter,
    body: ReasonBody | None = None,
    user_id: OfUser = None,
    idempotency_key: IdempotencyKey = None,
) -> Changed:
    """Take an outdated memory out of every search; restoring undoes it."""
    memory, reason = caller.narrowed(user_id), body.reason if body else None
    return Changed(chunk_ids=await memory.archive(chunk_id, reason=reason, key=idempotency_key))


@router.post("/memories/{chunk_id}/forget", responses=documented(404, 409))
async def forget_memory(
    chunk_id: ChunkId,
    caller: Forgetter,
    body: ReasonBody | None = None,
    user_id: OfUser = None,
    idempotency_key: IdempotencyKey = None,
) -> Changed:
    """Take a memory out of every search; restoring undoes it."""
    memory, reason = caller.narrowed(user_id), body.reason if body else None
    return Changed(chunk_ids=await memory.forget(chunk_id, reason=reason, key=idempotency_key))


@router.post("/memories/{chunk_id}/restore", responses=documented(404, 409))
async def restore_memory(
    chunk_id: ChunkId,
    caller: Forgetter,
    body: ReasonBody | None = None,
    user_id: OfUser = None,
    idempotency_key: IdempotencyKey = None,
) -> Changed:
    """Bring a forgotten or archived memory back."""
    memory, reason = caller.narrowed(user_id), body.reason if body else None
    return Changed(chunk_ids=await memory.restore(chunk_id, reason=reason, key=idempotency_key))


@router.post("/memories/{chunk_id}/promote", responses=documented(404, 409))
async def promote_memory(
    chunk_id: ChunkId,
    caller: Writer,
    user_id: OfUser = None,
    idempotency_key: IdempotencyKey = None,
) -> Scored:
    """Raise a memory's score by 0.15, at most to 1."""
    score = await caller.narrowed(user_id).promote(chunk_id, key=idempotency_key)
    return Scored(chunk_id=chunk_id, memory_score=score)


@router.post("/memories/{chunk_id}/demote", responses=documented(404, 409))
async def demote_memory(
    chunk_id: ChunkId,
    caller: Writer,
    user_id: OfUser = None,
    idempotency_key: IdempotencyKey = None,
) -> Scored:
    """Lower a memory's score by 0.15, at least to 0."""
    score = await caller.narrowed(user_id).demote(chunk_id, key=idempotency_key)
    return Scored(chunk_id=chunk_id, memory_score=score)


@router.post("/memories/{chunk_id}/feedback", status_code=204, responses=documented(404, 409))
async def give_feedback(
    chunk_id: ChunkId,
    body: FeedbackBody,
    caller: Writer,
    user_id: OfUser = None,
    idempotency_key: IdempotencyKey = None,
) -> None:
    """Record whether a memory helped; it changes no score."""
    await caller.narrowed(user_id).feedback(chunk_id, **body.model_dump(), key=idempotency_key)
