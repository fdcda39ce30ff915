"""Guards against what a browser may be made to send: from other sites, or under other names."""

from urllib.parse import urlsplit

from fastapi import Request

from memsense.inputs import shorten
from memsense.server.options import ServerOptions, is_loopback
from memsense.server.problems import ProblemError
from memsense.text.nearest import did_you_mean

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


def check_name(request: Request, options: ServerOptions) -> None:
    """Where no key is asked for, take requests under this machine's own names alone.

    A site whose name is made to lead to 127.0.0.1 would else read memory in its visitor's browser.
    Raises ProblemError.
    """
    if options.needs_key:
        return
    name = urlsplit(f"//{request.headers.get('host', '')}").hostname or ""
    if not is_loopback(name):
        raise ProblemError(403, "without keys the server answers as localhost alone")


def check_query(request: Request) -> None:
    """Refuse parameters that the route doesn't know, as a body's are; raises ProblemError."""
    route, method = request.scope["route"], request.method.lower()
    operation = request.app.openapi()["paths"][route.path_format][method]
    known = {item["name"] for item in operation.get("parameters", ()) if item["in"] == "query"}
    if unknown := sorted(request.query_params.keys() - known):
        told = ", ".join(map(shorten, unknown))
        meant = did_you_mean(unknown, sorted(known))
        raise ProblemError(422, f"query: {told} is no parameter of this path{meant}")


def check_origin(request: Request) -> None:
    """Refuse what another site lets its visitor's browser change here; raises ProblemError."""
    if request.method in SAFE:
        return
    origin = request.headers.get("origin")
    told = request.headers.get("sec-fetch-site", "same-origin")
    is_other = origin is not None and urlsplit(origin).netloc != request.headers.get("host")
    if is_other or told not in {"same-origin", "none"}:
        raise ProblemError(403, "requests of other sites are not taken")
