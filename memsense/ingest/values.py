"""Typed looks into JSON of unknown shape: a wrong type reads as absent, never as an error."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from memsense.types import JsonValue

JsonObject: TypeAlias = Mapping[str, JsonValue]


def mapping(value: JsonValue) -> JsonObject:
    """The object itself, or an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: JsonValue) -> Sequence[JsonValue]:
    """The list itself, or an empty one."""
    return value if isinstance(value, list) else ()


def string(value: JsonValue) -> str:
    """The string itself, or an empty one."""
    return value if isinstance(value, str) else ""


def objects(value: JsonValue) -> list[JsonObject]:
    """The objects of a list, other items left out."""
    return [item for item in sequence(value) if isinstance(item, dict)]


def reach(value: JsonValue, *keys: str) -> JsonValue:
    """The value at a path of keys, None where the path breaks."""
    for key in keys:
        value = mapping(value).get(key)
    return value


def identifier(value: JsonValue) -> str | None:
    """An id as text: a non-blank string, or a whole number."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return str(value)
    return value if isinstance(value, str) and value.strip() else None


def first_identifier(record: JsonObject, *keys: str) -> str | None:
    """The first of the keys that holds an id."""
    found = (identifier(record.get(key)) for key in keys)
    return next((value for value in found if value is not None), None)
