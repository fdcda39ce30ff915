"""Regular expressions are defined where `make test-timing` finds and attacks them."""

import ast
from collections.abc import Iterator
from pathlib import Path

import memsense

PATTERN_FUNCTIONS = {
    f"re.{name}"
    for name in (
        *("compile", "match", "fullmatch", "search", "finditer"),
        *("sub", "subn", "split", "findall"),
    )
}

MAKERS = frozenset(
    f"memsense.{name}"
    for name in (
        "ingest.mapping.format_map",
        "ingest.mapping.mapped",
        "draft.facets.rules",
        "draft.facets.tagger",
        "search.question.time.alone",
        "search.question.time.patterns",
        "text.lexemes",
        "text.secrets",
    )
)
"""Modules whose function compiles what the module, the rules, or a format's file give it.

The patterns of `text.lexemes` and of times take too long to compile at import; tests/timing/
test_linear_time.py attacks the functions that use them.
"""


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Yield each module of the package, parsed but not imported: some need optional packages."""
    package = Path(memsense.__file__).parent
    for path in package.rglob("*.py"):
        name = ".".join(path.relative_to(package.parent).with_suffix("").parts)
        yield name.removesuffix(".__init__"), ast.parse(path.read_text(encoding="utf-8"))


def test_no_pattern_hides_inside_a_function() -> None:
    """Patterns that functions compile contain only escaped words, or are checked by parameters."""
    hidden = [
        f"{name}:{call.lineno}"
        for name, tree in modules()
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.Lambda)
        for call in ast.walk(function)
        if isinstance(call, ast.Call) and makes_pattern(call) and not is_escaped(call.args[0])
    ]
    assert [place for place in hidden if place.split(":")[0] not in MAKERS] == []


def makes_pattern(call: ast.Call) -> bool:
    return ast.unparse(call.func) in PATTERN_FUNCTIONS


def is_escaped(argument: ast.expr) -> bool:
    """Return whether it is `re.escape(...)`, possibly between letters and anchors."""
    if isinstance(argument, ast.JoinedStr):
        return all(
            is_escaped(part.value)
            if isinstance(part, ast.FormattedValue)
            else not set("*+?{") & set(ast.unparse(part))
            for part in argument.values
        )
    return isinstance(argument, ast.Call) and ast.unparse(argument.func) == "re.escape"
