"""All reads are repeated after a lost connection: nothing borrows a connection but the pool's own
functions, `run_read`, `run_autocommit` and `run_transaction`, as docs/guides/outages.md promises.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import memsense.db

ROOT = Path(__file__).parents[2]
FOLDERS = ("memsense", "benchmarks")
POOL = "memsense/db/pool.py"

NOT_REPEATED = {
    "memsense/client/transfer.py": "an export writes to its file as it reads",
    "benchmarks/stores.py": "a benchmark fills a store of its own",
}
"""Where `transaction` may be used, and why its work can't be run again."""


def find_borrowing(source: str) -> Iterator[int]:
    """Yield the lines that borrow a connection from a pool themselves."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(attr="connection" | "getconn")):
                yield node.lineno
            case _:
                pass


def uses_transaction(source: str) -> bool:
    """Return whether the module takes `transaction` from `memsense.db`."""
    return any(
        isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith("memsense.db")
        and "transaction" in {alias.name for alias in node.names}
        for node in ast.walk(ast.parse(source))
    )


def sources() -> Iterator[tuple[str, str]]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path.parent.name != "fits":  # a record, which may lag behind the package
                yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def test_only_the_pool_borrows_connections() -> None:
    borrowing = [f"{name}:{line}" for name, text in sources() for line in find_borrowing(text)]
    outside = {place for place in borrowing if not place.startswith(POOL)}
    # One benchmark measures the pool itself.
    assert {place.split(":")[0] for place in outside} <= {"benchmarks/write_cost.py"}


def test_transactions_that_are_not_repeated_are_few_and_have_a_reason() -> None:
    users = {name for name, text in sources() if uses_transaction(text)}
    assert users - {"memsense/db/__init__.py"} == set(NOT_REPEATED)


def test_the_package_offers_no_read_that_is_not_repeated() -> None:
    assert not hasattr(memsense.db, "read")


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("with pool.connection() as it:\n    pass", [1]),
        ("x = 1\nself._context.pool.connection()", [2]),
        ("stack.enter_context(pool.connection())", [1]),
        ("pool.getconn()", [1]),
        ("run_read(pool, lambda it: it.execute('SELECT 1'))", []),
    ],
)
def test_what_counts_as_borrowing(source: str, lines: list[int]) -> None:
    assert list(find_borrowing(source)) == lines
