"""Page *Memories*: sessions, their exchanges, single memories, and the actions on them."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, get_args
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query
from fastapi import Path as PathParameter
from fastapi.responses import Response

from memsense.inputs import LARGEST_BIGINT, shorten
from memsense.server.page.visitors import (
    ReadingVisitor,
    Visitor,
    find_visitor,
    read_form,
    redirect_after_post,
)
from memsense.server.problems import ProblemError
from memsense.server.requests import check_cursor
from memsense.store.access import KeyScope
from memsense.types import MemoryKind, ScopeStatistics

router = APIRouter(prefix="/ui/memories", include_in_schema=False)

SESSIONS_PER_PAGE = 30
EXCHANGES_PER_PAGE = 100
OFFERED_USERS = 200

ChunkId = Annotated[int, PathParameter(ge=1, le=LARGEST_BIGINT)]
AnyVisitor = Annotated[Visitor, Depends(find_visitor)]

ACTIONS: dict[str, KeyScope] = {
    "forget": "forget",
    "restore": "forget",
    "promote": "write",
    "demote": "write",
    "helpful": "write",
    "unhelpful": "write",
}
"""The actions on a memory, with the scope that each needs."""


@router.get("")
async def list_sessions(
    visitor: ReadingVisitor,
    *,
    user: str = "",
    since: str = "",
    until: str = "",
    tag: str = "",
    kind: MemoryKind | Literal[""] = "",
    project: str = "",
    cursor: Annotated[str | None, Query()] = None,
) -> Response:
    """Show sessions as a timeline, latest first."""
    memory = visitor.caller.memory
    if cursor is not None:
        check_cursor("sessions", cursor)
    sessions = await memory.sessions(
        **visitor.whose(user),
        since=since or None,
        until=until or None,
        tags=[tag] if tag else None,
        kinds=[kind] if kind else None,
        project=project or None,
        limit=SESSIONS_PER_PAGE,
        cursor=cursor,
    )
    # To a key of one user the form offers no choice of users.
    users: Sequence[ScopeStatistics] = []
    if visitor.caller.user_id is None:
        users = await visitor.caller.whole().users(limit=OFFERED_USERS)
    fields = {
        "user": user,
        "since": since,
        "until": until,
        "tag": tag,
        "kind": kind,
        "project": project,
    }
    return visitor.page(
        "memories.html",
        sessions=sessions,
        users=users,
        asked=fields,
        kinds=get_args(MemoryKind),
        following=next_page_path("/ui/memories", fields, sessions.next_cursor),
    )


@router.get("/session")
async def show_session(
    visitor: ReadingVisitor,
    session: str,
    user: str = "",
    tag: str = "",
    cursor: Annotated[str | None, Query()] = None,
) -> Response:
    """Show a session's exchanges in order, forgotten ones included."""
    if cursor is not None:
        check_cursor("oldest", cursor)
    user = user or visitor.caller.user_id or ""
    exchanges = await visitor.caller.memory.list(
        **visitor.caller.whose(user),
        session_ids=[session],
        tags=[tag] if tag else None,
        statuses=["active", "archived", "deleted"],
        order="oldest",
        limit=EXCHANGES_PER_PAGE,
        cursor=cursor,
    )
    fields = {"user": user, "session": session, "tag": tag}
    following = next_page_path("/ui/memories/session", fields, exchanges.next_cursor)
    return visitor.page("session.html", exchanges=exchanges, asked=fields, following=following)


def next_page_path(path: str, fields: dict[str, str], cursor: str | None) -> str | None:
    """Return the address of a list's next page, or None after the last one."""
    query = {name: value for name, value in fields.items() if value}
    return None if cursor is None else f"{path}?{urlencode({**query, 'cursor': cursor})}"


@router.get("/{chunk_id}")
async def show_memory(chunk_id: ChunkId, visitor: ReadingVisitor) -> Response:
    """Show one memory with its attributes and its history."""
    memory = visitor.caller.memory
    chunk = await memory.get(chunk_id)
    history = await memory.history(chunk_id)
    return visitor.page("memory.html", chunk=chunk, history=history)


@router.post("/{chunk_id}/{action}")
async def change_memory(chunk_id: ChunkId, action: str, visitor: AnyVisitor) -> Response:
    """Run the action of a memory's button, and show the memory again."""
    if action not in ACTIONS:
        raise ProblemError(404, f"a memory has no action {shorten(action)}")
    form = await read_form(visitor, ACTIONS[action])
    memory: Any = visitor.caller.memory
    if action in {"helpful", "unhelpful"}:
        await memory.feedback(chunk_id, helpful=action == "helpful", note=form.get("note") or None)
    elif action in {"forget", "restore"}:
        await getattr(memory, action)(chunk_id, reason=form.get("reason") or None)
    else:
        await getattr(memory, action)(chunk_id)
    return redirect_after_post(f"/ui/memories/{chunk_id}")


@router.post("/erase")
async def erase(visitor: AnyVisitor) -> Response:
    """Erase a user's memory for good, and show the receipt."""
    form = await read_form(visitor, "admin")
    user, session = form.get("user", ""), form.get("session", "")
    if form.get("confirmed") != (session or user):
        raise ProblemError(
            422, "nothing was erased: type the id of the user or session to confirm it"
        )
    memory = visitor.caller.of_user(user)
    receipt = await memory.erase(session_id=session or None, by=visitor.caller.name)
    return visitor.page("receipt.html", receipt=receipt.as_dict())
