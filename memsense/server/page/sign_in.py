"""Sign-in, sign-out, and the static files of the page."""

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import FileResponse, Response

from memsense.server.callers import find_caller, state_of
from memsense.server.page.render import STATIC
from memsense.server.page.visitors import (
    COOKIE,
    HOME,
    SIGN_IN,
    STALE_FORM,
    local_path,
    redirect_after_post,
    render_alone,
    sessions_of,
    set_cookie,
)
from memsense.server.problems import ProblemError

router = APIRouter(include_in_schema=False)

STATIC_FILES = {
    "htmx.min.js": "text/javascript",
    "page.js": "text/javascript",
    "style.css": "text/css",
    "favicon.svg": "image/svg+xml",
}
CACHE_FOR_A_DAY = {"Cache-Control": "public, max-age=86400"}


@router.get("/")
@router.get("/ui")
async def go_home() -> Response:
    """Redirect to the page's home."""
    return redirect_after_post(HOME)


@router.get("/ui/static/{name}")
async def get_static(name: str) -> Response:
    """Return the style sheet, the script or the icon."""
    # Only names of the table, so that no path leads out of the folder.
    if name not in STATIC_FILES:
        raise ProblemError(404, "no such file")
    return FileResponse(Path(STATIC / name), media_type=STATIC_FILES[name], headers=CACHE_FOR_A_DAY)


@router.get("/favicon.ico")
async def get_icon() -> Response:
    """Return the icon at the path where browsers look for one."""
    return await get_static("favicon.svg")


@router.get(SIGN_IN)
async def show_sign_in(
    request: Request, next_path: Annotated[str, Query(alias="next")] = HOME
) -> Response:
    """Show the form that asks for a key."""
    if not state_of(request).options.needs_key:
        return redirect_after_post(HOME)
    return render_alone("sign_in.html", next_path=local_path(next_path), problem=None)


@router.post(SIGN_IN)
async def sign_in(
    request: Request,
    key: Annotated[str, Form(max_length=200)] = "",
    next_path: Annotated[str, Form(alias="next")] = HOME,
) -> Response:
    """Start a session with the key, or show the form again with what is wrong."""
    key = key.strip()
    try:
        await find_caller(request, key, None)
    except ProblemError as error:
        is_wrong = error.status == 401  # noqa: PLR2004
        problem = "This key is wrong, expired or revoked." if is_wrong else error.detail
        values = {"next_path": local_path(next_path), "problem": problem}
        return render_alone("sign_in.html", error.status, **values)
    sessions = sessions_of(request)
    # A new cookie at each sign-in, so that no one else can plant one in advance (session fixation).
    sessions.end(request.cookies.get(COOKIE))
    cookie, _ = sessions.start(key)
    response = redirect_after_post(next_path)
    set_cookie(request, response, cookie)
    return response


@router.post("/ui/sign-out")
async def sign_out(request: Request, token: Annotated[str, Form()] = "") -> Response:
    """End the session."""
    cookie = request.cookies.get(COOKIE)
    session = sessions_of(request).find(cookie)
    if session is not None:
        if not session.has_token(token):
            raise ProblemError(403, STALE_FORM)
        sessions_of(request).end(cookie)
    response = redirect_after_post(HOME)
    response.delete_cookie(COOKIE, path="/ui")
    return response
