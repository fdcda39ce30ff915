"""Visitors of the page: sessions and their cookies, sign-in, and the checks of forms."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest
from secrets import token_urlsafe
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote, urlsplit

from fastapi import Depends, Request
from fastapi.responses import RedirectResponse, Response

from memsense.inputs import Checker, Name
from memsense.search.profiles import PROFILES
from memsense.server.callers import Caller, find_caller, names_of, require_scope, state_of
from memsense.server.page.render import render
from memsense.server.problems import TITLES, ProblemError, describe
from memsense.store.access import KeyScope

HOME = "/ui/"
SIGN_IN = "/ui/sign-in"
STALE_FORM = "this form is out of date, or came from another site: reload the page and try again"

COOKIE = "memsense_session"
SESSION_SECONDS = 12 * 3600
LARGEST_SESSION_COUNT = 10_000


@dataclass(slots=True)
class PageSession:
    """A browser's session: its key, or None before sign-in, and the namespace that it chose."""

    key: str | None
    secret: str
    until: float
    namespace: str | None = None

    @property
    def token(self) -> str:
        """Token of the session's forms; one that was drawn in another namespace is out of date."""
        return sha256(f"{self.secret} {self.namespace}".encode()).hexdigest()

    def has_token(self, value: object) -> bool:
        """Return whether a form with this token came from a page of the session."""
        token = value if isinstance(value, str) else ""
        return compare_digest(self.token.encode(), token.encode(errors="replace"))


class PageSessions:
    """Sessions of this process, by a hash of their cookie.

    The cookie holds no key, so that a key can't be read from a browser's profile.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sessions: dict[bytes, PageSession] = {}

    def start(self, key: str | None) -> tuple[str, PageSession]:
        """Start a session; return its cookie and the session."""
        cookie = token_urlsafe(32)
        session = PageSession(key, token_urlsafe(32), self._clock() + SESSION_SECONDS)
        self._sessions[_hash_cookie(cookie)] = session
        # Without keys, every visitor without a cookie starts a session: drop the oldest.
        if len(self._sessions) > LARGEST_SESSION_COUNT:
            del self._sessions[next(iter(self._sessions))]
        return cookie, session

    def find(self, cookie: str | None) -> PageSession | None:
        """Return the session of a cookie, or None if it is unknown or has expired."""
        session = self._sessions.get(_hash_cookie(cookie)) if cookie else None
        return session if session is not None and self._clock() < session.until else None

    def end(self, cookie: str | None) -> None:
        """End the session of a cookie."""
        if cookie:
            self._sessions.pop(_hash_cookie(cookie), None)


def _hash_cookie(cookie: str) -> bytes:
    return sha256(cookie.encode(errors="replace")).digest()


class SignInNeededError(Exception):
    """A page needs a signed-in visitor."""


class PageLink(NamedTuple):
    """A page in the navigation, and what a key needs to open it."""

    address: str
    name: str
    icon: str
    scope: KeyScope
    is_of_tenant: bool = False


PAGES = (
    PageLink(HOME, "Ask", "ask", "read"),
    PageLink("/ui/context", "Context", "context", "read"),
    PageLink("/ui/memories", "Memories", "memories", "read"),
    PageLink("/ui/add", "Add", "add", "write"),
    PageLink("/ui/traces", "Traces", "traces", "read"),
    PageLink("/ui/questions", "Questions", "questions", "read", is_of_tenant=True),
    PageLink("/ui/settings", "Settings", "settings", "read", is_of_tenant=True),
    PageLink("/ui/keys", "Keys", "keys", "admin", is_of_tenant=True),
    PageLink("/ui/erasures", "Erasures", "erasures", "admin", is_of_tenant=True),
    PageLink("/ui/health", "Health", "health", "read", is_of_tenant=True),
)


def list_pages(caller: Caller) -> list[PageLink]:
    """Return the pages that a key opens."""
    is_whole = caller.user_id is None
    return [
        page for page in PAGES if caller.may(page.scope) and (is_whole or not page.is_of_tenant)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """A visitor of a page; `cookie` is set if the session has just started."""

    request: Request
    session: PageSession
    cookie: str | None
    caller: Caller
    namespaces: Sequence[str]

    def whose(self, user: str) -> dict[str, Any]:
        """Return the arguments that say whose memory a page shows.

        It is that of the user in the form, else all that the key opens. Raises ProblemError for
        another user than the key's.
        """
        is_all = not user and self.caller.user_id is None
        return self.caller.whose(user or None, all_users=is_all)

    async def profile_names(self) -> list[str]:
        """Return the profiles to offer; a key of one user sees only the built-in ones."""
        if self.caller.user_id is not None:
            return [*PROFILES]
        return [item.profile.name for item in await self.caller.whole().profiles.list()]

    def page(self, name: str, status: int = 200, **values: Any) -> Response:
        """Return the page of a template for the visitor."""
        shared = {
            "caller": self.caller,
            "tenant": self.caller.tenant,
            "namespace": self.caller.namespace,
            "namespaces": self.namespaces,
            "pages": list_pages(self.caller),
            "token": self.session.token,
            "is_signed_in": self.session.key is not None,
            "own": self.caller.user_id,
            "path": self.request.url.path,
        }
        response = render(name, status, **shared, **values)
        if self.cookie is not None:
            set_cookie(self.request, response, self.cookie)
        return response


def sessions_of(request: Request) -> PageSessions:
    """Return the server's sessions."""
    return request.app.state.page_sessions


