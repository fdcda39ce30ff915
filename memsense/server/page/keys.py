"""Page *Keys*: the tenant's access keys, with their scopes and uses."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from memsense.errors import MemSenseError
from memsense.server.callers import require_scope
from memsense.server.page.ask import form_error_status
from memsense.server.page.visitors import (
    AnyVisitor,
    Visitor,
    find_visitor,
    read_form,
    redirect_after_post,
)
from memsense.store.access import SCOPES, NewKey

router = APIRouter(prefix="/ui/keys", include_in_schema=False)


async def find_admin(visitor: Annotated[Visitor, Depends(find_visitor)]) -> Visitor:
    """Return the visitor; raises ProblemError if the key lacks the scope `admin`."""
    require_scope(visitor.caller, "admin")
    return visitor


Admin = Annotated[Visitor, Depends(find_admin)]


@router.get("")
async def list_keys(visitor: Admin) -> Response:
    """Show the tenant's keys and the form that creates one."""
    return await _keys_page(visitor)


async def _keys_page(
    visitor: Visitor, *, new: NewKey | None = None, problem: str | None = None, status: int = 200
) -> Response:
    keys = await visitor.caller.whole().access_keys.list()
    return visitor.page(
        "keys.html",
        status,
        keys=[(key, _state_of(key)) for key in reversed(keys)],
        scopes=SCOPES,
        new=new,
        problem=problem,
    )


def _state_of(key: Any) -> str:
    if key.revoked_at is not None:
        return "revoked"
    return "valid" if key.is_open() else "expired"


@router.post("")
async def create_key(visitor: AnyVisitor) -> Response:
    """Create a key, and show its text once."""
    form = await read_form(visitor, "admin")
    days = form.get("days", "")
    try:
        new = await visitor.caller.whole().access_keys.create(
            [scope for scope in SCOPES if form.get(f"scope-{scope}")],
            name=form.get("name") or "unnamed",
            user_id=form.get("user") or None,
            namespace=form.get("namespace") or None,
            expires_at=datetime.now(UTC) + timedelta(days=int(days)) if days.isdecimal() else None,
            by=visitor.caller.name,
        )
    except (MemSenseError, OverflowError) as error:
        status = form_error_status(error) if isinstance(error, MemSenseError) else 200
        return await _keys_page(visitor, problem=str(error), status=status)
    # Not a redirect: no address may ever hold the key's text.
    return await _keys_page(visitor, new=new)


@router.post("/revoke")
async def revoke_key(visitor: AnyVisitor) -> Response:
    """Revoke a key for good."""
    form = await read_form(visitor, "admin")
    await visitor.caller.whole().access_keys.revoke(form.get("key", ""))
    return redirect_after_post("/ui/keys")
