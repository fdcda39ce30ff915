"""Editor of TOML: sets or removes one table; comments and blank lines stay."""

from collections.abc import Sequence
from typing import Any, cast

import tomlkit
from tomlkit.exceptions import TOMLKitError


def read(text: str) -> dict[str, Any]:
    """Return the settings that the text holds; raises ValueError for text that isn't TOML."""
    return _parse(text).unwrap()


def put(text: str, path: Sequence[str], value: Any) -> str:
    """Return the text with a table set; the tables that contain it are created if missing."""
    document = _parse(text)
    table: Any = document
    for name in path[:-1]:
        if name not in table:
            # A super table writes no header of its own: `[mcp_servers.memsense]` alone is added.
            table[name] = tomlkit.table(is_super_table=True)
        table = table[name]
        if not hasattr(table, "setdefault"):
            raise ValueError(f"{name!r} is not a table")
    entry = tomlkit.table()
    for name, item in value.items():
        entry.add(name, item)
    table[path[-1]] = entry
    return document.as_string()


def drop(text: str, path: Sequence[str]) -> str:
    """Return the text without a table; a table that contains it stays if it has other entries."""
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


def _parse(text: str) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise ValueError(str(error)) from error
