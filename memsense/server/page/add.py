"""Page *Add*: a form that stores an exchange."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated
from uuid import uuid4

from fastapi import APIRouter, Depends, Query
from fastapi.responses import Response

from memsense.errors import MemSenseError
from memsense.server.callers import require_scope
from memsense.server.page.ask import form_error_status
from memsense.server.page.visitors import (
    AnyVisitor,
    Visitor,
    read_form,
    redirect_after_post,
)

router = APIRouter(prefix="/ui/add", include_in_schema=False)

FIELDS = ("user", "session", "user_text", "assistant_text", "tags", "at")


async def find_writer(visitor: AnyVisitor) -> Visitor:
    """Return the visitor; raises ProblemError if the key lacks the scope `write`."""
    require_scope(visitor.caller, "write")
    return visitor


@router.get("")
async def show_form(
    visitor: Annotated[Visitor, Depends(find_writer)],
    user: str = "",
    session: str = "",
    added: Annotated[int, Query(ge=0)] = 0,
) -> Response:
    """Show the form."""
    visitor.caller.whose(user or None)
    fields = {**dict.fromkeys(FIELDS, ""), "user": user, "session": session}
    return _form_page(visitor, fields, added=added)


@router.post("")
async def add(visitor: AnyVisitor) -> Response:
    """Store the exchange of the form, and show it if the key may read it."""
    form = await read_form(visitor, "write")
    fields = {name: form.get(name, "").replace("\r\n", "\n") for name in FIELDS}
    messages: list[dict[str, object]] = []
    for role, name in (("user", "user_text"), ("assistant", "assistant_text")):
        if fields[name].strip():
            messages.append({"role": role, "content": fields[name]})
    try:
        if fields["at"]:
            at = datetime.fromisoformat(fields["at"])
            messages = [{**message, "at": at} for message in messages]
        stored = await visitor.caller.memory.add(
            messages,
            **visitor.caller.whose(fields["user"] or None),
            session_id=fields["session"] or f"page-{uuid4().hex[:8]}",
            tags=[tag.strip() for tag in fields["tags"].split(",") if tag.strip()],
            key=form.get("key") or None,
        )
    except (MemSenseError, ValueError) as error:
        status = form_error_status(error) if isinstance(error, MemSenseError) else 200
        return _form_page(visitor, fields, problem=str(error), status=status)
    chunk_ids = [chunk.chunk_id for chunk in stored]
    if visitor.caller.may("read") and chunk_ids:
        return redirect_after_post(f"/ui/memories/{chunk_ids[0]}")
    return redirect_after_post(f"/ui/add?added={len(chunk_ids)}")


def _form_page(
    visitor: Visitor,
    fields: Mapping[str, str],
    *,
    problem: str | None = None,
    added: int = 0,
    status: int = 200,
) -> Response:
    # The key makes a form that is sent twice store its exchange once.
    values = {"fields": fields, "problem": problem, "added": added, "key": uuid4().hex}
    return visitor.page("add.html", status, **values)
