"""What every page starts from: who looks, and what a form may do."""

from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Depends, Request
from fastapi.responses import RedirectResponse, Response

from memsense.search.profiles import PROFILES
from memsense.server.callers import Caller, address_of, find_caller, require_scope, state_of
from memsense.server.page.render import write_page
from memsense.server.page.sessions import (
    COOKIE,
    LASTS_SECONDS,
    PageSession,
    PageSessions,
    is_token,
)
from memsense.server.problems import ProblemError
from memsense.store.access import KeyScope

HOME = "/ui/"
SIGN_IN = "/ui/sign-in"
STALE = "this form is stale or came from elsewhere: go back, load the page again, and repeat it"


class SignInNeededError(Exception):
    """A page needs somebody to sign in first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Who looks at a page."""

    request: Request
    session: PageSession
    cookie: str | None
    caller: Caller

    def whose(self, user: str) -> dict[str, Any]:
        """The keywords that say whose memory is looked at: of the user in the form, else all that
        the key opens; raises ProblemError for another user than the key's."""
        is_all = not user and self.caller.user_id is None
        return self.caller.whose(user or None, all_users=is_all)

    async def profile_names(self) -> list[str]:
        """The profiles that forms offer; to one user, those that are shipped."""
        if self.caller.user_id is not None:
            return [*PROFILES]
        return [item.profile.name for item in await self.caller.whole().profiles.list()]

    def page(self, name: str, status: int = 200, **values: Any) -> Response:
        """A page for the visitor, with the cookie of a session that began just now."""
        shared = {
            "caller": self.caller,
            "token": self.session.token,
            "is_signed_in": self.session.key is not None,
            "own": self.caller.user_id,
            "path": self.request.url.path,
        }
        response = write_page(name, status, **shared, **values)
        if self.cookie is not None:
            set_cookie(self.request, response, self.cookie)
        return response


def sessions_of(request: Request) -> PageSessions:
    """The sessions of the server."""
    return request.app.state.page_sessions


def set_cookie(request: Request, response: Response, cookie: str) -> None:
    """Let the browser keep a session's cookie, out of reach of scripts and other sites."""
    response.set_cookie(
        COOKIE,
        cookie,
        max_age=LASTS_SECONDS,
        path="/ui",
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )


async def find_visitor(request: Request) -> Visitor:
    """Who looks; raises SignInNeededError where a key is asked for and none is known."""
    state, sessions = state_of(request), sessions_of(request)
    session, cookie = sessions.find(request.cookies.get(COOKIE)), None
    if session is None:
        if state.options.needs_key:
            raise SignInNeededError
        cookie, session = sessions.start(None)
    try:
        caller = await find_caller(state, session.key, address_of(request))
    except ProblemError as error:
        if error.status == 401:  # noqa: PLR2004 (its key opens nothing any more)
            raise SignInNeededError from error
        raise
    return Visitor(request=request, session=session, cookie=cookie, caller=caller)


async def find_reader(visitor: Annotated[Visitor, Depends(find_visitor)]) -> Visitor:
    """Who looks at memory; raises ProblemError without the scope."""
    require_scope(visitor.caller, "read")
    return visitor


Reading = Annotated[Visitor, Depends(find_reader)]


async def read_form(visitor: Visitor, scope: KeyScope) -> dict[str, str]:
    """The fields of a form, whose sender may do this; raises ProblemError."""
    form = await visitor.request.form()
    if not is_token(visitor.session, form.get("token")):
        raise ProblemError(403, STALE)
    require_scope(visitor.caller, scope)
    return {name: value for name, value in form.items() if isinstance(value, str)}


def see_other(path: str) -> Response:
    """Go on to a page of this server's."""
    return RedirectResponse(local_path(path), status_code=303)


def local_path(path: str) -> str:
    """The path, if it is one of the page's; else where the page begins."""
    is_local = path.startswith(HOME) and "\\" not in path and path.isprintable()
    return path if is_local else HOME


def sign_in_path(request: Request) -> str:
    """Where to sign in, coming back to this page."""
    if request.method != "GET":
        return SIGN_IN
    query = f"?{request.url.query}" if request.url.query else ""
    return f"{SIGN_IN}?next={quote(request.url.path + query, safe='')}"
