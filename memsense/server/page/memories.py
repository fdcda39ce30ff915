"""Page *Memories*: sessions, their conversations, single memories, and the actions on them."""

from collections.abc import Sequence
from typing import Annotated, Any, get_args
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, Query
from fastapi import Path as PathParameter
from fastapi.responses import Response

from memsense.errors import MemSenseError, NotFoundError
from memsense.inputs import LARGEST_BIGINT, shorten
from memsense.server.page.ask import form_error_status
from memsense.server.page.markup import list_words, render_markdown
from memsense.server.page.ranked import list_memories, list_sides, mark_superseded
from memsense.server.page.render import encode_query
from memsense.server.page.visitors import (
    AnyVisitor,
    ReadingVisitor,
    Visitor,
    local_path,
    read_form,
    redirect_after_post,
)
from memsense.server.problems import ProblemError
from memsense.server.requests import check_cursor
from memsense.server.routes.transfer import export
from memsense.store.access import KeyScope
from memsense.store.versions import EDIT_DAYS
from memsense.types import Chunk, MemoryKind, ScopeStatistics

router = APIRouter(prefix="/ui/memories", include_in_schema=False)

SESSIONS_PER_PAGE = 30
EXCHANGES_PER_PAGE = 50
MATCHES = 50
OFFERED_USERS = 200
LARGEST_BULK = 200

ChunkId = Annotated[int, PathParameter(ge=1, le=LARGEST_BIGINT)]

ACTIONS: dict[str, KeyScope] = {
    "forget": "forget",
    "restore": "forget",
    "promote": "write",
    "demote": "write",
    "helpful": "write",
    "unhelpful": "write",
}
"""The actions on a memory, with the scope that each needs."""

BULK: dict[str, tuple[KeyScope, str]] = {
    "forget": ("forget", "forgotten"),
    "restore": ("forget", "restored"),
    "tag": ("write", "tagged"),
}
"""The actions on many memories, with the scope that each needs, and how it is reported."""


@router.get("")
async def list_sessions(  # noqa: PLR0917 (fields of a form)
    visitor: ReadingVisitor,
    q: Annotated[str, Query(max_length=8000)] = "",
    user: str = "",
    since: str = "",
    until: str = "",
    tag: str = "",
    kind: str = "",
    project: str = "",
    cursor: Annotated[str | None, Query()] = None,
    done: str = "",
    count: int = 0,
) -> Response:
    """Show the memories whose text has some characters, or sessions; the latest first."""
    fields = {
        "q": q, "user": user, "since": since, "until": until, "tag": tag, "kind": kind,
        "project": project,
    }  # fmt: skip
    values: dict[str, Any] = {
        "fields": fields,
        "users": await _offered_users(visitor),
        "kinds": get_args(MemoryKind),
        "sessions": (),
        "memories": (),
        "following": None,
        "is_later": cursor is not None,
        "problem": None,
        "report": describe_bulk(done, count),
        "here": f"/ui/memories?{encode_query({k: v for k, v in fields.items() if v})}",
    }
    filters: dict[str, Any] = {
        **visitor.whose(user),
        "since": since or None,
        "until": until or None,
        "tags": [tag] if tag else None,
        "kinds": [kind] if kind else None,
        "project": project or None,
    }
    if cursor is not None:
        check_cursor("newest" if q.strip() else "sessions", cursor)
    memory = visitor.caller.memory
    try:
        if q.strip():
            matches = await memory.list(contains=q, **filters, limit=MATCHES, cursor=cursor)
            parts = q.casefold().split()
            words = list_words(chunk.content for chunk in matches)
            marks = [word for word in words if any(it in word.casefold() for it in parts)]
            values["memories"] = await mark_superseded(list_memories(matches, marks), memory)
            values["following"] = next_page_path("/ui/memories", fields, matches.next_cursor)
        else:
            sessions = await memory.sessions(**filters, limit=SESSIONS_PER_PAGE, cursor=cursor)
            values["sessions"] = sessions
            values["following"] = next_page_path("/ui/memories", fields, sessions.next_cursor)
    except MemSenseError as error:
        values["problem"] = str(error)
        return visitor.page("memories.html", form_error_status(error), **values)
    return visitor.page("memories.html", **values)


async def _offered_users(visitor: Visitor) -> Sequence[ScopeStatistics]:
    """Return users to offer in a form; empty for a key that is bound to one user."""
    if visitor.caller.user_id is not None:
        return []
    return await visitor.caller.whole().users(limit=OFFERED_USERS)


