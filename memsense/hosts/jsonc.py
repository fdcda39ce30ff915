"""Editor of JSON with comments and trailing commas: sets or removes one member at a time.

It works on the text, because writing a parsed document back would lose comments and layout.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

INDENT = "  "
_BLANK = frozenset(" \t\r\n\ufeff")
_ENDS_LITERAL = frozenset(',]}:"/ \t\r\n')


@dataclass(frozen=True, slots=True)
class Node:
    """A value in a text: its position, the parsed value, and its members or items."""

    start: int
    end: int
    value: Any
    members: Sequence["Member"] = ()


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an object, with the position of its name; or an item of a list, not named."""

    name: str
    start: int
    node: Node


def read(text: str) -> dict[str, Any]:
    """Return the object in the text, {} for blank text; raises ValueError for anything else."""
    return _parse(text).value if text.strip("".join(_BLANK)) else {}


def put(text: str, path: Sequence[str], value: Any) -> str:
    """Return the text with a member set; the objects that contain it are created if missing."""
    if not text.strip("".join(_BLANK)):
        return json.dumps(_nested(path, value), indent=INDENT, ensure_ascii=False) + "\n"
    edit = _Edit(text)
    node = _parse(text)
    for depth, name in enumerate(path):
        member = _find(node, name)
        if member is None:
            return edit.insert(node, depth, name, _nested(path[depth + 1 :], value))
        node = member.node
    return text[: node.start] + edit.dump(value, len(path)) + text[node.end :]


def drop(text: str, path: Sequence[str]) -> str:
    """Return the text without a member; the objects that contained it stay."""
    node = _follow(text, path[:-1])
    member = None if node is None else _find(node, path[-1])
    return text if node is None or member is None else _Edit(text).remove(node, member)


def append(text: str, path: Sequence[str], value: Any) -> str:
    """Return the text with a new last item in the list; the list is created if missing."""
    node = _follow(text, path) if text.strip("".join(_BLANK)) else None
    if node is None:
        return put(text, path, [value])
    if not isinstance(node.value, list):
        raise ValueError(f"{path[-1]!r} is not a list")  # noqa: TRY004 (wrong content)
    return _Edit(text).insert(node, len(path), None, value)


def drop_items(text: str, path: Sequence[str], is_one: Callable[[Any], bool]) -> str:
    """Return the text without the items of the list that `is_one` accepts."""
    while (node := _follow(text, path)) is not None:
        # One at a time: each removal moves the positions of all later items.
        item = next((item for item in node.members if is_one(item.node.value)), None)
        if item is None:
            break
        text = _Edit(text).remove(node, item)
    return text


def _follow(text: str, path: Sequence[str]) -> "Node | None":
    """Return the value at the end of a path, or None if there is none."""
    node = _parse(text)
    for name in path:
        member = _find(node, name)
        if member is None:
            return None
        node = member.node
    return node


def _find(node: Node, name: str) -> Member | None:
    if not isinstance(node.value, Mapping):
        raise ValueError(f"the parent of {name!r} is not an object")  # noqa: TRY004 (wrong content)
    # The last one counts, as in every JSON parser that accepts duplicate names.
    return next((member for member in reversed(node.members) if member.name == name), None)


def _nested(path: Sequence[str], value: Any) -> Any:
    for name in reversed(path):
        value = {name: value}
    return value


