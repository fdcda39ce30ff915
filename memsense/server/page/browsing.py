"""The page *Memories*: sessions, their exchanges, single memories, and what is done with them."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, get_args
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query
from fastapi import Path as PathParameter
from fastapi.responses import Response

from memsense.inputs import LARGEST_BIGINT
from memsense.server.cursors import check_cursor
from memsense.server.page.visiting import (
    Reading,
    Visitor,
    find_visitor,
    read_form,
    see_other,
)
from memsense.server.problems import ProblemError
from memsense.store.access import KeyScope
from memsense.types import MemoryKind, ScopeStatistics

router = APIRouter(prefix="/ui/memories", include_in_schema=False)

SESSIONS = 30
EXCHANGES = 100
USERS = 200

ChunkId = Annotated[int, PathParameter(ge=1, le=LARGEST_BIGINT)]
Visiting = Annotated[Visitor, Depends(find_visitor)]

ACTIONS: dict[str, KeyScope] = {
    "forget": "forget",
    "restore": "forget",
    "promote": "write",
    "demote": "write",
    "helpful": "write",
    "unhelpful": "write",
}
"""What may be done with a memory, and what its key must open."""


@router.get("")
async def list_sessions(
    visitor: Reading,
    *,
    user: str = "",
    since: str = "",
    until: str = "",
    tag: str = "",
    kind: MemoryKind | Literal[""] = "",
    project: str = "",
    cursor: Annotated[str | None, Query()] = None,
) -> Response:
    """Sessions as a timeline, the latest first."""
    memory = visitor.caller.memory
    if cursor is not None:
        check_cursor("sessions", cursor)
    found = await memory.sessions(
        **visitor.whose(user),
        since=since or None,
        until=until or None,
        tags=[tag] if tag else None,
        kinds=[kind] if kind else None,
        project=project or None,
        limit=SESSIONS,
        cursor=cursor,
    )
    asked = {
        "user": user,
        "since": since,
        "until": until,
        "tag": tag,
        "kind": kind,
        "project": project,
    }
    following = following_page("/ui/memories", asked, found.next_cursor)
    return visitor.page(
        "memories.html",
        sessions=found,
        users=await _list_users(visitor),
        asked=asked,
        kinds=get_args(MemoryKind),
        following=following,
    )


async def _list_users(visitor: Visitor) -> Sequence[ScopeStatistics]:
    """Those whom the form offers; to one user, nobody."""
    if visitor.caller.user_id is not None:
        return []
    return await visitor.caller.whole().users(limit=USERS)


@router.get("/session")
async def show_session(
    visitor: Reading,
    session: str,
    user: str = "",
    tag: str = "",
    cursor: Annotated[str | None, Query()] = None,
) -> Response:
    """One session's exchanges in order, with those that are forgotten."""
    if cursor is not None:
        check_cursor("oldest", cursor)
    user = user or visitor.caller.user_id or ""
    found = await visitor.caller.memory.list(
        **visitor.caller.whose(user),
        session_ids=[session],
        tags=[tag] if tag else None,
        statuses=["active", "archived", "deleted"],
        order="oldest",
        limit=EXCHANGES,
        cursor=cursor,
    )
    asked = {"user": user, "session": session, "tag": tag}
    following = following_page("/ui/memories/session", asked, found.next_cursor)
    return visitor.page("session.html", exchanges=found, asked=asked, following=following)


def following_page(path: str, asked: dict[str, str], cursor: str | None) -> str | None:
    """The address of the next page."""
    given = {name: value for name, value in asked.items() if value}
    return None if cursor is None else f"{path}?{urlencode({**given, 'cursor': cursor})}"


@router.get("/{chunk_id}")
async def show_memory(chunk_id: ChunkId, visitor: Reading) -> Response:
    """One memory with everything known of it."""
    memory = visitor.caller.memory
    chunk = await memory.get(chunk_id)
    history = await memory.history(chunk_id)
    return visitor.page("memory.html", chunk=chunk, history=history)


@router.post("/{chunk_id}/{action}")
async def change_memory(chunk_id: ChunkId, action: str, visitor: Visiting) -> Response:
    """Do what a button of a memory says, and show it again."""
    if action not in ACTIONS:
        raise ProblemError(404, "there is no such action")
    form = await read_form(visitor, ACTIONS[action])
    memory: Any = visitor.caller.memory
    if action in {"helpful", "unhelpful"}:
        await memory.feedback(chunk_id, helpful=action == "helpful", note=form.get("note") or None)
    elif action in {"forget", "restore"}:
        await getattr(memory, action)(chunk_id, reason=form.get("reason") or None)
    else:
        await getattr(memory, action)(chunk_id)
    return see_other(f"/ui/memories/{chunk_id}")


@router.post("/erase")
async def erase(visitor: Visiting) -> Response:
    """Erase a user's memory for good, and show the receipt."""
    form = await read_form(visitor, "admin")
    user, session = form.get("user", ""), form.get("session", "")
    if form.get("confirmed") != (session or user):
        raise ProblemError(422, "nothing was erased: type the id of what is to be erased")
    memory = visitor.caller.of_user(user)
    receipt = await memory.erase(session_id=session or None, by=visitor.caller.name)
    return visitor.page("receipt.html", receipt=receipt.as_dict())
