"""Tests of what tools/generate.py wrote, and of the asynchronous classes: current and complete."""

import inspect
import pydoc
from functools import cached_property
from importlib import import_module
from typing import Any

import pytest

from memsense import MemSense
from memsense.client import aio, user_memory, user_view
from memsense.declaration import parameters_of, read_arguments
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


@pytest.mark.parametrize("name", generate.VIEWS)
def test_a_view_of_one_user_has_the_verbs_with_rules_and_no_others(name: str) -> None:
    whole, view = generate.VIEWS[name], getattr(user_memory, name)
    rules = user_view.RULES[whole]
    of_all = user_view.WHOLE_NAMESPACE[whole]
    resources = {it for it, each in public(whole).items() if isinstance(each, cached_property)}
    assert not rules.keys() & of_all
    assert {*rules} | of_all == public(whole).keys() - resources
    assert public(view).keys() == {*rules} | (resources | {"projects"} if resources else resources)


VERBS = [(name, verb) for name, whole in generate.VIEWS.items() for verb in user_view.RULES[whole]]


@pytest.mark.parametrize(("name", "verb"), VERBS)
def test_a_view_of_one_user_takes_no_user_and_has_the_other_parameters(
    name: str, verb: str
) -> None:
    method = getattr(getattr(user_memory, name), verb)
    declared = inspect.signature(getattr(generate.VIEWS[name], verb))
    expected = [it for it in declared.parameters.values() if it.name not in user_view.HIDDEN]
    assert [*inspect.signature(method).parameters.values()] == expected
    assert inspect.signature(method).return_annotation == declared.return_annotation
    assert method.__qualname__ == f"{name}.{verb}"
    texts = parameters_of(getattr(generate.VIEWS[name], verb))
    assert {it.name: it.text for it in parameters_of(method).values()} == {
        it: texts[it].text for it in texts if it not in user_view.HIDDEN
    }
    assert not {*user_view.HIDDEN} & read_arguments(method.__doc__ or "").keys()
    assert "user_id" not in pydoc.render_doc(method).partition("Args:")[2].partition("Raises:")[0]


def test_a_verb_whose_parameters_lack_a_rule_is_not_taken_into_a_view(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Whole:
        def show(self, *, chunk_id: int) -> None:
            raise AssertionError(chunk_id)

        def find(self, user_id: str) -> None:
            raise AssertionError(user_id)

    for verb, rules in (
        ("show", {}),
        ("show", {"chunk_id": user_view.keep_value, "trace_id": user_view.keep_value}),
        ("find", {"user_id": user_view.view_user}),  # it could be passed by position
    ):
        monkeypatch.setattr(user_view, "RULES", {Whole: {verb: rules}})
        with pytest.raises(TypeError, match=f"{verb}: its rules are not those"):
            user_view.has_verbs_of(Whole)(type("View", (user_view.OneUser,), {}))
