"""Errors as problem details (RFC 9457), each with its status, title and detail."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from memsense import errors
from memsense.inputs import describe_argument_fault

logger = logging.getLogger("memsense.server")

CONTENT_TYPE = "application/problem+json"
INVALID = 422
UNAVAILABLE = 503
NOT_JSON = "the body is not JSON by its header: send 'Content-Type: application/json'"
RETRY_SECONDS = "1"

TITLES: Mapping[int, str] = {
    400: "The request can't be read",
    401: "The request needs a valid key",
    403: "The key does not allow this",
    404: "Not found",
    405: "The path does not have this method",
    408: "The request came too slowly",
    409: "The Idempotency-Key was used for another request",
    412: "It has changed since it was read",
    413: "The request is too large",
    415: "The content type is not supported",
    416: "The range is not in the file",
    422: "An argument is not valid",
    429: "Too many requests",
    500: "The server failed",
    503: "The database or the embedder does not answer",
    504: "The search took too long",
    507: "The user's quota is used up",
}

STATUSES: Sequence[tuple[type[errors.MemSenseError], int]] = (
    (errors.NotFoundError, 404),
    (errors.VersionConflictError, 412),
    (errors.ConflictError, 409),
    (errors.QuotaExceededError, 507),
    (errors.InvalidInputError, 422),
    (errors.DataRefusedError, 422),
    (errors.IngestError, 422),
    (errors.ConfigurationError, 422),
    (errors.CallTimeoutError, 504),
    (errors.RecallTimeoutError, 504),
    (errors.TenantSuspendedError, 403),
    (errors.ConnectionFailedError, 503),
    (errors.StatementTimeoutError, 503),
    (errors.TransactionConflictError, 503),
    (errors.DatabaseError, 503),
    (errors.EmbeddingError, 503),
    (errors.RerankerError, 503),
)
"""The status of each class of errors; the first class that matches counts."""


class Fault(BaseModel):
    """One thing that is wrong with a request."""

    argument: str = Field(examples=["top_k"])
    detail: str = Field(examples=["top_k must be a whole number from 1 to 1,000,000, not 0"])


class Problem(BaseModel):
    """An error, as RFC 9457 defines it."""

    type: str = Field(default="about:blank", description="always about:blank")
    title: str = Field(description="the kind of problem", examples=["Not found"])
    status: int = Field(description="the status code", examples=[404])
    detail: str = Field(
        description="what is wrong, and what to do", examples=["no chunk 42 in this namespace"]
    )
    errors: list[Fault] | None = Field(
        default=None, description="with 422: each argument that is wrong, if there are several"
    )


class ProblemError(Exception):
    """An error that ends a request with a problem."""

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = dict(headers or {})


class BodyTooLargeError(Exception):
    """A request's body is larger than the server accepts."""

    def __init__(self, largest: int) -> None:
        super().__init__(f"the body is larger than {largest:,} bytes")


def respond(
    status: int,
    detail: str,
    headers: Mapping[str, str] | None = None,
    faults: Sequence["Fault"] = (),
) -> JSONResponse:
    """Return the response for a problem."""
    title = TITLES.get(status, "The request failed")
    problem = Problem(title=title, status=status, detail=detail, errors=[*faults] or None)
    return JSONResponse(
        problem.model_dump(exclude_none=True),
        status_code=status,
        headers=dict(headers or {}),
        media_type=CONTENT_TYPE,
    )


def problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the problems of a route for OpenAPI: these, and those that every route has."""
    every = sorted({400, 401, 403, 408, 413, 415, 422, 429, 500, 503, *statuses})
    return {
        status: {
            "description": TITLES[status],
            "content": {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status in every
    }


def status_of(error: errors.MemSenseError) -> int:
    """Return the HTTP status for an error."""
    return next((status for kind, status in STATUSES if isinstance(error, kind)), 500)


def describe(error: Exception) -> tuple[int, str, dict[str, str]]:
    """Return status, detail and headers for any error that a request raises."""
    if isinstance(error, ProblemError):
        return error.status, error.detail, error.headers
    if isinstance(error, errors.MemSenseError):
        status = status_of(error)
        return status, str(error), {"Retry-After": RETRY_SECONDS} if status == UNAVAILABLE else {}
    # FastAPI raises its own error for anything that fails while it reads a body.
    if isinstance(error.__cause__, BodyTooLargeError):
        error = error.__cause__
    if isinstance(error, BodyTooLargeError):
        return 413, str(error), {}
    if isinstance(error, RequestValidationError):
        if isinstance(error.body, bytes):
            return 415, NOT_JSON, {}
        return INVALID, "; ".join(fault.detail for fault in list_faults(error)), {}
    if isinstance(error, HTTPException):
        return error.status_code, str(error.detail), dict(error.headers or {})
    # The text of an unknown error may hold a memory or an address: it goes into the log alone.
    logger.error("a request failed", exc_info=error)
    return 500, "see the server's log for the reason", {}


def list_faults(error: RequestValidationError) -> list[Fault]:
    """Return every fault of a request: the argument, what it must be, and its value."""
    faults: dict[str, Fault] = {}
    for fault in error.errors():
        if fault["type"] == "json_invalid":
            before = str(error.body)[: fault["loc"][-1]]
            line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
            reason = fault["ctx"]["error"]
            detail = f"the body is not JSON: line {line}, column {column}: {reason}"
            return [Fault(argument="body", detail=detail)]
        place = ".".join(str(item) for item in fault["loc"][1:]) or str(fault["loc"][0])
        # Of a union, pydantic names a fault for each member: the first says it.
        name = place.partition(".")[0]
        detail = describe_argument_fault(fault, place)
        faults.setdefault(name, Fault(argument=name, detail=detail))
    return [*faults.values()]


def problem_response(error: Exception) -> Response:
    """Return the response to a program for an error."""
    status, detail, headers = describe(error)
    faults = list_faults(error) if isinstance(error, RequestValidationError) else []
    return respond(status, detail, headers, faults if status == INVALID else ())


def add_handlers(app: FastAPI, handler: Callable[[Request, Exception], Response]) -> None:
    """Make the function answer every error of the app."""
    kinds = (
        ProblemError,
        errors.MemSenseError,
        BodyTooLargeError,
        RequestValidationError,
        HTTPException,
        Exception,
    )
    for kind in kinds:
        app.add_exception_handler(kind, handler)
