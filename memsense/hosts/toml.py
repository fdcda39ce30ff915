"""Editor of TOML: sets or removes one table; comments and blank lines stay."""

import re
from collections.abc import Sequence
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

_BYTE_ORDER_MARK = "\ufeff"
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_LINE_END = re.compile(r"\r?\n\Z")


def read(text: str) -> dict[str, Any]:
    """Return the settings that the text holds; raises ValueError for text that isn't TOML."""
    return _parse(text).unwrap()


def put(text: str | None, path: Sequence[str], value: Any) -> str:
    """Return the text with a table added at its end.

    `text` is None if there is no file. The table has a line end in front of it, except in a file of
    its own, so that `drop` brings back the text to the byte.
    """
    expected = read(text or "")
    table: Any = expected
    for name in path[:-1]:
        table = table.setdefault(name, {})
        if not hasattr(table, "setdefault"):
            raise ValueError(f"{name!r} is not a table")
    table[path[-1]] = value
    added = tomlkit.table()
    for name, item in value.items():
        added.add(name, item)
    for name in reversed(path):
        # A super table writes no header of its own: `[mcp_servers.memsense]` alone is added.
        outer = tomlkit.table(is_super_table=True)
        outer.add(name, added)
        added = outer
    block = added.as_string()
    if text is None:
        return block
    line = "\r\n" if "\r\n" in text else "\n"
    after = text + line + block.replace("\n", line)
    if not _holds(after, expected):
        raise ValueError(f"{path[0]!r} is within a line: write it as [{path[0]}.NAME]")
    return after


def drop(text: str, path: Sequence[str], original: object = None) -> str | None:  # noqa: ARG001
    """Return the text without a table; None if nothing is left of a file that `put` created."""
    settings = read(text)
    tables = [settings]
    for name in path[:-1]:
        if name not in tables[-1]:
            return text
        tables.append(tables[-1][name])
    if path[-1] not in tables[-1]:
        return text
    del tables[-1][path[-1]]
    emptied = {key: value for key, value in settings.items() if key != path[0] or value}
    without = _without(text, ".".join(path))
    if _holds(without or "", settings) or _holds(without or "", emptied):
        return without
    # The table has another form than the installation's.
    document = _parse(text)
    table: Any = document
    for name in path[:-1]:
        table = table[name]
    del table[path[-1]]
    mark = _BYTE_ORDER_MARK if text.startswith(_BYTE_ORDER_MARK) else ""
    return mark + document.as_string()


def _without(text: str, name: str) -> str | None:
    """Return the text without the lines of a table and its sub-tables, as `put` has added them."""
    lines = _LINE.findall(text)
    own = (f"[{name}]", f"[{name}.")
    start = next((at for at, line in enumerate(lines) if line.startswith(own)), len(lines))
    later = range(start + 1, len(lines))
    end = next(
        (at for at in later if lines[at].startswith("[") and not lines[at].startswith(own)),
        len(lines),
    )
    # Blank lines and comments behind the table belong to what follows.
    while end > start and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    head, rest = "".join(lines[:start]), "".join(lines[end:])
    if not head and not rest:
        return None
    shorter = _LINE_END.sub("", head)
    is_joined = bool(shorter.strip()) and not shorter.endswith("\n") and bool(rest)
    return (head if is_joined else shorter) + rest


def _holds(text: str, expected: Any) -> bool:
    try:
        return read(text) == expected
    except ValueError:
        return False


def _parse(text: str) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(text.removeprefix(_BYTE_ORDER_MARK))
    except TOMLKitError as error:
        raise ValueError(str(error)) from error
