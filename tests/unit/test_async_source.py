"""AsyncMemSense has the methods of MemSense, and no others."""

import inspect
import os
from functools import cached_property
from importlib import import_module
from typing import Any

import pytest
from async_source import CLASSES, LEFT_OUT, NAMES, TARGET, write_source

from memsense import MemSense
from memsense.client import aio

PAIRS = [(module, name) for module, names in CLASSES.items() for name in names]


def test_the_module_is_what_the_blocking_classes_make_it() -> None:
    """MEMSENSE_REWRITE=1 writes the module again."""
    text = write_source()
    if os.environ.get("MEMSENSE_REWRITE"):
        TARGET.write_text(text, encoding="utf-8")
    assert TARGET.read_text(encoding="utf-8") == text


def public(owner: type) -> dict[str, Any]:
    found = {name: vars(owner)[name] for name in vars(owner) if not name.startswith("_")}
    return {name: value for name, value in found.items() if not inspect.ismemberdescriptor(value)}


@pytest.mark.parametrize(("module", "name"), PAIRS)
def test_every_public_name_is_there_and_every_method_is_awaited(module: str, name: str) -> None:
    sync, awaited = getattr(import_module(module), name), getattr(aio, NAMES[name])
    own = public(awaited).keys() - {"user_id"}
    assert own == {one for one in public(sync) if f"{name}.{one}" not in LEFT_OUT}
    for one, method in public(awaited).items():
        if inspect.isfunction(method) and one != "for_user":
            assert inspect.iscoroutinefunction(method), one
            given, taken = inspect.signature(getattr(sync, one)), inspect.signature(method)
            assert list(given.parameters) == list(taken.parameters)
            kinds = [(item.kind, item.default) for item in given.parameters.values()]
            assert len(kinds) == len(taken.parameters)
            for (kind, default), item in zip(kinds, taken.parameters.values(), strict=True):
                assert kind == item.kind
                assert default == item.default or callable(default)


def test_every_resource_of_a_memory_is_known() -> None:
    def resources(owner: type) -> set[str]:
        return {name for name, one in public(owner).items() if isinstance(one, cached_property)}

    assert resources(MemSense) == resources(aio.AsyncMemSense)
