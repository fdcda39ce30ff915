"""Every filter of a search, and `as_of`, holds in every command that searches."""

import json
from collections.abc import Generator, Mapping
from typing import Any, cast

import pytest
from command import run_json
from every_filter import CONTEXT, NAMES, QUERY, Known, assert_inside, fill

from memsense import MemSense
from memsense.cli.options import flag_of

COMMANDS: Mapping[str, Mapping[str, Any]] = {"search": {}, "context": CONTEXT}
"""Options of each command."""


@pytest.fixture(scope="module")
def known(module_database_url: str) -> Generator[Known]:
    with MemSense.open(module_database_url) as memory:
        yield fill(memory)


def options_for(verb: str, given: Mapping[str, Any]) -> list[str]:
    """Return arguments of a verb as options of its command."""
    options: list[str] = []
    for name, value in given.items():
        for item in cast("list[Any]", value) if isinstance(value, list) else [value]:
            text = json.dumps(item) if isinstance(item, dict) else str(item)
            options += [flag_of(verb, name), text]
    return options


def ask(url: str, verb: str, **given: Any) -> Any:
    """Return what a command prints as JSON."""
    options = options_for(verb, {**COMMANDS[verb], **given})
    return run_json(url, verb, QUERY, "--user", "ada", "--explain", *options)


@pytest.mark.parametrize("command", COMMANDS)
def test_without_a_filter_everything_is_shown(
    module_database_url: str, known: Known, command: str
) -> None:
    assert known.chunks
    assert_inside(ask(module_database_url, command), set())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_outside_of_a_filter_is_shown(
    module_database_url: str, known: Known, command: str, name: str
) -> None:
    value, outside = known.value(name)
    assert_inside(ask(module_database_url, command, **{name: value}), outside)


@pytest.mark.parametrize("name", NAMES)
def test_why_not_applies_the_filter(module_database_url: str, known: Known, name: str) -> None:
    value, outside = known.value(name)
    chunk_id = known.chunks[min(outside)]
    options = options_for("why_not", {name: value})
    asked = ("why-not", QUERY, str(chunk_id), "--user", "ada", *options)
    assert run_json(module_database_url, *asked)["step"] != "hit"
