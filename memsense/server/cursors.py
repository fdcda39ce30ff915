"""Parameters of lists: the limit and the cursor."""

from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, Query

from memsense.client.cursors import read_cursor
from memsense.errors import InvalidInputError
from memsense.server.problems import ProblemError

Limit = Annotated[int, Query(ge=1, le=200, description="maximum number of items")]


def _cursor_of(kind: str) -> Callable[[str | None], str | None]:
    """Return a dependency that reads the cursor, and refuses one of another kind of list."""

    def check(
        cursor: Annotated[
            str | None,
            Query(description="`next_cursor` of the previous page, with the same filters"),
        ] = None,
    ) -> str | None:
        if cursor is not None:
            check_cursor(kind, cursor)
        return cursor

    return check


def check_cursor(kind: str, cursor: str) -> None:
    """Raise ProblemError unless the cursor belongs to this kind of list."""
    try:
        read_cursor(kind, cursor)
    except InvalidInputError as error:
        raise ProblemError(400, str(error)) from error


ChunkCursor = Annotated[str | None, Depends(_cursor_of("newest"))]
SessionCursor = Annotated[str | None, Depends(_cursor_of("sessions"))]
TraceCursor = Annotated[str | None, Depends(_cursor_of("traces"))]
UserCursor = Annotated[str | None, Depends(_cursor_of("users"))]