@router.get("/export")
async def export_memories(visitor: ReadingVisitor, user: str = "") -> Response:
    """Return a user's memory, or all of it, as the file that `memsense import` reads."""
    whole = not user and visitor.caller.user_id is None
    return await export(visitor.request, visitor.caller, user_id=user or None, all_users=whole)


@router.get("/session")
async def show_session(  # noqa: PLR0917 (fields of an address)
    visitor: ReadingVisitor,
    session: str,
    user: str = "",
    tag: str = "",
    cursor: Annotated[str | None, Query()] = None,
    done: str = "",
    count: int = 0,
) -> Response:
    """Show a session as a conversation, forgotten exchanges included."""
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
    return visitor.page(
        "session.html",
        memories=await mark_superseded(list_memories(exchanges), visitor.caller.memory),
        fields=fields,
        following=next_page_path("/ui/memories/session", fields, exchanges.next_cursor),
        report=describe_bulk(done, count),
        here=f"/ui/memories/session?{encode_query(fields)}",
    )


def next_page_path(path: str, fields: dict[str, str], cursor: str | None) -> str | None:
    """Return the address of a list's next page, or None after the last one."""
    query = {name: value for name, value in fields.items() if value}
    return None if cursor is None else f"{path}?{urlencode({**query, 'cursor': cursor})}"


def describe_bulk(action: str, count: int) -> str:
    """Return what an action on many memories has done; empty without one."""
    if action not in BULK:
        return ""
    return f"{count} {'memory' if count == 1 else 'memories'} {BULK[action][1]}."


@router.get("/{chunk_id}")
async def show_memory(chunk_id: ChunkId, visitor: ReadingVisitor, saved: bool = False) -> Response:
    """Show one memory with its attributes, its history and its former texts."""
    return await _memory_page(visitor, await visitor.caller.memory.get(chunk_id), saved=saved)


async def _memory_page(
    visitor: Visitor, chunk: Chunk, problem: str | None = None, *, saved: bool = False
) -> Response:
    memory = visitor.caller.memory
    [item] = await mark_superseded(list_memories([chunk]), memory)
    return visitor.page(
        "memory.html",
        200 if problem is None else 422,
        chunk=chunk,
        item=item,
        sides=[(speaker, render_markdown(text)) for speaker, text in list_sides(chunk)],
        history=await memory.history(chunk.chunk_id),
        versions=await memory.versions(chunk.chunk_id) if chunk.status == "active" else (),
        problem=problem,
        saved=saved,
        edit_days=EDIT_DAYS,
    )


@router.get("/{chunk_id}/text")
async def show_whole_text(
    chunk_id: ChunkId, visitor: ReadingVisitor, marks: Annotated[str, Query(max_length=8000)] = ""
) -> Response:
    """Return the whole text of a memory without the frame of a page, for a list that cut it."""
    chunk = await visitor.caller.memory.get(chunk_id)
    words = frozenset(marks.split())
    sides = [(speaker, render_markdown(text, words)) for speaker, text in list_sides(chunk)]
    return visitor.page("text_piece.html", sides=sides)


@router.post("/erase")
async def erase(visitor: AnyVisitor) -> Response:
    """Erase a user's memory or a session for good, and lead to the receipt."""
    form = await read_form(visitor, "admin")
    user, session = form.get("user", ""), form.get("session", "")
    if form.get("confirmed") != (session or user):
        raise ProblemError(
            422, "nothing was erased: type the id of the user or session to confirm it"
        )
    memory = visitor.caller.of_user(user)
    receipt = await memory.erase(session_id=session or None, by=visitor.caller.name)
    return redirect_after_post(f"/ui/erasures/{receipt.erasure_id}")


