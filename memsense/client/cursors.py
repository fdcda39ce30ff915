"""Cursors of lists: where a page begins, as a text that callers hand back as they got it.

A cursor holds no rights: whose memory is listed is said by the call that takes it.
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
}
"""What stands in a cursor of each kind of list."""

_gates = {kind: Checker(types, "cursor") for kind, types in PLACES.items()}


def write_cursor(kind: str, *place: str | int | datetime | None) -> str:
    """The cursor of a list of this kind that goes on behind this place."""
    told = [value.isoformat() if isinstance(value, datetime) else value for value in place]
    text = json.dumps([kind, *told], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(kind: str, cursor: str) -> tuple[Any, ...]:
    """The place that `write_cursor` wrote; raises InvalidInputError for anything else."""
    found = _decode(cursor)
    if found and found[0] == kind:
        try:
            return _gates[kind](found[1:])
        except InvalidInputError:
            pass  # told as any other text that is none
    raise InvalidInputError(
        "cursor must be the next_cursor of a page of the same list, asked for in the same order"
    )


def _decode(cursor: str) -> Sequence[Any]:
    if len(cursor) > LONGEST or not cursor.isascii():
        return ()
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        found: object = json.loads(text)
    except (binascii.Error, ValueError, RecursionError):
        return ()
    return cast("list[Any]", found) if isinstance(found, list) else ()
