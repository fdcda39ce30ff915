"""Tests of tools/generate.py: what it wrote is current and complete."""

import inspect
from functools import cached_property
from importlib import import_module
from typing import Any

import pytest

from memsense import MemSense
from memsense.client import aio, user_memory
from memsense.declaration import parameters_of
from tools import generate

PAIRS = [(module, name) for module, names in generate.CLASSES.items() for name in names]


def public(owner: type) -> dict[str, Any]:
    members = {name: vars(owner)[name] for name in vars(owner) if not name.startswith("_")}
    return {name: it for name, it in members.items() if not inspect.ismemberdescriptor(it)}


def test_the_generated_sources_are_current() -> None:
    assert generate.generate(check=True) == []


@pytest.mark.parametrize(("module", "name"), PAIRS)
def test_every_public_name_is_there_and_every_method_is_awaited(module: str, name: str) -> None:
    blocking = getattr(import_module(module), name)
    awaited = getattr(aio, generate.async_classes()[name])
    expected = {it for it in public(blocking) if f"{name}.{it}" not in generate.LEFT_OUT}
    assert public(awaited).keys() - {"user_id"} == expected
    for one, method in public(awaited).items():
        if inspect.isfunction(method) and one != "for_user":
            assert inspect.iscoroutinefunction(method), one
            declared = parameters_of(getattr(blocking, one))
            copied = parameters_of(method)
            assert [*copied] == [*declared]
            for parameter, copy in zip(declared.values(), copied.values(), strict=True):
                assert copy.is_keyword == parameter.is_keyword
                assert copy.default == parameter.default or callable(copy.default)
                assert copy.text == parameter.text


def test_every_resource_of_a_memory_is_known() -> None:
    def resources(owner: type) -> set[str]:
        return {
            name
            for base in inspect.getmro(owner)
            for name, it in vars(base).items()
            if isinstance(it, cached_property) and not name.startswith("_")
        }

    assert resources(MemSense) == resources(aio.AsyncMemSense)


def test_a_view_of_one_user_takes_no_user_and_has_the_other_parameters() -> None:
    verbs = public(user_memory.UserMemory)
    assert {"search", "why_not", "add", "list", "update", "erase"} <= verbs.keys()
    for name, method in verbs.items():
        if inspect.isfunction(method):
            declared = parameters_of(getattr(MemSense, name))
            expected = [it for it in declared if it not in {"user_id", "all_users"}]
            assert [*parameters_of(method)] == expected, name
            assert all(it.text for it in parameters_of(method).values()), name
