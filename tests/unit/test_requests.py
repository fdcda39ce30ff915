"""Every argument of a verb reaches the request that it makes, under its own name."""

import ast
import inspect
from dataclasses import fields
from pathlib import Path

import pytest

from memsense.client import verbs
from memsense.declaration import TIMEOUT
from memsense.search.request import FILTER_NAMES, Filters, SearchRequest

TREE = ast.parse(Path(inspect.getfile(verbs)).read_text(encoding="utf-8"))
METHODS = {
    node.name: node
    for owner in TREE.body
    if isinstance(owner, ast.ClassDef) and owner.name == "Memory"
    for node in owner.body
    if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
}
REQUESTS = ("search", "search_many", "why_not", "context")
ELSEWHERE = {"query", "user_id", "filters"}
"""Fields of a request that no verb passes on under the field's name alone."""


def arguments_of(node: ast.FunctionDef) -> set[str]:
    return {item.arg for item in (*node.args.args, *node.args.kwonlyargs)} - {"self"}


def passed_to(node: ast.FunctionDef, name: str) -> dict[str, set[str]]:
    """Return the names that stand in each keyword of a verb's one call of `name`."""
    [call] = [
        it
        for it in ast.walk(node)
        if isinstance(it, ast.Call) and isinstance(it.func, ast.Name) and it.func.id == name
    ]
    assert call.args == []
    return {
        str(item.arg): {it.id for it in ast.walk(item.value) if isinstance(it, ast.Name)}
        for item in call.keywords
    }


def test_the_filters_are_the_conditions_of_the_statements() -> None:
    assert tuple(item.name for item in fields(Filters)) == FILTER_NAMES


@pytest.mark.parametrize("verb", METHODS)
def test_a_verb_uses_each_of_its_arguments(verb: str) -> None:
    node = METHODS[verb]
    used = {it.id for line in node.body for it in ast.walk(line) if isinstance(it, ast.Name)}
    assert arguments_of(node) - used <= {TIMEOUT}


@pytest.mark.parametrize("verb", [*REQUESTS, "list", "sessions"])
def test_a_verb_passes_on_every_filter_that_it_takes(verb: str) -> None:
    taken = arguments_of(METHODS[verb]) & {*FILTER_NAMES}
    if verb == "context":
        taken -= {"project"}  # no filter there: memories of other projects come too
    passed = passed_to(METHODS[verb], "Filters")
    assert passed.keys() == taken
    assert all(name in names for name, names in passed.items())


@pytest.mark.parametrize("verb", REQUESTS)
def test_a_verb_passes_on_every_option_of_a_search_that_it_takes(verb: str) -> None:
    options = {item.name for item in fields(SearchRequest)} - ELSEWHERE
    passed = passed_to(METHODS[verb], "SearchRequest")
    assert passed.keys() - ELSEWHERE == arguments_of(METHODS[verb]) & options
    assert all(name in passed[name] for name in passed.keys() - ELSEWHERE)
    assert passed["user_id"] == {"user_id"}
