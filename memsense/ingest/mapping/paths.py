"""Paths and conditions of a mapping: JSONPath (RFC 9535), compiled once by python-jsonpath."""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from memsense.inputs import shorten
from memsense.types import JsonValue

if TYPE_CHECKING:
    import jsonpath

# Records come one at a time, so that the items of a top-level list stand alone already.
_EACH_RECORD = "$[*]"


def find_all(path: str, current: JsonValue, record: JsonValue) -> list[JsonValue]:
    """Return the values that a path leads to, in their order; none where it breaks.

    Args:
        path: A key of `current`, or a JSONPath. One that begins with `$` starts at the record.
        current: The object that other paths start at: a message, or the object that holds it.
        record: An item of a top-level list, a value of JSONL, or a row.
    """
    if isinstance(current, dict) and path in current:
        return [current[path]]
    start = record if path.startswith("$") else current
    if not isinstance(start, dict | list):
        return []
    if (compiled := _compile(path)) is None:
        return [start]
    import jsonpath

    try:
        # Only the package's own errors: a value of an unexpected type is "no match", not a fault.
        return cast("list[JsonValue]", compiled.findall(cast("Sequence[object]", start)))
    except (jsonpath.JSONPathError, RecursionError):
        return []


def matches(condition: str, value: JsonValue) -> bool:
    """Return whether a condition such as `@.type == 'tool'` holds for a value."""
    return bool(find_all(f"$[?{condition}]", None, [value]))


def find_path_fault(path: str) -> str | None:
    """Return why a text can't be a path, or None if it can."""
    import jsonpath

    try:
        _compile(path)
    except jsonpath.JSONPathError as error:
        first_line = str(error).split("\n", maxsplit=1)[0]
        return f"is no path that can be followed: {shorten(path)} ({first_line})"
    return None


def find_condition_fault(condition: str) -> str | None:
    """Return why a text can't be a condition, or None if it can."""
    return find_path_fault(f"$[?{condition}]")


@lru_cache(maxsize=4096)
def _compile(path: str) -> "jsonpath.JSONPath | jsonpath.CompoundJSONPath | None":
    """Return the compiled path; None for the start itself."""
    import jsonpath

    text = path.strip().removeprefix(_EACH_RECORD) if path.startswith("$") else path.strip()
    if text in ("", "$", "@"):
        return None
    if text.startswith((".", "[")):
        text = f"${text}"
    elif text.startswith("@"):
        text = f"${text[1:]}"
    elif not text.startswith("$"):
        text = f"$.{text}"
    return jsonpath.compile(text)
