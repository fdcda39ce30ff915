"""Cursors of lists: where a page begins, as a text that callers pass back unchanged.

A cursor grants no rights: the call that takes it says whose memory to list.
"""

import base64
import binascii
import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from memsense.errors import InvalidInputError
from memsense.inputs import Checker, ChunkId, Id, Time

LONGEST = 8_000
"""Characters; the longest ids make a cursor of about 5,500."""

PLACES: dict[str, Any] = {
    "newest": tuple[Time | None, ChunkId],
    "oldest": tuple[Time | None, ChunkId],
    "sessions": tuple[Time | None, Id, Id],
    "users": tuple[Id],
    "traces": tuple[Time, UUID],
    "changes": tuple[ChunkId, ChunkId],
}
"""Types of the values in a cursor, by kind of list."""

_gates = {kind: Checker(types, "cursor") for kind, types in PLACES.items()}


def write_cursor(kind: str, *place: str | int | datetime | None) -> str:
    """Return the cursor that continues a list of this kind behind this place."""
    values = [value.isoformat() if isinstance(value, datetime) else value for value in place]
    text = json.dumps([kind, *values], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(kind: str, cursor: str) -> tuple[Any, ...]:
    """Return the place that `write_cursor` wrote; raise InvalidInputError for anything else."""
    values = _decode(cursor)
    if values and values[0] == kind:
        try:
            return _gates[kind](values[1:])
        except InvalidInputError:
            pass  # a cursor with wrong values gets the same message as a text that is no cursor
    raise InvalidInputError(
        "cursor must be the next_cursor of a page of the same list, asked for in the same order"
    )


def _decode(cursor: str) -> Sequence[Any]:
    # Cursors come from outside, so the length is checked before anything is decoded.
    if len(cursor) > LONGEST or not cursor.isascii():
        return ()
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        values: object = json.loads(text)
    except (binascii.Error, ValueError, RecursionError):  # deeply nested JSON overflows the stack
        return ()
    return cast("list[Any]", values) if isinstance(values, list) else ()
