"""Editor of JSON with comments and trailing commas: sets or removes one member at a time.

It works on the text, because writing a parsed document back would lose comments and layout.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

INDENT = "  "
BLANK = " \t\r\n\ufeff"
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
    return _parse(text).value if not _is_blank(text) else {}


def put(text: str | None, path: Sequence[str], value: Any) -> str:
    """Return the text with a member set; the objects that contain it are created if missing.

    `text` is None if there is no file. `drop` undoes it to the byte: see `_Edit.insert`.
    """
    if text is None or _is_blank(text):
        document = json.dumps(_nested(path, value), indent=INDENT, ensure_ascii=False)
        # A file of ours ends with a line end, so that a removal knows it from a blank file.
        return f"{document}\n" if text is None else text + document
    edit = _Edit(text)
    node, start = _parse(text), None
    for depth, name in enumerate(path):
        member = _find(node, name)
        if member is None:
            return edit.insert(node, start, name, _nested(path[depth + 1 :], value))
        node, start = member.node, member.start
    sep = edit.separator(start or 0)
    return text[: node.start] + edit.dump(value, sep) + text[node.end :]


def append(text: str | None, path: Sequence[str], value: Any) -> str:
    """Return the text with a new last item in the list; the list is created if missing."""
    chain = _follow(text or "", path)
    if text is None or not chain:
        return put(text, path, [value])
    _, owner = chain[-1]
    if not isinstance(owner.node.value, list):
        raise ValueError(f"{path[-1]!r} is not a list")  # noqa: TRY004 (wrong content)
    return _Edit(text).insert(owner.node, owner.start, None, value)


def drop(text: str, path: Sequence[str], original: Mapping[str, Any] | None = None) -> str | None:
    """Return the text without a member, and without the objects that `put` created for it.

    Their layout says which ones those are. `original` is the document before `put`, if it is known:
    an object of it stays, even if another program has written the file anew. Returns None if
    nothing is left of a file that `put` created.
    """
    chain = _follow(text, path)
    return _remove(text, chain, original) if chain else text


def drop_items(
    text: str | None,
    path: Sequence[str],
    is_one: Callable[[Any], bool],
    original: Mapping[str, Any] | None = None,
) -> str | None:
    """Return the text without the items of the list that `is_one` accepts; see `drop`."""
    while text is not None and (chain := _follow(text, path)):
        # One at a time: each removal moves the positions. The last one first, as it came last.
        node = chain[-1][1].node
        item = next((item for item in reversed(node.members) if is_one(item.node.value)), None)
        if item is None:
            break
        text = _remove(text, [*chain, (node, item)], original)
    return text


Chain = Sequence[tuple[Node, Member]]
"""The way to a value: from the document down, each object or list with the member that leads on."""


def _follow(text: str, path: Sequence[str]) -> Chain:
    """Return the way to the end of a path, or nothing if there is no such member."""
    chain: list[tuple[Node, Member]] = []
    node = None if _is_blank(text) else _parse(text)
    for name in path:
        member = None if node is None else _find(node, name)
        if node is None or member is None:
            return []
        chain.append((node, member))
        node = member.node
    return chain


def _find(node: Node, name: str) -> Member | None:
    if not isinstance(node.value, Mapping):
        raise ValueError(f"the parent of {name!r} is not an object")  # noqa: TRY004 (wrong content)
    # The last one counts, as in every JSON parser that accepts duplicate names.
    return next((member for member in reversed(node.members) if member.name == name), None)


def _nested(path: Sequence[str], value: Any) -> Any:
    for name in reversed(path):
        value = {name: value}
    return value


def _is_blank(text: str) -> bool:
    return not text.strip(BLANK)


class _Edit:
    """Insertions in one text, in its own layout: one line or many, indentation, line ends."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._line = "\r\n" if "\r\n" in text else "\n"
        lines = text.splitlines()
        indents = [line[: len(line) - len(line.lstrip(" \t"))] for line in lines if line.strip()]
        self._indent = next((indent for indent in indents if indent), INDENT)
        members = _parse(text).members
        self._is_minified = any(text[: member.node.start].endswith(":") for member in members[:1])

    def separator(self, start: int) -> str:
        """Return what separates a member from the one before: a line end and indent, or blanks."""
        lead = self._text[_end_before(self._text, start) : start]
        if "\n" in lead:
            return self._line + lead.rpartition("\n")[2]
        return "" if self._is_minified else " "

    def dump(self, value: Any, separator: str) -> str:
        """Return the value as JSON: on many lines if its separator has a line end."""
        if "\n" not in separator:
            blanks = (",", ":") if self._is_minified else (", ", ": ")
            return json.dumps(value, separators=blanks, ensure_ascii=False)
        rendered = json.dumps(value, indent=self._indent, ensure_ascii=False)
        return rendered.replace("\n", separator)

    def insert(self, node: Node, start: int | None, name: str | None, value: Any) -> str:
        """Return the text with a new last member of the object, or a new last item of the list.

        `start` is where the member that holds it begins; None for the document itself. The layout
        says how to undo it. An object with members gets a comma and a separator, which a removal
        takes out; the new member has a comma behind it only if the last one had. An empty object
        keeps its blanks, and an additional blank line or space behind them says that it was there:
        an object that we create has none.
        """
        text, close = self._text, node.end - 1
        last = node.members[-1].node.end if node.members else node.start + 1
        # Comments behind the last member stay behind it; only the blanks before the end move.
        between = text[last:close]
        comments = between.rstrip(BLANK)
        closing = between[len(comments) :]
        comma = trailing = ""
        must_break = _ends_in_line_comment(comments)
        if node.members:
            separator = opening = self.separator(node.members[-1].start)
            if must_break and "\n" not in separator:
                separator = opening = self._line + closing.rpartition("\n")[2] + self._indent
            has_comma = text[_skip(text, last)] == ","
            comma, trailing = ("", ",") if has_comma else (",", "")
        elif start is None or "\n" in closing + self.separator(start):
            owner = text[text.rfind("\n", 0, start or 0) + 1 : start or 0]
            base = self._line + owner[: len(owner) - len(owner.lstrip(" \t"))]
            separator = base + self._indent
            opening, closing = closing + self._line + separator, base
        else:
            separator, opening, closing = "", f"{closing} ", ""
        rendered = self.dump(value, separator)
        if name is not None:
            colon = ":" if "\n" not in separator and self._is_minified else ": "
            rendered = f"{json.dumps(name, ensure_ascii=False)}{colon}{rendered}"
        inserted = f"{comma}{comments}{opening}{rendered}{trailing}{closing}"
        return f"{text[:last]}{inserted}{text[close:]}"


