"""Typed access to JSON of unknown shape: a wrong type reads as absent, never as an error.

Every log has a record somewhere whose `message` is a string or whose `content` is null.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from memsense.types import JsonValue

JsonObject: TypeAlias = Mapping[str, JsonValue]


def mapping(value: JsonValue) -> JsonObject:
    """Return the object itself, or an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: JsonValue) -> Sequence[JsonValue]:
    """Return the list itself, or an empty one."""
    return value if isinstance(value, list) else ()


def string(value: JsonValue) -> str:
    """Return the string itself, or an empty one."""
    return value if isinstance(value, str) else ""


def objects(value: JsonValue) -> list[JsonObject]:
    """Return the objects of a list, without its other items."""
    return [item for item in sequence(value) if isinstance(item, dict)]


def reach(value: JsonValue, *keys: str) -> JsonValue:
    """Return the value at a path of keys, or None where the path breaks."""
    for key in keys:
        value = mapping(value).get(key)
    return value


def identifier(value: JsonValue) -> str | None:
    """Return an id as text: a non-blank string, or a whole number."""
    if isinstance(value, str):
        return None if not value or value.isspace() else value
    # A bool is an int in Python, and no id.
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def first_identifier(record: JsonObject, *keys: str) -> str | None:
    """Return the id under the first of the keys that holds one."""
    ids = (identifier(record.get(key)) for key in keys)
    return next((value for value in ids if value is not None), None)


def first_string(record: JsonObject, keys: Sequence[str]) -> str:
    """Return the text under the first of the keys that holds one; empty if none does."""
    return next((text for key in keys if (text := string(record.get(key)))), "")


def first_value(record: JsonObject, keys: Sequence[str]) -> JsonValue:
    """Return the value under the first of the keys that is present and not null."""
    return next((record[key] for key in keys if record.get(key) is not None), None)
