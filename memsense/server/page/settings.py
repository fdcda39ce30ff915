"""Page *Settings*: settings in force, profiles, and who changed them."""

from typing import Any
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import Response

from memsense.errors import MemSenseError
from memsense.inputs import shorten
from memsense.search.profiles import read_profile
from memsense.search.settings import NAMESPACE_DEFAULTS
from memsense.server.page.ask import SLIDERS, form_error_status, moved_sliders
from memsense.server.page.visitors import (
    AnyVisitor,
    ReadingVisitor,
    Visitor,
    read_form,
    redirect_after_post,
)
from memsense.server.problems import ProblemError

router = APIRouter(prefix="/ui/settings", include_in_schema=False)

CHANGES = 50


@router.get("")
async def show_settings(visitor: ReadingVisitor, saved: str = "") -> Response:
    """Show the settings in force, the profiles, and the latest changes."""
    return await _settings_page(visitor, saved=saved)


async def _settings_page(
    visitor: Visitor, *, saved: str = "", problem: str | None = None, status: int = 200
) -> Response:
    memory = visitor.caller.whole()
    in_force = await memory.settings.show()
    profiles = await memory.profiles.list()
    return visitor.page(
        "settings.html",
        status,
        settings=in_force,
        profiles=profiles,
        saved=saved if any(item.profile.name == saved for item in profiles) else "",
        changes=await memory.settings.history(limit=CHANGES),
        problem=problem,
        names=["profile", *NAMESPACE_DEFAULTS, *SLIDERS],
    )


@router.post("")
async def change_setting(visitor: AnyVisitor) -> Response:
    """Set one setting, or return it to its default if the value is empty."""
    form = await read_form(visitor, "admin")
    memory, by = visitor.caller.whole(), visitor.caller.name
    name, value = form.get("name", "").strip(), form.get("value", "").strip()
    try:
        if value:
            await memory.settings.set(by=by, **{name: _read_value(value)})
        else:
            await memory.settings.reset(name, by=by)
    except MemSenseError as error:
        return await _settings_page(visitor, problem=str(error), status=form_error_status(error))
    return redirect_after_post("/ui/settings")


@router.post("/profiles")
async def save_profile(visitor: AnyVisitor) -> Response:
    """Store the weights of a replay's sliders as a profile."""
    form = await read_form(visitor, "admin")
    memory, name = visitor.caller.whole(), form.get("name", "").strip()
    try:
        trace = await memory.traces.get(UUID(form.get("trace", "")))
        base = read_profile(trace.profile)
        await memory.profiles.create(
            name, base, by=visitor.caller.name, **moved_sliders(form, base.constants())
        )
    except ValueError as error:
        raise ProblemError(422, f"no trace {shorten(form.get('trace', ''))}") from error
    return redirect_after_post(f"/ui/settings?saved={name}#profiles")


@router.post("/profiles/delete")
async def delete_profile(visitor: AnyVisitor) -> Response:
    """Delete a stored profile."""
    form = await read_form(visitor, "admin")
    await visitor.caller.whole().profiles.delete(form.get("name", ""), by=visitor.caller.name)
    return redirect_after_post("/ui/settings#profiles")


def _read_value(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text