def set_cookie(request: Request, response: Response, cookie: str) -> None:
    """Set the session's cookie, out of reach of scripts and other sites."""
    response.set_cookie(
        COOKIE,
        cookie,
        max_age=SESSION_SECONDS,
        path="/ui",
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )


_read_namespace = Checker(Name | None, "ns")


async def find_visitor(request: Request) -> Visitor:
    """Return the visitor; raises SignInNeededError if the server needs a key and has none.

    `?ns=NAME` of any page chooses the namespace of the session's pages from now on.
    """
    state, sessions = state_of(request), sessions_of(request)
    session, cookie = sessions.find(request.cookies.get(COOKIE)), None
    if session is None:
        if state.options.needs_key:
            raise SignInNeededError
        # Forms need a session's token, with keys or without.
        cookie, session = sessions.start(None)
    chosen = _read_namespace(request.query_params.get("ns")) or session.namespace
    try:
        caller = await find_caller(request, session.key, chosen)
    except ProblemError as error:
        # The key was revoked, or has expired, since the visitor signed in.
        if error.status == 401:  # noqa: PLR2004
            raise SignInNeededError from error
        raise
    if "ns" in request.query_params:
        session.namespace = chosen
    # Asked for whole pages alone: a slider's pictures have no header.
    is_page = request.method == "GET" and "hx-request" not in request.headers
    visitor = Visitor(
        request=request, session=session, cookie=cookie, caller=caller,
        namespaces=await names_of(request, caller) if is_page else (),
    )  # fmt: skip
    # For the page of an error, which is shown outside of the route.
    request.state.visitor = visitor
    return visitor


AnyVisitor = Annotated[Visitor, Depends(find_visitor)]


async def find_reader(visitor: AnyVisitor) -> Visitor:
    """Return the visitor; raises ProblemError if the key lacks the scope `read`."""
    require_scope(visitor.caller, "read")
    return visitor


ReadingVisitor = Annotated[Visitor, Depends(find_reader)]


def render_alone(name: str, status: int = 200, **values: Any) -> Response:
    """Return a page for a visitor who is not known, without navigation."""
    shared = {"pages": (), "tenant": None, "own": None, "is_signed_in": False, "path": ""}
    return render(name, status, **shared, **values)


def render_error(request: Request, error: Exception) -> Response:
    """Return the page for an error, with the navigation and the sign-out of its visitor."""
    status, detail, headers = describe(error)
    values = {"title": TITLES.get(status, "This failed"), "detail": detail, "back": HOME}
    visitor: Visitor | None = getattr(request.state, "visitor", None)
    if visitor is None:
        response = render_alone("error.html", status, **values)
    else:
        # Back to the form that caused it, if it is on this server.
        back = _path_of(request.headers.get("referer"))
        response = visitor.page("error.html", status, **{**values, "back": back})
    response.headers.update(headers)
    return response


def redirect_to_sign_in(request: Request, _: Exception) -> Response:
    """Return the redirect to the sign-in; htmx loads it as a page, not into its target."""
    if request.headers.get("hx-request") == "true":
        path = quote(_path_of(request.headers.get("hx-current-url")), safe="")
        return Response(headers={"HX-Redirect": f"{SIGN_IN}?next={path}"})
    return RedirectResponse(sign_in_path(request), status_code=303)


async def read_form(visitor: Visitor, scope: KeyScope) -> dict[str, str]:
    """Return a form's fields; raises ProblemError for a wrong token, or a key without the scope."""
    form = await visitor.request.form()
    if not visitor.session.has_token(form.get("token")):
        raise ProblemError(403, STALE_FORM)
    require_scope(visitor.caller, scope)
    return {name: value for name, value in form.items() if isinstance(value, str)}


def redirect_after_post(path: str) -> Response:
    """Return a redirect to a page of this server, which a browser loads by GET."""
    return RedirectResponse(local_path(path), status_code=303)


def local_path(path: str) -> str:
    """Return the path if it belongs to the page, else the home page's.

    Without this check, a link to the sign-in could send a visitor on to another site.
    """
    is_local = path.startswith(HOME) and "\\" not in path and path.isprintable()
    return path if is_local else HOME


def _path_of(address: str | None) -> str:
    """Return the path and the query of an address of the page, else the home page's."""
    came_from = urlsplit(address or "")
    query = f"?{came_from.query}" if came_from.query else ""
    return local_path(f"{came_from.path}{query}")


def sign_in_path(request: Request) -> str:
    """Return the path of the sign-in, from which the visitor comes back to this page."""
    # A form's own address shows nothing: back to the page that had the form.
    address = str(request.url) if request.method == "GET" else request.headers.get("referer")
    return f"{SIGN_IN}?next={quote(_path_of(address), safe='')}"
