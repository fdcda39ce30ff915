"""Pages *Settings*, *Keys*, *Erasures* and *Health*, for who operates a memory."""

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from memsense.doctor.checks import examine_tenant, list_sizes
from memsense.doctor.sizes import in_units
from memsense.errors import MemSenseError
from memsense.inputs import LARGEST_LIMIT, shorten
from memsense.search.profiles import read_profile
from memsense.search.settings import NAMESPACE_DEFAULTS
from memsense.server.callers import require_scope, state_of
from memsense.server.page.ask import SLIDERS, form_error_status, moved_sliders
from memsense.server.page.visitors import (
    AnyVisitor,
    ReadingVisitor,
    Visitor,
    read_form,
    redirect_after_post,
)
from memsense.server.problems import ProblemError
from memsense.store.access import SCOPES, NewKey

router = APIRouter(prefix="/ui", include_in_schema=False)

CHANGES = 50
RECEIPTS = 100
DEAD_JOBS = 50
USERS = 100


async def find_admin(visitor: AnyVisitor) -> Visitor:
    """Return the visitor; raises ProblemError if the key lacks the scope `admin`."""
    require_scope(visitor.caller, "admin")
    return visitor


Admin = Annotated[Visitor, Depends(find_admin)]


# Settings -----------------------------------------------------------------------------------------


@router.get("/settings")
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


@router.post("/settings")
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


@router.post("/settings/profiles")
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


@router.post("/settings/profiles/delete")
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


# Keys ---------------------------------------------------------------------------------------------


@router.get("/keys")
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


@router.post("/keys")
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


@router.post("/keys/revoke")
async def revoke_key(visitor: AnyVisitor) -> Response:
    """Revoke a key for good."""
    form = await read_form(visitor, "admin")
    await visitor.caller.whole().access_keys.revoke(form.get("key", ""))
    return redirect_after_post("/ui/keys")


# Erasures -----------------------------------------------------------------------------------------


@router.get("/erasures")
async def list_erasures(visitor: Admin, about: str = "") -> Response:
    """Show the receipts, or those about an id."""
    receipts = await visitor.caller.whole().erasures.list(limit=RECEIPTS, about=about or None)
    return visitor.page("erasures.html", receipts=receipts, about=about)


@router.get("/erasures/{erasure_id}")
async def show_erasure(erasure_id: UUID, visitor: Admin) -> Response:
    """Show one receipt."""
    receipts = await visitor.caller.whole().erasures.list(limit=LARGEST_LIMIT)
    for receipt in receipts:
        if receipt.erasure_id == erasure_id:
            return visitor.page("receipt.html", receipt=receipt.as_dict())
    raise ProblemError(404, f"no erasure {erasure_id} in this namespace")


# Health -------------------------------------------------------------------------------------------


@router.get("/health")
async def show_health(visitor: ReadingVisitor) -> Response:
    """Show the state of the tenant's memory."""
    memory = visitor.caller.whole()
    # Sizes are those of the whole database, which is not every reader's business.
    report, sizes = None, []
    if visitor.caller.may("admin"):
        state, tenant = state_of(visitor.request), visitor.caller.tenant
        namespace = visitor.caller.namespace
        pool = state.tenants.pool(tenant)
        settings = state.tenants.settings.model_copy(
            update={"tenant": tenant, "namespace": namespace}
        )

        def examine() -> Any:
            embedder = state.tenants.memory(tenant, namespace).embedder
            return examine_tenant(pool, settings, embedder)

        report = await state.threads.run(examine)
        rows = await state.threads.run(partial(list_sizes, pool))
        sizes = [{**row, "size": in_units(row["bytes"])} for row in rows]
    return visitor.page(
        "health.html",
        users=await memory.users(limit=USERS),
        jobs=await memory.jobs.count(),
        dead=await memory.jobs.list("dead", limit=DEAD_JOBS),
        report=report,
        sizes=sizes,
    )


@router.post("/health/jobs/{action}")
async def change_jobs(action: str, visitor: AnyVisitor) -> Response:
    """Retry or drop a dead job, or all of them."""
    form = await read_form(visitor, "admin")
    job_id = form.get("job", "")
    jobs = visitor.caller.whole().jobs
    job_ids = [int(job_id)] if job_id.isdecimal() else None
    if action == "retry":
        await jobs.retry(job_ids)
    elif action == "drop":
        await jobs.drop(job_ids)
    else:
        raise ProblemError(404, f"a job has no action {shorten(action)}; it has retry and drop")
    return redirect_after_post("/ui/health")
