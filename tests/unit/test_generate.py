"""Tests of what tools/generate.py wrote, and of the asynchronous classes: current and complete."""

import inspect
from functools import cached_property
from importlib import import_module
from typing import Any

import pytest

from memsense import MemSense
from memsense.client import aio, user_memory
from memsense.declaration import parameters_of
from tools import generate


def public(owner: type) -> dict[str, Any]:
    members = {name: vars(owner)[name] for name in vars(owner) if not name.startswith("_")}
    return {name: it for name, it in members.items() if not inspect.ismemberdescriptor(it)}


def test_the_generated_sources_are_current() -> None:
    assert generate.generate(check=True) == []


VIEWS = ("UserProjects", "UserTraces", "UserEntities", "UserMemory")
PAIRS = [
    *((module, name) for module, names in generate.CLASSES.items() for name in names),
    *(("memsense.client.user_memory", name) for name in VIEWS),
]
BLOCKING_ALONE = {"MemSense.close", "MemSense.embedder", "ModelsResource.trial"}
"""Not in the asynchronous classes: closing is their base's; an embedder and a trial block."""


def asynchronous(module: str, name: str) -> type:
    """Return the asynchronous class of a blocking one: of the same file, or of aio.py."""
    return getattr(import_module(module), f"Async{name}", None) or getattr(aio, f"Async{name}")


@pytest.mark.parametrize(("module", "name"), PAIRS)
def test_every_method_is_awaited_with_the_signature_and_text_of_the_blocking_one(
    module: str, name: str
) -> None:
    blocking, awaited = getattr(import_module(module), name), asynchronous(module, name)
    expected = {it for it in public(blocking) if f"{name}.{it}" not in BLOCKING_ALONE}
    assert public(awaited).keys() - {"user_id"} == expected
    for one in expected:
        copied: Any = public(awaited)[one]
        declared: Any = public(blocking)[one]
        for inner in ("__func__", "fget", "func"):  # of a class method and of properties
            copied = getattr(copied, inner, copied)
            declared = getattr(declared, inner, declared)
        assert copied.__doc__ == declared.__doc__, one
        if inspect.isfunction(vars(awaited)[one]) and one != "for_user":
            assert inspect.iscoroutinefunction(copied), one
        if not isinstance(vars(awaited)[one], cached_property | property) and one != "for_user":
            assert inspect.signature(copied) == inspect.signature(declared), one
            assert parameters_of(copied) == parameters_of(declared), one


def test_every_resource_of_a_memory_is_known() -> None:
    def resources(owner: type) -> dict[str, str]:
        return {
            name: inspect.signature(it.func).return_annotation.removeprefix("Async")
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