@router.post("/bulk/{action}")
async def change_many(action: str, visitor: AnyVisitor) -> Response:
    """Forget, restore or tag the memories that are checked in a list."""
    if action not in BULK:
        raise ProblemError(404, f"many memories have no action {shorten(action)}")
    form = await read_form(visitor, BULK[action][0])
    numbers = map(str, (await visitor.request.form()).getlist("chunk"))
    chunk_ids = [int(number) for number in numbers if number.isdecimal()]
    if not chunk_ids:
        raise ProblemError(422, "no memory is checked: check at least one")
    if len(chunk_ids) > LARGEST_BULK:
        raise ProblemError(422, f"at most {LARGEST_BULK} memories can be changed at once")
    tag = form.get("tag", "").strip()
    if action == "tag" and not tag:
        raise ProblemError(422, "type the tag that the memories should have")
    memory = visitor.caller.memory
    chunks = await memory.get_many(chunk_ids)
    count = 0
    for chunk_id, chunk in chunks.items():
        if action == "tag":
            if tag in chunk.tags or chunk.status != "active":
                continue
            await memory.update(chunk_id, tags=[*chunk.tags, tag])
        else:
            try:
                await getattr(memory, action)(chunk_id, reason=form.get("reason") or None)
            except NotFoundError:
                continue
        count += 1
    path, _, query = local_path(form.get("back", "/ui/memories")).partition("?")
    fields = {k: v for k, v in parse_qsl(query) if k not in {"done", "count"}}
    return redirect_after_post(f"{path}?{urlencode({**fields, 'done': action, 'count': count})}")


@router.post("/{chunk_id}/edit")
async def edit(chunk_id: ChunkId, visitor: AnyVisitor) -> Response:
    """Change the texts and tags of a memory, and show it."""
    form = await read_form(visitor, "write")
    memory = visitor.caller.memory
    chunk = await memory.get(chunk_id)
    stored = {"user": chunk.user_text, "assistant": chunk.assistant_text}
    # A browser sends all line ends as CRLF, also those that are stored otherwise.
    texts = {side: _join_lines(form[side]) for side in stored if side in form}
    content = {side: text for side, text in texts.items() if text != _join_lines(stored[side])}
    tags = [tag.strip() for tag in form.get("tags", "").split(",") if tag.strip()]
    changes: dict[str, Any] = {}
    if content:
        changes["content"] = content
    if tags != [*chunk.tags]:
        changes["tags"] = tags
    try:
        if changes:
            await memory.update(chunk_id, **changes, reason=form.get("reason") or None)
    except MemSenseError as error:
        return await _memory_page(visitor, chunk, str(error))
    return redirect_after_post(f"/ui/memories/{chunk_id}{'?saved=true' if changes else ''}")


@router.post("/{chunk_id}/undo")
async def undo_edit(chunk_id: ChunkId, visitor: AnyVisitor) -> Response:
    """Give a memory the texts and tags of a former version; that is an edit, too."""
    form = await read_form(visitor, "write")
    memory = visitor.caller.memory
    rows = [it for it in await memory.versions(chunk_id) if str(it.version) == form.get("version")]
    if not rows:
        raise ProblemError(404, f"memory {chunk_id} has no such version any more")
    was, reason = rows[0].content, f"undone: version {rows[0].version} again"
    texts = {side: was[f"{side}_text"] for side in ("user", "assistant")}
    if_version = form.get("if_version") or None
    try:
        await memory.update(
            chunk_id, content=texts, tags=was["tags"], reason=reason, if_version=if_version
        )
    except MemSenseError as error:
        return await _memory_page(visitor, await memory.get(chunk_id), str(error))
    return redirect_after_post(f"/ui/memories/{chunk_id}?saved=true")


def _join_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


@router.post("/{chunk_id}/not-a-change")
async def reject_change(chunk_id: ChunkId, visitor: AnyVisitor) -> Response:
    """Reject a change that a memory is part of, and show the memory again."""
    form = await read_form(visitor, "write")
    older, newer = (int(form[side]) if form[side].isdecimal() else 0 for side in ("older", "newer"))
    await visitor.caller.memory.decide_change(older, newer, "rejected")
    return redirect_after_post(f"/ui/memories/{chunk_id}")


@router.post("/{chunk_id}/{action}")
async def change_memory(chunk_id: ChunkId, action: str, visitor: AnyVisitor) -> Response:
    """Run the action of a memory's button, and show the memory again."""
    if action not in ACTIONS:
        raise ProblemError(404, f"a memory has no action {shorten(action)}")
    form = await read_form(visitor, ACTIONS[action])
    memory: Any = visitor.caller.memory
    if action in {"helpful", "unhelpful"}:
        await memory.feedback(
            chunk_id,
            helpful=action == "helpful",
            question=form.get("question") or None,
            note=form.get("note") or None,
        )
    elif action in {"forget", "restore"}:
        await getattr(memory, action)(chunk_id, reason=form.get("reason") or None)
    else:
        await getattr(memory, action)(chunk_id)
    return redirect_after_post(form.get("back") or f"/ui/memories/{chunk_id}")
