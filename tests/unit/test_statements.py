"""Statements are run in one module only."""

import ast
from pathlib import Path

import memsense

PACKAGE = Path(memsense.__file__).parent
RUNNERS = {"execute", "executemany", "cursor", "fetchone", "fetchmany", "fetchall"}
NOT_YET = {"store/entities.py"}


def test_only_the_database_layer_runs_statements() -> None:
    found = [
        f"{name}:{node.lineno} .{node.func.attr}()"
        for path in sorted(PACKAGE.rglob("*.py"))
        if not (name := path.relative_to(PACKAGE).as_posix()).startswith("db/")
        if name not in NOT_YET
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if node.func.attr in RUNNERS
    ]
    assert found == []