_ADDED_LINE = re.compile(r"(?s)(.*)(\r?\n)\2[ \t]*")
_CLOSING_LINE = re.compile(r"\r?\n[ \t]*")


def _remove(text: str, chain: Chain, original: Mapping[str, Any] | None) -> str | None:
    """Return the text without the member at the end of the chain; undoes `_Edit.insert`."""
    node, member = chain[-1]
    start, end, close = member.start, member.node.end, node.end - 1
    lead_start = _end_before(text, start)
    lead, comma = text[lead_start:start], _skip(text, end)
    rest = text[end:]
    index = next(number for number, other in enumerate(node.members) if other.start == start)
    behind_last = node.members[index - 1].node.end if index else node.start + 1
    blanks = rest[: len(rest) - len(rest.lstrip(BLANK))]
    if _ends_in_line_comment(text[behind_last:lead_start]) and "\n" not in blanks:
        lead_start += len(lead)
    if text[comma] == ",":
        rest = text[end:comma] + text[comma + 1 :]
    elif len(node.members) > 1:
        comma = _skip(text, behind_last)
        text = text[:comma] + text[comma + 1 :]
        lead_start -= 1
    if len(node.members) > 1:
        return text[:lead_start] + rest
    tail, behind = rest[: len(rest) - len(text) + close], text[close:]
    head = text[: node.start + 1]
    # Drop the blank line or the space that says that the object was there, empty, before.
    if _CLOSING_LINE.fullmatch(tail) and (mark := _ADDED_LINE.fullmatch(lead)):
        return text[:lead_start] + mark[1] + behind
    if not tail and lead.endswith(" ") and "\n" not in lead:
        return text[:lead_start] + lead[:-1] + behind
    has_comments = lead_start > len(head) or bool(tail.strip(BLANK))
    if has_comments:
        return text[:lead_start] + rest
    if _holds(original, [step.name for _, step in chain[:-1]]):
        return head + behind
    if len(chain) > 1:
        return _remove(text, chain[:-1], original)
    # Nothing else was in the document: `put` has created the file, or filled a blank one.
    before, after = text[: node.start], text[node.end :]
    if (before, after) == ("", "\n"):
        return None
    return before if not after else f"{before}{{}}{after}"


def _holds(document: Mapping[str, Any] | None, path: Sequence[str]) -> bool:
    value: Any = document
    for name in path:
        value = cast("Mapping[str, Any]", value).get(name) if isinstance(value, Mapping) else None
    return value is not None


def _ends_in_line_comment(between: str) -> bool:
    """Return whether blanks, commas and comments end in a comment that goes on to the line end."""
    at = 0
    while at < len(between):
        if between.startswith("//", at):
            at = between.find("\n", at)
            if at < 0:
                return True
        at = between.index("*/", at) + 2 if between.startswith("/*", at) else at + 1
    return False


def _end_before(text: str, start: int) -> int:
    """Return the position behind the last character before `start` that is not blank."""
    return len(text[:start].rstrip(BLANK))


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
        if text[at] in BLANK:
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
            # The place without what is there: an item may be a key.
            line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
            raise ValueError(f"a comma is missing before line {line}, column {column}")


def _end_of_string(text: str, at: int) -> int:
    at += 1
    while text[at] != '"':
        at += 2 if text[at] == "\\" else 1
    return at + 1
