"""Edits TOML one table at a time; comments and blanks stay."""

from collections.abc import Sequence
from typing import Any, cast

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Table


def read(text: str) -> dict[str, Any]:
    """What the text holds; raises ValueError for what is no TOML."""
    return _parse(text).unwrap()


def put(text: str, path: Sequence[str], value: Any) -> str:
    """The text with a table set, in tables that are made where they are missing."""
    document = _parse(text)
    table: Any = document
    for name in path[:-1]:
        if name not in table:
            table[name] = tomlkit.table(is_super_table=True)
        table = table[name]
        if not hasattr(table, "setdefault"):
            raise ValueError(f"{name!r} is no table")
    table[path[-1]] = _table(value)
    return document.as_string()


def drop(text: str, path: Sequence[str]) -> str:
    """The text without a table; those that it stood in stay where anything else is in them."""
    document = _parse(text)
    tables = [cast("dict[str, Any]", document)]
    for name in path[:-1]:
        if name not in tables[-1]:
            return text
        tables.append(tables[-1][name])
    if path[-1] not in tables[-1]:
        return text
    del tables[-1][path[-1]]
    return document.as_string()


def _table(value: dict[str, Any]) -> Table:
    made = tomlkit.table()
    for name, item in value.items():
        made.add(name, item)
    return made


def _parse(text: str) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise ValueError(str(error)) from error
