"""Adds the page to the server."""

from fastapi import FastAPI, Request
from fastapi.responses import RedirectResponse, Response

from memsense.server.page import asking, browsing, health, signing, tracing
from memsense.server.page.render import write_page
from memsense.server.page.sessions import PageSessions
from memsense.server.page.visiting import HOME, SignInNeededError, sign_in_path
from memsense.server.problems import TITLES, describe


def add_page(app: FastAPI) -> None:
    """Let the app answer under /ui."""
    app.state.page_sessions = PageSessions()
    app.add_exception_handler(SignInNeededError, _ask_for_key)
    for module in (signing, asking, browsing, tracing, health):
        app.include_router(module.router)


async def _ask_for_key(request: Request, _: Exception) -> Response:
    return RedirectResponse(sign_in_path(request), status_code=303)


def is_of_page(request: Request) -> bool:
    """Whether a person looks at what is answered."""
    return request.url.path.startswith(HOME)


def tell_error(error: Exception) -> Response:
    """The page that tells an error."""
    status, detail, headers = describe(error)
    response = write_page(
        "error.html", status, title=TITLES.get(status, "This failed"), detail=detail
    )
    response.headers.update(headers)
    return response
