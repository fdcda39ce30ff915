"""Every regular expression takes time in proportion to its input, whatever the input is.

An expression that scans a run of blanks again from each of its characters takes minutes for a
pasted text, and blocks all other threads of the process.
"""

import ast
import pkgutil
import random
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from attacks import attacks
from growth import LINEAR, growth

import memsense

WAYS: dict[str, Callable[[re.Pattern[str], str], object]] = {
    "match": lambda pattern, text: pattern.match(text),
    "fullmatch": lambda pattern, text: pattern.fullmatch(text),
    "search": lambda pattern, text: pattern.search(text),
    "finditer": lambda pattern, text: deque(pattern.finditer(text), maxlen=0),
}
SEARCHING = {"search": "search", **dict.fromkeys(("sub", "subn", "split", "findall"), "finditer")}
WAY_OF = {**{name: name for name in WAYS}, **SEARCHING}

PARTS = 10
"""Parts of all attacks, of which `make test` tries one."""

UNTOLD = {"match", "search"}
"""How a pattern is used that is handed to functions."""


def modules() -> Iterator[ModuleType]:
    found = pkgutil.walk_packages(memsense.__path__, "memsense.")
    names = ["memsense", *(module.name for module in found)]
    return (import_module(name) for name in names if not name.endswith("__main__"))


def patterns_in(value: object) -> Iterator[re.Pattern[str]]:
    """Yield the compiled patterns in a value: itself, or those in its items and fields."""
    if isinstance(value, re.Pattern):
        yield value  # pyright: ignore[reportUnknownVariableType]
    elif isinstance(value, Mapping):
        yield from patterns_in(tuple(value.values()))  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(value, tuple | list | set | frozenset):
        for item in value:  # pyright: ignore[reportUnknownVariableType]
            yield from patterns_in(item)  # pyright: ignore[reportUnknownArgumentType]
    elif is_dataclass(value) and not isinstance(value, type):
        yield from patterns_in([getattr(value, field.name) for field in fields(value)])


class Uses(ast.NodeVisitor):
    """Uses of names in a module: the methods called on them, or on their items."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module.__name__
        self.origins: dict[str, str] = {}
        self.owners: dict[str, set[str]] = {}
        self.calls: list[tuple[str, str]] = []
        self.visit(ast.parse(source_of(module)))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for name in node.names:
            self.origins[name.asname or name.name] = f"{node.module}.{name.name}"

    def visit_For(self, node: ast.For) -> None:
        self._note_loop(node.target, node.iter)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self._note_loop(node.target, node.iter)
        self.generic_visit(node)

    def _note_loop(self, target: ast.expr, over: ast.expr) -> None:
        names = {part.id for part in ast.walk(target) if isinstance(part, ast.Name)}
        sources = {part.id for part in ast.walk(over) if isinstance(part, ast.Name)}
        for name in names:
            self.owners.setdefault(name, set()).update(sources)

    def visit_Call(self, node: ast.Call) -> None:
        called = node.func
        if isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
            self.calls.append((called.value.id, called.attr))
        self.generic_visit(node)

    def ways(self) -> Iterator[tuple[str, str]]:
        """Yield the full names of called patterns and the methods."""
        for name, method in self.calls:
            for owner in (name, *self.owners.get(name, ())):
                if method in WAY_OF:
                    yield self.origins.get(owner, f"{self.module}.{owner}"), WAY_OF[method]


def source_of(module: ModuleType) -> str:
    return Path(module.__file__ or "").read_text(encoding="utf-8")


def used_patterns() -> list[tuple[str, re.Pattern[str], set[str]]]:
    """Return the patterns of the package with their names and the ways in which they are used."""
    ways: dict[str, set[str]] = {}
    for module in modules():
        for name, way in Uses(module).ways():
            ways.setdefault(name, set()).add(way)
    found: dict[int, tuple[str, re.Pattern[str], set[str]]] = {}
    for name, value in module_values():
        for pattern in patterns_in(value):
            label = f"{name.removeprefix('memsense.')} {pattern.pattern[:20]!r}"
            _, _, known = found.setdefault(id(pattern), (label, pattern, set()))
            known |= ways.get(name, set())
    return [(label, pattern, known or UNTOLD) for label, pattern, known in found.values()]


def module_values() -> Iterator[tuple[str, object]]:
    for module in modules():
        for name, value in vars(module).items():
            yield f"{module.__name__}.{name}", value


def find_slow(pattern: re.Pattern[str], ways: set[str]) -> str:
    """Return an input on which the pattern is not linear and its use; empty if it is linear."""
    slow = (
        f"{way} on {name}"
        for name, make in attacks(pattern)
        for way in sorted(ways)
        if growth(partial(WAYS[way], pattern), make) >= LINEAR
    )
    return next(slow, "")


@pytest.mark.parametrize(
    "part", [0, *(pytest.param(n, marks=pytest.mark.full) for n in range(1, PARTS))]
)
def test_patterns_take_time_in_proportion_to_their_input(part: int) -> None:
    trials = [
        (label, partial(WAYS[way], pattern), way, name, make)
        for label, pattern, ways in used_patterns()
        for name, make in attacks(pattern)
        for way in sorted(ways)
    ]
    assert len(trials) > 1000
    random.Random(7).shuffle(trials)
    assert [
        f"{label}: {way} on {name}"
        for label, work, way, name, make in trials[part::PARTS]
        if growth(work, make) >= LINEAR
    ] == []


@pytest.mark.parametrize(
    ("pattern", "way"),
    [
        (r"5 May\s*,?\s*(?:2023)?!", "match"),
        (r"\s+$", "search"),
        (r"\s*--: \w+$", "finditer"),
        (r"[.!?]+[\"')]*(?=\s)", "finditer"),
        (r"(?:a|b)+\.c+c+$", "match"),
        (r".*\.(?:reset|bak-)[.\w-]*", "fullmatch"),
        (r"x(?:ab|ab)?(?:(?:ab)*c?)(?:ab)*!", "match"),
    ],
)
def test_patterns_that_are_not_linear_are_found_out(pattern: str, way: str) -> None:
    assert find_slow(re.compile(pattern), {way}) != ""
