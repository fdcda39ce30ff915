"""Inputs that make a non-linear regular expression slow, made from the expression.

Such an input is a long run of what the expression repeats, after a text that leads to the
repetition, and before a character that forces the match to backtrack.
"""

import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

_parser: Any = import_module("re._parser")
_compiler: Any = import_module("re._compiler")

Node = tuple[Any, Any]
Make = Callable[[int], str]

_MANY = 8
"""A repetition of at most so many costs no time."""

_CHARACTERS = " \n0aA_.,:;-'\"!*é中"
_TAILS = ("", "\x01", "a", "a\n\x01")
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
_SETS = ("IN", "ANY", "LITERAL", "NOT_LITERAL")


def attacks(pattern: re.Pattern[str]) -> Iterator[tuple[str, Make]]:
    """Return named functions that make inputs of any length."""
    runs = dict.fromkeys(_Runs(pattern).find())
    for before, unit in runs:
        for tail in _TAILS:
            yield f"{before!r} + n * {unit!r} + {tail!r}", _run(before, unit, tail)
            if before:
                yield f"n * {before + unit!r} + {tail!r}", _run("", before + unit, tail)


def _run(before: str, unit: str, tail: str) -> Make:
    return lambda size: before + unit * max(1, size // len(unit)) + tail


class _Runs:
    """Repeated parts of a pattern and their prefixes, with every option and with none."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._flags = pattern.flags
        self._groups: dict[int, str] = {}
        self._parsed = _parser.parse(pattern.pattern, pattern.flags)
        self._characters = self._tell_apart()

    def _tell_apart(self) -> list[str]:
        """Return one character of each set that the pattern treats alike."""
        nodes = list(self._sets(self._parsed))
        sets = {str(node): self._compile(node) for node in nodes}
        own = "".join(_own_characters(node) for node in nodes)
        characters = dict.fromkeys(_CHARACTERS + own)
        alike: dict[tuple[bool, ...], str] = {}
        for char in characters:
            matched = (one.fullmatch(char) is not None for one in sets.values())
            alike.setdefault((char.isalnum() or char == "_", char.isspace(), *matched), char)
        return list(alike.values())

    def _sets(self, nodes: Any) -> Iterator[Node]:
        """Return the sets that one character can match, without letters next to no repetition."""
        for place, node in enumerate(nodes):
            beside = [str(other[0]) in _REPEATS for other in nodes[max(0, place - 1) : place + 2]]
            is_letter = str(node[0]) == "LITERAL" and chr(node[1]).isalpha()
            if str(node[0]) in _SETS and (any(beside) or not is_letter):
                yield node
            for part in self._parts(node):
                yield from self._sets(part)

    def _compile(self, node: Node) -> re.Pattern[str]:
        state = _parser.State()
        state.flags = self._flags
        state.str = ""
        return _compiler.compile(_parser.SubPattern(state, [node]), self._flags)

    def find(self) -> Iterator[tuple[str, str]]:
        for full in (False, True):
            yield from self._walk(self._parsed, "", full=full)
            if whole := self._sample(self._parsed, full=full):
                yield "", whole

    def _walk(self, nodes: Any, before: str, *, full: bool) -> Iterator[tuple[str, str]]:
        for node in nodes:
            name, parts = str(node[0]), self._parts(node)
            if name in _REPEATS and node[1][1] > _MANY:
                yield from ((before, unit) for unit in self._units(parts[0], full=full) if unit)
            if name not in ("ASSERT", "ASSERT_NOT") or node[1][0] > 0:
                for part in parts:
                    yield from self._walk(part, before, full=full)
            before += self._sample([node], full=full)

    def _parts(self, node: Node) -> list[Any]:
        """Return the sequences inside a node."""
        name, value = str(node[0]), node[1]
        if name in (*_REPEATS, "SUBPATTERN"):
            return [value[-1]]
        if name == "BRANCH":
            return list(value[1])
        if name in ("ASSERT", "ASSERT_NOT"):
            return [value[1]]
        return [value] if name == "ATOMIC_GROUP" else []

    def _units(self, inner: Any, *, full: bool) -> list[str]:
        if len(inner) == 1 and str(inner[0][0]) in _SETS:
            return self._fitting(inner[0])
        if len(inner) == 1 and str(inner[0][0]) == "BRANCH":
            return [unit for branch in inner[0][1][1] for unit in self._units(branch, full=full)]
        return [self._sample(inner, full=full)]

    def _fitting(self, node: Node) -> list[str]:
        """Return the distinguished characters that the node matches."""
        if str(node[0]) == "LITERAL":
            return [chr(node[1])]
        one = self._compile(node)
        return [char for char in self._characters if one.fullmatch(char)]

    def _sample(self, nodes: Any, *, full: bool) -> str:
        """Return a text that the nodes match, as far as no assertion forbids it."""
        return "".join(self._sample_node(node, full=full) for node in nodes)

    def _sample_node(self, node: Node, *, full: bool) -> str:
        name, value = str(node[0]), node[1]
        if name in _SETS:
            return self._fitting(node)[0]
        if name == "GROUPREF":
            return self._groups.get(value, "")
        if name in _REPEATS:
            return self._sample(value[-1], full=full) * max(value[0], int(full))
        if name == "BRANCH":
            return self._sample(value[1][-1 if full else 0], full=full)
        if name == "SUBPATTERN":
            text = self._sample(value[-1], full=full)
            self._groups[value[0]] = text
            return text
        return self._sample(value, full=full) if name == "ATOMIC_GROUP" else ""


def _own_characters(node: Node) -> str:
    """Return the characters that a node names, the first of a range."""
    name, value = str(node[0]), node[1]
    if name == "IN":
        return "".join(_own_characters(part) for part in value)
    if name == "RANGE":
        return chr(value[0])
    return chr(value) if name in ("LITERAL", "NOT_LITERAL") else ""
