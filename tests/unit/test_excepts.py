"""No handler swallows all errors: it couldn't distinguish an interrupt from a bug.

Errors of a user's own code may be translated into one of memsense's, raised from the original,
but interrupts may not.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("memsense", "benchmarks", "alembic", "tests")
BROAD = {"Exception", "BaseException"}
TRANSLATES = {"memsense/embed/base.py"}
"""Where code of a user's own runs."""

FAILS_OPEN = "memsense/cli/quick.py"
"""A hook of a coding agent: whatever it meets, it says so, and the agent goes on. Once."""


def names_in(node: ast.expr | None) -> set[str]:
    """Return the names of the classes in an except clause or in `suppress`."""
    if node is None:
        return {"BaseException"}
    listed = node.elts if isinstance(node, ast.Tuple) else [node]
    return {ast.unparse(item).removeprefix("builtins.") for item in listed}


def raises_again(handler: ast.ExceptHandler) -> bool:
    """Return whether the handler ends by raising the error that it caught."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def translates(handler: ast.ExceptHandler) -> bool:
    """Return whether the handler ends by raising another error from the one that it caught."""
    match handler.body[-1]:
        case ast.Raise(cause=ast.Name(id=cause)):
            return cause == handler.name and names_in(handler.type) == {"Exception"}
        case _:
            return False


def suppresses_all(call: ast.Call) -> bool:
    """Return whether this is a `suppress` of all errors."""
    is_suppress = ast.unparse(call.func).split(".")[-1] == "suppress"
    return is_suppress and any(names_in(given) & BROAD for given in call.args)


def find_broad(source: str, *, may_translate: bool = False) -> Iterator[int]:
    """Yield the lines that catch all errors and continue."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ExceptHandler():
                if names_in(node.type) & BROAD and not (
                    raises_again(node) or (may_translate and translates(node))
                ):
                    yield node.lineno
            case ast.Call() if suppresses_all(node):
                yield node.lineno
            case _:
                pass


def test_no_handler_catches_all_errors_and_continues() -> None:
    found = [
        f"{name}:{line}"
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        if path.parent.name != "fits"  # a record, which may lag behind the package
        for name in [path.relative_to(ROOT).as_posix()]
        for line in find_broad(path.read_text(encoding="utf-8"), may_translate=name in TRANSLATES)
    ]
    assert [place.split(":")[0] for place in found] == [FAILS_OPEN]


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("try:\n    x()\nexcept Exception:\n    pass", [3]),
        ("try:\n    x()\nexcept:\n    log()", [3]),
        ("try:\n    x()\nexcept (OSError, BaseException) as e:\n    raise ValueError from e", [3]),
        ("with contextlib.suppress(OSError, Exception):\n    x()", [1]),
        ("try:\n    x()\nexcept BaseException:\n    clean_up()\n    raise", []),
        ("try:\n    x()\nexcept OSError:\n    pass", []),
    ],
)
def test_what_counts_as_catching_all(source: str, lines: list[int]) -> None:
    assert list(find_broad(source)) == lines


@pytest.mark.parametrize(
    ("handler", "lines"),
    [
        ("except Exception as e:\n    raise Ours from e", []),
        ("except Exception as e:\n    raise Ours from None", [3]),
        ("except Exception as e:\n    log(e)", [3]),
        ("except BaseException as e:\n    raise Ours from e", [3]),
    ],
)
def test_what_counts_as_translating(handler: str, lines: list[int]) -> None:
    source = f"try:\n    x()\n{handler}"
    assert list(find_broad(source, may_translate=True)) == lines
    assert list(find_broad(source)) == [3]
