"""Printed texts name a guide by its title: who installed memsense by pip has no file of it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from memsense.cli import app

PACKAGE = Path(__file__).parents[2] / "memsense"
PATH = re.compile(r"\bdocs/[\w/-]+\.md|\b(?:benchmarks|tests|tools)/\w+")


def printed_literals(tree: ast.Module) -> Iterator[ast.Constant]:
    """Yield the literals of a module that are no docstrings."""
    statements = {id(it.value) for it in ast.walk(tree) if isinstance(it, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in statements:
            yield node


def test_no_message_names_a_file_of_the_repository() -> None:
    named = [
        f"{path.relative_to(PACKAGE)}:{literal.lineno}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if "data" not in path.parts
        for literal in printed_literals(ast.parse(path.read_text(encoding="utf-8")))
        if PATH.search(str(literal.value))
    ]
    assert named == []


def help_texts(command: Any, *names: str) -> Iterator[tuple[str, str]]:
    """Yield the help of a command, of its options and of its sub commands."""
    yield " ".join(names), command.help or ""
    for parameter in command.params:
        yield f"{' '.join(names)} {parameter.name}", getattr(parameter, "help", None) or ""
    for name in getattr(command, "commands", ()):
        yield from help_texts(command.get_command(None, name), *names, name)


def test_no_help_names_a_file_of_the_repository() -> None:
    texts = dict(help_texts(typer.main.get_command(app.root), "memsense"))
    assert len(texts) > 400
    assert [name for name, text in texts.items() if PATH.search(text)] == []


def test_the_openapi_text_names_no_file_of_the_repository(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("fastapi", reason="needs memsense[server]")
    from memsense.cli.serve import openapi

    openapi()
    assert PATH.findall(capsys.readouterr().out) == []