class _Edit:
    """Insertions and removals in one text, with its own indentation and line ends."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._line = "\r\n" if "\r\n" in text else "\n"
        lines = text.splitlines()
        indents = [line[: len(line) - len(line.lstrip(" \t"))] for line in lines if line.strip()]
        self._indent = next((indent for indent in indents if indent), INDENT)

    def dump(self, value: Any, depth: int) -> str:
        """Return the value as JSON, indented for an object at that depth."""
        rendered = json.dumps(value, indent=self._indent, ensure_ascii=False)
        return rendered.replace("\n", self._line + depth * self._indent)

    def insert(self, node: Node, depth: int, name: str | None, value: Any) -> str:
        """Return the text with a new last member of the object, or a new last item of the list."""
        text, close = self._text, node.end - 1
        rendered = self.dump(value, depth + 1)
        if name is not None:
            rendered = f"{json.dumps(name, ensure_ascii=False)}: {rendered}"
        last = node.members[-1].node.end if node.members else node.start + 1
        # Comments behind the last member stay behind it; only the blanks before the end move.
        between = text[last:close]
        comments = between.rstrip("".join(_BLANK))
        closing = between[len(comments) :]
        if "\n" not in closing:
            closing = self._line + depth * self._indent
        comma = "," if node.members and not _has_comma(text, last, close) else ""
        opening = self._line + (depth + 1) * self._indent
        return f"{text[:last]}{comma}{comments}{opening}{rendered}{closing}{text[close:]}"

    def remove(self, node: Node, member: Member) -> str:
        """Return the text without the member and one comma; comments stay."""
        text, end = self._text, member.node.end
        after = _skip(text, end)
        if text[after] == ",":
            return _cut(text, member.start, after + 1)
        # It is the last member, without a comma of its own: remove the one before it.
        index = node.members.index(member)
        without = _cut(text, member.start, end)
        if index == 0:
            return without
        comma = _skip(text, node.members[index - 1].node.end)
        return without[:comma] + without[comma + 1 :]


def _cut(text: str, start: int, end: int) -> str:
    """Return the text without a span, and without the line that would become blank by it."""
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    if line_end >= 0 and not (text[line_start:start] + text[end:line_end]).strip():
        return text[:line_start] + text[line_end + 1 :]
    return text[:start] + text[end:]


def _has_comma(text: str, start: int, close: int) -> bool:
    at = _skip(text, start)
    return at < close and text[at] == ","


# Reading -----------------------------------------------------------------------------------------


def _parse(text: str) -> Node:
    try:
        node = _read_value(text, _skip(text, 0))
        at_end = _skip(text, node.end) == len(text)
    except (IndexError, RecursionError):
        raise ValueError("it ends within a value") from None
    if not at_end:
        raise ValueError("there is text after the object")
    if not isinstance(node.value, dict):
        raise ValueError("it is not an object")  # noqa: TRY004 (wrong content)
    return node


def _skip(text: str, at: int) -> int:
    """Return the position of the next character that is neither blank nor in a comment."""
    while at < len(text):
        if text[at] in _BLANK:
            at += 1
        elif text.startswith("//", at):
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif text.startswith("/*", at):
            end = text.find("*/", at + 2)
            if end < 0:
                raise ValueError("a comment is not closed")
            at = end + 2
        else:
            break
    return at


def _read_value(text: str, at: int) -> Node:
    if text[at] == "{":
        return _read_object(text, at)
    if text[at] == "[":
        nodes = list(_read_items(text, at + 1, "]", _read_value))
        end = _skip(text, nodes[-1].end if nodes else at + 1)
        end = _skip(text, end + 1) if text[end] == "," else end
        items = [Member("", node.start, node) for node in nodes]
        return Node(at, end + 1, [node.value for node in nodes], items)
    if text[at] == '"':
        end = _end_of_string(text, at)
    else:
        end = at
        while end < len(text) and text[end] not in _ENDS_LITERAL:
            end += 1
    return Node(at, end, json.loads(text[at:end]))


def _read_object(text: str, at: int) -> Node:
    members: list[Member] = []

    def read_member(text: str, at: int) -> Node:
        if text[at] != '"':
            raise ValueError("a member has no name")
        end = _end_of_string(text, at)
        colon = _skip(text, end)
        if text[colon] != ":":
            raise ValueError("a member has no value")
        node = _read_value(text, _skip(text, colon + 1))
        members.append(Member(json.loads(text[at:end]), at, node))
        return node

    nodes = list(_read_items(text, at + 1, "}", read_member))
    end = _skip(text, nodes[-1].end if nodes else at + 1)
    end = _skip(text, end + 1) if text[end] == "," else end
    return Node(at, end + 1, {member.name: member.node.value for member in members}, members)


def _read_items(
    text: str, at: int, closing: str, read_one: Callable[[str, int], Node]
) -> Iterator[Node]:
    at = _skip(text, at)
    while text[at] != closing:
        node = read_one(text, at)
        yield node
        at = _skip(text, node.end)
        if text[at] == ",":
            at = _skip(text, at + 1)
        elif text[at] != closing:
            raise ValueError("a comma is missing")


def _end_of_string(text: str, at: int) -> int:
    at += 1
    while text[at] != '"':
        at += 2 if text[at] == "\\" else 1
    return at + 1
