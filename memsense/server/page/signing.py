"""Signing in and out, and what is served beside the pages."""

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import FileResponse, Response

from memsense.server.callers import address_of, find_caller, state_of
from memsense.server.page.render import STATIC, write_page
from memsense.server.page.sessions import COOKIE, is_token
from memsense.server.page.visiting import (
    HOME,
    SIGN_IN,
    STALE,
    local_path,
    see_other,
    sessions_of,
    set_cookie,
)
from memsense.server.problems import ProblemError

router = APIRouter(include_in_schema=False)

KINDS = {
    "htmx.min.js": "text/javascript",
    "style.css": "text/css",
    "favicon.svg": "image/svg+xml",
}
FOR_A_DAY = {"Cache-Control": "public, max-age=86400"}


@router.get("/")
@router.get("/ui")
async def go_home() -> Response:
    """The page begins at /ui/."""
    return see_other(HOME)


@router.get("/ui/static/{name}")
async def get_static(name: str) -> Response:
    """The style, the script and the icon."""
    if name not in KINDS:
        raise ProblemError(404, "no such file")
    return FileResponse(Path(STATIC / name), media_type=KINDS[name], headers=FOR_A_DAY)


@router.get("/favicon.ico")
async def get_icon() -> Response:
    """The icon where browsers look for one."""
    return await get_static("favicon.svg")


@router.get(SIGN_IN)
async def show_sign_in(
    request: Request, next_path: Annotated[str, Query(alias="next")] = HOME
) -> Response:
    """The form that takes a key."""
    if not state_of(request).options.needs_key:
        return see_other(HOME)
    return write_page("sign_in.html", next_path=local_path(next_path), problem=None)


@router.post(SIGN_IN)
async def sign_in(
    request: Request,
    key: Annotated[str, Form(max_length=200)] = "",
    next_path: Annotated[str, Form(alias="next")] = HOME,
) -> Response:
    """Start a session with the key; a wrong one is told."""
    key = key.strip()
    try:
        await find_caller(state_of(request), key, address_of(request))
    except ProblemError as error:
        told = "This key opens nothing." if error.status == 401 else error.detail  # noqa: PLR2004
        values = {"next_path": local_path(next_path), "problem": told}
        return write_page("sign_in.html", error.status, **values)
    sessions = sessions_of(request)
    sessions.end(request.cookies.get(COOKIE))
    cookie, _ = sessions.start(key)
    response = see_other(next_path)
    set_cookie(request, response, cookie)
    return response


@router.post("/ui/sign-out")
async def sign_out(request: Request, token: Annotated[str, Form()] = "") -> Response:
    """End the session."""
    cookie = request.cookies.get(COOKIE)
    session = sessions_of(request).find(cookie)
    if session is not None:
        if not is_token(session, token):
            raise ProblemError(403, STALE)
        sessions_of(request).end(cookie)
    response = see_other(HOME)
    response.delete_cookie(COOKIE, path="/ui")
    return response
