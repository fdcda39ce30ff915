"""Errors as problem details (RFC 9457): each with its status, its kind, and what is wrong."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from memsense import errors
from memsense.config import tell_fault
from memsense.inputs import shorten
from memsense.server.limits import BodyTooLargeError

logger = logging.getLogger("memsense.server")

CONTENT_TYPE = "application/problem+json"
UNAVAILABLE = 503
RETRY_SECONDS = "1"

TITLES: Mapping[int, str] = {
    400: "The request can't be read",
    401: "No usable key was shown",
    403: "The key does not open this",
    404: "There is no such thing",
    405: "The method is not one of this path",
    409: "Something else was done under this Idempotency-Key",
    413: "The request is too large",
    415: "The content type is not taken",
    422: "What was given can't be used",
    429: "Too many requests",
    500: "The server failed",
    503: "The database or the embedder does not answer",
    504: "The search took too long",
}

STATUSES: Sequence[tuple[type[errors.MemSenseError], int]] = (
    (errors.NotFoundError, 404),
    (errors.ConflictError, 409),
    (errors.InvalidInputError, 422),
    (errors.DataRefusedError, 422),
    (errors.IngestError, 422),
    (errors.ConfigurationError, 422),
    (errors.RecallTimeoutError, 504),
    (errors.ConnectionFailedError, 503),
    (errors.StatementTimeoutError, 503),
    (errors.TransactionConflictError, 503),
    (errors.DatabaseError, 503),
    (errors.EmbeddingError, 503),
    (errors.RerankerError, 503),
)
"""The status of each error; the first that fits."""


class Problem(BaseModel):
    """What went wrong, as RFC 9457 has it."""

    type: str = Field(default="about:blank", description="always about:blank")
    title: str = Field(description="the kind of problem", examples=["There is no such thing"])
    status: int = Field(description="the status code", examples=[404])
    detail: str = Field(
        description="what is wrong, and what would be right",
        examples=["no chunk 42 in this namespace"],
    )


class ProblemError(Exception):
    """Ends a request with a problem."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = dict(headers or {})


def respond(status: int, detail: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """The answer that tells a problem."""
    title = TITLES.get(status, "The request failed")
    return JSONResponse(
        Problem(title=title, status=status, detail=detail).model_dump(),
        status_code=status,
        headers=dict(headers or {}),
        media_type=CONTENT_TYPE,
    )


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The problems of a route, for the OpenAPI text; those that every route has are added."""
    every = sorted({400, 401, 403, 413, 422, 429, 500, 503, *statuses})
    return {
        status: {
            "description": TITLES[status],
            "content": {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status in every
    }


def status_of(error: errors.MemSenseError) -> int:
    """The status that tells the error."""
    return next((status for kind, status in STATUSES if isinstance(error, kind)), 500)


def describe(error: Exception) -> tuple[int, str, dict[str, str]]:
    """Status, text and headers that tell an error of memsense's or of the request's."""
    if isinstance(error, ProblemError):
        return error.status, error.detail, error.headers
    if isinstance(error, errors.MemSenseError):
        status = status_of(error)
        return status, str(error), {"Retry-After": RETRY_SECONDS} if status == UNAVAILABLE else {}
    if isinstance(error.__cause__, BodyTooLargeError):  # met while a body was read
        error = error.__cause__
    if isinstance(error, BodyTooLargeError):
        return 413, str(error), {}
    if isinstance(error, RequestValidationError):
        return 422, tell_validation(error), {}
    if isinstance(error, HTTPException):
        return error.status_code, str(error.detail), dict(error.headers or {})
    logger.error("a request failed", exc_info=error)
    return 500, "the server's log tells why", {}


def tell_validation(error: RequestValidationError) -> str:
    """What is wrong with a request, its first fault."""
    found = error.errors()[0]
    place = ".".join(str(item) for item in found["loc"][1:]) or str(found["loc"][0])
    message = tell_fault(found["msg"])
    given = found.get("input")
    told = "" if found["type"] in {"missing", "value_error"} else f", not {shorten(given)}"
    return f"{place}: {message}{told}"


def tell_problem(error: Exception) -> Response:
    """The answer that tells an error to a program."""
    status, detail, headers = describe(error)
    return respond(status, detail, headers)


def add_handlers(app: FastAPI, tell: Callable[[Request, Exception], Response]) -> None:
    """Let every error of the app be told by this function."""
    kinds = (
        ProblemError,
        errors.MemSenseError,
        BodyTooLargeError,
        RequestValidationError,
        HTTPException,
        Exception,
    )
    for kind in kinds:
        app.add_exception_handler(kind, tell)
